"""Hidden common causes: their EM against integrals and loops, and the search for them."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers import family_evidence, hidden_cause_search
from naive import district_score, hidden_cause_nll
from scipy.stats import norm

import icdh
from icdh import HNMSearch, cli
from icdh._estimators.hidden_causes import HiddenGraph
from icdh._ground.clock import OutOfTime
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.hidden import ConfoundedConditional, Districts, Posterior, extrapolated, posterior
from icdh.exceptions import ArgumentError, ConvergenceWarning, DataWarning
from icdh.knowledge import EdgeRules
from icdh.uncertainty import hidden_loss
from icdh.uncertainty.losses import direction_loss

LOADINGS = np.array([0.8, -0.7, 0.6, 0.9])


def confounded(seed=0, n=600, spread=0.0):
    """Four children of a hidden cause, the first a cause of the second, and a cause of the last; and the values."""
    rng = np.random.default_rng(seed)
    U, outside, *noise = rng.normal(size=(6, n))
    x = LOADINGS[:, np.newaxis] * U + 0.6 * np.array(noise)
    x[1] += 0.8 * x[0]
    x[3] += 0.7 * outside
    table = np.vstack([x, outside])
    table = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
    return table, U


FAMILIES = ((0, ()), (1, (0,)), (2, ()), (3, (4,)))


def test_children_tell_the_hidden_values_that_they_were_given():
    rng = np.random.default_rng(0)
    hidden, none = rng.normal(size=200), np.zeros((3, 200))
    theta = np.array([0.0, 0.0, 0.0, -3.0, 0.0])  # one unit without weights; the log-variance is -3
    of_no_input = np.zeros(0, dtype=int), np.zeros(0, dtype=int), theta, 1
    children = [ConfoundedConditional(*of_no_input, loading=loading) for loading in (1.0, -0.5, 2.0)]
    values = np.array([child.mean_and_scale_at(none, hidden)[0] for child in children])
    told = children[0].posterior_with(children, values, none)[0].mean
    assert np.corrcoef(told, hidden)[0, 1] > 0.999


def test_the_bound_at_the_posterior_is_the_marginal_likelihood():
    rng = np.random.default_rng(0)
    residuals, variances, loadings = rng.normal(size=(3, 5)), rng.uniform(0.2, 2.0, (3, 5)), np.array([0.9, -0.4, 0.0])
    hidden = posterior(residuals, variances, loadings)

    def bound(of):
        rest = residuals - np.outer(loadings, of.mean)
        squares = rest**2 + np.outer(loadings**2, of.variance)
        return 0.5 * (np.log(variances) + squares / variances).sum() + of.divergences().sum()

    np.testing.assert_allclose(bound(hidden), hidden_cause_nll(residuals, variances, loadings), rtol=1e-10)
    for other in (Posterior(hidden.mean + 0.1, hidden.variance), Posterior(hidden.mean, 0.5 * hidden.variance)):
        assert bound(other) > bound(hidden) + 1e-4


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
    np.testing.assert_array_equal(signs * signs[0], np.sign(LOADINGS))
    assert found.score < sum(scores(FAMILIES)) - 100.0


def test_em_ends_at_the_posterior_where_the_bound_is_tight():
    table, _U = confounded(1)
    found = Districts(family_evidence(table))(FAMILIES)
    residuals = table[:4] - np.array([child.mean for child in found.children])
    variances = np.array([child.variance for child in found.children])
    last = posterior(residuals, variances, found.loadings)
    np.testing.assert_allclose(found.hidden.mean, last.mean, atol=0.02)
    nll = hidden_cause_nll(residuals[:, :50], variances[:, :50], found.loadings)
    part = Posterior(found.hidden.mean[:50], found.hidden.variance[:50])
    rest = residuals[:, :50] - np.outer(found.loadings, part.mean)
    squares = rest**2 + np.outer(found.loadings**2, part.variance)
    bound = 0.5 * (np.log(variances[:, :50]) + squares / variances[:, :50]).sum() + part.divergences().sum()
    assert nll - 1e-8 <= bound < nll + 0.01


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


def table_of_a_season(seed=0, n=1500, children=6):
    """Columns that a hidden cause drives, the first a cause of the fourth, and one that is independent; the values."""
    rng = np.random.default_rng(seed)
    U = rng.normal(size=n)
    X = 0.9 * U[:, np.newaxis] * (-1.0) ** np.arange(children) + 0.6 * rng.normal(size=(n, children))
    X[:, 3] += 1.6 * X[:, 0]
    return np.column_stack([10.0 + 3.0 * X, rng.normal(size=n)]), U


@pytest.fixture(scope="module")
def season():
    return table_of_a_season()


@pytest.fixture(scope="module")
def found(season):
    return searched(season[0], "x0", "x3")


def searched(X, cause, effect):
    """A search that knows the direction of an effect: covariances do not tell it."""
    knowledge = {"forbidden": [(effect, cause)]}
    return HNMSearch(hidden_causes=True, n_restarts=1, knowledge=knowledge).fit(X)


@pytest.mark.slow
def test_a_hidden_cause_of_many_columns_is_found_with_its_values(season, found):
    _, U = season
    (cause,) = found.hidden_causes_
    assert cause.children == ("x0", "x1", "x2", "x3", "x4", "x5")
    assert cause.strength > 20.0
    np.testing.assert_allclose(np.abs(cause.loadings), 2.7, rtol=0.2)
    expected = np.zeros((7, 7), dtype=bool)
    expected[:6, :6] = ~np.eye(6, dtype=bool)
    np.testing.assert_array_equal(found.bidirected_edges_, expected)
    assert np.argwhere(found.adjacency_matrix_).tolist() == [[0, 3]]
    mean, spread = found.hidden_values_
    assert mean.shape == spread.shape == (1500, 1)
    errors = mean[:, 0] * np.sign(mean[:, 0] @ U) - U
    np.testing.assert_allclose(np.std(errors), spread.mean(), rtol=0.15)
    np.testing.assert_array_equal(found.hidden_values(season[0]).mean, mean)
    assert "hidden common cause" in found.summary()


@pytest.mark.slow
def test_order_units_and_signs_of_columns_do_not_matter(season, found):
    X, _ = season
    order, units = np.array([4, 6, 0, 2, 1, 5, 3]), np.array([1.0, -2.0, 5.0, 1.0, -1.0, 0.1, 3.0])
    other = searched((X * units)[:, order], "x2", "x6")
    np.testing.assert_allclose(other.adjacency_matrix_, found.adjacency_matrix_[np.ix_(order, order)], rtol=1e-4)
    (cause,), (same,) = found.hidden_causes_, other.hidden_causes_
    loadings = dict(zip(cause.children, cause.loadings, strict=True))
    mine = np.array([loadings[f"x{order[int(child[1:])]}"] * units[order[int(child[1:])]] for child in same.children])
    np.testing.assert_allclose(same.loadings * np.sign(same.loadings[0] * mine[0]), mine, rtol=1e-3)


def test_the_score_is_the_marginal_likelihood_of_the_table(season, found):
    X, _ = season
    model, rows = found.model_, X[:40]
    scaled = model.scaled(rows)
    children = [model.conditionals[node] for node in range(6)]
    outputs = [own.mean_and_scale_at(scaled, np.zeros(40)) for own in children]
    residuals, variances = scaled[:6] - [mean for mean, _ in outputs], np.square([scale for _, scale in outputs])
    joint = hidden_cause_nll(residuals, variances, [own.loading for own in children]) + 40 * 3.0 * np.log(2.0 * np.pi)
    mean, scale = model.conditionals[6].mean_and_scale(scaled)
    alone = -norm.logpdf(scaled[6], mean, scale).sum()
    expected = -(joint + alone) / 40 - np.log(model.scaling.scale).sum()
    np.testing.assert_allclose(model.score(rows), expected, rtol=1e-9)


def test_samples_have_the_covariances_of_the_table_and_interventions_cut_the_hidden_cause(season, found):
    X, _ = season
    drawn = found.sample(40_000, random_state=0)
    np.testing.assert_allclose(np.corrcoef(drawn.T), np.corrcoef(X.T), atol=0.06)
    done = found.sample(40_000, random_state=0, do={"x0": 10.0})
    np.testing.assert_array_equal(done[:, [1, 2, 4, 5, 6]], drawn[:, [1, 2, 4, 5, 6]])
    naive = np.polyfit(X[:, 0], X[:, 3], 1)[0]
    effect = found.average_effect("x0", "x3", [9.0, 11.0])
    slope = (effect.mean[1] - effect.mean[0]) / 2.0
    assert abs(slope - 1.6) < 0.2 < 0.6 < abs(naive - 1.6)
    (total,) = found.effects()
    assert (total.cause, total.effect) == ("x0", "x3")


def test_counterfactuals_keep_the_rows_and_predictions_integrate_the_hidden_cause(season, found):
    X, _ = season
    np.testing.assert_allclose(found.counterfactual(X, {"x0": X[:, 0]}), X, rtol=1e-10)
    moved = found.counterfactual(X, {"x0": X[:, 0] + 1.0})
    np.testing.assert_array_equal(moved[:, [1, 2, 4, 5, 6]], X[:, [1, 2, 4, 5, 6]])
    np.testing.assert_allclose((moved - X)[:, 3].mean(), 1.6, atol=0.2)
    np.testing.assert_allclose(found.predict_scale(X)[:, 1], X[:, 1].std(), rtol=0.05)


def test_files_hold_hidden_causes_to_the_last_bit(season, found, tmp_path):
    X, _ = season
    found.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    np.testing.assert_array_equal(again.hidden_values(X).mean, found.hidden_values_.mean)
    assert again.score(X) == found.score(X)
    (cause,), (same,) = found.hidden_causes_, again.hidden_causes
    assert (cause.children, cause.strength) == (same.children, same.strength)
    np.testing.assert_array_equal(cause.loadings, same.loadings)


def test_pictures_and_exports_have_the_hidden_cause_as_a_node(found):
    name = "hidden cause of x0, x1, x2, x3, x4, x5"
    graph = pytest.importorskip("networkx").DiGraph(found.to_networkx())
    assert set(graph) - set(found.model_.names) == {name}
    assert sorted(graph.successors(name)) == ["x0", "x1", "x2", "x3", "x4", "x5"]
    assert graph[name]["x0"]["weight"] == found.hidden_causes_[0].strength
    assert f'"{name}" -> "x5"' in found.to_dot()
    assert f'source="{name}" target="x5"' in found.to_graphml()
    assert {node: known for node, known in graph.nodes(data="observed") if known} == {name: "no"}
    assert set(pytest.importorskip("networkx").parse_gml(found.to_gml()).edges) == set(graph.edges)
    read, names = icdh.files.graph_from_text("graph.json", found.to_json())
    assert [names[k] for k in np.flatnonzero(read[names.index(name)])] == [f"x{k}" for k in range(6)]
    pytest.importorskip("matplotlib")
    texts = " ".join(text.get_text() for text in found.plot().axes[0].texts)
    assert f"{found.hidden_causes_[0].strength:.3g} nats" in texts
    assert "grey: hidden common causes" in texts


@pytest.mark.filterwarnings("ignore")
def test_pgmpy_gets_hidden_causes_as_latents_and_does_not_adjust_for_them(found):
    dag = pytest.importorskip("pgmpy.base") and found.to_pgmpy()
    assert dag.latents == {"hidden cause of x0, x1, x2, x3, x4, x5"}
    assert set(dag.successors(*dag.latents)) == {f"x{k}" for k in range(6)}
    inference = pytest.importorskip("pgmpy.inference").CausalInference(dag)
    assert inference.get_minimal_adjustment_set("x0", "x3") is None  # none of columns alone


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["to_gml", "to_networkx"])
def test_dowhy_takes_hidden_causes_as_unobserved_and_does_not_adjust_for_them(season, found, form):
    dowhy, pandas = pytest.importorskip("dowhy"), pytest.importorskip("pandas")
    table = pandas.DataFrame(season[0], columns=found.model_.names)
    model = dowhy.CausalModel(data=table, treatment="x0", outcome="x3", graph=getattr(found, form)())
    assert [node for node, known in model._graph._graph.nodes(data="observed") if known == "no"] == [
        "hidden cause of x0, x1, x2, x3, x4, x5"
    ]
    assert not model.identify_effect().get_backdoor_variables()


def without(model, *edges):
    adjacency = model.adjacency.copy()
    adjacency[edges] = 0.0
    return replace(model, adjacency=adjacency)


def test_a_check_knows_the_hidden_cause_as_a_cause(season, found, tmp_path):
    X, _ = season
    right = icdh.check(found, X)
    assert not right.rejected
    assert [node.name for node in right.nodes] == found.model_.names
    (edge,) = right.edges
    assert (edge.cause, edge.effect, edge.direction_loss, edge.hidden_loss) == ("x0", "x3", None, None)
    assert "hidden common cause, " in right.summary()
    assert "drawn for each row" in right._repr_html_()
    assert len(right.to_dict()["hidden_causes"]) == 2
    found.save(tmp_path / "m.icdh")
    assert icdh.check(icdh.load(tmp_path / "m.icdh"), X).nodes == right.nodes
    without_edge = icdh.check(without(found.model_, 0, 3), X)
    assert {node.depends_on for node in without_edge.nodes if node.rejected} >= {"x0", "x3"}


def test_a_check_finds_a_child_that_a_hidden_cause_lacks(season, found):
    X, _ = season
    (cause,) = found.hidden_causes_
    fewer = cause._replace(children=cause.children[:5], loadings=cause.loadings[:5])
    checked = icdh.check(replace(found.model_, hidden_causes=(fewer,)), X)
    (node,) = [node for node in checked.nodes if node.name == "x5"]
    assert node.rejected
    assert node.meaning.startswith("depends on hidden cause of x0, x1, x2, x3, x4, no cause of it")


def rejects(X):
    """Whether the true model of `table_of_a_season`, five children and a column beside them, is rejected."""
    names = [f"x{k}" for k in range(6)]
    others = [(a, b) for a in names for b in names if (a, b) != ("x0", "x3")]
    known = {"hidden": [names[:5]], "no_hidden": names[5:], "required": [("x0", "x3")], "forbidden": others}
    return icdh.check(HNMSearch(hidden_causes=True, n_restarts=1, knowledge=known).fit(X), X).rejected


@pytest.mark.slow
def test_right_models_with_a_hidden_cause_keep_the_level_and_distorted_ones_do_not():
    tables = [table_of_a_season(seed, n=400, children=5)[0] for seed in range(12)]
    assert sum(map(rejects, tables)) <= 2  # of a binomial of 12 and 5 % more come once in 50
    assert rejects((tables[0] - 10.0) ** 3)


def test_a_report_draws_and_names_the_hidden_cause(season, found, tmp_path):
    pytest.importorskip("jinja2")
    X, _ = season
    found.report(tmp_path / "page.html", X, check=icdh.check(found, X))
    found.report(tmp_path / "alone.html")
    page, alone = ((tmp_path / name).read_text(encoding="utf-8") for name in ("page.html", "alone.html"))
    name = "hidden cause of x0, x1, x2, x3, x4, x5"
    for own in (page, alone):
        assert own.count(f'class="edge hidden" tabindex="0" data-cause="{name}"') == 6
        assert own.count('class="node hidden"') == 1
        assert "1 edge, 1 hidden common cause, " in own
        assert f">hidden, {found.hidden_causes_[0].strength:.3g} nats<" in own
    section = page[page.index('id="hidden"') : page.index('id="arrows"')]
    assert f"x5 {found.hidden_causes_[0].loadings[5]:.4g}</td>" in section
    assert f"{found.hidden_values_.spread.mean():.4g}</td>" in section
    assert "No other common cause of two variables is missing." in page
    assert "The residuals are those given hidden causes" in page
    assert "if hidden" not in page
    without_edge = without(found.model_, 0, 3)
    without_edge.report(tmp_path / "joined.html")
    assert "hidden causes are all that joins them" in (tmp_path / "joined.html").read_text(encoding="utf-8")


def test_what_takes_no_account_of_hidden_causes_says_so(season, found):
    X, _ = season
    asked = [
        lambda: found.to_dowhy(),
        lambda: found.rethreshold(min_strength=1.0),
        lambda: icdh.check(found, X, interventions=X > 12.0),
        lambda: icdh.posterior(found),
        lambda: direction_loss(found),
        lambda: hidden_loss(found),
        lambda: icdh.effect(X, "x0", "x3", "graph", model=found),
    ]
    for ask in asked:
        with pytest.raises(ArgumentError, match=r"hidden cause of x0, x1.*fit without hidden_causes=True"):
            ask()
    with pytest.raises(ArgumentError, match=r"pass the graph to DoWhy's CausalModel, as to_networkx or to_gml give it"):
        found.to_dowhy()


@pytest.mark.parametrize(
    ("parameters", "of_fit", "word"),
    [
        ({"search": "exact"}, {}, "search='exact'"),
        ({"missing": "impute"}, {}, "missing='impute'"),
        ({}, {"interventions": np.arange(10_500).reshape(1500, 7) % 9 == 0}, "interventions"),
        ({}, {"groups": np.arange(1500) // 2}, "groups"),
        ({}, {"sequence": True}, "sequences"),
    ],
)
def test_what_the_search_takes_no_account_of_is_refused(season, parameters, of_fit, word):
    with pytest.raises(ArgumentError, match=f"^hidden_causes cannot be looked for with .*{word}"):
        HNMSearch(hidden_causes=True, **parameters).fit(season[0], **of_fit)


@pytest.mark.slow
def test_rules_and_kinds_hold_beside_a_hidden_cause():
    graded, _ = table_of_a_season(n=600, children=7)
    graded[:, 5] = np.round(graded[:, 5] / 4.0)
    required = {"required": [("x1", "x4")]}
    model = HNMSearch(hidden_causes=True, n_restarts=1, knowledge=required, kinds={5: "ordinal"}).fit(graded)
    assert model.adjacency_matrix_[1, 4] > 0.0
    assert not model.bidirected_edges_[5].any()
    assert len(model.hidden_causes_) == 1


@pytest.mark.slow
def test_without_a_hidden_cause_the_graph_is_that_of_the_search():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    for node in range(1, 5):
        X[:, node] += X[:, :node].sum(axis=1)
    plain, asked = HNMSearch(n_restarts=1).fit(X), HNMSearch(hidden_causes=True, n_restarts=1).fit(X)
    np.testing.assert_array_equal(asked.adjacency_matrix_, plain.adjacency_matrix_)
    assert asked.hidden_causes_ == plain.hidden_causes_ == []
    assert not plain.bidirected_edges_.any()
    assert plain.hidden_values_.mean.shape == (400, 0)


def test_a_warning_tells_that_no_time_was_left_for_a_hidden_cause_that_is_known(season):
    named = {"hidden": [["x1", "x2", "x3"]]}
    with pytest.warns(
        ConvergenceWarning, match="best graph so far is kept, without hidden causes that knowledge names"
    ):
        model = HNMSearch(hidden_causes=True, knowledge=named, max_seconds=1e-3).fit(season[0])
    assert model.timed_out_
    assert model.hidden_causes_ == []


@pytest.mark.slow
def test_time_and_interrupts_leave_the_graph_found(season, monkeypatch):
    X, _ = season

    def stop(error):
        def raise_it(*_):
            raise error

        return raise_it

    for error, name in ((KeyboardInterrupt, "interrupted_"), (OutOfTime, "timed_out_")):
        monkeypatch.setattr(Districts, "__call__", stop(error))
        with pytest.warns(ConvergenceWarning):
            model = HNMSearch(hidden_causes=True, n_restarts=1).fit(X)
        assert getattr(model, name)
        assert model.hidden_causes_ == []
        assert model.adjacency_matrix_.any()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["constant", "duplicated", "nearly duplicated", "few rows", "labels as a cause"])
def test_degenerate_tables_have_finite_answers(case):
    X, U = table_of_a_season(n=600, children=5)
    kinds = {6: "categorical"} if case == "labels as a cause" else None
    labels = np.random.default_rng(0).integers(0, 3, U.size)
    caused = X + 9.0 * np.outer(labels == 1, np.arange(6) == 1)
    tables = {
        "constant": np.column_stack([X, np.ones(U.size)]),
        "duplicated": np.column_stack([X, X[:, 2]]),
        "nearly duplicated": np.column_stack([X, X[:, 2] + 1e-9 * U]),
        "few rows": X[:9],
        "labels as a cause": np.column_stack([caused, labels]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = HNMSearch(hidden_causes=True, n_restarts=1, kinds=kinds).fit(tables[case])
    assert np.isfinite(model.score(tables[case]))
    assert np.isfinite(model.hidden_values_.mean).all()
    assert len(model.hidden_causes_) == (case != "few rows")
    if case == "labels as a cause":
        assert model.adjacency_matrix_[6, 1] > 0.0


@pytest.mark.slow
def test_the_command_line_prints_writes_and_draws_hidden_causes(season, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    icdh.files.write_table(tmp_path / "data.csv", season[0], [f"x{k}" for k in range(7)])
    written = {name: tmp_path / name for name in ("graph.dot", "graph.csv", "picture.svg", "m.icdh")}
    options = ["-o", "graph.dot", "--plot", "picture.svg", "--save", "m.icdh"]
    options = [str(written.get(word, word)) for word in options]
    given = ["fit", str(tmp_path / "data.csv"), "--hidden-causes", "--n-restarts", "1", *options]
    assert cli.main(given) == 0
    assert "hidden common cause" in capsys.readouterr().out
    assert '"hidden cause of x0, x1, x2, x3, x4, x5" -> "x5"' in written["graph.dot"].read_text()
    assert "hidden common cause" in written["picture.svg"].read_text()
    assert cli.main([*given, "--quiet", "-o", str(written["graph.csv"])]) == 0
    listed = icdh.files.read_mixed_graph(written["graph.csv"], [f"x{k}" for k in range(7)])
    model = icdh.load(written["m.icdh"])
    np.testing.assert_array_equal(listed.bidirected > 0.0, model.bidirected_edges())
    np.testing.assert_array_equal(listed.weights, model.adjacency)
    assert cli.main(["sample", str(written["m.icdh"]), "--rows", "3"]) == 0
    assert cli.main(["check", str(written["m.icdh"]), str(tmp_path / "data.csv")]) == 0
    assert "hidden common cause" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path / "data.csv"), "--model", str(written["m.icdh"]), "-o", str(page)]) == 0
    assert 'id="hidden"' in page.read_text(encoding="utf-8")
    assert cli.main([*given, "--posterior"]) == 2
    assert "--posterior takes no account of hidden causes" in capsys.readouterr().err


def test_em_does_not_stall_where_children_are_causes_of_one_another():
    """At first a parent explains what the hidden cause should: EM has to end where it does from the true values."""
    rng = np.random.default_rng(1)
    U, noise, x = rng.normal(size=500), rng.normal(size=(8, 500)), np.zeros((8, 500))
    families = tuple((node, tuple(range(max(node - 2, 0), node))) for node in range(8))
    for (node, parents), loading in zip(families, [0.6, -0.9, 0.7, -0.6, 0.8, 0.5, -0.7, 0.6], strict=True):
        x[node] = loading * U + 0.5 * noise[node] + 0.5 * x[list(parents)].sum(axis=0)
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    districts = Districts(family_evidence(x))
    found = districts(families)
    told = districts._em(families, Posterior((U - U.mean()) / U.std(), np.full(500, 0.05)), found.children)
    assert found.score < told.score + 1.0


@pytest.mark.slow
def test_two_hidden_causes_are_found_with_children_of_their_own(tmp_path):
    first, U = table_of_a_season(3)
    second, W = table_of_a_season(4)
    X = np.column_stack([first[:, [0, 1, 2, 4, 5]], second[:, [0, 1, 2, 4, 5]]])
    model = HNMSearch(hidden_causes=True, n_restarts=1).fit(X)
    children = {cause.children: k for k, cause in enumerate(model.hidden_causes_)}
    assert set(children) == {("x0", "x1", "x2", "x3", "x4"), ("x5", "x6", "x7", "x8", "x9")}
    for values, names in zip((U, W), sorted(children), strict=True):
        assert abs(np.corrcoef(model.hidden_values_.mean[:, children[names]], values)[0, 1]) > 0.9
    assert not icdh.check(model, X).rejected
    model.save(tmp_path / "m.icdh")
    assert icdh.load(tmp_path / "m.icdh").score(X) == model.score(X)
    drawn = model.sample(40_000, random_state=0)
    np.testing.assert_allclose(np.corrcoef(drawn.T), np.corrcoef(X.T), atol=0.1)


def test_no_variable_gets_two_hidden_causes():
    """Both draws of hidden values explain the first column, which is a child of neither yet."""
    first, second = (table_of_a_season(seed)[0][:, [1, 2, 4, 5]] for seed in (3, 4))
    X = np.column_stack([(first + second)[:, [1, 2]].sum(axis=1), first, second])
    x = ((X - X.mean(axis=0)) / X.std(axis=0)).T
    start = HiddenGraph(((),) * 9, ((1, 2, 3, 4), (5, 6, 7, 8)))
    search = hidden_cause_search(x, EdgeRules.of(~np.zeros((9, 9), dtype=bool)))
    found = search._searched(start, seed=0)
    assert sorted(node for children in found.hidden for node in children) == list(range(9))


@pytest.mark.slow
def test_knowledge_names_hidden_causes_and_rules_them_out(season):
    X, _ = season
    weak = np.column_stack([X[:, 1], np.random.default_rng(1).normal(size=(1500, 3))])
    named = {"hidden": [["x1", "x2", "x3"]]}
    model = HNMSearch(hidden_causes=True, n_restarts=1, knowledge=named).fit(weak)
    assert set(model.hidden_causes_[0].children) >= {"x1", "x2", "x3"}
    assert model.hidden_causes_[0].strength < 5.0  # the data would not have told
    without = HNMSearch(hidden_causes=True, n_restarts=1, knowledge={"no_hidden": ["x5"]}).fit(X)
    assert without.bidirected_edges_[2, 4]
    assert not without.bidirected_edges_[5].any()
    with pytest.raises(ArgumentError, match=r"^knowledge names hidden causes.*hidden_causes=True"):
        HNMSearch(knowledge=named).fit(X)
    rounded = np.where(np.arange(7) == 2, np.round(X / 4.0), X)
    with pytest.raises(ArgumentError, match=r"^knowledge names a hidden cause .* fewer than three columns of numbers"):
        HNMSearch(hidden_causes=True, n_restarts=1, knowledge=named, kinds={2: "ordinal"}).fit(rounded)
