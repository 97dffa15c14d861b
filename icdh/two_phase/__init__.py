"""The article's procedure: alternate means (Phase II) and scales (Phase I) until the likelihood stands still.

objective (one child, whose sum is the network) <- solvers <- dag; scales (Algorithm 2);
dag, scales <- procedure (Algorithms 1 and 3); solvers, scales <- family <- last_stage.
"""

from icdh.two_phase.rounds import Round, TwoPhaseResult

__all__ = ["Round", "TwoPhaseResult"]
