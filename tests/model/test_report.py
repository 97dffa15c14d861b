"""The report: one page without links, escaped, that says what is doubtful; a browser runs it where there is one."""

import html.parser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import forbidding, hetero_chain
from support.families import CONSTANT, Conditional, NormalLaw
from support.model import ModelColumns, StructuralModel
from support.shell import averaged
from support.table import Scaling

import icdh
from icdh import HNMSearch
from icdh.exceptions import MissingExtraError
from icdh.files import LabelledTable, write_table
from icdh.plotting.effect import plot_curve
from icdh.plotting.graph import LOOK
from icdh.report import findings
from icdh.uncertainty import GraphEnsemble

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
EVIL = ['<script>alert("a")</script>', "b' onload='x", "c & {{ 7 * 7 }}"]
SAID = {"notes": ["<i>note</i>"], "command": "icdh fit", "title": "T<b>"}


class Page(html.parser.HTMLParser):
    """What stands in a page: tags with their attributes, and text outside scripts and styles."""

    VOID = ("meta", "br", "link", "img", "input")

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.text = "".join(self.texts)

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
            self.texts.append(data)

    def all(self, tag, kind=""):
        of_tag = [found for name, found in self.tags if name == tag]
        return [found for found in of_tag if not kind or kind in (found.get("class") or "").split()]


def parts_of(page, kind):
    """The ids of what is drawn of arrows or variables."""
    return {found["id"] for found in page.all("g") if found.get("id", "").startswith(f"{kind} ")}


def written(folder, model, *about, **options):
    """The text of the page that a model writes."""
    model.report(folder / "r.html", *about, **options)
    return (folder / "r.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(hetero_chain(np.random.default_rng(0), 300), columns=EVIL)


@pytest.fixture(scope="module")
def model(table):
    return HNMSearch(noise_distribution="gaussian", n_restarts=1).fit(table)


@pytest.fixture(scope="module")
def text(model, table, tmp_path_factory):
    found = model.adjacency_matrix_ != 0
    ensemble = GraphEnsemble(EVIL, np.array([found, found & False]), np.array([0.75, 0.25]))
    return written(tmp_path_factory.mktemp("report"), model, table, ensemble=ensemble, **SAID)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_is_well_formed_and_links_to_nothing_outside(page, text):
    assert page.open == []
    for tag, attributes in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed")
        for name in ("src", "href", "data", "action"):
            assert attributes.get(name, "#").startswith("#")
    targets = {attributes.get("id") for _, attributes in page.tags}
    assert {a["href"][1:] for a in page.all("a")} <= targets
    assert not re.search(r"https?:|//[a-z]|url\((?!#)|@import", text)
    assert any("default-src 'none'" in meta.get("content", "") for meta in page.all("meta"))


def test_names_notes_and_titles_are_text(page):
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not page.all("i")
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert [part for part in (*EVIL, "<i>note</i>", "T<b>", "icdh fit") if part not in page.text] == []


def test_names_may_have_letters_that_the_font_of_pictures_lacks(tmp_path):
    names = ["\u6570\u636e", "\x1b[2J", "a\udc80\nb"]
    X = LabelledTable(hetero_chain(np.random.default_rng(2), 300), names)
    page = Page(written(tmp_path, HNMSearch(n_restarts=1).fit(X), X))
    assert names[0] in page.text


def test_the_page_says_what_was_learned(page, model, table):
    edges = model.model_.edge_list()
    says = {f"{edge.cause} → {edge.effect}: {edge.strength:.1f} nats, probability 0.75" for edge in edges}
    rows = [found for found in page.all("tr") if "data-says" in found]
    assert {found["data-says"] for found in rows} == says
    assert {found["data-drawn"] for found in rows} == parts_of(page, "edge")
    assert parts_of(page, "node") == {f"node {k}" for k in range(3)}
    assert [len(page.all(tag)) for tag in ("figure", "svg")] == [len(edges), len(edges) + 1]
    numbers = [table[EVIL[0]].mean(), *(effect.change for effect in model.model_.effects())]
    said = ("300 observations of 3 variables", "n_restarts = 1", icdh.__version__, *(f"{own:.4g}" for own in numbers))
    assert [part for part in said if part not in page.text] == []


def test_without_the_table_the_page_says_so(model, tmp_path):
    page = Page(written(tmp_path, model))
    assert "made from the model alone" in page.text
    assert len(parts_of(page, "edge")) == len(model.edge_list())
    assert "probability" not in page.text


def test_a_loaded_model_reports_the_same_and_its_probabilities(model, table, text, tmp_path):
    """But for those of paths, which only graphs know."""
    model.save(tmp_path / "m.icdh", edge_probability=0.75 * (model.adjacency_matrix_ != 0))
    of_graphs = r'<a href="#probabilities">Probabilities</a>|<h2 id="probabilities">.*(?=<h2 id="effects">)'
    without = re.sub(of_graphs, "", text, flags=re.DOTALL)
    assert len(without) < len(text)
    assert written(tmp_path, icdh.load(tmp_path / "m.icdh"), table, **SAID).split() == without.split()


def test_the_page_of_a_posterior_has_its_table_and_says_what_widths_are(page, model, text):
    edges = model.model_.edge_list()
    assert "The wider the arrow, the more probable." in page.text
    table = text.partition('id="beliefs"')[2].partition("</table>")[0]
    assert table.count("<tr>") == 1 + len(edges)
    assert table.count('<td class="n">0.75</td>') == 2 * len(edges)
    assert "width: probability 0.75" in page.text


def test_a_graph_without_edges_has_a_page(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    text = written(tmp_path, HNMSearch(edge_penalty=1e6).fit(X), X)
    assert "The graph has no edges" in text
    assert "gives no estimate of an effect" in text


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_awkward_tables_have_a_page(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_t(1.5, size=80) * 1e9
    y = 1e-9 * np.tanh(x / 1e9) + 1e-10 * rng.normal(size=80)
    X = np.column_stack([x, y, np.full(80, 7.0), rng.integers(0, 3, 80)])
    text = written(tmp_path, HNMSearch(n_restarts=1).fit(X), X)
    assert not re.search(r"\b(nan|inf)\b", text, re.IGNORECASE)
    assert "constant" in text


def test_of_labels_the_table_tells_the_shares_and_assumes_no_noise(tmp_path):
    labels = np.array([["no", "b"], ["yes", "a"], ["no", "a"], ["no", "a"]] * 10, dtype=object)
    model = HNMSearch(n_restarts=1, kinds={0: "categorical", 1: "categorical"}).fit(labels)
    text = written(tmp_path, model, labels)
    assert "no 75%, yes 25%" in text
    assert "a 75%, b 25%" in text
    assert "noise" not in str([row["assumption"] for row in findings(model.model_)["assumptions"]])


def doubts(X, **options):
    """What a report says against the assumptions of a fit."""
    model = HNMSearch(**options).fit(X)
    facts = findings(model.model_, X, check=icdh.check(model, X))
    return {row["assumption"]: row["against"] for row in facts["assumptions"] if row["doubtful"]}


def test_where_the_model_holds_nothing_speaks_against_it():
    X = hetero_chain(np.random.default_rng(2), 600)
    assert doubts(X, n_restarts=1, noise_distribution="gaussian") == {}


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_what_speaks_against_the_model_is_said():
    rng = np.random.default_rng(0)
    hidden, heavy = rng.normal(size=500), rng.standard_t(2, size=500)
    X = np.column_stack([hidden + rng.normal(size=500), hidden + rng.normal(size=500), heavy])
    no_edges = {"noise_distribution": "gaussian", "knowledge": forbidding(np.ones((3, 3), dtype=bool))}
    found = doubts(X, **no_edges)
    assert "does not fit 2" in found["Residuals are independent of all that a variable does not cause."]
    assert "x2" in found["The noise is Gaussian."]
    found = doubts(rng.normal(size=(20, 3)), **no_edges)
    assert found["There are enough rows."] == "20 rows for 3 variables are few"


def test_arrows_have_all_that_the_check_says_of_them(tmp_path):
    X = hetero_chain(np.random.default_rng(2), 600)
    model = HNMSearch(n_restarts=1, knowledge={"required": [("x0", "x1")]}).fit(X)
    check = icdh.check(model, X)
    facts = findings(model.model_, X, check=check)
    records = {(own.cause, own.effect): own for own in check.edges}
    assert {(edge["cause"], edge["effect"]) for edge in facts["edges"]} == records.keys()
    for edge in facts["edges"]:
        record = records[edge["cause"], edge["effect"]]
        cells = dict(zip(facts["figures"], (text for text, _ in edge["cells"]), strict=True))
        assert cells["if turned"] == ("given" if record.known else f"{record.direction_loss:.1f}")
        assert cells.get("if hidden", "") == ("" if record.hidden_loss is None else f"{record.hidden_loss:.1f}")
    page = Page(written(tmp_path, model, X, check=check))
    assert check.track_record[1:] in page.text
    styles = [path.get("style", "") for path in page.all("path")]
    assert sum(bool(re.search(r"dasharray: 0\.\d+,.*linecap: round", style)) for style in styles) == 1
    assert "your knowledge gives the direction" in page.text


def test_many_layers_fill_the_width_of_the_page_and_a_graph_wider_than_high_lies_on_paper():
    chains = np.kron(np.eye(2), np.eye(4, k=1))
    wide, high = np.zeros((20, 20)), np.eye(20, k=1)
    wide[0, 1:] = 1.0
    drawn = []
    for A in (chains, wide, high):
        names, N = [f"variable {k}" for k in range(len(A))], len(A)
        scaling = Scaling(np.zeros(N), np.ones(N))
        columns = ModelColumns(names, True, scaling, np.zeros(N))
        drawn.append(findings(StructuralModel(columns, A, [CONSTANT] * N))["graph"])
    *_, width, height = map(float, re.search('viewBox="([^"]*)"', drawn[0]["svg"])[1].split())
    assert width > height
    assert [graph["is_landscape"] for graph in drawn[1:]] == [True, False]


class Sum:
    """Mean: the sum of two causes; spread: the second."""

    inputs = np.array([0, 1])

    def predict(self, values, law):
        return np.array([values[0] + values[1], np.abs(values[1])])


def test_curves_are_averages_over_the_other_causes():
    graph, scaling = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]]), Scaling(np.zeros(3), np.ones(3))
    columns = ModelColumns(["a", "b", "c"], True, scaling, np.zeros(3))
    model = StructuralModel(columns, graph, [CONSTANT, CONSTANT, Conditional(Sum(), NormalLaw())])
    rows = np.random.default_rng(0).normal(size=(3, 50))
    at, mean, spread = averaged(model, rows, 0, 2)
    np.testing.assert_allclose(mean, at + rows[1].mean())
    np.testing.assert_allclose(spread, np.sqrt(np.square(rows[1]).mean()))
    np.testing.assert_allclose(at[[0, -1]], np.quantile(rows[0], [0.01, 0.99]))


def test_a_curve_has_its_spread_around_it_and_few_values_have_bars():
    x, y, at, spread = np.arange(10.0), np.arange(10.0) ** 2, np.linspace(0.0, 9.0, 41), np.full(41, 2.0)
    for few in (False, True):
        shown = slice(0, 5) if few else slice(None)
        (ax,) = plot_curve(x, y, at[shown], at[shown] ** 2, spread[shown], ("dose", "$a$")).axes
        points, mean = ax.lines[:2]
        np.testing.assert_array_equal(points.get_xydata(), np.column_stack([x, y]))
        np.testing.assert_array_equal(mean.get_xydata(), np.column_stack([at, at**2])[shown])
        (reach,) = (part.get_datalim(ax.transData) for part in ax.collections)
        np.testing.assert_allclose(reach.intervaly, (at[shown] ** 2)[[0, -1]] + [-2.0, 2.0])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "$a$")
        assert (ax.get_xticks().tolist() == at[shown].tolist()) == few


def test_bad_requests_are_refused(model, table, tmp_path, monkeypatch):
    other = GraphEnsemble(["a"], np.zeros((1, 1, 1), dtype=bool), np.ones(1))
    for folder, about, options, error, said in (
        ("", (), {"ensemble": other}, ValueError, "must have shape"),
        ("", (table.iloc[:, :2],), {}, ValueError, "features"),
        ("absent", (), {}, OSError, "no folder"),
    ):
        with pytest.raises(error, match=said):
            written(tmp_path / folder, model, *about, **options)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'icdh\[report\]'"):
        written(tmp_path, model)
    assert not list(tmp_path.iterdir())


def test_a_fit_and_a_saved_model_write_a_page(tmp_path, monkeypatch, shown):
    monkeypatch.chdir(tmp_path)
    X = np.column_stack([hetero_chain(np.random.default_rng(0), 200), np.full(200, 3.0)])
    write_table("data.csv", X, ["a", "b", "c", "k"])
    search = ["--method", "search", "--noise-distribution", "gaussian"]
    code, _, err = shown("fit", "data.csv", *search, "--bootstrap", 2, "--save", "m.icdh", "--report", "first.html")
    assert code == 0
    assert "constant column 'k'" in err
    assert shown("report", "m.icdh", "data.csv")[:2] == (0, "data.html\n")
    for page in ("first.html", "data.html"):
        text = Path(page).read_text(encoding="utf-8")
        for part in ("constant column &#39;k&#39;", "<title>Causal graph of data.csv</title>", "probability"):
            assert part in text
    assert shown("report", "m.icdh", "data.csv", "--output", "data.csv")[0] == 2


ACT = """<script>
const data = document.body.dataset, svg = document.querySelector('.graph svg'), list = document.getElementById('list');
const ids = of => new Set([...document.querySelectorAll(of)].map(own => own.id)).size;
const text = row => row.cells[0].textContent + row.cells[1].textContent;
document.querySelector('.edge').dispatchEvent(new PointerEvent('pointerenter'));
data.said = document.querySelector('output').textContent;
data.lit = ids('.edge.lit');
data.rows = document.querySelectorAll('tr.lit').length;
document.querySelector('.edge').dispatchEvent(new PointerEvent('pointerleave'));
document.querySelector('.node').dispatchEvent(new FocusEvent('focus'));
data.node = document.querySelector('output').textContent;
document.querySelector('.node').dispatchEvent(new FocusEvent('blur'));
data.lines = ids('.edge:has(path.reach)');
data.tab = list.tBodies[0].rows[0].tabIndex;
list.tBodies[0].rows[0].dispatchEvent(new FocusEvent('focus'));
data.focused = ids('.edge.lit');
data.scrolls = svg.dispatchEvent(new WheelEvent('wheel', {deltaY: 100, cancelable: true}));
list.tHead.rows[0].cells[2].click();
data.sorted = [...list.tBodies[0].rows].map(row => row.cells[2].textContent).join(' ');
const input = document.querySelector('input'), first = list.tBodies[0].rows[0];
input.value = 'nothing has this name';
input.dispatchEvent(new Event('input'));
data.found = [...list.tBodies[0].rows].filter(row => !row.hidden).length;
data.wide = svg.getBoundingClientRect().width;
data.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
@pytest.mark.parametrize("width", [420, 1280])
def test_a_browser_runs_the_page(text, tmp_path, width):
    acted = tmp_path / "acted.html"
    acted.write_text(text.replace("</body>", ACT), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    options = [f"--window-size={width},900", "--dump-dom", acted.as_uri()]
    dom = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, check=True).stdout
    (body,) = Page(dom).all("body")
    assert body["data-said"] in [row["data-says"] for row in Page(dom).all("tr") if "data-says" in row]
    assert body["data-node"] in EVIL
    expected = {"lit": "1", "rows": "1", "focused": "1", "tab": "0", "scrolls": "true", "found": "0", "overflow": "0"}
    assert int(body["data-lines"]) == len(parts_of(Page(text), "edge"))
    assert {key: body[f"data-{key}"] for key in expected} == expected
    strengths = [float(text) for text in body["data-sorted"].split()]
    assert strengths == sorted(strengths)
    assert float(body["data-wide"]) > 0.3 * width


def contrast(one, other):
    """The contrast of two colours by WCAG 2."""

    def luminance(color):
        share = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_texts_and_lines_of_page_and_pictures_stand_out():
    css = (Path(icdh.__file__).parent / "report" / "style.css").read_text(encoding="utf-8")
    colors = dict(re.findall(r"--(\w+): (#\w{6})", css))
    for on in ("ground", "panel"):
        assert min(contrast(colors[ink], colors[on]) for ink in ("ink", "soft", "warn", "line")) >= 4.5
    assert contrast(colors["ink"], colors["node"]) >= 4.5
    lines = ("text", "edge", "doubtful", "curve", "soft", "border")
    assert min(contrast(getattr(LOOK, name), "#ffffff") for name in lines) >= 4.5
    assert contrast(LOOK.text, LOOK.node) >= 4.5
