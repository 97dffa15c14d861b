"""What families are worth without a fit: linear models, and tables of conditional probabilities of labels."""

import numpy as np
import pytest
from helpers import all_graphs, family_evidence, models_of, scores_of_columns, standardised, sums_of_equivalent_graphs
from naive import linear_evidence, table_evidence
from support.families import (
    LEAST_ROWS,
    LEAST_VARIANCE,
    MOST_CELLS,
    PRIOR_OBSERVATIONS,
    GaussianResponse,
    LinearGains,
    TableGains,
    columns_of,
    fit_linear,
    fit_node,
    screening,
)
from support.utils import negentropy

from icdh import HNMSearch
from icdh.uncertainty import direction_loss

N = 400


def evidence(x, y):
    return fit_linear(x, GaussianResponse.exact(y, None)).evidence


def linear_chain(seed=0, size=N, draw="normal"):
    """x0 -> x1 -> x2, standardised, one variable a row."""
    noise = getattr(np.random.default_rng(seed), draw)(size=(3, size))
    x1 = 0.8 * noise[0] + noise[1]
    return standardised(noise[0], x1, x1 - 0.7 * noise[2])


def test_one_of_two_copies_may_go_for_the_price_of_an_edge():
    x, e = np.random.default_rng(0).normal(size=(2, 300))
    gains = LinearGains(family_evidence(standardised(x, x, x + 0.5 * e)).families)(2, (0, 1))
    np.testing.assert_allclose(gains[:2], 0.5 * np.log(300) + 2.0, rtol=1e-6)


def test_gains_have_a_closed_form_of_labels_alone_and_where_most_effects_are_linear():
    chain, graph = linear_chain(), ((), (0,), (1,))
    labels = np.random.default_rng(0).integers(3, size=(3, N)).astype(float)
    bent, mixed = np.vstack([chain[:1], standardised(chain[0] ** 2 + 0.1 * chain[2], chain[1] ** 2)]), chain.copy()
    mixed[0] = labels[0]
    kinds = ["continuous"] * 3, ["continuous"] * 3, ["categorical", "continuous", "continuous"], ["categorical"] * 3
    forms = []
    for values, kind in zip((chain, bent, mixed, labels), kinds, strict=True):
        scores = scores_of_columns(columns_of(values, kind))
        scores(list(enumerate(graph)))
        forms.append(scores.closed_form_gains(graph))
    assert [type(gains) for gains in forms] == [LinearGains, type(None), type(None), TableGains]


@pytest.mark.parametrize("p", [1, 3])
def test_the_evidence_agrees_with_naive(p):
    rng = np.random.default_rng(p)
    x, spread = rng.normal(size=(p, 90)), rng.uniform(0.0, 0.5, size=90)
    y = x.sum(axis=0) + rng.normal(size=90) + 3.0
    found = fit_linear(x, GaussianResponse(y, spread, [y], None))
    assert found.evidence == pytest.approx(linear_evidence(x.T, y, spread), rel=1e-10)
    design = np.column_stack([np.ones(90), x.T])
    np.testing.assert_allclose(found.mean, design @ np.linalg.lstsq(design, y, rcond=None)[0], rtol=1e-9)


def test_the_evidence_is_nearly_the_exact_one_under_a_prior_of_one_observation():
    """Zellner's prior with g = n: the coefficients and the variance are integrated out in closed form."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, N))
    y = 0.3 * x[0] - 0.2 * x[2] + rng.normal(size=N)
    design = np.column_stack([np.ones(N), x.T])
    unexplained = np.var(y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) / y.var()
    exact = 0.5 * (N - 1 - 3) * np.log(1 + N) - 0.5 * (N - 1) * np.log(1 + N * unexplained)
    assert exact > 10.0
    assert evidence(x[:0], y) - evidence(x, y) == pytest.approx(exact, abs=0.2)


def test_without_causes_the_model_is_the_networks():
    y = np.random.default_rng(3).normal(size=N) + 1.0
    assert evidence(np.empty((0, N)), y) == pytest.approx(fit_node(np.empty((0, N)), y).evidence, rel=1e-12)


def test_neither_model_is_favoured_by_a_constant_where_the_effect_is_small():
    """What a network costs more grows with the effect, from nothing."""
    rng, excess = np.random.default_rng(4), []
    for slope in (0.0, 1.0):
        tables = [standardised(x, slope * x + e) for x, e in rng.normal(size=(10, 2, 1000))]
        excess.append(np.mean([fit_node(x[np.newaxis], y).evidence - evidence(x[np.newaxis], y) for x, y in tables]))
    assert abs(excess[0]) < 1.5
    assert 2.0 < excess[1] < 8.0


def test_units_and_orders_of_causes_and_rows_change_nothing_but_the_scale():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(3, N))
    y = x[0] - 2.0 * x[1] + rng.normal(size=N)
    first, rows = evidence(x, y), rng.permutation(N)
    assert evidence(x[[2, 0, 1]][:, rows], y[rows]) == pytest.approx(first, rel=1e-10)
    assert evidence(x * [[-1e3], [1e-3], [5.0]] + 2.0, y) == pytest.approx(first, rel=1e-9)
    assert evidence(x, 10.0 * y + 7.0) == pytest.approx(first + (N - 1) * np.log(10.0), rel=1e-10)


def test_graphs_of_one_equivalence_class_have_one_sum():
    values = linear_chain()
    sums = sums_of_equivalent_graphs(lambda node, parents: evidence(values[list(parents)], values[node]))
    assert len(np.unique(np.round(sums, 6))) == 11
    sums_of_equivalent_graphs(gains_of(labels()).score)


def test_a_collinear_cause_costs_nothing_and_gains_nothing():
    """A cause of K labels is K indicators, of which K - 1 count."""
    rng = np.random.default_rng(6)
    x = (rng.integers(3, size=N) == np.arange(3)[:, np.newaxis]).astype(float)
    y = x[0] + rng.normal(size=N)
    assert evidence(x, y) == pytest.approx(evidence(x[:2], y), rel=1e-10)
    assert LinearGains(family_evidence(np.vstack([x, y])).families)(3, (0, 1))[2] <= 0.0


@pytest.mark.parametrize("masked", [False, True])
def test_gains_of_further_and_of_fewer_causes_are_the_differences_of_scores(masked):
    rng = np.random.default_rng(7)
    x, spread = rng.normal(size=(5, N)) + 2.0, rng.uniform(0.0, 0.5, size=N)
    y = x[0] + 0.5 * x[2] - x[3] + rng.normal(size=N)
    rows = rng.random((6, N)) < 0.8 if masked else None
    responses = [*(GaussianResponse.exact(cause, None) for cause in x), GaussianResponse(y, spread, [y], None)]
    penalty = rng.uniform(0.0, 5.0, size=(6, 6))
    models = models_of(np.vstack([x, y]), responses, rows=rows, edge_penalty=penalty)
    linear_gains = LinearGains(models.families)
    linear_gains(0, ())  # other rows may count for another node
    gains = linear_gains(5, (0, 1, 2))
    own = models.linear_score((5, (0, 1, 2)), "gaussian")
    for other, toggled in {0: (1, 2), 1: (0, 2), 2: (0, 1), 3: (0, 1, 2, 3), 4: (0, 1, 2, 4)}.items():
        assert gains[other] == pytest.approx(own - models.linear_score((5, toggled), "gaussian"), abs=1e-5)
    assert gains[5] == -np.inf


def test_gains_of_numbers_after_a_label_are_theirs_and_a_label_has_none():
    """A label of three categories takes three network inputs: numbers after it have other places there."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, N))
    values = standardised(*x, x[0] - 0.5 * x[1] + rng.normal(size=N))
    kinds = ["categorical", *["continuous"] * 3]
    of_label = columns_of([rng.integers(3, size=N), *values], kinds, n_categories=[3, 0, 0, 0])
    gains = LinearGains(scores_of_columns(of_label).families)
    alone = LinearGains(family_evidence(values).families)
    for parents in ((), (0,), (0, 1)):
        expected = [-np.inf, *alone(2, parents)]
        np.testing.assert_allclose(gains(3, tuple(k + 1 for k in parents)), expected, atol=1e-6)


def test_below_the_floor_of_the_variance_gains_are_still_the_differences_of_scores():
    """A further cause explains what is left of a determined effect; the floor stays, the squares fall."""
    x, z, e = np.random.default_rng(0).normal(size=(3, N))
    values = standardised(x, z, x + 2e-5 * z + 1e-5 * e)
    models = models_of(values)
    gains, both = LinearGains(models.families), (0, 1)
    own, further = (models.linear_score((2, parents), "gaussian") for parents in ((0,), both))
    assert fit_linear(values[:1], models.families.responses[2]).variance == LEAST_VARIANCE
    assert gains(2, (0,))[1] == pytest.approx(own - further, abs=1e-4)
    assert gains(2, both)[1] == pytest.approx(further - own, abs=1e-4)
    assert abs(own - further) > 1.0


def test_threads_that_ask_for_two_nodes_at_once_do_not_mix_their_rows(monkeypatch):
    """The second node is asked for while the moments of the first are on their way."""
    rng = np.random.default_rng(0)
    families = family_evidence(rng.normal(size=(3, 40)), rows=rng.random((3, 40)) < 0.7).families
    gains, expected, honest = LinearGains(families), LinearGains(families)(1, (0,)), np.square

    def interrupted(values):
        monkeypatch.setattr(np, "square", honest)
        gains(2, (0,))
        return honest(values)

    monkeypatch.setattr(np, "square", interrupted)
    np.testing.assert_array_equal(gains(1, (0,)), expected)


def test_with_few_rows_for_each_weight_there_is_no_linear_model():
    enough = np.random.default_rng(8).normal(size=(3, LEAST_ROWS * 4))
    too_few = enough[:, 1:]
    assert np.isfinite(evidence(enough[:2], enough[2]))
    assert evidence(too_few[:2], too_few[2]) == np.inf
    assert np.isfinite(LinearGains(family_evidence(enough).families)(2, (0,))[1])
    assert LinearGains(family_evidence(too_few).families)(2, (0,))[1] == -np.inf


def test_a_variable_that_its_causes_determine_has_the_least_variance():
    x = np.random.default_rng(9).normal(size=(2, N))
    assert evidence(x, x[0] + x[1]) > 0.5 * N * np.log(LEAST_VARIANCE)


def test_noise_of_a_thousandth_of_the_spread_tells_which_linear_models_hold():
    """A network's variance has a floor; by that floor the graph with an effect among the causes was better."""
    x, z, e = np.random.default_rng(1).normal(size=(3, N))
    values = standardised(x, z, x + 2e-3 * z + 1e-3 * e)
    families = family_evidence(values).families
    found = fit_linear(values[:2], families.responses[2]).variance
    assert found == pytest.approx(1e-6 * np.var(e) / np.var(x), rel=0.05)
    assert LinearGains(families)(2, (0,))[1] > 0.5 * N


def test_the_score_of_a_family_is_that_of_its_best_model():
    x, e = np.random.default_rng(10).normal(size=(2, N))
    values, straight, curved = standardised(x + 0.8 * e, x, x**2 + 0.5 * e), (0, (1,)), (2, (1,))
    scores = family_evidence(values)
    found = scores([straight, curved, (1, ())])
    assert found[0] == pytest.approx(evidence(values[1:2], values[0]) + 2.0)
    assert found[0] < scores.network_score_of(straight) - 1.0
    assert found[1] == min(scores.network_score_of(curved), scores.baseline_score_of(curved, "additive"))
    assert found[1] < evidence(values[1:2], values[2]) - 50.0
    assert found[2] == scores.network_score_of((1, ()))


def test_the_fit_that_is_kept_is_the_networks_best_where_the_linear_model_wins():
    scores, family = family_evidence(linear_chain(), n_restarts=3), (1, (0,))
    first = scores([family])[0]
    before = scores.network_score_of(family)
    scores.polish([family])
    assert scores.network_score_of(family) < before
    assert scores([family])[0] == first == scores.models.linear_score(family, "gaussian")


def test_noise_of_a_linear_model_earns_what_its_residuals_do():
    x, y, _ = values = linear_chain(draw="laplace")
    score = models_of(values).linear_score
    earned = score((1, (0,)), "gaussian") - score((1, (0,)), "free")
    assert earned == pytest.approx(N * negentropy(y - (x @ y / N) * x, None), rel=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "free"])
def test_estimates_are_not_below_what_a_linear_parent_gains(noise):
    values, kept = linear_chain(draw="laplace"), np.ones((3, N), dtype=bool)
    kept[:, ::7] = False
    scores = family_evidence(values, noise=noise, rows=kept)
    for node, parents in [(1, ()), (1, (0,)), (1, (0, 2)), (2, (1,)), (2, (0, 1))]:
        estimates, own = scores.gain_estimates([(node, parents)])[0], scores([(node, parents)])[0]
        for other in {0, 1, 2} - {node}:
            toggled = tuple(sorted({*parents} ^ {other}))
            gain = own - scores.models.linear_score((node, toggled), noise) if toggled else -np.inf
            if gain > 1.0:
                assert estimates[other] > gain - 1e-9


def test_a_weak_linear_cause_is_estimated_by_what_its_coefficient_gains():
    """The network's estimate pays for more than a coefficient."""
    (x, z, e), family = np.random.default_rng(12).normal(size=(3, N)), (0, (1,))
    scores = family_evidence(standardised(x + 0.25 * z + e, x, z))
    gain = np.subtract(*scores([family, (0, (1, 2))]))
    assert scores.models.gain_estimates(family, scores.fit_of(family))[2] < gain
    assert scores.gain_estimates([family])[0][2] > gain > 1.0


def test_the_evidence_of_a_search_is_the_sum_of_its_families_scores():
    model = HNMSearch(column_transform="none", noise_distribution="gaussian", n_restarts=1)
    found = model.fit(linear_chain(size=600).T).found_graph()
    scores = dict(zip(enumerate(found.graph), found.scores(list(enumerate(found.graph))), strict=True))
    assert model.evidence_ == pytest.approx(-sum(scores.values()), abs=1e-6)
    for own, score in scores.items():
        assert not own[1] or score == found.scores.models.linear_score(own, "gaussian")


SIZES = (3, 2, 4, 3)


def labels(n=60, seed=0):
    """x0 -> x1 -> x2 <- x3: labels of 3, 2, 4 and 3 kinds, the last two levels."""
    rng = np.random.default_rng(seed)
    x0, x3 = rng.integers(3, size=(2, n))
    x1 = (rng.random(n) < np.array([0.1, 0.5, 0.9])[x0]).astype(int)
    x2 = (x1 + x3 + (rng.random(n) < 0.2)) % 4
    values = np.array([x0, x1, x2, x3], dtype=float)
    values[:, :4] = [[0, 1, 2, 0], [0, 1, 0, 1], [0, 1, 2, 3], [0, 1, 2, 0]]  # all labels occur
    return values


def gains_of(values, **options):
    columns = columns_of(values, ["categorical", "binary", "ordinal", "categorical"])
    return TableGains(scores_of_columns(columns, **options).families)


def fitted(X, **options):
    return HNMSearch(kinds=dict.fromkeys(range(X.shape[1]), "categorical"), **options).fit(X)


@pytest.mark.parametrize("parents", [(), (0,), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("most_cells", [MOST_CELLS, 4])
def test_the_evidence_of_a_table_agrees_with_naive(parents, most_cells, monkeypatch):
    monkeypatch.setattr(screening, "MOST_CELLS", most_cells)
    values = labels()
    sizes = [SIZES[3], *(SIZES[k] for k in parents)]
    exact = table_evidence(values[3], values[list(parents)].T, sizes, PRIOR_OBSERVATIONS)
    assert gains_of(values).score(3, parents) == pytest.approx(exact + 2.0 * len(parents), rel=1e-10)


def test_observations_that_do_not_count_say_nothing():
    values, rows = labels(), np.random.default_rng(1).random((4, 60)) < 0.7
    few = rows[2]
    exact = table_evidence(values[2, few], values[[0, 3]][:, few].T, (4, 3, 3), PRIOR_OBSERVATIONS)
    assert gains_of(values, rows=rows).score(2, (0, 3)) == pytest.approx(exact + 4.0, rel=1e-10)


def test_gains_of_tables_are_the_differences_of_scores():
    penalty = np.random.default_rng(2).uniform(0.0, 5.0, size=(4, 4))
    gains = gains_of(labels(), edge_penalty=penalty)
    found = gains(2, (0, 1))
    for other, toggled in {0: (1,), 1: (0,), 3: (0, 1, 3)}.items():
        assert found[other] == pytest.approx(gains.score(2, (0, 1)) - gains.score(2, toggled))
    assert found[2] == -np.inf


def test_a_search_of_labels_is_no_worse_than_from_the_graph_of_the_tables():
    edges = fitted(labels(800).T, n_restarts=1).adjacency_matrix_ != 0
    np.testing.assert_array_equal(edges | edges.T, [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
    assert edges[[1, 3], 2].all()


def test_a_turned_arrow_loses_what_the_best_of_all_graphs_with_it_loses():
    """Two causes whose labels act together alone: no cause by itself tells anything of the effect."""
    rng = np.random.default_rng(0)
    a, b, noise = rng.integers(2, size=(3, 300))
    c = np.where(rng.random(300) < 0.2, noise, a ^ b)
    d = (rng.random(300) < np.array([0.2, 0.6])[c]).astype(int)
    model = fitted(np.column_stack([a, b, c, d]))
    found, edges = model.found_graph(), np.argwhere(model.adjacency_matrix_).tolist()
    gains, loss, best = TableGains(found.scores.families), direction_loss(model), {}
    assert edges
    assert not gains.has_grades
    for graph in all_graphs(4):
        total = sum(gains.scores(list(enumerate(graph))))
        for edge in ((i, j) for j, parents in enumerate(graph) for i in parents):
            best[edge] = min(best.get(edge, np.inf), total)
    place = {int(column): node for node, column in enumerate(found.table.order)}
    for cause, effect in edges:
        i, j = place[cause], place[effect]
        assert loss[cause, effect] == pytest.approx(max(best[j, i] - best[i, j], 0.0), abs=1e-6)


def test_arrows_of_labels_that_nothing_decides_lose_nothing():
    rng = np.random.default_rng(0)
    chain = [rng.integers(2, size=1000)]
    for _ in range(2):
        chain.append(np.where(rng.random(1000) < 0.8, chain[-1], 1 - chain[-1]))
    model = fitted(np.column_stack(chain))
    assert direction_loss(model)[model.adjacency_matrix_ != 0] == pytest.approx([0.0, 0.0], abs=1e-6)
