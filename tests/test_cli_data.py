import json

import numpy as np
import pytest

from icdh import graphs, metrics
from icdh.files import read_graph, read_table


@pytest.fixture(autouse=True)
def truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth.csv").write_text("a,b,c\n0,1,0\n0,0,1\n0,0,0\n")


def test_simulate_writes_a_table_and_its_graph(printed):
    options = ["--variables", 6, "--edges-per-variable", 1.5, "--observations", 200, "--noise", "exp-bounded"]
    options += ["--standardize", "--seed", 3]
    output = printed("simulate", "x.csv", "graph.tsv", *options)
    for part in ("200 observations of 6 variables, 9 edges", "varsortability 0.500", "by a factor of up to 10\n"):
        assert part in output
    table = read_table("x.csv")
    assert table.columns == ["x0", "x1", "x2", "x3", "x4", "x5"]
    np.testing.assert_allclose(table.values.std(axis=0), 1)
    graph, _ = read_graph("graph.tsv", table.columns)
    assert (np.count_nonzero(graph), graphs.is_dag(graph)) == (9, True)
    assert printed("simulate", "again.csv", "graph.tsv", *options, "--quiet") == ""
    np.testing.assert_array_equal(read_table("again.csv").values, table.values)


def test_simulate_from_a_graph_of_the_user(printed):
    model = ["--mechanism", "linear", "--noise", "homo-nv", "--distribution", "laplace"]
    printed("simulate", "x.tsv", "graph.json", "--adjacency", "truth.csv", *model)
    assert read_table("x.tsv").columns == ["a", "b", "c"]
    np.testing.assert_array_equal(read_graph("graph.json")[0], read_graph("truth.csv")[0])


def written(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return name


def test_evaluate_prints_every_metric(printed):
    estimated = written("estimated.tsv", "cause\teffect\tweight\na\tb\t0.9\nc\tb\t0.4\n")  # c -> b is reversed
    found = json.loads(printed("evaluate", estimated, "truth.csv", "--json"))
    assert found == metrics.evaluate(read_graph(estimated, ["a", "b", "c"])[0], read_graph("truth.csv")[0])
    assert (found["shd"], found["reversed"], found["precision"]) == (1, 1, 0.5)
    lines = printed("evaluate", estimated, "truth.csv", "--threshold", 0.5).splitlines()
    lines = dict(line.split(maxsplit=1) for line in lines)
    assert (lines["shd"], lines["missing"], lines["precision"]) == ("1", "1", "1.0000")
    assert lines.keys() == found.keys()


@pytest.mark.parametrize(
    ("text", "shd"),
    [("cause,effect\nb,c\n", 1), ("0,1,0\n0,0,1\n0,0,0\n", 0)],
    ids=["a list of edges", "a matrix without names"],
)
def test_evaluate_knows_which_file_names_all_variables(printed, text, shd):
    for files in ((written("other.csv", text), "truth.csv"), ("truth.csv", "other.csv")):
        assert json.loads(printed("evaluate", *files, "--json"))["shd"] == shd


def test_evaluate_of_a_cyclic_estimate(printed):
    cyclic = written("cyclic.csv", "0,1,0\n1,0,1\n0,0,0\n")
    assert "sid                 not available" in printed("evaluate", cyclic, "truth.csv")
