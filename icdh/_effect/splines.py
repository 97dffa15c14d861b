"""What covariates tell of a column: penalised regression on lines, natural splines and products, fitted out of fold.

The mean of a target given covariates x is a sum over functions b_k,

    m(x) = a + sum_k c_k b_k(x),    c = argmin |t - a - B c|^2 + p |c|^2,

over the lines x_j (an indicator for every label), a natural cubic spline of each number or, if its tails are heavy, of
its normal scores, and, of at most twelve lines, their products in pairs; perhaps those of splines, too (a tensor
product). All b_k are standardised, and lines ten times as large, so that they are shrunk less. The penalty p minimises
generalised cross-validation.
Rows may have weights. Of zeros and ones the logit of the probability has this form, and the deviance of each row given
the others chooses, or of each group, in which a treatment may be the same. The fit to the others is one step of
Newton's method from that to all, and a fit where that moves a row by more than a logit. Halves of the folds chose other
penalties by the seed, and so which rows an answer is about.

Where residuals of a cause and of an effect meet in one slope, shrinkage of both biases it. There the penalty is a
hundredth of the best one (`UNDERSMOOTHING`), so that what is left is noise rather than confounding.

References
----------
Hastie, Tibshirani, Friedman: "The Elements of Statistical Learning", 2nd edition, 2009, Sections 5.2 and 7.10.
Rad, Maleki: "A scalable estimate of the out-of-sample prediction error via approximate leave-one-out
cross-validation", Journal of the Royal Statistical Society B 82, 2020.
Newey, Robins: "Cross-fitting and fast remainder rates for semiparametric estimation", arXiv 1801.09138, 2018.
"""

from collections.abc import Sequence

import numpy as np

from icdh._table.transforms import normal_scores
from icdh._utils.arrays import Floats, Integers, Mask

PENALTIES = np.geomspace(1e-2, 1e6, 17)
UNDERSMOOTHING = 4  # steps of these penalties
MOST_IN_PRODUCTS = 12  # lines
MOST_SQUARED, ROWS_OF_SQUARED = 600, 5  # columns squared, of a tensor product: so many, and rows for each
INNER_KNOTS = 5  # of a spline
DECISIVE = 1.0  # logits by which a row moves its own, from which one step is too short
LINES = 10.0  # standard deviation of their columns
HEAVY_TAILED = 6.0  # kurtosis: more outliers than Laplace's distribution has


def natural_spline(x: Floats, knots: Floats) -> Floats:
    """Return the curved part of a natural cubic spline, shape (n, knots - 2): linear beyond the outer knots."""
    length = np.ptp(knots) or 1.0
    places, x = (knots - knots[0]) / length, (x - knots[0]) / length
    cubes = np.maximum(x[:, np.newaxis] - places, 0.0) ** 3
    slopes = (cubes[:, :-1] - cubes[:, -1:]) / (1.0 - places[:-1])
    curved: Floats = slopes[:, :-1] - slopes[:, -1:]
    return curved


def cubic_spline(x: Floats, knots: Floats) -> Floats:
    """Return the curved part of a cubic spline with free ends, shape (n, knots): zero at the outer knots, and beyond.

    Reflected values have the same functions in the reverse order.
    """
    from scipy.interpolate import BSpline

    places = (knots - knots[0]) / np.ptp(knots)
    x = np.clip((x - knots[0]) / np.ptp(knots), 0.0, 1.0)
    basis: Floats = BSpline.design_matrix(x, np.pad(places, 3, mode="edge"), 3).toarray()
    return basis[:, 1:-1]  # with the line and a constant these span what the first and the last add


def spline_knots(x: Floats, n_inner: int) -> Floats:
    """Return the ends of a column, and so many quantiles between 5 and 95 %, different ones alone."""
    return np.unique(np.quantile(x, [0.0, *np.linspace(0.05, 0.95, n_inner), 1.0]))


def standardised(values: Floats) -> Floats:
    """Return columns of mean zero and variance one; zeros of a constant column."""
    values = values / np.where(largest := np.abs(values).max(axis=0, initial=0.0), largest, 1.0)
    deviation = values.std(axis=0)
    varies = deviation > 1e-12
    return np.where(varies, (values - values.mean(axis=0)) / np.where(varies, deviation, 1.0), 0.0)


def demeaned(values: Floats, within: Sequence[Integers], weights: Floats) -> Floats:
    """Return columns without the weighted means of groups; of several groupings, by turns until nothing changes.

    Parameters
    ----------
    values : ndarray, shape (n, ...)
        The columns.
    within : sequence of ndarray of int, each of shape (n,)
        The group of every row, from zero, in each grouping.
    weights : ndarray, shape (n,)
        The weight of every row.
    """
    values = np.array(values, dtype=np.float64)
    weights = weights.reshape(-1, *[1] * (values.ndim - 1))
    for _ in range((1000 if len(within) > 1 else 1) * (values.size > 0)):
        before = values.copy()
        for groups in within:
            values -= (sums_of(weights * values, groups) / sums_of(weights, groups))[groups]
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
    weights : ndarray, shape (n,)
        The weight of every row; one on average.
    within : sequence of ndarray of int
        Groupings whose means are taken out of every column, see `demeaned`.
    is_tensor : bool
        Whether splines are multiplied in pairs, not lines alone, if rows are many enough.
    """

    def __init__(
        self,
        covariates: Floats,
        has_labels: Sequence[bool],
        weights: Floats,
        within: Sequence[Integers] = (),
        is_tensor: bool = False,
    ):
        lines, curves = list[Floats](), list[Floats]()
        for x, is_label in zip(covariates, has_labels, strict=True):
            lines.append((x[:, np.newaxis] == np.unique(x)) * 1.0 if is_label else x[:, np.newaxis])
            is_heavy = not is_label and float(np.mean(standardised(x) ** 4)) > HEAVY_TAILED
            scores = normal_scores(x) if is_heavy else x
            parts = [scores[:, np.newaxis]] * is_heavy
            parts += [] if is_label else [natural_spline(scores, spline_knots(scores, INNER_KNOTS))]
            curves.append(np.column_stack([np.empty((x.size, 0)), *parts]))
        owners = np.tile(np.arange(len(lines)), 2).repeat([part.shape[1] for part in (*lines, *curves)])
        columns = np.column_stack([np.empty((weights.size, 0)), *lines, *curves])
        n_lines = sum(part.shape[1] for part in lines)

        multiplied = n_lines if n_lines <= MOST_IN_PRODUCTS else 0
        if is_tensor and owners.size**2 <= min(MOST_SQUARED, weights.size / ROWS_OF_SQUARED):
            multiplied = owners.size
        short = np.clip(standardised(columns[:, :multiplied]), -4.0, 4.0)
        i, j = np.nonzero(owners[:multiplied, np.newaxis] > owners[:multiplied])
        columns = np.column_stack([columns, short[:, i] * short[:, j]])
        design = standardised(demeaned(columns, within, weights))
        varies = np.abs(design).max(axis=0, initial=0.0) > 0.0
        of_columns = np.vstack([[*owners, *owners[i]], [*owners, *owners[j]]]).astype(int)[:, varies]
        self._owners = np.hstack([np.full((2, 1), -1), of_columns])  # the covariates of each column; of the first none
        self.lines = LINES * design[:, :n_lines][:, varies[:n_lines]]
        curved = design[:, n_lines:][:, varies[n_lines:]]
        self._design, self._weights = np.column_stack([np.ones(weights.size), self.lines, curved]), weights

    def products(self, *further: Floats) -> Floats:
        """Return weighted sums of products of all columns of the design, and further ones, shape (k, k)."""
        columns = np.column_stack([self._design, *further])
        products: Floats = columns.T @ (self._weights[:, np.newaxis] * columns)
        return products

    def columns_of(self, covariates: Sequence[int]) -> Integers:
        """Return the columns of the design that some of the covariates make, the first one of ones."""
        return np.flatnonzero(np.isin(self._owners, [-1, *covariates]).all(axis=0))

    def error(self, target: Floats) -> float:
        """Return the least error of generalised cross-validation."""
        products = self.products(target)
        return Ridge(products[:-1, :-1]).fit(products[:-1, -1], products[-1, -1])[1]

    def means(
        self, targets: Floats, folds: Integers, steps: int = 0, rows: Mask | None = None, most: float = np.inf
    ) -> tuple[Floats, float]:
        """Return the means of targets given covariates, shape (n, k), each row by a fit to the other folds.

        They stay in the range of the targets: one row with a covariate far from all others may be predicted anything.
        Beside them stand the degrees of freedom that a fit uses, on average.

        Parameters
        ----------
        targets : ndarray, shape (n, k)
            What is predicted.
        folds : ndarray of int, shape (n,)
            The fold of every row.
        steps : int
            Undersmoothing, in steps of the penalty.
        rows : ndarray of bool, shape (n,), optional
            Some rows: their means are those of all rows, and a correction.
        most : float
            The most degrees of freedom of this correction; 1 is a shift alone.
        """
        width, weights = self._design.shape[1], [self._weights, *([] if rows is None else [self._weights * rows])]
        if width == 1:  # nothing to adjust for: the mean of all rows
            return np.broadcast_to(np.average(targets, axis=0, weights=weights[-1]), targets.shape), 0.0
        centre, degrees = targets.mean(axis=0), list[float]()
        columns = np.column_stack([self._design, targets - centre])
        slopes = np.zeros((int(folds.max()) + 1, width, targets.shape[1]))
        for of_weights, limit in zip(weights, (np.inf, most), strict=False):
            for products, before in zip(_training_products(columns, of_weights, folds), slopes, strict=True):
                ridge, moments = Ridge(products[:width, :width]), products[:width, width:]
                left = moments - ridge.products @ before
                squares = np.diag(products)[width:] - ((moments + left) * before).sum(axis=0)
                for k, square in enumerate(squares.tolist()):
                    step, _, used = ridge.fit(left[:, k], square, steps, limit)
                    before[:, k] += step
                    degrees.append(used)
        predicted = [(self._design * of_target[folds]).sum(axis=1) for of_target in np.moveaxis(slopes, 2, 0)]
        means = np.column_stack(predicted) + centre
        return np.clip(means, targets.min(axis=0), targets.max(axis=0)), float(np.mean(degrees))

    def probabilities(self, is_one: Mask, folds: Integers, groups: Integers | None = None) -> Floats:
        """Return the probability of a value given covariates, shape (n,), each row by a fit to the other folds.

        ``groups``, shape (n,), are those that the penalty is to predict from the others; None if each row is one.
        """
        from scipy.special import expit, logit

        x, weights, predicted = self._design, self._weights, np.empty(is_one.size)
        target = is_one.astype(np.float64)
        mean, theta = float(np.average(target, weights=weights)), np.zeros(x.shape[1])
        if x.shape[1] == 1:
            return np.full(is_one.size, mean)
        theta[0] = logit((mean * is_one.size + 0.5) / (is_one.size + 1.0))
        units = np.arange(is_one.size) if groups is None else groups

        def deviance(penalty: float) -> float:
            """Return that of every group given the others: a step of Newton's method from a fit to all, or refitted."""
            theta[:], inverse = _logit(x, target, weights, penalty, theta)
            p = expit(x @ theta)
            leverage = sums_of(weights * p * (1.0 - p) * (x @ inverse * x).sum(axis=1), groups).ravel()
            scores = sums_of(x * (weights * (p - target))[:, np.newaxis], groups)
            moved = scores @ inverse / np.maximum(1.0 - leverage, 0.1)[:, np.newaxis]
            for unit in np.unique(units[np.abs((x * moved[units]).sum(axis=1)) > DECISIVE]):
                rest = units != unit
                moved[unit] = _logit(x[rest], target[rest], weights[rest], penalty, theta)[0] - theta
            z = x @ theta + (x * moved[units]).sum(axis=1)
            return float(weights @ (np.logaddexp(0.0, z) - target * z))

        best = min(PENALTIES[1::3].tolist(), key=deviance)
        for fold in np.unique(folds):
            rows = folds == fold
            theta, _ = _logit(x[~rows], target[~rows], weights[~rows], best, theta)
            predicted[rows] = expit(x[rows] @ theta)
        return predicted


def _training_products(columns: Floats, weights: Floats, folds: Integers) -> Floats:
    """Return weighted products of columns, summed over the rows outside of each fold, shape (n_folds, k, k)."""
    by_fold = [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]
    products = np.stack([columns[rows].T @ (weights[rows, np.newaxis] * columns[rows]) for rows in by_fold])
    return np.asarray(products.sum(axis=0) - products)


class Ridge:
    """Ridge regressions on one design, whose penalties minimise generalised cross-validation.

    Parameters
    ----------
    products : ndarray, shape (1 + p, 1 + p)
        The sums of products of a column of ones and the columns of the design.
    """

    def __init__(self, products: Floats):
        self.products, self._n = products, float(products[0, 0])
        self._means = products[0, 1:] / self._n
        squares, self._vectors = np.linalg.eigh(products[1:, 1:] - self._n * np.outer(self._means, self._means))
        self._squares = np.maximum(squares, 0.0)

    def fit(
        self, moments: Floats, square: float, undersmoothing: int = 0, most: float = np.inf
    ) -> tuple[Floats, float, float]:
        """Return intercept and slopes of a target, the least error, and degrees of freedom.

        The penalty is the best one, or so many steps below it as leave three quarters of the rows as degrees of
        freedom.

        Parameters
        ----------
        moments : ndarray, shape (1 + p,)
            The sums of products of the target and each of the columns.
        square : float
            The sum of its squares.
        undersmoothing : int
            How many steps.
        most : float
            The most degrees of freedom.
        """
        penalties = PENALTIES if most == np.inf else np.append(PENALTIES, 1e12)  # whose slopes are zero
        n, mean, squares = self._n, float(moments[0]) / self._n, self._squares
        along = self._vectors.T @ (moments[1:] - n * mean * self._means)
        shrunk = squares + penalties[:, np.newaxis]
        explained = along**2 * (squares + 2.0 * penalties[:, np.newaxis]) / shrunk**2
        left, used = square - n * mean**2 - explained.sum(axis=1), 1.0 + (squares / shrunk).sum(axis=1)
        error = np.where(used < 0.9 * n, n * np.maximum(left, 0.0) / np.maximum(n - used, 1.0) ** 2, np.inf)
        best = int(np.argmin(error))
        most = min(max(n / 4.0, used[best]), most + 1e-6)
        allowed = (np.arange(len(penalties)) >= best - undersmoothing) & (used <= most)
        chosen = int(np.argmax(allowed))
        slopes: Floats = self._vectors @ (along / shrunk[chosen])
        return np.append(mean - self._means @ slopes, slopes), float(error[best]), float(used[chosen])


def _logit(x: Floats, y: Floats, weights: Floats, penalty: float, theta: Floats) -> tuple[Floats, Floats]:
    """Return the weights of columns, the first of ones, in a penalised logit model, by Newton's method from others.

    Beside them stands the inverse of their penalised information, up to the last step.
    """
    from scipy.special import expit

    ridge = np.append(1e-6, np.full(x.shape[1] - 1, penalty))
    information = np.diag(ridge)
    for _ in range(25):
        p = expit(x @ theta)
        information = x.T @ (x * (weights * np.maximum(p * (1.0 - p), 1e-9))[:, np.newaxis]) + np.diag(ridge)
        step = np.linalg.solve(information, x.T @ (weights * (y - p)) - ridge * theta)
        step *= min(1.0, 4.0 / max(float(np.abs(x @ step).max()), 1e-12))
        theta = theta + step
        if np.abs(step).max() < 1e-6:
            break
    return theta, np.linalg.inv(information)
