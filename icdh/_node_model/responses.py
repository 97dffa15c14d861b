"""What a variable is as an effect: its response distribution, by which its values enter the likelihood.

Every variable is an effect once in every graph, so graphs compare as long as each variable has one response. A
response is a distribution with a solver: `GaussianResponse` with compiled kernels
(`icdh._node_model._descent_kernels`); `OrdinalResponse`, `CategoricalResponse` and `PointMassResponse`, a probability
beside a density, with damped Fisher scoring in NumPy (`icdh._node_model.scoring`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

from icdh._ground.arrays import Floats, Integers, Mask
from icdh._node_model.network import GivenParents

Minimiser: TypeAlias = Callable[[Floats, Floats, int, int, float, int, Floats], tuple[float, float, int, bool]]


class Response(ABC):
    """One variable given its parents.

    Its distribution has outputs, by default mean and log-variance: linear functions of the hidden units. Of the weights
    theta those of the first layer come first, then intercept and weights of each output.
    """

    n_outputs = 2
    is_binary = False  # two levels or categories

    @abstractmethod
    def __len__(self) -> int:
        """N."""

    @abstractmethod
    def take(self, rows: Mask | Integers) -> "Response":
        """Return the response at some observations."""

    @abstractmethod
    def minimiser(self, x: Floats, hidden_units: int) -> Minimiser:
        """Return what minimises F over theta, in place, given parents x, (p, n); see `_descent_kernels.node_fit`.

        Its arguments are theta, penalty, freeze, max_steps, tol, patience and factor.
        """

    @abstractmethod
    def without_parents(self, hidden_units: int) -> tuple[Floats, float, float]:
        """Return weights, F and log det H of the model without parents."""

    @abstractmethod
    def standardised_scores(self, x: Floats, theta: Floats, hidden_units: int) -> tuple[Floats, Floats]:
        """Return hidden units (m, n) and the derivatives of the log-likelihood by the outputs (o, n).

        Each derivative is divided by its standard deviation under the model.
        """

    @abstractmethod
    def conditional(
        self, inputs: Integers, widths: Integers, theta: Floats, hidden_units: int, sign: float = 1.0
    ) -> GivenParents:
        """Return the fitted node model; parameters as of `GivenParents`.

        ``sign`` is what the values were multiplied by; the weights are of the variable as it is.
        """

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices of the weights that a model without parents has."""
        first = (n_inputs + 1) * hidden_units
        return [first + k * (hidden_units + 1) for k in range(self.n_outputs)]

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta."""
        return self.intercepts(n_inputs, hidden_units)[-1] + hidden_units + 1

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision: the first layer, and the weights of each output."""
        of_outputs = [slice(k + 1, k + 1 + hidden_units) for k in self.intercepts(n_inputs, hidden_units)]
        return [slice(0, (n_inputs + 1) * hidden_units), *of_outputs]
