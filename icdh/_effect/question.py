"""A question about one cause and one effect, read from the arguments of a user and checked."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from icdh._effect.estimation import TUNING
from icdh._ground.arrays import ByColumn, Floats, Integers, Mask, TableLike
from icdh._ground.labels import listed, variable_index
from icdh._model.effects import Contrast, contrasts_of, shown
from icdh._model.structural import StructuralModel
from icdh._table.categories import Label
from icdh._table.relations import with_relations
from icdh._table.table import Table, said_of_gaps
from icdh._table.transforms import is_heavy_tailed, normal_scores
from icdh.exceptions import option

FEWEST_OF_A_VALUE = 2  # rows with which a value of the cause has a mean and its error


@dataclass(frozen=True)
class Asked:
    """What a user asks of a table: variables by their positions, and whom the answer is about.

    Attributes
    ----------
    cause, effect : int
        The variables.
    covariates : list of int
        What is adjusted for.
    contrast : pair or None
        The values that the cause is set from and to, as the user says them.
    target : str
        "all", "treated" or "untreated".
    where : mapping or None
        Only rows in which these variables have these values.
    trim : float
        Rows whose probability of either value is smaller are left out.
    """

    cause: int
    effect: int
    covariates: list[int]
    contrast: Sequence[Label] | None
    target: str
    where: ByColumn[Label] | None
    trim: float


@dataclass(frozen=True)
class Pair:
    """What is asked of a table.

    Attributes
    ----------
    values : ndarray, shape (p + 2, n)
        Covariates, cause and effect; codes in place of labels.
    kinds : list of str
        Their kinds: "continuous", "ordinal", "binary" or "categorical".
    n_categories : list of int
        The number of labels of each that is categorical.
    contrast : Contrast
        The values that the cause is set from and to.
    few_values : bool
        Whether the cause takes few values, each with a probability.
    where : ndarray of bool, shape (n,)
        The rows among which those are that the answer is about.
    groups : ndarray of int, shape (n,), or None
        Rows of one group depend on one another.
    target : {"all", "treated", "untreated"}
        The rows that the answer is about.
    trim : float
        Rows whose probability of either value is smaller do not belong to the target.
    """

    values: Floats
    kinds: list[str]
    n_categories: list[int]
    contrast: Contrast
    few_values: bool
    where: Mask
    groups: Integers | None
    target: str
    trim: float

    @property
    def has_covariates(self) -> bool:
        """Whether anything is adjusted for."""
        return len(self.values) > 2

    @property
    def cause(self) -> Floats:
        """The cause, shape (n,)."""
        cause: Floats = self.values[-2]
        return cause

    @property
    def observed(self) -> Floats:
        """The effect, shape (n,)."""
        effect: Floats = self.values[-1]
        return effect


def table_of(X: TableLike, labels: list[Hashable] | None, sequence: bool, kinds: ByColumn[str] | None) -> Table:
    """Return the table, which knows which rows depend on one another: those with equal labels, or in sequence."""
    declared = {column for column, kind in (kinds or {}).items() if kind in ("binary", "categorical")}
    table = Table.of(X, categorical=declared, min_rows=TUNING.fewest_rows, gaps=True)
    return with_relations(table.coded(kinds), labels, sequence)


def with_labels(kinds: ByColumn[str], model: StructuralModel) -> dict[Hashable, str]:
    """Return kinds of columns, and "categorical" for other columns that hold labels in a model."""
    given = {variable_index(name, model.names, "kinds") for name in kinds}
    labels = {k for k, known in model.categories.items() if not known.ordered} - given
    return {**kinds, **{model.names[k]: "categorical" for k in labels}}


def covariates_of(adjust: Sequence[Hashable], table: Table, cause: int, effect: int) -> list[int]:
    """Return the positions of the covariates that a user names."""
    chosen = list(dict.fromkeys(variable_index(key, table.names, "adjust") for key in adjust))
    for role, at in (("cause", cause), ("effect", effect)):
        if at in chosen:
            raise ValueError(f"{option('adjust')} has the {role} {table.names[at]!r} itself; name causes of both")
    return chosen


def pairs_of(table: Table, asked: Asked) -> list[Pair]:
    """Return the question as numbers, once for each contrast of the cause.

    Raises
    ------
    ValueError
        If a column has gaps or takes one value alone, a value of the contrast has fewer than two rows, or what is asked
        does not go with the kind of the cause.
    """
    order = [*asked.covariates, asked.cause, asked.effect]
    if table.gaps[order].any():
        gaps = said_of_gaps(table.gaps[order], [table.names[k] for k in order])
        raise ValueError(f"{option('X')} has gaps (NaN) in {gaps}; drop these rows or impute them first")
    for role, at in (("cause", asked.cause), ("effect", asked.effect)):
        if not table.varying[at]:
            raise ValueError(f"the {role} {table.names[at]!r} takes one value alone; nothing is known of others")
    categories, name = table.categories.get(asked.cause), table.names[asked.cause]
    where, cause = _rows_where(asked.where, table), table.values[asked.cause]
    contrasts = contrasts_of(cause, categories, asked.contrast)
    counts = {value: int(np.count_nonzero(cause[where] == value)) for pair in contrasts for value in pair[:2]}
    few_values = table.kinds[asked.cause] in ("binary", "categorical") or categories is not None
    if table.kinds[asked.cause] == "ordinal":  # what grades do need not be smooth
        few_values |= min(counts.values()) >= FEWEST_OF_A_VALUE
    if not few_values and (asked.target != "all" or asked.trim):
        argument = "target" if asked.target != "all" else "trim"
        raise ValueError(f"{option(argument)} is for causes of few values or labels; {name!r} is a number")
    if few_values:
        contrasts = _with_rows(contrasts, counts, asked.contrast is not None, name)
    chosen = ["continuous" if table.kinds[k] == "gridded" else table.kinds[k] for k in order]
    values = table.values[order].copy()
    for k in range(len(asked.covariates)):
        if chosen[k] == "continuous" and is_heavy_tailed(values[k]):
            values[k] = normal_scores(values[k])
    n_categories = [len(table.categories[k].labels) if k in table.categories else 1 for k in order]
    groups = None if table.related is None else table.related.units
    rest = few_values, where, groups, asked.target, asked.trim
    return [Pair(values, chosen, n_categories, pair, *rest) for pair in contrasts]


def _rows_where(where: ByColumn[Label] | None, table: Table) -> Mask:
    chosen = np.ones(table.n_observations, dtype=bool)
    for key, value in (where or {}).items():
        at = variable_index(key, table.names, "where")
        known = table.categories.get(at)
        code = float(value) if known is None else known.encoded([value], "where")[0]
        chosen &= table.values[at] == code
    if not chosen.any():
        raise ValueError(f"{option('where')} leaves no row: none has {where!r}")
    return chosen


def _with_rows(contrasts: list[Contrast], counts: dict[float, int], said: bool, name: Hashable) -> list[Contrast]:
    """Return the contrasts whose two values have rows; a contrast that the user asks for must have them."""
    kept = [pair for pair in contrasts if min(counts[pair.low], counts[pair.high]) >= FEWEST_OF_A_VALUE]
    if kept and (len(kept) == len(contrasts) or not said):
        return kept
    short = [pair for pair in contrasts if pair not in kept]
    few = {pair.reference if counts[pair.low] < FEWEST_OF_A_VALUE else pair.value for pair in short}
    raise ValueError(f"fewer than two rows have {name!r} at {listed(map(shown, few))}")
