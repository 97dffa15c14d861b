"""An arrangement of columns that depends on their values alone."""

import numpy as np


def canonical_order_and_signs(values: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return columns in an order, and with signs, that depend on their values alone.

    The search sees the table so arranged: neither the order of the user's columns nor their signs change its result.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        A standardised table, one variable a row.
    columns : ndarray of int
        Which columns to arrange.

    Returns
    -------
    tuple of ndarray
        The columns, by their fourth and third moments, and for each the sign that makes its third moment positive.
    """
    third, fourth = (np.array([np.mean(values[k] ** power) for k in columns]) for power in (3, 4))
    order = np.lexsort((np.abs(third), fourth))
    return columns[order], np.where(third[order] < 0, -1.0, 1.0)
