"""The private names of the families of a graph that tests use, so that a move inside the package edits one file."""

import numpy as np

from icdh._node_model import (
    _descent_kernels,
    _kernels,
    evidence,
    family_models,
    gaussian,
    network,
    response,
    score,
    screening,
)
from icdh._node_model._descent_kernels import node_fit, node_gradient, quasi_newton_steps, scoring_steps
from icdh._node_model._kernels import LEAST_VARIANCE, VARIANCE_FLOOR, add_products_of_features
from icdh._node_model._outputs_kernels import _fill_between, fill_dispersion_information, ordinal_terms
from icdh._node_model.additive import CHOICE_COST, SMOOTH_COST, SPLINES, AdditiveModels, AdditivePredictor, Splines
from icdh._node_model.columns import READERS, Column, Columns, Reading
from icdh._node_model.discrete import CategoricalResponse, CountLaw, CountResponse, LabelLaw, OrdinalResponse, counted
from icdh._node_model.evidence import SEARCH_TOLERANCE, Start, at_fixed_point, odds_without_parents
from icdh._node_model.families import Families
from icdh._node_model.family_models import OPTIMISM, FamilyModels, gain_by_heaps
from icdh._node_model.gain_estimates import (
    FUNCTIONS,
    LEAST_PROMISE,
    _functions_of,
    gain_estimates,
    label_gain_estimates,
    misfit,
    misfit_of_residual,
    pair_gains,
)
from icdh._node_model.gaussian import LEAST_ROWS, GaussianLaw, GaussianResponse, fit_linear, least_squares
from icdh._node_model.generalised_linear import fit_generalised_linear
from icdh._node_model.heteroscedastic import HeteroscedasticModels, LinearMeanNetwork, _promise
from icdh._node_model.law import CONSTANT, Conditional, Law, NormalLaw
from icdh._node_model.network import (
    NodeNetwork,
    forward,
    hidden_units_of,
    network_outputs,
    node_outputs,
    with_twice_the_units,
)
from icdh._node_model.noise import (
    NOISE_DENSITIES,
    Free,
    Gaussian,
    Student,
    cost_of,
    fit_noise,
    free_cost,
    noise_gain,
    student_gain,
)
from icdh._node_model.point_masses import PointMassResponse
from icdh._node_model.response import Response as NodeResponse
from icdh._node_model.response import minimise
from icdh._node_model.score import (
    FAILED,
    FAR_BEHIND,
    QUICK_OBSERVATIONS,
    FamilyScore,
    QuickScore,
    ScoreSettings,
    WholeScore,
)
from icdh._node_model.screening import MOST_CELLS, PRIOR_OBSERVATIONS, LinearGains, TableGains, _lead, lingam_order
from icdh._node_model.screening import standardised as _standardised
from icdh._utils.arrays import NONE
from icdh.uncertainty.losses import SplitNetwork, mean_and_spread_losses

n_weights, intercepts = GaussianLaw().n_weights, GaussianLaw().intercepts


def cold_start(n_parents, hidden_units, random_state):
    """The random weights that a fit of a number begins with."""
    return network.cold_start(n_parents, hidden_units, random_state, n_weights(n_parents, hidden_units))


def fit_node(x, y, *, hidden_units=5, start=None, precision=None, random_state=0, **options):
    """The fit of a node model; options of its start and of the fit together."""
    of_start = {name: options.pop(name) for name in ("precision_updates", "max_steps") if name in options}
    start = Start(start, precision, random_state, options.pop("tol", 1e-2), **of_start)
    y = GaussianResponse.exact(y, None) if isinstance(y, np.ndarray) else y
    return evidence.fit_node(x, y, hidden_units, start, **{"prior_precision": 3.0, "weight": 1.0} | options)


def residuals_of(scores, family):
    """The standardised residuals of a family that was scored, one for each observation that counts."""
    return scores.models.residuals(family, scores.fit_of(family))[0][0]


def columns_of(values, kinds, transform="none", *, n_categories=None, masses=None, weights=None):
    """Columns as causes and responses, by default without point masses."""
    return Columns.of(
        [
            Column(
                kind,
                column,
                int(column.max()) + 1 if n_categories is None else n_categories[k],
                masses[k] if masses else (),
                transform,
                np.random.default_rng([0, k]),
                (0.0, 1.0),
                weights,
            )
            for k, (column, kind) in enumerate(zip(values, kinds, strict=True))
        ]
    )
