"""The effect of a number, per unit and along a curve: the partially linear model.

    y = theta d + g(x) + e,    d = m(x) + v,    E[e | d, x] = E[v | x] = 0.

Both y and d are freed of what the covariates x tell, each row by fits to other rows, and of the means of groups if they
are to be compared within these. The slope is that of the residuals,

    theta = sum v (y - E[y | x]) / sum v^2,

where rows may have weights.

Where the effect bends or varies, theta is the mean of slopes, weighted by the variance of the cause given the
covariates; of a cause that is Gaussian given covariates it is the plain mean slope (Stein's identity). Along the curve
the cause is a cubic spline, with a jump at a value that a fifth of the rows have, and every term is freed of x alike.
Its ends are free: a natural spline, straight there, held the truth of a step at the steep start of a logarithm in 24 of
60 tables, and this one in 59. Of at most twelve values each that five rows have may be a turn of the curve, so that a
step compares their means: a line with one jump held the truth of five doses, whose effect is a root, in 16 of 100
tables.

A score test of all further terms tells a bend. Its residuals are those of the line (Davidson, MacKinnon): a Wald test
rejected 6 to 16 % of lines at 1 % where the cause is skewed and the spread grows with it.

The error is the sandwich of the jackknife, of whole groups where there are any: with h the leverage of a row or group,
its score counts 1 / (1 - h) times (HC3, CR3). The variance counts n / (n - p) times, with p the degrees of freedom that
fits to covariates use, as in least squares: residuals of rows that were not fitted are larger, but not by enough.
Degrees of freedom are Kish's number of rows, or of groups, that would have the same leverages if all were equal.

References
----------
Robinson: "Root-N-consistent semiparametric regression", Econometrica 56, 1988.
Chernozhukov et al.: "Double/debiased machine learning for treatment and structural parameters", Econometrics Journal
21, 2018.
Davidson, MacKinnon: "Heteroskedasticity-robust tests in regression directions", Annales de l'INSEE 59/60, 1985.
Bell, McCaffrey: "Bias reduction in standard errors for linear regression with multi-stage samples", Survey Methodology
28, 2002.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from icdh._effect.result import Curve, Interval
from icdh._effect.sample import Estimate, Sample, sandwich
from icdh._effect.splines import MOST_IN_PRODUCTS, UNDERSMOOTHING, cubic_spline, demeaned
from icdh._utils.arrays import Floats

LEAST_LEFT = 0.02  # share of the cause's variance that covariates leave
LEAST = 1e-9  # of it, rounding aside
MOST_LEVELS, ROWS_OF_LEVEL = 12, 5  # values of a cause whose curve may turn at each that has so many rows
ROWS_OF_KNOT = 40  # for each turn of the curve of a cause of more values
STRAIGHT = 4  # values beside a jump that make a line
COMMON = 0.2  # share of the rows at a value where the curve may jump
CHANCE = 0.003  # of a note that splines miss something where they do not
NEIGHBOURS, COMPARED_ROWS = 5, 5000
CURVE_POINTS = 25


class _Fit(NamedTuple):
    """Least squares of residuals."""

    theta: Floats
    covariances: Floats
    inverse: Floats
    degrees: float
    effective: float
    left: float
    influence: Floats
    terms: Floats


@dataclass(frozen=True)
class Slope:
    """The partially linear model.

    Attributes
    ----------
    sample : Sample
        The rows.
    ends : pair of float, or None
        From and to what the cause is set, along the curve; None for the effect of each unit.
    """

    sample: Sample
    ends: tuple[float, float] | None = None

    @cached_property
    def _terms(self) -> Callable[[Floats], Floats]:
        """The function from values of the cause to the terms that its effect is a sum of, the line first."""
        cause = self.sample.cause
        values, counts = np.unique(cause, return_counts=True)
        has_jump = values.size > 2 and counts.max() >= COMMON * cause.size
        levels = values[1:-1][counts[1:-1] >= ROWS_OF_LEVEL]
        is_graded = levels.size > 0 and values.size <= MOST_LEVELS
        common = values[np.argmax(counts)] if has_jump else math.nan
        rest = cause[cause != common]
        n_inner = min(5 + 2 * sum(rest.size >= many for many in (1000, 5000)), rest.size // ROWS_OF_KNOT)
        knots = np.unique(np.quantile(rest, np.linspace(0.0, 1.0, n_inner + 2)))
        bends = np.unique(rest).size > STRAIGHT

        def terms(values: Floats) -> Floats:
            if is_graded:
                return np.column_stack([values, np.maximum(values[:, np.newaxis] - levels, 0.0)])
            jump = [(values != common) * 1.0] if has_jump else []
            curve = [cubic_spline(values, knots)] if bends else []
            return np.column_stack([values, *jump, *curve])

        scales = terms(cause).std(axis=0)
        return lambda values: terms(values) / scales

    def _residuals(self, columns: Floats) -> tuple[Floats, float]:
        """Return what units and covariates leave of columns, shape (n, k), and the degrees of freedom of a fit."""
        columns = demeaned(columns, self.sample.within, self.sample.weights)
        means, degrees = self.sample.splines.means(columns, self.sample.folds(), UNDERSMOOTHING)
        return columns - means, degrees

    @cached_property
    def _effect(self) -> Floats:
        return self._residuals(self.sample.effect[:, np.newaxis])[0][:, 0]

    def _fit(self, terms: Floats) -> _Fit:
        y, (d, used), weights = self._effect, self._residuals(terms), self.sample.weights
        weighted = weights[:, np.newaxis] * d
        inverse = np.asarray(np.linalg.pinv(weighted.T @ d, hermitian=True), dtype=np.float64)
        theta = inverse @ (weighted.T @ y)
        left = y - d @ theta
        influence = (weighted * left[:, np.newaxis]) @ inverse
        covariances, effective = sandwich(influence, ((weighted @ inverse) * d).sum(axis=1), self.sample.groups)
        covariances = covariances * (y.size / max(y.size - used, 1.0))
        degrees, squares = max(effective - len(theta), 1.0), float(np.average(np.square(left), weights=weights))
        return _Fit(theta, covariances, inverse * y.size, degrees, effective, squares, influence, d)

    @cached_property
    def _line(self) -> _Fit:
        return self._fit(self._terms(self.sample.cause)[:, :1])

    @cached_property
    def _curve(self) -> _Fit:
        return self._fit(self._terms(self.sample.cause))

    def _estimate(self, fit: _Fit, moved: Floats, notes: tuple[str, ...] = ()) -> Estimate:
        error = math.sqrt(max(0.0, *(float(moved @ each @ moved) for each in fit.covariances)))
        scale = math.sqrt(max(fit.left * float(moved @ fit.inverse @ moved), 0.0))
        value, influence = float(moved @ fit.theta), fit.influence @ moved
        estimate = Estimate(value, error, fit.degrees, scale, (fit.effective,), influence, notes=notes)
        return estimate.times(self.sample.unit)

    def estimate(self) -> Estimate:
        """Return the effect in the user's unit: of the step that is asked for, or of each unit."""
        return self._per_unit() if self.ends is None else self._step(*self.ends)

    def _per_unit(self) -> Estimate:
        """Return the slope; NaN with a note where covariates or units determine the cause."""
        weights, cause = self.sample.weights, self._terms(self.sample.cause)[:, 0]
        before = float(np.cov(demeaned(cause, self.sample.within, weights), aweights=weights, ddof=0))
        share = float(np.average(np.square(self._line.terms[:, 0]), weights=weights)) / max(before, LEAST)
        if share > LEAST and before > LEAST:
            return self._estimate(self._line, self._terms(np.ones(1))[0, :1], tuple(self._notes(share)))
        nothing = ("covariates or units determine the cause: nothing is left to compare, and there is no answer",)
        return Estimate(math.nan, math.nan, 1.0, math.nan, (0.0,), 0.0 * self.sample.cause, notes=nothing)

    def _step(self, low: float, high: float) -> Estimate:
        """Return what a change of the cause from one value to another does, along the curve."""
        moved = np.diff(self._terms(np.array([low, high])), axis=0)[0]
        return self._estimate(self._curve, moved, tuple(self._notes()))

    def curve(self, level: float) -> Curve | None:
        """Return the change of the mean along the values of the cause, in the user's unit; None of two values."""
        if np.unique(self.sample.cause).size <= 2:
            return None
        values = np.unique(np.quantile(self.sample.cause, np.linspace(0.05, 0.95, CURVE_POINTS)))
        steps = [self._step(float(values[0]), float(value)) for value in values]
        line = self._per_unit()
        lower, upper = np.array([step.interval(level) for step in steps]).T
        change, straight = np.array([step.value for step in steps]), Interval(line.value, *line.interval(level))
        return Curve(values, change, lower, upper, straight, self.bend())

    def bend(self) -> float:
        """Return the p-value of a straight line; NaN if nothing can bend, or the effect varies but for rounding."""
        from scipy.special import chdtrc

        line, further = self._line.terms, self._curve.terms[:, 1:]
        if not further.shape[1]:
            return math.nan
        weighted = self.sample.weights[:, np.newaxis] * line
        size = float((weighted * line).sum())
        left = self._effect - line[:, 0] * self._line.theta[0]
        scores = (self.sample.weights * left)[:, np.newaxis] * (further - line * (weighted.T @ further) / size)
        covariances, _ = sandwich(scores, (weighted * line)[:, 0] / size, self.sample.groups)
        total, sizes = scores.sum(axis=0), np.abs(scores).sum()
        if max(np.abs(total).max(), math.sqrt(np.abs(covariances).max())) <= LEAST * sizes:
            return math.nan  # no row, or group, tells of a bend but by rounding
        inverses = np.linalg.pinv(covariances, hermitian=True)
        return float(chdtrc(further.shape[1], min(float(total @ inverse @ total) for inverse in inverses)))

    def _notes(self, share: float = 1.0) -> list[str]:
        notes = [*self.sample.notes(self._line.effective)]
        if share < LEAST_LEFT:
            notes.append(f"the covariates tell {1.0 - share:.1%} of the cause: little is left to compare")
        if self._is_misfit:
            notes.append(
                "rows with similar covariates have similar residuals: the covariates act in a form that splines miss, "
                "such as jumps, and the answer may be biased"
            )
        return notes

    @cached_property
    def _is_misfit(self) -> bool:
        """Whether residuals of the effect go with those of the cause in rows that are neighbours in some covariates."""
        from scipy.spatial import KDTree
        from scipy.special import ndtri

        n, lines = self.sample.effect.size, self.sample.splines.lines
        if not lines.size or self.sample.within or n <= NEIGHBOURS:
            return False
        rows, columns = np.arange(n)[:: -(-n // COMPARED_ROWS)], range(lines.shape[1])
        y, d = self._effect[rows], self._line.terms[rows, 0]
        scores = self.sample.weights[rows] * (y - self._line.theta[0] * d)
        lines = lines[rows] + 1e-5 * np.random.default_rng(0).normal(size=(rows.size, lines.shape[1]))  # no ties
        some = [[*columns], *(combinations(columns, 2) if 2 < len(columns) <= MOST_IN_PRODUCTS else ())]
        deviations = []
        for kept in some:
            near = np.asarray(KDTree(lines[:, kept]).query(lines[:, kept], k=NEIGHBOURS + 1)[1])[:, 1:]
            together = scores * d[near].mean(axis=1)
            deviations.append(abs(float(together.mean())) / max(float(together.std()) / math.sqrt(rows.size), 1e-300))
        return max(deviations) > float(-ndtri(CHANCE / 2.0 / len(some)))
