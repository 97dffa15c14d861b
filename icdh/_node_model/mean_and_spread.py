"""Does a cause act on the mean of its effect, on its spread, or on both: what the evidence loses without it in each.

The node model of `icdh._node_model.network` shares its hidden units, so mean and log-variance have the same causes.
Here m units feed the mean alone, and m further ones the log-variance alone: one node model of 2 m units some of whose
weights are held at zero. Odds of point masses go with the mean. Two copies of the shared units compute what they do, so
its fit begins there, and that without a cause in one half begins at the fit of both.

A mean that misses its curve leaves squares that look like spread. So the units are as many as the search gave the
node. Heavy tails look like spread, too: the noise is that of the search. In tables of 1000 rows 1 % of the causes that
do not act on mean or spread seem to, by ten nats, under Gaussian and Laplace noise; 3 to 7 % under Student's t with
three degrees of freedom (20 % if noise is taken for Gaussian). Linear, additive and constant rivals of the networks do
not lower that, nor do residuals made Gaussian. Where a graph lacks a cause, others may take its part in the spread.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icdh._node_model.evidence import Layers, NodeFit, Start
from icdh._node_model.families import Family
from icdh._node_model.family_models import FamilyModels
from icdh._node_model.response import Response
from icdh._node_model.score import FamilyScore
from icdh._utils.arrays import Floats, Integers

Number = TypeVar("Number", np.float64, np.int64)
MOST_ROWS = 2500  # of more rows so many tell, evenly spread
FEW_STEPS = 20  # then a loss that is large need not be exact
INEXACT = 0.03  # share of a loss that ends its fit


class SplitNetwork:
    """A network of 2 m hidden units, half of which feed the spread alone, and half all other outputs.

    Parameters
    ----------
    response : Response
        The node.
    n_inputs, hidden_units : int
        p and m.
    """

    def __init__(self, response: Response, n_inputs: int, hidden_units: int):
        self.n_inputs, self.units = n_inputs, hidden_units
        self.shared, self.spread = Layers.of(response, n_inputs, hidden_units), response.law.spread

    def _parts(self, of_weights: NDArray[Number]) -> tuple[NDArray[Number], NDArray[Number]]:
        """Return what belongs to weights of the shared units: of the first layer, and of each output."""
        size = (self.n_inputs + 1) * self.units
        return of_weights[:size].reshape(-1, self.units), of_weights[size:].reshape(-1, self.units + 1)

    def _half(self, of_spread: bool) -> slice:
        return slice(self.units, None) if of_spread else slice(None, self.units)

    def _split(self, outputs: NDArray[Number], elsewhere: float) -> NDArray[Number]:
        """Return what belongs to weights of outputs on both halves, given that on the shared units."""
        split = np.full((len(outputs), 1 + 2 * self.units), elsewhere, dtype=outputs.dtype)
        split[:, 0] = outputs[:, 0]
        for k, own in enumerate(outputs):
            split[k, 1:][self._half(k == self.spread)] = own[1:]
        return split

    def like(self, fit: NodeFit) -> Start:
        """Return the weights, and precisions, that compute what a fit of m shared units does."""
        first, outputs = self._parts(fit.theta)
        theta = np.append(np.hstack([first, first]), self._split(outputs, 0.0))
        return Start(theta, np.append(fit.precision[0], fit.precision), layers=self.layers())

    def layers(self, left_out: Integers | None = None, of_spread: bool = False) -> Layers:
        """Return the layers if some inputs are left out of the spread, or out of all other outputs.

        Input weights of the first half are layer 0, those of the second layer 1.
        """
        K, half = self.shared.number + 1, self._half(of_spread)
        first, outputs = (part + 1 for part in self._parts(self.shared.of_weights))
        first, outputs = np.hstack([first - 1, first]), self._split(outputs, K + 1)
        if left_out is not None:
            first[left_out, half] = K + 1
            if left_out.size == self.n_inputs:  # units without inputs are constants
                first[:, half] = outputs[:, 1:][:, half] = K + 1
        return Layers(np.append(first, outputs), K, first.size + outputs.size)


def mean_and_spread_losses(scores: FamilyScore, family: Family) -> Floats:
    """Return what the evidence loses without each cause in the mean alone, and in the spread alone.

    Parameters
    ----------
    scores : FamilyScore
        What scored the family.
    family : tuple
        The node and its parents.

    Returns
    -------
    ndarray, shape (2, p)
        Nats; below zero where the cause is better left out. NaN if the effect is no number, or has no fit.
    """
    scores.clock.check()
    families, (node, parents), fit = scores.families, family, scores.fit_of(family)
    losses, response = np.full((2, len(parents)), np.nan), families.responses[node]
    if response.law.spread is None or not fit.succeeded:
        return losses
    some = FamilyModels(families.subsample(MOST_ROWS)) if families.n_observations > MOST_ROWS else scores.models

    def fitted(start: Start) -> tuple[NodeFit, float]:
        """Return a fit from some weights, and its score; the precisions stay those of the shared units."""
        split = some.fit(family, 2 * fit.hidden_units, start._replace(precision_updates=0))
        if response.density is None or some.design_effects is not None:  # weights count dependent rows as fewer
            return split, split.evidence
        residuals, _ = some.residuals(family, split)
        return split, some.score_of_residuals(family, split.evidence, residuals, scores.noise)

    inputs = np.repeat(np.arange(len(parents)), families.widths[list(parents)])
    network = SplitNetwork(response, inputs.size, fit.hidden_units)
    whole, score = fitted(network.like(fit))
    for part, k in np.ndindex(losses.shape):
        layers = network.layers(np.flatnonzero(inputs == k), part == 1)
        start = Start(np.where(layers.held, 0.0, whole.theta), whole.precision, layers=layers)
        split, without = fitted(start._replace(max_steps=FEW_STEPS))
        if not split.converged:
            _, without = fitted(start._replace(theta=split.theta, tol=max(start.tol, INEXACT * (without - score))))
        losses[part, k] = without - score
    return losses
