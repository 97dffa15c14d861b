"""What happens to one variable if another is changed: the question read, asked and answered."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from icdh._effect.adjustment import adjustment_set, check_path, notes_on_covariates
from icdh._effect.of_model import effect_of_model
from icdh._effect.pair import Pair, contrasts_compared
from icdh._effect.result import Effect
from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.arrays import Mask
from icdh._ground.checks import check_choice, random_generator
from icdh._ground.labels import counted, listed, variable_index
from icdh._model.contrasts import contrasts_of, outcomes_of, shown
from icdh._model.structural import StructuralModel
from icdh._table.relations import with_relations, without_groups
from icdh._table.table import Table, said_of_gaps
from icdh._table.transforms import normal_scores
from icdh.exceptions import DataWarning, warn

TARGETS = ("all", "treated", "untreated")
FEWEST_ROWS, FEW_EFFECTIVE, MUCH_BEYOND = 20, 20.0, 0.2
HEAVY = 20.0  # fourth moment of a standardised covariate, from which its normal scores take its place


def effect(
    X: Any,
    cause: Hashable,
    effect: Hashable,
    adjust: Sequence[Hashable] | str = "graph",
    *,
    contrast: Sequence[Any] | None = None,
    target: str = "all",
    where: Mapping[Hashable, Any] | None = None,
    level: float = 0.95,
    groups: Any = None,
    trim: float = 0.0,
    kinds: Mapping[Hashable, str] | None = None,
    model: Any = None,
    random_state: Any = 0,
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
        "graph" takes those that the graph of ``model`` asks for.
    contrast : pair, optional
        From and to what the cause is set. By default 0 to 1, no to yes, the reference label to each other, and of a
        number one standard deviation about its mean.
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
    trim : float
        Rows whose probability of either value of the contrast is smaller are left out of the target.
    kinds : mapping, optional
        Kinds of columns, as of `icdh.HNMSearch`.
    model : HNMSearch, ICDH or StructuralModel, optional
        Whose graph is asked; by default an `icdh.HNMSearch` is fitted to X where ``adjust`` is "graph".
    random_state : int, SeedSequence, Generator or None
        Draws folds and initial weights.

    Returns
    -------
    icdh._effect.result.Effect
        Difference and interval, means or risks under both values, their ratio, how quantiles and spread move, the crude
        difference, how many rows speak, and notes.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be, or the graph has no path from cause to effect: no path is no estimate.

    Warns
    -----
    DataWarning
        If the answer is an extrapolation: few rows speak for a value of the cause, or many have no counterpart.

    Notes
    -----
    The estimator is augmented and cross-fitted (`icdh._effect.estimation`): the effect given cause and covariates, and
    the cause given covariates, are fitted by networks or linear models, whichever has the higher evidence, and used at
    other rows than they are fitted to. It assumes that the covariates hold all common causes of the two. The effect of
    a number is that of a smooth curve: where the true one bends strongly, its interval is too narrow.

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
    check_choice("target", target, TARGETS)
    for name, share in (("level", level), ("trim", trim)):
        if not (0.0 if name == "level" else -1.0) < share < (1.0 if name == "level" else 0.5):
            raise ValueError(f"{name} must be between 0 and {'1' if name == 'level' else '0.5'}; got {share!r}")
    if _model_of(X) is not None:
        _check_alone(adjust, target, where, groups, trim)
        fitted = _model_of(X)
        at = [variable_index(key, fitted.names, name) for name, key in (("cause", cause), ("effect", effect))]
        return effect_of_model(fitted, *at, contrast, level, random_state)
    X, labels = without_groups(X, groups)
    table = _table(X, labels, kinds)
    graph = _model_of(model)
    if graph is not None and graph.names != table.names:
        raise ValueError(
            f"model is about {listed(graph.names)}, but X has {listed(table.names)}; pass the table of fit"
        )
    source, goal = (variable_index(key, table.names, name) for name, key in (("cause", cause), ("effect", effect)))
    if source == goal:
        raise ValueError(f"cause and effect are both {table.names[source]!r}; name two variables")
    seed = int(random_generator(random_state).integers(2**31))
    notes, asides = list[str](), list[str]()
    if isinstance(adjust, str):
        check_choice("adjust, if not a list of covariates,", adjust, ("graph",))
        graph = graph or HNMSearch(kinds=kinds, random_state=seed).fit(X, groups=labels).model_
        check_path(graph.adjacency, graph.names, source, goal)
        covariates = adjustment_set(graph.adjacency, source, goal)
    else:
        covariates = _covariates(adjust, table, source, goal)
        if graph is not None:
            notes += notes_on_covariates(graph.adjacency, graph.names, source, goal, covariates)
    constant = [k for k in covariates if table.n_distinct(k) < 2]
    if constant:
        asides.append(f"{listed(table.names[k] for k in constant)}: one value alone, nothing to adjust for")
    covariates = [k for k in covariates if k not in constant]
    among = _where(where, table)
    pair, contrasts = _pair(table, kinds, covariates, source, goal, contrast, target, among, trim)
    outcomes = outcomes_of(table.categories.get(goal))
    fits, comparisons = contrasts_compared(pair, contrasts, outcomes, level, seed)
    rows: dict[Any, float] = {}
    for fit, own in zip(fits, contrasts, strict=True):
        speak = [np.mean([split.rows[at].effective_rows for split in fit.splits]) for at in (0, 1)]
        rows |= dict(zip((own.reference, own.value), map(float, speak), strict=True))
    beyond = float(max(fit.splits[0].beyond for fit in fits))
    warnings = [*_doubts(pair, contrasts, rows, beyond)]
    for message in [*warnings, *notes]:
        warn(message, DataWarning)
    families = {"effect": _word(fits[0].effect), "cause": _word(fits[0].cause)}
    return Effect(
        table.names[source],
        table.names[goal],
        tuple(comparisons),
        tuple(table.names[k] for k in covariates),
        target,
        level,
        table.n_observations,
        round(float(fits[0].splits[0].rows[0].target.sum())),
        rows,
        beyond,
        families,
        (*warnings, *notes, *asides),
    )


def _word(family):
    return "linear" if family.is_linear else "network"


def _model_of(X: Any) -> StructuralModel | None:
    """Return the fitted model of an estimator, or a model; None of anything else."""
    found = getattr(X, "model_", X)
    return found if isinstance(found, StructuralModel) else None


def _check_alone(adjust, target, where, groups, trim):
    asked = {"where": where is not None, "groups": groups is not None, "trim": bool(trim)}
    asked |= {"target": target != "all", "adjust": not isinstance(adjust, str)}
    for name, is_asked in asked.items():
        if is_asked:
            raise ValueError(f"{name} is about the rows of a table, and a model keeps none; pass X, and model=")


def _table(X: Any, labels: list[Hashable] | None, kinds: Mapping[Hashable, str] | None) -> Table:
    """Return the table, which knows what rows depend on one another."""
    declared = {column for column, kind in (kinds or {}).items() if kind in ("binary", "categorical")}
    table = Table.of(X, categorical=declared, min_rows=FEWEST_ROWS, gaps=True)
    return with_relations(table.coded(kinds), labels, False)


def _covariates(adjust, table, source, goal):
    chosen = list(dict.fromkeys(variable_index(key, table.names, "adjust") for key in adjust))
    for role, at in (("cause", source), ("effect", goal)):
        if at in chosen:
            raise ValueError(f"adjust has the {role} {table.names[at]!r} itself; name common causes of the two")
    return chosen


def _where(where: Any, table: Table) -> Mask:
    chosen = np.ones(table.n_observations, dtype=bool)
    for key, value in (where or {}).items():
        at = variable_index(key, table.names, "where")
        known = table.categories.get(at)
        code = float(value) if known is None else known.encoded([value], "where")[0]
        chosen &= table.values[at] == code
    if not chosen.any():
        raise ValueError(f"where leaves no row: none has {where!r}")
    return chosen


def _pair(table, kinds, covariates, source, goal, said, target, where, trim):
    """Return the question as numbers, and the contrasts of the cause."""
    order = [*covariates, source, goal]
    if table.gaps[order].any():
        gaps = said_of_gaps(table.gaps[order], [table.names[k] for k in order])
        raise ValueError(f"X has gaps (NaN) in {gaps}; drop these rows or impute them first")
    all_kinds = table.kinds_given(kinds)
    for role, at in (("cause", source), ("effect", goal)):
        if not table.varying[at]:
            raise ValueError(f"the {role} {table.names[at]!r} takes one value alone; nothing is known of others")
    categories = table.categories.get(source)
    contrasts = contrasts_of(table.values[source], categories, said)
    few_values = all_kinds[source] in ("binary", "categorical") or categories is not None
    for own in contrasts if few_values else ():
        for value, text in zip(own[:2], (own.reference, own.value), strict=True):
            if np.count_nonzero((table.values[source] == value) & where) < 2:
                raise ValueError(f"fewer than two rows have {table.names[source]!r} at {shown(text)}")
    if not few_values and (target != "all" or trim):
        raise ValueError(
            f"{'target' if target != 'all' else 'trim'} is for causes of two values or labels; "
            f"{table.names[source]!r} is a number"
        )
    kinds = ["continuous" if all_kinds[k] == "gridded" else all_kinds[k] for k in order]
    values = table.values[order].copy()
    for k in range(len(covariates)):
        if kinds[k] == "continuous" and _is_heavy(values[k]):
            values[k] = normal_scores(values[k])
    n_categories = [len(table.categories[k].labels) if k in table.categories else 1 for k in order]
    groups = None if table.related is None else table.related.groups
    question = Pair(values, kinds, n_categories, few_values, contrasts[0], target, where, groups, trim)
    return question, contrasts


def _is_heavy(values):
    unit = (values - values.mean()) / values.std()
    return float(np.mean(unit**4)) > HEAVY


def _doubts(pair, contrasts, rows, beyond):
    """Yield why an answer would be an extrapolation."""
    remedy = "ask for target='treated', or leave rows without counterparts out by trim=0.05"
    for value, speak in rows.items() if pair.few_values else ():
        if speak < FEW_EFFECTIVE:
            yield (
                f"only {counted(round(speak), 'effective row')} at {shown(value)}: there the answer is an "
                f"extrapolation; {remedy}"
            )
    if beyond > MUCH_BEYOND:
        yield f"{beyond:.0%} of the rows have no counterpart with the other value: an extrapolation; {remedy}"
    for own in () if pair.few_values else contrasts:
        outside = [value for value in own[:2] if not pair.cause.min() <= value <= pair.cause.max()]
        if outside:
            yield (
                f"the cause is set to {listed(map(shown, outside))}, but the rows go from {shown(pair.cause.min())} to "
                f"{shown(pair.cause.max())}: the answer is an extrapolation"
            )
