"""One evaluation of the Phase II objective and its gradient, beside torch autograd and the least that it can cost.

    python benchmarks/evaluation.py benchmarks/results/evaluation.json [--variables 5 10 20 50 100]

1000 observations, 10 hidden units, every edge allowed, one thread. Ours also solves for W2. The floor is the two matrix
products of the hidden layer and one vectorised exponential over it. Torch, where it is installed, evaluates the same
objective at the same W1 and W2, and its value and derivative by W1 are checked to be the same. Prints CPU time and
ratios: medians and ranges over rounds in which the three take turns.
"""

import argparse
from pathlib import Path

import numpy as np
from harness import Results, interleaved, summary

from icdh._utils.parallel import single_blas_thread
from icdh.knowledge import EdgeRules
from icdh.network import initial_weights
from icdh.two_phase.objective import NetworkObjective, Problem

OBSERVATIONS, UNITS, PENALTY = 1000, 10, 0.01


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--variables", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    arguments = parser.parse_args()
    results = Results(arguments.results, ("variables",))
    headings = ("ours ms", "floor ms", "torch ms", "ours/floor", "torch/ours")
    print("  N  " + " ".join(f"{heading:23s}" for heading in headings))
    with single_blas_thread():
        for variables in arguments.variables:
            seconds = measure(variables)
            results.add({"variables": variables, **{name: values.tolist() for name, values in seconds.items()}})
            print_row(variables, seconds)


def measure(variables):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(OBSERVATIONS, variables))
    weights = initial_weights(X, UNITS, False, rng)
    rules = EdgeRules.of(np.eye(variables, dtype=bool))
    problem = NetworkObjective.of(
        Problem(np.ascontiguousarray(X.T), rules, PENALTY, PENALTY, rows=None, weights=None), np.ones(X.T.shape)
    )
    w = problem.input_weights(weights)
    functions = {"ours": lambda: problem.smooth(w), "floor": floor(X, rng)}
    torch_loss = torch_function(X, problem.solution(w, weights)[1])
    if torch_loss is not None:
        check_same(problem, problem.smooth(w), torch_loss())
        functions["torch"] = torch_loss
    return interleaved(functions)


def floor(X, rng):
    """Return a function that computes both products of the hidden layer and its exponentials, into the same memory."""
    w = rng.normal(size=(X.shape[1], UNITS * X.shape[1]))
    z, product = np.empty((X.shape[0], w.shape[1])), np.empty(w.shape)

    def compute():
        np.dot(X, w, out=z)
        np.exp(z, out=z)
        np.dot(X.T, z, out=product)

    return compute


def torch_function(X, weights):
    """Return a function that gives the value and its derivative by W1, (N, m1, N), by autograd; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    variables, units = weights.w2.shape
    x = torch.from_numpy(X)
    w1 = torch.tensor(weights.w1.reshape(-1, variables), requires_grad=True)
    w2 = torch.tensor(weights.w2, requires_grad=True)

    def value_and_gradient():
        w1.grad = w2.grad = None
        hidden = torch.sigmoid(x @ w1.T).view(-1, variables, units)
        residual = x - (hidden * w2).sum(dim=2)
        value = 0.5 / x.shape[0] * (residual**2).sum() + 0.5 * PENALTY * ((w1**2).sum() + (w2**2).sum())
        value.backward()
        return value.item(), w1.grad.numpy().reshape(variables, units, variables)

    return value_and_gradient


def check_same(problem, ours, theirs):
    by_w1 = theirs[1][problem.effects, :, problem.causes]
    if not (np.isclose(ours[0], theirs[0], rtol=1e-10) and np.allclose(ours[1], by_w1, rtol=1e-6, atol=1e-10)):
        raise RuntimeError("icdh and torch evaluate different objectives")


def print_row(variables, seconds):
    ours = seconds["ours"]
    columns = [summary(1e3 * seconds[name], 3) if name in seconds else "-" for name in ("ours", "floor", "torch")]
    columns.append(summary(ours / seconds["floor"]))
    columns.append(summary(seconds["torch"] / ours, 1) if "torch" in seconds else "-")
    print(f"{variables:3d}  " + " ".join(f"{column:23s}" for column in columns), flush=True)


if __name__ == "__main__":
    main()
