"""``icdh warmup``: compile in advance all that fits need."""

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from icdh.cli._options import Command
from icdh.exceptions import collected_warnings


def call_every_kernel() -> None:
    """Learn from a small table by every method."""
    from icdh._estimators.hnm_search import HNMSearch
    from icdh._estimators.icdh import ICDH
    from icdh.diagnostics.check import check
    from icdh.pairs import causal_direction
    from icdh.search.orders import WeighedFamilies, walk
    from icdh.uncertainty.posterior import posterior

    rng = np.random.default_rng(0)
    cause, other, noise = rng.normal(size=(3, 100))
    effect = np.tanh(2.0 * cause) + (0.2 + 0.2 * np.abs(cause)) * noise
    table = np.column_stack([cause, effect, other])
    floored = np.maximum(effect + noise, 0.0)
    counted = np.digitize(np.array([effect, cause + noise, noise]).T, (-0.5, 0.6))
    with collected_warnings():  # what is learned does not matter
        check(ICDH().fit(table), table)
        ICDH(schedule="paper", max_rounds=1, h_tol=1e6).fit(table)
        posterior(HNMSearch(search="exact").fit(table), n_samples=10)
        HNMSearch(kinds={1: "ordinal", 2: "categorical", 3: "count"}).fit(np.column_stack([cause, counted, floored]))
        causal_direction(cause, effect)
    families = WeighedFamilies(np.array([[1], [0]]), np.zeros((2, 2)))
    walk(families, np.arange(2), 1, rng)


@dataclass(frozen=True, kw_only=True)
class Warmup(Command):
    """The command."""

    summary = "compile in advance, so that the first fit need not wait"
    description = (
        "Compile everything that fits need, once for this installation, so that no later process waits for it: for "
        "images of containers and for continuous integration. What is compiled is kept beside the package, or in "
        "NUMBA_CACHE_DIR if that is set; processors of another kind compile again."
    )

    def run(self) -> None:
        """Call every kernel once, and report what was compiled and where it is kept."""
        from icdh._node_model._descent_kernels import node_fit
        from icdh._utils.compilation import watch
        from icdh.two_phase._kernels import projected_least_squares

        begin, compiled = time.perf_counter(), watch.compiled
        call_every_kernel()
        compiled = watch.compiled - compiled
        kernels: list[Any] = [node_fit, projected_least_squares]
        folders = [kernel.stats.cache_path for kernel in kernels]
        if None in folders:
            raise OSError("no folder can keep what is compiled; set NUMBA_CACHE_DIR to one that can be written")
        what = (
            f"{compiled} functions compiled in {time.perf_counter() - begin:.1f} s"
            if compiled
            else "nothing to compile"
        )
        print(f"{what}; kept under {os.path.commonpath(folders)}")
