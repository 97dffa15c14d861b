"""Search over orders, that of DirectLiNGAM, and searches over graphs that begin at what was found."""

import numpy as np
import pytest
from helpers import all_families, all_graphs, cases, family_evidence, free, recorded, standardised
from support.estimators import GraphSearch
from support.families import LinearGains, _lead, _standardised, lingam_order
from support.search import Search, _Orders, graph_of_order, parents_matrix, search_orders, toggled

from icdh import HNMSearch, simulate
from icdh.knowledge import EdgeRules

N = 4


def linear_table(seed, variables=N, rows=300):
    """Standardised linear Gaussian variables in a random order, one a row."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(variables, variables)) * (rng.random((variables, variables)) < 0.7), 1)
    values = np.linalg.solve(np.eye(variables) - weights.T, rng.normal(size=(variables, rows)))
    return standardised(*values[rng.permutation(variables)])


def linear_gains(values, **options):
    return LinearGains(family_evidence(np.ascontiguousarray(values), **options).families)


def gains_of(scores):
    def gains(node, parents):
        changed = [scores.get((node, toggled(parents, k)), np.inf) for k in range(N)]
        return scores[node, parents] - np.array(changed)

    return gains


def rules_of(*required):
    must = np.zeros((N, N), dtype=bool)
    for edge in required:
        must[edge] = True
    return EdgeRules.of(np.eye(N, dtype=bool), must)


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


def searched(gains, start=((),) * N, rules=NOTHING, max_parents=N):
    return search_orders(gains, start, rules, max_parents, n_swaps=20, most_at_once=max_parents)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_on_linear_tables_the_best_of_all_graphs_is_found(seed):
    gains = linear_gains(linear_table(seed))
    found = searched(gains)
    assert total(gains, found) == pytest.approx(min(total(gains, graph) for graph in all_graphs(N)), abs=1e-5)


def test_what_is_forbidden_required_or_too_much_is_kept():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        gains = gains_of({family: rng.normal() for family in all_families(N)})
        required = np.triu(rng.random((N, N)) < 0.3, 1)
        order = rng.permutation(N)
        required = required[np.ix_(order, order)]
        forbidden = (rng.random((N, N)) < 0.3) & ~required | NOTHING.forbidden
        start = tuple(tuple(np.flatnonzero(causes).tolist()) for causes in required.T)
        edges = parents_matrix(searched(gains, start, EdgeRules(forbidden, required), max_parents=1))
        assert edges[required].all()
        assert not edges[forbidden].any()
        assert (edges.sum(axis=0) <= np.maximum(required.sum(axis=0), 1)).all()
        assert not np.linalg.matrix_power(edges.astype(float), N).any()


def test_a_variable_moves_to_the_place_of_the_best_graph():
    """Where sums of single gains are the scores, families do not depend on the way to them."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        alone = rng.normal(size=(N, N))
        scores = {(node, parents): -alone[node, list(parents)].sum() for node, parents in all_families(N)}
        search, order = _Orders(gains_of(scores), NOTHING, N), rng.permutation(N).tolist()
        first, others = search.along(order, NOTHING.required_parents), order[:1] + order[2:]
        ends = [search.along([*others[:k], order[1], *others[k:]], NOTHING.required_parents) for k in range(N)]
        best = min(ends, key=lambda end: end.score)
        moved = search.moved(first, order[1])
        if best.score > first.score - 1e-3:
            assert moved is None
        else:
            assert moved.score == pytest.approx(best.score, abs=1e-5)
            assert moved.parents == search.along(moved.order, moved.parents).parents == best.parents


def test_the_score_of_an_arrangement_is_that_of_its_graph_after_every_move():
    gains = linear_gains(linear_table(1, variables=8))
    search, rng = _Orders(gains, free(8), 8), np.random.default_rng(0)
    arrangement, moves = search.along(rng.permutation(8).tolist(), free(8).required_parents), 0
    for variable in [*range(8)] * 4:
        if (better := search.moved(arrangement, variable)) is not None:
            arrangement, moves = search.shrunk(better, 8), moves + 1
        assert arrangement.score == pytest.approx(total(gains, arrangement.parents), abs=1e-4)
        place = np.argsort(arrangement.order)
        assert all(place[k] < place[node] for node, own in enumerate(arrangement.parents) for k in own)
    assert moves > 2


def test_parents_that_no_longer_pay_leave():
    """The first parent to enter, a sum of two others, is not needed beside them."""
    x, z, e, f = np.random.default_rng(0).normal(size=(4, 400))
    values = np.stack([x + z + 0.5 * e, x, z, x + z + 0.7 * f])
    gains = linear_gains(values / values.std(axis=1, keepdims=True))
    assert graph_of_order(gains, [3, 0, 1, 2], NOTHING, N)[0] == (3,)
    assert graph_of_order(gains, [3, 2, 1, 0], NOTHING, N)[0] == (1, 2)


def test_parents_that_pay_only_together_are_found():
    """Each alone is uncorrelated with the difference that both make."""
    a, b, c, e = np.random.default_rng(0).normal(size=(4, 2000))
    effect, allowed = b + 0.1 * c + 0.3 * e, np.zeros((N, N), dtype=bool)
    allowed[1:, 0] = True
    gains, rules = (
        linear_gains(standardised(effect, a, a + 0.05 * b, c)),
        EdgeRules.of(~allowed, rules_of((3, 0)).required),
    )
    start = ((3,), (), (), ())
    searches = (
        lambda most: search_orders(gains, start, rules, N, most_at_once=most),
        lambda most: graph_of_order(gains, [3, 2, 1, 0], rules, N, most_at_once=most),
    )
    for search in searches:
        assert search(0)[0] == (3,)
        assert search(N)[0] == (1, 2, 3)


def test_swapped_orders_put_required_causes_first():
    search, rng = _Orders(None, rules_of((3, 0), (0, 2)), N), np.random.default_rng(0)
    orders = [search.swapped([3, 0, 2, 1], rng) for _ in range(30)]
    assert all(order.index(3) < order.index(0) < order.index(2) for order in orders)
    assert len({tuple(order) for order in orders}) == 4
    free_orders = np.array([_Orders(None, NOTHING, N).swapped([*range(N)], rng) for _ in range(30)])
    assert (free_orders != np.arange(N)).sum(axis=1).max() > 2  # of at least two pairs


def test_variables_that_swap_places_lead_out_of_a_local_optimum():
    better = 0
    for seed in range(6):
        gains = linear_gains(linear_table(seed, variables=10))
        alone, swapped = (search_orders(gains, ((),) * 10, free(10), 10, n_swaps=count) for count in (0, 20))
        assert total(gains, swapped) < total(gains, alone) + 1e-4
        better += total(gains, swapped) < total(gains, alone) - 1.0
    assert better > 0


def test_orders_with_swaps_are_tried_so_often_in_a_row_in_vain(monkeypatch):
    swapped = recorded(monkeypatch, _Orders, "swapped")
    for count in (0, 3):
        search_orders(lambda node, parents: np.zeros(N), ((),) * N, NOTHING, N, n_swaps=count)
        assert len(swapped) == count


def test_an_order_against_what_is_required_has_no_graph():
    gains, rules = linear_gains(linear_table(0)), rules_of((3, 0))
    assert graph_of_order(gains, [0, 1, 2, 3], rules, N) is None
    assert 3 in graph_of_order(gains, [3, 1, 2, 0], rules, N)[0]


def test_linear_gaussian_tables_give_a_graph_of_the_true_class():
    """Of the same class and no worse than the truth. A climb alone ends 28 nats above it, with 25 edges for 20."""
    graph = simulate.erdos_renyi(10, 2, random_state=3)
    data = simulate.simulate_sem(graph, 500, mechanism="linear", noise="homo-nv", random_state=3)
    model = HNMSearch(n_restarts=1, column_transform="none").fit(data.X)
    found, learned = model.found_graph(), model.adjacency_matrix_ != 0
    place = {int(column): node for node, column in enumerate(found.table.order)}
    truth = [(place[j], tuple(sorted(place[int(i)] for i in np.flatnonzero(data.adjacency[:, j])))) for j in range(10)]
    assert sum(found.scores(list(enumerate(found.graph)))) <= sum(found.scores(truth)) + 1e-6
    np.testing.assert_array_equal(learned | learned.T, (data.adjacency != 0) | (data.adjacency != 0).T)


def non_gaussian_table(seed, distribution, rows=200):
    """Return a table of a dense linear graph, shape (M, N), its columns in a random order, and the true graph."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(0.5, 1.5, size=(5, 5)) * rng.choice([-1.0, 1.0], size=(5, 5)), 1)
    noise = getattr(rng, distribution)(size=(rows, 5))
    order = rng.permutation(5)
    return (noise @ np.linalg.inv(np.eye(5) - weights))[:, order], weights[np.ix_(order, order)] != 0


def negentropy(u):
    """By Hyvärinen, 1997, with the constants of its equation 16."""
    u = (u - u.mean()) / u.std()
    bell = np.exp(-0.5 * u**2)
    odd, even = np.mean(u * bell), np.mean(bell) - np.sqrt(0.5)
    return 36.0 / (8.0 * np.sqrt(3.0) - 9.0) * odd**2 + 24.0 / (16.0 * np.sqrt(3.0) - 27.0) * even**2


def test_the_lead_of_direct_lingam_is_the_difference_of_the_negentropies_of_both_directions():
    x = _standardised(np.random.default_rng(0).exponential(size=(3, 400)).cumsum(axis=0), None)
    lead = _lead(x, None)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        r = np.mean(x[i] * x[j])
        forward = negentropy(x[i]) + negentropy(x[j] - r * x[i])
        assert lead[i, j] == pytest.approx(forward - negentropy(x[j]) - negentropy(x[i] - r * x[j]))
    assert np.abs(lead + lead.T).max() < 1e-12


@cases(
    ("distribution", "rows", "most"),
    ("uniform", 2000, 0),
    ("exponential", 2000, 0),
    ("laplace", 2000, 5),
    ("laplace", 200, 18),  # by cumulants of third and fourth order 25
)
def test_causes_come_first_where_noise_is_not_gaussian(distribution, rows, most):
    against = 0
    for seed in range(20):
        table, truth = non_gaussian_table(seed, distribution, rows)
        place = np.argsort(lingam_order(_standardised(table.T, None), None))
        against += sum(place[i] > place[j] for i, j in np.argwhere(truth))
    assert against <= most  # of 200 edges


def test_copies_constants_and_single_variables_have_an_order():
    x = np.random.default_rng(1).normal(size=50)
    assert lingam_order(np.zeros((0, 5)), None) == []
    assert lingam_order(x[np.newaxis], None) == [0]
    assert sorted(lingam_order(np.array([x, x, np.zeros(50), -x]), None)) == [0, 1, 2, 3]


@pytest.mark.slow
def test_few_rows_of_uniform_noise_tell_the_direction_of_linear_effects():
    wrong = 0
    for seed in range(6):
        table, truth = non_gaussian_table(seed, "uniform")
        wrong += int(((HNMSearch().fit(table).adjacency_matrix_ != 0) & truth.T).sum())
    assert wrong <= 4  # 13 without a start along the order


@pytest.mark.parametrize("is_far", [False, True])
def test_a_start_far_behind_the_graph_found_is_not_climbed_from(monkeypatch, is_far):
    x, e = np.random.default_rng(0).laplace(size=(2, 500))
    starts, start = [], ((), ()) if is_far else ((), (0,))
    monkeypatch.setattr(GraphSearch, "_lingam_graph", lambda self, scores: start)
    monkeypatch.setattr(Search, "climb_from", lambda self, start: starts.append(start))
    HNMSearch(noise_distribution="free", column_transform="none").fit(np.column_stack([x, x + e]))
    assert (start in starts) != is_far
