"""The linear regression of every column of a table on all others."""

import numpy as np

from icdh._ground.arrays import Floats


def explained_variance(X: Floats) -> Floats:
    """Return R2 of every variable given all others, shape (N,), from observations, shape (M, N).

    It is one less the reciprocal of the variable's entry in the inverse correlation matrix.
    """
    deviations = X - X.mean(axis=0)
    norms = np.linalg.norm(deviations, axis=0)
    deviations /= np.where(norms > 0, norms, 1.0)
    eigenvalues, vectors = np.linalg.eigh(deviations.T @ deviations)
    # a variable that is a linear function of others has R2 = 1, up to rounding
    floor = len(eigenvalues) * np.finfo(float).eps
    explained: Floats = 1.0 - 1.0 / np.sum(vectors**2 / np.maximum(eigenvalues, floor), axis=1)
    return explained
