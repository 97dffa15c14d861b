"""Which monotone transform a table asks for, by the evidence of one graph on a part of its rows.

The graph is that of a short search without a transform. Under the one that suits it nearly every variable gains a few
nats given the same causes. Of 80 simulated tables that had been transformed all but four gained, most of them 20 to
160 nats; of 113 that had not, six did, by 4 to 44 nats, all with noise of heavy tails. A transform has a parameter
for every column, which costs ``TUNING.price`` nats each: with that, seven of the former have none, and three of the
latter one.
Searches under every transform tell less: they end with other graphs, in which some variables gain hundreds of nats
that others lose, whatever the transform.

One transform serves all columns, so many of them have to ask for it. A variable that its causes nearly determine
gains or loses nats by the observation with the slightest misfit of its mechanism, and would outvote all others:
of tables without a transform that made one in six take one. So none counts for more than ``TUNING.most_gain`` nats an
observation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from icdh._estimators.arranged import CanonicalTable
from icdh._ground.arrays import Integers
from icdh._ground.clock import Clock
from icdh._node_model.columns import Columns
from icdh._table.transforms import TRANSFORMS
from icdh.search.climb import Climber


@dataclass(frozen=True)
class Tuning:
    """Constants of the choice."""

    pilot_rows: int = 400
    pilot_variables: int = 40
    most_gain: float = 0.05  # nats an observation that a variable counts for
    price: float = 1.5  # nats a variable


TUNING = Tuning()


def choose_transform(
    table: CanonicalTable, pilot: Callable[[Columns, CanonicalTable], Climber], seed: int, clock: Clock
) -> str:
    """Return the transform that raises the evidence of a graph most, that of a climb without one, if one does.

    Parameters
    ----------
    table : CanonicalTable
        The table.
    pilot : callable
        Returns the climber of a short search on columns of a part of the table, given these columns and that part.
    seed : int
        Of the fits. The part of a table that decides, 400 rows and 40 variables, does not depend on it.
    clock : Clock
        Is told how far this is.
    """
    rng = np.random.default_rng(0)  # the same part of a table whatever the seed: a part decides more than the starts
    rows, chosen = (
        _some(table.values.shape[1], TUNING.pilot_rows, rng),
        _some(len(table.values), TUNING.pilot_variables, rng),
    )
    part = table.part(chosen, rows)
    graph, evidences = None, {}
    clock.stage = "choosing a transform of the columns"
    for transform in TRANSFORMS:
        columns = part.columns(transform, seed).with_normal_scores()
        search = pilot(columns, part)
        if graph is None:
            graph, _ = search.climb_once(search.least)
        families = list(enumerate(graph))
        search.scores.choose_noise(families)
        evidences[transform] = columns.log_jacobians - search.scores(families)
    return most_asked_for(evidences, rows.size)


def _some(size: int, most: int, rng: np.random.Generator) -> Integers:
    """Return at most so many of the positions below ``size``, in order."""
    return np.arange(size) if size <= most else np.sort(rng.choice(size, most, replace=False))


def most_asked_for(evidences: Mapping[str, np.ndarray], n_observations: int) -> str:
    """Return the transform under which variables gain most, if that pays for it, none of them more than its share.

    Parameters
    ----------
    evidences : mapping
        The log evidence of every variable given its parents, shape (N,), by transform.
    n_observations : int
        n.
    """
    most, none = TUNING.most_gain * n_observations, evidences["none"]
    gains = {transform: np.clip(evidence - none, -most, most).sum() for transform, evidence in evidences.items()}
    best = max(gains, key=lambda transform: gains[transform])
    return best if gains[best] > TUNING.price * none.size else "none"
