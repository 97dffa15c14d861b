"""The private names of the article's procedure that tests use, so that a move inside the package edits one file."""

from icdh._network_kernels import activation, bend_of, slope_of, weighed_slope_of
from icdh._utils.arrays import NONE
from icdh.two_phase import as_printed, family, procedure
from icdh.two_phase.as_printed import Unknowns
from icdh.two_phase.family import FamilyFitter, descend, fit_scales, scale_objective
from icdh.two_phase.objective import FamilyObjective, NetworkObjective, Problem
from icdh.two_phase.procedure import (
    DagDescent,
    MeanStep,
    Round,
    TwoPhaseResult,
    draw_initial_weights,
    fit_means,
    fit_problem,
    further_starts,
    minimise_on_dag,
    without_cycles,
)
from icdh.two_phase.rounds import FAST, FAST_ALONE, FAST_AND_WIDE, Limits, Schedule, schedule_for
from icdh.two_phase.solvers import (
    QuadraticModel,
    SplitVector,
    _step_in_orthant,
    minimise_by_lbfgs,
    minimise_by_newton,
    quadratic_model,
)
