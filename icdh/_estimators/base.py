"""What estimators of causal graphs share: scikit-learn's contract, around a fitted `StructuralModel`."""

import inspect
import logging
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icdh._estimators.data_warnings import warn_about_density
from icdh._estimators.imputation import MISSING, OfConditions, fit_to_imputed, without_gaps
from icdh._model.causal import About
from icdh._model.export import preformatted
from icdh._model.structural import StructuralModel
from icdh._node_model.noise import NOISE_DISTRIBUTIONS
from icdh._table.codes import Declared, says_none
from icdh._table.experiments import Design, InterventionsLike
from icdh._table.rows import Groups, with_relations, with_weights, without_copies, without_groups
from icdh._table.table import Table
from icdh._table.transforms import TRANSFORMS
from icdh._utils.arrays import Floats, Foreign, RandomState, TableLike
from icdh._utils.checks import (
    Choice,
    Flag,
    Number,
    Workers,
    check_callback,
    check_same_rows,
    constraints_of,
    parameter,
    random_generator,
)
from icdh._utils.clock import Clock
from icdh._utils.parallel import single_blas_thread
from icdh._version import __version__
from icdh.exceptions import NotFittedError, warn
from icdh.knowledge import EdgeRules, Knowledge
from icdh.network import ACTIVATIONS, NOISE
from icdh.search.climb import Move
from icdh.two_phase.rounds import SCHEDULES


@dataclass(kw_only=True, eq=False, repr=False)
class SearchSettings:
    """How a search looks for a graph: those parameters of `HNMSearch`, which explains them, that the search reads."""

    hidden_units: int | str = parameter("auto", Number(1, integer=True, words=("auto",)))
    prior_precision: float = parameter(3.0, Number(0, above=True))
    edge_penalty: float | str = parameter("auto", Number(0, words=("auto",)))
    binary_effect_penalty: float = parameter(5.0, Number(0))
    max_parents: int = parameter(100, Number(1, integer=True))
    noise_distribution: str = parameter("auto", Choice(NOISE_DISTRIBUTIONS))
    column_transform: str = parameter("auto", Choice(("auto", *TRANSFORMS)))
    search: str = parameter("greedy", Choice(("greedy", "exact")))
    n_restarts: int = parameter(3, Number(1, integer=True))
    n_jobs: int = parameter(1, Workers())


@dataclass(kw_only=True, eq=False, repr=False)
class TwoPhaseSettings:
    """How a network is looked for: those parameters of `ICDH`, which explains them, that its fit reads."""

    hidden_units: int = parameter(10, Number(1, integer=True))
    l1: float = parameter(0.01, Number(0))
    l2: float = parameter(0.01, Number(0))
    noise: str = parameter("heteroscedastic", Choice(NOISE))
    bias: bool = parameter(False, Flag())
    activation: str = parameter("sigmoid", Choice(tuple(ACTIVATIONS)))
    threshold: float = parameter(0.3, Number(0))
    edge_penalty: float | str | None = parameter("auto", Number(0, words=("auto",), optional=True))
    max_rounds: int | None = parameter(None, Number(1, integer=True, optional=True))
    tol: float = parameter(1e-2, Number(0))
    schedule: str = parameter("fast", Choice(SCHEDULES))
    h_tol: float = parameter(1e-8, Number(0, above=True))
    rho_max: float = parameter(1e16, Number(0, above=True))
    n_restarts: int = parameter(1, Number(1, integer=True))
    n_jobs: int = parameter(1, Workers())


logger = logging.getLogger("icdh")

Query = ParamSpec("Query")
Answer = TypeVar("Answer")
Own = TypeVar("Own", bound="SharedParameters")  # typing.Self of Python 3.11
Estimator = TypeVar("Estimator", bound="CausalGraphEstimator")


@dataclass(kw_only=True, eq=False, repr=False)
class SharedParameters:
    """The parameters that every estimator has; each explains them.

    Their contract is scikit-learn's, by duck typing: they are the arguments of ``__init__``, stored as they came.
    """

    max_seconds: float | None = parameter(None, Number(0, above=True, optional=True))
    knowledge: Knowledge | Mapping[str, object] | None = None
    min_strength: float = parameter(0.0, Number(0))
    max_edges: int | None = parameter(None, Number(0, integer=True, optional=True))
    missing: str = parameter("error", Choice(MISSING))
    missing_values: Declared = None
    n_imputations: int = parameter(5, Number(1, integer=True))
    random_state: RandomState = 0
    verbose: bool = False
    callback: Callable[..., object] | None = None

    @classmethod
    def _defaults(cls) -> dict[str, object]:
        arguments = inspect.signature(cls.__init__).parameters
        return {name: argument.default for name, argument in arguments.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Ignored: no parameter is an estimator.
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: Own, **params: object) -> Own:
        """Set parameters by name and return self.

        Parameters
        ----------
        **params : object
            New values; those of other parameters stay.

        Raises
        ------
        ValueError
            If there is no such parameter.
        """
        known = self._defaults()
        if unknown := [name for name in params if name not in known]:
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._defaults()
        given = self.get_params().items()
        changed = [f"{name}={value!r}" for name, value in given if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Foreign:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), input_tags=InputTags())


def _text(value: object) -> str:
    """Return a parameter as text; an array or a generator by its type alone."""
    return repr(value) if isinstance(value, (int, float, str, type(None), dict, Knowledge)) else type(value).__name__


def _delegate(
    method: Callable[Concatenate[StructuralModel, Query], Answer],
) -> Callable[Concatenate["CausalGraphEstimator", Query], Answer]:
    """Return the method of an estimator that calls that of its fitted model; ``fit`` has to come first."""

    @wraps(method)
    def delegate(self: "CausalGraphEstimator", *args: Query.args, **kwargs: Query.kwargs) -> Answer:
        return method(self._fitted_model(), *args, **kwargs)

    return cast('Callable[Concatenate["CausalGraphEstimator", Query], Answer]', delegate)


class CausalGraphEstimator(SharedParameters):
    """Base of the estimators: whatever a fit is queried for, its `StructuralModel` answers.

    Before ``fit`` these methods raise NotFittedError. A pickle of an estimator holds the table, which `rethreshold` and
    `icdh.posterior` need; a file that ``save`` writes does not.

    Attributes
    ----------
    model_ : icdh.StructuralModel
        The fitted thing; all else is read from it.
    adjacency_matrix_ : ndarray, shape (N, N)
        The DAG; ``adjacency_matrix_[i, j] != 0`` means i -> j.
    causal_order_ : list of int
        The variables, causes before effects.
    offset_, scale_ : ndarray, shape (N,)
        The model is about ``(X - offset_) / scale_``.
    n_features_in_ : int
        N.
    feature_names_in_ : ndarray of object, shape (N,)
        The column labels; present only if ``fit`` saw a table with labels.
    """

    model_: StructuralModel
    adjacency_matrix_: Floats
    causal_order_: list[int]
    offset_: Floats
    scale_: Floats
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    nll_: float
    edge_strength_: Floats
    targets_: dict[Hashable, Floats]
    interrupted_: bool
    timed_out_: bool
    edge_probability_: Floats
    imputations_: "list[CausalGraphEstimator]"
    _of_conditions: OfConditions
    _counts_dependent_rows = False
    _weight_unit = "weight"

    def _learn(self, model: StructuralModel, thresholds: dict[str, object] | None = None, /, **learned: object) -> None:
        """Set all that was learned in one step: an interrupted fit leaves no mixture of models.

        Nothing stays of an earlier fit. With new thresholds, all stays that does not depend on them.
        """
        kept = {name: value for name, value in vars(self).items() if thresholds is not None or not name.endswith("_")}
        parameters = {name: _text(value) for name, value in (self.get_params() | (thresholds or {})).items()}
        del parameters["callback"]
        how: About = {"estimator": type(self).__name__, "parameters": parameters, "versions": {"icdh": __version__}}
        how["weight_unit"] = self._weight_unit
        settled = (model.adjacency != 0.0) & self._rules(model.names).settled
        known = replace(model.edge_evidence, settled=settled.astype(float) if settled.any() else None)
        model = replace(model, about={**model.about, **how}, edge_evidence=known)
        attributes: dict[str, object] = {
            "model_": model,
            "adjacency_matrix_": model.adjacency,
            "causal_order_": model.causal_order(),
            "offset_": model.columns.scaling.offset,
            "scale_": model.columns.scaling.scale,
            "n_features_in_": len(model.names),
        }
        if model.columns.named:
            attributes["feature_names_in_"] = labels = np.empty(len(model.names), dtype=object)
            labels[:] = model.names
        self.__dict__ = kept | (thresholds or {}) | attributes | learned

    def _repr_html_(self) -> str:
        """Show in a notebook what was learned, or which parameters there are."""
        return preformatted(self.summary() if hasattr(self, "model_") else repr(self))

    def _fitted_model(self) -> StructuralModel:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X) first")
        return self.model_

    def fit(
        self: Estimator,
        X: TableLike,
        y: None = None,
        *,
        interventions: InterventionsLike = None,
        groups: Groups = None,
        sequence: bool = False,
        sample_weight: ArrayLike | None = None,
        weights: str = "sampling",
    ) -> Estimator:
        """Learn the DAG and the distribution of every variable given its causes.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations in rows, variables in columns.
        y : None
            Ignored.
        interventions : array_like of bool, shape (M, N), or Interventions, optional
            True where an intervention set the value of a variable; the row then does not count for the distribution
            of that variable given its causes. Or the condition of every row and the targets of each condition.
        groups : column label or array_like of shape (M,), optional
            Rows with the same label depend on one another: visits of a person, pupils of a class, copies of a row. A
            column of X, which then is no variable, or one label a row. `HNMSearch` counts the evidence of an edge by
            its effective sample size; where all rows of each group are equal it takes one. `ICDH` has no evidence to
            count so, and refuses.
        sequence : bool
            Whether every row depends on those before it, as in a series; with ``groups``, on those of its group.
        sample_weight : array_like, shape (M,), optional
            How much every row counts: numbers of at least zero. Rows of weight zero do not count at all.
        weights : {"sampling", "frequency"}
            What ``sample_weight`` is. Sampling weights, of a survey, are scaled so that they sum to Kish's effective
            number of rows, (sum w)^2 / sum w^2, as evidence has to know how many independent rows there are. Kinds,
            grids and point masses of columns are those of the rows as they are. A row of frequency weight w, a whole
            number, stands for w equal rows: the fit is that to the table with every row repeated.

        Returns
        -------
        CausalGraphEstimator
            self.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the table is not what it should be; the message names parameter or column.

        Warns
        -----
        DataWarning
            For constant and duplicated columns, fewer rows than columns, rows that seem to depend on one another,
            units or kinds of columns that the method is not made for, and what else about table or graph deserves a
            second look.
        ConvergenceWarning
            If the fit stopped before it converged, or was interrupted.
        """
        for name, constraint in constraints_of(self).items():
            constraint.check(name, getattr(self, name))
        check_callback(self.callback)
        if (groups is not None or sequence) and not self._counts_dependent_rows:
            raise ValueError(
                f"groups and sequence are not supported by {type(self).__name__}, which counts no evidence; use "
                "HNMSearch, or bootstrap(..., groups=), which draws whole groups"
            )
        clock = Clock(self.max_seconds).followed_by(self.callback)
        check_same_rows(X, interventions, "interventions")
        check_same_rows(X, sample_weight, "sample_weight")
        with single_blas_thread():  # more of them wait for one another where cores are busy
            table = self.related_table(X, groups, sequence)
            return self._fit(*with_weights(table, interventions, sample_weight, weights), clock)

    def related_table(self, X: TableLike, groups: Groups, sequence: bool) -> Table:
        """Return the table that ``fit`` reads in ``X``; it knows which rows depend on one another.

        Parameters
        ----------
        X, groups, sequence
            As ``fit`` takes them.
        """
        X, labels = without_groups(X, groups)
        return with_relations(self.as_table(X), labels, sequence)

    def as_table(self, X: TableLike) -> Table:
        """Return the table that ``fit`` reads in ``X``, checked."""
        return Table.of(X, gaps=self.missing != "error", missing_values=self.missing_values)

    def _fit(self: Estimator, table: Table, interventions: InterventionsLike, clock: Clock) -> Estimator:
        """Fit as ``missing`` says, for ``fit`` alone: warnings name the line that called it."""
        table, interventions = without_copies(table, interventions)
        if not (table.gaps.any() and self.missing == "impute"):
            return self._fit_complete(*without_gaps(table, interventions), clock)
        design = Design.of(interventions, table)
        rng = np.random.default_rng(random_generator(self.random_state).integers(2**63))

        def fit(completed: Table) -> Estimator:
            return copy(self)._fit_complete(completed, design, clock)

        typical, of_all, to_say = fit_to_imputed(fit, table, design, self.n_imputations, rng, clock)
        self.__dict__ = vars(typical) | of_all
        for message, category in to_say:
            warn(message, category)
        return self

    def _fit_complete(self: Estimator, table: Table, design: Design, clock: Clock) -> Estimator:
        """Fit to a table without gaps, and return self; warnings about its columns come first."""
        table.warn(codes=not says_none(self.missing_values))
        table.check_learnable()
        self._fit_table(table, design, clock)
        return self

    def _fit_table(self, table: Table, design: Design, clock: Clock) -> None:
        """Fit to a table without gaps of which some columns vary; ends with `_learn`."""
        raise NotImplementedError

    @property
    def of_conditions(self) -> OfConditions:
        """The distributions of the fit under every condition, from which imputation draws."""
        return self._of_conditions

    def for_resamples(self: Estimator, X: TableLike, interventions: InterventionsLike = None) -> Estimator:
        """Return an estimator to fit to resamples of a table, for `icdh.bootstrap`: here one of the same parameters.

        Parameters
        ----------
        X, interventions
            The whole table, as ``fit`` takes it.
        """
        return type(self)(**self.get_params())

    def _strong(self, dag: Floats, strength: Floats, rules: EdgeRules) -> Floats:
        """Return the strong edges; warn if they are many."""
        kept = rules.strong(dag, strength, self.min_strength, self.max_edges)
        warn_about_density(kept)
        return kept

    def _checked(self, **thresholds: float | None) -> dict[str, object]:
        """Return the thresholds that are not None, checked as the parameters that they are."""
        given: dict[str, object] = {name: value for name, value in thresholds.items() if value is not None}
        for name, value in given.items():
            constraints_of(self)[name].check(name, value)
        return given

    def _rules(self, names: Sequence[Hashable]) -> EdgeRules:
        return Knowledge.of(self.knowledge).rules(names)

    def _report(self, line: str, record: object) -> None:
        """Tell log, standard error stream and callback of a step."""
        logger.info(line)
        if self.verbose:
            sys.stderr.write(f"icdh: {line}\n")
        if self.callback is not None:
            self.callback(record)

    def _report_move(self, names: Sequence[Hashable], move: Move) -> None:
        """Tell log, standard error stream and callback of a move; a move of a detour reaches the callback alone."""
        if move.kept:
            self._report(f"{move.kind} {names[move.cause]} -> {names[move.effect]}: {move.gain:.2f} nats", move)
        elif self.callback is not None:
            self.callback(move)

    predict = _delegate(StructuralModel.predict)
    predict_scale = _delegate(StructuralModel.predict_scale)
    residuals = _delegate(StructuralModel.residuals)
    score = _delegate(StructuralModel.score)
    sample = _delegate(StructuralModel.sample)
    counterfactual = _delegate(StructuralModel.counterfactual)
    average_effect = _delegate(StructuralModel.average_effect)
    effects = _delegate(StructuralModel.effects)
    edge_list = _delegate(StructuralModel.edge_list)
    save = _delegate(StructuralModel.save)

    summary = _delegate(StructuralModel.summary)
    plot = _delegate(StructuralModel.plot)
    report = _delegate(StructuralModel.report)
    to_networkx = _delegate(StructuralModel.to_networkx)
