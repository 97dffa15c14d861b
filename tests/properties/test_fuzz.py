"""Whatever the table, the answer is finite numbers, or an error that names an argument or a column."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))
import fuzz

BOUNDED = settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def columns(rows):
    """Columns of any finite floats, of few different ones, and ordinary ones."""
    anything = st.floats(allow_nan=False, allow_infinity=False)
    few = st.sampled_from([0.0, 1.0, -1.0, 1e9, 1e-200])
    drawn = st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).normal(size=rows))
    elements = [anything, few, st.floats(-1e6, 1e6)]
    return st.one_of(drawn, *(arrays(float, rows, elements=kind) for kind in elements))


@st.composite
def tables(draw, rows, variables):
    """Tables of such columns, some of them repeated."""
    found = draw(st.lists(columns(draw(st.integers(*rows))), min_size=variables[0], max_size=variables[1]))
    if len(found) < variables[1] and draw(st.booleans()):
        found.append(found[0])
    return np.column_stack(found)


@pytest.mark.slow
@pytest.mark.parametrize("entry", fuzz.ENTRIES)
@BOUNDED
@given(data=st.data())
def test_any_numbers_are_answered_or_explained(entry, data):
    X = data.draw(tables((20, 40), (2, 2)) if entry == "direction" else tables((2, 30), (1, 4)))
    parameters = fuzz.draw_parameters(np.random.default_rng(data.draw(st.integers(0, 99))), entry, X.shape[1])
    fuzz.run(*fuzz.asked(entry, X, parameters))


@pytest.mark.slow
@pytest.mark.parametrize("entry", fuzz.ENTRIES)
def test_the_first_cases_of_the_fuzzer(entry):
    outcomes = [fuzz.check(entry, seed) for seed in range(40)]
    assert 20 < outcomes.count("fitted") < 40


FOUND = {"icdh": (1, 139, 465, 689, 1333, 4412, 7011, 18343, 30141), "search": (9, 170, 182, 237)}


@pytest.mark.parametrize(("entry", "seed"), [(entry, seed) for entry, seeds in FOUND.items() for seed in seeds])
def test_what_was_found_is_mended(entry, seed):
    assert fuzz.check(entry, seed) in ("fitted", "refused")


def test_the_fuzzer_finds_what_it_looks_for():
    def warn():
        np.log(np.zeros(1))
        return {}

    def fail():
        raise ValueError("A must be square")

    for function, error, said in (
        (lambda: {"score": np.array([1.0, np.nan])}, fuzz.Finding, "score holds nan"),
        (warn, fuzz.Finding, "RuntimeWarning at test_fuzz.py"),
        (fail, ValueError, "A must be square"),
    ):
        with pytest.raises(error, match=said):
            fuzz.run(function, (), fuzz.WORDS)
    assert fuzz.run(lambda: {"score": 1.0}, (), fuzz.WORDS) == ("fitted", {"score": 1.0})


def test_hangs_and_crashes_are_findings_and_findings_are_looked_at_again(tmp_path, monkeypatch):
    path, row = tmp_path / "fuzz.json", {"finding": None, "seconds": 0.0}
    summary = fuzz.Summary(path)
    monkeypatch.setattr(fuzz, "HANG", 1.0)
    line = json.dumps({**row, "seed": 0, "entry": "icdh", "outcome": "fitted"})
    for end in ("import time; time.sleep(60)", "quit(3)"):
        command = [sys.executable, "-c", f"print('{line}', flush=True); {end}"]
        with fuzz.subprocess.Popen(command, stdout=fuzz.subprocess.PIPE, text=True) as worker:
            fuzz.follow(worker, summary, ["icdh", "search"])
    summary.save()
    again = fuzz.Summary(path)
    assert [finding["finding"] for finding in again.findings] == ["hang", "crash"]
    assert again.counts["search"] == {"hang": 1, "crash": 1}
    assert again.next_seed == 2
    again = fuzz.Summary(tmp_path / "other.json")
    again.add({**row, "entry": "search", "seed": 9, "outcome": "found", "finding": "a cycle"})
    again.recheck()
    assert fuzz.Summary(tmp_path / "other.json").findings[0]["mended"]
