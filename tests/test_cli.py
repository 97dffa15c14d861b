import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest

from icdh import ICDH, HNMSearch, __version__, cli
from icdh.files import read_graph
from icdh.two_phase import procedure

GIVEN = {"knowledge": None, "missing_values": None, "random_state": 5, "verbose": True, "callback": ANY}
ROOT = Path(__file__).parent.parent


@pytest.fixture
def table(tmp_path, chain):
    """The chain as a CSV file."""
    path = tmp_path / "data.csv"
    np.savetxt(path, chain.values, delimiter=",", header=",".join(chain.columns), comments="", fmt="%.17g")
    return path


def icdh(*arguments, cwd=ROOT):
    """Run ``python -m icdh`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "icdh", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )


def fit(*arguments):
    """Run ``icdh fit`` in this process."""
    return cli.main(["fit", *map(str, arguments)])


def assert_one_line(text, *parts):
    assert text.count("\n") == 1
    assert text.startswith("icdh: error: ")
    for part in parts:
        assert part in text


def test_fit_as_a_process_prints_the_graph_that_the_estimator_learns(table, fitted):
    result = icdh("fit", table, "--method", "icdh", "--scaling", "standardize", cwd=table.parent)
    assert result.returncode == 0
    assert result.stderr in ("", "icdh: note: compiling what is needed for the first time; later runs find it\n")
    head, _, *edges, _ = result.stdout.splitlines()
    assert head.startswith(f"400 observations of 3 variables: {len(edges)} edges")
    expected = [(edge.cause, "->", edge.effect, f"{edge.strength:.3f}") for edge in fitted.edge_list()]
    assert [tuple(line.split()) for line in edges] == expected


def test_output_that_nobody_reads_is_no_error_and_costs_no_file(table, tmp_path):
    """As in ``icdh fit data.csv --output graph.csv | head``."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [
        sys.executable,
        "-m",
        "icdh",
        "fit",
        str(table),
        "--method",
        "icdh",
        "--scaling",
        "standardize",
        "--output",
        "graph.csv",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, env=environment, check=False)
    os.close(writer)
    assert result.returncode == 141
    assert result.stderr == b""
    assert (tmp_path / "graph.csv").exists()


def test_bad_input_as_a_process_is_one_line_and_exit_code_2(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n3\n")
    result = icdh("fit", path)
    assert result.returncode == 2
    assert result.stdout == ""
    assert_one_line(result.stderr, "line 3: 1 cells where the first line has 2")


def test_version_as_a_process():
    result = icdh("--version")
    assert (result.returncode, result.stdout) == (0, f"icdh {__version__}\n")


def test_the_sachs_data_are_at_hand(capsys):
    assert (
        fit("--dataset", "sachs", "--method", "icdh", "--scaling", "standardize", "--max-rounds", 2, "--tol", 1e9) == 0
    )
    out = capsys.readouterr().out
    assert "853 observations of 11 variables" in out
    assert "against the true graph of 17 edges: " in out


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json"])
def test_output_holds_the_learned_graph(table, tmp_path, fitted, suffix):
    path = tmp_path / f"graph.{suffix}"
    assert fit(table, "--method", "icdh", "--scaling", "standardize", "--output", path) == 0
    np.testing.assert_array_equal(read_graph(path, ["a", "b", "c"])[0], fitted.adjacency_matrix_)


def test_dot_and_picture_are_written(table, tmp_path):
    dot, picture = tmp_path / "graph.dot", tmp_path / "graph.png"
    assert fit(table, "--method", "icdh", "--scaling", "standardize", "--output", dot, "--plot", picture) == 0
    assert '"a" -> "b"' in dot.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(os.listdir(tmp_path)) == ["data.csv", "graph.dot", "graph.png"]


def test_a_table_without_header_gets_names(tmp_path, chain, capsys):
    path = tmp_path / "data.tsv"
    np.savetxt(path, chain.values, delimiter="\t")
    assert fit(path, "--method", "icdh", "--scaling", "standardize", "--output", tmp_path / "graph.json") == 0
    assert json.loads((tmp_path / "graph.json").read_text())["names"] == ["x0", "x1", "x2"]
    assert "x0 -> x1" in capsys.readouterr().out
    assert fit(path, "--header", "--method", "icdh", "--max-rounds", 2, "--tol", 1e9) == 0
    assert "399 observations" in capsys.readouterr().out


def test_truth_is_compared_by_hand(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(procedure, "fit_problem", _fixed_result)
    truth = tmp_path / "truth.csv"
    truth.write_text("cause,effect\nb,a\nb,c\n")
    assert fit(table, "--method", "icdh", "--edge-cost", "none", "--truth", truth) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == (
        "against the true graph of 2 edges: 1 of 3 learned right, 1 reversed, 1 extra; 0 missing; structural Hamming "
        "distance (SHD) 2"
    )


def _fixed_result(problem, schedule, limits, **arguments):
    """A result whose graph is a -> b -> c and a -> c."""
    from icdh.network import Weights

    w1 = np.zeros((3, 1, 3))
    w1[1, 0, 0] = w1[2, 0, 1] = w1[2, 0, 0] = 1.0
    weights = Weights(w1, np.zeros((3, 1)), np.zeros((3, 1)), np.zeros(3))
    record = procedure.Round(1, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1, 0.1, 0, "")
    return procedure.TwoPhaseResult(weights, record, [record], True, False)


def test_every_parameter_of_the_estimator_is_an_option(table, tmp_path, monkeypatch):
    (tmp_path / "forbidden.csv").write_text("cause,effect\na,c\n")
    seen = []
    monkeypatch.setattr(ICDH, "fit", lambda self, X, **options: seen.append(self.get_params()) or _stop())
    values = {
        "hidden_units": 3,
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
        "n_restarts": 2,
        "n_jobs": 2,
        "max_seconds": 60.0,
        "min_strength": 0.5,
        "max_edges": 9,
        "missing": "impute",
        "n_imputations": 3,
        "forbidden_edges": tmp_path / "forbidden.csv",
    }
    options = [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if name != "bias"]
    assert fit(table, "--method", "icdh", *options, "--bias", "--seed", 5, "--verbose") == 2
    found = seen[0]
    mask = found.pop("forbidden_edges")
    assert np.argwhere(mask).tolist() == [[0, 2]]
    del values["forbidden_edges"]
    assert found == {
        **values,
        "knowledge": None,
        "missing_values": None,
        "random_state": 5,
        "verbose": True,
        "callback": ANY,
    }


def _stop():
    raise ValueError("stopped")


def test_the_search_is_a_method_with_options_of_its_own(table, tmp_path, monkeypatch):
    (tmp_path / "forbidden.csv").write_text("cause,effect\na,c\n")
    seen = []
    monkeypatch.setattr(HNMSearch, "fit", lambda self, X, **options: seen.append(self.get_params()) or _stop())
    values = {
        "hidden_units": 3,
        "prior_precision": 0.25,
        "edge_penalty": 4.0,
        "binary_effect_penalty": 7.0,
        "max_parents": 2,
        "noise_distribution": "free",
        "column_transform": "none",
        "search": "exact",
        "min_strength": 0.5,
        "max_edges": 9,
        "missing": "drop",
        "n_imputations": 3,
        "n_restarts": 1,
        "n_jobs": 2,
        "max_seconds": 60.0,
    }
    options = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    values["hidden_causes"] = False
    forbidden = ["--forbidden-edges", tmp_path / "forbidden.csv"]
    options += ["--kinds", "a=continuous", "c=gridded"]
    assert fit(table, "--method", "search", *options, *forbidden, "--seed", 5, "--verbose") == 2
    assert fit(table, "--edge-penalty", "auto") == 2
    assert seen.pop()["edge_penalty"] == "auto"
    assert seen[0].pop("kinds") == {"a": "continuous", "c": "gridded"}
    assert np.argwhere(seen[0].pop("forbidden_edges")).tolist() == [[0, 2]]
    assert seen[0] == {
        **values,
        "knowledge": None,
        "missing_values": None,
        "random_state": 5,
        "verbose": True,
        "callback": ANY,
    }


def test_the_search_finds_the_chain(table, capsys):
    assert fit(table) == 0
    out = capsys.readouterr().out
    assert "2 edges" in out
    assert "strength: nats" in out
    assert "a -> b" in out
    assert "b -> c" in out


def test_options_have_the_defaults_of_the_estimator(table, monkeypatch):
    seen = []
    monkeypatch.setattr(ICDH, "fit", lambda self, X, **options: seen.append(self.get_params()) or _stop())
    assert fit(table, "--method", "icdh") == 2
    assert seen[0] == {**ICDH().get_params(), "random_state": 0, "callback": ANY}


def test_verbose_reports_rounds_and_quiet_nothing(table, capsys):
    assert fit(table, "--method", "icdh", "--scaling", "standardize", "--verbose") == 0
    assert capsys.readouterr().err.startswith("icdh: round 1: nll")
    assert fit(table, "--method", "icdh", "--scaling", "standardize", "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_warnings_are_single_lines(table, capsys):
    assert fit(table, "--method", "icdh", "--scaling", "standardize", "--edge-cost", "none", "--max-rounds", 1) == 0
    err = capsys.readouterr().err
    assert err == "icdh: warning: the fit still improved after 1 round; raise --max-rounds or --tol\n"


def test_without_matplotlib_the_extra_is_named(table, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert fit(table, "--plot", table.parent / "graph.png") == 2
    assert_one_line(capsys.readouterr().err, "pip install 'icdh[plot]'")


def test_an_interrupt_is_one_line_and_exit_code_130(table, capsys, monkeypatch):
    def interrupt(self, X, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(HNMSearch, "fit", interrupt)
    assert fit(table) == 130
    assert_one_line(capsys.readouterr().err, "interrupted")


def test_a_failing_picture_leaves_nothing_half_written(table, capsys, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, path, **options):
        Path(path).write_text("half")
        raise OSError(errno.ENOSPC, "disk full", str(path))

    monkeypatch.setattr(Figure, "savefig", fail)
    assert fit(table, "--method", "icdh", "--scaling", "standardize", "--plot", table.parent / "graph.png") == 2
    assert_one_line(capsys.readouterr().err, "disk full")
    assert os.listdir(table.parent) == ["data.csv"]


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_help_shows_defaults_that_say_something(command, capsys):
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    shown = capsys.readouterr().out
    assert "default: []" not in shown
    assert "default: None" not in shown
    assert "--seed" not in shown or "(default: 0)" in shown
