import os
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from icdh import causal_direction, graphs, plotting
from icdh._model.effects import AverageEffect
from icdh.exceptions import MissingExtraError
from icdh.plotting.effect import plot_direction
from icdh.plotting.layout import bends, label_places
from icdh.plotting.style import DOUBTFUL, GIVEN, box_sizes, letters, lines_of

CHAIN = np.array([[0.0, 2.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
NAMES = ["cause", "between", "effect", "$alone"]


def random_dag(rng, n, edges):
    A = np.zeros((n, n))
    upper = np.argwhere(np.triu(np.ones((n, n)), 1))
    for i, j in upper[rng.permutation(len(upper))[:edges]]:
        A[i, j] = rng.uniform(0.3, 3.0)
    p = rng.permutation(n)
    return A[np.ix_(p, p)]


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
    return np.concatenate(
        [
            (1 - t) ** 3 * start + 3 * t * (1 - t) ** 2 * a + 3 * t**2 * (1 - t) * b + t**3 * end
            for start, (a, b, end) in zip(route[:-1], bends(route), strict=True)
        ]
    )


LONG = ["alcohol_by_volume_percent", "quality as judged by the panel", "od280/od315", "x", "GrossDomesticProduct"]


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


def test_strengths_cover_no_box_and_no_other_strength():
    rng = np.random.default_rng(2)
    for n, edges in ((5, 6), (14, 25), (12, 66)):
        A = random_dag(rng, n, edges)
        layout = plotting.layered_layout(A)
        texts = {edge: "12.5" for edge in layout.routes}
        places = np.array(list(label_places(layout, texts).values()))
        half = np.array([0.065 * 4, 0.13]) / 2
        assert len(places) >= 5
        assert not (np.abs(places[:, None] - layout.positions) < layout.sizes / 2 + half).all(axis=2).any()
        apart = (np.abs(places[:, None] - places) < 2 * half).all(axis=2)
        assert np.count_nonzero(apart) == len(places)


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
    """From the box of a text of four letters to the nearest point."""
    beyond = np.maximum(np.abs(points - place) - np.array([0.065 * 4, 0.13]) / 2, 0.0)
    return np.linalg.norm(beyond, axis=1).min()


def test_a_picture_says_what_widths_numbers_and_dashes_mean():
    words = {"title": "data.csv", "unit": "nats", "styles": {(0, 2): DOUBTFUL}}
    axes = plotting.plot_graph(CHAIN, NAMES, **words).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert {"data.csv", "2", "0.5?", "1"} <= set(texts)
    assert (
        "wider: stronger, 0.5 to 2; numbers: nats of evidence lost without the arrow (doubt arrows below 10)" in texts
    )
    assert "dashed: the data hardly tell the direction" in texts
    figure = axes.figure
    canvas = FigureCanvasAgg(figure)
    for text in axes.texts:
        box = text.get_window_extent(canvas.get_renderer())
        assert box.x0 >= 0.0
        assert box.x1 <= figure.bbox.width
    dashed = [patch for patch in axes.patches if patch.get_linestyle() not in ("-", "solid")]
    assert [patch.get_gid() for patch in dashed] == ["cause -> effect"]


def test_doubtful_arrows_of_a_colour_are_dashed_in_it_and_the_legend_says_what_it_is():
    red = DOUBTFUL._replace(color="#ff0000", meanings=("red: so and so",))
    axes = plotting.plot_graph(CHAIN, NAMES, styles={(0, 2): red}).axes[0]
    (dashed,) = [patch for patch in axes.patches if patch.get_linestyle() not in ("-", "solid")]
    assert dashed.get_edgecolor()[:3] == (1.0, 0.0, 0.0)
    assert axes.texts[-1].get_text() == "red: so and so"


def test_given_arrows_are_dotted_and_say_no_strength_where_knowledge_alone_stands_behind_them():
    A = CHAIN.copy()
    A[1, 2] = np.finfo(float).tiny
    axes = plotting.plot_graph(A, NAMES, unit="nats", styles={(1, 2): GIVEN}).axes[0]
    (dotted,) = [patch for patch in axes.patches if patch.get_linestyle() not in ("-", "solid")]
    assert dotted.get_gid() == "between -> effect"
    texts = [text.get_text() for text in axes.texts]
    assert "dotted: your knowledge gives the direction" in texts
    assert "wider: stronger, 0.5 to 2; numbers" in " ".join(texts)
    assert not any("e-3" in text for text in texts)


def test_a_hidden_cause_is_grey_and_says_its_nats_once():
    A = np.zeros((5, 5))
    A[4, :3], A[0, 3] = 22.2, 50.0  # the last variable is hidden
    axes = plotting.plot_graph(A, [*"abcd", "hidden cause of a, b, c"], unit="nats", n_hidden=1).axes[0]
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("22.2 nats") == 1
    assert not any("?" in text or text == "22.2" or "hidden cause of" in text for text in texts)
    assert "wider: stronger, 50 to 50; numbers" in " ".join(texts)
    assert sum(patch.get_linestyle() not in ("-", "solid") for patch in axes.patches) == 3


def test_of_many_arrows_the_strongest_are_drawn_and_the_others_counted():
    A = random_dag(np.random.default_rng(0), 12, 40)
    axes = plotting.plot_graph(A, [f"v{k}" for k in range(12)], shown_edges=30).axes[0]
    arrows = [patch for patch in axes.patches if hasattr(patch, "get_arrowstyle")]
    assert len(arrows) == 30
    assert axes.texts[-1].get_text() == "the 30 strongest of 40 arrows; shown_edges shows more"
    few = plotting.plot_graph(A, range(12), shown_edges=3).axes[0].texts[-1].get_text()
    left = 12 - len({node for edge in graphs.strongest_first(A)[:3] for node in edge})
    assert few == f"the 3 strongest of 40 arrows, {left} variables without one of them left out; shown_edges shows more"
    assert len(plotting.plot_graph(A, range(12), shown_edges=None).axes[0].texts) == 12
    mask, style = A.max() == A, plotting.EdgeStyle("#ff0000")
    cause, effect = np.argwhere(mask)[0].tolist()
    axes = plotting.plot_graph(A, [f"v{k}" for k in range(12)], styles={(cause, effect): style}, shown_edges=1).axes[0]
    assert [text.get_text() for text in axes.texts][:2] == [f"v{k}" for k in sorted((cause, effect))]
    assert [patch.get_edgecolor()[0] for patch in axes.patches if hasattr(patch, "get_arrowstyle")] == [1.0]


def test_a_picture_has_the_shape_of_a_screen_and_counts_numbers_without_a_place():
    A = np.triu(np.ones((7, 7)), 1)
    axes = plotting.plot_graph(A, list("abcdefg"), unit="weight").axes[0]
    width, height = axes.figure.get_size_inches()
    assert width > 1.3 * height
    written = [text for text in axes.texts if text.get_text() == "1"]
    left_out = f"weights in the fitted network, {21 - len(written)} left out" if len(written) < 21 else "network"
    assert any(text.get_text().endswith(left_out) for text in axes.texts)


def test_all_names_and_edges_are_drawn_stronger_ones_wider():
    figure = plotting.plot_graph(CHAIN, NAMES)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == NAMES
    arrows = [patch for patch in axes.patches if hasattr(patch, "get_arrowstyle")]
    widths = [arrow.get_linewidth() for arrow in arrows]
    assert len(widths) == 3
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 2 * widths[-1]


@pytest.mark.parametrize(
    "A", [np.zeros((1, 1)), np.zeros((3, 3)), np.triu(np.ones((12, 12)), 1), np.zeros((0, 0))], ids=len
)
def test_every_graph_can_be_saved(tmp_path, A):
    path = tmp_path / "graph.png"
    plotting.save_figure(path, plotting.plot_graph(A, [f"variable {i}" for i in range(len(A))]))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["graph.png"]


def test_axes_of_the_caller_are_used():
    axes = Figure().add_subplot()
    assert plotting.plot_graph(CHAIN, NAMES, ax=axes) is axes.figure
    assert len(axes.texts) == 4


def test_no_global_state_of_matplotlib_is_touched():
    before = dict(matplotlib.rcParams)
    plotting.plot_graph(CHAIN, NAMES)
    assert dict(matplotlib.rcParams) == before


def test_bad_input_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cycle"):
        plotting.plot_graph(np.ones((2, 2)) - np.eye(2), ["a", "b"])
    with pytest.raises(ValueError, match="names must hold 4 labels"):
        plotting.plot_graph(CHAIN, ["a"])
    for name in ("graph.xyz", "graph"):
        with pytest.raises(ValueError, match="pictures are written as"):
            plotting.save_figure(tmp_path / name, plotting.plot_graph(CHAIN, NAMES))
    with pytest.raises(OSError, match="no folder"):
        plotting.save_figure(tmp_path / "absent" / "graph.png", plotting.plot_graph(CHAIN, NAMES))
    assert not os.listdir(tmp_path)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'icdh\[plot\]'"):
        plotting.plot_graph(CHAIN, NAMES)


TRUTH = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]])


def test_edges_are_right_reversed_extra_or_missing():
    assert plotting.edge_kinds(CHAIN, TRUTH, "extra") == {(0, 1): "right", (0, 2): "extra", (1, 2): "reversed"}
    assert plotting.edge_kinds(TRUTH, CHAIN, "missing") == {(0, 1): "right", (2, 1): "reversed", (2, 3): "missing"}


def test_a_comparison_tells_the_kinds_apart_and_counts_them():
    figure = plotting.plot_comparison(CHAIN, TRUTH, NAMES, weight="nats")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["1 right", "1 reversed", "1 extra", "1 missing", "nats 0.5", "nats 2"]
    lines = figure.legends[0].get_lines()
    assert len({(line.get_color(), str(line.get_linestyle())) for line in lines[:4]}) == 4
    assert lines[4].get_linewidth() < lines[5].get_linewidth()
    shown = {
        patch.get_edgecolor() for axes in figure.axes for patch in axes.patches if hasattr(patch, "get_arrowstyle")
    }
    assert len(shown) == 4


@pytest.mark.parametrize("estimated", [np.zeros((4, 4)), CHAIN])
def test_comparisons_can_be_saved(tmp_path, estimated):
    plotting.save_figure(tmp_path / "both.svg", plotting.plot_comparison(estimated, TRUTH, NAMES))
    assert (tmp_path / "both.svg").stat().st_size > 1000


def test_comparisons_need_the_same_variables():
    with pytest.raises(ValueError, match="the same variables; got 4 and 3"):
        plotting.plot_comparison(CHAIN, TRUTH[:3, :3], NAMES)


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
    A = np.triu(np.ones((len(AWKWARD), len(AWKWARD))), 1)
    path = tmp_path / f"graph.{suffix}"
    plotting.save_figure(path, plotting.plot_graph(A, AWKWARD))
    assert path.stat().st_size > 1000
    if suffix == "svg":
        ElementTree.parse(path)


def test_a_picture_of_a_verdict_opens_whatever_the_names_are(tmp_path):
    x, y = np.random.default_rng(0).normal(size=(2, 100))
    names = ("\x1b[2J\n", "<&\ud800")
    plotting.save_figure(tmp_path / "pair.svg", plot_direction(x, y, causal_direction(x, y), names))
    ElementTree.parse(tmp_path / "pair.svg")


def test_control_characters_are_written_out_in_dot():
    assert '"\\\\x1b[2J" -> "a\\\\nb"' in graphs.to_dot(np.array([[0.0, 1.0], [0.0, 0.0]]), ["\x1b[2J", "a\nb"])
