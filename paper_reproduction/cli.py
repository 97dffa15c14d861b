"""The command line."""

import argparse
import json
from pathlib import Path

from icdh.files import replace_on_success
from paper_reproduction.jobs import Selection
from paper_reproduction.judging import judge
from paper_reproduction.methods import METHODS
from paper_reproduction.problems import problem_of
from paper_reproduction.records import Records
from paper_reproduction.tables import RAW, STANDARDIZED, TABLES

RESULTS = Path(__file__).parent / "results"


def main(arguments=None) -> int:
    """Run a command and return the exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Instead of those of the process.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except (OSError, ValueError, ImportError) as error:
        print(f"paper_reproduction: {error}")
        return 1
    except KeyboardInterrupt:
        print("interrupted: what is finished is kept, the same command goes on")
        return 130


def _parser():
    parser = argparse.ArgumentParser(prog="python -m paper_reproduction", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command, text, selects in (
        ("run", _run, "run what is planned and has no result yet; prints what is done, failed and left", True),
        (
            "report",
            _report,
            "write report.md and its figures beside the results; prints how many published numbers are reproduced",
            False,
        ),
        ("evaluate", _evaluate, "compute all metrics again from the raw weights", False),
        ("forget", _forget, "drop results, so that they are computed again", True),
        (
            "authors",
            _authors,
            "write authors.md: the article's SHD beside the authors' earlier weights and tables",
            False,
        ),
        (
            "tune",
            _tune,
            "print the mean SHD of candidates for hyper-parameters on graphs that no table uses",
            False,
        ),
    ):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        sub.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="folder of the results")
        if selects:
            _add_selection(sub)
        if name == "run":
            _add_run_options(sub)
        if name == "authors":
            sub.add_argument("folder", help="their repository at the commit that paper_reproduction/authors.py names")
            sub.add_argument("--nodes", type=int, nargs="+", default=(5, 10), help="numbers of variables")
        if name == "tune":
            sub.add_argument("methods", nargs="+", metavar="METHOD")
    return parser


def _add_selection(sub):
    sub.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}; all by default")
    sub.add_argument("--nodes", type=int, nargs="+", default=(), help="numbers of variables of simulated data")
    sub.add_argument("--graphs", nargs="+", default=(), metavar="GRAPH", help="ER1, ER2, ER3, loci-99")
    sub.add_argument("--noises", nargs="+", default=(), metavar="NOISE", help="homo-ev, homo-nv, softplus-shared, exp")
    sub.add_argument("--units", nargs="+", default=(), choices=(RAW, STANDARDIZED))
    sub.add_argument("--methods", nargs="+", default=(), choices=tuple(METHODS), metavar="METHOD")
    sub.add_argument("--trials", type=int, help="the most trials of a row; of the pairs, how many pairs")


def _add_run_options(sub):
    sub.add_argument("--reduced", action="store_true", help="every table at its least N, two trials, raw data")
    sub.add_argument("--jobs", type=int, default=1, help="how many jobs at once, -1 for one a core")
    sub.add_argument("--dask", metavar="ADDRESS", help="run on the Dask cluster of this scheduler instead")
    sub.add_argument("--time-limit", type=float, default=300.0, metavar="SECONDS", help="CPU seconds of a job")
    sub.add_argument("--retry", action="store_true", help="run jobs again that failed")
    sub.add_argument("--plan", action="store_true", help="print the names of the jobs and run none")


def _selection(options):
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown:
        raise ValueError(f"there is no table {unknown[0]!r}; choose from {', '.join(TABLES)}")
    selection = Selection(
        *map(tuple, (options.tables, options.methods, options.noises, options.graphs, options.units, options.nodes)),
        options.trials,
    )
    return selection.reduced() if getattr(options, "reduced", False) else selection


def _run(options):
    from paper_reproduction.runner import run

    jobs = _selection(options).jobs()
    if options.plan:
        print("\n".join(job.name for job in jobs))
        return 0
    _say_what_is_not_installed(jobs)
    jobs = _without_pairs_that_cannot_be_had(jobs)
    failed = run(
        jobs,
        options.output,
        time_limit=options.time_limit,
        n_jobs=options.jobs,
        dask=options.dask,
        retry=options.retry,
    )
    print(f"{failed} failed" if failed else "all done")
    return 0


def _say_what_is_not_installed(jobs):
    for name in dict.fromkeys(job.method for job in jobs):
        if not METHODS[name].is_installed():
            needed = ", ".join(METHODS[name].packages)
            print(f"{name} is left out: it needs {needed}; pip install '.[reproduction]'")


def _without_pairs_that_cannot_be_had(jobs):
    """Leave out jobs on pairs where these cannot be read; the rest still runs."""
    pairs = [job for job in jobs if job.setting.data == "pairs"]
    try:
        if pairs:
            problem_of(pairs[0])
    except (OSError, ImportError) as error:
        print(f"jobs on pairs left out ({len(pairs)}): {error}")
        return [job for job in jobs if job.setting.data != "pairs"]
    return jobs


def _report(options):
    from paper_reproduction.report import write_report

    print(write_report(options.output))
    return 0


def _evaluate(options):
    records = Records(options.output)
    with records.writer():
        found, matrices, changed = records.read(), records.matrices(), 0
        jobs = {job.name: job for job in Selection().jobs()}
        for name, weights in matrices.items():
            job, record = jobs.get(name), found.get(name)
            if job is None or record is None or record["status"] != "done":
                continue
            problem = problem_of(job)
            if problem.digest != record["digest"]:
                raise ValueError(f"the data of {name} are no longer those it was run on; forget it and run it again")
            metrics = judge(job, weights, problem)
            changed += json.dumps(metrics) != json.dumps(record["metrics"])
            record["metrics"] = metrics
        records.rewrite(found)
    print(f"{len(matrices)} results evaluated, {changed} changed")
    return 0


def _forget(options):
    records = Records(options.output)
    names = {job.name for job in _selection(options).jobs()}
    with records.writer():
        found = records.read()
        records.rewrite({name: record for name, record in found.items() if name not in names})
    print(f"{len(names & set(found))} results forgotten")
    return 0


def _authors(options):
    from paper_reproduction.authors import compare_with_authors

    with replace_on_success(options.output / "authors.md") as temporary:
        temporary.write_text(compare_with_authors(options.folder, options.nodes), encoding="utf-8")
    return 0


def _tune(options):
    from paper_reproduction.tuning import tune

    for method in options.methods:
        tune(method)
    return 0
