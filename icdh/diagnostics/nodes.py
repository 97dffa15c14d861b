"""Whether what remains of every variable is independent of its causes, and of all else that it does not cause.

If the model is right, the noise of a variable is independent of all variables that it has no directed path to. Normal
scores are compared, so that neither tails nor units matter, each pair by the test of `icdh.diagnostics.independence`.
For every variable two questions are asked, whether anything remains of its causes, and of others; each takes the least
p-value of its pairs times their number, and the variable the lesser of both times two. Over the variables Holm's
procedure keeps the probability of any false alarm in the table below the level.

References
----------
Holm: "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
Peters, Mooij, Janzing, Schölkopf: "Causal discovery with continuous additive noise models", JMLR 15 (2014).
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from icdh import graphs
from icdh.diagnostics.independence import FEWEST_ROWS, Distances, distance_correlation, p_value
from icdh.diagnostics.residuals import Remainders
from icdh.transforms import normal_scores


class Dependence(NamedTuple):
    """On which variable of a group a residual depends most.

    Attributes
    ----------
    variable : int or None
        Its place in the table; None of an empty group.
    p_value : float
        That of independence of the whole group.
    """

    variable: int | None
    p_value: float


class NodeTest(NamedTuple):
    """What was found about one variable.

    Attributes
    ----------
    on_causes, on_others : Dependence
        On its causes, and on all others that it does not cause.
    p_value : float
        That of both, corrected over all variables.
    """

    on_causes: Dependence
    on_others: Dependence
    p_value: float


def node_tests(left: Remainders, adjacency: np.ndarray, labels: Collection[int]) -> dict[int, NodeTest]:
    """Test the residual of every variable that varies.

    Parameters
    ----------
    left : Remainders
        The residuals, and the variables.
    adjacency : ndarray, shape (N, N)
        The graph.
    labels : collection of int
        The variables of labels without an order.
    """
    reached = graphs.descendants(adjacency != 0)
    distances = _Distances(left, labels)
    pairs = []
    for node, remainder in left.of.items():
        residual = Distances.of(normal_scores(remainder.residual)) if remainder.residual.size >= FEWEST_ROWS else None
        found = {True: [], False: []}
        for other in left.values:
            if other != node and not reached[node, other] and residual is not None:
                p = p_value(distance_correlation(distances(other, node), residual), remainder.residual.size)
                found[bool(adjacency[other, node])].append(Dependence(other, p))
        pairs.append((_strongest(found[True]), _strongest(found[False])))
    both = [min(1.0, 2.0 * min(causes.p_value, others.p_value)) for causes, others in pairs]
    tests = zip(left.of, pairs, holm(np.array(both)), strict=True)
    return {node: NodeTest(*own, float(p)) for node, own, p in tests}


class _Distances:
    """The distances of variables at the observations that count for another one, each computed once."""

    def __init__(self, left, labels):
        self.left, self.labels, self.known = left, labels, {}

    def __call__(self, variable, node):
        rows = self.left.rows
        key = variable, None if rows is None else rows[node].tobytes()
        if key not in self.known:
            values = self.left.values[variable] if rows is None else self.left.values[variable][rows[node]]
            of_labels = variable in self.labels
            self.known[key] = Distances.of(values if of_labels else normal_scores(values), of_labels)
        return self.known[key]


def _strongest(pairs):
    """Return the strongest of dependences, its p-value that of all: Bonferroni's."""
    if not pairs:
        return Dependence(None, 1.0)
    strongest = min(pairs, key=lambda pair: pair.p_value)
    return strongest._replace(p_value=min(1.0, len(pairs) * strongest.p_value))


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values, shape (n,), so corrected that those below a level are the ones that Holm's procedure rejects."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return corrected
