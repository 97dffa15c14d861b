"""Nothing that a user of the command line does ends in a traceback, a silent misreading or lost work."""

import ctypes
import gzip
import io
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers import ENVIRONMENT, cases, command, process, without_progress

from icdh import ICDH, HNMSearch, pairs, simulate
from icdh.exceptions import WorkerLostError
from icdh.files import read_graph, write_table

QUICK = ("--method", "icdh", "--max-rounds", "2", "--tol", "1e9")
SIMULATE = "simulate new.csv graph.csv"  # quick, as it compiles nothing
WARNED = "fit data.csv --method icdh --edge-penalty none --max-rounds 1 --output graph.csv"
needs_dev_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


# Tables as users have them.


def test_options_say_how_a_table_is_written(tmp_path, chain, printed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "größe b c\n" + "\n".join(" ".join(f"{v:.3f}".replace(".", ",") for v in row) for row in chain.values)
    Path("data.txt").write_bytes(gzip.compress(text.encode("latin-1")))
    options = ["--sep", "space", "--decimal", ",", "--encoding", "latin-1"]
    printed("fit", "data.txt", *options, *QUICK, "--output", "graph.json")
    assert read_graph("graph.json")[1] == ["größe", "b", "c"]
    assert "größe, b" in printed("direction", "data.txt", *options, "--columns", "größe", "b")


def test_standard_input_and_pipes_are_tables(chain_file, printed):
    expected = printed("fit", chain_file, *QUICK)
    os.mkfifo("pipe")
    with ThreadPoolExecutor() as other:
        other.submit(Path("pipe").write_bytes, chain_file.read_bytes())
        assert printed("fit", "pipe", *QUICK) == expected
    Path("truth.csv").write_text("cause,effect\na,b\nb,c\n")
    found = process("evaluate", "-", "truth.csv", "--json", input=b",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n")
    assert b'"shd": 0' in found.stdout
    twice = process("evaluate", "-", "-", input=b"")
    assert (twice.returncode, twice.stdout) == (2, b"")
    assert b"only one of the estimated graph, the true graph can be -" in twice.stderr


def test_what_a_terminal_cannot_show_is_escaped(tmp_path, chain, monkeypatch):
    names, path = ["\x1b[2J", "b\nb", "größe"], tmp_path / "data.csv"
    write_table(path, chain.values, names)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert command("fit", path, "--method", "icdh", "--scaling", "standardize") == 0
    assert command("direction", path, "--columns", names[0], names[2]) == 0
    said = sys.stdout.buffer.getvalue()
    assert (rb"\x1b[2J -> b\nb" in said, rb"gr\xf6\xdfe" in said, b"\x1b" in said) == (True, True, False)


# Work is never lost.


@needs_dev_full
def test_a_graph_that_cannot_be_written_is_printed(chain_file, printed, shown):
    summary = printed("fit", chain_file, *QUICK, "--output", "good.csv")
    graph, error = Path("good.csv").read_text(), "icdh: error: cannot write graph.csv: No space left on device\n"
    Path("graph.csv").symlink_to("/dev/full")
    assert shown("fit", chain_file, *QUICK, "--output", "graph.csv") == (2, graph + summary, error)
    assert shown("fit", chain_file, *QUICK, "--output", "graph.csv", "--quiet") == (2, graph, error)


@needs_dev_full
@pytest.mark.parametrize(("option", "full"), [("--plot", "full.svg"), ("--report", "full.html")])
def test_a_picture_or_a_page_that_cannot_be_written_costs_nothing_else(chain_file, shown, option, full):
    Path(full).symlink_to("/dev/full")
    code, out, err = shown("fit", chain_file, "--output", "graph.csv", option, full, *QUICK)
    assert (code, out.startswith("400 observations of 3 variables")) == (2, True)
    assert f"icdh: error: cannot write {full}: No space left on device" in err
    assert Path("graph.csv").exists()


FULL = b"icdh: error: cannot use the standard input or output: No space left on device\n"


@cases(
    ("asked", "unbuffered", "code"),
    (f"{SIMULATE} >&-", "", 0),
    (f"{SIMULATE} 2>&-", "", 0),
    (f"{WARNED} >&- 2>&-", "", 0),
    (f"{WARNED} 2> /dev/full", "", 0),
    (f"{WARNED} 2> /dev/full", "1", 0),
    (f"{SIMULATE} > /dev/full", "", 2),
    (f"{SIMULATE} > /dev/full", "1", 2),
    (f"{WARNED} > /dev/full", "", 2),
    ("--help > /dev/full", "", 2),
    ("fit --help > /dev/full", "", 2),
    ("--version > /dev/full", "", 2),
)
def test_streams_that_are_closed_or_full_cost_no_file(chain_file, asked, unbuffered, code):
    """Buffered, a stream is full once when the command ends and once more when Python does."""
    if "/dev/full" in asked and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    line, environment = f"{sys.executable} -m icdh {asked}", {**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered}
    result = subprocess.run(line, shell=True, capture_output=True, env=environment, check=False)
    said = without_progress(result.stderr)
    assert (result.returncode, b"warning" in result.stdout) == (code, False)
    assert (b" edges" in result.stdout) == (" >" not in asked)
    assert (said.endswith(FULL) if WARNED in asked else said == FULL) or not code
    assert "graph.csv" not in asked or read_graph("graph.csv")[0].any()


# Ctrl-C: the best so far is written, a line says so, exit code 130.


@cases(
    ("kind", "options", "kept", "said"),
    (ICDH, ("--method", "icdh"), "1 round, not converged", "after 1 round; the best one is kept"),
    (HNMSearch, (), "3 variables: 1 edge,", "after 1 moves; the best graph so far is kept"),
)
def test_an_interrupted_fit_writes_the_best_so_far(chain_file, shown, monkeypatch, kind, options, kept, said):
    report = kind._report

    def interrupt(self, line, record):
        report(self, line, record)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_report", interrupt)
    code, out, err = shown("fit", chain_file, *options, "--output", "graph.csv")
    assert (code, kept in out) == (130, True)
    assert err.splitlines()[-1] == f"icdh: warning: interrupted {said}"
    assert np.count_nonzero(read_graph("graph.csv")[0]) == int(out.split(" variables: ")[1].split()[0])


@cases(
    ("error", "code", "line"),
    (KeyboardInterrupt(), 130, "interrupted before the probabilities were known; the fitted graph is kept"),
    (WorkerLostError("lower n_jobs"), 2, "lower n_jobs"),
)
def test_what_happens_after_the_fit_does_not_cost_the_graph(chain_file, shown, monkeypatch, error, code, line):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("icdh.uncertainty.ensemble.bootstrap", fail)
    found, out, err = shown("fit", chain_file, *QUICK, "--bootstrap", 3, "--output", "graph.csv")
    assert (found, err) == (code, f"icdh: error: {line}\n")
    assert out.startswith("400 observations of 3 variables")
    assert read_graph("graph.csv")[0].any()


@cases(
    ("module", "name", "calls", "asked", "begins", "said"),
    (pairs, "causal_direction", 2, "direction data.csv", ["pair", "a, b", "a, c"], "after 2 of 3 pairs"),
    (HNMSearch, "fit", 0, "fit data.csv --output graph.csv", [], "before there was a result"),
)
def test_an_interrupt_leaves_what_is_done(chain_file, shown, monkeypatch, module, name, calls, asked, begins, said):
    real, done = getattr(module, name), []

    def interrupted(*arguments, **options):
        if len(done) == calls:
            raise KeyboardInterrupt
        done.append(name)
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, interrupted)
    code, out, err = shown(*asked.split())
    assert (code, err) == (130, f"icdh: error: interrupted {said}\n")
    assert [line[:4] for line in out.splitlines()] == begins
    assert not Path("graph.csv").exists()


def assert_one_line_of_an_interrupt(*arguments, **options):
    """Run Python with these arguments: it has to say that it was interrupted, and nothing else."""
    line = [sys.executable, *arguments]
    result = subprocess.run(line, capture_output=True, env=ENVIRONMENT, check=False, timeout=50, **options)
    said = without_progress(result.stderr)
    assert (result.returncode, said[:24], said.count(b"\n")) == (130, b"icdh: error: interrupted", 1), said


INTERRUPTED_IMPORT = """
import os, signal, sys
module, table = sys.argv[1:]
class Finder:
    def find_spec(name, *rest):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
from icdh.__main__ import main
sys.argv[:] = ["icdh", "fit", table]
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["icdh.cli", "argparse", "numpy", "icdh.cli.fit", "numba"])
def test_an_interrupt_while_modules_load_is_one_line(chain_file, module):
    assert_one_line_of_an_interrupt("-c", INTERRUPTED_IMPORT, module, chain_file)


LOST_INTERRUPT = """
import signal, sys, time
from icdh import cli
from icdh.__main__ import main
from icdh.cli.fit import Explain
class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def run(args):
    Dying()
    time.sleep(60)
if sys.argv[1] == "inside":
    cli.run = run
elif sys.argv[1] == "before":
    cli.run = lambda args: signal.raise_signal(signal.SIGINT)
elif sys.argv[1] == "inside exec":
    Explain.run = lambda command: exec("raise KeyboardInterrupt")
else:
    def fail(command):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("half closed")
    Explain.run = fail
sys.argv[:] = ["icdh", "explain"]
sys.exit(main())
"""


@pytest.mark.parametrize("where", ["inside", "before", "inside exec", "in place of an error"])
def test_an_interrupt_that_python_would_lose_or_trace_is_one_line(where, tmp_path):
    """Inside a destructor; outside the command; where Python ends by the signal; where it becomes another error."""
    (tmp_path / "lost.py").write_text(LOST_INTERRUPT)
    assert_one_line_of_an_interrupt("-m", "lost", where, cwd=tmp_path)


@pytest.mark.parametrize("delay", [0.1, 0.3, 1.0])
def test_an_interrupt_at_any_time_is_no_traceback(chain_file, delay):
    command = [sys.executable, "-m", "icdh", "fit", chain_file, "--method", "icdh", "--n-restarts", "500"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as running:
        time.sleep(delay)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    if b"__main__.py" in err or b"interrupted" in err:  # else Python was on its way to the command
        assert (running.returncode, b"Traceback" in err, b"interrupted" in err) == (130, False, True), err


def test_two_interrupts_of_a_long_fit_keep_the_best_graph(tmp_path):
    data = simulate.simulate_sem(simulate.erdos_renyi(6, 1, random_state=0), 21_000, random_state=0)
    write_table(tmp_path / "long.csv", data.X, data.names)
    command = [sys.executable, "-m", "icdh", "fit", tmp_path / "long.csv", "--verbose"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as running:
        moves = (line for line in running.stderr if b"insert" in line)
        next(moves), next(moves)  # a move is kept once its line is out: the first one is when the second is
        running.send_signal(signal.SIGINT)
        for line in running.stderr:
            if b"stopping; the best graph so far follows" in line:
                break
        running.send_signal(signal.SIGINT)
        err, out = running.stderr.read(), running.stdout.read()  # communicate() would miss lines that were read ahead
        running.wait(timeout=100)
    assert (running.returncode, b"Traceback" in err, b"->" in out) == (130, False, True), err
    assert b"the best graph so far is kept" in err


# A traceback only with --debug.


def failing(error):
    def fail():
        raise error

    return fail


@cases(
    ("fail", "code", "line"),
    (failing(MemoryError("5 TiB")), 2, "not enough memory; use fewer rows, columns or hidden units. 5 TiB"),
    (failing(ValueError("column 'a' is bad")), 2, "icdh: error: column 'a' is bad\n"),
    (failing(OverflowError("too large")), 1, "a defect of icdh, please report it with what --debug prints: Overf"),
    (failing(RecursionError("deep")), 1, "RecursionError: deep"),
    (failing(AssertionError()), 1, "AssertionError"),
    (lambda: ctypes.CDLL("libnowhere.so.5"), 1, "--debug prints: OSError: libnowhere.so.5"),
)
def test_whatever_goes_wrong_is_one_line_and_with_debug_a_traceback(chain_file, fail, code, line, shown, monkeypatch):
    monkeypatch.setattr(HNMSearch, "fit", lambda *_, **__: fail())
    found, out, err = shown("fit", chain_file)
    assert (found, out, err.count("\n"), line in err) == (code, "", 1, True), err
    found, _, err = shown("fit", chain_file, "--debug")
    assert (found, "Traceback" in err, line in err) == (code, True, True)


def test_a_request_beyond_all_memory_is_one_line(chain_file, refused):
    err = refused("fit", chain_file, "--method", "icdh", "--hidden-units", 10**9 * 10**6)
    assert (err.count("\n"), "not enough memory" in err) == (1, True)
