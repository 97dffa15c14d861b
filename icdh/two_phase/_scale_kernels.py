"""Kernels of Phase I: what Fisher scoring needs to know of the scale of one node.

theta = (W3_n, W3_n0) determines sigma = relu(W3_n . s) + exp(W3_n0) at every observation. With residuals r the loss is

    L = mean of log(sigma) + r^2 / (2 sigma^2),

its gradient the mean of (1 - r^2 / sigma^2) / sigma dsigma/dtheta, and Fisher's information, the expected second
derivative, the mean of 2 / sigma^2 dsigma/dtheta dsigma/dtheta^T.
"""

import math

import numpy as np

from icdh._ground.jit import REASSOCIATE, ROWS, add_gram, kernel, padded


@kernel(fastmath=REASSOCIATE)
def _scale_block(s, residual, theta, start, rows, jacobian, root):
    """Set one block of sqrt(2) / sigma dsigma/dtheta, and a further row (1 - r^2 / sigma^2) / sqrt(2); return its loss.

    So the products of the rows of ``jacobian`` are Fisher's information and, with the last one, the gradient.
    """
    units, floor = s.shape[0], math.exp(theta[s.shape[0]])
    sigma, last, r = jacobian[units], jacobian[units + 1], residual[start : start + rows]
    for m in range(rows):
        sigma[m] = 0.0
    for h in range(units):
        weight, sh = theta[h], s[h, start : start + rows]
        for m in range(rows):
            sigma[m] += weight * sh[m]
    for m in range(rows):
        is_alive = sigma[m] > 0.0
        sigma[m] = (sigma[m] if is_alive else 0.0) + floor
        root[m] = math.sqrt(2.0) / sigma[m] if is_alive else 0.0
    loss = 0.0
    # Nothing is stored in this loop: else the order of the sum would depend on where the arrays are in memory.
    for m in range(rows):
        e = r[m] / sigma[m]
        loss += math.log(sigma[m]) + 0.5 * e * e
    for m in range(rows):
        e = r[m] / sigma[m]
        last[m] = math.sqrt(0.5) * (1.0 - e * e)
        sigma[m] = math.sqrt(2.0) * floor / sigma[m]  # the row of W3_n0
    for h in range(units):
        sh, row = s[h, start : start + rows], jacobian[h]
        for m in range(rows):
            row[m] = root[m] * sh[m]
    return loss


@kernel()
def scale_system(s, residual, theta, gradient, fisher):
    """Return L at theta (m1 + 1,); set its gradient, and Fisher's information (m1 + 1, m1 + 1)."""
    observations, size = residual.size, theta.size
    jacobian, root = np.zeros((padded(size + 1), ROWS)), np.empty(ROWS)
    gram = np.zeros((jacobian.shape[0], jacobian.shape[0]))
    loss = 0.0
    for start in range(0, observations, ROWS):
        rows = min(ROWS, observations - start)
        loss += _scale_block(s, residual, theta, start, rows, jacobian, root)
        add_gram(jacobian, rows, gram)
    for i in range(size):
        gradient[i] = gram[i, size] / observations
        for j in range(i, size):
            fisher[i, j] = fisher[j, i] = gram[i, j] / observations
    return loss / observations
