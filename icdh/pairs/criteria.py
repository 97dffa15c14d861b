"""The entropy estimate that decides the direction between two variables."""

import numpy as np

from icdh._ground.entropy import default_spacing, vasicek_entropy

WINDOWS = (0.25, 0.5, 1.0)


def mean_entropy(sample: np.ndarray) -> float:
    """Return the mean entropy over three windows: small windows have less bias, large ones less variance.

    The sample needs 13 values or more, so that the smallest window is at least one.
    """
    root = default_spacing(sample.size)
    return np.mean([vasicek_entropy(sample, round(multiple * root)) for multiple in WINDOWS])
