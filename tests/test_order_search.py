"""Search over orders, and searches over graphs that begin at what it found."""

import itertools

import numpy as np
import pytest
from helpers import family_evidence, free
from naive import all_dags

from icdh import HNMSearch, simulate
from icdh._node_model.without_fits import LinearGains
from icdh.knowledge import EdgeRules
from icdh.search.escapes import greedy_search
from icdh.search.moves import parents_matrix, toggled
from icdh.search.order_search import Choices, _Orders, graph_of_order, search_orders

N = 4


def linear_table(seed, variables=N, rows=300):
    """Standardised linear Gaussian variables in a random order, one a row."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(variables, variables)) * (rng.random((variables, variables)) < 0.7), 1)
    values = np.linalg.solve(np.eye(variables) - weights.T, rng.normal(size=(variables, rows)))[
        rng.permutation(variables)
    ]
    return (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)


def linear_gains(values, **options):
    return LinearGains(family_evidence(np.ascontiguousarray(values), **options).families)


def random_gains(seed, variables=N):
    """Gains of a score with a random number for every family."""
    scores = {}
    rng = np.random.default_rng(seed)
    for node in range(variables):
        for size in range(variables):
            for parents in itertools.combinations([k for k in range(variables) if k != node], size):
                scores[node, parents] = rng.normal()

    def gains(node, parents):
        changed = [scores.get((node, toggled(parents, k)), np.inf) for k in range(variables)]
        return scores[node, parents] - np.array(changed)

    return gains, scores


def empty(variables=N):
    return ((),) * variables


def total(gains, graph):
    """The score of a graph, that of no edges taken as zero."""
    score = 0.0
    for node, parents in enumerate(graph):
        grown = ()
        for parent in parents:
            score -= gains(node, grown)[parent]
            grown = toggled(grown, parent)
    return score


NOTHING = free(N)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_on_linear_tables_the_best_of_all_graphs_is_found(seed):
    gains = linear_gains(linear_table(seed))
    found = search_orders(gains, empty(), NOTHING, max_parents=N)
    graphs = [tuple(tuple(np.flatnonzero(causes).tolist()) for causes in graph.T) for graph in all_dags(N)]
    assert total(gains, found) == pytest.approx(min(total(gains, graph) for graph in graphs), abs=1e-6)


def test_what_is_forbidden_required_or_too_much_is_kept():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        gains, _ = random_gains(seed)
        required = np.triu(rng.random((N, N)) < 0.3, 1)
        order = rng.permutation(N)
        required = required[np.ix_(order, order)]
        forbidden = (rng.random((N, N)) < 0.3) & ~required | NOTHING.forbidden
        start = tuple(tuple(np.flatnonzero(causes).tolist()) for causes in required.T)
        found = search_orders(gains, start, EdgeRules(forbidden, required), max_parents=1)
        edges = parents_matrix(found)
        assert edges[required].all()
        assert not edges[forbidden].any()
        assert (edges.sum(axis=0) <= np.maximum(required.sum(axis=0), 1)).all()
        assert not np.linalg.matrix_power(edges.astype(float), N).any()


def test_a_variable_moves_to_the_place_of_the_best_graph():
    for seed in range(10):
        gains, scores = random_gains(seed)
        search = _Orders(gains, NOTHING, N)
        order = list(np.random.default_rng(seed).permutation(N).tolist())

        def score(order, search=search, scores=scores):
            return sum(scores[own] for own in enumerate(search.graph(order)))

        others = order[:1] + order[2:]
        totals = [score([*others[:k], order[1], *others[k:]]) for k in range(N)]
        place, gain = search.best_place(order, order[1])
        assert place == np.argmin(totals)
        assert gain == pytest.approx(score(order) - min(totals))


def test_parents_that_no_longer_pay_leave():
    """The first parent to enter, a sum of two others, is not needed beside them."""
    rng = np.random.default_rng(0)
    x, z, e, f = rng.normal(size=(4, 400))
    values = np.stack([x + z + 0.5 * e, x, z, x + z + 0.7 * f])
    values /= values.std(axis=1, keepdims=True)
    search = _Orders(linear_gains(values), NOTHING, N)
    assert search.family(0, 0b1000)[0] == (3,)
    assert search.family(0, 0b1110)[0] == (1, 2)


def test_a_parent_that_others_make_superfluous_leaves_with_what_that_gains():
    scores = {(): 0.0, (1,): -3.0, (2,): -1.0, (3,): -1.0, (1, 2): -5.0, (1, 3): -4.0, (2, 3): -8.0, (1, 2, 3): -7.0}

    def gains(node, parents):
        return scores[parents] - np.array([scores.get(toggled(parents, k), np.inf) for k in range(4)])

    assert Choices(gains).family(0, 0b1111, (), 3) == ((2, 3), -8.0)


def test_random_orders_put_required_causes_first():
    required = np.zeros((N, N), dtype=bool)
    required[[3, 0], [0, 2]] = True
    search, rng = _Orders(None, EdgeRules.of(np.eye(N, dtype=bool), required), N), np.random.default_rng(0)
    orders = [search.random_order(rng) for _ in range(30)]
    assert all(order.index(3) < order.index(0) < order.index(2) for order in orders)
    assert len({tuple(order) for order in orders}) == 4


def test_choices_are_shared_by_searches_with_other_rules_and_leave_the_graphs_as_they_are():
    gains, asked = linear_gains(linear_table(0)), []
    choices = Choices(lambda *family: asked.append(family) or gains(*family))
    turned = []
    for pair in ((0, 1), (1, 0), (2, 3)):
        required = np.zeros((N, N), dtype=bool)
        required[pair] = True
        rules = EdgeRules.of(np.eye(N, dtype=bool) | required.T, required)
        start = tuple((pair[0],) if node == pair[1] else () for node in range(N))
        turned.append(search_orders(choices, start, rules, N))
        assert turned[-1] == search_orders(gains, start, rules, N)
    assert len(set(turned)) > 1
    assert len(asked) == len(set(asked))


def test_an_order_against_what_is_required_has_no_graph():
    gains, required = linear_gains(linear_table(0)), np.zeros((N, N), dtype=bool)
    required[3, 0] = True
    rules = EdgeRules.of(np.eye(N, dtype=bool), required)
    assert graph_of_order(gains, [0, 1, 2, 3], rules, N) is None
    assert 3 in graph_of_order(gains, [3, 1, 2, 0], rules, N)[0]


@pytest.mark.slow
def test_another_start_is_taken_where_it_ends_better_and_the_moves_lead_there():
    better = 0
    for seed in range(8):
        values = linear_table(seed, 6, 400)
        scores = family_evidence(values)
        best = search_orders(scores.linear_gains, empty(6), free(6), max_parents=6)
        alone = greedy_search(family_evidence(values), free(6))
        both = greedy_search(scores, free(6), other_start=lambda graph, best=best: best)
        assert sum(scores(list(enumerate(both.graph)))) <= sum(scores(list(enumerate(best)))) + 1e-6
        better += sum(scores(list(enumerate(both.graph)))) < sum(scores(list(enumerate(alone.graph)))) - 1e-3
        graph = list(empty(6))
        for kind, cause, effect, *_ in both.moves:
            if kind == "detach":
                graph[effect] = ()
                continue
            graph[effect] = toggled(graph[effect], cause)
            if kind == "reverse":
                graph[cause] = toggled(graph[cause], effect)
        assert tuple(graph) == both.graph
    assert better > 0


def test_linear_gaussian_tables_give_a_graph_of_the_true_class():
    """Of the same class and no worse than the truth. A climb alone ends 28 nats above it, with 25 edges for 20."""
    graph = simulate.erdos_renyi(10, 2, random_state=3)
    data = simulate.simulate_sem(graph, 500, mechanism="linear", noise="homo-nv", random_state=3)
    model = HNMSearch(n_restarts=1, column_transform="none").fit(data.X)
    found = model.found_graph()
    place = {int(column): node for node, column in enumerate(found.table.order)}
    causes = [[place[int(i)] for i in np.flatnonzero(data.adjacency[:, j])] for j in range(10)]
    truth = [(place[j], tuple(sorted(own))) for j, own in enumerate(causes)]
    assert sum(found.scores(list(enumerate(found.graph)))) <= sum(found.scores(truth)) + 1e-6
    skeleton = (model.adjacency_matrix_ != 0) | (model.adjacency_matrix_ != 0).T
    np.testing.assert_array_equal(skeleton, (data.adjacency != 0) | (data.adjacency != 0).T)
