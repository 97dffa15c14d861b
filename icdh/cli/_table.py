"""The options of every command that reads a table."""

import argparse


def add_format_options(parser) -> None:
    """Describe the options that say how a table is written; `icdh.files.read_table` takes both."""
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line holds names; by default if it is not all numbers",
    )
    parser.add_argument("--delimiter", help="by default comma, tab or semicolon, whichever is most frequent")
