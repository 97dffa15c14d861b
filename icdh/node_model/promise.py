"""What a further parent promises, of all candidates at once: a score test on the residuals of a fit.

Where a family lacks a parent, its standardised residuals e = (y - mu) / sd depend on that parent in their mean, or
their squares do. For every candidate x both e and (e^2 - 1) / sqrt(2), which are white under the fitted model, are
regressed on a few functions of it: three smooth ones, and x times each hidden unit, along which a new input of
these units would act. What the current fit can explain already is taken out of both sides first. The promise is the
evidence of these regressions over none, in nats, at the best of a few precisions of their prior: about what a fit of
the larger family would gain, at the cost of a matrix product. Most candidates promise nothing and need no fit.
"""

import numpy as np

from icdh._jit import padded
from icdh.node_model._promise_kernels import add_products_of_features

PRIOR_VARIANCES = np.geomspace(3e-4, 1.0, 8)  # of the coefficient of a function of unit variance
ROUGH = (1.0, 0.5, 0.5)  # of each function's prior variance, relative to the first one's
ROUGH_PRODUCT = 0.25
RESOLVED = 1e-3  # of a function's deviation, what must be left once what is explained is taken out
LEAST_UNEXPLAINED = 1e-4  # share of the residuals' variance


def promises(candidates: np.ndarray, x: np.ndarray, hidden: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return what every candidate promises as a further parent.

    Parameters
    ----------
    candidates : ndarray, shape (c, n)
        The candidates, standardised, one a row.
    x : ndarray, shape (p, n)
        The parents that the family has.
    hidden : ndarray, shape (m, n)
        The hidden units of its fit.
    scores : ndarray, shape (2, n)
        The derivatives of the log-likelihood by mean and log-variance, in units of their standard deviations.

    Returns
    -------
    ndarray, shape (c,)
        Nats, at least zero.
    """
    n = scores.shape[1]
    explained = _orthonormal(_orthonormal(np.vstack([np.ones((1, n)), hidden, x])))  # twice: rounding once is too much
    rest = scores - (scores @ explained.T) @ explained
    products_with = hidden if len(x) else hidden[:0]
    relative = np.array([*ROUGH, *[ROUGH_PRODUCT] * len(products_with)])
    squares, total = _squared_projections(candidates, products_with, explained, rest), rest[0] @ rest[0]
    return _evidence(_with_large_effects(squares[0], total, n), relative, n) + _evidence(squares[1], relative, n)


def _orthonormal(rows):
    """Return an orthonormal basis, as rows, of what rows span."""
    products = rows @ rows.T
    norms = np.sqrt(np.maximum(products.diagonal(), np.finfo(float).tiny))
    squares, vectors = np.linalg.eigh(products / np.outer(norms, norms))
    kept = squares > RESOLVED**2 * squares[-1]
    return (vectors[:, kept] / np.sqrt(squares[kept]) / norms[:, np.newaxis]).T @ rows


def _squared_projections(candidates, hidden, explained, rest):
    """Return the squares of what both scores have of the features, each freed of the features before it, (2, c, k).

    The features are smooth functions of every candidate, and its products with the hidden units.
    """
    count, size, known = len(candidates), 3 + len(hidden), len(explained)
    others = np.zeros((padded(known + 2), rest.shape[1]))
    others[:known], others[known : known + 2] = explained, rest
    grams, with_others = np.zeros((count, padded(size), padded(size))), np.zeros((count, padded(size), len(others)))
    add_products_of_features(np.ascontiguousarray(candidates), hidden, others, grams, with_others)
    products, taken, left_over = grams[:, :size, :size], with_others[:, :size, :known], with_others[:, :size, known:]
    left = products - taken @ taken.transpose(0, 2, 1)
    whole, squares = np.einsum("ckk->ck", products), np.einsum("ckk->ck", left)
    scale = np.where(squares > RESOLVED**2 * whole, 1.0 / np.sqrt(np.maximum(squares, np.finfo(float).tiny)), 0.0)
    correlations = left * scale[:, :, np.newaxis] * scale[:, np.newaxis, :]
    correlations += np.eye(size) * np.where(scale > 0.0, RESOLVED**2, 1.0)[:, np.newaxis]
    projections = scale[:, :, np.newaxis] * left_over[:, :, :2]
    return np.moveaxis(np.square(np.linalg.solve(np.linalg.cholesky(correlations), projections)), 2, 0)


def _with_large_effects(squares, total, n):
    """Return squared projections as large as the gains of a variance that follows what they leave."""
    share = squares.sum(axis=1, keepdims=True) / max(total, np.finfo(float).tiny)
    growth = -n * np.log(np.maximum(1.0 - share, LEAST_UNEXPLAINED))
    return squares * (growth / np.maximum(squares.sum(axis=1, keepdims=True), np.finfo(float).tiny))


def _evidence(squares, relative, n):
    """Return the log evidence of coefficients whose estimates have these squared ratios to their errors, over zero."""
    ratio = n * PRIOR_VARIANCES[:, np.newaxis] * relative
    gains = squares @ (0.5 * ratio / (1.0 + ratio)).T - 0.5 * np.log1p(ratio).sum(axis=1)
    return np.maximum(gains.max(axis=1), 0.0)
