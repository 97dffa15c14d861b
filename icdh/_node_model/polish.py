"""Polish: fits of families from further initial weights, and of the best one to a finer tolerance."""

from collections.abc import Sequence

from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Family

FINE_TOLERANCE = 0.001  # nats


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
        with_parents = {own: (own, scores.units[own[0]], scores.noise) for own in families if own[1]}
        new = [own for own, key in with_parents.items() if key not in self._polished]
        scores(new)
        self._fit_again(scores, new, [1 if self._is_large(scores, own) else self.n_restarts for own in new])
        self._polished.update(with_parents.values())

    def restart_large(self, scores: FamilyCache, families: Sequence[Family]) -> None:
        """Fit the families of nodes that have grown from all initial weights, each once."""
        large = {own: (own, scores.units[own[0]]) for own in families if own[1] and self._is_large(scores, own)}
        new = [own for own, key in large.items() if key not in self._restarted]
        self._fit_again(scores, new, [self.n_restarts] * len(new))
        self._restarted.update(large.values())

    def _is_large(self, scores: FamilyCache, family: Family) -> bool:
        return scores.units[family[0]] > self.fewest_units

    def _fit_again(self, scores: FamilyCache, families: Sequence[Family], n_starts: Sequence[int]) -> None:
        def polished(family: Family, starts: int) -> list[tuple[NodeFit, float]]:
            return polished_fits(scores, family, starts)

        results = scores.run("fitting families from further weights", polished, families, n_starts)
        for family, fits in zip(families, results, strict=True):
            for fit, score in fits:
                scores.keep(family, fit, score)


def polished_fits(scores: FamilyCache, family: Family, n_starts: int) -> list[tuple[NodeFit, float]]:
    """Return fits from further cold starts, and the best of all fits at a finer tolerance; each with its score."""
    # Once families choose their noise, a cold start that lost to a better Gaussian fit may win.
    first = 0 if scores.noise == "auto" else 1
    fits = [scores.fit(family, seed=scores.families.random_state + k) for k in range(first, n_starts)]
    scored = [(fit, scores.score_by(family, fit)) for fit in fits]
    best, _ = min([(scores.fit_of(family), scores.network_score_of(family)), *scored], key=lambda own: own[1])
    if not best.succeeded:
        return scored
    finer = scores.fit(family, best.theta, precision=best.precision, precision_updates=2, tol=FINE_TOLERANCE)
    return [*scored, (finer, scores.score_by(family, finer))]
