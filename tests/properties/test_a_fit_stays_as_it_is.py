"""A fitted model and its table never change when it is asked: all that they hold is compared before and after."""

import warnings

import numpy as np
import pytest

from icdh import ICDH, HNMSearch, check, posterior
from icdh.uncertainty import direction_loss, hidden_loss

ASKED_OF_ALL = {
    "predict": lambda model, X: model.predict(X),
    "predict_scale": lambda model, X: model.predict_scale(X),
    "residuals": lambda model, X: model.residuals(X),
    "score": lambda model, X: model.score(X),
    "sample": lambda model, X: model.sample(20, random_state=0, do={0: 1.0}),
    "counterfactual": lambda model, X: model.counterfactual(X, {0: 1.0}),
    "average_effect": lambda model, X: model.average_effect(0, 1, [0.0, 1.0], n_samples=50),
    "effects": lambda model, X: model.effects(n_samples=50),
    "summary": lambda model, X: model.summary() + model._repr_html_() + model.model_.to_json(),
    "check": lambda model, X: check(model, X),
}
ASKED_OF_A_SEARCH = {
    "direction_loss": lambda model, X: direction_loss(model),
    "hidden_loss": lambda model, X: hidden_loss(model),
    "posterior": lambda model, X: posterior(model, n_candidates=3, max_parents=2, n_samples=50),
}


def held(value, seen):
    """Return all that an object holds, attribute by attribute, to the last bit."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tolist() if value.dtype == object else value.tobytes()
    if isinstance(value, dict):
        return [(repr(key), held(part, seen)) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [held(part, seen) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if not (type(value).__module__.startswith("icdh") and hasattr(value, "__dict__")):
        return repr(value)
    if id(value) in seen:
        return type(value).__name__
    seen.add(id(value))
    return type(value).__name__, held(vars(value), seen)


@pytest.fixture(scope="module", params=["lines", "curves", "groups", "ICDH"])
def fitted(request):
    curved = request.param != "lines"
    x = np.random.default_rng(1).normal(size=(4, 150))
    x[1] += np.tanh(2.0 * x[0]) if curved else x[0]
    x[2] += x[1] ** 2 if curved else x[1]
    x[3] += x[0] + x[2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if request.param == "ICDH":
            return ICDH(hidden_units=3).fit(x.T), x.T
        return HNMSearch().fit(x.T, groups=np.repeat(np.arange(75), 2) if request.param == "groups" else None), x.T


@pytest.mark.filterwarnings("ignore")
def test_a_question_changes_nothing_of_a_fit(fitted, tmp_path):
    model, X = fitted
    questions = ASKED_OF_ALL | {"save": lambda model, X: model.save(tmp_path / "model.icdh")}
    questions |= ASKED_OF_A_SEARCH if isinstance(model, HNMSearch) else {}
    assert model.adjacency_matrix_.any()
    for name, ask in questions.items():
        before = held([model, X], set())
        ask(model, X)
        assert held([model, X], set()) == before, name


@pytest.mark.filterwarnings("ignore")
def test_other_thresholds_leave_what_was_found_as_it_is(fitted):
    model, _ = fitted
    found, edges = held(model._found, set()), np.count_nonzero(model.adjacency_matrix_)
    model.rethreshold(max_edges=1)
    assert np.count_nonzero(model.adjacency_matrix_) == 1 < edges
    assert held(model._found, set()) == found
