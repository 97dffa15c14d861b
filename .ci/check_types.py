"""Check the types of the modules that are clean, by ``mypy --strict`` and pyright; the list of clean modules grows."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLEAN = (  # a folder stands for all of its modules
    "icdh/__init__.py",
    "icdh/_estimators/",
    "icdh/_ground/",
    "icdh/_model/",
    "icdh/_network_kernels.py",
    "icdh/_node_model/",
    "icdh/_rows/",
    "icdh/_table/",
    "icdh/acyclicity.py",
    "icdh/_effect/",
    "icdh/datasets/",
    "icdh/diagnostics/",
    "icdh/files/",
    "icdh/graphs/",
    "icdh/knowledge/",
    "icdh/likelihood.py",
    "icdh/metrics/",
    "icdh/pairs/",
    "icdh/plotting/",
    "icdh/report/",
    "icdh/progress.py",
    "icdh/simulate/",
    "icdh/simulate/random_graphs.py",
    "icdh/simulate/sortability.py",
    "icdh/network.py",
    "icdh/search/",
    "icdh/two_phase/",
    "icdh/uncertainty/",
    *(f"icdh/cli/{path.name}" for path in (ROOT / "icdh" / "cli").glob("*.py")),
)


NOT_FOR_PYRIGHT = (  # which has other rules
    "icdh/_estimators/graph_search.py",
    "icdh/_table/missing_codes.py",
    "icdh/_table/relations.py",
    "icdh/_table/row_order.py",
    "icdh/knowledge/declared.py",
    "icdh/_ground/labels.py",
    "icdh/_model/persist.py",
    "icdh/_model/structural.py",
    "icdh/_node_model/additive.py",
    "icdh/_node_model/evidence.py",
    "icdh/_node_model/scoring.py",
    "icdh/cli/_parser.py",
    "icdh/search/climb.py",
    "icdh/two_phase/as_printed.py",
    "icdh/two_phase/lbfgs.py",
    "icdh/two_phase/newton.py",
    "icdh/two_phase/objective.py",
    "icdh/two_phase/scales.py",
)


def errors(*command: str) -> list[str]:
    """Return the errors of a type checker in the clean modules."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return [done.stdout + done.stderr]
    lines = [line.strip().removeprefix(f"{ROOT}/") for line in done.stdout.splitlines()]
    return [line for line in lines if line.startswith(CLEAN) and re.search(r"\berror\b", line)]


if __name__ == "__main__":
    pyright = errors("pyright", "--pythonpath", sys.executable, *CLEAN)
    pyright = [line for line in pyright if not line.startswith(NOT_FOR_PYRIGHT)]
    found = [*errors("mypy", "--strict", "icdh"), *pyright]
    sys.exit("\n".join(found) or 0)
