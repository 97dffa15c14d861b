"""Run a benchmark from a clone, with nothing installed but its requirements: ``python -m benchmarks NAME ...``."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
SHARED = {"__main__", "harness", "evaluation", "effect_designs", "tuebingen"}


def main() -> None:
    """Run the script of this name with the arguments after it; without a name, list them with what they answer."""
    scripts = {path.stem: path for path in sorted(FOLDER.glob("*.py")) if path.stem not in SHARED}
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in scripts:
        for known, path in scripts.items():
            print(f"{known:22} {path.read_text(encoding='utf-8').splitlines()[0].strip(chr(34))}")
        sys.exit(None if name in ("", "-h", "--help") else f"there is no benchmark {name!r}")
    sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
    sys.argv = [str(scripts[name]), *sys.argv[2:]]
    runpy.run_path(str(scripts[name]), run_name="__main__")


if __name__ == "__main__":
    main()
