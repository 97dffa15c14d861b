"""Check the types of the package by ``mypy --strict`` and pyright."""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    checks = (("mypy", "--strict", "icdh"), ("pyright", "--pythonpath", sys.executable, "icdh"))
    root = Path(__file__).parent.parent
    sys.exit(max(subprocess.run([sys.executable, "-m", *check], cwd=root, check=False).returncode for check in checks))
