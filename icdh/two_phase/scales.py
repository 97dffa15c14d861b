"""Phase I (Algorithm 2): the scales, W3 and W3_0, given the means.

With W1 and W2 fixed the likelihood separates into one problem of m1 + 1 unknowns a node, over cached hidden
activations. Each is solved in units of the node's root mean squared residual, so the units of the data do not
matter to the optimiser.
"""

import dataclasses

import numpy as np
from scipy.optimize import minimize

from icdh._clock import Clock
from icdh.network import Weights, activations
from icdh.two_phase.remembered import Remembered

# Smallest floor exp(W3_n0) of a scale, in units of the root mean squared residual: the likelihood is unbounded
# as a scale goes to zero.
RELATIVE_FLOOR = 1e-3
SMALLEST_SCALE = 1e-60
LARGEST_WEIGHT = 1e300
MAX_ITERATIONS = 200
TOLERANCE = 1e-7


def fit_scales(
    features: np.ndarray,
    weights: Weights,
    noise: str,
    rows: np.ndarray | None = None,
    clock: Clock | None = None,
) -> Weights:
    """Return the weights with W3 and W3_0 refitted; the negative log-likelihood never rises.

    Parameters
    ----------
    features : ndarray, shape (N or N + 1, M)
        Observations, one variable a row; a last row of ones if the network has intercepts.
    weights : Weights
        The network; its w1, w2 and intercepts stay.
    noise : {"heteroscedastic", "unequal", "equal"}
        "heteroscedastic" fits W3 and W3_0 by L-BFGS-B; "unequal" sets each scale to the root mean squared
        residual, the maximum of the likelihood among constants (Eq. 16-18); "equal" leaves scales at one (Eq. 15).
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable; by default all.
    clock : Clock, optional
        Once its time is over, the scales of the nodes that are left are constants.

    Returns
    -------
    Weights
        The same network with new scales.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 2.
    """
    if noise == "equal":
        return weights
    w3, w3_bias, clock = weights.w3.copy(), weights.w3_bias.copy(), clock or Clock()
    clock.begin("scales", weights.n_variables)
    for n in range(weights.n_variables):
        s, residual = _activations_and_residual(features, weights, n)
        kind = "unequal" if clock.is_over else noise
        w3[n], w3_bias[n] = fit_scale(s, residual, w3[n], w3_bias[n], kind, None if rows is None else rows[n])
        clock.part_done()
    return dataclasses.replace(weights, w3=w3, w3_bias=w3_bias)


def fit_scale(
    s: np.ndarray, residual: np.ndarray, w3: np.ndarray, w3_bias: float, noise: str, rows: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return W3_n and W3_n0 of one node.

    Parameters
    ----------
    s : ndarray, shape (m1, M)
        Its hidden activations.
    residual : ndarray, shape (M,)
        Its residuals.
    w3, w3_bias : ndarray, shape (m1,), and float
        Where to start; returned where no observation counts.
    noise : {"heteroscedastic", "unequal", "equal"}
        As of `fit_scales`.
    rows : ndarray of bool, shape (M,), optional
        The observations that count; by default all.
    """
    if rows is not None:
        s, residual = np.ascontiguousarray(s[:, rows]), residual[rows]
    if noise == "equal" or residual.size == 0:
        return w3, w3_bias
    rms = max(np.sqrt(np.mean(residual**2)), SMALLEST_SCALE)
    if noise == "unequal":
        return np.zeros_like(w3), np.log(rms)
    theta = _minimise(ScaleProblem(s, residual / rms), np.append(w3 / rms, w3_bias - np.log(rms)))
    limit = LARGEST_WEIGHT / max(rms, 1.0)  # extreme units and a scale that is all but dead
    return np.clip(theta[:-1], -limit, limit) * rms, theta[-1] + np.log(rms)


def _activations_and_residual(features, weights, n):
    """Return the hidden activations of node n, shape (m1, M), and its residual, shape (M,)."""
    s = activations(features, weights, n)
    residual = features[n] - weights.w2[n] @ s
    return s, residual if weights.output_bias is None else residual - weights.output_bias[n]


class ScaleProblem:
    """The negative log-likelihood of one node as a function of theta = (W3_n, W3_n0), in nats per observation.

    Without its constant; ``residual`` has unit root mean square.
    """

    def __init__(self, s: np.ndarray, residual: np.ndarray):
        self.s = s
        self.residual = residual
        self._g_mean = np.empty_like(residual)

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by theta, shape (m1 + 1,)."""
        from icdh._network_kernels import gaussian_nll

        floor = np.exp(theta[-1])
        slope = theta[:-1] @ self.s
        total, d_floor = gaussian_nll(self.residual, slope, floor, self._g_mean, slope)
        gradient = np.empty(theta.size)
        gradient[:-1], gradient[-1] = self.s @ slope, d_floor * floor
        gradient /= self.residual.size
        return total / self.residual.size, gradient


def _minimise(problem, start):
    """Return the best of: the start, and the optima reached from it and from a scale that is alive everywhere."""
    lowest = min(np.log(RELATIVE_FLOOR), start[-1])
    bounds = [(None, None)] * (start.size - 1) + [(lowest, 10.0)]
    start = np.append(start[:-1], min(start[-1], 10.0))
    candidates = [start]
    for begin in (start, _alive_start(problem.s)):
        objective = Remembered(problem.value_and_gradient)
        result = minimize(
            objective.value,
            begin,
            jac=objective.gradient,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": MAX_ITERATIONS, "ftol": TOLERANCE, "gtol": 1e-6},
        )
        candidates.append(result.x)
    values = [problem.value_and_gradient(theta)[0] for theta in candidates]
    return candidates[int(np.nanargmin(values))]


def _alive_start(s):
    """Return theta for a constant-like scale of one, half from a ReLU that is alive at every observation."""
    return np.append(np.full(s.shape[0], 0.5 / s.mean() / s.shape[0]), np.log(0.5))
