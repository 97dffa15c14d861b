"""What a user says of the rows of a table: which depend on one another, and how often each counts.

Rows depend on one another that are of a group, by a column or by labels, or in sequence. Weights are sampling weights
or frequency weights. A sampling weight says how much of a population a row stands for, and nothing of how many
independent rows there are: these are fewer, the more the weights differ. Kish's effective number of rows,
(sum w)^2 / sum w^2, is that of equal weights under which a weighted mean has the same variance.

References
----------
Kish, "Survey Sampling", Wiley 1965.
Potter, "A study of procedures to identify and trim extreme sampling weights", Proceedings of the Section on Survey
Research Methods, American Statistical Association, 1990.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from icdh._rows import RelatedRows
from icdh._table.experiments import Design, InterventionsLike
from icdh._table.frames import column_labels, without_column
from icdh._table.table import Table
from icdh._utils.arrays import Floats, Integers, TableLike
from icdh._utils.checks import Choice, as_float, check_same_rows
from icdh._utils.labels import counted
from icdh.exceptions import ArgumentValueError, option, warn

Groups = Hashable | Iterable[Hashable] | None
WEIGHTS = ("sampling", "frequency")
MOST_ROWS = 10_000_000  # that frequency weights may stand for
LARGE_WEIGHT = 5.0  # effective rows that one row counts for


def without_groups(X: TableLike, groups: Groups) -> tuple[TableLike, list[Hashable] | None]:
    """Return a table without the column of its groups, and the label of every row's group; None without groups.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        The user's table.
    groups : column label, or array_like of shape (M,), optional
        A column of X by its label, or of an array by its number; or the labels.
    """
    if groups is None:
        return X, None
    if _is_column(groups, X):
        return without_column(X, groups)
    check_same_rows(X, groups, "groups")
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise TypeError(f"groups must name a column of X or hold a label for every row; got {groups!r}")
    labels = groups.tolist() if hasattr(groups, "tolist") else list(groups)  # pyright: ignore[reportAttributeAccessIssue]
    return X, labels


def _is_column(groups: Groups, X: TableLike) -> TypeGuard[Hashable]:
    if isinstance(X, Table) or not isinstance(groups, Hashable) or isinstance(groups, bool):
        return False
    if isinstance(groups, (str, bytes, int, np.integer)):
        return True
    return isinstance(groups, tuple) and groups in (column_labels(X) or [])


def with_relations(table: Table, labels: Sequence[Hashable] | None, sequence: bool) -> Table:
    """Return a table that knows which of its rows depend on one another.

    Parameters
    ----------
    table : Table
        The table.
    labels : sequence, optional
        The label of every row's group.
    sequence : bool
        Whether rows, of a group if there are any, are in sequence.

    Raises
    ------
    ValueError
        If there is not one label for every row, or one is missing.
    TypeError
        If a label is not hashable.
    """
    if not isinstance(sequence, bool):
        raise TypeError(f"sequence must be True or False; got {sequence!r}")
    if labels is None and not sequence:
        return table
    if labels is not None:
        _check(labels, table.n_observations)
    related = RelatedRows.of(labels, sequence, table.n_observations)
    are_independent = labels is not None and len(set(labels)) == len(labels)  # every row is a group of its own
    return replace(table, related=None if are_independent else related)


def _check(labels: Sequence[Hashable], n_rows: int) -> None:
    if len(labels) != n_rows:
        raise ValueError(f"groups has {counted(len(labels), 'label')} where X has {counted(n_rows, 'row')}")
    for label in labels:
        if not isinstance(label, Hashable):
            raise TypeError(f"groups must hold a label for every row, such as a number or a name; got {label!r}")
        if label is None or label != label:  # NaN
            raise ValueError("groups has a gap: give every row a label, a row that stands alone one of its own")
    if len(set(labels)) == 1:
        raise ValueError(f"groups holds one label alone, {labels[0]!r}: nothing is left to compare; leave groups out")


def without_copies(table: Table, interventions: InterventionsLike) -> tuple[Table, InterventionsLike]:
    """Return one row of every group, if the rows of each group are equal, and what was done to them; else all."""
    related = table.related
    if related is None or related.places is not None:
        return table, interventions
    design = Design.of(interventions, table)
    _, first, group = np.unique(related.groups, return_index=True, return_inverse=True)
    copied = first[group.ravel()]
    parts = table.values, design.left_alone, design.contexts
    if not all(np.array_equal(part, part[:, copied], equal_nan=part.dtype != bool) for part in parts):
        return table, design
    rows = np.sort(first)
    return replace(table.of_rows(rows), related=None), design.of_rows(rows)


def with_weights(
    table: Table, interventions: InterventionsLike, sample_weight: ArrayLike | None, weights: str
) -> tuple[Table, InterventionsLike]:
    """Return a table whose rows count as weights say, and what was done to them.

    Rows of weight zero are left out. A row of frequency weight w is there w times.

    Parameters
    ----------
    table : Table
        The table.
    interventions : InterventionsLike
        What was done to its rows.
    sample_weight : array_like, shape (M,), or None
        The weights; None leaves the table as it is.
    weights : {"sampling", "frequency"}
        What they are.

    Raises
    ------
    ValueError, TypeError
        If they are not one number of at least zero for each row, or go with rows that depend on one another.

    Warns
    -----
    DataWarning
        If a row counts for more than five effective rows. Of eight tables of 1,850 rows (y = x^2 + (0.5 + 0.3 |x|) E,
        sampled by x with probabilities that differ thirty-fold) two had a spread of 0.004 where such rows were, and new
        rows -600 nats each; with weights trimmed to five times their mean (Potter 1990) all have -2.4 to -2.6.
    """
    check_weighting(sample_weight, weights)
    if sample_weight is None:
        return table, interventions
    if table.related is not None:
        raise ArgumentValueError("sample_weight", "cannot go with groups or sequence; leave one of them out")
    given = checked_weights(sample_weight, table.n_observations, fewest=2)
    rows, design = rows_that_count(given, weights), Design.of(interventions, table)
    chosen = table.of_rows(rows) if np.array_equal(rows, np.arange(given.size)) else table.of_rows(rows).of_its_labels()
    sampled = given[rows] if weights == "sampling" else None
    chosen = replace(chosen, weights=sampled, weighting=weights)
    if (scaled := chosen.effective_weights) is not None and scaled.max() > LARGE_WEIGHT:
        row = int(rows[np.argmax(scaled)])
        warn(
            f"by its weight row {row} counts for {scaled.max():.1f} of {chosen.n_effective:.0f} effective rows: a fit "
            "takes such rows for copies, and may see no noise near them; trim the weights, np.minimum(w, 5 * w.mean()),"
            " unless rows were chosen by an effect"
        )
    return chosen, design.of_rows(rows)


def check_weighting(sample_weight: object, weights: str) -> None:
    """Raise ValueError unless what weights are is known, and they are there."""
    Choice(WEIGHTS).check("weights", weights)
    if sample_weight is None and weights != "sampling":
        raise ArgumentValueError("weights", f"is {weights!r}, but there are none; pass {option('sample_weight')}")


def rows_that_count(given: Floats, weights: str) -> Integers:
    """Return the rows whose weight is not zero, each as often as a frequency weight says."""
    rows: Integers = np.flatnonzero(given)
    return np.repeat(rows, _whole(given)[rows]) if weights == "frequency" else rows


def checked_weights(sample_weight: object, n_rows: int, fewest: int = 1) -> Floats:
    """Return weights as numbers, shape (M,), of which so many are above zero, or raise an error that names them."""
    given = as_float(np.asarray(sample_weight), option("sample_weight"))
    if given.shape != (n_rows,):
        raise ArgumentValueError("sample_weight", f"must have shape ({n_rows},), one a row; got {given.shape}")
    for strange, what in ((~np.isfinite(given), "a gap or infinity"), (given < 0.0, "a negative number")):
        if strange.any():
            row = int(np.argmax(strange))
            raise ArgumentValueError("sample_weight", f"holds {what} in row {row}; drop the row, or give it weight 0")
    if np.count_nonzero(given) < fewest:
        raise ArgumentValueError("sample_weight", f"must be above zero in at least {counted(fewest, 'row')}")
    return given


def _whole(given: Floats) -> np.ndarray:
    """Return frequencies as whole numbers; raise ValueError unless they are, and not too many."""
    fraction = given % 1.0 != 0.0
    if fraction.any():
        found = given[int(np.argmax(fraction))]
        raise ArgumentValueError(
            "sample_weight", f"holds {found:g}; frequency weights are whole numbers, sampling weights any"
        )
    if given.sum() > MOST_ROWS:
        rows = counted(int(given.sum()), "row")
        raise ArgumentValueError("sample_weight", f"stands for {rows}, more than {MOST_ROWS:,}; draw fewer of them")
    return given.astype(np.int64)
