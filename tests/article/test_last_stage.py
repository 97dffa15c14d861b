"""The last stage of ICDH over single edges: costs, strengths, refits, invariances, ends that come early."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from helpers import fit_two_phase, problem_of, recorded
from support.article import FamilyFitter, family
from support.estimators import graph_search, refine_edges, scores_of_families

from icdh import ICDH, ConvergenceWarning, simulate
from icdh.likelihood import nll


@pytest.fixture(scope="module")
def table():
    graph = simulate.erdos_renyi(5, 1, random_state=5)
    return simulate.simulate_sem(graph, 400, noise="softplus-shared", random_state=5)


@pytest.fixture(scope="module")
def model(table):
    return ICDH().fit(table.X)


def stage(X, edge_penalty=2.0, **network):
    """Run the stage after one round of two phases, and check that its cost is the score of the network's graph."""
    values = np.ascontiguousarray(X.T)
    two_phases = fit_two_phase(values, random_state=1, max_rounds=1, **network)
    result = refine_edges(two_phases, problem_of(values, **network), edge_penalty=edge_penalty)
    families, scores = families_of(result.weights.adjacency()), scores_of_families(problem_of(values), edge_penalty, 0)
    scores.grow(families)
    scores.choose_noise(families)
    scores.polish(families)
    of_all_rows = np.array(scores(families)) / scores.families.share()
    assert result.cost == pytest.approx(of_all_rows.sum(), abs=15.0)  # minima of fits differ
    return result


def families_of(adjacency):
    return [(child, tuple(np.flatnonzero(causes).tolist())) for child, causes in enumerate(adjacency.T)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal", "equal"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_cost_is_the_score_of_the_graph_whatever_the_network(table, noise, bias):
    result = stage(table.X, noise=noise, bias=bias)
    assert result.converged
    np.testing.assert_array_equal(result.weights.adjacency() > 0.0, result.strength > 0.0)


@pytest.mark.parametrize("bias", [False, True])
def test_refitted_families_cost_their_likelihood_and_penalties(table, bias):
    values = np.ascontiguousarray(table.X.T)
    before = fit_two_phase(values, random_state=1, max_rounds=1, bias=bias).weights
    fitter, families = FamilyFitter(problem_of(values, l1=1.0, l2=0.5, bias=bias), 2.0), [(2, (0, 1)), (4, ())]
    after = fitter.refit(before, families, np.random.default_rng(0))
    np.testing.assert_array_equal(after.adjacency()[:, [0, 1, 3]], before.adjacency()[:, [0, 1, 3]])
    assert np.flatnonzero(after.adjacency()[:, 2]).tolist() == [0, 1]
    for child, causes in families:
        fit = fitter.fit_afresh(child, causes, 4, np.random.default_rng(0))
        inputs, ones = values[list(causes)], np.ones((int(bias), 400))
        s = 1.0 / (1.0 + np.exp(-fit.hidden.T @ np.vstack([inputs, ones])))
        mean, scale = fit.w2 @ np.vstack([s, ones]), np.maximum(fit.w3 @ s, 0.0) + np.exp(fit.w3_bias)
        nats = 0.5 * np.square((values[child] - mean) / scale) + np.log(scale) + 0.5 * np.log(2.0 * np.pi)
        w1, w2 = fit.hidden[: len(causes)], fit.w2[:4]
        penalties = 2.0 * np.abs(w1).sum() + 0.5 * (np.square(w1).sum() + np.square(w2).sum())
        assert fit.penalised == pytest.approx(nats.sum() + penalties, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
def test_the_stage_finds_as_good_a_graph_in_other_units(table, model, unit):
    other, alone = (ICDH(edge_penalty=edge_penalty).fit(unit * table.X) for edge_penalty in ("auto", None))
    assert other.cost_ == pytest.approx(model.cost_, abs=10.0)
    assert other.nll_ < alone.nll_


def test_edges_of_the_graph_stay_whatever_the_lasso(table):
    values = np.ascontiguousarray(table.X.T)
    two_phases = fit_two_phase(values, random_state=1, max_rounds=1)
    plain, strict = (
        refine_edges(two_phases, problem_of(values, l1=l1), edge_penalty=2.0).weights.adjacency() for l1 in (0.01, 1e4)
    )
    assert plain.any()
    np.testing.assert_array_equal(strict, plain)


def test_strength_is_what_the_score_loses_without_the_cause(table):
    result = stage(table.X)
    scores = scores_of_families(problem_of(np.ascontiguousarray(table.X.T)), 2.0, 0)
    families = families_of(result.strength)
    assert np.count_nonzero(result.strength) >= 2
    for child, causes in families:
        for k, cause in enumerate(causes):
            whole, fewer = scores([(child, causes), (child, causes[:k] + causes[k + 1 :])])
            assert result.strength[cause, child] == pytest.approx(fewer - whole, rel=0.1, abs=15.0)


def test_rounds_of_a_family_end_where_one_gains_nothing_and_after_one_if_scales_are_equal(table, monkeypatch):
    causes, rounds = tuple(np.flatnonzero(table.adjacency[:, 2]).tolist()), recorded(monkeypatch, family, "fit_scale")
    values = np.ascontiguousarray(table.X.T)

    def rounds_of(noise, network=None):
        rounds.clear()
        fitter = FamilyFitter(problem_of(values, noise=noise), 1.0)
        if network is None:
            fitter.fit_afresh(2, causes, 4, np.random.default_rng(0))
        else:
            network = fitter.refit(network, [(2, causes)])
        return len(rounds), network

    assert 1 < rounds_of("heteroscedastic")[0] < family.PHASE_ROUNDS
    network = fit_two_phase(values, random_state=1, max_rounds=1).weights
    for _ in range(3):
        count, network = rounds_of("heteroscedastic", network)
    assert count <= 2
    assert rounds_of("equal")[0] == 1
    monkeypatch.setattr(family, "LEAST_ROUND_GAIN", -np.inf)
    assert rounds_of("heteroscedastic")[0] == family.PHASE_ROUNDS


def test_the_graph_is_that_of_the_network_whatever_the_threshold(model, table):
    np.testing.assert_array_equal(model.weights_ > 0.0, model.adjacency_matrix_ > 0.0)
    np.testing.assert_array_equal(model.weights_, model.network_.adjacency())
    np.testing.assert_array_equal(model.edge_strength_ > 0.0, model.adjacency_matrix_ > 0.0)
    assert model.converged_
    assert ICDH(threshold=0.0).fit(table.X).cost_ == pytest.approx(model.cost_, abs=10.0)


def test_the_cost_is_that_of_the_graph_found_whatever_is_left_out_later(table, model):
    model, pruned = copy.deepcopy(model), ICDH(max_edges=1).fit(table.X)
    assert np.count_nonzero(pruned.adjacency_matrix_) == 1
    assert model.rethreshold(max_edges=1).cost_ == pruned.cost_
    assert model.nll_ == pruned.nll_


@pytest.mark.parametrize("edge_penalty", ["auto", None])
def test_thresholds_that_are_not_given_stay(table, model, edge_penalty):
    model = copy.deepcopy(model) if edge_penalty == model.edge_penalty else ICDH(edge_penalty=edge_penalty).fit(table.X)
    middle = float(np.median(model.weights_[model.adjacency_matrix_ != 0.0]))
    cut = model.rethreshold(threshold=middle).adjacency_matrix_
    assert 0 < np.count_nonzero(cut) < np.count_nonzero(model.weights_)
    for other in ({"min_strength": 0.0}, {"max_edges": 20}):
        np.testing.assert_array_equal(model.rethreshold(**other).adjacency_matrix_, cut)


@pytest.mark.slow
def test_edges_must_be_worth_their_price(table, model):
    cost = float(np.median(model.edge_strength_[model.adjacency_matrix_ != 0.0]))
    models = model, ICDH(edge_penalty=cost).fit(table.X), ICDH(edge_penalty=1e9).fit(table.X)
    many, some, none = (np.count_nonzero(own.adjacency_matrix_) for own in models)
    assert many > some > none == 0


def test_rows_and_columns_in_another_order_give_the_same_network(table, model):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(table.X)), rng.permutation(5)
    other = ICDH().fit(table.X[rows][:, columns])
    np.testing.assert_allclose(other.weights_, model.weights_[np.ix_(columns, columns)], rtol=1e-12)
    assert other.nll_ == pytest.approx(model.nll_, rel=1e-12)
    moves = [(move.kind, int(columns[move.cause]), int(columns[move.effect])) for move in other.moves_]
    assert moves == [(move.kind, move.cause, move.effect) for move in model.moves_]


def test_rows_that_were_set_say_nothing_of_the_causes(table, monkeypatch):
    """What families of the variable cost; graph and transform may change, for it causes others."""
    monkeypatch.setattr(graph_search.GraphSearch, "transform", lambda search: "none")
    values, rows = np.ascontiguousarray(table.X.T), np.ones(table.X.T.shape, dtype=bool)
    rows[2, :120] = False
    families, costs = [(2, ()), (2, (1,)), (2, (0, 1))], []
    for _ in range(2):
        costs.append(scores_of_families(problem_of(values, rows=rows), 2.0, 0)(families))
        values[2, :120] = values[2, :120][::-1].copy()  # the same scale
    np.testing.assert_allclose(*costs, rtol=1e-9)
    values[2, 120:] = values[2, 120:][::-1].copy()
    assert scores_of_families(problem_of(values, rows=rows), 2.0, 0)(families)[2] > costs[0][2] + 10.0


def test_a_long_table_is_decided_by_few_rows_and_fitted_to_all(table, monkeypatch):
    monkeypatch.setattr(graph_search, "SIZES", replace(graph_search.SIZES, subsample=150, long_table=300))
    some, none = stage(table.X), stage(table.X, edge_penalty=1e9)
    assert nll(table.X, some.weights) < nll(table.X, none.weights)


def test_an_interrupt_keeps_the_best_graph_and_says_so(table):
    def interrupt(record):
        if hasattr(record, "kind"):
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ICDH(callback=interrupt, edge_penalty=1e9).fit(table.X)
    assert (model.interrupted_, model.converged_, len(model.moves_)) == (True, False, 1)


@pytest.mark.slow
def test_restarts_are_judged_by_the_cost_of_their_graphs(table, model):
    assert ICDH(n_restarts=3).fit(table.X).cost_ <= model.cost_ + 1e-9


@pytest.mark.parametrize(("variables", "rounds"), [(4, 1), (8, 2)])
def test_two_rounds_come_before_the_stage_where_the_first_is_coarse(variables, rounds):
    X = np.random.default_rng(0).normal(size=(200, variables))
    assert len(ICDH(random_state=0).fit(X).history_) == rounds


@pytest.mark.parametrize("bias", [False, True])
def test_a_fresh_fit_finds_a_child_that_is_nearly_a_function_of_its_causes(bias):
    """A hundredth of its spread is noise: the fit is as likely as the truth."""
    first, second, noise = np.random.default_rng(4).normal(size=(3, 500))
    values = np.array([np.tanh(first) + np.tanh(2.0 * second) + 0.01 * noise, first, second])
    fitter = FamilyFitter(problem_of(values, l1=1.0, l2=1.0, bias=bias), 1.0)
    fit, again = (fitter.fit_afresh(0, (1, 2), 10, np.random.default_rng(0)) for _ in range(2))
    assert fit.penalised < 100.0 + 500 * (np.log(0.01 * np.sqrt(2.0 * np.pi)) + 0.5) + 25.0
    np.testing.assert_array_equal(fit.hidden, again.hidden)
