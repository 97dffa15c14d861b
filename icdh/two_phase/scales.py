"""Phase I (Algorithm 2): the scales, W3 and W3_0, given the means.

With W1 and W2 fixed the likelihood separates into one problem of m1 + 1 unknowns a node, over cached hidden
activations. Each is solved in units of the node's root mean squared residual, so the units of the data do not
matter to the optimiser.
"""

import dataclasses

import numpy as np
from scipy.linalg.lapack import dposv  # pyright: ignore[reportAttributeAccessIssue]

from icdh._utils.arrays import NONE, Floats, Mask, mean_of, of_rows, times
from icdh._utils.jit import next_damping, small_steps
from icdh.network import Weights, activations
from icdh.two_phase._kernels import scale_objective
from icdh.two_phase.objective import Problem
from icdh.two_phase.solvers import NEWTON_FIRST_DAMPING, NEWTON_LARGEST_DAMPING

# Smallest floor exp(W3_n0) of a scale, in units of the root mean squared residual: the likelihood is unbounded as a
# scale goes to zero.
RELATIVE_FLOOR = 1e-3
SMALLEST_SCALE = 1e-60
LARGEST_SCALE_WEIGHT = 1e300
HIGHEST_FLOOR = 10.0  # of W3_n0, in the same units
MOST_STEPS = 200
PATIENCE = 2  # small steps in a row that end a descent
LEAST_UNIT = 1e-6  # of an entry in the damping, beside the largest: a dead ReLU has no information
SCALE_TOLERANCE = 1e-7  # nats an observation: a descent ends after two steps that gain less


def fit_scales(problem: Problem, weights: Weights) -> Weights:
    """Return the weights with W3 and W3_0 refitted; the negative log-likelihood never rises.

    Parameters
    ----------
    problem : Problem
        What to fit. Its ``noise`` "heteroscedastic" fits W3 and W3_0 by Fisher scoring; "unequal" sets each scale to
        the root mean squared residual, the maximum of the likelihood among constants (Eq. 16-18); "equal" leaves
        scales at one (Eq. 15). Once its time is over, the scales of the nodes that are left are constants.
    weights : Weights
        The network; its w1, w2 and intercepts stay.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Algorithm 2.
    """
    problem.check_activation_of(weights)
    if problem.noise == "equal":
        return weights
    w3, w3_bias, clock = weights.w3.copy(), weights.w3_bias.copy(), problem.clock
    clock.begin("scales", weights.n_variables)
    for n in range(weights.n_variables):
        s = activations(problem.features, weights, n)
        residual = problem.features[n] - weights.w2[n] @ s
        residual -= 0.0 if weights.output_bias is None else weights.output_bias[n]
        kind = "unequal" if clock.is_over else problem.noise
        w3[n], w3_bias[n] = fit_scale(problem, n, s, residual, w3[n], w3_bias[n], kind)
        clock.part_done()
    return dataclasses.replace(weights, w3=w3, w3_bias=w3_bias)


def fit_scale(
    problem: Problem, node: int, s: Floats, residual: Floats, w3: Floats, w3_bias: float, noise: str
) -> tuple[Floats, float]:
    """Return W3_n and W3_n0 of one node.

    Parameters
    ----------
    problem : Problem
        Says which observations count, and how often, and has the activation.
    node : int
        The node.
    s : ndarray, shape (m1, M)
        Its hidden activations.
    residual : ndarray, shape (M,)
        Its residuals.
    w3, w3_bias : ndarray, shape (m1,), and float
        Where to start; returned where no observation counts.
    noise : {"heteroscedastic", "unequal", "equal"}
        See `fit_scales`.
    """
    rows, weights = problem.rows_of(node), problem.weights
    if rows is not None:
        s, residual, weights = np.ascontiguousarray(s[:, rows]), residual[rows], of_rows(weights, rows)
    if noise == "equal" or residual.size == 0:
        return w3, w3_bias
    rms = max(float(np.sqrt(mean_of(residual**2, weights))), SMALLEST_SCALE)
    if noise == "unequal":
        return np.zeros_like(w3), np.log(rms)
    shares = NONE if weights is None else weights * (residual.size / weights.sum())
    start = np.append(w3 / rms, w3_bias - np.log(rms))
    theta = _minimise(s, residual / rms, shares, start, problem.activation.low)
    limit = LARGEST_SCALE_WEIGHT / max(rms, 1.0)  # extreme units and a scale that is all but dead
    return np.clip(theta[:-1], -limit, limit) * rms, theta[-1] + np.log(rms)


def rising_weights(s: Floats, residual: Floats, weights: Floats | Mask | None) -> Floats:
    """Return W3_n by which a scale of floor 1/2 rises where residuals are large, for activations of both signs.

    With equal weights it would be dead at about half of the observations, whichever these are.

    Parameters
    ----------
    s, residual
        See `scale_objective`.
    weights : ndarray, shape (M,), or None
        How often each observation counts, or whether it does; None if once.
    """
    weighed, spread = times(weights, s), np.sqrt(0.5 * np.pi) * np.abs(residual)  # whose expectation is sigma
    gram, right = weighed @ s.T, weighed @ (spread - 0.5)
    gram.ravel()[:: len(gram) + 1] += 1e-10 * gram.trace()  # units may do the same
    rising: Floats = dposv(gram, right)[1]  # zero, as ``right`` is, where they do nothing for want of inputs
    return rising


def descend(
    s: Floats, residual: Floats, weights: Floats, theta: Floats, lowest: float, tolerance: float
) -> tuple[Floats, float]:
    """Minimise L by Fisher scoring with Levenberg-Marquardt damping; return theta and L there.

    It ends after two steps in a row that gain less than ``tolerance``. L is infinite if it is no number at the start.

    Parameters
    ----------
    s, residual, weights
        See `scale_objective`.
    theta : ndarray, shape (m1 + 1,)
        Where to start.
    lowest : float
        The lowest W3_n0, which stays below ``HIGHEST_FLOOR``.
    tolerance : float
        Nats an observation.
    """
    value, gradient, fisher = scale_objective(s, residual, weights, theta)
    if not value < np.inf:
        return theta, np.inf
    damping, growth, small = NEWTON_FIRST_DAMPING, 2.0, 0
    for _ in range(MOST_STEPS):
        step = _damped_step(gradient, fisher, damping, theta[-1], lowest)
        predicted = -float(step @ (gradient + 0.5 * (fisher @ step)))
        if not predicted > 0.0:
            damping, growth = next_damping(damping, growth, -1.0)
            if damping > NEWTON_LARGEST_DAMPING:
                break
            continue
        reached, *derivatives = scale_objective(s, residual, weights, theta + step)
        fall = value - reached
        if fall > 0.0:
            theta, value, (gradient, fisher) = theta + step, reached, derivatives
        small = small_steps(small, fall, predicted, tolerance)
        damping, growth = next_damping(damping, growth, fall / predicted)
        if small == PATIENCE or damping > NEWTON_LARGEST_DAMPING:
            break
    return theta, value


def _damped_step(gradient: Floats, fisher: Floats, damping: float, floor: float, lowest: float) -> Floats:
    """Return a step in which W3_n0 stays within its bounds; NaN if there is none."""
    outward = (floor <= lowest and gradient[-1] > 0.0) or (floor >= HIGHEST_FLOOR and gradient[-1] < 0.0)
    free, system, diagonal = gradient.size - outward, fisher.copy(), fisher.diagonal()
    system.ravel()[:: gradient.size + 1] += damping * np.maximum(diagonal, LEAST_UNIT * diagonal.max())
    step = np.zeros(gradient.size)
    _, step[:free], failed = dposv(system[:free, :free], -gradient[:free])
    step[-1] = min(max(floor + step[-1], lowest), HIGHEST_FLOOR) - floor
    return np.full(gradient.size, np.nan) if failed else step


def _minimise(s: Floats, residual: Floats, weights: Floats, start: Floats, low: float) -> Floats:
    """Return the better of the minima reached from the start and from a scale that is alive wherever it can be."""
    lowest = min(np.log(RELATIVE_FLOOR), start[-1])
    start = np.append(start[:-1], min(start[-1], HIGHEST_FLOOR))
    if low >= 0.0:
        activity = (s @ weights).mean() / weights.sum() if weights.size else s.mean()
        w3 = np.full(s.shape[0], 0.5 / activity / s.shape[0])
    else:
        w3 = rising_weights(s, residual, weights if weights.size else None)
    alive = np.append(w3, np.log(0.5))  # a scale of about one
    ends = [descend(s, residual, weights, begin, lowest, SCALE_TOLERANCE) for begin in (start, alive)]
    return min(ends, key=lambda end: end[1])[0]
