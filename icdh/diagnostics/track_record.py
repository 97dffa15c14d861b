"""How often arrows of a kind pointed forward in recorded tables whose natural order is known.

In tables as people record them effects are more skewed and heavier-tailed, and better explained by all other columns,
than their causes: causes are designs, ages and groups. That is experience with other tables, no evidence of the one at
hand, and it does not hold for simulated tables. So it enters no score; it shows which arrows to settle by knowledge.

The shares are those of the arrows of `icdh.HNMSearch` between columns of a natural order in four lists of public
tables. The order was fixed before anything was run. The groups were noticed on the first list, not on the others. The
first three lists are of one collection, the last is from other sources:

=================== ====== ====== ==== === ======= ===
list                tables arrows both one neither any
=================== ====== ====== ==== === ======= ===
"fourth"            71     227    83 % 53  37      60
another, kept apart 60     254    81 % 65  47      64
"record"            102    451    82 % 54  36      58
"collected"         174    817    82 % 51  32      57
all                 407    1749   82 % 54  37      59
=================== ====== ====== ==== === ======= ===

What is printed is the pool of all lists; of four ways it predicts an unseen list best. In another list of such tables
the shares of the three groups lie between 75 and 87, 46 and 64, and 27 and 46 % (intervals of 95 %).
``benchmarks/track_record.py`` counts the arrows of all lists but the second, ``benchmarks/track_record_lists.py``
compares the ways and computes the intervals. Arrows of `icdh.ICDH` deserve less: 79, 48 and 33 % in the first list.

References
----------
Reisach, Tami, Seiler, Chambaz, Weichwald: "A scale-invariant sorting criterion to find a causal order in additive
noise models", NeurIPS 2023 (R2-sortability).
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from icdh._table.table import Table
from icdh._table.transforms import explained_variance
from icdh._utils.labels import listed, printable

SHARES = {  # that pointed forward, by what the effect has more of than the cause
    "both": 0.82,  # heavier tails, and more variance that all other columns explain
    "tails": 0.54,
    "explained": 0.54,
    "neither": 0.37,
}


class Marginals(NamedTuple):
    """Kurtosis and explained variance of the columns of numbers of a table.

    Attributes
    ----------
    kurtosis : ndarray, shape (N,)
        The fourth moment of the standardised column; NaN of labels and of columns that do not vary.
    r2 : ndarray, shape (N,)
        The share of its variance that a linear regression on all other columns of numbers explains; NaN likewise.
    """

    kurtosis: np.ndarray
    r2: np.ndarray

    @classmethod
    def of(cls, table: Table) -> "Marginals":
        """Return those of a table."""
        numbers = table.varying.copy()
        numbers[table.unordered] = False
        moments = np.full((2, table.n_variables), np.nan)
        if numbers.any():
            values = table.values[numbers].T
            z = (values - values.mean(axis=0)) / values.std(axis=0)
            moments[:, numbers] = np.mean(z**4, axis=0), explained_variance(values)
        return cls(*moments)

    def kind(self, cause: int, effect: int) -> str | None:
        """Return the kind of an arrow, a key of `SHARES`; None where an end has labels: these were not counted."""
        if np.isnan(self.kurtosis[[cause, effect]]).any():
            return None
        more = [values[effect] > values[cause] for values in self]
        return {(True, True): "both", (True, False): "tails", (False, True): "explained"}.get(tuple(more), "neither")


def track_record(marginals: Marginals, edges: Sequence[tuple[int, int]], names: Sequence[Hashable]) -> str:
    """Return in a sentence what became of arrows like these in other tables; empty if none was counted.

    Parameters
    ----------
    marginals : Marginals
        Those of the table.
    edges : sequence of pairs
        Cause and effect of every arrow that is no doubtful one, and whose direction nobody knows; by position.
    names : sequence
        The variables.
    """
    kinds = {edge: kind for edge in edges if (kind := marginals.kind(*edge)) is not None}
    if not kinds:
        return ""
    mean = sum(SHARES[kind] for kind in kinds.values()) / len(kinds)
    worst = [f"{printable(names[i])} -> {printable(names[j])}" for (i, j), kind in kinds.items() if kind == "neither"]
    is_mixed = 0 < len(worst) < len(kinds)
    rarest = f", but of those like {listed(worst, 5)} {100 * SHARES['neither']:.0f} %" if is_mixed else ""
    return f"experience with 407 other tables: {100 * mean:.0f} % of arrows like these pointed the right way{rarest}"
