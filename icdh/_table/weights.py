"""How often the rows of a user's table count: sampling weights, and frequency weights.

A sampling weight says how much of a population a row stands for, and nothing of how many independent rows there are:
these are fewer, the more the weights differ. Kish's effective number of rows, (sum w)^2 / sum w^2, is that of equal
weights under which a weighted mean has the same variance.

References
----------
Kish, "Survey Sampling", Wiley 1965.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from icdh._table.experiments import Design, InterventionsLike
from icdh._table.table import Table
from icdh._utils.arrays import Floats
from icdh._utils.checks import Choice, as_float
from icdh._utils.labels import counted
from icdh.exceptions import ArgumentValueError, option

WEIGHTS = ("sampling", "frequency")
MOST_ROWS = 10_000_000  # that frequency weights may stand for


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
    """
    Choice(WEIGHTS).check("weights", weights)
    if sample_weight is None:
        if weights != "sampling":
            raise ArgumentValueError("weights", f"is {weights!r}, but there are none; pass {option('sample_weight')}")
        return table, interventions
    if table.related is not None:
        raise ArgumentValueError("sample_weight", "cannot go with groups or sequence; leave one of them out")
    given = checked_weights(sample_weight, table.n_observations, fewest=2)
    rows, design = np.flatnonzero(given), Design.of(interventions, table)
    if weights == "frequency":
        rows = np.repeat(rows, _whole(given)[rows])
    chosen = table.of_rows(rows) if np.array_equal(rows, np.arange(given.size)) else table.of_rows(rows).of_its_labels()
    sampled = given[rows] if weights == "sampling" else None
    return replace(chosen, weights=sampled, weighting=weights), design.of_rows(rows)


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
