"""The families of a question, cross-fitted: what they say of a row is fitted to other rows. And their comparison."""

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from icdh._effect.estimation import TUNING, Estimate, Weighted, augmented, by_probability, by_regression
from icdh._effect.families import Family, Given, Levels, Numbers
from icdh._effect.question import Pair
from icdh._effect.result import Comparison, Interval
from icdh._ground.arrays import Floats, Integers
from icdh.exceptions import option

QUANTILES = (0.1, 0.5, 0.9)


def folds_of(
    n_rows: int, n_folds: int, strata: Integers, groups: Integers | None, rng: np.random.Generator
) -> Integers:
    """Return the fold of every row, shape (n_rows,): even in every stratum, and one for all rows of a group.

    Parameters
    ----------
    n_rows, n_folds : int
        How many there are.
    strata : ndarray of int, shape (n_rows,)
        The stratum of every row; groups share no stratum, and are spread at random.
    groups : ndarray of int, shape (n_rows,), or None
        Rows of one group stay together.
    rng : Generator
        Source of randomness.
    """
    if groups is not None:
        n_groups = int(groups.max()) + 1
        return (rng.permutation(n_groups) % n_folds)[groups]
    order = np.lexsort((rng.random(n_rows), strata))
    folds = np.empty(n_rows, dtype=np.int64)
    folds[order] = np.arange(n_rows) % n_folds
    return folds


def out_of_fold(family: Family, folds: Integers | None, parents: Sequence[Floats]) -> list[Given]:
    """Return the variable's distribution at each of several parents, shape (p, n), each row by a fit to other folds.

    Without folds or parents one fit to all rows answers.
    """
    if folds is None or not family.parents:
        given = family.fitted()
        return [given(values) for values in parents]
    parts: list[list[Given]] = [[] for _ in parents]
    rows = [np.flatnonzero(folds == k) for k in range(int(folds.max()) + 1)]
    for k, held_out in enumerate(rows):
        given = family.fitted(folds != k)
        for part, values in zip(parts, parents, strict=True):
            part.append(given(np.ascontiguousarray(values[:, held_out])))
    order = np.argsort(np.concatenate(rows))
    return [_joined(part, order) for part in parts]


def _joined(parts: list[Given], order: Integers) -> Given:
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if numbers:
        mean = np.concatenate([part.mean for part in numbers])
        return Numbers(mean[order], np.concatenate([part.deviation for part in numbers])[order])
    levels = [part for part in parts if isinstance(part, Levels)]
    return Levels(levels[0].values, np.concatenate([part.probabilities for part in levels], axis=1)[:, order])


class Split(NamedTuple):
    """The families by one split into folds.

    Attributes
    ----------
    expected : Numbers or Levels
        The effect at the cause as it is.
    under : list of Numbers or Levels
        The effect with the cause at the two values of the contrast.
    rows : list of Weighted
        How the rows speak for each of them.
    beyond : float
        The share of the target less likely to have one of the values than any row with that value; zero of numbers.
    """

    expected: Given
    under: list[Given]
    rows: list[Weighted]
    beyond: float


class PairFit:
    """The cross-fitted families of a pair.

    Parameters
    ----------
    pair : Pair
        The question.
    effect, cause : Family
        The effect given cause and covariates, and the cause given covariates.
    random_state : int
        Seed of the folds.
    """

    def __init__(self, pair: Pair, effect: Family, cause: Family, random_state: int):
        self.pair, self.effect, self.cause = pair, effect, cause
        rng, n = np.random.default_rng(random_state), pair.observed.size
        strata = pair.cause.astype(np.int64) if pair.few_values else np.zeros(n, dtype=np.int64)
        n_splits = TUNING.n_splits if n <= TUNING.split_rows and pair.has_covariates else 1
        folds = [folds_of(n, TUNING.n_folds, strata, pair.groups, rng) for _ in range(n_splits)]
        alone = pair.few_values and not pair.has_covariates  # then the answer is the difference of the means
        self.splits = [self._split(None if alone else fold) for fold in folds]

    def _split(self, folds: Integers | None) -> Split:
        pair = self.pair
        settings = [pair.cause, *(np.full(pair.cause.size, value) for value in pair.contrast[:2])]
        parents = [np.vstack([pair.values[:-2], setting]) for setting in settings]
        expected, *under = out_of_fold(self.effect, folds, parents)
        (given,) = out_of_fold(self.cause, folds, [pair.values[:-2]])
        if pair.few_values and isinstance(given, Levels):
            return Split(expected, under, *self._by_probability(given))
        target = pair.where.astype(np.float64)
        pieces = TUNING.many_pieces if pair.cause.size >= TUNING.many_rows else TUNING.pieces
        mean, deviation = given.moment(1), np.maximum(given.deviation, np.finfo(float).tiny)
        rows = [by_regression(value, pair.cause, mean, deviation, target, pieces) for value in pair.contrast[:2]]
        return Split(expected, under, rows, 0.0)

    def _by_probability(self, given: Levels) -> tuple[list[Weighted], float]:
        pair, everybody = self.pair, np.ones(self.pair.cause.size)
        chosen = [pair.cause == value for value in pair.contrast[:2]]
        plain = [given.probabilities[np.searchsorted(given.values, value)] for value in pair.contrast[:2]]
        shares = {"all": everybody, "untreated": plain[0], "treated": plain[1]}
        members = {"all": everybody, "untreated": 1.0 * chosen[0], "treated": 1.0 * chosen[1]}
        kept = pair.where & (plain[0] >= pair.trim) & (plain[1] >= pair.trim)
        target, share = members[pair.target] * kept, shares[pair.target] * kept
        if not target.any() or not all((kept & rows).any() for rows in chosen):
            raise ValueError(f"{option('trim', pair.trim)} leaves no rows to compare; take a smaller one")
        likely = [np.maximum(probability, TUNING.least_probability) for probability in plain]
        rows = [by_probability(at, p, target, share) for at, p in zip(chosen, likely, strict=True)]
        outside = [p < p[at & pair.where].min() for at, p in zip(chosen, plain, strict=True)]
        return rows, float((outside[0] | outside[1]) @ target / target.sum())

    @property
    def effective_rows(self) -> dict[Hashable, float]:
        """The number of rows of equal weight that speak for each value of the contrast, as a user says it."""
        speak = [float(np.mean([split.rows[at].effective_rows for split in self.splits])) for at in (0, 1)]
        return {self.pair.contrast.reference: speak[0], self.pair.contrast.value: speak[1]}

    def mean(self, at: int, observed: Floats, of: Callable[[Given], Floats]) -> Estimate:
        """Return the mean of a function of the effect with the cause at a value, averaged over the splits.

        Parameters
        ----------
        at : int
            0 or 1: which value of the contrast.
        observed : ndarray, shape (n,)
            The function of the effect as it is.
        of : callable
            The mean of the function given a distribution of the effect, shape (n,).
        """
        parts = [augmented(observed, of(split.expected), of(split.under[at]), split.rows[at]) for split in self.splits]
        influence: Floats = np.mean([part.influence for part in parts], axis=0)
        return Estimate(float(np.mean([part.value for part in parts])), influence, parts[0].degrees)

    def moment(self, at: int, order: int) -> Estimate:
        """Return the mean of the effect, or of its square, at a value of the contrast."""
        observed: Floats = np.power(self.pair.observed, order)
        return self.mean(at, observed, lambda given: given.moment(order))

    def outcome(self, at: int, label: int | None) -> Estimate:
        """Return the mean of the effect, or the probability of a label, at a value of the contrast."""
        if label is None:
            return self.moment(at, 1)
        return self.mean(at, (self.pair.observed == label) * 1.0, lambda given: given.share(label))

    def below(self, at: int, limit: float) -> Estimate:
        """Return the probability that the effect is at most a limit, at a value of the contrast."""
        return self.mean(at, (self.pair.observed <= limit).astype(np.float64), lambda given: given.below(limit))

    def quantile(self, at: int, q: float) -> Estimate:
        """Return a quantile of a numeric effect at a value of the contrast.

        Its influence is that of the distribution function there, times the slope of the quantiles over the interval of
        that function.
        """
        values = np.unique(self.pair.observed).tolist()

        def value_of(share: float) -> float:
            place = bisect_left(range(len(values) - 1), share, key=lambda k: self.below(at, values[k]).value)
            return float(values[place])

        limit = value_of(q)
        share = self.below(at, limit)
        reach = 2.0 * share.error(self.pair.groups)
        slope = (value_of(q + reach) - value_of(q - reach)) / (2.0 * reach) if reach else 0.0
        return share._replace(value=limit, influence=-slope * share.influence)


def fits_of(pairs: Sequence[Pair], random_state: int) -> list[PairFit]:
    """Return the fits of one question under several contrasts, which share their families.

    Parameters
    ----------
    pairs : sequence of Pair
        The question, once for each contrast.
    random_state : int
        Seed of initial weights and folds.
    """
    values, kinds, n_categories = pairs[0].values, pairs[0].kinds, pairs[0].n_categories
    effect = Family(values, kinds, n_categories, random_state, [len(values) - 2])
    cause = Family(values[:-1], kinds[:-1], n_categories[:-1], random_state)
    return [PairFit(pair, effect, cause, random_state) for pair in pairs]


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
        The probability of the intervals.
    """
    pair, groups = fit.pair, fit.pair.groups

    def interval(estimate: Estimate, least: float = -math.inf, most: float = math.inf) -> Interval:
        figures = estimate.value, *estimate.interval(level, groups)
        return Interval(*(min(max(figure, least), most) for figure in figures))

    low, high = fit.outcome(0, label), fit.outcome(1, label)
    quantiles = QUANTILES if label is None and isinstance(fit.splits[0].expected, Numbers) else ()
    is_risk = label is not None or set(np.unique(pair.observed).tolist()) == {0.0, 1.0}
    difference, bounds = high.minus(low), (0.0, 1.0) if is_risk else (-math.inf, math.inf)
    return Comparison(
        pair.contrast.reference,
        pair.contrast.value,
        outcome,
        (interval(low, *bounds), interval(high, *bounds)),
        interval(difference, -bounds[1], bounds[1]),
        difference.error(groups),
        _crude(pair, label),
        _exponential(interval(high.over(low))) if is_risk and min(low.value, high.value) > 0.0 else None,
        {q: interval(fit.quantile(1, q).minus(fit.quantile(0, q))) for q in quantiles},
        None if is_risk else _spread_ratio(fit, interval),
    )


def _crude(pair: Pair, label: int | None) -> float:
    if not pair.few_values:
        return math.nan
    observed = pair.observed if label is None else (pair.observed == label) * 1.0
    low, high = (observed[(pair.cause == value) & pair.where].mean() for value in pair.contrast[:2])
    return float(high - low)


def _exponential(interval: Interval) -> Interval:
    return Interval(*map(math.exp, interval))


def _spread_ratio(fit: PairFit, interval: Callable[[Estimate], Interval]) -> Interval | None:
    """Return the ratio of standard deviations; the influence on E h^2 - (E h)^2 is by the chain rule."""
    variances = []
    for at in (0, 1):
        first, second = fit.moment(at, 1), fit.moment(at, 2)
        variance = second.value - first.value**2
        if variance <= 0.0:
            return None
        variances.append(Estimate(variance, second.influence - 2.0 * first.value * first.influence, first.degrees))
    ratio = variances[1].over(variances[0])
    return _exponential(interval(Estimate(ratio.value / 2.0, ratio.influence / 2.0, ratio.degrees)))
