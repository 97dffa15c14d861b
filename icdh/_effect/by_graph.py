"""What a graph says of a question: whether it has an answer, which covariates it needs, what a model alone answers."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from icdh import graphs
from icdh._effect.pair import QUANTILES
from icdh._effect.result import Comparison, Effect, Interval
from icdh._ground.arrays import Floats, RandomState
from icdh._ground.checks import random_generator
from icdh._ground.labels import listed, printable
from icdh._model.effects import Contrast, contrasts_of, drawn, outcome_values, outcomes_of, under
from icdh._model.structural import StructuralModel
from icdh._table.categories import Label
from icdh.exceptions import option
from icdh.knowledge import Knowledge

BIASED = "adjusting for what comes after the cause may bias the answer"


def check_path(adjacency: Floats, names: Sequence[Hashable], cause: int, effect: int) -> None:
    """Raise ValueError if a graph has no path from a cause to an effect: it then gives no estimate, and no zero.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    cause, effect : int
        Their positions.
    """
    reach = graphs.descendants(adjacency)
    if reach[cause, effect]:
        return
    pair = f"{names[cause]!r} to {names[effect]!r}"
    way = _way(adjacency, names, effect, cause) if reach[effect, cause] else ""
    opposite = f" (it has the opposite direction: {way})" if way else ""
    raise ValueError(
        f"the graph has no path from {pair}{opposite}, so it gives no estimate; that is not evidence of no effect: an "
        f"edge may be too weak for so few rows. Name the common causes of the two in {option('adjust')}, "
        "or none of a randomised trial"
    )


def _way(adjacency: Floats, names: Sequence[Hashable], start: int, end: int) -> str:
    """Return the variables on a directed path of a DAG, as text: an edge from its end to its start closes a cycle."""
    closed = adjacency.copy()
    closed[end, start] = 1.0
    cycle = graphs.find_cycle(closed)[:-1]
    first = cycle.index(start)
    return " -> ".join(printable(names[k]) for k in cycle[first:] + cycle[:first])


def adjustment_set(adjacency: Floats, cause: int, effect: int) -> list[int]:
    """Return the covariates that a graph asks for: the other parents of the variables on paths from cause to effect.

    Of all valid sets this one gives the most precise answer.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    cause, effect : int
        Their positions.

    References
    ----------
    Henckel, Perkovic, Maathuis: "Graphical criteria for efficient total effect estimation via adjustment in causal
    linear models", Journal of the Royal Statistical Society B 84, 2022.
    """
    reach = graphs.descendants(adjacency)
    between = reach[cause] & (reach[:, effect] | (np.arange(len(adjacency)) == effect))
    parents = (adjacency[:, between] != 0).any(axis=1)
    chosen = parents & ~between
    chosen[cause] = False
    return np.flatnonzero(chosen).tolist()


def notes_on_covariates(
    adjacency: Floats, names: Sequence[Hashable], cause: int, effect: int, covariates: Sequence[int]
) -> list[str]:
    """Return what a graph has against covariates that a user chose.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    cause, effect : int
        Their positions.
    covariates : sequence of int
        The positions of the covariates.
    """
    reach = graphs.descendants(adjacency)
    after = [k for k in covariates if reach[cause, k]]
    pair = f"{printable(names[cause])} to {printable(names[effect])}"
    takes = f"by the graph on a path from {pair}, so adjusting takes that part of the effect away"
    notes = _note([names[k] for k in after if reach[k, effect]], takes)
    biases = f"by the graph caused by {names[cause]}: {BIASED}"
    notes += _note([names[k] for k in after if not reach[k, effect]], biases)
    if reach[effect, cause]:
        notes.append(f"the graph has the opposite direction: {_way(adjacency, names, effect, cause)}")
    return notes


def notes_on_tiers(knowledge: Knowledge, names: Sequence[Hashable], cause: int, covariates: Sequence[int]) -> list[str]:
    """Return what tiers have against covariates, whoever chose them.

    Parameters
    ----------
    knowledge : Knowledge
        With or without tiers.
    names : sequence
        The variables.
    cause : int
        Its position.
    covariates : sequence of int
        The positions of the covariates.
    """
    cannot_cause = Knowledge(tiers=knowledge.tiers).rules(names, strict=False).forbidden[:, cause]
    return _note([names[k] for k in covariates if cannot_cause[k]], f"in a later tier than {names[cause]}: {BIASED}")


def _note(names: Sequence[Hashable], what: str) -> list[str]:
    return [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {what}"] if names else []


def effect_of_model(
    model: StructuralModel,
    cause: int,
    effect: int,
    contrast: Sequence[Label] | None,
    level: float,
    random_state: RandomState,
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
    rows = drawn(model, 20_000, random_generator(random_state))
    contrasts = contrasts_of(rows.values[cause], model.categories.get(cause), contrast)
    outcomes = outcomes_of(model.categories.get(effect))
    comparisons = []
    for asked in contrasts:
        pair = [under(model, rows, {cause: value})[effect] for value in asked[:2]]
        for outcome, code in outcomes:
            comparisons.append(_comparison(asked, outcome, *(outcome_values(values, code) for values in pair)))
    note = (
        "no interval, and nothing corrects the model's curves where they miss the rows, which it does not keep; give "
        f"the table as well, and {option('adjust', 'graph')}"
    )
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
