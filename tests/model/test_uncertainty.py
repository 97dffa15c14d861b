import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import cases, free, hetero_chain
from naive import all_dags, orders_of, walk_over_orders
from support.search import (
    WeighedFamilies,
    best_graph,
    choose_candidates,
    draw_orders,
    exact_direction_losses,
    n_orders_of,
    orders,
    sums_of_orders,
    walk,
    walk_orders,
    weigh_families,
)
from support.table import DECLARABLE

from icdh import ICDH, DataWarning, HNMSearch, NotFittedError, bootstrap, posterior
from icdh.exceptions import MissingExtraError
from icdh.files import write_table
from icdh.knowledge import EdgeRules
from icdh.uncertainty import direction_loss
from icdh.uncertainty.ensemble import GraphEnsemble, _Fits, _Rows
from icdh.uncertainty.posterior import draw_posterior

ROOT = Path(__file__).parent.parent.parent
N = 4
ALL = np.array(list(all_dags(N)))
QUICK = {"noise_distribution": "gaussian", "hidden_units": 2, "n_restarts": 1}
OWN = np.eye(N, dtype=bool)  # what alone is forbidden


@pytest.fixture(scope="module")
def weights():
    """A random score for every family of four variables, some of them not considered."""
    rng = np.random.default_rng(3)
    return {
        (node, parents): rng.normal() * 2.0 - 0.5 * len(parents)
        for node in range(N)
        for parents in [tuple(i for i in range(N) if i != node and bits >> i & 1) for bits in range(1 << N)]
        if not (node == 2 and 3 in parents)
    }


@pytest.fixture(scope="module")
def families(weights):
    candidates = np.array([[3, 1, 2], [0, 2, 3], [1, 0, -1], [0, 1, 2]])
    table = np.full((N, 8), -np.inf)
    for (node, parents), weight in weights.items():
        own = candidates[node].tolist()
        table[node, sum(1 << own.index(parent) for parent in parents)] = weight
    return WeighedFamilies(candidates, table)


@pytest.fixture(scope="module")
def score_of_graphs(weights):
    parents = [[(n, tuple(np.flatnonzero(G[:, n]).tolist())) for n in range(N)] for G in ALL]
    return np.array([sum(weights.get(family, -np.inf) for family in own) for own in parents])


@pytest.fixture(scope="module")
def edges_by_orders(score_of_graphs):
    """The probabilities of edges where all orders are as probable beforehand, by the sum over all graphs."""
    exact = np.exp(score_of_graphs) * [len(orders_of(G)) for G in ALL]
    return np.tensordot(exact / exact.sum(), ALL, axes=1)


def test_sums_over_orders_are_sums_over_all_graphs(families, score_of_graphs):
    first = np.empty(1 << N)
    sums_of_orders(families.sums, families.candidates, first)
    assert first[-1] == pytest.approx(np.log(np.exp(score_of_graphs) @ [len(orders_of(G)) for G in ALL]), rel=1e-12)


def test_the_best_graph_is_the_best_of_all(families, weights, score_of_graphs):
    parents, weight = best_graph(families)
    assert weight == pytest.approx(score_of_graphs.max(), abs=1e-12)
    assert sum(weights[family] for family in enumerate(parents)) == pytest.approx(weight, abs=1e-12)


def test_a_turned_edge_loses_what_the_best_of_all_graphs_with_it_loses(families, score_of_graphs):
    best = np.array([[score_of_graphs[ALL[:, i, j]].max(initial=-np.inf) for j in range(N)] for i in range(N)])
    edges = [(i, j) for i, j in np.argwhere(~OWN).tolist() if {i, j} != {2, 3}]
    losses = dict(exact_direction_losses(families, edges))
    assert losses == {(i, j): pytest.approx(max(best[i, j] - best[j, i], 0.0)) for i, j in edges}


def test_orders_are_counted():
    memory = np.full(1 << N, np.nan)
    assert [n_orders_of(G, memory) for G in ALL[::7]] == [len(orders_of(G)) for G in ALL[::7]]
    assert n_orders_of(np.zeros((10, 10), dtype=bool)) == 3628800.0


def test_the_posterior_is_that_of_graphs_not_of_orders(families, score_of_graphs, edges_by_orders):
    sampled = draw_posterior(families, ((),) * N, list("abcd"), 20_000, np.random.default_rng(0))
    exact = np.tensordot(np.exp(score_of_graphs) / np.exp(score_of_graphs).sum(), ALL, axes=1)
    np.testing.assert_allclose(sampled.edge_probability, exact, atol=0.02)
    assert np.abs(edges_by_orders - exact).max() > 0.03  # the correction matters
    assert 1_000 < sampled.effective_samples < 20_000
    assert sampled.weights.sum() == pytest.approx(1.0)


def test_too_many_variables_for_a_sum_are_refused(monkeypatch, families):
    monkeypatch.setattr(orders, "MOST_VARIABLES", N)
    best_graph(families)
    families = WeighedFamilies(np.full((23, 1), -1), np.tile([0.0, -np.inf], (23, 1)))
    with pytest.raises(ValueError, match=f"at most {N} variables; these are 23"):
        best_graph(families)
    sampled = draw_posterior(families, ((),) * 23, [f"x{i}" for i in range(23)], 10, np.random.default_rng(0))
    assert sampled.best is None
    assert np.isnan(sampled.effective_samples)
    assert not sampled.edge_probability.any()
    assert list(sampled.to_frame()) == []


def test_weights_are_scores_and_candidates_keep_the_graph(weights):
    def scores(batch):
        return [-weights.get(family, -50.0) for family in batch]

    graph, forbidden = ((), (0,), (), (0, 1, 2)), OWN.copy()
    forbidden[2, 1] = True
    chosen = choose_candidates(scores, graph, forbidden, 1)
    assert chosen[3][:3] == [0, 1, 2]
    assert [len(own) for own in chosen] == [1, 1, 1, 3]
    families = weigh_families(scores, graph, EdgeRules.of(forbidden), n_candidates=3, max_parents=1)
    assert 2 not in families.candidates[1]
    for node, index in np.argwhere(np.isfinite(families.weights)).tolist():
        parents = families.parents(node, index)
        assert families.weights[node, index] == pytest.approx(weights.get((node, parents), -50.0))
        assert len(parents) <= 1 or abs(len(parents) - len(graph[node])) <= 1
    assert np.isfinite(families.weights[3, -1])


def test_tempered_weights_are_over_the_temperature_and_edges_cost_their_price(families, weights):
    prices = np.random.default_rng(0).random((N, N))
    tempered = families.tempered(2.0, prices)
    for node, index in np.argwhere(np.isfinite(families.weights)).tolist():
        parents = families.parents(node, index)
        expected = weights[node, parents] / 2.0 - prices[list(parents), node].sum()
        assert tempered.weights[node, index] == pytest.approx(expected)
    np.testing.assert_array_equal(np.isfinite(tempered.weights), np.isfinite(families.weights))
    hopeless = replace(families, weights=np.full((N, 8), -orders.WITHOUT_REQUIRED))
    np.testing.assert_array_equal(hopeless.tempered(2.0, prices).weights, hopeless.weights)


def weighed_parents(graph, rules, node, **options):
    """The families of a node that are weighed where all score the same."""
    families = weigh_families(lambda batch: [0.0 for _ in batch], graph, rules, **options)
    weighed = np.flatnonzero(families.weights[node] > -1e6)
    return {families.parents(node, int(index)) for index in weighed}, families


@pytest.mark.parametrize("most", [4, 1])
def test_neighbours_of_the_graph_have_a_candidate_more_or_fewer(most):
    """Whatever their size: here families of two and of four parents beside those of one at most."""
    graph, options = ((), (), (), (), (0, 1, 2)), {"n_candidates": 4, "max_parents": 1, "most_parents": most}
    weighed, _ = weighed_parents(graph, free(5), 4, **options)
    small = {(), (0,), (1,), (2,), (3,)}
    assert weighed == small | {(0, 1, 2), (0, 1), (0, 2), (1, 2)} | ({(0, 1, 2, 3)} if most == 4 else set())


def test_a_walk_takes_the_steps_of_metropolis(families):
    """More steps than the kept orders take are no reason to write behind them."""
    rng, room = np.random.default_rng(0), np.full((102, N), -1)
    swaps, uniforms = rng.integers(N, size=(1045, 2)), rng.random(1045)
    walk_orders(families.sums, families.candidates, np.arange(N), swaps, uniforms, room[:100])
    slow = walk_over_orders(families.sums, families.candidates, range(N), swaps, uniforms, 10)
    assert room.tolist() == [*slow[:100], *[[-1] * N] * 2]
    drawn = walk(families, np.arange(N), 9, rng)
    np.testing.assert_array_equal(np.sort(drawn), np.tile(np.arange(N), (9, 1)))


def test_a_walk_weighs_graphs_by_how_often_they_were_drawn(monkeypatch, families, edges_by_orders):
    """All orders are as probable beforehand there: graphs count as often as the walk draws them."""
    monkeypatch.setattr(sys.modules[draw_posterior.__module__], "MOST_VARIABLES", N - 1)
    walked = draw_posterior(families, ((),) * N, list("abcd"), 20_000, np.random.default_rng(0))
    assert walked.weights.sum() == pytest.approx(1.0)
    assert np.unique(walked.weights).size > 3
    np.testing.assert_allclose(walked.edge_probability, edges_by_orders, atol=0.02)


def test_candidates_are_those_worth_most_alone_or_beside_the_parents():
    worth = {(0, (1,)): 1.0, (0, (2,)): 3.0, (0, (3,)): 2.0, (1, (0,)): 4.0, (1, (0, 3)): 9.0, (1, (2,)): 2.0}
    chosen = choose_candidates(lambda batch: [-worth.get(own, 0.0) for own in batch], ((), (0,), (), ()), OWN, 2)
    assert chosen[:2] == [[2, 3], [0, 3]]


def test_families_without_a_required_parent_are_hopeless():
    required = np.zeros((N, N), dtype=bool)
    required[0, 1] = True
    rules = EdgeRules.of(OWN, required)
    weighed, families = weighed_parents(((), (0,), (), ()), rules, 1, n_candidates=3, max_parents=2)
    assert weighed == {(0,), (0, 2), (0, 3)}
    best, weight = best_graph(families)
    assert 0 in best[1]
    assert weight == 0.0


ABC = ["a", "b", "c"]


@pytest.fixture
def ensemble():
    """Two graphs of three variables: a -> b -> c with probability 3/4, a <- b with 1/4."""
    graphs = np.zeros((2, 3, 3), dtype=bool)
    graphs[0, [0, 1], [1, 2]] = graphs[1, 1, 0] = True
    return GraphEnsemble(ABC, graphs, np.array([0.75, 0.25]))


def test_probabilities_of_an_ensemble(ensemble):
    np.testing.assert_array_equal(ensemble.edge_probability, [[0, 0.75, 0], [0.25, 0, 0.75], [0, 0, 0]])
    np.testing.assert_array_equal(ensemble.ancestor_probability, [[0, 0.75, 0.75], [0.25, 0, 0.75], [0, 0, 0]])
    assert ensemble.adjacency_probability[0, 1] == ensemble.adjacency_probability[1, 0] == 1.0
    assert (ensemble.path_probability("a", "b", "c"), ensemble.path_probability(1, 0)) == (0.75, 0.25)
    assert [edge[:4] for edge in ensemble.edges()] == [("a", "b", 0.75, 0.25), ("b", "c", 0.75, 0.0)]
    assert ensemble.edges(0.8) == []
    turned = GraphEnsemble(ABC, ensemble.graphs.transpose(0, 2, 1), ensemble.weights)
    assert [edge[:4] for edge in turned.edges()] == [("b", "a", 0.75, 0.25), ("c", "b", 0.75, 0.0)]
    tied = GraphEnsemble(ABC, ensemble.graphs, np.array([0.5, 0.5]))
    assert tied.edges()[0][:4] == ("a", "b", 0.5, 0.5)  # of equal directions the one in the order of the columns


def test_an_edge_of_all_graphs_is_sure_whatever_the_rounding_of_weights():
    graphs = np.zeros((3, 3, 3), dtype=bool)
    graphs[:, 0, 1] = graphs[1:, 1, 2] = True
    weights = np.array([0.3, 0.3, 0.4 - 2.0**-50])
    assert GraphEnsemble(ABC, graphs, weights).edge_probability[0, 1] == 1.0


def test_a_direction_is_decided_where_the_graphs_with_an_edge_agree(ensemble):
    np.testing.assert_array_equal(ensemble.direction_probability, [[0, 0.75, 0], [0.25, 0, 1], [0, 0, 0]])
    assert [edge.direction for edge in ensemble.edges()] == [0.75, 1.0]
    dag = np.array([[0.0, 9.0, 0.1], [0.0, 0.0, 7.0], [0.0, 0.0, 0.0]])
    never_found, turned = [0, 2], [0, 1]
    assert np.argwhere(ensemble.undecided(dag)).tolist() == [turned, never_found]
    assert np.argwhere(ensemble.undecided(dag, 0.75)).tolist() == [never_found]
    assert not ensemble.undecided(dag.T, 0.25)[1, 0]


def test_paths_of_any_length_make_ancestors():
    chain = np.eye(9, k=1, dtype=bool)[np.newaxis]
    reaches = GraphEnsemble([str(i) for i in range(9)], chain, np.ones(1)).ancestor_probability
    np.testing.assert_array_equal(reaches, np.triu(np.ones((9, 9)), k=1))


@pytest.mark.parametrize("level", [0.5, 0.2])
def test_a_consensus_has_no_cycles(ensemble, level):
    assert np.argwhere(ensemble.consensus(level)).tolist() == [[0, 1], [1, 2]]


@cases(
    ("method", "arguments", "message"),
    ("undecided", [np.eye(2)], r"dag must have shape \(3, 3\); got \(2, 2\)"),
    ("undecided", [np.eye(3), 1.5], "at most 1"),
    ("consensus", [0.0], "above 0"),
    ("consensus", [1.5], "at most 1"),
    ("path_probability", ["a", "d"], "path has the variable 'd', which is not one of a, b, c"),
    ("path_probability", ["a"], "at least two"),
)
def test_arguments_of_an_ensemble_are_checked(ensemble, method, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(ensemble, method)(*arguments)


@pytest.fixture(scope="module")
def table():
    return hetero_chain(np.random.default_rng(0), 200)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "resamples.jsonl"


@pytest.fixture(scope="module")
def ten(table):
    return resampled(table)


def resampled(table, n_resamples=10, **options):
    return bootstrap(HNMSearch(**QUICK), table, n_resamples, **options)


def test_a_strong_edge_is_in_every_resample_and_no_input_changes(table, ten):
    assert ten.edge_probability[0, 1] == 1.0
    before = table.copy()
    np.testing.assert_array_equal(resampled(table).graphs, ten.graphs)
    np.testing.assert_array_equal(table, before)


def test_a_sum_that_rounding_leaves_too_small_draws_no_impossible_order():
    """Variable 1 cannot come last; a uniform number that no sum of probabilities exceeds must not put it there."""
    tables, candidates = np.array([[0.0, 0.0], [0.0, -np.inf]]), np.array([[1], [0]])
    first, orders = np.empty(4), np.zeros((1, 2), dtype=int)
    sums_of_orders(tables, candidates, first)
    draw_orders(tables, candidates, first, np.ones((1, 2)), orders)
    assert orders.tolist() == [[1, 0]]


@pytest.mark.parametrize(("sampling", "drawn"), [("bootstrap", 10), ("subsample", 5)])
def test_a_group_that_is_drawn_twice_is_two_groups(table, sampling, drawn):
    rows = _Rows(None, np.repeat(np.arange(10), 3), False, None, "sampling")
    fits = _Fits(HNMSearch(), table[:30], rows, sampling, random_state=0)
    assert np.unique(fits._drawn(0)[0].related.units).size == drawn


def test_resamples_differ_and_their_seeds_decide(table):
    seen, quick = [], ICDH(max_rounds=1, hidden_units=2, scaling="standardize", threshold=0.0)
    for options in ({"sampling": "subsample"}, {"sampling": "bootstrap"}, {"random_state": 1}):
        bootstrap(quick, table, 2, callback=seen.append, **options)
    assert len({resample.adjacency.tobytes() for resample in seen}) == 6
    assert [resample.number for resample in seen] == [0, 1] * 3


def test_an_interrupted_run_goes_on_where_it_was(table, ten, path):
    def stop(resample):
        if resample.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resampled(table, checkpoint=path, callback=stop)
    _, *records = map(json.loads, path.read_text().splitlines())
    assert [record["index"] for record in records] == [0, 1, 2, 3]  # each line is one graph
    np.testing.assert_array_equal([np.array(record["result"]) != 0 for record in records], ten.graphs[:4])
    with path.open("a") as stream:
        stream.write('{"index": 4, "resu')
    seen = []
    np.testing.assert_array_equal(resampled(table, checkpoint=path, callback=seen.append).graphs, ten.graphs)
    assert sorted(resample.number for resample in seen) == list(range(10))
    before = path.read_bytes()
    np.testing.assert_array_equal(resampled(table, checkpoint=path).graphs, ten.graphs)
    assert path.read_bytes() == before


KILLED = """
import sys
import numpy as np
sys.path.insert(0, "tests")
from helpers import hetero_chain
from icdh import HNMSearch, bootstrap
table = hetero_chain(np.random.default_rng(0), 200)
settings = dict(noise_distribution="gaussian", hidden_units=2, n_restarts=1)
bootstrap(HNMSearch(**settings), table, 10, checkpoint=sys.argv[1], callback=lambda resample: print("done", flush=True))
"""


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_bits(table, ten, path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(0.1)
    process.kill()
    process.communicate()
    assert path.read_text().startswith('{"format": "icdh resamples"')
    np.testing.assert_array_equal(resampled(table, checkpoint=path).graphs, ten.graphs)


class Interrupted(HNMSearch):
    """A search that Ctrl-C meets after its first move, whenever its seed is not that of the whole table's fit."""

    def _report(self, line, record):
        super()._report(line, record)
        if self.random_state != 0:
            raise KeyboardInterrupt


def test_a_resample_that_was_interrupted_does_not_count(table, path):
    with pytest.raises(KeyboardInterrupt):
        bootstrap(Interrupted(**QUICK), table, 10, checkpoint=path)
    assert len(path.read_text().splitlines()) == 1


def test_what_the_whole_table_says_of_its_columns_holds_for_resamples(table):
    X = np.column_stack([np.exp(2.0 * table[:, 0]), np.round(table[:, 1:] * 100.0)])
    resample = HNMSearch(**QUICK).for_resamples(X).fit(X[:20])
    assert resample.column_transform_ == "log"
    assert resample.kinds_ == HNMSearch(**QUICK).fit(X).kinds_ == ["continuous", "gridded", "gridded"]
    assert HNMSearch(**QUICK).fit(X[:20]).kinds_ != resample.kinds_


@pytest.mark.parametrize("kind", DECLARABLE)
def test_a_declared_kind_holds_for_resamples(table, kind):
    """But for continuous, as repeated rows are gridded."""
    numbers = np.arange(len(table)) % (2 if kind == "binary" else 5) + 1.0
    X = np.column_stack([numbers, table[:, 1]])
    kinds = HNMSearch(**QUICK, kinds={0: kind}).for_resamples(X).kinds
    assert kinds.get("x0", kinds.get(0)) == (None if kind == "continuous" else kind)


def test_a_checkpoint_of_something_else_is_refused(table, path):
    resampled(table, 1, checkpoint=path)
    other = HNMSearch(**QUICK, edge_penalty=5.0)
    for estimator, X, options in (
        (HNMSearch(**QUICK), table + 1.0, {}),
        (other, table, {}),
        (HNMSearch(**QUICK), table, {"random_state": 1}),
        (HNMSearch(**QUICK), table, {"sampling": "bootstrap"}),
        (HNMSearch(**QUICK), table, {"interventions": np.arange(600).reshape(200, 3) % 7 == 0}),
    ):
        with pytest.raises(ValueError, match="other data, parameters or seeds"):
            bootstrap(estimator, X, 1, checkpoint=path, **options)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is no checkpoint of resamples"):
        resampled(table, 1, checkpoint=path)
    assert path.read_text() == "a,b\n1,2\n"


@cases(
    ("options", "error", "message"),
    ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
    ({"sampling": "jackknife"}, ValueError, "sampling must be one of 'subsample', 'bootstrap'"),
    ({"random_state": None}, TypeError, "random_state must be an integer"),
    ({"n_jobs": 0}, ValueError, "n_jobs must be at least 1"),
    ({"callback": 3}, TypeError, "callback must be callable"),
)
def test_arguments_are_checked(table, options, error, message):
    with pytest.raises(error, match=message):
        resampled(table, **options)


def test_without_joblib_the_extra_is_named(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtraError, match=r"icdh\[parallel\]"):
        resampled(table, 2, n_jobs=2)


@pytest.fixture(scope="module")
def model(table):
    constant = np.column_stack([table, np.ones(200)])[:, [1, 3, 0, 2]]
    with pytest.warns(DataWarning, match="constant"):
        return HNMSearch(**QUICK).fit(constant)


def test_the_posterior_of_a_fitted_search_is_about_the_users_columns(model):
    sure = posterior(model, n_samples=500, temperature=1.0)
    assert sure.names == ["x0", "x1", "x2", "x3"]
    assert min(sure.edge_probability[2, 0], sure.edge_probability[0, 3]) > 0.99
    assert not sure.edge_probability[1].any()
    assert not sure.edge_probability[:, 1].any()
    assert sure.log_odds == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(sure.direction_loss, direction_loss(model))
    assert np.argwhere(sure.best).tolist() == np.argwhere(sure.direction_loss > 0.0).tolist() == [[0, 3], [2, 0]]


def test_a_direction_that_evenly_spread_noise_alone_tells_is_in_doubt_unless_that_noise_is_named():
    cause, noise = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 800))
    X = np.column_stack([cause, cause + 0.8 * noise])
    by_choice, by_name = (HNMSearch(noise_distribution=name).fit(X) for name in ("auto", "free"))
    assert by_choice.found_graph().scores.noise == "auto"
    assert 0.0 <= direction_loss(by_choice)[0, 1] < 6.0
    assert direction_loss(by_name)[0, 1] > 50.0


def test_what_the_evidence_leaves_open_between_a_number_and_two_values_is_in_doubt():
    """A Gaussian number that decides a label by a logistic function is as likely its effect."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=500)
    arm = rng.random(500) < 1.0 / (1.0 + np.exp(-z))
    model = HNMSearch(kinds={"x1": "binary"}).fit(np.column_stack([z, arm]))
    assert model.adjacency_matrix_[1, 0] != 0.0
    forward, backward = posterior(model).edge_probability[[0, 1], [1, 0]]
    assert 0.2 < forward / (forward + backward) < 0.5


def test_a_high_temperature_leaves_the_prior(model):
    assert posterior(model, n_samples=500, temperature=1.0).edge_probability[2, 0] > 0.99
    varying, graphs = [0, 2, 3], np.array(list(all_dags(3)))
    prior = np.exp(-model.edge_penalty_ * graphs.sum(axis=(1, 2)))
    expected = prior @ graphs[:, 0, 1] / prior.sum()
    drawn = posterior(model, n_samples=20_000, temperature=1e9).edge_probability[np.ix_(varying, varying)]
    np.testing.assert_allclose(drawn[~np.eye(3, dtype=bool)], expected, atol=0.015)


def test_any_share_of_the_evidence_is_as_probable(model):
    """It is the mean of posteriors whose evidence counts a share, over shares that are uniform."""
    found, shares = posterior(model, n_samples=20_000), (np.arange(16) + 0.5) / 16
    parts = [posterior(model, temperature=1.0 / s, n_samples=2000, random_state=0).edge_probability for s in shares]
    np.testing.assert_allclose(found.edge_probability, np.mean(parts, axis=0), atol=0.02)
    assert 0.95 < found.edge_probability[2, 0] < posterior(model, temperature=1.0).edge_probability[2, 0]
    assert found.weights.sum() == pytest.approx(1.0)
    assert 1000 < found.effective_samples < 20_000


def test_a_noise_that_nobody_named_is_averaged_over(monkeypatch):
    """Laplace noise tells the direction, Gaussian noise does not."""
    rng = np.random.default_rng(0)
    x0, e = rng.laplace(size=(2, 500))
    X = np.column_stack([x0, x0 + e])
    model, module = HNMSearch().fit(X), sys.modules[draw_posterior.__module__]
    noises, found = module.NOISES, posterior(model).edge_probability
    assert sum(noises.values()) == pytest.approx(1.0)
    by_noise = {}
    for name in noises:
        monkeypatch.setattr(module, "NOISES", dict.fromkeys(noises, 1e-12) | {name: 1.0})
        by_noise[name] = posterior(model).edge_probability
    np.testing.assert_allclose(found, sum(share * by_noise[name] for name, share in noises.items()), atol=0.02)
    assert by_noise["gaussian"][0, 1] < 0.7
    assert by_noise["student"][0, 1] > 0.9
    named = posterior(HNMSearch(noise_distribution="gaussian").fit(X)).edge_probability
    np.testing.assert_allclose(named, by_noise["gaussian"], atol=0.05)


def test_exact_search_is_never_worse_than_greedy():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6))
    greedy, exact = (HNMSearch(**QUICK, search=search).fit(X) for search in ("greedy", "exact"))
    assert exact.evidence_ >= greedy.evidence_ - 1e-9
    odds = posterior(greedy, temperature=1.0, n_samples=10).log_odds
    assert exact.evidence_ == pytest.approx(greedy.evidence_ + odds)


def test_arguments_of_the_posterior_are_checked(model):
    for options in ({"n_candidates": 0}, {"max_parents": 0}, {"temperature": 0.0}, {"n_samples": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            posterior(model, **options)
    with pytest.raises(NotFittedError):
        posterior(HNMSearch())


@pytest.mark.parametrize("most", [1, 2])
def test_exact_search_keeps_to_the_most_parents_unless_more_are_required(most):
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(4, 300))
    X = np.column_stack([*causes, causes.sum(axis=0) + 0.3 * rng.normal(size=300)])
    free, bound = (
        HNMSearch(**QUICK, search="exact", max_parents=most, knowledge=known).fit(X).adjacency_matrix_
        for known in (None, {"required": [(0, 4), (1, 4), (2, 4)]})
    )
    assert np.count_nonzero(free, axis=0).max() == most
    assert np.flatnonzero(bound[:, 4]).tolist() == [0, 1, 2]


def test_exact_search_refuses_too_many_variables():
    with pytest.raises(ValueError, match="search='exact' is for at most 22 variables, X has 23"):
        HNMSearch(search="exact").fit(np.random.default_rng(0).normal(size=(30, 23)))


def test_the_command_prints_probabilities(table, tmp_path, printed):
    file, kept = tmp_path / "chain.csv", tmp_path / "resamples.jsonl"
    write_table(file, table, ABC)
    search = ("fit", file, "--method", "search", "--noise-distribution", "gaussian")
    resampled = ("--bootstrap", 4, "--jobs", 1, "--checkpoint", kept)
    lines = printed(*search, *resampled, "--plot", tmp_path / "graph.svg").splitlines()
    at = lines.index("4 graphs of 3 variables")
    assert lines[at + 1].split() == ["cause", "->", "effect", "probability", "reverse", "any", "path"]
    assert lines[at + 2].split()[:4] == ["a", "->", "b", "1.00"]
    assert len(kept.read_text().splitlines()) == 5
    assert "a -> b" in printed(*search, "--posterior").rpartition("probability")[2]


@pytest.mark.parametrize("known", [{"forbidden": [("*", "*")]}, {"roots": ["x0", "x1"]}, None])
def test_where_nothing_may_be_a_cause_there_is_one_graph(known):
    X = np.random.default_rng(0).normal(size=(100, 2 if known else 1))
    found = posterior(HNMSearch(search="exact", knowledge=known).fit(X), n_samples=10)
    assert not found.edge_probability.any()
    assert not found.best.any()
    assert found.log_odds == 0.0


def test_results_become_dicts_and_frames_alike():
    graphs = np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]], [[0, 1], [0, 0]]], dtype=bool)
    ensemble = GraphEnsemble(["a", 2], graphs, np.full(3, 1 / 3))
    assert str(ensemble) == ensemble.summary()
    assert json.loads(json.dumps(ensemble.to_dict()))["edges"][0]["effect"] == "2"
    frame = ensemble.to_frame()
    assert list(frame) == ["cause", "effect", "probability", "reverse", "ancestor"]
    assert frame.loc[0, "probability"] == pytest.approx(2 / 3)
