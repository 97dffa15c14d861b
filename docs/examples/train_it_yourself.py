"""Train it yourself: the three algorithms of the article in thirty lines of public names.

    python train_it_yourself.py

For a loss, a penalty or an optimiser of your own: change the lines that say it.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import Bounds, minimize

from icdh import graphs, metrics, simulate
from icdh.acyclicity import acyclicity
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import forward, initial_weights
from icdh.two_phase import Problem, algorithm_1, phase_two_objective

L_BFGS = {"jac": True, "method": "L-BFGS-B", "options": {"ftol": 1e-6, "gtol": 1e-8, "maxiter": 15_000}}

# %%
# 1. Algorithm 3, Phase II: the means W1 and W2, given the scales, under the constraint h = 0. W1 = W1+ - W1- with both
#    parts non-negative makes the lasso linear: theta is W1+, all other weights, W1-, and ``join @ theta`` the weights.


def phase_two(X, scale, start, l1=0.01, l2=0.01):
    at, size = start.to_vector(), start.w1.size
    join = np.hstack([np.eye(at.size), -np.eye(at.size, size)])
    lasso = l1 * np.repeat([1.0, 0.0, 1.0], [size, at.size - size, size])

    def lagrangian(theta):
        penalties = {"l1": 0.0, "l2": l2, "rho": rho, "alpha": alpha}
        value, gradient = phase_two_objective(X, scale, start.from_vector(join @ theta), **penalties)
        return value + lasso @ theta, gradient.to_vector() @ join + lasso

    theta, rho, alpha, h_before = np.maximum(at @ join, np.where(lasso, 0.0, -np.inf)), 1.0, 0.0, np.inf
    while h_before > 1e-8 and rho < 1e16:
        theta = minimize(lagrangian, theta, bounds=Bounds(np.where(lasso, 0.0, -np.inf)), **L_BFGS).x
        h = acyclicity(start.from_vector(join @ theta).adjacency())[0]
        rho, alpha, h_before = (10 * rho, alpha, h_before) if h > h_before / 4 else (rho, alpha + rho * h, h)
    return start.from_vector(join @ theta)


# %%
# 2. Algorithm 2, Phase I: the scales W3 and W3_0, given the means, which equal bounds hold fixed. The ReLU is dead at
#    W3 = 0, so a first phase starts elsewhere. Scales are bounded from below: the likelihood is not.


def phase_one(X, weights):
    rms = np.sqrt(np.mean((X - forward(X, weights)[0]) ** 2, axis=0))
    alive = replace(weights, w3=weights.w3 + rms[:, np.newaxis] / weights.hidden_units, w3_bias=np.log(rms / 2))
    start = weights if weights.w3.any() else alive
    at, fixed = start.to_vector(), start.w1.size + start.w2.size
    bounds = [(x, x) for x in at[:fixed]] + [(None, None)] * start.w3.size + [(x, None) for x in np.log(1e-3 * rms)]

    def loss(theta):
        value, gradient = nll_and_gradient(X, start.from_vector(theta))
        return value, gradient.to_vector()

    return start.from_vector(minimize(loss, at, bounds=bounds, **L_BFGS).x)


# %%
# 3. Algorithm 1: both in turn, until the likelihood stands still. The first scale is one, that of initial weights.


def fit(X, weights, tol=0.01):
    rounds = [weights]
    while len(rounds) == 1 or nll(X, rounds[-2]) - nll(X, rounds[-1]) > tol:
        rounds.append(phase_one(X, phase_two(X, forward(X, rounds[-1])[1], rounds[-1])))
    return min(rounds, key=lambda weights: nll(X, weights))


# %%
# 4. It learns what the algorithms of the library learn.
data = simulate.simulate_sem(simulate.erdos_renyi(3, 1, random_state=1), 100, random_state=1, standardize=True)
start = initial_weights(data.X, 4, False, np.random.default_rng(0))
learned = fit(data.X, start)
graph = graphs.break_cycles(graphs.threshold(learned.adjacency(), 0.3)).adjacency
print(f"negative log-likelihood {nll(data.X, start):.3f} nats before, {nll(data.X, learned):.3f} after")
print(f"by icdh.two_phase.algorithm_1: {algorithm_1(Problem.of(data.X), start).best.nll:.3f}")
print(f"edges {graphs.edge_list(graph, data.names)}; SHD to the truth {metrics.shd(graph != 0, data.adjacency)}")
