"""A hidden common cause as an input of networks: its EM, and the score of its children.

Where a hidden cause U ~ N(0, 1) does more than add to its children (`icdh._node_model.hidden`), it is one input more,

    x_i = f_i(pa_i, U) + sigma_i(pa_i, U) E_i.

The posterior of U in a row is then any density. It is held on a grid of cells, the most probable of them divided
further, and the sum over cells is the marginal likelihood. The M-step is the fit of networks to the table with U as one
column more: each row is taken several times, with values of its posterior, each of which has a share of the row's
weight. These values are quantiles at levels that stay the same, so that EM ends. In its first steps networks are fitted
from other initial weights as well, as they have to follow hidden values that move. The score of the children is the
negative log marginal likelihood, plus what the weights and edges of each family cost.

References
----------
Wei and Tanner, "A Monte Carlo implementation of the EM algorithm", Journal of the American Statistical Association 85
(1990).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

from icdh._ground.arrays import Floats
from icdh._node_model.evidence import NodeFit, fit_node, likelihood_and_cost
from icdh._node_model.families import TUNING as OF_FAMILIES
from icdh._node_model.families import Family
from icdh._node_model.family_evidence import FamilyEvidence
from icdh._node_model.gaussian import GaussianResponse
from icdh._node_model.hidden import Districts, KnownDistricts, standardised
from icdh._node_model.network import NodeConditional, Response, forward, node_outputs


@dataclass(frozen=True)
class Tuning:
    """Constants of EM and of the grid."""

    cells: int = 101
    limit: float = 4.2  # standard deviations to the last cell
    divided: int = 5  # cells of a row, the most probable ones
    parts: int = 9  # of each of them
    rows_at_once: int = 500
    values: int = 3  # of the posterior of a row that networks are fitted to
    most_steps: int = 25
    patience: int = 3  # steps that gain no tolerance before EM ends
    tolerance: float = 1.0  # nats
    cold_steps: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 10, 12)  # that fit networks from other initial weights as well


TUNING = Tuning()
GRID = np.linspace(-TUNING.limit, TUNING.limit, TUNING.cells)


class Network(NamedTuple):
    """A child: its network, the inputs (p, n) without the hidden one, which is last, and centres and spreads (n,)."""

    theta: Floats
    hidden_units: int
    x: Floats
    centre: Floats
    spread: Floats

    def outputs(self, rows: slice, hidden: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance at some rows and hidden values (m, q), both of shape (m, q)."""
        inputs = np.vstack([np.repeat(self.x[:, rows], hidden.shape[1], axis=1), hidden.reshape(1, -1)])
        _, mean, variance = forward(self.theta, inputs, self.hidden_units)
        return mean.reshape(hidden.shape), variance.reshape(hidden.shape)

    def log_density(self, rows: slice, hidden: Floats) -> Floats:
        """Return the log-density of some rows, without constants, at hidden values (m, q); shape (m, q)."""
        mean, variance = self.outputs(rows, hidden)
        squares = np.square(self.centre[rows, np.newaxis] - mean) + self.spread[rows, np.newaxis]
        logs: Floats = -0.5 * (squares / variance + np.log(variance))
        return logs

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Return mean and variance of the child, the hidden value unknown, and E[U f(pa, U)], each of shape (n,)."""
        shares = np.exp(-0.5 * np.square(GRID))
        shares /= shares.sum()
        found = []
        for rows in _blocks(self.x.shape[1]):
            mean, variance = self.outputs(rows, np.tile(GRID, (rows.stop - rows.start, 1)))
            whole = mean @ shares
            found.append((whole, (variance + np.square(mean)) @ shares - np.square(whole), mean @ (shares * GRID)))
        mean, variance, slope = map(np.concatenate, zip(*found, strict=True))
        return mean, variance, slope


class Cells(NamedTuple):
    """The posterior of the hidden values of every row, uniform within each of q cells in ascending order.

    Attributes
    ----------
    middles, widths, shares : ndarray, shape (n, q)
        The cells, and the probability of each.
    nll : ndarray, shape (n,)
        The negative log marginal likelihood of every row, without constants.
    """

    middles: Floats
    widths: Floats
    shares: Floats
    nll: Floats

    @property
    def mean(self) -> Floats:
        """Means, shape (n,)."""
        means: Floats = np.einsum("nq,nq->n", self.shares, self.middles)
        return means

    @property
    def variance(self) -> Floats:
        """Variances, shape (n,)."""
        squares = np.square(self.middles - self.mean[:, np.newaxis]) + np.square(self.widths) / 12.0
        variances: Floats = np.einsum("nq,nq->n", self.shares, squares)
        return variances

    def quantiles(self, levels: Floats) -> Floats:
        """Return the quantile of every row at a level of its own, shape (n,)."""
        below = np.cumsum(self.shares, axis=1)
        rows, wanted = np.arange(len(below)), levels * below[:, -1]
        cell = np.minimum((below < wanted[:, np.newaxis]).sum(axis=1), below.shape[1] - 1)
        share = self.shares[rows, cell]
        left = np.divide(below[rows, cell] - wanted, share, out=np.zeros(len(rows)), where=share > 0.0)
        values: Floats = self.middles[rows, cell] + (0.5 - left) * self.widths[rows, cell]
        return values

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return standardised draws of the hidden values, shape (n,)."""
        return standardised(self.quantiles(rng.random(len(self.nll))))


def posterior(children: list[Network]) -> Cells:
    """Return the posterior of the hidden values given all children."""
    blocks = (_posterior_of(children, rows) for rows in _blocks(children[0].x.shape[1]))
    return Cells(*map(np.concatenate, zip(*blocks, strict=True)))


def _blocks(n: int) -> list[slice]:
    return [slice(k, min(k + TUNING.rows_at_once, n)) for k in range(0, n, TUNING.rows_at_once)]


def _posterior_of(children: list[Network], rows: slice) -> Cells:
    """Return the posterior at some rows: the cells of the grid first, then parts of the most probable of them."""
    m, width = rows.stop - rows.start, GRID[1] - GRID[0]

    def log_shares(middles: Floats, width: float) -> Floats:
        prior = math.log(width) - 0.5 * (np.square(middles) + math.log(2.0 * math.pi))
        joint: Floats = prior + sum(child.log_density(rows, middles) for child in children)
        return joint

    whole = np.tile(GRID, (m, 1))
    logs = log_shares(whole, width)
    top = np.argpartition(-logs, TUNING.divided, axis=1)[:, : TUNING.divided]
    steps = ((np.arange(TUNING.parts) + 0.5) / TUNING.parts - 0.5) * width
    parts = (GRID[top][:, :, np.newaxis] + steps).reshape(m, -1)
    np.put_along_axis(logs, top, -np.inf, axis=1)
    middles = np.hstack([whole, parts])
    logs = np.hstack([logs, log_shares(parts, width / TUNING.parts)])
    widths = np.hstack([np.full(whole.shape, width), np.full(parts.shape, width / TUNING.parts)])
    order = np.argsort(middles, axis=1)
    middles, widths, logs = (np.take_along_axis(own, order, axis=1) for own in (middles, widths, logs))
    nll = -np.asarray(logsumexp(logs, axis=1))
    return Cells(middles, widths, np.exp(logs + nll[:, np.newaxis]), nll)


@dataclass(frozen=True)
class HiddenInputConditional(NodeConditional):
    """A child of a hidden cause that is the last input of its network; ``loading`` is its mean slope there."""

    loading: float
    hidden_inputs = 1

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables; the hidden value is unknown."""
        mean, variance, _ = self._network(values).moments()
        return mean, np.sqrt(variance)

    def mean_and_scale_at(self, values: Floats, hidden: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables and the hidden values, shape (M,)."""
        return node_outputs(self.theta, np.vstack([self.network_inputs(values), hidden]), self.hidden_units)

    def posterior_with(
        self, children: "Sequence[HiddenInputConditional]", observed: Floats, values: Floats
    ) -> tuple[Cells, Floats]:
        """Return the posterior of the hidden values given all children, and the joint negative log-density."""
        cells = posterior([own._network(values, seen) for own, seen in zip(children, observed, strict=True)])
        return cells, cells.nll + 0.5 * math.log(2.0 * math.pi) * len(observed)

    def _network(self, values: Floats, observed: Floats | None = None) -> Network:
        zero = np.zeros(values.shape[1])
        seen = zero if observed is None else observed
        return Network(self.theta, self.hidden_units, self.network_inputs(values), seen, zero)


class InputDistrict(NamedTuple):
    """The children of a hidden cause that is an input of their networks.

    Attributes
    ----------
    score : float
        The negative log evidence of the children, with what edges cost; lower is better.
    families : tuple of Family
        The children and their parents.
    hidden : Cells
        The hidden values.
    fits : tuple of NodeFit
        The networks; the hidden cause is their last input.
    """

    score: float
    families: tuple[Family, ...]
    hidden: Cells
    fits: tuple[NodeFit, ...]


class InputDistricts(KnownDistricts[InputDistrict]):
    """Those of hidden causes that are inputs of networks."""

    conditional = HiddenInputConditional

    def __init__(self, scores: FamilyEvidence):
        super().__init__(scores)
        n = scores.families.n_observations
        self._rows = np.tile(np.arange(n), TUNING.values)
        self._levels = (np.arange(TUNING.values)[:, np.newaxis] + np.random.default_rng(0).random(n)) / TUNING.values

    def networks(self, families: tuple[Family, ...], n_restarts: int) -> list[tuple[Response, NodeFit]]:
        """Return response and network of each child, those of EM, which starts anew by itself."""
        responses = (self.scores.families.responses[node] for node, _ in families)
        return list(zip(responses, self(families).fits, strict=True))

    def loadings(self, families: tuple[Family, ...]) -> Floats:
        """Return the mean slope of every child in the hidden cause, E[U f(pa, U)], shape (c,)."""
        networks = self._networks(families, self(families).fits)
        return np.array([float(network.moments()[2].mean()) for network in networks])

    def _networks(self, families: tuple[Family, ...], fits: Sequence[NodeFit]) -> list[Network]:
        found = []
        for family, fit in zip(families, fits, strict=True):
            x, response = self.scores.families.data(family)
            assert isinstance(response, GaussianResponse)
            found.append(Network(fit.theta, fit.hidden_units, x, response.centre, response.spread))
        return found

    def _fit(self, families: tuple[Family, ...], last: InputDistrict | None) -> InputDistrict:
        """Return the best step of EM, which goes on from other parents of the children, or starts from their factor."""
        values, fits = np.empty(0), list[NodeFit | None]([None] * len(families))
        if last is None:
            values = self._factor(families)
        else:
            pairs = zip(last.fits, families, last.families, strict=True)
            values, fits = self._values(last.hidden), [fit if own == other else None for fit, own, other in pairs]
        cold = TUNING.cold_steps if fits.count(None) > 1 else ()
        best = found = self._step(families, values, fits)
        waited = 0
        for step in range(1, TUNING.most_steps):
            self.scores.clock.check()
            found = self._step(families, self._values(found.hidden), found.fits, seed=step if step in cold else 0)
            waited = 0 if found.score < best.score - TUNING.tolerance else waited + 1
            best = min(best, found, key=lambda own: own.score)
            if waited >= TUNING.patience:
                break
        return best

    def _values(self, hidden: Cells) -> Floats:
        """Return several values of each row's posterior, one after another, shape (values * n,)."""
        return np.concatenate([hidden.quantiles(levels) for levels in self._levels])

    def _factor(self, families: tuple[Family, ...]) -> Floats:
        """Return values, standardised, of the first factor of what the parents that are no children do not explain."""
        mean, variance = Districts(self.scores).first_factor(families)
        return standardised((mean + np.sqrt(variance) * ndtri(self._levels)).ravel())

    def _step(
        self, families: tuple[Family, ...], hidden: Floats, before: Sequence[NodeFit | None], seed: int = 0
    ) -> InputDistrict:
        """Return networks fitted to hidden values, from their last fits and, given a seed, anew; and the posterior."""
        fits, costs = [], [0.0]
        for (node, parents), last in zip(families, before, strict=True):
            x, response = self.scores.families.data((node, parents))
            inputs, repeated = np.vstack([x[:, self._rows], hidden]), response.take(self._rows)
            found = [] if last is None else [self._network(node, inputs, repeated, last)]
            if last is None or seed:
                found.append(self._network(node, inputs, repeated, None, seed))
            fits.append(min(found, key=lambda fit: fit.evidence))
            costs.append(likelihood_and_cost(repeated, len(inputs), fits[-1])[1])
            costs.extend(self.scores.families.edge_penalty[[*parents, node], node])
        cells = posterior(self._networks(families, fits))
        return InputDistrict(math.fsum([*costs, *cells.nll]), families, cells, tuple(fits))

    def _network(self, node: int, x: Floats, response: Response, last: NodeFit | None, seed: int = 0) -> NodeFit:
        known = self.scores.families
        return fit_node(
            x,
            response,
            hidden_units=self.scores.units[node],
            prior_precision=known.prior_precision,
            random_state=known.random_state + seed,
            start=None if last is None else last.theta,
            precision=None if last is None else last.precision,
            tol=OF_FAMILIES.tolerance,
            precision_updates=2 if last is None else 1,
            weight=1.0 / TUNING.values,
        )
