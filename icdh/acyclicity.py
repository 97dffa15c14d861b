"""The acyclicity function h of NOTEARS and its gradient."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from icdh._table.frames import square_of
from icdh._utils.arrays import Floats, TableLike

__all__ = ["acyclicity"]

# A function of a finite weighted adjacency matrix, shape (N, N), zero for DAGs and else positive, with its gradient;
# infinite, NaN or negative where it is not defined. A fit begins where it is defined, and no step of it ends elsewhere.
Acyclicity: TypeAlias = Callable[[Floats], tuple[float, Floats]]

# Above this trace h is continued linearly, so that rho h^2 stays finite.
LARGEST_TRACE = 1e100
LARGEST_WEIGHT_SUM = 230.0  # exp(230) = 1e100
LARGEST_WEIGHT = 1e20  # so that rho h^2 stays finite there, too
TAYLOR_TERMS = 14  # truncation error 0.5**15 / 15! < 1e-16


def acyclicity(A: TableLike) -> tuple[float, Floats]:
    """Return h = tr(exp(A∘A)) - N and its gradient; h is zero exactly when A is the matrix of a DAG.

    Parameters
    ----------
    A : array_like or DataFrame, shape (N, N)
        Weighted adjacency matrix; ``A[i, j]`` weighs the edge i -> j.

    Returns
    -------
    h : float
        The value, dimensionless, never negative.
    gradient : ndarray, shape (N, N)
        dh/dA = exp(A∘A)^T ∘ 2A.

    Raises
    ------
    TypeError, ValueError
        If A is not a square matrix of finite numbers.

    Notes
    -----
    All entries of A∘A are non-negative, so exp(A∘A) - I is summed without cancellation. So h keeps its relative
    accuracy, however close to zero it is. Where h exceeds 1e100 it is continued linearly along the ray through A∘A.
    With r = sum(A∘A) > R = 230, h(A∘A) becomes (r / R) h(R A∘A / r). There, weights beyond ±1e20 count as ±1e20. That
    value and its gradient are finite, and keep h = 0 for DAGs only.

    References
    ----------
    Zheng, Aragam, Ravikumar, Xing: "DAGs with NO TEARS", NeurIPS 2018, Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.acyclicity import acyclicity
    >>> acyclicity(np.array([[0.0, 2.0], [0.0, 0.0]]))[0]
    0.0
    >>> h, gradient = acyclicity(np.array([[0.0, 2.0], [0.5, 0.0]]))
    >>> h > 0.0, gradient.shape
    (True, (2, 2))
    """
    return trace_exponential(square_of(A, "A"))


def trace_exponential(A: Floats) -> tuple[float, Floats]:
    """Return what `acyclicity` returns, of a matrix that was checked."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = A * A
        excess = _expm1(squares)
        h = np.trace(excess)
    if h <= LARGEST_TRACE and np.isfinite(excess).all():
        derivative = excess.T + np.eye(A.shape[0])
    else:
        A = np.clip(A, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        h, derivative = _linear_continuation(A)
    return float(h), 2.0 * A * derivative


def _expm1(B: Floats) -> Floats:
    """Return exp(B) - I for a non-negative matrix: Taylor series of B / 2^s, then (I + P)^2 - I = 2P + P^2."""
    norm = B.sum(axis=0).max(initial=0.0)
    squarings = int(max(0.0, np.ceil(np.log2(norm)) + 1.0)) if 0.0 < norm < np.inf else 0
    B = B / 2.0**squarings
    identity = np.eye(B.shape[0])
    series: Floats = identity
    for k in range(TAYLOR_TERMS, 1, -1):
        series = identity + (B @ series) / k
    P = B @ series
    for _ in range(squarings):
        P = 2.0 * P + P @ P
    return P


def _linear_continuation(A: Floats) -> tuple[float, Floats]:
    """Return h and dh/d(A∘A) of the continuation in the notes of `acyclicity`."""
    largest = np.abs(A).max()
    shares = (A / largest) ** 2
    total = shares.sum()
    excess = _expm1(shares * (LARGEST_WEIGHT_SUM / total))
    h = np.trace(excess)
    ratio = total / LARGEST_WEIGHT_SUM * largest * largest
    derivative = excess.T + np.eye(A.shape[0])
    along_ray = (derivative * shares).sum() / total
    return h * ratio, derivative + (h / LARGEST_WEIGHT_SUM - along_ray)
