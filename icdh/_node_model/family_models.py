"""The models of families: fits and scores that depend on their arguments alone.

A family has a network, a linear, an additive and a heteroscedastic linear model. To the negative log evidence of each
the score adds the penalty of edges; it subtracts what the distribution of the noise gains.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from icdh._node_model._kernels import VARIANCE_FLOOR
from icdh._node_model.additive import CHOICE_COST, AdditiveModels, AdditivePredictor
from icdh._node_model.evidence import COLD, NodeFit, Start, at_fixed_point, fit_node, odds_without_parents
from icdh._node_model.families import DesignEffects, Families, Family
from icdh._node_model.gain_estimates import gain_estimates, label_gain_estimates
from icdh._node_model.gaussian import GaussianLaw, LinearFit, fit_linear
from icdh._node_model.generalised_linear import GeneralisedLinearFit, fit_generalised_linear
from icdh._node_model.heteroscedastic import HeteroscedasticModels
from icdh._node_model.law import Law
from icdh._node_model.network import FamilyPredictor, NodeNetwork, network_outputs, node_outputs, with_twice_the_units
from icdh._node_model.noise import cost_of, fit_noise, noise_gain
from icdh._node_model.response import Numbers
from icdh._utils.arrays import Floats, cells, deviation_of, drawn_from_cells, mean_of
from icdh._utils.parallel import single_blas_thread

TOLERANCE_OBSERVATIONS = 10_000  # of more observations the tolerance grows in proportion
MOST_ESTIMATED = 50_000  # observations that gains of further parents are estimated from
OPTIMISM = 1.5  # the gain of a further parent hardly exceeds this multiple of its estimate
LEAST_COST = 0.25  # of its second-order estimate, which the cost of a parent's loss hardly falls below
LEAST_GROUP = 50  # observations in the smallest group that gets a noise density of its own
HEAPED_SHARE = 0.25  # of the values, which are spread beyond their cells
BLUR = 0.15  # standard deviations of a residual
FEWEST_APART = 10  # observations, of those that are about independent, that tell a noise distribution
RESOLVED_VARIANCE = 10.0 * VARIANCE_FLOOR  # a variance below it is mostly the floor, and says little of the noise
LEAST_UNRESOLVED = 0.01  # share of the observations of such a variance, from which noise has no verdict


def tolerance_of(n_observations: int, tolerance: float = COLD.tol) -> float:
    """Return the nats within which fits end: of so many observations, given that of at most 10,000."""
    return tolerance * max(1.0, n_observations / TOLERANCE_OBSERVATIONS)


class FamilyModels:
    """The models of the families of a table.

    Parameters
    ----------
    families : Families
        The data.

    Attributes
    ----------
    additive : AdditiveModels
        The additive models.
    heteroscedastic : HeteroscedasticModels
        The heteroscedastic linear models.
    design_effects : DesignEffects or None
        What dependent rows count; None if rows are independent.
    """

    def __init__(self, families: Families):
        self.families, self.additive = families, AdditiveModels(families)
        self.design_effects = None if families.related is None else DesignEffects(families.related, families)
        self.heteroscedastic = HeteroscedasticModels(families, tolerance_of(families.n_observations))
        self._generalised: dict[Family, GeneralisedLinearFit | None] = {}

    def design_effects_of(self, family: Family, fit: NodeFit) -> Floats:
        """Return for each parent by how many times fewer rows than there are its edge is backed, shape (p,)."""
        if self.design_effects is None or not family[1]:
            return np.ones(len(family[1]))
        return self.design_effects.of_parents(family, fit)

    def largest_design_effect(self) -> float:
        """Return that of two variables, one where rows are independent."""
        return 1.0 if self.design_effects is None else self.design_effects.largest()

    def fit(self, family: Family, hidden_units: int, start: Start = COLD) -> NodeFit:
        """Return a fit of a family, the node and its parents, with so many hidden units.

        Tolerance and seed of the start are those for at most 10,000 observations, and for families of seed zero.
        """
        x, response = self.families.data(family)
        start = start._replace(tol=tolerance_of(x.shape[1], start.tol), seed=start.seed + self.families.random_state)
        prior, weight = self.families.prior_precision, self._weight(family)
        return fit_node(x, response, hidden_units, start, prior_precision=prior, weight=weight)

    def fit_twice_the_units(self, family: Family, fit: NodeFit) -> NodeFit:
        """Return a fit with twice the hidden units, from weights that compute nearly the same."""
        n_inputs = int(self.families.widths[list(family[1])].sum())
        theta = with_twice_the_units(fit.theta, n_inputs, fit.hidden_units, self.families.random_state)
        return self.fit(family, 2 * fit.hidden_units, Start(theta))

    def fit_at_fixed_point(self, family: Family, fit: NodeFit) -> NodeFit:
        """Return the fit where updates of the prior's precisions end."""
        prior, weight = self.families.prior_precision, self._weight(family)
        return at_fixed_point(*self.families.data(family), fit, prior_precision=prior, weight=weight)

    def _weight(self, family: Family) -> float:
        return 1.0 if self.design_effects is None else self.design_effects.weight(family)

    def score(self, family: Family, fit: NodeFit, noise: str) -> float:
        """Return the network's negative log evidence plus the penalty of edges, minus the gain of the noise."""
        effects = self.design_effects
        score = fit.evidence + self.families.penalty(family) if effects is None else effects.score(family, fit)
        if noise != "gaussian" and self.families.responses[family[0]].density is not None:
            score -= self._noise_gain(family, self.residuals(family, fit)[0], noise)
        return score

    def linear_score(self, family: Family, noise: str) -> float:
        """Return the score of a family by its linear model; infinite if it has none, or no causes."""
        node, parents = family
        if not parents:
            return math.inf
        if self.families.responses[node].least_squares is None:
            of_outputs = self._generalised_linear(family) if self.design_effects is None else None
            return math.inf if of_outputs is None else of_outputs.evidence + self.families.penalty(family)
        fit, residuals = self._linear(family)
        if self.design_effects is None:
            return self.score_of_residuals(family, fit.evidence, residuals, noise)
        return self.design_effects.linear_score(family, fit, residuals[0]) - self._noise_gain(family, residuals, noise)

    def additive_score(self, family: Family, noise: str) -> float:
        """Return the score of a family by its additive model; infinite if it has none, or no causes."""
        fit = self.additive.fit(family) if self.design_effects is None else None
        if fit is None:
            return math.inf
        residuals = [] if noise == "gaussian" else self.additive.residuals(family, fit)
        return self.score_of_residuals(family, fit.evidence, residuals, noise)

    def heteroscedastic_score(self, family: Family, noise: str, network: NodeFit) -> float:
        """Return the score of a family by its heteroscedastic linear model, beside its network; infinite if none."""
        fit = self.heteroscedastic.fit(family, network)
        if fit is None:
            return math.inf
        residuals = [] if noise == "gaussian" else fit.residuals(*self.families.with_numbers(family))
        return self.score_of_residuals(family, fit.evidence + CHOICE_COST, residuals, noise)

    def score_of_residuals(self, family: Family, evidence: float, residuals: Sequence[Floats], noise: str) -> float:
        """Return a negative log evidence plus the penalty of edges, minus what the noise of residuals gains."""
        return evidence + self.families.penalty(family) - self._noise_gain(family, residuals, noise)

    def residual(self, family: Family, model: str, fit: NodeFit) -> Floats:
        """Return the standardised residual of a family by one of its models, one for each observation that counts.

        An additive model has that of the network, whose fit is given.
        """
        if model == "linear":
            return self._linear(family)[1][0]
        if model == "heteroscedastic" and (varying := self.heteroscedastic.fit(family, fit)) is not None:
            return varying.residuals(*self.families.with_numbers(family))[0]
        return self.residuals(family, fit)[0][0]

    def _generalised_linear(self, family: Family) -> GeneralisedLinearFit | None:
        if family not in self._generalised:
            self._generalised[family] = fit_generalised_linear(*self.families.data(family))
        return self._generalised[family]

    def _linear(self, family: Family) -> tuple[LinearFit, list[Floats]]:
        x, effect = self.families.with_numbers(family)
        fit = fit_linear(x, effect)
        return fit, [(sample - fit.mean) / np.sqrt(fit.variance) for sample in effect.samples]

    def residuals(self, family: Family, fit: NodeFit) -> tuple[list[Floats], Floats]:
        """Return standardised residuals, one array for each sample of the response, and standard deviations.

        Both are of the observations whose value has a density: of all but those at point masses.
        """
        x, (numbers, _) = self.families.with_density(family)
        mean, deviation = node_outputs(fit.theta, x, fit.hidden_units)  # of all outputs the first two
        return [(sample - mean) / deviation for sample in numbers.samples], deviation

    def gain_over_gaussian(self, family: Family, fit: NodeFit) -> float:
        """Return what the noise that "auto" chooses gains, in nats an observation, its cost aside.

        It is zero of the Gaussian, and where noise is not resolved.
        """
        residuals, deviation = self.residuals(family, fit)
        if not _resolves(deviation):
            return 0.0
        gain, name = self._noise(family[0], residuals, "auto")
        n = self.families.with_density(family)[1].numbers.n_counted
        return (gain + cost_of(name, n)) / n

    def resolves_noise(self, family: Family, fit: NodeFit) -> bool:
        """Return whether nearly all variances of a family are above the floor of the variance."""
        return _resolves(self.residuals(family, fit)[1])

    def _noise(self, node: int, residuals: Sequence[Floats], noise: str) -> tuple[float, str]:
        """Return the gain of a noise distribution and its name, by as many rows as there are independent ones.

        The gain is over a Gaussian of the same residuals; of a column of many heaps they are blurred. Where heaps are
        wider than the cells that the evidence of the family is about, what they add to the variance is no gain.
        """
        if noise == "gaussian":
            return 0.0, noise
        if self.design_effects is None and self.families.weights is None and len(residuals) == 1:
            return noise_gain(residuals, noise, None)  # exact values, each counted once, have no heaps
        density = self.families.with_density((node, ()))[1]
        blurred = blurred_by_heaps(density.numbers, residuals)
        if self.design_effects is None:
            gain, name = noise_gain(blurred, noise, density.numbers.weights)
        else:
            apart = self.design_effects.apart(node)
            apart = apart[density.mask(apart.size)]
            apart = apart if np.count_nonzero(apart) >= FEWEST_APART else np.ones(apart.size, dtype=bool)
            gain, name = noise_gain([sample[apart] for sample in blurred], noise, None)
            gain /= float(apart.mean())
        gain -= gain_by_heaps(density.numbers, residuals)
        return (0.0, "gaussian") if noise == "auto" and gain < 0.0 else (gain, name)

    def _noise_gain(self, family: Family, residuals: Sequence[Floats], noise: str) -> float:
        """Return the gain of the noise distribution, or that of one for each group of equal ordinal causes, if larger.

        What a rounded cause leaves out is a different mixture at each of its levels. With a single density the effect
        would appear to lack noise that its own density, as a cause, may have. Where rows have weights, or depend on one
        another, groups are too small to tell.
        """
        node, parents = family
        whole, _ = self._noise(node, residuals, noise)
        causes = [self.families.responses[cause] for cause in parents]
        have_levels = bool(causes) and not [cause for cause in causes if not cause.ordered or cause.codes is None]
        if noise != "auto" or self.design_effects is not None or self.families.weights is not None or not have_levels:
            return whole
        x, (numbers, _) = self.families.with_density(family)
        _, group, sizes = np.unique(x, axis=1, return_inverse=True, return_counts=True)
        if sizes.min() < LEAST_GROUP:
            return whole
        groups = [np.flatnonzero(group.ravel() == k) for k in range(sizes.size)]
        blurred = blurred_by_heaps(numbers, residuals)
        by_group = sum(noise_gain([sample[rows] for sample in blurred], "auto", None)[0] for rows in groups)
        return max(whole, by_group - gain_by_heaps(numbers, residuals))

    def predictor(self, family: Family, model: str, fit: NodeFit) -> FamilyPredictor:
        """Return a model of a family as what a fitted model keeps.

        Parameters
        ----------
        family : tuple
            The node and its parents.
        model : {"network", "linear", "additive", "heteroscedastic"}
            The model.
        fit : NodeFit
            The fit of the network.
        """
        parents = np.array(family[1], dtype=int)
        if model == "additive":
            return self.additive.predictor(family)
        if model == "heteroscedastic" and (varying := self.heteroscedastic.fit(family, fit)) is not None:
            return varying.predictor(parents, self.families.widths[parents])
        if model == "linear" and (graded := self._generalised_linear(family)) is not None:
            return graded.predictor(parents, self.families.widths[parents])
        if model == "linear":
            x, effect = self.families.with_numbers(family)
            return AdditivePredictor.linear(parents, self.families.widths[parents], fit_linear(x, effect), x)
        return NodeNetwork(parents, self.families.widths[parents], fit.theta, fit.hidden_units)

    def law(self, family: Family, predictor: FamilyPredictor, noise: str) -> Law:
        """Return the law of the effect of a family, given its outputs, with the noise that residuals ask for.

        Tied values are spread over their cells: where bins of a free density meet the numbers of a grid, new rows were
        likelier or less likely by nats than the same rows a hundredth of a step away.
        """
        x, response = self.families.data(family)
        if response.density is None:
            return response.law
        numbers = response.density.numbers
        mean, scale = GaussianLaw().location_and_scale(predictor.outputs(response.density.of(x), response.law))
        spread = drawn_from_cells(*cells(numbers.samples[0]), np.random.default_rng(0))
        both = (np.stack([numbers.samples[0], spread]) - mean) / scale
        exact, wide = deviation_of(both, numbers.weights).tolist()
        residuals = both[1] * (exact / wide if wide > 0.0 else 1.0)
        chosen = noise_gain([residuals], noise, numbers.weights)[1]
        if noise == "auto" and chosen != "gaussian":
            chosen = "free"  # relative to Student's t, it is likelier than that by held-out rows, and no worse
        return response.law.with_noise(fit_noise(residuals, chosen, numbers.weights))

    @cached_property
    def _sampled(self) -> Families:
        """The families on the observations that tell which changes deserve a fit."""
        if self.families.n_observations <= MOST_ESTIMATED:
            return self.families
        return self.families.subsample(MOST_ESTIMATED)

    @cached_property
    def _share(self) -> Floats:
        """The share of these observations in those that count for each variable, shape (N,)."""
        return np.maximum(self._sampled.counts(), 1) / np.maximum(self.families.counts(), 1)

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
        families, (node, parents) = self._sampled, family
        estimates = np.full(len(families), np.inf)
        self._estimate_labels(family, fit, estimates)
        x, response = families.data(family)
        if not response.ordered:
            return estimates
        hidden, scores = response.standardised_scores(x, fit.theta, fit.hidden_units)
        single = np.flatnonzero(families.widths == 1)
        candidates = families.causes[families.inputs_of(single.tolist())][:, families.rows_of(node)]
        penalties = families.edge_penalty[:, node]
        gains = gain_estimates(candidates, x, hidden, scores, response.weights) / self._share[node]
        estimates[single] = OPTIMISM * gains - penalties[single]
        estimates[[node, *parents]] = np.inf
        if parents and len(x) == len(parents) and self.design_effects is None:
            saving, cost = odds_without_parents(*self.families.data(family), fit)
            estimates[list(parents)] = OPTIMISM * (saving + penalties[list(parents)]) - LEAST_COST * cost
        return estimates

    def _estimate_labels(self, family: Family, fit: NodeFit, estimates: Floats) -> None:
        """Fill in the estimates of new parents where cause and effect are categorical, or one is and one has levels."""
        families, (node, parents) = self._sampled, family
        of_variables = ((i, families.codes_of(i, node)) for i in range(len(families)))
        codes = {i: of_variable for i, of_variable in of_variables if of_variable is not None}
        others = [i for i in codes if i != node and i not in parents]
        ordered = [response.ordered for response in families.responses]
        candidates = [i for i in others if not (ordered[i] and ordered[node])]
        if not candidates or node not in codes:
            return
        law = families.responses[node].law
        log_p = law.log_probabilities(network_outputs(fit.theta, families.data(family)[0], fit.hidden_units, law))
        if log_p is not None:
            of_candidates, of_parents = ([codes[i] for i in some if i in codes] for some in (candidates, parents))
            observed = codes[node], np.exp(log_p), of_candidates, of_parents
            gains = label_gain_estimates(*observed, families.row_weights(node)) / self._share[node]
            estimates[candidates] = gains - families.edge_penalty[candidates, node]


def gain_estimates_of(task: tuple[FamilyModels, Sequence[tuple[Family, NodeFit]]]) -> list[Floats]:
    """Return `FamilyModels.gain_estimates` of several fits: a task for another process."""
    models, fits = task
    with single_blas_thread():
        return [models.gain_estimates(family, fit) for family, fit in fits]


def _resolves(deviation: Floats) -> bool:
    """Return whether nearly all variances are above the floor of the variance, given standard deviations."""
    return not np.mean(deviation**2 < RESOLVED_VARIANCE) > LEAST_UNRESOLVED


def blurred_by_heaps(numbers: Numbers, residuals: Sequence[Floats]) -> list[Floats]:
    """Return standardised residuals, with little Gaussian noise where many values are at heaps.

    Heaps among heaps, as of wages a year, stay narrow where each is spread half-way to the next. A density describes
    them without causes only: in 30,000 rows it gained 0.26 nats each, and wages lost two of their three causes.

    Parameters
    ----------
    numbers : Numbers
        Of which the residuals are.
    residuals : sequence of ndarray, each of shape (n,)
        One for each of its samples.
    """
    if np.mean(numbers.at_heaps) < HEAPED_SHARE:
        return list(residuals)
    blur = BLUR * np.random.default_rng(0).standard_normal((len(residuals), len(numbers)))
    return [*map(np.add, residuals, blur)]


def gain_by_heaps(numbers: Numbers, residuals: Sequence[Floats]) -> float:
    """Return the nats by which a Gaussian is the worse for heaps that are wider than their cells.

    Parameters
    ----------
    numbers : Numbers
        Of which the residuals are, each of its samples less one mean, over one deviation.
    residuals : sequence of ndarray, each of shape (n,)
        The standardised residuals.
    """
    outside, reach = numbers.at_heaps, numbers.half_widths
    if not outside.any():
        return 0.0
    first, second = numbers.samples[:2]
    within = np.clip(first, numbers.centre - reach, numbers.centre + reach)[outside]
    per_unit = (residuals[0] - residuals[1])[outside] / (first - second)[outside]
    narrow = residuals[0].copy()
    narrow[outside] += per_unit * (within - first[outside])
    variances = [float(mean_of(np.square(e), numbers.weights)) for e in (residuals[0], narrow)]
    return 0.5 * numbers.n_counted * max(math.log(variances[0] / variances[1]), 0.0) if variances[1] > 0.0 else 0.0
