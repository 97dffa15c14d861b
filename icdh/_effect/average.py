"""The mean effect of one of two values: augmented inverse probability weighting, cross-fitted.

With p_a(x) the probability of the value a given covariates, and m_a(x) the mean of the effect there, both fitted to
other rows, the mean of the effect had all rows the value a is

    mean over rows of  m_a(x) + w_a (y - m_a(x)),    w_a = 1{d = a} / p_a(x),

where weights are scaled to sum to the number of rows. Of the rows with one value alone (the treated) the mean is over
them, and weights are multiplied by the probability of that value. It is right if either fit is. No probability is
clipped.

A mean of all rows is given where both values have twenty effective rows, no row has more than 5 % of the weight of
its value, and at most 15 % of the rows are so unlikely to have a value that fewer than three of them are expected to
have it: weights cannot show that. Elsewhere the answer is about some rows, without those that are so unlikely if they
are many: of all sets of the smallest 1 / p_0 + 1 / p_1 that whose mean effect has the least variance. The mean of all
rows then has bounds. Where fewer than ten effective rows or a tenth of the rows are left, there is no number.

References
----------
Robins, Rotnitzky, Zhao: "Estimation of regression coefficients when some regressors are not always observed", Journal
of the American Statistical Association 89, 1994.
Crump, Hotz, Imbens, Mitnik: "Dealing with limited overlap in estimation of average treatment effects", Biometrika 96,
2009.
Manski: "Nonparametric bounds on treatment effects", American Economic Review 80, 1990.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icdh._effect.sample import ENOUGH, Estimate, Sample, clustered_error, effective_rows
from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import counted

FEWEST = 10.0  # effective rows
MOST_OF_ONE, LEAST_SHARE = 0.05, 0.1  # of the weights of a value; of the rows
EXPECTED, MOST_LONELY = 3.0, 0.15  # rows expected in a tail; share of the rows that may be in it


@dataclass(frozen=True)
class Difference:
    """The mean effect of setting a cause to one value, not another.

    Attributes
    ----------
    sample : Sample
        The rows.
    low, high : float
        From and to what the cause is set.
    of_treated : bool
        Whether the mean is that of the rows at ``high``, not of all.
    level : float
        The probability of the interval that bounds add to.
    """

    sample: Sample
    low: float
    high: float
    of_treated: bool = False
    level: float = 0.95

    @cached_property
    def _arms(self) -> Mask:
        """The rows that have each value, shape (2, n)."""
        return np.stack([self.sample.cause == value for value in (self.low, self.high)])

    @cached_property
    def _target(self) -> Mask:
        """The rows whose mean effect it is."""
        return np.asarray(self._arms[1] | (not self.of_treated))

    @cached_property
    def _fits(self) -> tuple[Floats, Floats]:
        """Probabilities of both values, and means of the effect at both, shapes (s, 2, n)."""
        sample, splines, at = self.sample, self.sample.splines, self._arms
        probabilities, means = [], []
        for folds in sample.folds(sample.cause):
            high = splines.probabilities(at[1], folds)
            low = 1.0 - high if at.any(axis=0).all() else splines.probabilities(at[0], folds)
            probabilities.append(np.clip([low, high], 1e-12, 1.0))  # against division by zero alone
            means.append([splines.means_of(rows, sample.effect, folds) for rows in at])
        return np.array(probabilities), np.array(means)

    def estimate(self) -> Estimate:
        """Return the mean effect, of the rows with counterparts where many have none; NaN where most have none."""
        counts = self._arms.sum(axis=1)
        if counts.min() < (FEWEST if len(self.sample.covariates) else 2):
            return self._no_answer(f"only {counted(int(counts.min()), 'row')} of one value of the cause", counts)
        answer, heaviest = self._mean_of(np.ones_like(self._target))
        fewest, is_lonely, kept = min(answer.effective), self._lonely(), self._counterparts()
        lonely = float(is_lonely[self._target].mean())
        if fewest >= ENOUGH and heaviest <= MOST_OF_ONE and lonely <= MOST_LONELY:
            return answer
        if heaviest > MOST_OF_ONE and fewest >= ENOUGH:
            why = f"one row has {heaviest:.0%} of the weight of its value of the cause"
        else:
            why = f"few rows speak for one value of the cause: {fewest:.0f} of equal weight would say as much"
        if lonely > MOST_LONELY:
            why, kept = f"{lonely:.0%} of the rows hardly ever have the other value of the cause", kept & ~is_lonely
        share = float(kept[self._target].mean())
        if share == 1.0:
            return replace(answer, notes=(why,))
        if share >= LEAST_SHARE and (kept & self._arms).sum(axis=1).min() >= FEWEST:
            trimmed, _ = self._mean_of(kept)
            if min(trimmed.effective) >= FEWEST:
                bounds = self._bounds(kept, trimmed.interval(self.level))
                note = f"{why}: the answer is about the {percent(share)} of the rows that have counterparts"
                return replace(trimmed, share=share, bounds=bounds, notes=(note,))
        return self._no_answer(f"{why}, and only {percent(share)} have a counterpart", answer.effective)

    def _no_answer(self, why: str, effective: Sequence[float] | Floats) -> Estimate:
        bounds, influence = self._bounds(np.zeros_like(self._target), (0.0, 0.0)), np.zeros(self._target.size)
        numbers = math.nan, math.nan, 1.0, math.nan, (float(effective[0]), float(effective[1]))
        return Estimate(*numbers, influence, 0.0, bounds, (f"{why}: no answer",))

    def _mean_of(self, kept: Mask) -> tuple[Estimate, float]:
        """Return the mean effect of rows that are kept, and the largest share of one row in the weights of a value."""
        parts = [self._means_of_split(*fit, kept) for fit in zip(*self._fits, strict=True)]
        values, influences, effective, others = (np.mean(list(part), axis=0) for part in zip(*parts, strict=True))
        influence: Floats = influences[1] - influences[0]
        error = clustered_error(influence, self.sample.groups) / int(np.count_nonzero(kept & self._target))
        n_groups = math.inf if self.sample.groups is None else np.count_nonzero(np.bincount(self.sample.groups))
        degrees = max(min(float(effective.min()), n_groups) - 1.0, 1.0)
        scale, rows = math.sqrt(float(others[1] * others[2])), (float(effective[0]), float(effective[1]))
        return Estimate(float(values[1] - values[0]), error, degrees, scale, rows, influence), float(others[0])

    def _means_of_split(self, probabilities: Floats, means: Floats, kept: Mask) -> tuple[Floats, ...]:
        """Return both means, influences, shape (2, n), and effective rows; and what is known of the weights.

        That is the largest share of a row, the squared residual and the squared Riesz representer.
        """
        y, members = self.sample.effect, kept & self._target
        size, per_member = np.count_nonzero(members), y.size / np.count_nonzero(members)
        target = kept * (probabilities[1] if self.of_treated else 1.0)
        weights = self._arms * target / probabilities
        weights *= size / weights.sum(axis=1, keepdims=True)
        corrections, shares = weights * (y - means), weights / size
        values = ((members * means).sum(axis=1) + corrections.sum(axis=1)) / size
        jackknifed = corrections / np.maximum(1.0 - shares, 0.1)
        influence = members * (means - values[:, np.newaxis]) + jackknifed
        left = (self._arms * (y - means)).sum(axis=0)[kept & self._arms.any(axis=0)]
        by_model = float((np.square(target * per_member) / probabilities).sum(axis=0).mean())
        by_weights = float(np.square((weights[1] - weights[0]) * per_member).mean())
        riesz = max(2.0 * by_model - by_weights, by_model / 2.0)
        effective = np.array([effective_rows(part) for part in weights])
        return values, influence, effective, np.array([shares.max(), np.square(left).mean(), riesz])

    def _lonely(self) -> Mask:
        """Return the rows that are so unlikely to have a value that hardly any of them is expected to have it."""
        lonely = np.zeros_like(self._target)
        for p in self._fits[0].mean(axis=0)[: 1 if self.of_treated else 2]:
            order = np.argsort(p)
            lonely[order[np.cumsum(p[order]) < EXPECTED]] = True
        return lonely

    def _counterparts(self) -> Mask:
        """Return the rows whose mean effect is the most precise: those of the least variances, whatever their value."""
        variance = (1.0 / self._fits[0].mean(axis=0)[: 1 if self.of_treated else 2]).sum(axis=0)
        order = np.sort(variance)
        of_mean = np.cumsum(order) / np.square(np.arange(1.0, order.size + 1.0))
        return np.asarray(variance <= order[np.argmin(of_mean)])

    def _bounds(self, kept: Mask, ends: tuple[float, float]) -> tuple[float, float] | None:
        """Return bounds on the mean effect of all rows: what others would be may be any value of the effect seen."""
        if self.of_treated:
            return None
        y, bounds = self.sample.effect, []
        for end, of_high, of_low in zip(ends, (y.min(), y.max()), (y.max(), y.min()), strict=True):
            rest = np.where(self._arms[1], y, of_high) - np.where(self._arms[0], y, of_low)
            bounds.append(float(end * kept.mean() + rest[~kept].sum() / y.size))
        return bounds[0], bounds[1]


def percent(share: float) -> str:
    """Return a share as text; nearly all is not all."""
    return f"{100.0 * share:.0f} %" if share <= 0.99 or share == 1.0 else f"{min(100.0 * share, 99.9):.1f} %"
