"""A fit at a glance: summary, picture, notebook."""

import numpy as np
import pytest
from helpers import cases

from icdh import ICDH, HNMSearch, NotFittedError


def test_the_summary_says_who_learned_what(fitted):
    head, columns, *edges = fitted.summary().splitlines()
    assert head == f"ICDH: 400 observations of 3 variables, {len(edges)} edges"
    assert columns.split() == ["cause", "->", "effect", "weight"]
    expected = [(edge.cause, "->", edge.effect, f"{edge.strength:.3g}") for edge in fitted.edge_list()]
    assert [tuple(line.split()) for line in edges] == expected
    assert fitted.model_.summary() == fitted.summary()


def renamed(fitted, names, adjacency):
    model = fitted.model_
    return type(model)(names, True, model.scaling, adjacency, [None] * len(names), np.zeros(len(names)))


def test_many_edges_are_counted_not_listed(fitted):
    model = renamed(fitted, [f"v{i}" for i in range(10)], np.triu(np.ones((10, 10)), 1))
    assert model.summary().splitlines()[-1] == "and 15 weaker edges"
    assert "and 15 weaker edges" in model._repr_html_()
    assert "a structural model: 10 variables, 45 edges" in model.summary()


def test_notebooks_show_edges_and_escape_names_and_plot_draws(fitted):
    assert fitted._repr_html_().count("<tr>") == 1 + len(fitted.edge_list())
    html = renamed(fitted, ["<b>", "b&", "c"], fitted.adjacency_matrix_)._repr_html_()
    assert ("<b>" in html, "&lt;b&gt;" in html) == (False, True)
    assert ICDH(l1=0.5)._repr_html_() == "<pre>ICDH(l1=0.5)</pre>"
    assert [text.get_text() for text in fitted.plot().axes[0].texts][:3] == ["a", "b", "c"]


@pytest.mark.parametrize("ask", [HNMSearch.summary, HNMSearch.plot])
def test_before_fit_there_is_nothing_to_show(ask):
    with pytest.raises(NotFittedError):
        ask(HNMSearch())


def test_probabilities_of_edges_are_shown(fitted):
    model = fitted.model_.with_edge_probability(np.diag([0.875, 1.0], k=1))
    _, columns, *edges = model.summary().splitlines()
    assert columns.split() == ["cause", "->", "effect", "weight", "probability"]
    assert {("a", "b", "0.88"), ("b", "c", "1.00")} <= {tuple(line.split()[:5:2]) for line in edges}
    assert "<td>0.88</td>" in model._repr_html_()
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
