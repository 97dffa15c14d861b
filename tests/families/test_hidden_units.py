"""Hidden units and noise of a node, chosen by evidence once its causes are known; the same for all its families."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import family_evidence, recorded, standardised
from scipy.stats import norm
from support.estimators import graph_search
from support.families import (
    FamilyModels,
    GaussianResponse,
    NodeNetwork,
    OrdinalResponse,
    Start,
    cold_start,
    columns_of,
    family_models,
    n_weights,
    network,
    node_outputs,
    noise_gain,
    residuals_of,
    with_twice_the_units,
)

from icdh import HNMSearch, bootstrap, load, posterior


def bent(n=400, noise=0.03, seed=0):
    """x0 is a wave of x1, which two units cannot follow; x2 is a smooth function of x3."""
    rng = np.random.default_rng(seed)
    x1, x3 = rng.uniform(-3, 3, size=(2, n))
    return standardised(np.sin(2 * x1) + noise * rng.normal(size=n), x1, np.tanh(x3) + rng.normal(size=n), x3)


GRAPH = [(0, (1,)), (1, ()), (2, (3,)), (3, ())]


def evidence(values, **options):
    return family_evidence(values, **{"hidden_units": 2, "edge_penalty": 1, "n_restarts": 2, "most_units": 8} | options)


def noise_of(scores, family):
    """The noise distribution of a family."""
    return noise_gain([residuals_of(scores, family)], scores.noise, None)[1]


def later_fits(monkeypatch):
    return recorded(monkeypatch, family_models, "fit_node")


@pytest.mark.parametrize("n_parents", [1, 3])
def test_twice_the_units_compute_nearly_the_same(monkeypatch, n_parents):
    x, theta, errors = np.random.default_rng(2).normal(size=(n_parents, 50)), cold_start(n_parents, 4, 1), []
    theta += 0.5 * np.random.default_rng(1).normal(size=theta.size)
    expected = np.array(node_outputs(theta, x, 4))
    for step in (0.0, 1e-3, 2e-3):
        monkeypatch.setattr(network, "SPLIT", step)
        twice = with_twice_the_units(theta, n_parents, 4, 0)
        assert twice.size == n_weights(n_parents, 8)
        errors.append(np.abs(np.array(node_outputs(twice, x, 8)) - expected).max())
    assert errors[0] < 1e-12
    assert 1e-9 < errors[1] < 1e-4
    assert errors[2] == pytest.approx(4 * errors[1], rel=0.05)  # of second order


def test_units_grow_where_the_evidence_asks_for_them_and_what_was_enough_is_not_tried_again(monkeypatch):
    scores = evidence(bent())
    before, network = scores(GRAPH), scores.network_score_of(GRAPH[0])
    assert scores.grow(GRAPH)
    after = scores(GRAPH)
    assert scores.units == [8, 2, 2, 2]
    assert scores.network_score_of(GRAPH[0]) < network - 50
    assert after[0] <= before[0]
    assert after[1:] == before[1:]
    assert scores.fit_of((0, (1,))).theta.size == n_weights(1, 8)
    fits = later_fits(monkeypatch)
    assert not scores.grow(GRAPH)
    assert fits == []
    scores([(0, (1, 2)), (0, (2,)), (2, (1,))])
    assert [units for (_, _, units, _), _ in fits] == [8, 8, 2]
    fits.clear()  # of nodes that have grown no further cold starts are tried
    for family in GRAPH[::2]:
        scores.polish([family])
    assert [start.theta is None for (*_, start), _ in fits] == [False, True, False]


def test_what_was_known_with_fewer_units_or_of_gaussian_noise_is_forgotten(monkeypatch):
    """The fit with twice the units is no refined one, and what a change may gain is another matter given that."""
    family, scores = (0, (1,)), evidence(bent())
    scores.polish([family])
    before = scores.gain_estimates([family])[0]
    assert scores.grow([family])
    assert before[2] != scores.gain_estimates([family])[0][2]
    of_tails = evidence(heavy_tails(), noise="auto", most_units=2)
    of_tails.polish(TAILS)
    assert of_tails.choose_noise(TAILS)  # another fit may be the best now
    fits = later_fits(monkeypatch)
    for own, families in ((scores, [family]), (of_tails, TAILS)):
        fits.clear()
        own.polish(families)
        assert fits != []


def test_large_families_get_their_further_starts_where_the_search_ends(monkeypatch):
    scores = evidence(bent(), n_restarts=3)
    scores.grow(GRAPH)
    scores.polish(GRAPH)
    before, fits = scores(GRAPH), later_fits(monkeypatch)
    for _ in range(2):
        assert not scores.choose_noise(GRAPH)
        cold = [(units, start.seed) for (_, _, units, start), _ in fits if start.theta is None]
        assert cold == [(8, 1), (8, 2)]
    assert scores(GRAPH)[0] <= before[0]
    assert scores(GRAPH)[1:] == before[1:]


def test_units_stay_where_no_more_are_allowed():
    for most in (2, 3):
        scores = evidence(bent(), most_units=most)
        assert not scores.grow(GRAPH)
        assert scores.units == [2] * 4


def test_a_graph_that_was_found_gets_more_units_apart_from_the_search():
    scores = evidence(bent(n=900), most_units=4)
    scores.grow(GRAPH)
    scores.polish(GRAPH)
    before, fits = scores(GRAPH), [scores.fit_of(own) for own in GRAPH]
    larger = scores.with_more_units(GRAPH, 16)
    assert larger.units[0] > 4
    assert larger.units[1:] == [2, 2, 2]
    after = larger(GRAPH)
    assert after[0] < before[0] - 5.0
    assert after[1:] == before[1:]
    assert larger.fit_of(GRAPH[0]).theta.size == n_weights(1, larger.units[0])
    assert (scores(GRAPH), scores.units) == (before, [4, 2, 2, 2])
    assert all(scores.fit_of(own) is fit for own, fit in zip(GRAPH, fits, strict=True))


def test_twice_the_units_are_not_tried_where_they_cost_nats_of_nearly_the_same_parents(monkeypatch):
    tried = recorded(monkeypatch, FamilyModels, "fit_twice_the_units")
    scores = evidence(standardised(*np.random.default_rng(0).normal(size=(6, 300))))
    for family in [(0, (1, 2)), (0, (1, 2, 3, 4)), (0, (1, 3)), (0, (2,)), (0, (3, 4)), (5, (1, 3))]:
        assert not scores.grow([family])
    scores.units[0] = 4
    scores.grow([(0, (1, 3))])  # of more units nothing is known
    assert [family for (_, family, _), _ in tried] == [(0, (1, 2)), (0, (3, 4)), (5, (1, 3)), (0, (1, 3))]


def test_families_of_a_node_that_has_grown_begin_where_its_fit_is(monkeypatch):
    """With one parent more, at its outputs; with one fewer, at the same weights without that parent's."""
    values, family = bent(), (0, (1, 3))
    scores = evidence(values)
    assert scores.grow([family])
    units, theta = scores.units[0], scores.fit_of(family).theta
    fits = later_fits(monkeypatch)
    scores([(0, (1, 2, 3)), (0, (1,)), (0, (3,))])
    starts = {x.tobytes(): start.theta for (x, _, _, start), _ in fits}
    more, known = node_outputs(starts[values[[1, 2, 3]].tobytes()], values[[1, 2, 3]], units), values[[1, 3]]
    np.testing.assert_allclose(more, node_outputs(theta, known, units), rtol=1e-12, atol=1e-14)
    for parent, weights in ((1, slice(units, 2 * units)), (3, slice(units))):
        np.testing.assert_array_equal(starts[values[[parent]].tobytes()], np.delete(theta, weights))


def test_neither_threads_nor_the_order_of_families_change_what_grows():
    one, two = evidence(bent()), evidence(bent(), n_jobs=2)
    assert one.grow(GRAPH) == two.grow(GRAPH[::-1])
    assert (one.units, one(GRAPH)) == (two.units, two(GRAPH))


def heavy_tails(n=600):
    rng = np.random.default_rng(5)
    x1 = rng.normal(size=n)
    return standardised(np.sin(x1) + 0.4 * rng.standard_t(3, size=n), x1, rng.normal(size=n))


TAILS = [(0, (1,)), (1, ()), (2, ())]  # the graph of heavy_tails


def test_noise_is_gaussian_until_the_residuals_of_a_graph_show_that_it_is_not():
    scores = evidence(heavy_tails(), noise="auto", most_units=2)
    families = [*TAILS, (0, ()), (0, (1, 2))]
    scores(families)
    plain = {family: scores.network_score_of(family) for family in families}
    assert {noise_of(scores, family) for family in families} == {"gaussian"}
    assert not scores.choose_noise(TAILS[1:])
    assert scores.choose_noise(TAILS)
    assert [noise_of(scores, family) for family in TAILS] == ["student", "gaussian", "gaussian"]
    for family in families:
        worth = noise_gain([residuals_of(scores, family)], "auto", None)[0]
        scores([family])
        assert scores.network_score_of(family) == pytest.approx(plain[family] - worth, abs=1e-9)
    assert not scores.choose_noise(TAILS)
    assert scores([(0, (2,))])[0] < evidence(heavy_tails(), most_units=2)([(0, (2,))])[0] - 10


def bent_noise(n_variables, n=4000):
    """Gaussian noise through a gentle curve: told from a Gaussian by many rows, but it gains few nats a row."""
    return np.tanh(0.35 * np.random.default_rng(3).normal(size=(n_variables, n)))


def test_a_variable_of_many_that_gains_little_does_not_show_that_noise_is_not_gaussian():
    """Other noise is tried, and taken back where it gains little; of Gaussian noise alone it is not even tried."""
    others, graph = np.random.default_rng(11).normal(size=(8, 4000)), [(k, ()) for k in range(8)]
    assert not evidence(standardised(*others), noise="auto").choose_noise(graph)
    values = standardised(*bent_noise(1), *others[1:])
    scores = evidence(values, noise="auto")
    before = sum(scores(graph))
    assert scores.choose_noise(graph)
    assert scores.revoke_noise(graph, before)
    assert HNMSearch().fit(values.T).found_graph().scores.noise == "student"
    assert evidence(standardised(*bent_noise(8)), noise="auto").choose_noise(graph)


def with_any_noise(values):
    """Scores of columns by whichever noise suits each, and the graph without an edge."""
    scores, graph = evidence(standardised(*values), noise="auto"), [(k, ()) for k in range(len(values))]
    scores(graph)
    scores.noise = "auto"
    return scores, graph


def test_a_choice_of_noise_that_gains_little_in_the_graph_found_by_it_is_taken_back():
    scores, graph = with_any_noise(bent_noise(3))
    assert {noise_of(scores, family) for family in graph} == {"free"}
    assert scores.revoke_noise(graph, score_before=sum(scores(graph)))
    assert scores.noise == "student"
    assert not scores.revoke_noise(graph, score_before=sum(scores(graph)))


@pytest.mark.parametrize("uniform", [1, 5])
def test_noise_stays_where_most_residuals_ask_for_it_or_the_graph_found_by_it_is_far_better(uniform):
    e = np.random.default_rng(3).normal(size=(9, 4000))
    scores, graph = with_any_noise(np.vstack([norm.cdf(e[:uniform]), e[uniform:]]))
    assert not scores.revoke_noise(graph, score_before=sum(scores(graph)) + 0.021 * e.size)
    assert scores.revoke_noise(graph, score_before=sum(scores(graph)) + 0.020 * e.size) is (uniform == 1)


@pytest.mark.parametrize("noise", ["gaussian", "student", "free"])
def test_a_noise_that_was_chosen_stays(noise):
    scores = evidence(heavy_tails(), noise=noise)
    scores(TAILS)
    assert not scores.choose_noise(TAILS)
    assert not scores.revoke_noise(TAILS, np.inf)
    assert [noise_of(scores, family) for family in TAILS] == [noise] * 3


def test_noise_below_the_resolution_of_variances_has_no_verdict():
    """Student's t, on deviations of which many are not resolved."""
    rng, family = np.random.default_rng(6), (0, (1,))
    x1 = rng.normal(size=500)
    scores = evidence(standardised(np.sin(x1) + 1e-3 * rng.standard_t(2, size=500), x1), noise="auto")
    scores([family])
    assert noise_gain([residuals_of(scores, family)], "auto", None)[1] != "gaussian"
    assert not scores.choose_noise([family])


def test_heavy_tailed_columns_are_normal_scores_as_causes_alone_and_equal_values_have_equal_ones():
    rng = np.random.default_rng(7)
    values = standardised(rng.standard_cauchy(500), rng.normal(size=500))
    columns = columns_of(values, ["continuous"] * 2).with_normal_scores()
    assert (np.diff(columns.causes[0][np.argsort(values[0])]) > 0).all()
    assert columns.causes[0].std() == pytest.approx(1.0, abs=0.02)
    np.testing.assert_array_equal(columns.causes[1], values[1])
    np.testing.assert_array_equal(columns.responses[0].centre, values[0])
    assert columns.exact.tolist() == [False, True]
    values = standardised(np.array([0.0] * 98 + [30.0, 40.0]), np.arange(100.0))
    causes = columns_of(values, ["continuous"] * 2).with_normal_scores().causes[0]
    assert (np.unique(causes).size, np.unique(causes[:98]).size) == (3, 1)


@pytest.fixture(scope="module")
def fitted():
    """x0 has ridges in two directions of x1 and x2, more than five units can follow."""
    x1, x2 = np.random.default_rng(8).uniform(-3, 3, size=(2, 300))
    noise, other = np.random.default_rng(9).normal(size=(2, 300))
    values = standardised(np.sin(2 * x1 + x2) + np.sin(2 * x2 - x1) + x1 + x2 + 0.03 * noise, x1, x2, other)
    model = HNMSearch(column_transform="none", knowledge={"leaves": [0]}, n_restarts=1)
    return values.T, model.fit(values.T)


def units_of(model):
    return [part.predictor.hidden_units for part in model.model_.conditionals]


def test_models_keep_the_units_of_every_variable(fitted, tmp_path):
    X, model = fitted
    assert model.adjacency_matrix_[1, 0] > 0
    assert units_of(model)[0] > 5
    assert units_of(model)[3] == 5
    model.save(tmp_path / "model.icdh")
    predicted = load(tmp_path / "model.icdh").predict(X)
    np.testing.assert_array_equal(predicted, model.predict(X))
    assert np.mean((X[:, 0] - predicted[:, 0]) ** 2) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, True])
def test_the_graph_found_gets_units_that_the_search_of_a_short_table_does_without(long, monkeypatch):
    x1, x2 = np.random.default_rng(12).uniform(-3, 3, size=(2, 600))
    waves = np.sin(2 * x1 + x2) + np.sin(2 * x2 - x1) + np.sin(3 * x1) + np.sin(3 * x2)
    values = standardised(x1, x2, waves + x1 + 0.02 * np.random.default_rng(13).normal(size=600))
    monkeypatch.setattr(graph_search, "SIZES", replace(graph_search.SIZES, short_table=599 if long else 600))
    model = HNMSearch(column_transform="none", knowledge={"roots": [0, 1]}, n_restarts=1).fit(values.T)
    found = model.found_graph()
    assert units_of(model) == [5, 5, 20]
    assert sorted(found.scores.units) == [5, 5, 20 if long else 10]
    difference = model.evidence_ + sum(found.scores(list(enumerate(found.graph))))
    assert difference == pytest.approx(0.0, abs=1e-6) if long else difference > 100.0


def test_the_order_and_the_signs_of_columns_do_not_change_units(fitted):
    X, model = fitted
    order, signs = [2, 0, 3, 1], np.array([1.0, -1.0, -1.0, 1.0])
    other = HNMSearch(**model.get_params() | {"knowledge": {"leaves": [order.index(0)]}}).fit(X[:, order] * signs)
    assert units_of(other) == [units_of(model)[k] for k in order]
    np.testing.assert_allclose(other.adjacency_matrix_, model.adjacency_matrix_[np.ix_(order, order)], rtol=1e-6)


def test_exact_search_posterior_and_resamples_cope_with_those_units(fitted):
    X, model = fitted
    exact = HNMSearch(**model.get_params() | {"search": "exact"}).fit(X)
    assert exact.evidence_ >= model.evidence_ - 1e-6
    assert units_of(exact) == units_of(model)
    for learned in (posterior(model, n_samples=100), bootstrap(model, X, n_resamples=2, random_state=0)):
        assert (learned.edge_probability[[1, 2], 0] > 0.9).all()


def test_a_number_of_units_is_that_of_all_variables():
    model = HNMSearch(hidden_units=3, n_restarts=1, column_transform="none").fit(bent(n=200).T)
    found = model.found_graph()
    assert set(found.scores.units) == {3}
    networks = [given.predictor for given in model.model_.conditionals if isinstance(given.predictor, NodeNetwork)]
    assert {network.hidden_units for network in networks} == {3}
    with pytest.raises(ValueError, match="hidden_units must be an integer or 'auto'; got 'many'"):
        HNMSearch(hidden_units="many").fit(bent(n=50).T)


def test_the_noise_of_an_effect_may_differ_between_the_levels_of_its_cause():
    """Uniform at one level, exponential at the other: no single density is either."""
    rng, family = np.random.default_rng(8), (0, (1,))
    cause = rng.integers(0, 2, size=800).astype(float)
    noise = np.where(cause == 0, rng.uniform(-1.7, 1.7, size=800), rng.exponential(size=800) - 1.0)
    values = standardised(2.0 * cause + noise, cause)
    responses = [GaussianResponse.exact(values[0], None), OrdinalResponse(values[1], None)]
    scores = evidence(values, responses=responses, noise="auto", most_units=2)
    before = scores([family])[0]
    assert scores.choose_noise([family, (1, ())])
    residuals = residuals_of(scores, family)
    parts = sum(noise_gain([residuals[cause == level]], "auto", None)[0] for level in (0.0, 1.0))
    assert parts > noise_gain([residuals], "auto", None)[0] + 20.0
    assert scores([family])[0] == pytest.approx(before - parts, abs=1e-9)


def test_a_descent_that_ends_far_below_no_parents_is_begun_again(monkeypatch):
    """A start from another family may leave the rows; zero weights are always better than that."""
    scores, family = evidence(bent()), (0, (1,))
    scores([(0, ()), family])
    fit, cold = scores.models.fit, scores.fit(family)

    def lost(family, hidden_units, start):
        found = fit(family, hidden_units, start)
        return found if start.theta is None else found._replace(evidence=found.evidence + 1e4)

    monkeypatch.setattr(scores.models, "fit", lost)
    known = scores.fit_of(family)
    assert scores.fit(family, Start(known.theta, known.precision)).evidence == cold.evidence
