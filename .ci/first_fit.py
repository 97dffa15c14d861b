"""Fit as the first act of a process, without a test runner that may have loaded libraries before."""

import numpy as np

from icdh import HNMSearch

rng = np.random.default_rng(0)
cause = rng.normal(size=300)
effect = cause**2 + (0.5 + (cause > 0)) * rng.normal(size=300)
edges = HNMSearch().fit(np.column_stack([effect, cause])).edge_list()
assert [edge[:2] for edge in edges] == [("x1", "x0")], edges
