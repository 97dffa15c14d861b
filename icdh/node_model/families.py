"""The cache of families: every node model that a search asks for is fitted once."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy

import numpy as np

from icdh._clock import Clock
from icdh.node_model._kernels import VARIANCE_FLOOR
from icdh.node_model.evidence import at_fixed_point, fit_node, odds_without_parents
from icdh.node_model.fit import node_outputs, with_twice_the_units
from icdh.node_model.noise import worth_of_noise
from icdh.node_model.promise import promises
from icdh.node_model.targets import Density, Labels, Levels, Target

Family = tuple[int, tuple[int, ...]]
COARSE, FINE = 0.3, 0.001  # nats: the tolerance of fits while a search compares, and of those that it ends with;
MANY = 10_000  # of more observations than these, as many times more
OPTIMISM = 1.5  # a change gains hardly more than so many times what it promises
LEAST_COST = 0.25  # and a parent's loss costs hardly less than this share of what the second order says
LEAST_GAIN = 5.0  # nats that twice the hidden units must be worth
ALIKE = 2  # parents that one of two families has and the other has not
NOT_GAUSSIAN = 0.1  # share of the continuous variables beyond which their residuals deny Gaussian noise
LEAST_GROUP = 50  # observations that a density of their own is asked of
AT_THE_FLOOR = 0.01  # share of the observations whose variance is not resolved, beyond which noise has no verdict


class FamilyEvidence:
    """The negative log evidence of families (node, parents), plus a penalty for each edge: a score for a search.

    All families of a node have as many hidden units, so that their evidences compare: `grow` chooses how many, once a
    graph is known, and `settle` whether noise is Gaussian.

    Fits are cached. New families are fitted in parallel, each from the best fit with one parent fewer that was known
    before the call, so that results do not depend on the number of threads.

    Parameters
    ----------
    values : ndarray, shape (R, n)
        The standardised table, one variable a row: the variables as causes. One of labels may be several rows.
    targets : sequence of Target, optional
        The variables as effects; by default continuous, without a grid.
    hidden_units : int
        m of the node models to start with.
    most_units : int, optional
        How far `grow` may double them; by default they stay.
    prior_precision : float
        The precision of its weights' prior to start from.
    random_state : int
        Seed of cold starts.
    edge_penalty : float or ndarray, shape (N, N)
        Nats to pay for each parent; [i, j] for the parent i of j.
    noise : {"auto", "gaussian", "student", "free"}
        The density of the standardised residuals: the score falls by what it is worth (`icdh.node_model.noise`).
        "auto" is Gaussian until `settle` finds residuals that are not; then every family chooses.
    n_restarts : int
        From how many initial weights `refine` fits a family in all.
    n_jobs : int
        Threads.
    rows : ndarray of bool, shape (N, n), optional
        The observations that count for each variable, for instance those where nobody set it; by default all.
    clock : Clock, optional
        Says when fits must end, by raising OutOfTime; by default never.
    widths : ndarray of int, shape (N,), optional
        How many rows of ``values`` every variable is; by default one.
    """

    def __init__(
        self,
        values: np.ndarray,
        targets: Sequence[Target] | None = None,
        *,
        hidden_units: int,
        most_units: int | None = None,
        prior_precision: float,
        edge_penalty: float | np.ndarray,
        random_state: int,
        noise: str,
        n_restarts: int,
        n_jobs: int,
        rows: np.ndarray | None = None,
        clock: Clock | None = None,
        widths: np.ndarray | None = None,
    ):
        self.values = values
        self.widths = np.ones(len(values), dtype=np.int64) if widths is None else widths
        self.inputs = np.split(np.arange(len(values)), np.cumsum(self.widths)[:-1])
        self.targets = [Density.exact(own) for own in values] if targets is None else targets
        self.rows = rows
        self.prior_precision = prior_precision
        self.units = [hidden_units] * len(self.targets)
        self.fewest_units, self.most_units = hidden_units, most_units or hidden_units
        self.edge_penalty = np.broadcast_to(edge_penalty, (len(self.targets), len(self.targets)))
        self.random_state = random_state
        self.noise = noise
        self._settled_noise = "gaussian" if noise == "auto" else noise
        self.n_restarts = n_restarts
        self.n_jobs = n_jobs
        self.clock = clock or Clock()
        self.fits = {}
        self._scores = {}
        self._hopes = {}
        self.starts = None
        self._refined, self._large_enough, self._settled = set(), set(), set()
        self._worse_with_more = set()  # units and family

    @property
    def settled_noise(self) -> str:
        """The noise of scores as they are: that of few rows, if fits begin there, and "gaussian" before "auto"."""
        return (self.starts or self)._settled_noise

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        new = [family for family in dict.fromkeys(families) if family not in self.fits]
        if self.starts is not None:
            self.starts(new)
        self.clock.begin("families", len(new))
        self._keep(new, self._map(self._fit_from, new, [self._warm_start(*family) for family in new]))
        return [self._scores[family] for family in families]

    @contextmanager
    def in_time(self, clock: Clock) -> Iterator[None]:
        """Let another clock say when fits must end.

        Parameters
        ----------
        clock : Clock
            Whose end raises OutOfTime inside.
        """
        parts = [part for part in (self, self.starts) if part is not None]
        before = [part.clock for part in parts]
        for part in parts:
            part.clock = clock
        try:
            yield
        finally:
            for part, own in zip(parts, before, strict=True):
                part.clock = own

    def refine(self, families: Sequence[Family]) -> None:
        """Fit these families from further cold starts, go on from the best fit to a finer tolerance, keep the best."""
        new = [family for family in families if family[1] and family not in self._refined]
        self._refined.update(new)
        self(new)
        if self.starts is not None:
            self.starts.refine(new)
        self._fit_from_further_weights(new, [1 if self._is_large(family) else self.n_restarts for family in new])

    def _is_large(self, family):
        """Return whether a family has more units than at first: its fits are dear, and new units began at random."""
        return self.units[family[0]] > self.fewest_units

    def _fit_from_further_weights(self, families, n_starts):
        self.clock.begin("families from further weights", len(families))
        for family, scored in zip(families, self._map(self._refined_fits, families, n_starts), strict=True):
            for fit, score in scored:
                self._keep_if_better(family, fit, score)

    def _refined_fits(self, family, n_starts):
        """Return fits from further cold starts, what the best of all becomes at a finer tolerance, and their scores."""

        def scored(fit):
            return fit, self._score(family, fit)

        if self.starts is not None:
            return [scored(self._fit(family, **{**self._warm_start(*family), "precision_updates": 2}, tol=COARSE / 10))]
        # Once noise has settled, what was dropped for a better Gaussian fit may be better.
        first = 0 if self.settled_noise == "auto" else 1
        fits = [scored(self._fit(family, seed=self.random_state + k)) for k in range(first, n_starts)]
        best, _ = min([(self.fits[family], self._scores[family]), *fits], key=lambda own: own[1])
        if not best.succeeded:
            return fits
        finer = self._fit(family, best.theta, precision=best.precision, precision_updates=2, tol=FINE)
        return [*fits, scored(finer)]

    def grow(self, families: Sequence[Family]) -> bool:
        """Double the hidden units of the nodes of families, of a graph that was found, again and again while that pays.

        Units are never taken back, so a search that lets them grow whenever it found a graph comes to an end.

        Parameters
        ----------
        families : sequence
            A node and its parents each.

        Returns
        -------
        bool
            Whether any node has more units now, so that its families have other scores.
        """
        if self.starts is not None:
            return False
        self(families)
        grown = False
        while families := [family for family in families if self._may_grow(family)]:
            self.clock.begin("families with more hidden units", len(families))
            fits = self._map(self._fit_twice_the_units, families)
            for family, fit in zip(families, fits, strict=True):
                gain = self.fits[family].evidence - fit.evidence
                if gain > LEAST_GAIN:
                    grown = True
                    self._take_twice_the_units(family, fit)
                else:
                    self._large_enough.add(family)
                if gain < 0.0:
                    self._worse_with_more.add((self.units[family[0]], family))
        return grown

    def _may_grow(self, family):
        node, parents = family
        few = 2 * self.units[node] <= self.most_units and not isinstance(self.targets[node], Labels)
        return parents and few and family not in self._large_enough and not self._is_like_one_with_enough(family)

    def _is_like_one_with_enough(self, family):
        """Return whether twice the units cost nats of a family whose parents are nearly the same.

        They gained more than `LEAST_GAIN` in one of 171 such families of simulated tables, and that was 8 nats.
        """
        node, parents = family
        return any(
            own == node and units == self.units[node] and len({*parents} ^ {*others}) <= ALIKE
            for units, (own, others) in self._worse_with_more
        )

    def _fit_twice_the_units(self, family):
        units, theta = self.units[family[0]], self.fits[family].theta
        inputs = int(self.widths[list(family[1])].sum())
        start = with_twice_the_units(theta, inputs, units, self.random_state)
        return self._fit(family, start, hidden_units=2 * units)

    def _take_twice_the_units(self, family, fit):
        node = family[0]
        self.units[node] *= 2
        self._forget([known for known in self.fits if known[0] == node])
        self._keep([family], [fit])

    def _forget(self, families):
        for family in families:
            del self.fits[family], self._scores[family]
            self._hopes.pop(family, None)
            self._refined.discard(family)
            self._settled.discard(family)

    def with_more_units(self, families: Sequence[Family], most_units: int) -> "FamilyEvidence":
        """Return the evidence of the families of a graph alone, grown to up to so many units; this one stays as it is.

        Further units describe the effects of a graph better, and of few rows hardly ever change which graph is best, so
        a search may do without them.

        Parameters
        ----------
        families : sequence
            A node and its parents each.
        most_units : int
            How far to double the hidden units.
        """
        larger = copy(self)
        larger.units, larger.most_units, larger._hopes = list(self.units), most_units, {}
        larger.fits = {family: self.fits[family] for family in families}
        larger._scores = {family: self._scores[family] for family in families}
        larger._refined, larger._settled = set(self._refined), set(self._settled)
        larger._large_enough, larger._worse_with_more = set(self._large_enough), set(self._worse_with_more)
        if self.starts is not None:
            larger.starts = self.starts.with_more_units(families, most_units)
            larger.units = larger.starts.units
            larger._forget([own for own in families if larger.units[own[0]] > self.units[own[0]]])
        larger.grow(families)
        larger.refine([own for own in families if larger.units[own[0]] > self.units[own[0]]])
        return larger

    def settle(self, families: Sequence[Family]) -> bool:
        """Fit families with further units from all initial weights, too, and let every family choose its noise.

        The former concerns the families of a graph that was found alone: while graphs are compared such fits begin
        with those of fewer units. The latter happens if the noise is "auto" and those families show it is needed.
        What a wrong graph or too few units leave unexplained looks like heavy tails, so this comes last, and a few
        residuals that are not Gaussian do not show it: on tables of Gaussian noise one of ten or none is not, nearly
        always, on those of Laplace noise eight or nine.
        Parameters and result are like those of `grow`.
        """
        if self.starts is not None:
            return False
        self(families)
        large = [family for family in families if family[1] and self._is_large(family) and family not in self._settled]
        self._settled.update(large)
        self._fit_from_further_weights(large, [self.n_restarts] * len(large))
        if self.noise == self.settled_noise:
            return False
        denials = [self._denies_gaussian_noise(own) for own in families if isinstance(self.targets[own[0]], Density)]
        if not any(denials) or np.mean(denials) <= NOT_GAUSSIAN:
            return False
        self._settled_noise = "auto"
        self._scores = {family: self._score(family, fit) for family, fit in self.fits.items()}
        self._refined.clear()  # another of a family's fits may be worth more now
        return True

    def _denies_gaussian_noise(self, family):
        residuals, deviation = self._residuals(family, self.fits[family])
        unresolved = np.mean(deviation**2 < 10.0 * VARIANCE_FLOOR) > AT_THE_FLOOR
        return not unresolved and worth_of_noise(residuals, "auto")[1] != "gaussian"

    def on_few_rows(self, most: int) -> "FamilyEvidence":
        """Return the evidence on at most so many of the rows of every variable, evenly spread, in no time limit."""
        part = copy(self)
        part.rows = np.zeros((len(self.targets), self.values.shape[1]), dtype=bool)
        for node in range(len(self.targets)):
            own = np.arange(self.values.shape[1]) if self.rows is None else np.flatnonzero(self.rows[node])
            part.rows[node, own[:: max(-(-own.size // most), 1)]] = True
        part.fits, part._scores, part._hopes, part._refined, part._settled = {}, {}, {}, set(), set()
        part.starts, part.clock = None, Clock()
        return part

    def start_on_few_rows(self, most: int) -> None:
        """Begin every fit where one to few rows ends, `starts`.

        Further cold starts are tried there alone, and numbers of units and noise distributions are decided there.
        """
        self.starts = self.on_few_rows(most)
        self.starts.clock = self.clock

    def limit(self, clock: Clock) -> None:
        """Let another clock say when fits must end."""
        for part in filter(None, (self, self.starts)):
            part.clock = clock

    def hopes(self, family: Family) -> np.ndarray:
        """Return by how much the score of a family may fall, at best, with one parent more or fewer.

        Parameters
        ----------
        family : tuple
            The node and its parents.

        Returns
        -------
        ndarray, shape (N,)
            Nats: for a variable that is no parent, if it were one; for a parent, if it were none. Not bounds that
            cannot fail, but well above what a score test, or the second order at the fit, promises; infinite where
            labels are cause or effect.
        """
        if family not in self._hopes:
            self([family])
            self.clock.check()
            self._hopes[family] = self._hope(family)
        return self._hopes[family]

    def _hope(self, family):
        node, parents = family
        hopes = np.full(len(self.targets), np.inf)
        if isinstance(self.targets[node], Labels):
            return hopes
        others = np.array([i for i in np.flatnonzero(self.widths == 1) if i != node and i not in parents], dtype=int)
        (x, target), fit, units = self._data(family), self.fits[family], self.units[node]
        hidden, scores = target.scores(x, fit.theta, units)
        candidates = self.values[[self.inputs[i][0] for i in others]]
        if self.rows is not None:
            candidates = candidates[:, self.rows[node]]
        penalties = self.edge_penalty[:, node]
        hopes[others] = OPTIMISM * promises(candidates, x, hidden, scores) - penalties[others]
        if parents and len(x) == len(parents):
            saving, cost = odds_without_parents(x, target, fit, units)
            hopes[list(parents)] = OPTIMISM * (saving + penalties[list(parents)]) - LEAST_COST * cost
        return hopes

    def weights_at_fixed_point(self, family: Family) -> np.ndarray:
        """Return the weights of a family that was scored once the precisions of their prior no longer move."""
        node = family[0]
        return at_fixed_point(
            *self._data(family),
            self.fits[family],
            hidden_units=self.units[node],
            prior_precision=self.prior_precision,
        ).theta

    def residuals(self, family: Family) -> np.ndarray:
        """Return the standardised residuals of a family that was scored, one for each observation that counts."""
        return self._residuals(family, self.fits[family])[0][0]

    def noise_of(self, family: Family) -> str:
        """Return the noise distribution of a family that was scored: "gaussian", "student", "free" or "levels"."""
        if not isinstance(self.targets[family[0]], Density):
            return "levels"
        residuals, _ = self._residuals(family, self.fits[family])
        return worth_of_noise(residuals, self.settled_noise)[1]

    def _residuals(self, family, fit):
        """Return the standardised residuals, one array for each sample of the target, and the standard deviations."""
        x, target = self._data(family)
        mean, deviation = node_outputs(fit.theta, x, self.units[family[0]])
        return [(sample - mean) / deviation for sample in target.samples], deviation

    def _keep(self, families, fits):
        for family, fit in zip(families, fits, strict=True):
            self._keep_if_better(family, fit, self._score(family, fit))

    def _keep_if_better(self, family, fit, score):
        self.clock.check()
        if family not in self.fits or score < self._scores[family]:
            self.fits[family], self._scores[family] = fit, score

    def _score(self, family, fit):
        node, parents = family
        score = fit.evidence + self.edge_penalty[list(parents), node].sum()
        if self.settled_noise != "gaussian" and isinstance(self.targets[node], Density):
            score -= self._worth_of_noise(family, fit)
        return score

    def _worth_of_noise(self, family, fit):
        """Return what the density of a family's residuals is worth, another one for each level of the causes if better.

        What a rounded cause leaves out is another mixture at each of its levels. Of a single density the effect would
        look as if it had none of the noise that its own density, as a cause, is free to have.
        """
        residuals, _ = self._residuals(family, fit)
        whole, _ = worth_of_noise(residuals, self.settled_noise)
        if self.settled_noise != "auto" or not self._causes_are_levels(family):
            return whole
        causes, _ = self._data(family)
        _, group, sizes = np.unique(causes, axis=1, return_inverse=True, return_counts=True)
        if sizes.min() < LEAST_GROUP:
            return whole
        groups = [np.flatnonzero(group.ravel() == k) for k in range(sizes.size)]
        return max(whole, sum(worth_of_noise([own[rows] for own in residuals], "auto")[0] for rows in groups))

    def _causes_are_levels(self, family):
        return family[1] and all(isinstance(self.targets[cause], Levels) for cause in family[1])

    def _fit_from(self, family, options):
        return self._fit(family, **options)

    def _fit(self, family, start=None, *, seed=None, tol=COARSE, **options):
        self.clock.check()
        options.setdefault("hidden_units", self.units[family[0]])
        seed = self.random_state if seed is None else seed
        x, target = self._data(family)
        return fit_node(
            x,
            target,
            start=start,
            random_state=seed,
            prior_precision=self.prior_precision,
            tol=tol * max(1.0, x.shape[1] / MANY),
            **options,
        )

    def _data(self, family):
        """Return the parents, one a row, and the node, at the observations that count for it."""
        node, parents = family
        x, target = self.values[[row for parent in parents for row in self.inputs[parent]]], self.targets[node]
        if self.rows is None:
            return x, target
        return np.ascontiguousarray(x[:, self.rows[node]]), target.take(self.rows[node])

    def _warm_start(self, node, parents):
        """Return how to begin: with the best known fit with one parent fewer, or more, the weights of that one at zero.

        Its precisions come with it: from those of the prior all weights would shrink and grow again. Where there is a
        fit on few rows, it is that, with its precisions for good. Fits with one parent more, of which the weights of
        that parent are left out, are all that is known of most families of a node that has just got more units.
        """
        if self.starts is not None and self.starts.fits[node, parents].succeeded:
            known = self.starts.fits[node, parents]
            return {"start": known.theta, "precision": known.precision, "precision_updates": 0}
        if not parents:
            return {}
        units = self.units[node]
        fewer = [((node, parents[:k] + parents[k + 1 :]), parents[k]) for k in range(len(parents))]
        if best := self._best_known(fewer if len(parents) > 1 else []):
            fit, new = best
            weights = self._weights_of(new, parents, units)
            theta = np.insert(fit.theta, weights.start, np.zeros(weights.stop - weights.start))
            return {"start": theta, "precision": fit.precision}
        others = [new for new in range(len(self.targets)) if new != node and new not in parents]
        more = [((node, tuple(sorted((*parents, new)))), new) for new in others]
        if best := self._best_known(more):
            fit, new = best
            theta = np.delete(fit.theta, self._weights_of(new, parents, units))
            return {"start": theta, "precision": fit.precision}
        return {}

    def _weights_of(self, parent, others, units):
        """Return the slice of the weights of a parent's inputs in a family with these other parents."""
        before = int(self.widths[[k for k in others if k < parent]].sum())
        return slice(before * units, (before + int(self.widths[parent])) * units)

    def _best_known(self, families):
        """Return the best known fit among families that are each named with a variable, and that variable."""
        known = [(self.fits[family], variable) for family, variable in families if family in self.fits]
        return min((own for own in known if own[0].succeeded), key=_evidence_first, default=None)

    def _map(self, function, *arguments):
        """Return what a function makes of each of these arguments; this thread is one of the workers."""
        tasks = list(zip(*arguments, strict=True))
        results, order = [None] * len(tasks), iter(range(len(tasks)))

        def work():
            for k in order:
                results[k] = function(*tasks[k])
                self.clock.part_done()

        n_helpers = min(self.n_jobs, len(tasks)) - 1
        if n_helpers < 1:
            work()
            return results
        helpers = ThreadPoolExecutor(n_helpers)
        try:
            helping = [helpers.submit(work) for _ in range(n_helpers)]
            work()
            for helper in helping:
                helper.result()
        finally:
            for _ in order:  # after Ctrl-C what has not begun never does
                pass
            helpers.shutdown()
        return results


def _evidence_first(fit_and_position):
    return fit_and_position[0].evidence
