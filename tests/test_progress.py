"""Bars and lines that show progress."""

import io
import sys
import threading
import time

import numpy as np
import pytest

from icdh import ICDH, HNMSearch, Progress, bootstrap, cli
from icdh.cli._progress import ProgressLines
from icdh.exceptions import MissingExtraError
from icdh.files import write_table


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Return what stands for the standard error stream from now on; a fixture would be too early."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


X = np.random.default_rng(0).normal(size=(80, 3)) @ np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])


def test_a_bar_counts_on_a_terminal(monkeypatch):
    stream = terminal(monkeypatch)
    with Progress("things", total=3) as bar:
        for _ in range(3):
            bar()
    assert "things: 100%" in stream.getvalue()
    assert "3/3" in stream.getvalue()


def test_rounds_moves_and_resamples_move_the_bar(monkeypatch):
    stream = terminal(monkeypatch)
    with Progress("rounds") as bar:
        ICDH(scaling="standardize", callback=bar).fit(X)
    assert "nll" in stream.getvalue()
    with Progress("moves") as bar:
        model = HNMSearch(noise_distribution="gaussian", n_restarts=1, callback=bar).fit(X)
    assert "gain" in stream.getvalue()
    with Progress("resamples", total=2) as bar:
        bootstrap(model, X, 2, callback=bar)
    assert "2/2" in stream.getvalue()


def test_there_is_no_bar_in_a_pipe(capsys):
    with Progress("things") as bar:
        bar()
    assert capsys.readouterr().err == ""


def test_without_tqdm_there_is_no_bar_unless_one_was_asked_for(monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with Progress("things") as bar:
        bar()
    assert stream.getvalue() == ""
    with pytest.raises(MissingExtraError, match=r"pip install 'icdh\[progress\]'"):
        Progress("things", shown=True)


def test_silence_is_broken_again_and_again(monkeypatch):
    lines, twice = [], threading.Event()

    class Stream(io.StringIO):
        def write(self, text):
            lines.append(text)
            if len(lines) == 2:
                twice.set()

    monkeypatch.setattr(sys, "stderr", Stream())
    with ProgressLines("moves", silence=0.01) as signs:
        signs()
        assert twice.wait(60.0)
    assert all(line.endswith("1 move so far\n") for line in lines)


def test_quick_steps_that_are_not_shown_are_reported(monkeypatch):
    """As the hundreds of pairs of icdh direction: each takes a moment, all of them half a minute."""
    stream = terminal(monkeypatch)
    with ProgressLines("pairs", 465, silence=0.1) as lines:
        begin = time.monotonic()
        while not stream.getvalue() and time.monotonic() < begin + 20.0:
            lines()
    assert "pairs so far, at most about" in stream.getvalue()


def test_nothing_is_said_before_the_first_seconds_are_over(capsys):
    with ProgressLines("moves", silence=3600.0) as signs:
        for _ in range(5):
            signs()
    assert capsys.readouterr().err == ""


def test_commands_show_a_bar_on_a_terminal_alone(tmp_path, capsys, monkeypatch):
    write_table(tmp_path / "data.csv", X, ["a", "b", "c"])
    command = ["fit", str(tmp_path / "data.csv"), "--method", "search", "--noise-distribution", "gaussian"]
    assert cli.main([*command, "--bootstrap", "2"]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main([*command, "--verbose"]) == 0
    assert "insert" in capsys.readouterr().err
    stream = terminal(monkeypatch)
    assert cli.main([*command, "--bootstrap", "2"]) == 0
    assert "moves" in stream.getvalue()
    assert "resamples" in stream.getvalue()
    stream.truncate(0)
    assert cli.main([*command, "--quiet"]) == 0
    assert stream.getvalue().strip("\0") == ""
