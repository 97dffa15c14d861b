"""Checks of single arguments: every message names the argument and says what it must be."""

import math
import numbers
import os
from collections.abc import Collection

import numpy as np

from icdh._ground.arrays import RandomState
from icdh.exceptions import ArgumentTypeError, ArgumentValueError


def as_float(raw: np.ndarray, argument: str) -> np.ndarray:
    """Return a copy of an array as float64 in C order, or raise TypeError if it does not hold real numbers."""
    if np.iscomplexobj(raw):
        raise TypeError(f"{argument} is complex; pass real numbers (for instance {argument}.real)")
    if raw.dtype.kind not in "biuf":
        raise TypeError(f"{argument} has type {raw.dtype}, not numbers; encode text as numbers or drop it")
    return np.array(raw, dtype=np.float64, order="C")


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise ArgumentValueError unless ``value`` is one of ``choices``."""
    if value not in choices:
        options = ", ".join(repr(choice) for choice in choices)
        raise ArgumentValueError(name, f"must be one of {options}; got {value!r}")


def check_number(
    name: str, value: object, *, low: float = -np.inf, low_open: bool = False, integer: bool = False
) -> None:
    """Raise unless ``value`` is a finite real number (an integer if asked) that is at least, or above, ``low``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral if integer else numbers.Real):
        raise ArgumentTypeError(name, f"must be {'an integer' if integer else 'a number'}; got {value!r}")
    number = float(value)
    if not math.isfinite(number) or number < low or (low_open and number == low):
        raise ArgumentValueError(name, f"must be {'above' if low_open else 'at least'} {low}; got {value!r}")


def n_workers(n_jobs: int) -> int:
    """Return how many workers ``n_jobs`` asks for: a positive number, or -1 for one a core.

    Raises
    ------
    TypeError, ValueError
        If it is neither.
    """
    if n_jobs == -1:
        return os.cpu_count() or 1
    check_number("n_jobs", n_jobs, low=1, integer=True)
    return int(n_jobs)


def check_callback(callback: object) -> None:
    """Raise TypeError unless ``callback`` can be called or is None."""
    if callback is not None and not callable(callback):
        raise ArgumentTypeError("callback", f"must be callable or None; got {callback!r}")


def random_generator(random_state: RandomState) -> np.random.Generator:
    """Return `numpy.random.default_rng` of ``random_state``, or raise TypeError or ValueError that names it."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentValueError
        demand = f"must be None, a non-negative integer, a SeedSequence or a Generator; got {random_state!r}"
        raise kind("random_state", demand) from error
