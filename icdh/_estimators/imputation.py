"""Fits to a table with gaps: each to values drawn from the model of the fit before."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock
from icdh._model.gaps import redrawn
from icdh._model.structural import StructuralModel
from icdh._table.missing import neighbours_values
from icdh._table.table import Table


class FittedEstimator(Protocol):
    """What imputation reads of an estimator that was fitted."""

    model_: StructuralModel
    adjacency_matrix_: Floats
    interrupted_: bool
    timed_out_: bool


Fitted = TypeVar("Fitted", bound=FittedEstimator)


@dataclass(frozen=True)
class Imputations(Generic[Fitted]):
    """The fits of an estimator to imputed tables.

    Attributes
    ----------
    fits : list of CausalGraphEstimator
        The fits that count: the first one, on values of similar rows and not of a model, only if it is the only one.
    n_done : int
        The number of all fits.
    are_cut : bool
        Whether these are too few because time was over.
    said : list of warnings.WarningMessage
        What the last fit warned of.
    """

    fits: list[Fitted]
    n_done: int
    are_cut: bool
    said: list[warnings.WarningMessage]

    @classmethod
    def of(
        cls, fit: Callable[[Table], Fitted], table: Table, n_imputations: int, rng: np.random.Generator, clock: Clock
    ) -> "Imputations[Fitted]":
        """Fit to imputed tables in turn.

        Parameters
        ----------
        fit : callable
            Returns a new estimator, fitted to a table without gaps.
        table : Table
            The table.
        n_imputations : int
            The number of fits.
        rng : Generator
            Draws values.
        clock : Clock
            Ends the fits, the first one aside.
        """
        completed = replace(table, values=neighbours_values(table, rng), imputed=table.gaps)
        fits: list[Fitted] = []
        said: list[warnings.WarningMessage] = []
        while len(fits) < n_imputations and not (fits and (fits[-1].interrupted_ or clock.is_over)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                fits.append(fit(completed))
            said = caught
            completed = redrawn(fits[-1].model_, completed, table.gaps, rng)
        whole = [model for model in fits[1:] if not model.timed_out_]
        return cls(whole or fits[:1], len(fits), len(fits) < n_imputations and not fits[-1].interrupted_, said)

    def typical(self) -> tuple[Fitted, Floats]:
        """Return the fit whose graph agrees best with the others, and the share of fits with each edge, (N, N)."""
        graphs = np.array([fit.adjacency_matrix_ != 0 for fit in self.fits])
        probability = graphs.mean(axis=0)
        return self.fits[int(np.argmin(np.abs(graphs - probability).sum(axis=(1, 2))))], probability
