"""One cause and one effect in a table: both families cross-fitted, and the comparisons that they give."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from icdh._effect.crossfit import folds_of, out_of_fold
from icdh._effect.estimation import Estimate, Weighted, augmented, by_probability, by_regression
from icdh._effect.families import Family, Levels, Numbers
from icdh._effect.result import Comparison, Interval
from icdh._ground.arrays import Floats, Integers, Mask
from icdh._model.contrasts import Contrast

N_FOLDS, N_SPLITS = 5, 3
FEW_ROWS = 2000  # up to which several splits into folds are averaged: chance in one of them would be seen
LEAST_PROBABILITY = 0.01  # of a value of the cause: no row counts for more than a hundred
KNOTS, MANY_KNOTS, MANY_ROWS = (
    3,
    5,
    1000,
)  # pieces of a numeric cause's spline; from these rows on
QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Pair:
    """What is asked of a table.

    Attributes
    ----------
    values : ndarray, shape (p + 2, n)
        Covariates, cause and effect; codes in place of labels.
    kinds : list of str
        Their kinds: "continuous", "ordinal", "binary" or "categorical".
    n_categories : list of int
        The number of labels of each that is categorical.
    few_values : bool
        Whether the cause takes few values, each with a probability.
    contrast : Contrast
        From and to what the cause is set.
    target : {"all", "treated", "untreated"}
        The rows that the answer is about.
    where : ndarray of bool, shape (n,)
        The rows among which these are.
    groups : ndarray of int, shape (n,), or None
        Rows of one group depend on one another.
    trim : float
        Rows whose probability of either value is smaller do not belong to the target.
    """

    values: Floats
    kinds: list[str]
    n_categories: list[int]
    few_values: bool
    contrast: Contrast
    target: str
    where: Mask
    groups: Integers | None
    trim: float

    @property
    def cause(self) -> Floats:
        """The cause, shape (n,)."""
        return self.values[-2]

    @property
    def observed(self) -> Floats:
        """The effect, shape (n,)."""
        return self.values[-1]


class Split(NamedTuple):
    """The families by one split into folds.

    Attributes
    ----------
    expected : Numbers or Levels
        The effect at the cause as it is.
    under : tuple of Numbers or Levels
        The effect with the cause at the two values of the contrast.
    rows : tuple of Weighted
        How the rows speak for each of them.
    beyond : float
        The share of the target less likely to have one of the values than any row with that value.
    """

    expected: Numbers | Levels
    under: tuple[Numbers | Levels, Numbers | Levels]
    rows: tuple[Weighted, Weighted]
    beyond: float


class PairFit:
    """The cross-fitted families of a pair.

    Parameters
    ----------
    pair : Pair
        The question.
    random_state : int
        Of initial weights and folds.
    """

    def __init__(self, pair: Pair, random_state: int):
        self.pair = pair
        self.effect = Family(pair.values, pair.kinds, pair.n_categories, random_state, [len(pair.values) - 2])
        self.cause = Family(pair.values[:-1], pair.kinds[:-1], pair.n_categories[:-1], random_state)
        rng, n = np.random.default_rng(random_state), pair.observed.size
        strata = pair.cause.astype(np.int64) if pair.few_values else np.zeros(n, dtype=np.int64)
        n_splits = N_SPLITS if n <= FEW_ROWS and len(pair.values) > 2 else 1
        folds = [folds_of(n, N_FOLDS, strata, pair.groups, rng) for _ in range(n_splits)]
        alone = pair.few_values and len(pair.values) == 2  # then the answer is the difference of the means
        self.splits = [self._split(None if alone else own) for own in folds]

    def _split(self, folds):
        pair = self.pair
        settings = [pair.cause, *(np.full(pair.cause.size, value) for value in pair.contrast[:2])]
        parents = [np.vstack([pair.values[:-2], own]) for own in settings]
        expected, *under = out_of_fold(self.effect, folds, parents)
        (given,) = out_of_fold(self.cause, folds, [pair.values[:-2]])
        rows, beyond = (self._by_probability if pair.few_values else self._by_regression)(given)
        return Split(expected, tuple(under), rows, beyond)

    def _by_probability(self, given):
        pair = self.pair
        chosen = [pair.cause == value for value in pair.contrast[:2]]
        plain = [given.probabilities[np.searchsorted(given.values, value)] for value in pair.contrast[:2]]
        probability = [np.maximum(own, LEAST_PROBABILITY) for own in plain]
        population = {"all": 0, "untreated": 1, "treated": 2}[pair.target]
        members, share = ((np.ones(pair.cause.size),) * 2, *zip(map(np.asarray, chosen), plain, strict=True))[
            population
        ]
        kept = pair.where & (plain[0] >= pair.trim) & (plain[1] >= pair.trim)
        target = members * kept
        share = share * kept
        rows = tuple(by_probability(own, p, target, share) for own, p in zip(chosen, probability, strict=True))
        outside = [p < p[own & pair.where].min() for own, p in zip(chosen, plain, strict=True)]
        beyond = float(((outside[0] | outside[1]) * target).sum() / target.sum())
        return rows, beyond

    def _by_regression(self, given):
        pair, target = self.pair, self.pair.where.astype(np.float64)
        pieces = MANY_KNOTS if pair.cause.size >= MANY_ROWS else KNOTS
        mean, deviation = given.moment(1), np.maximum(given.deviation, np.finfo(float).tiny)
        return tuple(by_regression(v, pair.cause, mean, deviation, target, pieces) for v in pair.contrast[:2]), math.nan

    def mean(self, at: int, of: Any) -> Estimate:
        """Return the mean of a function of the effect with the cause at a value, averaged over the splits.

        Parameters
        ----------
        at : int
            0 or 1: which value of the contrast.
        of : callable
            From a distribution to the mean of the function, shape (n,); from None to the function as observed.
        """
        parts = [augmented(of(None), of(own.expected), of(own.under[at]), own.rows[at]) for own in self.splits]
        value, influence = np.mean([own.value for own in parts]), np.mean([own.influence for own in parts], axis=0)
        return Estimate(float(value), influence, parts[0].degrees)

    def moment(self, at: int, order: int, label: int | None = None) -> Estimate:
        """Return the mean of the effect or of its square, or the probability of a label, at a value of the contrast."""
        observed = self.pair.observed

        def of(given):
            if label is not None:
                return (observed == label).astype(np.float64) if given is None else given.probabilities[label]
            return observed**order if given is None else given.moment(order)

        return self.mean(at, of)

    def quantile(self, at: int, q: float) -> Estimate:
        """Return a quantile of a numeric effect at a value of the contrast.

        Its influence is that of the distribution function there, times the slope of the quantiles over the interval of
        that function.
        """
        values = np.unique(self.pair.observed)

        def value_of(share):
            low, high = 0, values.size - 1
            while low < high:
                middle = (low + high) // 2
                reached = self.below(at, values[middle]).value >= share
                low, high = (low, middle) if reached else (middle + 1, high)
            return float(values[low])

        limit = value_of(q)
        share = self.below(at, limit)
        reach = 2.0 * share.error(self.pair.groups)
        slope = (value_of(q + reach) - value_of(q - reach)) / (2.0 * reach) if reach else 0.0
        return share._replace(value=limit, influence=-slope * share.influence)

    def below(self, at: int, limit: float) -> Estimate:
        """Return the probability that the effect is at most a limit, at a value of the contrast."""
        observed = (self.pair.observed <= limit).astype(np.float64)
        return self.mean(at, lambda given: observed if given is None else given.below(limit))


def comparison_of(fit: PairFit, outcome: str, label: int | None, level: float) -> Comparison:
    """Return the comparison of one outcome.

    Parameters
    ----------
    fit : PairFit
        The families.
    outcome : str
        The label of the effect whose probability is compared; empty for a mean.
    label : int or None
        Its code.
    level : float
        Of the intervals.
    """
    pair, groups = fit.pair, fit.pair.groups

    def interval(estimate: Estimate) -> Interval:
        return Interval(estimate.value, *estimate.interval(level, groups))

    low, high = (fit.moment(at, 1, label) for at in (0, 1))
    is_risk = label is not None or set(np.unique(pair.observed).tolist()) == {0.0, 1.0}
    difference = high.minus(low)
    return Comparison(
        pair.contrast.reference,
        pair.contrast.value,
        outcome,
        (interval(low), interval(high)),
        interval(difference),
        difference.error(groups),
        _crude(pair, label),
        _exponential(interval(high.over(low))) if is_risk and min(low.value, high.value) > 0.0 else None,
        {q: interval(fit.quantile(1, q).minus(fit.quantile(0, q))) for q in _quantiles(fit, label)},
        None if is_risk else _spread_ratio(fit, interval),
    )


def _crude(pair, label):
    if not pair.few_values:
        return math.nan
    observed = pair.observed if label is None else pair.observed == label
    low, high = (observed[(pair.cause == value) & pair.where].mean() for value in pair.contrast[:2])
    return float(high - low)


def _exponential(interval):
    return Interval(*map(math.exp, interval))


def _quantiles(fit, label):
    return QUANTILES if label is None and isinstance(fit.splits[0].expected, Numbers) else ()


def _spread_ratio(fit, interval):
    """Return the ratio of standard deviations; the influence on E h^2 - (E h)^2 is by the chain rule."""
    logs = []
    for at in (0, 1):
        first, second = fit.moment(at, 1), fit.moment(at, 2)
        variance = second.value - first.value**2
        if variance <= 0.0:
            return None
        logs.append(Estimate(variance, second.influence - 2.0 * first.value * first.influence, first.degrees))
    ratio = logs[1].over(logs[0])
    return _exponential(interval(Estimate(ratio.value / 2.0, ratio.influence / 2.0, ratio.degrees)))


def contrasts_compared(
    pair: Pair, contrasts: Sequence[Contrast], outcomes: Sequence[tuple[str, int | None]], level: float, seed: int
) -> tuple[list[PairFit], list[Comparison]]:
    """Return the fit of each contrast, and the comparisons of all outcomes under it."""
    fits = [PairFit(replace(pair, contrast=own), seed) for own in contrasts]
    return fits, [comparison_of(fit, text, code, level) for fit in fits for text, code in outcomes]
