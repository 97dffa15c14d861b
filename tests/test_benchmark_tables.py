"""The tables of benchmarks/README.md and of README.md are what the committed results say."""

import json
import re
import sys
from pathlib import Path

import pytest
import scipy

sys.path.append(str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import all_sets
import calibration_report
import outside_truths
import published_sets
import standard_networks

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").splitlines()


def rows_of(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def published(rows):
    published_sets.print_summary(rows)


def networks(rows):
    for name in standard_networks.NETWORKS:
        standard_networks.print_rows(name, [row for row in rows if (row["network"], row["rows"]) == (name, 1000)])


TABLES = {"published_sets": published, "standard_networks": networks, "outside_truths": outside_truths.print_summary}


@pytest.mark.skipif(
    tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 15), reason="Wilcoxon's p among ties is another before 1.15"
)
@pytest.mark.parametrize("name", TABLES)
def test_every_line_of_the_table_stands_in_the_page(name, capsys):
    TABLES[name](rows_of(name))
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(lines) > 10
    assert [line for line in lines if line not in PAGE] == []


def test_the_table_of_the_readme_is_of_all_results():
    lines = list(all_sets.table(all_sets.shares()))
    assert "\n".join(lines) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_number_of_the_paper_is_of_a_result():
    text = (ROOT / "paper_reproduction" / "paper.md").read_text(encoding="utf-8").split("---", 2)[2]
    table = "\n".join(all_sets.table(all_sets.shares()))
    assert table in text
    text = " ".join(text.replace(table, "").split())
    posterior = [row for row in rows_of("calibration") if row["method"] == calibration_report.POSTERIOR]
    groups = [
        [row for row in posterior if calibration_report.group_of(row) == group] for group in ("own", "misspecified")
    ]
    right, wrong = (calibration_report.scores(group)[2] for group in groups)
    covered = [100.0 * row["covers"] for row in rows_of("known_effects") if row["n"] == 500]
    report = (ROOT / "paper_reproduction" / "results" / "report.md").read_text(encoding="utf-8")
    for sentence in (
        f"calibration error is {right:.3f} where the model is right, and {wrong:.3f} where a cause is left out",
        f"95 % intervals cover the truth in {min(covered):.0f} to {max(covered):.0f} % of simulated tables of 500 rows",
        re.search(r"^Of the article's .* were not run\.$", report, flags=re.MULTILINE)[0],
    ):
        assert sentence in text
        text = text.replace(sentence, "")
    assert re.findall(r"\d+", re.sub(r"\[[^\]]*@[^\]]*\]", "", text)) == []
