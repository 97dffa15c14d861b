"""Hidden common causes in a structural model: what is known of their values, and the density of their children.

A hidden cause U ~ N(0, 1) adds loading times U to its children. `icdh._node_model.confounded` gives the posterior of U.
The conditional of a child is that of U unknown.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeGuard

import numpy as np

from icdh._model.causal import CausalModel
from icdh._node_model.law import Conditional
from icdh._utils.arrays import Floats, Mask, TableLike
from icdh.exceptions import ArgumentValueError, option


class HiddenPosterior(Protocol):
    """The posterior of a hidden cause: the mean and variance of its value in each row, of shape (M,)."""

    mean: Floats
    variance: Floats

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return standardised draws of the hidden values, shape (M,)."""
        ...


class Confounded(Protocol):
    """The distribution of a child of a hidden cause."""

    loading: float

    def mean_and_scale_at(self, values: Floats, hidden: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables and the hidden values, shape (M,)."""
        ...

    def posterior_with(
        self, children: "Sequence[Confounded]", observed: Floats, values: Floats
    ) -> tuple[HiddenPosterior, Floats]:
        """Return the posterior of the hidden values, and the joint negative log-density of all children, shape (M,).

        The children are of one kind; the values observed have shape (c, M), all variables (N, M).
        """
        ...


def is_confounded(conditional: object) -> TypeGuard[Confounded]:
    """Return whether a conditional is that of a child of a hidden cause."""
    return hasattr(conditional, "loading")


def confounded(conditionals: Sequence[Conditional], nodes: Sequence[int]) -> list[Confounded]:
    """Return the distributions of the children of a hidden cause."""
    return [given for given in (conditionals[node] for node in nodes) if is_confounded(given)]


class HiddenValues(NamedTuple):
    """The posterior of hidden causes given each row, standardised.

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
    noise : ndarray, shape (c, M)
        Their standardised noise, the hidden value at its mean.
    posterior : HiddenPosterior
        The hidden values.
    nll : ndarray, shape (M,)
        The joint negative log-density of the children.
    """

    nodes: list[int]
    noise: Floats
    posterior: HiddenPosterior
    nll: Floats


def parts(model: CausalModel, scaled: Floats) -> Iterator[Part]:
    """Yield the children of each hidden cause of a model at scaled observations, shape (N, M)."""
    for cause in model.hidden_causes:
        nodes = [model.names.index(child) for child in cause.children]
        given = confounded(model.conditionals, nodes)
        hidden, nll = given[0].posterior_with(given, scaled[nodes], scaled)
        outputs = (child.mean_and_scale_at(scaled, hidden.mean) for child in given)
        noise = [(scaled[node] - mean) / scale for node, (mean, scale) in zip(nodes, outputs, strict=True)]
        yield Part(nodes, np.array(noise), hidden, nll)


def hidden_values(model: CausalModel, X: TableLike) -> HiddenValues:
    """Return the posterior of the values of the hidden causes.

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


def hidden_values_of(model: CausalModel, scaled: Floats) -> HiddenValues:
    """Return what scaled observations, shape (N, M), tell of the values of the hidden causes."""
    found = [part.posterior for part in parts(model, scaled)]
    moments = [[hidden.mean, np.sqrt(hidden.variance)] for hidden in found]
    values = np.array(moments).reshape(len(found), 2, scaled.shape[1])
    return HiddenValues(values[:, 0].T, values[:, 1].T)


def bidirected_edges(model: CausalModel) -> Mask:
    """Return which pairs of variables have a hidden cause in common, bool, shape (N, N), symmetric."""
    joined = np.zeros(model.adjacency.shape, dtype=bool)
    for cause in model.hidden_causes:
        nodes = [model.names.index(child) for child in cause.children]
        joined[np.ix_(nodes, nodes)] = ~np.eye(len(nodes), dtype=bool)
    return joined


def graph_with_hidden(model: CausalModel) -> tuple[Floats, list[Hashable]]:
    """Return the weights and names of a graph in which hidden causes are nodes, too, after the variables.

    The weight of their arrows is their strength.
    """
    N, K = len(model.names), len(model.hidden_causes)
    weights = np.zeros((N + K, N + K))
    weights[:N, :N] = model.adjacency
    for k, cause in enumerate(model.hidden_causes, start=N):
        weights[k, [model.names.index(child) for child in cause.children]] = cause.strength
    return weights, [*model.names, *map(str, model.hidden_causes)]


def refuse_hidden_causes(model: object, what: str, remedy: str = "") -> None:
    """Raise ArgumentValueError if a model has hidden causes, of which something takes no account.

    Parameters
    ----------
    model : StructuralModel or fitted estimator
        The model.
    what : str
        What takes no account of them.
    remedy : str
        What else can be done than to fit without them.
    """
    found = getattr(getattr(model, "model_", model), "hidden_causes", ())
    if found:
        remedies = f"{remedy and remedy + ', or '}fit without {option('hidden_causes', True)} for it"
        raise ArgumentValueError("model", f"has a {found[0]}, of which {what} takes no account; {remedies}")
