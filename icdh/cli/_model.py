"""What the commands about a saved model share: interventions, and tables as output."""

import argparse
import sys
from collections.abc import Hashable
from typing import Any

from icdh._table.actions import Shift
from icdh.files import write_table


def columns_of_labels(model: Any) -> list[str] | None:
    """Return the columns that hold text, or None if no column does; arguments of `icdh.cli._table.read`."""
    return [str(model.names[n]) for n, labels in model.categories.items() if labels.of_text] or None


def do_of(args: argparse.Namespace, model: Any) -> dict[Hashable, Any]:
    """Return the intervention on variables of a model that the options describe."""
    do, by_text = {}, {str(name): name for name in model.names}
    of_labels = columns_of_labels(model) or ()
    for option, texts, action in (("--do", args.do, float), ("--shift", args.shift, Shift)):
        for text in texts:
            name, equals, value = text.rpartition("=")
            if not equals:
                raise ValueError(f"{option} needs NAME=NUMBER; got {text!r}")
            if by_text.get(name, name) in do:
                raise ValueError(f"the variable {name!r} is given to --do or --shift twice; keep one")
            to_label = option == "--do" and name in of_labels
            do[by_text.get(name, name)] = value if to_label else action(number_of(option, value, "NAME=NUMBER"))
    return do


def number_of(option: str, text: str, form: str = "numbers") -> float:
    """Return the number that an option holds, or raise ValueError."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} needs {form}; {text!r} is not a number") from None


def give_table(path: str | None, values, names) -> None:
    """Write a table into a file, or onto the standard output if there is no path."""
    if path is None:
        from icdh.files.text import delimited

        sys.stdout.write(delimited([list(map(str, names)), *values.tolist()], ","))
    else:
        write_table(path, values, names)
