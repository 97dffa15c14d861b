"""The constants of the estimator of effects."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """What was chosen once, on simulated tables.

    Attributes
    ----------
    fewest_rows : int
        Of a table that is accepted.
    hidden_units, most_units : int
        Of networks at first, and at most.
    least_gain : float
        Nats that twice the units must gain.
    n_restarts : int
        Initial weights of a network.
    selection_rows : int
        The most rows on which parents are selected.
    tolerance : float
        Nats, of fits to a part of the rows.
    n_folds, n_splits : int
        Folds, and independent splits into them that are averaged.
    split_rows : int
        The most rows of a table that is split more than once: there chance in one split could be seen.
    least_probability : float
        Of a value of the cause: no row counts for more than its inverse.
    pieces, many_pieces, many_rows : int
        Pieces of the spline of a numeric cause; the second number from so many rows on.
    few_effective, much_beyond : float
        Effective rows, and the share of rows without a counterpart, at which an answer is called an extrapolation.
    """

    fewest_rows: int = 20
    hidden_units: int = 5
    most_units: int = 20
    least_gain: float = 5.0
    n_restarts: int = 3
    selection_rows: int = 2000
    tolerance: float = 0.01
    n_folds: int = 5
    n_splits: int = 3
    split_rows: int = 2000
    least_probability: float = 0.01
    pieces: int = 3
    many_pieces: int = 5
    many_rows: int = 1000
    few_effective: float = 20.0
    much_beyond: float = 0.2


TUNING = Tuning()
