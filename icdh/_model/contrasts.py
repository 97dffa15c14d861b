"""What a cause is set from and to, and what is said of an effect of labels: defined here once.

A cause of two values goes from the first to the second, "no" to "yes"; a cause of labels from its reference to each
other label; a number by one standard deviation about its mean, within its range, and grades between the two nearest of
their values.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.labels import printable
from icdh._table.categories import Categories, Label
from icdh._table.table import FEW_VALUES

NO = frozenset({"0", "absent", "control", "f", "false", "n", "no", "none", "off", "placebo", "untreated"})


class Contrast(NamedTuple):
    """Two values of a cause.

    Attributes
    ----------
    low, high : float
        From and to what the cause is set; codes of labels.
    reference, value : hashable
        The same as a user says them.
    """

    low: float
    high: float
    reference: Label
    value: Label

    def __str__(self) -> str:
        return " -> ".join(map(shown, (self.reference, self.value)))


def shown(value: Hashable) -> str:
    """Return a value of a variable as text."""
    return f"{value:.4g}" if isinstance(value, float) else printable(value)


def contrasts_of(
    values: Floats, categories: Categories | None = None, said: Sequence[Label] | None = None
) -> list[Contrast]:
    """Return the contrasts of a cause.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values that the cause takes; codes of labels.
    categories : Categories, optional
        Its labels.
    said : pair, optional
        From and to what the user sets the cause.

    Raises
    ------
    ValueError
        If ``said`` is no pair of different values that the cause may have, or the cause takes one value alone.
    """
    if said is not None:
        return [_said(said, categories)]
    taken = np.unique(values)
    if taken.size < 2:
        raise ValueError("the cause takes one value alone, so that nothing is known of others")
    if categories is not None:
        reference = reference_of(categories)
        others = [code for code in range(len(categories.labels)) if code != reference]
        return [
            Contrast(float(reference), float(code), categories.labels[reference], categories.labels[code])
            for code in others
        ]
    if taken.size == 2:
        low, high = map(float, taken)
    else:
        unit = float(values.std())
        low = min(max(float(values.mean()) - unit / 2, float(taken[0])), float(taken[-1]) - unit)
        high = low + unit
        if taken.size < FEW_VALUES:
            low, high = _two_of(taken, low, high)
    return [Contrast(low, high, low, high)]


def _two_of(taken: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the values nearest to two numbers; if one is nearest to both, that and the next."""
    first, second = (int(np.argmin(np.abs(taken - value))) for value in (low, high))
    first = min(first, taken.size - 2)
    return float(taken[first]), float(taken[max(second, first + 1)])


def _said(said: Sequence[Label], categories: Categories | None) -> Contrast:
    if np.ndim(said) != 1 or len(said) != 2:
        raise ValueError(f"contrast must be a pair: what the cause is set from, and to; got {said!r}")
    if categories is not None and categories.reads(said):
        low, high = categories.encoded(list(said), "contrast")
        pair = Contrast(float(low), float(high), *said)
    else:
        low, high = (float(value) for value in said)
        pair = Contrast(low, high, low, high)
    if not np.isfinite(pair[:2]).all() or pair.low == pair.high:
        raise ValueError(f"contrast must hold two different finite values; got {said!r}")
    return pair


def reference_of(categories: Categories) -> int:
    """Return the code of the reference label: "no" beside "yes", else the first one."""
    if len(categories.labels) == 2:
        says_no = [str(label).casefold() in NO for label in categories.labels]
        if says_no == [False, True]:
            return 1
    return 0


def outcomes_of(categories: Categories | None) -> list[tuple[str, int | None]]:
    """Return what is compared of an effect, as text and code: risks of labels, of two that of "yes"; else its mean."""
    if categories is None or categories.ordered:
        return [("", None)]
    several = len(categories.labels) > 2
    codes = range(len(categories.labels)) if several else [1 - reference_of(categories)]
    return [(printable(categories.labels[code]), code) for code in codes]
