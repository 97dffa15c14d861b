import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy
from helpers import assert_prints
from support.shell import knowledge_of

from icdh import ICDH, Knowledge, cli
from icdh.datasets import load_sachs
from icdh.metrics import edge_differences

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
METHODS = (ROOT / "docs" / "methods.rst").read_text(encoding="utf-8")
READING = (ROOT / "icdh" / "cli" / "reading.rst").read_text(encoding="utf-8")
FIGURES = ROOT / "benchmarks" / "figures"
WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


# SciPy 1.15 rewrote L-BFGS-B. Its steps differ in the last digits, and on some processors a fit ends elsewhere.
same_steps = pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15), reason="the picture is that of SciPy from 1.15 on"
)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_examples_run_and_print_what_they_say(capsys):
    (graph,) = blocks("python")
    exec(compile(graph, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(re.fullmatch(r"\w+ -> \w+  \d+\.\d\d", line) for line in lines)


@pytest.mark.parametrize("text", [*blocks("text"), READING.partition("text\n\n")[2].partition("\n\n")[0]])
def test_a_worked_example_prints_what_is_shown(text, tmp_path, monkeypatch, printed):
    monkeypatch.chdir(tmp_path)
    assert_prints(text, printed)


def test_the_three_ways_to_say_what_is_known_are_one(tmp_path):
    text = (ROOT / "docs" / "knowledge.rst").read_text(encoding="utf-8")
    rows = re.findall(r"^     - ``(--.+)``\n     - ``(.+)``\n     - ``(.+)``$", text, flags=re.MULTILINE)
    assert len(rows) == 5
    for options, toml, python in rows:
        file = tmp_path / "known.toml"
        file.write_text(toml, encoding="utf-8")
        args = cli.parse(["fit", "data.csv", *shlex.split(options)])
        assert knowledge_of(args) == Knowledge.read(file) == eval(f"Knowledge({python})")


def drawn_in(picture, names):
    """The arrows of the left half of a picture."""
    axes = ElementTree.parse(FIGURES / picture).getroot().find(".//*[@id='axes_1']")
    kinds = [part.get("id", "").split() for part in axes.iter()]
    return {f"{names[int(of[1])]} -> {names[int(of[2])]}" for of in kinds if of[:1] == ["edge"]}


def test_there_are_two_commands_of_one_line():
    first, second = blocks("sh")
    assert first.count("\n") == second.count("\n") == 1
    assert "icdh fit data.csv --truth truth.csv --plot graph.png" in first
    assert second.endswith("pytest\n")


def test_the_picture_is_what_the_first_command_learns(tmp_path, monkeypatch, printed):
    """If this fails: python benchmarks/readme_picture.py, and look at it."""
    monkeypatch.chdir(tmp_path)
    out = "".join(printed(*shlex.split(command)[1:]) for command in blocks("sh")[0].split(" && ")[2:])
    assert "15 of 15 learned right, 0 reversed, 0 extra; 0 missing" in out
    learned = {" ".join(line.split()[:3]) for line in out.splitlines() if line.startswith("   x")}
    assert learned == drawn_in("first.svg", [f"x{k}" for k in range(10)])


@pytest.mark.slow
@same_steps
def test_other_seeds_of_the_first_command_err_as_it_says(tmp_path, monkeypatch, printed):
    said = re.search(r"seeds (\d) to (\d) it is (\d) to (\d), and ([\d.]+) on average", README).groups()
    first, last, low, high, mean = map(float, said)
    monkeypatch.chdir(tmp_path)
    *simulate, option, _ = shlex.split(blocks("sh")[0].split(" && ")[2])[1:]
    assert option == "--seed"
    errors = []
    for seed in range(int(first), int(last) + 1):
        printed(*simulate, "--seed", seed)
        errors += map(int, re.findall(r"\(SHD\) (\d+)", printed("fit", "data.csv", "--truth", "truth.csv")))
    assert low - 1 <= min(errors)
    assert max(errors) <= high + 1
    assert abs(np.mean(errors) - mean) <= 0.5


def test_as_many_rows_are_lost_as_it_says():
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").partition("## Your own method")[0]
    rows = [line for line in page.splitlines() if re.match(r"\| [^|]+ \| \d{1,2} \| ", line)]
    lost = [line for line in rows if not line.split(" | ")[2].startswith("**")]
    assert f"not the best in {WORDS[len(lost)]} rows" in page
    assert len(rows) == 22


@pytest.fixture(scope="module")
def article_fit():
    """What the command on the article's data learns."""
    command = shlex.split(re.search("icdh (fit --dataset sachs .*)", METHODS)[1])
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert (options["--dataset"], options["--method"]) == ("sachs", "icdh")
    return ICDH(scaling=options["--scaling"]).fit(load_sachs().table)


@same_steps
def test_the_picture_of_the_articles_data_is_what_its_command_learns(article_fit):
    """If this fails: python benchmarks/readme_picture.py, and look at it. On some processors one edge differs."""
    drawn = drawn_in("sachs.svg", article_fit.feature_names_in_)
    assert len(drawn ^ {f"{cause} -> {effect}" for cause, effect, *_ in article_fit.edge_list()}) <= 1


@same_steps
def test_the_text_counts_what_the_command_on_the_articles_data_prints(article_fit):
    text = " ".join(METHODS.split())
    differences = edge_differences(article_fit.adjacency_matrix_, load_sachs().adjacency)
    learned = np.count_nonzero(article_fit.adjacency_matrix_)
    right = learned - differences.extra - differences.reversed
    sentence = r"(\w+) of (\w+) edges are right, (\w+) points? the wrong way round, (\w+) (?:is|are) not there, (\w+) "
    said = [WORDS.index(word.lower()) for word in re.search(sentence, text).groups()]
    counted = [right, learned, differences.reversed, differences.extra, differences.missing]
    assert np.abs(np.subtract(said, counted)).max() <= 1
    assert f"That is an SHD of {said[2] + said[3] + said[4]}." in text
    low, high = map(int, re.search(r"SciPy before 1.15 have (\d+) to (\d+)", text).groups())
    assert low <= sum(differences) <= high


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README))
def test_links_lead_somewhere(target):
    anchors = ["#" + heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", README, re.MULTILINE)]
    assert target.startswith("https://") or target in anchors or (ROOT / target.partition("#")[0]).is_file()


def test_the_article_is_cited_alike_for_people_and_tools():
    (bibtex,) = blocks("bibtex")
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"eprint = {(.*)}", bibtex)[1] in cff
    for field in ("title", "year"):
        assert f"  {field}: {re.search(rf'{field} = {{(.*?)}}', bibtex)[1]}\n" in cff
