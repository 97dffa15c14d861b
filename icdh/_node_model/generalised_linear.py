"""The linear model of grades, and of two values: proportional odds, of two levels logistic regression.

A network describes a linear predictor through its hidden units, and pays for all curves that it could have described.
Of a response with the outputs mean and log-variance (`icdh._node_model.discrete`) this model has

    mu = b + a^T x,    u constant,

by maximum likelihood. Its negative log evidence is -log P, half the log determinant of the Fisher matrix of the
intercepts, and (r / 2) log n for slopes of rank r, as the linear model of a number has it. Without it numbers had the
cheaper model: where Gaussian covariates decide a treatment, both directions are as likely, and the wrong one was sure.

References
----------
McCullagh, "Regression models for ordinal data", Journal of the Royal Statistical Society B 42 (1980).
Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978).
"""

import math
from typing import NamedTuple

import numpy as np

from icdh._node_model.gaussian import LEAST_ROWS, resolved_causes
from icdh._node_model.heteroscedastic import LinearMeanNetwork
from icdh._node_model.response import Response
from icdh._utils.arrays import Floats, Integers, mean_of

MOST_STEPS = 30
LEAST_INFORMATION = 1.0  # of any direction of causes, in observations: a cause that separates the levels leaves none
TOLERANCE = 1e-6  # nats by which the last step lowers -log P


class GeneralisedLinearFit(NamedTuple):
    """A fit of linear predictors.

    Attributes
    ----------
    intercepts : ndarray, shape (o,)
        b and u.
    slopes : ndarray, shape (q,)
        a.
    evidence : float
        The negative log evidence in nats.
    """

    intercepts: Floats
    slopes: Floats
    evidence: float

    def predictor(self, inputs: Integers, widths: Integers) -> LinearMeanNetwork:
        """Return the model as what a fitted model keeps, given the parents and their numbers of network inputs."""
        theta = np.zeros(self.slopes.size + 1 + 2 * self.intercepts.size)
        theta[self.slopes.size + 1 :: 2] = self.intercepts
        return LinearMeanNetwork(inputs, widths, theta, 1, self.slopes)


def fit_generalised_linear(x: Floats, response: Response) -> GeneralisedLinearFit | None:
    """Return the fit by Fisher scoring; None where rows are too few, or a cause separates the levels.

    Parameters
    ----------
    x : ndarray, shape (q, n)
        The causes, one network input a row.
    response : Response
        The effect.
    """
    terms, law, n = response.terms_given_outputs, response.law, response.n_counted
    if terms is None:
        return None
    causes, norms, directions, squares = resolved_causes(x, response.weights)
    basis = math.sqrt(n) * directions / np.sqrt(squares)
    design, rank = np.vstack([np.ones(len(response)), basis.T @ causes]), squares.size
    weights = np.zeros(rank + law.n_free)  # of the mean's intercept, of the causes, and of u

    def quadratic_model(weights: Floats) -> tuple[float, Floats, Floats]:
        """Return -log P, its gradient and its Fisher matrix."""
        outputs = np.zeros((law.n_outputs, len(response)))
        outputs[0], outputs[1 : law.n_free] = weights[: rank + 1] @ design, weights[rank + 1 :, np.newaxis]
        value, pull, curvature = terms(outputs)
        of_mean, of_both, of_scale = curvature(slice(None))
        across = design @ of_both
        fisher = np.vstack(
            [np.column_stack([(design * of_mean) @ design.T, across]), np.append(across, of_scale.sum())]
        )
        free = slice(weights.size)
        return value, np.append(design @ pull[0], pull[1].sum())[free], fisher[free, free]

    value, gradient, fisher = quadratic_model(weights)
    for _ in range(MOST_STEPS):
        if fisher[0, 0] < LEAST_ROWS * (rank + 2) or np.linalg.eigvalsh(fisher)[0] < LEAST_INFORMATION:
            return None
        step = -np.linalg.solve(fisher, gradient)
        promised = -0.5 * float(gradient @ step)
        if promised < TOLERANCE:
            break
        while (following := quadratic_model(weights + step))[0] > value and promised > TOLERANCE:
            step, promised = 0.5 * step, 0.5 * promised
        weights = weights + step
        value, gradient, fisher = following
    slopes, further = basis @ weights[1 : rank + 1] / norms, weights[rank + 1 :]
    intercepts = np.zeros(law.n_outputs)
    intercepts[0], intercepts[1 : law.n_free] = weights[0] - slopes @ mean_of(x, response.weights), further
    of_intercepts = [0, *range(rank + 1, weights.size)]
    log_determinant = float(np.linalg.slogdet(fisher[np.ix_(of_intercepts, of_intercepts)])[1])
    return GeneralisedLinearFit(intercepts, slopes, value + 0.5 * (log_determinant + rank * math.log(n)))
