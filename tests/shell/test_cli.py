import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from helpers import cases, process

from icdh import ICDH, HNMSearch, __version__, cli, graphs, metrics
from icdh.files import read_graph, read_table

ICDH_METHOD = ("--method", "icdh", "--scaling", "standardize")


def test_fit_as_a_process_prints_the_graph_that_the_estimator_learns(chain_file, fitted):
    result = process("fit", chain_file, *ICDH_METHOD, text=True)
    assert result.returncode == 0
    assert result.stderr in ("", "icdh: note: compiling what is needed for the first time; later runs find it\n")
    head, _, *edges, _ = result.stdout.splitlines()
    assert head.startswith(f"400 observations of 3 variables: {len(edges)} edges")
    expected = [(edge.cause, "->", edge.effect, f"{edge.strength:.3f}") for edge in fitted.edge_list()]
    assert [tuple(line.split()) for line in edges] == expected


def test_output_that_nobody_reads_is_no_error_and_costs_no_file(tmp_path):
    """As in ``icdh simulate data.csv graph.csv | head``."""
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"capture_output": False, "stdout": writer, "stderr": subprocess.PIPE, "cwd": tmp_path, "text": True}
    result = process("simulate", "data.csv", "graph.csv", **streams)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, "")
    assert (tmp_path / "graph.csv").exists()


def test_the_version(shown):
    assert shown("--version") == (0, f"icdh {__version__}\n", "")


def test_the_sachs_data_are_at_hand(printed):
    out = printed("fit", "--dataset", "sachs", *ICDH_METHOD, "--max-rounds", 2, "--tol", 1e9)
    assert "853 observations of 11 variables" in out
    assert "against the true graph of 17 edges: " in out


def test_outputs_hold_the_learned_graph(chain_file, fitted, printed):
    printed("fit", chain_file, *ICDH_METHOD, "--output", "graph.tsv", "--plot", "graph.png")
    np.testing.assert_array_equal(read_graph("graph.tsv", ["a", "b", "c"])[0], fitted.adjacency_matrix_)
    assert Path("graph.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir()) == ["data.csv", "graph.png", "graph.tsv"]


def test_a_table_without_header_gets_names(tmp_path, chain, printed):
    path, graph = tmp_path / "data.tsv", tmp_path / "graph.json"
    np.savetxt(path, chain.values, delimiter="\t")
    assert "x0 -> x1" in printed("fit", path, *ICDH_METHOD, "--output", graph)
    assert json.loads(graph.read_text())["names"] == ["x0", "x1", "x2"]
    assert "399 observations" in printed("fit", path, "--header", "--method", "icdh", "--max-rounds", 2, "--tol", 1e9)


def test_truth_is_compared_by_hand(chain_file, printed):
    Path("truth.csv").write_text("cause,effect\nb,a\nb,c\n")
    known = ("--require", "a,b", "--require", "b,c", "--require", "a,c")
    assert printed("fit", chain_file, *known, "--truth", "truth.csv").splitlines()[-1] == (
        "against the true graph of 2 edges: 1 of 3 learned right, 1 reversed, 1 extra; 0 missing; structural Hamming "
        "distance (SHD) 2"
    )


OF_BOTH = {"hidden_units": 3, "min_strength": 0.5, "max_edges": 9, "n_imputations": 3, "n_restarts": 2, "n_jobs": 2}
OF_BOTH |= {"max_seconds": 60.0}
OF_ICDH = (
    OF_BOTH
    | {"l1": 0.5, "l2": 0.25, "schedule": "paper", "noise": "unequal", "bias": True, "scaling": "center"}
    | {"activation": "tanh"}
    | {"threshold": 0.7, "edge_penalty": 12.5, "max_rounds": 4, "tol": 0.125, "h_tol": 1e-5, "rho_max": 1e9}
    | {"missing": "impute"}
)
OF_SEARCH = (
    OF_BOTH
    | {"prior_precision": 0.25, "edge_penalty": 4.0, "binary_effect_penalty": 7.0, "max_parents": 2}
    | {"noise_distribution": "free", "column_transform": "none", "search": "exact"}
    | {"missing": "drop", "kinds": {"a": "continuous", "c": "gridded"}}
)


@pytest.fixture
def parameters(chain_file, shown, monkeypatch):
    """Those of the estimator that a command makes."""

    def of(estimator, *options):
        seen = []

        def fit(self, X, **_):
            seen.append(self.get_params())
            raise ValueError("stopped")

        monkeypatch.setattr(estimator, "fit", fit)
        assert shown("fit", chain_file, *options)[0] == 2
        return seen[0]

    return of


@pytest.mark.parametrize(("kind", "method", "values"), [(ICDH, "icdh", OF_ICDH), (HNMSearch, "search", OF_SEARCH)])
def test_every_parameter_of_an_estimator_is_an_option(parameters, kind, method, values):
    options = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            options += [option, *(f"{column}={kind}" for column, kind in value.items())]
        elif isinstance(value, bool):
            options.append(option if value else option.replace("--", "--no-"))
        else:
            options.append(f"{option}={value}")
    seen = parameters(kind, "--method", method, *options, "--seed", 5, "--verbose")
    others = {"knowledge": None, "missing_values": None, "random_state": 5, "verbose": True, "callback": ANY}
    assert seen == values | others


def test_options_have_the_defaults_of_the_estimator_and_a_word_stands_where_a_number_may(parameters):
    assert parameters(ICDH, "--method", "icdh") == {**ICDH().get_params(), "random_state": 0, "callback": ANY}
    assert parameters(HNMSearch, "--edge-penalty", "auto")["edge_penalty"] == "auto"


def test_verbose_reports_rounds_quiet_nothing_and_warnings_are_single_lines(chain_file, shown):
    assert shown("fit", chain_file, *ICDH_METHOD, "--verbose")[2].startswith("icdh: round 1: nll")
    assert shown("fit", chain_file, *ICDH_METHOD, "--quiet") == (0, "", "")
    code, _, err = shown("fit", chain_file, *ICDH_METHOD, "--edge-penalty", "none", "--max-rounds", 1)
    said = "icdh: warning: the fit still improved after 1 round; raise --max-rounds or --tol\n"
    assert (code, err) == (0, said)


@cases(
    ("module", "extra", "options"),
    ("matplotlib.backends.backend_agg", "plot", ("--plot", "graph.png")),
    ("joblib", "parallel", ("--bootstrap", 3, "--jobs", 2)),
)
def test_a_missing_extra_is_found_before_the_fit(chain_file, refused, monkeypatch, module, extra, options):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(HNMSearch, "fit", lambda *_, **__: pytest.fail("fitted"))
    err = refused("fit", chain_file, *options)
    assert (err.count("\n"), f"pip install 'icdh[{extra}]'" in err) == (1, True)


def test_a_failing_picture_leaves_nothing_half_written(chain_file, shown, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, path, **options):
        Path(path).write_text("half")
        raise OSError(errno.ENOSPC, "disk full", str(path))

    monkeypatch.setattr(Figure, "savefig", fail)
    code, _, err = shown("fit", chain_file, *ICDH_METHOD, "--plot", "graph.png")
    assert (code, err.count("\n"), "disk full" in err) == (2, 1, True)
    assert os.listdir() == ["data.csv"]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_shows_defaults_that_say_something(name, printed):
    shown = printed(name, "--help")
    assert not any(f"default: {nothing})" in shown for nothing in ("", "[]", "()", "None", "False"))
    assert "--seed" not in shown or "(default: 0)" in shown


def written(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


@pytest.fixture
def truth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return written("truth.csv", "a,b,c\n0,1,0\n0,0,1\n0,0,0\n")


@pytest.mark.usefixtures("truth")
def test_simulate_writes_a_table_and_its_graph(printed):
    options = ["--variables", 6, "--edges-per-variable", 1.5, "--observations", 200, "--noise", "exp-bounded"]
    options += ["--standardize", "--seed", 3]
    output = printed("simulate", "x.csv", "graph.tsv", *options)
    for part in ("200 observations of 6 variables, 9 edges", "varsortability 0.500", "by a factor of up to 10\n"):
        assert part in output
    table = read_table("x.csv")
    assert table.columns == ["x0", "x1", "x2", "x3", "x4", "x5"]
    np.testing.assert_allclose(table.values.std(axis=0), 1)
    graph, _ = read_graph("graph.tsv", table.columns)
    assert (np.count_nonzero(graph), graphs.is_dag(graph)) == (9, True)
    assert printed("simulate", "again.csv", "graph.tsv", *options, "--quiet") == ""
    np.testing.assert_array_equal(read_table("again.csv").values, table.values)


def test_simulate_from_a_graph_of_the_user(truth, printed):
    model = ["--mechanism", "linear", "--noise", "homo-nv", "--distribution", "laplace"]
    printed("simulate", "x.tsv", "graph.json", "--adjacency", truth, *model)
    assert read_table("x.tsv").columns == ["a", "b", "c"]
    np.testing.assert_array_equal(read_graph("graph.json")[0], read_graph(truth)[0])


def test_evaluate_prints_every_metric(truth, printed):
    estimated = written("estimated.tsv", "cause\teffect\tweight\na\tb\t0.9\nc\tb\t0.4\n")  # c -> b is reversed
    found = json.loads(printed("evaluate", estimated, truth, "--json"))
    assert found == metrics.evaluate(read_graph(estimated, ["a", "b", "c"])[0], read_graph(truth)[0])
    assert (found["shd"], found["reversed"], found["precision"]) == (1, 1, 0.5)
    lines = printed("evaluate", estimated, truth, "--threshold", 0.5).splitlines()
    lines = dict(line.split(maxsplit=1) for line in lines)
    assert (lines["shd"], lines["missing"], lines["precision"]) == ("1", "1", "1.0000")
    assert lines.keys() == found.keys()


@pytest.mark.parametrize(
    ("text", "shd"),
    [("cause,effect\nb,c\n", 1), ("0,1,0\n0,0,1\n0,0,0\n", 0)],
    ids=["a list of edges", "a matrix without names"],
)
def test_evaluate_knows_which_file_names_all_variables(truth, printed, text, shd):
    for files in ((written("other.csv", text), truth), (truth, "other.csv")):
        assert json.loads(printed("evaluate", *files, "--json"))["shd"] == shd


def test_evaluate_of_a_cyclic_estimate(truth, printed):
    cyclic = written("cyclic.csv", "0,1,0\n1,0,1\n0,0,0\n")
    assert "sid                 not available" in printed("evaluate", cyclic, truth)
