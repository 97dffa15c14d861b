"""The score of families, for searches, checks and effects alike: fits remembered, warm-started, restarted, widened.

Every family that a search asks for is fitted once. Entries are kept by family, hidden units and noise distribution.
Where a node gets more units, or the noise another distribution, other entries serve. A better fit of a family replaces
the known one and all that was computed from it. A fit begins at known fits of families with one parent fewer, or one
more.

The score of a family is that of its network or, if that is better, of its linear, its additive or its heteroscedastic
linear model. The fit that is kept is the network's, which can describe what these do as well. A linear or additive
model that is far behind with a parent fewer is not fitted.

Once a graph is known, growth doubles the hidden units of a node again and again while that raises the evidence of its
family. Polish fits families from further initial weights, and the best fit of each to a finer tolerance.

A subsample of a long table is searched; all observations have fits of its graph, which go on from there. So everything
is decided on the subsample that needs many fits: initial weights, detours, units, noise distribution.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np

from icdh._node_model.evidence import COLD, NodeFit, Start
from icdh._node_model.families import Families, Family, without
from icdh._node_model.family_models import OPTIMISM, FamilyModels, gain_estimates_of
from icdh._node_model.gain_estimates import Pair, misfit, pair_gains
from icdh._node_model.heteroscedastic import HeteroscedasticFit
from icdh._node_model.noise import LEAST, MOST, NOISE_DISTRIBUTIONS
from icdh._node_model.screening import LinearGains, TableGains
from icdh._utils.arrays import Floats
from icdh._utils.clock import Clock
from icdh._utils.parallel import in_parallel, leaves_this_process, map_on_threads

FAR_BEHIND = 100.0  # nats: a model that is so much worse than the best one hardly becomes that with a further parent
QUICK_OBSERVATIONS = 2000  # that families without a fit are scored on when time is over
SLOW_OBSERVATIONS = 20_000  # of more of them a single fit may take seconds
FINE_TOLERANCE = 0.001  # nats, of polish
GROWTH_GAIN = 5.0  # nats that twice the hidden units must gain
FEW_DIFFERENCES = 2  # parents that only one of two similar families has
LINEAR_MEANS = "linear", "heteroscedastic"  # models
BEGUN_ANYWHERE = "network", "heteroscedastic"  # models without a closed form
LINEAR_SHARE = 0.5  # of the effects, from which linear models have a search of their own
WIDE = 100  # families at once, whose gains processes on a cluster may estimate: fewer take less time than to send them
LOST, LOST_A_ROW = 100.0, 0.01  # nats, and nats an observation, by which a descent ends below no parents
TRIED = 0.1  # share of what other noise has to gain in the end, from which a search by it is tried
CERTAIN = 0.6  # nats an observation that an edge gains, beyond which no fit without it is as good
FAILED = 20.0  # nats that residuals of a fit tell of its own parents, above which the fit has failed
Result = TypeVar("Result")
Key = tuple[Family, int]  # a family, and the hidden units of its node


@dataclass
class Memory:
    """What is known of families.

    Attributes
    ----------
    fits : dict
        The best fit of each.
    scores : dict
        Its score under a noise distribution.
    baselines : dict
        The scores of other models than the network.
    lowest : dict
        The lowest score by all models.
    estimates : dict
        Estimates of what changes of the parents gain.
    pairs : dict
        Pairs of further parents that may gain together, and the fit that they are about.
    parents : dict
        Of every node, the sets of parents that it was fitted with, in the order of their fits.
    large_enough, worse_with_more : set
        The families that more units did not help, and those whose evidence they lowered.
    polished, restarted : set
        The families that were fitted from further weights, and those from all.
    without_edge : set
        Families, a parent and the hidden units of which what lacks the parent was fitted from the family's fit.
    """

    fits: dict[Key, NodeFit] = field(default_factory=dict)
    scores: dict[tuple[Key, str], float] = field(default_factory=dict)
    baselines: dict[tuple[str, Family, str], float] = field(default_factory=dict)
    lowest: dict[tuple[Key, str], float] = field(default_factory=dict)
    estimates: dict[tuple[Key, str], Floats] = field(default_factory=dict)
    pairs: dict[Family, tuple[NodeFit, list[Pair]]] = field(default_factory=dict)
    parents: dict[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    large_enough: set[Family] = field(default_factory=set)
    worse_with_more: set[tuple[int, Family]] = field(default_factory=set)
    polished: set[tuple[Family, int, str]] = field(default_factory=set)
    restarted: set[Key] = field(default_factory=set)
    without_edge: set[tuple[Family, int, int]] = field(default_factory=set)

    def copy(self) -> "Memory":
        """Return what is known, to go on from."""
        return Memory(*(copy(getattr(self, part.name)) for part in fields(self)))


@dataclass(frozen=True)
class ScoreSettings:
    """How families are fitted and scored.

    Attributes
    ----------
    hidden_units : int
        The hidden units of every node to start with.
    most_units : int
        How far `FamilyScore.grow` may double them.
    noise : str
        The distribution of the standardised residuals (`icdh._node_model.noise`). "auto" is Gaussian until
        `FamilyScore.choose_noise` finds residuals that are not; then every family chooses.
    n_restarts : int
        Number of initial weights from which `FamilyScore.polish` fits a family.
    n_jobs : int
        Threads.
    """

    hidden_units: int
    most_units: int
    noise: str
    n_restarts: int
    n_jobs: int


class FamilyScore:
    """The negative log evidence of families plus a penalty for each edge, in nats; lower is better.

    New families are fitted in parallel. Each starts from the best fit with one parent fewer that was known before the
    call, so that results do not depend on the number of threads. All families of a node have the same number of hidden
    units, so that their evidences compare.

    Parameters
    ----------
    families : Families
        What is fitted.
    settings : ScoreSettings
        How.
    clock : Clock, optional
        Ends fits by raising OutOfTime; by default never.
    like : FamilyScore, optional
        Whose hidden units and noise distribution to begin with; further variables have the fewest units.

    Attributes
    ----------
    models : FamilyModels
        The models of families.
    units : list of int
        The hidden units of every node.
    noise : str
        The noise distribution of scores.
    memory : Memory
        What is known.
    """

    def __init__(
        self, families: Families, settings: ScoreSettings, clock: Clock | None = None, like: "FamilyScore | None" = None
    ):
        self.families, self.settings, self.clock, self.memory = families, settings, clock or Clock(), Memory()
        self.models, self.linear_gains = FamilyModels(families), LinearGains(families)
        units = [settings.hidden_units] if like is None else like.units
        self.units: list[int] = units + [min(units)] * (len(families) - len(units))
        self.noise: str = like.noise if like else "gaussian" if settings.noise == "auto" else settings.noise

    def on(self, families: Families, clock: Clock | None = None, keep: Iterable[Family] = ()) -> "FamilyScore":
        """Return the score of families of other observations, or with further causes.

        Parameters
        ----------
        families : Families
            The families; further variables are only causes.
        clock : Clock, optional
            Ends fits; by default never.
        keep : iterable of Family
            Those whose fit is that to these families, too.
        """
        other, kept = FamilyScore(families, self.settings, clock, like=self), list(keep)
        other.models.heteroscedastic.keep(self.models.heteroscedastic, kept)
        for family in kept:
            other.keep(family, self.fit_of(family), self.network_score_of(family))
        return other

    def copy(self, clock: Clock | None = None) -> "FamilyScore":
        """Return a score that goes on from what is known here, which stays as it is."""
        other = self.on(self.families, clock)
        other.memory = self.memory.copy()
        other.models.heteroscedastic.keep(self.models.heteroscedastic, self.fitted())
        return other

    def by_noise(self, noise: str) -> "FamilyScore":
        """Return the score of the same fits, shared with this one, under another noise distribution."""
        other = copy(self)
        other.noise = noise
        return other

    @property
    def chooses_noise(self) -> bool:
        """Whether the search chooses the noise distribution: nobody named it, and some variable has a density."""
        return self.settings.noise == "auto" and bool([of for of in self.families.responses if of.density is not None])

    def with_more_units(self, families: Sequence[Family], most_units: int) -> "FamilyScore":
        """Return the score of the families of a graph alone, grown to up to so many units; this one stays as it is.

        Further units describe the effects of a graph better but hardly ever change which graph is best on few
        observations, so a search may do without them.

        Parameters
        ----------
        families : sequence
            A node and its parents each.
        most_units : int
            The limit of the hidden units.
        """
        larger, known = self.on(self.families, self.clock, families), self.memory.copy()
        larger.settings = replace(self.settings, most_units=most_units)
        larger.memory.large_enough = known.large_enough  # a family like one that more units made worse is tried
        larger.grow(families)
        larger.polish([family for family in families if larger.units[family[0]] > self.units[family[0]]])
        return larger

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats."""
        keys, lowest = [(self._key(family), self.noise) for family in families], self.memory.lowest
        if not [key for key in keys if key not in lowest]:
            return [lowest[key] for key in keys]
        new = [family for family in dict.fromkeys(families) if family not in self]
        starts = [self._start_of(family) for family in new]
        of_lines = [self._start_of_line(family) for family in new]
        for family, fit in zip(new, self.run("fitting families", self._fit_models, new, starts, of_lines), strict=True):
            self.keep(family, fit)
        return [self.score_of(family) for family in families]

    def _start_of_line(self, family: Family) -> HeteroscedasticFit | None:
        """Return where the heteroscedastic linear model of a family begins; None if by its network."""
        return self.models.heteroscedastic.start_of(family)

    def _fit_models(self, family: Family, start: Start, of_line: HeteroscedasticFit | None) -> NodeFit:
        """Return a fit of a family's network, after the heteroscedastic linear model that may begin with it."""
        fit = self.fit(family, start)
        self.models.heteroscedastic.fit(family, fit, of_line)
        return fit

    def __contains__(self, family: Family) -> bool:
        return self._key(family) in self.memory.fits

    def _key(self, family: Family) -> Key:
        return family, self.units[family[0]]

    def _start_of(self, family: Family) -> Start:
        """Return the best known fit of a neighbouring family as a start; a cold one if there is none.

        The best one with a parent fewer comes first; the weights of the further parent are zero. Most families of a
        node that has just got more hidden units have only neighbours with a parent more; the weights of that parent are
        left out. The prior's precisions are taken over: from their initial values all weights would shrink and grow
        again.
        """
        node, parents = family
        if not parents:
            return COLD
        fewer = [(parents[:k] + parents[k + 1 :], parents[k]) for k in range(len(parents))]
        if best := self._best_known(node, fewer if len(parents) > 1 else []):
            fit = self.families.with_parent(*best, parents)
            return Start(fit.theta, fit.precision)
        known = self.memory.parents.get(node, ())
        more = [other for other in known if len(other) == len(parents) + 1 and {*parents} < {*other}]
        if best := self._best_known(node, [(other, min({*other} - {*parents})) for other in more]):
            fit = self.families.without_parent(*best, parents)
            return Start(fit.theta, fit.precision)
        return COLD

    def _best_known(self, node: int, neighbours: Iterable[tuple[tuple[int, ...], int]]) -> tuple[NodeFit, int] | None:
        """Return the best known fit of a node among parents that are each given with a variable, and that variable."""
        fits = ((self.memory.fits.get(self._key((node, parents))), variable) for parents, variable in neighbours)
        known = [(fit, variable) for fit, variable in fits if fit is not None and fit.succeeded]
        return min(known, key=lambda pair: pair[0].evidence, default=None)

    def fit(self, family: Family, start: Start = COLD) -> NodeFit:
        """Return a new fit of a family, which is not kept; a cold one where the start leads far below no parents."""
        self.clock.check()
        fit, constant = self.models.fit(family, self.units[family[0]], start), (family[0], ())
        known = self.memory.fits.get(self._key(constant))
        most = max(LOST, LOST_A_ROW * self.families.n_observations)
        if start.theta is None or known is None or fit.evidence < known.evidence + most:
            return fit
        cold = self.models.fit(family, self.units[family[0]], Start(seed=start.seed, tol=start.tol))
        return min(fit, cold, key=lambda one: one.evidence)

    def fit_twice_the_units(self, family: Family) -> NodeFit:
        """Return a fit of a family that was scored with twice the units, which is not kept."""
        self.clock.check()
        return self.models.fit_twice_the_units(family, self.fit_of(family))

    def fit_of(self, family: Family) -> NodeFit:
        """Return the fit of a family that was scored."""
        return self.memory.fits[self._key(family)]

    def score_of(self, family: Family) -> float:
        """Return the score of a family that has a fit: the lowest of its models."""
        key = self._key(family), self.noise
        if key not in self.memory.lowest:
            self.memory.lowest[key] = min(self._scores_by_model(family, self.noise).values())
        return self.memory.lowest[key]

    def _scores_by_model(self, family: Family, noise: str) -> dict[str, float]:
        baselines = {model: self.baseline_score_of(family, model, noise) for model in ("linear", "additive")}
        varying = self.models.heteroscedastic_score(family, noise, self.fit_of(family))
        return {"network": self.network_score_of(family, noise), **baselines, "heteroscedastic": varying}

    def baseline_score_of(self, family: Family, model: str, noise: str = "") -> float:
        """Return the score that a family has by its "linear" or "additive" model, by default under the noise of scores.

        It is infinite if the family has none, or no parents, or cannot win.
        """
        key = model, family, noise or self.noise
        if key not in self.memory.baselines:
            score = self.models.linear_score if model == "linear" else self.models.additive_score
            self.memory.baselines[key] = score(family, key[-1]) if self._may_win(*key) else np.inf
        return self.memory.baselines[key]

    def _may_win(self, model: str, family: Family, noise: str) -> bool:
        """Return whether another model than the network may be the best, given families with a parent fewer.

        Of 15,429 families of which one with a parent fewer was far behind, three had another best model. A network that
        is far worse itself has failed.
        """
        network = self.memory.scores.get((self._key(family), noise), np.inf)
        for parent in family[1] if len(family[1]) > 1 else ():
            fewer = without(family, parent)
            lowest = self.memory.lowest.get((self._key(fewer), noise), -np.inf)
            if self.memory.baselines.get((model, fewer, noise), lowest) > lowest + FAR_BEHIND > network:
                return False
        return True

    def rises(self, family: Family) -> Floats:
        """Return by how many nats the score of a family rises without each of its parents, shape (p,)."""
        *fewer, whole = self([*(without(family, parent) for parent in family[1]), family])
        return np.array(fewer) - whole

    def model_of(self, family: Family, noise: str = "") -> str:
        """Return which model of a family scores best: "network", "linear", "additive" or "heteroscedastic"."""
        self([family])
        scores = self._scores_by_model(family, noise or self.noise)
        return min(scores, key=lambda model: scores[model])

    def network_score_of(self, family: Family, noise: str = "") -> float:
        """Return the score that a family has by its fit, by default under the noise of scores."""
        key = self._key(family), noise or self.noise
        if key not in self.memory.scores:
            self.memory.scores[key] = self.models.score(family, self.fit_of(family), key[-1])
        return self.memory.scores[key]

    def score_by(self, family: Family, fit: NodeFit) -> float:
        """Return the score that a family has by a fit of its network."""
        return self.models.score(family, fit, self.noise)

    def keep(self, family: Family, fit: NodeFit, score: float | None = None) -> None:
        """Keep a fit if it is better than the known one; its own score is computed if not given."""
        self.clock.check()
        score = self.score_by(family, fit) if score is None else score
        known = family in self
        if not known or score < self.network_score_of(family):
            self.memory.fits[self._key(family)] = fit
            node, parents = family
            others = self.memory.parents.get(node, ())
            if parents not in others:
                self.memory.parents[node] = (*others, parents)
            if known:
                self._forget(family, self.memory.scores, self.memory.lowest, self.memory.estimates)
            self.memory.scores[self._key(family), self.noise] = score

    def _forget(self, family: Family, *of_fit_before: dict[tuple[Key, str], Any]) -> None:
        """Forget what was computed from a fit before, under every noise."""
        for computed, noise in product(of_fit_before, NOISE_DISTRIBUTIONS):
            computed.pop((self._key(family), noise), None)

    def closed_form_gains(self, graph: Sequence[tuple[int, ...]]) -> LinearGains | TableGains | None:
        """Return gains of tables if all variables have labels, of linear models if most effects of a graph are linear.

        None if neither is so, or if rows depend on one another: both count every row.
        """
        families = self.families
        if families.related is not None:
            return None
        if not [response for response in families.responses if response.codes is None]:
            return TableGains(families)
        linear = [self.model_of(family) in LINEAR_MEANS for family in enumerate(graph) if family[1]]
        is_linear = all(families.fitted_by_least_squares) and np.mean(linear or 0) > LINEAR_SHARE
        return self.linear_gains if is_linear else None

    def gain_estimates(self, families: Sequence[Family]) -> list[Floats]:
        """Return estimates of the gain of every change of each family's parents, by whichever model gains more."""
        known = self.memory.estimates
        new = [family for family in families if (self._key(family), self.noise) not in known]
        scores = self(new)
        for family, score, estimates in zip(new, scores, self._estimates(new), strict=True):
            if self.families.responses[family[0]].least_squares is not None:
                estimates = np.maximum(estimates, self._linear_estimates(family, score))
            known[self._key(family), self.noise] = estimates
        return [known[self._key(family), self.noise] for family in families]

    def _estimates(self, families: Sequence[Family]) -> list[Floats]:
        """Return the networks' estimates; those of a wide table come from where joblib is configured to run tasks."""
        n_jobs = self.settings.n_jobs
        if len(families) < WIDE or n_jobs == 1 or not leaves_this_process():
            return self.run("estimating gains", self._estimate, families)
        self.clock.check()
        self.clock.begin("estimating gains")
        fits = [(family, self.fit_of(family)) for family in families]
        size = -(-len(fits) // n_jobs)
        tasks = [(self.models, fits[first : first + size]) for first in range(0, len(fits), size)]
        return [estimates for part in in_parallel(gain_estimates_of, tasks, n_jobs) for estimates in part]

    def _estimate(self, family: Family) -> Floats:
        self.clock.check()
        return self.models.gain_estimates(family, self.fit_of(family))

    def _linear_estimates(self, family: Family, score: float) -> Floats:
        """Return estimates of the gain of every change of a family's parents that makes its model linear."""
        node, parents = family
        scores = self._scores_by_model(family, self.noise) if parents else {}
        behind = min(scores[model] for model in LINEAR_MEANS) - score if parents else 0.0
        penalties = self.families.edge_penalty[:, node]
        estimates: Floats = OPTIMISM * (self.linear_gains(node, parents) + penalties) - penalties - behind
        for parent in parents:
            estimates[parent] = score - self.baseline_score_of(without(family, parent), "linear")
        return estimates

    def polish_failed(self, families: Sequence[Family]) -> None:
        """Polish the families whose residuals still depend on their own parents: cold starts may end far apart."""
        self(families)
        new = [family for family in families if family[1] and self.fit_of(family).succeeded]
        left = self.run("testing residuals", partial(misfit, self.families), new, list(map(self.fit_of, new)))
        self.polish([family for family, nats in zip(new, left, strict=True) if nats > FAILED])

    def pair_gains(self, families: Sequence[Family]) -> list[Pair]:
        """Return two further parents each that may gain together, given the families of a graph, the best first."""
        self(families)
        fits, known = [(family, self.fit_of(family)) for family in families], self.memory.pairs
        new = [(family, fit) for family, fit in fits if family not in known or known[family][0] is not fit]
        if new:
            (gains,) = self.run("estimating gains of pairs", pair_gains, [self.families], [new])
            known.update({family: (fit, pairs) for (family, fit), pairs in zip(new, gains, strict=True)})
        return sorted((pair for family in families for pair in known[family][1]), key=lambda pair: -pair[2])

    def fitted(self) -> set[Family]:
        """Return the families that have a fit, of any number of units."""
        return {family for family, _ in self.memory.fits}

    def run(self, task: str, function: Callable[..., Result], *arguments: Sequence[object]) -> list[Result]:
        """Return the results of a function for each of these arguments, on all threads; the clock is told the task."""
        self.clock.begin(task, len(arguments[0]))
        listens = self.families.n_observations > SLOW_OBSERVATIONS
        return map_on_threads(function, arguments, self.settings.n_jobs, self.clock.part_done, listens=listens)

    def limit(self, clock: Clock) -> None:
        """Let another clock end fits."""
        self.clock = clock

    def grow(self, families: Sequence[Family]) -> bool:
        """Double the hidden units of the nodes of a graph while that gains; return whether any node grew.

        Units are never taken back, so a search that grows them comes to an end.
        """
        self(families)
        grown = False
        while families := [family for family in families if self._may_grow(family)]:
            fits = self.run("fitting families with more hidden units", self.fit_twice_the_units, families)
            for family, fit in zip(families, fits, strict=True):
                gain = self.fit_of(family).evidence - fit.evidence
                if gain < 0.0:
                    self.memory.worse_with_more.add((self.units[family[0]], family))
                if gain > GROWTH_GAIN:
                    grown = True
                    self.units[family[0]] = fit.hidden_units
                    self.keep(family, fit)
                else:
                    self.memory.large_enough.add(family)
        return grown

    def _may_grow(self, family: Family) -> bool:
        node, parents = family
        few = 2 * self.units[node] <= self.settings.most_units and self.families.responses[node].ordered
        tried = family in self.memory.large_enough or self._is_like_a_worse_one(family)
        return bool(parents) and few and not tried

    def _is_like_a_worse_one(self, family: Family) -> bool:
        """Return whether twice the units lowered the evidence of a family with nearly the same parents.

        Of 171 such families of simulated tables one gained more than ``GROWTH_GAIN``, and that was 8 nats.
        """
        node, parents = family
        return any(
            effect == node and units == self.units[node] and len({*parents} ^ {*causes}) <= FEW_DIFFERENCES
            for units, (effect, causes) in self.memory.worse_with_more
        )

    def polish(self, families: Sequence[Family]) -> None:
        """Fit families from further initial weights, and the best fit of each to a finer tolerance.

        Each is polished once for its hidden units and noise distribution. A family of a node that has grown is polished
        from its fit alone while a search compares graphs: such fits are expensive, and half of their units began at
        random. Once a graph is found they get all initial weights, too.
        """
        with_parents = {family: (family, self.units[family[0]], self.noise) for family in families if family[1]}
        new = [family for family, key in with_parents.items() if key not in self.memory.polished]
        self(new)
        self.fit_again(new, [1 if self._is_large(family) else self.settings.n_restarts for family in new])
        self.memory.polished.update(with_parents.values())

    def try_deletions(self, families: Sequence[Family]) -> None:
        """Fit what lacks one parent of these families from their fits, without the weights of that parent.

        Else it has the fits of a climb that came from fewer parents. Where noise is low they end far from the best one,
        and an edge that gains nothing seems to gain hundreds of nats.
        """
        limits = CERTAIN * self.families.counts()
        edges = [
            (family, parent)
            for family in families
            if len(family[1]) > 1 and self.fit_of(family).succeeded and self.model_of(family) in BEGUN_ANYWHERE
            for parent, rise in zip(family[1], self.rises(family), strict=True)
            if rise < limits[family[0]]
        ]
        new = {key: edge for edge in edges if (key := (*edge, self.units[edge[0][0]])) not in self.memory.without_edge}
        of_lines = [edge for edge in new.values() if self.model_of(edge[0]) == "heteroscedastic"]
        of_networks = [edge for edge in new.values() if edge not in of_lines]
        fewer = [without(*edge) for edge in of_networks]
        parts = [self.families.without_parent(self.fit_of(family), parent, family[1]) for family, parent in of_networks]
        starts = [Start(part.theta, part.precision) for part in parts]
        fits = self.run("fitting families without an edge", self.fit, fewer, starts)
        for family, fit in zip(fewer, fits, strict=True):
            self.keep(family, fit)
        fewer, lines = [without(*edge) for edge in of_lines], self.models.heteroscedastic
        begun = [lines.start_without(*edge) for edge in of_lines]
        self.run("fitting families without an edge", lines.fit, fewer, list(map(self.fit_of, fewer)), begun)
        for family in fewer:
            self._forget(family, self.memory.lowest, self.memory.estimates)
        self.memory.without_edge.update(new)

    def _restart_large(self, families: Sequence[Family]) -> None:
        """Fit the families of nodes that have grown from all initial weights, each once."""
        large = {family: self._key(family) for family in families if family[1] and self._is_large(family)}
        new = [family for family, key in large.items() if key not in self.memory.restarted]
        self.fit_again(new, [self.settings.n_restarts] * len(new))
        self.memory.restarted.update(large.values())

    def _is_large(self, family: Family) -> bool:
        return self.units[family[0]] > self.settings.hidden_units

    def fit_again(self, families: Sequence[Family], n_starts: Sequence[int]) -> None:
        """Fit families from so many initial weights each, and keep what is better."""
        results = self.run("fitting families from further weights", self._polished_fits, families, n_starts)
        for family, fits in zip(families, results, strict=True):
            for fit, score in fits:
                self.keep(family, fit, score)

    def _polished_fits(self, family: Family, n_starts: int) -> list[tuple[NodeFit, float]]:
        """Return fits from further cold starts, and the best of all fits at a finer tolerance; each with its score."""
        # Once families choose their noise, a cold start that lost to a better Gaussian fit may win.
        first = 0 if self.noise == "auto" else 1
        fits = [self.fit(family, Start(seed=k)) for k in range(first, n_starts)]
        scored = [(fit, self.score_by(family, fit)) for fit in fits]
        best, _ = min([(self.fit_of(family), self.network_score_of(family)), *scored], key=lambda pair: pair[1])
        if not best.succeeded:
            return scored
        finer = self.fit(family, Start(best.theta, best.precision, tol=FINE_TOLERANCE))
        return [*scored, (finer, self.score_by(family, finer))]

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Let every family choose its noise if those of a found graph ask for it; return whether scores changed.

        A wrong graph and too few hidden units leave structure in the residuals, and that looks like heavy tails. So the
        choice comes last. It is tried where residuals gain a tenth of what the choice has to gain in the end: wrong
        arrows make noise look Gaussian, and the graph found by other noise has to bear it out (`revoke_noise`).
        """
        self(families)
        self._restart_large(families)
        if self.noise == self.settings.noise:
            return False
        residuals_of = list(map(self._or_alone, families))
        if not self._gains_over_gaussian(residuals_of).mean() >= TRIED * LEAST:
            return False
        self.noise = "auto"
        return True

    def _or_alone(self, family: Family) -> Family:
        """Return an effect without causes where that has more evidence, once it chooses its noise, else the family.

        Under Gaussian noise a spread that is wide at single rows explains heavy tails, and its residuals have none.
        """
        alone = family[0], ()
        without_causes, with_causes = self.by_noise("auto")([alone, family])
        return alone if without_causes < with_causes else family

    def revoke_noise(self, families: Sequence[Family], score_before: float) -> bool:
        """Go on with Student's t if the graph found by any noise gains little; return whether scores changed.

        The choice stays if it gains `LEAST` nats an observation and variable over the best graph under Gaussian noise,
        of that score, or if so much is gained by most residuals, each held to `MOST`. Heavy tails of few variables are
        no reason for a free density of all, but under Gaussian noise they have false causes.
        """
        if not self.settings.noise == self.noise == "auto":
            return False
        numbers = [node for node, _ in self._with_density(families)]
        gain = (score_before - sum(self(families))) / max(self.families.counts()[numbers].sum(), 1)
        if gain >= LEAST or np.minimum(self._gains_over_gaussian(families), MOST).mean() >= LEAST:
            return False
        self.noise = "student"
        return True

    def _gains_over_gaussian(self, families: Sequence[Family]) -> Floats:
        """Return the gain of every continuous variable by other noise, in nats an observation; of none, one zero."""
        continuous = self._with_density(families)
        gains = [self.models.gain_over_gaussian(family, self.fit_of(family)) for family in continuous]
        return np.array(gains or [0.0])

    def _with_density(self, families: Sequence[Family]) -> list[Family]:
        """Return the families whose effect has values with a density."""
        return [family for family in families if self.families.responses[family[0]].density is not None]

    def describes_well(self, family: Family) -> bool:
        """Return whether a number has enough hidden units, and noise above the floor of the variance.

        Units that grew up to their limit would grow further; noise below the floor tells no direction.
        """
        node = family[0]
        grown, density = 2 * self.units[node] > self.settings.most_units, self.families.responses[node].density
        return density is not None and not grown and self.models.resolves_noise(family, self.fit_of(family))


class WholeScore(FamilyScore):
    """The score of families on all observations, each fit continued from one to a subsample.

    A variable may have fits of the subsample's hidden units, and of twice as many.

    Parameters
    ----------
    subsample : FamilyScore
        The score on a subsample.
    """

    def __init__(self, subsample: FamilyScore):
        super().__init__(subsample.families.whole, subsample.settings, subsample.clock, like=subsample)
        self.subsample = subsample
        self._doubled: set[Family] = set()

    def copy(self, clock: Clock | None = None) -> "WholeScore":
        """Return a score that goes on from what is known here, which stays as it is."""
        other = WholeScore(self.subsample.copy(clock))
        other.units, other.noise, other.memory = list(self.units), self.noise, self.memory.copy()
        other.models.heteroscedastic.keep(self.models.heteroscedastic, self.fitted())
        other._doubled = set(self._doubled)
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

    def try_deletions(self, families: Sequence[Family]) -> None:
        """Leave fits as they are: they go on from those of the subsample."""

    def choose_noise(self, families: Sequence[Family]) -> bool:
        """Return False: the noise distribution is that of the subsample."""
        return False

    def _start_of(self, family: Family) -> Start:
        begun = self.subsample.fit_of(family)
        start = Start(begun.theta, begun.precision) if begun.succeeded else COLD
        return start._replace(precision_updates=0, max_steps=50)  # for outliers it would take hundreds

    def _start_of_line(self, family: Family) -> HeteroscedasticFit | None:
        return self.subsample.models.heteroscedastic.known(family)


class QuickScore(FamilyScore):
    """The score of families when time is over: known fits where there are any, else few observations.

    Families that are asked for together are compared on the same observations: all, if all of them have a fit to all.

    Parameters
    ----------
    known : FamilyScore
        The fits from before.
    """

    def __init__(self, known: FamilyScore):
        super().__init__(known.families, known.settings, like=known)
        self.known, self.quick = known, quick_score(known)
        self.share = self.quick.families.counts() / known.families.counts()

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        if not [family for family in families if family not in self.known]:
            return self.known(families)
        return [score / self.share[node] for score, (node, _) in zip(self.quick(families), families, strict=True)]

    def fit_of(self, family: Family) -> NodeFit:
        """Return the fit of a family that was scored."""
        return (self.known if family in self.known else self.quick).fit_of(family)


def quick_score(scores: FamilyScore) -> FamilyScore:
    """Return the score on a few of the observations, without a limit of time."""
    return scores.on(scores.families.subsample(QUICK_OBSERVATIONS))
