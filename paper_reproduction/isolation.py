"""Run one job in a process of its own: its time and memory are measured, and its time is limited.

Jobs fork from a server process that has imported the packages and compiled the kernels, so that a job costs what its
method costs. The server has one thread, and forks are safe.
"""

import hashlib
import multiprocessing
import os
import platform
import sys
import time
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

import icdh
from paper_reproduction.judging import judge
from paper_reproduction.methods import METHODS, estimate
from paper_reproduction.problems import problem_of

try:
    import resource
except ImportError:  # Windows, where only wall time is limited
    resource = None

VARIABLE, SEPARATOR = "PAPER_REPRODUCTION_METHODS", ";"
DONE, FAILED, TIME_LIMIT = "done", "failed", "time limit"
WALL_PER_CPU = 10  # on a busy machine a process may get a tenth of a core
# More threads make small problems slower, and CPU seconds are compared.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def prepare(methods) -> None:
    """Say what the server shall import before jobs fork from it; before the first job.

    Parameters
    ----------
    methods : iterable of str
        The methods whose jobs will run.
    """
    for name in ONE_THREAD:
        os.environ[name] = "1"
    os.environ[VARIABLE] = SEPARATOR.join(methods)
    context = multiprocessing.get_context(_start_method())
    if hasattr(context, "set_forkserver_preload"):
        context.set_forkserver_preload(["paper_reproduction._warm"])
    if multiprocessing.current_process().daemon:  # a worker of a cluster, which may not have children otherwise
        multiprocessing.current_process().daemon = False


def _start_method():
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def run_job(job, time_limit: float) -> tuple:
    """Return the record of a job and its raw weights, which are None if it failed; never raises.

    Parameters
    ----------
    job : Job
        What to run.
    time_limit : float
        CPU seconds.
    """
    record = {
        "job": job.name,
        **job.setting._asdict(),
        "trial": job.trial,
        "method": job.method,
        "seed": job.seed,
        "finished": None,
        "status": FAILED,
        "reason": None,
    }
    weights = None
    begin = time.monotonic()
    try:
        problem = problem_of(job)
        record["digest"] = problem.digest
        found = _in_process(job, problem, time_limit)
        weights = found.pop("weights", None)
        record |= found
    except Exception as error:
        record["reason"] = f"{type(error).__name__}: {error}"
    record.setdefault("wall_seconds", round(time.monotonic() - begin, 3))
    record["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return record, weights


def _in_process(job, problem, time_limit):
    context = multiprocessing.get_context(_start_method())
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, job, problem, time_limit))
    process.start()
    sender.close()
    try:
        if not receiver.poll(WALL_PER_CPU * time_limit):
            return {"status": TIME_LIMIT, "reason": f"{WALL_PER_CPU * time_limit:g} s of wall time are over"}
        return receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode == -_signal("SIGXCPU") or process.exitcode == -_signal("SIGKILL"):
            return {"status": TIME_LIMIT, "reason": f"{time_limit:g} s of CPU time are over, or memory is"}
        return {"status": FAILED, "reason": f"the process ended with code {process.exitcode}"}
    finally:
        process.kill()
        process.join()
        receiver.close()


def _signal(name):
    import signal

    return getattr(signal, name, 0)


def _child(sender, job, problem, time_limit):
    """Run in the process of the job: estimate, judge, send."""
    silence = os.open(os.devnull, os.O_WRONLY)  # packages print, and keep the streams that they saw when imported
    for stream in (1, 2):
        os.dup2(silence, stream)
    if resource is not None:
        seconds = int(np.ceil(time_limit))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        weights = estimate(job.method, problem.X, job.seed)
        found = {
            "status": DONE,
            "cpu_seconds": round(time.process_time() - cpu, 4),
            "wall_seconds": round(time.perf_counter() - wall, 4),
            "peak_memory_mb": _peak_memory(),
            "metrics": judge(job, weights, problem),
            "versions": _versions(job.method),
            "weights": weights,
        }
    except BaseException as error:  # some packages raise errors that are no Exception
        found = {"status": FAILED, "reason": f"{type(error).__name__}: {error}"}
    sender.send(found)
    sender.close()


def _peak_memory():
    if resource is None:
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def _versions(method):
    packages = ("numpy", "scipy", *METHODS[method].packages)
    own = {"python": platform.python_version(), "icdh": f"{icdh.__version__}+{_state_of_icdh()}"}
    return own | {package: version(package) for package in packages}


@cache
def _state_of_icdh():
    """Return a few letters that change with any line of the package: results outlive versions."""
    files = sorted(Path(icdh.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:7]
