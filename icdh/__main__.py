"""Run the command line as ``python -m icdh``."""

import sys

from icdh.cli import main

if __name__ == "__main__":
    sys.exit(main())
