"""The last stage of ICDH over single edges: costs, strengths, invariances, knowledge, ends that come early."""

import copy

import numpy as np
import pytest
from helpers import fit_two_phase, hetero_chain, problem_of, recorded
from support.article import FamilyCosts, FamilyFit, FamilyFitter, family, last_stage, price_of_edge, refine_edges

from icdh import ICDH, ConvergenceWarning, simulate
from icdh.likelihood import nll
from icdh.network import features_of, outputs


@pytest.fixture(scope="module")
def table():
    graph = simulate.erdos_renyi(5, 1, random_state=5)
    return simulate.simulate_sem(graph, 400, noise="softplus-shared", random_state=5)


@pytest.fixture(scope="module")
def model(table):
    return ICDH().fit(table.X)


def stage(X, **options):
    """Run the stage after one round of two phases, and check that its cost is the likelihood and the edges' price."""
    values = np.ascontiguousarray(X.T)
    network = {name: options.pop(name) for name in ("bias", "noise") if name in options}
    two_phases = fit_two_phase(values, random_state=1, max_rounds=1, **network)
    result = refine_edges(two_phases, problem_of(values, **network), **{"edge_cost": 25.0} | options)
    priced = options.get("edge_cost", 25.0) * np.count_nonzero(result.weights.adjacency())
    assert result.cost == pytest.approx(len(X) * nll(X, result.weights) + priced, rel=1e-9)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["heteroscedastic", "unequal", "equal"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_cost_is_the_likelihood_of_the_network_and_the_price_of_its_edges(table, noise, bias):
    assert stage(table.X, noise=noise, bias=bias).converged


@pytest.mark.parametrize("bias", [False, True])
def test_outputs_of_a_family_are_those_of_the_network(table, bias):
    values = np.ascontiguousarray(table.X.T)
    weights = fit_two_phase(values, random_state=1, max_rounds=1, bias=bias).weights
    whole = outputs(features_of(values, bias), weights)
    fitter = FamilyFitter(problem_of(values, l1=1.0, l2=1.0, bias=bias), 1.0)
    for child, causes in enumerate(tuple(np.flatnonzero(column)) for column in weights.adjacency().T > 0):
        hidden, w2 = weights.w1[child][:, causes].T, weights.w2[child]
        if bias:
            hidden, w2 = np.vstack([hidden, weights.hidden_bias[child]]), np.append(w2, weights.output_bias[child])
        fit = FamilyFit(np.ascontiguousarray(hidden), w2, weights.w3[child], weights.w3_bias[child], 0.0, 0.0, True)
        for ours, theirs in zip(fitter.outputs(child, causes, fit), whole, strict=True):
            np.testing.assert_allclose(ours, theirs[child], rtol=1e-10, atol=1e-12)


def test_strength_is_what_a_refit_without_the_cause_loses(table):
    causes = tuple(np.flatnonzero(table.adjacency[:, 2]).tolist())
    assert causes
    graph = ((), (), causes, (), ())
    costs = costs_of(table.X.T, graph)
    strength, whole = costs.strength(graph), costs.fits[2, causes]
    scale = costs.fitter.outputs(2, causes, whole)[1]
    for k, cause in enumerate(causes):
        fewer = causes[:k] + causes[k + 1 :], np.delete(whole.hidden, k, axis=0)
        refitted = costs.fitter.fit(2, *fewer, whole.w3, whole.w3_bias, scale)
        assert strength[cause, 2] == pytest.approx(refitted.nats - whole.nats, rel=0.02)
    assert np.count_nonzero(strength) == len(causes)


def test_rounds_of_a_family_end_where_one_gains_nothing_and_after_one_if_scales_are_equal(table, monkeypatch):
    causes, rounds = tuple(np.flatnonzero(table.adjacency[:, 2]).tolist()), recorded(monkeypatch, family, "fit_scale")

    def fitted(noise, start=None):
        fitter = FamilyFitter(problem_of(np.ascontiguousarray(table.X.T), noise=noise), 1.0)
        rounds.clear()
        if start is None:
            return fitter.fit_afresh(2, causes, 4, np.random.default_rng(0))
        scale = fitter.outputs(2, causes, start)[1]
        return fitter.fit(2, causes, start.hidden, start.w3, start.w3_bias, scale)

    first = fitted("heteroscedastic")
    assert first.finished
    assert 1 < len(rounds) < family.TUNING.most_rounds
    fitted("heteroscedastic", first)
    assert len(rounds) <= 2
    fitted("equal")
    assert len(rounds) == 1


def test_every_edge_that_stays_is_worth_its_price(model):
    edges = model.adjacency_matrix_ != 0
    assert edges.sum() >= 2
    assert model.edge_strength_[edges].min() >= 25.0 - 1e-6
    assert not model.edge_strength_[~edges].any()


def test_the_graph_is_that_of_the_network_whatever_the_threshold(model, table):
    np.testing.assert_array_equal(model.weights_ > 0.0, model.adjacency_matrix_ > 0.0)
    np.testing.assert_array_equal(model.weights_, model.network_.adjacency())
    assert model.cost_ == pytest.approx(400 * model.nll_ + 25.0 * np.count_nonzero(model.weights_), rel=1e-9)
    assert model.converged_
    assert ICDH(threshold=0.0).fit(table.X).cost_ <= model.cost_ + 30.0


def test_the_cost_is_that_of_the_graph_that_is_returned(table, model):
    model, pruned = copy.deepcopy(model), ICDH(max_edges=1).fit(table.X)
    whole = model.cost_
    assert np.count_nonzero(pruned.adjacency_matrix_) == 1
    assert pruned.cost_ == pytest.approx(400 * pruned.nll_ + 25.0, rel=1e-9)
    assert pruned.cost_ > whole
    assert model.rethreshold(max_edges=1).cost_ == pruned.cost_
    assert model.rethreshold(max_edges=20).cost_ == whole


@pytest.mark.parametrize("edge_cost", ["auto", None])
def test_thresholds_that_are_not_given_stay(table, model, edge_cost):
    model = copy.deepcopy(model) if edge_cost == model.edge_cost else ICDH(edge_cost=edge_cost).fit(table.X)
    middle = float(np.median(model.weights_[model.adjacency_matrix_ != 0.0]))
    cut = model.rethreshold(threshold=middle).adjacency_matrix_
    assert 0 < np.count_nonzero(cut) < np.count_nonzero(model.weights_)
    for other in ({"min_strength": 0.0}, {"max_edges": 20}):
        np.testing.assert_array_equal(model.rethreshold(**other).adjacency_matrix_, cut)


@pytest.mark.slow
def test_edges_must_be_worth_their_price(table, model):
    models = ICDH(edge_cost=0.5).fit(table.X), model, ICDH(edge_cost=1e9).fit(table.X)
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


def test_rows_that_were_set_say_nothing_of_the_causes(table):
    """What families of the variable cost, however they are fitted; the graph may change, for it causes others."""
    values, rows = np.ascontiguousarray(table.X.T), np.ones(table.X.T.shape, dtype=bool)
    rows[2, :120] = False
    families, found = [(2, ()), (2, (1,)), (2, (0, 1))], []
    weights = fit_two_phase(values, random_state=1, max_rounds=1, rows=rows).weights
    for value in (0.0, 2.0):
        values[2, :120] = value
        costs = costs_of(values, ((), (), (), (), (1,)), weights, rows=rows)
        costs(families)
        costs.fit_afresh(((), (), (0, 1), (), (1,)))
        found.append(costs(families))
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_a_long_table_is_decided_by_few_rows_and_fitted_to_all(table, monkeypatch):
    monkeypatch.setattr(last_stage, "TUNING", last_stage.LastStageTuning(few_observations=150))
    some, none = stage(table.X), stage(table.X, edge_cost=1e9)
    assert nll(table.X, some.weights) < nll(table.X, none.weights)


def test_an_interrupt_keeps_the_best_graph_and_says_so(table):
    def interrupt(record):
        if hasattr(record, "kind"):
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ICDH(callback=interrupt, edge_cost=1e9).fit(table.X)
    assert (model.interrupted_, model.converged_, len(model.moves_)) == (True, False, 1)


@pytest.mark.slow
def test_restarts_are_judged_by_the_cost_of_their_graphs(table, model):
    assert ICDH(n_restarts=3).fit(table.X).cost_ <= model.cost_ + 1e-9


def costs_of(values, graph=None, weights=None, **options):
    """The costs of families, begun with those of no cause."""
    values = np.ascontiguousarray(values)
    costs = FamilyCosts(FamilyFitter(problem_of(values, l1=1.0, l2=1.0, **options), 1.0), 25.0, 0)
    weights = weights or fit_two_phase(values, random_state=1, max_rounds=1).weights
    costs.begin(graph or ((),) * len(values), weights)
    return costs


def test_a_family_is_given_up_that_does_not_pay_for_its_edges(table, monkeypatch):
    costs, honest = costs_of(table.X.T), FamilyFitter.fit
    fits = recorded(monkeypatch, FamilyFitter, "fit")
    costs([(0, (1,))])
    assert [given[7] for given, _ in fits] == [pytest.approx(costs.fits[0, ()].nats - 25.0)]
    start = *costs.fits[0, ()][:1], *costs.fits[0, ()][2:4], np.ones(len(table.X))
    without = [honest(costs.fitter, 0, (), *start, limit) for limit in (np.inf, -1e6)]
    assert [fit.finished for fit in without] == [True, False]


def test_polishing_never_raises_a_cost(table):
    costs, families = costs_of(table.X.T), [(0, ()), (0, (1,)), (0, (1, 2))]
    costs(families)
    before = dict(costs.fits)
    costs.polish(families)
    assert all(costs.fits[family].penalised <= before[family].penalised for family in families)


def test_what_explains_a_spread_is_estimated_to_gain():
    cause, other, noise = np.random.default_rng(3).normal(size=(3, 500))
    estimates = costs_of([np.exp(0.8 * cause) * noise, cause, other]).gain_estimates((0, ()))
    assert estimates[1] > 0.0 > estimates[2]
    assert estimates[0] == -np.inf


def test_the_price_grows_with_the_number_of_possible_causes():
    assert price_of_edge(5) == price_of_edge(10) == 25.0
    assert price_of_edge(100) == pytest.approx(25.0 + np.log(10.0))


@pytest.mark.parametrize("price", ["cheap", -1.0, True])
def test_bad_prices_are_refused(price):
    with pytest.raises((ValueError, TypeError), match="edge_cost"):
        ICDH(edge_cost=price).fit(hetero_chain(np.random.default_rng(0), 50))


@pytest.mark.parametrize(("variables", "rounds"), [(4, 1), (8, 2)])
def test_two_rounds_come_before_the_stage_where_the_first_is_coarse(variables, rounds):
    X = np.random.default_rng(0).normal(size=(200, variables))
    assert len(ICDH(random_state=0).fit(X).history_) == rounds


def test_settling_lowers_costs_once():
    table = simulate.simulate_sem(simulate.erdos_renyi(4, 1, random_state=1), 200, noise="homo-nv", random_state=1)
    costs, graph = costs_of(table.X.T), tuple(tuple(np.flatnonzero(own).tolist()) for own in table.adjacency.T)
    families = [*enumerate(graph), *((n, tuple(c for c in own if c != i)) for n, own in enumerate(graph) for i in own)]
    costs(families)
    before = dict(costs.fits)
    assert costs.fit_afresh(graph)
    assert all(costs.fits[family].penalised <= before[family].penalised for family in families)
    after = dict(costs.fits)
    assert not costs.fit_afresh(graph)
    assert costs.fits == after


@pytest.mark.parametrize("bias", [False, True])
def test_a_fresh_fit_finds_a_child_that_is_nearly_a_function_of_its_causes(bias):
    """A hundredth of its spread is noise: the fit is as likely as the truth."""
    first, second, noise = np.random.default_rng(4).normal(size=(3, 500))
    values = np.array([np.tanh(first) + np.tanh(2.0 * second) + 0.01 * noise, first, second])
    fitter = FamilyFitter(problem_of(values, l1=1.0, l2=1.0, bias=bias), 1.0)
    fit, again = (fitter.fit_afresh(0, (1, 2), 10, np.random.default_rng(0)) for _ in range(2))
    assert fit.nats < 500 * (np.log(0.01 * np.sqrt(2.0 * np.pi)) + 0.5) + 25.0
    np.testing.assert_array_equal(fit.hidden, again.hidden)
