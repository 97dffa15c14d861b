import os
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from support.model import AverageEffect

from icdh import causal_direction, graphs, plotting
from icdh.exceptions import MissingExtraError
from icdh.plotting.effect import plot_direction
from icdh.plotting.layout import bends, label_places
from icdh.plotting.style import DOUBTFUL, GIVEN, box_sizes, letters, lines_of

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


HALF = np.array([0.065 * 4, 0.13]) / 2  # of the box of a text of four letters


def test_strengths_cover_no_box_and_no_other_strength():
    rng = np.random.default_rng(2)
    for n, edges in ((5, 6), (14, 25), (12, 66)):
        layout = plotting.layered_layout(random_dag(rng, n, edges))
        places = np.array(list(label_places(layout, {edge: "12.5" for edge in layout.routes}).values()))
        assert len(places) >= 5
        assert not (np.abs(places[:, None] - layout.positions) < layout.sizes / 2 + HALF).all(axis=2).any()
        overlaps = (np.abs(places[:, None] - places) < 2 * HALF).all(axis=2)
        np.testing.assert_array_equal(overlaps, np.eye(len(places)))


def test_a_strength_stands_nearer_to_its_own_arrow_than_to_any_other():
    rng = np.random.default_rng(3)
    for n, edges, fewest in ((5, 6, 5), (14, 25, 22), (30, 45, 40)):
        counts = []
        for _ in range(4):
            layout = plotting.layered_layout(random_dag(rng, n, edges), box_sizes([LONG[k % 5] for k in range(n)]))
            found = label_places(layout, {edge: "12.5" for edge in layout.routes})
            counts.append(len(found))
            for edge, place in found.items():
                away = {other: box_distance(place, along(route)) for other, route in layout.routes.items()}
                assert 1.5 * away.pop(edge) < min(away.values())
        assert np.mean(counts) >= fewest


def box_distance(place, points):
    """From the box of a text to the nearest point."""
    return np.linalg.norm(np.maximum(np.abs(points - place) - HALF, 0.0), axis=1).min()


def test_a_picture_says_what_widths_numbers_and_dashes_mean():
    drawn = Drawn(CHAIN, title="data.csv", unit="nats", styles={(0, 2): DOUBTFUL})
    says = "wider: stronger, 0.5 to 2; numbers: nats of evidence lost without the arrow (doubt arrows below 10)"
    assert {"data.csv", "2", "0.5?", "1", says, "dashed: the data hardly tell the direction"} <= set(drawn.texts)
    assert [patch.get_gid() for patch in drawn.dashed] == ["edge 0 2"]
    figure = drawn.axes.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in drawn.axes.texts]
    assert all(0.0 <= box.x0 < box.x1 <= figure.bbox.width for box in boxes)


def test_doubtful_arrows_of_a_colour_are_dashed_in_it_and_the_legend_says_what_it_is():
    red = DOUBTFUL._replace(color="#ff0000", meanings=("red: so and so",))
    drawn = Drawn(CHAIN, styles={(0, 2): red})
    assert [patch.get_edgecolor()[:3] for patch in drawn.dashed] == [(1.0, 0.0, 0.0)]
    assert drawn.texts[-1] == "red: so and so"


def test_given_arrows_are_dotted_and_say_no_strength_where_knowledge_alone_stands_behind_them():
    A = CHAIN.copy()
    A[1, 2] = np.finfo(float).tiny
    drawn = Drawn(A, unit="nats", styles={(1, 2): GIVEN})
    assert [patch.get_gid() for patch in drawn.dashed] == ["edge 1 2"]
    assert "dotted: your knowledge gives the direction" in drawn.texts
    assert "wider: stronger, 0.5 to 2; numbers" in " ".join(drawn.texts)
    assert not any("e-3" in text for text in drawn.texts)


def test_a_hidden_cause_is_grey_and_says_its_nats_once():
    A = np.zeros((5, 5))
    A[4, :3], A[0, 3] = 22.2, 50.0  # the last variable is hidden
    drawn = Drawn(A, [*"abcd", "hidden cause of a, b, c"], unit="nats", n_hidden=1)
    assert drawn.texts.count("22.2 nats") == 1
    assert not any("?" in text or text == "22.2" or "hidden cause of" in text for text in drawn.texts)
    assert "wider: stronger, 50 to 50; numbers" in " ".join(drawn.texts)
    assert len(drawn.dashed) == 3


def test_of_many_arrows_the_strongest_are_drawn_and_the_others_counted():
    A, names = random_dag(np.random.default_rng(0), 12, 40), [f"v{k}" for k in range(12)]
    drawn = Drawn(A, names, shown_edges=30)
    assert len(drawn.arrows) == 30
    assert drawn.texts[-1] == "the 30 strongest of 40 arrows; shown_edges shows more"
    left = 12 - len({node for edge in graphs.strongest_first(A)[:3] for node in edge})
    few = f"the 3 strongest of 40 arrows, {left} variables without one of them left out; shown_edges shows more"
    assert Drawn(A, range(12), shown_edges=3).texts[-1] == few
    assert len(Drawn(A, range(12), shown_edges=None).texts) == 12
    cause, effect = np.argwhere(A.max() == A)[0].tolist()
    drawn = Drawn(A, names, styles={(cause, effect): plotting.EdgeStyle("#ff0000")}, shown_edges=1)
    assert drawn.texts[:2] == [f"v{k}" for k in sorted((cause, effect))]
    assert [patch.get_edgecolor()[0] for patch in drawn.arrows] == [1.0]


def test_a_picture_has_the_shape_of_a_screen_and_counts_numbers_without_a_place():
    drawn = Drawn(np.triu(np.ones((7, 7)), 1), list("abcdefg"), unit="weight")
    width, height = drawn.axes.figure.get_size_inches()
    assert width > 1.3 * height
    left_out = 21 - drawn.texts.count("1")
    end = f"weights in the fitted network, {left_out} left out" if left_out else "network"
    assert any(text.endswith(end) for text in drawn.texts)


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


@pytest.mark.parametrize(
    "A", [np.zeros((1, 1)), np.zeros((3, 3)), np.triu(np.ones((12, 12)), 1), np.zeros((0, 0))], ids=len
)
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
    assert labels == ["1 right", "1 reversed", "1 extra", "1 missing", "nats 0.5", "nats 2"]
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
    at, mean, std = (np.append(part, 4.0) for part in (at, mean, std))
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
        x, y = np.random.default_rng(0).normal(size=(2, 100))
        plotting.save_figure(path, plot_direction(x, y, causal_direction(x, y), ("\x1b[2J\n", "<&\ud800")))
        ElementTree.parse(path)


def test_control_characters_are_written_out_in_dot():
    assert '"\\\\x1b[2J" -> "a\\\\nb"' in graphs.to_dot(np.array([[0.0, 1.0], [0.0, 0.0]]), ["\x1b[2J", "a\nb"])
