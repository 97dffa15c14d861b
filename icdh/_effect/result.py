"""The answer to what happens to a variable if another is changed."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from icdh._model.effects import shown
from icdh._model.export import Result, shell
from icdh._utils.arrays import Floats, Foreign
from icdh._utils.labels import aligned, listed, printable

LEAST_P = 1e-16  # a smaller probability is no number to act on


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
        """Return estimate and interval, rounded as `rounded` does."""
        ends = f" [{self._end(self.lower)}, {self._end(self.upper)}]" if math.isfinite(self.lower) else ""
        return f"{self.rounded(self.estimate)}{ends}"

    def _end(self, value: float) -> str:
        """Return an end of the interval, rounded, but never to zero: on which side of it the end is matters."""
        text = self.rounded(value)
        return text if value == 0.0 or float(text.replace(",", "")) else f"{value:.1g}"

    def rounded(self, value: float) -> str:
        """Return a value with the digits that the interval supports."""
        width = self.upper - self.lower
        digits = max(2 - math.floor(math.log10(width)), 0) if 0.0 < width < math.inf else 3
        is_plain = digits <= 7 and max(map(abs, (*self, value))) < 1e9  # other numbers have an exponent
        return f"{value:{'g' if width == 0.0 else f',.{digits}f' if is_plain and math.isfinite(width) else '.3g'}}"


class Curve(NamedTuple):
    """How the mean of an effect changes along the values of a numeric cause.

    Attributes
    ----------
    values : ndarray, shape (k,)
        Values of the cause, from its 5 to its 95 % quantile.
    change, lower, upper : ndarray, shape (k,)
        The change of the mean from the first of these values, and its interval.
    slope : Interval
        The change for each unit, if the curve is a straight line.
    p_value : float
        That of a straight line; NaN if the cause takes too few values to tell, or the effect is zero but for rounding.
    """

    values: Floats
    change: Floats
    lower: Floats
    upper: Floats
    slope: Interval
    p_value: float


class Strength(NamedTuple):
    """How strong the observed covariate is that would bias the answer most if it were left out.

    Attributes
    ----------
    name : str
        The covariate.
    of_effect, of_cause : float
        The share that it explains of what all others leave of the effect, and of the cause.
    multiple : float
        So many times as strong a hidden cause would bring the estimate to zero; infinite if none could.
    """

    name: Hashable
    of_effect: float
    of_cause: float
    multiple: float


@dataclass(frozen=True)
class Effect(Result):
    """What `icdh.effect` answers.

    Attributes
    ----------
    cause, effect : str
        The variables.
    contrast : pair, or None
        The values that the cause is set from and to; None if the answer is for each unit of it.
    outcome : str
        The label whose probability is the effect; empty if the effect is a number, whose mean it is.
    estimand : str
        What the estimate is of, in words.
    estimate, lower, upper : float
        The estimate and its interval; NaN if the rows give no answer, and a note says why.
    level : float
        The probability of the interval.
    unadjusted : float
        The same number where nothing is adjusted for: of the same step, or for each unit.
    bounds : tuple of float, or None
        Where many rows have no counterpart: the ends between which the mean effect of all rows lies. The effect of rows
        without a counterpart may be any value seen. That of the others has its interval.
    curve : Curve or None
        That of a numeric cause.
    adjusted : tuple of str, or None
        The covariates; None if many graphs say what to adjust for.
    by_graph : bool
        Whether a graph says so: one that was learned from these rows, unless a model was given.
    n_rows : int
        The rows that were used.
    target_share : float
        The share of these rows, or of the treated or untreated ones, that the estimate is about.
    effective_rows : dict
        As many rows of equal weight, or groups, would say as much: by value of the cause or, of a number, for all.
    robustness_value, robustness_value_interval : float
        The share of what is left of cause and effect alike that a hidden common cause must explain to bring the
        estimate to zero, or the nearer end of its interval; NaN of an average over graphs.
    scale : float
        A hidden cause that explains shares r_y and r_d of what is left of effect and cause moves the estimate by at
        most ``scale * sqrt(r_y * r_d / (1 - r_d))``.
    strongest : Strength or None
        The covariate to hold that against.
    probability_of_effect : float or None
        The probability that there is any effect, of an average over graphs.
    notes : tuple of str
        What to know before the answer is used.
    others : tuple of Effect
        The same for further labels of the cause or of the effect.

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
    contrast: tuple[Hashable, Hashable] | None
    outcome: str
    level: float
    n_rows: int
    unadjusted: float
    estimand: str
    estimate: float
    lower: float
    upper: float
    bounds: tuple[float, float] | None = None
    curve: Curve | None = None
    adjusted: tuple[Hashable, ...] | None = None
    by_graph: bool = False
    target_share: float = 1.0
    effective_rows: Mapping[Hashable, float] = field(default_factory=dict)
    robustness_value: float = math.nan
    robustness_value_interval: float = math.nan
    scale: float = math.nan
    strongest: Strength | None = None
    probability_of_effect: float | None = None
    notes: tuple[str, ...] = ()
    others: tuple["Effect", ...] = ()

    @property
    def difference(self) -> float | None:
        """The estimate, if it is that of a change from one value to another; else None."""
        return None if self.contrast is None else self.estimate

    @property
    def per_unit(self) -> float | None:
        """The estimate, if it is that of each unit of a numeric cause; else None."""
        return self.estimate if self.contrast is None else None

    @property
    def interval(self) -> Interval:
        """The estimate and its interval, which print the digits that are known."""
        return Interval(self.estimate, self.lower, self.upper)

    def to_dict(self) -> dict[str, object]:
        """Return all of it as text and numbers, for JSON; None in place of NaN and of what is infinite."""
        further = {"difference": self.difference, "per_unit": self.per_unit}
        return {name: as_json(value) for name, value in (asdict(self) | further).items()}

    def records(self) -> list[dict[str, object]]:
        """Return the numbers, a dict for each pair of labels."""
        kept = ["cause", "effect", "change", "outcome", "estimate", "lower", "upper", "unadjusted", "target_share"]
        kept += ["robustness_value", "robustness_value_interval", "probability_of_effect"]
        return [{name: getattr(each, name) for name in kept} for each in (self, *self.others)]

    @property
    def change(self) -> str:
        """What is changed: "0 -> 1", or "a unit"."""
        return "a unit" if self.contrast is None else " -> ".join(map(shown, self.contrast))

    @property
    def name(self) -> str:
        """What tells the answer from those for other labels: "0 -> 1", after the label whose probability it is of."""
        return f"{self.outcome} {self.change}".strip()

    def summary(self) -> str:
        """Return the answer as text."""
        adjusted = "the causes in each graph" if self.adjusted is None else listed(self.adjusted) or "nothing"
        adjusted += ", as the graph says" * (self.by_graph and self.adjusted is not None)
        pair, curve = f"{printable(self.cause)} -> {printable(self.effect)}", self.curve
        counts = [
            f"{rows:,.0f}" + ("" if value == "all" else f" at {shown(value)}")
            for value, rows in self.effective_rows.items()
        ]
        has_answer = not math.isnan(self.estimate)
        table = {"estimate": f"{self.interval}  ({100.0 * self.level:g} % interval)" if has_answer else "no answer"}
        table["without adjustment"] = self.interval.rounded(self.unadjusted)  # the same number, so beside it
        if curve is not None and self.contrast is not None:
            table["for each unit, by a straight line"] = str(curve.slope)
        if self.bounds is not None:
            table["mean of all rows"] = "between {} and {}".format(*map(self.interval.rounded, self.bounds))
        if self.probability_of_effect is not None:
            table["probability of an effect"] = f"{self.probability_of_effect:.2f}"
        if curve is not None and has_answer and not math.isnan(curve.p_value):
            p = curve.p_value
            table["test of a straight line"] = f"p = {p:.2g}" if p > LEAST_P else f"p < {LEAST_P:g}"
        if counts:
            table["effective rows"] = ", ".join(counts)
        for each in self.others:
            of_rows = "" if each.target_share in (0.0, 1.0) else f"  of {percent(each.target_share)} of the rows"
            table[each.name] = "no answer" if math.isnan(each.estimate) else f"{each.interval}{of_rows}"
        lines = [f"{pair}, {self.n_rows:,} rows, adjusted for {adjusted}", self.estimand, *aligned(list(table.items()))]
        if math.isfinite(self.robustness_value):
            line = f"hidden cause: one that explains {self.robustness_value:.1%} of what is left of both brings the "
            line += f"estimate to zero, one of {self.robustness_value_interval:.1%} its interval"
            if self.strongest is not None and math.isfinite(self.strongest.multiple):
                times, name = f"{shown(float(f'{self.strongest.multiple:.2g}'))} times", printable(self.strongest.name)
                line += f"; the first is {times} as strong as {name}"
            lines.append(line)
        return "\n".join([*lines, *(f"! {note}" for note in self.notes)])

    def plot(self, ax: Foreign = None) -> Foreign:
        """Draw curve or estimates, and what a hidden cause would do; needs the extra ``[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw the first of the two alone; by default a new figure with both.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return shell("plotting").plot_answer(self, ax)


def percent(share: float) -> str:
    """Return a share as text; nearly all is not all."""
    return f"{100.0 * share:.0f} %" if share <= 0.99 or share == 1.0 else f"{min(100.0 * share, 99.9):.1f} %"


def joint_notes(answers: Sequence["Effect"]) -> list[str]:
    """Return the notes of answers for several labels, before those that are not of all the labels they are of."""
    names: dict[str, list[str]] = {}
    for answer in answers:
        for note in answer.notes:
            names.setdefault(note, []).append(answer.name)
    return [note if len(of) == len(answers) else f"{listed(of)}: {note}" for note, of in names.items()]


def as_json(record: Foreign) -> object:
    """Return a record as text and numbers; None in place of NaN and of what is infinite."""
    record = record.tolist() if hasattr(record, "tolist") else record
    record = record._asdict() if hasattr(record, "_asdict") else record
    if isinstance(record, Mapping):
        return {str(key): as_json(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [as_json(value) for value in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record
