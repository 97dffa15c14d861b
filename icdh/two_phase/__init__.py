"""The article's procedure: alternate means (Phase II) and scales (Phase I) until the likelihood stands still.

objective (one child, whose sum is the network) <- solvers <- dag; scales (Algorithm 2);
dag, scales <- procedure (Algorithms 1 and 3); solvers, scales <- family <- last_stage.

Public names load on first use: an estimator asks `icdh.two_phase.rounds` for its words without the kernels.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from icdh.two_phase.procedure import fit_two_phase as fit_two_phase
    from icdh.two_phase.rounds import Round as Round
    from icdh.two_phase.rounds import TwoPhaseResult as TwoPhaseResult

__all__ = ["Round", "TwoPhaseResult", "fit_two_phase"]

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{'procedure' if name == 'fit_two_phase' else 'rounds'}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
