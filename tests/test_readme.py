import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_the_example_runs_and_prints_edges(capsys):
    (example,) = blocks("python")
    exec(compile(example, "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(re.fullmatch(r"\w+ -> \w+  \d+\.\d\d", line) for line in lines)


def test_there_are_two_commands_of_one_line():
    first, second = blocks("sh")
    assert first.count("\n") == second.count("\n") == 1
    assert "icdh fit --dataset sachs" in first
    assert second.endswith("pytest\n")


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)]+)\)", README))
def test_links_lead_somewhere(target):
    anchors = ["#" + heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", README, re.MULTILINE)]
    assert target.startswith("https://") or target in anchors or (ROOT / target).is_file()
