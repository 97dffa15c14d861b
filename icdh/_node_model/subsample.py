"""Scores of long tables: a subsample is searched first, then all observations.

On the subsample everything is decided that needs many fits: initial weights, hidden units, noise distribution. Fits to
all observations go on from there.
"""

from collections.abc import Sequence
from typing import Any

from icdh._ground.clock import Clock
from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import TOLERANCE, Family
from icdh._node_model.family_evidence import FamilyEvidence

QUICK_OBSERVATIONS = 2000  # that families without a fit are scored on when time is over


class ContinuedEvidence(FamilyCache):
    """The evidence of families on all observations, each fit continued from one to a subsample.

    Parameters
    ----------
    subsample : FamilyEvidence
        The evidence on a subsample.
    """

    def __init__(self, subsample: FamilyEvidence):
        self.subsample = subsample
        self._polished: set[tuple[Family, int]] = set()
        super().__init__(
            subsample.families.whole, subsample.units, subsample.noise, n_jobs=subsample.n_jobs, clock=subsample.clock
        )

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        self.subsample([family for family in dict.fromkeys(families) if family not in self])
        return super().__call__(families)

    def _start_of(self, family: Family) -> dict[str, Any]:
        begun = self.subsample.fit_of(family)
        if begun.succeeded:  # the precisions stay
            return {"start": begun.theta, "precision": begun.precision, "precision_updates": 0}
        return super()._start_of(family)

    def polish(self, families: Sequence[Family]) -> None:
        """Polish families on the subsample, and continue there to a finer tolerance."""
        with_parents = {own: (own, self.units[own[0]]) for own in families if own[1]}
        new = [own for own, key in with_parents.items() if key not in self._polished]
        self(new)
        self.subsample.polish(new)
        fits = self.run("fitting families from further weights", self._finer_fit, new)
        for family, fit in zip(new, fits, strict=True):
            self.keep(family, fit)
        self._polished.update(with_parents.values())

    def _finer_fit(self, family: Family) -> NodeFit:
        start = self._start_of(family)
        return self.fit(family, **{**start, "precision_updates": 2}, tol=TOLERANCE / 10)

    def grow(self, families: Sequence[Family]) -> bool:
        """Return False: the subsample decided the hidden units."""
        return False

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Return False: the subsample decided the noise distribution."""
        return False

    def with_more_units(self, families: Sequence[Family], most_units: int) -> "ContinuedEvidence":
        """Return the evidence of a graph's families alone with more units, as `FamilyEvidence.with_more_units`."""
        larger = ContinuedEvidence(self.subsample.with_more_units(families, most_units))
        grown = [own for own in families if larger.units[own[0]] > self.units[own[0]]]
        for family in set(families) - set(grown):
            larger.keep(family, self.fit_of(family), self.network_score_of(family))
        larger.polish(grown)
        return larger

    def copy(self) -> "ContinuedEvidence":
        """Return evidence that goes on from what is known here, which stays as it is."""
        other = super().copy()
        other.subsample, other._polished = self.subsample.copy(), self._polished.copy()
        return other

    def limit(self, clock: Clock) -> None:
        """Let another clock end fits."""
        super().limit(clock)
        self.subsample.limit(clock)


def on_all_observations(scores: FamilyEvidence) -> FamilyEvidence | ContinuedEvidence:
    """Return scores on all observations: these, or if they are on a subsample, scores that go on from there."""
    return scores if scores.families.whole is scores.families else ContinuedEvidence(scores)


class QuickEvidence:
    """The score of families when time is over: known fits where there are any, else few observations.

    Families that are asked for together are compared on the same observations: all, if all of them have a fit to all.

    Parameters
    ----------
    known : FamilyEvidence or ContinuedEvidence
        The fits from before.
    """

    def __init__(self, known: FamilyEvidence | ContinuedEvidence):
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


def quick_evidence(scores: FamilyEvidence | ContinuedEvidence) -> FamilyEvidence:
    """Return the evidence on a few of the observations, without a limit of time."""
    like = scores.subsample if isinstance(scores, ContinuedEvidence) else scores
    return like.on(scores.families.subsample(QUICK_OBSERVATIONS), Clock())
