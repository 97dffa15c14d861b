"""The article's procedure: alternate means (Phase II) and scales (Phase I) until the likelihood stands still.

objective <- lbfgs, newton <- dag <- lagrangian (Algorithm 3); scales (Algorithm 2);
procedure (Algorithm 1) <- restarts.
"""

from icdh.two_phase.procedure import fit_two_phase
from icdh.two_phase.rounds import Round, TwoPhaseResult

__all__ = ["Round", "TwoPhaseResult", "fit_two_phase"]
