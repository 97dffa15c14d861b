"""Rows of a cause, an effect and covariates, the folds that they are fitted in, and estimates of one number from them.

A hidden common cause that explains the shares r_y of what is left of the effect and r_d of what is left of the cause
moves an estimate by at most

    S sqrt(r_y r_d / (1 - r_d)),    S^2 = E (y - E[y | d, x])^2  E a^2,

where a is the Riesz representer of the estimate: the residual of the cause over its variance, or the signed weights of
rows. The robustness value is the share r = r_y = r_d that brings the estimate to zero,

    r^2 / (1 - r) = (estimate / S)^2.

References
----------
Cinelli, Hazlett: "Making sense of sensitivity", Journal of the Royal Statistical Society B 82, 2020.
Chernozhukov, Cinelli, Newey, Sharma, Syrgkanis: "Long story short: omitted variable bias in causal machine learning",
NBER Working Paper 30302, 2022.
Kish: "Survey Sampling", 1965, Section 11.7 (effective rows).
Cameron, Gelbach, Miller: "Robust inference with multiway clustering", Journal of Business and Economic Statistics 29,
2011.
MacKinnon, Nielsen, Webb: "Jackknife inference with two-way clustering", arXiv 2406.08880, 2024.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from icdh._effect.result import Strength
from icdh._effect.splines import Ridge, Splines, demeaned, standardised, sums_of
from icdh._rows import numbered
from icdh._utils.arrays import Floats, Integers, Mask

N_FOLDS = 20
MOST_COMPARED = 5000  # rows, where covariates or designs are compared
TENSOR_GAIN = 10.0  # of n times the log of the error: twice the nats that leave a smaller model no support
ENOUGH = 20.0  # effective rows or groups
NEARLY_ALL = 0.01  # of the effect's variance is what a covariate leaves that may be computed from it


@dataclass(frozen=True)
class Sample:
    """What is known of n rows.

    Attributes
    ----------
    effect, cause : ndarray, shape (n,)
        Two columns of any unit; codes in place of labels.
    covariates : ndarray, shape (p, n)
        One covariate a row.
    has_labels : tuple of bool
        Which covariates hold codes of labels.
    weights : ndarray, shape (n,)
        How many rows of the population each stands for, in units of their mean.
    groups : tuple of ndarray of int, each of shape (n,)
        Groupings: rows of one group depend on one another. Folds hold whole groups of the first.
    within : tuple of ndarray of int, each of shape (n,)
        Groupings whose means are taken out.
    seed : int
        Draws the folds.
    unit : float
        What the effect is a multiple of, in the unit of the user.
    """

    effect: Floats
    cause: Floats
    covariates: Floats
    has_labels: tuple[bool, ...]
    weights: Floats
    groups: tuple[Integers, ...] = ()
    within: tuple[Integers, ...] = ()
    seed: int = 0
    unit: float = 1.0

    def _splines(self, is_tensor: bool) -> Splines:
        return Splines(self.covariates, self.has_labels, self.weights, self.within, is_tensor)

    @cached_property
    def is_tensor(self) -> bool:
        """Whether tensor products of splines tell much more of the cause: else they would cost degrees of freedom."""
        part = self
        if self.groups and not self.within:  # of a group one row: covariates that are alike there tell who it is
            part = self.of_rows(np.unique(self.groups[0], return_index=True)[1])
        part = part.thinned()
        cause = standardised(demeaned(part.cause, part.within, part.weights))
        plain, tensor = (part._splines(each).error(cause) for each in (False, True))
        return plain > tensor * math.exp(TENSOR_GAIN / cause.size)

    @cached_property
    def splines(self) -> Splines:
        """Regressions on the covariates."""
        return self._splines(self.is_tensor)

    def thinned(self) -> "Sample":
        """Return at most 5000 rows, evenly spread."""
        return self.of_rows(np.arange(self.effect.size)[:: -(-self.effect.size // MOST_COMPARED)])

    def of_rows(self, rows: Integers | Mask) -> "Sample":
        """Return selected rows; groups are numbered in the order of their first rows."""
        groups, within = (tuple(numbered(of[rows].tolist()) for of in ways) for ways in (self.groups, self.within))
        columns, weights = (self.effect[rows], self.cause[rows], self.covariates[:, rows]), self.weights[rows]
        return Sample(*columns, self.has_labels, weights / weights.mean(), groups, within, self.seed, self.unit)

    def splines_of(self, covariates: Sequence[int]) -> Splines:
        """Return regressions on some of the covariates."""
        has_labels = [self.has_labels[k] for k in covariates]
        return Splines(self.covariates[covariates], has_labels, self.weights, self.within)

    def determining(self, column: Floats) -> list[int]:
        """Return the covariates each of which alone leaves next to nothing of a column, shape (n,)."""
        part = replace(self, effect=column).thinned()
        column = standardised(demeaned(part.effect, part.within, part.weights))
        return [k for k in range(len(part.covariates)) if part.splines_of([k]).error(column) < NEARLY_ALL]

    def notes(self, effective: float) -> tuple[str, ...]:
        """Return what to know of an answer to which rows, or groups, say as much as so many of equal weight."""
        rows = "groups" if self.groups else "rows"
        few = f"the answer rests on few {rows}: {effective:.0f} of equal weight would say as much"
        joint = "covariates act on the cause together, in curves that are no products: the interval may be too narrow"
        return (few,) * (effective < ENOUGH) + (joint,) * self.is_tensor

    def folds(self, strata: Floats | None = None) -> Integers:
        """Return the fold of every row: of rows or groups; those of a stratum in different folds.

        Few groups, whose means are taken out, are not left out whole: covariates may be in a range of their own there.
        """
        n = self.effect.size
        units = self.groups[0] if self.groups else np.arange(n)
        units = np.arange(n) if self.within and units.max(initial=0) + 1 < N_FOLDS else units
        totals = np.bincount(units, np.zeros(n) if strata is None else strata)
        order = np.lexsort((np.random.default_rng(self.seed).random(totals.size), totals))
        return (np.argsort(order) % N_FOLDS)[units]


@dataclass(frozen=True)
class Estimate:
    """A number that rows tell, and its error.

    Attributes
    ----------
    value, error, degrees : float
        The estimate, its standard error, and the degrees of freedom of that; NaN where rows tell nothing.
    scale : float
        S, see `icdh._effect.sample`.
    effective : tuple of float
        As many rows of equal weight, or groups, would say as much; of two values of the cause one number each.
    influence : ndarray, shape (n,)
        What each row adds to the estimate, up to a factor.
    share : float
        The share of the rows asked for that the number is about.
    bounds : tuple of float, or None
        Where the mean of all these rows lies, whatever the others would be.
    notes : tuple of str
        What to know before it is used.
    shift, most : float
        How far the centre of the interval is from the estimate, and the largest effect that is possible.
    """

    value: float
    error: float
    degrees: float
    scale: float
    effective: tuple[float, ...]
    influence: Floats
    share: float = 1.0
    bounds: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    shift: float = 0.0
    most: float = math.inf

    def interval(self, level: float) -> tuple[float, float]:
        """Return the interval of Student's t that holds the truth with this probability."""
        from scipy.special import stdtrit

        reach = float(stdtrit(max(self.degrees, 1.0), (1.0 + level) / 2.0)) * self.error
        centre = self.value + self.shift
        return max(centre - reach, -self.most), min(centre + reach, self.most)

    def times(self, factor: float) -> "Estimate":
        """Return the estimate in a unit that is so many times smaller."""
        bounds = None if self.bounds is None else (factor * self.bounds[0], factor * self.bounds[1])
        moved = {name: factor * getattr(self, name) for name in ("value", "error", "scale", "shift", "most")}
        return replace(self, bounds=bounds, **moved)


def oriented(column: Floats, other: Floats | None = None) -> Floats:
    """Return a column, or its negative: the lower values are the more frequent ones, or else lie closer together.

    Of a symmetric column the correlation with another one decides.
    """
    levels, counts = np.unique(column, return_counts=True)
    skewness = float(levels[0] + levels[-1]) - 2.0 * float(levels.mean())
    there, back = counts.tolist(), counts[::-1].tolist()
    if there == back:
        there, back = [skewness], [0.0]
    if there == back and other is not None:
        there, back = [float((column - column.mean()) @ other)], [0.0]
    return column if there >= back else -column


def by_frequency(labels: Floats) -> Floats:
    """Return other codes of labels, shape (n,): zero of the rarest, and so on."""
    codes, of_rows, counts = np.unique(labels, return_inverse=True, return_counts=True)
    ranks = np.argsort(np.lexsort((codes, counts)))
    return np.asarray(ranks[of_rows.ravel()], dtype=np.float64)


def effective_rows(weights: Floats) -> float:
    """Return the number of rows of equal weight that say as much."""
    squares = float(np.square(weights).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def robustness_value(estimate: float, scale: float) -> float:
    """Return the share of what is left of cause and effect that a hidden cause must explain to bring this to zero."""
    return math.nan if math.isnan(estimate) else min(multiple_of(1.0, 1.0, estimate, scale), 1.0)


def strongest_covariate(
    sample: Sample, cause: Floats, names: Sequence[Hashable], estimate: Estimate
) -> Strength | None:
    """Return the covariate that would bias an estimate most if it were left out.

    By the errors of regressions of the effect, the cause as well known, and of the cause, of at most 5000 rows. With
    each covariate those are left out that alone determine it, such as its square.
    """
    sample = replace(sample, cause=cause).thinned()
    effect, cause, *columns = (
        standardised(demeaned(column, sample.within, sample.weights))
        for column in (sample.effect, sample.cause, *sample.covariates)
    )

    every = list(range(len(names)))
    splines, strengths = sample.splines_of(every), []
    products = splines.products(effect, cause, *columns)
    of_effect, of_cause, *of_columns = range(len(products) - len(columns) - 2, len(products))

    def errors(covariates: Sequence[int], *targets: int, further: Sequence[int] = ()) -> list[float]:
        """Return the errors of columns of the products given covariates, and perhaps a further column."""
        kept = [*splines.columns_of(covariates), *further]
        ridge = Ridge(products[np.ix_(kept, kept)])
        return [ridge.fit(products[kept, target], float(products[target, target]))[1] for target in targets]

    whole = np.array(errors(every, of_effect, further=[of_cause]) + errors(every, of_cause))
    for k, name in enumerate(names):
        others = every[:k] + every[k + 1 :]
        given, left = errors(others, of_cause, of_columns[k])
        if others and left < NEARLY_ALL:
            follows_from = sample.determining(sample.covariates[k])
            others = [j for j in others if j not in follows_from]
            (given,) = errors(others, of_cause)
        rest = np.maximum([*errors(others, of_effect, further=[of_cause]), given], 1e-300)
        r_y, r_d = np.maximum(1.0 - whole / rest, 0.0).tolist()
        strengths.append(Strength(name, r_y, r_d, multiple_of(r_y, r_d, estimate.value, estimate.scale)))
    return min(strengths, key=lambda of: (of.multiple, -of.of_effect * of.of_cause), default=None)


def multiple_of(r_y: float, r_d: float, estimate: float, scale: float) -> float:
    """Return how many times as strong as an observed cause of strength (r_y, r_d) a hidden one must be to explain all.

    The multiple k solves k^2 r_y r_d / (1 - k r_d) = (estimate / S)^2; infinite if it would have to explain more than
    all of the effect.
    """
    if not r_y * r_d > 0.0 or not scale > 0.0:
        return math.inf
    ratio = abs(estimate) / scale
    multiple = 2.0 * ratio / (math.hypot(ratio * r_d, 2.0 * math.sqrt(r_y * r_d)) + ratio * r_d)
    return multiple if multiple * max(r_y, r_d) < 1.0 else math.inf


def sandwich(influence: Floats, leverage: Floats, groups: Sequence[Integers]) -> tuple[Floats, float]:
    """Return covariances of sums of rows by the jackknife, and the effective number of rows or groups.

    There is one covariance for each grouping and, of several, one for all of them together: with the covariances V of
    rows that share their groups of some groupings,

        V_firm + V_year - V_(firm, year)

    without its negative eigenvalues (Cameron, Gelbach, Miller). As that may be too small, an error is the largest by
    any of them (MacKinnon, Nielsen, Webb).

    Parameters
    ----------
    influence : ndarray, shape (n, k)
        What each row adds to each of k numbers.
    leverage : ndarray, shape (n,)
        The share of each row in what is known.
    groups : sequence of ndarray of int, each of shape (n,)
        Groupings of rows that depend on one another; none of independent rows.
    """

    def of_cells(cells: Integers | None) -> Floats:
        moved = sums_of(influence, cells) / np.maximum(1.0 - sums_of(leverage, cells), 0.1)[:, np.newaxis]
        return np.asarray(moved.T @ moved)

    singles: list[Integers | None] = [*groups] or [None]
    covariances = [of_cells(cells) for cells in singles]
    if len(groups) > 1:
        together = sum(covariances)
        for size in range(2, len(groups) + 1):
            for some in combinations(groups, size):
                cells = np.unique(np.stack(some), axis=1, return_inverse=True)[1].ravel()
                together = together - (-1.0) ** size * of_cells(cells)
        values, vectors = np.linalg.eigh(together)
        covariances.append((vectors * np.maximum(values, 0.0)) @ vectors.T)
    return np.array(covariances), min(effective_rows(sums_of(leverage, cells)) for cells in singles)
