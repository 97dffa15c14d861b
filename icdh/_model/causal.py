"""A DAG and the distribution of every variable given its causes: what all questions to a fitted model are about.

For every variable of the DAG there is a distribution given its causes,

    Z_n = mean_n(Z) + scale_n(Z) E_n,

on scaled data; the E_n are independent, standard normal or of another density of mean zero. Scaled data are
``(X - offset) / scale`` or a transform of these, see `icdh._table.table.Scaling`.
A variable of labels, or of few ordered levels, has a probability for each of them given its causes instead.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from icdh import graphs
from icdh._model.columns import ModelColumns
from icdh._node_model.law import Conditional
from icdh._table.table import Table
from icdh._utils.arrays import Floats, TableLike


class About(TypedDict, total=False):
    """How a model was made."""

    estimator: str
    n_observations: int
    n_effective: float
    weights: str
    related: str
    parameters: dict[str, str]
    versions: dict[str, str]
    weight_unit: str


def about_table(table: Table) -> About:
    """Return what a model says of the rows that it was learned from."""
    about: About = {"n_observations": table.n_observations}
    if table.weighting:
        about |= {"weights": table.weighting, "n_effective": table.n_effective}
    if table.related is not None:
        about["related"] = "groups" if table.related.places is None else "sequence"
    return about


@dataclass(frozen=True)
class EdgeEvidence:
    """What speaks for the edges of a graph, each of shape (N, N); None where nobody computed it.

    Attributes
    ----------
    probability : ndarray or None
        The probability of every edge, see `icdh.StructuralModel.with_edge_probability`.
    direction_loss, hidden_loss : ndarray or None
        The nats lost by reversing an edge, and if it is a hidden common cause instead: see `icdh.uncertainty`.
    mean_loss, spread_loss : ndarray or None
        The nats lost if a cause is left out of the mean of its effect alone, or of its spread alone, likewise; NaN
        where there is no edge, or the effect is no number.
    settled : ndarray or None
        1.0 where knowledge settled the direction of an edge: it was required, or its reverse forbidden.
    unidentified : ndarray or None
        1.0 of two columns of which one computes the other or has a heap: no data tell which is the cause.
    """

    probability: Floats | None = None
    direction_loss: Floats | None = None
    hidden_loss: Floats | None = None
    mean_loss: Floats | None = None
    spread_loss: Floats | None = None
    settled: Floats | None = None
    unidentified: Floats | None = None

    def nats(self, edge: tuple[int, int]) -> dict[str, float | None]:
        """Return the losses of an edge by name; None where one is no finite number."""
        losses = {name: values for name, values in vars(self).items() if name.endswith("_loss")}
        return {name: number_at(values, edge) for name, values in losses.items()}


def number_at(values: Floats | None, edge: tuple[int, int]) -> float | None:
    """Return what is known of an edge, from a matrix; None if that is no finite number."""
    return None if values is None or not np.isfinite(values[edge]) else float(values[edge])


@dataclass(frozen=True)
class CausalModel:
    """A DAG and the distribution of every variable given its causes.

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
    """

    columns: ModelColumns
    adjacency: Floats
    conditionals: Sequence[Conditional]
    edge_evidence: EdgeEvidence = EdgeEvidence()
    about: About = field(default_factory=About)

    @property
    def names(self) -> list[Hashable]:
        """The labels of the variables."""
        return self.columns.names

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

        Warns
        -----
        DataWarning
            If a column of few values has one that ``fit`` did not see, or a column seems to be in another unit.
        """
        table = self.columns.as_table(X)
        scaled = self.columns.scaled(table)
        self.columns.warn_of_strange_values(table)
        return scaled

    @property
    def nominal(self) -> set[int]:
        """The variables whose values are labels, which have no mean."""
        return {n for n, known in self.columns.categories.items() if not known.ordered}

    def in_units(self, node: int, scaled: Floats) -> Floats:
        """Return natural values of a variable in its units.

        Parameters
        ----------
        node : int
            The variable.
        scaled : ndarray, shape (M,)
            Its scaled values.
        """
        return self.conditionals[node].law.rounded(self.columns.in_units(node, scaled))

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
        conditional, scaling = self.conditionals[node], self.columns.scaling
        if node in scaling.transforms:
            return conditional.law.moments_of(lambda scaled: scaling.undo(scaled, node), conditional.outputs(values))
        mean, deviation = conditional.mean_and_scale(values)
        mean, deviation = scaling.undo(mean, node), deviation * scaling.scale[node]
        if node in self.nominal and conditional.law.has_mean:  # of two labels, the probability of the second
            return np.rint(mean), np.minimum(mean, 1.0 - mean)
        return mean, deviation

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
            values[others] = self.columns.centre[others, np.newaxis]
        return values

    def standardised_residuals(self, values: Floats) -> Floats:
        """Return the residuals of scaled observations ``values``, both of shape (N, M)."""
        given = enumerate(self.conditionals)
        return np.array([of.law.standardised(values[n], of.outputs(values)) for n, of in given])
