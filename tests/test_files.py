import gzip
import io
import json
import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from icdh import DataWarning
from icdh.files import (
    UnreadableTableError,
    read_graph,
    read_mixed_graph,
    read_table,
    read_with_labels,
    write_graph,
    write_table,
)

A = np.array([[0.0, 1 / 3, -2.5e-7], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
NAMES = ["a, b", 'say "c"', "ä"]


def written(tmp_path, text, name="file.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a,b\n1,2\n3,4.5\n", ["a", "b"]),
        ("1,2\n3,4.5\n", None),
        ("a\tb\n1\t2\n3\t4.5\n", ["a", "b"]),
        ("a;b\r\n1;2\r\n\r\n3;4.5", ["a", "b"]),
        ('\ufeff"a", b \n 1 ,"2"\n3,4.5\n\n', ["a", "b"]),
    ],
)
def test_tables_in_their_many_forms(tmp_path, text, columns):
    table = read_table(written(tmp_path, text))
    np.testing.assert_array_equal(table.values, [[1.0, 2.0], [3.0, 4.5]])
    assert table.columns == columns


def test_header_and_delimiter_can_be_told(tmp_path):
    path = written(tmp_path, "1,2\n3,4\n")
    assert read_table(path, header=True).columns == ["1", "2"]
    assert read_table(path, header=True).values.shape == (1, 2)
    path = written(tmp_path, "a b\n1 2\n3 4\n")
    np.testing.assert_array_equal(read_table(path, delimiter=" ").values, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "mark"),
    [
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
    ],
)
def test_a_decimal_comma_is_seen_where_nothing_else_can_be_meant_and_said(tmp_path, text, mark, caplog):
    caplog.set_level("INFO", "icdh.files")
    path = written(tmp_path, text)
    try:
        found = read_table(path, drop=["day"] if "day" in text else [])
    except ValueError:
        assert mark == "."
    else:
        np.testing.assert_array_equal(
            found.values, read_table(path, decimal=mark, drop=["day"] if "day" in text else []).values
        )
    assert ("are read with a decimal comma" in caplog.text) == (mark == ",")


def test_the_decimal_mark_can_be_told(tmp_path):
    path = written(tmp_path, "a;b\n1,5;-,25\n2;1,5e3\n")
    np.testing.assert_array_equal(read_table(path, decimal=",").values, [[1.5, -0.25], [2, 1500]])
    np.testing.assert_array_equal(read_table(written(tmp_path, "1,5\n2,5\n"), decimal=",").values, [[1.5], [2.5]])
    with pytest.raises(ValueError, match=r"'1.5' is not a number; its decimal mark is a point; say decimal='.'"):
        read_table(written(tmp_path, "a;b\n1.5;2\n"), decimal=",")
    with pytest.raises(ValueError, match="cannot be both delimiter and decimal mark"):
        read_table(path, decimal=",", delimiter=",")
    with pytest.raises(ValueError, match="decimal must be"):
        read_table(path, decimal="dot")
    with pytest.raises(ValueError, match="delimiter must be one character; got 'too long'"):
        read_table(path, delimiter="too long")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    assert read_table(written(tmp_path, "ä,b\n1,2\n".encode(encoding))).columns == ["ä", "b"]


def test_the_encoding_can_be_told(tmp_path):
    path = written(tmp_path, "ä,b\n1,2\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1").columns == ["ä", "b"]
    with pytest.raises(ValueError, match="encoding must be one that Python knows"):
        read_table(path, encoding="klingon")


def test_gzip_and_open_files(tmp_path):
    path = written(tmp_path, gzip.compress(b"a,b\n1,2\n"), "file.csv.gz")
    assert read_table(path).columns == ["a", "b"]
    assert read_table(io.BytesIO(b"a,b\n1,2\n")).columns == ["a", "b"]
    with open(path, "rb") as file:
        assert read_graph(io.BytesIO(b"cause,effect\na,b\n"))[1] == ["a", "b"]
        assert read_table(file).values.tolist() == [[1, 2]]


def test_columns_that_are_not_read_may_hold_anything(tmp_path):
    path = written(tmp_path, ",city,b,a,b2\n7,Rome,1,2,\n8,,3,4,x\n")
    table = read_table(path, columns=["a", "b"])
    assert table.columns == ["a", "b"]
    np.testing.assert_array_equal(table.values, [[2, 1], [4, 3]])
    with pytest.raises(ValueError, match="has no column 'c'; it has city, b, a"):
        read_table(path, columns=["c"])
    with pytest.raises(ValueError, match="has several columns called 'a'"):
        read_table(written(tmp_path, "a,a\n1,2\n"), columns=["a"])
    assert read_table(written(tmp_path, "1,x\n2,3\n"), header=False, columns=["x0"]).values.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    "text",
    ["2019,2020,2021\n5,3,7\n1,8,2\n", "4,7\n0.1,1\n0.2,2\n0.3,3\n", "10,20,30,40\n1.5,2.5,3.5,4.5\n"],
)
def test_a_first_line_that_may_hold_names_is_warned_about(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.warns(DataWarning, match=r"the first line \(.*\) is read as numbers; say header=True") as caught:
        read_table(path)
    assert caught[0].filename == __file__
    for header in (True, False):
        read_table(path, header=header)


@pytest.mark.parametrize("text", ["1,2\n3,4.5\n", "0,1,1\n1,0,1\n", "1.5,2,3\n1,2,3\n", "3,1\n1,2\n5,6\n7,8\n"])
def test_numbers_that_are_data_are_no_names(tmp_path, text):
    assert read_table(written(tmp_path, text)).columns is None


def test_names_that_a_few_columns_hold_as_labels_are_names(tmp_path):
    path = written(tmp_path, "a,b,c\na,1,x\nb,2,y\na,b,c\n")
    assert read_table(path, columns=["a", "c"], categorical=["a", "c"]).columns == ["a", "c"]


def test_quoted_numbers_are_names_unless_all_are_quoted(tmp_path):
    assert read_table(written(tmp_path, '"2019",2020\n1,2\n')).columns == ["2019", "2020"]
    assert read_table(written(tmp_path, '"1","2"\n"3","4"\n')).values.tolist() == [[1, 2], [3, 4]]


def test_a_table_stands_where_a_data_frame_does(tmp_path):
    table = read_table(written(tmp_path, "a,b\n1,2\n3,4\n"))
    np.testing.assert_array_equal(np.asarray(table), [[1, 2], [3, 4]])
    assert np.asarray(table, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n1,2\n3\n", "line 3: 1 cells where the first line has 2"),
        ("a,b\n1,2,3\n", "line 2: 3 cells where the first line has 2"),
        ("a,b\n1,2\n\n3,dog\n", "line 4, column 'b': 'dog' is not a number"),
        ("1,2\n3,\n", "gaps in 1 of 2 rows: 1 in 'x1'; say gaps=True"),
        ("a,\n0,1\n", r"line 1: column 2 has no name; name it or leave it out; say drop=\['2'\]"),
        (",a,\n0,1,2\n", "line 1: column 3 has no name"),
        ("a,a\n0,1\n", "line 1: two columns are called 'a'"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "is not text in UTF-8"),
        ('a,b\n1,"2\n', "line 2: the quote before '2' is not closed"),
        ('a,b\n"1"2,3\n', "line 2: the quote before"),
        ("a,b\n1,2\n,\n3,4\n", "gaps in 1 of 3 rows: 1 in 'a', 1 in 'b'; say gaps=True"),
        (
            "male,37.0,no\nfemale,27.0,no\nmale,32.0,yes\n",
            r"line 1: 37.0, male, no may be .* \(header=True if .* names\).*; say header=False",
        ),
        (
            "country,2019,2020\na,1,2\nb,2,3\n",
            r"line 1: 2019, 2020 may be .* \(header=False if .* values\).*; say header=True",
        ),
        ("no,red\nyes,red\nno,blue\n", "line 1: no, red may be values, not names"),
        ("1,NA,3\n4,5,6\n", r"gaps in 1 of 2 rows: 1 in 'x1'; or say header=True if"),
        (",2,3\n4,5,6\n", "gaps in 1 of 2 rows: 1 in 'x0'; or say header=True"),
        ("a,b\n1,1_000\n", "'1_000' is not a number; thousands are separated"),
        ("a,b\n1,１\n", "'１' is not a number"),
        ("a;b\n1;2,500\n", "'2,500' is not a number; thousands .* unless ',' is its decimal mark; say thousands=','"),
        ("1,5;2.5\n3,5;4,5\n", "column 1: '1,5' is not a number; its decimal mark is a comma.*; say decimal=','"),
        ('a,b\n1,"1,234.5"\n', "'1,234.5' is not a number; thousands"),
        ("a;b\n1;1 234\n", "'1 234' is not a number; thousands"),
        ("a b\n1 2\n3 4\n", "'1 2' may be several cells; say delimiter=' '"),
        ('a;b\n"1,234,567 kg";2\n', "'1,234,567 kg' is not a number; write the number"),
        ("a,b\n1,2020-01-31\n", r"'2020-01-31' is a date, .*; say dates=\['b'\]"),
        ("a,b\n1,31.12.2020 10:00\n", r"is a date, to be counted in days or left out; say dates=\['b'\]"),
        ("a,b\n1,Berlin\n", r"'Berlin' is not a number; write the numbers, or leave the column out; say drop=\['b'\]"),
        ("a,b\n1,12%\n", "'12%' is not a number; write the number without its unit, or leave the column out"),
        ("a,b\n1,2,3\n", "3 cells where the first line has 2; name the column of row labels"),
        ("a,b\nJosé,1\n".encode("latin-1"), r"byte 0xe9 in line 2; say encoding='latin-1'"),
        ("a,b\n1,2\n".encode("utf-16-le"), r"NUL characters; say encoding='utf-16'"),
        (b"PK\x03\x04rest", "not text but an Excel workbook"),
        (b"PAR1rest", "not text but a Parquet file"),
        (b"\x1f\x8b\x08broken", "is a damaged gzip file"),
    ],
)
def test_unreadable_tables_are_refused_with_the_line(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=message) as error:
        read_table(path)
    assert str(path) in str(error.value)


def test_header_alone_is_a_table_without_rows(tmp_path):
    assert read_table(written(tmp_path, "a,b\n")).values.shape == (0, 2)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json"])
def test_graphs_survive_writing_and_reading_to_the_last_bit(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    write_graph(path, A, NAMES)
    found, names = read_graph(path, NAMES)
    np.testing.assert_array_equal(found, A)
    assert names == NAMES


def test_edge_lists_are_strongest_first(tmp_path):
    path = tmp_path / "graph.tsv"
    write_graph(path, A, ["a", "b", "c"])
    assert path.read_text().splitlines() == [
        "cause\teffect\tweight",
        "b\tc\t1.0",
        f"a\tb\t{1 / 3!r}",
        "a\tc\t-2.5e-07",
    ]


def test_json_and_dot(tmp_path):
    write_graph(tmp_path / "graph.json", A, ["a", "b", "c"])
    content = json.loads((tmp_path / "graph.json").read_text())
    assert content["names"] == ["a", "b", "c"]
    assert content["edges"][0] == {"cause": "b", "effect": "c", "weight": 1.0}
    write_graph(tmp_path / "graph.DOT", A, ["a", "b", "c"])
    assert '"b" -> "c"' in (tmp_path / "graph.DOT").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "cause,effect\na,b\nb,c\n",
        "Source;Target\na;b\nb;c\n",
        "a,b\nb,c\n",
        "cause,effect,weight\na,b,1\nb,c,1.0\n",
        ",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n",
        "a,b,c\n0,1,0\n0,0,1\n0,0,0\n",
    ],
)
def test_graphs_in_their_many_forms(tmp_path, text):
    path = written(tmp_path, text)
    found, names = read_graph(path)
    np.testing.assert_array_equal(found, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert names == ["a", "b", "c"]
    found, names = read_graph(path, ["c", "a", "b"])
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 0, 1], [1, 0, 0]])
    assert names == ["c", "a", "b"]


def test_a_matrix_without_names_takes_those_of_the_caller(tmp_path):
    path = written(tmp_path, "0,2\n0,0\n")
    assert read_graph(path)[1] == ["x0", "x1"]
    found, names = read_graph(path, ["b", "a"])
    np.testing.assert_array_equal(found, [[0, 2], [0, 0]])
    assert names == ["b", "a"]


def test_an_edge_list_with_names_may_miss_variables(tmp_path):
    found, _ = read_graph(written(tmp_path, "cause,effect\nb,a\n"), ["a", "b", "c"])
    assert np.argwhere(found).tolist() == [[1, 0]]
    found, _ = read_graph(written(tmp_path, "cause,effect\n"), ["a", "b"])
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("cause,effect\na,b\na,dog\n", "line 3: 'dog' is not one of the variables a, b, c"),
        ("cause,effect\na\n", "line 2: an edge needs cause,effect"),
        ("cause,effect,weight\na,b,heavy\n", "line 2: the weight 'heavy' is not a finite number"),
        ("cause,effect\na,b\na,b\n", "line 3: the edge a -> b is a self-loop or given twice"),
        ("cause,effect\na,a\n", "line 2: the edge a -> a is a self-loop"),
        ("0,1\n0,0\n1,1\n", "line 1: 2 cells where a square matrix of 3 rows needs 3"),
        ("0,1,0\n0,0,nan\n1,1,0\n", "line 2: the weight 'nan'"),
        ('{"names": ["a", "a"], "edges": []}', "two columns are called 'a'"),
        ("0,1\n0,0\n", "2 variables that are not a, b, c"),
        ("a,b,d\n0,1,0\n0,0,0\n1,1,0\n", "3 variables that are not a, b, c"),
        (",a,b\na,0,1\nc,0,0\n", "line 3: the row is labelled 'c' where the columns say 'b'"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_graph(written(tmp_path, text), ["a", "b", "c"])


@pytest.mark.parametrize("text", ["[]", "{", '{"names": ["a"]}', '{"names": ["a"], "edges": [{"cause": "a"}]}'])
def test_what_is_no_graph_in_json_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match="is not a graph in JSON"):
        read_graph(written(tmp_path, text, "graph.json"))


PAIRS = np.array([[0.0, 0.0, 3.5], [0.0, 0.0, 1 / 3], [3.5, 1 / 3, 0.0]])


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_hidden_causes_in_common_survive_writing_and_reading_to_the_last_bit(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    write_graph(path, A, NAMES, PAIRS)
    graph = read_mixed_graph(path, NAMES)
    np.testing.assert_array_equal(graph.weights, A)
    np.testing.assert_array_equal(graph.bidirected, PAIRS)
    assert graph.names == NAMES
    order = read_mixed_graph(path).names
    assert sorted(order) == sorted(NAMES)
    at = [NAMES.index(name) for name in order]
    np.testing.assert_array_equal(read_mixed_graph(path).bidirected, PAIRS[np.ix_(at, at)])
    with pytest.raises(ValueError, match=r"line 5: .* <-> .*hidden cause in common.*read_mixed_graph"):
        read_graph(path, NAMES)


def test_an_edge_list_marks_pairs_and_without_them_is_what_it_was(tmp_path):
    path = tmp_path / "graph.csv"
    write_graph(path, A, ["a", "b", "c"], PAIRS)
    assert path.read_text().splitlines()[0] == "cause,effect,weight,mark"
    assert path.read_text().splitlines()[4:] == ["a,c,3.5,<->", f"b,c,{1 / 3!r},<->"]
    write_graph(path, A, ["a", "b", "c"], np.zeros((3, 3)))
    graph = read_mixed_graph(path)
    np.testing.assert_array_equal(graph.weights, A)
    assert not graph.bidirected.any()
    arrows = written(tmp_path, "cause,effect,weight,mark\na,b,2,\n")
    np.testing.assert_array_equal(read_graph(arrows)[0], [[0, 2], [0, 0]])


@pytest.mark.parametrize("suffix", [".json", ".dot", ".gv", ".graphml", ".gml"])
def test_a_format_without_a_place_for_hidden_causes_in_common_names_those_that_have_one(tmp_path, suffix):
    with pytest.raises(ValueError, match=r"hidden causes in common \(<->\) are written as \.csv or \.tsv"):
        write_graph(tmp_path / f"graph{suffix}", A, NAMES, PAIRS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [np.triu(PAIRS), PAIRS + np.eye(3), PAIRS[1:, 1:]])
def test_pairs_that_are_no_pairs_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match="bidirected must be"):
        write_graph(tmp_path / "graph.csv", A, NAMES, wrong)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,1,<-\n", "line 2: an edge needs cause,effect,weight,mark, the mark <-> or none"),
        ("a,b,1\n", "line 2: an edge needs"),
        ("a,b,,<->\n", "line 2: the weight ''"),
        ("a,b,1,<->\nb,a,1,<->\n", "given twice"),
        ("a,dog,1,<->\n", "line 2: 'dog' is not one of the variables"),
    ],
)
def test_marked_edges_that_say_nothing_are_refused_with_the_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_mixed_graph(written(tmp_path, "cause,effect,weight,mark\n" + text), ["a", "b"])


def test_dot_is_not_read(tmp_path):
    with pytest.raises(ValueError, match=r"graphs are not read from DOT; write the graph as \.csv"):
        read_graph(written(tmp_path, "digraph {}", "graph.gv"))


def test_an_unknown_extension_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv, \.tsv, \.json, \.dot, \.gv"):
        write_graph(tmp_path / "graph.xlsx", A, NAMES)
    assert not list(tmp_path.iterdir())


NAME = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6),
    st.text("ab1.,;|'\"= \t\r\n-@+_N\ufeff", max_size=6),
    st.sampled_from(["", " a", "1", "NA", "=cmd()", "'=x", "cause", "effect", "1e5", "nan", "2,5"]),
)
FILES = settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


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


def test_names_that_are_labels_read_back(tmp_path):
    path, names = tmp_path / "table.csv", ["no", "red"]
    write_table(path, np.array([["yes", "red"], ["no", "blue"]]), names)
    table = read_table(path, categorical=names)
    assert table.columns == names
    assert len(table.values) == 2


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


@pytest.mark.parametrize("write", [write_table, write_graph])
def test_equal_names_are_refused_before_anything_is_written(tmp_path, write):
    with pytest.raises(ValueError, match="two columns are called 'a'; rename one"):
        write(tmp_path / "file.csv", np.zeros((2, 2)), ["a", "a"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a\0", "a\ud800"])
def test_names_that_no_text_can_hold_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="holds characters that no text file can; rename it"):
        write_table(tmp_path / "file.csv", np.zeros((1, 1)), [name])


def test_formulas_are_disarmed_for_spreadsheets(tmp_path):
    path = tmp_path / "table.csv"
    write_table(path, np.zeros((1, 2)), ["=cmd()", "a"])
    assert path.read_text().splitlines()[0] == "'=cmd(),a"
    assert read_table(path).columns == ["=cmd()", "a"]


def test_long_files_with_a_stray_quote_are_refused_at_once(tmp_path):
    path = written(tmp_path, 'a,b\n1,"2\n' + "3,4\n" * 200_000)
    with pytest.raises(ValueError, match="line 2: the quote before '2' is not closed"):
        read_table(path)


@pytest.mark.parametrize("name", ["table.csv", "table.tsv"])
def test_a_table_reads_back_exactly(tmp_path, name):
    values = np.random.default_rng(0).normal(size=(20, 3)) * [1e-300, 1, 1e300]
    write_table(tmp_path / name, values, NAMES)
    table = read_table(tmp_path / name)
    assert table.columns == NAMES
    np.testing.assert_array_equal(table.values, values)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_table(tmp_path / "nowhere" / name, values, NAMES)


def refused(text, **options):
    """Return the options that a refusal names, and prove that they read the text."""
    with pytest.raises(UnreadableTableError) as error:
        read_table(io.BytesIO(text.encode()), **options)
    needed = error.value.options
    lists = {name: [*options.get(name, ()), *new] for name, new in needed.items() if isinstance(new, list)}
    return needed, read_table(io.BytesIO(text.encode()), **{**options, **needed, **lists})


ROWS = "".join(f"{k}.25,{k}.5\n" for k in range(5))


@pytest.mark.parametrize(
    ("text", "option"),
    [
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
    ],
)
def test_files_as_published_are_read_after_one_refusal(text, option):
    needed, table = refused(text)
    assert needed == option
    assert np.isfinite(table.values[:2]).all()


@pytest.mark.parametrize(
    "text",
    ["sep=;\na;b\n1;2\n3;4\n", "a,b,\n1,2,\n3,4,\n", "a,b\n1,2,\n3,4,\n", "a,b,\n1,2\n3,4\n", "a,b,,\n1,2,,\n3,4,,\n"],
)
def test_lines_that_programs_add_are_no_columns(text):
    table = read_table(io.BytesIO(text.encode()))
    assert (table.columns, table.values.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


@pytest.mark.parametrize("quote", ["", '"'])
def test_names_that_r_wrote_without_one_for_the_row_labels(quote):
    text = f"a b\n{quote}1{quote} 2 3\n{quote}2{quote} 4 5\n"
    table = read_table(io.BytesIO(text.encode()), delimiter=" ")
    assert (table.columns, table.values.tolist()) == (["a", "b"], [[2, 3], [4, 5]])


def test_dates_whose_month_is_unclear_are_left_out():
    text = "when,x\n" + "".join(f"{month}/1/85,{month}\n" for month in range(1, 10))
    needed, table = refused(text)
    assert (needed, table.columns) == ({"drop": ["when"]}, ["x"])


def test_gaps_of_refused_columns_are_counted():
    text = "when,x\n,1\n" + "".join(f"2024-01-0{k},{k}\n" for k in range(1, 9))
    assert refused(text)[0] == {"dates": ["when"], "gaps": True}


def test_all_refusals_of_a_file_come_at_once():
    rows = "".join(f"r{k},2024-01-{k + 1:02d},{k % 3}.5,{'' if k else '2'},{k % 3}+\n" for k in range(20))
    text = "id,when,x,y,age\n" + rows
    needed, table = refused(text, categorical=())
    assert needed == {"drop": ["id"], "dates": ["when"], "categorical": ["age"], "gaps": True}
    assert table.columns == ["when", "x", "y", "age"]
    needed, table = refused(text, drop=["y"])  # numbers only
    assert needed == {"drop": ["id", "age"], "dates": ["when"]}
    assert table.columns == ["when", "x"]


@pytest.mark.parametrize("labels", [["Q1 2020", "Q2 2020"], ["Action|Drama", "Comedy"], ["a; b", "c, d"]])
def test_labels_may_hold_digits_and_separators(labels):
    text = "x\tgenre\n" + "".join(f"{k}.5\t{labels[k % 2]}\n" for k in range(20))
    assert read_table(io.BytesIO(text.encode()), categorical=()).values[:2, 1].tolist() == labels


@pytest.mark.parametrize("labels", [["1st", "2nd"], ["36+", "0-35"], ["5mg", "10mg"], ["yes", "7"]])
def test_labels_that_may_be_numbers_are_read_where_they_are_declared(labels):
    text = "x,group\n" + "".join(f"{k}.5,{labels[k % 2]}\n" for k in range(20))
    needed, table = refused(text, categorical=())
    assert needed == {"categorical": ["group"]}
    assert table.values[:2, 1].tolist() == labels


def test_codes_of_missing_values_are_declared_for_all_columns_or_for_one():
    text = "a,b,c\n-999,-9,NA\n1,*,None\n2,-999.0,u\n"

    def read(codes):
        table = read_table(io.BytesIO(text.encode()), gaps=True, categorical=["c"], missing_values=codes)
        return [
            [None if gap else cell for cell, gap in zip(*row, strict=True)]
            for row in zip(table.values, table.gaps, strict=True)
        ]

    assert read([-999, "*"]) == [[None, -9.0, None], [1.0, None, None], [2.0, None, "u"]]
    one = {"b": [-9, "*"], "c": []}
    assert read(one) == [[-999.0, None, "NA"], [1.0, None, "None"], [2.0, -999.0, "u"]]
    assert read({None: -999, **one}) == [[None, None, "NA"], [1.0, None, "None"], [2.0, None, "u"]]
    with pytest.raises(ValueError, match="has no column 'd'"):
        read({"d": [1]})


def test_identifiers_that_double_precision_merges_are_refused_in_files():
    text = "id,x\n" + "".join(f"{2**60 + k},{k}\n" for k in range(10))
    assert refused(text)[0] == {"drop": ["id"]}


def test_truth_values_are_numbers_unless_they_are_labels():
    text = b"a,b\nTRUE,1\nfalse,2\n"
    assert read_table(io.BytesIO(text)).values[:, 0].tolist() == [1.0, 0.0]
    assert read_table(io.BytesIO(text), categorical=()).values[:, 0].tolist() == ["TRUE", "false"]


def test_labels_of_rows_may_be_as_many_as_there_are_rows():
    people = [f"p{k}" for k in range(300)]
    text = "\n".join(["person,x", *(f"{person},{k}" for k, person in enumerate(people))])
    assert read_with_labels(io.BytesIO(text.encode()), ["person"], columns=())[1] == [people]


def test_labels_of_rows_are_read_beside_the_variables(caplog):
    content = b"who,dose,when,answer\nNA,1,day 1,2\nbo,3,day 2,4\nal,5,day 3,\n"
    table, (who, when) = read_with_labels(io.BytesIO(content), ["who", "3"], gaps=True)
    assert (who, when) == (["NA", "bo", "al"], ["day 1", "day 2", "day 3"])
    assert table.columns == ["dose", "answer"]
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4], [5, np.nan]])
    with pytest.raises(ValueError, match="column 'answer' says nothing in row 3"):
        read_with_labels(io.BytesIO(content), ["answer"], drop=["who", "when"])
    nameless = b"who,dose\nal,1\n,2\nbo,3\n,4\n"
    with pytest.raises(ValueError, match="column 'who' says nothing in 2 rows, first in row 2"):
        read_with_labels(io.BytesIO(nameless), ["who"])
    with caplog.at_level("INFO", "icdh.files"):
        table, (who,) = read_with_labels(io.BytesIO(nameless), ["who"], gaps=True)
    assert caplog.messages == ["2 rows that name no who are left out"]
    assert who == ["al", "bo"]
    np.testing.assert_array_equal(table.values, [[1], [3]])
