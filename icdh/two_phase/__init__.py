"""The article's procedure: alternate means (Phase II) and scales (Phase I) until the likelihood stands still.

Its three algorithms as printed, and the objective of Phase II, are functions; `icdh.ICDH` is the estimator.

objective (one child, whose sum is the network) <- solvers <- family (Algorithm 2) <- procedure (Algorithms 1 and 3).
"""

from icdh.two_phase.as_printed import algorithm_1, algorithm_2, algorithm_3, phase_two_objective
from icdh.two_phase.objective import Problem
from icdh.two_phase.rounds import Limits, MeanStep, Round, TwoPhaseResult

__all__ = ["Limits", "MeanStep", "Problem", "Round", "TwoPhaseResult"]
__all__ += ["algorithm_1", "algorithm_2", "algorithm_3", "phase_two_objective"]
