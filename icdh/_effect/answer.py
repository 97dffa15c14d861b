"""What happens to one variable if another is changed: the question read, asked and answered."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from icdh import graphs
from icdh._effect.estimation import TUNING
from icdh._effect.families import Numbers
from icdh._effect.pair import QUANTILES, PairFit, comparison_of, fits_of
from icdh._effect.question import Asked, Pair, covariates_of, pairs_of, table_of, with_labels
from icdh._effect.result import Comparison, Effect, Interval
from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.arrays import ByColumn, Floats, RandomState, TableLike
from icdh._ground.checks import Choice, random_generator
from icdh._ground.labels import counted, listed, printable, variable_index
from icdh._model.effects import Contrast, contrasts_of, drawn, outcome_values, outcomes_of, shown, under
from icdh._model.hidden import refuse_hidden_causes
from icdh._model.structural import StructuralModel
from icdh._rows.dependence import effect_of_equal_values, repeats, resembles_its_past
from icdh._table.categories import Label
from icdh._table.relations import Groups, without_groups
from icdh._table.table import Table
from icdh.exceptions import DataWarning, option, warn
from icdh.knowledge import Knowledge

BIASED = "adjusting for what comes after the cause may bias the answer"


def check_path(adjacency: Floats, names: Sequence[Hashable], cause: int, effect: int) -> None:
    """Raise ValueError if a graph has no path from a cause to an effect: it then gives no estimate, not even zero.

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
        f"edge may be too weak for so few rows. Name the common causes of the two in {option('adjust')}; "
        "in a randomised trial there are none"
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
        The values that the cause is set from and to.
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


TARGETS = ("all", "treated", "untreated")


def effect(
    X: TableLike,
    cause: Hashable,
    effect: Hashable,
    adjust: Sequence[Hashable] | str = "graph",
    *,
    contrast: Sequence[Label] | None = None,
    target: str = "all",
    where: ByColumn[Label] | None = None,
    level: float = 0.95,
    groups: Groups = None,
    sequence: bool = False,
    trim: float = 0.0,
    kinds: ByColumn[str] | None = None,
    model: object = None,
    knowledge: Knowledge | Mapping[str, object] | None = None,
    random_state: RandomState = 0,
) -> Effect:
    """Estimate what a change of one variable does to another, with an interval.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N), or a fitted model
        Observations in rows. Of a fitted model alone, the answer has no interval.
    cause, effect : str or int
        The variables.
    adjust : sequence of str or int, or "graph"
        The covariates: common causes of the two, measured before the cause was; none, ``[]``, in a randomised trial.
        With ``model`` its graph tells which come after the cause. "graph" takes those that the graph of ``model`` asks
        for.
    contrast : pair, optional
        The values that the cause is set from and to. By default 0 and 1, no and yes, or the reference label and each
        other one; if it is a number, the two of its values nearest to half a standard deviation below and above its
        mean.
    target : {"all", "treated", "untreated"}
        Whose mean effect is asked for: that of all rows, or of those with the second or the first value of the
        contrast.
    where : mapping, optional
        Only rows in which these variables have these values: ``{"sex": 0}``. Families are fitted to all rows.
    level : float
        The probability of the intervals.
    groups : str, int or array_like, shape (M,), optional
        Rows that depend on one another, such as those of a person: a column, which is then no variable, or one label a
        row.
    sequence : bool
        Whether rows depend on those before them; blocks of consecutive rows, as many as rows in each, then count as
        groups.
    trim : float
        Rows whose probability of either value of the contrast is smaller are left out of the target.
    kinds : mapping, optional
        Kinds of columns, as of `icdh.HNMSearch`; what ``model`` holds as labels are labels.
    model : HNMSearch, ICDH or StructuralModel, optional
        Whose graph is asked; by default an `icdh.HNMSearch` is fitted to X where ``adjust`` is "graph".
    knowledge : Knowledge or mapping, optional
        What is known of the graph that is fitted; covariates in a later tier than the cause are named in a warning.
    random_state : int, SeedSequence, Generator or None
        Draws folds and initial weights.

    Returns
    -------
    icdh.Effect
        Difference and interval, means or risks under both values, their ratio, how quantiles and spread move, the crude
        difference, how many rows speak, and notes.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be, or the graph has no path from cause to effect: no path is no estimate.

    Warns
    -----
    DataWarning
        If the answer is an extrapolation: few rows speak for a value of the cause, or many have no counterpart. If rows
        depend on one another (copies, rows of equal causes, rows in sequence), and neither ``groups`` nor ``sequence``
        says so.

    Notes
    -----
    The estimator is augmented and cross-fitted (`icdh._effect.estimation`): the effect given cause and covariates, and
    the cause given covariates, are fitted by networks or linear models, whichever has the higher evidence, and used at
    other rows than they are fitted to. It assumes that the covariates hold all common causes of the two. Labels and
    grades are compared value by value. The effect of a number is that of a smooth curve: where the true one bends
    strongly, its interval is too narrow.

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=400)
    >>> treated = (rng.random(400) < 1 / (1 + np.exp(-age))) * 1.0
    >>> X = np.column_stack([age, treated, treated + 2 * age + rng.normal(size=400)])
    >>> answer = icdh.effect(X, "x1", "x2", ["x0"])
    >>> round(answer.comparisons[0].crude, 1), answer.lower < 1.0 < answer.upper
    (2.6, True)
    """
    Choice(TARGETS).check("target", target)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; got {level!r}")
    if not 0.0 <= trim < 0.5:
        raise ValueError(f"trim must be at least 0 and below 0.5; got {trim!r}")
    if isinstance(adjust, str):
        Choice(("graph",)).check("adjust, if not a list of covariates,", adjust)
    alone = _model_of(X)
    if alone is not None:
        _check_alone(adjust, target, where, groups, sequence, trim)
        pair = [variable_index(key, alone.names, name) for name, key in (("cause", cause), ("effect", effect))]
        return effect_of_model(alone, pair[0], pair[1], contrast, level, random_state)
    X, labels = without_groups(X, groups)
    graph = _model_of(model)
    kinds = kinds if graph is None else with_labels(kinds or {}, graph)
    table = table_of(X, labels, sequence, kinds)
    refuse_hidden_causes(graph, "adjustment for observed columns")
    if graph is not None and graph.names != table.names:
        raise ValueError(f"model has {listed(graph.names)}, {option('X')} has {listed(table.names)}; pass its table")
    source, goal = (variable_index(key, table.names, name) for name, key in (("cause", cause), ("effect", effect)))
    if source == goal:
        raise ValueError(f"cause and effect are both {table.names[source]!r}; name two variables")
    seed = int(random_generator(random_state).integers(2**31))
    if isinstance(adjust, str) and graph is None:
        search = HNMSearch(kinds=kinds, knowledge=knowledge, random_state=seed)
        graph = search.fit(X, groups=labels, sequence=sequence).model_
    covariates, notes = _covariates(adjust, graph, table, source, goal)
    notes += notes_on_tiers(Knowledge.of(knowledge), table.names, source, covariates)
    constant = [k for k in covariates if table.n_distinct(k) < 2]
    covariates = [k for k in covariates if k not in constant]
    asked = Asked(source, goal, covariates, contrast, target, where, trim)
    fits = fits_of(pairs_of(table, asked), seed)
    outcomes = outcomes_of(table.categories.get(goal))
    rows = {value: speak for fit in fits for value, speak in fit.effective_rows.items()}
    names = [table.names[k] for k in (*covariates, source, goal)]
    warnings = [*_doubts(fits, rows), *_dependence(fits[0], outcomes[0][1], names), *notes]
    for message in warnings:
        warn(message, DataWarning)
    asides = [f"{listed(table.names[k] for k in constant)}: one value alone, nothing to adjust for"] if constant else []
    used = {*fits[0].effect.parents, *fits[0].cause.parents}
    if unused := [table.names[k] for at, k in enumerate(covariates) if at not in used]:
        asides.append(f"the models of cause and effect leave out what adds nothing to them: {listed(unused)}")
    comparisons = tuple(comparison_of(fit, text, code, level) for fit in fits for text, code in outcomes)
    if any(moved.lower == moved.upper for pair in comparisons for moved in pair.quantiles.values()):
        asides.append(
            "an interval without width is of a quantile that stays at one value of a rounded effect: it is known up to "
            "the step between two values, no better"
        )
    return Effect(
        table.names[source],
        table.names[goal],
        comparisons,
        tuple(table.names[k] for k in covariates),
        target,
        level,
        table.n_observations,
        round(fits[0].splits[0].rows[0].target.sum()),
        rows,
        max(fit.splits[0].beyond for fit in fits),
        {"effect": fits[0].effect.form, "cause": fits[0].cause.form},
        (*warnings, *asides),
    )


def _covariates(
    adjust: Sequence[Hashable] | str, graph: StructuralModel | None, table: Table, cause: int, effect: int
) -> tuple[list[int], list[str]]:
    """Return the covariates, and what the graph has against those that the user names."""
    if isinstance(adjust, str):
        assert graph is not None
        check_path(graph.adjacency, graph.names, cause, effect)
        return adjustment_set(graph.adjacency, cause, effect), []
    covariates = covariates_of(adjust, table, cause, effect)
    if graph is None:
        return covariates, []
    return covariates, notes_on_covariates(graph.adjacency, graph.names, cause, effect, covariates)


def _model_of(X: TableLike) -> StructuralModel | None:
    """Return the fitted model of an estimator, or a model; None of anything else."""
    model = getattr(X, "model_", X)
    return model if isinstance(model, StructuralModel) else None


def _check_alone(
    adjust: Sequence[Hashable] | str, target: str, where: object, groups: Groups, sequence: bool, trim: float
) -> None:
    asked = {"where": where is not None, "groups": groups is not None, "sequence": sequence, "trim": bool(trim)}
    asked |= {"target": target != "all", "adjust": not isinstance(adjust, str)}
    for name, is_asked in asked.items():
        if is_asked:
            raise ValueError(
                f"{option(name)} is about the rows of a table, and a model keeps none; give the table, too, by "
                f"{option('model')} the model"
            )


def _dependence(fit: PairFit, label: int | None, names: Sequence[Hashable]) -> Iterator[str]:
    """Yield a warning if rows that the interval counts as independent are not: the first sign of it."""
    pair, influence = fit.pair, fit.outcome(1, label).minus(fit.outcome(0, label)).influence
    if pair.groups is not None:
        return
    alike = {names[k]: effect_of_equal_values(influence, pair.values[k]) for k in _telling_the_cause(pair)}
    if repeated := repeats(pair.values):
        yield repeated.said(names, pair.observed.size)
    elif max(alike.values(), default=1.0) > 1.0:
        name = max(alike, key=lambda name: alike[name])
        yield (
            f"rows with the same {name!r} resemble one another, and the cause is the same in them, as if several came "
            f"from each person or place: if each value is one, the interval should be {np.sqrt(alike[name]):.2g} times "
            f"as wide; name them by {option('groups')}"
        )
    elif resembles_its_past(influence, pair.values):
        yield (
            "rows depend on those before them, so the interval is too narrow; say "
            f"{option('sequence', True)}, or name persons by {option('groups')}"
        )


def _telling_the_cause(pair: Pair) -> Iterator[int]:
    """Yield the numeric columns, the cause among them, that determine the cause: their values may name units."""
    for k, values in enumerate(pair.values[:-1]):
        order = np.argsort(values)
        is_same = np.diff(values[order]) == 0.0
        if pair.n_categories[k] == 1 and not np.diff(pair.cause[order])[is_same].any():
            yield k


def _doubts(fits: Sequence[PairFit], rows: Mapping[Hashable, float]) -> Iterator[str]:
    """Yield why an answer would be an extrapolation."""
    pair, beyond = fits[0].pair, max(fit.splits[0].beyond for fit in fits)
    fewer = f"ask for {option('target', 'treated')}, or " if pair.target == "all" else ""
    remedy = f"{fewer}leave rows without counterparts out by {option('trim', 0.05)}"
    low, high = float(pair.cause.min()), float(pair.cause.max())
    outside = [value for value in pair.contrast[:2] if not low <= value <= high]
    why = (
        f"there the answer is an extrapolation; {remedy}"
        if pair.few_values
        else "rows are few, or covariates move with the cause and leave little to compare; ask for a smaller change by "
        f"{option('contrast')}"
    )
    expected = fits[0].splits[0].expected
    if isinstance(expected, Numbers) and np.quantile(expected.deviation, 0.9) < TUNING.determined * pair.observed.std():
        yield (
            "cause and covariates leave hardly any noise of the effect, as if it were computed from them: the answer "
            "is arithmetic; leave computed columns out"
        )
    for value, speak in rows.items():
        if speak < TUNING.few_effective and value not in outside:
            yield f"only {counted(round(speak), 'effective row')} at {shown(value)}: {why}"
    if beyond > TUNING.all_beyond:
        yield (
            "the covariates all but tell which value the cause has: hardly a row has a counterpart with the other "
            "value, and the number is no answer; leave out of the covariates what follows from the cause"
        )
    elif beyond > TUNING.much_beyond:
        yield f"{beyond:.0%} of the rows have no counterpart with the other value: an extrapolation; {remedy}"
    near = TUNING.near * float(pair.cause.std())
    lonely = [value for value in pair.contrast[:2] if not float(np.abs(pair.cause - value).min()) <= near]
    if lonely and not outside:
        yield f"no row has a cause near {listed(map(shown, lonely))}: a smooth curve alone answers there"
    if outside:
        yield (
            f"the cause is set to {listed(map(shown, outside))}, but the rows go from {shown(low)} to {shown(high)}: "
            "the answer is an extrapolation"
        )
