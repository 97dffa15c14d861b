import logging
import multiprocessing
import pickle
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
import sklearn.exceptions
from helpers import cases
from scipy import stats
from support.article import procedure
from support.estimators import two_phase_fit

from icdh import ICDH, ConvergenceWarning, DataWarning, HNMSearch, NotFittedError, graphs
from icdh.likelihood import nll


def scaled(model, table):
    return (table.values - model.offset_) / model.scale_


def standardized(**params):
    return ICDH(**{"scaling": "standardize", "random_state": 0} | params)


def two_phases(**params):
    return standardized(edge_penalty=None, **params)


def quick(**params):
    """Two rounds: enough to ask what a fit says, but not what it finds."""
    return two_phases(**{"max_rounds": 2, "tol": 1e9} | params)


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_the_chain_is_found(fitted):
    assert min(fitted.adjacency_matrix_[0, 1], fitted.adjacency_matrix_[1, 2]) > 1
    assert fitted.causal_order_ == [0, 1, 2]
    assert fitted.edge_list()[0][:2] in {("a", "b"), ("b", "c")}
    assert fitted.converged_


@pytest.mark.parametrize("how", [{}, {"schedule": "paper", "tol": 0.1, "hidden_units": 5}])
def test_with_another_activation_it_finds_the_chain_and_all_answers_are_of_that_network(chain, how):
    model = ICDH(scaling="standardize", activation="tanh", bias=True, **how).fit(chain)
    assert (model.causal_order_, model.converged_) == ([0, 1, 2], True)
    edges = {(edge.cause, edge.effect) for edge in model.edge_list()}
    assert edges - {("a", "c")} == {("a", "b"), ("b", "c")}
    assert how or len(edges) == 2  # the two phases alone leave a weak edge more
    x, outputs = scaled(model, chain), []
    for network in (part.predictor for part in model.model_.conditionals):
        s = np.tanh(x[:, network.inputs] @ network.hidden[:-1] + network.hidden[-1])
        outputs.append((s @ network.w2 + network.intercept, np.maximum(s @ network.w3, 0.0) + network.floor))
    mean, scale = np.transpose(outputs, (1, 2, 0))
    np.testing.assert_allclose(model.predict(chain), model.offset_ + model.scale_ * mean, rtol=1e-9)
    np.testing.assert_allclose(model.predict_scale(chain), model.scale_ * scale, rtol=1e-9)
    assert model.nll_ == pytest.approx(-stats.norm.logpdf(x, mean, scale).sum(axis=1).mean(), rel=1e-12)
    do = {"a": 1.0, "b": -1.0}
    drawn, expected = model.sample(20_000, 0, do=do), model.predict(model.sample(2, 0, do=do))
    assert np.asarray(drawn)[:, 2].mean() == pytest.approx(np.asarray(expected)[0, 2], abs=0.05)


def test_network_graph_likelihood_and_history_belong_together(chain):
    fitted = two_phases().fit(chain)
    np.testing.assert_array_equal(fitted.weights_, fitted.network_.adjacency())
    expected = graphs.break_cycles(graphs.threshold(fitted.weights_, 0.3)).adjacency
    np.testing.assert_array_equal(fitted.adjacency_matrix_, expected)
    assert fitted.nll_ == pytest.approx(nll(scaled(fitted, chain), fitted.network_), rel=1e-12)
    nll_of_round = fitted.history_[fitted.n_rounds_ - 1].nll
    assert nll_of_round == pytest.approx(fitted.nll_, rel=1e-14)  # a sum in another order of the variables
    assert (fitted.n_features_in_, list(fitted.feature_names_in_)) == (3, ["a", "b", "c"])


@pytest.mark.parametrize(("scaling", "centred", "divided"), [("none", 0, 0), ("center", 1, 0), ("standardize", 1, 1)])
def test_scaling_is_what_it_says(chain, scaling, centred, divided):
    model = quick(scaling=scaling).fit(chain)
    np.testing.assert_allclose(model.offset_, centred * chain.values.mean(axis=0))
    np.testing.assert_allclose(model.scale_, chain.values.std(axis=0) ** divided)


def test_predictions_and_score_are_those_of_a_normal_density_in_the_users_units(chain, fitted):
    mean, scale = fitted.predict(chain), fitted.predict_scale(chain)
    density = stats.norm.logpdf(chain.values, mean, scale).sum(axis=1).mean()
    assert fitted.score(chain) == pytest.approx(density, rel=1e-12)
    assert fitted.score(chain) == pytest.approx(-fitted.nll_ - np.log(fitted.scale_).sum(), rel=1e-12)
    np.testing.assert_allclose(fitted.residuals(chain), (chain.values - mean) / scale, rtol=1e-10, atol=1e-12)
    assert np.all(scale > 0)


def test_scores_of_new_units_differ_by_the_logarithm_of_the_unit(chain, fitted):
    """Units are powers of two, so that scaled data agree to the last bit and the fits cannot part."""
    units = np.array([2.0**10, 2.0**-7, 8.0])
    X = chain.values * units
    model = standardized().fit(X)
    np.testing.assert_array_equal(X, chain.values * units)  # a fit leaves its table as it is
    assert model.score(X) == pytest.approx(fitted.score(chain) - np.log(units).sum(), rel=1e-12)
    np.testing.assert_allclose(model.predict(X), fitted.predict(chain) * units, rtol=1e-12)
    np.testing.assert_array_equal(model.weights_, fitted.weights_)


def test_a_shift_of_the_data_shifts_the_predictions_and_leaves_the_score(chain):
    shift = np.array([0.0, 5.0, -1e3])
    here = two_phases(noise="equal").fit(chain)
    there = two_phases(noise="equal").fit(chain.values + shift)
    assert there.score(chain.values + shift) == pytest.approx(here.score(chain), abs=1e-3)
    np.testing.assert_allclose(there.predict(chain.values + shift) - shift, here.predict(chain), atol=1e-2)
    np.testing.assert_array_equal(there.adjacency_matrix_ > 0, here.adjacency_matrix_ > 0)


def test_samples_from_the_whole_network_have_standard_normal_residuals(chain):
    model = standardized(threshold=0.0).fit(chain)
    residuals = model.residuals(model.sample(4000, random_state=1))
    assert all(stats.kstest(column, "norm").pvalue > 1e-3 for column in residuals.T)
    assert np.abs(np.corrcoef(residuals.T) - np.eye(3)).max() < 0.06
    model.rethreshold(1e9)  # samples depend on causes in the graph alone
    assert not model.adjacency_matrix_.any()
    assert np.abs(np.corrcoef(model.sample(4000, random_state=3).T) - np.eye(3)).max() < 0.06


def test_samples_look_like_the_data_and_come_from_their_seed_alone(chain, fitted):
    drawn = fitted.sample(4000, random_state=2)
    assert (drawn.shape, fitted.sample().shape) == ((4000, 3), (1, 3))
    np.testing.assert_allclose(drawn.mean(axis=0), chain.values.mean(axis=0), atol=0.35)
    np.testing.assert_allclose(drawn.std(axis=0), chain.values.std(axis=0), rtol=0.25)
    assert np.corrcoef(drawn.T)[0, 1] > 0.6
    np.testing.assert_array_equal(fitted.sample(5, random_state=1), fitted.sample(5, random_state=1))
    assert np.all(fitted.sample(5, random_state=1) != fitted.sample(5, random_state=2))


def test_refitting_forgets_the_names_and_the_number_of_the_columns_but_a_failure_nothing(chain):
    named = quick().fit(chain)
    score, weights = named.score(chain), named.weights_
    model = named.fit(chain.values[:100, :2])
    assert not hasattr(model, "feature_names_in_")
    assert "x0" in model.model_.to_dot()
    model.fit(chain.values[::-1][::-1])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 2), np.nan))
    assert model.score(chain.values) == score
    np.testing.assert_array_equal(model.weights_, weights)


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_noise_of_constant_spread(chain, noise):
    model = standardized(noise=noise).fit(chain)
    spread = model.predict_scale(chain)
    np.testing.assert_allclose(spread, np.tile(spread[0], (400, 1)), rtol=1e-12)
    rms = np.sqrt(np.mean((chain.values - model.predict(chain)) ** 2, axis=0))
    expected, rtol = (model.scale_, 1e-7) if noise == "equal" else (rms, 1e-6)
    np.testing.assert_allclose(spread[0], expected, rtol=rtol)


def test_intercepts_fit_what_is_not_odd():
    x, noise = np.random.default_rng(0).normal(size=(2, 400))
    X = np.column_stack([x, (x + 1) ** 2 + 0.3 * noise])
    without, with_bias = (two_phases(bias=bias).fit(X) for bias in (False, True))
    assert with_bias.score(X) > without.score(X) + 0.5
    assert with_bias.adjacency_matrix_[0, 1] > 1


def test_a_single_variable():
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(500, 1))
    model = ICDH(bias=True, random_state=0).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_, [[0.0]])
    assert model.predict(X)[0, 0] == pytest.approx(X.mean(), abs=0.05)
    assert model.predict_scale(X)[0, 0] == pytest.approx(X.std(), rel=0.05)


def test_cycles_above_the_threshold_are_broken_with_a_warning(chain):
    model = two_phases().fit(chain)
    model.weights_ = np.array([[0.0, 2.0, 0.0], [0.5, 0.0, 1.0], [0.4, 0.0, 0.0]])
    with pytest.warns(DataWarning, match=r"2 edges on cycles removed.*smallest threshold that gives a DAG is 0.5"):
        model.rethreshold(0.3)
    np.testing.assert_array_equal(model.adjacency_matrix_, [[0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    model.rethreshold(0.51)
    assert len(model.edge_list()) == 2


def test_progress_goes_to_callback_and_logger_and_to_stderr_only_when_asked(chain, caplog, capsys):
    rounds = []
    with caplog.at_level(logging.INFO, logger="icdh"):
        model = two_phases(callback=rounds.append).fit(chain)
    assert rounds == model.history_
    assert sum(record.getMessage().startswith("round") for record in caplog.records) == len(rounds)
    assert capsys.readouterr() == ("", "")
    two_phases(verbose=True).fit(chain)
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", len(rounds))


def test_too_few_rounds_are_reported(chain):
    with pytest.warns(ConvergenceWarning, match=r"the fit still improved after 1 round; raise max_rounds"):
        model = two_phases(max_rounds=1).fit(chain)
    assert not model.converged_


def test_an_unmet_constraint_is_reported(chain, monkeypatch):
    honest = two_phase_fit.fit_problem

    def cyclic(*args, **kwargs):
        result = honest(*args, **kwargs)
        return result._replace(best=result.best._replace(h=1e-3), converged=False)

    monkeypatch.setattr(two_phase_fit, "fit_problem", cyclic)
    with pytest.warns(ConvergenceWarning, match=r"h = 1.0e-03 stayed above h_tol=1e-08"):
        two_phases().fit(chain)


@cases(("params", "reason"), ({}, "interrupted after 1 round; the"), ({"n_restarts": 3, "n_jobs": 2}, "interrupted"))
def test_an_interrupt_keeps_the_best_round_and_what_other_processes_finished(chain, params, reason):
    with pytest.warns(ConvergenceWarning, match=reason):
        model = two_phases(callback=interrupt, **params).fit(chain)
    assert params or model.n_rounds_ == len(model.history_) == 1
    assert not model.converged_
    assert np.isfinite([model.nll_, model.score(chain)]).all()


def criterion_of(model):
    return model.history_[model.n_rounds_ - 1].criterion


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["fast", "paper"])
def test_restarts_keep_the_network_of_the_lowest_criterion(chain, schedule):
    parameters = {"scaling": "standardize", "schedule": schedule, "hidden_units": 3, "tol": 0.1, "edge_penalty": None}
    model, rng = ICDH(n_restarts=3, **parameters).fit(chain), np.random.default_rng(0)
    single = [criterion_of(ICDH(random_state=rng, **parameters).fit(chain)) for _ in range(3)]
    assert criterion_of(model) == min(single) == min(record.criterion for record in model.history_) < max(single)


@pytest.mark.slow
def test_processes_change_nothing_but_the_time(chain):
    seen, alone = [], two_phases(n_restarts=3).fit(chain)
    shared = two_phases(n_restarts=3, n_jobs=2, callback=lambda record: seen.append(record)).fit(chain)
    assert shared.nll_ == alone.nll_
    np.testing.assert_array_equal(shared.weights_, alone.weights_)
    assert {record.nll for record in shared.history_} <= {record.nll for record in seen}
    assert sum(record.round == 1 for record in seen) == 3


def test_restarts_inside_of_a_daemonic_process(chain):
    """Such a process may not start others: pools of multiprocessing are made of them."""
    with multiprocessing.Pool(1) as pool:
        inside = pool.apply(quick(n_restarts=2, n_jobs=2).fit, (chain,))
    assert inside.nll_ == quick(n_restarts=2).fit(chain).nll_


def test_an_interrupt_of_a_restart_keeps_the_ones_before(chain):
    rounds = []

    def interrupt_the_next(record):
        if rounds and record.round == 1:
            interrupt()
        rounds.append(record)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = two_phases(n_restarts=2, callback=interrupt_the_next).fit(chain)
    assert criterion_of(model) <= min(record.criterion for record in rounds)


def test_an_interrupt_before_the_first_round_is_raised(chain, monkeypatch):
    monkeypatch.setattr(procedure, "fit_means", interrupt)
    model = standardized()
    with pytest.raises(KeyboardInterrupt):
        model.fit(chain)
    with pytest.raises(NotFittedError):
        model.predict(chain)


def test_columns_of_a_data_frame_must_come_back_as_they_were(chain):
    frame = pd.DataFrame(chain.values, columns=chain.columns)
    model = quick().fit(frame)
    for method in (model.predict, model.predict_scale, model.residuals, model.score):
        with pytest.raises(ValueError, match=r"column 0 of X is 'c' where fit saw 'a'.*feature_names_in_"):
            method(frame[["c", "b", "a"]])
    with pytest.raises(ValueError, match="2 features, but StructuralModel is expecting 3 features"):
        model.score(frame[["a", "b"]])
    for method in (model.predict, model.predict_scale, model.residuals):
        with pytest.raises(ValueError, match="2 features, but StructuralModel is expecting 3 features"):
            method(chain.values[:, :2])
    np.testing.assert_array_equal(model.predict(frame), model.predict(chain.values))
    assert model.predict(frame[:1]).shape == (1, 3)


OF_A_TABLE = ["predict", "predict_scale", "residuals", "score"]
OF_NONE = ["sample", "to_networkx", "edge_list", "summary", "plot", "effects", "rethreshold"]


@pytest.mark.parametrize("method", [*OF_A_TABLE, *OF_NONE])
@pytest.mark.parametrize("make", [ICDH, HNMSearch])
def test_before_fit_methods_say_so(chain, method, make):
    with pytest.raises(NotFittedError, match=f"this {make.__name__} is not fitted yet; call fit") as error:
        getattr(make(), method)(*[chain] if method in OF_A_TABLE else [])
    for kind in (sklearn.exceptions.NotFittedError, AttributeError, ValueError):
        assert isinstance(error.value, kind)
    copy = pickle.loads(pickle.dumps(error.value))
    assert (isinstance(copy, NotFittedError), copy.args) == (True, error.value.args)


def test_an_independent_column_of_tiny_units_leaves_the_fit_of_the_others(chain):
    """Its scale must neither hold the weights of other nodes down nor begin where h leaves no other way."""
    tiny = 1e-6 * np.random.default_rng(7).normal(size=(400, 1))
    with pytest.warns(DataWarning, match=r"column 'x3' has standard deviation 9.2e-07"):
        model = ICDH(random_state=0).fit(np.hstack([chain.values, tiny]))
    own = np.log(1e-6) + 0.5 * np.log(2 * np.pi) + 0.5
    assert model.nll_ - own == pytest.approx(ICDH(random_state=0).fit(chain.values).nll_, abs=0.3)
    assert not model.adjacency_matrix_[3].any()
    assert not model.adjacency_matrix_[:, 3].any()


@cases(
    ("units", "message"),
    ([1e-4, 1.0, 1e3], r"column 'x0' has standard deviation .*e-04, column 'x2' has .*e\+03, far from"),
    *(([1.0, unit, 1.0], r"column 'x1' has .*use scaling='standardize'") for unit in (1e-3, 1e3)),
    *(([unit] * 3, None) for unit in (0.2, 20.0)),
)
def test_units_in_which_graphs_go_wrong_are_named(chain, units, message):
    with pytest.warns(DataWarning, match=message) if message else nullcontext():
        quick(scaling="none").fit(chain.values * units)


@pytest.mark.filterwarnings("ignore::icdh.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("weights", "of"), [([1.0, 0.0, -2.0], "'x0', 'x2'"), ([0.0, -3e6, 0.0], "'x1'")])
def test_sums_and_multiples_are_named(chain, weights, of):
    x, other = np.asarray(chain.values), np.random.default_rng(9).normal(size=400)
    column = x @ weights + 5.0
    with pytest.warns(DataWarning) as caught:
        quick(max_rounds=1).fit(np.column_stack([x, other, column + 1e-3 * column.std() * other]))
    (message,) = [str(own.message) for own in caught if "sums or multiples" in str(own.message)]
    assert f"'x4' (of {of}):" in message
    assert caught[0].filename == __file__


def test_what_is_no_sum_is_not_named(chain, recwarn):
    """Columns that others explain but for a tenth of their spread; ones of so few rows that all are sums."""
    x, noise = np.asarray(chain.values), np.random.default_rng(9).normal(size=400)
    for X in (np.column_stack([x, x[:, 0] + 0.1 * x[:, 0].std() * noise]), x[:4, :3], np.column_stack([x, x[:, 0]])):
        quick(max_rounds=1).fit(X)
    assert not [own for own in recwarn if "sums or multiples" in str(own.message)]


@pytest.mark.slow
def test_fewer_rows_than_columns_are_no_convergence():
    """Every family of more inputs than rows can be interpolated: that nothing improves any more says nothing."""
    X = np.random.default_rng(0).normal(size=(3, 8))
    with pytest.warns(DataWarning, match="3 observations of 8 variables: expect an unreliable graph"):
        assert not ICDH(scaling="standardize").fit(X).converged_


@pytest.mark.parametrize("estimator", [ICDH(max_rounds=1), HNMSearch(n_restarts=1)])
@pytest.mark.parametrize("missing", ["error", "impute"])
def test_warnings_name_the_line_that_called_fit(estimator, missing):
    """However deep they come from: imputations fit behind three more calls."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[:, 2] = X[:, 0]
    if missing == "impute":
        X[4, 1] = np.nan
    with pytest.warns(DataWarning) as caught:
        estimator.set_params(missing=missing).fit(X)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("kind", [ICDH, HNMSearch])
def test_type_checkers_know_every_fitted_attribute(kind, chain):
    table = chain.values.copy()
    table[::50, 1] = np.nan
    model = kind(missing="impute", n_imputations=2, hidden_units=2).fit(pd.DataFrame(table, columns=chain.columns))
    typed = {name for base in kind.__mro__ for name in vars(base).get("__annotations__", {})}
    assert {name for name in vars(model) if name.endswith("_")} <= typed
