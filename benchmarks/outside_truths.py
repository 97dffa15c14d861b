"""Tables whose graph others published, or that are hard: CSuite, NetSim, causalAssembly, few rows, dense graphs ...

    python -m benchmarks outside_truths results.json [--sets csuite mixed few dense linear curved chambers] [--tables 5]
        [--methods HNMSearch ...] [--limit 120]
    python -m benchmarks outside_truths results.json --sets netsim collected --folder CLONES

"csuite" and "mixed" are drawn by the published equations of CSuite (Geffner et al., "Deep End-to-end Causal
Inference", 2022; https://github.com/microsoft/csuite), 4000 rows as there; columns of labels are told to HNMSearch and
to hill climbing, and are codes for others. "few" is a grid of 50 to 500 rows, 5 to 20 variables and four kinds of
effects, "dense" has four edges a variable among 50 and 100. "linear" has graphs with two and four edges a variable,
scale-free ones, and hubs that are effects or causes, in units that grow, with 20, 50 and 100 variables, 300 and 1000
rows, Gaussian and Laplace noise. "curved" passes noise through a curve and adds more, or has causes that act only
together, or heavy tails in one column of six, or draws as others do: AVICI on scale-free graphs (Lorch et al.,
"Amortized inference for causal structure learning", 2022) a linear mean or one by random Fourier features, with a
spread by such features or Laplace noise; HOST (Duong and Nguyen, "Heteroscedastic causal structure learning", 2023)
both natural parameters of a Gaussian. "chambers" has a tunnel of light and one of wind by laws of physics, after Causal
Chambers (Gamella, Peters, Bühlmann, Nature Machine Intelligence 2025). "netsim" and "collected" read clones in the
folder:

- NetSim, https://github.com/M-Nauta/TCDF: simulated fMRI series (Smith et al., NeuroImage 2011), the first subject of
  each simulation of at most 15 nodes; an entry [i, j] of a published network is read as i -> j.
- https://github.com/boschresearch/causalAssembly: a production line and its five stations (Göbler et al., CLeaR 2024),
  500 semi-synthetic rows.
- https://github.com/GoudetOlivier/CGNN: its example of a graph.
- https://github.com/ckassaad/Case_Studies_of_Causal_Discovery_from_IT_Monitoring_Time_Series: metrics of computers,
  rows in sequence without gaps, the first 2000 (Aït-Bachir et al., 2023).

Every table is standardised and its columns are permuted. Rivals are those of `paper_reproduction`, at the threshold of
its tables, causal-learn's PC and BOSS, and for mixed tables pgmpy's hill climbing by a conditional Gaussian BIC. A fit
that needs more CPU seconds than the limit is kept as a failure. Fits in the file are not run again. Prints mean SHD, in
which an edge without a direction counts as right; of "linear" errors between classes where noise is Gaussian, and SHD
in which such an edge counts as wrong where it is Laplace.
"""

import argparse
import contextlib
import csv
import io
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import standard_networks
from harness import Results, cpu_limit
from wide_tables import cpdag

from icdh import HNMSearch, graphs, metrics, simulate
from icdh.search.climb import DOUBTFUL
from icdh.uncertainty import direction_loss
from paper_reproduction.jobs import seed_of
from paper_reproduction.judging import THRESHOLD
from paper_reproduction.methods import estimate
from paper_reproduction.methods._causal_learn import adjacency

CSUITE_ROWS = 4000
FIRST_SEED = 110_000
FEW_ROWS, FEW_VARIABLES = (50, 100, 200, 500), (5, 10, 20)
EFFECTS = {  # mechanism and noise of icdh.simulate
    "linear, Gaussian": {"mechanism": "linear", "noise": "homo-nv"},
    "linear, Laplace": {"mechanism": "linear", "noise": "homo-nv", "distribution": "laplace"},
    "Gaussian process": {"mechanism": "gp", "noise": "homo-nv"},
    "heteroscedastic": {"mechanism": "mlp", "noise": "softplus-shared"},
}
NETSIM_NODES = 15
MONITORING_ROWS = 2000
KEPT = ("shd", "shd_favourable", "extra", "missing", "reversed")


class Table(NamedTuple):
    """A table and its truth.

    Attributes
    ----------
    group, part, name : str
        The row of the printed table, a part of its cells, and the table itself.
    X : ndarray, shape (M, N)
        Observations.
    truth : ndarray, shape (N, N)
        The true graph.
    labels : list of int
        Columns whose numbers are labels.
    """

    group: str
    part: str
    name: str
    X: np.ndarray
    truth: np.ndarray
    labels: list


def softplus(x):
    """Return log(1 + exp(x))."""
    return np.logaddexp(0.0, x)


def rising(cause, noise):
    """Return CSuite's soft truncation of a cause and a noise."""
    return softplus(cause + 1.0) + softplus(noise + 0.5) - 3.0


def falling(cause, noise):
    """Return the same with the sign of the cause reversed."""
    return softplus(1.5 - cause) + softplus(noise + 0.5) - 3.0


def nonlin_simpson(n, rng):
    """Return columns and edges."""
    x0 = rng.normal(size=n)
    x1 = softplus(1.0 - x0) - 1.5 + 0.15 * rng.normal(size=n)
    x2 = np.tanh(2.0 * x1) + 1.5 * x0 - 1.0 + np.tanh(rng.normal(size=n))
    x3 = 5.0 * np.tanh((x2 - 4.0) / 5.0) + 3.0 + rng.laplace(scale=0.1, size=n)
    return [x0, x1, x2, x3], [(0, 1), (0, 2), (1, 2), (2, 3)]


def symprod_simpson(n, rng):
    """Return columns and edges."""
    x0 = rng.normal(size=n)
    x1 = 2.0 * np.tanh(2.0 * x0) + 0.1 * rng.standard_t(3, size=n)
    x2 = 0.5 * x0 * x1 + rng.laplace(scale=0.5, size=n)
    x3 = np.tanh(1.5 * x0) + 0.3 * rng.normal(size=n)
    return [x0, x1, x2, x3], [(0, 1), (1, 2), (0, 2), (0, 3)]


PYRAMID = [(0, 1), *((k, k + 2) for k in range(6))]


def last_but_one(cause, rng, two_valued=None):
    """Return the cause of x8 given its own: a number, or two values by a divisor, the spread of noise and a limit."""
    noise = rng.normal(size=cause.size)
    if two_valued is None:
        return 1.5 * softplus(cause + 1.0) - 1.0 + 0.3 * noise
    divisor, spread, limit = two_valued
    return np.exp(softplus(cause + 1.0) / divisor - 1.0 + spread * noise) > limit


def large_backdoor(n, rng, binary=False):
    """Return columns and edges of a pyramid whose two legs meet in x8."""
    noise = rng.normal(size=(7, n))
    x = [softplus(1.8 * noise[0]) - 1.0]
    x.append(1.5 * rising(x[0], 0.0) + 0.25 * noise[1])
    x += [rising(x[0], noise[2])]
    for k in range(3, 7):
        x.append(rising(x[k - 2], noise[k]))
    x.append(last_but_one(x[5], rng, (1.5, 0.15, 0.5) if binary else None))
    x.append(2.0 - softplus((x[7] - 1.3 * x[6]) / 3.0 + 1.0) + rng.laplace(scale=0.6, size=n))
    return x, [*PYRAMID, (6, 8), (7, 8)]


def weak_arrows(n, rng, binary=False):
    """Return columns and edges of a pyramid all of whose variables act on x8."""
    noise = rng.normal(size=(7, n))
    x = [softplus(1.8 * noise[0]) - 1.0]
    x.append(0.75 * rising(x[0], 0.0) + 0.75 * noise[1])
    x += [falling(x[0], noise[2]), falling(x[1], noise[3])]
    for k in range(4, 7):
        x.append(rising(x[k - 2], noise[k]))
    x.append(last_but_one(x[5], rng, (2.0, 0.12, 0.6) if binary else None))
    mean = softplus(0.1 * np.sum(x[:6], axis=0) + 0.5 * x[6] + 0.7 * x[7] + 1.0) - 2.0
    x.append(mean + rng.laplace(scale=0.5, size=n))
    return x, [*PYRAMID, *((k, 8) for k in range(8))]


def mixed_simpson(n, rng):
    """Return columns and edges; x2 has labels, x0 two values."""
    x2 = rng.integers(6, size=n)
    x0 = rng.random(n) < np.where(x2 < 3, 11.0, 1.0) / 12.0
    x1 = 0.7 * (x0 - 0.5) + 0.7 * (x2 - 2.5) + softplus(0.5 * rng.normal(size=n)) - 0.7
    x3 = 10.0 / 3.0 * np.tanh(x1 / 3.0) + 0.1 * (rng.exponential(size=n) - 1.0)
    return [x0, x1, x2, x3], [(2, 0), (2, 1), (0, 1), (1, 3)]


def mixed_confounding(n, rng):
    """Return columns and edges: a cause x0 of two values, its effect x1, and what is around them."""
    x2, x5, x7 = rng.integers(3, size=(3, n))
    x4 = rng.integers(2, size=n)
    x3, x6, x8 = rng.normal(size=(3, n))
    x0 = rng.random(n) < 0.5 + np.tanh(x2 - 1.0 + x3 + x4 - 0.5 + x5 - 1.0 + x6) / 2.0
    x1 = np.tanh(3.0 * x0 - 1.5 - x2 + 1.0 - x3 - x4 + 0.5 + x7 - 1.0 + x8) - 0.12 + 0.6 * rng.normal(size=n)
    noise = softplus(rng.normal(size=(3, n)))
    after = [x0 + 1.9 * noise[0] - 2.4, 0.8 * x1**2 + noise[1] - 1.6, x0 - 1.5 * softplus(x1) + noise[2] - 0.4]
    edges = [(0, 1), *((k, j) for k in (2, 3, 4) for j in (0, 1)), (5, 0), (6, 0), (7, 1), (8, 1)]
    return [x0, x1, x2, x3, x4, x5, x6, x7, x8, *after], [*edges, (0, 9), (1, 10), (0, 11), (1, 11)]


CSUITE: dict[str, Callable] = {
    "nonlin_simpson": nonlin_simpson,
    "symprod_simpson": symprod_simpson,
    "large_backdoor": large_backdoor,
    "weak_arrows": weak_arrows,
}
MIXED: dict[str, Callable] = {
    "mixed_simpson": mixed_simpson,
    "mixed_confounding": mixed_confounding,
    "large_backdoor_binary_t": lambda n, rng: large_backdoor(n, rng, binary=True),
    "weak_arrows_binary_t": lambda n, rng: weak_arrows(n, rng, binary=True),
}


def by_equations(equations: dict[str, Callable], count: int) -> Iterator[Table]:
    """Yield tables drawn by functions that return columns and edges."""
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        for name, draw in equations.items():
            columns, edges = draw(CSUITE_ROWS, np.random.default_rng([seed, 47]))
            truth = np.zeros((len(columns),) * 2)
            truth[tuple(np.transpose(edges))] = 1.0
            labels = [k for k, column in enumerate(columns) if np.asarray(column).dtype.kind in "bi"]
            yield Table(name, "", f"{name} {seed}", np.column_stack(columns).astype(float), truth, labels)


def simulated(kind: str, part: str, variables: int, degree: int, rows: int, seed: int) -> Table:
    """Return a table of `icdh.simulate`."""
    graph = simulate.erdos_renyi(variables, degree, random_state=seed)
    data = simulate.simulate_sem(graph, rows, **EFFECTS[kind], random_state=seed)
    return Table(kind, part, f"{kind}, {part} {variables} {seed}", data.X, data.adjacency, [])


def few(count: int, folder: Path | None) -> Iterator[Table]:
    """Yield tables of few rows: one edge a variable among five, two among more."""
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        for kind in EFFECTS:
            for rows in FEW_ROWS:
                for variables in FEW_VARIABLES:
                    yield simulated(kind, f"{rows} rows", variables, 1 + (variables > 5), rows, seed)


def dense(count: int, folder: Path | None) -> Iterator[Table]:
    """Yield tables of four edges a variable and 1000 rows."""
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        for variables in (50, 100):
            for kind in EFFECTS:
                yield simulated(kind, f"{variables} variables", variables, 4, 1000, seed)


CURVES: dict[str, Callable] = {
    "tanh": np.tanh,
    "arctan": lambda x: np.arctan(1.5 * x),
    "sigmoid": lambda x: 3.0 / (1.0 + np.exp(-1.5 * x)),
    "softplus": lambda x: softplus(1.5 * x),
}
TOGETHER: dict[str, Callable] = {
    "exclusive or": lambda a, b: np.sign(a) * np.sign(b),
    "difference of angles": lambda a, b: np.cos(2.0 * (a - b)),
    "grades": lambda a, b: np.clip(np.round(1.2 * a), -2, 2) * np.clip(np.round(1.2 * b), -2, 2),
}


class Linear(NamedTuple):
    """A kind of linear tables: its graph of N variables, sizes of weights, deviations of noise, and units that grow."""

    graph: Callable
    weights: tuple[float, float]
    deviations: tuple[float, float]
    grows: bool


def in_random_order(variables: int, seed: int) -> np.ndarray:
    """Return a scale-free graph whose edges follow a random order, so that hubs have causes and effects."""
    joined = simulate.scale_free(variables, 2, random_state=seed)
    place = np.random.default_rng(seed).permutation(variables)
    return (joined | joined.T) * (place[:, np.newaxis] < place)


ONE_SCALE: dict[str, Any] = {"weights": (0.5, 2.0), "deviations": (0.5, 1.5), "grows": False}
GROWING: dict[str, Any] = {"weights": (1.0, 3.0), "deviations": (0.2, 1.0), "grows": True}
LINEAR = {
    "ER2": Linear(lambda variables, seed: simulate.erdos_renyi(variables, 2, random_state=seed), **ONE_SCALE),
    "ER4": Linear(lambda variables, seed: simulate.erdos_renyi(variables, 4, random_state=seed), **ONE_SCALE),
    "scale-free": Linear(in_random_order, **ONE_SCALE),
    "hubs as effects": Linear(lambda variables, seed: simulate.scale_free(variables, 2, random_state=seed), **GROWING),
    "hubs as causes": Linear(lambda variables, seed: simulate.scale_free(variables, 2, random_state=seed).T, **GROWING),
}


def linear_table(kind: str, noise: str, variables: int, rows: int, seed: int) -> Table:
    """Return a linear table."""
    how, rng = LINEAR[kind], np.random.default_rng([seed, variables, rows, len(kind), len(noise)])
    graph, X = np.asarray(how.graph(variables, seed)) != 0, np.zeros((rows, variables))
    for node in graphs.causal_order(graph):
        p = np.count_nonzero(graph[:, node])
        mean = X[:, graph[:, node]] @ (rng.uniform(*how.weights, p) * rng.choice([-1.0, 1.0], p))
        drawn = rng.laplace(size=rows) / np.sqrt(2.0) if noise == "Laplace" else rng.normal(size=rows)
        X[:, node] = mean + rng.uniform(*how.deviations) * drawn
        X[:, node] /= 1.0 if how.grows else X[:, node].std()
    group, part = f"{kind}, {noise}, {rows} rows", f"{variables} variables"
    return Table(group, part, f"{group}, {part} {seed}", X, graph.astype(float), [])


def linear(count: int, folder: Path | None) -> Iterator[Table]:
    """Yield linear tables."""
    for variables in (20, 50, 100):
        for seed in range(FIRST_SEED, FIRST_SEED + count):
            for kind in LINEAR:
                for noise in ("Gaussian", "Laplace"):
                    for rows in (300, 1000):
                        yield linear_table(kind, noise, variables, rows, seed)


def through_a_curve(curve: Callable, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an effect of parents, shape (n, p): noise inside and outside of a curve."""
    n, p = parents.shape
    weights = rng.uniform(0.35, 1.15, p) * np.where(rng.random(p) < 0.35, -1.0, 1.0)
    inside = rng.normal(size=n) + parents @ weights
    return curve(inside / (1.0 + 0.2 * p)) + 0.35 * rng.normal(size=n) if p else inside


def of_two_together(act: Callable, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an effect of parents, shape (n, p): the first two act only together."""
    n, p = parents.shape
    mean = act(parents[:, 0], parents[:, 1]) if p > 1 else np.tanh(parents).sum(axis=1)
    return mean + np.tanh(parents[:, 2:]).sum(axis=1) + (0.5 if p else 1.0) * rng.normal(size=n)


def of_tails(curve: Callable, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an effect of parents, shape (n, p): one in six has noise of Student's t with three degrees of freedom."""
    n, p = parents.shape
    noise = rng.standard_t(3, size=n) if rng.random() < 1 / 6 else rng.normal(size=n)
    mean = curve(parents) @ (rng.uniform(0.5, 1.5, p) * rng.choice([-1.0, 1.0], p))
    return mean + noise * (0.5 + 0.5 * np.abs(np.tanh(parents[:, 0])) if curve is np.tanh and p else 1.0)


def random_features(parents: np.ndarray, length: float, rng: np.random.Generator) -> np.ndarray:
    """Return a draw of a smooth random function of parents, shape (n, p), by Fourier features of a length scale."""
    frequencies = rng.normal(size=(parents.shape[1], 100)) / length
    waves = np.cos(parents @ frequencies + rng.uniform(0.0, 2.0 * np.pi, 100))
    return waves @ rng.normal(size=100) * np.sqrt(2.0 / 100)


def of_avici(curve: bool, laplace: bool, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an effect of parents, shape (n, p): a linear mean or a curve, and Laplace noise or a spread."""
    n, p = parents.shape
    mean = parents @ (rng.uniform(1.0, 3.0, p) * rng.choice([-1.0, 1.0], p))
    if curve and p:
        mean = rng.uniform(10.0, 20.0) * random_features(parents, rng.uniform(7.0, 10.0), rng)
    if laplace:
        return mean + rng.uniform(0.2, 2.0) * rng.laplace(size=n)
    variance = softplus(2.0 * random_features(parents, 8.0, rng)) if p else 1.0
    return mean + 0.6 * np.sqrt(variance) * rng.normal(size=n)


def standardised(x: np.ndarray) -> np.ndarray:
    """Return every column of x, shape (n, p), with mean zero and variance one."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def straight(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a line for every column of x, shape (n, p)."""
    slope, intercept = rng.uniform(0.2, 0.5, 2) * rng.choice([-1.0, 1.0], 2)
    return slope * standardised(x) + intercept


NATURAL: tuple[Callable, ...] = (
    straight,
    lambda x, rng: np.sin(2.0 * np.pi * x),
    lambda x, rng: standardised(x) ** 2,
    lambda x, rng: 1.0 / (1.0 + np.exp(-x)),
    lambda x, rng: np.log1p(standardised(x) - standardised(x).min()),
)


def of_natural_parameters(parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an effect of parents, shape (n, p): precision and precision times mean are sums over the causes."""
    n, p = parents.shape
    sums = [NATURAL[rng.integers(len(NATURAL))](parents, rng).sum(axis=1) if p else np.zeros(n) for _ in range(2)]
    log_precision, tilt = (8.0 * (x - x.min()) / np.ptp(x) - 4.0 if p else x for x in sums)
    precision = 2.0 * np.exp(log_precision)
    return tilt / precision + rng.normal(size=n) / np.sqrt(precision)


def curved(count: int, folder: Path | None) -> Iterator[Table]:
    """Yield tables of 1000 rows: ten variables, twenty on scale-free graphs."""
    kinds = [(f"noise in {name}", partial(through_a_curve, curve)) for name, curve in CURVES.items()]
    kinds += [(f"together: {name}", partial(of_two_together, act)) for name, act in TOGETHER.items()]
    kinds += [("natural parameters", of_natural_parameters)]
    kinds += [
        ("tails of few, lines", partial(of_tails, np.positive)),
        ("tails of few, curves", partial(of_tails, np.tanh)),
    ]
    of_avici_alone = {
        "linear mean, spread": partial(of_avici, False, False),
        "linear mean, Laplace": partial(of_avici, False, True),
        "features, spread": partial(of_avici, True, False),
        "features, Laplace": partial(of_avici, True, True),
    }
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        for kind, effect in [*kinds, *of_avici_alone.items()]:
            rng = np.random.default_rng([seed, len(kind), ord(kind[-1])])
            if kind in of_avici_alone:
                graph = np.asarray(simulate.scale_free(20, 2, random_state=seed)) != 0
            else:
                graph = np.asarray(simulate.erdos_renyi(10, 1 + seed % 2, random_state=seed)) != 0
            X = np.zeros((1000, len(graph)))
            for node in graphs.causal_order(graph):
                X[:, node] = effect(X[:, graph[:, node]], rng)
            yield Table(kind, "", f"{kind} {seed}", X, graph.astype(float), [])


def tunnel_of_light(n: int, rng: np.random.Generator) -> tuple[list, list]:
    """Return columns and edges: lamps of three colours, two polarisers and three sensors of two wavelengths."""
    colours, lamps = rng.uniform(0.0, 255.0, (3, n)), rng.uniform(0.0, 255.0, (3, n))
    angles = rng.uniform(-np.pi / 2, np.pi / 2, (2, n))
    columns, edges = [*colours, *lamps, *angles], []

    def measure(values: np.ndarray, noise: float, causes: list) -> None:
        edges.extend((cause, len(columns)) for cause in causes)
        columns.append(values + noise * rng.normal(size=n))

    measure(np.array([1.0, 1.1, 1.4]) @ colours, 6.0, [0, 1, 2])  # current
    for angle in range(2):
        measure(angles[angle], 0.03, [6 + angle])
    for weights in (np.array([0.9, 0.3, 0.5]), np.array([0.5, 1.0, 0.8])):
        for place, share in enumerate((1.0, 0.7, 0.5 * np.cos(angles[0] - angles[1]) ** 2)):  # Malus's law
            measure(share * (weights @ colours) + 0.4 * lamps[place], 4.0, [0, 1, 2, 3 + place, *[6, 7] * (place == 2)])
    return columns, edges


def tunnel_of_wind(n: int, rng: np.random.Generator) -> tuple[list, list]:
    """Return columns and edges: two fans by their laws, a hatch, and the pressures that they make."""
    loads, hatch, ambient = rng.uniform(0.1, 1.0, (2, n)), rng.uniform(0.0, 45.0, n), rng.normal(size=n)
    speeds = loads + 0.02 * rng.normal(size=(2, n))
    currents = loads**3 + (0.02 + 0.02 * loads) * rng.normal(size=(2, n))
    inside = (
        ambient + 6.0 * (speeds[0] ** 2 - speeds[1] ** 2) * np.cos(np.radians(2.0 * hatch)) + 0.2 * rng.normal(size=n)
    )
    sound = 1.5 * speeds[0] + 1.5 * speeds[1] + 0.01 * hatch + 0.1 * (1.0 + speeds[0]) * rng.normal(size=n)
    edges = [(0, 4), (1, 5), (0, 6), (1, 7), (3, 8), (4, 8), (5, 8), (2, 8), (4, 9), (5, 9), (2, 9)]
    return [*loads, hatch, ambient, *speeds, *currents, inside, sound], edges


CHAMBERS: dict[str, Callable] = {"tunnel of light": tunnel_of_light, "tunnel of wind": tunnel_of_wind}


def netsim(count: int, folder: Path) -> Iterator[Table]:
    """Yield simulated fMRI series."""
    place = folder / "TCDF" / "data" / "fMRI"
    for number in range(1, 29):
        X = np.loadtxt(place / f"timeseries{number}.csv", delimiter=",", skiprows=1)
        truth = np.zeros((X.shape[1],) * 2)
        for column, row, _ in csv.reader((place / f"sim{number}_gt_processed.csv").read_text().split()):
            truth[int(row), int(column)] = row != column
        if len(truth) <= NETSIM_NODES and graphs.is_dag(truth):
            yield Table("NetSim", f"{len(truth)} nodes", f"sim{number}", X, truth, [])


def collected(count: int, folder: Path) -> Iterator[Table]:
    """Yield the tables that come with a graph in repositories of other authors."""
    yield from assembly(folder / "causalAssembly")
    edges = list(csv.reader((folder / "CGNN" / "Example_graph_target.csv").read_text().split()))
    yield named(
        "CGNN, example", "CGNN", folder / "CGNN" / "Example_graph_numdata.csv", [(row[0], row[1]) for row in edges]
    )
    yield from monitoring(folder / "Case_Studies_of_Causal_Discovery_from_IT_Monitoring_Time_Series")


def assembly(folder: Path) -> Iterator[Table]:
    """Yield the stations of a production line, and the line."""
    published = json.loads((folder / "data" / "ground_truth" / "ground_truth.json").read_text())
    edges = [
        (cause["id"], effect["id"])
        for cause, effects in zip(published["nodes"], published["adjacency"], strict=True)
        for effect in effects
    ]
    for name in (*(f"Station{k}" for k in range(1, 6)), "line_500"):
        place = folder / "data" / "data_sets" / "n_500_synthdata" / f"assembly_{name}.csv"
        part = "stations" if "Station" in name else "line"
        yield named(f"causalAssembly, {part}", name.removesuffix("_500"), place, edges)


def monitoring(folder: Path) -> Iterator[Table]:
    """Yield the metrics of computers; columns outside the published graph and constant ones are left out."""
    for structure in sorted((folder / "data").glob("*/*structure.txt")):
        edges = [tuple(line.split()) for line in structure.read_text().splitlines() if line.strip()]
        for place in sorted(structure.parent.glob("*.csv")):
            table = named("IT monitoring", f"{structure.parent.name} {place.stem}", place, edges)
            yield table._replace(X=table.X[:MONITORING_ROWS])


def named(group: str, name: str, place: Path, edges: list) -> Table:
    """Return a file's table: its columns that an edge names and that vary, rows without gaps."""
    header, *rows = csv.reader(place.read_text().splitlines())
    inside = [name for name in header if any(name in edge for edge in edges)]
    cells = [[row[header.index(name)] or "nan" for name in inside] for row in rows]
    X = np.array(cells, dtype=float)
    X = X[np.isfinite(X).all(axis=1)]
    varies = np.ptp(X, axis=0) > 0
    inside = [name for name, kept in zip(inside, varies, strict=True) if kept]
    truth = np.array([[float((cause, effect) in edges) for effect in inside] for cause in inside])
    return Table(group, "", name, X[:, varies], truth, [])


SETS: dict[str, Callable] = {
    "csuite": lambda count, folder: by_equations(CSUITE, count),
    "mixed": lambda count, folder: by_equations(MIXED, count),
    "few": few,
    "dense": dense,
    "linear": linear,
    "curved": curved,
    "chambers": lambda count, folder: by_equations(CHAMBERS, count),
    "netsim": netsim,
    "collected": collected,
}


def hnm_search(X, labels):
    """Return the graph of HNMSearch, which is told the labels."""
    return HNMSearch(kinds=dict.fromkeys(labels, "categorical") or None).fit(X).adjacency_matrix_


def of_sequence(X, labels):
    """Return the graph of HNMSearch, which is told that the rows are in sequence."""
    return HNMSearch().fit(X, sequence=True).adjacency_matrix_


def with_doubtful_directions(X, labels):
    """Return the graph of HNMSearch, in which arrows whose direction its list marks as doubtful have none."""
    model = HNMSearch(kinds=dict.fromkeys(labels, "categorical") or None).fit(X)
    graph = model.adjacency_matrix_ != 0
    return graph | (graph & (direction_loss(model) < DOUBTFUL)).T


def of_reproduction(name, threshold=THRESHOLD):
    """Return a method of the paper's tables, by default at their threshold."""
    return lambda X, labels: np.abs(estimate(name, X, 0)) > threshold


def pc(X, labels):
    """Return the CPDAG of PC with Fisher's z at 0.01."""
    from causallearn.search.ConstraintBased.PC import pc as search

    return adjacency(search(X, 0.01, "fisherz", show_progress=False).G.graph)


def hill_climbing(X, labels):
    """Return the graph of pgmpy's hill climbing by the conditional Gaussian BIC."""
    import pandas as pd
    from pgmpy.estimators import BICCondGauss, HillClimbSearch

    data = pd.DataFrame(X, columns=[f"v{k}" for k in range(X.shape[1])])
    for k in labels:
        data[f"v{k}"] = pd.Categorical(np.unique(X[:, k], return_inverse=True)[1].astype(str))
    search = HillClimbSearch(data).estimate(scoring_method=BICCondGauss(data), show_progress=False)
    found = np.zeros((X.shape[1],) * 2)
    for cause, effect in search.edges():
        found[int(cause[1:]), int(effect[1:])] = 1.0
    return found


def flop(X, labels):
    """Return the CPDAG of FLOP."""
    from flopsearch import flop as search

    return np.asarray(search(np.ascontiguousarray(X), 2.0, restarts=20)) != 0


METHODS: dict[str, Callable] = {
    "HNMSearch": hnm_search,
    "FLOP": flop,
    "HNMSearch, sequence": of_sequence,
    "HNMSearch, doubtful": with_doubtful_directions,
    "CAM": of_reproduction("CAM"),
    "GES": of_reproduction("GES"),
    "BOSS": lambda X, labels: standard_networks.boss(X, None),
    "PC": pc,
    "DirectLiNGAM": of_reproduction("DirectLiNGAM"),
    "DirectLiNGAM, all edges": of_reproduction("DirectLiNGAM", 0.0),
    "NOTEARS-MLP": of_reproduction("NOTEARS-MLP"),
    "hill climbing": hill_climbing,
    "no edge": lambda X, labels: np.zeros((X.shape[1],) * 2),
}


OF_CLONES = {"netsim", "collected"}
LAPLACE = [f"{kind}, Laplace, {rows} rows" for kind in LINEAR for rows in (300, 1000)]
OF_GROUPS = {  # methods for these alone
    "HNMSearch, sequence": ("NetSim", "IT monitoring"),
    "HNMSearch, doubtful": ("NetSim", "IT monitoring", "CGNN, example", "causalAssembly, stations"),
    "DirectLiNGAM, all edges": LAPLACE,
    "hill climbing": MIXED,
}


def prepared(table: Table) -> tuple[np.ndarray, np.ndarray, list]:
    """Return the table standardised, its columns permuted, the true graph, and the columns of labels."""
    order = np.random.default_rng(seed_of(f"order/{table.name}/{len(table.X)}")).permutation(table.X.shape[1])
    X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    return X[:, order], table.truth[np.ix_(order, order)], [int(np.flatnonzero(order == k)[0]) for k in table.labels]


def measure(method: str, table: Table, limit: float) -> dict:
    """Return errors and CPU seconds of a method on one table; a method that fails or is stopped has no errors."""
    X, truth, labels = prepared(table)
    begin = time.process_time()
    try:
        with cpu_limit(limit), contextlib.redirect_stdout(io.StringIO()):
            graph = np.asarray(METHODS[method](X, labels), dtype=float)
    except Exception as error:  # of any rival
        return {"failure": type(error).__name__, "seconds": round(time.process_time() - begin, 2)}
    seconds, found = round(time.process_time() - begin, 2), metrics.evaluate(graph, truth)
    kept = {name: int(found[name]) for name in KEPT}
    if is_of_classes(table.group):
        estimate = cpdag(graph != 0) if graphs.is_dag(graph) else graph != 0
        kept["class_errors"] = int(metrics.shd(estimate.astype(float), cpdag(truth != 0).astype(float)))
    return kept | {"seconds": seconds}


def is_of_classes(group: str) -> bool:
    """Return whether the tables of a group, linear with Gaussian noise, tell only the equivalence class."""
    return group.partition(",")[0] in LINEAR and "Gaussian" in group


def errors_of(row: dict) -> int:
    """Return the errors that the printed table counts."""
    if row["set"] != "linear":
        return row["shd_favourable"]
    return row["class_errors" if is_of_classes(row["group"]) else "shd"]


def summary(rows: list[dict]) -> Iterator[str]:
    """Yield a table a set: mean SHD of every method in every group, its parts beside one another.

    In brackets is the number of tables, where a method did not end on all of them.
    """
    for name in SETS:
        in_set = [row for row in rows if row["set"] == name]
        if not in_set:
            continue
        parts = sorted({row["part"] for row in in_set}, key=lambda part: int(part.split()[0]) if part else 0)
        methods = [method for method in METHODS if any(row["method"] == method for row in in_set)]
        yield f"| {name}: {' / '.join(parts) or 'SHD'} | tables | {' | '.join(methods)} |"
        yield "|---" * (len(methods) + 2) + "|"
        for group in dict.fromkeys(row["group"] for row in in_set):
            cells = [[row for row in in_set if (row["group"], row["part"]) == (group, part)] for part in parts]
            counts = [len({row["table"] for row in cell}) for cell in cells]
            means = [" / ".join(map(mean, cells, counts, [method] * len(parts))) for method in methods]
            yield f"| {group} | {' / '.join(map(str, dict.fromkeys(counts)))} | {' | '.join(means)} |"


def print_summary(rows: list[dict]) -> None:
    """Print the tables of all sets."""
    print("\n".join(summary(rows)))


def mean(rows: list[dict], count: int, method: str) -> str:
    """Return the mean SHD of a method on a number of tables."""
    tried = [row for row in rows if row["method"] == method]
    ended = [errors_of(row) for row in tried if "failure" not in row]
    if not ended:
        return "stopped" if tried else "–"
    return f"{np.mean(ended):.1f}" + (f" ({len(ended)})" if len(ended) < count else "")


def main() -> None:
    """Run what has no result yet, and print the mean SHD of every group."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=[name for name in SETS if name not in OF_CLONES])
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--tables", type=int, default=5, help="of each kind")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds of one fit")
    parser.add_argument("--folder", type=Path, help="holds the clones")
    arguments = parser.parse_args()
    if arguments.folder is None and OF_CLONES & set(arguments.sets):
        parser.error("netsim and collected need --folder, which holds the clones")
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    results = Results(arguments.results, ("set", "table", "method"))
    warm = Table("", "", "", np.random.default_rng(0).normal(size=(60, 4)), np.eye(4, k=1), [])
    for method in arguments.methods:  # compile before the clock runs
        measure(method, warm, arguments.limit)
    for name in arguments.sets:
        for table in SETS[name](arguments.tables, arguments.folder):
            for method in arguments.methods:
                key = {"set": name, "table": table.name, "method": method}
                if not results.has(**key) and table.group in OF_GROUPS.get(method, (table.group,)):
                    place = {"group": table.group, "part": table.part}
                    results.add(key | place | measure(method, table, arguments.limit))
    print_summary(results.rows)


if __name__ == "__main__":
    main()
