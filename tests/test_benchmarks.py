"""The way into the benchmarks: by name from a clone, and with a method of one's own."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
METHOD = """
import numpy as np
def strong(X):
    return np.triu(np.abs(np.corrcoef(X.T)) > 0.3, 1)
def bad(X):
    return 1 / 0
"""


def run(*arguments, folder=ROOT, **environment):
    """Run the benchmarks without a path to the package but the clone."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=folder, env=kept | environment, capture_output=True, text=True, check=False)


def test_without_a_name_the_benchmarks_are_listed():
    listed = run()
    assert listed.returncode == 0
    assert "own_method             Your own method on the tables" in listed.stdout
    unknown = run("nothing")
    assert unknown.returncode == 1
    assert "there is no benchmark 'nothing'" in unknown.stderr


@pytest.mark.slow
def test_ones_own_method_stands_beside_ours_and_one_that_fails_is_told_so(tmp_path):
    (tmp_path / "mine.py").write_text(METHOD, encoding="utf-8")

    def shown(method):
        arguments = ("own_method", method, "mine.json", "--sets", "zeros", "--tables", "1")
        return run(*arguments, folder=tmp_path, PYTHONPATH=str(ROOT))

    done = shown("mine:strong")
    assert done.returncode == 0, done.stderr
    for method in ("mine:strong", "HNMSearch", "no edge"):
        assert f"| {method} | 1 |" in done.stdout
    assert (tmp_path / "mine.json").exists()
    assert "| mine:bad | 0, 1 failed: division by zero |" in shown("mine:bad").stdout


@pytest.mark.parametrize(
    ("place", "error"), [("mine:good", "no attribute 'good'"), ("yours:method", "No module named 'yours'")]
)
def test_a_method_that_is_not_there_is_told_so(tmp_path, monkeypatch, place, error):
    (tmp_path / "mine.py").write_text(METHOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    with pytest.raises(SystemExit, match=error):
        import_module("own_method").method_of(place)
