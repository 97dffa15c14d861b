"""What a source distribution holds, and what a package index shows of it."""

import re
import shutil
import subprocess
import sys
import tarfile
from email.parser import Parser

import pytest
from helpers import ROOT


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The folder that a source distribution unpacks to."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("sdist")
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder / "tree", ignore=ignored)
    code = "from setuptools.build_meta import build_sdist; build_sdist('..')"
    run([sys.executable, "-W", "ignore", "-c", code], folder / "tree")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return folder / archive.name.removesuffix(".tar.gz")


def run(command, folder):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_a_source_distribution_holds_what_its_tests_need(unpacked):
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", ".ci/run"):
        assert (unpacked / name).is_file(), name
    for folder in ("tests", "benchmarks", "paper_reproduction", "icdh"):
        for path in (ROOT / folder).rglob("*.py"):
            assert (unpacked / path.relative_to(ROOT)).is_file(), path
    assert not list(unpacked.rglob("*.pyc"))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/test_graphs.py", "-o", "addopts="]
    assert "passed" in run(command, unpacked)


def test_metadata_name_the_authors_and_show_the_readme(unpacked):
    metadata = Parser().parsestr((unpacked / "PKG-INFO").read_text(encoding="utf-8"))
    assert metadata["Author"] == "icdh contributors"
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_links_of_the_readme_lead_to_files_and_to_the_address_on_an_index():
    links = re.findall(r"\]\(([^()]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    relative = [link.partition("#")[0] for link in links if not link.startswith(("http", "#"))]
    assert relative
    assert [link for link in relative if not (ROOT / link).exists()] == []
    shown = run([sys.executable, ".ci/readme_for_index.py", "https://example.org/icdh"], ROOT)
    for link in re.findall(r"\]\(([^()]+)\)", shown):
        assert link.startswith(("http", "#")), link
    assert f"](https://example.org/icdh/blob/main/{relative[-1]})" in shown
