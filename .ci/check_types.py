"""Check the types of the package by ``mypy --strict`` and pyright, at the same time."""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    checks = (("mypy", "--strict", "icdh"), ("pyright", "--pythonpath", sys.executable, "icdh"))
    root = Path(__file__).parent.parent
    running = [subprocess.Popen([sys.executable, "-m", *check], cwd=root) for check in checks]
    sys.exit(max([check.wait() for check in running]))
