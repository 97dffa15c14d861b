"""The scripts of ``icdh example`` run, print and explain."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import icdh
from icdh import cli
from icdh.cli.example import NAMES
from icdh.files import write_table

ROOT = Path(__file__).parent.parent
# What each script shows at the least.
SHOWN = {
    "knowledge": [
        "with knowledge",
        "no knowledge: SHD",
        "watched alone: ",
        "with an experiment: Edge(cause='x1', effect='x0'",
    ],
    "effect": [
        "risk ratio                      0.550",
        "within sizes: +0.054",
        "women, crew -> third: -0.4",
    ],
    "how-sure": ["if turned", "a guess", "by the posterior:", "by resamples:", "a path from x0 to x2"],
    "what-if": ["one more unit of dose", "dose on answer", "raised by 1", "with the dose at zero"],
    "as-library": ["negative log-likelihood", "finite differences", "h = ", "SHD to the truth"],
}


def run_script(path, *arguments):
    """Run a script in this folder; nothing may be on its error stream."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # Old packages deprecate one another.
    ignored = ("-W", "ignore::DeprecationWarning", "-W", "ignore::icdh.DataWarning")
    command = [sys.executable, "-W", "error", *ignored, path, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.stderr == ""
    return result.stdout


def test_the_script_runs_from_table_to_report(tmp_path, chain, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_table("data.csv", chain.values[:150], chain.columns)
    assert cli.main(["example", "first-hour", "--output", "first_hour.py"]) == 0
    assert capsys.readouterr().out == "python first_hour.py\n"
    out = run_script("first_hour.py", "data.csv")
    assert out.startswith("150 observations of a, b, c\nHNMSearch: 150 observations of 3 variables")
    assert "a -> b: probability" in out
    assert icdh.load("model.icdh").names == ["a", "b", "c"]
    assert "</html>" in Path("report.html").read_text(encoding="utf-8")
    assert Path("graph.csv").exists()


@pytest.mark.parametrize("name", list(SHOWN))
def test_every_script_prints_what_it_explains(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["example", name, "--output", "script.py"]) == 0
    out = run_script("script.py")
    assert [part for part in SHOWN[name] if part not in out] == []
    assert sorted(os.listdir()) == sorted([f"{name.replace('-', '_')}.png", "script.py"])
    distances = [int(number) for number in re.findall(r"knowledge: SHD (\d+)", out)]
    assert distances == sorted(distances, reverse=True)
    losses = [float(number) for number in re.findall(r"if turned: (\S+) nats", out)]
    assert losses == [] or losses[0] + 5 < losses[1]


def test_the_truth_is_near_what_is_computed(tmp_path, monkeypatch):
    """What the text of the script on interventions says is what it shows."""
    monkeypatch.chdir(tmp_path)
    cli.main(["example", "what-if", "--output", "script.py"])
    out = run_script("script.py")
    seen, done = map(float, re.search(r"dose: (\S+) where it is seen, (\S+) where", out).groups())
    assert seen < done - 0.3
    assert done == pytest.approx(float(re.search(r"the truth: (\S+)", out)[1]), abs=0.25)


def test_nothing_is_written_unasked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["example"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[:-1]] == list(NAMES)
    assert cli.main(["example", "first-hour"]) == 0
    compile(capsys.readouterr().out, "first_hour.py", "exec")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "icdh", "example", "first-hour"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, env=environment, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")
    assert os.listdir() == []
    assert cli.main(["example", "--output", "x.py"]) == 2
    assert "--output needs the name of a script" in capsys.readouterr().err


def test_a_script_that_is_there_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("first_hour.py").write_text("mine", encoding="utf-8")
    assert cli.main(["example", "first-hour", "--output", "first_hour.py"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert Path("first_hour.py").read_text(encoding="utf-8") == "mine"
