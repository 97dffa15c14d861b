"""What covariates tell of a column: penalised regression on lines, natural splines and products, fitted out of fold.

The mean of a target given covariates x is a sum over functions b_k,

    m(x) = a + sum_k c_k b_k(x),    c = argmin |t - a - B c|^2 + p |s c|^2,

over the lines x_j (an indicator for every label), the curved part of a natural cubic spline of each number, and, of at
most twelve lines, their products in pairs. All b_k are standardised. The penalty p minimises generalised
cross-validation, and so do the scales s: those of lines are a tenth of the others', or the same. Of zeros and ones the
logit of the probability has this form, and the deviance of one half of the folds given the other chooses.

Where residuals of a cause and of an effect meet in one slope, shrinkage of both biases it. There the penalty is a
hundredth of the best one (`UNDERSMOOTHING`), so that what is left is noise rather than confounding.

References
----------
Hastie, Tibshirani, Friedman: "The Elements of Statistical Learning", 2nd edition, 2009, Sections 5.2 and 7.10.
Newey, Robins: "Cross-fitting and fast remainder rates for semiparametric estimation", arXiv 1801.09138, 2018.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._table.transforms import is_heavy_tailed, normal_scores

PENALTIES = np.geomspace(1e-2, 1e6, 17)
UNDERSMOOTHING = 4  # steps of these penalties
MOST_IN_PRODUCTS = 12  # lines
MANY_ROWS = 500  # from which a spline has five inner knots, not three


def natural_spline(x: Floats, knots: Floats) -> Floats:
    """Return the curved part of a natural cubic spline, shape (n, knots - 2): linear beyond the outer knots."""
    places, x = (knots - knots[0]) / np.ptp(knots), (x - knots[0]) / np.ptp(knots)
    cubes = np.maximum(x[:, np.newaxis] - places, 0.0) ** 3
    slopes = (cubes[:, :-1] - cubes[:, -1:]) / (1.0 - places[:-1])
    curved: Floats = slopes[:, :-1] - slopes[:, -1:]
    return curved


def spline_knots(x: Floats, n_inner: int) -> Floats:
    """Return the ends of a column, and so many quantiles between 5 and 95 %, different ones alone."""
    knots: Floats = np.unique(np.quantile(x, [0.0, *np.linspace(0.05, 0.95, n_inner), 1.0]))
    return knots


def standardised(values: Floats) -> Floats:
    """Return columns of mean zero and variance one; zeros of a constant column."""
    values = values / np.where(largest := np.abs(values).max(axis=0, initial=0.0), largest, 1.0)
    deviation = values.std(axis=0)
    varies = deviation > 1e-12
    centred: Floats = np.where(varies, (values - values.mean(axis=0)) / np.where(varies, deviation, 1.0), 0.0)
    return centred


def demeaned(values: Floats, within: Sequence[Integers]) -> Floats:
    """Return columns without the means of groups; of several groupings, by turns until nothing changes.

    Parameters
    ----------
    values : ndarray, shape (n, ...)
        The columns.
    within : sequence of ndarray of int, each of shape (n,)
        The group of every row, from zero, in each grouping.
    """
    values = np.array(values, dtype=np.float64)
    for _ in range((1000 if len(within) > 1 else 1) * (values.size > 0)):
        before = values.copy()
        for groups in within:
            counts = np.bincount(groups).reshape(-1, *[1] * (values.ndim - 1))
            values -= (sums_of(values, groups) / counts)[groups]
        if np.abs(values - before).max(initial=0.0) <= 1e-10 * np.abs(before).max(initial=0.0):
            break
    return values


def sums_of(values: Floats, groups: Integers | None) -> Floats:
    """Return the sums of the rows of every group, shape (n_groups, ...); the rows themselves without groups."""
    if groups is None:
        return values
    columns = values.reshape(len(values), -1).T
    sums: Floats = np.stack([np.bincount(groups, column) for column in columns], axis=-1).astype(np.float64)
    return sums.reshape(-1, *values.shape[1:])


class Splines:
    """Regression on lines, splines and products of covariates.

    Parameters
    ----------
    covariates : ndarray, shape (p, n)
        One covariate a row; codes of labels.
    has_labels : sequence of bool
        Which of them hold labels.
    within : sequence of ndarray of int
        Groupings whose means are taken out of every column, see `demeaned`.
    """

    def __init__(self, covariates: Floats, has_labels: Sequence[bool], within: Sequence[Integers] = ()):
        n, lines, curves = covariates.shape[1], [], []
        for x, is_label in zip(covariates, has_labels, strict=True):
            scores = normal_scores(x) if (is_heavy := bool(is_heavy_tailed(x))) else x
            knots = spline_knots(scores, 3 if n < MANY_ROWS else 5)
            lines.append((x[:, np.newaxis] == np.unique(x)) * 1.0 if is_label else x[:, np.newaxis])
            curved = [scores[:, np.newaxis]] * is_heavy + [natural_spline(scores, knots)] * (knots.size > 2)
            curves.append(np.column_stack([np.empty((n, 0)), *curved * (not is_label)]))
        owners: list[tuple[int, ...]] = [(k,) for part in (lines, curves) for k, own in enumerate(part) for _ in own.T]
        n_lines = sum(part.shape[1] for part in lines)
        columns = np.column_stack([np.empty((n, 0)), *lines, *curves])
        if n_lines <= MOST_IN_PRODUCTS:
            short = np.clip(standardised(columns[:, :n_lines]), -4.0, 4.0)
            pairs = [(i, j) for i in range(n_lines) for j in range(i) if owners[i] != owners[j]]
            columns = np.column_stack([columns, *(short[:, i] * short[:, j] for i, j in pairs)])
            owners += [owners[i] + owners[j] for i, j in pairs]
        self._design = standardised(demeaned(columns, within))
        self._is_curve, self._owners = np.arange(len(owners)) >= n_lines, owners
        self._keep(np.abs(self._design).max(axis=0, initial=0.0) > 0.0)

    def _keep(self, kept: Mask) -> None:
        self._design, self._is_curve = self._design[:, kept], self._is_curve[kept]
        self._owners = [owner for owner, is_kept in zip(self._owners, kept.tolist(), strict=True) if is_kept]

    @property
    def lines(self) -> Floats:
        """The standardised lines, shape (n, k)."""
        return self._design[:, ~self._is_curve]

    def without(self, covariate: int) -> "Splines":
        """Return the regression that knows nothing of one covariate."""
        rest = copy(self)
        rest._keep(np.array([covariate not in owner for owner in self._owners], dtype=bool))
        return rest

    def error(self, target: Floats, beside: Floats | None = None) -> float:
        """Return the least error of generalised cross-validation, of the covariates and perhaps one more column."""
        more = [] if beside is None else [beside / max(float(beside.std()), 1e-300)]
        return min(_ridge(np.column_stack([self._design / scale, *more]), target, 0)[2] for scale in self._scales())

    def means(self, target: Floats, folds: Integers, rows: Mask | None = None) -> Floats:
        """Return the mean of a target given covariates, shape (n,), each row by a fit to the other folds.

        Parameters
        ----------
        target : ndarray, shape (n,)
            What is predicted.
        folds : ndarray of int, shape (n,)
            The fold of every row.
        rows : ndarray of bool, shape (n,), optional
            The rows whose mean it is: that of all rows, and a correction. Without them the fit is undersmoothed.
        """
        if not self._design.size:  # nothing to adjust for
            return np.full(target.size, target[rows if rows is not None else slice(None)].mean())
        predicted = np.empty(target.size)
        for fold in np.unique(folds):
            held = folds == fold
            if rows is None:
                predicted[held] = self._line(target, ~held, UNDERSMOOTHING)[held]
            else:
                of_all = self._line(target, ~held, 0)
                predicted[held] = (of_all + self._line(target - of_all, rows & ~held, 0))[held]
        return predicted

    def probabilities(self, is_one: Mask, folds: Integers) -> Floats:
        """Return the probability of a value given covariates, shape (n,), each row by a fit to the other folds."""
        if not self._design.size:
            return np.full(is_one.size, is_one.mean())
        from scipy.special import expit

        target, predicted = is_one.astype(np.float64), np.empty(is_one.size)

        def fitted(train: Mask, at: Mask, penalty: float, scale: Floats) -> Floats:
            design: Floats = self._design / scale
            theta = _logit(design[train], target[train], float(penalty))
            logits: Floats = theta[0] + design[at] @ theta[1:]
            return logits

        def deviance(penalty: float, scale: Floats) -> float:
            logits = [(fitted(folds % 2 != half, folds % 2 == half, penalty, scale), half) for half in (0, 1)]
            return sum(float((np.logaddexp(0.0, z) - target[folds % 2 == half] * z).sum()) for z, half in logits)

        choices = [(penalty, scale) for scale in self._scales() for penalty in PENALTIES[1::3]]
        best = min(choices, key=lambda choice: deviance(*choice))
        for fold in np.unique(folds):
            predicted[folds == fold] = expit(fitted(folds != fold, folds == fold, *best))
        return predicted

    def _scales(self) -> list[Floats]:
        ones = np.ones(self._is_curve.size)
        return [np.where(self._is_curve, 1.0, 0.1), ones] if self._is_curve.any() else [ones]

    def _line(self, target: Floats, train: Mask, undersmoothing: int) -> Floats:
        fits = [
            (*_ridge(self._design[train] / scale, target[train], undersmoothing), scale) for scale in self._scales()
        ]
        offset, slopes, _, scale = min(fits, key=lambda fit: fit[2])
        predicted: Floats = offset + self._design / scale @ slopes
        return predicted


def _ridge(x: Floats, y: Floats, undersmoothing: int) -> tuple[float, Floats, float]:
    """Return intercept, slopes, and the least error of generalised cross-validation.

    The penalty is the best one, or so many steps below it as leave three quarters of the rows as degrees of freedom.
    """
    centre, mean, n = x.mean(axis=0), y.mean(), len(y)
    x, y = x - centre, y - mean
    squares, vectors = np.linalg.eigh(x.T @ x)
    squares, along = np.maximum(squares, 0.0), vectors.T @ (x.T @ y)
    shrunk = squares + PENALTIES[:, np.newaxis]
    left = y @ y - (along**2 * (squares + 2.0 * PENALTIES[:, np.newaxis]) / shrunk**2).sum(axis=1)
    used = 1.0 + (squares / shrunk).sum(axis=1)
    error = np.where(used < 0.9 * n, n * np.maximum(left, 0.0) / np.maximum(n - used, 1.0) ** 2, np.inf)
    best = int(np.argmin(error))
    least = float(error[best])
    allowed = (np.arange(len(PENALTIES)) >= best - undersmoothing) & (used <= max(n / 4.0, used[best]))
    slopes = vectors @ (along / shrunk[int(np.argmax(allowed))])
    return float(mean - centre @ slopes), slopes, least


def _logit(x: Floats, y: Floats, penalty: float) -> Floats:
    """Return intercept and slopes of a penalised logit model, by Newton's method."""
    from scipy.special import expit

    x = np.column_stack([np.ones(y.size), x])
    ridge = np.append(1e-6, np.full(x.shape[1] - 1, penalty))
    theta = np.zeros(x.shape[1])
    theta[0] = np.log((y.sum() + 0.5) / (y.size - y.sum() + 0.5))
    for _ in range(25):
        p = expit(x @ theta)
        information = x.T @ (x * np.maximum(p * (1.0 - p), 1e-9)[:, np.newaxis])
        step = np.linalg.solve(information + np.diag(ridge), x.T @ (y - p) - ridge * theta)
        step *= min(1.0, 4.0 / max(float(np.abs(x @ step).max()), 1e-12))
        theta += step
        if np.abs(step).max() < 1e-5:
            break
    return theta
