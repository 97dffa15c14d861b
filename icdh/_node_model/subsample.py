"""Scores of long tables: a subsample is searched; all observations have fits of its graph, which go on from there.

On the subsample everything is decided that needs many fits: initial weights, detours, units, noise distribution.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock
from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Families, Family
from icdh._node_model.family_evidence import FamilyEvidence
from icdh._node_model.stages import Growth

DOUBT = 100.0  # nats that a change may lose on the subsample and yet gain on all observations: more than growth gains
FEW_STEPS = {"precision_updates": 0, "max_steps": 50}  # from a fit to a subsample; outliers would take hundreds
QUICK_OBSERVATIONS = 2000  # that families without a fit are scored on when time is over


class ContinuedEvidence(FamilyCache):
    """The evidence of families on more observations, each fit continued from one to a subsample.

    Parameters
    ----------
    subsample : FamilyEvidence or ContinuedEvidence
        The evidence on a subsample.
    families : Families
        The families on more observations.
    """

    def __init__(self, subsample: "FamilyEvidence | ContinuedEvidence", families: Families):
        self.subsample = subsample
        self._polished: set[tuple[Family, int]] = set()
        self._growth = Growth(subsample.most_units)
        units = list(subsample.units)
        super().__init__(families, units, subsample.noise, n_jobs=subsample.n_jobs, clock=subsample.clock)

    @property
    def first(self) -> FamilyEvidence:
        """The evidence on the smallest subsample, which was searched first."""
        return self.subsample.first

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        self.subsample([family for family in dict.fromkeys(families) if family not in self])
        return super().__call__(families)

    def _start_of(self, family: Family) -> dict[str, Floats]:
        begun = self.subsample.fit_of(family)
        if begun.succeeded and begun.hidden_units == self.units[family[0]]:  # the precisions stay
            return {"start": begun.theta, "precision": begun.precision}
        return super()._start_of(family)

    def fit(self, family: Family, start: Floats | None = None, **options: Any) -> NodeFit:
        """Return a new fit of a family, in few steps and with the precisions given."""
        return super().fit(family, start, **{**FEW_STEPS, **options})

    def gain_estimates(self, family: Family) -> Floats:
        """Return estimates of the gain of every change of a family's parents; the subsample bounds them."""
        estimates, (node, parents) = super().gain_estimates(family).copy(), family
        hopeful = [i for i in np.flatnonzero(estimates > 0.0) if i != node]
        before, *after = self.subsample([family, *((node, tuple(sorted({*parents} ^ {int(i)}))) for i in hopeful)])
        share = self.subsample.families.counts()[node] / self.families.counts()[node]
        estimates[hopeful] = np.minimum(estimates[hopeful], (before - np.array(after) + DOUBT) / share)
        return estimates

    def polish(self, families: Sequence[Family]) -> None:
        """Polish families, on the subsample first if they have the same units there, and go on from there."""
        with_parents = {own: (own, self.units[own[0]]) for own in families if own[1]}
        new = [own for own, key in with_parents.items() if key not in self._polished]
        self(new)
        self.subsample.polish([own for own in new if self.units[own[0]] == self.subsample.units[own[0]]])
        fits = self.run("fitting families from further weights", self._finer_fit, new)
        for family, fit in zip(new, fits, strict=True):
            self.keep(family, fit)
        self._polished.update(with_parents.values())

    def _finer_fit(self, family: Family) -> NodeFit:
        for fit in (self.subsample.known_fit(family), self.fit_of(family)):
            if fit is not None and fit.succeeded and fit.hidden_units == self.units[family[0]]:
                return self.fit(family, fit.theta, precision=fit.precision, precision_updates=1)
        return self.fit_of(family)

    def fit_twice_the_units(self, family: Family, **options: Any) -> NodeFit:
        """Return a fit of a family with twice the units, which is not kept; it begins with the precisions known."""
        fit = self.fit_of(family)
        precision = fit.precision if fit.succeeded else None
        return super().fit_twice_the_units(
            family, **{**FEW_STEPS, "precision": precision, "precision_updates": 1, **options}
        )

    @property
    def most_units(self) -> int:
        """How far hidden units may grow."""
        return self._growth.most_units

    def grow(self, families: Sequence[Family]) -> bool:
        """Double the hidden units of the nodes of a graph while that gains; return whether scores changed."""
        return self._growth(self, families)

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Return False: the subsample decided the noise distribution."""
        return False

    def with_more_units(self, families: Sequence[Family], most_units: int) -> "ContinuedEvidence":
        """Return the evidence of a graph's families alone with more units, as `FamilyEvidence.with_more_units`."""
        larger = self.copy()
        larger._growth = self._growth.up_to(most_units)
        larger.grow(families)
        larger.polish([own for own in families if larger.units[own[0]] > self.units[own[0]]])
        return larger

    def copy(self) -> "ContinuedEvidence":
        """Return evidence that goes on from what is known here, which stays as it is."""
        other = super().copy()
        other.subsample, other._polished = self.subsample.copy(), self._polished.copy()
        other._growth = self._growth.up_to(self._growth.most_units)
        return other

    def limit(self, clock: Clock) -> None:
        """Let another clock end fits."""
        super().limit(clock)
        self.subsample.limit(clock)


Evidence: TypeAlias = FamilyEvidence | ContinuedEvidence


class QuickEvidence:
    """The score of families when time is over: known fits where there are any, else few observations.

    Families that are asked for together are compared on the same observations: all, if all of them have a fit to all.

    Parameters
    ----------
    known : FamilyEvidence or ContinuedEvidence
        The fits from before.
    """

    def __init__(self, known: Evidence):
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


def quick_evidence(scores: Evidence) -> FamilyEvidence:
    """Return the evidence on a few of the observations, without a limit of time."""
    return scores.first.on(scores.families.subsample(QUICK_OBSERVATIONS), Clock())
