"""Check the types of the package, and of a user's module, by ``mypy --strict`` and pyright, at the same time."""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    checked = ("icdh", ".ci/users_module.py", "tests/support/users_module.py")
    checks = (
        ("mypy", "--strict", "--explicit-package-bases", *checked),
        ("pyright", "--pythonpath", sys.executable, *checked),
    )
    root = Path(__file__).parent.parent
    running = [subprocess.Popen([sys.executable, "-m", *check], cwd=root) for check in checks]
    sys.exit(max([check.wait() for check in running]))
