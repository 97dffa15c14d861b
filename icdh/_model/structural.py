"""The structural model that every estimator learns.

For every variable of a DAG there is a distribution given its causes,

    Z_n = mean_n(Z) + scale_n(Z) E_n,

on scaled data ``Z = (X - offset) / scale``; the E_n are independent, standard normal or distributed as the residuals.
A variable of labels, or of few ordered levels, has a probability for each of them given its causes instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from icdh import graphs
from icdh._ground.checks import as_float
from icdh._model import intervene
from icdh._model.conditionals import Conditional, has_probabilities
from icdh._model.intervening import Intervening
from icdh._model.noise import Empirical, Gaussian, Noise, Uniform
from icdh._model.predicting import Predicting
from icdh._model.reporting import Reporting
from icdh._table.table import Scaling, Table

ROUNDING = 1e-9  # by which a sum of weights may exceed one


@dataclass(frozen=True)
class StructuralModel(Predicting, Intervening, Reporting):
    """A DAG and the distribution of every variable given its causes.

    Wherever a method takes a variable, that is a name or an index; wherever it returns a table, that is a DataFrame if
    the model was learned from one, a table of polars or pyarrow if that was one, and an array otherwise.

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
    noise : sequence of Noise
        The distribution of the standardised noise of every variable; standard normal by default, of labels and levels
        uniform.
    frame : str
        The library whose table the data came in, "pandas", "polars" or "pyarrow"; empty if it was an array.
    categories : dict of int to Categories
        The labels of the variables that have labels.
    levels : dict of int to ndarray
        The values, in ascending order and in their units, of the variables that take few.
    about : dict
        How the model was made: ``estimator``, ``parameters``, ``n_observations``, ``versions``, all of it text and
        numbers. Empty if unknown.
    edge_probability : ndarray, shape (N, N), or None
        The probability of every edge, if it was given: see `with_edge_probability`.
    search_agreement : ndarray, shape (N, N), or None
        The share of several searches that found each edge; None where there was one.
    kinds : list of str, or None
        The kinds of columns that a search saw; None where nothing looked at kinds.
    column_transform : str
        The transform under which it looked for the graph.

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

    names: list
    named: bool
    scaling: Scaling
    adjacency: np.ndarray
    conditionals: Sequence[Conditional]
    centre: np.ndarray
    noise: Sequence[Noise] = ()
    frame: str = ""
    about: dict = field(default_factory=dict)
    edge_probability: np.ndarray | None = None
    search_agreement: np.ndarray | None = None
    categories: dict = field(default_factory=dict)
    levels: dict = field(default_factory=dict)
    kinds: list | None = None
    column_transform: str = "none"

    def __post_init__(self):
        if not self.noise:
            object.__setattr__(
                self, "noise", [Uniform() if has_probabilities(own) else Gaussian() for own in self.conditionals]
            )

    @classmethod
    def of(
        cls,
        table: Table,
        scaling: Scaling,
        adjacency: np.ndarray,
        conditionals: Sequence[Conditional],
        levels: Mapping[int, np.ndarray] | None = None,
    ) -> "StructuralModel":
        """Return the model learned from a table, with Gaussian noise; ``levels`` are those of some of its variables."""
        centre = scaling.apply(table.values.mean(axis=1, keepdims=True))[:, 0]
        centre[table.unordered] = 0.0
        about = {"n_observations": table.n_observations}
        more = {"frame": table.frame, "about": about, "categories": table.categories, "levels": dict(levels or {})}
        return cls(table.names, table.named, scaling, adjacency, conditionals, centre, **more)

    def with_noise_of(self, values: np.ndarray, rows: np.ndarray | None = None) -> "StructuralModel":
        """Return the model whose noise is distributed as the residuals of scaled observations, shape (N, M).

        ``rows``, of that shape, are the observations that count for each variable; by default, or if none does, all.
        """
        noise = intervene.abducted(self, self.scaling.undo(values), values).noise
        if rows is not None:
            noise = [own[counts] if counts.any() else own for own, counts in zip(noise, rows, strict=True)]
        found = [Empirical(np.sort(residuals)) for residuals in noise]
        pairs = zip(self.conditionals, found, strict=True)
        return replace(self, noise=[Uniform() if has_probabilities(given) else own for given, own in pairs])

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
        probability = as_float(np.asarray(edge_probability), "edge_probability")
        if probability.shape != self.adjacency.shape:
            raise ValueError(f"edge_probability must have shape {self.adjacency.shape}; got {probability.shape}")
        if not ((probability >= 0.0) & (probability <= 1.0 + ROUNDING)).all():
            raise ValueError("edge_probability must hold probabilities, numbers from 0 to 1")
        return replace(self, edge_probability=np.minimum(probability, 1.0))

    def causal_order(self) -> list[int]:
        """Return the variables, causes before effects."""
        return graphs.causal_order(self.adjacency)


def load(path: str | Path) -> StructuralModel:
    """Read a model that ``save`` wrote.

    Nothing in the file is executed, and it cannot ask for more memory than its own size, so that a file from a
    stranger is safe to open.

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

    return StructuralModel(**read_model(path))
