"""Tables of conditional probabilities: their evidence, what a parent changes, and searches that begin at theirs."""

import numpy as np
import pytest
from helpers import all_graphs, scores_of_columns, sums_of_equivalent_graphs
from naive import table_evidence

from icdh import HNMSearch
from icdh._node_model import without_fits
from icdh._node_model.columns import columns_of
from icdh._node_model.without_fits import TUNING, TableGains
from icdh.uncertainty import direction_loss

SIZES = (3, 2, 4, 3)


def labels(n=60, seed=0):
    """x0 -> x1 -> x2 <- x3: labels of 3, 2, 4 and 3 kinds, the last two levels."""
    rng = np.random.default_rng(seed)
    x0, x3 = rng.integers(3, size=(2, n))
    x1 = (rng.random(n) < np.array([0.1, 0.5, 0.9])[x0]).astype(int)
    x2 = (x1 + x3 + (rng.random(n) < 0.2)) % 4
    values = np.array([x0, x1, x2, x3], dtype=float)
    values[:, :4] = [[0, 1, 2, 0], [0, 1, 0, 1], [0, 1, 2, 3], [0, 1, 2, 0]]  # all labels occur
    return values


def gains_of(values, **options):
    columns = columns_of(values, ["categorical", "binary", "ordinal", "categorical"])
    return TableGains(scores_of_columns(columns, **options).families)


def fitted(X, **options):
    return HNMSearch(kinds=dict.fromkeys(range(X.shape[1]), "categorical"), **options).fit(X)


@pytest.mark.parametrize("parents", [(), (0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("most_cells", [TUNING.most_cells, 4])
def test_the_evidence_agrees_with_naive(parents, most_cells, monkeypatch):
    monkeypatch.setattr(without_fits, "TUNING", without_fits.Tuning(most_cells=most_cells))
    values = labels()
    sizes = [SIZES[3], *(SIZES[k] for k in parents)]
    exact = table_evidence(values[3], values[list(parents)].T, sizes, TUNING.worth)
    assert gains_of(values).score(3, parents) == pytest.approx(exact + 2.0 * len(parents), rel=1e-10)


def test_observations_that_do_not_count_say_nothing():
    values, rows = labels(), np.random.default_rng(1).random((4, 60)) < 0.7
    few = rows[2]
    exact = table_evidence(values[2, few], values[[0, 3]][:, few].T, (4, 3, 3), TUNING.worth)
    assert gains_of(values, rows=rows).score(2, (0, 3)) == pytest.approx(exact + 4.0, rel=1e-10)


def test_gains_are_the_differences_of_scores():
    penalty = np.random.default_rng(2).uniform(0.0, 5.0, size=(4, 4))
    gains = gains_of(labels(), edge_penalty=penalty)
    found = gains(2, (0, 1))
    for other, toggled in {0: (1,), 1: (0,), 3: (0, 1, 3)}.items():
        assert found[other] == pytest.approx(gains.score(2, (0, 1)) - gains.score(2, toggled))
    assert found[2] == -np.inf


def test_graphs_of_one_equivalence_class_have_one_sum():
    sums_of_equivalent_graphs(gains_of(labels()).score)


def test_a_search_of_labels_is_no_worse_than_from_the_graph_of_the_tables():
    edges = fitted(labels(800).T, n_restarts=1).adjacency_matrix_ != 0
    np.testing.assert_array_equal(edges | edges.T, [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    assert edges[[1, 3], 2].all()


def test_a_turned_arrow_loses_what_the_best_of_all_graphs_with_it_loses():
    """Two causes whose labels act together alone: no cause by itself tells anything of the effect."""
    rng = np.random.default_rng(0)
    a, b, noise = rng.integers(2, size=(3, 300))
    c = np.where(rng.random(300) < 0.2, noise, a ^ b)
    d = (rng.random(300) < np.array([0.2, 0.6])[c]).astype(int)
    model = fitted(np.column_stack([a, b, c, d]))
    found, edges = model.found_graph(), np.argwhere(model.adjacency_matrix_).tolist()
    gains, loss, best = TableGains(found.scores.families), direction_loss(model), {}
    assert edges
    assert not gains.has_grades
    for graph in all_graphs(4):
        total = sum(gains.scores(list(enumerate(graph))))
        for edge in ((i, j) for j, parents in enumerate(graph) for i in parents):
            best[edge] = min(best.get(edge, np.inf), total)
    place = {int(column): node for node, column in enumerate(found.table.order)}
    for cause, effect in edges:
        i, j = place[cause], place[effect]
        assert loss[cause, effect] == pytest.approx(max(best[j, i] - best[i, j], 0.0), abs=1e-6)


def test_arrows_of_labels_that_nothing_decides_lose_nothing():
    rng = np.random.default_rng(0)
    chain = [rng.integers(2, size=1000)]
    for _ in range(2):
        chain.append(np.where(rng.random(1000) < 0.8, chain[-1], 1 - chain[-1]))
    model = fitted(np.column_stack(chain))
    assert direction_loss(model)[model.adjacency_matrix_ != 0] == pytest.approx([0.0, 0.0], abs=1e-6)
