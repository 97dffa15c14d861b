"""The private names of the estimators that tests use, so that a move inside the package edits one file."""

from icdh._estimators import graph_search, refit, two_phase_fit
from icdh._estimators.arranged import CanonicalTable
from icdh._estimators.base import CausalGraphEstimator
from icdh._estimators.data_warnings import dummies, functions, sums_and_ratios, warn_about_density
from icdh._estimators.graph_search import GraphSearch, best_transform
from icdh._estimators.imputation import draw_gaps, neighbours_values
from icdh._estimators.two_phase_fit import best_of_restarts, refine_edges, scores_of_families, strength_of_inputs
