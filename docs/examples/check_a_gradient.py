"""Check a gradient: by differences, by a complex step, and by automatic differentiation.

    pip install "icdh[autograd]"
    python check_a_gradient.py

Three ways for a test of your own, from the least exact to one that needs another library. The function is the negative
log-likelihood of the article (Eq. 11), written anew, and so slowly that it can be read.
"""

import autograd
import autograd.numpy as agnp
import numpy as np
from scipy.optimize import check_grad

from icdh.likelihood import nll, nll_and_gradient
from icdh.network import initial_weights

X = np.random.default_rng(0).normal(size=(40, 3))
weights = initial_weights(X, 4, False, np.random.default_rng(0))
theta = weights.to_vector() + np.random.default_rng(1).normal(size=weights.to_vector().size)
value, gradient = nll_and_gradient(X, weights.from_vector(theta))


def eq_11(theta, np=np):
    """Return the mean over rows, the sum over variables, of log(sigma sqrt(2 pi)) + (x - f)^2 / (2 sigma^2)."""
    (N, m1, _), (w1, w2, w3, w3_bias) = weights.w1.shape, np.split(theta, [36, 48, 60])
    off_the_diagonal = w1.reshape(N, m1, N) * (1 - np.eye(N))[:, np.newaxis]
    s = 1 / (1 + np.exp(-np.einsum("nhi,mi->mnh", off_the_diagonal, X)))
    f, slope = np.sum(w2.reshape(N, m1) * s, axis=2), np.sum(w3.reshape(N, m1) * s, axis=2)
    sigma = np.where(np.real(slope) > 0, slope, 0) + np.exp(w3_bias)
    return np.sum(np.log(sigma) + np.log(2 * np.pi) / 2 + (X - f) ** 2 / (2 * sigma**2)) / len(X)


# %%
# 1. Differences need the function alone, and agree in six to eight digits.
differences = check_grad(
    lambda at: nll(X, weights.from_vector(at)),
    lambda at: nll_and_gradient(X, weights.from_vector(at))[1].to_vector(),
    theta,
)
print(f"differences: {differences:.0e}")

# %%
# 2. A complex step is exact to the last digits: the derivative is the imaginary part at theta + 1e-30 i. It needs a
#    function that takes complex numbers, and compares their real parts.
steps = [eq_11(theta + 1e-30j * unit).imag / 1e-30 for unit in np.eye(theta.size)]
print(f"complex step: {np.abs(gradient.to_vector() - steps).max():.0e}")

# %%
# 3. Automatic differentiation does the same in one call, for a function of its own array library.
automatic = autograd.grad(eq_11)(theta, agnp)
print(f"automatic differentiation: {np.abs(gradient.to_vector() - automatic).max():.0e}")
print(f"the values differ by {abs(value - eq_11(theta)):.0e}")
