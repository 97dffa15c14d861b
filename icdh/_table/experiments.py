"""Experiments: which values an intervention set, and which conditions have unknown targets.

A value that was set tells nothing about the causes of its variable, only about its effects. If the targets are known,
rows where a variable was set do not count for its distribution given its causes. If the targets are unknown, the
condition becomes a variable of the graph: it has no causes, is one in its own rows and zero in all others. The
variables that it is found to cause are its targets.

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

from icdh._ground.labels import listed, plural
from icdh._table.table import Table
from icdh.exceptions import DataWarning, warn
from icdh.knowledge.declared import variables_meant
from icdh.knowledge.rules import EdgeRules

FEWEST_ROWS = 20  # a variable's causes are searched only if so many rows did not set it


@dataclass(frozen=True)
class Interventions:
    """The condition that every observation was made under, and what each condition sets.

    Parameters
    ----------
    conditions : sequence, shape (M,)
        The condition of every row, as any label.
    targets : mapping
        From each condition to the variables that it sets, by name, index or pattern: an empty list if it sets none,
        None if its targets are unknown. If all targets are unknown, the first condition in the table is the
        reference for the others.

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
    """The interventions on the variables of a table.

    Attributes
    ----------
    left_alone : ndarray of bool, shape (N, M)
        True where no intervention set the variable.
    contexts : ndarray, shape (K, M)
        One variable for each condition of unknown targets: zero outside the condition, and inside it the constant
        that makes its root mean square one.
    conditions : list
        The K conditions of unknown targets.
    """

    left_alone: np.ndarray
    contexts: np.ndarray
    conditions: list

    @classmethod
    def of(cls, interventions: Any, table: Table) -> "Design":
        """Return the design of an argument ``interventions``: None, a mask of shape (M, N), or `Interventions`.

        Raises
        ------
        TypeError, ValueError
            If the argument is none of these, does not fit the table, or names an unknown variable.

        Warns
        -----
        DataWarning
            If a variable was set in so many rows that its causes are not searched.
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
        """Which variables have too few rows without an intervention to search their causes, shape (N,)."""
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
        """Where a variable counts and no condition of unknown targets holds, shape (N, M); None if everywhere."""
        if self.left_alone.all() and not self.conditions:
            return None
        rows = np.ones(self.left_alone.shape, dtype=bool) if self.rows is None else self.rows[: len(self.left_alone)]
        return rows & ~self.contexts.any(axis=0)

    def rules(self, rules: EdgeRules) -> EdgeRules:
        """Return rules about variables and contexts: contexts, and variables always set, have no causes."""
        N, K = len(self.left_alone), len(self.conditions)
        forbidden, required = np.zeros((2, N + K, N + K), dtype=bool)
        forbidden[:, N:] = True
        forbidden[:N, :N] = rules.forbidden | (self.always_set & ~rules.required)
        required[:N, :N] = rules.required
        return EdgeRules.of(forbidden, required)

    def with_contexts(self, values: np.ndarray) -> np.ndarray:
        """Return scaled values followed by the contexts, shape (N + K, M)."""
        return np.vstack([values, self.contexts]) if self.conditions else values

    def targets(self, adjacency: np.ndarray) -> dict:
        """Return for each condition the weights of its edges to every variable, shape (N,), from the whole graph."""
        N = len(self.left_alone)
        return {condition: adjacency[N + k, :N] for k, condition in enumerate(self.conditions)}


def interventions_of_rows(interventions: Any, rows: np.ndarray, table: Table) -> Any:
    """Return the interventions on selected rows, in the form in which they were given.

    Parameters
    ----------
    interventions : None, array_like or Interventions
        The interventions on all rows.
    rows : ndarray
        A mask of shape (M,), or row numbers of any shape (K,).
    table : Table
        The table of all rows.

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
