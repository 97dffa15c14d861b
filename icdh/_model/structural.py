"""The structural model that every estimator learns.

For every variable of a DAG there is a distribution given its causes,

    Z_n = mean_n(Z) + scale_n(Z) E_n,

on scaled data; the E_n are independent, standard normal or of another density of mean zero. Scaled data are
``(X - offset) / scale`` or a transform of these, see `icdh._table.table.Scaling`.
A variable of labels, or of few ordered levels, has a probability for each of them given its causes instead.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._model import effects as interventional
from icdh._model import export
from icdh._model import hidden as hidden_common
from icdh._model.hidden import HiddenCause, is_confounded
from icdh._node_model.law import SAME, Conditional
from icdh._table.categories import Categories
from icdh._table.frames import frame_of, index_of
from icdh._table.kinds import Grid, nearest
from icdh._table.table import LARGEST_SCALED_VALUE, Scaling, Table
from icdh._utils.arrays import ByColumn, Floats, Foreign, Mask, Observations, RandomState, TableLike
from icdh._utils.checks import Number, aligned, as_float, check_same_rows, random_generator
from icdh._utils.density import mean_of_counted
from icdh._utils.labels import listed, plural, variable_index
from icdh._utils.result import preformatted
from icdh._utils.shell import shell
from icdh.exceptions import DataWarning, option, warn

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUM_ROUNDING = 1e-9  # by which a sum of weights may exceed one


class About(TypedDict, total=False):
    """How a model was made."""

    estimator: str
    n_observations: int
    parameters: dict[str, str]
    versions: dict[str, str]
    weight_unit: str


class FittedEdge(NamedTuple):
    """An edge of a fitted model.

    Attributes
    ----------
    cause, effect : str or int
        The names of the variables.
    strength : float
        In nats if `icdh.HNMSearch` learned it, and a weight of the network of `icdh.ICDH`.
    mean_loss, spread_loss : float or None
        The nats that the model loses if the cause is left out of the mean of the effect alone, and of its spread alone,
        where its part in the other stays. Below zero, it is better without. Ten nats are evidence. With a transform of
        the columns, of the transformed effect. None where the effect is no number, where that was not weighed, and in
        graphs of `icdh.ICDH`.
    """

    cause: Hashable
    effect: Hashable
    strength: float
    mean_loss: float | None
    spread_loss: float | None


def number_at(values: Floats | None, edge: tuple[int, int]) -> float | None:
    """Return what is known of an edge, from a matrix; None if that is no finite number."""
    return None if values is None or not np.isfinite(values[edge]) else float(values[edge])


@dataclass(frozen=True)
class StructuralModel:
    """A DAG and the distribution of every variable given its causes.

    Wherever a method takes a variable, that is a name or an index. A table that a method returns is of the kind that
    the model was learned from: a DataFrame, a table of polars or pyarrow, or an array.

    Attributes
    ----------
    names : list of str
        The labels of the N variables.
    named : bool
        Whether the data that the model was learned from had labels.
    scaling : Scaling
        The conditionals are about scaled data.
    adjacency : ndarray, shape (N, N)
        The DAG; ``adjacency[i, j] != 0`` means i -> j.
    conditionals : sequence of Conditional
        One a variable. They may depend on more than the causes, weakly; see `sample`.
    centre : ndarray, shape (N,)
        The mean of the scaled data that the model was learned from; of labels the most frequent one.
    frame : str
        The library whose table the data came in, "pandas", "polars" or "pyarrow"; empty if it was an array.
    categories : dict of int to Categories
        The labels of the variables that have labels.
    levels : dict of int to ndarray
        The values, in ascending order and in their units, of the variables that take few.
    masses : dict of int to ndarray
        The values, in their units, that have a probability of their own beside a density.
    grids : dict of int to Grid
        The grids, in their units, of the numbers that are recorded on one.
    about : dict
        How the model was made: ``estimator``, ``parameters``, ``n_observations``, ``versions``, all of it text and
        numbers. Empty if unknown.
    edge_probability : ndarray, shape (N, N), or None
        The probability of every edge, if it was given: see `with_edge_probability`.
    direction_loss : ndarray, shape (N, N), or None
        The nats lost by reversing each edge, if they were computed: see `icdh.uncertainty.direction_loss`.
    hidden_loss : ndarray, shape (N, N), or None
        The nats lost if each edge is a hidden common cause, likewise: see `icdh.uncertainty.hidden_loss`.
    mean_loss, spread_loss : ndarray, shape (N, N), or None
        The nats lost if a cause is left out of the mean of its effect alone, or of its spread alone; NaN where there is
        no edge, or the effect is no number. None if nobody weighed them.
    settled : ndarray, shape (N, N), or None
        1.0 where knowledge settled the direction of an edge: it was required, or its reverse forbidden.
    kinds : list of str, or None
        The kinds of columns that a search saw; None where nothing looked at kinds.
    column_transform : str
        The transform under which it looked for the graph.
    observed_range : ndarray, shape (2, N), or None
        The smallest and the largest value of every variable in the table that the model was learned from.
    hidden_causes : tuple of HiddenCause
        The hidden common causes that were found.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh import HNMSearch
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=300)
    >>> answer = 2.0 * np.tanh(dose) + (0.2 + 0.2 * (dose > 0)) * rng.normal(size=300)
    >>> model = HNMSearch().fit(np.column_stack([dose, answer])).model_
    >>> [(edge.cause, edge.effect) for edge in model.edge_list()]
    [('x0', 'x1')]
    >>> round(float(model.sample(5000, do={"x0": 1.0}, random_state=0)[:, 1].mean()), 1)
    1.5
    """

    names: list[Hashable]
    named: bool
    scaling: Scaling
    adjacency: Floats
    conditionals: Sequence[Conditional]
    centre: Floats
    frame: str = ""
    about: About = field(default_factory=About)
    edge_probability: Floats | None = None
    direction_loss: Floats | None = None
    hidden_loss: Floats | None = None
    mean_loss: Floats | None = None
    spread_loss: Floats | None = None
    settled: Floats | None = None
    categories: dict[int, Categories] = field(default_factory=dict)
    levels: dict[int, Floats] = field(default_factory=dict)
    masses: dict[int, Floats] = field(default_factory=dict)
    grids: dict[int, Grid] = field(default_factory=dict)
    kinds: list[str] | None = None
    column_transform: str = "none"
    observed_range: Floats | None = None
    hidden_causes: tuple[HiddenCause, ...] = ()

    @classmethod
    def of(
        cls,
        table: Table,
        scaling: Scaling,
        adjacency: Floats,
        conditionals: Sequence[Conditional],
        levels: Mapping[int, Floats] | None = None,
        masses: Mapping[int, Floats] | None = None,
    ) -> "StructuralModel":
        """Return the model learned from a table.

        Parameters
        ----------
        table : Table
            What it was learned from.
        scaling : Scaling
            That of the table.
        adjacency : ndarray, shape (N, N)
            The DAG.
        conditionals : sequence of Conditional
            One a variable.
        levels, masses : mapping of int to ndarray, optional
            The values of the variables that take few, and those that have a probability beside a density.
        """
        centre = scaling.apply(table.values.mean(axis=1, keepdims=True))[:, 0]
        centre[table.unordered] = 0.0
        return cls(
            table.names,
            table.named,
            scaling,
            adjacency,
            conditionals,
            centre,
            frame=table.frame,
            about={"n_observations": table.n_observations},
            categories=table.categories,
            levels=dict(levels or {}),
            masses=dict(masses or {}),
            observed_range=np.array([table.values.min(axis=1), table.values.max(axis=1)]),
        )

    def with_edge_probability(self, edge_probability: ArrayLike) -> "StructuralModel":
        """Return the model with the probability of every edge, which summary and report show and `save` keeps.

        Parameters
        ----------
        edge_probability : array_like, shape (N, N)
            ``[i, j]`` is that of i -> j, such as ``edge_probability`` of `icdh.bootstrap` or `icdh.posterior`.

        Raises
        ------
        ValueError
            If it has another shape, or holds anything but numbers from zero to one.
        """
        cells = aligned(edge_probability, self.names, "edge_probability", square=True)
        probability = as_float(cells, "edge_probability")
        if probability.shape != self.adjacency.shape:
            raise ValueError(f"edge_probability must have shape {self.adjacency.shape}; got {probability.shape}")
        if not ((probability >= 0.0) & (probability <= 1.0 + SUM_ROUNDING)).all():
            raise ValueError("edge_probability must hold probabilities, numbers from 0 to 1")
        return replace(self, edge_probability=np.minimum(probability, 1.0))

    def causal_order(self) -> list[int]:
        """Return the variables, causes before effects."""
        return graphs.causal_order(self.adjacency)

    def scaled(self, X: TableLike) -> Floats:
        """Return scaled observations, one variable a row, shape (N, M).

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations of the model's variables, in their order.

        Raises
        ------
        ValueError, TypeError
            If these are not the variables of the model, or anything but finite numbers.
        """
        return self._scaled(self.as_table(X))

    def as_table(self, X: TableLike) -> Table:
        """Return observations of the model's variables, checked, in the units of X; parameters as of `scaled`."""
        table = Table.of(X, min_rows=1, known=self.categories)
        if table.n_variables != len(self.names):
            raise ValueError(
                f"{option('X')} has {table.n_variables} features, but {type(self).__name__} is expecting "
                f"{len(self.names)} features as input: pass the columns that fit saw"
            )
        if table.named and self.named and table.names != self.names:
            at = next(i for i, name in enumerate(self.names) if table.names[i] != name)
            raise ValueError(
                f"column {at} of {option('X')} is {table.names[at]!r} where fit saw {self.names[at]!r}; "
                "pass the same columns in the same order, X[model.feature_names_in_]"
            )
        return table

    def _scaled(self, table: Table) -> Floats:
        with np.errstate(over="ignore"):
            values = self.scaling.apply(table.values)
        largest = np.abs(values).max(axis=1)
        if largest.max() > LARGEST_SCALED_VALUE:
            far = [table.names[n] for n in np.flatnonzero(largest > LARGEST_SCALED_VALUE)]
            names = f"{plural(far, 'column')} {listed(map(repr, far))} of X"
            raise ValueError(f"{names}: values far beyond those that fit saw; check the units")
        return values

    def in_units(self, variable: int, scaled: Floats) -> Floats:
        """Return natural values of a variable in its units, shape (M,), on its grid, or among its levels.

        Parameters
        ----------
        variable : int
            The variable.
        scaled : ndarray, shape (M,)
            Its scaled values.
        """
        values = self.scaling.undo(scaled, variable)
        if variable in self.grids:
            values = self.grids[variable].nearest(values)
        for mass in self.masses.get(variable, ()):
            values[np.abs(scaled - self.scaling.apply(mass, variable)) <= SAME] = mass
        if self.conditionals[variable].law.whole:
            values = np.rint(values)
        levels = self.levels.get(variable)
        return values + 0.0 if levels is None else levels[nearest(levels, values)]  # no negative zero

    def scaled_variable(self, variable: int, values: Floats) -> Floats:
        """Return the scaled values that an intervention set for a variable; both of shape (M,).

        Parameters
        ----------
        variable : int
            The variable.
        values : ndarray, shape (M,)
            In its units.

        Raises
        ------
        ValueError
            If the values are far beyond those of the table that was fitted.
        """
        with np.errstate(over="ignore"):
            scaled = self.scaling.apply(values, variable)
        if np.abs(scaled).max() > LARGEST_SCALED_VALUE:
            raise ValueError(f"do sets {self.names[variable]!r} to values far beyond those that fit saw; check units")
        return scaled

    def moments(self, node: int, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of one variable in its units, each of shape (M,), at scaled observations.

        Of labels these are the most probable one, and the total probability of the others.

        Parameters
        ----------
        node : int
            The variable.
        values : ndarray, shape (N, M)
            Scaled observations.
        """
        conditional = self.conditionals[node]
        if node in self.scaling.transforms:
            undo = partial(self.scaling.undo, variable=node)
            return conditional.law.moments_of(undo, conditional.outputs(values))
        mean, deviation = conditional.mean_and_scale(values)
        return self.scaling.undo(mean, node), deviation * self.scaling.scale[node]

    def others_held(self, node: int, values: Floats) -> Floats:
        """Return scaled observations with the inputs of a conditional that are not causes held at their means.

        Parameters
        ----------
        node : int
            The variable that the conditional is of.
        values : ndarray, shape (N, M)
            Scaled observations.
        """
        inputs = self.conditionals[node].inputs
        others = inputs[self.adjacency[inputs, node] == 0]
        if others.size:
            values = values.copy()
            values[others] = self.centre[others, np.newaxis]
        return values

    def predict(self, X: TableLike) -> Observations:
        """Return the mean of every variable given its causes.

        For a categorical variable it is the most probable label; for ordered labels, the label nearest to the mean
        rank.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of X; a DataFrame if ``fit`` saw one.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of ``fit`` or holds anything but finite numbers.
        """
        values = self.scaled(X)
        return self._given_back(np.array([self.moments(node, values)[0] for node in range(len(values))]), X)

    def predict_scale(self, X: TableLike) -> Observations:
        """Return the standard deviation of every variable given its causes, in the units of X.

        For a categorical variable it is the probability of any but the most probable label.
        Parameters, shape of the result and errors are those of `predict`.
        """
        values = self.scaled(X)
        spread = np.array([self.moments(node, values)[1] for node in range(len(values))])
        return self._given_back(spread, X, of_labels=False)

    def residuals(self, X: TableLike) -> Observations:
        """Return the standardised residuals, (X - mean) / standard deviation: standard normal if the model holds.

        For a categorical variable, the surprise -log P is standardised: mean 0 and variance 1 if the model holds.
        Parameters, shape of the result and errors are those of `predict`.
        """
        return self._given_back(self.standardised_residuals(self.scaled(X)), X, of_labels=False)

    def standardised_residuals(self, values: Floats) -> Floats:
        """Return the residuals of scaled observations ``values``, both of shape (N, M)."""
        return np.array([given.standardised(values[n], values) for n, given in enumerate(self.conditionals)])

    def probabilities(self, variable: Hashable, X: TableLike) -> Observations:
        """Return the probabilities of the labels, or levels, of a variable given its causes.

        Parameters
        ----------
        variable : str or int
            A variable of labels, or of few ordered values.
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.

        Returns
        -------
        ndarray or DataFrame, shape (M, K)
            A DataFrame, whose columns are the labels or values, if ``fit`` saw one; else in the order of ``categories``
            or of ``levels``.

        Raises
        ------
        ValueError, TypeError
            If the variable has neither labels nor levels, or as `predict`.
        """
        node = variable_index(variable, self.names, "variable")
        log_p = self.conditionals[node].log_probabilities(self.scaled(X))
        if log_p is None:
            raise ValueError(f"{self.names[node]!r} has no labels; predict gives its mean, predict_scale its spread")
        probabilities = np.exp(log_p)
        if not self.frame:
            return probabilities.T
        known, levels = self.categories.get(node), self.levels.get(node, np.arange(len(probabilities)))
        labels = (levels if known is None else known.decoded(levels)).tolist()
        columns = labels if self.frame == "pandas" else map(str, labels)
        return frame_of(self.frame, dict(zip(columns, probabilities, strict=True)), index_of(X))

    def score(self, X: TableLike, y: None = None) -> float:
        """Return the log-likelihood: mean over observations, sum over variables.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.
        y : None
            Ignored.

        Returns
        -------
        float
            In nats, as a density in the units of X, so that models with different scaling compare. Labels and levels
            count by their probability. Higher is better.

        Raises
        ------
        ValueError, TypeError
            As `predict`.
        """
        values = self.scaled(X)
        dense = np.array([given.law.has_density(values[n]).mean() for n, given in enumerate(self.conditionals)])
        return -self.nll(values) - float((dense * np.log(self.scaling.scale)).sum())

    def nll(self, values: Floats, rows: Mask | None = None) -> float:
        """Return the negative log-likelihood of scaled observations, shape (N, M), as a density before transforms.

        Parameters
        ----------
        values : ndarray, shape (N, M)
            Scaled observations.
        rows : ndarray of bool, shape (N, M), optional
            The observations that count for each variable; by default all.
        """
        total = sum(float(part.nll.mean()) for part in hidden_common.parts(self, values))
        for n, conditional in enumerate(self.conditionals):  # one by one: long tables need little more memory
            if is_confounded(conditional):
                continue
            nats = -conditional.log_density(values[n], values)
            if n in self.scaling.transforms:
                nats -= np.where(conditional.law.has_density(values[n]), self.scaling.log_slope(values[n], n), 0.0)
            total += mean_of_counted(nats, None if rows is None else rows[n])
        return total

    def _given_back(self, values: Floats, X: TableLike = None, of_labels: bool = True) -> Observations:
        """Return values, one variable a row, as observations in rows, in the kind of table that fit saw."""
        labels = {n: known.nearest(values[n]) for n, known in self.categories.items()} if of_labels else {}
        if self.frame:
            columns: dict[Hashable, np.ndarray] = {
                name: labels[n] if n in labels else values[n] for n, name in enumerate(self.names)
            }
            ordered = {self.names[n]: self.categories[n] for n in labels if self.categories[n].ordered}
            return frame_of(self.frame, columns, index_of(X), ordered)
        table = np.ascontiguousarray(values.T)
        if any(self.categories[n].of_text for n in labels):
            table = table.astype(object)
        for n, cells in labels.items():
            table[:, n] = cells
        return table

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, *, do: ByColumn[object] | None = None
    ) -> Observations:
        """Draw observations from the DAG, causes before effects, as they are or under an intervention.

        Parameters
        ----------
        n_samples : int
            M, the number of observations.
        random_state : int, SeedSequence, Generator or None
            The only source of randomness.
        do : mapping, optional
            The intervention, in the units of the variables. It maps names or indices to a number, to an array with one
            number a row, or to a function such as `icdh.Shift`. The function gets the natural values, shape (M,), and
            returns the values under the intervention. A categorical variable is set to one label, or to one a row.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of the data that the model was learned from; a DataFrame if that was one.

        Raises
        ------
        ValueError, TypeError
            If an argument is not what it should be.

        Notes
        -----
        A variable depends only on its causes in the DAG. Inputs of the fitted mean and scale below the threshold are
        held at their means in the data of ``fit``. With the same seed, variables that ``do`` does not reach are the
        same with and without it.
        """
        Number(1, integer=True).check("n_samples", n_samples)
        rows = interventional.drawn(self, n_samples, random_generator(random_state))
        return self._given_back(interventional.under(self, rows, do, self.as_numbers))

    def as_numbers(self, node: int, action: object, said: str) -> Foreign:
        """Return what an intervention sets a variable to as numbers or codes of labels; of a function, one that does.

        Parameters
        ----------
        node : int
            The variable.
        action : float, str, array_like or callable
            As in `sample`.
        said : str
            What messages call it.

        Raises
        ------
        ValueError, TypeError
            If these are no numbers, or an unknown label, or if labels are changed by a function; if one of few values
            is set to another value.

        Warns
        -----
        DataWarning
            If a number is far from all that the model was learned from.
        """
        known = self.categories.get(node)
        if known is not None and known.reads(action):
            if callable(action):
                raise TypeError(f"{said} changes labels by a function; set the variable to {known.labels[0]!r}, ...")
            labels = np.asarray(action, dtype=object)
            codes = known.encoded(list(labels.ravel()), said)
            return codes if labels.ndim else codes[0]
        if callable(action):
            return lambda natural: self.as_numbers(node, action(natural), f"the result of {said}")
        values = as_float(np.asarray(action), said)
        if values.size and np.isfinite(values).all():
            self._check_possible(node, values, said)
        return values

    def _check_possible(self, node: int, values: Floats, said: str) -> None:
        """Raise ValueError if a variable of few values is set to another; warn if a number is far from all observed."""
        levels, column = self.levels.get(node), repr(self.names[node])
        if levels is not None:
            strange = np.ravel(np.abs(values - levels[nearest(levels, values)]) > SUM_ROUNDING * np.ptp(levels))
            if strange.any():
                value, known = np.ravel(values)[int(np.argmax(strange))], listed(f"{level:g}" for level in levels)
                raise ValueError(f"{said} is {value:g}, but column {column} holds {known} alone")
        elif self.observed_range is not None:
            low, high = self.observed_range[:, node]
            if np.min(values) < 2.0 * low - high or np.max(values) > 2.0 * high - low:
                farthest = np.min(values) if np.min(values) < 2.0 * low - high else np.max(values)
                warn(
                    f"{said} is {farthest:g}, far from the rows of column {column}, {low:g} to {high:g}: what follows "
                    "is extrapolation",
                    DataWarning,
                )

    def counterfactual(self, X: TableLike, do: ByColumn[object]) -> Observations:
        """Return the counterfactual of observed rows under an intervention: abduction, action, prediction.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            The rows; the columns of ``fit``, in the same order.
        do : mapping
            As in `sample`.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of X. Columns that ``do`` does not reach are those of X.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, or ``do`` reaches a categorical or ordinal variable, whose counterfactual is not
            determined.

        Notes
        -----
        Every row keeps its own noise, (X - mean) / standard deviation given the causes. A hidden cause keeps the mean
        of its values given the row.

        Examples
        --------
        >>> import numpy as np
        >>> from icdh import HNMSearch
        >>> rng = np.random.default_rng(0)
        >>> dose = rng.normal(size=300)
        >>> X = np.column_stack([dose, 2.0 * np.tanh(dose) + (0.2 + 0.2 * (dose > 0)) * rng.normal(size=300)])
        >>> model = HNMSearch().fit(X)
        >>> np.array_equal(model.counterfactual(X, do={"x1": 0.0})[:, 0], X[:, 0])
        True
        """
        table = self.as_table(X)
        for key, values in do.items() if isinstance(do, Mapping) else ():
            check_same_rows(X, values, f"do[{key!r}]")
        rows = interventional.abducted(self, table.values, self._scaled(table))
        return self._given_back(interventional.under(self, rows, do, self.as_numbers), X)

    hidden_values = hidden_common.hidden_values
    bidirected_edges = hidden_common.bidirected_edges
    average_effect = interventional.average_effect
    effects = interventional.effects

    def edge_list(self) -> list[FittedEdge]:
        """Return the edges, strongest first, as tuples of names and numbers.

        ``pandas.DataFrame(model.edge_list())`` makes a table of them.
        """
        return [
            FittedEdge(
                self.names[i],
                self.names[j],
                float(self.adjacency[i, j]),
                number_at(self.mean_loss, (i, j)),
                number_at(self.spread_loss, (i, j)),
            )
            for i, j in graphs.strongest_first(self.adjacency)
        ]

    def to_networkx(self) -> "networkx.DiGraph":
        """Return the DAG as a networkx.DiGraph whose edges carry ``weight``; needs the extra ``[graph]``.

        Hidden causes are nodes as well, with ``observed="no"``: DoWhy's ``CausalModel`` takes the graph as it is.
        """
        graph = graphs.to_networkx(*hidden_common.graph_with_hidden(self))
        for cause in self.hidden_causes:
            graph.nodes[str(cause)]["observed"] = "no"
        return graph

    def to_dot(self) -> str:
        """Return the DAG in the DOT language of Graphviz, hidden causes as nodes as well."""
        return graphs.to_dot(*hidden_common.graph_with_hidden(self))

    def to_graphml(self) -> str:
        """Return the DAG in GraphML, weights as data of the edges, hidden causes as nodes as well."""
        return graphs.to_graphml(*hidden_common.graph_with_hidden(self))

    def to_gml(self) -> str:
        """Return the DAG in GML, hidden causes as nodes as well, which DoWhy's ``CausalModel`` takes as unobserved."""
        return graphs.to_gml(*hidden_common.graph_with_hidden(self))

    def to_json(self) -> str:
        """Return the DAG as the JSON that `icdh.files.read_graph` reads: names, and edges with their weights.

        Hidden causes are nodes as well.
        """
        return graphs.to_json(*hidden_common.graph_with_hidden(self))

    to_dowhy = export.to_dowhy
    to_pgmpy = export.to_pgmpy
    to_causallearn = export.to_causallearn

    def save(self, path: str | Path, *, edge_probability: ArrayLike | None = None) -> None:
        """Write the model into a file that `icdh.load` reads back to the last bit, without pickle.

        Parameters
        ----------
        path : str or Path
            The file; by convention it ends in ``.icdh``.
        edge_probability : array_like, shape (N, N), optional
            What to keep beside the model, as by `with_edge_probability`; by default its own, if it has any.

        Raises
        ------
        ValueError
            If these are no probabilities of the model's edges.
        OSError
            If the file cannot be written; an older one then stays as it was.
        """
        from icdh._model.persist import write_model

        write_model(path, self if edge_probability is None else self.with_edge_probability(edge_probability))

    summary = export.summary

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return preformatted(self.summary())

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw the graph, and return the matplotlib figure; needs the extra ``[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        figure: Figure = shell("plotting").plot_model(self, ax)
        return figure

    def report(
        self,
        path: str | Path,
        X: TableLike = None,
        *,
        edge_probability: ArrayLike | None = None,
        check: object = None,
        notes: Sequence[str] = (),
        command: str = "",
        title: str = "",
    ) -> None:
        """Write one HTML page of what was learned, without links to anything outside it.

        It shows the table, the graph (to point at), its hidden causes, and the edges with the fitted mean and spread of
        every effect. Then come residual checks, total effects, the assumptions with what speaks against them, and what
        made it. Needs the extra ``[report]``.

        Parameters
        ----------
        path : str or Path
            The file, by convention ending in ``.html``.
        X : array_like or DataFrame, shape (M, N), optional
            The observations; without them the table and the residuals are left out.
        edge_probability : array_like, shape (N, N), optional
            As of `with_edge_probability`; by default the model's own, if it has any.
        check : icdh.diagnostics.ModelCheck, optional
            What `icdh.check` found; without it that section is left out.
        notes : sequence of str
            What deserves attention, such as the warnings of ``fit``; shown above the table.
        command, title : str
            What made the page, and its title.

        Raises
        ------
        MissingExtraError
            If Jinja2 or matplotlib is not installed.
        ValueError, TypeError
            If X does not have the columns of ``fit``, or the probabilities are not of shape (N, N).
        OSError
            If the file cannot be written; an older one then stays as it was.
        """
        page = shell("report")
        model = self if edge_probability is None else self.with_edge_probability(edge_probability)
        facts = page.findings(model, X, check=check, notes=notes, command=command, title=title)
        page.write_page(path, facts)


def load(path: str | Path) -> StructuralModel:
    """Read a model that ``save`` wrote.

    A file from a stranger is safe to open. Nothing in it is executed, and it cannot ask for more memory than its own
    size.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    StructuralModel
        It answers as the fitted estimator did; it cannot be fitted again.

    Raises
    ------
    ValueError
        If the file is damaged, of a later version, or no model at all.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np
    >>> import icdh
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = icdh.HNMSearch().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "m.icdh")
    ...     model.save(path)
    ...     again = icdh.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    from icdh._model.persist import read_model

    return read_model(path, StructuralModel)
