"""Kernel of gain estimates: scalar products of functions of every candidate with each other and with other vectors."""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import numpy as np

from icdh._ground.jit import CONTRACT, ROWS, add_gram, add_product, empty_block, exp, kernel

STEEPNESS = 0.8  # of the bounded function of a candidate


@kernel(fastmath=CONTRACT)
def _fill_features(x, hidden, first, rows, features):
    """Fill a bounded function of a candidate, its square, the candidate, and its products with the hidden units."""
    bounded, squared, plain = features[0], features[1], features[2]
    for r in range(rows):
        plain[r] = x[first + r]
    for r in range(rows):
        bounded[r] = 1.0 - 2.0 / (exp(2.0 * STEEPNESS * plain[r]) + 1.0)
    for r in range(rows):
        squared[r] = bounded[r] * bounded[r]
    for h in range(hidden.shape[0]):
        unit, product = hidden[h, first : first + rows], features[3 + h]
        for r in range(rows):
            product[r] = plain[r] * unit[r]


@kernel()
def add_products_of_features(candidates, hidden, others, grams, products):
    """Add, for every candidate, the scalar products of its features with each other and with other vectors.

    Parameters
    ----------
    candidates : ndarray, shape (c, n)
        The candidates.
    hidden : ndarray, shape (m, n)
        The hidden units that every candidate is multiplied by.
    others : ndarray, shape (e, n)
        The other vectors; e is a multiple of four.
    grams : ndarray, shape (c, k, k)
        Products of the features; k is m + 3, made a multiple of four. Entries beyond m + 3 are undefined.
    products : ndarray, shape (c, k, e)
        Products of the features with the other vectors.
    """
    n, k, e = candidates.shape[1], grams.shape[1], others.shape[0]
    features, block = empty_block(hidden.shape[0] + 3), np.empty((e, ROWS))
    for first in range(0, n, ROWS):
        rows = min(ROWS, n - first)
        for i in range(e):
            for r in range(rows):
                block[i, r] = others[i, first + r]
        for c in range(candidates.shape[0]):
            _fill_features(candidates[c], hidden, first, rows, features)
            add_gram(features, rows, grams[c])
            add_product(features, block, rows, products[c])
    for c in range(candidates.shape[0]):
        for i in range(k):
            for j in range(i):
                grams[c, i, j] = grams[c, j, i]
