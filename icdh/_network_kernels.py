"""Kernels of the network of `icdh.network`: hidden activations, what leads back from them, and the likelihood.

Every product with the inputs of a node is unrolled by four, which saves three of four passes over the activations.
"""

# mypy: disable-error-code=no-untyped-def
# Numba infers the types of arguments; docstrings say them, with shapes.

import numpy as np
from scipy.special import expit

from icdh._utils.arrays import Floats
from icdh._utils.jit import CONTRACT, REASSOCIATE, ROWS, exp, kernel


# What is known of the activation s of an `icdh.network.Activation`: this, the three below, and the end of `activate`.
def activation(z: Floats, low: float) -> Floats:
    """Return s, of any shape."""
    s: Floats = low + (1.0 - low) * expit((1.0 - low) * z)
    return s


@kernel(fastmath=CONTRACT, inline="always")
def slope_of(s, low):
    """Return ds/dz."""
    return (s - low) * (1.0 - s)


@kernel(fastmath=CONTRACT, inline="always")
def weighed_slope_of(s, weight, low):
    """Return weight ds/dz."""
    return weight * (s - low) * (1.0 - s)


@kernel(fastmath=CONTRACT, inline="always")
def bend_of(s, low):
    """Return the second derivative of s by z, divided by the first."""
    return (1.0 + low) - 2.0 * s


@kernel(fastmath=CONTRACT)
def activate(features, inputs, w, low, start, rows, s):
    """Set the hidden activations ``s[h]`` at ``z = sum_i w[i, h] features[inputs[i]]`` of one block.

    ``w`` has shape (inputs, m1), ``s`` (m1 or more, M).
    """
    count, units = w.shape
    stop, span = start + rows, 1.0 - low
    for h in range(units):
        z = s[h, start:stop]
        for m in range(rows):
            z[m] = 0.0
        i = 0
        while i + 4 <= count:
            a, b, c, d = w[i, h], w[i + 1, h], w[i + 2, h], w[i + 3, h]
            xa, xb = features[inputs[i], start:stop], features[inputs[i + 1], start:stop]
            xc, xd = features[inputs[i + 2], start:stop], features[inputs[i + 3], start:stop]
            for m in range(rows):
                z[m] += (a * xa[m] + b * xb[m]) + (c * xc[m] + d * xd[m])
            i += 4
        while i < count:
            a = w[i, h]
            xa = features[inputs[i], start:stop]
            for m in range(rows):
                z[m] += a * xa[m]
            i += 1
        for m in range(rows):
            z[m] = low + span / (1.0 + exp(-span * z[m]))


@kernel(fastmath=REASSOCIATE)
def add_products(features, inputs, z, start, rows, dw):
    """Add ``z[h] @ features[inputs[i]]`` of one block to ``dw[i, h]``, shape (inputs, m1); ``z`` holds the block."""
    count, units = dw.shape
    stop = start + rows
    for h in range(units):
        zh = z[h, :rows]
        i = 0
        while i + 4 <= count:
            xa, xb = features[inputs[i], start:stop], features[inputs[i + 1], start:stop]
            xc, xd = features[inputs[i + 2], start:stop], features[inputs[i + 3], start:stop]
            a = b = c = d = 0.0
            for m in range(rows):
                a += zh[m] * xa[m]
                b += zh[m] * xb[m]
                c += zh[m] * xc[m]
                d += zh[m] * xd[m]
            dw[i, h] += a
            dw[i + 1, h] += b
            dw[i + 2, h] += c
            dw[i + 3, h] += d
            i += 4
        while i < count:
            xa = features[inputs[i], start:stop]
            a = 0.0
            for m in range(rows):
                a += zh[m] * xa[m]
            dw[i, h] += a
            i += 1


@kernel()
def node_activations(features, inputs, w, low, s):
    """Set the hidden activations ``s`` (m1, M) of one node at all observations."""
    observations = features.shape[1]
    for start in range(0, observations, ROWS):
        activate(features, inputs, w, low, start, min(ROWS, observations - start), s)


@kernel()
def gaussian_nll(residual, slope, floor, g_mean, g_slope):
    """Negative log-likelihood of residuals with scale ``sigma = relu(slope) + floor`` (Eq. 11, one node).

    Sets the derivatives by the mean and by ``slope``; returns the loss without its constant, in nats, and
    its derivative by ``floor``. The outputs may be the inputs.
    """
    total = 0.0
    d_floor = 0.0
    for m in range(residual.size):
        alive = slope[m] > 0.0
        sigma = (slope[m] if alive else 0.0) + floor
        e = residual[m] / sigma
        d_sigma = (1.0 - e * e) / sigma
        total += np.log(sigma) + 0.5 * e * e
        g_mean[m] = -e / sigma
        g_slope[m] = d_sigma if alive else 0.0
        d_floor += d_sigma
    return total, d_floor


@kernel(fastmath=REASSOCIATE)
def _standardise(x, s, outer, sigma, block, residual, slope):
    """Set one block of the residuals ``x - w2 . s - intercept``, and of the slopes: ``w3 . s``, or ``sigma`` if given.

    ``outer`` are w2, w3 and the intercept. ``sigma`` has shape (M,), or (0,) where the scale is that of the network.
    """
    (w2, w3, intercept), (start, rows) = outer, block
    for m in range(rows):
        residual[m] = x[start + m] - intercept
        slope[m] = sigma[start + m] if sigma.size > 0 else 0.0
    for h in range(w2.size):
        by_mean, by_slope, sh = w2[h], 0.0 if sigma.size > 0 else w3[h], s[h, start : start + rows]
        for m in range(rows):
            residual[m] -= by_mean * sh[m]
            slope[m] += by_slope * sh[m]


@kernel(fastmath=REASSOCIATE)
def _pull_back(layer, block, by_outputs, by_weights, pull):
    """Add the derivatives by w2 and w3 of one block; set ``pull`` (m1, ROWS) to those by the pre-activations.

    ``layer`` are the activations, their least value, w2 and w3; ``by_outputs`` (rows,) the derivatives by the mean and
    by the slope of the scale, and ``by_weights`` those by w2 and w3.
    """
    (s, low, w2, w3), (start, rows), (g_mean, g_slope), (d_w2, d_w3) = layer, block, by_outputs, by_weights
    for h in range(w2.size):
        a, b, sh, target, by_w2, by_w3 = w2[h], w3[h], s[h, start : start + rows], pull[h], 0.0, 0.0
        for m in range(rows):
            by_w2 += sh[m] * g_mean[m]
            by_w3 += sh[m] * g_slope[m]
            target[m] = (a * g_mean[m] + b * g_slope[m]) * slope_of(sh[m], low)
        d_w2[h] += by_w2
        d_w3[h] += by_w3


@kernel()
def node_nll_and_gradient(table, low, weights, sigma, derivatives):
    """Return loss of a node (Eq. 11, without its constant) and derivatives by floor and intercept.

    Parameters
    ----------
    table : (F, M), (F,), int
        Variables, and a last row of ones if there are intercepts; 0, 1, ..., F - 1; and the node.
    low : float
        The least value of its activation.
    weights : (F, m1), (m1,), (m1,), float, float
        w, w2 and w3, the floor exp(W3_n0) and the intercept of the mean; these are zero where ``sigma`` is given, or
        there is no intercept.
    sigma : (M,) or (0,)
        The scale where it is fixed; empty where it is that of the network.
    derivatives : (F, m1), (m1,), (m1,)
        Zero; those by w, w2 and w3 are added. The last mean nothing where ``sigma`` is given.
    """
    (features, inputs, n), (w, w2, w3, floor, intercept), (d_w, d_w2, d_w3) = table, weights, derivatives
    observations, units = features.shape[1], w2.size
    s, pull = np.empty((units, observations)), np.empty((units, ROWS))
    g_mean, g_slope = np.empty(ROWS), np.empty(ROWS)
    none = np.zeros(units)
    total, d_floor, d_intercept = 0.0, 0.0, 0.0
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        activate(features, inputs, w, low, start, rows, s)
        _standardise(features[n], s, (w2, w3, intercept), sigma, (start, rows), g_mean, g_slope)
        loss, by_floor = gaussian_nll(g_mean[:rows], g_slope[:rows], floor, g_mean, g_slope)
        total += loss
        d_floor += by_floor
        for m in range(rows):
            d_intercept += g_mean[m]
        layer = s, low, w2, none if sigma.size > 0 else w3
        _pull_back(layer, (start, rows), (g_mean, g_slope), (d_w2, d_w3), pull)
        add_products(features, inputs, pull, start, rows, d_w)
    return total, d_floor, d_intercept
