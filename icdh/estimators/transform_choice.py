"""Which monotone transform a table asks for, by the evidence of short searches on a part of its rows.

One transform serves all columns, so many of them have to ask for it. A variable that its causes nearly determine
gains or loses nats by the observation with the slightest misfit of its mechanism, and would outvote all others:
of tables without a transform that made one in six take one. So the evidence must rise under it even if no variable
gains more than `MOST_GAIN` nats an observation.

Most tables ask for none, and the graph found without a transform tells: where the evidence of that graph falls under
one by more than a search for another graph makes up for (`HOPELESS` nats a variable), there is no such search.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from icdh._clock import Clock
from icdh.node_model.columns import Columns, columns_of
from icdh.search.climb import Climber
from icdh.transforms import TRANSFORMS

PILOT_ROWS, PILOT_VARIABLES = 400, 40
MOST_GAIN = 0.05
HOPELESS = 4.0  # nats; of 40 tables of eight kinds none that asked for a transform lost more than 1.5 so


def choose_transform(
    values: np.ndarray,
    kinds: Sequence[str],
    n_labels: Sequence[int],
    rows: np.ndarray | None,
    pilot: Callable[[Columns, np.ndarray | None, np.ndarray], Climber],
    seed: int,
    clock: Clock,
) -> str:
    """Return the transform that raises the evidence most at the end of a climb from the least graph, if one does.

    Parameters
    ----------
    values : ndarray, shape (N, n)
        The standardised table, one variable a row.
    kinds : sequence of str
        The kinds of the variables.
    n_labels : sequence of int
        K of every variable of labels.
    rows : ndarray of bool, shape (N, n), optional
        The observations that count for each variable.
    pilot : callable
        Returns the climber of a short search, given the columns, the rows that count, and which variables these are.
    seed : int
        Draws 400 rows, and 40 variables, of tables that have more.
    clock : Clock
        Is told how far this is.
    """
    rng = np.random.default_rng(seed)
    part, chosen = _some(values.shape[1], PILOT_ROWS, rng), _some(len(values), PILOT_VARIABLES, rng)
    values, rows = values[np.ix_(chosen, part)], None if rows is None else rows[np.ix_(chosen, part)]
    kinds, n_labels = [kinds[k] for k in chosen], [n_labels[k] for k in chosen]
    graph, evidences = None, {}

    def evidence(columns, graph):
        """Return a graph, if none is given that of a short search, and the log evidence of every variable there."""
        search = pilot(columns, rows, chosen)
        if graph is None:
            graph, _ = search.climb_once(search.least_graph(), search.forbidden)
        families = list(enumerate(graph))
        search.scores.settle(families)
        return graph, columns.log_jacobians - search.scores(families)

    for number, transform in enumerate(TRANSFORMS, start=1):
        clock.stage = f"short search {number} of {len(TRANSFORMS)}, for a transform of the columns"
        columns = columns_of(values, kinds, transform, seed, n_labels).with_normal_scores()
        if graph is None:
            graph, evidences[transform] = evidence(columns, None)
        elif _shared_gain(evidence(columns, graph)[1] - evidences["none"], part.size) > -HOPELESS * chosen.size:
            _, evidences[transform] = evidence(columns, None)
    return most_asked_for(evidences, part.size)


def _some(size, most, rng):
    """Return at most so many of the positions below ``size``, in order."""
    return np.arange(size) if size <= most else np.sort(rng.choice(size, most, replace=False))


def most_asked_for(evidences: Mapping[str, np.ndarray], n_observations: int) -> str:
    """Return the transform that raises the evidence most, of those that many variables ask for; or "none".

    Parameters
    ----------
    evidences : mapping
        The log evidence of every variable given its parents, shape (N,), by transform.
    n_observations : int
        n.
    """
    asked_for = {"none": 0.0}
    for transform, evidence in evidences.items():
        gains = evidence - evidences["none"]
        if _shared_gain(gains, n_observations) > 0.0:
            asked_for[transform] = gains.sum()
    return max(asked_for, key=asked_for.get)


def _shared_gain(gains, n_observations):
    """Return the sum of what variables gain, where no variable counts for more than its share."""
    most = MOST_GAIN * n_observations
    return np.clip(gains, -most, most).sum()
