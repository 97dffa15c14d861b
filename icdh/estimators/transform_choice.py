"""Which monotone transform a table asks for, by the evidence of short searches on a part of its rows."""

from collections.abc import Callable, Sequence

import numpy as np

from icdh._clock import Clock
from icdh.node_model.columns import Columns, columns_of
from icdh.search.climb import Climber
from icdh.transforms import TRANSFORMS

PILOT_ROWS = 400


def choose_transform(
    values: np.ndarray,
    kinds: Sequence[str],
    n_labels: Sequence[int],
    rows: np.ndarray | None,
    pilot: Callable[[Columns, np.ndarray | None], Climber],
    seed: int,
    clock: Clock,
) -> str:
    """Return the transform under which a climb from the least graph ends at the highest evidence.

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
        Returns the climber of a short search, given the columns and the rows that count.
    seed : int
        Draws 400 rows, of tables that have more.
    clock : Clock
        Is told how far this is.
    """
    n = values.shape[1]
    if n > PILOT_ROWS:
        part = np.sort(np.random.default_rng(seed).choice(n, PILOT_ROWS, replace=False))
        values, rows = np.ascontiguousarray(values[:, part]), None if rows is None else rows[:, part]
    evidence = {}
    for number, transform in enumerate(TRANSFORMS, start=1):
        clock.stage = f"short search {number} of {len(TRANSFORMS)}, for a transform of the columns"
        columns = columns_of(values, kinds, transform, seed, n_labels).with_normal_scores()
        search = pilot(columns, rows)
        graph, _ = search.climb_once(search.least_graph(), search.forbidden)
        search.scores.settle(list(enumerate(graph)))
        evidence[transform] = columns.log_jacobian - search.total(graph)
    return max(evidence, key=evidence.get)
