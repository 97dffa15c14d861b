"""Levenberg-Marquardt damping: what every damped loop of steps has in common.

A loop has a damping, the factor it grows by after a failed step, and the number of small steps in a row. Plain
functions: kernels compile them, `icdh._node_model._descent_kernels`, and NumPy loops call them.
"""

SMALLEST_DAMPING, LARGEST_DAMPING = 1e-12, 1e20
FIRST_DAMPING = 0.03  # of a node model, for each observation


def next_damping(damping: float, growth: float, ratio: float) -> tuple[float, float]:
    """Return damping and growth after a step whose fall was ``ratio`` times the predicted one.

    References
    ----------
    Nielsen, "Damping parameter in Marquardt's method", Technical University of Denmark, IMM-REP-1999-05.
    """
    if ratio > 0.0:
        return max(damping * max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3), SMALLEST_DAMPING), 2.0
    return damping * growth, 2.0 * growth


def small_steps(small: int, fall: float, predicted: float, tol: float) -> int:
    """Return the number of small steps in a row, ``small`` before this one, which are below ``tol``.

    A failed step is small if the predicted fall is; otherwise it neither counts nor ends the row.
    """
    if (fall if fall > 0.0 else predicted) < tol:
        return small + 1
    return 0 if fall > 0.0 else small
