"""The augmented estimator of what a variable would be if its cause were set, and its influence function.

For a value a of the cause, rows i with covariates W, target weights t_i (one where a row is of the target population)
and any function h of the effect,

    theta_a = [sum_i t_i m_a(W_i) + sum_i w_ai (h(Y_i) - m(A_i, W_i))] / sum_i t_i,

with m the mean of h by the fitted family of the effect. Weights w_a represent the mean under a. A cause of few values
has inverse probabilities: with pi the share of the target at W and e_a the probability of a,

    w_ai = 1[A_i = a] pi(W_i) / e_a(W_i),    scaled so that they sum to sum_i t_i.

A number has the weights of a regression on its residuals: with phi_k = A^k - E[A^k | W] for k = 1 ... K,

    w_ai = t_i [1 + phi_i^T G^-1 (a^k - mean of A^k)_k],    G the mean of phi phi^T,

which correct any effect that is a polynomial of degree K in the cause plus a function of the covariates. Where either
family is right, theta_a is consistent. The families are fitted to other rows than those where they are used, so theta_a
has the influence function of its sum, and no term for the fits.

References
----------
Robins, Rotnitzky, Zhao: "Estimation of regression coefficients when some regressors are not always observed", Journal
of the American Statistical Association 89, 1994.
Chernozhukov et al.: "Double/debiased machine learning for treatment and structural parameters", The Econometrics
Journal 21, 2018.
Chernozhukov, Newey, Singh: "Automatic debiased machine learning of causal and structural effects", Econometrica 90,
2022.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from icdh._ground.arrays import Floats, Integers, Mask

N_QUANTILES = 40  # of the noise of a cause, over which means are taken


@dataclass(frozen=True)
class Tuning:
    """Constants, chosen once on simulated tables.

    Attributes
    ----------
    fewest_rows : int
        The fewest rows of a table that is accepted.
    hidden_units, most_units : int
        Hidden units of networks: at first, and at most.
    least_gain : float
        Nats that twice the units must gain.
    n_restarts : int
        Initial weights of a network.
    selection_rows : int
        The most rows on which parents are selected.
    tolerance : float
        Nats by which the last step of a fit to a part of the rows may still gain.
    n_folds, n_splits : int
        Folds, and independent splits into them that are averaged.
    split_rows : int
        The most rows of a table that is split more than once: there chance in one split could be seen.
    least_probability : float
        The least probability of a value of the cause: no row counts for more than its inverse.
    pieces, many_pieces, many_rows : int
        Pieces of the spline of a numeric cause; the second number from so many rows on.
    few_effective, much_beyond, all_beyond : float
        Effective rows, and the share of rows without a counterpart, at which an answer is called an extrapolation, and
        none at all.
    determined : float
        The noise of an effect, as a share of its standard deviation, below which it seems computed.
    near : float
        A distance, as a share of a numeric cause's standard deviation: no row speaks for a value that is farther from
        all of them.
    """

    fewest_rows: int = 20
    hidden_units: int = 5
    most_units: int = 20
    least_gain: float = 5.0
    n_restarts: int = 3
    selection_rows: int = 2000
    tolerance: float = 0.01
    n_folds: int = 5
    n_splits: int = 3
    split_rows: int = 2000
    least_probability: float = 0.01
    pieces: int = 3
    many_pieces: int = 5
    many_rows: int = 1000
    few_effective: float = 20.0
    much_beyond: float = 0.2
    all_beyond: float = 0.95
    determined: float = 0.01
    near: float = 0.25


TUNING = Tuning()


class Weighted(NamedTuple):
    """How much every row counts for one value of the cause.

    Attributes
    ----------
    target : ndarray, shape (n,)
        One where a row is of the target population, else zero.
    weights : ndarray, shape (n,)
        w_a.
    leverage : ndarray, shape (n,)
        The share of each row in its own fitted value: what the correction leaves of a residual is one less this share.
    """

    target: Floats
    weights: Floats
    leverage: Floats

    @property
    def effective_rows(self) -> float:
        """The number of rows of equal weight that would say as much."""
        squares = float(np.square(self.weights).sum())
        return float(self.weights.sum()) ** 2 / squares if squares else 0.0


class Estimate(NamedTuple):
    """An estimate and its influence function.

    Attributes
    ----------
    value : float
        The estimate.
    influence : ndarray, shape (n,)
        How much each row moves the estimate, times n; of mean zero.
    degrees : float
        Degrees of freedom of its standard error.
    """

    value: float
    influence: Floats
    degrees: float

    def minus(self, other: "Estimate") -> "Estimate":
        """Return the difference of two estimates from the same rows."""
        return Estimate(self.value - other.value, self.influence - other.influence, _joint_degrees(self, other))

    def over(self, other: "Estimate") -> "Estimate":
        """Return the logarithm of the ratio of two positive estimates from the same rows."""
        influence = self.influence / self.value - other.influence / other.value
        return Estimate(float(np.log(self.value / other.value)), influence, _joint_degrees(self, other))

    def error(self, groups: Integers | None = None) -> float:
        """Return the standard error; rows of one group depend on one another."""
        return float(np.sqrt(np.square(_sums(self.influence, groups)).sum())) / self.influence.size

    def interval(self, level: float, groups: Integers | None = None) -> tuple[float, float]:
        """Return the confidence interval of Student's t."""
        degrees = self.degrees if groups is None else min(self.degrees, float(groups.max()))
        reach = float(student.ppf((1.0 + level) / 2.0, max(degrees, 1.0))) * self.error(groups)
        return self.value - reach, self.value + reach


def _sums(influence: Floats, groups: Integers | None) -> Floats:
    return influence if groups is None else np.bincount(groups, influence).astype(np.float64)


def _joint_degrees(first: Estimate, second: Estimate) -> float:
    """Return Welch's degrees of freedom of a difference."""
    variances = np.array([np.square(estimate.influence).sum() for estimate in (first, second)])
    variances /= variances.max() or 1.0
    shares = np.square(variances) / np.array([first.degrees, second.degrees])
    return float(np.square(variances.sum()) / shares.sum()) if shares.sum() else first.degrees


def by_probability(chosen: Mask, probability: Floats, target: Floats, target_probability: Floats) -> Weighted:
    """Return the weights of rows for one value of a cause of few values.

    Parameters
    ----------
    chosen : ndarray of bool, shape (n,)
        Where the cause has the value.
    probability : ndarray, shape (n,)
        The probability of the value given the covariates.
    target : ndarray, shape (n,)
        One where a row is of the target population, else zero.
    target_probability : ndarray, shape (n,)
        The probability of that given the covariates.
    """
    weights = np.where(chosen, target_probability / probability, 0.0)
    return Weighted(target, weights * (target.sum() / weights.sum()), weights / weights.sum())


def by_regression(
    value: float, cause: Floats, mean: Floats, deviation: Floats, target: Floats, degree: int
) -> Weighted:
    """Return the weights of rows for one value of a numeric cause.

    Parameters
    ----------
    value : float
        a.
    cause, mean, deviation : ndarray, shape (n,)
        A, and its mean and standard deviation given the covariates.
    target : ndarray, shape (n,)
        One where a row is of the target population, else zero.
    degree : int
        K, at most 3.
    """
    knots = np.unique(np.quantile(cause, np.linspace(0.05, 0.95, degree + 1)))
    residual = np.quantile((cause - mean) / deviation, (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)
    expected = np.mean([natural_spline(mean + deviation * e, knots) for e in residual], axis=0)
    basis = natural_spline(cause, knots)
    residuals = (basis - expected) * target
    inverse = np.linalg.pinv(residuals @ residuals.T)
    ask = natural_spline(np.array([value]), knots)[:, 0] - basis @ target / target.sum()
    leverage = np.einsum("kn,kj,jn->n", residuals, inverse, residuals)
    return Weighted(target, target + target.sum() * (ask @ inverse @ residuals), leverage)


def natural_spline(values: Floats, knots: Floats) -> Floats:
    """Return natural cubic splines, shape (knots - 1, n), without a constant: linear beyond the outer knots."""
    z, k = (values - knots[0]) / (knots[-1] - knots[0]), (knots - knots[0]) / (knots[-1] - knots[0])
    cubes = np.maximum(z - k[:, np.newaxis], 0.0) ** 3
    slopes = (cubes[:-1] - cubes[-1]) / (1.0 - k[:-1, np.newaxis])
    return np.vstack([z, slopes[:-1] - slopes[-1]])


def augmented(observed: Floats, expected: Floats, under: Floats, rows: Weighted) -> Estimate:
    """Return the mean of a function of the effect if the cause were set.

    Parameters
    ----------
    observed : ndarray, shape (n,)
        h(Y).
    expected, under : ndarray, shape (n,)
        The mean of h(Y) by the fitted family at the cause as it is, and as it would be set.
    rows : Weighted
        How the rows speak for the value that is set.
    """
    plain, correction = rows.target * under, rows.weights * (observed - expected)
    value = float((plain + correction).sum() / rows.target.sum())
    correction = correction / np.maximum(1.0 - rows.leverage, 0.1)  # one row may explain its residual
    influence = (plain + correction - rows.target * value) / rows.target.mean()
    return Estimate(value, influence, max(rows.effective_rows - 1.0, 1.0))
