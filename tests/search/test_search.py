"""Greedy search over graphs: moves, escapes, ties, knowledge, and what turning an arrow loses."""

import itertools

import numpy as np
import pytest
from helpers import all_families, all_graphs, cases, equivalence_class, free, replayed
from support.search import (
    FAR,
    FIRST_BATCH,
    KINDS,
    LARGEST_BATCH,
    MIN_GAIN,
    RESOLUTION,
    Climber,
    FamilyScores,
    SearchResult,
    _turned,
    changed_families,
    direction_losses,
    first_largest,
    greedy_search,
    price_of_width,
    recover,
    reversible_edges,
    toggled,
    turn_while_it_gains,
    with_ancestors,
    with_source,
)
from support.search import legal_moves as arrays_of_legal_moves
from support.utils import OutOfTime

from icdh import graphs
from icdh.graphs import reachability
from icdh.knowledge import EdgeRules

N = 4


class Table(FamilyScores):
    """Scores from a table, better ones of some families from a second table once they were refined."""

    def __init__(self, scores, refined=None):
        self.scores, self.refined = dict(scores), refined or {}

    def __call__(self, families):
        return [self.scores[family] for family in families]

    def gain_estimates(self, families):
        return np.full((len(families), 1 + max((node for node, _ in self.scores), default=N - 1)), np.inf)

    def polish(self, families):
        self.scores.update({family: self.refined[family] for family in families if family in self.refined})


def per_parent(price):
    """Scores of which each parent costs the same."""
    return {family: price * len(family[1]) for family in all_families(N)}


def trapped(by_cause, of_one, of_both):
    """Scores of three nodes: 2 is best explained by 0 and 1 together; every step away from 2 -> 0, 2 -> 1 loses."""
    scores = {family: 0.1 * len(family[1]) for family in all_families(3)}
    return scores | {(0, (2,)): by_cause, (1, (2,)): by_cause, (2, (0,)): of_one, (2, (0, 1)): of_both}


def adjacency(graph):
    A = np.zeros((len(graph), len(graph)))
    for node, parents in enumerate(graph):
        A[list(parents), node] = 1.0
    return A


def random_graphs(count, n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        order = rng.permutation(n)
        A = np.triu(rng.random((n, n)) < 0.4, 1)[np.ix_(np.argsort(order), np.argsort(order))]
        yield tuple(tuple(int(k) for k in np.flatnonzero(A[:, node])) for node in range(n))


def gaussian_scores(seed):
    """BIC of linear models on data from a random DAG: a score as correlated as real ones are."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(N, N)) * (rng.random((N, N)) < 0.6), 1)
    noise = rng.uniform(0.3, 1.5, N) * rng.laplace(size=(150, N))
    X = (noise @ np.linalg.inv(np.eye(N) - weights))[:, rng.permutation(N)]
    X -= X.mean(axis=0)
    scores = {}
    for node, parents in all_families(N):
        x = X[:, list(parents)]
        residual = X[:, node] - x @ np.linalg.lstsq(x, X[:, node], rcond=None)[0]
        scores[node, parents] = 75 * np.log(residual @ residual) + 2.5 * len(parents)
    return scores


def legal_moves(graph, rules, max_parents, among=True):
    """The legal moves of a graph; edges to insert only where ``among`` says so."""
    insertions = np.nonzero(among & (adjacency(graph) == 0))
    moves = arrays_of_legal_moves(graph, rules, max_parents, insertions, with_ancestors(graph))
    return [(KINDS[kind], int(i), int(j)) for kind, i, j in zip(*moves, strict=True)]


def total(scores, graph):
    return sum(scores[family] for family in enumerate(graph))


def test_what_reaches_a_node_agrees_with_matrix_powers_from_the_beginning_and_from_another_graph():
    for before, graph in itertools.pairwise(random_graphs(50, 6)):
        reached = sum(np.linalg.matrix_power(adjacency(graph), k) for k in range(6)) > 0
        np.testing.assert_array_equal(reachability(graph), reached)
        exact, known = [sum(1 << int(i) for i in np.flatnonzero(own)) for own in reached.T], with_ancestors(before)
        assert with_ancestors(graph) == with_ancestors(graph, (before, known)) == exact
        assert known == with_ancestors(before)


def test_hopes_that_hardly_differ_from_a_tie_end_a_climb():
    """The largest estimate is just above what counts as a tie, and others, before it, just below."""

    class Hopes(Table):
        asked = 0

        def gain_estimates(self, families):
            return [tie * np.array([0.5, 1.01, 0.5])] * len(families)

        def __call__(self, families):
            self.asked += 1
            assert self.asked < 1000
            return super().__call__(families)

    scores = {(node, parents): 1e5 for node, parents in all_families(3)}
    tie = RESOLUTION * 3e5
    assert Climber(Hopes(scores), free(3), 8).climb_once(((), (), ())) == (((), (), ()), [])


@pytest.mark.parametrize(("max_parents", "n", "count"), [(2, 5, 30), (8, 5, 30), (2, 19, 3)])
def test_legal_moves_are_exactly_those_that_give_allowed_dags(max_parents, n, count):
    rng = np.random.default_rng(1)
    for graph in random_graphs(count, n):
        graph = tuple(parents[:max_parents] for parents in graph)
        rules, expected, A = EdgeRules.of((rng.random((n, n)) < 0.2) | np.eye(n, dtype=bool)), set(), adjacency(graph)
        for i, j in itertools.permutations(range(n), 2):
            for kind in ("delete", "reverse") if A[i, j] else ("insert",):
                changed = A.copy()
                changed[i, j], changed[j, i] = kind == "insert", kind == "reverse" or A[j, i]
                new = (changed > A) & rules.forbidden
                if graphs.is_dag(changed) and not new.any() and changed.sum(axis=0).max() <= max_parents:
                    expected.add((kind, i, j))
        found = legal_moves(graph, rules, max_parents)
        assert set(found) == expected
        assert found == sorted(found, key=lambda move: (KINDS.index(move[0]), *move[1:]))
        some = rng.random((n, n)) < 0.5
        among = [move for move in found if move[0] != "insert" or some[move[1:]]]
        assert legal_moves(graph, rules, max_parents, some) == among


def test_search_finds_the_best_of_all_dags_of_four_nodes():
    """The search is greedy: the optimum is found nearly always, and never beaten."""
    found = 0
    for scores in map(gaussian_scores, range(60)):
        best = min(total(scores, graph) for graph in all_graphs(N))
        graph, moves, *_ = greedy_search(Table(scores), free(N))
        value = total(scores, graph)
        assert value >= best - 1e-9
        assert sum(move.gain for move in moves) == pytest.approx(total(scores, ((),) * N) - value)
        found += value <= best + 1e-9
    assert len(all_graphs(N)) == 543
    assert found >= 54


def test_the_score_falls_between_two_graphs_by_the_difference_of_their_totals():
    climber = Climber(Table(gaussian_scores(0)), free(N), 8)
    for before, after in itertools.pairwise(random_graphs(20, N)):
        assert climber.fall(before, after) == pytest.approx(climber.total(before) - climber.total(after), abs=1e-9)
        assert climber.fall(before, after) == -climber.fall(after, before)
        assert climber.fall(before, before) == 0.0


PAIR = per_parent(5.0) | {(0, (1, 2)): -20.0, (0, (1,)): -5.0, (0, (2,)): -5.0}
# Node 0 has to lose 2 and 3 so that it may explain 2; without 3 the graph there would be far behind.
REGAINED = per_parent(0.1) | {(0, (2,)): -20.0, (0, (3,)): -50.0, (0, (2, 3)): -70.0, (1, (2,)): -20.0}
REGAINED |= {(2, (0,)): -10.0, (2, (0, 1)): -60.0}


@cases(
    ("scores", "refined", "graph"),
    (trapped(-2.0, -1.0, -10.0), {}, ((), (), (0, 1))),  # no single move leaves the optimum before
    (trapped(-3.0, -1.0, -5.0), {}, ((2,), (2,), ())),
    (trapped(-3.0, -1.0, -5.0), {(2, (0, 1)): -5.5}, ((2,), (2,), ())),
    (trapped(-3.0, -1.0, -5.0), {(2, (0, 1)): -7.0}, ((), (), (0, 1))),  # an escape that comes close is refined
    (REGAINED, {}, ((3,), (), (0, 1), ())),
    (PAIR, {}, ((1, 2), (), (), ())),
    (PAIR, {(0, (1,)): -30.0}, ((1,), (), (), ())),
)
def test_escapes_and_refined_scores_lead_to_the_better_graph(scores, refined, graph):
    table, empty = Table(scores, refined), ((),) * len(graph)
    found, moves, *_ = greedy_search(table, free(len(graph)))
    assert found == graph
    assert refined or sum(move.gain for move in moves) == pytest.approx(total(scores, empty) - total(scores, graph))


def test_a_climb_goes_on_by_the_scores_of_what_was_polished():
    climber = Climber(Table(per_parent(1.0), {(0, (1,)): -5.0}), free(N), 8)
    assert climber.climb_once(((),) * N)[1] == []
    climber.polish([(0, (1,)), (2, ())])
    assert climber.climb_once(((),) * N)[0] == ((1,), (), (), ())


@cases(("count", "places"), (2, [1, 2]), (9, [1, 2, 3, 0]))
def test_of_values_that_tie_with_the_largest_the_first_comes_first(count, places):
    assert first_largest(np.array([1.0, 3.0, 3.05, 2.0]), count, 0.1).tolist() == places


def test_a_search_that_goes_on_tries_no_escapes():
    trap = SearchResult(((2,), (2,), ()), [], False)
    assert greedy_search(Table(trapped(-2.0, -1.0, -10.0)), free(3), start=trap).graph == trap.graph


def test_a_move_asks_for_new_estimates_of_the_nodes_alone_that_it_changes():
    """Of many variables the estimates of all nodes after every move would cost more than the fits."""
    asked, scores = [], Table(gaussian_scores(3))
    scores.gain_estimates = lambda families: asked.extend(families) or np.full((len(families), N), np.inf)
    _, moves = Climber(scores, free(N), N).climb_once(((),) * N)
    changed = [2 if move.kind == "reverse" else 1 for move in moves]
    assert len(moves) > 2
    assert len(asked) == N + sum(changed)


def test_another_start_helps_where_it_ends_better_and_its_moves_lead_there():
    """Three families gain together, but not one of them alone."""
    scores = per_parent(1.0) | {(3, (0, 1, 2)): -9.0, (2, (0, 1)): -5.0, (1, (0,)): -1.0}
    best, asked = ((), (0,), (0, 1), (0, 1, 2)), []
    alone = greedy_search(Table(scores), free(4))
    found = greedy_search(Table(scores), free(4), other_start=lambda graph: asked.append(graph) or best)
    assert alone.graph != found.graph == replayed(found.moves, 4) == best
    assert len(asked) == 1
    assert sum(move.gain for move in found.moves) == pytest.approx(15.0)
    assert greedy_search(Table(scores), free(4), other_start=lambda graph: ((), (), (), ())) == alone


class Changing(Table):
    """Scores that another table replaces, once, when the search asks for it by one of its methods."""

    def __init__(self, scores, other, method):
        super().__init__(scores)
        self.seen = []

        def change(families):
            self.seen.append(list(families))
            changed, self.scores = self.scores is not other, other
            return changed

        setattr(self, method, change)


@pytest.mark.parametrize("method", ["grow", "choose_noise"])
def test_the_search_goes_on_when_the_graph_it_found_changed_the_scores(method):
    scores = Changing(per_parent(5.0) | {(0, (1,)): -20.0}, per_parent(5.0) | {(2, (3,)): -20.0}, method)
    assert greedy_search(scores, free(N)).graph == ((), (), (3,), ())
    assert scores.seen[0] == list(enumerate(((1,), (), (), ())))
    assert scores.seen[-1] == list(enumerate(((), (), (3,), ())))


@pytest.mark.parametrize("is_earlier_better", [True, False])
def test_of_a_choice_that_is_taken_back_the_graph_stays_that_is_better_without_it(is_earlier_better):
    before = per_parent(5.0) | {(0, (1,)): -20.0}
    without = before if is_earlier_better else per_parent(5.0) | {(2, (3,)): -30.0}  # fits have become better
    table = Changing(before, per_parent(5.0) | {(2, (3,)): -20.0}, "choose_noise")
    asked = []

    def revoke(families, score_before):
        asked.append((list(families), score_before))
        table.scores = without
        return True

    table.revoke_noise = revoke
    found = greedy_search(table, free(N))
    earlier, later = ((1,), (), (), ()), ((), (), (3,), ())
    assert asked == [(list(enumerate(later)), -20.0)]
    assert found.graph == (earlier if is_earlier_better else later)
    assert [move[:3] for move in found.moves][:1] == [("insert", 1, 0)]
    assert len(found.moves) == (1 if is_earlier_better else 3)
    greedy_search(table, free(N), start=found)
    assert len(asked) == 1  # a search that goes on has no graph by other noise to compare with


def test_scores_settle_only_where_no_escape_is_left():
    scores = trapped(-2.0, -1.0, -10.0)
    table = Changing(scores, scores, "choose_noise")
    graph, *_ = greedy_search(table, free(3))
    assert table.seen[0] == list(enumerate(graph)) == list(enumerate(((), (), (0, 1))))


def test_no_room_is_made_for_graphs_far_behind():
    """The first climb and every escape that comes close make room; the others are given up before."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table, best, asked = Table({family: 1000.0 * rng.random() for family in all_families(N)}), {}, []

        def grow(families, table=table, best=best, asked=asked):
            end = {**best, **dict(families)}  # an escape names the families that differ from the best graph
            asked.append(sum(table([*end.items()])))
            if asked[-1] <= min(asked):
                best.update(end)

        table.grow = grow
        greedy_search(table, free(N), max_parents=3)
        assert asked
        assert all(asked[k] < min(asked[:k]) + FAR for k in range(1, len(asked)))


def reversible():
    """x0 -> x1 is found; x1 -> x0 is better by 5 nats, once both of its families are refined."""
    return Table(per_parent(50.0) | {(1, (0,)): -20.0, (0, (1,)): -19.5}, {(0, (1,)): -25.0})


def test_an_arrow_is_turned_that_gains_once_its_families_are_refined_and_the_climb_goes_on():
    seen, table = [], reversible()
    climber, found = Climber(table, free(N), 8), greedy_search(table, free(N))
    turned = turn_while_it_gains(climber, found, seen.append)
    assert (found.graph, turned.graph) == (((), (0,), (), ()), ((1,), (), (), ()))
    assert turned.moves == [*found.moves, *seen]
    assert seen == [("reverse", 0, 1, 5.0, True)]
    assert turn_while_it_gains(climber, turned) == turned
    assert turn_while_it_gains(climber, found, is_decided=lambda graph, node: node < 2) == found
    table = reversible()
    table.scores[0, (1, 2)] = -30.0  # once x1 -> x0 is there, x0 asks for x2 as well
    assert turn_while_it_gains(Climber(table, free(N), 8), found).graph == ((1, 2), (), (), ())


def together():
    """x3 is found to be the effect of all others; better is x2, but only of all others at once."""
    scores = {(i, own): 1.0 * len(own) for i, own in all_families(N)} | {(3, (0, 1, 2)): -100.0, (2, (0, 1, 3)): -150.0}
    return Table(scores), SearchResult(((), (), (), (0, 1, 2)), [], False)


@pytest.mark.parametrize("rule", ["forbidden", "max_parents"])
def test_a_turned_arrow_gets_no_causes_that_must_not_be(rule):
    (table, found), rules = together(), free(N)
    rules.forbidden[0, 2] = rule == "forbidden"
    turned = turn_while_it_gains(Climber(table, rules, 2 if rule == "max_parents" else 8), found)
    assert turned == found


def test_ends_of_a_turned_arrow_begin_with_the_causes_of_either_unless_another_search_decided_them():
    table, found = together()
    climber = Climber(table, free(N), 3)
    assert turn_while_it_gains(climber, found, is_decided=lambda graph, node: True) == found
    for how in ({}, {"is_decided": lambda graph, node: node == 2}):
        assert turn_while_it_gains(climber, found, **how).graph == ((), (), (0, 1, 3), ())


@pytest.mark.parametrize("rule", ["forbidden", "required"])
def test_arrows_that_knowledge_settles_are_not_turned(rule):
    rules, table = free(N), reversible()
    getattr(rules, rule)[(1, 0) if rule == "forbidden" else (0, 1)] = True
    climber, found = Climber(table, rules, 8), greedy_search(table, rules)
    assert turn_while_it_gains(climber, found) == found


@pytest.mark.parametrize("end", [KeyboardInterrupt, OutOfTime])
def test_what_ends_the_turning_early_keeps_the_graph(end):
    def stop(move):
        raise end

    table = reversible()
    stopped = turn_while_it_gains(Climber(table, free(N), 8), greedy_search(table, free(N)), stop)
    assert stopped.graph == ((1,), (), (), ())
    assert (stopped.interrupted, stopped.timed_out) == (end is KeyboardInterrupt, end is OutOfTime)


def random_tables(count, seed=5):
    """Scores, and better ones of half of the families once they are refined."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        scores = {family: 3.0 * rng.normal() for family in all_families(N)}
        yield Table(scores, {own: score - 5.0 * rng.random() for own, score in scores.items() if rng.random() < 0.5})


def test_moves_lead_to_the_graph_and_are_told_and_no_other_pays_whatever_detours_and_refined_scores_do():
    """Some searches leave an optimum, some nodes get causes again that they had lost, some arrows are turned.

    Escapes to better graphs are kept as they are scored, and refined in the end.
    """
    detours, regained, several = 0, 0, 0
    for table in random_tables(100):
        climber, seen = Climber(table, free(N), 8), []
        found = greedy_search(table, climber.rules, callback=seen.append)
        assert replayed(found.moves, N) == found.graph
        assert [move for move in seen if move.kept] == found.moves
        assert graphs.is_dag(adjacency(found.graph))
        for move in legal_moves(found.graph, free(N), 8):
            changed = changed_families(found.graph, *move)
            assert sum(table.scores[node, found.graph[node]] - table.scores[node, new] for node, new in changed) <= 1e-6
        assert climber.climb(found.graph) == (found.graph, [])
        lost = [k for k, move in enumerate(found.moves) if move.kind == "detach"]
        detours += bool(lost)
        regained += any(move[0] == "insert" and move[2] == found.moves[k][2] for k in lost for move in found.moves[k:])
        turned = turn_while_it_gains(climber, found)
        assert replayed(turned.moves, N) == turned.graph
        several += len(turned.moves) > len(found.moves) + 1
    assert detours > 10
    assert min(regained, several) > 0


@pytest.mark.parametrize("refined", [False, True])
def test_a_cause_whose_effects_are_joined_may_become_the_effect_of_all(refined):
    scores = {(i, own): -20.0 - len(own) if 3 in own else 1.0 * len(own) for i, own in all_families(N)}
    scores |= {family: 0.0 for family in scores if family[0] == 3}
    whole, moves = {(3, (0, 1, 2)): -100.0}, []
    table = Table(scores | ({own: -60.0 for own in whole} if refined else whole), whole)
    found = greedy_search(table, free(N), max_parents=3, callback=moves.append)
    assert found.graph == ((), (), (), (0, 1, 2))
    assert [move for move in moves if move.kept] == found.moves
    assert sum(move.gain for move in found.moves) == pytest.approx(100.0)
    required = np.zeros((N, N), dtype=bool)
    required[3, 1] = True  # then 2 as a cause of 3 would close a circle through 1
    found = greedy_search(Table(scores | {(3, (0, 2)): -100.0}), EdgeRules(free(N).forbidden, required))
    assert 3 in found.graph[1]
    assert graphs.is_dag(adjacency(found.graph))


@cases(("gain", "is_tried"), (1.0, True), (3.0, False), (9.0, True))
def test_a_pair_is_tried_that_may_win_back_what_effects_lose_or_whose_fit_has_failed(gain, is_tried):
    """The pair promises 5 nats, as a cause of what it now is the effect of, which loses 10; refined it gains 50."""
    scores = per_parent(5.0) | {(2, own): 100.0 + 5.0 * len(own) for node, own in all_families(N) if node == 2}
    table = Table(scores | {(3, (2,)): -10.0, (2, (0, 3)): 100.0 - gain}, {(2, (0, 3)): 50.0})
    table.pair_gains = lambda families: [(2, (0, 3), 5.0)]
    found = greedy_search(table, free(N), max_parents=2).graph
    assert found == (((), (), (0, 3), ()) if is_tried else ((), (), (), (2,)))


@pytest.mark.parametrize("room", [True, False])
def test_an_escape_that_does_not_end_far_behind_gets_the_room_it_asks_for(room):
    table = Table(trapped(-30.0, -10.0, -50.0))

    def grow(families):
        asks = (2, (0, 1)) in families and table.scores[2, (0, 1)] > -70.0
        table.scores.update({(2, (0, 1)): -70.0} if asks else {})
        return asks

    if room:
        table.grow = grow
    assert (greedy_search(table, free(3)).graph == ((), (), (0, 1))) == room


def test_a_callback_can_stop_a_detour_and_the_best_graph_stays():
    def stop(move):
        if not move.kept:
            raise KeyboardInterrupt

    scores = Table(gaussian_scores(0))
    stopped = greedy_search(scores, free(N), callback=stop)
    assert stopped.interrupted
    assert stopped.moves
    assert stopped.graph == Climber(scores, free(N), 8).climb(((),) * N)[0]


@pytest.mark.parametrize("size", [1.0, 1e9, 1e15, 1e300, np.nan, np.inf, -np.inf])
def test_a_search_ends_whatever_the_scores_are(size):
    """Differences of large scores are mostly rounding; the total still falls with every move."""
    rng, seen = np.random.default_rng(0), []
    noisy = {own: size * (1 + 1e-16 * rng.normal()) + rng.normal() for own in all_families(N)}
    with np.errstate(invalid="ignore"):
        result = greedy_search(Table(noisy), free(N), callback=seen.append)
    assert len(result.moves) <= len(seen) < 10_000


def test_moves_are_scored_in_batches_that_double_while_none_is_the_best():
    n, sizes, asked = 9, [], set()

    class Costly(Table):
        def __call__(self, families):
            sizes.append(len({*families} - asked))
            asked.update(families)
            return [1.0 * len(parents) for _, parents in families]

        def gain_estimates(self, families):
            return np.full((len(families), n), 1.0)

    assert Climber(Costly({}), free(n), 8).climb_once(((),) * n)[1] == []
    batches = [size for size in sizes[1:] if size]
    assert sum(batches) == n * (n - 1)
    assert batches[:5] == [FIRST_BATCH * 2**k for k in range(5)]
    assert max(batches) == LARGEST_BATCH


def test_moves_from_a_worse_graph_win_back_their_share_of_what_it_loses():
    table, graph, empty = Table(per_parent(1.0)), ((1,), (), (), ()), ((), (), (), ())
    table.scores |= {(0, (1,)): -90.0, (2, (3,)): -0.5}
    climber = Climber(table, free(N), 8)
    assert recover(climber, graph, empty, 0.05)[0] == ((1,), (), (3,), ())  # nothing is lost any more
    forbidden = climber.rules.forbidden | (np.indices((N, N)) == np.array([1, 0])[:, None, None]).all(axis=0)
    rules = climber.rules._replace(forbidden=forbidden)
    assert recover(climber, graph, empty, 0.05, rules=rules) == (empty, [])
    assert recover(climber, graph, empty, 0.005, rules=rules)[0] == ((), (), (3,), ())


def test_estimates_that_equal_a_scored_gain_end_the_choice():
    table = Table(per_parent(-1.0))
    table.gain_estimates = lambda families: np.full((len(families), N), 1.0)
    assert total(table.scores, greedy_search(table, free(N)).graph) == -6.0


@cases(
    ("scores", "graph", "gains"),
    (per_parent(0.0) | {(1, (0,)): np.nan, (2, (0,)): -5.0}, ((), (), (0,), ()), [5.0]),
    # Of nats of 1e20 in all a thousandth is lost, however exact the family's own score.
    ({own: 1e20 * (own[0] == 3) for own in all_families(N)} | {(1, (0,)): -1e-3}, ((),) * N, []),
    ({own: 1e6 * (own[0] == 3) for own in all_families(N)} | {(1, (0,)): -0.09}, ((),) * N, []),
    (per_parent(0.0) | {(1, (0,)): -MIN_GAIN}, ((),) * N, []),
    (per_parent(9.0) | {(0, (1,)): -5.0, (2, (3,)): -5.00005}, ((1,), (), (3,), ()), [5.0, 5.00005]),
    ids=[
        "no number hides no other",
        "the total does not show the gain",
        "less than rounding may gain",
        "the least gain itself is none",
        "of a tie the first",
    ],
)
def test_one_climb_takes_what_surely_gains(scores, graph, gains):
    found, moves = Climber(Table(scores), free(N), 1).climb_once(((),) * N)
    assert (found, [move.gain for move in moves]) == (graph, gains)


@pytest.mark.parametrize("n", [2, 3])
def test_a_reversal_gains_what_both_of_its_families_do_beside_whatever_it_is_scored(n):
    scores = {(node, own): 5.0 * len(own) for node, own in all_families(n)} | {(0, (1,)): -1.0, (1, (0,)): -3.0}
    graph, moves = Climber(Table(scores), free(n), n).climb_once(((1,), *[()] * (n - 1)))
    assert (graph[:2], moves) == (((), (0,)), [("reverse", 1, 0, 2.0, True)])


def test_in_doubt_no_edge_is_added_and_none_turned_but_one_is_taken_away():
    scores = Table(per_parent(0.5) | {(0, (1,)): -0.2, (1, (0,)): -0.5, (2, (1,)): -0.9})
    start = ((1,), (), (), (2,))
    graph, moves = Climber(scores, free(N), 3, doubt=1.0).climb_once(start)
    assert (graph, [move.kind for move in moves]) == (((1,), (), (), ()), ["delete"])
    graph, moves = Climber(scores, free(N), 3).climb_once(start)
    assert graph == ((), (0,), (1,), ())
    assert [move.gain for move in moves] == pytest.approx([0.9, 0.5, 0.3])
    assert Climber(scores, free(N), 3, doubt=1.0).climb_once(((),) * N)[1] == []
    (only,) = Climber(scores, free(N), 3, doubt=0.8).climb_once(((),) * N)[1]
    assert only == ("insert", 1, 2, 0.9, True)


def test_the_equivalence_class_is_that_of_joined_pairs_and_colliders():
    for graph in all_graphs(N)[::7]:
        members = [other for other in all_graphs(N) if equivalence_class(other) == equivalence_class(graph)]
        edges = {(i, j) for j, parents in enumerate(graph) for i in parents}
        open_ = {(i, j) for i, j in edges if any(j in other[i] for other in members)}
        assert reversible_edges(graph) == open_
        for source in range(N):
            other = with_source(graph, open_, source)
            assert other in members
            assert not any((source, k) in open_ for k in other[source])


@pytest.mark.parametrize("known", [0.0, 0.3])
def test_a_direction_loses_what_the_best_allowed_graph_with_the_edge_turned_loses(known):
    exact, every = [], [(graph, adjacency(graph) > 0.0) for graph in all_graphs(N)]
    for seed in range(16):
        scores, some = gaussian_scores(seed), np.random.default_rng(seed).random((2, N, N)) < known
        graph = greedy_search(Table(scores), free(N)).graph
        A = adjacency(graph) > 0.0
        rules = EdgeRules.of(~A & some[0] | np.eye(N, dtype=bool), A & some[1])
        allowed = [own for own, edges in every if not (edges & rules.forbidden | ~edges & rules.required).any()]
        edges = np.argwhere(A & ~rules.settled).tolist()
        for (i, j), loss in direction_losses(Climber(Table(scores), rules, 8), None, graph, edges):
            least = min(total(scores, other) for other in allowed if j in other[i]) - total(scores, graph)
            assert loss >= least - 1e-9
            exact.append(loss < least + 1e-6)
    assert np.mean(exact) > 0.9


def test_a_search_over_orders_begins_nearer_to_the_best_graph_with_a_turned_edge():
    losses = np.zeros(2)
    for table in random_tables(20):
        scores = table.scores

        def gains(node, own, scores=scores):
            return scores[node, own] - np.array([scores.get((node, toggled(own, k)), np.inf) for k in range(N)])

        climber, graph = Climber(Table(scores), free(N), 8), greedy_search(Table(scores), free(N)).graph
        question = climber, None, graph, np.argwhere(adjacency(graph)).tolist()
        losses += [sum(loss for _, loss in direction_losses(*question, how)) for how in (None, gains)]
    assert losses[1] < 0.95 * losses[0]


@cases(
    ("weak", "required", "expected"),
    (1.0, [], ((1, 4), (2,), (), (), ())),
    (3.0, [], ((1, 3), (), (0,), (), ())),
    (1.0, [(3, 0), (0, 2)], ((1, 3), (), (0,), (), ())),
)
def test_a_turned_edge_replaces_the_weakest_link_of_a_cycle_and_the_weakest_cause(weak, required, expected):
    """Beside x0 -> x1 there is x0 -> x2 -> x1, and x0 has room for two of x1, x3 and x4."""
    scores = dict.fromkeys(all_families(5), 0.0) | {(0, (3, 4)): -9.0, (0, (4,)): weak - 9.0, (0, (3,)): 2.0 - 9.0}
    scores |= {(2, (0,)): -weak, (1, (0, 2)): -9.0, (1, (0,)): 2.0 - 9.0}
    rules = EdgeRules.of(np.eye(5, dtype=bool), np.isin(np.arange(25), [5 * i + j for i, j in required]).reshape(5, 5))
    assert _turned(Climber(Table(scores), rules, 2), ((3, 4), (0, 2), (0,), (), ()), (0, 1)) == expected


@cases(("before", "loss"), (-15.0, 5.0), (-13.0, 1.0), (0.0, 0.5), (91.9, 0.5), (92.0, 106.0))
def test_a_climb_and_polish_decide_on_a_turned_edge_that_no_equal_graph_leaves_in_doubt(before, loss):
    scores = per_parent(500.0) | {(1, (0,)): -20.0, (0, (1,)): before, (0, (1, 2)): before - 6.0}
    climber = Climber(Table(scores, {(0, (1, 2)): -19.5}), free(N), 8)
    assert list(direction_losses(climber, None, ((), (0,), (), ()), [(0, 1)])) == [((0, 1), pytest.approx(loss))]


@cases(("by_another", "loss"), (-16.0, 4.0), (-23.0, 0.0), (0.0, 10.0))
def test_what_another_noise_loses_counts_if_it_is_less_and_a_gain_as_zero(by_another, loss):
    tables = (per_parent(50.0) | {(1, (0,)): -20.0, (0, (1,)): turned} for turned in (-10.0, by_another))
    climbers = [Climber(Table(scores), free(N), 8) for scores in tables]
    assert list(direction_losses(*climbers, ((), (0,), (), ()), [(0, 1)])) == [((0, 1), loss)]


def test_ten_times_the_variables_make_an_edge_ten_times_less_probable_but_of_a_few():
    assert price_of_width(1) == price_of_width(10) == 0.0
    assert np.exp(price_of_width(200) - price_of_width(20)) == pytest.approx(10.0)
