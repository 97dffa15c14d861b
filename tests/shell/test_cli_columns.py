"""Tables as they come: columns that are no variables, gaps, dates, a decimal comma, Parquet."""

import io
import json
import re
import sys

import numpy as np
import pytest
from helpers import cases, hetero_chain, linear_chain

import icdh
from icdh import HNMSearch, Interventions, bootstrap
from icdh.files import LabelledTable, read_table, read_with_labels, write_table


@pytest.fixture
def messy(tmp_path):
    """A chain with row labels, text, dates and gaps, as a European spreadsheet writes it."""
    X = hetero_chain(np.random.default_rng(0), 120)
    lines = ["id;when;a;b;c;remark"]
    for k, row in enumerate(X):
        cells = [f"{value:.5f}".replace(".", ",") for value in row]
        if k % 20 == 3:
            cells[1] = "NA"
        if k % 30 == 4:
            cells[2] = ""
        lines.append(";".join([f"r{k}", f"2024-01-{1 + k % 28:02d} 12:00", *cells, "fine"]))
    path = tmp_path / "messy.csv"
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    return path


MESSY = ["--decimal", ",", "--drop", "remark", "id", "--dates", "when"]
DROP = [*MESSY, "--missing", "drop"]
SEARCH = ["--method", "search", "--noise-distribution", "gaussian", "--hidden-units", 3]


@pytest.mark.parametrize("method", ["icdh", "search"])
@cases(
    ("missing", "rows", "line"),
    (["drop"], 110, "rows with gaps are left out"),
    (["impute", "--n-imputations", 2], 120, "gaps are imputed; strengths count rows that hold cause and effect"),
)
def test_fit_of_a_messy_table(messy, shown, method, missing, rows, line):
    code, out, err = shown("fit", messy, *MESSY, "--method", method, "--hidden-units", 3, "--missing", *missing)
    assert (code, f"{rows} observations of 4 variables" in out) == (0, True)
    for note in ("left out: remark, id", "dates as days since 1970: when", f"{line}: 10 gaps in 10 of 120 rows"):
        assert f"note: {note}" in err


REMEDY = "--drop id remark --dates when --missing drop (or --missing impute)\n"


@cases(
    ("options", "said"),
    (["--method", "icdh", "--decimal", ","], REMEDY),
    (["--decimal", ",", "--drop", "id", "remark"], REMEDY),
    (MESSY, "messy.csv: gaps in 10 of 120 rows: 6 in 'b', 4 in 'c'; this reads it: icdh fit"),
    ([*MESSY, "--drop", "remarks"], "no column 'remarks'"),
    (["--decimal", ",", "--columns", "a", "id", "--dates", "id"], "no date such as"),
)
def test_what_is_said_without_the_options(messy, refused, options, said):
    assert said in refused("fit", messy, *options)


def test_a_refused_column_of_text_that_repeats_may_be_one_of_groups(tmp_path, shown):
    rows = [f"S{k % 44:02d},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(np.random.default_rng(0).normal(size=(440, 2)))]
    path = tmp_path / "states.csv"
    path.write_text("\n".join(["state,x,y", *rows]))
    hint = "; if 'state' names persons or places of several rows each, pass --group-column; this reads it: icdh"
    for words, hinted in ((("fit",), True), (("direction",), False), (("fit", "--method", "icdh"), False)):
        assert (hint in shown(words[0], path, *words[1:])[2]) == hinted
    path.write_text("\n".join(["state,x,y", *(f"{k}{row}" for k, row in enumerate(rows))]))
    assert "persons" not in shown("fit", path)[2]  # every row has another
    path.write_text("\n".join(["size,x,y", *(row.replace("S", "<")[:2] + row[3:] for row in rows)]))
    assert "'<0' is not a number" in (said := shown("fit", path)[2])
    assert "persons" not in said  # few classes


def test_a_word_among_labels_that_means_a_gap_may_be_a_label(tmp_path, shown, refused):
    path = tmp_path / "trial.csv"
    rows = [f"{('None', 'Some', 'Marked')[k % 3]},{k % 7}" for k in range(90)]
    path.write_text("\n".join(["improved,age", *rows]))
    hint = "'None' in 'improved' is read as a gap; for a label pass --na improved="
    assert hint in refused("fit", path)
    assert f"note: {hint}" in shown("fit", path, "--missing", "drop")[2]
    code, out, err = shown("fit", path, "--na", "improved=")
    assert (code, "90 observations" in out, "gap" in err) == (0, True, False)


def test_a_spreadsheet_with_decimal_commas_needs_no_option_and_a_note_says_how_it_was_read(messy, shown):
    code, out, err = shown("fit", messy, *DROP[2:])
    assert (code, "are read with a decimal comma" in err) == (0, True)
    assert out == shown("fit", messy, *DROP)[1]


def test_chosen_columns_in_their_order(messy, shown):
    options = ["--decimal", ",", "--columns", "c", "a", "--missing", "drop"]
    code, out, err = shown("fit", messy, *options, "--method", "icdh", "--scaling", "standardize")
    assert (code, "of 2 variables" in out, "4 gaps in 4 of 120 rows" in err) == (0, True, True)


def test_directions_of_chosen_columns(messy, printed, refused):
    """Of all their pairs."""
    options = ["--decimal", ",", "--missing", "drop", "--dates", "when"]
    out = printed("direction", messy, *options, "--columns", "when", "a", "b")
    assert [line.split("  ")[0] for line in out.splitlines()[1:]] == ["when, a", "when, b", "a, b"]
    assert "a -> b" in out
    said = refused("direction", messy, *options[:2], "--columns", "a", "b")
    assert said.endswith("--columns a b --missing drop\n")


def test_a_warning_about_a_column_is_said_once(tmp_path, shown):
    path = tmp_path / "t.csv"
    write_table(path, hetero_chain(np.random.default_rng(0), 120).round(1), ["a", "b", "c"])
    code, out, err = shown("direction", path)
    assert (code, len(out.splitlines())) == (0, 4)
    assert err.count("warning: ") == 1
    assert "warning: 'b', 'c': ties are spread at random" in err


def test_a_report_of_a_messy_table(messy, printed, tmp_path):
    pytest.importorskip("jinja2")
    page, model, impute = tmp_path / "r.html", tmp_path / "m.icdh", [*MESSY, "--missing", "impute"]
    printed("fit", messy, *DROP, *SEARCH, "--report", page)
    text = page.read_text(encoding="utf-8")
    assert ("110 observations of 4 variables" in text, "rows without gaps" in text) == (True, False)
    printed("fit", messy, *impute, "--n-imputations", 2, *SEARCH, "--save", model)
    printed("report", model, messy, "--decimal", ",", "--dates", "when", "--missing", "drop", "--output", page)
    text = page.read_text(encoding="utf-8")
    assert ">probability<" not in text  # agreement of imputations is none
    assert "are of 110 rows without gaps; the graph was learned from 120 rows" in text


def test_graphs_as_other_programs_write_them(tmp_path, printed, refused):
    """Semicolons, decimal commas, another encoding; lists of edges that name different variables."""
    estimated, truth = tmp_path / "a.csv", tmp_path / "b.csv"
    estimated.write_text("cause;effect;weight\nGröße;b;0,5\nb;c;0,1\n", encoding="latin-1")
    truth.write_text("cause;effect\nGröße;b\nd;b\n", encoding="latin-1")
    assert "--encoding" in refused("evaluate", estimated, truth)
    options = ["--encoding", "latin-1", "--decimal", ",", "--sep", "semicolon", "--threshold", 0.2, "--json"]
    found = json.loads(printed("evaluate", estimated, truth, *options))
    assert (found["shd"], found["missing"]) == (1, 1)


def test_tiers_of_names_with_spaces(tmp_path, printed):
    path, quick = tmp_path / "t.csv", ["--method", "icdh", "--scaling", "standardize", "--max-rounds", 1]
    write_table(path, hetero_chain(np.random.default_rng(0), 100), ["a (mm)", "b (mm)", "c (mm)"])
    assert "-> c (mm)" not in printed("fit", path, *quick, "--tiers", "c (mm); a (mm), b (mm)")


@cases(
    ("cells", "days"),
    (["1970-01-02", "1970-01-01 12:00", "1970-01-01T02:00:00+02:00"], [1.0, 0.5, 0.0]),
    (["1970-01-02", "NA", "NaT", "nan", "?"], [1.0, *[np.nan] * 4]),
    (["01.02.1970", "31.12.1969 06:00", "2.1.70"], [31.0, -0.75, 1.0]),
    (["01/02/1970", "31/01/1970 9:30:00", "N/A"], [31.0, 30 + 9.5 / 24, np.nan]),
    (["01/02/1970", "01/31/1970", "1970-01-01"], [1.0, 30.0, 0.0]),
    (["03/03/1970", "", "04/04/1970"], [61.0, np.nan, 93.0]),  # the same in either order
    (["1.1.68", "1.1.69", ""], [35794.0, -365.0, np.nan]),
)
def test_dates_as_spreadsheets_write_them(tmp_path, cells, days):
    path = tmp_path / "dates.csv"
    path.write_text("".join(f"{row}\n" for row in ["when;k", *(f"{cell};{k}" for k, cell in enumerate(cells))]))
    np.testing.assert_allclose(read_table(path, dates=["when"], gaps=True).values[:, 0], days, rtol=1e-12)


@cases(
    ("cells", "said"),
    (["01/02/1970", "02/01/1970"], "the order of day and month in dates such as '01/02/1970' is ambiguous"),
    (["31/01/1970", "01/31/1970"], "the order of day and month in dates such as '31/01/1970' is ambiguous"),
    (["1.1.1970", "32.1.1970"], "line 3, column 'when': '32.1.1970' is no date such as 2024-03-31 or 31.03.2024"),
    (["1.1.1970", "13/13/1970"], "line 3, column 'when': '13/13/1970' is no date"),
)
def test_dates_that_can_be_misread_are_refused(tmp_path, cells, said):
    path = tmp_path / "dates.csv"
    path.write_text("".join(f"{cell};{k}\n" for k, cell in enumerate(["when", *cells])))
    with pytest.raises(ValueError, match=re.escape(said)):
        read_table(path, dates=["when"])


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    when = np.array(["1970-01-02", "1970-01-03T12", "NaT"], dtype="datetime64[ns]")
    columns = {"when": when, "a": [1, None, 3], "b": [0.5, 1.5, 2.5], "c": [True, False, True]}
    columns["text"] = ["x", "y", None]
    parquet.write_table(arrow.table(columns), path)
    table = read_table(path, drop=["text"], dates=["when"], gaps=True)
    assert table.columns == ["when", "a", "b", "c"]
    expected = [[1.0, 1.0, 0.5, 1.0], [2.5, np.nan, 1.5, 0.0], [np.nan, 3.0, 2.5, 1.0]]
    np.testing.assert_array_equal(table.values, expected)
    assert read_table(path, columns=["b"]).values.tolist() == [[0.5], [1.5], [2.5]]
    for options, said in (
        ({"drop": ["text"], "gaps": True}, r"column 'when': .* is a date, .*; pass dates=\['when'\]"),
        ({"dates": ["when"]}, "column 'text': 'x' is not a number; write the numbers"),
        ({"columns": ["q"]}, "no column 'q'"),
    ):
        with pytest.raises(ValueError, match=said):
            read_table(path, **options)
    with pytest.raises(ValueError, match="column 'text' is empty in row 3; fill"):
        read_with_labels(path, ["text"], columns=())
    parquet.write_table(arrow.table({"a": [1.0, 2.0], "how": ["x", "y"]}), path)
    assert read_with_labels(path, ["how"], columns=())[1] == [["x", "y"]]


def test_columns_of_text_are_labels_for_a_search(tmp_path, shown, printed, refused):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 3, size=150)
    x = np.array([0.0, 3.0, -2.0])[town] + 0.3 * rng.normal(size=150)
    rows = [f"{'ABC'[code]},{value:.6f}" for code, value in zip(town, x, strict=True)]
    data, model, page = tmp_path / "t.csv", tmp_path / "m.icdh", tmp_path / "p.html"
    data.write_text("\n".join(["town,x", *rows]))
    assert f"'town': '{'ABC'[town[0]]}'" in refused("fit", data, "--method", "icdh")
    code, out, err = shown("fit", data, "--method", "search", "--save", model)
    assert (code, "town" in out) == (0, True)
    assert "read as labels: 'town'; to confirm, pass --kinds town=categorical" in err
    assert "read as" not in shown("fit", data, "--method", "search", "--kinds", "town=categorical")[2]
    assert printed("predict", model, data).splitlines()[1].split(",")[0] in "ABC"
    sample = printed("sample", model, "-n", 5, "--do", "town=B").splitlines()[1:]
    assert [line.split(",")[0] for line in sample] == ["B"] * 5
    assert "changes labels by a function" in refused("sample", model, "--shift", "town=1")
    printed("effects", model)
    pytest.importorskip("jinja2")
    printed("report", model, data, "--output", page)
    assert "categorical" in page.read_text()


OF_QUICK = {"noise_distribution": "gaussian", "hidden_units": 3, "n_restarts": 1}
QUICK = ["--method", "search", "--noise-distribution", "gaussian", "--hidden-units", 3, "--n-restarts", 1]
TARGETS = "none=; set b=b; drug=?"
CONDITIONS = ["--condition-column", "cond", "--targets", TARGETS]


@pytest.fixture(scope="module")
def experiment():
    """A table and the condition of every row."""
    rng = np.random.default_rng(0)
    X = np.vstack([linear_chain(rng, 150), linear_chain(rng, 150, b_set=True), linear_chain(rng, 150, shift=3.0)])
    return X, ["none"] * 150 + ["set b"] * 150 + ["drug"] * 150


@pytest.fixture(scope="module")
def file(experiment, tmp_path_factory):
    """The table as a European spreadsheet writes it, the condition first."""
    path = tmp_path_factory.mktemp("experiment") / "data.csv"
    rows = zip(experiment[0].tolist(), experiment[1], strict=True)
    lines = [";".join([condition, *(repr(value).replace(".", ",") for value in row)]) for row, condition in rows]
    path.write_text("\n".join(["cond;a;b;c", *lines]) + "\n")
    return path


@pytest.fixture
def fit(shown):
    return lambda data, *options: shown("fit", data, "--decimal", ",", *options)


def test_the_command_learns_what_the_library_does(file, experiment, fit, tmp_path):
    interventions = Interventions(experiment[1], {"none": [], "set b": ["b"], "drug": None})
    X, estimator = LabelledTable(experiment[0], ["a", "b", "c"]), HNMSearch(**OF_QUICK)
    model = estimator.fit(X, interventions=interventions)
    saved, options = tmp_path / "m.icdh", [*QUICK, *CONDITIONS, "--bootstrap", 2]
    code, out, err = fit(file, *options, "--save", saved)
    assert code == 0
    again = icdh.load(saved)
    np.testing.assert_array_equal(again.adjacency, model.adjacency_matrix_)
    ensemble = bootstrap(model, X, 2, interventions=interventions)
    np.testing.assert_array_equal(again.edge_evidence.probability, ensemble.edge_probability)
    assert f"condition drug acts on b ({model.targets_['drug'][1]:.3g})" in out
    for name, does in (("none", "sets nothing"), ("set b", "sets b"), ("drug", "what it does is to be found")):
        assert f"condition '{name}', 150 rows: {does}" in err
    assert fit(file, *options, "--quiet") == (0, "", "")


def test_both_methods_take_them(file, fit):
    code, out, _ = fit(file, *CONDITIONS, "--method", "icdh", "--scaling", "standardize", "--bias")
    assert (code, "condition drug acts on b" in out) == (0, True)


def test_without_targets_all_are_to_be_found(file, fit, monkeypatch):
    """Also in a table from a pipe."""
    of_file = code, out, err = fit(file, *QUICK, *CONDITIONS[:2])
    assert (code, "condition 'none', 150 rows: what the others are compared with" in err) == (0, True)
    assert [line.split(" acts")[0] for line in out.splitlines()[-2:]] == ["condition set b", "condition drug"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert fit("-", *QUICK, *CONDITIONS[:2]) == of_file


@cases(
    ("options", "message"),
    (["--targets", TARGETS], "--targets goes with --condition-column"),
    (["--condition-column", "cnd"], "no column 'cnd'; it has cond, a, b, c"),
    (["--condition-column", "cond", "--targets", "none=; set b=b"], r"lacks condition 'drug'.*drug=\?"),
    (["--condition-column", "cond", "--targets", "none"], r"given as 'A=x y; B=\?; C='"),
    (["--condition-column", "cond", "--targets", "none=q; set b=b; drug=?"], "'q' is no variable"),
    (["--roots", "q"], "--roots: 'q' is no variable"),
    (["--require", "q,a"], "--require: 'q' is no variable"),
)
def test_what_does_not_fit_is_said(file, refused, options, message):
    assert re.search(message, refused("fit", file, "--decimal", ",", *options))


def test_an_interval_of_an_effect_is_refused_for_rows_of_several_conditions(file, refused):
    pair = ["--cause", "a", "--effect", "c", "--adjust", "none", "--condition-column", "cond", "--columns", "a", "c"]
    assert "an interval is about rows of one condition" in refused("effects", file, "--decimal", ",", *pair)


@cases(
    ("rows", "remedy"),
    (["a;b", *(f"{k}.475,44;{k},5" for k in range(10, 40))], "--thousands ."),
    (["a,b", *(f'"{k}.475,44",{k}' for k in range(10, 40))], "--thousands ."),
    (["a;b", *(f"{k} 475,44;{k}" for k in range(10, 40))], "--decimal ,"),
    (["a,b", *(f"{k}\u2019475,\u22120.{k}" for k in range(10, 40))], "--thousands ''\"'\"''"),
)
def test_numbers_as_they_are_printed_have_a_remedy_that_reads_them(tmp_path, shown, rows, remedy):
    (tmp_path / "printed.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    code, _, err = shown("fit", tmp_path / "printed.csv")
    assert code == 2
    assert err.rstrip().endswith(f"printed.csv {remedy}")
    mark = {"--decimal": {"decimal": ","}, "--thousands": {"thousands": "." if remedy.endswith(".") else "'"}}
    options = mark[remedy.split()[0]] | ({"thousands": " "} if "decimal" in remedy else {})
    assert 10_475 <= read_table(tmp_path / "printed.csv", **options).values[0, 0] < 10_476


def test_a_minus_of_print_is_one():
    text = "a,b\n\u22121.5,2\n3,\u22124\n"
    assert read_table(io.BytesIO(text.encode())).values.tolist() == [[-1.5, 2.0], [3.0, -4.0]]
