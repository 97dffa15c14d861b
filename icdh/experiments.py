"""Experiments: which values of a table were set by somebody, and which conditions do something unknown.

A value that was set says nothing of the causes of its variable, only of its effects. Where it is known what was set,
the rows where it was do not count for the distribution of that variable given its causes. Where a condition does
something unknown, it enters the graph as a variable of its own, without causes, which is one in its rows and zero in
others; what it turns out to cause are its targets.

References
----------
Cooper, Yoo: "Causal discovery from a mixture of experimental and observational data", UAI 1999.
Mooij, Magliacane, Claassen: "Joint causal inference from multiple contexts", JMLR 21(99), 2020.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from icdh._labels import listed, plural
from icdh.exceptions import DataWarning, warn
from icdh.knowledge.declared import variables_meant
from icdh.knowledge.rules import EdgeRules
from icdh.table import Table

FEWEST_ROWS = 20  # where a variable was left alone; with fewer its causes are not looked for


@dataclass(frozen=True)
class Interventions:
    """The condition that every observation was made under, and what each condition sets.

    Parameters
    ----------
    conditions : sequence, shape (M,)
        The condition of every row, by any label.
    targets : mapping
        From each condition to the variables that it sets, by name, index or pattern: an empty list if it sets none,
        None if that is not known. If nothing is known of any condition, the first in the table is what the others
        are compared with.

    Examples
    --------
    >>> from icdh import Interventions
    >>> Interventions(["none", "none", "drug a", "drug b"], {"none": [], "drug a": ["dose"], "drug b": None}).conditions
    ('none', 'none', 'drug a', 'drug b')
    """

    conditions: Sequence[Hashable]
    targets: Mapping[Hashable, Sequence | None]

    def __post_init__(self):
        if not isinstance(self.targets, Mapping):
            raise TypeError(f"targets must map every condition to the variables it sets; got {self.targets!r}")
        object.__setattr__(self, "conditions", tuple(self.conditions))
        if not all(isinstance(condition, Hashable) for condition in self.conditions):
            raise TypeError(f"conditions must hold one label a row; got {self.conditions[0]!r} for the first")
        for condition in dict.fromkeys(self.conditions):
            if condition not in self.targets:
                raise ValueError(
                    f"targets say nothing of condition {condition!r}; give the variables it sets, [] for none, or None "
                    "if that is not known"
                )
        for condition, targets in self.targets.items():
            if isinstance(targets, str) or not isinstance(targets, (Sequence, type(None))):
                raise TypeError(f"targets[{condition!r}] must be a list of variables or None; got {targets!r}")


@dataclass(frozen=True)
class Design:
    """What was done to the variables of a table.

    Attributes
    ----------
    left_alone : ndarray of bool, shape (N, M)
        Where nobody set a variable.
    contexts : ndarray, shape (K, M)
        For each condition that does something unknown a variable of its own: zero outside, and in it a number that
        makes the root mean square one.
    conditions : list
        The K conditions.
    """

    left_alone: np.ndarray
    contexts: np.ndarray
    conditions: list

    @classmethod
    def of(cls, interventions: Any, table: Table) -> "Design":
        """Return the design that an argument means: None, a mask of shape (M, N), or `Interventions`.

        Raises
        ------
        TypeError, ValueError
            If it is neither, does not fit the table, or names a variable that is not in it.

        Warns
        -----
        DataWarning
            If a variable was set in so many rows that its causes are not looked for.
        """
        if isinstance(interventions, Interventions):
            design = cls._of_conditions(interventions, table)
        else:
            contexts = np.zeros((0, table.n_observations))
            design = cls(~_checked_mask(interventions, table), contexts, [])
        design._warn_about_set_variables(table)
        return design

    @classmethod
    def _of_conditions(cls, interventions, table):
        labels, targets = interventions.conditions, interventions.targets
        _check_conditions(interventions, table)
        set_by_someone = np.zeros(table.values.shape, dtype=bool)
        present = list(dict.fromkeys(labels))
        rows = {condition: np.array([label == condition for label in labels]) for condition in present}
        for condition in present:
            own = variables_meant(targets[condition] or (), table.names, f"targets[{condition!r}]")
            set_by_someone |= np.outer(own, rows[condition])
        unknown = [condition for condition in present if targets[condition] is None]
        if unknown == present:
            unknown = unknown[1:]
        contexts = np.array([rows[condition] / np.sqrt(rows[condition].mean()) for condition in unknown])
        return cls(~set_by_someone, contexts.reshape(len(unknown), table.n_observations), unknown)

    def _warn_about_set_variables(self, table):
        labels = [repr(table.names[i]) for i in np.flatnonzero(self.always_set)]
        if labels:
            warn(
                f"{plural(labels, 'column')} {listed(labels)} left alone in fewer than {FEWEST_ROWS} rows: no "
                "causes are looked for",
                DataWarning,
            )

    @property
    def always_set(self) -> np.ndarray:
        """Which variables were left alone too rarely to look for their causes, shape (N,)."""
        few = self.left_alone.sum(axis=1) < FEWEST_ROWS
        return few & ~self.left_alone.all(axis=1)

    @property
    def rows(self) -> np.ndarray | None:
        """The observations that count for each variable and context, shape (N + K, M); None if all do."""
        if self.left_alone.all():
            return None
        counts = self.left_alone | self.always_set[:, np.newaxis]
        return np.vstack([counts, np.ones(self.contexts.shape, dtype=bool)])

    @property
    def baseline(self) -> np.ndarray | None:
        """Where a variable counts and no unknown intervention was made, shape (N, M); None if everywhere."""
        if self.left_alone.all() and not self.conditions:
            return None
        rows = np.ones(self.left_alone.shape, dtype=bool) if self.rows is None else self.rows[: len(self.left_alone)]
        return rows & ~self.contexts.any(axis=0)

    def rules(self, rules: EdgeRules) -> EdgeRules:
        """Return rules about variables and contexts: contexts, and what was always set, have no causes."""
        N, K = len(self.left_alone), len(self.conditions)
        forbidden, required = np.zeros((2, N + K, N + K), dtype=bool)
        forbidden[:, N:] = True
        forbidden[:N, :N] = rules.forbidden | (self.always_set & ~rules.required)
        required[:N, :N] = rules.required
        return EdgeRules.of(forbidden, required)

    def with_contexts(self, values: np.ndarray) -> np.ndarray:
        """Return scaled values with those of the contexts below, shape (N + K, M)."""
        return np.vstack([values, self.contexts]) if self.conditions else values

    def targets(self, adjacency: np.ndarray) -> dict:
        """Return for each condition what it does to every variable, shape (N,), given the graph of all."""
        N = len(self.left_alone)
        return {condition: adjacency[N + k, :N] for k, condition in enumerate(self.conditions)}


def interventions_of_rows(interventions: Any, rows: np.ndarray, table: Table) -> Any:
    """Return interventions, in any form that `Design.of` takes, of some rows of a table.

    Parameters
    ----------
    interventions : None, array_like or Interventions
        Of all rows.
    rows : ndarray
        A mask of shape (M,), or row numbers of any shape (K,).
    table : Table
        What the interventions belong to.

    Raises
    ------
    TypeError, ValueError
        If they do not fit the table.
    """
    if interventions is None:
        return None
    if not isinstance(interventions, Interventions):
        return _checked_mask(interventions, table)[:, rows].T
    _check_conditions(interventions, table)
    kept = np.arange(table.n_observations)[rows]
    return Interventions([interventions.conditions[row] for row in kept], interventions.targets)


def _check_conditions(interventions, table):
    """Raise ValueError unless there is a condition for every row."""
    given, needed = len(interventions.conditions), table.n_observations
    if given != needed:
        raise ValueError(f"interventions has {given} conditions where X has {needed} rows")


def _checked_mask(interventions: ArrayLike | None, table: Table) -> np.ndarray:
    """Return where variables were set, shape (N, M)."""
    if interventions is None:
        return np.zeros(table.values.shape, dtype=bool)
    mask = np.asarray(interventions)
    if mask.dtype != bool:
        raise TypeError(
            f"interventions must be an icdh.Interventions or boolean, True where a value was set; got {mask.dtype}"
        )
    if mask.shape != table.values.T.shape:
        raise ValueError(f"interventions has shape {mask.shape} where X has {table.values.T.shape}")
    return mask.T
