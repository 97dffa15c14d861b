"""A fit at a glance, as summary, picture and notebook, and in the hands of other libraries."""

import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import unescape

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from helpers import cases, hetero_chain
from support.families import CONSTANT
from support.model import ModelColumns

from icdh import ICDH, HNMSearch, graphs, load
from icdh.exceptions import MissingExtraError
from icdh.files import read_graph, write_graph
from icdh.uncertainty import GraphEnsemble


def test_the_summary_says_who_learned_what(fitted):
    head, columns, *edges = fitted.summary().splitlines()
    assert head == f"ICDH: 400 observations of 3 variables, {len(edges)} edges"
    assert columns.split() == ["cause", "->", "effect", "weight"]
    expected = [(edge.cause, "->", edge.effect, f"{edge.strength:.3g}") for edge in fitted.edge_list()]
    assert [tuple(line.split()) for line in edges] == expected
    assert fitted.model_.summary() == fitted.summary()


class Search(HNMSearch):
    """A search of another name, whose weights are nats, too."""


def test_the_unit_of_weights_is_known_whatever_the_name_of_the_estimator(tmp_path):
    found = Search(n_restarts=1, hidden_units=2).fit(hetero_chain(np.random.default_rng(0), 200))
    found.save(tmp_path / "m.icdh")
    for summary in (found.summary(), load(tmp_path / "m.icdh").summary()):
        assert summary.splitlines()[1].split()[:4] == ["cause", "->", "effect", "nats"]


def renamed(fitted, names, adjacency):
    model = fitted.model_
    columns = ModelColumns(names, True, model.columns.scaling, np.zeros(len(names)))
    return type(model)(columns, adjacency, [CONSTANT] * len(names))


def test_many_edges_are_counted_not_listed(fitted):
    model = renamed(fitted, [f"v{i}" for i in range(10)], np.triu(np.ones((10, 10)), 1))
    assert model.summary().splitlines()[-1] == "and 15 weaker edges"
    assert "a structural model: 10 variables, 45 edges" in model.summary()


def test_notebooks_show_the_summary_and_plot_draws(fitted):
    assert unescape(fitted._repr_html_()) == f"<pre>{fitted.summary()}</pre>"
    html = renamed(fitted, ["<b>", "b&", "c"], fitted.adjacency_matrix_)._repr_html_()
    assert ("<b>" in html, "&lt;b&gt;" in html) == (False, True)
    assert ICDH(l1=0.5)._repr_html_() == "<pre>ICDH(l1=0.5)</pre>"
    assert [text.get_text() for text in fitted.plot().axes[0].texts][:3] == ["a", "b", "c"]


def test_probabilities_of_edges_are_shown(fitted):
    model = fitted.model_.with_edge_probability(np.diag([0.875, 1.0], k=1))
    _, columns, *edges = model.summary().splitlines()
    assert columns.split() == ["cause", "->", "effect", "weight", "probability"]
    assert {("a", "b", "0.88"), ("b", "c", "1.00")} <= {tuple(line.split()[:5:2]) for line in edges}
    assert "probability" not in fitted.summary()


@cases(
    ("probability", "error", "message"),
    (np.zeros((2, 2)), ValueError, r"must have shape \(3, 3\)"),
    (np.full((3, 3), 1.5), ValueError, "from 0 to 1"),
    (np.full((3, 3), np.nan), ValueError, "from 0 to 1"),
    (np.full((3, 3), "often"), TypeError, "edge_probability has type"),
)
def test_what_is_no_probability_is_refused(fitted, probability, error, message, tmp_path):
    with pytest.raises(error, match=message):
        fitted.save(tmp_path / "m.icdh", edge_probability=probability)
    assert not list(tmp_path.iterdir())


A = np.array([[0.0, 1.5, 0.0], [0.0, 0.0, 0.25], [0.0, 0.0, 0.0]])
AWKWARD = ['a "<b>" & c', "ü\n", "plain"]


@pytest.mark.parametrize(
    ("suffix", "read", "names"), [("graphml", nx.read_graphml, AWKWARD), ("gml", nx.read_gml, [AWKWARD[0], "ü", "x1"])]
)
def test_networkx_reads_what_is_written(tmp_path, suffix, read, names):
    write_graph(tmp_path / f"graph.{suffix}", A, names)
    found = read(tmp_path / f"graph.{suffix}")
    assert isinstance(found, nx.DiGraph)
    assert set(found.nodes) == set(names)
    assert set(found.edges(data="weight")) == {(names[0], names[1], 1.5), (names[1], names[2], 0.25)}


def test_graphml_refuses_what_xml_cannot_hold():
    for name in ("bell\x07", "lone \ud800", "\uffff"):
        with pytest.raises(ValueError, match="characters that XML cannot"):
            graphs.to_graphml(np.zeros((1, 1)), [name])
    ET.fromstring(graphs.to_graphml(np.zeros((1, 1)), ["tab\t"]).encode())


def test_json_reads_back_and_graphml_has_the_edges(fitted):
    found, names = read_graph(io.BytesIO(fitted.model_.to_json().encode()))
    np.testing.assert_array_equal(found, fitted.adjacency_matrix_)
    assert names == json.loads(fitted.model_.to_json())["names"] == ["a", "b", "c"]
    edges = ET.fromstring(fitted.model_.to_graphml().encode()).findall(".//{*}edge")
    assert [(edge.get("source"), edge.get("target")) for edge in edges] == [edge[:2] for edge in fitted.edge_list()]


NEEDED = [
    ("to_dowhy", "dowhy.gcm", "dowhy"),
    ("to_pgmpy", "pgmpy.base", "pgmpy"),
    ("to_causallearn", "causallearn.graph.GraphNode", "causal-learn"),
]


@pytest.mark.parametrize(("method", "module", "extra"), NEEDED)
def test_the_extra_is_named(fitted, monkeypatch, method, module, extra):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'icdh\[{extra}\]'"):
        getattr(fitted.model_, method)()


@pytest.mark.filterwarnings("ignore")
def test_dowhy_gets_graph_and_mechanisms(fitted, chain):
    """DoWhy's counterfactuals, through our mechanisms, are ours; its interventions have our means."""
    gcm = pytest.importorskip("dowhy.gcm")
    pandas = pytest.importorskip("pandas")
    gcm.config.disable_progress_bars()
    gcm.util.general.set_random_seed(0)
    model, frame = fitted.model_.to_dowhy(), pandas.DataFrame(chain.values, columns=chain.columns)
    assert set(model.graph.edges) == {edge[:2] for edge in fitted.edge_list()}
    relived = gcm.counterfactual_samples(model, {"b": lambda b: b + 1.0}, observed_data=frame)
    ours = fitted.counterfactual(chain, {"b": lambda b: b + 1.0})
    np.testing.assert_allclose(relived[chain.columns].to_numpy(), ours, atol=1e-9)
    drawn = gcm.interventional_samples(model, {"a": lambda a: 2.0}, num_samples_to_draw=20_000)
    expected = fitted.sample(20_000, 0, do={"a": 2.0})
    np.testing.assert_allclose(drawn[chain.columns].mean(), expected.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(drawn[chain.columns].std(), expected.std(axis=0), rtol=0.05, atol=1e-12)
    model.clone()


@pytest.mark.filterwarnings("ignore")
def test_pgmpy_gets_the_graph(fitted):
    pytest.importorskip("pgmpy.base")
    dag = fitted.model_.to_pgmpy()
    assert list(dag.nodes) == ["a", "b", "c"]
    expected = {edge[:2]: pytest.approx(edge.strength) for edge in fitted.edge_list()}
    assert {(i, j): d["weight"] for i, j, d in dag.edges(data=True)} == expected


@pytest.mark.filterwarnings("ignore")
def test_causallearn_gets_the_graph(fitted):
    pytest.importorskip("causallearn.graph")
    graph, A = fitted.model_.to_causallearn(), fitted.adjacency_matrix_ != 0
    np.testing.assert_array_equal(graph.graph, A.T.astype(int) - A.astype(int))
    pairs = {(edge.get_node1().get_name(), edge.get_node2().get_name()) for edge in graph.get_graph_edges()}
    assert pairs == {edge[:2] for edge in fitted.edge_list()}


def test_results_print_as_their_summary(fitted):
    assert str(fitted.model_) == fitted.summary()
    sure = GraphEnsemble(["a", "b", "c"], np.stack([fitted.adjacency_matrix_ != 0] * 4), np.full(4, 0.25))
    graphs, heading, *edges = str(sure).splitlines()
    assert graphs == "4 graphs of 3 variables"
    assert heading.split() == ["cause", "->", "effect", "probability", "reverse", "any", "path"]
    assert len(edges) == len(fitted.edge_list())
    assert {line.split()[3] for line in edges} == {"1.00"}
    assert str(replace(sure, graphs=np.zeros((1, 3, 3), dtype=bool), weights=np.ones(1))) == "1 graph of 3 variables"


def test_names_of_one_text_do_not_merge():
    """1 and "1" are two columns; what knows text alone must not make one of them."""
    X = hetero_chain(np.random.default_rng(0), 60)[:, :2]
    model = HNMSearch(n_restarts=1).fit(pd.DataFrame(X, columns=pd.Index([1, "1"], dtype=object))).model_
    for export in (model.to_dot, model.to_graphml, model.to_json):
        with pytest.raises(ValueError, match="the names 1 and '1' are the same as text; rename one column"):
            export()
    assert list(model.to_networkx()) == [1, "1"]
