"""Tables of many rows: few of them decide where fits and climbs on all begin."""

import numpy as np
import pytest

from icdh import HNMSearch, simulate
from icdh.estimators import hnm_search
from icdh.exceptions import ConvergenceWarning
from icdh.node_model.families import FamilyEvidence
from icdh.search.climb import Climber
from icdh.search.escapes import greedy_search


@pytest.fixture
def data():
    graph = simulate.erdos_renyi(5, 1, random_state=3)
    return simulate.simulate_sem(graph, 1500, random_state=3)


@pytest.fixture
def _few(monkeypatch):
    monkeypatch.setattr(hnm_search, "SEARCH_ROWS", 300)


def evidence_of(X, **options):
    values = np.ascontiguousarray(((X - X.mean(axis=0)) / X.std(axis=0)).T)
    settings = {"hidden_units": 3, "prior_precision": 3.0, "edge_penalty": 2.0, "random_state": 0, "noise": "gaussian"}
    return FamilyEvidence(values, **{**settings, "n_restarts": 2, "n_jobs": 1, **options})


def test_fits_that_begin_on_few_rows_end_on_all(data):
    families = [(0, ()), (1, (0,)), (1, (0, 2)), (3, (1, 4))]
    whole, started = evidence_of(data.X), evidence_of(data.X)
    started.start_on_few_rows(300)
    for scores in (whole, started):
        scores(families)
        scores.refine(families)
    np.testing.assert_allclose(started(families), whole(families), atol=15.0)
    assert set(started.starts.fits) == set(started.fits) == set(families)
    few = started.starts.rows.sum(axis=1)
    assert (few == 300).all()


def test_the_precisions_of_few_rows_are_those_of_all_while_graphs_compare(data):
    family, scores = (1, (0, 2)), evidence_of(data.X)
    scores.start_on_few_rows(300)
    scores([family])
    np.testing.assert_array_equal(scores.fits[family].precision, scores.starts.fits[family].precision)


def test_cold_starts_are_tried_on_few_rows_alone(data, monkeypatch):
    from icdh.node_model import families as module

    seen, honest = [], module.fit_node

    def counted(x, y, **options):
        seen.append((x.shape[1], options["start"] is None))
        return honest(x, y, **options)

    monkeypatch.setattr(module, "fit_node", counted)
    scores = evidence_of(data.X, n_restarts=3)
    scores.start_on_few_rows(300)
    scores([(1, (0,))])
    scores.refine([(1, (0,))])
    assert seen.count((300, True)) == 3
    assert (1500, True) not in seen
    assert seen.count((1500, False)) == 2


@pytest.mark.usefixtures("_few")
def test_the_graph_is_a_local_optimum_on_all_rows_and_history_leads_to_it(data):
    model = HNMSearch(column_transform="none", noise_distribution="gaussian").fit(data.X)
    found = model.found_graph()
    assert found.scores.starts is not None
    climber = Climber(found.scores, found.rules.forbidden, 8, found.rules.required)
    assert climber.climb(found.graph)[1] == []
    A = np.zeros((5, 5), dtype=bool)
    for move in model.history_:
        if move.kind == "detach":
            A[:, move.effect] = False
        else:
            A[move.cause, move.effect] = move.kind == "insert"
            A[move.effect, move.cause] |= move.kind == "reverse"
    np.testing.assert_array_equal(A, model.adjacency_matrix_ != 0)


@pytest.mark.usefixtures("_few")
def test_neither_threads_nor_the_order_signs_and_units_of_columns_change_the_graph(data):
    first = HNMSearch().fit(data.X)
    assert first.adjacency_matrix_.any()
    threads = HNMSearch(n_jobs=2).fit(data.X)
    np.testing.assert_array_equal(threads.adjacency_matrix_, first.adjacency_matrix_)
    order = np.array([3, 1, 4, 0, 2])
    moved = HNMSearch().fit(np.array([-1.0, 10.0, 0.1, -3.0, 1.0]) * data.X[:, order] + 5.0)
    np.testing.assert_array_equal(moved.adjacency_matrix_ != 0, first.adjacency_matrix_[np.ix_(order, order)] != 0)


@pytest.mark.usefixtures("_few")
def test_time_that_is_over_ends_the_search_on_few_rows_too(data):
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = HNMSearch(max_seconds=1e-9).fit(data.X)
    assert model.adjacency_matrix_.shape == (5, 5)


def test_a_search_goes_on_from_what_another_found(data):
    scores = evidence_of(data.X)
    forbidden = np.eye(5, dtype=bool)
    found = greedy_search(scores, forbidden)
    more = greedy_search(scores, forbidden, start=found)
    assert more.graph == found.graph
    assert more.moves == found.moves


@pytest.mark.usefixtures("_few")
def test_the_noise_that_few_rows_show_is_that_of_all():
    graph = simulate.erdos_renyi(5, 1, random_state=0)
    X = simulate.simulate_sem(graph, 1500, distribution="student-t", random_state=0).X
    model = HNMSearch().fit(X)
    assert model.found_graph().scores.starts is not None
    assert model.noise_distribution_ in ("student", "mixed")
