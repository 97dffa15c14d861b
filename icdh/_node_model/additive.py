"""The additive model of a family: one smooth function of each cause and one variance, a rival of network and line.

A network of several causes describes all their joint functions, and pays for them. Where the mean is a sum of functions
of one cause each, every one a line and a smooth s_j, this model pays for the sum alone. With B_j the natural cubic
splines of cause j, as far as they are no lines, s_j = B_j u_j, where u_j is Gaussian with mean zero and covariance
(v / c_j) I. Under c_j = 1 the smooth varies as much as the noise. Given the precisions c, the negative log evidence is,
in nats and without the constants that `icdh._node_model.evidence` leaves out,

    (n / 2) (log v + 1) + (1/2) log det diag(n / v, n / 2) + (r / 2) log n
        + (1/2) log det (B^T B + C) - (1/2) log det C,

where B is orthogonal to intercept and lines, of rank r, which cost what they cost the linear model, and n v is the sum
of squares plus u^T C u at the best u. MacKay's fixed point updates c, under the hyperprior of the network's precisions.
Products of columns say all this: once they are known, a family costs no pass over the observations.

References
----------
Wahba, "Spline models for observational data", SIAM 1990.
MacKay, "Bayesian interpolation", Neural Computation 4 (1992).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.families import Families, Family
from icdh._node_model.gaussian import LEAST_ROWS, RESOLVED, LinearFit
from icdh._node_model.law import Law
from icdh._node_model.network import FamilyPredictor
from icdh._node_model.response import Numbers
from icdh._utils.arrays import Floats, Integers, Mask, mean_of, times
from icdh._utils.jit import cholesky_in_place, cholesky_solve, kernel

SPLINES, KNOTS = 8, 20  # further splines bend too fast to be seen in noise
FEWEST_KNOTS = 6  # a cause of fewer values has a line alone
QUANTILES = 200  # of a column, which say its splines
CHOICE_COST, SMOOTH_COST = 3.0, 0.5  # nats of a family and of a smooth: chance must not choose the model
MOST_ADDITIVE_ROWS = 2000  # of more a network can tell that functions are not joint; splines are nine times the table


class Splines(NamedTuple):
    """A column's line and the natural cubic splines that are no lines, the smoothest first.

    Attributes
    ----------
    knots : ndarray, shape (k,)
        Quantiles of the column.
    weights : ndarray, shape (1 + s, k + 2)
        Line and splines as sums of cubes of distances from the knots, of the value itself, and of one.
    """

    knots: Floats
    weights: Floats

    @classmethod
    def of(cls, column: Floats) -> "Splines":
        """Return line and splines of a column, shape (n,); the line alone if it has few values."""
        values = _quantiles(np.sort(column), QUANTILES)
        knots = np.unique(_quantiles(values, KNOTS))
        line = np.append(np.zeros(knots.size), [1.0, 0.0])[np.newaxis]
        if knots.size < FEWEST_KNOTS:
            return cls(knots, line)
        bent = np.linalg.qr(np.stack([np.ones(knots.size), knots], axis=1), mode="complete")[0][:, 2:]
        sizes, directions = np.linalg.eigh(bent.T @ _cubes(knots, knots) @ bent)
        resolved = sizes > RESOLVED * sizes[-1]
        cubes = (bent @ directions[:, resolved] / np.sqrt(sizes[resolved])).T
        lines = np.stack([values, np.ones(QUANTILES)])
        shapes = cubes @ _cubes(knots, values)
        onto = np.linalg.solve(lines @ lines.T, lines @ shapes.T).T
        shapes -= onto @ lines
        sizes, directions = np.linalg.eigh(shapes @ shapes.T)
        main = directions[:, : -SPLINES - 1 : -1]
        scale = math.sqrt(QUANTILES / float(sizes[-SPLINES:].sum()))
        return cls(knots, np.vstack([line, scale * main.T @ np.hstack([cubes, -onto])]))

    def at(self, values: Floats) -> Floats:
        """Return line and splines at values of shape (n,), shape (1 + s, n)."""
        bent: Floats = self.weights[:, :-2] @ _cubes(self.knots, values)
        return bent + np.outer(self.weights[:, -2], values) + self.weights[:, -1:]


@dataclass(frozen=True)
class Curve:
    """A function of one network input, slope x + sum_k bends_k |x - knots_k|^3, that is a line beyond the knots.

    Attributes
    ----------
    knots, bends : ndarray, shape (k,)
        Where the third derivative jumps, and by how much; none of a line.
    slope : float
        That of the line.
    """

    knots: Floats
    bends: Floats
    slope: float

    def at(self, values: Floats) -> Floats:
        """Return its values, shape (n,)."""
        if not self.knots.size:
            return self.slope * values
        inside = np.clip(values, self.knots.min(), self.knots.max())
        distances = inside - self.knots[:, np.newaxis]
        tangents = np.where(values == inside, 0.0, 3.0 * (self.bends @ (distances * np.abs(distances))))
        return self.slope * values + self.bends @ _cubes(self.knots, inside) + tangents * (values - inside)

    def turned(self, of_input: float, of_output: float) -> "Curve":
        """Return the curve of an input times one sign, its values times another."""
        return Curve(of_input * self.knots, of_output * self.bends, of_input * of_output * self.slope)


@dataclass(frozen=True)
class AdditivePredictor(FamilyPredictor):
    """A mean that is a sum of functions of one network input each, and one variance: an additive or a linear model.

    Attributes
    ----------
    curves : tuple of Curve
        One a network input.
    intercept : float
        What is added to their sum.
    variance : float
        v.
    """

    curves: tuple[Curve, ...]
    intercept: float
    variance: float

    @classmethod
    def linear(cls, inputs: Integers, widths: Integers, fit: LinearFit, x: Floats) -> "AdditivePredictor":
        """Return a linear model, given its fit to network inputs x, shape (q, n)."""
        curves = tuple(Curve(np.zeros(0), np.zeros(0), slope) for slope in fit.slopes.tolist())
        return cls(inputs, widths, curves, float(fit.mean.mean() - fit.slopes @ x.mean(axis=1)), fit.variance)

    def outputs(self, x: Floats, law: Law) -> Floats:
        """Return mean and log-variance, shape (2, M), given the network inputs x, one a row."""
        mean = np.full(x.shape[1], self.intercept)
        for curve, row in zip(self.curves, x, strict=True):
            mean += curve.at(row)
        return np.array([mean, np.full(mean.size, math.log(max(self.variance - VARIANCE_FLOOR, VARIANCE_FLOOR)))])

    def in_original_signs(self, signs: Floats, sign: float, law: Law) -> "AdditivePredictor":
        """Return the predictor of ``sign * y`` given ``signs * x``, when this one is of y given x."""
        curves = zip(self.curves, signs.tolist(), strict=True)
        turned = tuple(curve.turned(of_input, sign) for curve, of_input in curves)
        return replace(self, curves=turned, intercept=sign * self.intercept)

    def held(self, kept: Mask, at: Floats) -> "AdditivePredictor":
        """Return the predictor of some inputs alone, numbers beside them held at values; both of shape (p,)."""
        of_inputs, values = np.repeat(kept, self.widths), np.repeat(at, self.widths)
        rest = sum(float(self.curves[k].at(values[[k]])[0]) for k in np.flatnonzero(~of_inputs).tolist())
        curves = tuple(self.curves[k] for k in np.flatnonzero(of_inputs).tolist())
        intercept = self.intercept + rest
        return replace(self, inputs=self.inputs[kept], widths=self.widths[kept], curves=curves, intercept=intercept)

    def faults(self, law: Law, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself, the law, or how many network inputs every parent is."""
        if self.widths.tolist() != list(widths) or self.widths.sum() != len(self.curves):
            yield "inputs lack their curves"
        if law.n_outputs != 2 or not self.variance > 0.0:  # of a linear model it may be below the floor
            yield "an additive model has no variance, or a law of other outputs"


class AdditiveFit(NamedTuple):
    """The fit of an additive model.

    Attributes
    ----------
    variance : float
        v.
    evidence : float
        The negative log evidence in nats.
    coefficients : list of ndarray, each of shape (1 + s,)
        Of the line and splines of each network input.
    """

    variance: float
    evidence: float
    coefficients: list[Floats]


class AdditiveModels:
    """The additive models of the families of a table.

    Parameters
    ----------
    families : Families
        The data.
    """

    def __init__(self, families: Families):
        self.families = families
        self._splines: dict[int, Splines] = {}
        self._columns: dict[int, Floats] = {}
        self._products: dict[tuple[int, int, int], Floats] = {}
        self._moments: dict[tuple[int, int], Floats] = {}

    def fit(self, family: Family) -> AdditiveFit | None:
        """Return the additive model of a family; None if it has none.

        Some cause has to bend, and least squares to fit the effect. Observations must be enough, but not too many.
        """
        (node, parents), families = family, self.families
        too_long = families.whole.n_observations > MOST_ADDITIVE_ROWS
        if not parents or too_long or families.responses[node].least_squares is None:
            return None
        inputs, response = families.inputs_of(parents), self._response(node)
        sizes = [len(self._splines_of(row).weights) for row in inputs]
        ends = np.cumsum(sizes)
        if response.n_counted < LEAST_ROWS * (len(inputs) + 2) or ends[-1] == len(inputs):
            return None
        products, moments = np.empty((ends[-1], ends[-1])), np.empty(ends[-1])
        parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        for row, part in zip(inputs, parts, strict=True):
            moments[part] = self._moments_of(node, row)
            for other, beside in zip(inputs, parts, strict=True):
                products[part, beside] = self._product(node, row, other)
        owner = np.repeat(np.cumsum(np.array(sizes) > 1) - 1, sizes)
        owner[ends - np.array(sizes)] = -1
        order = np.argsort(owner, kind="stable")
        weights, n, slopes = response.weights, response.n_counted, np.zeros(ends[-1])
        values = response.centre - mean_of(response.centre, weights)
        squares = float(times(weights, values) @ values + times(weights, response.spread).sum())
        cost, variance, rank = fit_smooths(
            products[order[:, np.newaxis], order], moments[order], squares, owner[order], float(n), slopes
        )
        coefficients = np.empty(ends[-1])
        coefficients[order] = slopes
        cost += 0.5 * (math.log(n / variance) + math.log(n / 2) + rank * math.log(n))
        cost += CHOICE_COST + SMOOTH_COST * (int(owner.max()) + 1)
        return AdditiveFit(variance, cost, [coefficients[part] for part in parts])

    def predictor(self, family: Family) -> "AdditivePredictor":
        """Return the additive model of a family as what a fitted model keeps.

        Raises
        ------
        TypeError
            If it has none.
        """
        fit, inputs = self.fit(family), self.families.inputs_of(family[1])
        if fit is None:
            raise TypeError(f"variable {family[0]} has no additive model")
        x, response, curves = self.families.data(family)[0], self._response(family[0]), []
        intercept = float(mean_of(response.centre, response.weights))
        for row, values, coefficients in zip(inputs, x, fit.coefficients, strict=True):
            splines = self._splines_of(row)
            *bends, slope, constant = (coefficients @ splines.weights).tolist()
            intercept += constant - float(coefficients @ mean_of(splines.at(values), response.weights))
            curves.append(Curve(splines.knots, np.array(bends), slope))
        parents = np.array(family[1], dtype=int)
        return AdditivePredictor(parents, self.families.widths[parents], tuple(curves), intercept, fit.variance)

    def residuals(self, family: Family, fit: AdditiveFit) -> list[Floats]:
        """Return standardised residuals, one array for each sample of the response."""
        node, inputs = family[0], self.families.inputs_of(family[1])
        response = self._response(node)
        columns = (self._column(node, row) for row in inputs)
        centre = mean_of(response.centre, response.weights)
        mean = centre + sum(slopes @ bends for slopes, bends in zip(fit.coefficients, columns, strict=True))
        return [(sample - mean) / math.sqrt(fit.variance) for sample in response.samples]

    def _response(self, node: int) -> Numbers:
        return self.families.with_numbers((node, ()))[1]

    def _splines_of(self, row: int) -> Splines:
        if row not in self._splines:
            self._splines[row] = Splines.of(self.families.causes[row])
        return self._splines[row]

    def _column(self, node: int, row: int) -> Floats:
        """Return line and splines of a network input, centred, at the observations that count for a node."""
        if row not in self._columns:
            column = self._splines_of(row).at(self.families.causes[row])
            self._columns[row] = column - mean_of(column, self.families.weights)[:, np.newaxis]
        if self.families.rows is None:
            return self._columns[row]
        counted: Floats = self._columns[row][:, self.families.rows[node]]
        counted -= mean_of(counted, self.families.row_weights(node))[:, np.newaxis]
        return counted

    def _product(self, node: int, i: int, j: int) -> Floats:
        key = -1 if self.families.rows is None else node, min(i, j), max(i, j)
        if key not in self._products:
            weighted = times(self.families.row_weights(node), self._column(node, key[1]))
            self._products[key] = weighted @ self._column(node, key[2]).T
        return self._products[key] if i <= j else self._products[key].T

    def _moments_of(self, node: int, row: int) -> Floats:
        if (node, row) not in self._moments:
            weighted = times(self.families.row_weights(node), self._column(node, row))
            self._moments[node, row] = weighted @ self._response(node).centre
        return self._moments[node, row]


@kernel()
def fit_smooths(
    products: Floats, moments: Floats, squares: float, owner: Integers, n: float, weights: Floats
) -> tuple[float, float, int]:
    """Return what lines and smooths cost at the best precisions, without the price of lines; the variance; the rank.

    Parameters
    ----------
    products, moments : ndarray, shapes (k, k), (k,)
        Products of lines and splines, the lines first, and of these with the response.
    squares : float
        Sum of squares of the response.
    owner : ndarray of int, shape (k,)
        Which smooth a spline belongs to, in ascending order; -1 for lines.
    n : float
        Observations, each as often as it counts.
    weights : ndarray, shape (k,)
        Is filled with the weights of lines and splines.
    """
    size, n_smooths = moments.size, owner[moments.size - 1] + 1
    factor, trial, column = np.empty((size, size)), np.empty(size), np.empty(size)
    precision, determined, sizes = np.ones(n_smooths), np.empty(n_smooths), np.empty(n_smooths)
    best, best_variance, rank = math.inf, 1.0, 0
    for _ in range(8):  # updates of the precisions
        for i in range(size):
            for j in range(size):
                factor[i, j] = products[i, j]
            factor[i, i] += 1e-11 * products[i, i] if owner[i] < 0 else precision[owner[i]]
            trial[i] = moments[i]
        log_determinant = cholesky_in_place(factor, size)
        if math.isnan(log_determinant):
            break
        cholesky_solve(factor, trial)
        left = squares
        rank = 0
        for i in range(size):
            left -= moments[i] * trial[i]
            if owner[i] < 0:
                log_determinant -= 2.0 * math.log(factor[i, i])
                # a line counts if so much of its square is left beside the lines before
                rank += factor[i, i] * factor[i, i] > 1e-9 * products[i, i]
            else:
                log_determinant -= math.log(precision[owner[i]])
        left = max(left, 0.0)
        variance = max(left / n, 2.0 * VARIANCE_FLOOR)
        cost = 0.5 * (n * math.log(variance) + left / variance + log_determinant)
        for k in range(n_smooths):
            cost += 0.5 * (precision[k] - 1.0 - math.log(precision[k]))
            determined[k] = sizes[k] = 0.0
        gained = best - cost
        if gained > 0.0:
            best, best_variance = cost, variance
            for i in range(size):
                weights[i] = trial[i]
        if not gained >= 0.05:  # nats
            break
        for c in range(size):  # the inverse of the factor, column by column
            for i in range(c, -1, -1):
                total = 1.0 if i == c else 0.0
                for j in range(i + 1, c + 1):
                    total -= factor[i, j] * column[j]
                column[i] = total / factor[i, i]
                if owner[i] >= 0:
                    determined[owner[i]] -= precision[owner[i]] * column[i] * column[i]
        for i in range(size):
            if owner[i] >= 0:
                determined[owner[i]] += 1.0
                sizes[owner[i]] += trial[i] * trial[i] / variance
        for k in range(n_smooths):
            update = (max(determined[k], 0.0) + 1.0) / (sizes[k] + 1.0)
            precision[k] = min(max(update, 1e-6), 1e6)
    return best, best_variance, rank


def _quantiles(ordered: Floats, number: int) -> Floats:
    """Return so many values of a column in ascending order, evenly spread."""
    quantiles: Floats = ordered[((np.arange(number) + 0.5) / number * ordered.size).astype(int)]
    return quantiles


def _cubes(knots: Floats, values: Floats) -> Floats:
    distances = np.abs(values - knots[:, np.newaxis])
    return distances * distances * distances
