"""The score of a search: the evidence of families, with the stages that improve it once a graph is known.

Growth doubles the hidden units of a node again and again while that raises the evidence of its family. Polish fits
families from further initial weights, and the best fit of each to a finer tolerance.

A subsample of a long table is searched; all observations have fits of its graph, which go on from there. So everything
is decided on the subsample that needs many fits: initial weights, detours, units, noise distribution.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import TypeAlias

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock
from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import COLD, TUNING, Families, Family, Start

QUICK_OBSERVATIONS = 2000  # that families without a fit are scored on when time is over


class Growth:
    """Doubles the hidden units of nodes. Units are never taken back, so a search that grows them comes to an end.

    Parameters
    ----------
    most_units : int
        The limit of hidden units.
    """

    def __init__(self, most_units: int):
        self.most_units = most_units
        self._large_enough: set[Family] = set()
        self._worse_with_more: set[tuple[int, Family]] = set()  # by hidden units

    def __call__(self, scores: FamilyCache, families: Sequence[Family]) -> bool:
        """Double the units of the nodes of a graph's families while that gains; return whether any node grew."""
        scores(families)
        grown = False
        while families := [family for family in families if self._may_grow(scores, family)]:
            fits = scores.run("fitting families with more hidden units", scores.fit_twice_the_units, families)
            for family, fit in zip(families, fits, strict=True):
                gain = scores.fit_of(family).evidence - fit.evidence
                if gain < 0.0:
                    self._worse_with_more.add((scores.units[family[0]], family))
                if gain > TUNING.growth_gain:
                    grown = True
                    scores.units[family[0]] = fit.hidden_units
                    scores.keep(family, fit)
                else:
                    self._large_enough.add(family)
        return grown

    def _may_grow(self, scores: FamilyCache, family: Family) -> bool:
        node, parents = family
        few = 2 * scores.units[node] <= self.most_units and scores.families.responses[node].ordered
        return (
            bool(parents) and few and family not in self._large_enough and not self._is_like_a_worse_one(scores, family)
        )

    def _is_like_a_worse_one(self, scores: FamilyCache, family: Family) -> bool:
        """Return whether twice the units lowered the evidence of a family with nearly the same parents.

        Of 171 such families of simulated tables one gained more than ``TUNING.growth_gain``, and that was 8 nats.
        """
        node, parents = family
        return any(
            effect == node and units == scores.units[node] and len({*parents} ^ {*causes}) <= TUNING.few_differences
            for units, (effect, causes) in self._worse_with_more
        )


class Polish:
    """Polishes every family once for its hidden units and noise distribution.

    A family of a node that has grown is polished from its fit alone while a search compares graphs: such fits are
    expensive, and half of their units began at random. Once a graph is found they get all initial weights, too.

    Parameters
    ----------
    n_restarts : int
        Number of initial weights of a family in all.
    fewest_units : int
        The hidden units of nodes that have not grown.
    """

    def __init__(self, n_restarts: int, fewest_units: int):
        self.n_restarts, self.fewest_units = n_restarts, fewest_units
        self._polished: set[tuple[Family, int, str]] = set()
        self._restarted: set[tuple[Family, int]] = set()

    def __call__(self, scores: FamilyCache, families: Sequence[Family]) -> None:
        """Polish the families of a cache that were not polished yet."""
        with_parents = {family: (family, scores.units[family[0]], scores.noise) for family in families if family[1]}
        new = [family for family, key in with_parents.items() if key not in self._polished]
        scores(new)
        self._fit_again(scores, new, [1 if self._is_large(scores, family) else self.n_restarts for family in new])
        self._polished.update(with_parents.values())

    def restart_large(self, scores: FamilyCache, families: Sequence[Family]) -> None:
        """Fit the families of nodes that have grown from all initial weights, each once."""
        large = {
            family: (family, scores.units[family[0]])
            for family in families
            if family[1] and self._is_large(scores, family)
        }
        new = [family for family, key in large.items() if key not in self._restarted]
        self._fit_again(scores, new, [self.n_restarts] * len(new))
        self._restarted.update(large.values())

    def _is_large(self, scores: FamilyCache, family: Family) -> bool:
        return scores.units[family[0]] > self.fewest_units

    def _fit_again(self, scores: FamilyCache, families: Sequence[Family], n_starts: Sequence[int]) -> None:
        results = scores.run(
            "fitting families from further weights", partial(polished_fits, scores), families, n_starts
        )
        for family, fits in zip(families, results, strict=True):
            for fit, score in fits:
                scores.keep(family, fit, score)


def polished_fits(scores: FamilyCache, family: Family, n_starts: int) -> list[tuple[NodeFit, float]]:
    """Return fits from further cold starts, and the best of all fits at a finer tolerance; each with its score."""
    # Once families choose their noise, a cold start that lost to a better Gaussian fit may win.
    first = 0 if scores.noise == "auto" else 1
    fits = [scores.fit(family, Start(seed=scores.families.random_state + k)) for k in range(first, n_starts)]
    scored = [(fit, scores.score_by(family, fit)) for fit in fits]
    best, _ = min([(scores.fit_of(family), scores.network_score_of(family)), *scored], key=lambda pair: pair[1])
    if not best.succeeded:
        return scored
    finer = scores.fit(family, Start(best.theta, best.precision, tol=TUNING.fine_tolerance))
    return [*scored, (finer, scores.score_by(family, finer))]


class FamilyEvidence(FamilyCache):
    """The negative log evidence of families plus a penalty for each edge.

    All families of a node have the same number of hidden units, so that their evidences compare.

    Parameters
    ----------
    families : Families
        What is fitted.
    hidden_units : int
        The hidden units of every node to start with.
    most_units : int, optional
        How far `grow` may double them; by default they stay.
    noise : {"auto", "gaussian", "student", "free"}
        The distribution of the standardised residuals (`icdh._node_model.noise`). "auto" is Gaussian until
        `choose_noise` finds residuals that are not; then every family chooses.
    n_restarts : int
        Number of initial weights from which `polish` fits a family.
    n_jobs : int
        Threads.
    clock : Clock, optional
        Ends fits by raising OutOfTime; by default never.
    """

    def __init__(
        self,
        families: Families,
        *,
        hidden_units: int,
        most_units: int | None = None,
        noise: str,
        n_restarts: int,
        n_jobs: int,
        clock: Clock | None = None,
    ):
        self._polish = Polish(n_restarts, hidden_units)
        self._growth = Growth(most_units or hidden_units)
        self._wanted_noise, first = noise, "gaussian" if noise == "auto" else noise
        super().__init__(families, [hidden_units] * len(families), first, n_jobs=n_jobs, clock=clock)

    def copy(self, clock: Clock | None = None) -> "FamilyEvidence":
        """Return evidence that goes on from what is known here, which stays as it is."""
        other = super().copy(clock)
        other._polish, other._growth = deepcopy(self._polish), deepcopy(self._growth)
        return other

    def polish(self, families: Sequence[Family]) -> None:
        """Fit families from further initial weights, and the best fit of each to a finer tolerance."""
        self._polish(self, families)

    def grow(self, families: Sequence[Family]) -> bool:
        """Double the hidden units of the nodes of a graph while that gains; return whether scores changed."""
        return self._growth(self, families)

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Let every family choose its noise if those of a found graph ask for it; return whether scores changed.

        A wrong graph and too few hidden units leave structure in the residuals, and that looks like heavy tails. So the
        choice comes last, and a few residuals that are not Gaussian do not decide it. On tables of Gaussian noise
        nearly always one variable of ten or none has such residuals, on tables of Laplace noise eight or nine.
        """
        self(families)
        self._polish.restart_large(self, families)
        if self.noise == self._wanted_noise:
            return False
        continuous = [family for family in families if self.families.responses[family[0]].density is not None]
        denials = [self.families.denies_gaussian_noise(family, self.fit_of(family)) for family in continuous]
        if not any(denials) or np.mean(denials) <= TUNING.few_denials:
            return False
        self.noise = "auto"
        return True

    def describes_well(self, family: Family) -> bool:
        """Return whether a number has enough hidden units, and noise above the floor of the variance.

        Units that grew up to their limit would grow further; noise below the floor tells no direction.
        """
        node = family[0]
        grown, density = 2 * self.units[node] > self._growth.most_units, self.families.responses[node].density
        return density is not None and not grown and self.families.resolves_noise(family, self.fit_of(family))

    def with_more_units(self, families: Sequence[Family], most_units: int) -> "FamilyEvidence":
        """Return the evidence of the families of a graph alone, grown to up to so many units; this one stays as it is.

        Further units describe the effects of a graph better but hardly ever change which graph is best on few
        observations, so a search may do without them.

        Parameters
        ----------
        families : sequence
            A node and its parents each.
        most_units : int
            The limit of the hidden units.
        """
        larger = self.on(self.families, self.clock)
        larger._growth = deepcopy(self._growth)
        larger._growth.most_units = most_units
        for family in families:
            larger.keep(family, self.fit_of(family), self.network_score_of(family))
        larger.grow(families)
        larger.polish([family for family in families if larger.units[family[0]] > self.units[family[0]]])
        return larger

    def with_causes(
        self, columns: Sequence[Floats], like: Sequence[int], clock: Clock | None = None
    ) -> "FamilyEvidence":
        """Return the evidence of families with further variables that are only causes, and all fits that are known.

        Parameters
        ----------
        columns : sequence of ndarray, each of shape (n,)
            Their values, standardised.
        like : sequence of int
            For each, the variable whose price as a cause it has.
        clock : Clock, optional
            Ends fits; by default never.
        """
        wider = self.on(self.families.with_causes(columns, like), clock)
        wider.units += [min(self.units)] * len(columns)
        for family in sorted(self.fitted()):
            if (fit := self.known_fit(family)) is not None:
                wider.keep(family, fit, self.network_score_of(family))
        return wider

    def on(self, families: Families, clock: Clock | None = None) -> "FamilyEvidence":
        """Return the evidence of families of the same variables, with the same units and noise, without fits."""
        other = FamilyEvidence(
            families,
            hidden_units=self._polish.fewest_units,
            most_units=self._growth.most_units,
            noise=self._wanted_noise,
            n_restarts=self._polish.n_restarts,
            n_jobs=self.n_jobs,
            clock=clock,
        )
        other.units, other.noise = list(self.units), self.noise
        return other


class WholeEvidence(FamilyCache):
    """The evidence of families on all observations, each fit continued from one to a subsample.

    A variable may have fits of the subsample's hidden units, and of twice as many.

    Parameters
    ----------
    subsample : FamilyEvidence
        The evidence on a subsample.
    """

    def __init__(self, subsample: FamilyEvidence):
        self.subsample = subsample
        families, units = subsample.families.whole, list(subsample.units)
        super().__init__(families, units, subsample.noise, n_jobs=subsample.n_jobs, clock=subsample.clock)
        self._doubled: set[Family] = set()

    def copy(self, clock: Clock | None = None) -> "WholeEvidence":
        """Return evidence that goes on from what is known here, which stays as it is."""
        other = super().copy(clock)
        other.subsample, other._doubled = self.subsample.copy(other.clock), set(self._doubled)
        return other

    def limit(self, clock: Clock) -> None:
        """Let another clock end fits."""
        self.clock = self.subsample.clock = clock

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        self.subsample([family for family in dict.fromkeys(families) if family not in self])
        return super().__call__(families)

    def polish(self, families: Sequence[Family]) -> None:
        """Fit the families that lack a parent of others with twice the units.

        On so many observations misfit pays for edges. Twice the units mend a part of it: a parent has to gain more.
        """
        fewer = [
            (node, causes)
            for node, causes in families
            if causes and any(node == effect and {*causes} < {*parents} for effect, parents in families)
        ]
        new = [family for family in fewer if family not in self._doubled]
        self(new)
        fits = self.run("fitting families with more hidden units", self.fit_twice_the_units, new)
        for family, fit in zip(new, fits, strict=True):
            self.keep(family, fit)
        self._doubled.update(new)

    def grow(self, families: Sequence[Family]) -> bool:
        """Return False: only `polish` tries more units."""
        return False

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Return False: the noise distribution is that of the subsample."""
        return False

    def _start_of(self, family: Family) -> Start:
        begun = self.subsample.fit_of(family)
        start = Start(begun.theta, begun.precision) if begun.succeeded else COLD
        return start._replace(precision_updates=0, max_steps=50)  # for outliers it would take hundreds


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
