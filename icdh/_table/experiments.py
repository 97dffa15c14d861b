"""Experiments: interventions and how they spread, which values one set, and which conditions have unknown targets.

An intervention, ``do``, gives a variable other values, whatever its causes; its descendants respond, and nothing else
changes. Fitted models and simulated truths share this code.

A value that was set is evidence of the effects of its variable, not of its causes. If the targets are known,
rows where a variable was set do not count for its distribution given its causes. If the targets are unknown, the
condition becomes a variable of the graph: it has no causes, is one in its rows and zero in all others. The
variables that it is found to cause are its targets.

References
----------
Cooper, Yoo: "Causal discovery from a mixture of experimental and observational data", UAI 1999.
Mooij, Magliacane, Claassen: "Joint causal inference from multiple contexts", JMLR 21(99), 2020.
Pearl: "Causality: Models, Reasoning, and Inference", 2nd edition, 2009, Definitions 3.2.1 and 7.1.5.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from icdh._table.table import Table
from icdh._utils.arrays import ByColumn, Floats, Integers, Mask
from icdh._utils.checks import Number, aligned, as_float
from icdh._utils.labels import listed, plural, variable_index
from icdh.exceptions import option, warn
from icdh.graphs import causal_order
from icdh.knowledge import EdgeRules, variables_meant

FEWEST_ROWS = 20  # of a table that left a variable alone: with fewer its causes are not searched
LEAST_PART = 2  # of a part of a table
Action = Callable[[Floats], Floats]
AsNumbers = Callable[[int, object, str], object]


@dataclass(frozen=True)
class Shift:
    """The intervention that adds a number to the value that a variable would have had: its causes still act on it.

    Attributes
    ----------
    by : float
        In the units of the variable.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh import Shift
    >>> Shift(1.5)(np.array([0.0, 1.0]))
    array([1.5, 2.5])
    """

    by: float

    def __post_init__(self) -> None:
        Number().check("by", self.by)

    def __call__(self, natural: Floats) -> Floats:
        """Return the shifted values, shape (M,)."""
        return natural + self.by


def actions_of(
    do: ByColumn[object] | None, names: Sequence[Hashable], n_rows: int, as_numbers: AsNumbers | None = None
) -> dict[int, Action]:
    """Return, for every intervened variable, the function from its natural values to its values under ``do``.

    Parameters
    ----------
    do : mapping or None
        From names or indices to a number, to an array with one number a row, or to a function. The function gets the
        natural values, shape (M,), and returns the values under ``do``: a number or shape (M,).
    names : sequence
        The N names, of any type.
    n_rows : int
        M.
    as_numbers : callable, optional
        Returns what ``do`` sets a variable to as numbers, given the variable, that, and what messages call it.

    Raises
    ------
    ValueError, TypeError
        If ``do`` names an unknown variable, names one twice, or sets one to anything but finite numbers.
    """
    if do is None:
        return {}
    if not isinstance(do, Mapping):
        raise TypeError(f"do must map variables to values, as in do={{{names[0]!r}: 1.0}}; got {do!r}")
    actions = {}
    for key, value in do.items():
        node = variable_index(key, names, "do")
        if node in actions:
            raise ValueError(f"{option('do')} names the variable {names[node]!r} twice; keep one of the two")
        where = f"the intervention on {names[node]!r}" if callable(value) else option("do", of=key)
        actions[node] = _action(where, as_numbers(node, value, where) if as_numbers else value, n_rows)
    return actions


def _action(label: str, value: object, n_rows: int) -> Action:
    if callable(value):
        return lambda natural: _checked_values(f"the result of {label}", value(natural.copy()), n_rows)
    values = _checked_values(label, value, n_rows)
    return lambda natural: values


def _checked_values(label: str, value: object, n_rows: int) -> Floats:
    values = as_float(np.asarray(value), label)
    if values.shape not in ((), (n_rows,)):
        raise ValueError(f"{label} must be one number or have shape ({n_rows},), one a row; got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{label} holds NaN or infinity; a variable can only be set to finite numbers")
    return np.broadcast_to(values, (n_rows,))


def carry_out(
    adjacency: Floats | Integers, actions: dict[int, Action], values: Floats, respond: Callable[[int, Floats], Floats]
) -> None:
    """Apply interventions in place, causes before effects; values that no intervention reaches keep their bits.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The DAG.
    actions : mapping
        As `actions_of` returns it.
    values : ndarray, shape (N, M)
        The values without the interventions, one variable a row.
    respond : callable
        ``respond(node, values)`` returns the values of a variable given those of its causes, shape (M,).
    """
    reached = np.zeros(len(adjacency), dtype=bool)
    for node in causal_order(adjacency):
        if reached[adjacency[:, node] != 0].any():
            values[node], reached[node] = respond(node, values), True
        if node in actions:
            values[node], reached[node] = actions[node](values[node]), True


@dataclass(frozen=True)
class Interventions:
    """The condition that every observation was made under, and what each condition sets.

    Parameters
    ----------
    conditions : sequence, shape (M,)
        The condition of every row, as any label.
    targets : mapping
        From each condition to the variables that it sets, by name, index or pattern. An empty list says that it sets
        none, None that its targets are unknown.
    reference : hashable, optional
        The condition of unknown targets that the others are compared with. By default it is the first condition in the
        table if all targets are unknown, and else there is none.

    Examples
    --------
    >>> from icdh import Interventions
    >>> Interventions(["none", "none", "drug a", "drug b"], {"none": [], "drug a": ["dose"], "drug b": None}).conditions
    ('none', 'none', 'drug a', 'drug b')
    """

    conditions: Sequence[Hashable]
    targets: Mapping[Hashable, Sequence[Hashable] | None]
    reference: Hashable = None

    def __post_init__(self) -> None:
        labels = self.conditions.index if hasattr(self.conditions, "iloc") else None
        object.__setattr__(self, "row_labels", labels)  # of a pandas column, which another order of rows contradicts
        if not isinstance(self.targets, Mapping):
            raise TypeError(f"targets must map every condition to the variables it sets; got {self.targets!r}")
        object.__setattr__(self, "conditions", tuple(self.conditions))
        if no_labels := [condition for condition in self.conditions if not isinstance(condition, Hashable)]:
            raise TypeError(f"conditions must hold one label a row; got {no_labels[0]!r}")
        for condition in self._present:
            if condition not in self.targets:
                raise ValueError(
                    f"targets lack condition {condition!r}; give the variables it sets, [] for none, or None "
                    "if that is not known"
                )
        for condition, targets in self.targets.items():
            if isinstance(targets, str) or not isinstance(targets, (Sequence, type(None))):
                raise TypeError(f"targets[{condition!r}] must be a list of variables or None; got {targets!r}")
        if self.reference is not None and self.targets.get(self.reference, ()) is not None:
            raise ValueError(f"reference must be a condition of unknown targets; got {self.reference!r}")

    @property
    def _present(self) -> list[Hashable]:
        return list(dict.fromkeys(self.conditions))

    @property
    def contexts(self) -> list[Hashable]:
        """The conditions of unknown targets that are compared with the reference, or with what is known."""
        present = self._present
        contexts = [name for name in present if self.targets[name] is None and name != self.reference]
        return contexts[1:] if len(contexts) == len(present) else contexts

    def of_rows(self, rows: ArrayLike) -> "Interventions":
        """Return the interventions on some rows, compared with the same reference.

        Parameters
        ----------
        rows : array_like
            A mask of shape (M,), or row numbers of shape (K,).

        Examples
        --------
        >>> from icdh import Interventions
        >>> Interventions(["none", "drug", "none"], {"none": None, "drug": None}).of_rows([1, 2]).reference
        'none'
        """
        kept = [self.conditions[row] for row in np.arange(len(self.conditions))[np.asarray(rows)]]
        all_unknown = all(self.targets[condition] is None for condition in self._present)
        reference = self.conditions[0] if self.reference is None and all_unknown else self.reference
        return Interventions(kept, self.targets, reference)


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
    condition_of : ndarray of int, shape (M,)
        A number for the condition of every observation; zero if conditions have no names.
    without_causes : ndarray of bool, shape (N,)
        The variables whose causes are not searched. It is decided once, for a whole table: in a part of its rows every
        variable is left alone less often.
    """

    left_alone: Mask
    contexts: Floats
    conditions: list[Hashable]
    condition_of: Integers
    without_causes: Mask

    @classmethod
    def of(cls, interventions: "InterventionsLike", table: Table, rows: Mask | None = None) -> "Design":
        """Return the design of an argument ``interventions``: None, a mask of shape (M, N), or `Interventions`.

        Parameters
        ----------
        interventions : None, array_like, Interventions or Design
            What was done to the rows of the table. A Design keeps the variables whose causes are not searched.
        table : Table
            The table.
        rows : ndarray of bool, shape (M,), optional
            The rows that the design is of; by default all.

        Raises
        ------
        TypeError, ValueError
            If the argument is none of these, does not fit the table, or names an unknown variable.

        Warns
        -----
        DataWarning
            If a variable was set in so many rows that its causes are not searched.
        """
        if isinstance(interventions, Design):
            return interventions if rows is None else interventions.of_rows(rows)
        if isinstance(interventions, Interventions):
            design = cls._of_conditions(interventions, table)
        else:
            mask, one = _checked_mask(interventions, table), np.zeros(table.n_observations, dtype=int)
            nothing = np.zeros((0, table.n_observations))
            design = cls(~mask, nothing, [], one, np.zeros(table.n_variables, dtype=bool))
        if rows is not None:
            design = design.of_rows(rows)
        is_short = design.left_alone.sum(axis=1) < FEWEST_ROWS
        design = replace(design, without_causes=is_short & ~design.left_alone.all(axis=1))
        if labels := [repr(table.names[i]) for i in np.flatnonzero(design.without_causes)]:
            what = f"{plural(labels, 'column')} {listed(labels)} left alone in fewer than {FEWEST_ROWS} rows"
            warn(f"{what}: no causes are looked for")
        return design

    @classmethod
    def _of_conditions(cls, interventions: Interventions, table: Table) -> "Design":
        given, needed = len(interventions.conditions), table.n_observations
        if given != needed:
            raise ValueError(f"interventions has {given} conditions where X has {needed} rows")
        left_alone = np.ones(table.values.shape, dtype=bool)
        rows = {
            condition: np.array([label == condition for label in interventions.conditions])
            for condition in dict.fromkeys(interventions.conditions)
        }
        for condition, in_force in rows.items():
            targets = interventions.targets[condition] or ()
            left_alone &= ~np.outer(variables_meant(targets, table.names, f"targets[{condition!r}]"), in_force)
        conditions, numbers = interventions.contexts, np.arange(len(rows))
        condition_of = numbers @ np.array(list(rows.values()))
        contexts = np.array([rows[condition] for condition in conditions]).reshape(len(conditions), needed)
        without_causes = np.zeros(table.n_variables, dtype=bool)
        return cls(left_alone, _of_unit_size(contexts), conditions, condition_of, without_causes)

    def of_rows(self, rows: Integers | Mask) -> "Design":
        """Return the design of some rows: a mask of shape (M,), or row numbers.

        Conditions without a row go, and if no row is left of what they are compared with, the first of them.
        """
        in_force = self.contexts[:, rows] != 0.0
        kept = np.flatnonzero(in_force.any(axis=1))
        if kept.size and in_force.any(axis=0).all():
            kept = kept[1:]
        contexts, conditions = _of_unit_size(in_force[kept]), [self.conditions[k] for k in kept]
        whole = replace(self, contexts=contexts, conditions=conditions)
        return replace(whole, left_alone=self.left_alone[:, rows], condition_of=self.condition_of[rows])

    @property
    def always_set(self) -> Mask:
        """Which variables have too few rows without an intervention to search their causes, shape (N,)."""
        too_few: Mask = self.left_alone.sum(axis=1) < LEAST_PART
        return self.without_causes | too_few

    @property
    def rows(self) -> Mask | None:
        """The observations that count for each variable and context, shape (N + K, M); None if all do."""
        if self.left_alone.all():
            return None
        counts = self.left_alone | self.always_set[:, np.newaxis]
        return np.vstack([counts, np.ones(self.contexts.shape, dtype=bool)])

    @property
    def baseline(self) -> Mask | None:
        """Where a variable counts and no condition of unknown targets holds, shape (N, M); None if everywhere."""
        if self.left_alone.all() and not self.conditions:
            return None
        return (self.left_alone | self.always_set[:, np.newaxis]) & ~self.contexts.any(axis=0)

    def rules(self, rules: EdgeRules) -> EdgeRules:
        """Return rules about variables and contexts: contexts, and variables always set, have no causes."""
        N, K = len(self.left_alone), len(self.conditions)
        forbidden, required = np.zeros((2, N + K, N + K), dtype=bool)
        forbidden[:, N:] = True
        forbidden[:N, :N] = rules.forbidden | (self.always_set & ~rules.required)
        required[:N, :N] = rules.required
        return EdgeRules.of(forbidden, required)

    def with_contexts(self, values: Floats) -> Floats:
        """Return scaled values followed by the contexts, shape (N + K, M)."""
        return np.vstack([values, self.contexts]) if self.conditions else values

    def targets(self, adjacency: Floats) -> dict[Hashable, Floats]:
        """Return for each condition the weights of its edges to every variable, shape (N,), from the whole graph."""
        N = len(self.left_alone)
        return {condition: adjacency[N + k, :N] for k, condition in enumerate(self.conditions)}


def _of_unit_size(in_force: Mask) -> Floats:
    """Return contexts of root mean square one, shape (K, M), from the rows where their conditions hold."""
    shares: Floats = np.maximum(in_force.mean(axis=1, keepdims=True), np.finfo(float).tiny)
    return in_force / np.sqrt(shares)


InterventionsLike = ArrayLike | Interventions | Design | None


def _checked_mask(interventions: ArrayLike | None, table: Table) -> Mask:
    """Return where variables were set, shape (N, M)."""
    if interventions is None:
        return np.zeros(table.values.shape, dtype=bool)
    mask = aligned(interventions, table.names, "interventions")
    if mask.dtype != bool:
        demand = "must be an icdh.Interventions or boolean, True where a value was set"
        raise TypeError(f"interventions {demand}; got {mask.dtype}")
    if mask.shape != table.values.T.shape:
        raise ValueError(f"interventions has shape {mask.shape} where X has {table.values.T.shape}")
    return np.asarray(mask.T, dtype=bool)
