"""Break the numerical modules on purpose, one small change at a time, and see whether the tests notice.

    python tests/mutation/run.py fresh.json --count 60 --seed 7     # draws 60 changes; stop and go on at will
    python tests/mutation/run.py fresh.json --survivors             # those that survived, again: after tests were added
    python tests/mutation/run.py fresh.json --summary               # the share killed and the survivors

A mutant changes one operator, sign or bound of a random line (`drawn.py`). The file keeps one entry a mutant, with a
digest of its module: a mutant of a module that has changed since is run again. Every mutant lives in a process of its
own, forked from one that has loaded the libraries; it reads the changed source in place of the file, in a copy of the
tree that does not change while the tests run. Kernels that a mutant touches are compiled anew.
"""

import argparse
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import NamedTuple

from drawn import drawn
from noticing import TESTS

ROOT = Path(__file__).parent.parent.parent
NUMERICAL = (  # where mutants are drawn from
    "_network_kernels.py acyclicity.py likelihood.py network.py _rows.py _utils/*.py _table/*.py _node_model/*.py "
    "_model/*.py _effect/*.py _estimators/*.py diagnostics/*.py graphs.py metrics.py pairs.py search/*.py "
    "two_phase/*.py uncertainty/*.py"
)
HAS_KERNELS = "\n@kernel("  # in a file that numba compiles
CPU_LIMIT = 90  # seconds; a mutant that never ends is noticed, too
OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM)
NEEDED = ("icdh", "tests", "setup.cfg", "pyproject.toml")
LIBRARIES = ("pytest", "numba", "scipy.optimize", "scipy.stats", "pandas", "networkx", "sklearn.utils.estimator_checks")
WORKPLACE = Path(tempfile.gettempdir()) / f"icdh-mutation-{os.getuid()}"
TREE = WORKPLACE / "tree"  # always the same path: Numba's cache asks for it


class Mutant(NamedTuple):
    """A change of one module: the fragment ``old``, which stands there once, becomes ``new``."""

    module: str
    old: str
    new: str

    def key(self) -> str:
        return f"{self.module}: {self.old} => {self.new}"

    def source(self, root: Path = ROOT) -> str:
        return (root / "icdh" / self.module).read_text(encoding="utf-8")

    def is_compiled(self) -> bool:
        return HAS_KERNELS in self.source()

    def digest(self, root: Path = ROOT) -> str:
        return hashlib.sha256(self.source(root).encode()).hexdigest()[:12]

    def tests(self) -> list[str]:
        """Return the tests of the longest prefix of the module's path."""
        prefix = max((prefix for prefix in TESTS if self.module.startswith(prefix)), key=len)
        places = [name.partition("::") for name in TESTS[prefix].split()]
        return [f"{_folder(file)}/{file}.py{colons}{test}" for file, colons, test in places]


def _folder(file: str) -> Path:
    """Return the folder of a file of tests, from the root of the project."""
    return next(ROOT.glob(f"tests/*/{file}.py")).parent.relative_to(ROOT)


def fresh_mutants(count: int, seed: int) -> list[Mutant]:
    """Return mutants drawn at random from the numerical modules that have tests named for them."""
    package = ROOT / "icdh"
    paths = sorted({str(path.relative_to(package)) for pattern in NUMERICAL.split() for path in package.glob(pattern)})
    modules = [path for path in paths if any(path.startswith(prefix) for prefix in TESTS)]
    return [Mutant(*change) for change in drawn(package, modules, count, seed)]


def copy_tree() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, TREE / name, ignore=shutil.ignore_patterns("__pycache__", "mutation"))
        else:
            shutil.copy2(ROOT / name, TREE / name)


def compiled_kernels() -> Path:
    """Return the cache of the kernels as they are."""
    sources = [path.read_text(encoding="utf-8") for path in sorted((TREE / "icdh").rglob("*.py"))]
    kernels = "".join(source for source in sources if HAS_KERNELS in source)
    return WORKPLACE / hashlib.sha256(kernels.encode()).hexdigest()[:16]


def kernels_for(mutant: Mutant, own: Path) -> Path:
    """Return the cache for a mutant: of its kernels, and of those in other files that call them, it holds none."""
    if not mutant.is_compiled():
        return compiled_kernels()
    room = Path(mutant.module).parent.name
    if room:
        shutil.copytree(compiled_kernels(), own)
        for folder in (*own.glob(f"{room}_*"), *own.glob("tests_*")):  # a test compiles what it calls into its own
            shutil.rmtree(folder)
    return own


def begin(mutant: Mutant | None, tests: list[str], folder: Path) -> int:
    """Run the tests in a process of their own, in place of a module its mutant; return its number."""
    kernels = compiled_kernels() if mutant is None else kernels_for(mutant, folder / "kernels")
    if number := os.fork():
        return number
    if mutant is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
        signal.alarm(10 * CPU_LIMIT)  # should it wait for ever
    output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(TREE)
    sys.path.insert(0, str(TREE))
    importlib.import_module("numba").core.config.CACHE_DIR = str(kernels)
    if mutant is not None:
        read_instead(mutant)
    pytest = importlib.import_module("pytest")
    code = pytest.main(
        ["-x", "-q", "--no-header", "--tb=no", "--assert=plain", "-n", "0", "-p", "no:cacheprovider", *tests]
    )
    sys.stdout.flush()
    os._exit(int(code))


def read_instead(mutant: Mutant) -> None:
    """Let whoever imports the module get the mutant."""
    path, honest = str(TREE / "icdh" / mutant.module), SourceFileLoader.get_code
    code = compile(mutant.source(TREE).replace(mutant.old, mutant.new), path, "exec")
    SourceFileLoader.get_code = lambda self, name: code if self.path == path else honest(self, name)


def outcome(status: int, output: str) -> dict:
    if os.WIFSIGNALED(status):
        return {"outcome": "out of time" if os.WTERMSIG(status) in OUT_OF_TIME else "crashed", "test": ""}
    if os.WEXITSTATUS(status) == 0:
        return {"outcome": "survived", "test": ""}
    failed = [line.split(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return {"outcome": "killed", "test": failed[0] if failed else output[-300:]}


def check_intact(mutants: list[Mutant]) -> None:
    """Without a mutant the tests must pass; this fills the cache of kernels, too."""
    tests = sorted({test for mutant in mutants for test in mutant.tests()})
    with tempfile.TemporaryDirectory() as folder:
        _, status = os.waitpid(begin(None, tests, Path(folder)), 0)
        result = outcome(status, (Path(folder) / "output").read_text(encoding="utf-8"))
    if result["outcome"] != "survived":
        raise SystemExit(f"the tests fail without any mutant: {result['test']}")


def run(mutants: list[Mutant], jobs: int, results: dict, path: Path) -> None:
    """Run every mutant, a few at a time, and write each result at once."""
    waiting, at_work = sorted(mutants, key=Mutant.is_compiled), {}
    while waiting or at_work:
        while waiting and len(at_work) < jobs:
            mutant, folder = waiting.pop(0), Path(tempfile.mkdtemp())
            at_work[begin(mutant, mutant.tests(), folder)] = mutant, folder, time.perf_counter()
        number, status = os.wait()
        mutant, folder, since = at_work.pop(number)
        result = outcome(status, (folder / "output").read_text(encoding="utf-8"))
        shutil.rmtree(folder)
        results[mutant.key()] = result | {"module": mutant.digest(TREE)}
        write(results, path)
        seconds = time.perf_counter() - since
        print(f"{len(waiting):4} left, {seconds:6.1f} s, {result['outcome']}: {mutant.key()}", flush=True)


def write(results: dict, path: Path) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(path)


def summary(mutants: list[Mutant], results: dict) -> None:
    known = [(mutant, results[mutant.key()]) for mutant in mutants if mutant.key() in results]
    survivors = [mutant for mutant, result in known if result["outcome"] == "survived"]
    stale = sum(result["module"] != mutant.digest() for mutant, result in known)
    killed = len(known) - len(survivors)
    print(f"{killed} of {len(known)} mutants killed, {killed / max(1, len(known)):.1%}", end=" ")
    print(f"({len(mutants) - len(known)} not run, {stale} of an earlier state of their module)")
    for mutant in survivors:
        print(f"survived: {mutant.key()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path, help="file of the results, which is gone on with")
    parser.add_argument("--count", type=int, default=60, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--survivors", action="store_true", help="run those that survived again")
    parser.add_argument("--summary", action="store_true", help="print the summary alone")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without any mutant first")
    arguments = parser.parse_args()
    mutants = fresh_mutants(arguments.count, arguments.seed)
    results = json.loads(arguments.results.read_text(encoding="utf-8")) if arguments.results.exists() else {}
    results = {mutant.key(): results[mutant.key()] for mutant in mutants if mutant.key() in results}

    def is_wanted(mutant):
        known = results.get(mutant.key())
        again = known is None or known["module"] != mutant.digest()
        return again or (arguments.survivors and known["outcome"] == "survived")

    wanted = [] if arguments.summary else [mutant for mutant in mutants if is_wanted(mutant)]
    if wanted:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads of the BLAS do not live on in a forked process
        copy_tree()
        for name in LIBRARIES:
            importlib.import_module(name)
        if not arguments.unchecked:
            check_intact(wanted)
        run(wanted, arguments.jobs, results, arguments.results)
    summary(mutants, results)


if __name__ == "__main__":
    main()
