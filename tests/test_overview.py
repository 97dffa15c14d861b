"""A fit at a glance: summary, picture, notebook."""

import numpy as np
import pytest

from icdh import ICDH, HNMSearch, NotFittedError


def test_the_summary_says_who_learned_what(fitted):
    head, columns, *edges = fitted.summary().splitlines()
    assert head == f"ICDH: 400 observations of 3 variables, {len(edges)} edges"
    assert columns.split() == ["cause", "->", "effect", "weight"]
    expected = [(edge.cause, "->", edge.effect, f"{edge.strength:.3g}") for edge in fitted.edge_list()]
    assert [tuple(line.split()) for line in edges] == expected
    assert fitted.model_.summary() == fitted.summary()


def test_many_edges_are_counted_not_listed(fitted):
    names = [f"v{i}" for i in range(10)]
    many = np.triu(np.ones((10, 10)), 1)
    model = type(fitted.model_)(names, True, fitted.model_.scaling, many, [None] * 10, np.zeros(10))
    assert model.summary().splitlines()[-1] == "and 15 weaker edges"
    assert "and 15 weaker edges" in model._repr_html_()
    assert "a structural model: 10 variables, 45 edges" in model.summary()


def test_notebooks_show_edges_and_escape_names(fitted, chain):
    html = fitted._repr_html_()
    assert html.count("<tr>") == 1 + len(fitted.edge_list())
    names = ["<b>", "b&", "c"]
    model = type(fitted.model_)(names, True, fitted.model_.scaling, fitted.adjacency_matrix_, [None] * 3, np.zeros(3))
    assert "<b>" not in model._repr_html_()
    assert "&lt;b&gt;" in model._repr_html_()
    assert ICDH(l1=0.5)._repr_html_() == "<pre>ICDH(l1=0.5)</pre>"


def test_plot_draws_the_graph(fitted):
    figure = fitted.plot()
    assert [text.get_text() for text in figure.axes[0].texts][:3] == ["a", "b", "c"]


@pytest.mark.parametrize("ask", [HNMSearch.summary, HNMSearch.plot])
def test_before_fit_there_is_nothing_to_show(ask):
    with pytest.raises(NotFittedError):
        ask(HNMSearch())


def test_probabilities_of_edges_are_shown(fitted):
    probability = np.zeros((3, 3))
    probability[0, 1], probability[1, 2] = 0.875, 1.0
    model = fitted.model_.with_edge_probability(probability)
    _, columns, *edges = model.summary().splitlines()
    assert columns.split() == ["cause", "->", "effect", "weight", "probability"]
    shown = {tuple(line.split()[:3:2]): line.split()[-1] for line in edges}
    assert shown[("a", "b")] == "0.88"
    assert shown[("b", "c")] == "1.00"
    assert "<td>0.88</td>" in model._repr_html_()
    assert "probability" not in fitted.summary()


@pytest.mark.parametrize(
    ("probability", "error", "message"),
    [
        (np.zeros((2, 2)), ValueError, r"must have shape \(3, 3\)"),
        (np.full((3, 3), 1.5), ValueError, "from 0 to 1"),
        (np.full((3, 3), np.nan), ValueError, "from 0 to 1"),
        (np.full((3, 3), "often"), TypeError, "edge_probability has type"),
    ],
)
def test_what_is_no_probability_is_refused(fitted, probability, error, message, tmp_path):
    with pytest.raises(error, match=message):
        fitted.save(tmp_path / "m.icdh", edge_probability=probability)
    assert not list(tmp_path.iterdir())
