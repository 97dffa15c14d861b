"""The data of a job and the truth behind them."""

import hashlib
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.tuebingen import tuebingen_pairs
from icdh import simulate
from icdh.datasets import load_sachs
from paper_reproduction.tables import STANDARDIZED

OBSERVATIONS = 1000
MOST_ROWS_OF_A_PAIR = 1000


class Problem(NamedTuple):
    """What a method sees, and what it is judged by.

    Attributes
    ----------
    X : ndarray, shape (M, N)
        Observations.
    truth : ndarray, shape (N, N)
        The true graph: ``truth[i, j] != 0`` means i -> j.
    weight : float
        What the problem counts in averages over problems.
    """

    X: np.ndarray
    truth: np.ndarray
    weight: float = 1.0

    @property
    def digest(self) -> str:
        """A few letters that change when data or truth do; rounding errors leave them alone."""
        rounded = np.array([f"{value:.9e}" for value in self.X.sum(axis=0)])
        return hashlib.sha256(rounded.tobytes() + (self.truth != 0).tobytes()).hexdigest()[:12]


def problem_of(job) -> Problem:
    """Return the data of a job.

    Parameters
    ----------
    job : Job
        The job; data depend on its setting and trial only.
    """
    drawn = {"sachs": _sachs, "pairs": _pair}.get(job.setting.data, _simulated)(job)
    return _standardised_and_permuted(drawn, job) if job.setting.units == STANDARDIZED else drawn


def _simulated(job):
    graph_seed, data_seed = np.random.SeedSequence(job.draw_seed).spawn(2)
    graph = simulate.erdos_renyi(job.setting.nodes, int(job.setting.graph[2:]), np.random.default_rng(graph_seed))
    rng = np.random.default_rng(data_seed)
    data = simulate.simulate_sem(graph, OBSERVATIONS, mechanism="mlp", noise=job.setting.data, random_state=rng)
    return Problem(data.X, data.adjacency)


def _sachs(job):
    sachs = load_sachs()
    return Problem(np.asarray(sachs.data), sachs.adjacency)


@cache
def _pairs(subset):
    return tuebingen_pairs(subset=subset, swap=True, random_state=0)


def _pair(job):
    pair = _pairs(job.setting.graph)[job.trial]
    X = np.column_stack([pair.first, pair.second])
    if len(X) > MOST_ROWS_OF_A_PAIR:
        rng = np.random.default_rng(job.draw_seed)
        X = X[np.sort(rng.choice(len(X), MOST_ROWS_OF_A_PAIR, replace=False))]
    truth = np.array([[0, 1], [0, 0]])
    return Problem(X, truth if pair.first_causes_second else truth.T, pair.weight)


def _standardised_and_permuted(problem, job):
    order = np.random.default_rng(job.order_seed).permutation(problem.X.shape[1])
    X = (problem.X - problem.X.mean(axis=0)) / problem.X.std(axis=0)
    return problem._replace(X=X[:, order], truth=problem.truth[np.ix_(order, order)])
