"""Ctrl-C: a refit leaves the old model or the new one, a search the best graph so far, and no thread goes on."""

import signal
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain, parents_of, replayed
from support.estimators import refit
from support.families import family_models
from support.utils import parallel as _threads

import icdh
from icdh import ICDH, ConvergenceWarning, HNMSearch, graphs

PACKAGE = str(Path(icdh.__file__).parent)
ESTIMATORS = str(Path(PACKAGE) / "_estimators")


class Interrupter:
    """Raises KeyboardInterrupt at one of the places that a call passes: lines of estimators, calls elsewhere."""

    def __init__(self, place=None):
        self.place = place
        self.passed = 0

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *raised):
        sys.settrace(self.before)

    def _trace(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            return None
        if event in ("call", "line"):
            self.passed += 1
            if self.passed == self.place:
                raise KeyboardInterrupt
        return self._trace if file.startswith(ESTIMATORS) else None


def short(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X)


def assert_one_model(model, old, named):
    """Either every fitted attribute is the old object, or none and all agree."""
    fitted = fitted_attributes(model)
    arrays = [model.adjacency_matrix_, model.causal_order_, model.offset_, model.scale_]
    arrays += [model.model_.names, model.model_.conditionals, model.sample(2, random_state=0).T]
    arrays += [model.weights_, model.network_.w1] if isinstance(model, ICDH) else []
    assert {model.n_features_in_, *map(len, arrays)} == {model.n_features_in_}
    if model.n_features_in_ == named:
        assert fitted.keys() == old.keys()
        assert all(fitted[name] is old[name] for name in old)
    else:
        assert not hasattr(model, "feature_names_in_")
        assert all(fitted[name] is not old[name] for name in ("model_", "adjacency_matrix_", "history_", "offset_"))


@pytest.fixture(scope="module")
def tables():
    """Three named columns, and two other ones without names."""
    X = hetero_chain(np.random.default_rng(0), 40)
    return pd.DataFrame(X, columns=list("abc")), X[:, 1:] + 1.0


def fitted_attributes(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


ESTIMATORS_AT_WORK = [
    lambda: ICDH(hidden_units=2, max_rounds=2, scaling="standardize", random_state=0),
    lambda: HNMSearch(hidden_units=2, n_restarts=1),
    lambda: HNMSearch(hidden_units=2, n_restarts=1, noise_distribution="free"),
]


@pytest.mark.slow
@pytest.mark.parametrize("make", ESTIMATORS_AT_WORK, ids=["icdh", "search", "free"])
def test_a_refit_that_is_interrupted_anywhere_leaves_one_model(tables, make):
    first, second = tables
    with Interrupter() as whole:
        short(make(), second)
    places = {*range(1, whole.passed, max(1, whole.passed // 12)), *range(whole.passed - 30, whole.passed + 1)}
    outcomes, model = set(), short(make(), first)
    before, old = vars(model).copy(), fitted_attributes(model)
    for place in sorted(places):
        model.__dict__ = before.copy()
        try:
            with Interrupter(place):
                short(model, second)
        except KeyboardInterrupt:
            outcomes.add("raised")
        assert_one_model(model, old, 3)
        outcomes.add(model.n_features_in_)
    assert outcomes == {"raised", 2, 3}


@pytest.mark.slow
def test_a_new_threshold_and_its_graph_come_together(tables):
    model = short(ESTIMATORS_AT_WORK[0](), tables[0]).rethreshold(0.0)
    fitted, dense, seen = vars(model).copy(), np.count_nonzero(model.adjacency_matrix_), set()
    with Interrupter() as whole:
        model.rethreshold(1e9)
    for place in range(1, whole.passed + 1):
        model.__dict__ = fitted.copy()
        with pytest.raises(KeyboardInterrupt), Interrupter(place):
            model.rethreshold(1e9)
        seen.add((model.threshold, np.count_nonzero(model.adjacency_matrix_)))
        assert model.model_.about["parameters"]["threshold"] == repr(model.threshold)
    assert seen == {(0.0, dense), (1e9, 0)}


@pytest.fixture(scope="module")
def laplace():
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(600, 4))
    for k in range(1, 4):
        X[:, k] = np.tanh(X[:, k - 1]) + (0.1 + 0.3 * (X[:, k - 1] > 0)) * X[:, k]
    return X


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gaussian", "free"])
def test_a_search_that_is_interrupted_keeps_the_best_graph_so_far(laplace, noise):
    calls, evidences = [], []

    def search(last=None):
        def heard(move):
            calls.append(move)
            if len(calls) == last:
                raise KeyboardInterrupt

        calls.clear()
        return HNMSearch(n_restarts=1, callback=heard, noise_distribution=noise).fit(laplace)

    whole = search()
    for last in (1, 2, 3, len(calls) // 2, len(calls)):
        with pytest.warns(ConvergenceWarning, match="interrupted after .*; the best graph so far is kept"):
            model = search(last)
        assert replayed(model.history_, 4) == parents_of(model)
        assert graphs.is_dag(model.adjacency_matrix_)
        assert np.isfinite(model.score(laplace))
        evidences.append(model.evidence_)
    assert evidences == sorted(evidences)
    assert evidences[0] < evidences[-1] == pytest.approx(whole.evidence_)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs a signal to one thread")
def test_tasks_that_have_not_begun_never_do(monkeypatch):
    """Ctrl-C in the first batch of 12 + 132 families, while two threads work."""
    honest, calls, heard = family_models.fit_node, [], threading.Event()

    def interrupt(number, frame):
        threading.Timer(0.2, heard.set).start()
        raise KeyboardInterrupt

    def interrupt_one(*arguments, **options):
        calls.append(None)
        if len(calls) == 20:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # or its wait would never end
        if len(calls) >= 20:
            heard.wait(60)
        return honest(*arguments, **options)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        monkeypatch.setattr(family_models, "fit_node", interrupt_one)
        with pytest.raises(KeyboardInterrupt):
            HNMSearch(n_jobs=2).fit(np.random.default_rng(0).normal(size=(50, 12)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert 20 <= len(calls) < 80
    assert heard.is_set()  # what had begun was waited for


def test_an_error_in_one_thread_keeps_the_others_from_further_tasks():
    done, gate = [], threading.Event()

    def task(number):
        if number == 0:
            threading.Timer(0.2, gate.set).start()
            raise KeyboardInterrupt
        gate.wait(60)
        done.append(number)

    with pytest.raises(KeyboardInterrupt):
        _threads.map_on_threads(task, [range(50)], 2, lambda: None)
    assert len(done) <= 1


@pytest.mark.parametrize("listens", [False, True])
def test_no_thread_begins_for_fewer_than_two_tasks(monkeypatch, listens):
    """But for one that must not hold up an interrupt."""
    begun, honest = [], threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (begun.append(thread), honest(thread)))
    for tasks, threads in (([], 0), ([3], int(listens)), ([3, 4], 2)):
        begun.clear()
        assert _threads.map_on_threads(abs, [tasks], 4, lambda: None, listens=listens) == tasks
        assert len(begun) == threads


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs a signal to one thread")
def test_an_interrupt_is_heard_while_another_thread_is_at_work():
    gate, begun, here = threading.Event(), threading.Event(), threading.main_thread().ident

    def task(number):
        begun.set()
        gate.wait(60)

    def press():
        begun.wait(60)
        signal.pthread_kill(here, signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        _threads.map_on_threads(task, [range(3)], 1, lambda: None, listens=True)
    assert not gate.is_set()
    gate.set()


def test_what_fails_on_another_thread_fails_here():
    with pytest.raises(ZeroDivisionError):
        _threads.map_on_threads(lambda number: 1 / number, [[0]], 1, lambda: None, listens=True)
    assert _threads.map_on_threads(abs, [[-1, 2]], 1, lambda: None, listens=True) == [1, 2]


def test_neither_the_first_nor_a_second_interrupt_after_the_search_loses_its_graph(laplace, monkeypatch):
    whole, honest, calls = HNMSearch(n_restarts=1).fit(laplace), refit.strengths, []

    def pressed(found):
        calls.append(found.interrupted)
        signal.raise_signal(signal.SIGINT)
        return honest(found)

    monkeypatch.setattr(refit, "strengths", pressed)
    model = short(HNMSearch(n_restarts=1), laplace)
    assert calls == [False, True]
    assert model.interrupted_
    np.testing.assert_array_equal(model.adjacency_matrix_ != 0, whole.adjacency_matrix_ != 0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
