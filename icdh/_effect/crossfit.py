"""Cross-fitting: every row is asked of a fit to other rows."""

from collections.abc import Sequence

import numpy as np

from icdh._effect.families import Family, Given, Levels, Numbers
from icdh._ground.arrays import Floats, Integers


def folds_of(
    n_rows: int, n_folds: int, strata: Integers, groups: Integers | None, rng: np.random.Generator
) -> Integers:
    """Return the fold of every row, shape (n_rows,): even in every stratum, and one for all rows of a group.

    Parameters
    ----------
    n_rows, n_folds : int
        How many there are.
    strata : ndarray of int, shape (n_rows,)
        Where each row belongs; groups share no stratum, and are spread at random.
    groups : ndarray of int, shape (n_rows,), or None
        Rows of one group stay together.
    rng : Generator
        Source of randomness.
    """
    if groups is not None:
        n_groups = int(groups.max()) + 1
        return (rng.permutation(n_groups) % n_folds)[groups]
    order = np.lexsort((rng.random(n_rows), strata))
    folds = np.empty(n_rows, dtype=np.int64)
    folds[order] = np.arange(n_rows) % n_folds
    return folds


def out_of_fold(family: Family, folds: Integers | None, parents: Sequence[Floats]) -> list[Given]:
    """Return the variable's distribution at each of several parents, shape (p, n), each row by a fit to other folds.

    Without folds or parents one fit to all rows answers.
    """
    if folds is None or not family.depends:
        given = family.fitted()
        return [given(own) for own in parents]
    parts: list[list[Given]] = [[] for _ in parents]
    rows = [np.flatnonzero(folds == k) for k in range(int(folds.max()) + 1)]
    for k, held_out in enumerate(rows):
        given = family.fitted(folds != k)
        for part, own in zip(parts, parents, strict=True):
            part.append(given(np.ascontiguousarray(own[:, held_out])))
    order = np.argsort(np.concatenate(rows))
    return [_joined(part, order) for part in parts]


def _joined(parts: list[Given], order: Integers) -> Given:
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if numbers:
        mean = np.concatenate([part.mean for part in numbers])
        return Numbers(mean[order], np.concatenate([part.deviation for part in numbers])[order])
    levels = [part for part in parts if isinstance(part, Levels)]
    return Levels(levels[0].values, np.concatenate([part.probabilities for part in levels], axis=1)[:, order])
