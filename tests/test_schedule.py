"""What the fast schedule does with the parameters of the article's procedure."""

import warnings

import numpy as np
import pytest
from helpers import fit_two_phase, hetero_chain

from icdh import ICDH, ConvergenceWarning, DataWarning


@pytest.fixture(scope="module")
def values():
    return np.ascontiguousarray(hetero_chain(np.random.default_rng(0), 200).T)


def test_h_tol_is_nothing_to_the_fast_schedule_whose_h_is_zero(values):
    strict, loose = (fit_two_phase(values, random_state=1, max_rounds=2, h_tol=h_tol) for h_tol in (1e-12, 1e3))
    np.testing.assert_array_equal(strict.weights.w1, loose.weights.w1)
    assert [record.h for record in strict.history] == [0.0, 0.0]


def test_rho_max_acts_on_the_fast_schedule_as_well():
    """Where the graph is far from decided when the method gives up, the cycles stay, and the warning says so."""
    X = hetero_chain(np.random.default_rng(0), 200)
    patient = ICDH(noise="equal", edge_cost=None, random_state=0).fit(X).history_[0]
    assert patient.rho > 1.0
    assert patient.h == 0.0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        hasty = ICDH(noise="equal", random_state=0, rho_max=1.0, edge_cost=None).fit(X).history_[0]
    said = {
        (warning.category, text in str(warning.message))
        for warning in seen
        for text in ("stayed above", "on cycles removed")
    }
    assert {(ConvergenceWarning, True), (DataWarning, True)} <= said
    assert hasty.rho == 1.0
    assert hasty.h > 0.0


def test_both_schedules_find_the_chain(chain):
    for schedule in ("fast", "paper"):
        model = ICDH(schedule=schedule, scaling="standardize", hidden_units=5, tol=0.1).fit(chain)
        assert model.causal_order_ == [0, 1, 2]
        assert model.converged_
