"""Small tables and networks that several tests share."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr
from dataclasses import fields
from functools import cache
from itertools import combinations
from pathlib import Path
from textwrap import dedent

import naive
import numpy as np
import pytest
from support.article import Limits, Problem, draw_initial_weights, fit_problem
from support.families import (
    NONE,
    Families,
    FamilyModels,
    FamilyScore,
    GaussianResponse,
    ScoreSettings,
    _kernels,
    fit_node,
    forward,
)

from icdh import cli
from icdh.knowledge import EdgeRules, Knowledge
from icdh.network import ACTIVATIONS, SIGMOID, Weights

# The checks of scikit-learn's check_estimator that fail: they ask for its words, where ours name the remedy.
OWN_WORDS = {
    "check_complex_data",  # a TypeError, "pass real numbers"
    "check_estimators_empty_data_messages",  # "pass at least one variable", "at least 2 observations are needed"
    "check_fit2d_1sample",  # the same
    "check_fit2d_predict1d",  # "reshape a single variable with"
    "check_sample_weight_equivalence_on_dense_data",  # weights="frequency" repeats rows, and no check passes it
}


ROOT = Path(__file__).parent.parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
ENVIRONMENT["PYTHONPATH"] = str(ROOT)


of_both_activations = pytest.mark.parametrize("activation", ACTIVATIONS.values(), ids=lambda own: own.name)


def cases(header, *rows, **options):
    """Parametrise a test by the rows of a table; the header names what stands in its columns."""
    return pytest.mark.parametrize(header, rows, **options)


def free(n):
    """Return the rules among n variables of which nothing is known."""
    return EdgeRules.of(np.eye(n, dtype=bool))


def without_progress(error):
    """What a command wrote to its error stream, but for the lines by which a slow machine says that it is at work."""
    lines = r"^icdh: (at work|reading .*) for \d+ s(, .*|; now: .*)?\n"
    if isinstance(error, bytes):
        return re.sub(lines.encode(), b"", error, flags=re.MULTILINE)
    return re.sub(lines, "", error, flags=re.MULTILINE)


def assert_prints(text, printed):
    """Run the commands of an example and compare what they print: words and edges to the letter, numbers to one."""
    lines, number = dedent(text).splitlines(), r"-?\d+\.\d+"
    shown = [line for line in lines if not line.startswith("$ ")]
    found = "".join(printed(*shlex.split(line)[2:]) for line in lines if line.startswith("$ ")).splitlines()
    words, other = ([re.sub(r" +", " ", re.sub(number, "#", line)) for line in own] for own in (found, shown))
    assert words == other
    np.testing.assert_allclose(*([*map(float, re.findall(number, "\n".join(own)))] for own in (found, shown)), atol=1)


class Unhurried:
    """A stream without these lines."""

    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        return self.stream.write(without_progress(text))


def command(*words):
    """Run the command line in this process, and return its exit code; its error stream is without progress."""
    try:
        with redirect_stderr(Unhurried(sys.stderr)):
            return cli.main(list(map(str, words)))
    except SystemExit as end:
        return end.code


def process(*words, **options):
    """Run the command line in another process, likewise."""
    line = [sys.executable, "-m", "icdh", *map(str, words)]
    result = subprocess.run(line, **{"capture_output": True, "env": ENVIRONMENT, "check": False} | options)
    result.stderr = result.stderr and without_progress(result.stderr)
    return result


def python(folder, *command):
    """Run Python in another process that keeps what it compiles in ``folder``."""
    environment = {**os.environ, "PYTHONPATH": ENVIRONMENT["PYTHONPATH"], "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, cwd=ROOT, check=True
    )


IMPATIENT = """
import sys
from icdh import cli
from icdh._utils import jit as _jit
_jit.watch.patience = 0.01
sys.exit(cli.main(sys.argv[1:]))
"""


EVERY_KERNEL = """
import sys
sys.path.insert(0, "tests")
from support.kernels import call_every_kernel
from support.shell import notes_of_the_library
from support.utils import watch
watch.patience = 0.01
with notes_of_the_library(quiet=False):
    call_every_kernel()
"""


def warmed_up(folder):
    """Let every kernel be compiled into an empty folder, unless it was for these tests; return it and what was said."""
    folder = Path(os.environ.get("ICDH_WARMED_UP", folder))
    said = folder / "said.txt"
    if not said.exists():
        said.write_text(python(folder, "-c", EVERY_KERNEL).stderr, encoding="utf-8")
    return folder, said.read_text(encoding="utf-8")


def random_weights(rng, n=4, m1=3, bias=True, activation=SIGMOID):
    w1 = rng.normal(size=(n, m1, n))
    w1[np.arange(n), :, np.arange(n)] = 0.0
    return Weights(
        w1,
        w2=rng.normal(size=(n, m1)),
        w3=rng.normal(size=(n, m1)),
        w3_bias=rng.normal(size=n) * 0.3,
        hidden_bias=rng.normal(size=(n, m1)) if bias else None,
        output_bias=rng.normal(size=n) if bias else None,
        activation=activation,
    )


def hetero_chain(rng, m=300):
    """x0 -> x1 -> x2 with spread that depends on the cause."""
    x0 = rng.normal(size=m) * 2
    x1 = 2 * np.tanh(x0) + (0.3 + 0.6 * (x0 > 0)) * rng.normal(size=m)
    x2 = 1.5 * np.sin(x1) + (0.2 + 0.3 * np.abs(x1)) * rng.normal(size=m)
    return np.column_stack([x0, x1, x2])


def linear_chain(rng, m, b_set=False, shift=0.0):
    """a -> b -> c, linear with Gaussian noise: without interventions no direction can be told."""
    a = rng.normal(size=m)
    b = 2.0 * rng.normal(size=m) if b_set else 1.2 * a + 0.6 * rng.normal(size=m) + shift
    return np.column_stack([a, b, 1.2 * b + 0.6 * rng.normal(size=m)])


def standardised(*columns):
    """Columns of mean zero and standard deviation one, one a row."""
    values = np.array(columns, dtype=float)
    return (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)


def to_grid(x, levels):
    """A column rounded to so many levels."""
    low, high = np.quantile(x, (0.01, 0.99))
    return np.clip(np.round((x - low) / (high - low) * (levels - 1)), 0, levels - 1)


def replayed(moves, n):
    """The graph of n nodes that moves lead to from the empty one."""
    parents = [set() for _ in range(n)]
    for kind, cause, effect, *_ in moves:
        if kind == "insert":
            parents[effect].add(cause)
        elif kind == "detach":
            parents[effect].clear()
        else:
            parents[effect].remove(cause)
            if kind == "reverse":
                parents[cause].add(effect)
    return tuple(tuple(sorted(own)) for own in parents)


def parents_of(model):
    """The parents of all variables of a fitted model, as `replayed` gives them."""
    return tuple(tuple(np.flatnonzero(causes).tolist()) for causes in np.asarray(model.adjacency_matrix_).T)


def random_dag(rng, n, density):
    """A binary DAG whose possible edges appear with the given probability, in a random order of the variables."""
    order = rng.permutation(n)
    return np.triu(rng.random((n, n)) < density, k=1).astype(np.int8)[np.ix_(order, order)]


def weighted_pairs(count, seed=0):
    """Random pairs of weights, with ties and zeros, and a DAG that has edges."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        n = 2 + number % 11
        truth = random_dag(rng, n, rng.uniform(0.2, 1))
        truth[0, 1] = truth[0, 1] or not truth.any()
        weights = np.round(rng.normal(size=(n, n)) + truth, int(rng.integers(1, 4))) * (rng.random((n, n)) < 0.7)
        np.fill_diagonal(weights, 0)
        yield weights, truth


def families_of(causes, responses=None, widths=None, edge_penalty=2.0, prior_precision=3.0, random_state=0, rows=None):
    """The families of variables, by default numbers with exact values."""
    responses = [GaussianResponse.exact(x, None) for x in causes] if responses is None else responses
    N = len(responses)
    widths = np.ones(N, dtype=int) if widths is None else widths
    penalties = np.broadcast_to(np.asarray(edge_penalty, dtype=float), (N, N))
    return Families(causes, responses, widths, penalties, prior_precision, random_state, rows, None)


def models_of(causes, responses=None, **options):
    """The models of families, as of `families_of`."""
    return FamilyModels(families_of(causes, responses, **options))


def family_evidence(causes, responses=None, *, clock=None, **options):
    """The evidence of families, by default Gaussian, from one start, in one thread."""
    settings = {"hidden_units": 5, "noise": "gaussian", "n_restarts": 1, "n_jobs": 1}
    settings |= {name: options.pop(name) for name in (*settings, "most_units") if name in options}
    settings.setdefault("most_units", settings["hidden_units"])
    return FamilyScore(families_of(causes, responses, **options), ScoreSettings(**settings), clock)


def scores_of_columns(columns, **options):
    """The evidence of families of columns of any kind."""
    return family_evidence(columns.causes, columns.responses, widths=columns.widths, **options)


def problem_of(values, forbidden=None, required=None, **options):
    """What two phases fit to variables, one a row; by default every edge may appear."""
    rules = EdgeRules.of(np.eye(len(values), dtype=bool) if forbidden is None else forbidden, required)
    return Problem(
        np.ascontiguousarray(values), rules, **{"l1": 0.01, "l2": 0.01, "rows": None, "weights": None} | options
    )


def recorded(monkeypatch, owner, name):
    """Let a function do what it did, and return a list of what it is called with from now on: (arguments, options)."""
    honest, calls = getattr(owner, name), []
    monkeypatch.setattr(owner, name, lambda *given, **named: calls.append((given, named)) or honest(*given, **named))
    return calls


def all_families(n):
    """Every node of n with every set of parents."""
    for node in range(n):
        for size in range(n):
            yield from ((node, own) for own in combinations([k for k in range(n) if k != node], size))


@cache
def all_graphs(n):
    """Every acyclic graph of n nodes, as the parents of each."""
    return [tuple(tuple(np.flatnonzero(causes).tolist()) for causes in graph.T) for graph in naive.all_dags(n)]


@cache
def equivalence_class(graph):
    """The joined pairs and the colliders: graphs are equivalent if they share them (Verma and Pearl)."""
    pairs = {frozenset((i, j)) for j, parents in enumerate(graph) for i in parents}
    apart = {(both, j) for j, own in enumerate(graph) for both in combinations(own, 2) if frozenset(both) not in pairs}
    return frozenset(pairs), frozenset(apart)


def sums_of_equivalent_graphs(score):
    """The sums of score(node, parents) over the graphs of three nodes: each class has one, which is returned."""
    sums = {}
    for graph in all_graphs(3):
        sums.setdefault(equivalence_class(graph), []).append(sum(score(*family) for family in enumerate(graph)))
    assert len(sums) == 11
    for own in sums.values():
        assert own == pytest.approx([own[0]] * len(own), rel=1e-10)
    return [own[0] for own in sums.values()]


def forbidding(mask):
    """Knowledge that the edges i -> j of a mask are not there."""
    return Knowledge(forbidden=np.argwhere(mask & ~np.eye(len(mask), dtype=bool)).tolist())


def fit_two_phase(values, forbidden_edges=None, required_edges=None, *, hidden_units=10, initial=None, **options):
    """The two phases of ICDH on variables in rows, without its order of columns and its last stage."""
    limits = Limits(**{part.name: options.pop(part.name) for part in fields(Limits) if part.name in options})
    schedule, callback = options.pop("schedule", "fast"), options.pop("callback", None)
    rng = np.random.default_rng(options.pop("random_state", None))
    problem = problem_of(values, forbidden_edges, required_edges, **options)
    if initial is None:
        initial = draw_initial_weights(problem, hidden_units, rng)
    return fit_problem(problem, schedule, limits, initial, callback)


def assert_agrees_with_shares(response, probabilities, x, theta, penalty, units, y=None, tolerance=1e-9):
    """F, gradient and Fisher matrix of a response are those of slow probabilities, P(codes | row, theta) for each row.

    ``y`` holds the values of a density beside them, where the code is zero.
    """
    value, gradient, fisher = response.objective(x, units).quadratic_model(theta, penalty)
    free, none, x = len(gradient), np.zeros(theta.size), x.T
    outcomes = response.codes if y is None else response.masses
    dense = np.zeros(len(x), dtype=bool) if y is None else outcomes == 0
    density = x[dense], np.zeros(0) if y is None else y[dense]

    def objective(t):
        of_density = naive.node_objective(*density, t, none, units)
        return naive.objective_of_shares(probabilities, x, outcomes, t, penalty) + of_density

    assert value == pytest.approx(objective(theta))
    exact = naive.complex_step_gradient(objective, theta)[:free]
    np.testing.assert_allclose(gradient, exact, rtol=tolerance, atol=tolerance)
    exact = naive.fisher_of_shares(probabilities, x, theta, penalty) + naive.node_fisher(density[0], theta, none, units)
    np.testing.assert_allclose(fisher, np.triu(exact[:free, :free]), rtol=10 * tolerance, atol=tolerance)


def node_system(x, y, spread, theta, penalty, units):
    """F, gradient and Fisher matrix of a node from the kernels; causes one a row."""
    outputs = forward(theta, x, units)
    gradient, fisher = np.empty(theta.size), np.empty((theta.size, theta.size))
    _kernels.node_system((x, y, spread, NONE), theta, penalty, outputs, gradient, fisher)
    value = _kernels.node_objective(y, spread, NONE, theta, penalty, *outputs[1:])
    return value, gradient, np.triu(fisher) + np.triu(fisher, 1).T


def evidence_gain(x, response):
    """What the causes, one a row, gain in nats of evidence."""
    return fit_node(x[:0], response).evidence - fit_node(x, response).evidence
