"""The cache of families: every family that a search asks for is fitted once.

Entries are kept by family, hidden units and noise distribution. Where a node gets more units, or the noise another
distribution, other entries serve. A better fit of a family replaces the known one and all that was computed from it.

The score of a family is that of its network or, if that is better, of its linear or its additive model. The fit that is
kept is the network's, which can describe what these do as well.

A fit begins at known fits of families with one parent fewer, or one more.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TypeVar

import numpy as np

from icdh._ground.arrays import Floats
from icdh._ground.clock import Clock
from icdh._ground.parallel import map_on_threads
from icdh._node_model import NOISE_DISTRIBUTIONS
from icdh._node_model.additive import AdditiveModels
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import COLD, TUNING, Families, Family, Start
from icdh._node_model.without_fits import LinearGains

Result = TypeVar("Result")
Own = TypeVar("Own", bound="FamilyCache")  # typing.Self of Python 3.11
Key = tuple[Family, int]  # a family, and the hidden units of its node


class FamilyCache:
    """Fits and scores of families that were asked for; lower scores are better.

    New families are fitted in parallel. Each starts from the best fit with one parent fewer that was known before the
    call, so that results do not depend on the number of threads.

    Parameters
    ----------
    families : Families
        What is fitted.
    units : list of int
        The hidden units of every node.
    noise : {"gaussian", "student", "free", "auto"}
        The noise distribution of scores; "auto" lets every family choose one.
    n_jobs : int
        Threads.
    clock : Clock, optional
        Ends fits by raising OutOfTime; by default never.
    """

    def __init__(self, families: Families, units: list[int], noise: str, *, n_jobs: int, clock: Clock | None = None):
        self.families, self.units, self.noise = families, units, noise
        self.n_jobs, self.clock = n_jobs, clock or Clock()
        self.linear_gains, self.additive = LinearGains(families), AdditiveModels(families)
        self._fits: dict[Key, NodeFit] = {}
        self._scores: dict[tuple[Key, str], float] = {}
        self._rival_scores: dict[tuple[str, Family, str], float] = {}  # of other models than the network
        self._estimates: dict[tuple[Key, str], Floats] = {}
        self._known_parents: dict[int, tuple[tuple[int, ...], ...]] = {}  # of every node, in the order of their fits

    def copy(self: Own, clock: Clock | None = None) -> Own:
        """Return scores that go on from what is known here, which stays as it is."""
        other = copy(self)
        vars(other).update({name: copy(value) for name, value in vars(self).items() if isinstance(value, dict | list)})
        other.families, other.clock = self.families.copy(), clock or Clock()
        other.linear_gains, other.additive = LinearGains(other.families), AdditiveModels(other.families)
        return other

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats."""
        new = [family for family in dict.fromkeys(families) if family not in self]
        starts = [self._start_of(family) for family in new]
        for family, fit in zip(new, self.run("fitting families", self.fit, new, starts), strict=True):
            self.keep(family, fit)
        return [self.score_of(family) for family in families]

    def __contains__(self, family: Family) -> bool:
        return self._key(family) in self._fits

    def _key(self, family: Family) -> Key:
        return family, self.units[family[0]]

    def _start_of(self, family: Family) -> Start:
        known = self._known_parents.get(family[0], ())
        return warm_start(self.families, family, self.units[family[0]], self.known_fit, known)

    def fit(self, family: Family, start: Start = COLD) -> NodeFit:
        """Return a new fit of a family, which is not kept."""
        self.clock.check()
        return self.families.fit(family, self.units[family[0]], start)

    def fit_twice_the_units(self, family: Family) -> NodeFit:
        """Return a fit of a family that was scored with twice the units, which is not kept."""
        self.clock.check()
        return self.families.fit_twice_the_units(family, self.fit_of(family))

    def known_fit(self, family: Family) -> NodeFit | None:
        """Return the fit of a family; None if it has none."""
        return self._fits.get(self._key(family))

    def fit_of(self, family: Family) -> NodeFit:
        """Return the fit of a family that was scored."""
        return self._fits[self._key(family)]

    def score_of(self, family: Family) -> float:
        """Return the score of a family that has a fit: the lowest of its network, linear and additive model."""
        return min(self._scores_by_model(family).values())

    def _scores_by_model(self, family: Family) -> dict[str, float]:
        rivals = {model: self.rival_score_of(family, model) for model in ("linear", "additive")}
        return {"network": self.network_score_of(family), **rivals}

    def rival_score_of(self, family: Family, model: str) -> float:
        """Return the score that a family has by its "linear" or "additive" model.

        It is infinite if the family has none, or no parents.
        """
        key = model, family, self.noise
        if key not in self._rival_scores:
            score = self.families.linear_score if model == "linear" else self.additive.score
            self._rival_scores[key] = score(family, self.noise)
        return self._rival_scores[key]

    def model_of(self, family: Family) -> str:
        """Return which model of a family scores best: "network", "linear" or "additive"."""
        self([family])
        scores = self._scores_by_model(family)
        return min(scores, key=lambda model: scores[model])

    def network_score_of(self, family: Family) -> float:
        """Return the score that a family has by its fit."""
        key = self._key(family), self.noise
        if key not in self._scores:
            self._scores[key] = self.score_by(family, self.fit_of(family))
        return self._scores[key]

    def score_by(self, family: Family, fit: NodeFit) -> float:
        """Return the score that a family has by a fit of its network."""
        return self.families.score(family, fit, self.noise)

    def keep(self, family: Family, fit: NodeFit, score: float | None = None) -> None:
        """Keep a fit if it is better than the known one; its own score is computed if not given."""
        self.clock.check()
        score = self.score_by(family, fit) if score is None else score
        if family not in self or score < self.network_score_of(family):
            self._fits[self._key(family)] = fit
            node, parents = family
            self._known_parents[node] = tuple(dict.fromkeys([*self._known_parents.get(node, ()), parents]))
            for noise in NOISE_DISTRIBUTIONS:
                self._scores.pop((self._key(family), noise), None)  # those of the fit before
                self._estimates.pop((self._key(family), noise), None)
            self._scores[self._key(family), self.noise] = score

    def gain_estimates(self, family: Family) -> Floats:
        """Return estimates of the gain of every change of a family's parents, by whichever model gains more."""
        key = self._key(family), self.noise
        if key not in self._estimates:
            score = self([family])[0]
            self.clock.check()
            (estimates,) = self.run("estimating gains", self.families.gain_estimates, [family], [self.fit_of(family)])
            if self.families.responses[family[0]].gaussian is not None:
                estimates = np.maximum(estimates, self._linear_estimates(family, score))
            self._estimates[key] = estimates
        return self._estimates[key]

    def _linear_estimates(self, family: Family, score: float) -> Floats:
        """Return estimates of the gain of every change of a family's parents that makes its model linear."""
        node, parents = family
        behind = self.rival_score_of(family, "linear") - score if parents else 0.0
        penalties = self.families.edge_penalty[:, node]
        estimates: Floats = TUNING.optimism * (self.linear_gains(node, parents) + penalties) - penalties - behind
        for parent in parents:
            fewer = node, tuple(k for k in parents if k != parent)
            estimates[parent] = score - self.rival_score_of(fewer, "linear")
        return estimates

    def residuals(self, family: Family) -> Floats:
        """Return the standardised residuals of a family that was scored, one for each observation that counts."""
        return self.families.residuals(family, self.fit_of(family))[0][0]

    def noise_of(self, family: Family) -> str:
        """Return the noise distribution of a family that was scored; see `Families.noise_of`."""
        return self.families.noise_of(family, self.fit_of(family), self.noise)

    def fitted(self) -> set[Family]:
        """Return the families that have a fit, of any number of units."""
        return {family for family, _ in self._fits}

    def run(self, task: str, function: Callable[..., Result], *arguments: Sequence[object]) -> list[Result]:
        """Return the results of a function for each of these arguments, on all threads; the clock is told the task."""
        self.clock.begin(task, len(arguments[0]))
        listens = self.families.n_observations > TUNING.slow_observations and len(arguments[0]) > 0
        return map_on_threads(function, arguments, self.n_jobs, self.clock.part_done, listens=listens)

    def limit(self, clock: Clock) -> None:
        """Let another clock end fits."""
        self.clock = clock


def warm_start(
    families: Families,
    family: Family,
    hidden_units: int,
    known_fit: Callable[[Family], NodeFit | None],
    known_parents: Iterable[tuple[int, ...]],
) -> Start:
    """Return the best known fit of a neighbouring family as a start; a cold one if there is none.

    The best one with a parent fewer comes first; the weights of the further parent are zero. Most families of a node
    that has just got more hidden units have only neighbours with a parent more; the weights of that parent are left
    out. The prior's precisions are taken over: from their initial values all weights would shrink and grow again.

    Parameters
    ----------
    families : Families
        What is fitted.
    family : tuple
        The node and its parents.
    hidden_units : int
        m.
    known_fit : callable
        Returns the fit of a family, None if it has none.
    known_parents : iterable of tuple
        The parents that the node was fitted with: few, where there are many variables.
    """
    node, parents = family
    if not parents:
        return COLD
    fewer = [((node, parents[:k] + parents[k + 1 :]), parents[k]) for k in range(len(parents))]
    if best := _best_known(fewer if len(parents) > 1 else [], known_fit):
        fit, new = best
        weights = families.weights_of(new, parents, hidden_units)
        theta = np.insert(fit.theta, weights.start, np.zeros(weights.stop - weights.start))
        return Start(theta, fit.precision)
    more = [other for other in known_parents if len(other) == len(parents) + 1 and {*parents} < {*other}]
    if best := _best_known([((node, other), min({*other} - {*parents})) for other in more], known_fit):
        fit, new = best
        theta = np.delete(fit.theta, families.weights_of(new, parents, hidden_units))
        return Start(theta, fit.precision)
    return COLD


def _best_known(
    neighbours: Iterable[tuple[Family, int]], known_fit: Callable[[Family], NodeFit | None]
) -> tuple[NodeFit, int] | None:
    """Return the best known fit among families that are each given with a variable, and that variable."""
    fits = ((known_fit(family), variable) for family, variable in neighbours)
    known = [(fit, variable) for fit, variable in fits if fit is not None and fit.succeeded]
    return min(known, key=lambda pair: pair[0].evidence, default=None)
