"""Estimates of what a further parent gains, for all candidates at once: a score test on the residuals of a fit.

If a family lacks a parent, its standardised residuals e = (y - mu) / sd, or their squares, depend on that parent. Both
e and (e^2 - 1) / sqrt(2) are white under the fitted model. For every candidate x they are regressed on functions of x:
three smooth ones, and the products of x with each hidden unit, along which a new input of these units acts. The part
that the current fit explains is first removed from both sides.

The estimate is the log evidence of these regressions over none, in nats, at the best of a few prior precisions. It is
about what a fit of the larger family would gain, at the cost of a matrix product. Most estimates are zero, and those
candidates need no fit.

Where cause and effect have categories or levels, counts are held against fits. Under the fitted model of the effect,
the observations of its category y among those where the candidate has category c number E(y, c), a sum of fitted
probabilities. With the counts O(y, c) of the table,

    chi^2 = sum over y and c of (O - E)^2 / E

exceeds its degrees of freedom by about twice what a further parent adds to the log-likelihood. Joint counts with one
parent at a time show what the candidate does only together with that parent. The largest excess is the estimate: it
is optimistic, for the further weights cost evidence.
"""

from collections.abc import Sequence

import numpy as np

from icdh._node_model._kernels import add_products_of_features
from icdh._utils.arrays import Floats, Integers
from icdh._utils.jit import padded
from icdh._utils.weighted import NONE, roots_of, sum_of, times

MOST_UNITS = 20  # hidden units whose products with a candidate are tried; their time grows with the square
REMAINING = 1e-3  # share of a function's deviation that must remain once the explained part is removed
LEAST_UNEXPLAINED = 1e-4  # share of the residuals' variance
FEWEST_EXPECTED = 0.5  # observations of a cell: fewer would make a single one a large excess
ROUGH, ROUGH_PRODUCT = (1.0, 0.5, 0.5), 0.25  # prior variances of functions and products, the first function's is 1
VARIANCES = np.geomspace(3e-4, 1.0, 8)  # of the prior of the coefficient of a function of unit variance


def gain_estimates(candidates: Floats, x: Floats, hidden: Floats, scores: Floats, weights: Floats | None) -> Floats:
    """Return an estimate of what every candidate gains as a further parent.

    Parameters
    ----------
    candidates : ndarray, shape (c, n)
        The candidates, standardised, one a row.
    x : ndarray, shape (p, n)
        The parents that the family has.
    hidden : ndarray, shape (m, n)
        The hidden units of its fit.
    scores : ndarray, shape (S, n)
        The derivatives of the log-likelihood by the outputs, that by the mean first, in units of their standard
        deviations, times the roots of the weights.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.

    Returns
    -------
    ndarray, shape (c,)
        Nats, at least zero.
    """
    n = sum_of(weights, scores.shape[1])
    known = times(roots_of(weights), np.vstack([np.ones((1, scores.shape[1])), hidden, x]))
    explained = orthonormal(orthonormal(known))  # twice: rounding once is too much
    rest = scores - (scores @ explained.T) @ explained
    products_with = hidden[: MOST_UNITS if len(x) else 0]
    relative = np.array([*ROUGH, *[ROUGH_PRODUCT] * len(products_with)])
    squares = _squared_projections(candidates, products_with, explained, rest, weights)
    of_others = sum(evidence_of_squares(of_output, relative, n) for of_output in squares[1:])
    return evidence_of_squares(with_large_effects(squares[0], rest[0] @ rest[0], n), relative, n) + of_others


def without(vectors: Floats, others: Floats) -> Floats:
    """Return vectors without what others explain of them, one a row."""
    products = others @ others.T
    products += np.diag(REMAINING**2 * products.diagonal() + np.finfo(float).tiny)
    for _ in range(2):  # rounding, and the ridge, leave a little
        vectors = vectors - np.linalg.solve(products, others @ vectors.T).T @ others
    return vectors


def orthonormal(vectors: Floats) -> Floats:
    """Return an orthonormal basis, one vector a row, of the space that these vectors span."""
    products = vectors @ vectors.T
    norms = np.sqrt(np.maximum(products.diagonal(), np.finfo(float).tiny))
    squares, directions = np.linalg.eigh(products / np.outer(norms, norms))
    kept = squares > REMAINING**2 * squares[-1]
    basis: Floats = (directions[:, kept] / np.sqrt(squares[kept]) / norms[:, np.newaxis]).T @ vectors
    return basis


def _squared_projections(
    candidates: Floats, hidden: Floats, explained: Floats, rest: Floats, weights: Floats | None
) -> Floats:
    """Return the squared projections of all scores on the features of every candidate, shape (S, c, k).

    The features are smooth functions of the candidate and its products with the hidden units, each made orthogonal to
    those before it.
    """
    count, size, known = len(candidates), 3 + len(hidden), len(explained)
    others = np.zeros((padded(known + len(rest)), rest.shape[1]))
    others[:known], others[known : known + len(rest)] = explained, rest
    grams, with_others = np.zeros((count, padded(size), padded(size))), np.zeros((count, padded(size), len(others)))
    counts = NONE if weights is None else weights
    add_products_of_features(np.ascontiguousarray(candidates), hidden, counts, others, grams, with_others)
    products, taken, left_over = grams[:, :size, :size], with_others[:, :size, :known], with_others[:, :size, known:]
    left = products - taken @ taken.transpose(0, 2, 1)
    whole, squares = np.einsum("ckk->ck", products), np.einsum("ckk->ck", left)
    scale = np.where(squares > REMAINING**2 * whole, 1.0 / np.sqrt(np.maximum(squares, np.finfo(float).tiny)), 0.0)
    correlations = left * scale[:, :, np.newaxis] * scale[:, np.newaxis, :]
    correlations += np.eye(size) * np.where(scale > 0.0, REMAINING**2, 1.0)[:, np.newaxis]
    projections = scale[:, :, np.newaxis] * left_over[:, :, : len(rest)]
    return np.moveaxis(np.square(np.linalg.solve(np.linalg.cholesky(correlations), projections)), 2, 0)


def with_large_effects(squares: Floats, total: float, n: float) -> Floats:
    """Return squared projections scaled to the log-likelihood gain of a variance that shrinks as they explain it."""
    share = squares.sum(axis=1, keepdims=True) / max(total, np.finfo(float).tiny)
    growth = -n * np.log(np.maximum(1.0 - share, LEAST_UNEXPLAINED))
    scaled: Floats = squares * (growth / np.maximum(squares.sum(axis=1, keepdims=True), np.finfo(float).tiny))
    return scaled


def evidence_of_squares(squares: Floats, relative: Floats, n: float) -> Floats:
    """Return the log evidence, over that of none, of coefficients with these squared ratios of estimate to error."""
    ratio = n * VARIANCES[:, np.newaxis] * relative
    gains = squares @ (0.5 * ratio / (1.0 + ratio)).T - 0.5 * np.log1p(ratio).sum(axis=1)
    best: Floats = np.maximum(gains.max(axis=1), 0.0)
    return best


def label_gain_estimates(
    effect: Integers,
    probabilities: Floats,
    candidates: Sequence[Integers],
    parents: Sequence[Integers],
    weights: Floats | None,
) -> Floats:
    """Return an estimate of what every candidate gains as a further parent.

    Parameters
    ----------
    effect : ndarray of int, shape (n,)
        The categories of the effect, 0 ... K - 1.
    probabilities : ndarray, shape (K, n)
        Those of its categories under the fit.
    candidates, parents : sequence of ndarray of int, each of shape (n,)
        The categories of the candidates, and of the parents that the family has.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.

    Returns
    -------
    ndarray, shape (c,)
        Nats; negative where counts are closer to the fit than chance makes them.
    """
    residuals = (effect == np.arange(len(probabilities))[:, np.newaxis]) - probabilities
    sizes = [int(candidate.max()) + 1 for candidate in candidates]
    first = np.cumsum([0, *sizes[:-1]])
    members = np.vstack(
        [candidate == np.arange(size)[:, np.newaxis] for candidate, size in zip(candidates, sizes, strict=True)]
    )
    members = times(weights, members.astype(np.float64))
    alone = _excess(members, first, residuals, probabilities, np.zeros_like(effect))
    estimates: Floats = np.max(
        [alone, *(_excess(members, first, residuals, probabilities, parent) for parent in parents)], axis=0
    )
    return estimates


def _excess(members: Floats, first: Integers, residuals: Floats, probabilities: Floats, groups: Integers) -> Floats:
    """Return chi-square less its degrees of freedom for every candidate, within groups of observations."""
    chi_square, cells = np.zeros(len(first)), np.zeros(len(first))
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        among = members[:, rows]
        excess, expected = among @ residuals[:, rows].T, among @ probabilities[:, rows].T
        squares = excess**2 / np.maximum(expected, FEWEST_EXPECTED)
        chi_square += np.add.reduceat(squares.sum(axis=1), first)
        cells += np.add.reduceat(among.any(axis=1).astype(float), first)
    return chi_square - (cells - 1.0) * (len(probabilities) - 1)
