"""Is the model right, and which of its arrows can be trusted: `icdh.check`."""

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from icdh._estimators.hnm_search import HNMSearch
from icdh._model.export import weight_unit
from icdh._model.structural import StructuralModel, model_of
from icdh._node_model.score import FAILED
from icdh._table.experiments import Design, Interventions
from icdh._table.rows import Groups, with_relations, without_groups
from icdh._utils.arrays import Floats, TableLike
from icdh._utils.checks import check_same_rows, random_generator
from icdh._utils.labels import printable
from icdh.diagnostics.independence import NodeTest, Residual, node_tests, residuals_of
from icdh.diagnostics.result import LEAST_SEEN, ModelCheck, NodeCheck, edge_records
from icdh.diagnostics.track_record import Marginals, track_record
from icdh.exceptions import ArgumentValueError, NotFittedError, option, warn
from icdh.knowledge import Knowledge
from icdh.uncertainty.losses import with_losses

MEANING = (  # of dependence on causes, on the mean that they predict, and on others
    "depends on its cause {}: a distorted scale, a cause that is missing or wrong, or too simple a spread",
    "depends on the mean that its causes predict: a distorted scale, or a cause that is missing or wrong",
    "depends on {}, no cause of it: an arrow that is missing or wrong, or a distorted scale",
)
NO_NOISE = "its noise is below 1 % of its standard deviation in {:.0f} % of the rows"
NOT_DESCRIBED = "its curve given {} is not described: too many turns for a network, or a fit that failed"
LEVEL = 0.05
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
    samples.

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
        if a column of few values has one that ``fit`` did not see, or seems to be in another unit.

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
        raise ArgumentValueError(
            "model",
            f"was fitted with {option('sample_weight')}, and the tests of a check count every row once; check a fit "
            "without weights",
        )
    X, labels = without_groups(X, groups)
    table = with_relations(fitted.columns.as_table(X), labels, sequence)
    fitted.columns.warn_of_strange_values(table)
    if (related := fitted.about.get("related")) and table.related is None:
        warn(
            f"the model was fitted with {related} of rows that depend on one another, and the tests take rows for "
            f"independent: give them by {option('groups')} or {option('sequence', True)}"
        )
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
    nodes = [_node(names, node, tests[node], residuals[node], graph[:, node]) for node in sorted(tests)]
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


def _node(names: Sequence[Hashable], node: int, test: NodeTest, residual: Residual, causes_of: Floats) -> NodeCheck:
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
    return NodeCheck(names[node], p_value, causes, mean, others, on, rejected, residual.noise, meaning, seen)
