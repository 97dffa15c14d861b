"""The way into the benchmarks, by name and with a method of one's own; tables of READMEs are what results say."""

import json
import os
import re
import runpy
import subprocess
import sys

import pytest
import scipy
from helpers import ROOT, cases

sys.path.insert(0, str(ROOT / "benchmarks"))
sys.path.append(str(ROOT))

import all_sets
import calibration_report
import counts
import outside_truths
import own_method
import published_sets
import standard_networks

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


def test_every_benchmark_has_a_small_size_for_continuous_integration():
    """Or data that stand elsewhere; ``.ci/start_benchmarks.py`` runs them."""
    started = runpy.run_path(str(ROOT / ".ci" / "start_benchmarks.py"))
    paths = [path for path in (ROOT / "benchmarks").glob("[a-z]*.py") if "__main__" in path.read_text(encoding="utf-8")]
    assert {path.stem for path in paths} == started["SMALL"].keys() | started["ELSEWHERE"]


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


@cases(("place", "error"), ("mine:good", "no attribute 'good'"), ("yours:method", "No module named 'yours'"))
def test_a_method_that_is_not_there_is_told_so(tmp_path, monkeypatch, place, error):
    (tmp_path / "mine.py").write_text(METHOD, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    with pytest.raises(SystemExit, match=error):
        own_method.method_of(place)


PAGE = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").splitlines()


def rows_of(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def networks(rows):
    for name in standard_networks.NETWORKS:
        standard_networks.print_rows(name, [row for row in rows if (row["network"], row["rows"]) == (name, 1000)])


MISSED = ("jumps", "network", "surface", "three_way")  # by splines, which page, paper and a note say
TABLES = {
    "published_sets": published_sets.print_summary,
    "standard_networks": networks,
    "outside_truths": outside_truths.print_summary,
    "counts": counts.print_summary,
}


SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))


@pytest.mark.skipif(SCIPY < (1, 15), reason="Wilcoxon's p among ties is another before 1.15")
@pytest.mark.parametrize("name", TABLES)
def test_every_line_of_the_table_stands_in_the_page(name, capsys):
    TABLES[name](rows_of(name))
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(lines) > 10
    assert [line for line in lines if line not in PAGE] == []


def test_the_tables_of_all_sets_are_of_all_results():
    shares = all_sets.shares()
    assert "\n".join(all_sets.table(shares)) in "\n".join(PAGE)
    by_source = "\n".join(all_sets.table(all_sets.by_source(shares)))
    assert by_source in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_number_of_the_paper_is_of_a_result():
    text = (ROOT / "paper_reproduction" / "paper.md").read_text(encoding="utf-8").split("---", 2)[2]
    table = "\n".join(all_sets.table(all_sets.shares()))
    assert table in text
    text = " ".join(text.replace(table, "").split())
    groups = {"own": [], "misspecified": []}
    for row in rows_of("calibration"):
        if row["method"] == calibration_report.POSTERIOR:
            groups.setdefault(calibration_report.group_of(row), []).append(row)
    right, wrong = (calibration_report.scores(groups[group])[2] for group in ("own", "misspecified"))
    rows = [row for row in rows_of("effect_coverage") if row["n"] == 1000 and row["method"].startswith("ours")]
    covered = [100.0 * row["covers"] for row in rows if row["answered"] and row["design"] not in MISSED]
    report = (ROOT / "paper_reproduction" / "results" / "report.md").read_text(encoding="utf-8")
    for sentence in (
        f"calibration error is {right:.3f} where the model is right, and {wrong:.3f} where a cause is left out",
        f"95 % intervals cover the truth in {min(covered):.0f} to {max(covered):.0f} % "
        "of simulated tables of 1000 rows",
        re.search(r"^Of the article's .* were not run\.$", report, flags=re.MULTILINE)[0],
    ):
        assert sentence in text
        text = text.replace(sentence, "")
    assert re.findall(r"\d+", re.sub(r"\[[^\]]*@[^\]]*\]", "", text)) == []
