"""Scores of long tables: a subsample is searched; all observations have fits of its graph, which go on from there.

On the subsample everything is decided that needs many fits: initial weights, detours, units, noise distribution.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock
from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Family
from icdh._node_model.family_evidence import FamilyEvidence

FEW_STEPS = {"precision_updates": 0, "max_steps": 50}  # from a fit to a subsample; outliers would take hundreds
QUICK_OBSERVATIONS = 2000  # that families without a fit are scored on when time is over


class WholeEvidence(FamilyCache):
    """The evidence of families on all observations, each fit continued from one to a subsample.

    Parameters
    ----------
    subsample : FamilyEvidence
        The evidence on a subsample.
    """

    def __init__(self, subsample: FamilyEvidence):
        self.subsample = subsample
        families, units = subsample.families.whole, list(subsample.units)
        super().__init__(families, units, subsample.noise, n_jobs=subsample.n_jobs, clock=subsample.clock)

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        self.subsample([family for family in dict.fromkeys(families) if family not in self])
        return super().__call__(families)

    def _start_of(self, family: Family) -> dict[str, Floats]:
        begun = self.subsample.fit_of(family)
        if begun.succeeded:  # the precisions stay
            return {"start": begun.theta, "precision": begun.precision}
        return super()._start_of(family)

    def fit(self, family: Family, start: Floats | None = None, **options: Any) -> NodeFit:
        """Return a new fit of a family, in few steps and with the precisions given."""
        return super().fit(family, start, **{**FEW_STEPS, **options})


Evidence: TypeAlias = FamilyEvidence | WholeEvidence


class QuickEvidence:
    """The score of families when time is over: known fits where there are any, else few observations.

    Families that are asked for together are compared on the same observations: all, if all of them have a fit to all.

    Parameters
    ----------
    known : FamilyEvidence
        The fits from before.
    """

    def __init__(self, known: FamilyEvidence):
        self.known, self.quick = known, quick_evidence(known)
        self.families, self.units = known.families, known.units
        self.share = self.quick.families.counts() / known.families.counts()

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        if all(family in self.known for family in families):
            return self.known(families)
        return [score / self.share[node] for score, (node, _) in zip(self.quick(families), families, strict=True)]

    def fit_of(self, family: Family) -> NodeFit:
        """Return the fit of a family that was scored."""
        return self._source(family).fit_of(family)

    def noise_of(self, family: Family) -> str:
        """Return the noise distribution of a family that was scored."""
        return self._source(family).noise_of(family)

    def _source(self, family: Family) -> FamilyCache:
        return self.known if family in self.known else self.quick


def quick_evidence(scores: FamilyEvidence) -> FamilyEvidence:
    """Return the evidence on a few of the observations, without a limit of time."""
    return scores.on(scores.families.subsample(QUICK_OBSERVATIONS), Clock())
