"""Tables as they come: columns that are no variables, gaps, dates, a decimal comma, Parquet."""

import gzip
import io
import re
import sys

import numpy as np
import pytest
from helpers import hetero_chain

from icdh.files import read_table, write_table


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


@pytest.mark.parametrize("method", ["icdh", "search"])
@pytest.mark.parametrize(
    ("missing", "line"),
    [
        ("drop", "rows with gaps are left out"),
        ("impute", "gaps are imputed, and strengths count them as if they were seen"),
    ],
)
def test_fit_of_a_messy_table(messy, shown, method, missing, line):
    options = ["--method", method, "--missing", missing, "--hidden-units", 3]
    if missing == "impute":
        options += ["--n-imputations", 2]
    code, out, err = shown("fit", messy, *MESSY, *options)
    assert code == 0
    assert f"{110 if missing == 'drop' else 120} observations of 4 variables" in out
    assert "note: left out: remark, id" in err
    assert "note: dates as days since 1970: when" in err
    assert f"note: {line}: 10 gaps in 10 of 120 rows" in err


REMEDY = "--drop id remark --dates when --missing drop (or --missing impute)\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "icdh", "--decimal", ","], REMEDY),
        (["--decimal", ",", "--drop", "id", "remark"], REMEDY),
        (MESSY, "messy.csv: gaps in 10 of 120 rows: 6 in 'b', 4 in 'c'; this reads it: icdh fit"),
        ([*MESSY, "--drop", "remarks"], "no column 'remarks'"),
        (["--decimal", ",", "--columns", "a", "id", "--dates", "id"], "no date such as"),
    ],
)
def test_what_is_said_without_the_options(messy, shown, options, said):
    code, _, err = shown("fit", messy, *options)
    assert (code, said in err) == (2, True)


def test_a_refused_column_of_text_that_repeats_may_be_one_of_groups(tmp_path, shown):
    rng = np.random.default_rng(0)
    rows = [f"S{k % 44:02d},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(rng.normal(size=(440, 2)))]
    path = tmp_path / "states.csv"
    path.write_text("\n".join(["state,x,y", *rows]))
    hint = "; if 'state' names persons or places of several rows each, say --group-column; this reads it: icdh"
    said = {
        words: shown(words[0], path, *words[1:])[2] for words in [("fit",), ("direction",), ("fit", "--method", "icdh")]
    }
    assert [hint in err for err in said.values()] == [True, False, False]
    path.write_text("\n".join(["state,x,y", *(f"{k}{row}" for k, row in enumerate(rows))]))
    assert "persons" not in shown("fit", path)[2]  # every row has another


def test_a_word_among_labels_that_means_a_gap_may_be_a_label(tmp_path, shown):
    path = tmp_path / "trial.csv"
    rows = [f"{('None', 'Some', 'Marked')[k % 3]},{k % 7}" for k in range(90)]
    path.write_text("\n".join(["improved,age", *rows]))
    hint = "'None' in 'improved' is read as a gap, if it is a label say --na improved="
    code, _, err = shown("fit", path)
    assert (code, hint in err) == (2, True)
    assert f"note: {hint}" in shown("fit", path, "--missing", "drop")[2]
    code, out, err = shown("fit", path, "--na", "improved=")
    assert (code, "90 observations" in out, "gap" in err) == (0, True, False)


def test_a_spreadsheet_with_decimal_commas_needs_no_option_and_a_note_says_how_it_was_read(messy, shown):
    rest = [option for option in MESSY if option not in ("--decimal", ",")]
    code, out, err = shown("fit", messy, *rest, "--missing", "drop")
    assert code == 0
    assert "are read with a decimal comma" in err
    assert out == shown("fit", messy, *MESSY, "--missing", "drop")[1]


def test_chosen_columns_in_their_order(messy, shown):
    options = ["--decimal", ",", "--columns", "c", "a", "--missing", "drop"]
    code, out, err = shown("fit", messy, *options, "--method", "icdh", "--scaling", "standardize")
    assert code == 0
    assert "of 2 variables" in out
    assert "4 gaps in 4 of 120 rows" in err


def test_directions_of_chosen_columns(messy, shown):
    """Of all their pairs."""
    options = ["--decimal", ",", "--missing", "drop", "--dates", "when"]
    code, out, _ = shown("direction", messy, *options, "--columns", "when", "a", "b")
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()[1:]] == ["when, a", "when, b", "a, b"]
    assert "a -> b" in out
    code, _, err = shown("direction", messy, *options[:2], "--columns", "a", "b")
    assert code == 2
    assert err.endswith("--columns a b --missing drop\n")


def test_a_warning_about_a_column_is_said_once(tmp_path, shown):
    path = tmp_path / "t.csv"
    write_table(path, hetero_chain(np.random.default_rng(0), 120).round(1), ["a", "b", "c"])
    code, out, err = shown("direction", path)
    assert (code, len(out.splitlines())) == (0, 4)
    assert [err.count(f"warning: '{name}' has") for name in "bc"] == [1, 1]


def test_a_report_of_a_messy_table(messy, shown, tmp_path):
    pytest.importorskip("jinja2")
    page, model = tmp_path / "r.html", tmp_path / "m.icdh"
    search = ["--method", "search", "--noise-distribution", "gaussian", "--hidden-units", 3]
    assert shown("report", messy, *MESSY, "--missing", "drop", *search, "--output", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert ("110 observations of 4 variables" in text, "rows without gaps" in text) == (True, False)
    code, _, _ = shown("fit", messy, *MESSY, "--missing", "impute", "--n-imputations", 2, *search, "--save", model)
    assert code == 0
    assert shown("report", messy, *MESSY, "--missing", "impute", "--model", model, "--output", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert ">probability<" not in text  # agreement of imputations is none
    assert "are of 110 rows without gaps; the graph was learned from 120 rows" in text


def test_graphs_as_other_programs_write_them(tmp_path, shown):
    """Semicolons, decimal commas, another encoding; lists of edges that name different variables."""
    estimated, truth = tmp_path / "a.csv", tmp_path / "b.csv"
    estimated.write_text("cause;effect;weight\nGröße;b;0,5\nb;c;0,1\n", encoding="latin-1")
    truth.write_text("cause;effect\nGröße;b\nd;b\n", encoding="latin-1")
    code, _, err = shown("evaluate", estimated, truth)
    assert (code, "--encoding" in err) == (2, True)
    options = ["--encoding", "latin-1", "--decimal", ",", "--sep", "semicolon", "--threshold", 0.2, "--json"]
    code, out, _ = shown("evaluate", estimated, truth, *options)
    assert code == 0
    assert '"shd": 1,' in out
    assert '"missing": 1,' in out


def test_tiers_of_names_with_spaces(tmp_path, shown):
    X, path = hetero_chain(np.random.default_rng(0), 100), tmp_path / "t.csv"
    write_table(path, X, ["a (mm)", "b (mm)", "c (mm)"])
    options = ["--method", "icdh", "--scaling", "standardize", "--max-rounds", 1]
    code, out, _ = shown("fit", path, *options, "--tiers", "c (mm); a (mm), b (mm)")
    assert code == 0
    assert "-> c (mm)" not in out


def test_packed_and_piped(messy, tmp_path, shown, monkeypatch):
    packed = tmp_path / "messy.csv.gz"
    packed.write_bytes(gzip.compress(messy.read_bytes()))
    expected = shown("fit", messy, *MESSY, "--missing", "drop")
    assert shown("fit", packed, *MESSY, "--missing", "drop") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(messy.read_bytes())))
    assert shown("fit", "-", *MESSY, "--missing", "drop") == expected


def test_quiet_says_nothing(messy, shown):
    options = ["--missing", "drop", "--method", "icdh", "--scaling", "standardize", "--quiet"]
    assert shown("fit", messy, *MESSY, *options) == (0, "", "")


def test_dates(tmp_path):
    path = tmp_path / "dates.csv"
    path.write_text("when,x\n1970-01-02,1\n1970-01-01 12:00,2\n1970-01-01T02:00:00+02:00,3\nNA,4\nNaT,5\nnan,6\n")
    table = read_table(path, dates=["when"], gaps=True)
    np.testing.assert_array_equal(table.values[:, 0], [1.0, 0.5, 0.0, *[np.nan] * 3])


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["01.02.1970", "31.12.1969 06:00", "2.1.70"], [31.0, -0.75, 1.0]),
        (["01/02/1970", "31/01/1970 9:30:00", "N/A"], [31.0, 30 + 9.5 / 24, np.nan]),
        (["01/02/1970", "01/31/1970", "1970-01-01"], [1.0, 30.0, 0.0]),
        (["03/03/1970", "", "04/04/1970"], [61.0, np.nan, 93.0]),  # the same in either order
        (["1.1.68", "1.1.69", ""], [35794.0, -365.0, np.nan]),
    ],
)
def test_dates_as_spreadsheets_write_them(tmp_path, cells, days):
    path = tmp_path / "dates.csv"
    path.write_text("".join(f"{row}\n" for row in ["when;k", *(f"{cell};{k}" for k, cell in enumerate(cells))]))
    np.testing.assert_allclose(read_table(path, dates=["when"], gaps=True).values[:, 0], days, rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["01/02/1970", "02/01/1970"], "column 'when': dates such as '01/02/1970' do not say whether day or month"),
        (["31/01/1970", "01/31/1970"], "column 'when': dates such as '31/01/1970' do not say whether day or month"),
        (["1.1.1970", "32.1.1970"], "line 3, column 'when': '32.1.1970' is no date such as 2024-03-31 or 31.03.2024"),
        (["1.1.1970", "13/13/1970"], "line 3, column 'when': '13/13/1970' is no date"),
    ],
)
def test_dates_that_can_be_misread_are_refused(tmp_path, cells, said):
    path = tmp_path / "dates.csv"
    path.write_text("".join(f"{cell};{k}\n" for k, cell in enumerate(["when", *cells])))
    with pytest.raises(ValueError, match=re.escape(said)):
        read_table(path, dates=["when"])


def test_gaps_are_read_only_when_asked(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b\n1,\n,2\n?,NA\n")
    np.testing.assert_array_equal(read_table(path, gaps=True).values, [[1, np.nan], [np.nan, 2], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="gaps in 3 of 3 rows: 2 in 'a', 2 in 'b'; say gaps=True"):
        read_table(path)


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    when = np.array(["1970-01-02", "1970-01-03T12", "NaT"], dtype="datetime64[ns]")
    columns = {"when": when, "a": [1, None, 3], "b": [0.5, 1.5, 2.5], "c": [True, False, True], "text": ["x", "y", "z"]}
    parquet.write_table(arrow.table(columns), path)
    table = read_table(path, drop=["text"], dates=["when"], gaps=True)
    assert table.columns == ["when", "a", "b", "c"]
    np.testing.assert_array_equal(
        table.values, [[1.0, 1.0, 0.5, 1.0], [2.5, np.nan, 1.5, 0.0], [np.nan, 3.0, 2.5, 1.0]]
    )
    assert read_table(path, columns=["b"]).values.tolist() == [[0.5], [1.5], [2.5]]
    with pytest.raises(ValueError, match=r"column 'when': .* is a date, .*; say dates=\['when'\]"):
        read_table(path, drop=["text"], gaps=True)
    with pytest.raises(ValueError, match="column 'text': 'x' is not a number; write the numbers"):
        read_table(path, dates=["when"])
    with pytest.raises(ValueError, match="no column 'q'"):
        read_table(path, columns=["q"])


def test_columns_of_text_are_labels_for_a_search(tmp_path, shown):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 3, size=150)
    x = np.array([0.0, 3.0, -2.0])[town] + 0.3 * rng.normal(size=150)
    rows = [f"{'ABC'[code]},{value:.6f}" for code, value in zip(town, x, strict=True)]
    data, model, page = tmp_path / "t.csv", tmp_path / "m.icdh", tmp_path / "p.html"
    data.write_text("\n".join(["town,x", *rows]))
    code, _, err = shown("fit", data, "--method", "icdh")
    assert code == 2
    assert "'town': 'ABC'".replace("ABC", "ABC"[town[0]]) in err
    code, out, err = shown("fit", data, "--method", "search", "--save", model)
    assert code == 0
    assert "read as labels: 'town'; to confirm, say --kinds town=categorical" in err
    assert "town" in out
    _, _, err = shown("fit", data, "--method", "search", "--kinds", "town=categorical")
    assert "read as" not in err
    _, out, _ = shown("predict", model, data)
    assert out.splitlines()[1].split(",")[0] in "ABC"
    _, out, _ = shown("sample", model, "-n", 5, "--do", "town=B")
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["B"] * 5
    code, _, err = shown("sample", model, "--shift", "town=1")
    assert (code, "changes labels by a function" in err) == (2, True)
    code, out, _ = shown("effects", model)
    assert code == 0
    pytest.importorskip("jinja2")
    assert shown("report", data, "--model", model, "--output", page)[0] == 0
    assert "categorical" in page.read_text()
    assert shown("report", data, "--method", "search", "--output", page)[0] == 0
