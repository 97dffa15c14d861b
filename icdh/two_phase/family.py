"""A family, one child given its causes, fitted by the article's two phases in turn.

On a DAG the likelihood of Eq. 11 is a sum over families. Each is a small problem of its own: Phase II by Newton's
method, Phase I as in `icdh.two_phase.scales`. Together they minimise

    the negative log-likelihood + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2).

Likelihood and penalties are in nats over all observations: the penalties are the same whatever M.
"""

from typing import NamedTuple

import numpy as np

from icdh._ground.clock import Clock
from icdh._ground.density import gaussian_nll
from icdh._network_kernels import node_activations
from icdh.network import Weights, features_of, root_mean_square
from icdh.two_phase.newton import minimise_by_newton
from icdh.two_phase.objective import MeanProblem
from icdh.two_phase.scales import fit_scale

MOST_ROUNDS = 10
LEAST_GAIN = 0.5  # nats over all observations: a round that gains less is the last
FRESH_REACH = 3.0  # largest random weight, in 1 / (root mean square of the cause)
FRESH_SCALE = 0.03  # the first scale beside random weights, in root mean squares of the child
TOLERANCE = 1e-6  # relative decrease at which Newton's method ends
# A family is given up if it misses ``limit`` by more than so many times the gain of its last round (nats in the first).
HOPELESS_GAINS, HOPELESS_NATS = 3.0, 100.0


class FamilyFit(NamedTuple):
    """A fitted family.

    Attributes
    ----------
    hidden : ndarray, shape (p or p + 1, m1)
        Weights of each cause, in ascending order; a last row of intercepts, if there are any.
    w2 : ndarray, shape (m1 or m1 + 1,)
        Output weights of the mean; the intercept last, if there is one.
    w3, w3_bias : ndarray, shape (m1,), and float
        The scale.
    nats : float
        Negative log-likelihood, sum over the observations that count.
    penalised : float
        The same with the penalties.
    finished : bool
        Whether the rounds ended because they gained nothing any more.
    """

    hidden: np.ndarray
    w2: np.ndarray
    w3: np.ndarray
    w3_bias: float
    nats: float
    penalised: float
    finished: bool


class FamilyFitter:
    """Fits families of one table.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        Observations, one variable a row.
    l1, l2 : float
        The penalties, in nats over all observations.
    noise : {"heteroscedastic", "unequal", "equal"}
        The kind of scale.
    bias : bool
        Whether there are intercepts.
    rows : ndarray of bool, shape (N, M), optional
        The observations that count for each variable; by default all.
    required : ndarray of bool, shape (N, N), optional
        Edges that are not under the lasso, so that they never vanish.
    clock : Clock, optional
        Says when fits must end, by raising OutOfTime.
    """

    def __init__(
        self,
        values: np.ndarray,
        l1: float,
        l2: float,
        noise: str,
        bias: bool,
        rows: np.ndarray | None = None,
        required: np.ndarray | None = None,
        clock: Clock | None = None,
    ):
        self.values, self.l1, self.l2 = values, l1, l2
        self.required = np.zeros((len(values), len(values)), dtype=bool) if required is None else required
        self.noise, self.bias, self.rows = noise, bias, rows
        self.clock = clock or Clock()

    def fit(
        self,
        child: int,
        causes: tuple,
        hidden: np.ndarray,
        w3: np.ndarray,
        w3_bias: float,
        scale: np.ndarray,
        limit: float = np.inf,
    ) -> FamilyFit:
        """Fit a family by both phases in turn, and return the best round.

        Parameters
        ----------
        child : int
            The child.
        causes : tuple of int
            Its causes, in ascending order.
        hidden, w3, w3_bias
            Where to start, as of `FamilyFit`.
        scale : ndarray, shape (M,)
            The standard deviations of the first Phase II.
        limit : float
            Nats that the family must reach to be of use; one that is far from it is given up.
        """
        features = features_of(self.values[[child, *causes]], self.bias)
        counts = None if self.rows is None else self.rows[child]
        best = None
        for k in range(MOST_ROUNDS):
            self.clock.check()
            hidden, w2, s, mean = self._means(features, scale, hidden, counts, self.required[list(causes), child])
            w3, w3_bias = fit_scale(s, features[0] - mean, w3, w3_bias, self.noise, counts)
            scale = _scale(s, w3, w3_bias)
            nats = self.nats(child, mean, scale)
            penalised = nats + self._penalties(hidden, w2, ~self.required[list(causes), child])
            gain = np.inf if best is None else best.penalised - penalised
            finished = self.noise == "equal" or gain < LEAST_GAIN
            if gain > 0.0:
                best = FamilyFit(hidden, w2, w3, w3_bias, nats, penalised, finished)
            hopeless = HOPELESS_NATS if k == 0 else HOPELESS_GAINS * gain
            if finished or nats - limit > hopeless:
                break
        return best._replace(finished=finished or limit == np.inf)

    def fit_afresh(self, child: int, causes: tuple, units: int, rng: np.random.Generator) -> FamilyFit:
        """Fit a family from random weights.

        The first scale is small, so that penalties hardly count in the first Phase II. With a scale of one, fits of
        children that are nearly functions of their causes end in minima hundreds of nats above the best.

        Parameters
        ----------
        child, causes
            As of `fit`.
        units : int
            m1, hidden units.
        rng : Generator
            Draws the weights.
        """
        rms = root_mean_square(self.values[list(causes)])
        hidden = rng.uniform(-FRESH_REACH, FRESH_REACH, (len(causes), units))
        hidden /= np.where(rms > 0.0, rms, 1.0)[:, np.newaxis]
        if self.bias:
            hidden = np.vstack([hidden, np.zeros(units)])
        own = self.values[child] if self.rows is None else self.values[child, self.rows[child]]
        spread = np.sqrt(np.mean(np.square(own))) if own.size else 0.0
        scale = np.full(self.values.shape[1], FRESH_SCALE * (spread if spread > 0.0 else 1.0))
        return self.fit(child, causes, hidden, np.zeros(units), np.log(scale[0]), scale)

    def adapt(self, child: int, causes: tuple, hidden: np.ndarray) -> FamilyFit:
        """Fit w2 and a constant scale alone, in closed form, whatever the clock says."""
        features = features_of(self.values[[child, *causes]], self.bias)
        counts = None if self.rows is None else self.rows[child]
        scale = np.ones(self.values.shape[1])
        hidden, w2, s, mean = self._means(
            features, scale, hidden, counts, self.required[list(causes), child], descend=False
        )
        noise = "equal" if self.noise == "equal" else "unequal"
        w3, w3_bias = fit_scale(s, features[0] - mean, np.zeros(len(s)), 0.0, noise, counts)
        nats = self.nats(child, mean, _scale(s, w3, w3_bias))
        penalised = nats + self._penalties(hidden, w2, ~self.required[list(causes), child])
        return FamilyFit(hidden, w2, w3, w3_bias, nats, penalised, False)

    def outputs(self, child: int, causes: tuple, fit: FamilyFit) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and scale of a fitted family, each of shape (M,)."""
        features = features_of(self.values[list(causes)], self.bias)
        s = np.empty((fit.hidden.shape[1], self.values.shape[1]))
        node_activations(features, np.arange(len(features)), fit.hidden, s)
        mean = fit.w2[: len(s)] @ s + (fit.w2[-1] if self.bias else 0.0)
        return mean, _scale(s, fit.w3, fit.w3_bias)

    def nats(self, child: int, mean: np.ndarray, scale: np.ndarray) -> float:
        """Return the negative log-likelihood of a child given mean and scale, sum over the observations that count."""
        counts = None if self.rows is None else self.rows[child : child + 1]
        own = self.values[child : child + 1]
        return mean.size * gaussian_nll(own, mean[np.newaxis], scale[np.newaxis], counts)

    def _means(self, features, scale, hidden, counts, required_causes, descend=True):
        """Return Phase II of a family: hidden weights, w2, hidden activations and the mean."""
        units, observations = hidden.shape[1], features.shape[1]
        variables = len(features) - self.bias
        scales = np.ones((variables, observations))
        scales[0] = scale
        template = Weights(
            np.zeros((variables, units, variables)),
            *np.zeros((2, variables, units)),
            np.zeros(variables),
            hidden_bias=np.zeros((variables, units)) if self.bias else None,
            output_bias=np.zeros(variables) if self.bias else None,
        )
        forbidden = np.ones((variables, variables), dtype=bool)
        forbidden[1:, 0] = False
        required = np.zeros((variables, variables), dtype=bool)
        required[1:, 0] = required_causes
        rows = None
        if counts is not None:
            rows = np.ones((variables, observations), dtype=bool)
            rows[0] = counts
        penalties = self.l1 / observations, self.l2 / observations
        clock = self.clock if descend else Clock()
        problem = MeanProblem(features, scales, template, forbidden, *penalties, rows, required, clock)
        inputs = np.flatnonzero(problem.effects == 0)
        if descend:
            hidden, _ = minimise_by_newton(problem, 0, hidden, inputs, TOLERANCE)
        problem.loss(inputs, np.array([0]))(hidden)  # leaves w2 and the activations of these weights
        w2 = problem.w2[0].copy()
        return hidden, w2, problem.hidden[:units].copy(), w2 @ problem.hidden

    def _penalties(self, hidden, w2, free):
        edges, units = hidden[: len(hidden) - self.bias], hidden.shape[1]
        squares = np.vdot(edges, edges) + np.vdot(w2[:units], w2[:units])
        return float(self.l1 * np.abs(edges[free]).sum() + 0.5 * self.l2 * squares)


def _scale(s, w3, w3_bias):
    return np.maximum(w3 @ s, 0.0) + np.exp(w3_bias)
