"""Linear graphs with hidden common causes on covariances: their score beside that on rows, and the climb among them."""

import math

import numpy as np
import pytest
from helpers import family_evidence

from icdh._estimators.hidden_causes import HiddenCauseSearch, HiddenGraph
from icdh._node_model.hidden import Districts
from icdh._node_model.hidden_linear import LinearGraphs
from icdh.knowledge.rules import EdgeRules

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
    (drawn,) = graphs.draw(STATE.of_nodes(), np.random.default_rng(1))
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
    search = HiddenCauseSearch(family_evidence(table), rules, 6, linear=True, inputs=False)
    start = HiddenGraph(((), (0,), (1,), (4, 5), (), ()), ((0, 1, 4),))
    found = search._climbed(start)
    assert found == STATE
    assert search._quick_total(found) < search._quick_total(start) - 10.0
