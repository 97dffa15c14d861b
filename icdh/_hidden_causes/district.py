"""The children of a hidden common cause (a district): their fit by EM, and its score.

For any hidden values N(u, V) the likelihood of the children has the bound of `icdh._node_model.confounded`. Each of its
terms is the cost of a Gaussian response with centre x_i - lambda_i u and spread lambda_i^2 V
(`icdh._node_model.gaussian`). So the fit of a family is the M-step of f_i and sigma_i. The score of the children is the
sum of their families' scores, plus the divergence, plus a penalty of each loading: that of an edge, and (1/2) log n
nats as for any coefficient.

EM alone stalls, because f_i has explained what lambda_i should explain. So the M-step of lambda_i lets the linear part
of f_i follow, in the parents and in the hidden units, U is scaled to unit variance after each step (PX-EM), and after
two steps a third is extrapolated (SQUAREM). The best step is kept, so that the bound never rises.

References
----------
Rubin and Thayer, "EM algorithms for ML factor analysis", Psychometrika 47 (1982).
Varadhan and Roland, "Simple and globally convergent methods for accelerating the convergence of any EM algorithm",
Scandinavian Journal of Statistics 35 (2008).
Liu, Rubin, Wu, "Parameter expansion to accelerate EM: the PX-EM algorithm", Biometrika 85 (1998).
"""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.confounded import Posterior, posterior
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import COLD, Families, Family, Start
from icdh._node_model.gain_estimates import orthonormal
from icdh._node_model.gaussian import GaussianResponse, fit_linear
from icdh._node_model.network import hidden_units_of, node_outputs
from icdh._node_model.response import Response
from icdh._node_model.score import FamilyScore
from icdh._utils.arrays import Floats


@dataclass(frozen=True)
class EMTuning:
    """Constants of the EM."""

    most_cycles: int = 12
    tolerance: float = 0.1  # nats
    longest_step: float = 20.0  # of an extrapolation, in steps of EM
    far_ahead: float = 10.0  # nats by which a linear model leads where the network is not fitted again
    least_share: float = 0.05  # of a child's variance that is its own at the start


EM = EMTuning()


def extrapolated(first: Posterior, second: Posterior, third: Posterior) -> Posterior:
    """Return the extrapolation of three steps of EM, by the third scheme of SQUAREM on means and log-variances."""
    path = [np.append(own.mean, np.log(own.variance)) for own in (first, second, third)]
    step, bend = path[1] - path[0], path[2] - 2.0 * path[1] + path[0]
    length = max(float(np.linalg.norm(step) / max(np.linalg.norm(bend), np.finfo(float).tiny)), 1.0)
    length = min(length, EM.longest_step)
    mean, log_variance = np.split(path[0] + 2.0 * length * step + length**2 * bend, 2)
    return Posterior(mean, np.exp(np.clip(log_variance, math.log(VARIANCE_FLOOR), 0.0)))


class Child(NamedTuple):
    """One child given its parents, by the better of network and linear model.

    Attributes
    ----------
    fit : NodeFit or None
        That of the network; None before it is fitted to these parents.
    score : float
        That of the family, the hidden cause taken as known.
    lead : float
        The nats by which the linear model is better.
    mean, variance : ndarray, shape (n,)
        f and sigma^2.
    """

    fit: NodeFit | None
    score: float
    lead: float
    mean: Floats
    variance: Floats


class District(NamedTuple):
    """The children of a hidden cause, fitted.

    Attributes
    ----------
    score : float
        The bound on the negative log evidence of the children, with what edges and loadings cost; lower is better.
    families : tuple of Family
        The children and their parents.
    loadings : ndarray, shape (c,)
        The lambda_i.
    hidden : Posterior
        The hidden values.
    children : tuple of Child
        What is fitted.
    """

    score: float
    families: tuple[Family, ...]
    loadings: Floats
    hidden: Posterior
    children: tuple[Child, ...]


class Districts:
    """Scores of districts, cached.

    Parameters
    ----------
    scores : FamilyScore
        The scores of families without hidden causes, all of whose rows count.
    """

    def __init__(self, scores: FamilyScore):
        self.scores = scores
        self._known: dict[tuple[Family, ...], District] = {}
        self._last: dict[tuple[int, ...], District] = {}  # the best of these children, to start from

    def __call__(self, families: tuple[Family, ...]) -> District:
        """Return the district of these children, each with its parents, sorted."""
        if families not in self._known:
            nodes = tuple(node for node, _ in families)
            last = self._last.get(nodes)
            fitted = self._known[families] = self._fit(families, last)
            if last is None or fitted.score < last.score:
                self._last[nodes] = fitted
        return self._known[families]

    def networks(self, families: tuple[Family, ...], n_restarts: int) -> list[tuple[Response, NodeFit]]:
        """Return response and network of each child, the best of some starts, the hidden values as they are."""
        district, networks = self(families), []
        for family, loading in zip(district.families, district.loadings, strict=True):
            known, units = self._responding(family[0], loading, district.hidden), self.scores.units[family[0]]
            fits = (known.fit(family, units, Start(seed=known.random_state + k)) for k in range(n_restarts))
            best = min(fits, key=lambda fit: fit.evidence)
            networks.append((known.responses[family[0]], known.fit_at_fixed_point(family, best)))
        return networks

    def _em(self, families: tuple[Family, ...], hidden: Posterior, children: Sequence[Child]) -> District:
        """Return the end of EM from these hidden values and children: two steps at a time, and their extrapolation."""
        best = self._step(families, hidden, children)
        for _ in range(EM.most_cycles):
            self.scores.clock.check()
            before, path = best, [self._posterior(best)]
            for _ in range(2):
                best = self._step(families, path[-1], best.children)
                path.append(self._posterior(best))
            best = min(best, self._step(families, extrapolated(*path), best.children), key=lambda own: own.score)
            if not best.score < before.score - EM.tolerance:
                return min(before, best, key=lambda own: own.score)
        return best

    def _step(self, families: tuple[Family, ...], hidden: Posterior, children: Sequence[Child]) -> District:
        """Return the M-step of loadings and children at these hidden values."""
        loadings = self._loadings(families, children, hidden)
        hidden, scale = hidden.scaled()
        loadings = scale * loadings
        children = tuple(
            self._given(self._responding(node, loading, hidden), (node, parents), child)
            for (node, parents), loading, child in zip(families, loadings, children, strict=True)
        )
        score = math.fsum(
            [*(child.score for child in children), float(hidden.divergences().sum()), self._penalty(families)]
        )
        return District(score, families, loadings, hidden, children)

    def _fit(self, families: tuple[Family, ...], last: District | None) -> District:
        if last is None:
            return self._em(families, *self._cold_start(families))
        pairs = zip(families, last.families, last.children, strict=True)
        children = [child if own == other else child._replace(fit=None) for own, other, child in pairs]
        return self._em(families, last.hidden, children)

    def _cold_start(self, families: tuple[Family, ...]) -> tuple[Posterior, list[Child]]:
        """Return the first principal factor of the residuals given the parents outside the district, and these fits."""
        nodes = {node for node, _ in families}
        outside = [(node, tuple(k for k in parents if k not in nodes)) for node, parents in families]
        children = [self._given(self.scores.families, family, self._without_hidden(family)) for family in outside]
        residuals = self._residuals(families, children)
        deviations = np.sqrt(np.maximum(residuals.var(axis=1), VARIANCE_FLOOR))
        standardised = (residuals - residuals.mean(axis=1, keepdims=True)) / deviations[:, np.newaxis]
        sizes, directions = np.linalg.eigh(standardised @ standardised.T / residuals.shape[1])
        shares = directions[:, -1] * math.sqrt(max(sizes[-1] - 1.0, EM.least_share))
        most = math.sqrt(1.0 - EM.least_share)
        shares = np.clip(shares, -most, most)
        variances = np.repeat((np.square(deviations) * (1.0 - np.square(shares)))[:, np.newaxis], residuals.shape[1], 1)
        children = [
            child._replace(fit=child.fit if own == other else None, variance=variance)
            for child, own, other, variance in zip(children, families, outside, variances, strict=True)
        ]
        return posterior(residuals, variances, shares * deviations), children

    def _without_hidden(self, family: Family) -> Child | None:
        """Return what is known of a family without hidden causes."""
        if not family[1]:
            return None
        self.scores([family])
        return Child(self.scores.fit_of(family), 0.0, 0.0, np.empty(0), np.empty(0))

    def _response(self, node: int) -> GaussianResponse:
        response = self.scores.families.responses[node].gaussian
        if response is None:
            raise TypeError(f"variable {node} cannot have a hidden cause")
        return response

    def _responding(self, node: int, loading: float, hidden: Posterior) -> Families:
        """Return the families in which a child responds without the part of the hidden cause."""
        adjusted, response = copy(self.scores.families), self._response(node)
        noise = np.random.default_rng(node).standard_normal(hidden.mean.size)
        shift, spread = loading * hidden.mean, np.square(loading) * hidden.variance
        samples = [sample - shift - np.sqrt(spread) * noise for sample in response.samples]
        adjusted.responses = list(adjusted.responses)
        adjusted.responses[node] = GaussianResponse(response.centre - shift, response.spread + spread, samples)
        return adjusted

    def _given(self, families: Families, family: Family, before: Child | None) -> Child:
        """Return a child fitted to its response; the network goes on from its last fit unless that was far behind."""
        (x, _), noise, units = families.data(family), self.scores.noise, self.scores.units[family[0]]
        linear = families.linear_score(family, noise)
        fit, lead = (None, 0.0) if before is None else (before.fit, before.lead)
        if fit is None or lead < EM.far_ahead:
            start = COLD if fit is None or not fit.succeeded else Start(fit.theta, fit.precision, precision_updates=1)
            fit = families.fit(family, units, start)
            lead = families.score(family, fit, noise) - linear
        if fit is None or lead > 0.0:
            mean, variance, *_ = fit_linear(x, families.data(family)[1].gaussian or self._response(family[0]))
            return Child(fit, linear, lead, mean, np.full(mean.size, variance))
        mean, deviation = node_outputs(fit.theta, x, fit.hidden_units)
        return Child(fit, families.score(family, fit, noise), lead, mean, np.square(deviation))

    def _loadings(self, families: tuple[Family, ...], children: Sequence[Child], hidden: Posterior) -> Floats:
        """Return the best loadings, shape (c,), the linear part of every f_i free to follow.

        With the residuals and u both freed of that part, in the metric of W = 1 / sigma^2, lambda is the regression of
        one on the other: sum W r u / (sum W u^2 + sum W V).
        """
        residuals, loadings = self._residuals(families, children), np.empty(len(families))
        for k, ((_, parents), child) in enumerate(zip(families, children, strict=True)):
            x, root = self.scores.families.causes[self.scores.families.inputs_of(parents)], child.variance**-0.5
            linear = [np.ones((1, root.size)), x]
            if child.fit is not None and parents and child.lead < 0.0:
                linear.append(hidden_units_of(child.fit.theta, x, child.fit.hidden_units))
            basis, both = orthonormal(np.vstack(linear) * root), np.stack([residuals[k], hidden.mean]) * root
            rest, u = both - (both @ basis.T) @ basis
            loadings[k] = rest @ u / (u @ u + hidden.variance @ np.square(root))
        return loadings

    def _residuals(self, families: tuple[Family, ...], children: Sequence[Child]) -> Floats:
        pairs = zip(families, children, strict=True)
        return np.array([self._response(node).centre - child.mean for (node, _), child in pairs])

    def _posterior(self, district: District) -> Posterior:
        variances = np.array([child.variance for child in district.children])
        return posterior(self._residuals(district.families, district.children), variances, district.loadings)

    def _penalty(self, families: tuple[Family, ...]) -> float:
        known = self.scores.families
        return sum(float(known.edge_penalty[node, node]) + 0.5 * math.log(known.n_observations) for node, _ in families)
