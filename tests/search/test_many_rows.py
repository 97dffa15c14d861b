"""Tables of many rows: few of them decide where fits and climbs on all begin."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers import family_evidence, free, parents_of, recorded, replayed
from sklearn.base import clone
from support.estimators import graph_search
from support.families import WholeScore, family_models
from support.search import Climber, greedy_search

from icdh import HNMSearch, simulate
from icdh.exceptions import ConvergenceWarning
from icdh.files import write_table
from icdh.uncertainty import direction_loss


@pytest.fixture(scope="module")
def data():
    return simulate.simulate_sem(simulate.erdos_renyi(5, 1, random_state=3), 1500, random_state=3)


@pytest.fixture
def _few(monkeypatch):
    few = replace(graph_search.SIZES, first_rows=200, subsample=500, long_table=1000)
    monkeypatch.setattr(graph_search, "SIZES", few)


@pytest.fixture
def fits(monkeypatch):
    return recorded(monkeypatch, family_models, "fit_node")


def evidence_of(X, **options):
    values = np.ascontiguousarray(((X - X.mean(axis=0)) / X.std(axis=0)).T)
    return family_evidence(values, **{"hidden_units": 3, "n_restarts": 2, **options})


def continued(scores):
    """The same scores, begun on 300 of the observations."""
    return WholeScore(scores.on(scores.families.subsample(300)))


def test_fits_that_begin_on_few_rows_end_on_all(data):
    asked = [(0, ()), (1, (0,)), (1, (0, 2)), (3, (1, 4))]
    whole, started = evidence_of(data.X), continued(evidence_of(data.X))
    for scores in (whole, started.subsample):
        scores(asked)
        scores.polish(asked)
    np.testing.assert_allclose(started(asked), whole(asked), atol=15.0)
    assert started.subsample.fitted() == started.fitted() == set(asked)
    assert (started.subsample.families.counts() == 300).all()


def test_the_precisions_of_few_rows_are_those_of_all_while_graphs_compare(data):
    family, scores = (1, (0, 2)), continued(evidence_of(data.X))
    scores([family])
    np.testing.assert_array_equal(scores.fit_of(family).precision, scores.subsample.fit_of(family).precision)


def test_cold_starts_are_tried_on_few_rows_alone(data, fits):
    scores = continued(evidence_of(data.X, n_restarts=3))
    scores.subsample.polish([(1, (0,))])
    scores([(1, (0,))])
    kinds = Counter((x.shape[1], start.theta is None) for (x, _, _, start), _ in fits)
    assert [kinds[own] for own in ((300, True), (1500, True), (1500, False))] == [3, 0, 1]


@pytest.mark.usefixtures("_few")
def test_the_graph_is_a_local_optimum_on_the_subsample_and_history_leads_to_it(data):
    model = HNMSearch(column_transform="none", noise_distribution="gaussian").fit(data.X)
    found = model.found_graph()
    assert (found.scores.families.counts() == 500).all()
    assert Climber(found.scores, found.table.rules, 8).climb(found.graph)[1] == []
    assert replayed(model.history_, 5) == parents_of(model)


@pytest.mark.usefixtures("_few")
def test_neither_threads_nor_the_order_signs_and_units_of_columns_change_the_graph(data):
    found, threads = (HNMSearch(n_jobs=n_jobs).fit(data.X).adjacency_matrix_ for n_jobs in (1, 2))
    assert found.any()
    np.testing.assert_array_equal(threads, found)
    order = np.array([3, 1, 4, 0, 2])
    moved = HNMSearch().fit(np.array([-1.0, 10.0, 0.1, -3.0, 1.0]) * data.X[:, order] + 5.0)
    np.testing.assert_array_equal(moved.adjacency_matrix_ != 0, found[np.ix_(order, order)] != 0)


@pytest.mark.usefixtures("_few")
def test_time_that_is_over_ends_the_search_on_few_rows_too(data):
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = HNMSearch(max_seconds=1e-9).fit(data.X)
    assert model.adjacency_matrix_.shape == (5, 5)


@pytest.mark.parametrize(("few_rows", "sizes"), [(500, {500, 1500}), (750, {1500})])
def test_a_search_of_more_than_twice_the_rows_begins_on_few_and_ends_on_all(data, monkeypatch, fits, few_rows, sizes):
    monkeypatch.setattr(graph_search, "SIZES", replace(graph_search.SIZES, first_rows=few_rows))
    model = HNMSearch(column_transform="none", noise_distribution="gaussian").fit(data.X)
    assert {x.shape[1] for (x, *_), _ in fits} == sizes
    found = model.found_graph()
    assert found.whole is None
    assert (found.scores.families.counts() == 1500).all()
    assert replayed(model.history_, 5) == parents_of(model)


def test_a_search_goes_on_from_what_another_found(data):
    scores = evidence_of(data.X)
    found = greedy_search(scores, free(5))
    more = greedy_search(scores, free(5), start=found)
    assert (more.graph, more.moves) == (found.graph, found.moves)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("units", ["auto", 5])
def test_graphs_are_compared_on_few_rows_and_the_model_is_of_all(data, units, fits):
    options = {"noise_distribution": "gaussian", "column_transform": "none"}
    model = HNMSearch(**options, hidden_units=units).fit(data.X)
    scores, rows = model.found_graph().scores, [x.shape[1] for (x, *_), _ in fits]
    levels = scores.families, scores.families.whole
    assert [int(level.counts()[0]) for level in levels] == [500, 1500]
    assert levels[0].share() == pytest.approx(np.full(5, 1 / 3))
    assert 5 <= rows.count(1500) < 15  # the graph, and what all rows ask of it
    assert rows.count(188) > rows.count(500) > 10
    shorter = HNMSearch(**options).fit(data.X[:1000])
    np.testing.assert_array_equal(shorter.adjacency_matrix_ != 0, model.adjacency_matrix_ != 0)
    assert model.evidence_ == pytest.approx(1.5 * shorter.evidence_, rel=0.1)


@pytest.mark.usefixtures("_few")
def test_the_noise_that_few_rows_show_is_that_of_all():
    graph = simulate.erdos_renyi(5, 1, random_state=1)
    model = HNMSearch().fit(simulate.simulate_sem(graph, 1500, distribution="student-t", random_state=1).X)
    assert (model.found_graph().scores.families.counts() == 500).all()
    assert model.found_graph().scores.noise == "auto"
    assert model.noise_distribution_ in ("free", "mixed")


def test_noise_that_few_rows_chose_stays_on_more(monkeypatch):
    """A cause that is evenly spread tells its direction, though one variable of two is all that shows it."""
    monkeypatch.setattr(graph_search, "SIZES", replace(graph_search.SIZES, first_rows=1000))
    rng, n = np.random.default_rng(0), 2500
    cause = rng.uniform(-2.0, 2.0, n)
    model = HNMSearch(column_transform="none").fit(np.column_stack([cause, cause + 0.3 * rng.normal(size=n)]))
    scores = model.found_graph().scores
    assert (scores.families.counts() == n).all()
    assert scores.noise == "auto"
    assert model.adjacency_matrix_[0, 1] > 0.0


@pytest.mark.parametrize(("n_rows", "is_said"), [(1500, True), (1000, False)])
@pytest.mark.usefixtures("_few")
def test_a_fit_says_in_whose_nats_strengths_are(tmp_path, data, printed, n_rows, is_said):
    write_table(tmp_path / "data.csv", data.X[:n_rows], list("abcde"))
    assert ("strengths are in nats of 500 of 1,500 rows" in printed("fit", tmp_path / "data.csv")) == is_said


@pytest.mark.usefixtures("_few")
def test_all_rows_add_an_edge_that_few_do_not_show_and_count_its_strength_and_loss(tmp_path, printed):
    rng = np.random.default_rng(6)
    a, noise = rng.normal(size=1500), rng.normal(size=(2, 1500))
    X = np.column_stack([a, 0.14 * a + noise[0], np.sin(2 * a) + (0.2 + 0.1 * a**2) * noise[1]])
    search = HNMSearch(column_transform="none", noise_distribution="gaussian")
    ((first, second, few, *_),) = clone(search).fit(X[::3]).edge_list()
    model = search.fit(X)
    (*strongest, strong), (cause, effect, weak) = (edge[:3] for edge in model.edge_list())
    assert [first, second] == strongest == ["x0", "x2"]
    assert {cause, effect} == {"x0", "x1"}
    found = model.found_graph()
    assert {f"x{found.table.order[node]}" for node in found.decided} == {effect}
    assert weak == pytest.approx(model.history_[-1].gain / 3.0)  # in nats of the rows of the search, as all others
    assert weak > 3.0
    assert strong == pytest.approx(few, rel=0.1)
    assert direction_loss(model)[int(cause[1]), int(effect[1])] == pytest.approx(0.0, abs=0.1)
    write_table(tmp_path / "data.csv", X, ["x0", "x1", "x2"])
    assert "strengths are in nats of 500 of 1,500 rows\n" in printed("fit", tmp_path / "data.csv")


def test_a_cause_has_to_gain_more_than_twice_the_units(data):
    without, with_it, scores = (1, (0,)), (1, (0, 2)), continued(evidence_of(data.X))
    before = scores([without, with_it])
    scores.polish([without, with_it])
    assert scores.fit_of(with_it).hidden_units == 3
    doubled = scores.models.fit_twice_the_units(without, scores.subsample.fit_of(without))
    assert scores([without])[0] <= min(before[0], scores.score_by(without, doubled) + 15.0)
    assert scores.copy()([without, with_it]) == scores([without, with_it])
