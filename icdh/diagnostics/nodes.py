"""Tests whether residuals are independent of causes, of the fitted mean, and of all that a variable does not cause.

If the model is right, the noise of a variable is independent of all variables that it has no directed path to. Normal
scores are compared, so that neither tails nor units matter, each pair by the test of `icdh.diagnostics.independence`.
For every variable three questions are asked: whether its residual depends on its causes, on the mean that they
predict, and on others. A distorted scale shows best beside the mean: the noise is then skewed to one side where the
mean is high, and to the other where it is low. Each question takes the least p-value of its pairs times their number,
and the variable the least of its questions times their number. Over the variables Holm's procedure keeps the
probability of any false alarm in the table below the level. A variable whose noise is too small to be seen in more
than a fifth of the rows is not tested.

References
----------
Holm: "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
Peters, Mooij, Janzing, Schölkopf: "Causal discovery with continuous additive noise models", JMLR 15 (2014).
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._table.transforms import normal_scores
from icdh.diagnostics.independence import FEWEST_PAIRS, Distances, distance_correlation, p_value
from icdh.diagnostics.records import LEAST_SEEN
from icdh.diagnostics.residuals import Residuals


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
    on_causes, on_mean, on_others : Dependence
        On its causes, on the mean that they predict (the variable is then itself), and on all others that it does not
        cause.
    p_value : float
        That of all three, corrected over all variables.
    """

    on_causes: Dependence
    on_mean: Dependence
    on_others: Dependence
    p_value: float


def node_tests(residuals: Residuals, adjacency: Floats, labels: Collection[int]) -> dict[int, NodeTest]:
    """Test the residual of every variable that varies.

    Parameters
    ----------
    residuals : Residuals
        The residuals, and the variables.
    adjacency : ndarray, shape (N, N)
        The graph.
    labels : collection of int
        The variables of labels without an order.
    """
    reached = graphs.descendants(adjacency != 0)
    known: dict[tuple[int, bytes], Distances] = {}

    def distances(variable: int, node: int) -> Distances:
        """Return those of a variable at the observations that count for another one, each computed once."""
        rows = residuals.rows[node]
        key = variable, rows.tobytes()
        if key not in known:
            values, of_labels = residuals.variables[variable][rows], variable in labels
            known[key] = Distances.of(values if of_labels else normal_scores(values), of_labels)
        return known[key]

    def groups(node: int) -> tuple[Dependence, Dependence, Dependence]:
        """Return how a residual depends on causes, on the mean that they predict, and on others."""
        residual, is_cause = residuals.of[node], adjacency[:, node] != 0
        if residual.values.size < FEWEST_PAIRS or residual.seen.mean() < LEAST_SEEN:
            return Dependence(None, 1.0), Dependence(None, 1.0), Dependence(None, 1.0)
        noise = Distances.of(normal_scores(residual.values))
        others = [other for other in residuals.variables if other != node and not reached[node, other]]
        causes = [_dependence(other, distances(other, node), noise) for other in others if is_cause[other]]
        rest = [_dependence(other, distances(other, node), noise) for other in others if not is_cause[other]]
        mean = []
        if causes and residual.mean is not None:
            mean = [_dependence(node, Distances.of(normal_scores(residual.mean)), noise)]
        return _strongest(causes), _strongest(mean), _strongest(rest)

    tests = {node: groups(node) for node in residuals.of}
    known_of = ([group for group in test if group.variable is not None] for test in tests.values())
    corrected = holm(np.array([_strongest(groups).p_value for groups in known_of]))
    return {node: NodeTest(*test, float(p)) for (node, test), p in zip(tests.items(), corrected, strict=True)}


def _dependence(variable: int, distances: Distances, noise: Distances) -> Dependence:
    return Dependence(variable, p_value(distance_correlation(distances, noise), noise.values.size))


def _strongest(pairs: list[Dependence]) -> Dependence:
    """Return the strongest of dependences, its p-value that of all: Bonferroni's."""
    if not pairs:
        return Dependence(None, 1.0)
    strongest = min(pairs, key=lambda pair: pair.p_value)
    return strongest._replace(p_value=min(1.0, len(pairs) * strongest.p_value))


def holm(p: Floats) -> Floats:
    """Return p-values, shape (n,), so corrected that those below a level are the ones that Holm's procedure rejects."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return corrected
