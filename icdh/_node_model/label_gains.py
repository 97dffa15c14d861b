"""Estimates of what a further cause gains where cause and effect have categories or levels: counts against fits.

Under the fitted model of the effect, the observations of its category y among those where the candidate has category c
number E(y, c), a sum of fitted probabilities. With the counts O(y, c) of the table,

    chi^2 = sum over y and c of (O - E)^2 / E

exceeds its degrees of freedom by about twice what a further parent adds to the log-likelihood. Joint counts with one
parent at a time show what the candidate does only together with that parent. The largest excess is the estimate: it
is optimistic, for the further weights cost evidence.
"""

from collections.abc import Sequence

import numpy as np

from icdh._ground.arrays import Floats, Integers

FEWEST_EXPECTED = 0.5  # observations of a cell: fewer would make a single one a large excess


def label_gain_estimates(
    effect: Integers, probabilities: Floats, candidates: Sequence[Integers], parents: Sequence[Integers]
) -> Floats:
    """Return an estimate of what every candidate gains as a further parent.

    Parameters
    ----------
    effect : ndarray of int, shape (n,)
        The categories of the effect, 0 ... K - 1.
    probabilities : ndarray, shape (K, n)
        Those of its categories under the fit.
    candidates, parents : sequence of ndarray of int, each of shape (n,)
        The categories of the candidates, and of the parents that the family has.

    Returns
    -------
    ndarray, shape (c,)
        Nats; negative where counts are closer to the fit than chance makes them.
    """
    residuals = (effect == np.arange(len(probabilities))[:, np.newaxis]) - probabilities
    sizes = [int(own.max()) + 1 for own in candidates]
    first = np.cumsum([0, *sizes[:-1]])
    members = np.vstack([own == np.arange(size)[:, np.newaxis] for own, size in zip(candidates, sizes, strict=True)])
    members = members.astype(np.float64)
    alone = _excess(members, first, residuals, probabilities, np.zeros_like(effect))
    estimates: Floats = np.max(
        [alone, *(_excess(members, first, residuals, probabilities, own) for own in parents)], axis=0
    )
    return estimates


def _excess(members: Floats, first: Integers, residuals: Floats, probabilities: Floats, groups: Integers) -> Floats:
    """Return chi-square less its degrees of freedom for every candidate, within groups of observations."""
    chi_square, cells = np.zeros(len(first)), np.zeros(len(first))
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        among = members[:, rows]
        excess, expected = among @ residuals[:, rows].T, among @ probabilities[:, rows].T
        squares = excess**2 / np.maximum(expected, FEWEST_EXPECTED)
        chi_square += np.add.reduceat(squares.sum(axis=1), first)
        cells += np.add.reduceat(among.any(axis=1).astype(float), first)
    return chi_square - (cells - 1.0) * (len(probabilities) - 1)
