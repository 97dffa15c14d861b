"""Command line: run, report, authors, tune, forget, evaluate."""

from paper_reproduction.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
