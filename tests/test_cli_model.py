"""Saved models from the command line: predict, sample and effects."""

import json

import numpy as np
import pytest
from helpers import command

import icdh
from icdh import ICDH, Shift
from icdh.files import read_table, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory, chain):
    """The chain as data.csv, and the model that ``icdh fit --save`` learns from it as m.icdh."""
    path = tmp_path_factory.mktemp("models")
    write_table(path / "data.csv", chain.values, chain.columns)
    words = ("fit", path / "data.csv", "--method", "search", "--noise-distribution", "gaussian", "--quiet")
    assert command(*words, "--save", path / "m.icdh") == 0
    return path


def printed_table(capsys):
    head, *rows = capsys.readouterr().out.splitlines()
    return head.split(","), np.array([list(map(float, row.split(","))) for row in rows])


def complaint(capsys, *arguments):
    assert command(*arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_fit_saves_the_model_that_the_estimator_learns(folder, chain):
    model = icdh.load(folder / "m.icdh")
    fit = icdh.HNMSearch(noise_distribution="gaussian").fit(chain)
    np.testing.assert_array_equal(model.predict(chain), fit.predict(chain))
    assert model.about["n_observations"] == 400


@pytest.mark.parametrize(("what", "method"), [(None, "predict"), ("std", "predict_scale"), ("residuals", "residuals")])
def test_predict_answers_as_the_model(folder, chain, capsys, what, method):
    assert command("predict", folder / "m.icdh", folder / "data.csv", *(("--what", what) if what else ())) == 0
    names, values = printed_table(capsys)
    assert names == ["a", "b", "c"]
    np.testing.assert_array_equal(values, getattr(icdh.load(folder / "m.icdh"), method)(chain))


def test_a_pair_is_asked_of_the_columns_of_the_model_among_others(folder, chain, tmp_path, capsys):
    extra = np.where(np.arange(400) % 2, np.nan, 1.0)
    write_table(tmp_path / "mixed.csv", np.column_stack([chain.values, extra]), ["a", "b", "c", "seldom"])
    question = ("--model", folder / "m.icdh", "--cause", "a", "--effect", "b")
    assert command("effects", tmp_path / "mixed.csv", *question) == 0
    among_others = capsys.readouterr().out
    assert command("effects", folder / "data.csv", *question) == 0
    assert capsys.readouterr().out == among_others


def test_a_report_of_a_saved_model_has_the_warnings_of_the_table(folder, chain, tmp_path):
    walk = np.cumsum(np.random.default_rng(0).normal(size=(400, 3)), axis=0)
    for name, values, warns in (("rows", chain.values, False), ("walk", walk, True)):
        write_table(tmp_path / f"{name}.csv", values, chain.columns)
        page = tmp_path / f"{name}.html"
        words = ("report", tmp_path / f"{name}.csv", "--model", folder / "m.icdh", "--output", page, "--quiet")
        assert command(*words) == 0
        assert ("rows depend on those before them" in page.read_text()) == warns


def test_predict_finds_its_columns_among_others(folder, chain, tmp_path, capsys):
    mixed = np.column_stack([chain.values[:, 2], np.arange(400.0), chain.values[:, :2]])
    write_table(tmp_path / "mixed.csv", mixed, ["c", "id", "a", "b"])
    assert command("predict", folder / "m.icdh", tmp_path / "mixed.csv") == 0
    _, values = printed_table(capsys)
    np.testing.assert_array_equal(values, icdh.load(folder / "m.icdh").predict(chain))


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Dates, labels and numbers as visits.csv, the model of them as m.icdh, and the same with gaps as gaps.csv."""
    path, rng = tmp_path_factory.mktemp("visits"), np.random.default_rng(3)
    day = rng.integers(0, 300, size=240)
    drug = rng.choice(["none", "low", "high"], size=240)
    dose = (drug == "low") + 3.0 * (drug == "high") + 0.01 * day + 0.3 * rng.normal(size=240)
    rows = [
        [str(np.datetime64("2023-01-01") + int(days)), label, f"{amount:.6f}"]
        for days, label, amount in zip(day, drug, dose, strict=True)
    ]
    _write_visits(path / "visits.csv", rows)
    options = ("--method", "search", "--noise-distribution", "gaussian", "--column-transform", "none", "--quiet")
    learned = ("--dates", "when", "--kinds", "drug=categorical", "--require", "drug,dose", "--require", "when,dose")
    assert command("fit", path / "visits.csv", *options, *learned, "--save", path / "m.icdh") == 0
    for row, column, gap in [(1, 0, ""), (2, 1, "NA"), (3, 2, "?"), (4, 0, "NaT"), (4, 2, "")]:
        rows[row][column] = gap
    _write_visits(path / "gaps.csv", rows[:8])
    return path


def _write_visits(path, rows):
    path.write_text("\n".join(["when,drug,dose", *map(",".join, rows)]) + "\n", encoding="utf-8")


@pytest.fixture
def predicted(visits, capsys):
    """What predict prints of a file, cell by cell, and what it notes."""

    def predict(file, *options):
        assert command("predict", visits / "m.icdh", visits / file, "--dates", "when", *options) == 0
        out, err = capsys.readouterr()
        return [line.split(",") for line in out.splitlines()[1:]], err

    return predict


MEASURED = {"when": [], "drug": [], "dose": [1, 2, 4]}
WITH_ITS_CAUSES = {"when": [1, 4], "drug": [2], "dose": [1, 2, 3, 4]}
OF_ANY_GAP = {name: [1, 2, 3, 4] for name in MEASURED}


@pytest.mark.parametrize(
    ("options", "empty"),
    [
        (("--what", "mean"), MEASURED),
        (("--what", "std"), MEASURED),
        (("--what", "residuals"), WITH_ITS_CAUSES),
        (("--shift", "when=10"), OF_ANY_GAP),
    ],
)
def test_predict_leaves_empty_what_rests_on_a_gap(visits, predicted, options, empty):
    model = icdh.load(visits / "m.icdh")
    assert [(edge.cause, edge.effect) for edge in model.edge_list()] == [("drug", "dose"), ("when", "dose")]
    whole, _ = predicted("visits.csv", *options)
    shown, said = predicted("gaps.csv", *options, "--missing", "keep")
    assert shown == [
        ["" if row in empty[name] else cell for name, cell in zip(empty, cells, strict=True)]
        for row, cells in enumerate(whole[:8])
    ]
    assert "note: results that depend on a gap stay empty: 5 gaps in 4 of 8 rows" in said


def test_predict_leaves_out_rows_with_gaps(predicted):
    whole, _ = predicted("visits.csv")
    kept, said = predicted("gaps.csv", "--missing", "drop")
    assert kept == [whole[row] for row in (0, 5, 6, 7)]
    assert "rows with gaps are left out: 5 gaps in 4 of 8 rows" in said


def test_predict_fills_a_column_that_nobody_measured(visits, predicted):
    """Its mean rests on its causes alone."""
    whole, _ = predicted("visits.csv", "--missing", "keep")
    first = [row.split(",") for row in (visits / "visits.csv").read_text(encoding="utf-8").splitlines()[1:4]]
    _write_visits(visits / "new.csv", [[when, drug, ""] for when, drug, _ in first])
    assert predicted("new.csv", "--missing", "keep")[0] == whole[:3]


def test_what_predict_says_of_gaps_and_dates_without_the_options(visits, tmp_path, capsys):
    model = visits / "m.icdh"
    assert "--dates" in complaint(capsys, "predict", model, visits / "gaps.csv")
    assert command("predict", model, visits / "gaps.csv", "--dates", "when") == 2
    *_, error = capsys.readouterr().err.splitlines()
    assert error.endswith("--missing drop (or --missing keep)")
    _write_visits(tmp_path / "empty.csv", [["2023-01-01", "low", ""]])
    assert command("predict", model, tmp_path / "empty.csv", "--dates", "when", "--missing", "drop") == 2
    assert "leaves no row" in capsys.readouterr().err


def test_predict_relives_rows_under_an_intervention(folder, chain, tmp_path):
    output = tmp_path / "relived.tsv"
    actions = ("--do", "a=1.5", "--shift", "b=-1")
    assert command("predict", folder / "m.icdh", folder / "data.csv", *actions, "--output", output) == 0
    expected = icdh.load(folder / "m.icdh").counterfactual(chain, {"a": 1.5, "b": Shift(-1.0)})
    np.testing.assert_array_equal(read_table(output).values, expected)


def test_sample_draws_what_the_model_draws(folder, capsys):
    assert command("sample", folder / "m.icdh", "-n", 20, "--seed", 3, "--do", "b=0.25") == 0
    _, values = printed_table(capsys)
    np.testing.assert_array_equal(values, icdh.load(folder / "m.icdh").sample(20, 3, do={"b": 0.25}))


def test_effects_of_all_pairs_and_of_one(folder, capsys, tmp_path):
    model = icdh.load(folder / "m.icdh")
    assert command("effects", folder / "m.icdh", "--json") == 0
    assert json.loads(capsys.readouterr().out) == [effect._asdict() for effect in model.effects()]
    assert command("effects", folder / "m.icdh") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1 : 1 + len(model.effects())]] == [
        [effect.cause, effect.effect] for effect in model.effects()
    ]
    assert "not evidence of no effect" in lines[-2]
    picture, pair = tmp_path / "effect.svg", ("--cause", "a", "--effect", "c")
    assert command("effects", folder / "m.icdh", *pair, "--values", "-1", 2, "--json", "--plot", picture) == 0
    effect = model.average_effect("a", "c", [-1.0, 2.0])
    assert [row["mean of c"] for row in json.loads(capsys.readouterr().out)] == effect.mean.tolist()
    assert b"<svg" in picture.read_bytes()
    assert command("effects", folder / "m.icdh", *pair, "--json") == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["comparisons"][0]["difference"][0] == icdh.effect(model, "a", "c").difference
    assert command("effects", folder / "m.icdh", folder / "data.csv", *pair, "--json", "--plot", picture) == 0
    answer = json.loads(capsys.readouterr().out)["comparisons"][0]["difference"]
    assert answer[1] < answer[0] < answer[2]


def test_effects_of_a_trial_and_of_an_observational_table(tmp_path, capsys):
    rng = np.random.default_rng(0)
    age = rng.normal(size=400)
    old, sick = age > 0, rng.random(400) < 0.3
    given = np.where(rng.random(400) < np.where(old, 0.7, 0.3), "yes", "no")
    rows = [[f"{a:.6f}", g, "yes" if s else "no"] for a, g, s in zip(age, given, sick, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["age,given,sick", *map(",".join, rows)]))
    pair = ("--cause", "given", "--effect", "sick", "--json")
    assert command("effects", tmp_path / "t.csv", *pair, "--adjust", "none") == 0
    trial = json.loads(capsys.readouterr().out)
    share = {value: sick[given == value].mean() for value in ("yes", "no")}
    assert trial["difference"] == pytest.approx(share["yes"] - share["no"])
    asked = ("--adjust", "age", "--contrast", "yes,no", "--where", "sick=no")
    assert command("effects", tmp_path / "t.csv", *pair, *asked) == 0
    swapped = json.loads(capsys.readouterr().out)
    assert (swapped["adjusted"], swapped["comparisons"][0]["reference"]) == (["age"], "yes")
    assert swapped["n_target"] == np.count_nonzero(~sick)
    assert command("effects", tmp_path / "t.csv", *pair, "--quiet") == 2
    assert "no path from 'given' to 'sick'" in capsys.readouterr().err


@pytest.mark.parametrize("adjust", ["age", "graph"])
def test_rows_of_a_person_say_no_more_than_the_person(tmp_path, capsys, adjust):
    rng = np.random.default_rng(0)
    age = rng.normal(size=200)
    given = np.where(rng.random(200) < np.where(age > 0, 0.7, 0.3), 1.0, 0.0)
    answer = given + age + rng.normal(size=200)
    rows = [f"{a:.6f},{g},{y:.6f},p{k}" for k, (a, g, y) in enumerate(zip(age, given, answer, strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(["age,given,answer,person", *rows, *rows, ",1.0,2.0,p0"]))
    question = ("effects", tmp_path / "t.csv", "--cause", "given", "--effect", "answer", "--adjust", adjust, "--json")
    width = {}
    for options in ((), ("--group-column", "person"), ("--sequence",)):
        pairs = ("given,answer", "age,answer", "age,given")
        known = () if adjust == "age" else [word for pair in pairs for word in ("--require", pair)]
        drop = () if len(options) == 2 else ("--drop", "person")
        assert command(*question, "--missing", "drop", *drop, *options, *known) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["adjusted"] == ["age"]
        assert "person" not in found["adjusted"]
        width[len(options)] = found["upper"] - found["lower"]
    assert width[2] == pytest.approx(np.sqrt(2.0) * width[0], rel=0.05)


def test_a_graph_without_edges_gives_no_estimate(tmp_path, capsys):
    ICDH(threshold=1e9).fit(np.random.default_rng(0).normal(size=(30, 2))).save(tmp_path / "m.icdh")
    assert command("effects", tmp_path / "m.icdh") == 0
    assert "not evidence of no effect" in capsys.readouterr().out


def test_what_labels_cannot_answer_is_said_in_words_of_the_command_line(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    rows = [f"{a:.4f},{'high' if b > 0 else 'low'}" for a, b in zip(x, 2.0 * x + rng.normal(size=300), strict=True)]
    path, model = tmp_path / "t.csv", tmp_path / "m.icdh"
    path.write_text("\n".join(["x,level", *rows]))
    assert command("fit", path, "--require", "x,level", "--save", model, "--kinds", "level=categorical") == 0
    capsys.readouterr()
    assert command("predict", model, path, "--do", "x=1") == 2
    assert "--do reaches 'level'" in (said := capsys.readouterr().err)
    assert said.endswith("what sample draws with --do\n")
    assert command("effects", model, "--cause", "x", "--effect", "level", "--values", "1") == 2
    assert "--effect is 'level', which has labels" in capsys.readouterr().err
