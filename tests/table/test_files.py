import gzip
import io
import json
import re
import warnings
from contextlib import suppress

import numpy as np
import pytest
from helpers import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icdh import DataWarning, files
from icdh.files import UnreadableTableError, read_graph, read_table, read_with_labels, write_graph, write_table
from icdh.files.graphs import GRAPH_FORMATS

A = np.array([[0.0, 1 / 3, -2.5e-7], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
NAMES = ["a, b", 'say "c"', "ä"]
ABC = ["a", "b", "c"]


def written(tmp_path, text, name="file.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(content, **options):
    return read_table(io.BytesIO(content if isinstance(content, bytes) else content.encode()), **options)


@cases(
    ("text", "options", "columns", "values"),
    ("a,b\n1,2\n3,4.5\n", {}, "ab", [[1, 2], [3, 4.5]]),
    ("1,2\n3,4.5\n", {}, None, [[1, 2], [3, 4.5]]),
    ("a\tb\n1\t2\n3\t4.5\n", {}, "ab", [[1, 2], [3, 4.5]]),
    ("a;b\r\n1;2\r\n\r\n3;4.5", {}, "ab", [[1, 2], [3, 4.5]]),
    ('\ufeff"a", b \n 1 ,"2"\n3,4.5\n\n', {}, "ab", [[1, 2], [3, 4.5]]),
    ("a,b\n", {}, "ab", []),
    ("ä,b\n1,2\n".encode("utf-8-sig"), {}, "äb", [[1, 2]]),
    ("ä,b\n1,2\n".encode("utf-16"), {}, "äb", [[1, 2]]),
    ("ä,b\n1,2\n".encode("utf-32"), {}, "äb", [[1, 2]]),
    ("ä,b\n1,2\n".encode("latin-1"), {"encoding": "latin-1"}, "äb", [[1, 2]]),
    ("1,2\n3,4\n", {"header": True}, "12", [[3, 4]]),
    ("a b\n1 2\n3 4\n", {"delimiter": " "}, "ab", [[1, 2], [3, 4]]),
    ("a;b\n1,5;-,25\n2;1,5e3\n", {"decimal": ","}, "ab", [[1.5, -0.25], [2, 1500]]),
    ("1,5\n2,5\n", {"decimal": ","}, None, [[1.5], [2.5]]),
    # Columns that are not read may hold anything.
    (",city,b,a,b2\n7,Rome,1,2,\n8,,3,4,x\n", {"columns": ["a", "b"]}, "ab", [[2, 1], [4, 3]]),
    ("1,x\n2,3\n", {"header": False, "columns": ["x0"]}, ["x0"], [[1], [2]]),
    # Columns are found by number unless one is called so.
    ("a,1,c\n1,2,3\n", {"header": True, "drop": ["3"]}, "a1", [[1, 2]]),
    ("a,1,c\n1,2,3\n", {"header": True, "drop": ["1"]}, "ac", [[1, 3]]),
    ("a,1,c\n1,2,3\n", {"header": True, "columns": ["3", "a"]}, "ca", [[3, 1]]),
    # Numbers that are data are no names; quoted ones are, unless all are quoted.
    ("0,1,1\n1,0,1\n", {}, None, [[0, 1, 1], [1, 0, 1]]),
    ("1.5,2,3\n1,2,3\n", {}, None, [[1.5, 2, 3], [1, 2, 3]]),
    ("3,1\n1,2\n5,6\n7,8\n", {}, None, [[3, 1], [1, 2], [5, 6], [7, 8]]),
    ('"9",0\n1,2\n', {}, "90", [[1, 2]]),
    ('"1","2"\n"3","4"\n', {}, None, [[1, 2], [3, 4]]),
    ('"",a\n1,2\n', {}, ["", "a"], [[1, 2]]),
    ("year,inf,nan\n1,2,3\n4,5,6\n", {}, ["year", "inf", "nan"], [[1, 2, 3], [4, 5, 6]]),  # inflation
    # Lines and cells that programs add are no columns.
    ("sep=;\na;b\n1;2\n3;4\n", {}, "ab", [[1, 2], [3, 4]]),
    ("a,b,\n1,2,\n3,4,\n", {}, "ab", [[1, 2], [3, 4]]),
    ("a,b\n1,2,\n3,4,\n", {}, "ab", [[1, 2], [3, 4]]),
    ("a,b,\n1,2\n3,4,\n", {}, "ab", [[1, 2], [3, 4]]),
    ("a,b,,\n1,2,,\n3,4,,\n", {}, "ab", [[1, 2], [3, 4]]),
    # R writes no name for the row labels.
    ("a b\n1 2 3\n2 4 5\n", {"delimiter": " "}, "ab", [[2, 3], [4, 5]]),
    ('a b\n"1" 2 3\n"2" 4 5\n', {"delimiter": " "}, "ab", [[2, 3], [4, 5]]),
    # Truth values are numbers unless they are labels; labels may hold digits and separators.
    ("a,b\nTRUE,1\nfalse,2\n", {}, "ab", [[1, 1], [0, 2]]),
    ("a,b\nTRUE,1\nfalse,2\n", {"categorical": ()}, "ab", [["TRUE", 1], ["false", 2]]),
    ("x\tg\n.5\tQ1 2020\n1.5\tQ2 2020\n", {"categorical": ()}, "xg", [[0.5, "Q1 2020"], [1.5, "Q2 2020"]]),
    ("x\tg\n.5\tAction|Drama\n1.5\tB\n", {"categorical": ()}, "xg", [[0.5, "Action|Drama"], [1.5, "B"]]),
    ("x\tg\n.5\ta; b\n1.5\tc, d\n", {"categorical": ()}, "xg", [[0.5, "a; b"], [1.5, "c, d"]]),
    ("a,b,c\na,1,x\na,b,c\n", {"columns": ["a", "c"], "categorical": ["a", "c"]}, "ac", [["a", "x"], ["a", "c"]]),
)
def test_tables_in_their_many_forms(text, options, columns, values):
    table = read(text, **options)
    assert (table.columns, table.values.tolist()) == (columns and list(columns), values)


@cases(
    ("text", "mark"),
    ("a;b\n0,5;2\n1;1,25\n", ","),
    ("1,5;2,5\n3,5;4,5\n", ","),
    ("a\tb\n-,5\t1\n1234,567\t2\n", ","),
    ("a;b\n1,5e-3;1\n2;3\n", ","),
    ("day;a\n31.03.2024;0,123\n", ","),  # points in a date are none of a number
    ("a;b\n1,234;2\n12,500;3\n", "."),  # thousands, or decimals: nobody knows
    ("a;b\n0,5;2.5\n", "."),
    ("a,b\n1,5\n2,5\n", "."),
    ("a;b\n1.5;2\n", "."),
    ("a;b\n1;2\n", "."),
)
def test_a_decimal_comma_is_seen_where_nothing_else_can_be_meant_and_said(text, mark, caplog):
    caplog.set_level("INFO", "icdh.files")
    drop = ["day"] if "day" in text else []
    try:
        found = read(text, drop=drop).values
    except ValueError:
        assert mark == "."
    else:
        np.testing.assert_array_equal(found, read(text, decimal=mark, drop=drop).values)
    assert ("are read with a decimal comma" in caplog.text) == (mark == ",")


def test_gzip_and_open_files(tmp_path):
    path = written(tmp_path, gzip.compress(b"a,b\n1,2\n"), "file.csv.gz")
    assert read_table(path).columns == ["a", "b"]
    with open(path, "rb") as file:
        assert read_table(file).values.tolist() == [[1, 2]]
    assert read_graph(io.BytesIO(b"cause,effect\na,b\n"))[1] == ["a", "b"]
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


@cases("text", "2019,2020,2021\n5,3,7\n1,8,2\n", "4,7\n0.1,1\n0.2,2\n0.3,3\n", "10,20,30\n1.5,2.5,3.5\n")
def test_a_first_line_that_may_hold_names_is_warned_about(text):
    with pytest.warns(DataWarning, match=r"the first line \(.*\) is read as numbers; pass header=True") as caught:
        read_table(io.BytesIO(text.encode()))
    assert caught[0].filename == __file__
    for header in (True, False):
        read(text, header=header)


def test_a_table_stands_where_a_data_frame_does():
    table = read("a,b\n1,2\n3,4\n")
    np.testing.assert_array_equal(np.asarray(table), [[1, 2], [3, 4]])
    assert np.asarray(table, dtype=np.float32).dtype == np.float32


@cases(
    ("text", "message"),
    ("", "is empty"),
    ("\n\n", "is empty"),
    ("a,b\n1,2\n3\n", "line 3: 1 cells where the first line has 2"),
    ("a,b\n1,2\n\n3,dog\n", "line 4, column 'b': 'dog' is not a number"),
    ("1,2\n3,\n", "gaps in 1 of 2 rows: 1 in 'x1'; pass gaps=True"),
    ("a,\n0,1\n", r"line 1: column 2 has no name; name it or leave it out; pass drop=\['2'\]"),
    (",a,\n0,1,2\n", "line 1: column 3 has no name"),
    ("a,a\n0,1\n", "line 1: two columns are called 'a'"),
    (b"\x89PNG\r\n\x1a\n\x00\xff", "is not text in UTF-8"),
    ('a,b\n1,"2\n' + "3,4\n" * 200_000, "line 2: the quote before '2' is not closed"),  # and that at once
    ('a,b\n"1"2,3\n', "line 2: the quote before"),
    ("a,b\n1,2\n,\n3,4\n", "gaps in 1 of 3 rows: 1 in 'a', 1 in 'b'; pass gaps=True"),
    ("a,b\n1,\n,2\n?,NA\n", "gaps in 3 of 3 rows: 2 in 'a', 2 in 'b'; pass gaps=True"),
    (
        "male,37.0,no\nfemale,27.0,no\nmale,32.0,yes\n",
        r"line 1: 37.0, male, no may be .* \(header=True if .* names\).*; pass header=False",
    ),
    (
        "country,2019,2020\na,1,2\nb,2,3\n",
        r"line 1: 2019, 2020 may be .* \(header=False if .* values\).*; pass header=True",
    ),
    ("no,red\nyes,red\nno,blue\n", "line 1: no, red may be values, not names"),
    ("1,NA,3\n4,5,6\n", r"gaps in 1 of 2 rows: 1 in 'x1'; or pass header=True if"),
    (",2,3\n4,5,6\n", "gaps in 1 of 2 rows: 1 in 'x0'; or pass header=True"),
    ("a,b\n1,1_000\n", "'1_000' is not a number; thousands are separated"),
    ("a,b\n1,１\n", "'１' is not a number"),
    ("a;b\n1;2,500\n", "'2,500' is not a number; thousands .* unless ',' is its decimal mark; pass thousands=','"),
    ("1,5;2.5\n3,5;4,5\n", "column 1: '1,5' is not a number; its decimal mark is a comma.*; pass decimal=','"),
    ('a,b\n1,"1,234.5"\n', "'1,234.5' is not a number; thousands"),
    ("a;b\n1;1 234\n", "'1 234' is not a number; thousands"),
    ("a;b\n5.113;-0,105\n", "'-0,105' is not a number; its decimal mark is a comma"),
    ("a b\n1 2\n3 4\n", "'1 2' may be several cells; pass delimiter=' '"),
    ('a;b\n"1,234,567 kg";2\n', "'1,234,567 kg' is not a number; write the number"),
    ("a,b\n1,2020-01-31\n", r"'2020-01-31' is a date, .*; pass dates=\['b'\]"),
    ("a,b\n1,31.12.2020 10:00\n", r"is a date, to be counted in days or left out; pass dates=\['b'\]"),
    ("a,b\n1,Berlin\n", r"'Berlin' is not a number; write the numbers, or leave the column out; pass drop=\['b'\]"),
    ("a,b\n1,12%\n", "'12%' is not a number; write the number without its unit, or leave the column out"),
    ("a,b\n1,2,3\n", "line 2: 3 cells where the first line has 2; name the column of row labels"),
    ("a,b\nJosé,1\n".encode("latin-1"), r"byte 0xe9 in line 2; pass encoding='latin-1'"),
    ("a,b\n1,2\n".encode("utf-16-le"), r"NUL characters; pass encoding='utf-16'"),
    (b"PK\x03\x04rest", "not text but an Excel workbook"),
    (b"PAR1rest", "not text but a Parquet file"),
    (b"\x1f\x8b\x08broken", "is a damaged gzip file"),
    ids=lambda value: repr(value[:30]),
)
def test_unreadable_tables_are_refused_with_the_line(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=message) as error:
        read_table(path)
    assert str(path) in str(error.value)


@cases(
    ("text", "options", "message"),
    ("a;b\n1.5;2\n", {"decimal": ","}, "'1.5' is not a number; its decimal mark is a point; pass decimal='.'"),
    ("a;b\n1;2\n", {"decimal": ",", "delimiter": ","}, "cannot be both delimiter and decimal mark"),
    ("a;b\n1;2\n", {"decimal": "dot"}, "decimal must be"),
    ("a;b\n1;2\n", {"decimal": ",", "thousands": ","}, "',' cannot separate thousands and be the decimal mark"),
    ("a;b\n1;2\n", {"delimiter": "too long"}, "delimiter must be one character; got 'too long'"),
    ("a;b\n1;2\n", {"encoding": "klingon"}, "encoding must be one that Python knows"),
    (",city,b,a\n7,Rome,1,2\n", {"columns": ["c"]}, "has no column 'c'; it has city, b, a"),
    ("a,a\n1,2\n", {"columns": ["a"]}, "has several columns called 'a'"),
    ("a,b\n1,2\n", {"drop": ["0"]}, "no column '0'"),
    ("a,b\n1,2\n", {"drop": ["3"]}, "no column '3'"),
    ("a,b\n1,2\n", {"missing_values": {"d": [1]}}, "has no column 'd'"),
)
def test_options_that_do_not_fit_are_refused(text, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read(text, **options)


def test_what_is_written_of_a_graph(tmp_path):
    edges = [["b", "c", "1"], ["a", "b", repr(1 / 3)], ["a", "c", "-2.5e-07"]]  # the strongest first
    write_graph(path := tmp_path / "graph.tsv", A, ABC)
    assert [line.split("\t") for line in path.read_text().splitlines()] == [["cause", "effect", "weight"], *edges]
    write_graph(path := tmp_path / "graph.json", A, ABC)
    content = json.loads(path.read_text())
    assert content["names"] == ABC
    assert content["edges"][0] == {"cause": "b", "effect": "c", "weight": 1.0}
    write_graph(path := tmp_path / "graph.DOT", A, ABC)
    assert '"b" -> "c"' in path.read_text()


@pytest.mark.parametrize("suffix", GRAPH_FORMATS)
def test_no_name_ends_its_own_quotes(suffix):
    assert "a \"b'" not in files.graph_writer(f"graph{suffix}")(A, ["a \"b'", "b", "c"])


@pytest.mark.parametrize("suffix", [suffix for suffix in GRAPH_FORMATS if suffix != ".csv"])
def test_a_cause_stands_before_its_effect(suffix):
    """By its name or its place, in the lines that an edge adds."""
    edge, none = (files.graph_writer(f"g{suffix}")(np.array([[0.0, w], [0.0, 0.0]]), ["a", "b"]) for w in (3.0, 0.0))
    added = "".join(line for line in edge.splitlines(keepends=True) if line not in none.splitlines(keepends=True))
    found = re.findall(r"\b[a-z]?[ab01]\b(?![.:])", added)
    assert [end[-1] in ends for end, ends in zip(found, ("a0", "b1"), strict=False)] == [True, True]


@cases(
    "text",
    "cause,effect\na,b\nb,c\n",
    "Source;Target\na;b\nb;c\n",
    "a,b\nb,c\n",
    "cause,effect,weight\na,b,1\nb,c,1.0\n",
    "effect,cause,weight\nb,a,1\nc,b,1.0\n",
    "Target\tSource\nb\ta\nc\tb\n",
    ",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n",
    "a,b,c\n0,1,0\n0,0,1\n0,0,0\n",
)
def test_graphs_in_their_many_forms(text):
    for asked, ends in ((None, [[0, 1], [1, 2]]), (["c", "a", "b"], [[1, 2], [2, 0]])):
        found, names = read_graph(io.BytesIO(text.encode()), asked)
        assert (np.argwhere(found == 1.0).tolist(), np.count_nonzero(found), names) == (ends, 2, asked or ABC)


@cases(
    ("text", "asked", "names", "edges"),
    ("0,2\n0,0\n", None, ["x0", "x1"], [[0, 1]]),  # a matrix without names
    ("0,2\n0,0\n", ["b", "a"], ["b", "a"], [[0, 1]]),
    ("cause,effect\nb,a\n", ABC, ABC, [[1, 0]]),  # variables without edges
    ("cause,effect\n", ["a", "b"], ["a", "b"], []),
)
def test_what_a_graph_does_not_say_the_names_of_the_caller_do(text, asked, names, edges):
    found, known = read_graph(io.BytesIO(text.encode()), asked)
    assert (np.argwhere(found).tolist(), known, len(found)) == (edges, names, len(names))


@cases(
    ("name", "text", "message"),
    ("g.csv", "", "is empty"),
    ("g.csv", "cause,effect\na,b\na,dog\n", "line 3: 'dog' is not one of the variables a, b, c"),
    ("g.csv", "cause,effect\na\n", "line 2: an edge needs cause,effect"),
    ("g.csv", "cause,effect,weight\na,b,heavy\n", "line 2: the weight 'heavy' is not a finite number"),
    ("g.csv", "cause,effect\na,b\na,b\n", "line 3: the edge a -> b is a self-loop or given twice"),
    ("g.csv", "cause,effect\na,a\n", "line 2: the edge a -> a is a self-loop"),
    ("g.csv", "0,1\n0,0\n1,1\n", "line 1: 2 cells where a square matrix of 3 rows needs 3"),
    ("g.csv", "0,1,0\n0,0,nan\n1,1,0\n", "line 2: the weight 'nan'"),
    ("g.csv", '{"names": ["a", "a"], "edges": []}', "two columns are called 'a'"),
    ("g.csv", "0,1\n0,0\n", "2 variables that are not a, b, c"),
    ("g.csv", "a,b,d\n0,1,0\n0,0,0\n1,1,0\n", "3 variables that are not a, b, c"),
    ("g.csv", ",a,b\na,0,1\nc,0,0\n", "line 3: the row is labelled 'c', the column 'b'"),
    ("g.json", "[]", "is not a graph in JSON"),
    ("g.json", "{", "is not a graph in JSON"),
    ("g.json", '{"names": ["a"]}', "is not a graph in JSON"),
    ("g.json", '{"names": ["a"], "edges": [{"cause": "a"}]}', "is not a graph in JSON"),
    ("g.gv", "digraph {}", "graphs are not read from Graphviz; write the graph as .csv"),
    ("g.graphml", "<graphml/>", "graphs are not read from GraphML; write the graph as .csv"),
)
def test_what_is_no_graph_is_refused_with_the_line(tmp_path, name, text, message):
    path = written(tmp_path, text, name)
    with pytest.raises(ValueError, match=re.escape(message)):
        read_graph(path, ABC)


@cases(
    ("name", "what", "message"),
    ("table.csv", (np.zeros((2, 2)), ["a", "a"]), "two columns are called 'a'; rename one"),
    ("graph.csv", (np.zeros((2, 2)), ["a", "a"]), "two columns are called 'a'; rename one"),
    ("table.csv", (np.zeros((1, 1)), ["a\0"]), "holds characters that no text file can; rename it"),
    ("table.csv", (np.zeros((1, 1)), ["a\ud800"]), "holds characters that no text file can; rename it"),
    ("nowhere/table.tsv", (A, NAMES), "there is no folder"),
    ("graph.xlsx", (A, NAMES), r"\.csv matrix, \.tsv edge list, \.json names and edges"),
)
def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path, name, what, message):
    write = getattr(files, "write_" + name.split("/")[-1].partition(".")[0])
    with pytest.raises(FileNotFoundError if "nowhere" in name else ValueError, match=message):
        write(tmp_path / name, *what)
    assert not list(tmp_path.iterdir())


NAME = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    st.text("ab1.,;|'\"= \t\r\n-@+_N\ufeff", max_size=6),
    st.sampled_from(["", " a", "1", "NA", "=cmd()", "'=x", "cause", "effect", "1e5", "nan", "2,5"]),
)
FILES = settings(max_examples=150, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@FILES
@given(names=st.lists(NAME, min_size=1, max_size=4, unique=True), rows=st.integers(0, 3))
def test_any_names_of_a_table_read_back(tmp_path, suffix, names, rows):
    path = tmp_path / f"table.{suffix}"
    values = np.arange(rows * len(names), dtype=float).reshape(rows, len(names))
    write_table(path, values, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(path)
    assert table.columns == names
    np.testing.assert_array_equal(table.values, values)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json"])
@FILES
@given(names=st.lists(NAME, min_size=1, max_size=4, unique=True), seed=st.integers(0, 99))
def test_any_names_of_a_graph_read_back(tmp_path, suffix, names, seed):
    path = tmp_path / f"graph.{suffix}"
    size = len(names)
    graph = np.triu(np.random.default_rng(seed).normal(size=(size, size)), 1)
    write_graph(path, graph, names)
    found, known = read_graph(path, names if suffix == "tsv" else None)
    assert known == names
    np.testing.assert_array_equal(found, graph)


@settings(FILES, max_examples=500)
@given(st.one_of(st.binary(max_size=60), st.text("ab1.,;|'\"= \t\r\n-NA_{}[]:", max_size=60).map(str.encode)))
def test_whatever_a_file_holds_the_answer_is_a_table_a_graph_or_a_reason(content):
    for read in (read_table, read_graph):
        with warnings.catch_warnings(), suppress(ValueError):
            warnings.simplefilter("ignore", DataWarning)
            read(io.BytesIO(content))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_reads_back_exactly(tmp_path, suffix):
    path, values = tmp_path / f"table.{suffix}", np.random.default_rng(0).normal(size=(20, 3)) * [1e-300, 1, 1e300]
    write_table(path, values, ["=cmd()", *NAMES[:2]])
    assert path.read_text().startswith("'=cmd()")  # disarmed for spreadsheets
    np.testing.assert_array_equal(read_table(path).values, values)
    labels = np.array([["yes", "red"], ["no", "blue"]])
    write_table(path, labels, ["no", "red"])  # names that are labels, too
    table = read_table(path, categorical=["no", "red"])
    assert (table.columns, table.values.tolist()) == (["no", "red"], labels.tolist())


def refused(text, **options):
    """Return the options that a refusal names, and prove that they read the text."""
    with pytest.raises(UnreadableTableError) as error:
        read(text, **options)
    needed = error.value.options
    lists = {name: [*options.get(name, ()), *new] for name, new in needed.items() if isinstance(new, list)}
    return needed, read(text, **{**options, **needed, **lists})


ROWS = "".join(f"{k}.25,{k}.5\n" for k in range(5))


@cases(
    ("text", "option"),
    ("A study of 1999\nby Jane\na,b\n" + ROWS, {"skip_rows": 2}),
    ("# a study\na,b\n" + ROWS + "# the end\n", {"comment": "#"}),
    ("a,b\nmm,kg\n" + ROWS, {"units_row": True}),
    ("a,b\n,kg\n" + ROWS, {"units_row": True}),
    ("a,b\n" + ROWS + "*,3\n", {"missing_values": ["*"], "gaps": True}),
    ("a,b\n" + ROWS * 2 + "..,#DIV/0!\n", {"missing_values": ["..", "#DIV/0!"], "gaps": True}),
    ("a;b\n1.019;1.478\n980;1.488\n", {"thousands": "."}),
    ('a,b\n"20,629",1\n"1,000",2\n', {"thousands": ","}),
    ("a;b\n1 234;1\n20;2\n", {"thousands": " "}),
    ("a b\n1 2\n3 4\n", {"delimiter": " "}),
    ("a,a,\n1,2,3\n", {"drop": ["2", "3"]}),
    ("when,x\n" + "".join(f"{month}/1/85,{month}\n" for month in range(1, 10)), {"drop": ["when"]}),  # or its day?
    ("id,x\n" + "".join(f"{2**60 + k},{k}\n" for k in range(10)), {"drop": ["id"]}),  # double precision merges them
)
def test_files_as_published_are_read_after_one_refusal(text, option):
    needed, table = refused(text)
    assert needed == option
    assert np.isfinite(table.values[:2]).all()


def test_all_refusals_of_a_file_come_at_once():
    rows = "".join(f"r{k},2024-01-{k + 1:02d},{k % 3}.5,{'' if k else '2'},{k % 3}+\n" for k in range(20))
    text = "id,when,x,y,age\n" + rows
    needed, table = refused(text, categorical=())
    assert needed == {"drop": ["id"], "dates": ["when"], "categorical": ["age"], "gaps": True}
    assert table.columns == ["when", "x", "y", "age"]
    needed, table = refused(text, drop=["y"])  # numbers only
    assert needed == {"drop": ["id", "age"], "dates": ["when"]}
    assert table.columns == ["when", "x"]
    gaps = "when,x\n,1\n" + "".join(f"2024-01-0{k},{k}\n" for k in range(1, 9))  # those of a refused column count, too
    assert refused(gaps)[0] == {"dates": ["when"], "gaps": True}


@pytest.mark.parametrize("labels", [["1st", "2nd"], ["36+", "0-35"], ["5mg", "10mg"], ["yes", "7"]])
def test_labels_that_may_be_numbers_are_read_where_they_are_declared(labels):
    text = "x,group\n" + "".join(f"{k}.5,{labels[k % 2]}\n" for k in range(20))
    needed, table = refused(text, categorical=())
    assert needed == {"categorical": ["group"]}
    assert table.values[:2, 1].tolist() == labels


ONE = {"b": [-9, "*"], "c": []}


@cases(
    ("codes", "cells"),
    ([-999, "*"], [[None, -9.0, None], [1.0, None, None], [2.0, None, "u"]]),
    (ONE, [[-999.0, None, "NA"], [1.0, None, "None"], [2.0, -999.0, "u"]]),
    ({None: -999, **ONE}, [[None, None, "NA"], [1.0, None, "None"], [2.0, None, "u"]]),
)
def test_codes_of_missing_values_are_declared_for_all_columns_or_for_one(codes, cells):
    text = "a,b,c\n-999,-9,NA\n1,*,None\n2,-999.0,u\n"
    table = read(text, gaps=True, categorical=["c"], missing_values=codes)
    assert np.where(table.gaps, None, table.values).tolist() == cells


@cases(
    ("content", "column", "labels"),
    (b'a,how\n1,"x, y"\n\n2,NA\n', "how", ["x, y", "NA"]),
    (b"1,2\n3,4\n", "x1", ["2", "4"]),
    (b"who,x\n" + b"".join(b"p%d,1\n" % k for k in range(300)), "who", [f"p{k}" for k in range(300)]),
)
def test_labels_of_rows_may_be_any_and_as_many_as_there_are_rows(content, column, labels):
    assert read_with_labels(io.BytesIO(content), [column], columns=())[1] == [labels]


def test_labels_of_rows_are_read_beside_the_variables(caplog):
    content = b"who,dose,when,answer\nNA,1,day 1,2\nbo,3,day 2,4\nal,5,day 3,\n"
    table, (who, when) = read_with_labels(io.BytesIO(content), ["who", "3"], gaps=True)
    assert (who, when) == (["NA", "bo", "al"], ["day 1", "day 2", "day 3"])
    assert table.columns == ["dose", "answer"]
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [5, np.nan]])
    with pytest.raises(ValueError, match="column 'answer' is empty in row 3; fill the cell or delete the row"):
        read_with_labels(io.BytesIO(content), ["answer"], drop=["who", "when"])
    nameless = b"who,dose\nal,1\n,2\nbo,3\n,4\n"
    with pytest.raises(ValueError, match="column 'who' is empty in 2 rows, first in row 2"):
        read_with_labels(io.BytesIO(nameless), ["who"])
    with caplog.at_level("INFO", "icdh.files"):
        table, (who,) = read_with_labels(io.BytesIO(nameless), ["who"], gaps=True)
    assert caplog.messages == ["2 rows that name no who are left out"]
    assert (who, table.values.tolist()) == (["al", "bo"], [[1], [3]])
