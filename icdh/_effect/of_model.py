"""The answer of a fitted model without a table: by rows that are drawn from it."""

import math
from typing import Any

import numpy as np

from icdh._effect.adjustment import check_path
from icdh._effect.pair import QUANTILES
from icdh._effect.result import Comparison, Effect, Interval
from icdh._ground.arrays import Floats
from icdh._ground.checks import random_generator
from icdh._model.contrasts import Contrast, contrasts_of, outcomes_of
from icdh._model.effects import outcome_values
from icdh._model.intervene import drawn, under
from icdh._model.structural import StructuralModel
from icdh.exceptions import option

N_DRAWN = 20_000


def effect_of_model(
    model: StructuralModel, cause: int, effect: int, contrast: Any, level: float, random_state: Any
) -> Effect:
    """Return the answer of a model alone, without an interval.

    Parameters
    ----------
    model : StructuralModel
        The model.
    cause, effect : int
        Their positions.
    contrast : pair or None
        From and to what the cause is set.
    level : float
        Kept beside the answer.
    random_state : int, SeedSequence, Generator or None
        Draws the rows.

    Raises
    ------
    ValueError
        If the graph has no path from cause to effect.
    """
    check_path(model.adjacency, model.names, cause, effect)
    rows = drawn(model, N_DRAWN, random_generator(random_state))
    contrasts = contrasts_of(rows.values[cause], model.categories.get(cause), contrast)
    outcomes = outcomes_of(model.categories.get(effect))
    comparisons = []
    for own in contrasts:
        pair = [under(model, rows, {cause: value})[effect] for value in own[:2]]
        for outcome, code in outcomes:
            comparisons.append(_comparison(own, outcome, *(outcome_values(values, code) for values in pair)))
    note = f"no interval: a model keeps no rows; give the table as well, and {option('adjust', 'graph')}"
    n_rows = model.about.get("n_observations") or 0
    names = model.names[cause], model.names[effect]
    return Effect(*names, tuple(comparisons), None, "all", level, n_rows, n_rows, {}, math.nan, {}, (note,))


def _comparison(contrast: Contrast, outcome: str, low: Floats, high: Floats) -> Comparison:
    moved, is_risk = high - low, set(np.unique(np.append(low, high)).tolist()) <= {0.0, 1.0}
    quantiles = () if is_risk else QUANTILES
    spread = float(high.std() / low.std()) if low.std() > 0.0 else math.nan
    return Comparison(
        contrast.reference,
        contrast.value,
        outcome,
        (Interval(float(low.mean())), Interval(float(high.mean()))),
        Interval(float(moved.mean())),
        float(moved.std() / math.sqrt(moved.size)),
        math.nan,
        Interval(float(high.mean() / low.mean())) if is_risk and low.mean() > 0.0 else None,
        {q: Interval(float(np.quantile(high, q) - np.quantile(low, q))) for q in quantiles},
        None if is_risk else Interval(spread),
    )
