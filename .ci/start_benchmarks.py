"""Start every benchmark: with --help, and at its smallest size; print the CPU seconds of each, and which failed.

    python .ci/start_benchmarks.py [NAME ...]

A process that has loaded all kernels forks for each script, two at a time. A new script needs an entry in `SMALL`, or
in `ELSEWHERE` if its data are on no machine of ours.
"""

import os
import runpy
import signal
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks"
sys.path[:0] = [str(FOLDER), str(ROOT), str(ROOT / "tests")]

ELSEWHERE = {"first_contact", "known_effects", "marginals", "production_lines", "public_files"}
SMALL = {
    "all_sets": "",
    "answers": "OUT TABLES --tables look",
    "calibration": "OUT --methods posterior --seeds 0 1 --variables 4 --rows 50 --kinds homo-nv",
    "calibration_report": "benchmarks/results/calibration.json",
    "cause_effect_pairs": "OUT --multiplicative --seeds 1",
    "check": "OUT --parts level --seeds 60000 60001 --kinds plain",
    "coarse_rounding": "OUT --seeds 13000 13001",
    "counts": "OUT --kinds Poisson --tables 1 --public",
    "dependent_rows": "level --seeds 1",
    "effect_coverage": "--tables 1 --rows 200 --designs strong --results OUT",
    "effect_graphs": "--graphs 1 --variables 5 --rows 60 --kinds gaussian --results OUT",
    "evaluation": "OUT --variables 5",
    "exact_search": "OUT --variables 5 --seeds 0 1",
    "extra_edges": "OUT --graphs 1 --tables hubs",
    "fits": "OUT --methods icdh --variables 5 --seeds 0",
    "fuzz": "--cases 3 --summary OUT",
    "held_out_noise": "--tables 1 --rows 100",
    "interventions": "--tables 1 --methods nothing --results OUT",
    "invariance": "OUT --tables 1 --kinds continuous",
    "knowledge": "--suite experiments --methods icdh --seeds 7000 7001 --results OUT",
    "last_stage": "OUT --sizes 10 --procedures stage --tables 1",
    "mean_or_spread": "OUT --kinds plain --rows 100 --seeds 0 1",
    "memory": "--rows 1000 --columns 3",
    "minima": "OUT --tables 1 --seeds 1 --rows 100",
    "missing_edges": "OUT --tables 5-1-100 --seeds 88000 88001",
    "node_fit": "OUT --problems 2",
    "outside_truths": "OUT --sets few --methods HNMSearch --tables 1",
    "own_method": "own_method:no_edge OUT --sets zeros --tables 1",
    "plot": "benchmarks/results OUT.svg",
    "plot_calibration": "benchmarks/results/calibration.json OUT.svg",
    "point_masses": "OUT --tables 1",
    "published_sets": "benchmarks/results/published_sets.json --methods",
    "readme_picture": "--folder FOLDER",
    "real_tables": "OUT TABLES --tables look",
    "resampling": "OUT --seeds 0 1 --rows 100 --resamples 2",
    "sachs": "--part experiments --methods search --rows 20 --results OUT",
    "same_results": "OUT --cases",
    "scaling": "OUT --variables 5 --observations 100",
    "search_accuracy": "OUT --suite distributions --seeds 1000 1001",
    "search_peers": "OUT --methods HNMSearch --variables 5 --observations 300",
    "search_speed": "OUT --tables 5-1-100 --seeds 5000 5001",
    "simulated_noise": "--variables 4 --observations 100 --seeds 1",
    "simulated_tables": "OUT --kinds plain --methods auto --seeds 1000 1001 --variables 4 --rows 100",
    "standard_networks": "benchmarks/results/standard_networks.json --methods",
    "start": "OUT --repeats 1 --starts import",
    "surviving_arrows": "OUT --kinds linear --seeds 6000 6001",
    "track_record": "OUT TABLES --tables look",
    "track_record_lists": "",
    "turned_edges": "OUT --kinds linear --seeds 5000 5001",
    "two_phase_accuracy": "TABLES --seeds 1 --output OUT",
    "where_search_time_goes": "OUT --tables 5-1-100 --seeds 5000 5001",
    "where_time_goes": "OUT --variables 5 --seeds 1",
    "wide_tables": "OUT --methods HNMSearch --sizes 5-100",
}


def start(name, words, log):
    """Fork a process that runs a script with these arguments, and return its number."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    output = os.open(log, os.O_CREAT | os.O_WRONLY)
    os.dup2(output, 1)
    os.dup2(output, 2)
    signal.alarm(300)  # a hang
    sys.argv = [str(FOLDER / f"{name}.py"), *words]
    code = 1
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main():
    from support.kernels import call_every_kernel

    begin, wanted = time.monotonic(), sys.argv[1:] or sorted(SMALL.keys() | ELSEWHERE)
    call_every_kernel()
    print(f"kernels loaded in {time.monotonic() - begin:.0f} s", flush=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_tables(place / "tables")
        tasks = [(name, ["--help"]) for name in wanted]
        tasks += [(name, words_of(name, place)) for name in wanted if name in SMALL]
        running = {}
        while tasks or running:
            while tasks and len(running) < 2:
                name, words = tasks.pop(0)
                log = place / f"{name}{'.help' * (words == ['--help'])}.log"
                running[start(name, words, log)] = name, words, log
            process, status, usage = os.wait4(-1, 0)
            name, words, log = running.pop(process)
            if words != ["--help"]:
                print(f"{name:24} {usage.ru_utime + usage.ru_stime:6.1f} s", flush=True)
            if status:
                failed += 1
                print(f"{name} {' '.join(words)} failed:\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
    print(f"{len(wanted)} benchmarks, {failed} failed, {time.monotonic() - begin:.0f} s")
    sys.exit(failed > 0)


def make_tables(folder):
    """Write random walks in place of the public tables that some scripts read, and a table with its true graph."""
    import numpy as np
    from real_tables import LEVELS

    from icdh.files import write_table

    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, levels in LEVELS["look"].items():
        columns = " ".join(levels).split()
        write_table(folder / f"{name}.csv", np.cumsum(rng.normal(size=(60, len(columns))), axis=1), columns)
    np.savez(folder / "graph.npz", X=rng.normal(size=(60, 3)), W=np.zeros((3, 3)))


def words_of(name, place):
    """Return the arguments of a small run; what it writes, and the tables that it reads, are in this folder."""
    stands = {
        "TABLES": str(place / "tables"),
        "OUT": f"{place}/{name}.json",
        "OUT.svg": f"{place}/{name}.svg",
        "FOLDER": str(place),
    }
    small = SMALL[name]
    return [stands.get(word, word) for word in (small.split() if isinstance(small, str) else small)]


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
