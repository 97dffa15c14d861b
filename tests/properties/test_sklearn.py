import numpy as np
import pandas as pd
import pytest
from helpers import OWN_WORDS
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from icdh import ICDH, HNMSearch, Knowledge

QUICK = {"max_rounds": 2, "tol": 1e9, "hidden_units": 3, "random_state": 0}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [ICDH(scaling="standardize", **QUICK), HNMSearch(hidden_units=2, n_restarts=1)])
def test_estimators_pass_the_checks_of_scikit_learn(estimator):
    results = check_estimator(estimator, on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == OWN_WORDS
    assert len(results) > 30


def test_clone_copies_parameters_and_nothing_learned(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "weights_")
    known = Knowledge(roots=["a"])
    assert clone(ICDH(knowledge=known)).knowledge == known


def test_a_pipeline_ends_in_the_estimator(chain):
    pipeline = make_pipeline(StandardScaler(), ICDH(**QUICK)).fit(chain.values)
    assert pipeline[-1].adjacency_matrix_.shape == (3, 3)
    assert np.isfinite(pipeline.score(chain.values))
    assert pipeline.predict(chain.values).shape == (400, 3)


def test_grid_search_takes_data_frames_and_prefers_the_likelier(chain):
    frame = pd.DataFrame(chain.values, columns=chain.columns)
    search = GridSearchCV(ICDH(scaling="standardize", **QUICK), {"l1": [0.01, 100.0]}, cv=3).fit(frame)
    assert search.best_params_ == {"l1": 0.01}
    assert search.best_estimator_.weights_.any()
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_parameters_are_set_by_name():
    model = ICDH().set_params(l1=0.5, noise="equal")
    assert (model.l1, model.noise) == (0.5, "equal")
    with pytest.raises(ValueError, match="ICDH has no parameter 'l3'; it has hidden_units, l1"):
        model.set_params(l2=7.0, l3=1.0)
    assert model.l2 == 0.01


def test_repr_shows_what_differs_from_the_defaults():
    assert repr(ICDH()) == "ICDH()"
    assert repr(ICDH(l1=0.5, noise="equal")) == "ICDH(l1=0.5, noise='equal')"
