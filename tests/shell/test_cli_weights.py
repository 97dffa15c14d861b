"""A column of weights: it leaves the table, and says how much each row counts."""

import numpy as np
import pytest
from helpers import cases

import icdh
from icdh import HNMSearch, bootstrap
from icdh.files import LabelledTable

QUICK = ("--noise-distribution", "gaussian", "--hidden-units", 3, "--n-restarts", 1)
PARAMETERS = {"noise_distribution": "gaussian", "hidden_units": 3, "n_restarts": 1}
RNG = np.random.default_rng(0)
CAUSE = RNG.normal(size=150)
X = np.column_stack([CAUSE, CAUSE**2 + 0.5 * RNG.normal(size=150)])
WEIGHTS = np.round(RNG.uniform(0.5, 3.0, size=150), 3)
COUNTS = RNG.integers(0, 3, size=150)


def write(path, weights, mark="."):
    rows = (f"{a!r};{w};{b!r}".replace(".", mark) for (a, b), w in zip(X.tolist(), weights, strict=True))
    path.write_text("\n".join(["a;wt;b", *rows]) + "\n")
    return path


@pytest.fixture
def data(tmp_path):
    return write(tmp_path / "t.csv", WEIGHTS)


TABLE = LabelledTable(X, ["a", "b"])


def test_the_command_learns_what_the_library_does(data, tmp_path, printed):
    saved = tmp_path / "m.icdh"
    out = printed("fit", data, "--weights", "wt", "--save", saved, "--bootstrap", 2, *QUICK)
    again, fit = icdh.load(saved), HNMSearch(**PARAMETERS).fit(TABLE, sample_weight=WEIGHTS)
    assert again.names == ["a", "b"]
    np.testing.assert_array_equal(again.adjacency, fit.adjacency_matrix_)
    effective = WEIGHTS.sum() ** 2 / np.square(WEIGHTS).sum()
    assert out.count(f"rows have weights: effective sample size {effective:.0f} of 150") == 1
    ensemble = bootstrap(fit, TABLE, 2, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(again.edge_evidence.probability, ensemble.edge_probability)


@pytest.mark.filterwarnings("ignore:140 rows hold 102 different ones")  # of the repeated rows alone
def test_counts_are_repeated_rows(tmp_path, printed):
    data = write(tmp_path / "counts.csv", COUNTS, ",")
    out = printed("fit", data, "--weights", "wt", "--frequency", "--save", tmp_path / "m.icdh", *QUICK)
    rows = LabelledTable(np.repeat(X, COUNTS, axis=0), ["a", "b"])
    fit = HNMSearch(**PARAMETERS).fit(rows)
    np.testing.assert_array_equal(icdh.load(tmp_path / "m.icdh").adjacency, fit.adjacency_matrix_)
    assert f"{COUNTS.sum()} observations of 2 variables" in out
    assert "rows have weights" not in out


def test_the_column_is_read_beside_those_that_are_named_and_by_the_article_too(data, tmp_path, printed):
    written = tmp_path / "g.csv"
    printed("fit", data, "--weights", "wt", "--columns", "a", "b", "--method", "icdh", "--output", written)
    assert "wt" not in written.read_text()


def test_a_row_without_weight_is_dropped_where_gaps_are(data, printed):
    lines = data.read_text().splitlines()
    lines[5] = ";;".join(lines[5].split(";")[::2])
    data.write_text("\n".join(lines))
    assert " of 149" in printed("fit", data, "--weights", "wt", "--missing", "drop", *QUICK)


def test_a_report_says_that_weights_were_not_checked(data, tmp_path, printed):
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    printed("fit", data, "--weights", "wt", "--report", page, *QUICK)
    assert "residuals were not checked" in page.read_text(encoding="utf-8")


def test_a_check_names_no_option_that_it_does_not_have(data, tmp_path, printed, refused):
    printed("fit", data, "--weights", "wt", "--save", tmp_path / "m.icdh", *QUICK)
    said = "icdh: error: the model was fitted with --weights, and the tests of a check count every row once"
    assert refused("check", tmp_path / "m.icdh", data).startswith(said)


@cases(
    ("cells", "options", "message"),
    ({3: "-2"}, (), "column 'wt' of --weights holds the negative number -2 in row 3; correct the cell, or delete the"),
    ({3: ""}, ("--missing", "impute"), "column 'wt' of --weights is empty in row 3; correct the cell, or delete"),
    ({3: ""}, (), "gaps in 1 of 150 rows: 1 in 'wt'; this reads it: icdh fit"),
    ({3: "heavy"}, (), "column 'wt': 'heavy' is not a number"),
    ({k: "light" for k in range(1, 151)}, (), "column 'wt' of --weights holds text such as 'light'"),
    ({3: "2.5"}, ("--frequency",), "--weights holds 2.5; frequency weights are whole numbers"),
    ({}, ("--sequence",), "--weights cannot go with groups or sequence; leave one of them out"),
    ({}, ("--drop", "wt"), "--weights must name a column that --drop keeps, and --frequency goes with it"),
)
def test_what_is_no_weight_is_refused_with_its_column_and_the_remedy(cells, options, message, tmp_path, refused):
    weights = [cells.get(row, "1") for row in range(1, 151)]
    assert message in refused("fit", write(tmp_path / "t.csv", weights), "--weights", "wt", *options)


def test_a_column_that_is_not_there_is_named(data, refused):
    assert "no column 'w'; it has a, wt, b" in refused("fit", data, "--weights", "w")
    assert "--frequency goes with it" in refused("fit", data, "--frequency")
    assert "--weights is about a file" in refused("fit", "--dataset", "sachs", "--weights", "wt")


def test_an_effect_of_a_table_of_counts_is_that_of_its_rows(tmp_path, printed):
    cells = ["a;b;n", "no;no;40", "no;yes;20", "yes;no;25", "yes;yes;55"]
    (tmp_path / "counts.csv").write_text("\n".join(cells))
    (tmp_path / "rows.csv").write_text(
        "\n".join(["a;b", *(line[: line.rindex(";")] for line in cells[1:] for _ in range(int(line.split(";")[2])))])
    )
    pair = ("--cause", "a", "--effect", "b", "--contrast", "no,yes", "--json")
    for adjust in (("--adjust", "none"), ("--adjust", "graph", "--require", "a,b")):
        counted, whole = (
            printed("effects", tmp_path / file, *pair, *adjust, *options)
            for file, options in (("counts.csv", ("--weights", "n", "--frequency")), ("rows.csv", ()))
        )
        assert counted == whole
