"""How many effects of interventions an estimated graph gets wrong."""

from typing import Any

import numpy as np

from icdh.exceptions import import_extra
from icdh.graphs import is_dag
from icdh.metrics.comparison import comparable


def sid(estimate: Any, truth: Any) -> int:
    """Structural intervention distance: pairs (i, j) for which adjusting for the estimated parents of i is wrong.

    Needs the extra ``[metrics]``.

    Parameters
    ----------
    estimate, truth : array_like, shape (N, N), or DataFrame, or networkx graph
        Two DAGs.

    Returns
    -------
    int
        The number of ordered pairs of variables, at most N (N - 1), for which the effect of an intervention on i on j
        would be inferred wrongly from the estimated graph.

    Raises
    ------
    ValueError
        If a graph is malformed or has a cycle, or the two are of different variables.
    MissingExtraError
        If gadjid is not installed.

    References
    ----------
    Peters, Bühlmann: "Structural intervention distance for evaluating causal graphs", Neural Computation 27, 2015.
    Henckel, Würtzen, Weichwald: "Adjustment identification distance: a gadjid for causal structure learning", UAI
    2024.

    Examples
    --------
    >>> from icdh.metrics import sid
    >>> truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimate = [[0, 0.9, 0.4], [0, 0, 0], [0, 0.6, 0]]
    >>> sid([[0, 1, 0], [0, 0, 1], [0, 0, 0]], truth)
    0
    """
    pair = comparable(estimate, truth)
    # gadjid panics on a cycle and on fewer than two variables
    for name, edges in (("estimate", pair.estimate), ("truth", pair.truth)):
        if not is_dag(edges):
            raise ValueError(f"{name} has a cycle, for which there is no SID; see icdh.graphs.break_cycles")
    if len(pair.truth) == 1:
        return 0
    gadjid = import_extra("gadjid", "metrics")
    true, estimated = (np.ascontiguousarray(edges, dtype=np.int8) for edges in (pair.truth, pair.estimate))
    _, count = gadjid.sid(true, estimated, edge_direction="from row to column")
    return int(count)
