"""Missing values: rows left out, or imputation.

Imputation draws missing values from a fitted model given the observed ones, and fits to what was drawn in turn.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from icdh._model.structural import StructuralModel
from icdh._node_model.law import Conditional
from icdh._table.experiments import Design, InterventionsLike
from icdh._table.kinds import KINDS, nearest
from icdh._table.table import Table
from icdh._table.transforms import Rescaled
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.clock import Clock
from icdh._utils.labels import counted, listed, plural
from icdh.exceptions import ConvergenceWarning, WarningList, collected_warnings, option, warn

MISSING = ("error", "drop", "impute")
CHUNK = 1000  # rows compared with all donors at once
MOST_DONORS = 2000
logger = logging.getLogger("icdh")


class OfConditions(NamedTuple):
    """The distributions of a fit under every condition: a model is about those where no condition acts.

    Attributes
    ----------
    conditionals : list of Conditional
        The N distributions given the variables, which the contexts follow.
    transforms : dict of int to Rescaled
        What is applied to the contexts, by their place among the K ones.
    """

    conditionals: list[Conditional]
    transforms: dict[int, Rescaled]

    def with_contexts(self, values: Floats, contexts: Floats) -> Floats:
        """Return scaled values, shape (N, M), followed by the contexts, shape (K, M), transformed."""
        rows = [self.transforms[k].apply(x) if k in self.transforms else x for k, x in enumerate(contexts)]
        return np.vstack([values, *rows])


class FittedEstimator(Protocol):
    """A fit, as far as imputation goes on from it."""

    model_: StructuralModel
    adjacency_matrix_: Floats
    interrupted_: bool
    timed_out_: bool

    @property
    def of_conditions(self) -> OfConditions:
        """Its distributions under every condition."""
        ...


Fitted = TypeVar("Fitted", bound=FittedEstimator)


def without_gaps(table: Table, interventions: InterventionsLike) -> tuple[Table, Design]:
    """Return the rows of a table that have no gaps, and what was done to them; warn if they are few.

    Raises
    ------
    ValueError
        If fewer than two rows are complete.
    """
    rows: Mask = np.logical_not(table.gaps.any(axis=0))
    n_complete = np.count_nonzero(rows)
    if n_complete < min(2, rows.size):
        raise ValueError(
            f"{option('missing', 'drop')} leaves {n_complete} of {counted(rows.size, 'row')}; use "
            f"{option('missing', 'impute')}, or drop the columns with most gaps"
        )
    if 2 * n_complete < rows.size:
        drops, imputes = option("missing", "drop"), option("missing", "impute")
        warn(f"{drops} keeps {n_complete} of {rows.size} rows; {imputes} keeps all")
    design = Design.of(interventions, table, rows)
    if n_complete < rows.size:
        logger.info("%d of %d rows have gaps and are left out", rows.size - n_complete, rows.size)
        table = table.of_rows(rows).of_its_labels()
    return table, design


def neighbours_values(table: Table, design: Design, rng: np.random.Generator) -> Floats:
    """Return the values with every gap filled from a similar row, shape (N, M).

    Each gap takes the value of a donor drawn from the five nearest rows that have one. The distance is the mean squared
    difference of standardised columns over the cells that both rows have. At most 2000 random rows are donors. Unlike
    means, donated values keep spread, skewness and dependence, so that a first graph can be learned from them.

    Rows of the same condition come first; without one that has a value, rows where the variable was set, too, or not.

    Parameters
    ----------
    table : Table
        With gaps as NaN.
    design : Design
        What was done to the rows.
    rng : Generator
        Source of randomness.
    """
    values: Floats = table.values.copy()
    mean, spread = np.nanmean(values, axis=1, keepdims=True), np.nanstd(values, axis=1, keepdims=True)
    scaled: Floats = (values - mean) / np.where(spread > 0.0, spread, 1.0)
    donors = _spread_over(design.condition_of, rng.permutation(values.shape[1]))[:MOST_DONORS]
    receivers = np.flatnonzero(table.gaps.any(axis=0))
    for start in range(0, receivers.size, CHUNK):
        rows = receivers[start : start + CHUNK]
        distance = _distances(scaled[:, rows], scaled[:, donors])
        for n in np.flatnonzero(table.gaps[:, rows].any(axis=1)).tolist():
            giving = np.flatnonzero(~table.gaps[n, donors])
            if giving.size == 0:
                donated = rng.choice(table.values[n, ~table.gaps[n]], size=np.count_nonzero(table.gaps[n, rows]))
            else:
                cells = table.gaps[n, rows]
                farther = _differing(design, n, rows[cells], donors[giving])
                near = np.lexsort((distance[cells][:, giving], farther), axis=1)[:, :5]
                first = np.take_along_axis(farther, near, axis=1)
                chosen = near[np.arange(len(near)), rng.integers((first == first[:, :1]).sum(axis=1))]
                donated = table.values[n, donors[giving[chosen]]]
            values[n, rows[table.gaps[n, rows]]] = donated
    return values


def _spread_over(labels: Integers, rows: Integers) -> Integers:
    """Return rows in an order in which each label has as many among the first as the others, if it has so many."""
    by_label = np.argsort(labels[rows], kind="stable")
    counts = np.unique(labels, return_counts=True)[1]
    place = np.empty(rows.size, dtype=int)
    place[by_label] = np.concatenate([np.arange(count) for count in counts])
    return rows[np.argsort(place, kind="stable")]


def _differing(design: Design, n: int, rows: Integers, donors: Integers) -> Integers:
    """Return 0 where a donor is of the condition of a row, 2 or 3 where one of them set variable n, shape (r, d)."""
    condition, alone = design.condition_of, design.left_alone[n]
    others = condition[rows, np.newaxis] != condition[donors]
    differing: Integers = others + 2 * (alone[rows, np.newaxis] != alone[donors])
    return differing


def _distances(a: Floats, b: Floats) -> Floats:
    """Return mean squared differences between columns of a and b over shared cells; infinite if there are none."""
    has_a, has_b = (~np.isnan(x) for x in (a, b))
    a, b = np.nan_to_num(a), np.nan_to_num(b)
    total = (a**2).T @ has_b + has_a.T @ b**2 - 2.0 * a.T @ b
    shared = has_a.T.astype(float) @ has_b
    return np.where(shared > 0.0, total / np.maximum(shared, 1.0), np.inf)


def redrawn(fitted: FittedEstimator, table: Table, gaps: Mask, design: Design, rng: np.random.Generator) -> Table:
    """Return a completed table with new draws in its gaps, as `draw_gaps`, in the variables' units.

    Draws of a discrete variable, or of one recorded on a grid, are rounded to the nearest of its observed values.
    """
    varying = table.varying[:, np.newaxis]
    model, of_conditions = fitted.model_, fitted.of_conditions
    scaling = model.columns.scaling
    scaled = of_conditions.with_contexts(scaling.apply(table.values), design.contexts)
    drawn = draw_gaps(of_conditions.conditionals, scaled, gaps & varying, design, rng)
    values = scaling.undo(drawn[: table.n_variables])
    for n, kind in enumerate(model.columns.kinds or table.kinds):
        if KINDS[kind].repeats:
            levels = np.unique(table.values[n, ~gaps[n]])
            values[n] = levels[nearest(levels, values[n])]
    return replace(table, values=np.where(gaps, values, table.values), imputed=gaps)


def draw_gaps(
    conditionals: Sequence[Conditional], values: Floats, gaps: Mask, design: Design, rng: np.random.Generator
) -> Floats:
    """Return scaled values with new draws in the gaps, shape (N + K, M).

    A Metropolis walk visits the gaps variable by variable, all rows at once. Proposals alternate between draws given
    the causes and steps of a random walk. The target density is that of the variable given its causes times those of
    its effects given theirs. Values that a condition set are proposed by rows that it set, too; those of their causes
    know nothing of them.

    Parameters
    ----------
    conditionals : sequence of Conditional
        The N distributions of a model, fitted to ``values``.
    values : ndarray, shape (N + K, M)
        Scaled and complete, contexts after the variables: where the walk starts.
    gaps : ndarray of bool, shape (N, M)
        What to draw.
    design : Design
        What was done to the rows.
    rng : Generator
        Source of randomness.
    """
    values = values.copy()
    effects = [[j for j, other in enumerate(conditionals) if n in other.inputs] for n in range(len(gaps))]
    of_causes = gaps & design.left_alone & ~design.always_set[:, np.newaxis]
    for sweep in range(10):
        for n in np.flatnonzero(gaps.any(axis=1)).tolist():
            for cells, was_set in ((of_causes[n], False), (gaps[n] & ~of_causes[n], True)):
                rows, counts = values[:, cells], design.left_alone[:, cells]
                if was_set:
                    proposed = _donated(values[n], n, np.flatnonzero(cells), gaps[n], design, rng)
                    gain = np.zeros(proposed.shape)
                else:
                    proposed, gain = _proposed(conditionals[n], rows, n, sweep % 2 == 1, rng)
                moved = np.vstack([rows[:n], proposed, rows[n + 1 :]])
                for j in effects[n]:
                    change = conditionals[j].log_density(moved[j], moved) - conditionals[j].log_density(rows[j], rows)
                    gain = gain + np.where(counts[j], change, 0.0)
                values[n, cells] = np.where(np.log(rng.random(proposed.shape)) < gain, proposed, rows[n])
    return values


def _proposed(
    conditional: Conditional, rows: Floats, n: int, walks: bool, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return new values of variable n given its causes, and what they add to its own log density, each (rows,)."""
    size = rows.shape[1]
    if walks and conditional.law.has_density(rows[n]).all():
        _, deviation = conditional.mean_and_scale(rows)
        proposed = rows[n] + 0.5 * deviation * rng.standard_normal(size)
        return proposed, conditional.log_density(proposed, rows) - conditional.log_density(rows[n], rows)
    # Draws given the causes follow their density.
    return conditional.draw(rows, conditional.law.draw_noise(size, rng)), np.zeros(size)


def _donated(values: Floats, n: int, rows: Integers, gaps: Mask, design: Design, rng: np.random.Generator) -> Floats:
    """Return for rows where variable n was set values seen in the same condition; where none was, what they have."""
    donated, of_rows = values[rows], design.condition_of[rows]
    for condition in np.unique(of_rows):
        alike = design.left_alone[n] == design.left_alone[n, rows[of_rows == condition][0]]
        giving = np.flatnonzero(~gaps & alike & (design.condition_of == condition))
        if giving.size:
            receivers = np.flatnonzero(of_rows == condition)
            donated[receivers] = values[rng.choice(giving, size=receivers.size)]
    return donated


def fit_to_imputed(
    fit: Callable[[Table], Fitted],
    table: Table,
    design: Design,
    n_imputations: int,
    rng: np.random.Generator,
    clock: Clock,
) -> tuple[Fitted, dict[str, object], WarningList]:
    """Fit to imputed tables, each drawn from the fit before; return the fit whose graph is most typical.

    Parameters
    ----------
    fit : callable
        Returns a new estimator, fitted to a table without gaps.
    table : Table
        The table.
    design : Design
        What was done to its rows.
    n_imputations : int
        The number of fits.
    rng : Generator
        Draws values.
    clock : Clock
        Ends the fits, the first one aside.

    Returns
    -------
    typical : CausalGraphEstimator
        One of the fits.
    of_all : dict
        The attributes of an estimator that are about all fits.
    to_say : list of (str, type)
        What to warn of: the messages of the last fit, and their classes.
    """
    counts = table.gaps.sum(axis=1)
    if columns := [f"{table.names[n]!r} ({counts[n]})" for n in np.flatnonzero(2 * counts > table.n_observations)]:
        warn(
            f"{plural(columns, 'column')} of which more than half of {table.n_observations} rows are imputed: "
            f"{listed(columns)}; drop {'it' if len(columns) == 1 else 'them'}, unless gaps come by chance alone"
        )
    completed = replace(table, values=neighbours_values(table, design, rng), imputed=table.gaps)
    fits: list[Fitted] = []
    while True:
        with collected_warnings() as to_say:
            fits.append(fit(completed))
        if len(fits) == n_imputations or fits[-1].interrupted_ or clock.is_over:
            break
        completed = redrawn(fits[-1], completed, table.gaps, design, rng)
    is_cut = len(fits) < n_imputations and not fits[-1].interrupted_
    if is_cut:
        ended = f"{option('max_seconds', clock.max_seconds)} ended the fit"
        done = f"{len(fits)} of {n_imputations} imputations"
        to_say = [(message, category) for message, category in to_say if category is not ConvergenceWarning]
        to_say.append((f"{ended} after {done}; the best one is kept", ConvergenceWarning))
    # The first fit, on values of similar rows and not of a model, counts only if it is the only one.
    whole = [fitted for fitted in fits[1:] if not fitted.timed_out_] or fits[:1]
    graphs = np.array([fitted.adjacency_matrix_ != 0 for fitted in whole])
    probability = graphs.mean(axis=0)
    distances = np.abs(graphs - probability).sum(axis=(1, 2))
    # Of equal ones the last: values of similar rows understate dependence, and the first draws still remember them.
    typical = whole[int(np.flatnonzero(distances == distances.min())[-1])]
    late = is_cut or typical.timed_out_
    return typical, {"edge_probability_": probability, "imputations_": whole, "timed_out_": late}, to_say
