"""Is the model right, and which arrows can be trusted: `icdh.check`, its tests, its records, its questions."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import naive
import numpy as np
import pandas as pd
import pytest
from helpers import cases, hetero_chain
from numpy.testing import assert_array_equal
from scipy import stats
from support.families import FAILED
from support.table import Table

import icdh
from icdh import DataWarning, HNMSearch, Knowledge, NotFittedError
from icdh.diagnostics import ModelCheck, NodeCheck, result
from icdh.diagnostics.check import MEANING, MOVED, NO_NOISE
from icdh.diagnostics.independence import Distances, distance_correlation, holm, node_tests, p_value, residuals_of
from icdh.diagnostics.result import EdgeCheck, Marginals, track_record
from icdh.files import write_table

RNG = np.random.default_rng(0)
X = hetero_chain(np.random.default_rng(0), 400)


@pytest.fixture(scope="module")
def fit():
    return HNMSearch(n_restarts=1).fit(X)


@pytest.fixture(scope="module")
def found(fit):
    return icdh.check(fit, X)


def fit_of_graph(values, *edges, kinds=None, transform="none"):
    """A fit of the graph of these edges."""
    pairs = [(i, j) for i in range(values.shape[1]) for j in range(values.shape[1]) if i != j]
    knowledge = {"required": list(edges), "forbidden": [pair for pair in pairs if pair not in edges]}
    kinds = Table.of(values).coded(kinds).kinds
    search = HNMSearch(n_restarts=1, knowledge=knowledge, kinds=dict(enumerate(kinds)), column_transform=transform)
    return search.fit(values)


def residuals_and_tests(values, *edges, kinds=None, transform="none"):
    """The residuals of a fit of the graph of these edges, and the tests of its variables."""
    model = fit_of_graph(values, *edges, kinds=kinds, transform=transform).model_
    table = model.columns.as_table(values)
    everywhere = np.ones(table.values.shape, dtype=bool)
    residuals = residuals_of(model, table, everywhere, np.random.default_rng(0))
    return residuals, node_tests(residuals, model.adjacency, table)


def test_a_dependence_beyond_all_doubt_has_a_p_value_of_zero():
    x, noise = np.random.default_rng(0).normal(size=(2, 5000))
    pair = np.column_stack([x, x + 0.1 * noise])
    node = icdh.check(fit_of_graph(pair), pair).nodes[0]
    assert (node.p_value, node.depends_on, node.rejected) == (0.0, "x1", True)


def p_of(x, y, of_labels=False):
    return p_value(distance_correlation(Distances.of(x, of_labels), Distances.of(y)), y.size)


@pytest.mark.parametrize("n", [8, 9, 30, 61])
@pytest.mark.parametrize("of_labels", [False, True])
def test_distance_correlation_is_that_of_all_pairs(n, of_labels):
    rng = np.random.default_rng(n)
    x = rng.integers(0, 3, n).astype(float) if of_labels else np.round(rng.normal(size=n), 1)  # with ties
    y = np.round(x**2 + rng.normal(size=n), 1)
    fast = distance_correlation(Distances.of(x, of_labels), Distances.of(y))
    assert fast == pytest.approx(naive.distance_correlation(x, y, of_labels), abs=1e-12)


def test_distance_correlation_has_known_values():
    x = RNG.normal(size=200)
    assert distance_correlation(Distances.of(x), Distances.of(-3.0 * x + 1e6)) == pytest.approx(1.0, abs=1e-9)
    for constant in (Distances.of(np.full(200, 7.0)), Distances.of(np.zeros(200), True)):
        assert distance_correlation(constant, Distances.of(x)) == 0.0


def test_p_values_are_those_of_the_chi_square_distribution():
    correlations = np.array([-0.5, -0.01, 0.0, 0.02, 0.1])
    expected = stats.chi2.sf(100 * correlations + 1.0, 1)
    np.testing.assert_allclose([p_value(own, 100) for own in correlations], expected, rtol=1e-12)


def test_independence_is_rejected_no_more_often_than_the_level_says_and_dependence_is_found():
    rng = np.random.default_rng(1)
    for draw in (rng.normal, rng.standard_cauchy, rng.exponential):
        p = np.array([p_of(draw(size=100), draw(size=100)) for _ in range(400)])
        assert 0.005 < (p < 0.05).mean() <= 0.075
    x, groups = rng.normal(size=300), rng.integers(0, 3, 300)
    assert p_of(x, np.abs(x) + rng.normal(size=300)) < 1e-3  # no correlation
    assert p_of(groups.astype(float), (groups == 1) + rng.normal(size=300), of_labels=True) < 1e-3


def test_holms_procedure():
    np.testing.assert_allclose(holm(np.array([0.04, 0.01, 0.03, 0.9])), [0.09, 0.04, 0.09, 0.9])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_p_values_are_corrected_for_all_questions_and_all_variables():
    _, tests = residuals_and_tests(X, (0, 1))  # and not x1 -> x2: dependence is left
    asked = [[group.p_value for group in test[:3] if group.variable is not None] for test in tests.values()]
    assert dict(zip(tests, map(len, asked), strict=True)) == {0: 1, 1: 3, 2: 1}
    assert tests[0].on_causes.variable is tests[2].on_causes.variable is None
    uncorrected = np.array([min(1.0, len(own) * min(own)) for own in asked])
    assert 0.0 < uncorrected.min() < 0.05
    np.testing.assert_allclose([test.p_value for test in tests.values()], holm(uncorrected), rtol=1e-12)


def test_a_right_model_passes_and_every_variable_and_edge_has_a_record(found, fit):
    assert (found.rejected, found.n_observations, found.n_checked) == (False, 400, 400)
    assert [node.name for node in found.nodes] == ["x0", "x1", "x2"]
    assert {(edge.cause, edge.effect, edge.strength) for edge in found.edges} == {edge[:3] for edge in fit.edge_list()}
    assert {(edge.cause, edge.effect) for edge in found.edges} == {("x0", "x1"), ("x1", "x2")}
    assert all(edge.direction_loss > 0.0 and edge.probability is None for edge in found.edges)


def with_columns(model, **changes):
    return replace(model, columns=replace(model.columns, **changes))


def test_wrong_graphs_are_rejected_where_they_are_wrong_and_reports_say_so(tmp_path):
    wrong = fit_of_graph(X, (0, 1)).model_
    missing = icdh.check(wrong, X)
    assert missing.rejected
    assert (missing.nodes[2].rejected, missing.nodes[2].depends_on) == (True, "x1")
    assert "x1, no cause of it" in missing.nodes[2].meaning
    sentence = "the model does not fit 2 of the variables"  # x0 reaches x2 no more
    assert sentence in missing.summary()
    turned = icdh.check(fit_of_graph(X, (1, 0), (1, 2)).model_, X).nodes[0]
    assert turned.rejected
    assert turned.p_causes < 0.05
    wrong.report(tmp_path / "plain.html", X)
    wrong.report(tmp_path / "checked.html", X, check=missing)
    plain, checked = ((tmp_path / name).read_text(encoding="utf-8") for name in ("plain.html", "checked.html"))
    assert not any(link in plain for link in ('id="check"', 'href="#check"'))
    section = checked[checked.index('id="check"') : checked.index('id="effects"')]
    assert all(words in section for words in (sentence, "x1, no cause of it", "hidden common causes"))


def temperatures(rng, m=500):
    """Degrees, which sell ice, and days when few go out: most have none."""
    degrees, height = rng.normal(15.0, 9.0, size=m), rng.gamma(3.0, 1.0, size=m)
    ice = np.exp(degrees / 15.0) + height + (1.0 + 0.05 * np.abs(degrees)) * rng.normal(size=m)
    falls = np.where(rng.random(m) < 0.8, 0.0, rng.gamma(3.0, 4.0, size=m).round())
    return pd.DataFrame({"degrees": degrees, "height": height, "ice": ice, "falls": falls})


@pytest.mark.filterwarnings("ignore:column with a point mass")
def test_columns_in_other_units_within_their_range_are_not_taken_for_wrong_arrows():
    """A model said of degrees in Fahrenheit that an arrow was missing or wrong; of packs, not cigarettes, too."""
    rng = np.random.default_rng(0)
    required = [("degrees", "ice"), ("height", "ice")]
    known = {"required": required, "forbidden": [(b, a) for a, b in required]}
    model = HNMSearch(n_restarts=1, knowledge=known).fit(temperatures(rng)).model_
    rows = temperatures(rng)
    tables = {
        None: rows,
        "degrees": rows.assign(degrees=1.8 * rows["degrees"] + 32.0),
        "ice": rows.assign(ice=2.2 * rows["ice"]),
        "falls": rows.assign(falls=rows["falls"] / 7.0),
        "height": rows[rows["height"] > 2.7],  # others, all in their range
    }
    for name, table in tables.items():
        found = icdh.check(model, table)
        assert [node.name for node in found.nodes if node.moved] == [name] * (name is not None)
        if name == "degrees":
            (ice,) = [node for node in found.nodes if node.name == "ice"]
            assert (ice.rejected, ice.meaning[:39]) == (True, "goes with degrees, which is not distrib")
            assert "1 variable not distributed as in the rows of fit" in found.summary()
            assert "  degrees is not distributed as in the rows of fit: at least" in found.summary()


def test_a_column_that_varies_no_more_is_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    table = np.column_stack([x[:, 0], x[:, 0] + x[:, 1], x[:, 2] > 0.0])
    model = fit_of_graph(table, (0, 1)).model_
    with pytest.warns(DataWarning, match="column of one value in these rows: 'x2'; no test is about such a column"):
        found = icdh.check(model, table[table[:, 2] > 0.0])
    assert [node.name for node in found.nodes] == ["x0", "x1"]


def test_a_curve_of_more_turns_than_a_network_has_is_said_not_to_be_described():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, size=800)
    table = np.column_stack([x, np.sin(8.0 * x) + 0.2 * rng.normal(size=800)])
    found = icdh.check(fit_of_graph(table, (0, 1)), table).nodes[1]
    assert found.rejected
    assert found.meaning.startswith("its curve given x0 is not described")
    residuals, _ = residuals_and_tests(table, (0, 1))
    assert residuals[1].misfit > FAILED
    assert residuals[0].misfit == 0.0


@cases(
    ("n_causes", "question", "depends_on", "meaning"),
    (1, "p_causes", "x0", "its cause x0"),
    (5, "p_mean", "x5", "the mean that its causes predict"),
)
def test_a_distorted_scale_is_found_on_the_true_graph(n_causes, question, depends_on, meaning):
    rng, edges = np.random.default_rng(13), [(k, n_causes) for k in range(n_causes)]
    causes = rng.normal(size=(1000, n_causes))
    right = causes.sum(axis=1) / (1.0 if n_causes == 1 else 2.0) + rng.normal(size=1000)
    tables = [np.column_stack([causes, effect]) for effect in (right, np.sinh(right))]
    own, found = (icdh.check(fit_of_graph(table, *edges), table).nodes[n_causes] for table in tables)
    assert (own.rejected, found.rejected, found.depends_on) == (False, True, depends_on)
    assert getattr(found, question) == min(found.p_causes, found.p_mean, found.p_others) < 0.05 < own.p_value
    assert meaning in found.meaning
    assert n_causes == 1 or found.p_mean < 0.01 * found.p_causes


def nearly_without_noise(rng, below, m=800):
    """A cause and an effect whose noise vanishes where the cause is small."""
    cause = rng.normal(size=m)
    spread = np.where(cause > below, 0.5, 10.0 ** (-3.0 + np.minimum(cause, 0.0)))
    return np.column_stack([cause, 2.0 * np.tanh(cause) + spread * rng.normal(size=m)])


def test_observations_whose_noise_cannot_be_seen_do_not_count(monkeypatch):
    values = nearly_without_noise(np.random.default_rng(12), below=-1.0)
    residuals, tests = residuals_and_tests(values, (0, 1))
    assert tests[1].p_value > 0.05
    assert tests[1].on_causes.variable == 0
    effect = residuals[1]
    assert effect.values.size == effect.mean.size == effect.seen.sum() == effect.rows.sum()
    assert effect.seen[values[:, 0] > -0.9].all()
    assert not effect.seen[values[:, 0] < -1.1].any()
    assert effect.values.std() == pytest.approx(1.0, abs=0.1)
    monkeypatch.setattr("icdh.diagnostics.independence.RESOLVED", 0.0)
    assert residuals_and_tests(values, (0, 1))[1][1].p_value < 1e-6  # the floor under the variance, taken for noise


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")  # a column is computed from another
def test_a_variable_whose_noise_is_seen_in_too_few_rows_is_not_tested():
    cause = np.random.default_rng(12).normal(size=200)
    none, never = residuals_and_tests(np.column_stack([cause, np.tanh(cause)]), (0, 1))
    few, seldom = residuals_and_tests(nearly_without_noise(np.random.default_rng(11), below=-0.3), (0, 1))
    assert (none[1].values.size, none[1].noise) == (0, "none")
    assert 0.5 < few[1].seen.mean() < 0.8
    for test in (never[1], seldom[1]):
        assert (test.p_value, test.on_causes.variable, test.on_mean.variable) == (1.0, None, None)


def drawn(rng, kind, m=250):
    """A cause, its effect and a bystander, and the kinds of the columns."""
    cause, noise = rng.normal(size=m), rng.normal(size=m)
    if kind == "student":
        noise = rng.standard_t(3, size=m)
    elif kind == "exponential":
        noise = rng.exponential(size=m) - 1.0
    elif kind == "binary cause":
        cause = np.where(cause > 0.3, 1.0, -1.0)
    effect = np.sin(1.5 * cause) + (0.4 + 0.2 * np.tanh(cause)) * noise
    if kind == "ordinal":
        effect = np.searchsorted([-1.0, 0.0, 1.0], 3.0 * np.tanh(cause) + rng.logistic(size=m)).astype(float)
    elif kind == "labels":
        effect = (np.outer([0.0, 2.0, -2.0], cause) + rng.gumbel(size=(3, m))).argmax(axis=0).astype(float)
    elif kind == "rounded":
        effect = np.round(effect, 1)
    elif kind == "logarithm":
        effect = np.exp(effect)
    return np.column_stack([cause, effect, rng.normal(size=m)]), {1: "categorical"} if kind == "labels" else None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.DataWarning")  # two values that look like a threshold
@cases("kind", "gaussian", "student", "exponential", "binary cause", "ordinal", "labels", "rounded", "logarithm")
def test_right_graphs_keep_the_level_whatever_noise_and_columns(kind):
    rng, rejected, n_tables = np.random.default_rng(5), 0, 25
    for _ in range(n_tables):
        values, kinds = drawn(rng, kind)
        _, tests = residuals_and_tests(values, (0, 1), kinds=kinds, transform="log" if kind == "logarithm" else "none")
        rejected += min(test.p_value for test in tests.values()) < 0.05
    assert rejected <= 4  # of a binomial of 25 and 5 % more come once in 140


@pytest.mark.parametrize("kind", ["ordinal", "labels"])
def test_residuals_of_few_values_and_labels_are_standard_normal(kind):
    values, kinds = drawn(np.random.default_rng(6), kind, m=2000)
    residual = residuals_and_tests(values, (0, 1), kinds=kinds)[0][1].values
    assert stats.kstest(residual, "norm").pvalue > 0.01
    assert p_of(values[:, 0], residual) > 0.01
    alone = residuals_and_tests(values, kinds=kinds)[0][1].values
    assert p_of(values[:, 0], alone) < 1e-6


def test_units_order_and_signs_of_columns_change_nothing(fit):
    names, order = np.array(["a", "b", "c"]), [2, 0, 1]
    moved = pd.DataFrame((X * [1000.0, 0.5, -2.0] + [3.0, -1.0, 0.0])[:, order], columns=names[order])
    one = icdh.check(with_columns(fit.model_, names=names.tolist()), X)
    other = icdh.check(HNMSearch(n_restarts=1).fit(moved), moved)
    others = {node.name: node for node in other.nodes}
    for node in one.nodes:
        own, same = ((of.p_causes, of.p_mean, of.p_others) for of in (node, others[node.name]))
        assert own == pytest.approx(same, rel=1e-3)
        assert node.noise == others[node.name].noise


def test_increasing_functions_of_a_bystander_change_nothing():
    values, _ = drawn(np.random.default_rng(8), "gaussian")
    one, other = (
        residuals_and_tests(np.column_stack([values[:, :2], bystander]))[1][1].p_value
        for bystander in (values[:, 2], np.exp(values[:, 2]))
    )
    assert one == pytest.approx(other, rel=1e-9)


def test_a_model_from_a_file_is_checked_as_the_one_in_memory(tmp_path):
    table = np.exp(X / 2.0)
    fit = HNMSearch(n_restarts=1, column_transform="log", kinds={0: "gridded"}).fit(table)
    fit.save(tmp_path / "m.icdh")
    loaded = icdh.load(tmp_path / "m.icdh")
    assert (loaded.columns.kinds, loaded.columns.transform) == (["gridded", "continuous", "continuous"], "log")
    found, again = icdh.check(fit, table), icdh.check(loaded, table)
    assert again.nodes == found.nodes
    known = {(edge.cause, edge.effect, edge.strength, None) for edge in found.edges}
    assert {(edge.cause, edge.effect, edge.strength, edge.direction_loss) for edge in again.edges} == known
    assert again.track_record == found.track_record != ""


def test_icdh_is_checked_too(fitted, chain):
    found = icdh.check(fitted, chain)
    assert [node.name for node in found.nodes] == ["a", "b", "c"]
    assert all(edge.direction_loss is None for edge in found.edges)
    assert found.track_record == ""  # nobody counted its arrows


def test_what_an_arrow_loses_is_the_evidence_of_the_graph_with_it_turned(fit, found):
    turned = HNMSearch(n_restarts=1, knowledge={"required": [(2, 1)], "forbidden": [(1, 2)]}).fit(X)
    lost = {(edge.cause, edge.effect): edge.direction_loss for edge in found.edges}["x1", "x2"]
    assert lost == pytest.approx(fit.evidence_ - turned.evidence_, abs=5.0)  # fits of twenty units end the search alone


def test_an_arrow_that_knowledge_settles_is_known_comes_last_and_is_not_asked_about(tmp_path):
    fit = HNMSearch(n_restarts=1, knowledge={"forbidden": [("x1", "x0")]}).fit(X)
    found = icdh.check(fit, X)
    known = [(edge.cause, edge.known, edge.direction_loss is None) for edge in found.edges]
    assert known == [("x1", False, False), ("x0", True, True)]
    assert '"x0"' not in found.questions()
    fit.save(tmp_path / "fit.icdh")
    assert [edge.known for edge in icdh.check(icdh.load(tmp_path / "fit.icdh"), X).edges] == [False, True]
    told = icdh.check(fit, X, knowledge={"required": [("x1", "x2")]})
    assert [edge.known for edge in told.edges] == [False, True]


def test_the_probability_of_a_direction_is_that_given_an_edge(fit):
    probability = np.zeros((3, 3))
    probability[0, 1], probability[1, 0] = 0.6, 0.2
    found = icdh.check(fit.model_.with_edge_probability(probability), X)
    assert {edge.cause: edge.probability for edge in found.edges} == {"x0": pytest.approx(0.75), "x1": 0.0}
    assert all(edge.close for edge in found.edges)  # nothing found the other one again
    probability[1, 2] = 0.5
    found = icdh.check(fit.model_.with_edge_probability(probability), X)
    assert [edge.cause for edge in found.edges] == ["x0", "x1"]  # the data hardly decide the first


def test_interventions_do_not_count():
    rng = np.random.default_rng(9)
    table, was_set = X.copy(), np.zeros(X.shape, dtype=bool)
    was_set[:150, 1] = True
    table[:150, 1] = rng.normal(size=150) * 3.0
    table[:150, 2] = 1.5 * np.sin(table[:150, 1]) + (0.2 + 0.3 * np.abs(table[:150, 1])) * rng.normal(size=150)
    fit = HNMSearch(n_restarts=1).fit(table, interventions=was_set)
    assert not icdh.check(fit, table, interventions=was_set).rejected
    assert icdh.check(fit, table).nodes[1].rejected


def test_of_long_tables_some_rows_are_looked_at(fit, monkeypatch):
    monkeypatch.setattr("icdh.diagnostics.check.MOST_ROWS", 200)
    found = icdh.check(fit, X)
    assert (found.n_observations, found.n_checked) == (400, 200)
    assert found.summary().startswith("200 of 400 rows")


def test_track_records_compare_tails_and_explained_variance():
    rng = np.random.default_rng(10)
    flat, heavy = rng.uniform(size=2000), rng.standard_t(3, size=2000)
    own = Marginals.of(Table.of(np.column_stack([flat, heavy, heavy + rng.normal(size=2000), rng.normal(size=2000)])))
    assert (own.kind(0, 2), own.kind(2, 0)) == ("both", "neither")
    tails = Marginals(np.array([1.0, 2.0]), np.array([0.5, 0.4]))
    assert (tails.kind(0, 1), tails.kind(1, 0)) == ("tails", "explained")


def test_labels_and_constants_have_no_track_record():
    labels = np.array(["u", "v", "w"])[np.arange(60) % 3]
    frame = pd.DataFrame({"a": RNG.normal(size=60), "b": labels, "c": 1.0, "d": RNG.normal(size=60)})
    own = Marginals.of(Table.of(frame, categorical=["b"]))
    assert np.isnan(own.r2).tolist() == [False, True, True, False]
    assert own.kind(0, 1) is None
    assert own.kind(0, 3) is not None


@pytest.mark.parametrize("loader", ["load_wine", "load_diabetes", "load_breast_cancer"])
def test_track_records_of_public_tables_are_those_of_slower_computations(loader):
    import sklearn.datasets

    values = getattr(sklearn.datasets, loader)().data[:, :8]
    own = Marginals.of(Table.of(values))
    np.testing.assert_allclose(own.kurtosis, stats.kurtosis(values, fisher=False), rtol=1e-9)
    for k in range(8):
        design = np.column_stack([np.ones(len(values)), np.delete(values, k, axis=1)])
        residual = values[:, k] - design @ np.linalg.lstsq(design, values[:, k], rcond=None)[0]
        assert own.r2[k] == pytest.approx(1.0 - residual.var() / values[:, k].var(), abs=1e-6)


def test_a_line_says_what_became_of_arrows_with_the_same_signs():
    signs = Marginals(np.array([1.0, 2.0, np.nan]), np.array([0.4, 0.5, np.nan]))
    forward, backward = track_record(signs, [(0, 1)], "abc"), track_record(signs, [(0, 1), (1, 0)], "abc")
    assert forward == "experience with 407 other tables: 82 % of arrows like these pointed the right way"
    assert backward.endswith("60 % of arrows like these pointed the right way, but of those like b -> a 37 %")
    assert track_record(signs, [(0, 2)], "abc") == track_record(signs, [], "abc") == ""


def edge(cause="a", effect="b", **facts):
    unknown = {"strength": 9.0, "direction_loss": 50.0, "hidden_loss": None, "probability": None, "known": False}
    return EdgeCheck(cause, effect, **unknown | facts)


def test_arrows_to_settle_by_knowledge_come_first():
    arrows = [  # in their order
        edge("close", direction_loss=3.0),
        edge("unlikely", probability=0.6),
        edge("smaller", strength=1.0),
        edge("coin"),
        edge("strong", direction_loss=500.0),
        edge("unknown loss", direction_loss=None),
        edge("weak", direction_loss=3.0, weak=True),
        edge("settled", known=True),
    ]
    assert sorted(arrows[::-1], key=lambda own: own.doubt) == arrows


@pytest.mark.parametrize("names", [("a", "b"), ('say "so"\\', "line\nend\x7f"), (3, "Größe 😀 [*]"), ("#", "'")])
def test_questions_are_knowledge_once_they_are_answered(names, tmp_path):
    path = tmp_path / "known.toml"
    text = ModelCheck([], [edge(*names)], 1, 1, 0.05).questions()
    path.write_text(text, encoding="utf-8")
    assert Knowledge.read(path) == Knowledge()
    *others, question, last = text.splitlines()
    path.write_text("\n".join([*others, question.replace("# ", ""), last]), encoding="utf-8")
    assert Knowledge.read(path) == Knowledge(forbidden=[names[::-1]])


def test_as_many_questions_as_asked_for(found):
    assert found.questions(1).count("was found") == 1
    with pytest.raises(ValueError, match="n_questions must be at least 1"):
        found.questions(0)


def test_what_was_found_is_json_and_html_and_text(found):
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["rejected"] is False
    assert content["edges"][0].keys() >= {"cause", "effect", "strength", "direction_loss", "close", "weak"}
    of_nodes = {"name", "p_value", "p_causes", "p_mean", "p_others", "noise", "gaussian", "seen"}
    assert content["nodes"][0].keys() >= of_nodes
    assert str(found) == found.summary() == unescape(found._repr_html_().removeprefix("<pre>").removesuffix("</pre>"))
    assert found.to_frame()["cause"].tolist() == [edge["cause"] for edge in content["edges"]]
    assert "hidden common causes" in found.summary()
    assert "below zero" not in found.summary()
    better = replace(found, edges=[replace(found.edges[0], direction_loss=-3.0), *found.edges[1:]])
    assert "below zero: the graph with that arrow turned is better, and the search missed it" in better.summary()


SENTENCES = {  # all that a summary can say, and a check that says it
    r"\d+ rows, \d+ variables, \d+ edges: no test rejects the model \(at 5 %, over all variables together\)": "right",
    r"\d+ rows, .*: the model does not fit 3 of the variables \(at 5 %, over all variables together\)": "wrong",
    r"200 of 400 rows, .*": "long",
    r"44 of 400 rows, .*: no test rejects the model, but so short a table hardly rejects any \(at 5 %.*": "short",
    r"400 rows, 1 variable, 0 edges: no test .*together\); 1 variable not tested": "faint",
    r"  a: p = .*, depends on its cause b: a distorted scale, a cause that is missing or wrong, or .* spread": "wrong",
    r"  b: p = .*, depends on the mean that its causes predict: a distorted scale, or a cause .* wrong": "wrong",
    r"  c: p = .*, depends on a, no cause of it: an arrow that is missing or wrong, or a distorted scale": "wrong",
    r"400 rows, 1 variable, .*together\); 1 variable not distributed as in the rows of fit": "moved",
    r"  a is not distributed as in the rows of fit: at least 40 % .*, which is no sign of a wrong arrow": "moved",
    r"  a is not tested: its noise is below 1 % of its standard deviation in 75 % of the rows": "faint",
    r"residuals that are not Gaussian: a; either their noise is not, or they have a hidden common cause": "long",
    r"arrows, those to settle by knowledge first:": "edges",
    r"cause -> effect +strength +if turned +if hidden +acts on +direction": "edges",
    r" *a -> b +9.0 +50.0 +3.2 +both +0.90 +\?\*": "edges",
    r" *a -> b +9.0 +50.0 +0.90 +\?": "edges",
    r" *a -> c +9.0 +given": "edges",
    r"and 3 more": "edges",
    r"what these mean: icdh explain": "edges",
    r"experience with 407 other tables: .*": "right",
    r"\? reversing it loses less than 6 nats, or its probability is below 95 %: .* its direction": "edges",
    r"0 of 33 arrows would survive a hidden common cause, 1 would not; of 32 the data cannot tell": "edges",
    r"~ strength below 10 nats: doubt that there is an edge": "edges",
    r" *a -> d +9.0 +~": "edges",
    r"\* a hidden common cause in its place loses less than 10 nats": "edges",
    r"Of 100 simulated tables .*": "right",
}


def record_of(name, group=0, on=None, noise="gaussian", seen=1.0, why=""):
    meaning = MEANING[group].format(on) if on else why.format(100 * (1 - seen))
    return NodeCheck(name, 0.01 if on else 0.6, 0.6, 0.6, 0.6, on, bool(on), noise, meaning, seen)


SUMMARIES = {
    "right": ([record_of("a"), record_of("b")], [], 400),
    "wrong": ([record_of("a", 0, "b"), record_of("b", 1, "b"), record_of("c", 2, "a")], [], 400),
    "long": ([record_of("a", noise="student")], [], 200),
    "short": ([record_of("a")], [], 44),
    "faint": ([record_of("a", seen=0.25, why=NO_NOISE)], [], 400),
    "moved": ([replace(record_of("a"), moved=True, meaning=MOVED.format("", 40.0))], [], 400),
    "edges": (
        [record_of("a"), record_of("b")],
        [
            edge(probability=0.9, hidden_loss=3.2, mean_loss=20.0, spread_loss=11.0),
            edge(effect="c", known=True),
            edge(effect="d", weak=True, hidden_loss=20.0),
            *[edge(probability=0.9)] * 30,
        ],
        400,
    ),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_sentence_of_a_summary_is_known(name):
    nodes, edges, n_checked = SUMMARIES[name]
    record = "experience with 407 other tables: ..." * (name == "right")
    lines = ModelCheck(nodes, edges, 400, n_checked, 0.05, track_record=record).summary().splitlines()
    own = [sentence for sentence, of in SENTENCES.items() if of == name]
    assert all(any(re.fullmatch(sentence, line) for sentence in SENTENCES) for line in lines)
    assert all(any(re.fullmatch(sentence, line) for line in lines) for sentence in own)


def test_a_check_rejects_at_the_level_that_it_names():
    with pytest.raises(ValueError, match="at another level"):
        ModelCheck([record_of("a", 0, "b")], [], 400, 400, 0.001)


def test_columns_of_which_nothing_is_known_are_left_out(fit, found):
    heading = "cause -> effect strength if turned if hidden"
    assert heading in " ".join(found.summary().split())
    assert "direction:" not in "".join(result.legend(found.edges, "nats"))
    saved = icdh.check(fit.model_, X)
    assert "if turned" not in saved.summary()
    assert "reversing" not in saved.to_dict()["legend"]
    assert "2 of 2 arrows not weighed against the other direction" in saved.summary()
    likely = [replace(own, probability=0.9) for own in saved.edges]
    assert "direction: its probability" in result.legend(likely, "nats")
    assert result.unweighed(likely, "nats") == result.unweighed(saved.edges, "weight") == ""


def test_an_arrow_that_is_worth_nothing_has_no_nats():
    """Knowledge may require it; the search may have been stopped."""
    least = np.finfo(float).tiny
    own = edge(strength=least, known=True), edge(strength=least)
    assert result.edge_columns(own, "nats")[2].cells == ["0.0", "0.0"]


def test_names_are_escaped(fit):
    found = icdh.check(with_columns(fit.model_, names=["<b>", "a\nb", "c"]), X)
    assert "<b>" not in found._repr_html_()
    assert "a\\nb" in found.summary()


def test_bad_input_is_explained(fit):
    with pytest.raises(NotFittedError):
        icdh.check(HNMSearch(), X)
    with pytest.raises(TypeError, match="model must be a fitted estimator"):
        icdh.check("m.icdh", X)
    for values, options, message in (
        (X[:, :2], {}, "expecting 3 features"),
        (X, {"interventions": np.zeros((2, 2), dtype=bool)}, "interventions has shape"),
        (np.where(X > 3.0, np.nan, X), {}, "gaps"),
        (X, {"knowledge": {"roots": ["nobody"]}}, "'nobody' is no variable"),
        (X, {"random_state": -1}, "random_state"),
    ):
        with pytest.raises(ValueError, match=message):
            icdh.check(fit, values, **options)


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_few_rows_are_no_reason_to_fail(fit, rows):
    assert not icdh.check(fit, X[:rows]).rejected


@pytest.fixture(scope="module")
def folder(tmp_path_factory, fit):
    path = tmp_path_factory.mktemp("check")
    write_table(path / "data.csv", X, ["x0", "x1", "x2"])
    fit.save(path / "m.icdh")
    return path


def test_the_commands_print_the_check_and_write_questions_that_fit_reads(folder, found, printed, monkeypatch):
    monkeypatch.chdir(folder)
    shown = printed("check", "m.icdh", "data.csv", "--questions", "q.toml")
    assert shown.splitlines()[0] == found.summary().splitlines()[0]
    answers = Path("q.toml").read_text(encoding="utf-8").replace('# ["x1", "x0"]', '["x1", "x0"]')
    Path("q.toml").write_text(answers, encoding="utf-8")
    printed("fit", "data.csv", "--knowledge", "q.toml", "--quiet")
    printed("report", "m.icdh", "data.csv", "-o", "r.html", "--quiet")
    assert "no test rejects the model" in Path("r.html").read_text(encoding="utf-8")


def test_the_command_prints_json_and_heeds_conditions_and_gaps(folder, printed):
    rows = [f"{','.join(map(repr, row))},{'ab'[k % 2]}" for k, row in enumerate(X[:60].tolist())]
    rows[5] = f",{rows[5].partition(',')[2]}"
    (folder / "c.csv").write_text("\n".join(["x0,x1,x2,when", *rows]))
    options = ["--condition-column", "when", "--targets", "a=; b=x1", "--missing", "drop", "--json"]
    assert json.loads(printed("check", folder / "m.icdh", folder / "c.csv", *options))["n_observations"] == 59


@pytest.mark.parametrize("left_alone", [1, 3, 19])
@pytest.mark.parametrize("targets", [None, ["x1"]])
@pytest.mark.filterwarnings("ignore::icdh.DataWarning")  # x1 is set in nearly all rows
def test_few_rows_of_the_reference_are_no_reason_to_fail(left_alone, targets):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = np.column_stack([x, np.tanh(x) + 0.5 * rng.normal(size=200)])
    conditions = ["none"] * left_alone + ["drug"] * (200 - left_alone)
    given = icdh.Interventions(conditions, {"none": [], "drug": targets})
    checked = icdh.check(HNMSearch(n_restarts=1).fit(table, interventions=given), table, interventions=given)
    assert not checked.rejected
    assert all(np.isfinite(node.p_value) for node in checked.nodes)


def test_a_required_edge_at_a_constant_column_is_known():
    table = np.column_stack([RNG.normal(size=(100, 2)), np.ones(100)])
    with pytest.warns(icdh.DataWarning, match="constant"):
        model = HNMSearch(n_restarts=1, knowledge=Knowledge(required=[("x0", "x2")])).fit(table)
    (edge,) = icdh.check(model, table).edges
    assert (edge.cause, edge.effect, edge.known, edge.direction_loss) == ("x0", "x2", True, None)
    probability = icdh.posterior(model, n_samples=100).edge_probability
    assert_array_equal(probability[:, 2], [1.0, 0.0, 0.0])
    assert not probability[2].any()


EFFECTS = {
    "a number": lambda x, rng: np.tanh(x) + 0.4 * rng.laplace(size=x.size),
    "rounded": lambda x, rng: np.round(2.0 * x + rng.normal(size=x.size)) / 2.0,
    "a point mass": lambda x, rng: np.maximum(x + rng.normal(size=x.size), 0.0),
    "an amount": lambda x, rng: np.abs(0.5 * x + 0.6 * rng.normal(size=x.size)),
    "a share": lambda x, rng: 1.0 / (1.0 + np.exp(-2.0 * x - 1.5 * rng.normal(size=x.size))),
    "levels": lambda x, rng: np.digitize(x + rng.normal(size=x.size), [-1.0, 0.0, 1.2]).astype(float),
    "labels": lambda x, rng: (np.digitize(x, [-0.6, 0.6]) + (rng.random(x.size) < 0.3)) % 3.0,
    "counts": lambda x, rng: rng.poisson(np.exp(1.0 + 0.5 * x) * rng.gamma(2.0, 0.5, size=x.size)),
    "zero-inflated counts": lambda x, rng: rng.poisson(np.exp(1.5 + 0.3 * x)) * (rng.random(x.size) > 0.3),
}


@pytest.mark.filterwarnings("ignore::icdh.exceptions.DataWarning")
@pytest.mark.parametrize("kind", EFFECTS)
def test_samples_of_a_model_are_rejected_at_most_at_the_level(kind):
    """Of 40 tables two; six or more in one of 70 kinds."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=600)
    labels = {"kinds": {1: "categorical"}} if kind == "labels" else {}
    model = HNMSearch(knowledge={"required": [(0, 1)]}, **labels).fit(np.column_stack([x, EFFECTS[kind](x, rng)]))
    rejected = [icdh.check(model, model.sample(300, random_state=seed)).rejected for seed in range(40)]
    assert sum(rejected) <= 5


def test_a_model_of_groups_is_checked_with_them(tmp_path):
    """Rows of a person are alike, which tests of independent rows take for a wrong model."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 5)
    x = rng.normal(size=60)[person] + 0.3 * rng.normal(size=300)
    X = np.column_stack([x, x + rng.normal(size=60)[person] + 0.3 * rng.normal(size=300)])
    model = HNMSearch().fit(X, groups=person)
    model.model_.save(tmp_path / "m.icdh")
    saved = icdh.load(tmp_path / "m.icdh")
    assert saved.about["related"] == "groups"
    with pytest.warns(DataWarning, match="fitted with groups of rows that depend"):
        icdh.check(saved, X)
    icdh.check(saved, X, groups=person)
