"""The runner of the paper's tables: jobs, records that survive a kill, isolation, the report."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.append(str(ROOT))
pytest.importorskip("joblib", minversion="1.4")

from paper_reproduction import runner  # noqa: E402
from paper_reproduction.authors import compare_with_authors  # noqa: E402
from paper_reproduction.cli import main  # noqa: E402
from paper_reproduction.isolation import run_job  # noqa: E402
from paper_reproduction.jobs import Job, Selection  # noqa: E402
from paper_reproduction.judging import judge  # noqa: E402
from paper_reproduction.methods import METHODS, _causal_learn  # noqa: E402
from paper_reproduction.problems import Problem, problem_of  # noqa: E402
from paper_reproduction.published import ARTICLE, SOURCES, read_published  # noqa: E402
from paper_reproduction.records import MATRICES, RECORDS, Records  # noqa: E402
from paper_reproduction.report import write_report  # noqa: E402
from paper_reproduction.summaries import rows  # noqa: E402
from paper_reproduction.tables import TABLES, Setting  # noqa: E402
from paper_reproduction.verdicts import verdicts  # noqa: E402

SMALL = ["homo-ev", "--nodes", "5", "--graphs", "ER1", "--units", "raw", "--methods", "US", "GFBS", "CAM"]


def small_jobs(trials=10):
    return Selection(tables=("homo-ev",), methods=("US",), graphs=("ER1",), nodes=(5,), trials=trials).jobs()


def run_apart(folder, *options):
    command = [sys.executable, "-m", "paper_reproduction", "run", *SMALL, "--output", str(folder), *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main_of(*given):
    return main([str(word) for word in given])


def keep(folder, *entries):
    """Write records, and a matrix for each: None if nothing else is said."""
    with Records(folder).writer() as add:
        for record, *weights in entries:
            add(record, *weights or [None])


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def wait_for_lines(path, count, process):
    deadline = time.monotonic() + 120
    while len(lines_of(path)) < count:
        assert process.poll() is None, "the run ended before it was killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_killed_run_loses_and_repeats_nothing(tmp_path):
    of_one = {"tables": ("homo-ev",), "graphs": ("ER1",), "units": ("raw",), "nodes": (5,)}
    selection = Selection(methods=("US", "GFBS", "CAM"), **of_one)
    expected, records = {job.name for job in selection.jobs()}, tmp_path / RECORDS
    for count in (3, 9):
        process = run_apart(tmp_path)
        wait_for_lines(records, count, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = lines_of(records)
        with open(records, "a") as file:
            file.write('{"job": "homo-ev/ER1/5/raw/0')  # as a kill in the middle of a line leaves it
        with open(tmp_path / MATRICES, "a") as file:
            file.write("\n" if count == 9 else '{"job"')
    assert 0 < len(kept) < len(expected)
    assert run_apart(tmp_path, "--jobs", "2").wait() == 0
    assert sorted(json.loads(line)["job"] for line in lines_of(records)) == sorted(expected)
    assert lines_of(records)[: len(kept)] == kept
    assert set(Records(tmp_path).matrices()) == expected


def test_two_runs_do_not_write_to_one_folder(tmp_path, capsys):
    with Records(tmp_path).writer():
        assert main_of("run", *SMALL, "--output", tmp_path) == 1
    assert "another run writes" in capsys.readouterr().out


def test_records_read_back_and_the_last_one_counts(tmp_path):
    records, weights = Records(tmp_path), np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    a, b = ({"job": name, "status": "done"} for name in "ab")
    keep(tmp_path, ({"job": "a", "status": "failed"},), (b, weights), (a, 2 * weights))
    assert {name: record["status"] for name, record in records.read().items()} == {"a": "done", "b": "done"}
    np.testing.assert_array_equal(records.matrices()["a"], 2 * weights)
    with records.writer():
        records.rewrite({"b": b})
    assert set(records.read()) == set(records.matrices()) == {"b"}


def test_names_are_unique_and_seeds_follow_from_them():
    jobs = Selection().jobs()
    assert len({job.name for job in jobs}) == len({job.seed for job in jobs}) == len(jobs)
    job = Job("homo-ev", Setting("homo-ev", "ER1", 5, "raw"), 3, "US")
    assert job.seed == job._replace(table="comparison").seed != job._replace(method="CAM").seed
    assert job.draw_seed == job._replace(method="CAM").draw_seed != job._replace(trial=4).draw_seed


def test_every_method_of_the_paper_is_planned():
    paper = ("ICDH", "ICDH (as printed)", "HNMSearch", "causal_direction", "NOTEARS", "NOTEARS-MLP", "GOLEM-EV",
             "GOLEM-NV", "GraN-DAG", "GraN-DAG++", "LiNGAM", "GES", "CD-NOD", "sortnregress", "HEC", "CAM", "GFBS",
             "HOST", "CAREFL", "LOCI", "US")  # fmt: skip
    assert set(paper) <= {job.method for job in Selection().jobs()} <= set(METHODS)
    assert {job.table for job in Selection().reduced().jobs()} >= set(TABLES) - {"comparison"}


def test_standardised_data_are_the_same_draw_in_another_order():
    jobs = [Job("homo-nv", Setting("homo-nv", "ER2", 5, units), 1, "US") for units in ("raw", "standardized")]
    raw, other = map(problem_of, jobs)
    np.testing.assert_allclose(other.X.std(axis=0), 1.0)
    order = [int(np.argmax(np.abs(np.corrcoef(raw.X.T, column)[-1, :-1]))) for column in other.X.T]
    assert order != sorted(order)
    np.testing.assert_allclose(np.corrcoef(other.X.T), np.corrcoef(raw.X.T)[np.ix_(order, order)], atol=1e-12)
    np.testing.assert_array_equal(other.truth, raw.truth[np.ix_(order, order)])
    assert raw.digest != other.digest


def test_a_job_is_judged_as_its_weights_are_and_changed_data_are_noticed(tmp_path, capsys):
    job = small_jobs(1)[0]
    record, weights = run_job(job, 60.0)
    assert record["status"] == "done", record["reason"]
    assert record["metrics"] == judge(job, weights, problem_of(job))
    assert record["cpu_seconds"] >= 0
    assert record["peak_memory_mb"] > 0
    keep(tmp_path, (record | {"metrics": {}}, weights))
    assert main_of("evaluate", "--output", tmp_path) == 0
    assert Records(tmp_path).read()[job.name]["metrics"] == record["metrics"]
    keep(tmp_path, (record | {"digest": "another"}, weights))
    assert main_of("evaluate", "--output", tmp_path) == 1
    assert "no longer those it was run on" in capsys.readouterr().out


def test_a_job_ends_when_its_time_is_up():
    job = Job("comparison", Setting("softplus-shared", "ER2", 50, "raw"), 0, "HOST")
    record, weights = run_job(job, 1.0)
    assert (record["status"], weights) == ("time limit", None)


def test_failures_are_kept_and_repeated_only_on_demand(tmp_path, monkeypatch):
    jobs, calls = small_jobs(2), []

    def flawed(job, time_limit):
        calls.append(job.name)
        status, weights = ("failed", None) if len(calls) == 1 else ("done", np.zeros((5, 5)))
        return {"job": job.name, "status": status, "reason": "because"}, weights

    monkeypatch.setattr(runner, "run_job", flawed)
    assert runner.run(jobs, tmp_path) == 1
    assert Records(tmp_path).read()[calls[0]]["reason"] == "because"
    assert runner.run(jobs, tmp_path) == 0
    assert len(calls) == len(jobs)
    runner.run(jobs, tmp_path, retry=True)
    assert calls[len(jobs) :] == calls[:1]


def test_forget_drops_what_is_named(tmp_path):
    keep(tmp_path, *(({"job": job.name, "status": "done"}, np.zeros((5, 5))) for job in small_jobs(2)))
    assert main_of("forget", "homo-ev", "--units", "raw", "--output", tmp_path) == 0
    assert ["standardized" in name for name in Records(tmp_path).read()] == [True, True]


def test_pairs_answer_by_the_larger_weight_and_silence_is_wrong():
    job = Job("pairs", Setting("pairs", "loci-99", 2, "raw"), 0, "ICDH")
    problem = Problem(np.zeros((3, 2)), np.array([[0, 1], [0, 0]]), weight=0.5)
    for forward, backward, right in ((2.0, 1.0, 1), (1.0, 2.0, 0), (0.0, 0.0, 0)):
        found = judge(job, np.array([[0.0, forward], [backward, 0.0]]), problem)
        assert (found["correct"], found["weight"]) == (right, 0.5)


def test_marks_of_causal_learn_become_edges():
    endpoints = np.zeros((3, 3), dtype=int)
    endpoints[0, 1], endpoints[1, 0] = -1, 1  # 0 -> 1
    endpoints[1, 2] = endpoints[2, 1] = -1  # 1 -- 2
    np.testing.assert_array_equal(_causal_learn.adjacency(endpoints), [[0, 1, 0], [0, 0, 1], [0, 1, 0]])


NUMBERS = read_published()
OF_THE_ARTICLE = [number for number in NUMBERS if number.source == ARTICLE]


def add_trials(folder, setting, method, metric, values):
    others = dict.fromkeys(("shd", "au_shdc", "minimum_shd", "truncated_auprc", "sid"), 0.5)
    same = {"method": method, "status": "done", "cpu_seconds": 1.0, "versions": {}, "finished": "2000-01-01T00:00:00Z"}
    names = [Job("any", setting, trial, method).name for trial in range(len(values))]
    records = [{"job": name, "metrics": others | {metric: own}} for name, own in zip(names, values, strict=True)]
    keep(folder, *((same | record, np.zeros((setting.nodes, setting.nodes))) for record in records))


def lines_on(text, *cells):
    return [line for line in text.splitlines() if line.startswith("| " + " | ".join(cells) + " |")]


SHOWN = [
    (Setting("homo-ev", "ER1", 10, "raw"), "NOTEARS-MLP", "SHD", "shd", "2.2 ± 1.8"),
    (Setting("homo-nv", "ER2", 20, "raw"), "GOLEM-NV", "auSHDC", "au_shdc", "76.64 ± 18.72"),
    (Setting("exp", "ER2", 50, "raw"), "GraN-DAG", "SHD", "shd", "123.1 ± 9.6"),
    (Setting("exp", "ER3", 10, "raw"), "HOST", "SID", "sid", "42.2"),
]


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A folder with a report of two trials each, and what was printed."""
    folder = tmp_path_factory.mktemp("report")
    for setting, method, _, metric, _ in SHOWN:
        add_trials(folder, setting, method, metric, (201.0, 203.0))
    return folder, write_report(folder)


@pytest.mark.slow
def test_the_report_shows_ours_beside_the_published_number(reported):
    folder, _ = reported
    report = (folder / "report.md").read_text()
    for setting, method, heading, _, printed in SHOWN:
        data = f"{setting.data}, {setting.graph}, N = {setting.nodes}"
        (line,) = lines_on(report, data, method, heading, printed)
        for cell in ("| 202.0", "| 10, 2 |", "| worse |"):
            assert cell in line
    assert all((folder / name).stat().st_size > 0 for name in ("figure.svg", "parity.svg"))


@pytest.mark.slow
def test_every_number_of_the_article_has_a_line(reported):
    folder, text = reported
    assert f"Of the article's {len(OF_THE_ARTICLE)} numbers, " in text
    assert len(OF_THE_ARTICLE) == 279
    report = (folder / "report.md").read_text()
    sections = re.findall(r"^## Every number of the article:.*?(?=^## )", report, flags=re.MULTILINE | re.DOTALL)
    assert sum(section.count("\n| ") - 2 for section in sections) == 279  # without heading and rule
    for method in {number.method for number in OF_THE_ARTICLE}:
        assert any(f"| {method} |" in section or f"| {method}; ours" in section for section in sections)


@pytest.mark.parametrize(("metric", "values", "word", "errors"), [
    ("shd", (2.0, 3.0, 4.0), "reproduced", 0.8 / np.hypot(1 / np.sqrt(3), 1.81 / np.sqrt(10))),
    ("shd", (20.0, 21.0, 22.0), "worse", 18.8 / np.hypot(1 / np.sqrt(3), 1.81 / np.sqrt(10))),
    ("shd", (0.0, 0.0), "better", -2.2 / (1.81 / np.sqrt(10))),
    ("shd", (5.0,), "reproduced", 2.8 / (1.81 * np.sqrt(1.1))),
    ("truncated_auprc", (0.9, 0.9), "better", 0.2 / (0.05 / np.sqrt(10))),
    ("truncated_auprc", (0.5, 0.5), "worse", -0.2 / (0.05 / np.sqrt(10))),
])  # fmt: skip
def test_a_difference_is_measured_in_standard_errors(tmp_path, metric, values, word, errors):
    setting = Setting("homo-ev", "ER1", 10, "raw")
    add_trials(tmp_path, setting, "NOTEARS-MLP", metric, values)
    key = (setting, "NOTEARS-MLP", metric)
    (number,) = [n for n in OF_THE_ARTICLE if (n.setting, n.method, n.metric) == key]
    (found,) = verdicts(rows(Records(tmp_path).read()), [number])
    assert (found.word, found.errors) == (word, pytest.approx(errors))


def test_what_was_not_run_says_why():
    found = {(v.published.setting.name, v.method): v for v in verdicts({}, OF_THE_ARTICLE)}
    assert {verdict.word for verdict in found.values()} == {"not run"}
    assert found["exp/ER2/50/raw", "GraN-DAG"].reason.startswith("not planned")
    assert found["homo-ev/ER1/5/raw", "ICDH (as printed)"].reason.startswith("planned")


def test_the_readmes_quote_the_count_of_the_report():
    report = (ROOT / "paper_reproduction" / "results" / "report.md").read_text()
    (quoted,) = re.findall(r"^Of the article's .* were not run\.$", report, flags=re.MULTILINE)
    for readme in (ROOT / "README.md", ROOT / "paper_reproduction" / "README.md"):
        assert quoted in " ".join(readme.read_text().split()), f"{readme} quotes another count"


def test_the_authors_weights_are_measured_beside_the_articles_numbers(tmp_path):
    """Of two trials one has a false edge of weight 0.4: SHD at 0.3 is 0.5, the least over thresholds 0."""
    graphs = tmp_path / "data" / "nonlinear" / "homo_ev" / "ER1_d5" / "graph"
    weights, truth = tmp_path / "results" / "homo_ev" / "ER1_d5", np.diag(np.ones(4), 1)
    for folder in (graphs, weights):
        folder.mkdir(parents=True)
    for trial, extra in ((1, 0.0), (2, 0.4)):
        np.savetxt(graphs / f"W_{trial}.csv", truth, delimiter=",")
        np.savetxt(weights / f"W_nll_{trial}.csv", truth + extra * np.eye(5, k=4), delimiter=",")
    text = compare_with_authors(tmp_path, (5,), with_ours=False)
    assert "| homo_ev, ER1, N = 5 | ICDH | 1.00 ± 0.20 | 2 | 0.50 ± 0.50 | 0.00 ± 0.00 | 0.00 ± 0.00 |" in text
    assert "| homo_ev, ER1, N = 5 | NOTEARS-MLP | 1.00 ± 0.20 | 0 |" in text
    with pytest.raises(FileNotFoundError, match="check out commit"):
        compare_with_authors(tmp_path, (10,))


def test_weighted_accuracy_of_pairs():
    records = {}
    for k, (right, weight) in enumerate(((1, 1.0), (0, 0.25), (1, 0.25))):
        records[str(k)] = {"method": "HEC", "status": "done", "cpu_seconds": 1.0, "reason": None}
        records[str(k)] |= {"job": f"pairs/loci-99/2/raw/{k}/HEC", "metrics": {"correct": right, "weight": weight}}
    found = rows(records)["pairs/loci-99/2/raw", "HEC"]
    assert found.mean("correct") == 2
    assert found.mean("weighted_accuracy") == pytest.approx(1.25 / 1.5)


def test_published_numbers_name_their_source_and_a_row_of_a_table():
    settings = {setting for table in TABLES.values() for setting in table.settings}
    for number in NUMBERS:
        for name, known in ((number.source, SOURCES), (number.method, METHODS), (number.table, TABLES)):
            assert name in known
        assert number.setting in settings


def test_commands_of_the_readme_are_those_of_the_parser(capsys):
    text = (ROOT / "paper_reproduction" / "README.md").read_text()
    lines = re.findall(r"^python -m paper_reproduction (run.*)$", text, flags=re.MULTILINE)
    assert lines
    for line in lines:
        assert main([*shlex.split(line, comments=True), "--plan"]) == 0
    assert capsys.readouterr().out


def test_a_cluster_of_two_workers_gives_the_same_results(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        assert run_apart(tmp_path / "there", "--trials", "2", "--dask", cluster.scheduler_address).wait() == 0
    assert run_apart(tmp_path / "here", "--trials", "2").wait() == 0
    here, there = (Records(tmp_path / folder).read() for folder in ("here", "there"))
    assert {name: own["metrics"] for name, own in here.items()} == {name: own["metrics"] for name, own in there.items()}


def test_pairs_that_cannot_be_had_are_left_out_and_the_rest_runs(tmp_path, monkeypatch, capsys):
    def unreachable(job):
        raise OSError("cannot download the pairs")

    monkeypatch.setattr("paper_reproduction.cli.problem_of", unreachable)
    selection = ["--methods", "US", "--nodes", "5", "--graphs", "ER1", "loci-99", "--trials", "1", "--units", "raw"]
    assert main_of("run", "homo-nv", "pairs", *selection, "--output", tmp_path) == 0
    assert "jobs on pairs left out (1): cannot download the pairs" in capsys.readouterr().out
    assert [record["data"] for record in Records(tmp_path).read().values()] == ["homo-nv"]
