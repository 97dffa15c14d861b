"""The tables of benchmarks/README.md and of README.md are what the committed results say."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import all_sets
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


@pytest.mark.parametrize("name", TABLES)
def test_every_line_of_the_table_stands_in_the_page(name, capsys):
    TABLES[name](rows_of(name))
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert len(lines) > 10
    assert [line for line in lines if line not in PAGE] == []


def test_the_table_of_the_readme_is_of_all_results():
    lines = list(all_sets.table(all_sets.shares()))
    assert "\n".join(lines) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_stays_a_page_of_reference():
    assert len(PAGE) <= 400
