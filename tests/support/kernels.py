"""Fits that call every kernel once, so that all of them are compiled."""

import numpy as np

from icdh import ICDH, HNMSearch, causal_direction, check, posterior
from icdh.exceptions import collected_warnings
from icdh.search.orders import WeighedFamilies, walk


def call_every_kernel():
    """Learn from a small table by every method."""
    rng = np.random.default_rng(0)
    cause, other, noise = rng.normal(size=(3, 100))
    effect = np.tanh(2.0 * cause) + (0.2 + 0.2 * np.abs(cause)) * noise
    table = np.column_stack([cause, effect, other])
    floored = np.maximum(effect + noise, 0.0)
    skewed = np.random.default_rng(1).exponential(size=(2, 100)).cumsum(axis=0)
    counted = np.digitize(np.array([effect, cause + noise, noise]).T, (-0.5, 0.6))
    with collected_warnings():  # what is learned does not matter
        check(ICDH().fit(table), table)
        ICDH(schedule="paper", max_rounds=1, h_tol=1e6).fit(table)
        posterior(HNMSearch(search="exact").fit(table), n_samples=10)
        HNMSearch(kinds={1: "ordinal", 2: "categorical", 3: "count"}).fit(np.column_stack([cause, counted, floored]))
        HNMSearch(noise_distribution="free", column_transform="none").fit(skewed.T)
        causal_direction(cause, effect)
    families = WeighedFamilies(np.array([[1], [0]]), np.zeros((2, 2)))
    walk(families, np.arange(2), 1, rng)
