import json
import os

import numpy as np
import pytest

from icdh.files import read_graph, read_table, replace_on_success, write_graph, write_table

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
        ("1,2\n3,\n", "line 2, column 2: an empty cell is not a number"),
        (",a\n0,1\n", "line 1: column 1 has no name"),
        ("a,a\n0,1\n", "line 1: two columns are called 'a'"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "is not text in UTF-8"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
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


def test_an_unknown_extension_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"\.csv, \.tsv, \.json, \.dot, \.gv"):
        write_graph(tmp_path / "graph.xlsx", A, NAMES)
    assert not os.listdir(tmp_path)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = written(tmp_path, "old")

    def fail():
        with replace_on_success(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        fail()
    assert os.listdir(tmp_path) == ["file.csv"]
    assert path.read_text() == "old"


def test_success_replaces_the_file(tmp_path):
    path = written(tmp_path, "old")
    with replace_on_success(path) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.csv"]
    assert path.read_text() == "new"


def test_paths_that_cannot_be_written_are_os_errors(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OSError, match="it is a folder"):
        write_graph(tmp_path / "folder.csv", A, NAMES)
    with pytest.raises(OSError, match="there is no folder"):
        write_graph(tmp_path / "absent" / "graph.csv", A, NAMES)
    written(tmp_path, "", "plain")
    with pytest.raises(OSError, match="there is no folder"):
        write_graph(tmp_path / "plain" / "graph.csv", A, NAMES)
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "plain"]


def test_a_folder_without_permission_is_an_os_error(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="no permission"):
        write_graph(tmp_path / "graph.csv", A, NAMES)


@pytest.mark.parametrize("name", ["table.csv", "table.tsv"])
def test_a_table_reads_back_exactly(tmp_path, name):
    values = np.random.default_rng(0).normal(size=(20, 3)) * [1e-300, 1, 1e300]
    write_table(tmp_path / name, values, NAMES)
    table = read_table(tmp_path / name)
    assert table.columns == NAMES
    np.testing.assert_array_equal(table.values, values)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_table(tmp_path / "nowhere" / name, values, NAMES)
