"""Stages that improve the fits of a found graph: growth and polish.

Growth doubles the hidden units of a node again and again while that raises the evidence of its family. Polish fits
families from further initial weights, and the best fit of each to a finer tolerance.
"""

from collections.abc import Sequence

from icdh._node_model.cache import FamilyCache
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import TUNING, Family, Start


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

    def up_to(self, most_units: int) -> "Growth":
        """Return the growth with another limit, and a copy of what is known."""
        other = Growth(most_units)
        other._large_enough, other._worse_with_more = set(self._large_enough), set(self._worse_with_more)
        return other

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
        few = 2 * scores.units[node] <= self.most_units and not scores.families.is_categorical(node)
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
    fits = [scores.fit(family, Start(seed=scores.families.random_state + k)) for k in range(first, n_starts)]
    scored = [(fit, scores.score_by(family, fit)) for fit in fits]
    best, _ = min([(scores.fit_of(family), scores.network_score_of(family)), *scored], key=lambda pair: pair[1])
    if not best.succeeded:
        return scored
    finer = scores.fit(family, Start(best.theta, best.precision, tol=TUNING.fine_tolerance))
    return [*scored, (finer, scores.score_by(family, finer))]
