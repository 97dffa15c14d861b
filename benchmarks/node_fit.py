"""One node fit by Fisher scoring against L-BFGS-B on the same objective from the same start.

    python benchmarks/node_fit.py results.json [--problems 20]

The problems are families of fresh heteroscedastic tables (1000 rows, one to four parents). Both minimise F of
`icdh._node_model.network` at fixed precisions. Prints medians of the seconds, of the ratio of seconds (pairs of one
run), and quantiles of F(L-BFGS-B) - F(Fisher scoring) in nats: positive where Fisher scoring reaches the higher
likelihood.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from icdh import simulate
from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.evidence import Start, fit_node
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.network import cold_start

UNITS, PRECISION = 5, 3.0


def objective_and_gradient(theta, x, y, penalty):
    """F and its gradient in NumPy."""
    p = x.shape[1]
    w1, b1, b2, w2, b3, w3 = np.split(theta, np.cumsum([p * UNITS, UNITS, 1, UNITS, 1]))
    s = np.tanh(x @ w1.reshape(p, UNITS) + b1)
    u = b3 + s @ w3
    e = np.exp(np.clip(u, -30, 30))
    v = VARIANCE_FLOOR + e
    r = y - b2 - s @ w2
    dmu = -r / v
    du = np.where(np.abs(u) < 30, 0.5 * (1 - r * r / v) * e / v, 0.0)
    dz = (np.outer(dmu, w2) + np.outer(du, w3)) * (1 - s * s)
    value = 0.5 * (np.log(v) + r * r / v).sum() + 0.5 * (penalty * theta**2).sum()
    parts = [(x.T @ dz).ravel(), dz.sum(axis=0), [dmu.sum()], s.T @ dmu, [du.sum()], s.T @ du]
    return value, np.concatenate(parts) + penalty * theta


def problems(count):
    """Yield parents and child, standardised, of one family a table."""
    for seed in range(count):
        data = simulate.simulate_sem(simulate.erdos_renyi(10, 2, seed), 1000, random_state=seed)
        Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
        sizes = (data.adjacency != 0).sum(axis=0)
        child = int(np.flatnonzero((sizes > 0) & (sizes < 5))[seed % 3])
        yield np.ascontiguousarray(Z[:, data.adjacency[:, child] != 0]), np.ascontiguousarray(Z[:, child])


def compare(x, y):
    """Return seconds and F of both methods."""
    start, begin = time.perf_counter(), Start(tol=1e-2, precision_updates=0)
    response = GaussianResponse.exact(y, None)
    fit = fit_node(np.ascontiguousarray(x.T), response, UNITS, begin, prior_precision=PRECISION, weight=1.0)
    middle = time.perf_counter()
    p = x.shape[1]
    penalty = np.full(fit.theta.size, PRECISION)
    penalty[[(p + 1) * UNITS, (p + 2) * UNITS + 1]] = 1e-8
    options = {"maxiter": 2000, "maxfun": 4000}
    theta = cold_start(p, UNITS, 0, UNITS * (p + 3) + 2)
    peer = minimize(objective_and_gradient, theta, (x, y, penalty), "L-BFGS-B", jac=True, options=options)
    end = time.perf_counter()
    return {"parents": p, "fisher_s": middle - start, "lbfgs_s": end - middle, "excess": peer.fun - fit.objective}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--problems", type=int, default=20)
    args = parser.parse_args()
    cases = list(problems(args.problems))
    compare(*cases[0])  # compile before the clock runs
    found = [compare(*case) for case in cases]
    machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    args.results.write_text(json.dumps({"machine": machine, "fits": found}, indent=1))
    fisher, lbfgs, excess = (np.array([case[name] for case in found]) for name in ("fisher_s", "lbfgs_s", "excess"))
    print(f"median ms a fit: Fisher scoring {1e3 * np.median(fisher):.1f}, L-BFGS-B {1e3 * np.median(lbfgs):.1f}")
    print(f"median ratio of seconds: {np.median(lbfgs / fisher):.1f}")
    quantiles = np.quantile(excess, [0, 0.25, 0.5, 0.75, 1])
    print("F(L-BFGS-B) - F(Fisher scoring), nats: " + " / ".join(f"{q:.1f}" for q in quantiles) + " (quartiles)")


if __name__ == "__main__":
    main()
