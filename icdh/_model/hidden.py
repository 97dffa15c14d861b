"""Hidden common causes in a structural model: what is known of their values, and the density of their children.

A child of a hidden cause U ~ N(0, 1) is its mean plus loading times U plus scale times noise of its own. Its
conditional has the scale of both together, U unknown; `icdh._node_model.hidden` says how rows tell of U.
"""

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from icdh._ground.arrays import Floats, Mask, TableLike
from icdh._ground.density import pointwise_nll
from icdh._model.conditionals import confounded
from icdh.exceptions import ArgumentValueError, option

if TYPE_CHECKING:
    from icdh._model.structural import StructuralModel
    from icdh._node_model.hidden import Posterior


class HiddenCause(NamedTuple):
    """A common cause of several variables that is no column of the table.

    Attributes
    ----------
    children : tuple
        The names of its effects.
    loadings : ndarray, shape (c,)
        What one standard deviation of the hidden cause adds to each of them, in its units.
    strength : float
        The nats that the score of the graph loses without it.

    Examples
    --------
    >>> import icdh
    >>> season = icdh.HiddenCause(("rain", "wind", "ice"), np.array([2.0, 1.0, 0.5]), 25.0)
    >>> season.children
    ('rain', 'wind', 'ice')
    """

    children: tuple[Hashable, ...]
    loadings: Floats
    strength: float

    def __str__(self) -> str:
        return f"hidden cause of {', '.join(map(str, self.children))}"


class HiddenValues(NamedTuple):
    """What rows tell of hidden causes, each standardised.

    Attributes
    ----------
    mean, spread : ndarray, both of shape (M, K)
        Mean and standard deviation of the value of each hidden cause in each row, given the row.

    Examples
    --------
    >>> import icdh
    >>> values = icdh.HiddenValues(np.array([[0.5], [-1.0]]), np.array([[0.3], [0.3]]))
    >>> values.mean.shape
    (2, 1)
    """

    mean: Floats
    spread: Floats


class Part(NamedTuple):
    """The children of one hidden cause at some rows.

    Attributes
    ----------
    nodes : list of int
        The children.
    residuals, scales : ndarray, shape (c, M)
        What the causes leave of their values, and the scale of their own noise.
    loadings : ndarray, shape (c,)
        Those of scaled data.
    posterior : Posterior
        The hidden values.
    """

    nodes: list[int]
    residuals: Floats
    scales: Floats
    loadings: Floats
    posterior: "Posterior"

    def nll(self) -> Floats:
        """Return the joint negative log-density of the children, shape (M,): the bound where it is tight."""
        rest = self.residuals - np.outer(self.loadings, self.posterior.mean)
        spread = np.outer(np.square(self.loadings), self.posterior.variance)
        own = pointwise_nll(rest, np.zeros(rest.shape), self.scales) + 0.5 * spread / np.square(self.scales)
        mean, variance = self.posterior
        nats: Floats = own.sum(axis=0) + 0.5 * (np.square(mean) + variance - 1.0 - np.log(variance))
        return nats


def parts(model: "StructuralModel", scaled: Floats) -> Iterator[Part]:
    """Yield the children of each hidden cause of a model at scaled observations, shape (N, M)."""
    from icdh._node_model.hidden import posterior

    for cause in model.hidden_causes:
        nodes = [model.names.index(child) for child in cause.children]
        given = confounded(model.conditionals, nodes)
        outputs = [own.given_hidden().mean_and_scale(scaled) for own in given]
        residuals = scaled[nodes] - np.array([mean for mean, _ in outputs])
        scales, loadings = np.array([scale for _, scale in outputs]), np.array([own.loading for own in given])
        yield Part(nodes, residuals, scales, loadings, posterior(residuals, np.square(scales), loadings))


def hidden_values(model: "StructuralModel", X: TableLike) -> HiddenValues:
    """Return what rows tell of the values of the hidden causes.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations; the columns of ``fit``, in the same order.

    Returns
    -------
    icdh.HiddenValues
        Means and standard deviations, one column a hidden cause, in the order of ``hidden_causes``.

    Raises
    ------
    ValueError, TypeError
        As `predict`.
    """
    return hidden_values_of(model, model.scaled(X))


def hidden_values_of(model: "StructuralModel", scaled: Floats) -> HiddenValues:
    """Return what scaled observations, shape (N, M), tell of the values of the hidden causes."""
    found = [part.posterior for part in parts(model, scaled)]
    values = np.array([[own.mean, np.sqrt(own.variance)] for own in found]).reshape(len(found), 2, scaled.shape[1])
    return HiddenValues(values[:, 0].T, values[:, 1].T)


def bidirected_edges(model: "StructuralModel") -> Mask:
    """Return which pairs of variables have a hidden cause in common, bool, shape (N, N), symmetric."""
    joined = np.zeros(model.adjacency.shape, dtype=bool)
    for cause in model.hidden_causes:
        nodes = [model.names.index(child) for child in cause.children]
        joined[np.ix_(nodes, nodes)] = True
    np.fill_diagonal(joined, False)
    return joined


def graph_with_hidden(model: "StructuralModel") -> tuple[Floats, list[Hashable]]:
    """Return the weights and names of a graph in which hidden causes are nodes, too, after the variables.

    The weight of their arrows is their strength.
    """
    N, K = len(model.names), len(model.hidden_causes)
    weights = np.zeros((N + K, N + K))
    weights[:N, :N] = model.adjacency
    for k, cause in enumerate(model.hidden_causes, start=N):
        weights[k, [model.names.index(child) for child in cause.children]] = cause.strength
    return weights, [*model.names, *map(str, model.hidden_causes)]


def refuse_hidden_causes(model: object, what: str) -> None:
    """Raise ArgumentValueError if a model has hidden causes, of which something takes no account.

    Parameters
    ----------
    model : StructuralModel or fitted estimator
        The model.
    what : str
        What takes no account of them.
    """
    found = getattr(getattr(model, "model_", model), "hidden_causes", ())
    if found:
        remedy = f"fit without {option('hidden_causes', True)} for it"
        raise ArgumentValueError("model", f"has a {found[0]}, of which {what} takes no account; {remedy}")
