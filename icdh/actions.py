"""What is done to variables from outside, ``do``, and how it spreads through a graph.

An intervention cuts a variable off from its causes and gives it other values; its descendants respond, and nothing
else changes. Fitted models and simulated truths share what stands here.

References
----------
Pearl: "Causality: Models, Reasoning, and Inference", 2nd edition, 2009, Definitions 3.2.1 and 7.1.5.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from icdh._checks import as_float, check_number
from icdh._labels import variable_index
from icdh.graphs import causal_order

Action = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Shift:
    """The intervention that adds a number to what a variable would have been: it still hears its causes.

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

    def __post_init__(self):
        check_number("by", self.by)

    def __call__(self, natural: np.ndarray) -> np.ndarray:
        """Return what the values, shape (M,), become."""
        return natural + self.by


def actions_of(do: Mapping[Hashable, Any] | None, names: Sequence[Hashable], n_rows: int) -> dict[int, Action]:
    """Return for every variable that is acted upon the function from what it would have been to what it is.

    Parameters
    ----------
    do : mapping or None
        From names, or indices, to a number, to an array with one number a row, or to a function that gets what the
        variable would have been, shape (M,), and returns what it is: a number or shape (M,).
    names : sequence
        The N labels, of any type.
    n_rows : int
        M.

    Raises
    ------
    ValueError, TypeError
        If ``do`` names no variable, or one twice, or says anything but finite numbers; the message says which.
    """
    if do is None:
        return {}
    if not isinstance(do, Mapping):
        raise TypeError(f"do must map variables to values, as in do={{{names[0]!r}: 1.0}}; got {do!r}")
    actions = {}
    for key, value in do.items():
        node = variable_index(key, names, "do")
        if node in actions:
            raise ValueError(f"do names the variable {names[node]!r} twice; keep one of the two")
        actions[node] = _action(f"do[{key!r}]", value, n_rows)
    return actions


def _action(label, value, n_rows):
    if callable(value):
        return lambda natural: _checked_values(f"the result of {label}", value(natural.copy()), n_rows)
    values = _checked_values(label, value, n_rows)
    return lambda natural: values


def _checked_values(label, value, n_rows):
    values = as_float(np.asarray(value), label)
    if values.shape not in ((), (n_rows,)):
        raise ValueError(f"{label} must be one number or have shape ({n_rows},), one a row; got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"{label} holds NaN or infinity; a variable can only be set to finite numbers")
    return np.broadcast_to(values, (n_rows,))


def carry_out(
    adjacency: np.ndarray,
    actions: Mapping[int, Action],
    values: np.ndarray,
    respond: Callable[[int, np.ndarray], np.ndarray],
) -> None:
    """Act upon values in place, causes before effects; what no action reaches keeps its bits.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The DAG.
    actions : mapping
        As `actions_of` returns it.
    values : ndarray, shape (N, M)
        One variable a row, as they are without the actions.
    respond : callable
        ``respond(node, values)`` returns, shape (M,), what a variable is given the values of its causes.
    """
    reached = np.zeros(len(adjacency), dtype=bool)
    for node in causal_order(adjacency):
        if reached[adjacency[:, node] != 0].any():
            values[node], reached[node] = respond(node, values), True
        if node in actions:
            values[node], reached[node] = actions[node](values[node]), True
