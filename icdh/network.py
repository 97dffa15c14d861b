"""The network of the model: its weights, its forward pass and its initialisation.

Every node n has one hidden layer, shared by the mean and the scale of its distribution given its parents:

    s_n      = sigmoid(W1_n x [+ hidden_bias_n]), or another `Activation`
    f_n      = W2_n . s_n [+ output_bias_n]
    sigma_n  = relu(W3_n . s_n) + exp(W3_n0)

so that X_n = f_n + sigma_n E_n with E_n ~ N(0, 1): sigma is a standard deviation (Eq. 10).

The notation of the article (M observations, N variables, m1 hidden units a node):

================  =======================  ===========  =====================  ================================
article           here                     shape        unit                   computed in
================  =======================  ===========  =====================  ================================
X                 ``X``                    (M, N)       of each column         given
W1_n              ``Weights.w1[n]``        (m1, N)      1 / that of the cause  Phase II
W2_n              ``Weights.w2[n]``        (m1,)        that of n              Phase II
W3_n              ``Weights.w3[n]``        (m1,)        that of n              Phase I
W3_n0             ``Weights.w3_bias[n]``   scalar       log of that of n       Phase I
f_n (Eq. 10)      ``forward(X, w)[0]``     (M, N)       that of n              `icdh.network`
sigma_n (Eq. 10)  ``forward(X, w)[1]``     (M, N)       that of n              `icdh.network`
L (Eq. 11)        ``nll(X, w)``            scalar       nats                   `icdh.likelihood`
dL/dW             ``nll_and_gradient``     as W         nats / that of W       `icdh.likelihood`, derived there
A                 ``Weights.adjacency()``  (N, N)       1 / that of the cause  `icdh.network`
h, dh/dA          ``acyclicity(A)``        scalar, A's  none                   `icdh.acyclicity`, derived there
lambda1, lambda2  ``l1``, ``l2``           scalar       nats / that of W       given
rho, alpha        ``rho``, ``alpha``       scalar       nats                   ``phase_two_objective``
c, s, epsilon     ``C``, ``S``, ``h_tol``  scalar       none                   `icdh.two_phase.as_printed`
================  =======================  ===========  =====================  ================================
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from icdh._table.frames import array_of, observations_of
from icdh._utils.arrays import Floats, Integers, Mask, TableLike
from icdh._utils.checks import Flag, Number
from icdh.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["ACTIVATIONS", "SIGMOID", "TANH", "Activation", "Weights", "forward", "initial_weights"]

# What sigma_n is: a function of the causes (Eq. 10), a constant of each variable (Eq. 16-18), or one (Eq. 15).
NOISE = ("heteroscedastic", "unequal", "equal")
# exp(W3_n0) is clipped to this range, which keeps r / sigma and 1 / sigma far from overflow.
LARGEST_LOG_FLOOR = 150.0


@dataclass(frozen=True)
class Activation:
    """What a hidden unit makes of its input z: an S from ``low`` to one.

    s = low + (1 - low) / (1 + exp(-(1 - low) z)), so that ds/dz = (s - low) (1 - s) and the second derivative is
    (1 + low - 2 s) ds/dz.

    Attributes
    ----------
    name : str
        What it is called.
    low : float
        The least value, below one: 0 for the logistic sigmoid, -1 for tanh.

    Raises
    ------
    TypeError, ValueError
        If ``low`` is no such number.

    Examples
    --------
    >>> from icdh.network import ACTIVATIONS
    >>> ACTIVATIONS["tanh"]
    Activation(name='tanh', low=-1.0)
    """

    name: str
    low: float

    def __post_init__(self) -> None:
        Number(high=1, below=True).check("low", self.low)
        object.__setattr__(self, "low", float(self.low))


SIGMOID, TANH = Activation("sigmoid", 0.0), Activation("tanh", -1.0)
ACTIVATIONS = {activation.name: activation for activation in (SIGMOID, TANH)}


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of all nodes, for N variables and m1 hidden units a node: a value that cannot be changed.

    Weights of the same numbers are equal. The arrays are copies of what is given, and read-only. What has one number
    for every weight, such as a gradient, is a `Weights` as well.

    Attributes
    ----------
    w1 : ndarray, shape (N, m1, N)
        Hidden layer: ``w1[n, h, i]`` leads from variable i to hidden unit h of node n. No node is its own
        parent: ``w1[n, :, n]`` is set to zero.
    w2 : ndarray, shape (N, m1)
        Output weights of the mean.
    w3 : ndarray, shape (N, m1)
        Output weights of the scale.
    w3_bias : ndarray, shape (N,)
        Logarithm of the smallest scale of each node; its exponential is clipped to exp(±150).
    hidden_bias : ndarray, shape (N, m1), optional
        Intercepts of the hidden units; absent in the paper.
    output_bias : ndarray, shape (N,), optional
        Intercepts of the means; absent in the paper.
    activation : Activation
        That of the hidden units; in the paper the sigmoid.

    Raises
    ------
    TypeError, ValueError
        If a part does not hold real numbers, or has another shape; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.network import Weights
    >>> weights = Weights(np.ones((2, 3, 2)), w2=np.ones((2, 3)), w3=np.zeros((2, 3)), w3_bias=np.zeros(2))
    >>> weights.adjacency().round(2).tolist()
    [[0.0, 1.73], [1.73, 0.0]]
    >>> weights.from_vector(weights.to_vector()) == weights
    True
    >>> weights.map(lambda part: 2.0 * part).w2.tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    """

    w1: Floats
    w2: Floats
    w3: Floats
    w3_bias: Floats
    hidden_bias: Floats | None = None
    output_bias: Floats | None = None
    activation: Activation = SIGMOID

    def __post_init__(self) -> None:
        check_activation(self.activation)
        w1 = array_of(self.w1, "w1", ("N", "m1", "N"))
        nodes, units, _ = w1.shape
        w1[np.arange(nodes), :, np.arange(nodes)] = 0.0
        parts = {name: array_of(getattr(self, name), name, (nodes, units)) for name in ("w2", "w3")}
        parts |= {"w1": w1, "w3_bias": array_of(self.w3_bias, "w3_bias", (nodes,))}
        if self.hidden_bias is not None:
            parts["hidden_bias"] = array_of(self.hidden_bias, "hidden_bias", (nodes, units))
        if self.output_bias is not None:
            parts["output_bias"] = array_of(self.output_bias, "output_bias", (nodes,))
        for name, part in parts.items():
            part.flags.writeable = False
            object.__setattr__(self, name, part)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weights):
            return NotImplemented
        mine, theirs = self._parts, other._parts
        alike = self.activation == other.activation and mine.keys() == theirs.keys()
        return alike and all(map(np.array_equal, mine.values(), theirs.values()))

    def __hash__(self) -> int:
        numbers = (self.to_vector() + 0.0).tobytes()  # -0.0 equals 0.0
        return hash((self.activation, self.w1.shape, *self._parts, numbers))

    def __reduce__(self) -> tuple[type["Weights"], tuple[object, ...]]:
        return Weights, tuple(getattr(self, part.name) for part in fields(self))

    @property
    def _parts(self) -> dict[str, Floats]:
        """The arrays that there are, by name."""
        return {name: part for name, part in vars(self).items() if isinstance(part, np.ndarray)}

    @property
    def n_variables(self) -> int:
        """N, the number of variables."""
        return int(self.w1.shape[0])

    @property
    def hidden_units(self) -> int:
        """m1, the number of hidden units of a node."""
        return int(self.w1.shape[1])

    def adjacency(self) -> Floats:
        """Return the weighted adjacency matrix ``A[i, n] = |w1[n, :, i]|``, the edge i -> n, shape (N, N)."""
        norms: Floats = np.linalg.norm(self.w1, axis=1)
        return norms.T

    def scale_floor(self) -> Floats:
        """Return the smallest scale exp(W3_n0) of every node, shape (N,)."""
        return np.exp(np.clip(self.w3_bias, -LARGEST_LOG_FLOOR, LARGEST_LOG_FLOOR))

    def to_vector(self) -> Floats:
        """Return all weights as one vector, for optimisers.

        The order is w1, w2, w3, w3_bias, hidden_bias, output_bias, those that there are, each in C order: w1[0, 0, 0],
        w1[0, 0, 1], ... Self-loops have their places, and are zero.
        """
        return np.concatenate([part.ravel() for part in self._parts.values()])

    def from_vector(self, theta: Floats) -> "Weights":
        """Return other weights of the same shapes.

        Parameters
        ----------
        theta : ndarray, shape (K,)
            All weights, in the order of `to_vector`; what stands in the places of self-loops does not count.

        Raises
        ------
        TypeError, ValueError
            If theta does not hold K real numbers.
        """
        sizes = [part.size for part in self._parts.values()]
        pieces = np.split(array_of(theta, "theta", (sum(sizes),)), np.cumsum(sizes)[:-1])
        named = zip(self._parts.items(), pieces, strict=True)
        return replace(self, **{name: piece.reshape(part.shape) for (name, part), piece in named})  # type: ignore[arg-type]

    def map(self, function: Callable[..., Floats], *others: "Weights") -> "Weights":
        """Return the weights that a function makes of each array, for instance a step along a gradient.

        Parameters
        ----------
        function : callable
            Takes an array, and those of the same name of all others; returns an array.
        *others : Weights
            Further weights of the same parts.

        Raises
        ------
        ValueError
            If the others have other parts.
        """
        if any(other._parts.keys() != self._parts.keys() for other in others):
            raise ArgumentValueError("others", f"must have the parts {', '.join(self._parts)}")
        together = {name: [part, *(other._parts[name] for other in others)] for name, part in self._parts.items()}
        return replace(self, **{name: function(*parts) for name, parts in together.items()})  # type: ignore[arg-type]


def check_activation(activation: object) -> None:
    """Raise TypeError unless this is an `Activation`."""
    if not isinstance(activation, Activation):
        raise ArgumentTypeError("activation", f"must be an Activation, as icdh.network.TANH is; got {activation!r}")


def initial_weights(
    X: TableLike, hidden_units: int, bias: bool, rng: np.random.Generator, activation: Activation = SIGMOID
) -> Weights:
    """Draw small random input weights, away from the saddle point at zero, with scale one at every node.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations; their root mean squares set the units of w1.
    hidden_units : int
        m1.
    bias : bool
        Whether hidden units and means get intercepts.
    rng : numpy.random.Generator
        The only source of randomness.
    activation : Activation
        That of the hidden units.

    Returns
    -------
    Weights
        w1 is uniform in ±0.1 / (root mean square of the input), smaller for inputs in tiny units, zero on self-loops.
        All other weights are zero: Phase II finds w2 first. With intercepts, the range of w1 is ten times as wide and
        hidden intercepts are uniform in ±1. Networks with small weights would fit odd functions only.

    Raises
    ------
    TypeError, ValueError
        If an argument is not the above; the message names it.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.network import initial_weights
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> weights = initial_weights(X, 4, False, np.random.default_rng(0))
    >>> weights.w1.shape, weights.w1[0, :, 0].tolist()
    ((3, 4, 3), [0.0, 0.0, 0.0, 0.0])
    """
    Number(1, integer=True).check("hidden_units", hidden_units)
    Flag().check("bias", bias)
    if not isinstance(rng, np.random.Generator):
        raise ArgumentTypeError("rng", f"must be a numpy.random.Generator, as default_rng(0) is; got {rng!r}")
    return weights_in_units(root_mean_square(observations_of(X, "N")), hidden_units, bias, rng, activation)


def root_mean_square(values: Floats) -> Floats:
    """Return the root mean square of every variable, shape (N,), of values of shape (N, M)."""
    rms: Floats = np.sqrt(np.array([np.mean(np.square(row)) for row in values]))
    return rms


def weights_in_units(
    rms: Floats, hidden_units: int, bias: bool, rng: np.random.Generator, activation: Activation
) -> Weights:
    """Draw what `initial_weights` draws, given the units of the variables.

    Parameters
    ----------
    rms : ndarray, shape (N,)
        The root mean square of every variable.
    hidden_units : int
        m1.
    bias : bool
        Whether hidden units and means get intercepts.
    rng : numpy.random.Generator
        The only source of randomness.
    activation : Activation
        That of the hidden units.
    """
    n_variables = rms.size
    shape = (n_variables, hidden_units)
    reach = 1.0 if bias else 0.1
    # With inputs in tiny units and no bound on the weights into a node the acyclicity could start at e^1000.
    largest = max(reach, 3.0 / np.sqrt(hidden_units * n_variables))
    w1 = rng.uniform(-reach, reach, size=(*shape, n_variables))
    w1 /= np.maximum(np.where(rms > 0.0, rms, 1.0), reach / largest)
    w1[np.arange(n_variables), :, np.arange(n_variables)] = 0.0
    return Weights(
        w1,
        w2=np.zeros(shape),
        w3=np.zeros(shape),
        w3_bias=np.zeros(n_variables),
        hidden_bias=rng.uniform(-1.0, 1.0, size=shape) if bias else None,
        output_bias=np.zeros(n_variables) if bias else None,
        activation=activation,
    )


def node_inputs(weights: Weights, n: int) -> Floats:
    """Return the hidden weights of a node as the kernels read them, shape (features, m1).

    Parameters
    ----------
    weights : Weights
        The network.
    n : int
        The node.
    """
    w1 = weights.w1[n].T
    return np.array(w1 if weights.hidden_bias is None else np.vstack([w1, weights.hidden_bias[n]]), order="C")


def forward(X: TableLike, weights: Weights) -> tuple[Floats, Floats]:
    """Return the mean and the scale (standard deviation) of every variable given the others.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations.
    weights : Weights
        The network.

    Returns
    -------
    mean, scale : ndarray, shape (M, N)
        Both in the units of X.

    Raises
    ------
    TypeError, ValueError
        If X is not a table of N finite columns, or the weights are not finite.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024, Eq. 10.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.network import forward, initial_weights
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> weights = initial_weights(X, 4, False, np.random.default_rng(0))
    >>> mean, scale = forward(X, weights)
    >>> mean.shape, bool((scale > 0.0).all())
    ((100, 3), True)
    """
    mean, scale = outputs(checked_features(X, weights), weights)
    return np.ascontiguousarray(mean.T), np.ascontiguousarray(scale.T)


def outputs(features: Floats, weights: Weights) -> tuple[Floats, Floats]:
    """Return what `forward` returns, of shape (N, M).

    Parameters
    ----------
    features : ndarray, shape (N or N + 1, M)
        As `features_of` returns them.
    weights : Weights
        The network.
    """
    mean, scale = np.empty((2, weights.n_variables, features.shape[1]))
    for n in range(weights.n_variables):
        mean[n], scale[n] = NetworkConditional.of(weights, n).outputs(activations(features, weights, n))
    return mean, scale


def activations(features: Floats, weights: Weights, n: int) -> Floats:
    """Return the hidden activations of a node, shape (m1, M).

    Parameters
    ----------
    features : ndarray, shape (N or N + 1, M)
        As `features_of` returns them.
    weights : Weights
        The network.
    n : int
        The node.
    """
    return _activations(features, np.arange(features.shape[0]), node_inputs(weights, n), weights.activation)


def _activations(features: Floats, inputs: Integers, hidden: Floats, activation: Activation) -> Floats:
    from icdh._network_kernels import node_activations

    s = np.empty((hidden.shape[1], features.shape[1]))
    node_activations(features, inputs, hidden, activation.low, s)
    return s


@dataclass(frozen=True)
class NetworkConditional:
    """The distribution of one node of a network given the others.

    Attributes
    ----------
    inputs : ndarray of int, shape (p,)
        The variables that mean and scale depend on.
    hidden : ndarray, shape (p or p + 1, m1)
        Their hidden weights; a last row of intercepts, if there are any.
    w2, w3 : ndarray, shape (m1,)
        Output weights of mean and scale.
    floor, intercept : float
        The smallest scale, and the intercept of the mean.
    activation : Activation
        That of the hidden units.
    """

    is_network: ClassVar[bool] = True
    inputs: Integers
    hidden: Floats
    w2: Floats
    w3: Floats
    floor: float
    intercept: float
    activation: Activation

    @classmethod
    def of(cls, weights: Weights, n: int) -> "NetworkConditional":
        """Return that of a node.

        Parameters
        ----------
        weights : Weights
            The network.
        n : int
            The node.
        """
        inputs = np.flatnonzero(np.abs(weights.w1[n]).max(axis=0) > 0.0)
        biased = weights.hidden_bias is not None
        hidden = node_inputs(weights, n)[np.append(inputs, weights.n_variables) if biased else inputs]
        intercept = 0.0 if weights.output_bias is None else float(weights.output_bias[n])
        floor = float(weights.scale_floor()[n])
        return cls(inputs, hidden, weights.w2[n], weights.w3[n], floor, intercept, weights.activation)

    def predict(self, values: Floats, law: object = None) -> Floats:
        """Return mean and scale, shape (2, M).

        Parameters
        ----------
        values : ndarray, shape (N, M)
            All variables, one a row.
        law : object
            Ignored: the outputs are mean and scale in any case.
        """
        return np.array(self.mean_and_scale(values))

    def faults(self, law: object, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself.

        Parameters
        ----------
        law : object
            Ignored.
        widths : sequence of int
            Ignored.
        """
        if len(self.hidden) - self.inputs.size not in (0, 1):
            yield "hidden weights do not go with their inputs"
        if not self.floor > 0.0:
            yield "a scale is not positive"

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given the values of all variables, one a row, shape (N, M)."""
        features = features_of(values[self.inputs], len(self.hidden) > len(self.inputs))
        return self.outputs(_activations(features, np.arange(len(features)), self.hidden, self.activation))

    def with_each_input_held(self, values: Floats, centre: Floats, held: Mask) -> Iterator[tuple[int, Floats, Floats]]:
        """Yield every input to hold, with the mean and scale, each of shape (M,), when it is held at its centre.

        One product with all inputs is computed once and shared.

        Parameters
        ----------
        values : ndarray, shape (N, M)
            The values of all variables, one a row.
        centre : ndarray, shape (N,)
            The value at which each variable is held.
        held : ndarray of bool, shape (N,)
            The variables to hold, one at a time.
        """
        from icdh._network_kernels import activation

        features = features_of(values[self.inputs], len(self.hidden) > len(self.inputs))
        z = self.hidden.T @ features
        for k in np.flatnonzero(held[self.inputs]):
            i = int(self.inputs[k])
            held_at = z + np.outer(self.hidden[k], centre[i] - values[i])
            yield i, *self.outputs(activation(held_at, self.activation.low))

    def outputs(self, s: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given the hidden activations s, shape (m1, M)."""
        return self.w2 @ s + self.intercept, np.maximum(self.w3 @ s, 0.0) + self.floor


def features_of(values: Floats, bias: bool) -> Floats:
    """Return variables as the kernels read them, one a row; intercepts add a last row of ones.

    Parameters
    ----------
    values : ndarray, shape (N, M)
        The variables.
    bias : bool
        Whether there are intercepts.
    """
    values = np.ascontiguousarray(values)
    return np.vstack([values, np.ones(values.shape[1])]) if bias else values


def checked_features(X: TableLike, weights: Weights) -> Floats:
    """Return the features of a user's table after checking that it has one finite column a node of finite weights.

    Parameters
    ----------
    X : array_like or DataFrame, shape (M, N)
        Observations.
    weights : Weights
        The network.

    Raises
    ------
    TypeError, ValueError
        If X is not a table of N finite columns, or the weights are not finite.
    """
    check_weights(weights)
    return features_of(observations_of(X, weights.n_variables), weights.hidden_bias is not None)


def check_weights(weights: Weights) -> None:
    """Raise TypeError or ValueError unless these are the finite weights of a network."""
    if not isinstance(weights, Weights):
        raise ArgumentTypeError("weights", f"must be an icdh.network.Weights; got a {type(weights).__name__}")
    if not np.isfinite(weights.to_vector()).all():
        raise ArgumentValueError("weights", "hold NaN or infinity")
