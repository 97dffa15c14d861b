import json

import numpy as np
import pytest

from icdh import graphs, metrics
from icdh.files import read_graph, read_table


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "truth.csv"
    path.write_text("a,b,c\n0,1,0\n0,0,1\n0,0,0\n")
    return path


def test_simulate_writes_a_table_and_its_graph(tmp_path, printed):
    data, truth = tmp_path / "x.csv", tmp_path / "graph.tsv"
    options = ["--variables", 6, "--edges-per-variable", 1.5, "--observations", 200, "--noise", "exp-bounded"]
    output = printed("simulate", data, truth, *options, "--standardize", "--seed", 3)
    assert "200 observations of 6 variables, 9 edges" in output
    assert "varsortability 0.500" in output
    assert "by a factor of up to 10\n" in output
    table = read_table(data)
    assert table.columns == ["x0", "x1", "x2", "x3", "x4", "x5"]
    np.testing.assert_allclose(table.values.std(axis=0), 1)
    graph, _ = read_graph(truth, table.columns)
    assert (graph != 0).sum() == 9
    assert graphs.is_dag(graph)
    again = tmp_path / "again.csv"
    assert printed("simulate", again, truth, *options, "--standardize", "--seed", 3, "--quiet") == ""
    assert again.read_bytes() == data.read_bytes()


def test_simulate_from_a_graph_of_the_user(tmp_path, chain, printed):
    model = ["--mechanism", "linear", "--noise", "homo-nv", "--distribution", "laplace"]
    printed("simulate", tmp_path / "x.tsv", tmp_path / "graph.json", "--adjacency", chain, *model)
    assert read_table(tmp_path / "x.tsv").columns == ["a", "b", "c"]
    np.testing.assert_array_equal(read_graph(tmp_path / "graph.json")[0], read_graph(chain)[0])


def test_evaluate_prints_every_metric(tmp_path, chain, printed):
    estimated = tmp_path / "estimated.tsv"
    estimated.write_text("cause\teffect\tweight\na\tb\t0.9\nc\tb\t0.4\n")  # c -> b is reversed
    found = json.loads(printed("evaluate", estimated, chain, "--json"))
    weights, names = read_graph(estimated, ["a", "b", "c"])
    assert names == ["a", "b", "c"]
    assert found == metrics.evaluate(weights, read_graph(chain)[0])
    assert (found["shd"], found["reversed"], found["precision"]) == (1, 1, 0.5)
    lines = dict(
        line.split(maxsplit=1) for line in printed("evaluate", estimated, chain, "--threshold", 0.5).splitlines()
    )
    assert (lines["shd"], lines["missing"], lines["precision"]) == ("1", "1", "1.0000")
    assert lines.keys() == found.keys()


def test_evaluate_knows_which_file_names_all_variables(tmp_path, chain, printed):
    edges = tmp_path / "edges.csv"
    edges.write_text("cause,effect\nb,c\n")
    unnamed = tmp_path / "unnamed.csv"
    unnamed.write_text("0,1,0\n0,0,1\n0,0,0\n")
    for estimated, truth, shd in [(edges, chain, 1), (chain, edges, 1), (unnamed, chain, 0), (chain, unnamed, 0)]:
        assert json.loads(printed("evaluate", estimated, truth, "--json"))["shd"] == shd


def test_evaluate_of_a_cyclic_estimate(tmp_path, chain, printed):
    cyclic = tmp_path / "cyclic.csv"
    cyclic.write_text("0,1,0\n1,0,1\n0,0,0\n")
    assert "sid                 not available" in printed("evaluate", cyclic, chain)
