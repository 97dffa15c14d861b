"""The structural model that every estimator learns."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._model import effects as interventional
from icdh._model import export
from icdh._model.causal import CausalModel
from icdh._table.frames import frame_of
from icdh._table.rows import checked_weights
from icdh._utils.arrays import ByColumn, Floats, Mask, Observations, RandomState, TableLike, mean_of, of_rows
from icdh._utils.checks import Number, aligned, as_float, check_same_rows, random_generator
from icdh._utils.labels import listed, variable_index
from icdh.exceptions import option, warn

if TYPE_CHECKING:
    import networkx
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUM_ROUNDING = 1e-9  # by which a sum of weights may exceed one


@dataclass(frozen=True)
class StructuralModel(CausalModel):
    """A DAG and the distribution of every variable given its causes.

    Wherever a method takes a variable, that is a name or an index. A table that a method returns is of the kind that
    the model was learned from: a DataFrame, a table of polars or pyarrow, or an array.

    Attributes
    ----------
    columns : ModelColumns
        The N variables as columns of a table.
    adjacency : ndarray, shape (N, N)
        The DAG; ``adjacency[i, j] != 0`` means i -> j.
    conditionals : sequence of Conditional
        One a variable, about scaled data. They may depend on more than the causes, weakly; see
        `icdh.StructuralModel.sample`.
    edge_evidence : EdgeEvidence
        What speaks for its edges.
    about : dict
        How the model was made: ``estimator``, ``parameters``, ``n_observations``, ``versions``, all of it text and
        numbers. Empty if unknown.

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
        return replace(self, edge_evidence=replace(self.edge_evidence, probability=np.minimum(probability, 1.0)))

    def predict(self, X: TableLike) -> Observations:
        """Return the mean of every variable given its causes.

        For a categorical variable it is the most probable label; for ordered labels, the label nearest to the mean
        rank.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order. A table with names may lack cells, and columns:
            a variable is predicted where its causes are known.

        Returns
        -------
        ndarray or DataFrame, shape (M, N)
            In the units of X; a DataFrame if ``fit`` saw one. NaN, of text None, where a cause is not known.

        Raises
        ------
        ValueError, TypeError
            If X does not have the columns of ``fit`` or holds anything but finite numbers.

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from icdh import HNMSearch
        >>> dose = np.random.default_rng(0).normal(size=300)
        >>> rows = pd.DataFrame({"dose": dose, "answer": 2.0 * np.tanh(dose) + np.roll(dose, 1)})
        >>> model = HNMSearch(knowledge={"required": [("dose", "answer")]}).fit(rows)
        >>> new = model.predict(pd.DataFrame({"dose": [0.0, 1.0]}))
        >>> bool(new["answer"].notna().all())
        True
        """
        values, gaps = self._without_gaps(X)
        mean = self._where_known([self.moments(node, values)[0] for node in range(len(values))], gaps)
        return self.columns.observations(mean, X)

    def predict_scale(self, X: TableLike) -> Observations:
        """Return the standard deviation of every variable given its causes, in the units of X.

        For a categorical variable it is the probability of any but the most probable label.
        Parameters, shape of the result and errors are those of `predict`.
        """
        values, gaps = self._without_gaps(X)
        spread = self._where_known([self.moments(node, values)[1] for node in range(len(values))], gaps)
        return self.columns.observations(spread, X, of_labels=False)

    def residuals(self, X: TableLike) -> Observations:
        """Return the standardised residuals, (X - mean) / standard deviation: standard normal if the model holds.

        For a categorical variable, the surprise -log P is standardised: mean 0 and variance 1 if the model holds.
        Parameters, shape of the result and errors are those of `predict`.
        """
        values, gaps = self._without_gaps(X)
        residuals = np.where(gaps, np.nan, self._where_known(self.standardised_residuals(values), gaps))
        return self.columns.observations(residuals, X, of_labels=False)

    def _without_gaps(self, X: TableLike) -> tuple[Floats, Mask]:
        """Return scaled observations with usual values in the gaps, and where these are, each of shape (N, M).

        Warn if a cause has no value at all.
        """
        table = self.columns.as_table(X, gaps=True)
        gaps, values, effects = table.gaps, table.values.copy(), self.adjacency != 0
        for n in np.flatnonzero(gaps.any(axis=1)).tolist():
            values[n, gaps[n]] = self.columns.in_units(n, self.columns.centre[[n]])[0]
        if lacking := np.flatnonzero(gaps.all(axis=1) & effects.any(axis=1)).tolist():
            causes = listed(repr(self.names[n]) for n in lacking)
            empty = listed(repr(self.names[k]) for k in np.flatnonzero(effects[lacking].any(axis=0)))
            warn(f"{option('X')} has no value of {causes}: what rests on them is left empty, of {empty}")
        return self.scaled(replace(table, values=values)), gaps

    def _lacks_a_cause(self, node: int, gaps: Mask) -> Mask:
        """Return which observations lack a cause of a variable, shape (M,), given where gaps are, shape (N, M)."""
        return np.asarray(gaps[self.adjacency[:, node] != 0].any(axis=0))

    def _where_known(self, answers: Sequence[Floats] | Floats, gaps: Mask) -> Floats:
        """Return an answer about each variable, shape (N, M), NaN where one of its causes has a gap."""
        lacks = [self._lacks_a_cause(node, gaps) for node in range(len(gaps))]
        return np.where(lacks, np.nan, answers)

    def probabilities(self, variable: Hashable, X: TableLike) -> Observations:
        """Return the probabilities of the labels, or levels, of a variable given its causes.

        Parameters
        ----------
        variable : str or int
            A variable of labels, or of few ordered values.
        X : array_like or DataFrame, shape (M, N)
            Observations; as of `predict`.

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
        values, gaps = self._without_gaps(X)
        log_p = self.conditionals[node].law.log_probabilities(self.conditionals[node].outputs(values))
        if log_p is None:
            raise ValueError(f"{self.names[node]!r} has no labels; its mean and spread are predicted")
        probabilities = np.where(self._lacks_a_cause(node, gaps), np.nan, np.exp(log_p))
        if not self.columns.frame:
            return probabilities.T
        labels = self.columns.labels_of(node, len(probabilities))
        columns = labels if self.columns.frame == "pandas" else map(str, labels)
        return frame_of(self.columns.frame, dict(zip(columns, probabilities, strict=True)), X)

    def score(self, X: TableLike, y: None = None, *, sample_weight: ArrayLike | None = None) -> float:
        """Return the log-likelihood: mean over observations, sum over variables.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations; the columns of ``fit``, in the same order.
        y : None
            Ignored.
        sample_weight : array_like, shape (M,), optional
            How much every observation counts in the mean; by default all alike.

        Returns
        -------
        float
            In nats, as a density in the units of X, so that models with different scaling compare. Labels and levels
            count by their probability. Higher is better.

        Raises
        ------
        ValueError, TypeError
            As `predict`.

        Warns
        -----
        DataWarning
            If a column of few values has one that ``fit`` did not see: it counts as the nearest. If most of a
            column is beyond its range in ``fit``, as in another unit.
        """
        values = self.scaled(X)
        check_same_rows(X, sample_weight, "sample_weight")
        weights = None if sample_weight is None else checked_weights(sample_weight, values.shape[1])
        has_density = np.array([given.law.has_density(values[n]) for n, given in enumerate(self.conditionals)])
        dense = mean_of(has_density, weights)
        return -self.nll(values, None, weights) - float((dense * np.log(self.columns.scaling.scale)).sum())

    def nll(self, values: Floats, rows: Mask | None, weights: Floats | None) -> float:
        """Return the negative log-likelihood of scaled observations, shape (N, M), as a density before transforms.

        It is the sum over variables of the mean over the observations that count for each; without any, zero.

        Parameters
        ----------
        values : ndarray, shape (N, M)
            Scaled observations.
        rows : ndarray of bool, shape (N, M), or None
            The observations that count for each variable; None if all.
        weights : ndarray, shape (M,), or None
            How much every observation counts in the mean; None if all alike.
        """
        scaling, total = self.columns.scaling, 0.0
        for n, conditional in enumerate(self.conditionals):  # one by one: long tables need little more memory
            nats = -conditional.log_density(values[n], values)
            if n in scaling.transforms:
                nats -= np.where(conditional.law.has_density(values[n]), scaling.log_slope(values[n], n), 0.0)
            counted = slice(None) if rows is None else rows[n]
            if (own := nats[counted]).size:
                total += float(mean_of(own, of_rows(weights, counted)))
        return total

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
            returns the values under the intervention. A categorical variable is set to one label, or to one a row; one
            of few values to these alone.

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
        held at their means in the data of ``fit``. Beyond the rows of ``fit`` the mean of a network goes on by at most
        its range among them, and its spread stays within theirs. Without these limits draws from two of 13 public
        tables had spreads that were half as large again. With the same seed, variables that ``do`` does not reach are
        the same with and without it.
        """
        Number(1, integer=True).check("n_samples", n_samples)
        rows = interventional.drawn(self, n_samples, random_generator(random_state))
        return self.columns.observations(interventional.under(self, rows, do, self.columns.as_numbers_of_draws))

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
        Every row keeps its own noise, (X - mean) / standard deviation given the causes. A rounded number has that of
        the middle of its cell, and its counterfactual is not rounded again: else it would not move, or by a whole step.

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
        table = self.columns.as_table(X)
        for key, values in do.items() if isinstance(do, Mapping) else ():
            check_same_rows(X, values, f"do[{key!r}]")
        rows = interventional.abducted(self, table.values, self.scaled(table))
        return self.columns.observations(interventional.under(self, rows, do, self.columns.as_numbers), X)

    average_effect = interventional.average_effect
    effects = interventional.effects

    def edge_list(self) -> list[graphs.Edge]:
        """Return the edges, strongest first, as tuples of names and numbers.

        Strengths are in nats if `icdh.HNMSearch` learned the model, and weights of the network of `icdh.ICDH`.
        ``pandas.DataFrame(model.edge_list())`` makes a table of them.
        """
        return graphs.edge_list(self.adjacency, self.names)

    def to_networkx(self) -> "networkx.DiGraph":
        """Return the DAG as a networkx.DiGraph whose edges carry ``weight``; needs the extra ``[graph]``."""
        return graphs.to_networkx(self.adjacency, self.names)

    def to_dot(self) -> str:
        """Return the DAG in the DOT language of Graphviz."""
        return graphs.to_dot(self.adjacency, self.names)

    def to_graphml(self) -> str:
        """Return the DAG in GraphML, weights as data of the edges."""
        return graphs.to_graphml(self.adjacency, self.names)

    def to_gml(self) -> str:
        """Return the DAG in GML, which DoWhy's ``CausalModel`` takes."""
        return graphs.to_gml(self.adjacency, self.names)

    def to_json(self) -> str:
        """Return the DAG as the JSON that `icdh.files.read_graph` reads: names, and edges with their weights."""
        return graphs.to_json(self.adjacency, self.names)

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
        return export.preformatted(self.summary())

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
        figure: Figure = export.shell("plotting").plot_model(self, ax)
        return figure

    def report(
        self,
        path: str | Path,
        X: TableLike = None,
        *,
        ensemble: object = None,
        check: object = None,
        notes: Sequence[str] = (),
        command: str = "",
        title: str = "",
    ) -> None:
        """Write one HTML page of what was learned, without links to anything outside it.

        It shows the table, the graph (to point at), and the edges with the fitted mean and spread of
        every effect. Then come residual checks, total effects, the assumptions with what speaks against them, and what
        made it. Needs the extra ``[report]``.

        Parameters
        ----------
        path : str or Path
            The file, by convention ending in ``.html``.
        X : array_like or DataFrame, shape (M, N), optional
            The observations; without them the table and the residuals are left out.
        ensemble : GraphEnsemble, optional
            Posterior or bootstrap: its probabilities of edges, and their table.
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
            If X does not have the columns of ``fit``, or the ensemble is not of the model's variables.
        OSError
            If the file cannot be written; an older one then stays as it was.
        """
        page = export.shell("report")
        facts = page.findings(self, X, ensemble=ensemble, check=check, notes=notes, command=command, title=title)
        page.write_page(path, facts)


def model_of(fitted: object) -> StructuralModel | None:
    """Return the model of a fitted estimator, or a model itself; None of anything else."""
    model = getattr(fitted, "model_", fitted)
    return model if isinstance(model, StructuralModel) else None


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
