"""Linear graphs with hidden common causes on covariances: their score beside that on rows, and the climb among them."""

import math

import numpy as np
import pytest
from helpers import family_evidence, hidden_cause_search

from icdh._estimators.hidden_causes import HiddenGraph
from icdh._node_model.hidden import Districts
from icdh._node_model.hidden_linear import LinearGraphs, hidden_weights, sparse_and_low_rank
from icdh.knowledge import EdgeRules

LOADINGS = np.array([0.8, -0.7, 0.6, 0.9, 0.7])


@pytest.fixture(scope="module")
def table():
    """Five children of a hidden cause, the first a cause of the second, and a cause of the fourth."""
    U, outside, *noise = np.random.default_rng(0).normal(size=(7, 600))
    x = LOADINGS[:, np.newaxis] * U + 0.6 * np.array(noise)
    x[1] += 0.8 * x[0]
    x[3] += 0.7 * outside
    x = np.vstack([x, outside])
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


STATE = HiddenGraph(((), (0,), (), (5,), (), ()), ((0, 1, 2, 3, 4),))
THICKET = HiddenGraph(((1, 2, 3, 4, 5), (), (1,), (2, 4, 5), (2,), ()))


def constant(N, n):
    """What scores on covariances leave out."""
    return N * (0.5 * n + 0.5 * math.log(n) + 0.5 * math.log(n / 2))


def test_without_hidden_causes_the_score_is_that_of_linear_models(table):
    families = family_evidence(table).families
    expected = sum(families.linear_score(own, "gaussian") for own in ((1, (0,)), (3, (0, 5)), (5, (2,))))
    graph = ((), (0,), (), (0, 5), (), (2,))
    found = LinearGraphs(families)(graph).score - LinearGraphs(families)(((),) * 6).score
    alone = 3 * (0.5 * 600 + 0.5 * math.log(600) + 0.5 * math.log(300))
    assert found == pytest.approx(expected - alone, abs=1e-3)


def test_the_score_and_the_hidden_values_are_those_of_em_on_the_rows(table):
    scores = family_evidence(table)
    district = Districts(scores)(STATE.families(STATE.hidden[0]))
    graphs = LinearGraphs(scores.families)
    fit = graphs(STATE.of_nodes())
    assert fit.score + constant(6, 600) == pytest.approx(district.score + scores([(5, ())])[0], abs=0.2)
    mean = np.linalg.solve(table @ table.T / 600, fit.moments[:6, 6]) @ table
    turn = np.sign(mean @ district.hidden.mean)
    np.testing.assert_allclose(turn * mean, district.hidden.mean, atol=0.03)
    np.testing.assert_allclose(fit.spreads[0], district.hidden.variance, atol=0.01)
    (drawn,) = graphs.values(fit, np.random.default_rng(1))
    assert np.corrcoef(drawn, mean)[0, 1] ** 2 == pytest.approx(1.0 - fit.spreads[0], abs=0.03)
    near = LinearGraphs(scores.families)(STATE.of_nodes(), fit)  # at the end of EM already
    assert fit.score - 0.1 < near.score < fit.score + 1e-6


def test_a_graph_and_its_hidden_causes_are_nodes_of_one_graph():
    state = HiddenGraph(((), (0,), (), (), (), (), ()), ((0, 1, 2), (4, 5, 6)))
    assert state.of_nodes() == ((7,), (0, 7), (7,), (), (8,), (8,), (8,), (), ())
    assert HiddenGraph.from_nodes(state.of_nodes(), 7) == state
    assert HiddenGraph.from_nodes(((7,), (0, 7), (7, 8), (), (8,), (8,), (), (), ()), 7).hidden == ((0, 1, 2),)


def test_a_climb_finds_missing_children_and_leaves_out_edges_that_the_hidden_cause_explains(table):
    rules = EdgeRules.of(np.eye(6, dtype=bool) | (np.arange(36).reshape(6, 6) == 6))  # 1 -> 0: covariances do not tell
    search = hidden_cause_search(table, rules)
    start = HiddenGraph(((), (0,), (1,), (4, 5), (), ()), ((0, 1, 4),))
    found = search._climbed(start)
    assert found == STATE
    assert search._quick_total(found) < search._quick_total(start) - 10.0


def test_the_low_rank_part_of_inverse_covariances_tells_the_hidden_values():
    """Of exact covariances of a chain and a hidden cause of all; more columns tell the values more closely."""
    weights = np.zeros((9, 9))
    weights[np.arange(8), np.arange(1, 9)] = 0.5
    loadings = np.array([1.0, -0.9, 0.8, 0.7, -1.0, 0.9, 0.8, -0.7, 1.0])
    mixed = np.linalg.inv(np.eye(9) - weights.T)
    covariances = mixed @ (np.outer(loadings, loadings) + 0.3 * np.eye(9)) @ mixed.T
    with_hidden = mixed @ loadings
    deviations = np.sqrt(covariances.diagonal())
    covariances, with_hidden = covariances / np.outer(deviations, deviations), with_hidden / deviations
    told = np.linalg.solve(covariances, with_hidden)
    share = told @ with_hidden
    found = hidden_weights(covariances)
    assert max(abs(own @ with_hidden) for own in found) > 0.97 * math.sqrt(share)
    for own in found:
        assert own @ covariances @ own == pytest.approx(1.0)


def test_the_sparse_and_the_low_rank_part_are_where_nothing_improves(table):
    """By the conditions of Karush, Kuhn and Tucker."""
    covariances, sparsity, rank = table @ table.T / table.shape[1], 0.05, 0.1
    sparse, low = sparse_and_low_rank(covariances, sparsity, rank)
    off = covariances - np.linalg.inv(sparse - low)
    entries = ~np.eye(6, dtype=bool) & (sparse != 0.0)
    np.testing.assert_allclose(off.diagonal(), 0.0, atol=1e-3)
    np.testing.assert_allclose(off[entries], -sparsity * np.sign(sparse[entries]), atol=1e-3)
    assert np.abs(off).max() < sparsity + 1e-3
    assert np.linalg.eigvalsh(rank * np.eye(6) - off)[0] > -1e-3
    np.testing.assert_allclose((rank * np.eye(6) - off) @ low, 0.0, atol=1e-3)
    assert np.linalg.eigvalsh(low)[-1] > 0.1
    assert not sparse_and_low_rank(covariances, sparsity, 50.0)[1].any()  # nothing pays so much


def test_a_search_begins_at_the_hidden_values_and_needs_no_thicket(table):
    search = hidden_cause_search(table)
    starts = search._starts(HiddenGraph(((),) * 6))
    assert starts
    assert all({0, 2, 3, 4} <= set(own.hidden[0]) for own in starts)


def test_what_is_found_is_no_worse_than_the_truth_and_a_cause_that_is_not_worth_it_changes_no_strength(
    table, monkeypatch
):
    search = hidden_cause_search(table)
    state = search.improved(THICKET)
    assert search.total(state) < search.total(STATE) + 1e-6
    assert list(search.worths) == list(state.hidden)
    kept = dict(search.worths)
    monkeypatch.setattr(search, "_best_of", lambda _: state)
    monkeypatch.setattr(search, "_worths", lambda own: [1.0] * len(own.hidden))
    assert search.improved(state) is None
    assert search.worths == kept
