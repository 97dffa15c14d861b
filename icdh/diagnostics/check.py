"""Is the model right, and which of its arrows can be trusted: `icdh.check`."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from icdh import graphs
from icdh._estimators.hnm_search import HNMSearch
from icdh._model.causal import FEWEST_ROWS
from icdh._model.export import weight_unit
from icdh._model.structural import StructuralModel, model_of
from icdh._node_model.score import FAILED
from icdh._table.experiments import Design, Interventions
from icdh._table.rows import Groups, with_relations, without_groups
from icdh._table.table import Table
from icdh._utils.arrays import Floats, TableLike
from icdh._utils.checks import check_same_rows, random_generator
from icdh._utils.labels import listed, plural, printable
from icdh.diagnostics.independence import NodeTest, Residual, node_tests, residuals_of
from icdh.diagnostics.result import LEAST_SEEN, Marginals, ModelCheck, NodeCheck, edge_records, track_record
from icdh.exceptions import NotFittedError, option, warn
from icdh.knowledge import Knowledge
from icdh.uncertainty.losses import with_losses

MEANING = (  # of dependence on causes, on the mean that they predict, and on others
    "depends on its cause {}: a distorted scale, a cause that is missing or wrong, or too simple a spread",
    "depends on the mean that its causes predict: a distorted scale, or a cause that is missing or wrong",
    "depends on {}, no cause of it: an arrow that is missing or wrong, or a distorted scale",
)
MOVED = (
    "is not distributed as in the rows of fit{}: at least {:.0f} % of the rows would have to lie elsewhere, as in "
    "another unit or population, which is no sign of a wrong arrow"
)
FOLLOWS = "goes with {}, which is not distributed as in the rows of fit: that may be all, or an arrow is wrong"
NO_NOISE = "its noise is below 1 % of its standard deviation in {:.0f} % of the rows"
NOT_DESCRIBED = (
    "its curve given {} is not described: too many turns for a network, a fit that failed, or other rows than its own"
)
LEVEL = 0.05
# Distance of distributions, of rows without the commonest value, and beyond chance. Means differ, too, by standard
# deviations: a fit may miss the distribution of its own rows, by the distance alone 4 of 478 columns of public tables.
FAR, BY_CHANCE, MOVED_MEAN = 0.25, 1.5, 0.3
MOST_ROWS = 5000  # more would find deviations too small to matter, and take longer than half of a fit


def check(
    model: object,
    X: TableLike,
    *,
    interventions: ArrayLike | Interventions | None = None,
    knowledge: Knowledge | Mapping[str, object] | None = None,
    groups: Groups = None,
    sequence: bool = False,
    random_state: int | np.random.SeedSequence | np.random.Generator | None = 0,
) -> ModelCheck:
    """Test the residuals of a model against its assumptions, and list what is known of its arrows.

    The residual of every variable given its causes is tested for independence (`icdh.diagnostics.independence`): of the
    causes, of the mean that they predict, and of all others that the variable does not cause. If the model is right, at
    most 5 % of tables are rejected. Nothing is fitted again: the residuals are those of the model that predicts and
    samples. Of another table, variables that are not distributed as in the rows of the fit are named first: another
    unit or population is no sign of a wrong arrow.

    Parameters
    ----------
    model : HNMSearch, ICDH or StructuralModel
        A fitted estimator, or a model, such as `icdh.load` returns.
    X : array_like or DataFrame, shape (M, N)
        The observations that it was learned from, without gaps. Of more than 5000, so many drawn rows are looked at.
    interventions : array_like of bool, shape (M, N), or Interventions, optional
        As of ``fit``: values that were set do not count, nor rows of conditions whose targets were not known.
    knowledge : Knowledge or mapping, optional
        Arrows that it settles are not tested; by default what the model was learned with.
    groups, sequence
        As of ``fit``: one drawn row of every group is looked at, of a single sequence one of every block of
        consecutive rows, as many as a block has rows.
    random_state : int, SeedSequence, Generator or None
        Seeds the draw of rows, and of the residuals of few values and of grids.

    Returns
    -------
    icdh.diagnostics.ModelCheck
        Records of variables and of edges; ``rejected``, ``summary()``, ``questions()``, ``to_dict()``.

    Raises
    ------
    NotFittedError
        Before ``fit``.
    ValueError, TypeError
        If the model is none, or was fitted with ``sample_weight``; if X does not have its columns or holds gaps, or
        another argument is not what it should be.

    Warns
    -----
    DataWarning
        If the model was fitted with rows that depend on one another, and neither ``groups`` nor ``sequence`` is given;
        if a column of few values has one that ``fit`` did not see, seems to be in another unit, or varies no more.

    Examples
    --------
    >>> import numpy as np
    >>> import icdh
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=300)
    >>> answer = 2.0 * np.tanh(dose) + (0.2 + 0.2 * (dose > 0)) * rng.normal(size=300)
    >>> X = np.column_stack([dose, answer])
    >>> found = icdh.check(icdh.HNMSearch().fit(X), X)
    >>> found.rejected
    False
    >>> [(edge.cause, edge.effect) for edge in found.edges]
    [('x0', 'x1')]
    """
    fitted = _fitted(model)
    if fitted.about.get("weights"):
        raise ValueError(
            f"the model was fitted with {option('sample_weight')}, and the tests of a check count every row once; "
            "check a fit without weights"
        )
    X, labels = without_groups(X, groups)
    table = with_relations(fitted.columns.as_table(X), labels, sequence)
    fitted.columns.warn_of_strange_values(table)
    if (related := fitted.about.get("related")) and table.related is None:
        warn(
            f"the model was fitted with {related} of rows that depend on one another, and the tests take rows for "
            f"independent: give them by {option('groups')} or {option('sequence', True)}"
        )
    low, high = np.zeros((2, 1)) if fitted.columns.observed_range is None else fitted.columns.observed_range
    still = [repr(fitted.names[n]) for n in np.flatnonzero(~table.varying & (low < high))]
    if still and table.n_observations >= FEWEST_ROWS:
        warn(f"{plural(still, 'column')} of one value in these rows: {listed(still)}; no test is about such a column")
    settled = None if knowledge is None else Knowledge.of(knowledge).rules(fitted.names).settled
    check_same_rows(X, interventions, "interventions")
    design = Design.of(interventions, table)
    rng = random_generator(random_state)
    part = np.arange(table.n_observations)
    if table.related is not None:
        drawn = rng.permutation(part.size)
        part = np.sort(drawn[np.unique(table.related.units[drawn], return_index=True)[1]])
    if part.size > MOST_ROWS:
        part = np.sort(rng.choice(part, MOST_ROWS, replace=False))
    checked, graph, names = table.of_rows(part), fitted.adjacency, fitted.names
    counts = np.ones(checked.values.shape, dtype=bool) if design.baseline is None else design.baseline[:, part]
    places = np.random.default_rng(int(rng.integers(2**31)))  # not the stream that a user may have simulated X by
    residuals = residuals_of(fitted, checked, counts, places)
    tests = node_tests(residuals, graph, checked)
    moved = _moved(fitted, checked, residuals)
    nodes = [_node(names, node, tests[node], residuals[node], graph[:, node], moved) for node in sorted(tests)]
    if isinstance(model, HNMSearch):
        fitted = with_losses(fitted, model)
    edges, unit = sorted(edge_records(fitted, settled), key=lambda edge: edge.doubt), weight_unit(fitted)
    unknown = [(names.index(edge.cause), names.index(edge.effect)) for edge in edges if not (edge.known or edge.weak)]
    of_arrows = track_record(Marginals.of(table), unknown, names) if unit == "nats" else ""
    return ModelCheck(nodes, edges, table.n_observations, part.size, LEVEL, unit, of_arrows)


def _fitted(model: object) -> StructuralModel:
    """Return the structural model that an estimator learned, or that this is."""
    if (structural := model_of(model)) is not None:
        return structural
    if hasattr(model, "fit"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet; call fit(X) first")
    raise TypeError(f"model must be a fitted estimator or what icdh.load returns; got {type(model).__name__}")


class _Moved(NamedTuple):
    """A variable that is not distributed as in the rows of fit, given its causes.

    ``share`` is the largest distance of two distribution functions: so many rows at least would have to lie elsewhere.
    ``after`` are the variable and what comes after it, which moves with it.
    """

    share: float
    after: set[int]


def _moved(model: StructuralModel, table: Table, residuals: Mapping[int, Residual]) -> dict[int, _Moved]:
    """Return the variables that moved, the first ones in causal order."""
    columns, reach, moved = model.columns, graphs.descendants(model.adjacency), dict[int, _Moved]()
    for node in model.causal_order():
        follows = node in set().union(*(each.after for each in moved.values()))
        if follows or node not in residuals or residuals[node].values.size < FEWEST_ROWS:
            continue
        values, places = table.values[node, residuals[node].rows], ndtr(np.sort(residuals[node].values))
        mean = float(columns.scaling.undo(columns.centre[[node]], node)[0])
        if node not in table.unordered and abs(values.mean() - mean) <= MOVED_MEAN * values.std():
            continue
        steps = np.arange(places.size + 1) / places.size
        apart = float(max((steps[1:] - places).max(), (places - steps[:-1]).max()))
        others = 1.0 - int(np.unique(values, return_counts=True)[1].max()) / values.size
        if apart > FAR * others + BY_CHANCE / math.sqrt(places.size):
            moved[node] = _Moved(apart, {node, *np.flatnonzero(reach[node]).tolist()})
    return moved


def _node(
    names: Sequence[Hashable],
    node: int,
    test: NodeTest,
    residual: Residual,
    causes_of: Floats,
    moved: Mapping[int, _Moved],
) -> NodeCheck:
    groups = test.on_causes, test.on_mean, test.on_others
    p_values = [group.p_value for group in groups]
    causes, mean, others = p_values
    # P-values that differ less are equal, as those of a cause and of an increasing function of it.
    strongest = next(k for k, p in enumerate(p_values) if p <= (1.0 + 1e-9) * min(p_values))
    variable = groups[strongest].variable
    on = None if variable is None else names[variable]
    is_described = not (test.on_causes.variable is not None and residual.misfit > FAILED)
    rejected = test.p_value < LEVEL or not is_described
    p_value = test.p_value if is_described else min(test.p_value, math.exp(-residual.misfit))
    meaning = MEANING[strongest].format(printable(on)) if rejected else ""
    if not is_described:  # what depends on others may be what is left of the causes
        meaning = NOT_DESCRIBED.format(", ".join(printable(names[k]) for k in np.flatnonzero(causes_of).tolist()))
    seen = float(residual.seen.mean()) if residual.seen.size else 0.0
    if seen < LEAST_SEEN:
        meaning = NO_NOISE.format(100 * (1.0 - seen))
    before = [names[k] for k, each in moved.items() if not each.after.isdisjoint({node, variable})]
    if rejected and before:
        meaning = FOLLOWS.format(listed(map(printable, before)))
    if is_moved := node in moved:
        meaning = MOVED.format(" given its causes" * bool(causes_of.any()), 100 * moved[node].share)
    return NodeCheck(names[node], p_value, causes, mean, others, on, rejected, residual.noise, meaning, seen, is_moved)
