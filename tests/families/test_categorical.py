"""Columns of labels: the softmax of the node model, and labels as causes and effects in a search and afterwards."""

from functools import partial

import naive
import numpy as np
import pandas as pd
import pytest
from helpers import assert_agrees_with_shares, evidence_gain, scores_of_columns
from numpy.testing import assert_allclose, assert_array_equal
from support.families import (
    CategoricalResponse,
    Conditional,
    GaussianLaw,
    LabelLaw,
    NodeNetwork,
    columns_of,
    counted,
    fit_node,
    n_weights,
)
from support.table import Table

import icdh
from icdh import DataWarning, HNMSearch
from icdh.files import read_table

UNITS = 3
QUICK = {"hidden_units": 3, "n_restarts": 1, "noise_distribution": "gaussian", "column_transform": "none"}
COLOURS = np.array(["red", "green", "blue"])


def test_labels_are_two_at_least_and_as_many_as_a_model_has():
    assert [len([*LabelLaw(np.zeros(k)).faults(n, None)]) for k, n in ((2, 2), (1, 1), (3, 2))] == [0, 1, 1]


def problem(n_labels, p=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(p, n))
    y = np.append(np.arange(n_labels), rng.integers(0, n_labels, size=n - n_labels))
    theta = 0.7 * rng.normal(size=LabelLaw(np.zeros(n_labels)).n_weights(p, UNITS))
    return x, CategoricalResponse(y, n_labels, None), theta, rng.uniform(0.1, 2.0, size=theta.size)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [9, 1, 0], ids=["all causes differ", "some are equal", "most are equal"])
@pytest.mark.parametrize("n_labels", [2, 3, 5])
def test_objective_gradient_and_fisher_matrix_agree_with_their_definitions(n_labels, decimals):
    x, response, theta, penalty = problem(n_labels)
    x = np.round(x, decimals)
    x[0, :256] *= decimals > 1  # a block of observations without a label
    probabilities = partial(naive.label_probabilities, units=UNITS, shares=response.law.log_shares)
    assert_agrees_with_shares(response, probabilities, x, theta, penalty, UNITS)


def test_categories_that_are_certain_leave_the_penalties_alone():
    x, own, theta, penalty = problem(3)
    value, gradient, fisher = own.objective(x, UNITS).quadratic_model(1e5 * theta, penalty)
    assert np.isfinite([value, *gradient]).all()
    assert_allclose(fisher, np.diag(penalty), atol=1e-9)


def test_equal_causes_are_counted_together():
    x = np.array([[1.0, 0.0, 1.0, 1.0, 0.0], [2.0, 2.0, 3.0, 2.0, 2.0]])
    different, counts = counted(x, np.array([0, 2, 1, 2, 2]), 4, None)
    assert_array_equal(different, [[0.0, 1.0, 1.0], [2.0, 2.0, 3.0]])
    assert_array_equal(counts, [[0, 1, 0], [0, 0, 1], [2, 1, 0], [0, 0, 0]])
    assert_array_equal(counted(x[:0], np.array([0, 2, 1, 2, 2]), 4, None)[1], [[1], [1], [3], [0]])


def test_what_the_labels_are_called_hardly_matters_and_noise_is_worth_nothing():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, 600))
    y = (rng.random(600) < 1 / (1 + np.exp(-2 * x[0]))) + 2 * (rng.random(600) < 0.2)
    named, renamed = CategoricalResponse(y, 4, None), CategoricalResponse(np.array([2, 0, 3, 1])[y], 4, None)
    assert fit_node(x, named).converged
    assert evidence_gain(x, renamed) == pytest.approx(evidence_gain(x, named), abs=0.5)
    assert evidence_gain(x, named) > 30
    assert evidence_gain(x, CategoricalResponse(rng.integers(0, 3, size=600), 3, None)) < 2
    assert np.isfinite(fit_node(x[:0], CategoricalResponse(y, 6, None)).evidence)  # of labels that no row holds


def test_two_labels_are_worth_what_two_levels_are():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1, 500))
    values = np.vstack([x, rng.random(500) < 1 / (1 + np.exp(-2.0 * x[0]))]).astype(float)
    levels, labels = (columns_of(values, ["continuous", kind]).responses[1] for kind in ("binary", "categorical"))
    assert evidence_gain(x, levels) == pytest.approx(evidence_gain(x, labels), abs=3.0)
    assert evidence_gain(x, levels) > 50


def test_a_cause_of_labels_comes_and_goes_as_one():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, size=300).astype(float)
    values = np.vstack([rng.normal(size=300), codes, np.array([0.0, 2.0, -1.0])[codes.astype(int)]])
    values[2] += 0.5 * rng.normal(size=300) + values[0]
    columns = columns_of(values, ["continuous", "categorical", "continuous"])
    assert_array_equal(columns.widths, [1, 3, 1])
    assert_array_equal(columns.causes[1:4], codes == np.arange(3)[:, np.newaxis])
    scores = scores_of_columns(columns, hidden_units=3)
    alone, other = scores([(2, (1,)), (2, (0,))])
    (both,) = scores([(2, (0, 1))])  # warm from the better of the two
    assert both < min(alone, other) - 50
    assert scores.fit_of((2, (0, 1))).theta.size == 3 * (4 + 3) + 2
    fresh = fit_node(columns.causes[[0, 1, 2, 3]], columns.responses[2], hidden_units=3)
    assert scores.fit_of((2, (0, 1))).evidence == pytest.approx(fresh.evidence, abs=8.0)


def test_what_labels_may_gain_is_not_guessed():
    """Neither as effects nor beside others as causes; as parents of the same node they say nothing of the others."""
    rng = np.random.default_rng(6)
    values = np.vstack([rng.normal(size=300), rng.integers(0, 3, size=300), rng.normal(size=(2, 300))])
    scores = scores_of_columns(columns_of(values, ["continuous", "categorical", *["continuous"] * 2]), hidden_units=3)
    assert_array_equal(np.isinf(scores.gain_estimates([(1, (0,))])[0]), [True] * 4)
    assert_array_equal(np.isinf(scores.gain_estimates([(2, (0,))])[0]), [False, True, True, False])
    assert_array_equal(np.isinf(scores.gain_estimates([(2, (0, 1))])[0]), [True, True, True, False])


@pytest.fixture(scope="module")
def frame():
    """x -> colour -> y, z apart."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    eta = np.stack([1.5 * x, -1.5 * x, 1 - x**2])
    code = np.argmax(eta + rng.gumbel(size=eta.shape), axis=0)
    y = np.array([0.0, 2.0, -1.0])[code] + (0.3 + 0.3 * (code == 1)) * rng.normal(size=500)
    return pd.DataFrame({"x": x, "colour": COLOURS[code], "y": y, "z": rng.normal(size=500)})


@pytest.fixture(scope="module")
def model(frame):
    with pytest.warns(DataWarning, match=r"read as labels: 'colour'"):
        return HNMSearch(n_restarts=1, noise_distribution="gaussian", column_transform="none").fit(frame)


EDGES = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)


NUMBERS = ["x", "y", "z"]


def test_edges_to_and_from_labels_are_found(model):
    assert model.kinds_ == ["continuous", "categorical", "continuous", "continuous"]
    assert_array_equal(model.adjacency_matrix_ != 0, EDGES)


def test_neither_names_of_labels_nor_the_order_of_columns_change_the_graph(model, frame):
    renamed = frame.assign(colour=frame["colour"].map({"red": "a", "green": "z", "blue": "m"}).astype("category"))
    as_numbers = frame.assign(colour=frame["colour"].map({"red": 3, "green": 1, "blue": 2}))
    declared = HNMSearch(**model.get_params() | {"kinds": {"colour": "categorical"}})
    for method, table in ((HNMSearch(**model.get_params()), renamed), (declared, as_numbers)):
        assert_array_equal(method.fit(table).adjacency_matrix_, model.adjacency_matrix_)
    assert set(declared.predict(as_numbers)["colour"]) <= {1.0, 2.0, 3.0}
    turned = declared.fit(frame.iloc[:, ::-1])
    assert_array_equal(turned.adjacency_matrix_[::-1, ::-1], model.adjacency_matrix_)


def test_predictions_probabilities_residuals_and_the_score_that_counts_labels_by_their_probability(model, frame):
    predicted, doubt, residuals = model.predict(frame), model.predict_scale(frame), model.residuals(frame)
    probabilities = model.model_.probabilities("colour", frame)
    assert list(predicted["colour"]) == list(probabilities.idxmax(axis=1))
    assert_allclose(doubt["colour"], 1.0 - probabilities.max(axis=1))
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (predicted["colour"] == frame["colour"]).mean() > 0.6
    assert_allclose(residuals.mean(), 0.0, atol=0.1)
    assert_allclose(residuals.std(), 1.0, atol=0.15)
    of_labels = np.log([probabilities[label].iloc[k] for k, label in enumerate(frame["colour"])]).mean()
    of_numbers = -(np.log(doubt[NUMBERS]) + residuals[NUMBERS] ** 2 / 2 + np.log(2 * np.pi) / 2).mean().sum()
    assert model.score(frame) == pytest.approx(of_labels + of_numbers)
    with pytest.raises(ValueError, match="'y' has no labels"):
        model.model_.probabilities("y", frame)


def test_samples_follow_the_probabilities_with_and_without_interventions(model, frame):
    shares = model.sample(4000, 0)["colour"].value_counts(normalize=True)
    assert_allclose(shares[COLOURS], frame["colour"].value_counts(normalize=True)[COLOURS], atol=0.04)
    shares = model.sample(4000, 0, do={"x": 1.5})["colour"].value_counts(normalize=True)
    probabilities = model.model_.probabilities("colour", frame.head(1).assign(x=1.5))
    assert_allclose(shares[COLOURS], probabilities.iloc[0][COLOURS], atol=0.03)
    assert model.sample(500, 0, do={"colour": "green"})["y"].mean() == pytest.approx(2.0, abs=0.15)
    assert list(model.sample(3, 0, do={"colour": ["red", "blue", "red"]})["colour"]) == ["red", "blue", "red"]


def test_effects_of_labels(model):
    effect = model.average_effect("colour", "y", ["green", "blue"])
    assert_allclose(effect.mean, [2.0, -1.0], atol=0.15)
    assert list(effect.values) == ["green", "blue"]
    total, means = pd.DataFrame(model.effects(n_samples=500)), {"red": 0.0, "green": 2.0, "blue": -1.0}
    assert set(zip(total["cause"], total["effect"], strict=True)) == {("colour", "y"), ("x", "y"), ("x", "colour")}
    of_colour = total[total["cause"] == "colour"].set_index("contrast")["change"]
    reference = model.model_.columns.categories[1].labels[0]
    for label in set(means) - {reference}:
        assert of_colour[f"{reference} -> {label}"] == pytest.approx(means[label] - means[reference], abs=0.2)
    risks = total[total["effect"] == "colour"]
    assert set(risks["outcome"]) == set(means)
    assert risks["change"].sum() == pytest.approx(0.0, abs=1e-9)


def test_questions_without_an_answer_say_so(model, frame):
    rows = frame.head(3)
    kept = model.counterfactual(rows, do={"colour": "blue"})
    assert_array_equal(kept[["x", "z"]], rows[["x", "z"]])
    assert set(kept["colour"]) == {"blue"}
    assert set(model.counterfactual(rows, do={"x": 0.0, "colour": "red"})["colour"]) == {"red"}
    mauve = rows.assign(colour="mauve")
    for ask, words in (
        (lambda: model.counterfactual(rows, do={"x": 0.0}), "what the label of a row would have been is not deter"),
        (lambda: model.average_effect("x", "colour", [0.0]), "has labels and no mean"),
        (lambda: model.sample(1, do={"colour": "mauve"}), "holds 'mauve', but its labels are"),
        (lambda: model.predict(mauve), "column 'colour' of X holds 'mauve', but its labels are"),
        (lambda: model.sample(1, do={"colour": icdh.Shift(1.0)}), "changes labels by a function"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            ask()


def test_what_knows_no_labels_refuses_them_with_a_remedy(frame):
    for fit in (
        lambda: icdh.ICDH().fit(frame),
        lambda: icdh.causal_direction(frame["colour"], frame["y"]),
        lambda: icdh.ICDH().fit(frame.astype({"colour": "category"})),
    ):
        with pytest.raises(TypeError, match="encode it as numbers or drop it"):
            fit()


def test_resamples_know_the_labels_of_the_whole_table(frame):
    rare = frame.assign(colour=np.where(np.arange(500) == 7, "grey", frame["colour"]))
    models = icdh.refits(HNMSearch(kinds={"colour": "categorical"}, **QUICK), rare, 3)
    assert {"grey", *COLOURS} == set(models[0].columns.categories[1].labels)
    for fitted in models:
        assert np.isfinite(fitted.score(rare))
        assert_array_equal(fitted.adjacency != 0, EDGES)


def test_gaps_in_columns_of_labels_are_drawn(frame):
    X = frame.copy()
    X.loc[X.index % 10 == 0, "colour"] = None
    X.loc[X.index % 10 == 5, "y"] = np.nan
    with pytest.warns(DataWarning, match="'colour'"):
        model = HNMSearch(missing="impute", n_imputations=2, **QUICK).fit(X)
    assert_array_equal(model.adjacency_matrix_ != 0, EDGES)


def test_kinds_of_labels():
    rng, names = np.random.default_rng(6), ["small", "middle", "large"]
    sizes = np.array(names)[rng.integers(0, 3, size=60)]
    columns = {
        "size": pd.Categorical(sizes, names, ordered=True),
        "site": pd.Categorical(rng.integers(7, 10, size=60)),
        "grade": pd.Categorical(rng.integers(1, 6, size=60), ordered=True),
        "town": np.array(["A", "B"])[rng.integers(0, 2, size=60)],
    }
    frame = pd.DataFrame(columns)
    table = Table.of(frame, categorical=())
    assert table.kinds == ["ordinal", "categorical", "ordinal", "binary"]
    assert_array_equal(table.values[0], [names.index(size) for size in sizes])
    assert_array_equal(table.values[2], frame["grade"].astype(float))
    assert table.coded({"grade": "categorical"}).kinds[2] == "categorical"
    with pytest.raises(ValueError, match=r"kinds\['town'\] is 'ordinal', but the column holds labels such as"):
        table.coded({"town": "ordinal"})
    for column, words in (
        ([f"n{k}" for k in range(60)], "60 different labels"),
        (["1", "2"] * 30, "text such as '1', not numbers; convert it by astype.float., or declare it cat"),
        (["8 %", "12 %"] * 30, "text such as '8 %', not numbers; write numbers without signs and units"),
        (["$1,500", "$900"] * 30, "write numbers without signs and units"),
    ):
        with pytest.raises(TypeError, match=words):
            Table.of(frame.assign(town=column), categorical=())


def test_files_with_columns_of_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,yes\n2,no\n,NA\n3,yes\n")
    table = read_table(path, gaps=True, categorical=())
    assert table.values[:, 1].tolist() == ["yes", "no", None, "yes"]
    assert table.gaps.sum() == 2
    with pytest.raises(ValueError, match="line 2, column 'b': 'yes' is not a number"):
        read_table(path, gaps=True)
    remedy = r"column 'b': 'yes' is not a number; .* or declare the column categorical; pass categorical=\['b'\]"
    for text, words in (
        ("a,b\n1,yes\n2,7\n", remedy),
        ("a,b\n1,2024-03-31\n2,2024-04-01\n", r"is a date, .*; pass dates=\['b'\]"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            read_table(path, categorical=())
    path.write_text("a,b\n1,7\n2,8\n")
    assert read_table(path, categorical=["b"]).values.tolist() == [[1.0, "7"], [2.0, "8"]]


def test_inputs_held_at_a_value_leave_the_rows_of_labels_beside_them():
    rng = np.random.default_rng(7)
    network = NodeNetwork(np.array([1, 3, 0]), np.array([3, 1, 1]), rng.normal(size=n_weights(5, UNITS)), UNITS)
    conditional = Conditional(network, GaussianLaw())
    values = np.vstack([rng.normal(size=6), np.arange(6) % 3, rng.normal(size=6)])
    expected = conditional.mean_and_scale(np.vstack([values, np.full((1, 6), 0.7)]))
    held = network.held(np.array([True, False, True]), np.array([0.0, 0.7, 0.0]))
    assert_allclose(Conditional(held, GaussianLaw()).mean_and_scale(values), expected)
