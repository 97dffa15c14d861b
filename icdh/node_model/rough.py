"""Scores when time is over: of families that were fitted what they were, of others what few rows say."""

from collections import ChainMap
from collections.abc import Sequence

import numpy as np

from icdh.node_model.families import Family, FamilyEvidence

FEW_ROWS = 2000


class RoughEvidence:
    """The score of families without a fit to more than `FEW_ROWS` rows.

    Families that are asked for together are compared on the same rows: all, if all of them were fitted to all.

    Parameters
    ----------
    known : FamilyEvidence
        What was fitted while there was time.
    """

    def __init__(self, known: FamilyEvidence):
        self.known, self.few = known, known.on_few_rows(FEW_ROWS)
        self.fits = ChainMap(known.fits, self.few.fits)
        every = np.full(len(known.targets), known.values.shape[1]) if known.rows is None else known.rows.sum(axis=1)
        self.random_state, self.targets, self.widths = known.random_state, known.targets, known.widths
        self.units = known.units
        self.share = self.few.rows.sum(axis=1) / every

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        if all(family in self.known.fits for family in families):
            return self.known(families)
        return [score / self.share[node] for score, (node, _) in zip(self.few(families), families, strict=True)]

    def noise_of(self, family: Family) -> str:
        """Return the noise distribution of a family that was scored."""
        return (self.known if family in self.known.fits else self.few).noise_of(family)
