"""Scores of long tables: a subsample is searched first, then all observations.

On the subsample everything is decided that needs many fits: initial weights, detours, noise distribution. Fits to all
observations go on from there. More observations pay for more hidden units, which therefore grow on them, before a climb
adds edges: what too few units leave of an effect is worth edges from the causes of its causes.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from icdh._ground.clock import Clock
from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Families, Family
from icdh._node_model.family_evidence import FamilyEvidence
from icdh._node_model.growth import Growth

QUICK_OBSERVATIONS = 2000  # that families without a fit are scored on when time is over


class ContinuedEvidence(FamilyCache):
    """The evidence of families on all observations, each fit continued from one to a subsample.

    Parameters
    ----------
    subsample : FamilyEvidence or ContinuedEvidence
        The evidence on a subsample.
    families : Families
        The families on more observations.
    most_units : int
        How far hidden units may grow on these; by default they stay as the subsample decided.
    """

    def __init__(self, subsample: "FamilyEvidence | ContinuedEvidence", families: Families, most_units: int = 0):
        self.subsample = subsample
        self._polished: set[tuple[Family, int]] = set()
        self._growth = Growth(most_units)
        super().__init__(families, subsample.units, subsample.noise, n_jobs=subsample.n_jobs, clock=subsample.clock)

    @property
    def units(self) -> list[int]:
        """The hidden units of every node, on the subsample and here."""
        return self.subsample.units

    @units.setter
    def units(self, units: list[int]) -> None:
        self.subsample.units = units

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
        """Polish families on the subsample, unless only more observations pay for their units, and go on from there."""
        with_parents = {own: (own, self.units[own[0]]) for own in families if own[1]}
        new = [own for own, key in with_parents.items() if key not in self._polished]
        self(new)
        self.subsample.polish([own for own in new if self.units[own[0]] <= self.subsample.most_units])
        fits = self.run("fitting families from further weights", self._finer_fit, new)
        for family, fit in zip(new, fits, strict=True):
            self.keep(family, fit)
        self._polished.update(with_parents.values())

    def _finer_fit(self, family: Family) -> NodeFit:
        for fit in (self.subsample.known_fit(family), self.fit_of(family)):
            if fit is not None and fit.succeeded:
                return self.fit(family, fit.theta, precision=fit.precision, precision_updates=1)
        return self.fit_of(family)

    def fit_twice_the_units(self, family: Family, **options: Any) -> NodeFit:
        """Return a fit of a family with twice the units, which is not kept; it begins with the precisions known."""
        fit = self.fit_of(family)
        return super().fit_twice_the_units(family, precision=fit.precision if fit.succeeded else None, **options)

    @property
    def most_units(self) -> int:
        """How far hidden units may grow."""
        return max(self._growth.most_units, self.subsample.most_units)

    def grow(self, families: Sequence[Family]) -> bool:
        """Double the hidden units of the nodes of a graph while that gains; return whether scores changed."""
        return any([self.subsample.grow(families), self._growth(self, families)])

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Return False: the subsample decided the noise distribution."""
        return False

    def with_more_units(self, families: Sequence[Family], most_units: int) -> "ContinuedEvidence":
        """Return the evidence of a graph's families alone with more units, as `FamilyEvidence.with_more_units`."""
        larger = self.copy()
        larger.subsample(families)
        larger.subsample = larger.subsample.with_more_units(families, most_units)
        larger._growth(larger, families)
        larger.polish([own for own in families if larger.units[own[0]] > self.units[own[0]]])
        return larger

    def copy(self) -> "ContinuedEvidence":
        """Return evidence that goes on from what is known here, which stays as it is."""
        other = super().copy()
        other.subsample, other._polished = self.subsample.copy(), self._polished.copy()
        other._growth = deepcopy(self._growth)
        return other

    def limit(self, clock: Clock) -> None:
        """Let another clock end fits."""
        super().limit(clock)
        self.subsample.limit(clock)


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
    like = scores
    while isinstance(like, ContinuedEvidence):
        like = like.subsample
    return like.on(scores.families.subsample(QUICK_OBSERVATIONS), Clock())
