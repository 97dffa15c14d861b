"""The answer to what happens to a variable if another is changed."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import NamedTuple

from icdh._ground.arrays import Foreign
from icdh._ground.labels import aligned, listed, printable
from icdh._ground.shell import shell
from icdh._model.effects import shown


class Interval(NamedTuple):
    """A number and its interval; NaN where there is none.

    Attributes
    ----------
    estimate, lower, upper : float
        The estimate and the ends of the interval.
    """

    estimate: float
    lower: float = math.nan
    upper: float = math.nan

    def __str__(self) -> str:
        """Return the digits that the interval supports."""
        if not math.isfinite(self.lower):
            return f"{self.estimate:.3g}"
        width = self.upper - self.lower
        digits = max(2 - math.floor(math.log10(width)), 0) if 0.0 < width < math.inf else 3
        is_plain = digits <= 7 and max(map(abs, self)) < 1e9  # other numbers have an exponent
        form = "g" if width == 0.0 else f",.{digits}f" if is_plain else ".3g"
        texts = [f"{value:{form}}" for value in self]
        return f"{texts[0]} [{texts[1]}, {texts[2]}]"


@dataclass(frozen=True)
class Comparison:
    """An effect under two values of its cause.

    Attributes
    ----------
    reference, value : hashable
        The values that the cause is set from and to.
    outcome : str
        The label whose probability is compared; empty if the effect is a number, whose mean is.
    means : (Interval, Interval)
        The mean, or the probability, of the effect with the cause at ``reference`` and at ``value``.
    difference : Interval
        The second of the means minus the first.
    standard_error : float
        That of the difference: over tables or, if there is a model alone, over draws.
    crude : float
        The same difference where nothing is adjusted for; NaN without a table, and for a numeric cause.
    ratio : Interval or None
        The ratio of the risks, of a probability or an effect of zeros and ones.
    quantiles : mapping of float to Interval
        How far each quantile of a numeric effect moves.
    spread_ratio : Interval or None
        The standard deviation of a numeric effect at ``value`` over that at ``reference``.
    """

    reference: Hashable
    value: Hashable
    outcome: str
    means: tuple[Interval, Interval]
    difference: Interval
    standard_error: float
    crude: float
    ratio: Interval | None
    quantiles: Mapping[float, Interval]
    spread_ratio: Interval | None


@dataclass(frozen=True)
class Effect:
    """What `icdh.effect` answers.

    Attributes
    ----------
    cause, effect : str
        The variables.
    comparisons : tuple of Comparison
        One; of a cause of labels one for each label but the reference, of an effect of labels one for each label.
    adjusted : tuple of str, or None
        The covariates; None of a model alone.
    target : {"all", "treated", "untreated"}
        The rows that the answer is about.
    level : float
        The probability of the intervals.
    n_rows, n_target : int
        The rows of the table, and those that the answer is about.
    effective_rows : dict
        The number of rows of equal weight that would say as much about a value of the cause, by value.
    beyond_support : float
        The share of these rows that are less likely to have one of the values than any row with it; zero of numbers.
    families : dict of str to str
        The model of the effect and of the cause: "linear" or "network".
    notes : tuple of str
        What to know before the answer is used.

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> given, rng = np.arange(200) % 2, np.random.default_rng(0)
    >>> answer = icdh.effect(np.column_stack([given, given + rng.normal(size=200)]), 0, 1, [])
    >>> isinstance(answer, icdh.Effect), answer.adjusted, answer.effective_rows
    (True, (), {0.0: 100.0, 1.0: 100.0})
    """

    cause: Hashable
    effect: Hashable
    comparisons: tuple[Comparison, ...]
    adjusted: tuple[Hashable, ...] | None
    target: str
    level: float
    n_rows: int
    n_target: int
    effective_rows: Mapping[Hashable, float]
    beyond_support: float
    families: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def difference(self) -> float:
        """The difference of the first comparison."""
        return self.comparisons[0].difference.estimate

    @property
    def lower(self) -> float:
        """The lower end of its interval; NaN of a model without a table."""
        return self.comparisons[0].difference.lower

    @property
    def upper(self) -> float:
        """The upper end of its interval; NaN of a model without a table."""
        return self.comparisons[0].difference.upper

    def to_dict(self) -> dict[str, object]:
        """Return all of it as text and numbers, for JSON; None in place of NaN."""
        first = {"difference": self.difference, "lower": self.lower, "upper": self.upper}
        return {name: _plain(value) for name, value in (asdict(self) | first).items()}

    def summary(self) -> str:
        """Return the answer as text."""
        lines = [f"{printable(self.cause)} -> {printable(self.effect)}, {self._about()}"]
        for comparison in self.comparisons:
            lines += ["", *self._lines(comparison)]
        place = "near" if math.isnan(self.comparisons[0].crude) else "with"  # of a number all rows speak
        rows = [f"{rows:,.0f} {place} {shown(value)}" for value, rows in self.effective_rows.items()]
        if rows:
            lines += ["", f"effective rows: {', '.join(rows)}"]
        return "\n".join([*lines, *(f"! {note}" for note in self.notes)])

    __str__ = summary

    def _about(self) -> str:
        if self.adjusted is None:
            return "by the fitted model alone"
        rows = {"all": "", "treated": "treated ", "untreated": "untreated "}[self.target]
        names = f"adjusted for {listed(self.adjusted, 8)}" if self.adjusted else "adjusted for nothing"
        return f"{self.n_target:,} {rows}{'row' if self.n_target == 1 else 'rows'}, {names}"

    def _lines(self, comparison: Comparison) -> list[str]:
        what = f"probability of {comparison.outcome}" if comparison.outcome else "mean"
        low, high = (f"set to {shown(value)}" for value in (comparison.reference, comparison.value))
        table = [
            (f"{what}, {low}", str(comparison.means[0])),
            (f"{what}, {high}", str(comparison.means[1])),
            ("difference", str(comparison.difference)),
        ]
        if isinstance(comparison.value, float) and isinstance(comparison.reference, float):
            step = comparison.value - comparison.reference
            if step not in (0.0, 1.0):
                each, *ends = (value / step for value in comparison.difference)
                table.append(("for each unit between them", str(Interval(each, *sorted(ends)))))
        if not math.isnan(comparison.crude):
            table.append(("crude difference", _like(comparison.crude, comparison.difference)))
        if comparison.ratio is not None:
            table.append(("risk ratio", str(comparison.ratio)))
        table += [(f"{q:.0%} quantile moves by", str(moved)) for q, moved in comparison.quantiles.items()]
        if comparison.spread_ratio is not None:
            table.append(("ratio of spreads", str(comparison.spread_ratio)))
        if comparison is self.comparisons[0]:
            level = "" if math.isnan(self.lower) else f"  ({100 * self.level:g} % interval)"
            table[2] = ("difference", f"{table[2][1]}{level}")
        return aligned(table)

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return f"<pre>{escape(self.summary())}</pre>"

    def plot(self, ax: Foreign = None) -> Foreign:
        """Draw differences with intervals on ``ax``, and return the matplotlib figure; needs the extra ``[plot]``."""
        return shell("plotting").plot_comparisons(self, ax)


def _like(value: float, interval: Interval) -> str:
    """Return a number with the digits of an interval."""
    text = str(interval).partition(" ")[0]
    return f"{value:.3g}" if "e" in text else f"{value:,.{len(text.partition('.')[2])}f}"


def _plain(record: object) -> object:
    if isinstance(record, Mapping):
        return {str(key): _plain(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [_plain(value) for value in record]
    if isinstance(record, float) and math.isnan(record):
        return None
    return record
