"""The mean effect of one of two values: augmented inverse probability weighting, cross-fitted.

With p_a(x) the probability of the value a given covariates, and m_a(x) the mean of the effect there, both fitted to
other rows, the mean of the effect had all rows the value a is

    mean over rows of  m_a(x) + w_a (y - m_a(x)),    w_a = 1{d = a} / p_a(x),

where weights are scaled to sum to the number of rows. Rows may have weights of their own. Of the rows with one value
alone (the treated) the mean is over them, and weights are multiplied by the probability of that value. It is right if
either fit is.

In weights a probability is at least 5 / (sqrt(n) log n), as in targeted learning (Gruber et al.). Without this one row
of 500 had the weight 121, and an interval was ten times too wide. The choice of rows with
counterparts has no bounds: with them intervals of 95 % held 73 % of the truths where no rows overlap.

Where the effect has two values, an arm's fit departs from that of all rows by a term for ten rows of its rarer value
(Peduzzi et al.), and means stay in the range: a free fit to two events among 42 gave -0.22 where the risk of the others
is 0.09, and intervals of 95 % held 42 of 60 truths. In each arm an event and a non-event more (Agresti, Caffo) give the
least variance; it was zero without events.

A mean of all rows is given unless its variance is 1.3 times as large as without the rows that hardly ever have one of
the values. Then the answer is about the others: of all sets of the smallest 1 / p_0 + 1 / p_1 that whose mean effect
has the least variance. The mean of all rows then has bounds. Where fewer than ten effective rows of a value or a tenth
of the rows are left, there is no number; nor where covariates determine the cause.

References
----------
Robins, Rotnitzky, Zhao: "Estimation of regression coefficients when some regressors are not always observed", Journal
of the American Statistical Association 89, 1994.
Crump, Hotz, Imbens, Mitnik: "Dealing with limited overlap in estimation of average treatment effects", Biometrika 96,
2009.
Peduzzi, Concato, Kemper, Holford, Feinstein: "A simulation study of the number of events per variable in logistic
regression analysis", Journal of Clinical Epidemiology 49, 1996.
Agresti, Caffo: "Simple and effective confidence intervals for proportions and differences of proportions result from
adding two successes and two failures", American Statistician 54, 2000.
Gruber, Phillips, Lee, van der Laan: "Data-adaptive selection of the propensity score truncation level for
inverse-probability-weighted and targeted maximum likelihood estimators of marginal point treatment effects", American
Journal of Epidemiology 191, 2022.
Manski: "Nonparametric bounds on treatment effects", American Economic Review 80, 1990.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from icdh._effect.result import percent
from icdh._effect.sample import Estimate, Sample, effective_rows, sandwich
from icdh._effect.splines import sums_of
from icdh._utils.arrays import Floats, Integers, Mask
from icdh.exceptions import option

FEWEST, LEAST_SHARE = 10.0, 0.1  # effective rows; share of the rows
UNFORESEEN = 1.0  # row whose value of the cause the covariates did not tell, at least
ROWS_OF_TERM = 10.0  # of the rarer of two values of the effect
LEAST_GAIN = 1.3  # times the least variance, from which rows without counterparts are left out


@dataclass(frozen=True)
class Difference:
    """The mean effect of setting a cause to one value, not another.

    Attributes
    ----------
    sample : Sample
        The rows.
    ends : pair of float
        From and to what the cause is set.
    target : {-1, 0, 1}
        Whose mean it is: that of all rows, or of those with the first or the second of these values.
    level : float
        The probability of the interval that bounds add to.
    """

    sample: Sample
    ends: tuple[float, float]
    target: int = -1
    level: float = 0.95

    @cached_property
    def _arms(self) -> Mask:
        """The rows that have each value, shape (2, n)."""
        return np.stack([self.sample.cause == value for value in self.ends])

    @cached_property
    def _target(self) -> Mask:
        """The rows whose mean effect it is."""
        return self._arms[self.target] if self.target >= 0 else np.ones_like(self._arms[0])

    @cached_property
    def _folds(self) -> Integers:
        """The folds, over which the value that occurs first is spread; the opposite contrast has the same."""
        first = min(self.ends, key=lambda value: int(np.argmax(self.sample.cause == value)))
        return self.sample.folds((self.sample.cause == first) * 1.0)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The two values of the effect; of a number no bounds."""
        values = np.unique(self.sample.effect)
        return (float(values[0]), float(values[1])) if values.size == 2 else (-math.inf, math.inf)

    def _most_terms(self, rows: Mask) -> float:
        """Return the degrees of freedom that rows can tell, a term for ten rows of the rarer of two values."""
        events = np.sum(self.sample.effect[rows] == self._range[0])
        return math.inf if self._range[1] == math.inf else 1.0 + min(events, rows.sum() - events) / ROWS_OF_TERM

    def _compares(self, rows: Mask) -> bool:
        """Return whether rows with each value are many enough, and not all in one group."""
        least = FEWEST if len(self.sample.covariates) else 2
        return all(arm.sum() >= least and np.unique(self._folds[arm]).size > 1 for arm in rows & self._arms)

    @cached_property
    def _fits(self) -> tuple[Floats, Floats, Floats]:
        """Probabilities of both values and means of the effect at both, (2, n); of being in the target, (n,)."""
        splines, at, folds, effect = self.sample.splines, self._arms, self._folds, self.sample.effect[:, np.newaxis]
        groups = next(iter(self.sample.groups), None)
        high = splines.probabilities(at[1], folds, groups)
        low = 1.0 - high if at.any(axis=0).all() else splines.probabilities(at[0], folds, groups)
        means = [splines.means(effect, folds, rows=rows, most=self._most_terms(rows))[0][:, 0] for rows in at]
        chances = np.clip([low, high], 1e-12, 1.0)  # against division by zero alone
        return chances, np.clip(means, *self._range), chances[self.target] if self.target >= 0 else np.ones_like(high)

    def estimate(self) -> Estimate:
        """Return the mean effect in the user's unit, of rows with counterparts; NaN where hardly any row has one."""
        every = np.ones_like(self._target)
        compares = self._compares(every)
        is_determined = compares and self._is_determined
        kept = self._counterparts() if compares and not is_determined else ~every
        mass = self.sample.weights * self._target
        share, counts = float(mass[kept].sum() / mass.sum()), (kept & self._arms).sum(axis=1)
        rows = float(counts[0]), float(counts[1])
        if share >= LEAST_SHARE and self._compares(kept):
            answer, has_covariates = self._mean_of(kept), len(self.sample.covariates) > 0
            rows = answer.effective[0], answer.effective[1]
            if min(rows) >= FEWEST or not has_covariates:
                left = "some rows hardly ever have the other value of the cause: the answer is about the "
                left += f"{percent(share)} of the rows that have counterparts"
                notes = self.sample.notes(answer.degrees + 1.0) + (left,) * (share < 1.0)
                bounds = self._bounds(kept, answer.interval(self.level)) if share < 1.0 else None
                return replace(answer, share=share, bounds=bounds, notes=notes).times(self.sample.unit)
        counterparts = f"{percent(share)} of the rows have counterparts"
        weighed = f"those with one value of the cause count for {min(rows):.0f} rows of equal weight"
        why = [f"too few rows or groups to compare: {counterparts}, and {weighed}: no answer"]
        if is_determined:
            why = ["the covariates determine the cause, so that no row has a counterpart: no answer"]
        elif self.target < 0 and compares:
            fewer = int(np.argmin(rows))
            if math.isfinite(replace(self, target=fewer).estimate().value):
                remedy = option("target", ("untreated", "treated")[fewer])
                why.append(f"the rows with that value alone have an answer: pass {remedy}")
        bounds = self._bounds(np.zeros_like(kept), (0.0, 0.0))
        answer = Estimate(math.nan, math.nan, 1.0, math.nan, rows, np.zeros(kept.size), 0.0, bounds, tuple(why))
        return answer.times(self.sample.unit)

    def _mean_of(self, kept: Mask) -> Estimate:
        """Return the mean effect of the rows that are kept."""
        y, (probabilities, means, chance), each = self.sample.effect, self._fits, self.sample.weights
        members, chance = each * (kept & self._target), kept * chance
        probabilities = np.maximum(probabilities, least_probability(y.size))
        size = members.sum()
        weights = each * self._arms * chance / probabilities
        weights *= size / weights.sum(axis=1, keepdims=True)
        corrections = weights * (y - means)
        low, high = np.clip(((members * means).sum(axis=1) + corrections.sum(axis=1)) / size, *self._range)
        jackknifed = corrections / np.maximum(1.0 - weights / size, 0.1)
        influence = np.diff(members * (means - [[low], [high]]) + jackknifed, axis=0)[0]
        left, compared = (self._arms * (y - means)).sum(axis=0), each * (kept & self._arms.any(axis=0))
        riesz = float((each * np.square(chance) / probabilities).sum()) * y.size / size**2
        rows = effective_rows(weights[0]), effective_rows(weights[1])
        variance, of_rows = (
            float(sandwich(influence[:, np.newaxis] / size, members / size, groups)[0].max())
            for groups in (self.sample.groups, ())
        )
        fewest = min(effective_rows(sums_of(arm, of)) for of in self.sample.groups or (None,) for arm in weights)
        design_effect = max(variance / max(of_rows, 1e-300), 1.0)
        added, shift = self._of_one_more(weights, np.array(rows) / design_effect)
        error, degrees = math.sqrt(variance + added), max(fewest - 1.0, 1.0)
        scale = math.sqrt(float(np.average(np.square(left), weights=compared)) * riesz)
        most = self._range[1] - self._range[0]
        return Estimate(float(high - low), error, degrees, scale, rows, influence, shift=shift, most=most)

    def _of_one_more(self, weights: Floats, rows: Floats) -> tuple[float, float]:
        """Return what an event and a non-event more in each arm add to the variance, and move the interval.

        Where an arm has no event this is all that is known of its variance. The interval then has the centre of Agresti
        and Caffo; with events it has so much of it as they add to the variance, next to nothing with a hundred.
        """
        low, length = self._range[0], self._range[1] - self._range[0]
        if length == math.inf:
            return 0.0, 0.0
        share = ((weights * self.sample.effect).sum(axis=1) / weights.sum(axis=1) - low) / length
        is_high, sampled = self.sample.effect > low, self.sample.weights * self._arms
        rows = rows * np.array([_rows_of_a_share(of_arm, is_high) for of_arm in sampled])
        more = (rows * share + 1.0) / (rows + 2.0)
        plain, least = share * (1.0 - share) / rows, more * (1.0 - more) / (rows + 2.0)
        added = np.maximum(least - plain, 0.0)
        moved = (more - share) * added / (plain + added)
        return length**2 * float(added.sum()), length * float(moved[1] - moved[0])

    @cached_property
    def _is_determined(self) -> bool:
        """Whether covariates tell which of the two values every row has: all weights are alike then, and none large."""
        probabilities, *_ = self._fits
        unforeseen = self.sample.weights * probabilities.prod(axis=0) / probabilities.sum(axis=0)
        return len(self.sample.covariates) > 0 and float(unforeseen.sum()) < UNFORESEEN

    def _counterparts(self) -> Mask:
        """Return the rows whose mean effect is the most precise: those of the least variances; all if others do little.

        The variance of a mean of rows is the sum of 1 / p_0 + 1 / p_1 over their squared number. Of the rows with one
        value, whose number is the sum of its p, each row counts p times, with 1 / p of the other value.
        """
        others, (probabilities, _, chance) = [value for value in (0, 1) if value != self.target], self._fits
        variance, mass = (1.0 / probabilities[others]).sum(axis=0), self.sample.weights * chance
        order, squares = np.argsort(variance), self.sample.weights * mass * variance
        of_mean = np.cumsum(squares[order]) / np.square(np.cumsum(mass[order]))
        best = int(np.argmin(of_mean))
        return np.asarray((variance <= variance[order[best]]) | (of_mean[-1] < LEAST_GAIN * of_mean[best]))

    def _bounds(self, kept: Mask, ends: tuple[float, float]) -> tuple[float, float] | None:
        """Return bounds on the mean effect of all rows: what others would be may be any value of the effect seen."""
        if self.target >= 0:
            return None
        y, bounds = self.sample.effect, []
        for end, of_high, of_low in zip(ends, (y.min(), y.max()), (y.max(), y.min()), strict=True):
            rest = np.where(self._arms[1], y, of_high) - np.where(self._arms[0], y, of_low)
            bounds.append(float(np.average(np.where(kept, end, rest), weights=self.sample.weights)))
        return bounds[0], bounds[1]


def _rows_of_a_share(weights: Floats, is_one: Mask) -> float:
    """Return how many times as many rows of equal weight as of these weights, by Kish, tell a share as well.

    Rows of a rare value may be sampled more often, and weigh less: with p the share and k effective rows of each value,
    the variance is p^2 (1 - p)^2 (1 / k_1 + 1 / k_0). It is one of equal weights, and where one value has no rows.
    """
    share, sizes = float(weights @ is_one / weights.sum()), [effective_rows(weights[of]) for of in (is_one, ~is_one)]
    if not 0.0 < share < 1.0:
        return 1.0
    return 1.0 / (share * (1.0 - share) * (1.0 / sizes[0] + 1.0 / sizes[1]) * effective_rows(weights))


def least_probability(n: int) -> float:
    """Return the least probability of a cause that a weight of n rows is made of."""
    return 5.0 / (math.sqrt(n) * math.log(n))
