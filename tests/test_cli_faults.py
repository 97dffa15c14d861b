"""Nothing that a user of the command line does ends in a traceback, a silent misreading or lost work."""

import ctypes
import gzip
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from helpers import ENVIRONMENT, command, process, without_progress

from icdh import ICDH, HNMSearch, pairs, simulate
from icdh.exceptions import WorkerLostError
from icdh.files import read_graph, read_table, write_table

QUICK = ("--method", "icdh", "--max-rounds", "2", "--tol", "1e9")


@pytest.fixture
def table(tmp_path, chain, monkeypatch):
    """The chain as data.csv in the working directory."""
    monkeypatch.chdir(tmp_path)
    write_table("data.csv", chain.values, chain.columns)
    return Path("data.csv")


SIMULATE = "simulate new.csv graph.csv"  # quick, as it compiles nothing
WARNED = "fit data.csv --method icdh --edge-cost none --max-rounds 1 --output graph.csv"


def shell(command, unbuffered=""):
    """Run ``icdh`` in a shell, with redirections."""
    environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered}
    result = subprocess.run(
        f"{sys.executable} -m icdh {command}", shell=True, capture_output=True, env=environment, check=False
    )
    result.stderr = without_progress(result.stderr)
    return result


def one_line(capsys):
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


# Tables as users have them.


def test_options_say_how_a_table_is_written(tmp_path, chain, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "größe b c\n" + "\n".join(" ".join(f"{v:.3f}".replace(".", ",") for v in row) for row in chain.values)
    Path("data.txt").write_bytes(gzip.compress(text.encode("latin-1")))
    options = ["--sep", "space", "--decimal", ",", "--encoding", "latin-1"]
    assert command("fit", "data.txt", *options, *QUICK, "--output", "graph.json", "--quiet") == 0
    assert read_graph("graph.json")[1] == ["größe", "b", "c"]
    assert command("direction", "data.txt", *options, "--columns", "größe", "b") == 0
    assert command("fit", "data.txt") == 2
    assert "--encoding latin-1" in capsys.readouterr().err


def test_standard_input_and_pipes_are_tables(table, capsys):
    content = table.read_bytes()
    assert command("fit", table, *QUICK) == 0
    expected = capsys.readouterr().out.encode()
    assert process("fit", "-", *QUICK, input=content).stdout == expected
    os.mkfifo("pipe")
    with ThreadPoolExecutor() as other:
        other.submit(Path("pipe").write_bytes, content)
        assert command("fit", "pipe", *QUICK) == 0
    assert capsys.readouterr().out.encode() == expected
    Path("truth.csv").write_text("cause,effect\na,b\nb,c\n")
    found = process("evaluate", "-", "truth.csv", "--json", input=b",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n")
    assert b'"shd": 0' in found.stdout
    twice = process("evaluate", "-", "-", input=b"")
    assert (twice.returncode, twice.stdout) == (2, b"")
    assert b"only one of the estimated graph, the true graph can be -" in twice.stderr


def test_direction_reads_only_the_columns_it_compares(table, capsys):
    lines = table.read_text().splitlines()
    Path("mixed.csv").write_text("\n".join(f"{line},{'city' if k == 0 else 'Rome'}" for k, line in enumerate(lines)))
    assert command("direction", "mixed.csv", "--columns", "a", "b") == 0
    assert command("direction", "data.csv", "--columns", "a", "b") == 0
    first, second = capsys.readouterr().out.split("pair")[1:]
    assert first == second


def test_control_characters_do_not_reach_the_terminal(tmp_path, chain, capsys):
    path = tmp_path / "data.csv"
    write_table(path, chain.values, ["\x1b[2J", "b\nb", "c"])
    assert command("fit", path, "--method", "icdh", "--scaling", "standardize") == 0
    out = capsys.readouterr().out
    assert r"\x1b[2J -> b\nb" in out
    assert "\x1b" not in out
    assert command("direction", path, "--columns", "\x1b[2J", "c") == 0
    assert "\x1b" not in capsys.readouterr().out


# Work is never lost.


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_graph_that_cannot_be_written_is_printed(table, capsys):
    assert command("fit", table, *QUICK, "--output", "good.csv") == 0
    summary = capsys.readouterr().out
    Path("graph.csv").symlink_to("/dev/full")
    assert command("fit", table, *QUICK, "--output", "graph.csv") == 2
    out, err = capsys.readouterr()
    assert out == Path("good.csv").read_text() + summary
    assert err == "icdh: error: cannot write graph.csv: No space left on device\n"
    assert command("fit", table, *QUICK, "--output", "graph.csv", "--quiet") == 2
    assert capsys.readouterr().out == Path("good.csv").read_text()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of four pages that are all but full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("may not mount")
    (folder / "full").write_bytes(bytes(8_000))
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_fills_leaves_the_old_file_and_nothing_else(small_disk):
    path = small_disk / "graph.csv"
    write_table(path, np.zeros((1, 1)), ["old"])
    with pytest.raises(OSError, match=r"cannot write .*graph.csv: No space left on device"):
        write_table(path, np.zeros((9_000, 1)), ["new"])
    assert read_table(path).columns == ["old"]
    assert sorted(os.listdir(small_disk)) == ["full", "graph.csv"]


@pytest.mark.parametrize("asked", [f"{SIMULATE} >&-", f"{SIMULATE} 2>&-", f"{WARNED} >&- 2>&-"])
def test_closed_streams_cost_nothing(table, asked):
    result = shell(asked)
    assert result.returncode == 0
    assert b"warning" not in result.stdout
    assert read_graph("graph.csv")[0].any()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("asked", "unbuffered"),
    [(SIMULATE, ""), (SIMULATE, "1"), (WARNED, ""), ("--help", ""), ("fit --help", ""), ("--version", "")],
)
def test_a_full_standard_output_is_one_line(table, asked, unbuffered):
    """Buffered, it is full once when the command ends and once more when Python does."""
    result = shell(f"{asked} > /dev/full", unbuffered)
    assert result.returncode == 2
    said = b"icdh: error: cannot use the standard input or output: No space left on device\n"
    assert result.stderr.endswith(said) if asked == WARNED else result.stderr == said
    assert "graph.csv" not in asked or read_graph("graph.csv")[0].any()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_warnings_that_cannot_be_written_cost_nothing(table, shown, unbuffered):
    _, out, err = shown(*WARNED.split())
    assert "warning" in err
    Path("graph.csv").unlink()
    unheard = shell(f"{WARNED} 2> /dev/full", unbuffered)
    assert (unheard.returncode, unheard.stdout.decode()) == (0, out)
    assert read_graph("graph.csv")[0].any()


def test_a_picture_that_cannot_be_written_costs_nothing_else(table, capsys):
    Path("graph.svg").symlink_to("/dev/full")
    assert command("fit", table, *QUICK, "--output", "graph.csv", "--plot", "graph.svg") == 2
    out, err = capsys.readouterr()
    assert out.startswith("400 observations of 3 variables")
    assert err.startswith("icdh: error: cannot write graph.svg")
    assert Path("graph.csv").exists()


# Ctrl-C: the best so far is written, a line says so, exit code 130.


def interrupt_after(monkeypatch, module, name, calls):
    """Let a function raise KeyboardInterrupt after so many calls."""
    real, count = getattr(module, name), [0]

    def wrapped(*arguments, **options):
        count[0] += 1
        if count[0] > calls:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, wrapped)


@pytest.mark.parametrize(
    ("kind", "options", "shown", "said"),
    [
        (ICDH, ("--method", "icdh"), "1 round, not converged", "after 1 round; the best one is kept"),
        (HNMSearch, (), "3 variables: 1 edge,", "after 1 moves; the best graph so far is kept"),
    ],
)
def test_an_interrupted_fit_writes_the_best_so_far(table, capsys, monkeypatch, kind, options, shown, said):
    report = kind._report

    def interrupt(self, line, record):
        report(self, line, record)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "_report", interrupt)
    assert command("fit", table, *options, "--output", "graph.csv") == 130
    out, err = capsys.readouterr()
    assert shown in out
    assert err.splitlines()[-1] == f"icdh: warning: interrupted {said}"
    assert np.count_nonzero(read_graph("graph.csv")[0]) == int(out.split(" variables: ")[1].split()[0])


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "interrupted before the probabilities were known; the fitted graph is kept"),
        (WorkerLostError("lower n_jobs"), 2, "lower n_jobs"),
    ],
)
def test_what_happens_after_the_fit_does_not_cost_the_graph(table, capsys, monkeypatch, error, code, line):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr("icdh.uncertainty.resampling.bootstrap", fail)
    assert command("fit", table, *QUICK, "--bootstrap", 3, "--output", "graph.csv", "--probabilities", "p.csv") == code
    out, err = capsys.readouterr()
    assert out.startswith("400 observations of 3 variables")
    assert err == f"icdh: error: {line}\n"
    assert read_graph("graph.csv")[0].any()
    assert not Path("p.csv").exists()


def test_a_page_that_cannot_be_written_costs_no_graph(table, capsys):
    Path("page.html").symlink_to("/dev/full")
    assert command("report", table, *QUICK, "--output", "page.html") == 2
    out, err = capsys.readouterr()
    assert out.startswith("400 observations of 3 variables")
    assert "cannot write page.html: No space left on device" in err


def test_an_interrupted_direction_prints_the_pairs_that_are_done(table, capsys, monkeypatch):
    interrupt_after(monkeypatch, pairs, "causal_direction", 2)
    assert command("direction", table) == 130
    out, err = capsys.readouterr()
    assert [line[:4] for line in out.splitlines()] == ["pair", "a, b", "a, c"]
    assert err == "icdh: error: interrupted after 2 of 3 pairs\n"


def test_an_interrupt_before_any_result_says_so(table, capsys, monkeypatch):
    interrupt_after(monkeypatch, HNMSearch, "fit", 0)
    assert command("fit", table, "--output", "graph.csv") == 130
    assert one_line(capsys) == "icdh: error: interrupted before there was a result\n"
    assert not Path("graph.csv").exists()


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
def test_an_interrupt_while_modules_load_is_one_line(table, module):
    command = [sys.executable, "-c", INTERRUPTED_IMPORT, module, str(table)]
    result = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=False)
    assert result.returncode == 130
    assert without_progress(result.stderr).startswith(b"icdh: error: interrupted")
    assert without_progress(result.stderr).count(b"\n") == 1


LOST_INTERRUPT = """
import signal, sys, time
from icdh import cli
from icdh.__main__ import main
from icdh.cli import warmup
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
    warmup.COMMAND = warmup.COMMAND._replace(run=lambda args: exec("raise KeyboardInterrupt"))
else:
    def fail(args):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("half closed")
    warmup.COMMAND = warmup.COMMAND._replace(run=fail)
sys.argv[:] = ["icdh", "warmup"]
sys.exit(main())
"""


@pytest.mark.parametrize("where", ["inside", "before", "inside exec", "in place of an error"])
def test_an_interrupt_that_python_would_lose_or_trace_is_one_line(where, tmp_path):
    """Inside a destructor; outside the command; where Python ends by the signal; where it becomes another error."""
    (tmp_path / "lost.py").write_text(LOST_INTERRUPT)
    command = [sys.executable, "-m", "lost", where]
    result = subprocess.run(command, capture_output=True, cwd=tmp_path, env=ENVIRONMENT, check=False, timeout=50)
    assert result.returncode == 130
    assert without_progress(result.stderr).startswith(b"icdh: error: interrupted")
    assert without_progress(result.stderr).count(b"\n") == 1


@pytest.mark.parametrize("delay", [0.1, 0.3, 1.0])
def test_an_interrupt_at_any_time_is_no_traceback(table, delay):
    command = [sys.executable, "-m", "icdh", "fit", str(table), "--method", "icdh", "--n-restarts", "500"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as running:
        time.sleep(delay)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    if b"__main__.py" in err or b"interrupted" in err:  # else Python was on its way to the command
        assert running.returncode == 130, err
        assert b"Traceback" not in err
        assert b"interrupted" in err


def test_two_interrupts_of_a_long_fit_keep_the_best_graph(tmp_path):
    data = simulate.simulate_sem(simulate.erdos_renyi(6, 1, random_state=0), 21_000, random_state=0)
    write_table(tmp_path / "long.csv", data.X, data.names)
    command = [sys.executable, "-m", "icdh", "fit", str(tmp_path / "long.csv"), "--verbose"]
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
    assert running.returncode == 130, err
    assert b"the best graph so far is kept" in err
    assert b"Traceback" not in err
    assert b"->" in out


# A traceback only with --debug.


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (
            MemoryError("Unable to allocate 5 TiB"),
            2,
            "not enough memory; use fewer rows, columns or hidden units. Unable",
        ),
        (ValueError("column 'a' is bad"), 2, "icdh: error: column 'a' is bad\n"),
        (OverflowError("too large"), 1, "a defect of icdh, please report it with what --debug prints: OverflowError"),
        (RecursionError("deep"), 1, "RecursionError: deep"),
        (AssertionError(), 1, "AssertionError"),
    ],
)
def test_whatever_goes_wrong_is_one_line_and_with_debug_also_a_traceback(table, error, code, line, capsys, monkeypatch):
    def fail(self, X, **options):
        raise error

    monkeypatch.setattr(HNMSearch, "fit", fail)
    assert command("fit", table) == code
    assert line in one_line(capsys)
    assert command("fit", table, "--debug") == code
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert line in err


def test_a_request_beyond_all_memory_is_one_line(table, capsys):
    assert command("fit", table, "--method", "icdh", "--hidden-units", 10**9 * 10**6) == 2
    assert "not enough memory" in one_line(capsys)


def test_names_that_the_terminal_cannot_show_are_escaped(tmp_path, chain, monkeypatch):
    path = tmp_path / "data.csv"
    write_table(path, chain.values, ["größe", "b", "c"])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert command("fit", path, "--method", "icdh", "--scaling", "standardize") == 0
    assert rb"gr\xf6\xdfe -> b" in sys.stdout.buffer.getvalue()
    assert np.isfinite(read_table(path).values).all()


def test_a_library_that_does_not_load_is_not_called_bad_input(table, capsys, monkeypatch):
    def fit(self, X, **options):
        ctypes.CDLL("libnowhere.so.5")

    monkeypatch.setattr(HNMSearch, "fit", fit)
    assert command("fit", table, "--quiet") == 1
    said = one_line(capsys)
    assert "a defect of icdh" in said
    assert "libnowhere.so.5" in said
