import os
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from support.model import AverageEffect

from icdh import graphs, plotting
from icdh.diagnostics.result import EdgeCheck
from icdh.exceptions import MissingExtraError
from icdh.plotting.graph import DOUBTFUL, GIVEN, WEAK, box_sizes, edge_styles, letters, lines_of
from icdh.plotting.layout import bends

CHAIN = np.array([[0.0, 2.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
NAMES = ["cause", "between", "effect", "$alone"]


LONG = ["alcohol_by_volume_percent", "quality as judged by the panel", "od280/od315", "x", "GrossDomesticProduct"]


def random_dag(rng, n, edges):
    A = np.zeros((n, n))
    upper = np.argwhere(np.triu(np.ones((n, n)), 1))
    for i, j in upper[rng.permutation(len(upper))[:edges]]:
        A[i, j] = rng.uniform(0.3, 3.0)
    p = rng.permutation(n)
    return A[np.ix_(p, p)]


class Drawn:
    """A graph as it is drawn: its axes, texts, arrows, and those that are dashed or dotted."""

    def __init__(self, A, names=NAMES, **options):
        self.axes = plotting.plot_graph(A, names, **options).axes[0]
        self.texts = [text.get_text() for text in self.axes.texts]
        legend = self.axes.get_legend()
        self.legend = [text.get_text() for text in legend.get_texts()] if legend else []
        self.arrows = [patch for patch in self.axes.patches if hasattr(patch, "get_arrowstyle")]
        self.dashed = [patch for patch in self.axes.patches if patch.get_linestyle() not in ("-", "solid")]


def assert_tidy(A, layout):
    """Boxes do not overlap; edges run downwards, from border to border, over no box."""
    positions, sizes, routes = layout
    assert set(routes) == {(i, j) for i, j in np.argwhere(A).tolist()}
    between = np.abs(positions[:, None] - positions) - (sizes[:, None] + sizes) / 2
    assert (between + np.where(np.eye(len(A), dtype=bool)[..., None], 9.0, 0.0)).max(axis=2).min() > 0.1
    for (i, j), route in routes.items():
        assert np.all(np.diff(route[:, 1]) < 0)
        for node, end, side in ((i, route[0], -1.0), (j, route[-1], 1.0)):
            assert end[1] == pytest.approx(positions[node, 1] + side * sizes[node, 1] / 2)
            assert abs(end[0] - positions[node, 0]) < sizes[node, 0] / 2
        points = along(route)
        inside = np.abs(points[:, None] - positions) < sizes / 2 - 1e-6
        assert not inside.all(axis=2).any()


def along(route):
    """Points of an edge as it is drawn."""
    if len(route) == 2:
        return np.linspace(*route, 100)
    t = np.linspace(0.0, 1.0, 50)[:, None]
    pieces = zip(route[:-1], bends(route), strict=True)
    return np.concatenate(
        [
            (1 - t) ** 3 * at + 3 * t * (1 - t) ** 2 * a + 3 * t**2 * (1 - t) * b + t**3 * end
            for at, (a, b, end) in pieces
        ]
    )


@pytest.mark.parametrize(("n", "edges", "draws", "widest"), [(9, 10, 30, 0.0), (14, 25, 8, 0.0), (14, 25, 8, 13.3)])
def test_causes_are_above_their_effects_and_nothing_overlaps(n, edges, draws, widest):
    rng = np.random.default_rng(1)
    for _ in range(draws):
        A = random_dag(rng, n, edges)
        assert_tidy(A, plotting.layered_layout(A, box_sizes([LONG[k % 5] for k in range(n)]), widest))


def test_rows_are_untangled():
    """Three pairs that would cross if the rows kept the order of the columns."""
    A = np.zeros((6, 6))
    A[0, 5] = A[1, 4] = A[2, 3] = 1.0
    positions = plotting.layered_layout(A).positions
    np.testing.assert_allclose(positions[[0, 1, 2], 0], positions[[5, 4, 3], 0], atol=1e-9)


def test_names_keep_their_size_and_are_broken_into_lines():
    assert lines_of("alcohol_by_volume_percent") == ["alcohol_by_volume_", "percent"]
    assert lines_of("GrossDomesticProduct") == ["GrossDomestic", "Product"]
    assert all(letters(line) <= 19 for line in lines_of("a" * 300 + " and so on"))
    assert lines_of("a" * 300)[-1].endswith("…")
    texts = plotting.plot_graph(random_dag(np.random.default_rng(0), 14, 25), LONG[:1] * 14).axes[0].texts
    np.testing.assert_allclose([text.get_fontsize() for text in texts], 10.0)


def test_a_legend_says_what_widths_and_dashes_mean():
    drawn = Drawn(CHAIN, title="data.csv", unit="nats", styles={(0, 2): DOUBTFUL})
    assert drawn.texts == [*NAMES, "data.csv"]
    assert drawn.legend == ["width: 0.5 nats", "width: 2 nats", "the data hardly tell the direction"]
    assert [patch.get_gid() for patch in drawn.dashed] == ["edge 0 2"]
    figure = drawn.axes.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [part.get_window_extent(renderer) for part in (*drawn.axes.texts, drawn.axes.get_legend())]
    assert all(0.0 <= box.x0 < box.x1 <= figure.bbox.width for box in boxes)
    assert max(box.y1 for box in boxes[5:]) < min(box.y0 for box in boxes[:4])  # the legend stands below the graph


def test_arrows_look_as_the_list_doubts_them():
    facts = [{}, {"weak": True, "direction_loss": 1.0}, {"direction_loss": 1.0}, {"known": True}]
    unknown = {"strength": 9.0, "direction_loss": 50.0, "hidden_loss": None, "probability": None, "known": False}
    records = [EdgeCheck("a", effect, **unknown | own) for effect, own in zip("bcde", facts, strict=True)]
    styles = edge_styles(records, "abcde")
    assert [record.marks for record in records] == ["", "~", "?", ""]
    assert [styles[0, k].line for k in (1, 2, 3, 4)] == ["-", WEAK.line, DOUBTFUL.line, GIVEN.line]
    assert styles[0, 2].meaning == "strength below 10 nats: doubt that there is an edge"


def test_given_arrows_are_dotted_and_say_no_strength_where_knowledge_alone_stands_behind_them():
    A = CHAIN.copy()
    A[1, 2] = np.finfo(float).tiny
    red = DOUBTFUL._replace(color="#ff0000", meaning="so and so")
    drawn = Drawn(A, unit="nats", styles={(0, 2): red, (1, 2): GIVEN})
    assert [patch.get_gid() for patch in drawn.dashed] == ["edge 0 2", "edge 1 2"]
    assert drawn.dashed[0].get_edgecolor()[:3] == (1.0, 0.0, 0.0)
    assert drawn.legend == ["width: 0.5 nats", "width: 2 nats", "so and so", "your knowledge gives the direction"]


def test_of_many_arrows_the_strongest_are_drawn_and_the_others_counted():
    A, names = random_dag(np.random.default_rng(0), 12, 40), [f"v{k}" for k in range(12)]
    drawn = Drawn(A, names, shown_edges=30)
    assert len(drawn.arrows) == 30
    assert drawn.legend == ["the 30 strongest of 40 arrows; shown_edges shows more"]
    left = 12 - len({node for edge in graphs.strongest_first(A)[:3] for node in edge})
    few = f"the 3 strongest of 40 arrows, {left} variables without one of them left out; shown_edges shows more"
    assert Drawn(A, range(12), shown_edges=3).legend == [few]
    assert len(Drawn(A, range(12), shown_edges=None).texts) == 12
    cause, effect = np.argwhere(A.max() == A)[0].tolist()
    drawn = Drawn(A, names, styles={(cause, effect): plotting.EdgeStyle("#ff0000")}, shown_edges=1)
    assert drawn.texts[:2] == [f"v{k}" for k in sorted((cause, effect))]
    assert [patch.get_edgecolor()[0] for patch in drawn.arrows] == [1.0]


def test_a_picture_has_the_shape_of_a_screen():
    width, height = Drawn(np.triu(np.ones((7, 7)), 1), list("abcdefg")).axes.figure.get_size_inches()
    assert width > 1.3 * height


def test_all_names_and_edges_are_drawn_stronger_ones_wider():
    before = dict(matplotlib.rcParams)
    drawn = Drawn(CHAIN)
    assert drawn.texts == NAMES
    widths = [arrow.get_linewidth() for arrow in drawn.arrows]
    assert (len(widths), widths) == (3, sorted(widths, reverse=True))
    assert widths[0] > 2 * widths[-1]
    assert dict(matplotlib.rcParams) == before  # no state that others share is touched
    own = Figure().add_subplot()
    assert plotting.plot_graph(CHAIN, NAMES, ax=own) is own.figure
    assert len(own.texts) == 4


@pytest.mark.parametrize("A", [*map(np.zeros, [(0, 0), (1, 1), (3, 3)]), np.triu(np.ones((12, 12)), 1)], ids=len)
def test_every_graph_can_be_saved(tmp_path, A):
    path = tmp_path / "graph.png"
    plotting.save_figure(path, plotting.plot_graph(A, [f"variable {i}" for i in range(len(A))]))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["graph.png"]


def test_bad_input_is_refused(tmp_path, monkeypatch):
    figure = plotting.plot_graph(CHAIN, NAMES)
    for message, call in (
        ("cycle", lambda: plotting.plot_graph(np.ones((2, 2)) - np.eye(2), ["a", "b"])),
        ("names must hold 4 labels", lambda: plotting.plot_graph(CHAIN, ["a"])),
        ("pictures are written as", lambda: plotting.save_figure(tmp_path / "graph.xyz", figure)),
        ("pictures are written as", lambda: plotting.save_figure(tmp_path / "graph", figure)),
        ("no folder", lambda: plotting.save_figure(tmp_path / "absent" / "graph.png", figure)),
        ("the same variables; got 4 and 3", lambda: plotting.plot_comparison(CHAIN, TRUTH[:3, :3], NAMES)),
    ):
        with pytest.raises((ValueError, OSError), match=message):
            call()
    assert not os.listdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'icdh\[plot\]'"):
        plotting.plot_graph(CHAIN, NAMES)


TRUTH = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]])


def test_edges_are_right_reversed_extra_or_missing():
    assert plotting.edge_kinds(CHAIN, TRUTH, "extra") == {(0, 1): "right", (0, 2): "extra", (1, 2): "reversed"}
    assert plotting.edge_kinds(TRUTH, CHAIN, "missing") == {(0, 1): "right", (2, 1): "reversed", (2, 3): "missing"}


def test_a_comparison_tells_the_kinds_apart_and_counts_them(tmp_path):
    figure = plotting.plot_comparison(CHAIN, TRUTH, NAMES, weight="nats")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["1 right", "1 reversed", "1 extra", "1 missing", "width: 0.5 nats", "width: 2 nats"]
    lines = figure.legends[0].get_lines()
    assert len({(line.get_color(), str(line.get_linestyle())) for line in lines[:4]}) == 4
    assert lines[4].get_linewidth() < lines[5].get_linewidth()
    patches = [patch for axes in figure.axes for patch in axes.patches if hasattr(patch, "get_arrowstyle")]
    assert len({patch.get_edgecolor() for patch in patches}) == 4
    for estimated in (np.zeros((4, 4)), CHAIN):
        plotting.save_figure(tmp_path / "both.svg", plotting.plot_comparison(estimated, TRUTH, NAMES))
        assert (tmp_path / "both.svg").stat().st_size > 1000


def test_effects_are_drawn_in_order_with_their_band():
    at, mean, std = np.array([2.0, 1.0]), np.array([5.0, 3.0]), np.ones(2)
    axes = plotting.plot_effect(AverageEffect("a$", "b", at, mean, std, mean - 0.1, mean + 0.1)).axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[1.0, 3.0], [2.0, 5.0]])
    assert axes.get_xlabel().startswith("a$, set")
    assert (axes.lines[0].get_linestyle(), len(axes.containers)) == ("None", 2)  # two points with two bars each
    at, mean, std = np.arange(6.0), np.arange(6.0), np.ones(6)
    axes = plotting.plot_effect(AverageEffect("a", "b", at, mean, std, mean - 0.1, mean + 0.1)).axes[0]
    assert axes.lines[0].get_linestyle() == "-"
    assert len(axes.collections) == 2
    own = Figure().add_subplot()
    assert AverageEffect("a", "b", at, mean, std).plot(own) is own.figure


AWKWARD = ["\x1b[2J", "a\nb", "\ud800", "$x_1$", "<&\"'>", "\ufffe\x00", 2019, ("a", 1), ""]


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_pictures_open_whatever_the_names_are(tmp_path, suffix):
    path = tmp_path / f"graph.{suffix}"
    plotting.save_figure(path, plotting.plot_graph(np.triu(np.ones((len(AWKWARD), len(AWKWARD))), 1), AWKWARD))
    assert path.stat().st_size > 1000
    if suffix == "svg":
        ElementTree.parse(path)


def test_control_characters_are_written_out_in_dot():
    assert '"\\\\x1b[2J" -> "a\\\\nb"' in graphs.to_dot(np.array([[0.0, 1.0], [0.0, 0.0]]), ["\x1b[2J", "a\nb"])
