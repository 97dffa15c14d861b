"""The gain of a noise distribution over the Gaussian, in nats, measured on the standardised residuals of a family.

- "gaussian": zero.
- "student": the log-likelihood of Student's t with fitted degrees of freedom and scale, minus that of the Gaussian,
  minus (1/2) log n for the parameter; at least zero, as the Gaussian is its limit.
- "free": n times the negentropy, by which an unconstrained density beats the Gaussian.
- "auto": the largest of these gains. A free density then costs three standard deviations of its gain on Gaussian
  samples: a graph has many variables, and the error of the estimate alone would make one of them choose "free".
  While a graph is sought, other noise than the Gaussian costs `PRICE` for each observation, too. Where Gaussian noise
  passes a curve, such as a tanh, residuals in the wrong direction gain a little, and so little must not turn arrows.
  Laplace noise gains 0.07 nats an observation, uniform noise 0.18.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from icdh._node_model._kernels import student_scales
from icdh._utils.arrays import Floats
from icdh._utils.entropy import negentropy, negentropy_deviation

PRICE = 0.008  # nats an observation; at 0.005 noise through a tanh still turns arrows
DEGREES_OF_FREEDOM = (1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0)


def noise_gain(samples: Sequence[Floats], noise: str, price: float = 0.0) -> tuple[float, str]:
    """Return the gain of a noise distribution over the Gaussian, in nats, and its name.

    Parameters
    ----------
    samples : sequence of ndarray, each of shape (n,)
        Standardised residuals; several where values are spread over cells. The gain is their mean.
    noise : {"auto", "gaussian", "student", "free"}
        The distribution.
    price : float
        What "auto" takes for any other noise than the Gaussian, in nats an observation.

    Returns
    -------
    tuple of float and str
        The gain, and "gaussian", "student" or "free".
    """
    if noise == "gaussian":
        return 0.0, "gaussian"
    n = samples[0].size
    if noise == "student":
        return max(student_gain(samples[0]), 0.0), "student"
    free = n * float(np.mean([negentropy(sample) for sample in samples]))
    if noise == "free":
        return free, "free"
    gains = {"gaussian": 0.0, "student": student_gain(samples[0]) - n * price, "free": free - free_cost(n) - n * price}
    best = max(gains, key=lambda name: gains[name])
    return gains[best], best


def free_cost(n: int) -> float:
    """Return the nats that a free density of n residuals must earn before "auto" prefers it to a Gaussian."""
    return 3.0 * n * negentropy_deviation(n)  # three standard deviations


def student_gain(e: Floats) -> float:
    """Return the nats that Student's t gains over the Gaussian of the same sample, less what its parameter costs."""
    n = e.size
    squares = np.square(e)
    variance = squares.mean()
    if variance == 0.0 or np.square(squares).mean() <= 3.0 * variance**2:  # lighter tails than the Gaussian's
        return 0.0
    gaussian = -0.5 * n * (np.log(2.0 * np.pi * variance) + 1.0)
    scales = np.full(len(DEGREES_OF_FREEDOM), variance)
    student_scales(squares, np.array(DEGREES_OF_FREEDOM), 20, scales)
    dof, scale2 = np.array(DEGREES_OF_FREEDOM)[:, np.newaxis], scales[:, np.newaxis]
    tails = 0.5 * (dof + 1.0) * np.log1p(squares / (dof * scale2)).sum(axis=1, keepdims=True)
    constant = gammaln(0.5 * (dof + 1.0)) - gammaln(0.5 * dof) - 0.5 * np.log(np.pi * dof * scale2)
    return float((n * constant - tails).max() - gaussian - 0.5 * np.log(n))
