"""Lines that show progress."""

import contextlib
import io
import signal
import sys
import threading
import time

import numpy as np
import pytest
from support.model import answer
from support.shell import _input, fit
from support.utils import Clock

from icdh import ICDH, HNMSearch, Progress, bootstrap, cli
from icdh.files import read_with_labels

X = np.random.default_rng(0).normal(size=(80, 3)) @ np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])


class Stream(io.StringIO):
    """A standard error stream that says when something was written."""

    def __init__(self, on_terminal):
        super().__init__()
        self.on_terminal, self.n_writes, self.written = on_terminal, 0, threading.Event()

    def isatty(self):
        return self.on_terminal

    def write(self, text):
        super().write(text)
        self.n_writes += 1
        self.written.set()

    def wait_for(self, n_writes, step=lambda: None):
        end = time.monotonic() + 60.0
        while self.n_writes < n_writes and time.monotonic() < end:
            step()
            self.written.wait(0.01)
        assert self.n_writes >= n_writes


def watched(monkeypatch, on_terminal=True):
    """Return what stands for the standard error stream from now on; a fixture would be too early."""
    stream = Stream(on_terminal)
    for name in ("FIRST", "BEAT", "SILENCE"):
        monkeypatch.setattr(f"icdh.progress.{name}", 0.01)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_a_terminal_has_one_line_that_goes_at_the_end(monkeypatch):
    """Quick steps are counted, too, as the hundreds of pairs of icdh direction."""
    stream = watched(monkeypatch)
    with Progress("things", 10**9, doing="counting") as progress:
        stream.wait_for(3, progress)
    assert stream.getvalue().startswith("\ricdh: counting for 0 s, ")
    assert " things, about " in stream.getvalue()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().rpartition("\r")[2] == ""


def test_silence_in_a_pipe_is_broken_again_and_again(monkeypatch):
    stream = watched(monkeypatch, on_terminal=False)
    with Progress("moves", shown=True) as progress:
        progress()
        stream.wait_for(2)
    assert all(line.endswith("1 move so far") for line in stream.getvalue().splitlines())
    with Progress("moves"):
        time.sleep(0.05)
    assert stream.n_writes == len(stream.getvalue().splitlines())


@pytest.mark.parametrize("step", [lambda: None, lambda: ICDH(max_rounds=1).fit(X)])
def test_nothing_is_said_before_the_first_seconds_are_over(step, capsys):
    with Progress("moves", shown=True) as progress:
        progress()
        step()
    assert capsys.readouterr().err == ""


def test_rounds_moves_and_resamples_are_steps():
    rounds, moves, resamples = Progress("rounds"), Progress("moves"), Progress("resamples", total=2)
    with rounds, moves, resamples:
        fit = ICDH(scaling="standardize", callback=rounds).fit(X)
        search = HNMSearch(noise_distribution="gaussian", n_restarts=1, callback=moves).fit(X)
        bootstrap(search, X, 2, callback=resamples)
    assert rounds.steps >= len(fit.history_) > 0
    assert moves.steps >= len(search.history_) > 0
    assert resamples.steps >= 2


def test_commands_are_silent_where_they_are_told_to_be(chain_file, monkeypatch):
    stream = watched(monkeypatch)

    def slow(*arguments, **options):
        stream.wait_for(stream.n_writes + 1) if not stream.hushed else time.sleep(0.05)
        return read_with_labels(*arguments, **options)

    monkeypatch.setattr(_input, "read_with_labels", slow)
    command = ["fit", str(chain_file), "--noise-distribution", "gaussian", "--bootstrap", "2"]
    stream.hushed = True
    assert cli.main([*command, "--quiet"]) == 0
    assert stream.getvalue() == ""
    stream.hushed = False
    assert cli.main(command) == 0
    assert [part in stream.getvalue() for part in ("reading", "steps so far", "\n")] == [True, True, False]
    assert cli.main([*command, "--verbose"]) == 0
    assert "insert" in stream.getvalue()


def test_effects_of_a_pair_show_how_long_they_take(chain_file, monkeypatch):
    stream, effect = watched(monkeypatch), answer.effect
    monkeypatch.setattr(answer, "effect", lambda *asked, **how: stream.wait_for(3) or effect(*asked, **how))
    assert cli.main(["effects", str(chain_file), "--cause", "a", "--effect", "c", "--adjust", "b"]) == 0
    assert "estimating the effect for" in stream.getvalue()


def test_a_dropped_interrupt_ends_the_fit_at_its_next_step():
    progress = Progress("steps", shown=False)
    before = signal.getsignal(signal.SIGINT)
    try:
        with fit.answered(progress):
            progress()
            with contextlib.suppress(KeyboardInterrupt):  # as a callback of C drops it
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # a later one changes nothing
            with pytest.raises(KeyboardInterrupt):
                progress()
    finally:
        signal.signal(signal.SIGINT, before)
    assert progress.steps == 1


def test_that_time_is_over_is_said_once(monkeypatch):
    stream = watched(monkeypatch, on_terminal=False)
    with Progress("moves", shown=True) as progress:
        progress.follow(Clock(0.0))
        time.sleep(0.2)
    assert stream.getvalue().count("time is over, the result follows") == 1
