"""The first hour on the command line: what it reads, asks back, explains, and how long it is silent."""

import io
import logging
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import hetero_chain

from icdh import ConvergenceWarning, HNMSearch, Knowledge, bootstrap, cli, graphs, posterior, simulate
from icdh._ground.clock import Clock, compiling
from icdh.cli._learning import edge_list
from icdh.cli._messages import as_option
from icdh.diagnostics import result
from icdh.diagnostics.result import edge_records
from icdh.diagnostics.track_record import NEITHER, TAILS, UNLIKELY, Marginals
from icdh.exceptions import ArgumentValueError, DataWarning, naming, option
from icdh.files import read_table, write_table
from icdh.plotting.graph import edge_styles
from icdh.plotting.style import LOOK
from icdh.uncertainty import direction_loss


@pytest.fixture
def table(tmp_path, chain, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_table("data.csv", chain.values, chain.columns)
    return "data.csv"


@pytest.fixture(scope="module")
def searched():
    return HNMSearch(noise_distribution="gaussian", column_transform="none").fit(
        hetero_chain(np.random.default_rng(0), 300)
    )


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        (",a,b\n", "0,1,2\n1,3,4\n"),  # pandas
        ('"","a","b"\n', '"1",1,2\n"2",3,4\n'),  # R
        ("Unnamed: 0,a,b\n", "0,1,2\n1,3,4\n"),  # pandas once more
        (",a,b\n", "2024-03-31,1,2\nnoon,3,4\n"),
    ],
)
def test_a_first_column_without_a_name_labels_the_rows_and_that_is_said(head, rows, caplog):
    caplog.set_level(logging.INFO, "icdh.files")
    found = read_table(io.BytesIO((head + rows).encode()))
    assert (found.columns, found.values.tolist()) == (["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    assert "its cells are taken for labels of the rows" in caplog.text
    caplog.clear()
    read_table(io.BytesIO((head + rows).encode()), drop=["1"])
    assert caplog.text == ""


def test_an_empty_name_in_quotes_is_a_name():
    assert read_table(io.BytesIO(b'"",a\n1,2\n')).columns == ["", "a"]


def test_columns_are_found_by_number_unless_one_is_called_so():
    data = b"a,1,c\n1,2,3\n4,5,6\n"
    for options, names in (
        ({"drop": ["3"]}, ["a", "1"]),
        ({"drop": ["1"]}, ["a", "c"]),
        ({"columns": ["3", "a"]}, ["c", "a"]),
    ):
        assert read_table(io.BytesIO(data), header=True, **options).columns == names
    for number in ("0", "4"):
        with pytest.raises(ValueError, match=f"no column '{number}'"):
            read_table(io.BytesIO(data), header=True, drop=[number])


def test_the_index_of_pandas_goes_through_the_command(tmp_path, chain, capsys):
    path = tmp_path / "data.csv"
    lines = [f"{k},{','.join(map(str, row))}" for k, row in enumerate(chain.values.tolist())]
    path.write_text("\n".join([",a,b,c", *lines]))
    assert cli.main(["fit", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("400 observations of 3 variables")
    assert f"icdh: note: the first column of {path} has no name: its cells are taken for labels of the rows\n" in err
    assert cli.main(["fit", str(path), "--drop", "1", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_column_that_numbers_the_rows_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(60, 2))
    lines = [f"{500 + k},{a},{'yes' if a + b > 0 else 'no'},{b}" for k, (a, b) in enumerate(x)]
    Path("data.csv").write_text("\n".join(["order id,x,label,y", *lines]), encoding="utf-8")
    known = ["--kinds", "label=categorical", "--max-seconds", "1e-6"]
    assert cli.main(["fit", "data.csv", *known]) == 0
    said = capsys.readouterr().err
    assert "note: order id rises by one from row to row; if it numbers the rows, say --drop 'order id'" in said
    assert said.count("rises by one") == 1
    for without in (["--drop", "order id"], ["--quiet"]):
        assert cli.main(["fit", "data.csv", *known, *without]) == 0
        assert "rises by one" not in capsys.readouterr().err


def test_check_and_report_of_a_saved_model_read_its_columns_alone(table, capsys):
    assert cli.main(["fit", table, "--quiet", "--save", "model.icdh"]) == 0
    lines = Path(table).read_text(encoding="utf-8").splitlines()
    wide = [f"{line},{'day' if k == 0 else '2024-03-31'}" for k, line in enumerate(lines)]
    Path("wide.csv").write_text("\n".join(wide), encoding="utf-8")
    assert cli.main(["check", "model.icdh", "wide.csv"]) == 0
    assert cli.main(["report", "wide.csv", "--model", "model.icdh"]) == 0
    assert capsys.readouterr().out.endswith("wide.html\n")


@pytest.mark.parametrize(
    ("argument", "value", "of", "python", "shown"),
    [
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
        ("X", [], None, "X", "the table"),
        ("--where", [], None, "--where", "--where"),
    ],
)
def test_messages_name_arguments_as_whoever_reads_them_knows_them(argument, value, of, python, shown):
    assert option(argument, *value, of=of) == python
    with naming(as_option):
        assert option(argument, *value, of=of) == shown
        assert str(ArgumentValueError(argument, "is wrong")) == f"{option(argument)} is wrong"


@pytest.mark.parametrize("command", ["fit", "report"])
def test_the_first_help_is_short_and_the_second_whole(command, capsys):
    texts = {}
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit) as exit_:
            cli.main([command, flag])
        assert exit_.value.code == 0
        texts[flag] = capsys.readouterr().out
    options = {flag: {word for word in text.split() if word.startswith("--")} for flag, text in texts.items()}
    shown = sum(line.startswith("  -") for line in texts["--help"].splitlines()) - 2  # both helps
    assert shown == 18
    assert {"--group-column", "--sequence"} <= options["--help"]
    assert f"more options: icdh {command} --help-all" in texts["--help"]
    assert options["--help"] < options["--help-all"]
    assert "--prior-precision" in options["--help-all"] - options["--help"]


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
    x = hetero_chain(np.random.default_rng(0), 300)
    known = HNMSearch(
        noise_distribution="gaussian",
        column_transform="none",
        knowledge=Knowledge(required=[("x0", "x1"), ("x1", "x2"), ("x0", "x2")]),
    ).fit(x)
    np.testing.assert_array_equal(direction_loss(known), np.where(known.adjacency_matrix_, np.inf, np.nan))
    assert np.isnan(direction_loss(searched)[searched.adjacency_matrix_ == 0]).all()
    late = HNMSearch(hidden_units=2).fit(x)
    found = late.found_graph()
    late._found = found._replace(scores=found.scores.on(found.scores.families, Clock()))  # nothing is fitted
    assert np.isnan(direction_loss(late, clock=Clock(1e-9))).all()


def test_no_reversal_gains_where_a_search_ends():
    """Of this table the families of a reversal look 50 nats worse than they are until they are polished."""
    data = simulate.simulate_sem(simulate.erdos_renyi(8, 1, random_state=14), 800, random_state=14, standardize=True)
    with pytest.warns(DataWarning, match="read as grades"):
        model = HNMSearch().fit(np.round(2 * data.X) / 2)
    assert np.nanmin(direction_loss(model)) >= 0.0


def records_with(searched, nats, record=None):
    """The records of the edges of a search, all of whose directions lose some nats."""
    loss = np.where(searched.adjacency_matrix_ != 0, nats, np.nan)
    records = edge_records(replace(searched.model_, direction_loss=loss), None)
    return [replace(edge, track_record=record) for edge in records]


def test_arrows_that_lose_little_are_marked_and_explained(searched):
    first, *others = records_with(searched, 50.0)
    records = [replace(first, direction_loss=1.5), *others]
    _, names, *edges, strength, turned, mark = edge_list(searched, records)
    assert names.split() == ["cause", "->", "effect", "strength", "if", "turned"]
    (marked,) = [line.split() for line in edges if line.endswith("?")]
    assert (marked[0], marked[2], marked[-2]) == (first.cause, first.effect, "1.5")
    assert strength.startswith("strength: nats (units of log-likelihood)")
    assert turned == "if turned: nats lost by reversing this arrow"
    assert mark == "? reversing it loses less than 6 nats: the data hardly tell its direction"


@pytest.mark.parametrize(("record", "worse"), [(NEITHER, True), (TAILS, False)])
def test_track_records_stand_in_the_list_and_colour_arrows(searched, record, worse):
    first, *others = records_with(searched, np.nan)
    records = [replace(first, track_record=record), *others]
    _, heading, shown, *lines = edge_list(searched, records)
    assert heading.endswith("track record")
    assert shown.split()[4:] == [f"{100 * record.share:.0f}", "%"]
    assert not any("%" in line for line in lines[: len(others)])
    (said,) = [line for line in lines if line.startswith("track record: ")]
    assert "pointed the right way in 407 other, real tables" in said
    assert said.endswith("worse than a coin") == worse
    styles = edge_styles(records, searched.model_.names)
    orange = [style.meanings for style in styles.values() if style.color == LOOK.unlikely]
    assert orange == [(f"orange: {UNLIKELY}",)] * worse
    assert "track record" not in "".join(edge_list(searched, others))


def test_a_graph_without_edges_says_that_this_is_no_evidence(tmp_path, capsys):
    write_table(tmp_path / "noise.csv", np.random.default_rng(0).normal(size=(60, 3)), ["a", "b", "c"])
    assert cli.main(["fit", str(tmp_path / "noise.csv")]) == 0
    assert capsys.readouterr().out.endswith(
        "moves\nno edge stands out in these rows: that is no evidence that nothing causes anything\n"
    )


def test_track_records_reach_list_picture_and_report(table, monkeypatch, capsys):
    monkeypatch.setattr(Marginals, "record", lambda self, cause, effect: NEITHER)
    assert cli.main(["fit", table, "--plot", "graph.svg"]) == 0
    assert "37 %" in capsys.readouterr().out
    text = Path("graph.svg").read_text(encoding="utf-8")
    assert f"orange: {UNLIKELY}" in text
    assert LOOK.unlikely in text
    assert cli.main(["report", table, "-o", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'class="edge unlikely"' in page
    assert '<td class="n warn">37 %</td>' in page
    assert cli.main(["fit", table, "--method", "icdh"]) == 0  # nobody counted its arrows
    assert "track record" not in capsys.readouterr().out


def test_a_table_without_two_whole_rows_has_no_track_record(table, capsys):
    values = read_table(table).values.copy()
    values[np.arange(len(values)), np.arange(len(values)) % 3] = np.nan
    write_table("gaps.csv", values[:60], ["a", "b", "c"])
    assert cli.main(["fit", "gaps.csv", "--missing", "impute"]) == 0
    assert "track record" not in capsys.readouterr().out


def test_marks_reach_list_picture_and_report(table, monkeypatch, capsys):
    monkeypatch.setattr(result, "DOUBTFUL", 1e9)
    assert cli.main(["fit", table, "--plot", "graph.svg"]) == 0
    assert "? reversing it loses less than 6 nats: the data hardly tell its direction" in capsys.readouterr().out
    text = Path("graph.svg").read_text(encoding="utf-8")
    assert "stroke-dasharray" in text
    assert cli.main(["report", table, "-o", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'class="edge doubtful' in page
    assert "Dashed, and marked by ? below: reversing it loses less than 6 nats" in page


def test_the_time_that_is_asked_for_bounds_resamples_and_posterior(searched):
    x = hetero_chain(np.random.default_rng(0), 300)
    with pytest.raises(TimeoutError, match="were over before the evidence of all families was known"):
        posterior(HNMSearch(hidden_units=2, column_transform="none").fit(x), max_seconds=1e-9)
    with pytest.raises(TimeoutError, match="after 0 of 5"):
        bootstrap(HNMSearch(hidden_units=2), x, 5, max_seconds=1e-9)
    seen = []

    def stop_after_two(resample):
        seen.append(resample)
        if len(seen) == 2:
            compiling.seconds -= 1e6  # time flies

    try:
        with pytest.warns(ConvergenceWarning, match=r"after 2 of 5; the probabilities are of these"):
            ensemble = bootstrap(
                HNMSearch(hidden_units=2, column_transform="none"), x, 5, max_seconds=1e5, callback=stop_after_two
            )
    finally:
        compiling.seconds += 1e6
    assert len(ensemble.graphs) == 2
    assert ensemble.weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(ensemble.graphs[0], seen[0].adjacency != 0)


def test_a_graph_is_kept_where_time_is_over_before_its_probabilities(table, capsys, monkeypatch):
    monkeypatch.setattr("icdh.uncertainty.posterior.posterior", _out_of_time)
    assert cli.main(["fit", table, "--posterior", "--max-seconds", "1000"]) == 0
    out, err = capsys.readouterr()
    assert "a -> b" in out
    assert "icdh: warning: --max-seconds 3 were over" in err


def _out_of_time(model, **options):
    raise TimeoutError(f"{option('max_seconds', 3.0)} were over")


def test_compiling_does_not_count(monkeypatch):
    clock = Clock(10.0)
    monkeypatch.setattr(compiling, "seconds", compiling.seconds + 100.0)
    copy = pickle.loads(pickle.dumps(clock))
    assert 109.0 < clock.left <= 110.0
    assert 109.0 < copy.left <= 110.0
    assert Clock(10.0).left <= 10.0


def test_a_missing_extra_is_found_before_the_fit(table, shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    monkeypatch.setattr(HNMSearch, "fit", lambda *_, **__: pytest.fail("fitted"))
    code, out, err = shown("fit", table, "--bootstrap", "3", "--jobs", "2")
    assert (code, out) == (2, "")
    assert "pip install 'icdh[parallel]'" in err
