"""What both phases fit."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from icdh._ground.arrays import Floats, Mask
from icdh._ground.clock import Clock
from icdh.knowledge.rules import EdgeRules
from icdh.network import features_of


@dataclass(frozen=True)
class Problem:
    """A table, what is known of its graph, the penalties, the kind of noise, and when to end.

    Attributes
    ----------
    values : ndarray, shape (N, M)
        Observations, one variable a row.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    l1, l2 : float
        Penalties on W1 (lasso) and on W1 and W2 (ridge).
    noise : {"heteroscedastic", "unequal", "equal"}
        The scale: a function of the parents, a constant a node, or one everywhere.
    bias : bool
        Whether hidden units and means get intercepts.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for the distribution of each variable; by default all.
    clock : Clock
        Ends fits, by raising OutOfTime.
    """

    values: Floats
    rules: EdgeRules
    l1: float
    l2: float
    noise: str = "heteroscedastic"
    bias: bool = False
    rows: Mask | None = None
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def features(self) -> Floats:
        """The observations as the kernels read them, shape (N or N + 1, M): intercepts add a last row of ones."""
        return features_of(self.values, self.bias)

    def rows_of(self, child: int) -> Mask | None:
        """Return the observations that count for a child, shape (M,); None if all do."""
        return None if self.rows is None else self.rows[child]

    def of_every(self, step: int) -> "Problem":
        """Return the problem of every so many observations."""
        rows = None if self.rows is None else np.ascontiguousarray(self.rows[:, ::step])
        return replace(self, values=np.ascontiguousarray(self.values[:, ::step]), rows=rows)
