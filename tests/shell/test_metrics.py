import json
import sys

import gadjid
import naive
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers import cases, random_dag, weighted_pairs
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from icdh import metrics
from icdh.exceptions import MissingExtraError

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
EMPTY = np.zeros((3, 3))
UNDIRECTED = CHAIN + CHAIN.T
DISTANCES = (metrics.shd, metrics.edge_differences, metrics.sid)
RATES = (metrics.edge_scores, metrics.skeleton_scores, metrics.average_precision)
NEED_EDGES = (*RATES, metrics.evaluate)


def pairs_of_dags(count, largest_degree=12.0, seed=0):
    """Random pairs of DAGs of 2 to 12 variables, from sparse to dense."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        n = 2 + number % 11
        density = rng.uniform(0, min(1.0, largest_degree / n))
        yield random_dag(rng, n, density), random_dag(rng, n, density)


def test_shd_agrees_with_gadjid():
    for estimate, truth in pairs_of_dags(220):
        assert metrics.shd(estimate, truth) == gadjid.shd(truth, estimate)[1]
        there, back = metrics.edge_differences(estimate, truth), metrics.edge_differences(truth, estimate)
        assert there == (back.missing, back.extra, back.reversed)


def test_sid_agrees_with_its_definition():
    distances = []
    for estimate, truth in pairs_of_dags(220, largest_degree=3.0):
        distances.append(metrics.sid(estimate, truth))
        assert distances[-1] == naive.sid(estimate, truth)
    assert len(set(distances)) > 20


def test_rates_agree_with_scikit_learn():
    for weights, truth in weighted_pairs(220):
        possible = ~np.eye(len(truth), dtype=bool)
        expected = average_precision_score(truth[possible], np.abs(weights[possible]))
        assert metrics.average_precision(weights, truth) == pytest.approx(expected, rel=1e-12)
        learned = weights.ravel() != 0
        expected = precision_recall_fscore_support(truth.ravel(), learned, average="binary", zero_division=1.0)
        scores = metrics.edge_scores(weights, truth)
        np.testing.assert_allclose(scores[:3], expected[:3])
        assert (scores.fdr, scores.tpr) == (1 - scores.precision, scores.recall)


@cases(
    ("estimate", "extra", "missing", "reversed_", "precision", "recall", "sid"),
    (CHAIN, 0, 0, 0, 1, 1, 0),
    (CHAIN.T, 0, 0, 2, 0, 0, 6),
    (EMPTY, 0, 2, 0, 1, 0, 3),
    ([[0, 1, 1], [0, 0, 1], [0, 0, 0]], 1, 0, 0, 2 / 3, 1, 0),
    ([[0, 0, 1], [0, 0, 0], [0, 0, 0]], 1, 2, 0, 0, 0, 2),
    ([[0, 0, 0], [1, 0, 1], [0, 0, 0]], 0, 0, 1, 0.5, 0.5, 3),
    ([[0, 1, 0], [0, 0, 0], [0, 1, 0]], 0, 0, 1, 0.5, 0.5, 3),
)
def test_three_variables_by_hand(estimate, extra, missing, reversed_, precision, recall, sid):
    assert metrics.edge_differences(estimate, CHAIN) == (extra, missing, reversed_)
    assert metrics.shd(estimate, CHAIN) == extra + missing + reversed_
    assert metrics.edge_scores(estimate, CHAIN)[:2] == pytest.approx((precision, recall))
    assert metrics.sid(estimate, CHAIN) == sid


def test_skeleton_by_hand():
    estimate = [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert metrics.edge_scores(estimate, CHAIN) == (0, 0, 0, 1, 0)
    assert metrics.skeleton_scores(estimate, CHAIN) == (0.5, 0.5, 0.5, 0.5, 0.5)
    assert metrics.skeleton_scores(UNDIRECTED, CHAIN) == (1, 1, 1, 0, 1)
    assert metrics.sid([[0]], [[0]]) == metrics.shd([[0]], [[0]]) == 0


def test_undirected_edges_strictly_and_favourably():
    assert metrics.shd(UNDIRECTED, CHAIN) == 2
    assert metrics.shd(UNDIRECTED, CHAIN, undirected="favourable") == 0
    assert metrics.shd(CHAIN, UNDIRECTED, undirected="favourable") == 2  # the estimate claims more than is true
    assert metrics.shd(UNDIRECTED, UNDIRECTED) == 0
    half = np.array([[0, 1, 0], [1, 0, 1], [1, 0, 0]])  # 0 - 1, 1 -> 2, and an extra 2 -> 0
    assert metrics.edge_differences(half, CHAIN) == (1, 0, 1)
    assert metrics.edge_differences(half, CHAIN, undirected="favourable") == (1, 0, 0)
    extra = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  # an undirected edge that is not there counts either way
    assert metrics.edge_differences(extra, CHAIN, undirected="favourable") == (1, 2, 0)


def test_precision_recall_curve_by_hand():
    weights = np.array([[0, -0.9, 0.5], [0, 0, 0.5], [0.2, 0, 0]])
    curve = metrics.precision_recall_curve(weights, CHAIN)
    np.testing.assert_allclose(curve.thresholds, [0.9, 0.5, 0.2, 0.0])
    np.testing.assert_allclose(curve.precision, [1, 2 / 3, 2 / 4, 2 / 6])
    np.testing.assert_allclose(curve.recall, [0.5, 1, 1, 1])
    assert metrics.average_precision(weights, CHAIN) == pytest.approx(0.5 + 0.5 * 2 / 3)


@pytest.mark.slow
def test_relabelling_both_graphs_and_scaling_signs_change_nothing():
    rng = np.random.default_rng(5)
    for weights, truth in weighted_pairs(11, seed=5):  # of 2 to 12 variables
        order = rng.permutation(len(truth))
        permuted = np.ix_(order, order)
        expected = metrics.evaluate(weights, truth)
        assert metrics.evaluate(weights[permuted], truth[permuted]) == pytest.approx(expected)
        assert metrics.evaluate(-weights, 3 * truth) == pytest.approx(expected)


def test_evaluate_holds_what_the_single_functions_return():
    rng = np.random.default_rng(7)
    truth = random_dag(rng, 6, 0.5)
    weights = random_dag(rng, 6, 0.6) * rng.uniform(0.1, 1, (6, 6))
    before = weights.copy(), truth.copy()
    found = metrics.evaluate(weights, truth, threshold=0.5)
    np.testing.assert_array_equal(weights, before[0])
    np.testing.assert_array_equal(truth, before[1])
    graph = np.where(weights >= 0.5, weights, 0)
    expected = {
        "n_edges": (graph > 0).sum(),
        "n_true_edges": truth.sum(),
        "shd": found["extra"] + found["missing"] + found["reversed"],
        "sid": metrics.sid(graph, truth),
        "f1": metrics.edge_scores(graph, truth).f1,
        "skeleton_fdr": metrics.skeleton_scores(graph, truth).fdr,
        "average_precision": metrics.average_precision(weights, truth),
    }
    assert {name: found[name] for name in expected} == expected
    assert found["shd"] == metrics.shd(graph, truth)
    assert json.loads(json.dumps(found)) == found


def test_where_there_is_no_sid(monkeypatch):
    found = metrics.evaluate(UNDIRECTED, CHAIN)
    assert (found["sid"], found["shd"], found["shd_favourable"]) == (None, 2, 0)
    monkeypatch.setitem(sys.modules, "gadjid", None)
    assert metrics.evaluate(CHAIN, CHAIN)["sid"] is None
    with pytest.raises(MissingExtraError, match=r"icdh\[metrics\]"):
        metrics.sid(CHAIN, CHAIN)


def test_graphs_with_labels_are_matched_by_label():
    estimate = nx.DiGraph()
    estimate.add_nodes_from("cba")
    estimate.add_weighted_edges_from([("a", "b", 0.9), ("c", "b", 0.3)])
    assert metrics.edge_differences(estimate, CHAIN_OF) == (0, 0, 1)
    frame = pd.DataFrame(CHAIN, index=list("abc"), columns=list("abc"))
    assert metrics.shd(frame.loc[list("bca"), list("bca")], CHAIN_OF) == metrics.shd(CHAIN, CHAIN_OF) == 0
    assert metrics.average_precision(estimate, CHAIN_OF) == pytest.approx(0.5 + 0.5 * 2 / 6)
    assert metrics.shd(nx.Graph([("a", "b"), ("b", "c")]), CHAIN_OF, undirected="favourable") == 0


CHAIN_OF = nx.DiGraph([("a", "b"), ("b", "c")])


@pytest.mark.parametrize("metric", [*DISTANCES, *NEED_EDGES])
@cases(
    ("estimate", "truth", "error", "message"),
    (CHAIN[:2], CHAIN, ValueError, r"estimate must be a square matrix.*\(2, 3\)"),
    (CHAIN, CHAIN[0], ValueError, "truth must be a square matrix"),
    (np.zeros((0, 0)), CHAIN, ValueError, "estimate has no variables"),
    (CHAIN, nx.DiGraph(), ValueError, "truth has no variables"),
    (np.zeros((4, 4)), CHAIN, ValueError, "estimate has 4 variables and truth 3"),
    (CHAIN * np.nan, CHAIN, ValueError, "estimate holds NaN"),
    (CHAIN, np.eye(3), ValueError, "truth has an edge from variable 0 to itself"),
    (CHAIN.astype(str), CHAIN, TypeError, "estimate has type"),
    (CHAIN * 1j, CHAIN, TypeError, "estimate is complex"),
    (nx.DiGraph([("a", "b"), ("b", "d")]), CHAIN_OF, ValueError, "estimate has a variable 'd' that truth has not"),
    (pd.DataFrame(CHAIN, columns=list("abc")), CHAIN, ValueError, "estimate must have the same labels"),
)
def test_malformed_graphs_are_refused(metric, estimate, truth, error, message):
    with pytest.raises(error, match=message):
        metric(estimate, truth)


CYCLE = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


@cases(
    ("call", "message"),
    (lambda: metrics.shd(CHAIN, CHAIN, undirected="kindly"), "'strict', 'favourable'"),
    (lambda: metrics.evaluate(CHAIN, CHAIN, threshold=-1), "threshold must be at least 0"),
    # Cycles never reach gadjid, and a truth without edges has no rates.
    (lambda: metrics.sid(CYCLE, CHAIN), "estimate has a cycle"),
    (lambda: metrics.sid(CHAIN, CYCLE), "truth has a cycle"),
    (lambda: metrics.evaluate(CHAIN, CYCLE), "truth has a cycle"),
    *((lambda metric=metric: metric(CHAIN, EMPTY), "truth has no edges") for metric in NEED_EDGES),
)
def test_impossible_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
