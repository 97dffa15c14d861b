"""Rows that depend on one another by the user's word: those of a group, or those in sequence.

An effect whose residual resembles itself in related rows, and a cause that does so, too, seem to be joined more often
than chance allows. If independent, the variance of the sum of their products over the n rows is that of independent
rows times the design effect

    1 + sum over kinds of pairs k of (n_k / n) rho_e(k) rho_x(k).

Of groups there is one kind of pair, two rows of a group: rho is the intraclass correlation. Of rows in sequence every
lag is a kind of its own, and rho the autocorrelation.

References
----------
Kish, "Survey Sampling", 1965, section 5.4.
Moulton, "Random group effects and the precision of regression estimates", Journal of Econometrics 32 (1986).
Bartlett, "Some aspects of the time-correlation problem in regard to tests of significance", Journal of the Royal
Statistical Society 98 (1935).
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from icdh._utils.arrays import Floats, Integers, Mask


@dataclass(frozen=True)
class RelatedRows:
    """The group of every row and, if rows are in sequence, its place there.

    Attributes
    ----------
    groups : ndarray of int, shape (M,)
        Numbers from zero.
    places : ndarray of int, shape (M,), or None
        The place of every row in the sequence of its group; None if its order has no meaning.
    """

    groups: Integers
    places: Integers | None = None

    @classmethod
    def of(cls, labels: Iterable[Hashable] | None, in_sequence: bool, n_rows: int) -> "RelatedRows":
        """Return the relations of rows with these labels of groups, or of one sequence if there are none."""
        groups = np.zeros(n_rows, dtype=np.int64) if labels is None else numbered(labels)
        return cls(groups, _places(groups) if in_sequence else None)

    def of_rows(self, rows: Integers | Mask) -> "RelatedRows":
        """Return the relations of selected rows: a mask of shape (M,), or positions."""
        return RelatedRows(self.groups[rows], None if self.places is None else self.places[rows])

    @property
    def units(self) -> Integers:
        """The number of every row's unit, shape (M,); resamples are drawn of whole units.

        A unit is a group or, of a single sequence, a block of consecutive rows, as many as there are blocks.
        """
        if self.places is None or self.groups.any():
            return self.groups
        return self.places // max(int(np.sqrt(self.places.size)), 1)

    def every(self, step: int) -> Mask:
        """Return the first row of each group and those whose place in it is a multiple of ``step``."""
        kept: Mask = (_places(self.groups) if self.places is None else self.places) % step == 0
        return kept

    def drawn(self, draws: Integers) -> "RelatedRows":
        """Return the relations of resampled rows: each draw of a unit, numbered by ``draws``, becomes a group."""
        groups = numbered(zip(self.groups.tolist(), draws.tolist(), strict=True))
        return RelatedRows(groups, None if self.places is None else _places(groups))

    @property
    def are_independent(self) -> bool:
        """Whether every row is a group of its own."""
        return bool(self._sizes.max() == 1)

    @cached_property
    def _sizes(self) -> Integers:
        return np.bincount(self.groups)

    @cached_property
    def pairs(self) -> Floats:
        """The number of ordered pairs of rows of every kind, divided by the number of rows, shape (K,)."""
        n = self.groups.size
        if self.places is None:
            return np.array([float(np.square(self._sizes).sum() - n) / n])
        return 2.0 * self._lagged_sums(np.ones((1, n)), self.places)[0, 1:].round() / n

    def correlations(self, series: Floats) -> Floats:
        """Return the mean correlation of pairs of rows of every kind, shape (K,), given one or more series, (s, M).

        Several series are the coordinates of one vector.
        """
        centred = series - series.mean(axis=1, keepdims=True)
        squares = float(np.square(centred).sum())
        if self.places is None:
            sums = np.array([np.bincount(self.groups, row) for row in centred])
            products = np.array([float(np.square(sums).sum()) - squares])
        else:
            products = 2.0 * self._lagged_sums(centred, self.places).sum(axis=0)[1:]
        counted = (self.pairs > 0.0) & (squares > 0.0)
        return np.where(counted, products / np.where(counted, self.pairs * squares, 1.0), 0.0)

    def design_effects(self, first: Floats, second: Floats) -> Floats:
        """Return the design effects of all pairs of variables, at least one, given their `correlations`, (s, K)."""
        return np.maximum(1.0 + (first * self.pairs) @ second.T, 1.0)

    def _lagged_sums(self, series: Floats, places: Integers) -> Floats:
        """Return the sums of products of rows at lags 0 ... K in the same sequence, shape (s, K + 1)."""
        n_lags = int(places.max()) + 1
        axis = self.groups * (2 * n_lags) + places  # sequences of groups are so far apart that no lag joins two
        placed = np.zeros((len(series), int(axis.max()) + 1))
        placed[:, axis] = series
        size = 1 << (placed.shape[1] + n_lags - 1).bit_length()  # sums that wrap around come after the last lag
        spectrum = np.square(np.abs(np.fft.rfft(placed, size, axis=1)))
        return np.fft.irfft(spectrum, size, axis=1)[:, :n_lags]


def numbered(labels: Iterable[Hashable]) -> Integers:
    """Return a number for every label, from zero in the order of their first rows."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def _places(groups: Integers) -> Integers:
    """Return the place of every row among those of its group."""
    order = np.argsort(groups, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(groups))[:-1])
    places = np.empty(groups.size, dtype=np.int64)
    places[order] = np.arange(groups.size) - starts[groups[order]]
    return places
