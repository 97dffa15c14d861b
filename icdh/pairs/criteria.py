"""How long the code of a sample is whose density nobody knows: the entropy that decides a direction."""

import numpy as np

from icdh.entropy import default_spacing, vasicek_entropy

WINDOWS = (0.25, 0.5, 1.0)


def mean_entropy(sample: np.ndarray) -> float:
    """Return the mean of the entropies of three windows: small ones have less bias, large ones less variance.

    Of 13 values or more: the least window is then one.
    """
    root = default_spacing(sample.size)
    return np.mean([vasicek_entropy(sample, round(multiple * root)) for multiple in WINDOWS])
