"""Fit and score of the families of a table: each result depends on the arguments alone."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.evidence import Layers, NodeFit, at_fixed_point, fit_node, odds_without_parents
from icdh._node_model.gain_estimates import gain_estimates, label_gain_estimates
from icdh._node_model.gaussian import GaussianResponse, LinearFit, fit_linear
from icdh._node_model.network import network_outputs, node_outputs, with_twice_the_units
from icdh._node_model.noise import cost_of, noise_gain
from icdh._node_model.response import Density, Response
from icdh._node_model.worth import Worth
from icdh._rows.related import RelatedRows
from icdh._utils.arrays import Floats, Integers, Mask
from icdh._utils.weighted import of_rows

Family = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Tuning:
    """Constants of fits and scores."""

    tolerance: float = 0.3  # nats, of fits while a search compares families
    tolerance_observations: int = 10_000  # of more observations the tolerance grows in proportion
    optimism: float = 1.5  # the gain of a further parent hardly exceeds this multiple of its estimate
    least_cost: float = 0.25  # of its second-order estimate, which the cost of a parent's loss hardly falls below
    least_group: int = 50  # observations in the smallest group that gets a noise density of its own
    fewest_apart: int = 10  # observations, of those that are about independent, that tell a noise distribution
    resolved: float = 10.0 * VARIANCE_FLOOR  # a variance below it is mostly the floor, and says little of the noise
    least_unresolved: float = 0.01  # share of the observations of such a variance, from which noise has no verdict
    slow_observations: int = 20_000  # of more of them a single fit may take seconds
    fine_tolerance: float = 0.001  # nats, of polish
    growth_gain: float = 5.0  # nats that twice the hidden units must gain
    few_differences: int = 2  # parents that only one of two similar families has
    failed: float = 20.0  # nats that residuals of a fit tell of its own parents, above which the fit has failed


TUNING = Tuning()


def _tolerances(n_observations: int) -> float:
    """Return by how many times a tolerance grows with the observations."""
    return max(1.0, n_observations / TUNING.tolerance_observations)


class Start(NamedTuple):
    """Where the fit of a family begins, and when it ends; see `icdh._node_model.evidence.fit_node`.

    Attributes
    ----------
    theta : ndarray or None
        Weights to start from; None for a cold start.
    precision : ndarray or None
        The precisions of the prior to start from.
    seed : int or None
        That of a cold start; if None, ``random_state`` of the families.
    tol : float
        Nats, for at most 10,000 observations.
    precision_updates, max_steps : int
        The most updates of the precisions, and steps.
    layers : Layers or None
        Which weights share a precision, and which are held at zero, if these are not those of the response's law.
    """

    theta: Floats | None = None
    precision: Floats | None = None
    seed: int | None = None
    tol: float = TUNING.tolerance
    precision_updates: int = 2
    max_steps: int = 300
    layers: Layers | None = None


COLD = Start()


class Families:
    """The families (node, parents) of a table: their data, fits and scores.

    Parameters
    ----------
    causes : ndarray, shape (R, n)
        The variables as causes, standardised, one network input a row.
    responses : sequence of Response, optional
        The variables as effects; by default continuous, with exact values.
    widths : ndarray of int, shape (N,), optional
        How many rows of ``causes`` every variable takes; by default one.
    rows : ndarray of bool, shape (N, n), optional
        The observations that count for each variable, for instance those where nobody set it; by default all.
    prior_precision : float
        The precision of the weights' prior to start from.
    edge_penalty : float or ndarray, shape (N, N)
        Nats to pay for each parent; [i, j] for the parent i of j.
    random_state : int
        Seed of cold starts.
    related : RelatedRows, optional
        Which of the n rows depend on one another; by default none.

    Attributes
    ----------
    whole : Families
        The families on all observations; of a subsample, those that it is taken from.
    """

    def __init__(
        self,
        causes: Floats,
        responses: Sequence[Response] | None = None,
        *,
        widths: Integers | None = None,
        rows: Mask | None = None,
        prior_precision: float,
        edge_penalty: ArrayLike,
        random_state: int,
        related: RelatedRows | None = None,
    ):
        self.causes, self.rows, self.whole = causes, rows, self
        self.responses: list[Response] = list(responses or map(GaussianResponse.exact, causes))
        self.widths = np.ones(len(causes), dtype=np.int64) if widths is None else widths
        self.prior_precision, self.random_state = prior_precision, random_state
        self.edge_penalty: Floats = np.broadcast_to(np.asarray(edge_penalty, dtype=float), (len(self), len(self)))
        self._related = related
        self._derive()

    def _derive(self) -> None:
        self._inputs = np.split(np.arange(len(self.causes)), np.cumsum(self.widths)[:-1])
        self.worth = None if self._related is None else Worth(self._related, self)

    def _with(self, **attributes: object) -> "Families":
        other = copy(self)
        vars(other).update(attributes)
        other._derive()
        return other

    def copy(self) -> "Families":
        """Return the same families with a memory of their own of what their rows are worth."""
        other = self._with()
        other.whole = other if self.whole is self else self.whole.copy()
        return other

    def __len__(self) -> int:
        return len(self.responses)

    @property
    def n_observations(self) -> int:
        """N."""
        return int(self.causes.shape[1])

    @property
    def weights(self) -> Floats | None:
        """How often each observation counts, shape (n,), the same for every variable; None if once."""
        return self.responses[0].weights

    def row_weights(self, node: int) -> Floats | None:
        """Return the weights of the observations that count for a node; None if each counts once."""
        return self.weights if self.rows is None else of_rows(self.weights, self.rows[node])

    def subsample(self, most: int) -> "Families":
        """Return the families on at most so many of the observations that count for each variable, evenly spread."""
        rows = np.zeros((len(self), self.n_observations), dtype=bool)
        for node in range(len(self)):
            counted = np.arange(self.n_observations) if self.rows is None else np.flatnonzero(self.rows[node])
            rows[node, counted[:: max(-(-counted.size // most), 1)]] = True
        return self._with(rows=rows)

    def with_causes(self, columns: Sequence[Floats], like: Sequence[int]) -> "Families":
        """Return the families with further variables, continuous and only causes.

        Parameters
        ----------
        columns : sequence of ndarray, each of shape (n,)
            Their values, standardised.
        like : sequence of int
            For each, the variable whose price as a cause it has.
        """
        rows = None if self.rows is None else np.vstack([self.rows, np.ones((len(columns), self.n_observations), bool)])
        variables = [*range(len(self)), *like]
        wider = self._with(
            causes=np.vstack([self.causes, *columns]),
            responses=[*self.responses, *(GaussianResponse.exact(column, self.weights) for column in columns)],
            widths=np.append(self.widths, np.ones(len(columns), dtype=np.int64)),
            rows=rows,
            edge_penalty=self.edge_penalty[np.ix_(variables, variables)],
        )
        wider.whole = wider
        return wider

    @property
    def tolerance(self) -> float:
        """The nats within which fits to all observations end while a search compares families."""
        return TUNING.tolerance * _tolerances(self.n_observations)

    def counts(self) -> Floats:
        """Return how many observations count for each variable, each as often as its weight says, shape (N,)."""
        each = np.ones(self.n_observations) if self.weights is None else self.weights
        return np.full(len(self), each.sum()) if self.rows is None else self.rows @ each

    def share(self) -> Floats:
        """Return the share of the observations that count for each variable in the whole table, shape (N,)."""
        share: Floats = np.maximum(self.counts(), 1) / np.maximum(self.whole.counts(), 1)
        return share

    def design_effects(self, family: Family, fit: NodeFit) -> Floats:
        """Return for each parent by how many times fewer rows than there are its edge is backed, shape (p,)."""
        if self.worth is None or not family[1]:
            return np.ones(len(family[1]))
        return self.worth.design_effects(family, fit)

    def largest_effect(self) -> float:
        """Return the largest design effect of two variables, one where rows are independent."""
        return 1.0 if self.worth is None else self.worth.largest_effect()

    def data(self, family: Family) -> tuple[Floats, Response]:
        """Return the parents, one network input a row, and the response, at the observations that count for it."""
        node, parents = family
        x, response = self.causes[self.inputs_of(parents)], self.responses[node]
        if self.rows is None:
            return x, response
        return np.ascontiguousarray(x[:, self.rows[node]]), response.take(self.rows[node])

    def _density(self, family: Family) -> tuple[Floats, Density]:
        """Return parents and response, as `data`, at the observations whose value has a density."""
        x, response = self.data(family)
        if response.density is None:
            raise TypeError(f"no value of variable {family[0]} has a density")
        return response.density.of(x), response.density

    def inputs_of(self, variables: Sequence[int]) -> list[int]:
        """Return the network inputs, rows of ``causes``, that variables take."""
        return [row for variable in variables for row in self._inputs[variable].tolist()]

    def weights_of(self, parent: int, others: Sequence[int], hidden_units: int) -> slice:
        """Return the slice of theta with the input weights of a parent, in a family with these other parents."""
        before = int(self.widths[[k for k in others if k < parent]].sum())
        return slice(before * hidden_units, (before + int(self.widths[parent])) * hidden_units)

    def fit(self, family: Family, hidden_units: int, start: Start = COLD) -> NodeFit:
        """Return a fit of a family, the node and its parents, with so many hidden units."""
        x, response = self.data(family)
        return fit_node(
            x,
            response,
            hidden_units=hidden_units,
            prior_precision=self.prior_precision,
            random_state=self.random_state if start.seed is None else start.seed,
            start=start.theta,
            precision=start.precision,
            max_steps=start.max_steps,
            tol=start.tol * _tolerances(x.shape[1]),
            precision_updates=start.precision_updates,
            weight=self._weight(family),
            layers=start.layers,
        )

    def fit_twice_the_units(self, family: Family, fit: NodeFit) -> NodeFit:
        """Return a fit with twice the hidden units, from weights that compute nearly the same."""
        n_inputs = int(self.widths[list(family[1])].sum())
        theta = with_twice_the_units(fit.theta, n_inputs, fit.hidden_units, self.random_state)
        return self.fit(family, 2 * fit.hidden_units, Start(theta))

    def fit_at_fixed_point(self, family: Family, fit: NodeFit) -> NodeFit:
        """Return the fit where updates of the prior's precisions end."""
        prior, weight = self.prior_precision, self._weight(family)
        return at_fixed_point(*self.data(family), fit, prior_precision=prior, weight=weight)

    def _weight(self, family: Family) -> float:
        return 1.0 if self.worth is None else self.worth.weight(family)

    def score(self, family: Family, fit: NodeFit, noise: str) -> float:
        """Return the network's negative log evidence plus the penalty of edges, minus the gain of the noise."""
        score = fit.evidence + self._penalty(family) if self.worth is None else self.worth.score(family, fit)
        if noise != "gaussian" and self.responses[family[0]].density is not None:
            score -= self._noise_gain(family, self.residuals(family, fit)[0], noise)
        return score

    def linear_score(self, family: Family, noise: str) -> float:
        """Return the score of a family by its linear model; infinite if it has none, or no causes."""
        node, parents = family
        if not parents or self.responses[node].gaussian is None:
            return np.inf
        fit, residuals = self._linear(family)
        if self.worth is not None:
            return self.worth.linear_score(family, fit, residuals[0]) - self._noise_gain(family, residuals, noise)
        return self.score_of_residuals(family, fit.evidence, residuals, noise)

    def score_of_residuals(self, family: Family, evidence: float, residuals: Sequence[Floats], noise: str) -> float:
        """Return a negative log evidence plus the penalty of edges, minus what the noise of residuals gains."""
        return evidence + self._penalty(family) - self._noise_gain(family, residuals, noise)

    def linear_residual(self, family: Family) -> Floats:
        """Return the standardised residual of a family's linear model, one for each observation that counts."""
        return self._linear(family)[1][0]

    def _linear(self, family: Family) -> tuple[LinearFit, list[Floats]]:
        x, response = self.data(family)
        if response.gaussian is None:
            raise TypeError(f"variable {family[0]} has no linear model")
        response = response.gaussian
        fit = fit_linear(x, response)
        return fit, [(sample - fit.mean) / np.sqrt(fit.variance) for sample in response.samples]

    def _penalty(self, family: Family) -> float:
        return float(self.edge_penalty[list(family[1]), family[0]].sum())

    def residuals(self, family: Family, fit: NodeFit) -> tuple[list[Floats], Floats]:
        """Return standardised residuals, one array for each sample of the response, and standard deviations.

        Both are of the observations whose value has a density: of all but those at point masses.
        """
        x, (response, _) = self._density(family)
        mean, deviation = node_outputs(fit.theta, x, fit.hidden_units)  # of all outputs the first two
        return [(sample - mean) / deviation for sample in response.samples], deviation

    def outputs(self, family: Family, fit: NodeFit) -> Floats:
        """Return the outputs of a fit, shape (o, n), at the observations that count."""
        return network_outputs(fit.theta, self.data(family)[0], fit.hidden_units, self.responses[family[0]].law)

    def noise_of(self, family: Family, fit: NodeFit, noise: str) -> str:
        """Return the noise distribution of a family: "gaussian", "student", "free", or "none" if it has no density."""
        if self.responses[family[0]].density is None:
            return "none"
        return self._noise(family[0], self.residuals(family, fit)[0], noise)[1]

    def gain_over_gaussian(self, family: Family, fit: NodeFit) -> float:
        """Return what the noise that "auto" chooses gains, in nats an observation, its cost aside.

        It is zero of the Gaussian, and where noise is not resolved.
        """
        if not self.resolves_noise(family, fit):
            return 0.0
        residuals, _ = self.residuals(family, fit)
        gain, name = self._noise(family[0], residuals, "auto")
        of_density = self._density(family)[1].response
        return (gain + cost_of(name, of_density.n_counted)) / of_density.n_counted

    def resolves_noise(self, family: Family, fit: NodeFit) -> bool:
        """Return whether nearly all variances of a family are above the floor of the variance."""
        _, deviation = self.residuals(family, fit)
        return not np.mean(deviation**2 < TUNING.resolved) > TUNING.least_unresolved

    def _noise(self, node: int, residuals: Sequence[Floats], noise: str) -> tuple[float, str]:
        """Return the gain of a noise distribution and its name, by as many rows as there are independent ones."""
        if self.worth is None or noise == "gaussian":
            weights = None if self.weights is None else self._density((node, ()))[1].response.weights
            return noise_gain(residuals, noise, weights)
        apart = self.worth.apart(node)
        apart = apart[self._density((node, ()))[1].mask(apart.size)]
        apart = apart if np.count_nonzero(apart) >= TUNING.fewest_apart else np.ones(apart.size, dtype=bool)
        gain, name = noise_gain([sample[apart] for sample in residuals], noise)
        return gain / float(apart.mean()), name

    def _noise_gain(self, family: Family, residuals: Sequence[Floats], noise: str) -> float:
        """Return the gain of the noise distribution, or that of one for each group of equal ordinal causes, if larger.

        What a rounded cause leaves out is a different mixture at each of its levels. With a single density the effect
        would appear to lack noise that its own density, as a cause, may have. Where rows have weights, or depend on one
        another, groups are too small to tell.
        """
        node, parents = family
        whole, _ = self._noise(node, residuals, noise)
        causes = [self.responses[cause] for cause in parents]
        have_levels = bool(causes) and all(cause.ordered and cause.codes is not None for cause in causes)
        if noise != "auto" or self.worth is not None or self.weights is not None or not have_levels:
            return whole
        x, _ = self._density(family)
        _, group, sizes = np.unique(x, axis=1, return_inverse=True, return_counts=True)
        if sizes.min() < TUNING.least_group:
            return whole
        groups = [np.flatnonzero(group.ravel() == k) for k in range(sizes.size)]
        return max(whole, sum(noise_gain([sample[rows] for sample in residuals], "auto")[0] for rows in groups))

    def gain_estimates(self, family: Family, fit: NodeFit) -> Floats:
        """Return, for each variable, an optimistic estimate of the fall of the score if it is added or removed.

        Parameters
        ----------
        family : tuple
            The node and its parents.
        fit : NodeFit
            Its fit.

        Returns
        -------
        ndarray, shape (N,)
            Nats: for a variable that is no parent, if it becomes one; for a parent, if it is removed. The estimates
            are no strict bounds; they exceed a score test and the second order at the fit by a safety factor. Infinite
            where a number and a category meet, and for a parent of a family with a category.
        """
        node, parents = family
        estimates = np.full(len(self), np.inf)
        self._estimate_labels(family, fit, estimates)
        x, response = self.data(family)
        if not response.ordered:
            return estimates
        hidden, scores = response.standardised_scores(x, fit.theta, fit.hidden_units)
        single = np.flatnonzero(self.widths == 1)
        candidates = self.causes[self.inputs_of(single.tolist())]
        if self.rows is not None:
            candidates = candidates[:, self.rows[node]]
        penalties = self.edge_penalty[:, node]
        gains = gain_estimates(candidates, x, hidden, scores, response.weights)
        estimates[single] = TUNING.optimism * gains - penalties[single]
        estimates[[node, *parents]] = np.inf
        if parents and len(x) == len(parents) and self.worth is None:
            saving, cost = odds_without_parents(x, response, fit)
            estimates[list(parents)] = TUNING.optimism * (saving + penalties[list(parents)]) - TUNING.least_cost * cost
        return estimates

    def _estimate_labels(self, family: Family, fit: NodeFit, estimates: Floats) -> None:
        """Fill in the estimates of new parents where cause and effect are categorical, or one is and one has levels."""
        node, parents = family
        codes = {i: of_variable for i in range(len(self)) if (of_variable := self.codes_of(i, node)) is not None}
        others = [i for i in codes if i != node and i not in parents]
        ordered = [response.ordered for response in self.responses]
        candidates = [i for i in others if not (ordered[i] and ordered[node])]
        log_p = None if not candidates else self.responses[node].law.log_probabilities(self.outputs(family, fit))
        if node in codes and log_p is not None:
            of_candidates, of_parents = ([codes[i] for i in some if i in codes] for some in (candidates, parents))
            observed = codes[node], np.exp(log_p), of_candidates, of_parents
            gains = label_gain_estimates(*observed, self.row_weights(node))
            estimates[candidates] = gains - self.edge_penalty[candidates, node]

    def codes_of(self, variable: int, node: int | None = None) -> Integers | None:
        """Return the labels or levels of a variable, at the observations that count for a node; None of a number."""
        codes = self.responses[variable].codes
        return codes if self.rows is None or node is None or codes is None else codes[self.rows[node]]
