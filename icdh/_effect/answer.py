"""What happens to one variable if another is changed: the question, and the answer."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product

import numpy as np

from icdh._effect.adjustment import (
    adjustment_set,
    after_by_tiers,
    check_path,
    mixture,
    note_on_arrows_of_cause,
    notes_on_covariates,
    parent_sets,
)
from icdh._effect.average import Difference
from icdh._effect.result import Curve, Effect, joint_notes, percent
from icdh._effect.sample import Estimate, Sample, by_frequency, oriented, robustness_value, strongest_covariate
from icdh._effect.slope import Slope
from icdh._effect.splines import standardised
from icdh._estimators.data_warnings import codes_of_units
from icdh._estimators.hnm_search import HNMSearch
from icdh._model.effects import Contrast, contrasts_of, outcome_values, outcomes_of, shown
from icdh._model.structural import StructuralModel, model_of
from icdh._rows import repeats, resembles_its_past
from icdh._table.codes import Declared, Label
from icdh._table.frames import column_labels, with_columns, without_column
from icdh._table.kinds import FEW_VALUES, KINDS
from icdh._table.rows import Groups, check_weighting, checked_weights, rows_that_count, with_relations, without_groups
from icdh._table.table import Table, gaps_message, mean_and_deviation, rows_by_content
from icdh._utils.arrays import ByColumn, Floats, Integers, Mask, RandomState, TableLike
from icdh._utils.checks import LEVEL, Choice, check_same_rows, random_generator
from icdh._utils.labels import counted, listed, printable, variable_index
from icdh._utils.parallel import single_blas_thread
from icdh.exceptions import option, warn
from icdh.knowledge import Knowledge
from icdh.uncertainty.posterior import posterior

Within = str | int | Sequence[str | int] | Mapping[str, list[Hashable]] | None
FEWEST_ROWS = 10
TARGETS = ("all", "untreated", "treated")
BENT = 0.01  # p-value below which a curve is no straight line


def effect(
    X: TableLike,
    cause: Hashable,
    effect: Hashable,
    adjust: Sequence[Hashable] | str = "graph",
    *,
    contrast: Sequence[Label] | None = None,
    target: str = "all",
    within: Within = None,
    level: float = 0.95,
    groups: Groups | tuple[Groups, ...] = None,
    sequence: bool = False,
    sample_weight: str | int | Sequence[float] | Floats | None = None,
    weights: str = "sampling",
    kinds: ByColumn[str] | None = None,
    missing_values: Declared = None,
    model: object = None,
    knowledge: Knowledge | Mapping[str, object] | None = None,
    random_state: RandomState = 0,
) -> Effect:
    """Estimate what a change of one variable does to another, with an interval.

    A cause of two values or labels has a mean effect (`icdh._effect.average`); a number has one for each unit, and a
    curve (`icdh._effect.slope`).

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations in rows.
    cause, effect : str or int
        The variables.
    adjust : sequence of str or int, "graph" or "posterior"
        The covariates: common causes of the two, measured before the cause was; none, ``[]``, in a randomised trial.
        With ``model`` its graph tells which come after the cause. "graph" takes those that the graph of ``model``
        requires. "posterior" averages over the graphs of `icdh.posterior`, adjusted for the causes of the cause in
        each.
    contrast : pair, optional
        The values that the cause is set from and to. By default 0 and 1, no and yes, or the reference label and each
        other one. The effect of a number is that of each unit. With ``contrast`` it is that of a step along its curve,
        which may turn at each of at most twelve values.
    target : {"all", "treated", "untreated"}
        Whose mean effect is estimated: that of all rows, or of those with the second or the first value of the
        contrast. Not of a number, nor with ``within``.
    within : str or int, sequence of these, or mapping from names to labels of rows, optional
        Columns of units, such as states and years, which are no variables: rows are compared within the units of each
        (fixed effects). Rows of one unit of the first count as dependent, unless ``groups`` says which do.
    level : float
        The probability of the interval.
    groups : str, int or array_like, shape (M,), or tuple of these, optional
        Rows that depend on one another, such as those of a person: a column, which is then no variable, or one label a
        row. Of a tuple, such as ``("firm", "year")``, rows that share any of them do.
    sequence : bool
        Whether rows depend on those before them; blocks of consecutive rows, as many as rows in each, then count as
        groups.
    sample_weight : str, int or array_like, shape (M,), optional
        How many rows of the population each row stands for, such as the inverse of its chance to be sampled: a column,
        which is then no variable, or one number a row. A graph is learned with them, unless ``groups`` or ``sequence``
        is given.
    weights : {"sampling", "frequency"}
        What ``sample_weight`` is. A row of frequency weight w, a whole number, stands for w equal rows: the answer is
        that of the table with every row repeated.
    kinds : mapping, optional
        Kinds of columns, as of `icdh.HNMSearch`; what ``model`` holds as labels are labels. Grades are numbers unless
        they are declared categorical.
    missing_values : collection or mapping of names to collections, optional
        Codes of gaps, as of `icdh.HNMSearch`: they are no numbers. A gap in a column of the question is an error; leave
        its row out first, as ``icdh effects --missing drop`` does, or fill it.
    model : HNMSearch, ICDH or StructuralModel, optional
        Whose graph is used; by default an `icdh.HNMSearch` is fitted to X where a graph is needed. "posterior" needs
        a fitted `icdh.HNMSearch`.
    knowledge : Knowledge or mapping, optional
        What is known of the graph that is fitted; covariates in a later tier than the cause are named in a warning.
    random_state : int, SeedSequence, Generator or None
        Draws the folds.

    Returns
    -------
    icdh.Effect
        Estimate and interval, what they are of, the curve of a number, how strong a hidden common cause would have to
        be, and notes.

    Raises
    ------
    ValueError, TypeError
        If an argument is not what it should be, the columns of the question have gaps, or the graph has no path from
        cause to effect: no path is no estimate.

    Warns
    -----
    DataWarning
        Of every note: rows lack counterparts, or all but no variation of the cause is left; covariates come after the
        cause; the graph has arrows from a cause of two values or labels, whose direction data hardly tell; rows depend
        on one another (copies, rows in sequence), and neither ``groups``, ``within`` nor ``sequence`` says so.

    Notes
    -----
    It assumes that the covariates hold all common causes of the two. Covariates act by splines and products in pairs;
    jumps in several of them at once are missed, which a note says in most tables.

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=400)
    >>> treated = (rng.random(400) < 1 / (1 + np.exp(-age))) * 1.0
    >>> X = np.column_stack([age, treated, treated + 2 * age + rng.normal(size=400)])
    >>> answer = icdh.effect(X, "x1", "x2", ["x0"])
    >>> round(answer.unadjusted, 1), answer.lower < 1.0 < answer.upper
    (2.6, True)
    """
    Choice(TARGETS).check("target", target)
    LEVEL.check("level", level)
    if adjust is None:
        raise TypeError(f"{option('adjust')} must name covariates, none by [], or be 'graph' or 'posterior'")
    if isinstance(adjust, str):
        Choice(("graph", "posterior")).check("adjust, if not a list of covariates,", adjust)
    if model_of(X) is not None:
        raise TypeError(
            f"a model keeps no rows, so that it has no intervals; give the table, and the model by {option('model')}, "
            "or ask the model alone for effects() and average_effect()"
        )
    check_same_rows(X, sample_weight, "sample_weight")
    check_weighting(sample_weight, weights)
    fewest = FEWEST_ROWS if weights == "sampling" else 2
    variables = [cause, effect, *(() if isinstance(adjust, str) else adjust)]
    X, ways, labels_of_units, shares = _without_units(X, variables, groups, within, sample_weight)
    for fixed in () if isinstance(adjust, str) else labels_of_units.keys() & map(str, adjust):
        raise ValueError(f"{option('within')} holds {fixed!r} fixed already; leave it out of {option('adjust')}")
    if (columns := column_labels(X)) is not None:
        roles = "cause", "effect", *["adjust"] * (len(variables) - 2)
        variables = [columns[variable_index(key, columns, role)] for key, role in zip(variables, roles, strict=True)]
        cause, effect, adjust = *variables[:2], adjust if isinstance(adjust, str) else variables[2:]
    labels, graph = next(iter(ways), None), model_of(model)
    kinds = kinds if graph is None else with_labels(kinds or {}, graph)
    named = None if isinstance(adjust, str) or graph is not None or columns is None else variables
    table = table_of(X, labels, sequence, kinds, named, missing_values, fewest)
    if graph is not None and graph.names != table.names:
        raise ValueError(f"model has {listed(graph.names)}, {option('X')} has {listed(table.names)}; pass its table")
    pair = variable_index(cause, table.names, "cause"), variable_index(effect, table.names, "effect")
    if pair[0] == pair[1]:
        raise ValueError(f"cause and effect are both {table.names[pair[0]]!r}; name two variables")
    folds = int(random_generator(random_state).integers(2**31))
    seed = random_state if isinstance(random_state, int) else folds  # as of a fit and a posterior by hand
    n = table.n_observations
    share = np.ones(n) if shares is None else checked_weights(shares, n, fewest)
    rows = rows_that_count(share, weights)
    if rows.size < FEWEST_ROWS:
        raise ValueError(f"{option('X')} stands for {counted(rows.size, 'row')}; at least {FEWEST_ROWS} are needed")
    units = {name: _numbers(table, of)[rows] for name, of in labels_of_units.items()}
    clusters = [] if table.related is None else [_numbers(table, labels) if labels else table.related.units]
    clusters = [of[rows] for of in (*clusters, *(_numbers(table, of) for of in ways[1:]))] or [*units.values()][:1]
    table = table if np.array_equal(rows, np.arange(n)) else table.of_rows(rows).of_its_labels()
    share_of_rows = share[rows] if weights == "sampling" else np.ones(rows.size)
    question = _Question(table, *pair, share_of_rows, tuple(clusters), units, folds, target, level)
    question.check([])
    ends = product(question.contrasts(contrast), outcomes_of(table.categories.get(pair[1])))
    questions = [replace(question, contrast=each, outcome=outcome) for each, outcome in ends]
    if isinstance(adjust, str) and model is None:
        alike = labels or next(iter(labels_of_units.values()), None)
        is_weighted = shares is not None and alike is None and not sequence  # fits take no weights beside these
        search = HNMSearch(kinds=kinds, knowledge=knowledge, random_state=seed)
        given, kind = (share, weights) if is_weighted else (None, "sampling")
        model = search.fit(X, groups=alike, sequence=sequence, sample_weight=given, weights=kind)
    if adjust == "posterior":
        if not isinstance(model, HNMSearch):
            raise TypeError(
                f"{option('adjust', 'posterior')} needs a fitted HNMSearch, which weighs further graphs; a saved model "
                f"keeps one: leave {option('model')} out, and a search is fitted to {option('X')}"
            )
        graphs = posterior(model, random_state=seed)
        sets = parent_sets(graphs.graphs, graphs.weights, *pair)
        answers, notes = [each.mixture(sets) for each in questions], list[str]()
    else:
        late = after_by_tiers(Knowledge.of(knowledge), table.names, pair[0])
        covariates = covariates_of(adjust, model_of(model), table.names, *pair, late)
        adjacency = None if graph is None else graph.adjacency
        notes = notes_on_covariates(adjacency, Knowledge.of(knowledge), table.names, *pair, covariates)
        question.check(covariates)
        covariates = table.without_copies(covariates)
        results = [each.answer(covariates) for each in questions]
        answers = [answer for answer, _ in results]
        if not clusters and math.isfinite(answers[0].estimate) and weights == "sampling":  # others are copies by word
            influence = results[0][1][np.argsort(question.order(covariates))]
            notes += _notes_on_rows(table, [*covariates, *pair], influence)
        if not isinstance(adjust, str):  # else a fit has named them
            places = [*covariates, *pair]
            if missing_values is None and (text := table.codes_message(places)):
                notes.append(text)
            counts = np.ones((table.n_variables, table.n_variables), dtype=bool)
            if clusters:  # what does not vary in a group is alike there
                counts[[k for k in places if is_constant_in(clusters[0], table.values[k])]] = False
            notes += [*codes_of_units(table, places, counts, covariates), *table.labels_that_differ_by_case(places)]
    if (fitted := model_of(model)) is not None and adjust == "graph" and not question.is_number:
        notes += note_on_arrows_of_cause(fitted.adjacency, Knowledge.of(knowledge), table.names, *pair)
    notes = [*joint_notes(answers), *notes]
    if fitted is not None and fitted.about.get("weights") and shares is None:
        give = option("sample_weight") + ", frequencies" * (fitted.about.get("weights") == "frequency")
        notes.append(f"the graph was learned with weights of rows, this answer is without; give {give}")
    if shares is not None and math.isnan(answers[0].estimate) and weights == "sampling" and not (share % 1.0).any():
        notes.append("the weights are whole numbers: if they count equal rows, say that they are frequencies")
    if fitted is not None and (related := fitted.about.get("related")) and not clusters:
        give = option("groups") if related == "groups" else option("sequence", True)
        notes.append(f"the graph was learned from dependent rows, this answer is of independent ones; give {give}")
    for note in notes:
        warn(note)
    return replace(answers[0], by_graph=isinstance(adjust, str), notes=tuple(notes), others=tuple(answers[1:]))


def table_of(
    X: TableLike,
    labels: list[Hashable] | None,
    sequence: bool,
    kinds: ByColumn[str] | None,
    variables: Sequence[Hashable] | None = None,
    missing_values: Declared = None,
    fewest: int = FEWEST_ROWS,
) -> Table:
    """Return the table, which knows which rows depend on one another: those with equal labels, or in sequence.

    Columns that cannot be read are left out if ``variables``, labels of a table that has them, name others alone.
    """
    declared = {column for column, kind in (kinds or {}).items() if kind in ("binary", "categorical")}
    read = partial(Table.of, categorical=declared, min_rows=fewest, gaps=True, missing_values=missing_values)
    try:
        table = read(X)
    except (TypeError, ValueError):
        if variables is None:
            raise
        table = read(with_columns(X, [*dict.fromkeys(variables)]))
    return with_relations(table.coded(kinds), labels, sequence)


def with_labels(kinds: ByColumn[str], model: StructuralModel) -> dict[Hashable, str]:
    """Return kinds of columns, and "categorical" for other columns that hold labels in a model."""
    named = {variable_index(name, model.names, "kinds") for name in kinds}
    labels = {k for k, categories in model.columns.categories.items() if not categories.ordered} - named
    return {**kinds, **{model.names[k]: "categorical" for k in labels}}


def _without_units(
    X: TableLike, variables: list[Hashable], groups: Groups | tuple[Groups, ...], within: Within, weights: object
) -> tuple[TableLike, list[list[Hashable]], Mapping[str, list[Hashable]], object]:
    """Return a table without columns of groups, units and weights; labels of rows by grouping and by unit; weights."""
    several = isinstance(groups, tuple) and len(groups) < FEWEST_ROWS and groups not in (column_labels(X) or [])
    ways = [way for way in (groups if isinstance(groups, tuple) and several else [groups]) if way is not None]
    units = within if isinstance(within, Mapping) else [within] if isinstance(within, (str, int)) else within or ()
    named = dict(units) if isinstance(units, Mapping) else {str(column): column for column in units}
    columns: list[object] = [*ways, *named.values()]
    labels = [without_groups(X, column)[1] or [] for column in columns]
    if isinstance(weights, (str, int)):
        columns, weights = [*columns, weights], without_column(X, weights, "sample_weight")[1]
    names = dict.fromkeys(column for column in columns if isinstance(column, Hashable))
    for number in (key for key in variables if isinstance(key, int) and key in names):
        raise ValueError(f"column {number} of {option('X')} holds groups, units or weights of rows; name variables")
    for column in sorted(names, key=lambda name: name if isinstance(name, int) else -1, reverse=True):
        X = without_groups(X, column)[0]
    return X, labels[: len(ways)], dict(zip(named, labels[len(ways) :], strict=True)), weights


def covariates_of(
    adjust: Sequence[Hashable] | str,
    graph: StructuralModel | None,
    names: Sequence[Hashable],
    cause: int,
    effect: int,
    late: Mask | None = None,
) -> list[int]:
    """Return the covariates that the user names, or those that the graph asks for; see `adjustment_set`."""
    if isinstance(adjust, str):
        assert graph is not None
        check_path(graph.adjacency, graph.names, cause, effect)
        return adjustment_set(graph.adjacency, cause, effect, late)
    covariates = list(dict.fromkeys(variable_index(key, names, "adjust") for key in adjust))
    for role, at in (("cause", cause), ("effect", effect)):
        if at in covariates:
            raise ValueError(f"{option('adjust')} has the {role} {names[at]!r} itself; name causes of both")
    return covariates


def _numbers(table: Table, labels: list[Hashable]) -> Integers:
    """Return the number of every row's unit, whatever the order of the rows."""
    with_relations(replace(table, related=None), labels, False)  # checks them
    numbers = {label: number for number, label in enumerate(sorted(set(labels), key=repr))}
    return np.array([numbers[label] for label in labels])


@dataclass(frozen=True)
class _Question:
    """One cause and one effect of a table.

    Attributes
    ----------
    table : Table
        Its rows.
    cause, effect : int
        The variables.
    weights : ndarray, shape (n,)
        Those of rows.
    groups : tuple of ndarray of int, each of shape (n,)
        Groupings of rows that depend on one another.
    units : dict of str to ndarray of int, shape (n,)
        The units that rows are compared within, by what names them.
    seed : int
        Draws the folds.
    target, level : str, float
        As of `effect`.
    contrast : Contrast or None
        From and to what the cause is set; None of a number whose effect is that of each unit.
    outcome : (str, int or None)
        The label whose probability is the effect, and its code; or none.
    coded : dict of int to ndarray, shape (n,)
        Columns of `_codes` that are known, of all questions about one cause and effect.
    """

    table: Table
    cause: int
    effect: int
    weights: Floats
    groups: tuple[Integers, ...]
    units: dict[str, Integers]
    seed: int
    target: str
    level: float
    contrast: Contrast | None = None
    outcome: tuple[str, int | None] = ("", None)
    coded: dict[int, Floats] = field(default_factory=dict)

    def check(self, covariates: Sequence[int]) -> None:
        """Raise ValueError if a column has gaps, cause or effect does not vary, or the target does not suit them."""
        table, order = self.table, [*covariates, self.cause, self.effect]
        if table.gaps[order].any():
            gaps = gaps_message(table.gaps[order], [table.names[k] for k in order])
            codes = f"NaN, or codes of {option('missing_values')}"
            raise ValueError(
                f"{option('X')} has gaps ({codes}) in {gaps}; leave these rows out, or fill the gaps first"
            )
        for role, at in (("cause", self.cause), ("effect", self.effect)):
            if not table.varying[at]:
                raise ValueError(f"the {role} {table.names[at]!r} takes one value alone; nothing is known of others")
        if self.is_slope and self.target != "all":
            why = f"not with {option('within')}" if self.units else f"{table.names[self.cause]!r} is a number"
            raise ValueError(f"{option('target')} is for causes of two values or labels; {why}")

    @property
    def is_number(self) -> bool:
        """Whether the cause has neither labels nor two values."""
        return not KINDS[self.table.kinds[self.cause]].takes_labels and self.table.n_distinct(self.cause) > 2

    @property
    def is_slope(self) -> bool:
        """Whether the partially linear model answers."""
        return bool(self.units) or self.is_number

    def contrasts(self, pair: Sequence[Label] | None) -> Sequence[Contrast | None]:
        """Return what the cause is set from and to, by default of every label; None of a number."""
        if pair is None and self.is_number:
            return [None]
        values = self.table.values[self.cause]
        pairs = contrasts_of(values, self.table.categories.get(self.cause), pair)
        first = pairs[0]
        if self.is_number and not values.min() <= min(first[:2]) <= max(first[:2]) <= values.max():
            ends = f"{shown(float(values.min()))} to {shown(float(values.max()))}"
            raise ValueError(f"{option('contrast')} goes beyond the rows, whose values go from {ends}")
        pairs = [each for each in pairs if self.is_number or np.isin(each[:2], values).all()]
        if not pairs:
            raise ValueError(f"no row has one of the values of {option('contrast')}, {first}")
        return pairs

    @cached_property
    def _oriented_effect(self) -> Floats:
        return oriented(self.table.values[self.effect])

    def _codes(self, variable: int) -> Floats:
        """Return a column whose sign, or whose codes of labels, depend on how often its values occur alone."""
        if variable not in self.coded:
            values, is_label = self.table.values[variable], variable in self.table.unordered
            self.coded[variable] = by_frequency(values) if is_label else oriented(values, self._oriented_effect)
        return self.coded[variable]

    def order(self, covariates: Sequence[int]) -> Integers:
        """Return the order of rows by what the question reads of them, whatever the order of rows and columns.

        Neither do signs, units or names of labels matter.
        """
        cause, effect, *others = (self._codes(k) for k in (self.cause, self.effect, *covariates))
        ends = standardised(np.stack([cause, effect], axis=1))
        others.sort(key=lambda column: [np.mean((z := standardised(column)) ** 3), *(z @ ends).tolist()])
        return rows_by_content([cause, effect, *others, self.weights, *self.groups, *self.units.values()])

    def sample(self, covariates: Sequence[int]) -> Sample:
        """Return the rows, in their order by content, with the effect standardised.

        Labels that are compared within units become zeros and ones, in the rows that have one of the two.
        """
        values, pair, code = self.table.values, self.contrast, self.outcome[1]
        effect = outcome_values(values[self.effect], code)
        mean, unit = mean_and_deviation(effect, None)
        has_labels = tuple(k in self.table.unordered for k in covariates)
        of_covariates = np.zeros((len(covariates), effect.size))
        for column, k in zip(of_covariates, covariates, strict=True):
            column[:] = self._codes(k)
        columns = (effect - mean) / unit, values[self.cause], of_covariates
        of_rows = self.weights, self.groups, tuple(self.units.values())
        sample = Sample(*columns, has_labels, *of_rows, self.seed, unit).of_rows(self.order(covariates))
        if pair is None or self.is_number or not self.is_slope:
            return sample
        sample = sample.of_rows(np.isin(sample.cause, pair[:2]))
        return replace(sample, cause=(sample.cause == pair.high) * 1.0)

    def estimator(self, covariates: Sequence[int]) -> Slope | Difference:
        """Return the estimator that is adjusted for covariates."""
        sample, pair = self.sample(covariates), self.contrast
        if self.is_slope or pair is None:
            return Slope(sample, pair[:2] if pair is not None and self.is_number else None)
        return Difference(sample, pair[:2], TARGETS.index(self.target) - 1, self.level)

    @single_blas_thread()
    def answer(self, covariates: Sequence[int]) -> tuple[Effect, Floats]:
        """Return the answer that is adjusted for covariates, and what each row adds to it."""
        estimator, names = self.estimator(covariates), [self.table.names[k] for k in covariates]
        estimate, curve = estimator.estimate(), estimator.curve(self.level) if isinstance(estimator, Slope) else None
        lower, upper = estimate.interval(self.level)
        nearest = 0.0 if lower <= 0.0 <= upper else min(abs(lower), abs(upper))
        sample, high = estimator.sample, estimator.ends[1] if isinstance(estimator, Difference) else None
        cause = sample.cause if high is None else (sample.cause == high) * 1.0
        compared = ("all",) if self.contrast is None or len(estimate.effective) == 1 else self.contrast[2:]
        answer = replace(
            self._effect((estimate.value, lower, upper), self._estimand(estimate.share, curve)),
            bounds=estimate.bounds,
            curve=curve,
            adjusted=tuple(names),
            target_share=estimate.share,
            effective_rows=dict(zip(compared, estimate.effective, strict=True)),
            robustness_value=robustness_value(estimate.value, estimate.scale),
            robustness_value_interval=robustness_value(nearest, estimate.scale),
            scale=estimate.scale,
            strongest=strongest_covariate(sample, cause, names, estimate),
            notes=estimate.notes + self._notes_on_computed(sample, names) * math.isfinite(estimate.value),
        )
        return answer, estimate.influence

    def _notes_on_computed(self, sample: Sample, names: Sequence[Hashable]) -> tuple[str, ...]:
        computed = " or ".join(printable(names[k]) for k in sample.determining(sample.effect))
        effect, cause = (printable(self.table.names[k]) for k in (self.effect, self.cause))
        note = f"99 % of {effect} follows from {computed} alone: if that is computed from it, or comes after {cause}, "
        return (f"{note}leave it out",) * bool(computed)

    @single_blas_thread()
    def mixture(self, sets: Mapping[tuple[int, ...], float]) -> Effect:
        """Return the average over graphs, in which the cause has these sets of parents."""

        def estimate(parents: tuple[int, ...]) -> Estimate:
            self.check(parents)
            return self.estimator([k for k in parents if self.table.varying[k]]).estimate()

        average, unanswered = mixture(sets, estimate, self.level)
        answer = self._effect(average, f"{self._estimand()}, averaged over graphs, zero in those without a path")
        note = f"graphs of probability {unanswered:.2f} give no answer, and are left out"
        return replace(answer, probability_of_effect=sum(sets.values()), notes=(note,) * (unanswered > 0.01))

    def _effect(self, numbers: tuple[float, float, float], estimand: str) -> Effect:
        """Return an answer that holds the question, estimate and interval, and the estimate without adjustment."""
        alone = replace(self, units={})
        plain = alone.estimator([]).estimate()
        if math.isnan(plain.value):  # all rows of a value are in one group; this number has no interval
            plain = replace(alone, groups=()).estimator([]).estimate()
        pair = self.table.names[self.cause], self.table.names[self.effect]
        question = *pair, self.contrast and self.contrast[2:], self.outcome[0], self.level
        return Effect(*question, plain.influence.size, plain.value, estimand, *numbers)

    def _estimand(self, share: float = 1.0, curve: Curve | None = None) -> str:
        cause, effect = (printable(self.table.names[k]) for k in (self.cause, self.effect))
        outcome, pair = self.outcome[0], self.contrast
        moved = f"the probability of {effect} = {outcome}" if outcome else f"the mean of {effect}"
        by = f"if {cause} goes from {' to '.join(map(shown, pair[2:]))}" if pair else f"for each unit of {cause}"
        text = f"change of {moved} {by}"
        if pair is None and curve is not None and curve.p_value < BENT:
            text += "; it bends, and this is the mean slope, weighted by what covariates leave of the cause"
        if self.units:
            text += f", within {' and '.join(map(printable, self.units))}"
        if pair is not None and self.target != "all":
            text += f", of the rows at {shown(pair[2 if self.target == 'untreated' else 3])}"
        text += ", by weight" * bool(np.ptp(self.weights) > 0.0)
        return text if share in (0.0, 1.0) else f"{text}, of the {percent(share)} that have counterparts"


def is_constant_in(groups: Integers, values: Floats) -> bool:
    """Return whether values do not vary within groups, both of shape (M,)."""
    pairs = np.unique(np.stack([groups, values]), axis=1)
    return len(pairs.T) == np.unique(groups).size


def _notes_on_rows(table: Table, columns: Sequence[int], influence: Floats) -> list[str]:
    """Return the clearest note, if rows that the interval counts as independent are not.

    Parameters
    ----------
    table : Table
        The rows in the user's order.
    columns : sequence of int
        The covariates, the cause and the effect.
    influence : ndarray, shape (M,)
        What each row adds to the estimate.
    """
    values, names = table.values[columns], [table.names[k] for k in columns]
    if copies := repeats(values, table.values[~table.gaps.any(axis=1)]):
        return [copies.message(names, influence.size)]
    has_few = [table.n_distinct(k) <= FEW_VALUES for k in columns]  # rows of counts, cell by cell
    if all(has_few) or not resembles_its_past(influence, values[:-1], values[-1:]):
        return []
    remedy = f"say {option('sequence', True)}, or name persons by {option('groups')}; of sorted rows ignore this"
    return [f"rows depend on those before them, so the interval is too narrow; {remedy}"]
