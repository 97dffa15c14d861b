"""The report: one page without links, escaped, that says what is doubtful; a browser runs it where there is one."""

import html.parser
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain

import icdh
from icdh import ICDH, HNMSearch, cli
from icdh._model.conditionals import Constant
from icdh._model.structural import StructuralModel
from icdh._table.table import Scaling
from icdh.exceptions import MissingExtraError
from icdh.files import write_table
from icdh.report import drawing, findings
from icdh.report.findings import averaged

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
EVIL = ['<script>alert("a")</script>', "b' onload='x", "c & {{ 7 * 7 }}"]


class Page(html.parser.HTMLParser):
    """What stands in a page: tags with their attributes, and text outside scripts and styles."""

    VOID = ("meta", "br", "link", "img", "input")

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.text.append(data)

    def all(self, tag, kind=None):
        return [found for name, found in self.tags if name == tag and kind in (None, found.get("class"))]


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(hetero_chain(np.random.default_rng(0), 300), columns=EVIL)


@pytest.fixture(scope="module")
def model(table):
    return HNMSearch(noise_distribution="gaussian", n_restarts=1).fit(table)


@pytest.fixture(scope="module")
def path(model, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "r.html"
    probability = np.where(model.adjacency_matrix_ != 0, 0.75, 0.1)
    model.report(path, table, edge_probability=probability, notes=["<i>note</i>"], command="icdh report", title="T<b>")
    return path


@pytest.fixture(scope="module")
def page(path):
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_is_well_formed_and_links_to_nothing_outside(page, path):
    assert page.open == []
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        for name in ("src", "href", "data", "action"):
            assert attributes.get(name, "#").startswith("#")
    targets = {attributes.get("id") for _, attributes in page.tags}
    assert {a["href"][1:] for a in page.all("a")} <= targets
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|url\((?!#)|@import", text)
    assert any("default-src 'none'" in meta.get("content", "") for meta in page.all("meta"))


def test_names_notes_and_titles_are_text(page):
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not page.all("i")
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    text = "".join(page.text)
    for part in (*EVIL, "<i>note</i>", "T<b>", "icdh report"):
        assert part in text


def test_the_page_says_what_was_learned(page, model, table):
    edges = model.model_.edge_list()
    assert len(page.all("g", "edge")) == len(edges) > 0
    assert len(page.all("g", "node")) == 3
    for edge in edges:
        says = f"{edge.cause} → {edge.effect}: {edge.strength:.4g} nats, probability 0.75"
        assert says in [found["data-says"] for found in page.all("g", "edge")]
    assert len(page.all("polygon", "band")) == len(edges)
    assert len(page.all("figure")) == len(edges) + 3
    text = "".join(page.text)
    assert "300 observations of 3 variables" in text
    assert f"{table[EVIL[0]].mean():.4g}" in text
    assert "n_restarts = 1" in text
    assert icdh.__version__ in text
    for effect in model.model_.effects():
        assert f"{effect.change:.4g}" in text


def test_without_the_table_the_page_says_so(model, tmp_path):
    model.report(tmp_path / "r.html")
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "made from the model alone" in "".join(page.text)
    assert len(page.all("g", "edge")) == len(model.edge_list())
    assert "probability" not in "".join(page.text).replace("No probabilities", "")


def test_a_loaded_model_reports_the_same(model, table, tmp_path):
    model.report(tmp_path / "a.html", table)
    model.save(tmp_path / "m.icdh")
    icdh.load(tmp_path / "m.icdh").report(tmp_path / "b.html", table)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_saved_probabilities_are_in_the_report(model, table, path, tmp_path):
    model.save(tmp_path / "m.icdh", edge_probability=np.where(model.adjacency_matrix_ != 0, 0.75, 0.1))
    again = tmp_path / "r.html"
    icdh.load(tmp_path / "m.icdh").report(again, table, notes=["<i>note</i>"], command="icdh report", title="T<b>")
    assert again.read_bytes() == path.read_bytes()


def test_a_graph_without_edges_has_a_page(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    HNMSearch(edge_penalty=1e6).fit(X).report(tmp_path / "r.html", X)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The graph has no edges" in text
    assert "gives no estimate of an effect" in text


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_awkward_tables_have_a_page(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_t(1.5, size=80) * 1e9
    X = np.column_stack(
        [x, 1e-9 * np.tanh(x / 1e9) + 1e-10 * rng.normal(size=80), np.full(80, 7.0), rng.integers(0, 3, 80)]
    )
    HNMSearch(n_restarts=1).fit(X).report(tmp_path / "r.html", X)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"\b(nan|inf)\b", text, re.IGNORECASE)
    assert "constant" in text


def doubts(model, X):
    return {row["assumption"]: row["against"] for row in findings(model.model_, X)["assumptions"] if row["doubtful"]}


def test_where_the_model_holds_nothing_speaks_against_it():
    X = hetero_chain(np.random.default_rng(2), 600)
    assert doubts(HNMSearch(n_restarts=1, noise_distribution="gaussian").fit(X), X) == {}


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_what_speaks_against_the_model_is_said():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=500)
    walk = np.cumsum(rng.normal(size=500))
    heavy = rng.standard_t(2, size=500)
    X = np.column_stack([hidden + rng.normal(size=500), hidden + rng.normal(size=500), walk, heavy])
    forbidden = np.ones((4, 4), dtype=bool)
    found = doubts(HNMSearch(noise_distribution="gaussian", forbidden_edges=forbidden).fit(X), X)
    assert "x0 and x1" in found["No common cause of two variables is missing from the table."]
    assert "x2" in found["Rows are independent of one another."]
    assert "x3" in found["The noise is Gaussian."]
    few = rng.normal(size=(20, 4)).round()
    found = doubts(HNMSearch(noise_distribution="gaussian", forbidden_edges=forbidden).fit(few[:, :4]), few)
    assert "20 rows for 4 variables are few" in found["There are enough rows for as many variables."]
    assert "x0" in found["Variables are continuous."]


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_pairs_with_a_common_cause_come_by_the_size_of_their_correlation():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 500))
    weak = np.column_stack([first, -first]) + rng.normal(size=(500, 2))
    strong = np.column_stack([second, -second]) + 0.3 * rng.normal(size=(500, 2))
    X = np.hstack([weak, strong])
    fit = HNMSearch(noise_distribution="gaussian", forbidden_edges=np.ones((4, 4), dtype=bool)).fit(X)
    text = doubts(fit, X)["No common cause of two variables is missing from the table."]
    assert text.index("x2 and x3") < text.index("x0 and x1")


class Sum:
    """Mean: the sum of two causes; spread: the second."""

    inputs = np.array([0, 1])

    def mean_and_scale(self, values):
        return values[0] + values[1], np.abs(values[1])


def test_curves_are_averages_over_the_other_causes():
    graph, scaling = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]]), Scaling(np.zeros(3), np.ones(3))
    model = StructuralModel(["a", "b", "c"], True, scaling, graph, [Constant(), Constant(), Sum()], np.zeros(3))
    rows = np.random.default_rng(0).normal(size=(3, 50))
    at, mean, spread = averaged(model, rows, 0, 2)
    np.testing.assert_allclose(mean, at + rows[1].mean())
    np.testing.assert_allclose(spread, np.sqrt(np.square(rows[1]).mean()))
    np.testing.assert_allclose(at[[0, -1]], np.quantile(rows[0], [0.01, 0.99]))


def test_pictures_point_upwards_and_have_round_ticks():
    panel = drawing.Panel(np.array([0.0, 10.0]), np.array([-1.0, 1.0]))
    (x0, y0), (x1, y1) = (map(float, point) for point in panel.points([0.0, 10.0], [-1.0, 1.0]))
    assert x0 < x1
    assert y0 > y1
    ticks = panel.ticks()
    assert [label for _, label in ticks["x"]] == ["0", "2", "4", "6", "8", "10"]
    assert 3 <= len(ticks["y"]) <= 6


@pytest.mark.parametrize("span", [1e-12, 0.7, 3.0, 1e7, 2.5e11])
def test_ticks_are_few_and_within(span):
    panel = drawing.Panel(np.array([0.0, span]), np.array([0.0, 1.0]))
    places = [float(place) for place, _ in panel.ticks()["x"]]
    assert 3 <= len(places) <= 7
    assert min(places) >= drawing.LEFT
    assert max(places) <= drawing.WIDTH - drawing.RIGHT


def test_bad_requests_are_refused(model, table, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match=r"edge_probability must have shape \(3, 3\)"):
        model.report(tmp_path / "r.html", edge_probability=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="features"):
        model.report(tmp_path / "r.html", table.iloc[:, :2])
    with pytest.raises(OSError, match="no folder"):
        model.report(tmp_path / "absent" / "r.html")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'icdh\[report\]'"):
        model.report(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_the_command_learns_and_writes_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = np.column_stack([hetero_chain(np.random.default_rng(0), 200), np.full(200, 3.0)])
    write_table("data.csv", X, ["a", "b", "c", "k"])
    search = ["--method", "search", "--noise-distribution", "gaussian"]
    assert cli.main(["report", "data.csv", *search, "--bootstrap", "2", "--title", "Mine"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "data.html\n"
    assert "constant column 'k'" in captured.err
    text = (tmp_path / "data.html").read_text(encoding="utf-8")
    assert "constant column &#39;k&#39;" in text
    assert "<title>Mine</title>" in text
    assert "probability" in text
    assert cli.main(["fit", "data.csv", *search, "--save", "m.icdh", "--quiet"]) == 0
    assert cli.main(["report", "data.csv", "--model", "m.icdh", "--output", "other.html"]) == 0
    assert (tmp_path / "other.html").exists()
    assert cli.main(["report", "data.csv", "--model", "m.icdh", "--bootstrap", "2"]) == 2
    assert cli.main(["report", "data.csv", "--output", "data.csv"]) == 2


ACT = """<script>
const edge = document.querySelector('.edge'), svg = document.querySelector('#graph svg');
edge.dispatchEvent(new PointerEvent('pointerenter'));
document.querySelector('.closer').click();
document.body.dataset.said = document.querySelector('output').textContent;
document.body.dataset.lit = document.querySelectorAll('.edge.lit').length;
document.body.dataset.box = svg.getAttribute('viewBox');
svg.dispatchEvent(new WheelEvent('wheel', {deltaY: 100, clientX: 300, clientY: 500}));
document.body.dataset.scrolled = svg.getAttribute('viewBox');
document.querySelector('.whole').click();
document.body.dataset.whole = svg.getAttribute('viewBox');
document.body.dataset.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
@pytest.mark.parametrize("width", [420, 1280])
def test_a_browser_runs_the_page(path, tmp_path, width):
    acted = tmp_path / "acted.html"
    acted.write_text(path.read_text(encoding="utf-8").replace("</body>", ACT), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    options = [f"--window-size={width},900", "--dump-dom", acted.as_uri()]
    dom = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    (body,) = Page(dom).all("body")
    first = Page(dom).all("g", "edge") + Page(dom).all("g", "edge lit")
    assert body["data-said"] in [edge["data-says"] for edge in first]
    assert body["data-lit"] == "1"
    whole, closer, scrolled = ([float(n) for n in body[f"data-{key}"].split()] for key in ("whole", "box", "scrolled"))
    assert closer[2:] == pytest.approx([whole[2] / 1.3, whole[3] / 1.3])
    assert [closer[k] + closer[2 + k] / 2 for k in (0, 1)] == pytest.approx(
        [whole[k] + whole[2 + k] / 2 for k in (0, 1)]
    )
    assert scrolled[2] == pytest.approx(closer[2] * 1.15)
    assert body["data-overflow"] == "0"


def test_a_spread_that_the_model_misses_is_said():
    X = hetero_chain(np.random.default_rng(0), 600)
    found = doubts(ICDH(scaling="standardize", noise="unequal").fit(X), X)
    assert "x1" in found["The noise of a variable does not depend on its causes once scaled."]
