import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from helpers import command, process

from icdh import ICDH, HNMSearch, __version__, cli
from icdh._estimators import two_phase_fit
from icdh.files import read_graph
from icdh.two_phase import procedure

ICDH_METHOD = ("--method", "icdh", "--scaling", "standardize")
ROOT = Path(__file__).parent.parent


@pytest.fixture
def table(tmp_path, chain):
    """The chain as a CSV file."""
    path = tmp_path / "data.csv"
    np.savetxt(path, chain.values, delimiter=",", header=",".join(chain.columns), comments="", fmt="%.17g")
    return path


def fit(*arguments):
    return command("fit", *arguments)


def assert_one_line(text, part):
    assert text.count("\n") == 1
    assert text.startswith("icdh: error: ")
    assert part in text


def test_fit_as_a_process_prints_the_graph_that_the_estimator_learns(table, fitted):
    result = process("fit", table, *ICDH_METHOD, text=True)
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
    assert result.returncode == 141
    assert result.stderr == ""
    assert (tmp_path / "graph.csv").exists()


def test_bad_input_as_a_process_is_one_line_and_exit_code_2(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n3\n")
    result = process("fit", path, text=True)
    assert result.returncode == 2
    assert result.stdout == ""
    assert_one_line(result.stderr, "line 3: 1 cells where the first line has 2")


def test_version_as_a_process():
    result = process("--version", text=True)
    assert (result.returncode, result.stdout) == (0, f"icdh {__version__}\n")


def test_the_sachs_data_are_at_hand(capsys):
    assert fit("--dataset", "sachs", *ICDH_METHOD, "--max-rounds", 2, "--tol", 1e9) == 0
    out = capsys.readouterr().out
    assert "853 observations of 11 variables" in out
    assert "against the true graph of 17 edges: " in out


def test_outputs_hold_the_learned_graph(table, tmp_path, fitted):
    paths = [tmp_path / f"graph.{suffix}" for suffix in ("csv", "tsv", "json", "dot")]
    picture = ["--plot", tmp_path / "graph.png"]
    for k, path in enumerate(paths):
        assert fit(table, *ICDH_METHOD, "--output", path, *(() if k else picture)) == 0
    for path in paths[:3]:
        np.testing.assert_array_equal(read_graph(path, ["a", "b", "c"])[0], fitted.adjacency_matrix_)
    assert '"a" -> "b"' in paths[3].read_text()
    assert picture[1].read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(tmp_path)) == ["data.csv", *sorted(path.name for path in (*paths, picture[1]))]


def test_a_table_without_header_gets_names(tmp_path, chain, capsys):
    path = tmp_path / "data.tsv"
    np.savetxt(path, chain.values, delimiter="\t")
    assert fit(path, *ICDH_METHOD, "--output", tmp_path / "graph.json") == 0
    assert json.loads((tmp_path / "graph.json").read_text())["names"] == ["x0", "x1", "x2"]
    assert "x0 -> x1" in capsys.readouterr().out
    assert fit(path, "--header", "--method", "icdh", "--max-rounds", 2, "--tol", 1e9) == 0
    assert "399 observations" in capsys.readouterr().out


def test_truth_is_compared_by_hand(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(two_phase_fit, "fit_problem", _fixed_result)
    truth = tmp_path / "truth.csv"
    truth.write_text("cause,effect\nb,a\nb,c\n")
    assert fit(table, "--method", "icdh", "--edge-cost", "none", "--truth", truth) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == (
        "against the true graph of 2 edges: 1 of 3 learned right, 1 reversed, 1 extra; 0 missing; structural Hamming "
        "distance (SHD) 2"
    )


def _fixed_result(problem, schedule, limits, initial, callback):
    """A result whose graph is a -> b -> c and a -> c."""
    from icdh.network import Weights

    w1 = np.zeros((3, 1, 3))
    w1[1, 0, 0] = w1[2, 0, 1] = w1[2, 0, 0] = 1.0
    weights = Weights(w1, np.zeros((3, 1)), np.zeros((3, 1)), np.zeros(3))
    record = procedure.Round(1, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1, 0.1, 0, "")
    return procedure.TwoPhaseResult(weights, record, [record], True, False)


OF_BOTH = {
    "hidden_units": 3,
    "min_strength": 0.5,
    "max_edges": 9,
    "n_imputations": 3,
    "n_restarts": 2,
    "n_jobs": 2,
    "max_seconds": 60.0,
}
OF_ICDH = OF_BOTH | {
    "l1": 0.5,
    "l2": 0.25,
    "schedule": "paper",
    "noise": "unequal",
    "bias": True,
    "scaling": "center",
    "threshold": 0.7,
    "edge_cost": 12.5,
    "max_rounds": 4,
    "tol": 0.125,
    "h_tol": 1e-5,
    "rho_max": 1e9,
    "missing": "impute",
}
OF_SEARCH = OF_BOTH | {
    "prior_precision": 0.25,
    "edge_penalty": 4.0,
    "binary_effect_penalty": 7.0,
    "max_parents": 2,
    "noise_distribution": "free",
    "column_transform": "none",
    "search": "exact",
    "hidden_causes": False,
    "missing": "drop",
    "kinds": {"a": "continuous", "c": "gridded"},
}


@pytest.mark.parametrize(("kind", "method", "values"), [(ICDH, "icdh", OF_ICDH), (HNMSearch, "search", OF_SEARCH)])
def test_every_parameter_of_an_estimator_is_an_option(table, tmp_path, monkeypatch, kind, method, values):
    (tmp_path / "forbidden.csv").write_text("cause,effect\na,c\n")
    seen = []
    monkeypatch.setattr(kind, "fit", lambda self, X, **options: seen.append(self.get_params()) or _stop())
    options = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            options += [option, *(f"{column}={kind}" for column, kind in value.items())]
        else:
            flag = option if value is True else option.replace("--", "--no-")
            options.append(flag if isinstance(value, bool) else f"{option}={value}")
    forbidden = ["--forbidden-edges", tmp_path / "forbidden.csv"]
    assert fit(table, "--method", method, *options, *forbidden, "--seed", 5, "--verbose") == 2
    assert np.argwhere(seen[0].pop("forbidden_edges")).tolist() == [[0, 2]]
    others = {"knowledge": None, "missing_values": None, "random_state": 5, "verbose": True, "callback": ANY}
    assert seen[0] == values | others


def test_a_word_stands_where_a_number_may(table, monkeypatch):
    seen = []
    monkeypatch.setattr(HNMSearch, "fit", lambda self, X, **options: seen.append(self.get_params()) or _stop())
    assert fit(table, "--edge-penalty", "auto") == 2
    assert seen[0]["edge_penalty"] == "auto"


def _stop():
    raise ValueError("stopped")


def test_options_have_the_defaults_of_the_estimator(table, monkeypatch):
    seen = []
    monkeypatch.setattr(ICDH, "fit", lambda self, X, **options: seen.append(self.get_params()) or _stop())
    assert fit(table, "--method", "icdh") == 2
    assert seen[0] == {**ICDH().get_params(), "random_state": 0, "callback": ANY}


def test_verbose_reports_rounds_and_quiet_nothing(table, capsys):
    assert fit(table, *ICDH_METHOD, "--verbose") == 0
    assert capsys.readouterr().err.startswith("icdh: round 1: nll")
    assert fit(table, *ICDH_METHOD, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_warnings_are_single_lines(table, capsys):
    assert fit(table, *ICDH_METHOD, "--edge-cost", "none", "--max-rounds", 1) == 0
    err = capsys.readouterr().err
    assert err == "icdh: warning: the fit still improved after 1 round; raise --max-rounds or --tol\n"


def test_without_matplotlib_the_extra_is_named(table, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert fit(table, "--plot", table.parent / "graph.png") == 2
    assert_one_line(capsys.readouterr().err, "pip install 'icdh[plot]'")


def test_a_failing_picture_leaves_nothing_half_written(table, capsys, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, path, **options):
        Path(path).write_text("half")
        raise OSError(errno.ENOSPC, "disk full", str(path))

    monkeypatch.setattr(Figure, "savefig", fail)
    assert fit(table, *ICDH_METHOD, "--plot", table.parent / "graph.png") == 2
    assert_one_line(capsys.readouterr().err, "disk full")
    assert os.listdir(table.parent) == ["data.csv"]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_shows_defaults_that_say_something(name, capsys):
    assert command(name, "--help") == 0
    shown = capsys.readouterr().out
    assert "default: []" not in shown
    assert "default: None" not in shown
    assert "--seed" not in shown or "(default: 0)" in shown
