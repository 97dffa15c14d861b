"""Saved models from the command line: predict, sample and effects."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from helpers import cases, command

import icdh
from icdh import ICDH, Shift
from icdh.files import LabelledTable, read_table, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory, chain):
    """The chain as data.csv, and the model that ``icdh fit --save`` learns from it as m.icdh."""
    path = tmp_path_factory.mktemp("models")
    write_table(path / "data.csv", chain.values, chain.columns)
    words = ("fit", path / "data.csv", "--method", "search", "--noise-distribution", "gaussian", "--quiet")
    assert command(*words, "--save", path / "m.icdh") == 0
    return path


def cells(text):
    head, *rows = text.splitlines()
    return head.split(","), np.array([list(map(float, row.split(","))) for row in rows])


@pytest.fixture
def model(folder):
    return icdh.load(folder / "m.icdh")


def test_fit_saves_the_model_that_the_estimator_learns(model, chain):
    fit = icdh.HNMSearch(noise_distribution="gaussian").fit(chain)
    np.testing.assert_array_equal(model.predict(chain), fit.predict(chain))
    assert model.about["n_observations"] == 400


@pytest.mark.parametrize(("what", "method"), [(None, "predict"), ("std", "predict_scale"), ("residuals", "residuals")])
def test_predict_answers_as_the_model(folder, model, chain, tmp_path, printed, what, method):
    """Of its columns among others, in any order."""
    mixed = np.column_stack([chain.values[:, 2], np.arange(400.0), chain.values[:, :2]])
    write_table(tmp_path / "mixed.csv", mixed, ["c", "id", "a", "b"])
    names, values = cells(printed("predict", folder / "m.icdh", tmp_path / "mixed.csv", *["--what", what] * bool(what)))
    assert names == ["a", "b", "c"]
    np.testing.assert_array_equal(values, getattr(model, method)(chain))


def test_text_where_a_model_has_numbers_is_refused_without_a_command_that_cannot_work(folder, chain, tmp_path, refused):
    """A saved model needs all of its columns: there is no --drop."""
    rows = pd.DataFrame(chain.values, columns=["a", "b", "c"]).assign(a=[f"no {k}" for k in range(400)])
    rows.to_csv(tmp_path / "text.csv", index=False)
    message = refused("check", folder / "m.icdh", tmp_path / "text.csv")
    assert "'a'" in message
    assert "this reads it" not in message


def test_a_pair_is_asked_of_the_columns_of_the_model_among_others(folder, chain, tmp_path, printed):
    extra = np.where(np.arange(400) % 2, np.nan, 1.0)
    write_table(tmp_path / "mixed.csv", np.column_stack([chain.values, extra]), ["a", "b", "c", "seldom"])
    question = ("--model", folder / "m.icdh", "--cause", "a", "--effect", "b")
    alone = printed("effects", folder / "data.csv", *question)
    assert alone == printed("effects", tmp_path / "mixed.csv", *question)


def test_a_report_of_a_saved_model_has_the_warnings_of_the_table(folder, chain, tmp_path, printed):
    walk = np.cumsum(np.random.default_rng(0).normal(size=(400, 3)), axis=0)
    page = tmp_path / "page.html"
    for values, warns in ((chain.values, False), (walk, True)):
        write_table(tmp_path / "rows.csv", values, chain.columns)
        printed("report", folder / "m.icdh", tmp_path / "rows.csv", "--output", page, "--quiet")
        assert ("rows depend on those before them" in page.read_text()) == warns


def test_whole_numbers_come_out_as_they_came_in(tmp_path, printed):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, size=200)
    table, model = tmp_path / "t.csv", tmp_path / "m.icdh"
    pay = age + rng.integers(9, 99, 200)
    table.write_text("\n".join(["age,pay", *map("{},{}".format, age, pay)]))
    printed("fit", table, "--require", "age,pay", "--kinds", "age=gridded", "pay=gridded", "--save", model)
    for ask in (("sample", model, "-n", 50), ("predict", model, table, "--do", "pay=30")):
        head, *rows = printed(*ask).splitlines()
        assert head == "age,pay"
        assert all(cell.lstrip("-").isdigit() for row in rows for cell in row.split(","))
    _, *rows = printed("predict", model, table, "--shift", "age=1").splitlines()
    moved = np.array([[float(cell) for cell in row.split(",")] for row in rows])
    assert (moved[:, 0] == age + 1).all()
    assert 0.2 < np.mean(moved[:, 1] - pay) < 3.0  # no whole number: all rows would be rounded the same way


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Dates, labels and numbers as visits.csv, the model of them as m.icdh, and the same with gaps as gaps.csv."""
    path, rng = tmp_path_factory.mktemp("visits"), np.random.default_rng(3)
    day = rng.integers(0, 300, size=240)
    drug = rng.choice(["none", "low", "high"], size=240)
    dose = (drug == "low") + 3.0 * (drug == "high") + 0.01 * day + 0.3 * rng.normal(size=240)
    when = (np.datetime64("2023-01-01") + day).astype(str)
    rows = [[*row, f"{amount:.6f}"] for *row, amount in zip(when, drug, dose, strict=True)]
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
def predicted(visits, shown):
    """What predict prints of a file, cell by cell, and what it notes."""

    def predict(file, *options):
        code, out, err = shown("predict", visits / "m.icdh", visits / file, "--dates", "when", *options)
        assert code == 0
        return [line.split(",") for line in out.splitlines()[1:]], err

    return predict


MEASURED = {"when": [], "drug": [], "dose": [1, 2, 4]}
WITH_ITS_CAUSES = {"when": [1, 4], "drug": [2], "dose": [1, 2, 3, 4]}
OF_ANY_GAP = {name: [1, 2, 3, 4] for name in MEASURED}


@cases(
    ("options", "empty"),
    (("--what", "mean"), MEASURED),
    (("--what", "std"), MEASURED),
    (("--what", "residuals"), WITH_ITS_CAUSES),
    (("--shift", "when=10"), OF_ANY_GAP),
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


def test_predictions_far_from_the_rows_of_the_fit_are_said_to_be_extrapolated(folder, chain, tmp_path, shown):
    rows = chain.values[:40].copy()
    for beyond, is_said in ((1, False), (20, True)):
        rows[:beyond, 0] = 50.0
        write_table(tmp_path / "far.csv", rows, ["a", "b", "c"])
        code, out, err = shown("predict", folder / "m.icdh", tmp_path / "far.csv")
        assert (code, len(out.splitlines())) == (0, 41)
        assert ("20 of 40 rows of column 'a' are far from those of the fit: this is extrapolation" in err) == is_said


def test_predict_says_how_probable_each_label_is(folder, tmp_path, printed, refused):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    died, floor = np.where(x + rng.logistic(size=300) > 0.0, "yes", "no"), rng.choice(["a", "b", "c"], size=300)
    table = pd.DataFrame({"x": x, "died": died, "floor": floor})
    table.to_csv(tmp_path / "rows.csv", index=False)
    icdh.HNMSearch(knowledge={"required": [("x", "died")]}, kinds={"floor": "categorical"}).fit(table).save(
        tmp_path / "of.icdh"
    )
    model, of_rows = icdh.load(tmp_path / "of.icdh"), ("predict", tmp_path / "of.icdh", tmp_path / "rows.csv")
    for name, labels in (("died", ["no", "yes"]), ("floor", ["a", "b", "c"])):
        names, values = cells(printed(*of_rows, "--probabilities", name))
        assert sorted(names) == [f"{name}={label}" for label in labels]
        frame = model.probabilities(name, table)
        assert names == [f"{name}={label}" for label in frame.columns]
        np.testing.assert_allclose(values, frame, rtol=1e-12)
    assert "'x' has no labels; its mean and spread are predicted" in refused(*of_rows, "--probabilities", "x")
    assert "leave it out with --probabilities" in refused(*of_rows, "--probabilities", "died", "--what", "std")
    (tmp_path / "gap.csv").write_text("x,died,floor\n,yes,a\n1.0,,b\n", encoding="utf-8")
    of_gaps = printed(
        "predict", tmp_path / "of.icdh", tmp_path / "gap.csv", "--missing", "keep", "--probabilities", "died"
    )
    assert of_gaps.splitlines()[1] == ","
    assert of_gaps.splitlines()[2].count("0.") == 2


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
    assert predicted("new.csv", "--missing", "keep")[0] == predicted("new.csv")[0] == whole[:3]
    new = [",".join(row[:2]) for row in first]
    (visits / "new.csv").write_text("\n".join(["when,drug", *new]), encoding="utf-8")  # nor is it there
    shown, said = predicted("new.csv")
    assert (shown, "warning" in said) == (whole[:3], False)
    (visits / "new.csv").write_text("\n".join(["when", *(row[0] for row in first)]), encoding="utf-8")
    shown, said = predicted("new.csv")
    assert shown == [[when, drug, ""] for when, drug, _ in whole[:3]]
    assert "warning: the table has no value of 'drug': what rests on them is left empty, of 'dose'" in said


def test_what_predict_says_of_gaps_and_dates_without_the_options(visits, tmp_path, refused):
    gaps, empty, dates = visits / "gaps.csv", tmp_path / "empty.csv", ("--dates", "when")
    _write_visits(empty, [["2023-01-01", "low", ""]])
    for asked, said in (
        ((gaps,), "--dates"),
        ((gaps, *dates), "--missing drop (or --missing keep)\n"),
        ((empty, *dates, "--missing", "drop"), "leaves no row"),
    ):
        assert said in refused("predict", visits / "m.icdh", *asked).splitlines(keepends=True)[-1]


def test_predict_relives_rows_under_an_intervention(folder, model, chain, tmp_path, printed):
    actions = ("--do", "a=1.5", "--shift", "b=-1")
    printed("predict", folder / "m.icdh", folder / "data.csv", *actions, "--output", tmp_path / "relived.tsv")
    expected = model.counterfactual(chain, {"a": 1.5, "b": Shift(-1.0)})
    np.testing.assert_array_equal(read_table(tmp_path / "relived.tsv").values, expected)


def test_sample_draws_what_the_model_draws(folder, model, printed):
    _, values = cells(printed("sample", folder / "m.icdh", "-n", 20, "--seed", 3, "--do", "b=0.25"))
    np.testing.assert_array_equal(values, model.sample(20, 3, do={"b": 0.25}))


def test_effects_of_all_pairs_and_of_one(folder, model, printed, tmp_path):
    effects, pair, picture = model.effects(), ("--cause", "a", "--effect", "c"), ("--plot", tmp_path / "effect.svg")

    def answer(*options):
        return json.loads(printed("effects", folder / "m.icdh", *options, "--json"))

    assert answer() == [effect._asdict() for effect in effects]
    lines = printed("effects", folder / "m.icdh").splitlines()
    assert [line.split()[:2] for line in lines[1 : 1 + len(effects)]] == [[own.cause, own.effect] for own in effects]
    assert "not evidence of no effect" in lines[-3]
    assert lines[-1] == "what these mean: icdh explain"
    at_values = answer(*pair, "--values", "-1", 2, *picture)
    assert [row["mean of c"] for row in at_values] == model.average_effect("a", "c", [-1.0, 2.0]).mean.tolist()
    assert b"<svg" in picture[1].read_bytes()
    assert answer(*pair) == [effect._asdict() for effect in effects if (effect.cause, effect.effect) == ("a", "c")]
    with_rows = answer(folder / "data.csv", *pair, *picture)
    assert with_rows["lower"] < with_rows["per_unit"] < with_rows["upper"]
    average = answer(folder / "data.csv", *pair, "--contrast", "0,1")
    assert (average["contrast"], average["per_unit"]) == ([0.0, 1.0], None)


def test_a_label_with_a_comma_is_quoted_in_a_contrast(tmp_path, printed):
    rows = [f'"{"kept, or laid off" if k % 3 else "retired"}",{k % 7}' for k in range(210)]
    (tmp_path / "t.csv").write_text("\n".join(["work,days", *rows]))
    asked = ("effects", tmp_path / "t.csv", "--cause", "work", "--effect", "days", "--adjust", "none", "--json")
    answer = json.loads(printed(*asked, "--contrast", 'retired, "kept, or laid off"'))
    assert answer["contrast"] == ["retired", "kept, or laid off"]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """What every person was given, twice, with place, year, weight and a gap of a row; as a file and as a frame."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("survey") / "t.csv"
    age = rng.normal(size=200)
    given = np.where(rng.random(200) < np.where(age > 0, 0.7, 0.3), "yes", "no")
    answer = age + (given == "yes") + rng.normal(size=200)
    once = pd.DataFrame({"age": age, "given": given, "answer": answer, "person": [f"p{k}" for k in range(200)]})
    frame = pd.concat([once, once], ignore_index=True)
    frame = frame.assign(place=np.arange(400) % 20, year=np.arange(400) // 20, wt=rng.gamma(2.0, size=400))
    frame["gappy"] = frame["age"].where(frame.index != 7)
    frame.to_csv(path, index=False)
    return path, frame


BY_GRAPH = "--columns age given answer --require given,answer --require age,answer --require age,given"
KNOWN, BOTH = {"required": [("given", "answer"), ("age", "answer"), ("age", "given")]}, ("place", "year")


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@cases(
    ("options", "arguments"),
    ("--adjust none", {"adjust": []}),
    ("--adjust age --contrast yes,no", {"adjust": ["age"], "contrast": ("yes", "no")}),
    ("--adjust age --adjust place", {"adjust": ["age", "place"]}),
    ("--adjust none --within place", {"adjust": [], "within": "place"}),
    ("--adjust age --group-column person", {"adjust": ["age"], "groups": "person"}),
    ("--adjust none --group-column place,year", {"adjust": [], "groups": BOTH}),
    ("--adjust none --group-column place,year --within year", {"adjust": [], "groups": BOTH, "within": "year"}),
    ("--adjust age --sequence", {"adjust": ["age"], "sequence": True}),
    ("--adjust age --weights wt", {"adjust": ["age"], "sample_weight": "wt"}),
    ("--adjust age --missing drop", {"adjust": ["age"]}),  # a gap that the question does not read
    ("--adjust gappy --missing drop --weights wt", {"adjust": ["gappy"], "sample_weight": "wt"}),
    (BY_GRAPH, {"knowledge": KNOWN}),
    (f"{BY_GRAPH} --group-column person", {"groups": "person", "knowledge": KNOWN}),
)
def test_options_of_an_effect_are_arguments_of_the_library(survey, shown, options, arguments):
    path, frame = survey
    code, out, err = shown("effects", path, "--cause", "given", "--effect", "answer", "--json", *options.split())
    record, said = json.loads(out), err.splitlines()
    assert (code, sorted(said)) == (0, sorted(set(said)))  # nothing twice
    frame = frame.dropna() if "gappy" in options else frame
    if "knowledge" in arguments:
        frame = frame[["age", "given", "answer", *["person"] * ("groups" in arguments)]]
    answer = json.loads(json.dumps(icdh.effect(frame, "given", "answer", **arguments).to_dict()))
    assert record["adjusted"] == arguments.get("adjust", ["age"])
    assert record == answer | {"notes": record["notes"]}  # which name options


def test_an_effect_over_graphs_and_its_page(tmp_path, printed):
    rng = np.random.default_rng(0)
    age, noise = rng.normal(size=200), rng.laplace(size=(2, 200))
    dose = age + noise[0]
    rows = np.column_stack([age, dose, dose + age + noise[1]])
    write_table(tmp_path / "t.csv", rows, ["age", "do<se", "answer"])
    asked = ("effects", tmp_path / "t.csv", "--cause", "do<se", "--effect", "answer", "--tiers", "age; do<se; answer")
    page = tmp_path / "page.html"
    text = printed(*asked, "--adjust", "posterior", "--quiet", "--report", page)
    assert "averaged over graphs" in text
    assert "probability of an effect  1.00" in text
    assert "do&lt;se → answer" in page.read_text(encoding="utf-8")
    printed(*asked, "--adjust", "age", "--report", page, "--quiet")
    written = page.read_text(encoding="utf-8")
    assert "<svg" in written
    assert "hidden cause" in written
    assert "<do<se" not in written


def test_a_gap_in_a_column_that_a_question_of_a_model_does_not_read_leaves_no_row_out(tmp_path, capsys):
    rng = np.random.default_rng(0)
    age, place = rng.normal(size=(2, 200))
    given = age + rng.normal(size=200)
    X = np.column_stack([age, given, given + 2 * age + rng.normal(size=200), place])
    known = icdh.Knowledge(required=[(0, 1), (0, 2), (1, 2)])
    model = icdh.HNMSearch(n_restarts=1, noise_distribution="gaussian", knowledge=known)
    model.fit(LabelledTable(X, ["age", "given", "answer", "place"])).save(tmp_path / "m.icdh")
    X[:50, 3], X[100, 0] = np.nan, np.nan
    write_table(tmp_path / "t.csv", X, ["age", "given", "answer", "place"])
    question = "--cause", "given", "--effect", "answer", "--missing", "drop", "--json"
    assert command("effects", tmp_path / "m.icdh", tmp_path / "t.csv", *question) == 0
    said = capsys.readouterr()
    assert "rows with gaps are left out: 1 gap in 1 of 200 rows" in said.err
    found, complete = json.loads(said.out), icdh.effect(np.delete(X, 100, axis=0)[:, :3], 1, 2, [0])
    assert (found["adjusted"], found["n_rows"]) == (["age"], 199)
    assert found["estimate"] == pytest.approx(complete.estimate, rel=1e-9)
    averaged = "--adjust", "posterior", *question[:-1]
    assert command("effects", tmp_path / "t.csv", "--model", tmp_path / "m.icdh", *averaged) == 2
    words = shlex.split(capsys.readouterr().err.rpartition("leave the model out: ")[2])
    assert words[:3] == ["icdh", "effects", str(tmp_path / "t.csv")]
    assert command(*words[1:]) == 0  # it works
    assert "averaged over graphs" in capsys.readouterr().out


def test_a_name_with_a_space_needs_no_comma(tmp_path, chain, printed):
    write_table(tmp_path / "t.csv", chain.values, ["kids 5", "b", "c d"])
    pair = ("effects", tmp_path / "t.csv", "--cause", "b", "--effect", "c d", "--quiet")
    assert "adjusted for kids 5\n" in printed(*pair, "--adjust", "kids 5")
    known = printed("fit", tmp_path / "t.csv", "--roots", "kids 5", "--leaves", "b, c d", "--save", tmp_path / "m.icdh")
    assert "-> kids 5" not in known
    assert not icdh.load(tmp_path / "m.icdh").adjacency[1:].any()


def test_a_graph_without_edges_gives_no_estimate(tmp_path, printed):
    ICDH(threshold=1e9).fit(np.random.default_rng(0).normal(size=(30, 2))).save(tmp_path / "m.icdh")
    assert "not evidence of no effect" in printed("effects", tmp_path / "m.icdh")


def test_what_labels_cannot_answer_is_said_in_words_of_the_command_line(tmp_path, printed, refused):
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    rows = [f"{a:.4f},{'high' if b > 0 else 'low'}" for a, b in zip(x, 2.0 * x + rng.normal(size=300), strict=True)]
    path, model = tmp_path / "t.csv", tmp_path / "m.icdh"
    path.write_text("\n".join(["x,level", *rows]))
    printed("fit", path, "--require", "x,level", "--save", model, "--kinds", "level=categorical")
    for option in ("--do", "--shift"):
        said = refused("predict", model, path, option, "x=1")
        assert "the intervention reaches 'level': what the label of a row would have been is not determined" in said
    question = ("--cause", "x", "--effect", "level", "--values", "1")
    assert "--effect is 'level', which has labels" in refused("effects", model, *question)
