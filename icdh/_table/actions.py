"""Interventions, ``do``, and how their effects spread through a graph.

An intervention gives a variable other values, whatever its causes; its descendants respond, and nothing else changes.
Fitted models and simulated truths share this code.

References
----------
Pearl: "Causality: Models, Reasoning, and Inference", 2nd edition, 2009, Definitions 3.2.1 and 7.1.5.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from icdh._ground.arrays import ByColumn, Floats, Integers
from icdh._ground.checks import as_float, check_number
from icdh._ground.labels import variable_index
from icdh.exceptions import option
from icdh.graphs import causal_order

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
        check_number("by", self.by)

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
        said = option("do", of=key)
        actions[node] = _action(said, as_numbers(node, value, said) if as_numbers else value, n_rows)
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
    adjacency: Floats | Integers,
    actions: Mapping[int, Action],
    values: Floats,
    respond: Callable[[int, Floats], Floats],
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
