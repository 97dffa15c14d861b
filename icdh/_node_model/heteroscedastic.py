"""The heteroscedastic linear model of a family: a linear mean and a network of the log-variance, a further rival.

A network describes a linear mean through its hidden units, and pays for all curves that it could have described. Where
only the spread of an effect bends, this model pays for that alone. With s the deviation of weighted least squares and
F, H and layers as of `icdh._node_model.network`,

    y = a^T x + b + s sd(x) E,    sd^2 = 1e-5 + exp(b3 + w3 . tanh(w1^T x + b1)).

Mean and log-variance are orthogonal: they are fitted in turn, and the Fisher matrix has a block for each. The negative
log evidence is that of the network of (y - a^T x - b) / s without a mean of its own, plus

    n log s + (1/2) log sum 1 / (s sd)^2 + (r / 2) log n.

Intercept and slopes, of rank r, so cost what they cost the linear model (`icdh._node_model.gaussian`).

References
----------
Breusch, Pagan, "A simple test for heteroscedasticity and random coefficient variation", Econometrica 47 (1979).
Harvey, "Estimating regression models with multiplicative heteroscedasticity", Econometrica 44 (1976).
Davidian, Carroll, "Variance function estimation", Journal of the American Statistical Association 82 (1987).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from icdh._node_model._kernels import LEAST_VARIANCE
from icdh._node_model.evidence import Layers, NodeFit, Start, fit_node
from icdh._node_model.families import Families, Family, without
from icdh._node_model.gaussian import GaussianResponse, LinearFit, fit_linear, least_squares
from icdh._node_model.law import Law
from icdh._node_model.network import NodeNetwork, node_outputs
from icdh._node_model.response import Numbers
from icdh._utils.arrays import Floats, Integers, Mask, mean_of, times

FEWEST_ROWS = 500  # of thirty tables of 200 to 400 rows the graphs had 59 errors with it, and without
MOST_ROUNDS = 4  # of mean and spread in turn; in 719 fits later ones gained 0.1 nats in the mean
HOPELESS = 30.0  # nats behind a rival after a fit of the spread: few more follow
RIDGE = 1e-9  # of functions that nearly agree
FAR_BEHIND = 0.1  # nats an observation by which a linear mean is behind the network's, under the network's variances


@dataclass(frozen=True)
class LinearMeanNetwork(NodeNetwork):
    """A network to whose mean a linear function of its inputs is added.

    Attributes
    ----------
    slopes : ndarray, shape (q,)
        What one unit of each network input adds to the mean.
    """

    slopes: Floats

    def outputs(self, x: Floats, law: Law) -> Floats:
        """Return the outputs of a law, shape (o, M), given the network inputs x, one a row."""
        outputs = super().outputs(x, law)
        outputs[0] += self.slopes @ x
        return outputs

    def in_original_signs(self, signs: Floats, sign: float, law: Law) -> "LinearMeanNetwork":
        """Return the network of ``sign * y`` given ``signs * x``, when this one is of y given x."""
        theta = super().in_original_signs(signs, sign, law).theta
        return replace(self, theta=theta, slopes=sign * signs * self.slopes)

    def held(self, kept: Mask, at: Floats) -> "LinearMeanNetwork":
        """Return the network of some inputs alone, numbers beside them held at values; both of shape (p,)."""
        held, of_inputs, values = super().held(kept, at), np.repeat(kept, self.widths), np.repeat(at, self.widths)
        theta = held.theta.copy()
        theta[-2 * (self.hidden_units + 1)] += values[~of_inputs] @ self.slopes[~of_inputs]  # the mean's intercept
        slopes = self.slopes[of_inputs]
        return replace(self, inputs=held.inputs, widths=held.widths, theta=theta, slopes=slopes)

    def faults(self, law: Law, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself, the law, or how many network inputs every parent is."""
        yield from super().faults(law, widths)
        if law.n_outputs != 2 or self.slopes.size != self.widths.sum():
            yield "a linear mean lacks slopes, or its law has other outputs"


class HeteroscedasticFit(NamedTuple):
    """A fit of the heteroscedastic linear model.

    Attributes
    ----------
    slopes : ndarray, shape (q,)
        a.
    intercept : float
        b.
    unit : float
        s.
    spread : NodeFit
        The network of (y - a^T x - b) / s, whose mean is zero.
    evidence : float
        The negative log evidence in nats.
    """

    slopes: Floats
    intercept: float
    unit: float
    spread: NodeFit
    evidence: float

    def residuals(self, x: Floats, effect: Numbers) -> list[Floats]:
        """Return standardised residuals at network inputs x, shape (q, n), one array for each sample of the effect."""
        _, deviation = node_outputs(self.spread.theta, x, self.spread.hidden_units)
        mean = self.intercept + self.slopes @ x
        return [(sample - mean) / (self.unit * deviation) for sample in effect.samples]

    def predictor(self, inputs: Integers, widths: Integers) -> LinearMeanNetwork:
        """Return the model as what a fitted model keeps, given the parents and their numbers of network inputs."""
        theta, own = self.spread.theta.copy(), self.spread.hidden_units + 1
        theta[-2 * own] = self.intercept
        theta[-own] += 2.0 * math.log(self.unit)
        return LinearMeanNetwork(inputs, widths, theta, self.spread.hidden_units, self.slopes)


class HeteroscedasticModels:
    """The heteroscedastic linear models of the families of a table.

    Parameters
    ----------
    families : Families
        The data.
    tol : float
        Nats by which the last of the fits in turn, and the last steps of each, may lower the evidence.
    """

    def __init__(self, families: Families, tol: float):
        self.families, self.tol = families, tol
        self._fits: dict[Family, tuple[NodeFit, HeteroscedasticFit | None]] = {}
        self._linear: dict[Family, float | None] = {}

    def keep(self, other: "HeteroscedasticModels", families: Iterable[Family]) -> None:
        """Keep the fits that another has of families, whose observations are the same."""
        self._fits.update({family: other._fits[family] for family in families if family in other._fits})

    def known(self, family: Family) -> HeteroscedasticFit | None:
        """Return the best known fit of a family; None if there is none."""
        return self._fits.get(family, (None, None))[1]

    def start_of(self, family: Family) -> HeteroscedasticFit | None:
        """Return the best known fit with one parent fewer, and zeros for that parent; None if there is none."""
        known = [(fit, new) for new in family[1] if (fit := self.known(without(family, new))) is not None]
        if not known:
            return None
        fit, new = min(known, key=lambda pair: pair[0].evidence)
        return fit._replace(spread=self.families.with_parent(fit.spread, new, family[1]))

    def start_without(self, family: Family, parent: int) -> HeteroscedasticFit | None:
        """Return the known fit of a family without the weights of one parent; None if there is none."""
        fit = self.known(family)
        return fit and fit._replace(spread=self.families.without_parent(fit.spread, parent, family[1]))

    def fit(
        self, family: Family, network: NodeFit, start: HeteroscedasticFit | None = None
    ) -> HeteroscedasticFit | None:
        """Return the best known model of a family; None where it has no causes, few or dependent rows, or no promise.

        Parameters
        ----------
        family : tuple
            The node and its parents.
        network : NodeFit
            The fit of its network, with whose variances mean and spread begin: from one variance, a spread by many
            causes hardly leaves. For another network they are fitted again.
        start : HeteroscedasticFit, optional
            Where they begin in place of the network.
        """
        (node, parents), families = family, self.families
        if not parents or families.related is not None or families.responses[node].least_squares is None:
            return None
        known, best = self._fits.get(family, (None, None))
        if known is network and start is None:
            return best
        x, effect = families.with_numbers(family)
        if family not in self._linear:
            self._linear[family] = _linear_rival(x, effect)
        linear = self._linear[family]
        if linear is None or not network.succeeded:
            return best
        like_network, fit = _like_network(x, effect, network), None
        if like_network is not None:
            fit = self._descent(x, effect, start or like_network, min(linear, network.evidence) + HOPELESS)
        best = min((one for one in (best, fit) if one is not None), key=lambda one: one.evidence, default=None)
        self._fits[family] = network, best
        return best

    def _descent(
        self, x: Floats, effect: Numbers, start: HeteroscedasticFit, hopeless: float
    ) -> HeteroscedasticFit | None:
        """Return the fit where fits of mean and spread in turn end, or are hopeless; None if the first one fails."""
        known = start._replace(evidence=math.inf)
        for _ in range(MOST_ROUNDS):
            fit = _fit_in_turn(x, effect, known, self.tol, self.families.prior_precision)
            if fit is None or fit.evidence > known.evidence - self.tol:
                break
            known = fit
            if known.evidence > hopeless:
                break
        return known if known.evidence < math.inf else None


def _linear_rival(x: Floats, effect: Numbers) -> float | None:
    """Return the evidence of the linear model; None of few observations, and where no spread promises to gain over it.

    x has shape (q, n), one network input a row.
    """
    if effect.n_counted < FEWEST_ROWS:
        return None
    linear = fit_linear(x, effect)
    return linear.evidence if linear.evidence < math.inf and _promise(x, effect, linear) > 0.0 else None


def _like_network(x: Floats, effect: Numbers, network: NodeFit) -> HeteroscedasticFit | None:
    """Return the linear mean under a network's variances, and its spread; None if that is far behind the network."""
    mean_of_network, deviation = node_outputs(network.theta, x, network.hidden_units)
    mean, slopes, _ = least_squares(x, effect.centre, times(effect.weights, deviation**-2))
    squares, rivals = (
        mean_of(np.square((effect.centre - other) / deviation), effect.weights) for other in (mean, mean_of_network)
    )
    if squares > rivals * math.exp(2.0 * FAR_BEHIND):
        return None
    variance = float(mean_of(np.square(effect.centre - mean) + effect.spread, effect.weights))
    unit = math.sqrt(max(variance, LEAST_VARIANCE))
    theta, own = network.theta.copy(), network.hidden_units + 1
    theta[-2 * own : -own] = 0.0
    theta[-own] -= 2.0 * math.log(unit)
    return HeteroscedasticFit(slopes, 0.0, unit, network._replace(theta=theta), math.inf)


def _fit_in_turn(
    x: Floats, effect: Numbers, known: HeteroscedasticFit, tol: float, prior_precision: float
) -> HeteroscedasticFit | None:
    """Return the mean under the spread of a known fit, and the spread of what that leaves; None if neither gains."""
    m, unit, weights, n = known.spread.hidden_units, known.unit, effect.weights, effect.n_counted

    def precisions(spread: NodeFit) -> Floats:
        return times(weights, (unit * node_outputs(spread.theta, x, m)[1]) ** -2)

    weighted = precisions(known.spread)
    mean, slopes, rank = least_squares(x, effect.centre, weighted)
    if known.evidence < math.inf:
        before = np.square(effect.centre - known.intercept - known.slopes @ x)
        if 0.5 * weighted @ (before - np.square(effect.centre - mean)) < tol:
            return None
    residual = GaussianResponse((effect.centre - mean) / unit, effect.spread / unit**2, effect.samples, weights)
    layers = Layers.of(residual, len(x), m)
    of_weights = layers.of_weights.copy()
    of_weights[-2 * (m + 1) : -(m + 1)] = layers.number + 1  # its mean is held at zero
    layers = layers._replace(of_weights=of_weights)
    start = Start(known.spread.theta, known.spread.precision, tol=tol, precision_updates=1, layers=layers)
    spread = fit_node(x, residual, m, start, prior_precision=prior_precision, weight=1.0)
    if not spread.succeeded:
        return None
    of_mean = n * math.log(unit) + 0.5 * math.log(precisions(spread).sum()) + 0.5 * rank * math.log(n)
    intercept = float(mean_of(mean - slopes @ x, weights))
    return HeteroscedasticFit(slopes, intercept, unit, spread, spread.evidence + of_mean)


def _promise(x: Floats, effect: Numbers, linear: LinearFit) -> float:
    """Return the nats that a spread promises: Breusch and Pagan's score test of two functions of each cause.

    A cause costs what one weight does.
    """
    bounded, weights = np.tanh(x), effect.weights
    functions = np.vstack([bounded, np.square(bounded)])
    functions -= mean_of(functions, weights)[:, np.newaxis]
    weighted = times(weights, functions)
    excess = weighted @ ((np.square(effect.centre - linear.mean) + effect.spread) / linear.variance - 1.0)
    products = weighted @ functions.T
    products.ravel()[:: len(products) + 1] += RIDGE * effect.n_counted
    return 0.25 * float(excess @ np.linalg.solve(products, excess)) - 0.5 * len(x) * math.log(effect.n_counted)
