"""The scripts of ``docs/examples`` run, print and explain."""

import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import pytest

import icdh
from icdh.files import write_table

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
SHOWN = {  # by each script, at the least
    "first_hour": ["150 observations of a, b, c\nHNMSearch: 150 observations of 3 variables", "a -> b: probability"],
    "knowledge": ["with knowledge", "no knowledge: SHD", "watched alone: ", "Edge(cause='x1', effect='x0'"],
    "effect": ["risk ratio                      0.550", "within sizes: +0.054", "women, crew -> third: -0.4"],
    "how_sure": ["if turned", "a guess", "by the posterior:", "by resamples:", "a path from x0 to x2"],
    "what_if": ["one more unit of dose", "dose on answer", "raised by 1", "with the dose at zero"],
    "as_library": ["negative log-likelihood", "finite differences", "h = ", "SHD to the truth"],
}


def test_every_script_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SHOWN)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("name", list(SHOWN))
def test_every_script_prints_what_it_explains(name, tmp_path, monkeypatch, chain, capsys):
    """In this process; the site runs each as one of its own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / f"{name}.py", ".")
    write_table("data.csv", chain.values[:150], chain.columns)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "data.csv"])
    runpy.run_path(f"{name}.py", run_name="__main__")
    out, err = capsys.readouterr()
    assert err == ""
    assert [part for part in SHOWN[name] if part not in out] == []
    written = ["graph.csv", "graph.png", "model.icdh", "report.html"] if name == "first_hour" else [f"{name}.png"]
    assert sorted(os.listdir()) == sorted([*written, f"{name}.py", "data.csv"])
    if name == "first_hour":
        assert icdh.load("model.icdh").names == ["a", "b", "c"]
        assert "</html>" in Path("report.html").read_text(encoding="utf-8")
    distances = [int(number) for number in re.findall(r"knowledge: SHD (\d+)", out)]
    assert distances == sorted(distances, reverse=True)
    losses = [float(number) for number in re.findall(r"if turned: (\S+) nats", out)]
    assert losses == [] or losses[0] + 5 < losses[1]
    if name == "what_if":
        seen, done = map(float, re.search(r"dose: (\S+) where it is seen, (\S+) where", out).groups())
        assert seen < done - 0.3
        assert done == pytest.approx(float(re.search(r"the truth: (\S+)", out)[1]), abs=0.25)
