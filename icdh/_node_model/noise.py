"""The standardised noise of a number, Gaussian, Student's t, or free relative to a t: what it gains, and its fit.

A free density is F0's density f0 times a function of the place u = F0(e) in [0, 1], constant on bins of widths w_b,

    f(e - c) = f0(e) p_b / w_b,    b = the bin of F0(e).

F0 is the Student's t of at most 20 degrees of freedom that residuals about their median are likeliest under. Bins are
equally wide but for the first and the last, which are halved again and again: F0 need not have the tails of the noise.
The number c makes the mean zero or, where F0 has no variance and a mean hangs on the farthest rows, the median of F0
that of the residuals. Of 300 rows of a lognormal distribution (sigma 1.5), with t about the mean and equal bins,
quartiles were off by a fifth of their distance, and new rows less likely by 0.7 nats each.

The gain of a noise distribution is that over the Gaussian, in nats, measured on the standardised residuals of a family.

- "gaussian": zero.
- "student": the log-likelihood of Student's t with fitted degrees of freedom and scale, minus that of the Gaussian,
  minus (1/2) log n for the parameter; at least zero, as the Gaussian is its limit.
- "free": n times the negentropy, by which an unconstrained density beats the Gaussian.
- "auto": the largest of these gains. A free density then costs three standard deviations of its gain on Gaussian
  samples: a graph has many variables, and the error of the estimate alone would make one of them choose "free".

A search begins with Gaussian noise. Where such noise passes a curve, a tanh for instance, residuals of the wrong
direction gain a little from another distribution, and so little must not turn arrows. So the noise stays another one
only where the graph found by it gains more than `LEAST` nats an observation and variable over the best graph by
Gaussian noise, or where more than half of its variables gain `MOST` each, or all a little more than half of that.
Laplace noise gains 0.07 nats an observation, uniform noise 0.18. Where it does not stay, noise is Student's t, whose
limit is the Gaussian: under Gaussian noise the heavy tails of a few variables get false causes, with a spread that is
wide at single rows.

`fit_noise` fits the density that a model then holds. In a free one the heights h_b = p_b / w_b maximise the Poisson
likelihood of the counts in the bins less a penalty of second differences, (lambda / 2) |D^2 log h|^2; lambda has the
highest evidence by Laplace's approximation.

References
----------
Eilers, Marx: "Flexible smoothing with B-splines and penalties", Statistical Science 11 (1996), Section 8.
Handcock, Morris: "Relative distribution methods in the social sciences", Springer 1999.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from icdh._utils.arrays import NONE, Floats, Integers, mean_of, sum_of, times
from icdh._utils.density import LOG_SQRT_2PI, negentropy, negentropy_deviation

HEAVIEST = 2.0  # degrees of freedom up to which Student's t has no variance
FARTHEST = 1e9  # deviations; noise of a standardised residual is never so far
LEAST_PLACE = 1e-16  # of a draw: quantiles at zero and one are infinite
MOST = 0.04  # nats an observation that one variable counts for: a few do not decide by little
LEAST = 0.0205  # nats an observation, in the mean of all variables
DEGREES_OF_FREEDOM = (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0)
MOST_BINS = 128  # of a free density; finer ones are smoothed away
HALVINGS = 8  # of its first and last bin: means of skewed noise were off by 0.15 deviations without, by 0.02 with them
MOST_HALVINGS = 40
PENALTIES = np.exp(np.arange(13.0, -2.5, -1.0))


class Noise(ABC):
    """The distribution of standardised noise; its mean is zero if it has a variance.

    Attributes
    ----------
    name : str
        What `icdh.HNMSearch` calls it.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Its standard deviation; where there is none, that of the standardised residuals, one."""

    @abstractmethod
    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density, shape (n,)."""

    @abstractmethod
    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function, shape (n,)."""

    @abstractmethod
    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function, shape (n,)."""

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws, shape (size,)."""
        return self.quantile(np.clip(rng.random(size), LEAST_PLACE, 1.0 - LEAST_PLACE))

    def at_places(self) -> tuple[Floats, Floats]:
        """Return quantiles as dense as those of a normal distribution, and the probabilities about them."""
        places = Gaussian().distribution(np.linspace(-8.0, 8.0, 2001))
        return self.quantile((places[1:] + places[:-1]) / 2), np.diff(places)

    @abstractmethod
    def turned(self) -> "Noise":
        """Return the distribution of minus the noise."""

    @abstractmethod
    def faults(self) -> Iterator[str]:
        """Yield what contradicts itself."""


@dataclass(frozen=True)
class Gaussian(Noise):
    """The standard normal distribution."""

    name = "gaussian"

    @property
    def deviation(self) -> float:
        """One."""
        return 1.0

    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density."""
        with np.errstate(over="ignore"):
            log_density: Floats = -0.5 * np.square(noise) - LOG_SQRT_2PI
        return log_density

    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function."""
        from scipy.special import ndtr

        places: Floats = ndtr(noise)
        return places

    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        from scipy.special import ndtri

        noise: Floats = ndtri(places)
        return noise

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Return independent draws."""
        return rng.standard_normal(size)

    def turned(self) -> "Gaussian":
        """Return the distribution itself."""
        return self

    def faults(self) -> Iterator[str]:
        """Yield nothing."""
        yield from ()


@dataclass(frozen=True)
class Student(Noise):
    """Student's t.

    Attributes
    ----------
    degrees : float
        Its degrees of freedom.
    scale : float
        What a variable of this distribution is divided by to be Student's t.
    """

    degrees: float
    scale: float
    name = "student"

    @property
    def deviation(self) -> float:
        """Its standard deviation, or one."""
        return self.scale * math.sqrt(self.degrees / (self.degrees - 2.0)) if self.degrees > HEAVIEST else 1.0

    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density."""
        half = 0.5 * (self.degrees + 1.0)
        constant = math.lgamma(half) - math.lgamma(0.5 * self.degrees)
        constant -= 0.5 * math.log(math.pi * self.degrees) + math.log(self.scale)
        return constant - half * np.log1p(np.square(noise / self.scale) / self.degrees)

    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function."""
        from scipy.special import stdtr

        places: Floats = stdtr(self.degrees, noise / self.scale)
        return places

    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        from scipy.special import betaincinv

        # By the incomplete beta function: some SciPy never come back from stdtrit of places next to zero.
        below, half = np.maximum(np.minimum(places, 1.0 - places), 0.0), 0.5 * self.degrees
        tail = np.maximum(betaincinv(half, 0.5, np.minimum(2.0 * below, 0.5)), self.degrees * np.finfo(float).tiny)
        middle = betaincinv(0.5, half, np.maximum(1.0 - 2.0 * below, 0.0))
        squares = np.where(below < 0.25, 1.0 / tail - 1.0, middle / np.maximum(1.0 - middle, 0.1))
        noise: Floats = np.copysign(self.scale * np.sqrt(self.degrees * squares), places - 0.5)
        return noise

    def turned(self) -> "Student":
        """Return the distribution itself."""
        return self

    def faults(self) -> Iterator[str]:
        """Yield what contradicts itself."""
        if not (self.degrees > 0.0 and 0.0 < self.scale < FARTHEST):
            yield "Student's t has no degrees of freedom or no scale"


@dataclass(frozen=True)
class Free(Noise):
    """A density of any shape.

    Attributes
    ----------
    reference : Noise
        The distribution F0 that it is relative to.
    shares : ndarray, shape (B,)
        The probability of each bin.
    shift : float
        c, by which the noise is moved.
    halvings : int
        How often the first and the last bin are halved.
    """

    reference: Noise
    shares: Floats
    shift: float = 0.0
    halvings: int = 0
    name = "free"

    @cached_property
    def _edges(self) -> Floats:
        """The distribution function at the edges of the bins, shape (B + 1,)."""
        edges: Floats = np.append(0.0, np.cumsum(self.shares))
        edges /= edges[-1]
        return edges  # the sum by itself may differ in its last digit, and quantiles near one be infinite

    @cached_property
    def _places(self) -> Floats:
        """The edges of the bins, places of the reference, shape (B + 1,)."""
        return edges_of_bins(self.shares.size - 2 * self.halvings, self.halvings)

    @property
    def deviation(self) -> float:
        """Its standard deviation, or one."""
        return self._deviation

    @cached_property
    def _deviation(self) -> float:
        if not has_variance(self.reference):
            return self.reference.deviation
        values, weights = self.at_places()
        return math.sqrt(float(weights @ np.square(values)))

    def log_density(self, noise: Floats) -> Floats:
        """Return the log-density."""
        heights, moved = np.log(np.diff(self._edges) / np.diff(self._places)), noise + self.shift
        return self.reference.log_density(moved) + heights[bins_of(self.reference, moved, self._places)]

    def distribution(self, noise: Floats) -> Floats:
        """Return the distribution function."""
        return np.interp(self.reference.distribution(noise + self.shift), self._places, self._edges)

    def quantile(self, places: Floats) -> Floats:
        """Return the inverse of the distribution function."""
        of_reference = np.clip(np.interp(places, self._edges, self._places), LEAST_PLACE, 1.0 - LEAST_PLACE)
        return self.reference.quantile(of_reference) - self.shift

    def turned(self) -> "Free":
        """Return the distribution of minus the noise."""
        return replace(self, shares=self.shares[::-1].copy(), shift=-self.shift)

    def faults(self) -> Iterator[str]:
        """Yield what contradicts itself."""
        if self.reference.name == "free" or not (self.shares.size and (self.shares > 0.0).all()):
            yield "a free density has no shares, or no reference"
        if not 0 <= 2 * self.halvings <= min(self.shares.size - 2, 2 * MOST_HALVINGS):
            yield "a free density has other ends than bins"
        if not abs(self.shift) < FARTHEST:
            yield "a free density is moved too far"
        yield from self.reference.faults()


def has_variance(noise: Noise) -> bool:
    """Return whether noise has a variance."""
    return not (isinstance(noise, Student) and noise.degrees <= HEAVIEST)


def edges_of_bins(n_equal: int, halvings: int) -> Floats:
    """Return the edges of bins in [0, 1]: of so many equal ones, the first and the last halved so often."""
    inner, halves = np.linspace(0.0, 1.0, n_equal + 1)[1:-1], 0.5 ** np.arange(1, halvings + 1) / n_equal
    return np.concatenate([[0.0], halves[::-1], inner, 1.0 - halves, [1.0]])


def bins_of(reference: Noise, noise: Floats, edges: Floats) -> Integers:
    """Return the bins that noise falls in, given their edges, places of a reference, shape (n,)."""
    return np.searchsorted(edges[1:-1], reference.distribution(noise), side="right")


LIGHTEST = Student(20.0, math.sqrt(18.0 / 20.0))  # of unit variance; a far row is improbable, not impossible
NOISE_DENSITIES: dict[str, type] = {kind.name: kind for kind in (Gaussian, Student, Free)}
NOISE_DISTRIBUTIONS = ("auto", *NOISE_DENSITIES)


def noise_gain(samples: Sequence[Floats], noise: str, weights: Floats | None) -> tuple[float, str]:
    """Return the gain of a noise distribution over the Gaussian, in nats, and its name.

    Parameters
    ----------
    samples : sequence of ndarray, each of shape (n,)
        Standardised residuals; several where values are spread over cells. The gain is their mean.
    noise : str
        The distribution, or "auto".
    weights : ndarray, shape (n,), or None
        How often each residual counts; None if once.

    Returns
    -------
    tuple of float and str
        The gain, and the name of the distribution.
    """
    if noise != "auto":
        return GAINS[noise](samples, weights), noise
    gains = {name: gain(samples, weights) for name, gain in GAINS.items()}
    gains["free"] -= free_cost(sum_of(weights, samples[0].size))
    best = max(gains, key=lambda name: gains[name])
    return gains[best], best


def _free_gain(samples: Sequence[Floats], weights: Floats | None) -> float:
    n = sum_of(weights, samples[0].size)
    return n * float(np.mean([negentropy(sample, weights) for sample in samples]))


# In the order in which "auto" prefers them where gains are equal.
GAINS: dict[str, Callable[[Sequence[Floats], Floats | None], float]] = {
    "gaussian": lambda samples, weights: 0.0,
    "student": lambda samples, weights: max(student_gain(samples[0], weights), 0.0),
    "free": _free_gain,
}
if [*GAINS] != [*NOISE_DENSITIES]:
    raise TypeError(f"these have gains: {', '.join(GAINS)}; these are distributions: {', '.join(NOISE_DENSITIES)}")


def cost_of(name: str, n: float) -> float:
    """Return the nats that a distribution of n residuals must earn before "auto" prefers it to a Gaussian."""
    return {"gaussian": 0.0, "student": 0.5 * math.log(n), "free": free_cost(n)}[name]


def free_cost(n: float) -> float:
    """Return what a free density must earn."""
    return 3.0 * n * negentropy_deviation(n)  # three standard deviations


def student_gain(e: Floats, weights: Floats | None) -> float:
    """Return the nats that Student's t gains over the Gaussian of the same sample, less what its parameter costs."""
    return student_fit(e, weights)[0]


def student_fit(e: Floats, weights: Floats | None) -> tuple[float, float, float]:
    """Return the gain of `student_gain`, and degrees of freedom and scale of the likeliest Student's t."""
    from scipy.special import gammaln

    from icdh._node_model._kernels import student_scales

    n = sum_of(weights, e.size)
    squares = np.square(e)
    variance = mean_of(squares, weights)
    if variance == 0.0 or mean_of(np.square(squares), weights) <= 3.0 * variance**2:  # tails lighter than Gaussian
        return 0.0, np.inf, float(np.sqrt(variance))
    gaussian = -0.5 * n * (np.log(2.0 * np.pi * variance) + 1.0)
    scales = np.full(len(DEGREES_OF_FREEDOM), variance)
    student_scales(squares, NONE if weights is None else weights, np.array(DEGREES_OF_FREEDOM), 20, scales)
    dof = np.array(DEGREES_OF_FREEDOM)
    logarithms = [times(weights, np.log1p(squares / scale)).sum() for scale in dof * scales]
    constant = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(np.pi * dof * scales)
    likelihood = n * constant - 0.5 * (dof + 1.0) * logarithms
    best = int(np.argmax(likelihood))
    gain = float(likelihood[best] - gaussian - cost_of("student", n))
    return gain, DEGREES_OF_FREEDOM[best], float(np.sqrt(scales[best]))


def fit_noise(residuals: Floats, name: str, weights: Floats | None) -> Noise:
    """Return the noise of a name that standardised residuals are likeliest under.

    Parameters
    ----------
    residuals : ndarray, shape (n,)
        The residuals.
    name : str
        The distribution; "none", of what has no density, is Gaussian.
    weights : ndarray, shape (n,), or None
        How often each residual counts; None if once.
    """
    if name in ("gaussian", "none") or residuals.size < 3:
        return Gaussian()
    if name == "free":
        return _fit_free(residuals, weights)
    if name == "student":
        gain, degrees, scale = student_fit(residuals, weights)
        return Student(degrees, scale) if gain > 0.0 else Gaussian()
    raise ValueError(f"noise called {name!r} has no density")


def _fit_free(residuals: Floats, weights: Floats | None) -> Free:
    """Return the free density of the penalty of the highest evidence."""
    n, centre = sum_of(weights, residuals.size), _median(residuals, weights)
    gain, degrees, scale = student_fit(residuals - centre, weights)
    reference, centre = (Student(degrees, scale), centre) if gain > 0.0 else (LIGHTEST, 0.0)
    edges = edges_of_bins(min(2 * round(math.sqrt(n)) + 4, MOST_BINS), HALVINGS)
    widths, bins = np.diff(edges), bins_of(reference, residuals - centre, edges)
    counts = np.bincount(bins, weights, minlength=widths.size).astype(np.float64)
    differences = np.diff(np.eye(widths.size), 2, axis=0)
    products = differences.T @ differences
    bands = np.array([np.append(np.zeros(k), np.diagonal(products, k)) for k in (2, 1, 0)])
    log_heights, best = np.zeros(widths.size), (-math.inf, counts)
    for penalty in PENALTIES.tolist():
        log_heights, log_determinant = _smoothed(counts, n * widths, log_heights, penalty * bands)
        means = n * widths * np.exp(log_heights)
        rough = float(np.square(differences @ log_heights).sum())
        evidence = float(counts @ log_heights - means.sum()) - 0.5 * (penalty * rough + log_determinant)
        evidence += 0.5 * (widths.size - 2) * math.log(penalty)
        best = max(best, (evidence, means), key=lambda pair: pair[0])
    shares = best[1] / best[1].sum()
    outside = 1.0 / (n + 1.0)  # a value that no row was near is improbable, not impossible
    density = Free(reference, (1.0 - outside) * shares + outside * widths, -centre, HALVINGS)
    if not has_variance(reference):
        return density
    values, probabilities = density.at_places()
    return replace(density, shift=float(probabilities @ values) - centre)


def _median(values: Floats, weights: Floats | None) -> float:
    order = np.argsort(values)
    counted = np.cumsum(times(weights, np.ones(values.size))[order])
    return float(values[order[np.searchsorted(counted, 0.5 * counted[-1])]])


def _smoothed(counts: Floats, expected: Floats, log_heights: Floats, penalty: Floats) -> tuple[Floats, float]:
    """Return the penalised log-heights, and the log-determinant of the curvature.

    Means of Poisson counts are what is ``expected`` of the reference times heights; the penalty is given as bands.
    """
    from scipy.linalg import cho_solve_banded, cholesky_banded

    precision = factor = penalty.copy()
    for _ in range(50):
        means = expected * np.exp(log_heights)
        precision[2] = penalty[2] + means
        factor = cholesky_banded(precision)
        pull = counts - means - _times(penalty, log_heights)
        step: Floats = cho_solve_banded((factor, False), pull)
        largest = float(np.abs(step).max())
        log_heights = log_heights + step * min(1.0, 2.0 / max(largest, 1.0))
        if largest < 1e-6:
            break
    return log_heights, 2.0 * float(np.log(factor[2]).sum())


def _times(bands: Floats, x: Floats) -> Floats:
    """Return a symmetric matrix, its diagonal and the two above it as bands, times a vector."""
    product: Floats = bands[2] * x
    for k, band in ((1, bands[1]), (2, bands[0])):
        product[:-k] += band[k:] * x[k:]
        product[k:] += band[k:] * x[:-k]
    return product
