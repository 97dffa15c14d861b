"""The way into the benchmarks: by name from a clone, and with a method of one's own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
METHOD = "import numpy as np\ndef strong(X):\n    return np.triu(np.abs(np.corrcoef(X.T)) > 0.3, 1)\n"


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


def test_ones_own_method_stands_beside_ours(tmp_path):
    (tmp_path / "mine.py").write_text(METHOD, encoding="utf-8")
    arguments = ("own_method", "mine:strong", "mine.json", "--sets", "zeros", "--tables", "1")
    done = run(*arguments, folder=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    for method in ("mine:strong", "HNMSearch", "no edge"):
        assert f"| {method} | 1 |" in done.stdout
    assert (tmp_path / "mine.json").exists()


def test_a_method_that_fails_is_told_so(tmp_path):
    (tmp_path / "mine.py").write_text("def bad(X):\n    return 1 / 0\n", encoding="utf-8")

    def errors_of(method):
        arguments = ("own_method", method, "mine.json", "--sets", "zeros", "--tables", "1")
        return run(*arguments, folder=tmp_path, PYTHONPATH=str(ROOT))

    assert "no attribute 'good'" in errors_of("mine:good").stderr
    assert "No module named 'yours'" in errors_of("yours:method").stderr
    assert "| mine:bad | 0, 1 failed: division by zero |" in errors_of("mine:bad").stdout
