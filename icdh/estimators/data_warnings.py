"""What a search has to say of the columns it saw: kinds that were guessed, columns computed from others."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from icdh.exceptions import DataWarning
from icdh.model.conditionals import is_of_labels
from icdh.model.structural import StructuralModel
from icdh.table import FEW_VALUES, Table


def warn_about_guessed_kinds(table: Table, kinds: Sequence[str], declared: Mapping | None) -> None:
    """Name the columns whose kind was guessed, unless it is that of any number.

    Parameters
    ----------
    table : Table
        The columns.
    kinds : sequence of str
        Their kinds.
    declared : mapping or None
        The kinds that the user named, by column.
    """
    told = {table.position(column) for column in declared or ()}
    told |= {k for k, own in table.categories.items() if own.declared}
    guessed = {
        kind: [repr(table.names[k]) for k, own in enumerate(kinds) if own == kind and k not in told]
        for kind in ("binary", "ordinal", "categorical")
    }
    text = guessed.pop("categorical")
    labels = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in guessed.items() if names)
    found = []
    if labels:
        found.append(
            f"columns of fewer than {FEW_VALUES} different values are taken for variables of few ordered levels "
            f"({labels})"
        )
    if text:
        found.append(f"columns of text are taken for variables of labels without an order ({', '.join(text)})")
    if found:
        warnings.warn(
            f"{', and '.join(found)}; say kinds={{column: kind}} to confirm or change this", DataWarning, stacklevel=5
        )


def warn_about_determined_columns(model: StructuralModel, values: np.ndarray) -> None:
    """Name the columns that the fitted model leaves hardly any noise.

    Parameters
    ----------
    model : StructuralModel
        The fitted model.
    values : ndarray, shape (N, M)
        The standardised table.
    """
    from icdh.node_model._kernels import VARIANCE_FLOOR

    for name, conditional in zip(model.names, model.conditionals, strict=True):
        if is_of_labels(conditional):
            continue
        _, deviation = conditional.mean_and_scale(values)
        if len(conditional.inputs) and np.quantile(deviation**2, 0.9) < 2 * VARIANCE_FLOOR:
            labels = ", ".join(repr(model.names[k]) for k in conditional.inputs)
            warnings.warn(
                f"column {name!r} is determined by {labels} up to a hundredth of its spread or less: a "
                "model of noise cannot tell the direction of these edges; drop columns computed from others",
                DataWarning,
                stacklevel=5,
            )
