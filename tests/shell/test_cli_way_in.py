"""The first hour on the command line: what it reads, asks back, explains, and how long it is silent."""

import io
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import cases, hetero_chain
from support.shell import as_option, edge_list, is_given, question_about_roots
from support.utils import Clock, compiling

from icdh import ConvergenceWarning, HNMSearch, Knowledge, bootstrap, graphs, posterior, simulate
from icdh.diagnostics import result
from icdh.diagnostics.result import edge_records
from icdh.exceptions import ArgumentValueError, DataWarning, naming, option
from icdh.files import read_table, write_table
from icdh.uncertainty import direction_loss

X = hetero_chain(np.random.default_rng(0), 300)


@pytest.fixture(scope="module")
def searched():
    return HNMSearch(noise_distribution="gaussian", column_transform="none").fit(X)


@cases(
    ("head", "rows"),
    (",a,b\n", "0,1,2\n1,3,4\n"),  # pandas
    ('"","a","b"\n', '"1",1,2\n"2",3,4\n'),  # R
    ("Unnamed: 0,a,b\n", "0,1,2\n1,3,4\n"),  # pandas once more
    (",a,b\n", "2024-03-31,1,2\nnoon,3,4\n"),
)
def test_a_first_column_without_a_name_labels_the_rows_and_that_is_said(head, rows, caplog):
    caplog.set_level(logging.INFO, "icdh.files")
    found = read_table(io.BytesIO((head + rows).encode()))
    assert (found.columns, found.values.tolist()) == (["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    assert "its cells are taken for labels of the rows" in caplog.text
    caplog.clear()
    read_table(io.BytesIO((head + rows).encode()), drop=["1"])
    assert caplog.text == ""


def test_check_and_report_of_a_saved_model_read_its_columns_alone(chain_file, printed):
    printed("fit", chain_file, "--save", "model.icdh")
    lines = chain_file.read_text(encoding="utf-8").splitlines()
    wide = [f"{line},{'2024-03-31' if k else 'day'}" for k, line in enumerate(lines)]
    Path("wide.csv").write_text("\n".join(wide), encoding="utf-8")
    printed("check", "model.icdh", "wide.csv")
    assert printed("report", "model.icdh", "wide.csv") == "wide.html\n"


@cases(
    ("argument", "value", "of", "python", "shown"),
    ("scaling", ["standardize"], None, "scaling='standardize'", "--scaling standardize"),
    ("kinds", [{"a b": "binary"}], None, "kinds={'a b': 'binary'}", "--kinds 'a b=binary'"),
    ("kinds", [], "a", "kinds['a']", "--kinds a"),
    ("decimal", [","], None, "decimal=','", "--decimal ,"),
    ("header", [False], None, "header=False", "--no-header"),
    ("sequence", [True], None, "sequence=True", "--sequence"),
    ("missing_values", [[-9, 99]], None, "missing_values=[-9, 99]", "--na -9,99"),
    ("missing_values", [[]], None, "missing_values=[]", "--na ''"),
    ("max_seconds", [5.0], None, "max_seconds=5", "--max-seconds 5"),
    ("n_jobs", [], None, "n_jobs", "--jobs"),
    ("groups", [], None, "groups", "--group-column NAME"),
    ("groups", ["educ"], None, "groups='educ'", "--group-column educ"),
    ("X", [], None, "X", "the table"),
    ("--where", [], None, "--where", "--where"),
)
def test_messages_name_arguments_as_whoever_reads_them_knows_them(argument, value, of, python, shown):
    assert option(argument, *value, of=of) == python
    with naming(as_option):
        assert option(argument, *value, of=of) == shown
        assert str(ArgumentValueError(argument, "is wrong")) == f"{option(argument)} is wrong"
        with ThreadPoolExecutor() as other:  # which is no part of the command
            assert other.submit(option, argument, *value, of=of).result() == python


def test_the_first_help_is_short_and_the_second_whole(printed):
    first, whole = (printed("fit", flag) for flag in ("--help", "--help-all"))
    short, long = ({word for word in text.split() if word.startswith("--")} for text in (first, whole))
    assert sum(line.startswith("  -") for line in first.splitlines()) == 19 + 2  # both helps
    assert "more options: icdh fit --help-all" in first
    assert {"--group-column", "--sequence"} <= short < long
    assert "--prior-precision" in long - short


def test_reversing_an_edge_loses_no_more_than_the_graph_with_that_edge_alone_turned(searched):
    loss, dag = direction_loss(searched), searched.adjacency_matrix_ != 0
    found = searched.found_graph()
    at = {column: node for node, column in enumerate(found.table.order)}
    assert (np.isfinite(loss) == dag).all()
    for i, j in np.argwhere(dag):
        turned = dag.copy()
        turned[i, j], turned[j, i] = False, True
        if not graphs.is_dag(turned):
            continue
        after, before = (
            sum(found.scores([(at[n], tuple(sorted(at[k] for k in np.flatnonzero(A[:, n])))) for n in range(3)]))
            for A in (turned, dag)
        )
        assert loss[i, j] <= after - before + 1e-6


def test_what_cannot_be_turned_has_no_loss(searched):
    known = Knowledge(required=[("x0", "x1"), ("x1", "x2"), ("x0", "x2")])
    model = HNMSearch(noise_distribution="gaussian", column_transform="none", knowledge=known).fit(X)
    np.testing.assert_array_equal(direction_loss(model), np.where(model.adjacency_matrix_, np.inf, np.nan))
    assert np.isnan(direction_loss(searched)[searched.adjacency_matrix_ == 0]).all()
    late = HNMSearch(hidden_units=2).fit(X)
    found = late.found_graph()
    late._found = found._replace(scores=found.scores.on(found.scores.families, Clock()))  # nothing is fitted
    assert np.isnan(direction_loss(late, clock=Clock(1e-9))).all()


def test_no_reversal_gains_where_a_search_ends():
    """Of this table the families of a reversal look 50 nats worse than they are until they are polished."""
    data = simulate.simulate_sem(simulate.erdos_renyi(8, 1, random_state=14), 800, random_state=14, standardize=True)
    with pytest.warns(DataWarning, match="read as grades"):
        model = HNMSearch().fit(np.round(2 * data.X) / 2)
    assert np.nanmin(direction_loss(model)) >= 0.0


def records_with(searched, nats, **of_the_first):
    """The records of edges all of whose directions lose some nats, but for what is told of the first."""
    loss = np.where(searched.adjacency_matrix_ != 0, nats, np.nan)
    known = replace(searched.model_.edge_evidence, direction_loss=loss)
    records = edge_records(replace(searched.model_, edge_evidence=known))
    return [replace(records[0], **of_the_first), *records[1:]]


def test_arrows_that_lose_little_are_marked_and_explained(searched):
    records = records_with(searched, 50.0, direction_loss=1.5)
    _, names, *edges, mark, last = edge_list(searched, records)
    assert names.split() == ["cause", "->", "effect", "strength", "if", "turned"]
    (marked,) = [line.split() for line in edges if line.endswith("?")]
    assert (marked[0], marked[2], marked[4]) == (records[0].cause, records[0].effect, "1.5")
    assert last == "what these mean: icdh explain"
    assert mark == "? reversing it loses less than 6 nats: the data hardly tell its direction"


def test_a_graph_without_edges_says_that_this_is_no_evidence(tmp_path, printed):
    write_table(tmp_path / "noise.csv", np.random.default_rng(0).normal(size=(60, 3)), ["a", "b", "c"])
    said = "moves\nno edge stands out in these rows: that is no evidence that nothing causes anything\n"
    assert printed("fit", tmp_path / "noise.csv").endswith(said)


def test_knowledge_that_forbids_every_edge_is_named_as_the_reason(chain_file, printed):
    last = printed("fit", chain_file, "--forbid", "*,*").splitlines()[-1]
    assert last == "knowledge forbids every edge: none was looked for, and no edge means nothing"


def test_all_files_of_knowledge_hold_beside_the_options(chain_file, printed, refused):
    Path("a.json").write_text('{"roots": ["a"]}')
    Path("b.json").write_text('{"forbidden": [["*", "b"]], "tiers": [["a"], ["b"]]}')
    files = ("--knowledge", "a.json", "--knowledge", "b.json")
    assert "knowledge forbids every edge" in printed("fit", chain_file, *files, "--forbid", "*,c")
    assert "both sides have tiers" in refused("fit", chain_file, *files, "--tiers", "b; a")
    printed("fit", chain_file, "--require", "a,b", "--save", "m.icdh", "--quiet")
    assert "no file absent.json" in refused("check", "m.icdh", chain_file, "--knowledge", "absent.json", *files)


def test_marks_reach_list_picture_and_report(chain_file, monkeypatch, printed):
    monkeypatch.setattr(result, "DOUBTFUL", 1e9)
    out = printed("fit", chain_file, "--plot", "graph.svg", "--report", "page.html")
    assert "? reversing it loses less than 6 nats: the data hardly tell its direction" in out
    for name in ("graph.svg", "page.html"):
        page_or_picture = Path(name).read_text(encoding="utf-8")
        assert "stroke-dasharray" in page_or_picture
        assert "reversing it loses less than 6 nats" in page_or_picture


def test_the_time_that_is_asked_for_bounds_resamples_and_posterior():
    search, seen = HNMSearch(hidden_units=2, column_transform="none"), []
    with pytest.raises(TimeoutError, match="were over before the evidence of all families was known"):
        posterior(HNMSearch(hidden_units=2, column_transform="none").fit(np.hstack([X, X[::-1]])), max_seconds=1e-9)
    with pytest.raises(TimeoutError, match="after 0 of 5"):
        bootstrap(HNMSearch(hidden_units=2), X, 5, max_seconds=1e-9)

    def stop_after_two(resample):
        seen.append(resample)
        if len(seen) == 2:
            compiling.seconds -= 1e6  # time flies

    try:
        with pytest.warns(ConvergenceWarning, match=r"after 2 of 5; the probabilities are of these"):
            ensemble = bootstrap(search, X, 5, max_seconds=1e5, callback=stop_after_two)
    finally:
        compiling.seconds += 1e6
    assert len(ensemble.graphs) == 2
    assert ensemble.weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(ensemble.graphs[0], seen[0].adjacency != 0)


def test_a_graph_is_kept_where_time_is_over_before_its_probabilities(chain_file, shown, monkeypatch):
    def out_of_time(model, **options):
        raise TimeoutError(f"{option('max_seconds', 3.0)} were over")

    monkeypatch.setattr("icdh.uncertainty.posterior.posterior", out_of_time)
    code, out, err = shown("fit", chain_file, "--posterior", "--max-seconds", 1000)
    assert (code, "a -> b" in out, "icdh: warning: --max-seconds 3 were over" in err) == (0, True, True)


def test_explain_shows_the_page_of_the_manual(printed):
    page = printed("explain")
    assert page.startswith("How to read the output\n")
    assert "$ icdh fit --dataset sachs" in page
    assert "``" not in page
    for word in ("strength", "if turned", "if hidden", "acts on", "direction", "weight", "marked ~"):
        assert word in page


@pytest.mark.parametrize(
    ("name", "given"),
    [("Birth_Year", True), ("Âge (ans)", True), ("female2", True), ("nonwhite", True), ("yob", True), ("Геном", False)]
    + [("GESCHLECHT", True), ("año", True), ("wage", False), ("average", False), ("性別", True), ("2", False)],
)
def test_what_nothing_causes_is_known_by_name(name, given):
    assert is_given(name) == given


def test_dates_have_no_causes_whatever_they_are_called():
    adjacency = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert question_about_roots(adjacency, ["dose", "visit"]) is None
    said = question_about_roots(adjacency, ["dose", "visit"], ["visit"])
    assert said == "can this be: dose -> visit? If nothing causes visit, pass --roots visit"


def test_the_last_line_says_what_was_not_searched(searched):
    ended = copy(searched)
    ended.timed_out_ = True
    assert any(line.startswith("max_seconds was over after ") for line in edge_list(ended, []))
    ended.history_ = []
    (_, line) = edge_list(ended, [])
    assert line == "max_seconds was over before the first of the moves: nothing was searched, and no edge means nothing"
    ended.timed_out_, ended.interrupted_ = False, True
    assert edge_list(ended, [])[-1].startswith("the fit was interrupted before the first")


def test_a_fit_ends_with_few_lines_of_at_most_a_hundred_letters(searched):
    weak, second, *others = records_with(searched, 1.0, hidden_loss=2.0, weak=True)
    lines = edge_list(searched, [weak, replace(second, hidden_loss=2.0), *others])
    (row,) = [line.split() for line in lines if line.endswith("~")]
    assert not {"1.0", "2.0"} & set(row)  # nothing is said of a direction of what may be no edge
    below = lines[lines.index(next(line for line in lines if line.startswith("~ "))) :]
    assert [line[0] for line in below[:3]] == list("~?*")
    assert len(below) <= 5
    assert max(map(len, lines)) <= 100


def test_dependent_rows_are_said_to_be_what_nats_count(tmp_path, printed):
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=200))
    write_table(tmp_path / "walk.csv", np.column_stack([walk, walk + rng.normal(size=200)]), ["a", "b"])
    model, page = tmp_path / "m.icdh", tmp_path / "page.html"
    out = printed("fit", tmp_path / "walk.csv", "--sequence", "--save", model, "--report", page)
    size = re.search("rows depend on one another: effective sample size down to ([0-9]+) of 200\n", out).group(1)
    printed("report", model, tmp_path / "walk.csv", "--sequence", "--output", tmp_path / "again.html")
    for path in (page, tmp_path / "again.html"):
        assert f"200 rows for 2 variables, effective sample size {size} are few" in path.read_text(encoding="utf-8")


def test_groups_of_a_long_table_have_both_lines(tmp_path, printed):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(7000), 3)
    x = rng.normal(size=7000)[person] + 0.5 * rng.normal(size=21_000)
    y = x + rng.normal(size=7000)[person] + 0.5 * rng.normal(size=21_000)
    write_table(tmp_path / "long.csv", np.column_stack([person, x, y]), ["person", "x", "y"])
    out = printed("fit", tmp_path / "long.csv", "--group-column", "person", "--hidden-units", "2")
    assert "strengths are in nats of 10,000 of 21,000 rows\nrows depend on one another: effective" in out
    assert " of 10,000\n" in out
