"""Hidden common causes: EM against integrals and loops, linear graphs with them on covariances, and their climb."""

import math

import numpy as np
import pytest
from helpers import family_evidence, hidden_cause_search
from naive import district_score, hidden_cause_nll
from support.families import ConfoundedConditional, GaussianLaw, GaussianResponse, NodeNetwork, Posterior
from support.families import hidden_posterior as posterior
from support.hidden_causes import (
    Districts,
    HiddenGraph,
    LinearGraphs,
    extrapolated,
    hidden_weights,
    sparse_and_low_rank,
)

from icdh.knowledge import EdgeRules

LOADINGS = np.array([0.8, -0.7, 0.6, 0.9, 0.7])


def scaled(x):
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def confounded(seed=0, n=600, loadings=LOADINGS[:4]):
    """Children of a hidden cause, the first a cause of the second, and a cause of the fourth; and the values."""
    U, outside, *noise = np.random.default_rng(seed).normal(size=(loadings.size + 2, n))
    x = loadings[:, np.newaxis] * U + 0.6 * np.array(noise)
    x[1] += 0.8 * x[0]
    x[3] += 0.7 * outside
    return scaled(np.vstack([x, outside])), U


FAMILIES = ((0, ()), (1, (0,)), (2, ()), (3, (4,)))


def test_children_tell_the_hidden_values_that_they_were_given():
    hidden, none = np.random.default_rng(0).normal(size=200), np.zeros((3, 200))
    theta = np.array([0.0, 0.0, 0.0, -3.0, 0.0])  # one unit without weights; the log-variance is -3
    of_no_input = np.zeros(0, dtype=int), np.zeros(0, dtype=int), theta, 1
    given = NodeNetwork(*of_no_input), GaussianLaw()
    children = [ConfoundedConditional(*given, loading=loading) for loading in (1.0, -0.5, 2.0)]
    values = np.array([child.mean_and_scale_at(none, hidden)[0] for child in children])
    told = children[0].posterior_with(children, values, none)[0].mean
    assert np.corrcoef(told, hidden)[0, 1] > 0.999


def bound(residuals, variances, loadings, of):
    """What EM minimises, at a posterior of the hidden values."""
    squares = (residuals - np.outer(loadings, of.mean)) ** 2 + np.outer(loadings**2, of.variance)
    return 0.5 * (np.log(variances) + squares / variances).sum() + of.divergences().sum()


def test_the_bound_at_the_posterior_is_the_marginal_likelihood():
    rng = np.random.default_rng(0)
    children = rng.normal(size=(3, 5)), rng.uniform(0.2, 2.0, (3, 5)), np.array([0.9, -0.4, 0.0])
    hidden = posterior(*children)
    np.testing.assert_allclose(bound(*children, hidden), hidden_cause_nll(*children), rtol=1e-10)
    for other in (Posterior(hidden.mean + 0.1, hidden.variance), Posterior(hidden.mean, 0.5 * hidden.variance)):
        assert bound(*children, other) > bound(*children, hidden) + 1e-4


def test_the_score_agrees_with_naive_and_the_hidden_values_with_the_true_ones():
    table, U = confounded()
    scores = family_evidence(table)
    found = Districts(scores)(FAMILIES)
    fits = [(table[list(parents)].T, table[node], np.zeros(U.size)) for node, parents in FAMILIES]
    price = 2.0 + 0.5 * np.log(U.size)
    expected = district_score(FAMILIES, fits, found.loadings, *found.hidden, price)
    np.testing.assert_allclose(found.score, expected, rtol=1e-9)
    assert abs(np.corrcoef(found.hidden.mean, U)[0, 1]) > 0.85
    signs = np.sign(found.loadings)
    np.testing.assert_array_equal(signs * signs[0], np.sign(LOADINGS[:4]))
    assert found.score < sum(scores(FAMILIES)) - 100.0


def test_em_ends_at_the_posterior_where_the_bound_is_tight():
    table, _U = confounded(1)
    found = Districts(family_evidence(table))(FAMILIES)
    residuals = table[:4] - np.array([child.mean for child in found.children])
    variances = np.array([child.variance for child in found.children])
    last = posterior(residuals, variances, found.loadings)
    np.testing.assert_allclose(found.hidden.mean, last.mean, atol=0.02)
    part = residuals[:, :50], variances[:, :50], found.loadings
    nll = hidden_cause_nll(*part)
    assert nll - 1e-8 <= bound(*part, Posterior(found.hidden.mean[:50], found.hidden.variance[:50])) < nll + 0.01


def test_a_step_of_em_never_raises_the_bound_of_linear_models():
    table, U = confounded(2)
    districts = Districts(family_evidence(table))
    step = districts._step(FAMILIES, *districts._cold_start(FAMILIES))
    for _ in range(10):
        last, step = step, districts._step(FAMILIES, districts._posterior(step), step.children)
        assert step.score <= last.score + 1e-9
    start = Posterior(np.random.default_rng(0).normal(size=U.size), np.full(U.size, 0.5))
    assert districts._em(FAMILIES, start, step.children).score <= districts._step(FAMILIES, start, step.children).score


def test_loadings_are_a_weighted_regression_with_the_linear_part_free():
    table, U = confounded(3)
    districts, rng = Districts(family_evidence(table)), np.random.default_rng(1)
    step = districts._step(FAMILIES, *districts._cold_start(FAMILIES))
    child, hidden = step.children[3]._replace(variance=rng.uniform(0.1, 3.0, U.size)), Posterior(U, rng.random(U.size))
    design, residual = np.array([np.ones(U.size), table[4], U]), table[3] - child.mean
    system = design / child.variance @ design.T
    system[2, 2] += hidden.variance @ (1.0 / child.variance)
    expected = np.linalg.solve(system, design @ (residual / child.variance))[2]
    assert districts._loadings(FAMILIES[3:], [child], hidden)[0] == pytest.approx(expected, rel=1e-9)


def test_the_score_depends_neither_on_the_order_of_rows_nor_on_signs_nor_on_the_start():
    table, U = confounded(3)
    found = Districts(family_evidence(table))(FAMILIES)
    rows, signs = np.random.default_rng(0).permutation(U.size), np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    other = Districts(family_evidence(np.ascontiguousarray(table[:, rows]) * signs[:, np.newaxis]))
    again = other(FAMILIES)
    np.testing.assert_allclose(again.score, found.score, atol=0.2)
    turn = np.sign(again.hidden.mean @ found.hidden.mean[rows])
    np.testing.assert_allclose(turn * again.hidden.mean, found.hidden.mean[rows], atol=0.02)
    np.testing.assert_allclose(turn * again.loadings * signs[:4], found.loadings, atol=0.02)
    districts = Districts(family_evidence(table))
    districts(tuple((node, (4,)) for node in range(4)))  # a worse district of these children, to start from
    np.testing.assert_allclose(districts(FAMILIES).score, found.score, atol=0.2)


def test_networks_and_cells_of_a_grid_have_a_hidden_cause_as_well():
    table, U = confounded(4)
    table[2] += 0.8 * np.tanh(2.0 * table[4]) * (1.0 + 0.5 * table[4])
    responses = [GaussianResponse.exact(own) for own in table]
    responses[0] = GaussianResponse.over_cells(table[0] - 0.1, table[0] + 0.1, [table[0]])
    families = ((0, ()), (1, (0,)), (2, (4,)), (3, (4,)))
    found = Districts(family_evidence(table, responses))(families)
    assert [child.lead > 0.0 for child in found.children] == [False, True, False, True]
    assert abs(np.corrcoef(found.hidden.mean, U)[0, 1]) > 0.85
    exact = Districts(family_evidence(table))(families)
    assert found.score > exact.score  # a cell says less than a value


def test_an_extrapolation_finds_the_end_of_a_geometric_sequence():
    end, start = Posterior(np.array([1.0, -2.0]), np.array([0.5, 0.25])), np.array([0.3, 0.7])
    path = [Posterior(end.mean + 0.9**k * start, np.exp(np.log(end.variance) - 0.9**k * start)) for k in range(3)]
    found = extrapolated(*path)
    np.testing.assert_allclose(found.mean, end.mean, atol=1e-9)
    np.testing.assert_allclose(found.variance, end.variance, atol=1e-9)


def test_em_does_not_stall_where_children_are_causes_of_one_another():
    """At first a parent explains what the hidden cause should: EM has to end where it does from the true values."""
    rng = np.random.default_rng(1)
    U, noise, x = rng.normal(size=500), rng.normal(size=(8, 500)), np.zeros((8, 500))
    families = tuple((node, tuple(range(max(node - 2, 0), node))) for node in range(8))
    for (node, parents), loading in zip(families, [0.6, -0.9, 0.7, -0.6, 0.8, 0.5, -0.7, 0.6], strict=True):
        x[node] = loading * U + 0.5 * noise[node] + 0.5 * x[list(parents)].sum(axis=0)
    districts = Districts(family_evidence(scaled(x)))
    found = districts(families)
    told = districts._em(families, Posterior((U - U.mean()) / U.std(), np.full(500, 0.05)), found.children)
    assert found.score < told.score + 1.0


@pytest.fixture(scope="module")
def table():
    return confounded(loadings=LOADINGS)[0]


STATE = HiddenGraph(((), (0,), (), (5,), (), ()), ((0, 1, 2, 3, 4),))
THICKET = HiddenGraph(((1, 2, 3, 4, 5), (), (1,), (2, 4, 5), (2,), ()))


def constant(N, n):
    """What scores on covariances leave out."""
    return N * (0.5 * n + 0.5 * math.log(n) + 0.5 * math.log(n / 2))


def test_without_hidden_causes_the_score_is_that_of_linear_models(table):
    families = family_evidence(table).families
    expected = sum(families.linear_score(own, "gaussian") for own in ((1, (0,)), (3, (0, 5)), (5, (2,))))
    graphs = LinearGraphs(families)
    found = graphs(((), (0,), (), (0, 5), (), (2,))).score - graphs(((),) * 6).score
    assert found == pytest.approx(expected - constant(3, 600), abs=1e-3)


def test_the_score_and_the_hidden_values_are_those_of_em_on_the_rows(table):
    scores = family_evidence(table)
    district = Districts(scores)(STATE.families(STATE.hidden[0]))
    graphs = LinearGraphs(scores.families)
    fit = graphs(STATE.of_nodes())
    assert fit.score + constant(6, 600) == pytest.approx(district.score + scores([(5, ())])[0], abs=0.2)
    mean = np.linalg.solve(table @ table.T / 600, fit.moments[:6, 6]) @ table
    turn = np.sign(mean @ district.hidden.mean)
    np.testing.assert_allclose(turn * mean, district.hidden.mean, atol=0.03)
    np.testing.assert_allclose(fit.spreads[0], district.hidden.variance, atol=0.01)
    (drawn,) = graphs.values(fit, np.random.default_rng(1))
    assert np.corrcoef(drawn, mean)[0, 1] ** 2 == pytest.approx(1.0 - fit.spreads[0], abs=0.03)
    near = LinearGraphs(scores.families)(STATE.of_nodes(), fit)  # at the end of EM already
    assert fit.score - 0.1 < near.score < fit.score + 1e-6


def test_a_graph_and_its_hidden_causes_are_nodes_of_one_graph():
    state = HiddenGraph(((), (0,), (), (), (), (), ()), ((0, 1, 2), (4, 5, 6)))
    assert state.of_nodes() == ((7,), (0, 7), (7,), (), (8,), (8,), (8,), (), ())
    assert HiddenGraph.from_nodes(state.of_nodes(), 7) == state
    assert HiddenGraph.from_nodes(((7,), (0, 7), (7, 8), (), (8,), (8,), (), (), ()), 7).hidden == ((0, 1, 2),)


def test_a_climb_finds_missing_children_and_leaves_out_edges_that_the_hidden_cause_explains(table):
    rules = EdgeRules.of(np.eye(6, dtype=bool) | (np.arange(36).reshape(6, 6) == 6))  # 1 -> 0: covariances do not tell
    search = hidden_cause_search(table, rules)
    start = HiddenGraph(((), (0,), (1,), (4, 5), (), ()), ((0, 1, 4),))
    found = search._climbed(start)
    assert found == STATE
    assert search._quick_total(found) < search._quick_total(start) - 10.0


def test_the_low_rank_part_of_inverse_covariances_tells_the_hidden_values():
    """Of exact covariances of a chain and a hidden cause of all; more columns tell the values more closely."""
    loadings = np.array([1.0, -0.9, 0.8, 0.7, -1.0, 0.9, 0.8, -0.7, 1.0])
    mixed = np.linalg.inv(np.eye(9) - 0.5 * np.eye(9, k=-1))
    covariances = mixed @ (np.outer(loadings, loadings) + 0.3 * np.eye(9)) @ mixed.T
    deviations = np.sqrt(covariances.diagonal())
    covariances, with_hidden = covariances / np.outer(deviations, deviations), mixed @ loadings / deviations
    share = np.linalg.solve(covariances, with_hidden) @ with_hidden
    found = hidden_weights(covariances)
    assert max(abs(own @ with_hidden) for own in found) > 0.97 * math.sqrt(share)
    assert [own @ covariances @ own for own in found] == pytest.approx([1.0] * len(found))


def test_the_sparse_and_the_low_rank_part_are_where_nothing_improves(table):
    """By the conditions of Karush, Kuhn and Tucker."""
    covariances, sparsity, rank = table @ table.T / table.shape[1], 0.05, 0.1
    sparse, low = sparse_and_low_rank(covariances, sparsity, rank)
    off = covariances - np.linalg.inv(sparse - low)
    entries = ~np.eye(6, dtype=bool) & (sparse != 0.0)
    np.testing.assert_allclose(off.diagonal(), 0.0, atol=1e-3)
    np.testing.assert_allclose(off[entries], -sparsity * np.sign(sparse[entries]), atol=1e-3)
    assert np.abs(off).max() < sparsity + 1e-3
    assert np.linalg.eigvalsh(rank * np.eye(6) - off)[0] > -1e-3
    np.testing.assert_allclose((rank * np.eye(6) - off) @ low, 0.0, atol=1e-3)
    assert np.linalg.eigvalsh(low)[-1] > 0.1
    assert not sparse_and_low_rank(covariances, sparsity, 50.0)[1].any()  # nothing pays so much


def test_a_search_begins_at_the_hidden_values_and_needs_no_thicket(table):
    search = hidden_cause_search(table)
    starts = search._starts(HiddenGraph(((),) * 6))
    assert starts
    assert all({0, 2, 3, 4} <= set(own.hidden[0]) for own in starts)


def test_what_is_found_is_no_worse_than_the_truth_and_a_cause_that_is_not_worth_it_changes_no_strength(
    table, monkeypatch
):
    search = hidden_cause_search(table)
    state = search.improved(THICKET)
    assert search.total(state) < search.total(STATE) + 1e-6
    assert list(search.worths) == list(state.hidden)
    kept = dict(search.worths)
    monkeypatch.setattr(search, "_best_of", lambda _: state)
    monkeypatch.setattr(search, "_worths", lambda own: [1.0] * len(own.hidden))
    assert search.improved(state) is None
    assert search.worths == kept
