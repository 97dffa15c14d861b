import itertools

import networkx as nx
import numpy as np
import pytest

from icdh import graphs
from icdh.graphs import break_cycles, causal_order, edge_list, is_dag, threshold, to_dot, to_networkx


def random_graph(rng, n, density=0.4):
    A = rng.uniform(0.1, 2.0, (n, n)) * (rng.random((n, n)) < density) * rng.choice([-1, 1], (n, n))
    np.fill_diagonal(A, 0.0)
    return A


CHAIN = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # a -> b, and c apart


def test_threshold_keeps_edges_at_the_threshold_and_leaves_its_input():
    A = np.array([[0.0, 0.3, -0.5], [0.29, 0.0, 0.0], [0.0, 0.0, 0.0]])
    before = A.copy()
    np.testing.assert_array_equal(threshold(A, 0.3), [[0.0, 0.3, -0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(A, before)


def test_is_dag_agrees_with_networkx_and_a_self_loop_is_a_cycle():
    rng = np.random.default_rng(0)
    matrices = [random_graph(rng, int(rng.integers(1, 7)), 0.25) for _ in range(300)]
    verdicts = [is_dag(A) for A in matrices]
    assert verdicts == [nx.is_directed_acyclic_graph(nx.DiGraph(A)) for A in matrices]
    assert 50 < sum(verdicts) < 250
    assert [is_dag(A) for A in (np.ones((1, 1)), np.zeros((1, 1)), np.zeros((0, 0)))] == [False, True, True]


def test_causal_order_puts_causes_first_and_the_smallest_index_where_it_can():
    rng = np.random.default_rng(1)
    for _ in range(50):
        n = int(rng.integers(1, 8))
        A, p = np.triu(random_graph(rng, n), 1), rng.permutation(n)
        A = A[np.ix_(p, p)]
        order = causal_order(A)
        assert sorted(order) == list(range(n))
        assert all(order.index(i) < order.index(j) for i, j in np.argwhere(A))
    assert causal_order(np.zeros((4, 4))) == [0, 1, 2, 3]


def test_causal_order_names_a_cycle():
    A = np.zeros((5, 5))
    A[[0, 1, 2, 3, 3], [1, 2, 3, 1, 4]] = 1.0
    with pytest.raises(ValueError, match=r"b -> c -> d -> b|c -> d -> b -> c|d -> b -> c -> d"):
        causal_order(A, list("abcde"))
    with pytest.raises(ValueError, match="x0 -> x0"):
        causal_order(np.array([[1.0]]))


def test_break_cycles_removes_what_is_the_weakest_on_a_cycle_and_no_more():
    rng, removed_some = np.random.default_rng(2), 0
    for _ in range(100):
        A = random_graph(rng, 6)
        dag, removed, smallest = break_cycles(A)
        assert is_dag(dag)
        np.testing.assert_array_equal(dag[dag != 0], A[dag != 0])
        assert {(i, j) for i, j in np.argwhere((A != 0) & (dag == 0)).tolist()} == set(removed)
        for i, j in removed:
            assert nx.has_path(nx.DiGraph(threshold(dag, np.nextafter(abs(A[i, j]), np.inf))), j, i)
        assert is_dag(threshold(A, smallest))
        assert smallest == 0.0 if not removed else not is_dag(threshold(A, np.nextafter(smallest, 0.0)))
        removed_some += bool(removed)
    assert removed_some > 50


def test_break_cycles_by_hand():
    dag, removed, smallest = break_cycles(np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.5, 0.0]]))
    np.testing.assert_array_equal(dag, [[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    assert removed == [(2, 0), (2, 1)]
    assert smallest == pytest.approx(1.0)


def test_exports_have_the_strongest_edge_first_every_variable_and_quoted_names():
    A = np.array([[0.0, 1.0, -3.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    assert edge_list(A, ["a", "b", "c"]) == [("a", "c", -3.0), ("b", "c", 2.0), ("a", "b", 1.0)]
    graph = to_networkx(CHAIN, ["a", "b", "c"])
    assert list(graph.nodes) == ["a", "b", "c"]
    assert list(graph.edges(data="weight")) == [("a", "b", 2.0)]
    dot = 'digraph {\n  "the \\"first\\"";\n  "b\\\\";\n  "the \\"first\\"" -> "b\\\\" [label="2"];\n}\n'
    assert to_dot(CHAIN[:2, :2], ['the "first"', "b\\"]) == dot


@pytest.mark.parametrize("function", [is_dag, causal_order, break_cycles, lambda A: threshold(A, 0.1)])
@pytest.mark.parametrize(
    ("A", "message"),
    [(np.zeros((2, 3)), "square"), (np.zeros(4), "square"), (CHAIN * np.nan, "NaN"), (CHAIN + np.inf, "infinity")],
)
def test_what_is_no_adjacency_matrix_is_refused(function, A, message):
    with pytest.raises(ValueError, match=message):
        function(A)


def test_names_are_optional_and_indices_plain_integers():
    order = causal_order(np.zeros((2, 2)))
    assert all(type(i) is int for i in itertools.chain(order, *graphs.strongest_first(np.ones((2, 2)))))
