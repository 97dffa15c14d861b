"""The cache of families: every node model that a search asks for is fitted once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import numpy as np

from icdh._clock import Clock
from icdh.node_model.evidence import fit_node, odds_without_parents
from icdh.node_model.fit import node_outputs
from icdh.node_model.noise import worth_of_noise
from icdh.node_model.promise import functions_of, promises
from icdh.node_model.targets import Density, Labels, Target

Family = tuple[int, tuple[int, ...]]
COARSE, FINE = 0.3, 0.01  # nats: the tolerance of fits while a search compares, and of those that it ends with
OPTIMISM = 1.5  # a change gains hardly more than so many times what it promises
LEAST_COST = 0.25  # and a parent's loss costs hardly less than this share of what the second order says


class FamilyEvidence:
    """The negative log evidence of families (node, parents), plus a penalty for each edge: a score for a search.

    Fits are cached. New families are fitted in parallel, each from the best fit with one parent fewer that was known
    before the call, so that results do not depend on the number of threads.

    Parameters
    ----------
    values : ndarray, shape (R, n)
        The standardised table, one variable a row: the variables as causes. One of labels may be several rows.
    targets : sequence of Target, optional
        The variables as effects; by default continuous, without a grid.
    hidden_units : int
        m of the node model.
    prior_precision : float
        The precision of its weights' prior to start from.
    random_state : int
        Seed of cold starts.
    edge_penalty : float
        Nats to pay for each parent.
    noise : {"auto", "gaussian", "student", "free"}
        The density of the standardised residuals: the score falls by what it is worth (`icdh.node_model.noise`).
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
        prior_precision: float,
        edge_penalty: float,
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
        self.options = {"hidden_units": hidden_units, "prior_precision": prior_precision}
        self.edge_penalty = edge_penalty
        self.random_state = random_state
        self.noise = noise
        self.n_restarts = n_restarts
        self.n_jobs = n_jobs
        self.clock = clock or Clock()
        self.fits = {}
        self._scores = {}
        self._hopes = {}
        self._functions = functions_of(values)
        self._refined = set()

    def __call__(self, families: Sequence[Family]) -> list[float]:
        """Return the score of each family, in nats; lower is better."""
        new = [family for family in dict.fromkeys(families) if family not in self.fits]
        self.clock.begin("families", len(new))
        self._keep(new, self._map(self._fit, new, [self._warm_start(*family) for family in new]))
        return [self._scores[family] for family in families]

    def refine(self, families: Sequence[Family]) -> None:
        """Fit these families from further cold starts, go on from the best fit to a finer tolerance, keep the best."""
        new = [family for family in families if family[1] and family not in self._refined]
        self._refined.update(new)
        self(new)
        self.clock.begin("families from further weights", len(new))
        for family, fits in zip(new, self._map(self._refined_fits, new), strict=True):
            self._keep([family] * len(fits), fits)

    def _refined_fits(self, family):
        """Return the fits from further cold starts, and what the best of all becomes at a finer tolerance."""
        seeds = range(self.random_state + 1, self.random_state + self.n_restarts)
        fits = [self._fit(family, None, seed=seed) for seed in seeds]
        best = min([self.fits[family], *fits], key=lambda fit: fit.evidence)
        if not best.succeeded:
            return fits
        return [*fits, self._fit(family, best.theta, precision=best.precision, precision_updates=2, tol=FINE)]

    def on_few_rows(self, most: int) -> "FamilyEvidence":
        """Return the evidence on at most so many of the rows of every variable, evenly spread, in no time limit."""
        part = copy(self)
        part.rows = np.zeros((len(self.targets), self.values.shape[1]), dtype=bool)
        for node in range(len(self.targets)):
            own = np.arange(self.values.shape[1]) if self.rows is None else np.flatnonzero(self.rows[node])
            part.rows[node, own[:: max(-(-own.size // most), 1)]] = True
        part.fits, part._scores, part._hopes, part._refined, part.clock = {}, {}, {}, set(), Clock()
        return part

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
        (x, target), fit, units = self._data(family), self.fits[family], self.options["hidden_units"]
        hidden, scores = target.scores(x, fit.theta, units)
        functions = self._functions[[self.inputs[i][0] for i in others]]
        if self.rows is not None:
            functions = functions[:, :, self.rows[node]]
        hopes[others] = OPTIMISM * promises(functions, x, hidden, scores) - self.edge_penalty
        if parents and len(x) == len(parents):
            saving, cost = odds_without_parents(x, target, fit, units)
            hopes[list(parents)] = OPTIMISM * (saving + self.edge_penalty) - LEAST_COST * cost
        return hopes

    def residuals(self, family: Family) -> np.ndarray:
        """Return the standardised residuals of a family that was scored, one for each observation that counts."""
        return self._residuals(family, self.fits[family])[0]

    def noise_of(self, family: Family) -> str:
        """Return the noise distribution of a family that was scored: "gaussian", "student", "free" or "levels"."""
        if not isinstance(self.targets[family[0]], Density):
            return "levels"
        return worth_of_noise(self._residuals(family, self.fits[family]), self.noise)[1]

    def _residuals(self, family, fit):
        x, target = self._data(family)
        mean, deviation = node_outputs(fit.theta, x, self.options["hidden_units"])
        return [(sample - mean) / deviation for sample in target.samples]

    def _keep(self, families, fits):
        for family, fit in zip(families, fits, strict=True):
            self.clock.check()
            score = self._score(family, fit)
            if family not in self.fits or score < self._scores[family]:
                self.fits[family], self._scores[family] = fit, score

    def _score(self, family, fit):
        score = fit.evidence + self.edge_penalty * len(family[1])
        if self.noise != "gaussian" and isinstance(self.targets[family[0]], Density):
            score -= worth_of_noise(self._residuals(family, fit), self.noise)[0]
        return score

    def _fit(self, family, start, *, seed=None, tol=COARSE, **options):
        self.clock.check()
        seed = self.random_state if seed is None else seed
        return fit_node(*self._data(family), start=start, random_state=seed, tol=tol, **options, **self.options)

    def _data(self, family):
        """Return the parents, one a row, and the node, at the observations that count for it."""
        node, parents = family
        x, target = self.values[[row for parent in parents for row in self.inputs[parent]]], self.targets[node]
        if self.rows is None:
            return x, target
        return np.ascontiguousarray(x[:, self.rows[node]]), target.take(self.rows[node])

    def _warm_start(self, node, parents):
        """Return the weights of the best known fit with one parent fewer, the new parent's at zero."""
        smaller = [(self.fits.get((node, parents[:k] + parents[k + 1 :])), k) for k in range(len(parents))]
        known = [(fit, k) for fit, k in smaller if fit is not None and fit.succeeded]
        if len(parents) < 2 or not known:
            return None
        smaller, k = min(known, key=_evidence_first)
        units, before = self.options["hidden_units"], int(self.widths[list(parents[:k])].sum())
        return np.insert(smaller.theta, before * units, np.zeros(units * self.widths[parents[k]]))

    def _map(self, function, *arguments):
        if self.n_jobs == 1:
            return self._counted(map(function, *arguments))
        pool = ThreadPoolExecutor(self.n_jobs)
        try:
            return self._counted(pool.map(function, *arguments))
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C what has not begun never does

    def _counted(self, results):
        kept = []
        for result in results:
            kept.append(result)
            self.clock.part_done()
        return kept


def _evidence_first(fit_and_position):
    return fit_and_position[0].evidence
