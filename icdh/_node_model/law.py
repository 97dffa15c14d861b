"""The law of a variable: its distribution given its outputs, functions of its causes; what a fitted model keeps.

A `Conditional` is a predictor, which has the outputs at some values of the causes, and a law. A law knows no rows. It
says, too, how the weights of a network of `icdh._node_model.network` encode its outputs: by default theta holds the
first layer, and then intercept and weights of each output.

All values are those of scaled data.

References
----------
Dunn, Smyth: "Randomized quantile residuals", J. Computational and Graphical Statistics 5 (1996).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from icdh._node_model.noise import LEAST_PLACE, Gaussian, Noise
from icdh._utils.arrays import Floats, Integers, Mask

SAME = 1e-6  # standard deviations of a column within which a value is a point mass: searches see single precision
N_NODES = 20  # of a quadrature; further ones are where the distribution function is one
FARTHEST = 1e-4  # place of the last quantile in it: Student's t may have no variance
UNLIMITED = 1e15  # standard deviations: where no limit is
BEYOND = 1e-3  # share of what was beyond a limit that stays there: new rows may be beyond
LEAST_INSIDE, LEAST_BEYOND = 1e-6, 1e-12  # probabilities between limits and beyond one, below which it is ignored
LEAST_OF_ROW = 1e-4  # probability inside a limit that a row's mean leaves: farther means are as far
NumberLaw = TypeVar("NumberLaw", bound="NormalLaw")
LEAST_PLACE_NEAR = 0.1 * LEAST_BEYOND  # of an end of a range, below which it is far from a row
LEAST_TAIL = 1e-6  # place of the farthest value of a moment beyond limits, which Student's t may not have
EQUAL_SHARES = 1e-20  # variance of log P below which all labels are equally probable up to rounding


class Law(ABC):
    """The distribution of one variable given its outputs.

    Attributes
    ----------
    name : str
        What files call it.
    odd : tuple of int
        The outputs that change sign with the variable.
    means : tuple of int
        The outputs that go on beyond the rows of a fit: means, which may be any number. Others stay within.
    is_discrete : bool
        Whether every value has a probability, and none a density.
    has_mean : bool
        Whether its values are numbers.
    value : str
        What one of its values is called.
    spread : int or None
        Which output is the spread of a number: its log-variance or the like; None if there is none.
    """

    name: ClassVar[str]
    odd: ClassVar[tuple[int, ...]]
    means: ClassVar[tuple[int, ...]]
    is_discrete: ClassVar[bool]
    has_mean: ClassVar[bool]
    value: ClassVar[str]
    spread: ClassVar[int | None] = None

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "name") and (missing := [word for word in Law.__annotations__ if not hasattr(cls, word)]):
            raise TypeError(f"the law of {cls.name} does not say its {', '.join(missing)}")

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many outputs a network has."""

    @property
    def n_values(self) -> int:
        """How many values there are; zero of a number."""
        return 0

    @abstractmethod
    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the log-density, or the log-probability, of values, shape (M,), given the outputs, shape (o, M)."""

    @abstractmethod
    def has_density(self, observed: Floats) -> Mask:
        """Return which values have a density, and not a probability; both of shape (M,)."""

    @abstractmethod
    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation, each of shape (M,), given the outputs, shape (o, M).

        Of labels these are the most probable one, and the total probability of the others.
        """

    def moments_of(self, function: Callable[[Floats], Floats], outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of a function of the values, each of shape (M,), given the outputs.

        Raises
        ------
        TypeError
            If the values have no density: transforms are for numbers.
        """
        raise TypeError(f"no {self.value} has a density, and so no function of it has these moments")

    @abstractmethod
    def draw(self, outputs: Floats, noise: Floats) -> Floats:
        """Return values, shape (M,), given the outputs, shape (o, M), and the noise, shape (M,)."""

    @abstractmethod
    def noise(self, observed: Floats, outputs: Floats) -> Floats | None:
        """Return the noise of observed values, shape (M,); None if they do not determine it."""

    def draw_noise(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws of the noise, shape (size,), which is uniform where values have a probability."""
        return rng.random(size)

    @property
    @abstractmethod
    def density(self) -> "NormalLaw | None":
        """The law of the numbers whose noise distribution is chosen; None if there are none. See `is_discrete`."""

    @abstractmethod
    def density_scale(self, outputs: Floats) -> Floats:
        """Return the scale of the values that have a density, shape (M,); infinite where none has."""

    @abstractmethod
    def with_noise(self, noise: Noise) -> "Law":
        """Return the law under another distribution of the noise of `density`."""

    def standardised(self, observed: Floats, outputs: Floats) -> Floats:
        """Return residuals of mean 0 and variance 1 if the model holds, shape (M,).

        Of labels the surprise -log P is standardised: minus its mean, over its standard deviation.
        """
        mean, scale = self.mean_and_scale(outputs)
        return (observed - mean) / scale

    @abstractmethod
    def quantile_residuals(self, observed: Floats, outputs: Floats, rng: np.random.Generator) -> Floats:
        """Return the distribution function at observed values: uniform if the model holds, shape (M,).

        Where values have a probability it is a place drawn evenly between the function below the value and at it.
        """

    @abstractmethod
    def turned(self) -> "Law":
        """Return the law of minus the variable."""

    @abstractmethod
    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself, or the labels and levels that a model has for the variable."""

    def rounded(self, values: Floats) -> Floats:
        """Return the values nearest to these, in the units of the data, that the variable takes; shape (M,)."""
        return values

    @abstractmethod
    def within(self, low: float, high: float) -> "Law":
        """Return the law of values of which those with a density are nearly all in a range."""

    def with_levels(self, levels: Floats) -> "Law":
        """Return the law of a variable whose values are known to more digits: the nearest of these, in their order."""
        return self

    def log_probabilities(self, outputs: Floats) -> Floats | None:
        """Return the log-probabilities of K values, shape (K, M), given the outputs; None if all have a density."""
        return None

    @property
    def n_free(self) -> int:
        """How many of the outputs are fitted, the first ones."""
        return self.n_outputs

    def intercepts(self, n_inputs: int, hidden_units: int) -> list[int]:
        """Return the indices in theta of the weights that a model without parents has."""
        first = (n_inputs + 1) * hidden_units
        return [first + k * (hidden_units + 1) for k in range(self.n_outputs)]

    def n_weights(self, n_inputs: int, hidden_units: int) -> int:
        """Return the size of theta."""
        return self.intercepts(n_inputs, hidden_units)[-1] + hidden_units + 1

    def layers(self, n_inputs: int, hidden_units: int) -> Sequence[slice]:
        """Return the slices of theta that share a prior precision: the first layer, and the weights of each output."""
        first = self.intercepts(n_inputs, hidden_units)[: self.n_free]
        return [slice(0, (n_inputs + 1) * hidden_units), *(slice(k + 1, k + 1 + hidden_units) for k in first)]

    def layout(self, n_inputs: int, hidden_units: int) -> tuple[Integers, Integers, float]:
        """Return what `icdh._node_model._outputs_kernels` calls intercepts, weights and unit."""
        intercepts = np.array(self.intercepts(n_inputs, hidden_units)[: self.n_free])
        return intercepts, intercepts + 1, 1.0

    def network_outputs(self, theta: Floats, hidden: Floats) -> Floats:
        """Return the outputs of a network, shape (o, n), given its hidden units, shape (m, n)."""
        weights = theta[-self.n_outputs * (len(hidden) + 1) :].reshape(self.n_outputs, -1)
        return np.array([of_output[0] + of_output[1:] @ hidden for of_output in weights])


@dataclass(frozen=True)
class NormalLaw(Law):
    """A number, mean + scale E; the outputs are mean and scale.

    Attributes
    ----------
    errors : Noise
        The distribution of E; standard normal by default.
    low, high : float
        The range in which nearly all values are, see `Limits`: a share or an amount is nearly never below zero.
    """

    errors: Noise = field(default_factory=Gaussian)
    low: float = -UNLIMITED
    high: float = UNLIMITED
    name = "mean and scale"
    odd = (0,)
    means = (0,)
    is_discrete = False
    has_mean = True
    value = "value"

    @property
    def n_outputs(self) -> int:
        """Two."""
        return 2

    def location_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,)."""
        return outputs[0], outputs[1]

    @cached_property
    def _reach(self) -> tuple[float, float]:
        """How many scales a mean may be below the range, and above it; farther ones are so far.

        So values do not leave the range where nearly all of a distribution is beyond an end: they stay at it. They are
        nearest to the end there; beyond, of heavy tails, those inside the range would be farther from it again.
        """
        place = 1.0 - np.geomspace(0.5, LEAST_OF_ROW, 41)
        middle = Limits(place, np.ones(place.size)).inverse(np.full(place.size, 0.5))
        ends = (errors.quantile(np.array([place, middle])) for errors in (self.errors, self.errors.turned()))
        below, above = (float(end[np.argmin(half - end)]) for end, half in ends)
        return below, above

    def _placed(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), no mean farther beyond the range than values follow."""
        mean, scale = self.location_and_scale(outputs)
        if not self._has_ends:
            return mean, scale
        below, above = self._reach
        return np.clip(mean, self.low - below * scale, self.high + above * scale), scale

    @property
    def _has_ends(self) -> bool:
        return not -self.low == self.high == UNLIMITED

    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the log-density of values."""
        mean, scale = self._placed(outputs)
        noise = _residual(observed, mean, scale)
        log_density: Floats = self.errors.log_density(noise) - np.log(scale)
        rows, limits = self._limits(mean, scale)
        if rows.size:
            log_density[rows] += np.log(limits.slope(self.errors.distribution(noise[rows])))
        return log_density

    def _limits(self, mean: Floats, scale: Floats) -> "tuple[Integers, Limits]":
        """Return the rows that an end of the range is near, and its places there in the distribution function.

        Most rows are far from both ends, where the places are zero and one: a distribution function takes longest.
        """
        ends = [_residual(end, mean, scale) for end in (self.low, self.high)]
        far = self.errors.quantile(np.array([LEAST_PLACE_NEAR, 1.0 - LEAST_PLACE_NEAR]))
        rows = np.flatnonzero(self._has_ends & ((ends[0] > far[0]) | (ends[1] < far[1])))
        return rows, Limits(*(self.errors.distribution(end[rows]) for end in ends))

    def has_density(self, observed: Floats) -> Mask:
        """Return that all values have a density."""
        return np.ones(observed.size, dtype=bool)

    def mean_and_scale(self, outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation."""
        mean, scale = self._placed(outputs)
        rows, limits = self._limits(mean, scale)
        deviation = np.full(mean.shape, self.errors.deviation)
        if rows.size:
            centre, deviation[rows] = limits.moments(self.errors)
            mean = mean.copy()
            mean[rows] += scale[rows] * centre
        return mean, deviation * scale

    def moments_of(self, function: Callable[[Floats], Floats], outputs: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of a function of the values, by Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
        if not isinstance(self.errors, Gaussian):
            nodes = self.errors.quantile(np.clip(Gaussian().distribution(nodes), FARTHEST, 1.0 - FARTHEST))
        values = [function(self.draw(outputs, noise)) for noise in nodes.tolist()]
        mean = weights @ values / weights.sum()
        return mean, np.sqrt(weights @ np.square(values - mean) / weights.sum())

    def draw(self, outputs: Floats, noise: Floats | float) -> Floats:
        """Return values given their noise."""
        mean, scale = self._placed(outputs)
        return mean + scale * self._changed(Limits.inverse, mean, scale, noise)

    def _changed(
        self, function: "Callable[[Limits, Floats], Floats]", mean: Floats, scale: Floats, noise: Floats | float
    ) -> Floats:
        """Return noise, shape (M,), changed by a function of its places in the rows that an end is near."""
        rows, limits = self._limits(mean, scale)
        changed = np.array(np.broadcast_to(noise, mean.shape))
        if rows.size:
            changed[rows] = limits.changed(function, self.errors, changed[rows])
        return changed

    def draw_noise(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws of E."""
        return self.errors.draw(size, rng)

    def noise(self, observed: Floats, outputs: Floats) -> Floats:
        """Return E of observed values; of a constant, how far a row is from it."""
        mean, scale = self._placed(outputs)
        return self._changed(Limits.distribution, mean, scale, _residual(observed, mean, scale))

    @property
    def density(self) -> "NormalLaw":
        """The law itself."""
        return self

    def density_scale(self, outputs: Floats) -> Floats:
        """Return the scale."""
        return self.location_and_scale(outputs)[1]

    def with_noise(self: NumberLaw, noise: Noise) -> NumberLaw:
        """Return the law under another distribution of E."""
        return replace(self, errors=noise)

    def standardised(self, observed: Floats, outputs: Floats) -> Floats:
        """Return residuals of mean 0 and variance 1."""
        mean, scale = self.mean_and_scale(outputs)
        return _residual(observed, mean, scale)

    def quantile_residuals(self, observed: Floats, outputs: Floats, rng: np.random.Generator) -> Floats:
        """Return the distribution function at observed values."""
        return self.errors.distribution(self.noise(observed, outputs))

    def within(self: NumberLaw, low: float, high: float) -> NumberLaw:
        """Return the law of values nearly all of which are in a range."""
        return replace(self, low=low, high=high)

    def turned(self: NumberLaw) -> NumberLaw:
        """Return the law of minus the variable."""
        return replace(self, errors=self.errors.turned(), low=-self.high, high=-self.low)

    def faults(self, n_labels: int, levels: Floats | None) -> Iterator[str]:
        """Yield what contradicts itself."""
        if not -UNLIMITED <= self.low < self.high <= UNLIMITED:
            yield "limits are in the wrong order or beyond all values"
        yield from self.errors.faults()


def _residual(observed: Floats | float, mean: Floats, scale: Floats) -> Floats:
    """Return how many scales values are above the mean; how far they are from it where there is no scale."""
    return (observed - mean) / np.where(scale > 0.0, scale, 1.0)


class Limits:
    """What limits do to a distribution function: p becomes G(p), piecewise linear.

    What was beyond a limit goes on top of as much beside it, but for a share `BEYOND` of it: the mean hardly moves.

    Parameters
    ----------
    low, high : ndarray, shape (n,)
        The places of the limits in the distribution function.
    """

    def __init__(self, low: Floats, high: Floats):
        self.acts = (high - low > LEAST_INSIDE) & ((low > LEAST_BEYOND) | (1.0 - high > LEAST_BEYOND))
        low = np.where(self.acts & (low > LEAST_BEYOND), low, 0.0)
        high = np.where(self.acts & (1.0 - high > LEAST_BEYOND), high, 1.0)
        middle, zero = (low + high) / 2, np.zeros(low.shape)
        below, above = np.minimum(2.0 * low, middle), np.maximum(2.0 * high - 1.0, middle)
        self.places = np.array([zero, low, below, above, high, zero + 1.0])
        self.shares = np.array([zero, BEYOND * low, below, above, 1.0 - BEYOND * (1.0 - high), zero + 1.0])
        self.widths = np.diff(self.places, axis=0)
        self.slopes = np.where(self.widths > 0.0, np.diff(self.shares, axis=0), 1.0)
        self.slopes /= np.where(self.widths > 0.0, self.widths, 1.0)

    def slope(self, places: Floats) -> Floats:
        """Return the derivative of G, shape (n,)."""
        piece = (np.clip(places, LEAST_PLACE, 1.0 - LEAST_PLACE) > self.places[1:-1]).sum(axis=0)
        slope: Floats = np.take_along_axis(self.slopes, piece[np.newaxis], 0)[0]
        return slope

    def distribution(self, places: Floats) -> Floats:
        """Return G, shape (n,)."""
        distribution: Floats = (self.slopes * np.clip(places - self.places[:-1], 0.0, self.widths)).sum(axis=0)
        return distribution

    def inverse(self, shares: Floats) -> Floats:
        """Return the places at which G has these values, shape (n,)."""
        passed = np.clip(shares - self.shares[:-1], 0.0, np.diff(self.shares, axis=0))
        inverse: Floats = (passed / self.slopes).sum(axis=0)
        return inverse

    def changed(self, function: "Callable[[Limits, Floats], Floats]", errors: Noise, noise: Floats) -> Floats:
        """Return noise whose place in its distribution function is a function of the given one, shape (n,)."""
        places = np.clip(function(self, errors.distribution(noise)), LEAST_PLACE, 1.0 - LEAST_PLACE)
        return np.where(self.acts, errors.quantile(places), noise)

    def moments(self, errors: Noise) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the noise, each of shape (n,)."""
        values, shares = errors.at_places()
        values = np.clip(values, *errors.quantile(np.array([LEAST_TAIL, 1.0 - LEAST_TAIL])))
        edges = np.append(0.0, np.cumsum(shares))

        def mean_of(values: Floats, whole: float) -> Floats:
            sums = np.interp(self.places, edges, np.append(0.0, np.cumsum(values * shares)))
            return np.where(self.acts, (self.slopes * np.diff(sums, axis=0)).sum(axis=0), whole)

        mean = mean_of(values, 0.0)
        return mean, np.sqrt(np.maximum(mean_of(np.square(values), errors.deviation**2) - np.square(mean), 0.0))


@dataclass(frozen=True)
class ConstantLaw(NormalLaw):
    """A variable that does not vary: zero on scaled data. It adds nothing to a likelihood."""

    name = "constant"

    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return zeros."""
        return np.zeros(observed.size)


class ProbabilityLaw(Law):
    """A variable each value of which has a probability; noise is uniform, and chooses one of them.

    A value does not determine its noise.
    """

    is_discrete = True

    @abstractmethod
    def distribution(self, observed: Floats, outputs: Floats) -> tuple[Floats, Floats]:
        """Return the distribution function below observed values, and at them, each of shape (M,)."""

    @abstractmethod
    def rounded(self, values: Floats) -> Floats:
        """Return the values nearest to these, in the units of the data, that the variable takes; shape (M,)."""

    def has_density(self, observed: Floats) -> Mask:
        """Return that no value has a density."""
        return np.zeros(observed.size, dtype=bool)

    def noise(self, observed: Floats, outputs: Floats) -> None:
        """Return None: values do not determine their noise."""
        return None

    @property
    def density(self) -> "NormalLaw | None":
        """None: no value has a density."""
        return None

    def density_scale(self, outputs: Floats) -> Floats:
        """Return infinities: no value has a density."""
        return np.full(outputs.shape[1], np.inf)

    def with_noise(self, noise: Noise) -> "Law":
        """Return the law itself: no value has a density."""
        return self

    def within(self, low: float, high: float) -> "Law":
        """Return the law itself: no value has a density."""
        return self

    def quantile_residuals(self, observed: Floats, outputs: Floats, rng: np.random.Generator) -> Floats:
        """Return places drawn evenly between the distribution function below observed values and at them."""
        below, up_to = self.distribution(observed, outputs)
        return below + (up_to - below) * rng.random(observed.size)


class DiscreteLaw(ProbabilityLaw):
    """A variable of K values."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """K."""

    def rounded(self, values: Floats) -> Floats:
        """Return the values: columns know their levels and labels."""
        return values

    @abstractmethod
    def log_probabilities(self, outputs: Floats) -> Floats:
        """Return the log-probabilities of the values, shape (K, M), given the outputs, shape (o, M)."""

    @abstractmethod
    def places(self, observed: Floats) -> Integers:
        """Return the places of values among the K ones, both of shape (M,)."""

    @abstractmethod
    def values(self, places: Integers) -> Floats:
        """Return the values at places among the K ones, both of shape (M,)."""

    def log_density(self, observed: Floats, outputs: Floats) -> Floats:
        """Return the log-probabilities of values."""
        return self._of_observed(observed, self.log_probabilities(outputs))

    def _of_observed(self, observed: Floats, log_p: Floats) -> Floats:
        places = self.places(observed)
        if (places >= len(log_p)).any():
            raise ValueError("a label that no row of the fit held has no probability; leave out the rows that hold it")
        return log_p[places, np.arange(observed.size)]

    def draw(self, outputs: Floats, noise: Floats) -> Floats:
        """Return values whose cumulative probabilities hold the noise between them."""
        shares = np.cumsum(np.exp(self.log_probabilities(outputs)), axis=0)
        return self.values((shares[:-1] <= noise).sum(axis=0))

    def distribution(self, observed: Floats, outputs: Floats) -> tuple[Floats, Floats]:
        """Return the distribution function below observed values, and at them."""
        probabilities, places = np.exp(self.log_probabilities(outputs)), self.places(observed)
        up_to = np.vstack([np.zeros(places.size), np.cumsum(probabilities, axis=0)])
        at = np.arange(places.size)
        return up_to[places, at], up_to[places + 1, at]


class Predictor(Protocol):
    """Outputs as a function of the causes.

    Attributes
    ----------
    inputs : ndarray of int, shape (p,)
        The variables that they depend on.
    is_network : bool
        Whether they are those of a network, of which nothing is known where no row was.
    """

    is_network: ClassVar[bool]

    @property
    def inputs(self) -> Integers:
        """The variables that the outputs depend on, shape (p,)."""
        ...

    def predict(self, values: Floats, law: Law) -> Floats:
        """Return the outputs of a law, shape (o, M), given all variables, one a row, shape (N, M)."""
        ...

    def faults(self, law: Law, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself, a law, or the number of network inputs that each input is."""
        ...


@dataclass(frozen=True)
class NoCauses:
    """Outputs that are zero."""

    is_network: ClassVar[bool] = False
    inputs: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def predict(self, values: Floats, law: Law) -> Floats:
        """Return zeros, shape (o, M), given all variables, shape (N, M)."""
        return np.zeros((law.n_outputs, values.shape[1]))

    def faults(self, law: Law, widths: Sequence[int]) -> Iterator[str]:
        """Yield what contradicts itself."""
        if self.inputs.size:
            yield "a constant has inputs"


@dataclass(frozen=True)
class Conditional:
    """The distribution of one variable given others, on scaled data.

    Attributes
    ----------
    predictor : Predictor
        How its outputs depend on the others.
    law : Law
        Its distribution given the outputs.
    limits : ndarray, shape (2, o), or None
        The least and the largest outputs; None if there are none.
    """

    predictor: Predictor
    law: Law
    limits: Floats | None = None

    @property
    def inputs(self) -> Integers:
        """The variables that it depends on, shape (p,)."""
        return self.predictor.inputs

    def outputs(self, values: Floats) -> Floats:
        """Return its outputs, shape (o, M), given all variables, one a row, shape (N, M)."""
        outputs = self.predictor.predict(values, self.law)
        return outputs if self.limits is None else np.clip(outputs, *self.limits[:, :, np.newaxis])

    def limited(self, values: Floats) -> "Conditional":
        """Return the distribution whose outputs stay near those at the rows of its fit, shape (N, M), if of a network.

        Means may be as far beyond as they reach there; spreads, rates and odds stay within. A network's spread may be
        10^6 times larger where its causes are a little beyond all rows.
        """
        if not (self.predictor.is_network and self.inputs.size):
            return self
        outputs = self.outputs(values)
        ends = np.array([outputs.min(axis=1), outputs.max(axis=1)])
        reach = np.isin(np.arange(len(outputs)), self.law.means) * np.ptp(ends, axis=0)
        return replace(self, limits=ends + [-reach, reach])

    def log_density(self, observed: Floats, values: Floats) -> Floats:
        """Return the log-density of values, shape (M,), given all variables; see `Law.log_density`."""
        return self.law.log_density(observed, self.outputs(values))

    def mean_and_scale(self, values: Floats) -> tuple[Floats, Floats]:
        """Return mean and scale, each of shape (M,), given all variables; see `Law.mean_and_scale`."""
        return self.law.mean_and_scale(self.outputs(values))

    def draw(self, values: Floats, noise: Floats) -> Floats:
        """Return the variable, shape (M,), given all variables and its noise, shape (M,)."""
        return self.law.draw(self.outputs(values), noise)

    def noise(self, observed: Floats, values: Floats) -> Floats | None:
        """Return the noise of values, shape (M,), given all variables; None if it is not determined."""
        return self.law.noise(observed, self.outputs(values))


CONSTANT = Conditional(NoCauses(), ConstantLaw())
