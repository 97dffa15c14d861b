"""Odd arguments of the public mathematics: each is read as what it means, or refused by an error that names it."""

import copy
import dataclasses
import pickle
import re
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import cases, random_weights
from scipy.sparse import csr_matrix
from support.article import FamilyFitter, fit_problem, fit_scales

from icdh.acyclicity import acyclicity
from icdh.likelihood import nll, nll_and_gradient
from icdh.network import TANH, Activation, Weights, forward, initial_weights
from icdh.two_phase import Limits, Problem, algorithm_1, algorithm_2, algorithm_3, phase_two_objective

RNG = np.random.default_rng(0)
X = RNG.integers(-12, 12, size=(20, 3)) / 4.0  # exact in half precision
SCALE = RNG.integers(2, 12, size=X.shape) / 4.0
ROWS = RNG.random(X.shape) < 0.6
A = RNG.integers(-3, 3, size=(3, 3)) / 4.0
WEIGHTS, BIASED = (
    random_weights(np.random.default_rng(1), 3, 4, bias).map(lambda part: np.round(4.0 * part) / 4.0)
    for bias in (False, True)
)
THETA = WEIGHTS.to_vector()
PENALTIES = {"l1": 0.1, "l2": 0.2, "rho": 3.0, "alpha": 0.5}
QUICK = Limits(max_rounds=1, h_tol=1e6)


def drawn(**given):
    return initial_weights(**{"X": X, "hidden_units": 4, "bias": False, "rng": np.random.default_rng(0)} | given)


def objective(**given):
    return phase_two_objective(**{"X": X, "scale": SCALE, "weights": WEIGHTS} | PENALTIES | given)


def with_part(name, given):
    return dataclasses.replace(BIASED, **{name: given})


# Every function of an array: the name of the argument, its usual value, and the call.
OF_ARRAYS = {
    "nll": ("X", X, lambda given: nll(given, WEIGHTS)),
    "forward": ("X", X, lambda given: forward(given, BIASED)),
    "nll_and_gradient": ("X", X, lambda given: nll_and_gradient(given, BIASED)),
    "a fixed scale": ("scale", SCALE, lambda given: nll_and_gradient(X, WEIGHTS, scale=given)),
    "rows": ("rows", ROWS, lambda given: nll_and_gradient(X, WEIGHTS, rows=given)),
    "rows and scale": ("rows", ROWS, lambda given: nll_and_gradient(X, BIASED, rows=given, scale=SCALE)),
    "initial_weights": ("X", X, lambda given: drawn(X=given)),
    "acyclicity": ("A", A, acyclicity),
    "w2": ("w2", WEIGHTS.w2, lambda given: with_part("w2", given)),
    "hidden_bias": ("hidden_bias", BIASED.hidden_bias, lambda given: with_part("hidden_bias", given)),
    "phase_two_objective": ("X", X, lambda given: objective(X=given)),
    "its scale": ("scale", SCALE, lambda given: objective(scale=given)),
    "Problem.of": ("X", X, lambda given: Problem.of(given).values),
    "algorithm_3": ("scale", SCALE, lambda given: algorithm_3(Problem.of(X), given, WEIGHTS, QUICK)),
}


def unaligned(a):
    raw = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype).reshape(a.shape)
    raw[...] = a
    return raw


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


SAME = {
    "an array of its own": np.copy,
    "a list": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a.tolist())),
    "Fortran order": np.asfortranarray,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "read-only, Fortran order": lambda a: read_only(np.asfortranarray(a)),
    "unaligned": unaligned,
    "single precision": lambda a: a.astype(np.float32),
    "half precision": lambda a: a.astype(np.float16),
    "extended precision": lambda a: a.astype(np.longdouble),
    "big-endian": lambda a: a.astype(">f8"),
    "masked, without a masked entry": np.ma.array,
    "pandas": pd.DataFrame,
    "pandas in an order of its own": lambda a: pd.DataFrame(a).iloc[:, ::-1].iloc[:, ::-1],
    "polars": lambda a: pl.DataFrame(a, schema=["0", "1", "2", "3"][: a.shape[1]]),
}


@pytest.mark.parametrize("form", SAME)
@pytest.mark.parametrize("function", OF_ARRAYS)
def test_every_form_of_an_array_is_read_as_the_array(function, form):
    _, usual, call = OF_ARRAYS[function]
    given = SAME[form](usual)
    before = copy.deepcopy(given)
    np.testing.assert_equal(as_arrays(call(given)), as_arrays(call(usual)))
    np.testing.assert_array_equal(np.asarray(given), np.asarray(before))


def as_arrays(answer):
    if isinstance(answer, Weights):
        return answer.to_vector()
    return list(map(as_arrays, answer)) if isinstance(answer, tuple) else answer


@pytest.mark.parametrize("kind", [bool, int, np.int8, np.uint8, float, np.float32])
@pytest.mark.parametrize("container", [np.array, np.ndarray.tolist, pd.DataFrame, lambda a: pl.DataFrame(a)])
def test_rows_are_truth_values_or_ones_and_zeros(kind, container):
    right, gradient = nll_and_gradient(X, WEIGHTS, rows=ROWS)
    value, same = nll_and_gradient(X, WEIGHTS, rows=container(ROWS.astype(kind)))
    assert (value, same) == (right, gradient)
    assert value != nll(X, WEIGHTS)


def changed(a, value):
    a = np.array(a, dtype=np.result_type(type(value), float) if not isinstance(value, (str, datetime)) else object)
    a[0, 0] = value
    return a


ODD = {
    "NaN": lambda a: changed(a, np.nan),
    "infinity": lambda a: changed(a, np.inf),
    "complex": lambda a: a.astype(complex),
    "complex step": lambda a: changed(a, 1e-30j),
    "text": lambda a: a.astype(str),
    "a text among numbers": lambda a: changed(a, "three"),
    "dates": lambda a: changed(a, datetime(2020, 1, 1)),
    "a gap": lambda a: [[None, *a[0, 1:]], *a[1:].tolist()],
    "a masked entry": lambda a: np.ma.array(a, mask=np.eye(*a.shape, dtype=bool)),
    "ragged": lambda a: [a[0, :1].tolist(), *a[1:].tolist()],
    "one row": lambda a: a[0],
    "three axes": lambda a: a[np.newaxis],
    "a number": lambda a: 2.0,
    "transposed with a column more": lambda a: np.vstack([a, a[:1]]).T,
    "no rows": lambda a: a[:0],
    "None": lambda a: None,
    "the name of a file": lambda a: "table.csv",
    "a dictionary": lambda a: {"a": a[:, 0], "b": a[:, 1]},
    "sparse": csr_matrix,
    "a function": lambda a: np.sin,
    "pandas with a gap": lambda a: pd.DataFrame(changed(a, np.nan)).astype("Float64"),
    "pandas with text": lambda a: pd.DataFrame(a).assign(**{"0": "x"}),
    "polars with a null": lambda a: pl.DataFrame([[None, *a[1:, 0]], a[:, 1], a[:, 2]], strict=False),
    "two columns of one name": lambda a: pd.DataFrame(a, columns=["x"] * a.shape[1]),
}
# None means the default, weights may hold what is no finite number, labels of a matrix may repeat, and a table may have
# any number of columns.
MEANT = {
    *((name, "None") for name in ("a fixed scale", "rows", "rows and scale", "hidden_bias")),
    *((part, number) for part in ("w2", "hidden_bias") for number in ("NaN", "infinity", "pandas with a gap")),
    ("acyclicity", "two columns of one name"),
    *((name, "transposed with a column more") for name in ("initial_weights", "Problem.of")),
}


@pytest.mark.parametrize("form", ODD)
@pytest.mark.parametrize("function", OF_ARRAYS)
def test_what_is_no_such_array_is_refused_by_the_name_of_the_argument(function, form):
    argument, usual, call = OF_ARRAYS[function]
    if (function, form) in MEANT:
        call(ODD[form](usual))
        return
    with pytest.raises((TypeError, ValueError), match=rf"\b{argument}\b") as error:
        call(ODD[form](usual.astype(float)))
    assert not re.search("ufunc|inhomogeneous shape|broadcast|numba|object is not|NoneType", str(error.value))


@cases(
    ("argument", "given", "problem"),
    ("scale", 0.0 * SCALE, "must be positive"),
    ("scale", -SCALE, "must be positive"),
    ("rows", 2 * ROWS, "True and False, or 1 and 0; got 2.0"),
    ("rows", 0.5 * ROWS, "True and False, or 1 and 0; got 0.5"),
    ("rows", pd.DataFrame(ROWS, index=range(19, -1, -1)), "other row labels than X"),
    ("scale", pd.DataFrame(SCALE, columns=["b", "a", "c"]), "other columns than X"),
)
def test_what_may_be_meant_otherwise_is_refused(argument, given, problem):
    with pytest.raises((TypeError, ValueError), match=f"{argument} .*{problem}"):
        nll_and_gradient(pd.DataFrame(X, columns=["a", "b", "c"]), WEIGHTS, **{argument: given})


def test_huge_values_are_refused_and_large_ones_overflow_nowhere():
    with pytest.raises(ValueError, match=r"X holds values above 1e\+60"):
        nll(1e61 * X, WEIGHTS)
    value, gradient = nll_and_gradient(1e60 / 3.0 * X, WEIGHTS)
    assert np.isfinite([value, *gradient.to_vector()]).all()
    assert nll(1e60 / 3.0 * X, WEIGHTS) == pytest.approx(value)
    assert nll_and_gradient(X, WEIGHTS, scale=1e-300 * SCALE)[0] == np.inf


def test_a_matrix_is_read_by_its_labels():
    labelled = pd.DataFrame(A, index=["a", "b", "c"], columns=["a", "b", "c"])
    assert acyclicity(labelled.loc[["c", "a", "b"]])[0] == acyclicity(A)[0]
    with pytest.raises(ValueError, match="A has the label"):
        acyclicity(labelled.rename(index={"a": "d"}))


OF_NUMBERS = {
    "hidden_units": (lambda given: drawn(hidden_units=given), [0, -1, 2.5, "ten", None, True, np.nan]),
    "bias": (lambda given: drawn(bias=given), [1, 0.0, "yes", None]),
    "rng": (lambda given: drawn(rng=given), [0, None, np.random.RandomState(0), "seed"]),
    **{
        name: (lambda given, name=name: objective(**{name: given}), [-0.1, np.nan, np.inf, "0.1", None, True, 1j])
        for name in PENALTIES
    },
    "noise": (lambda given: Problem.of(X, noise=given), ["gaussian", None, 1]),
    "activation": (lambda given: Problem.of(X, activation=given), ["tanh", None, -1.0, Activation]),
    "activation of": (lambda given: with_part("activation", given), ["tanh", None, -1.0, np.tanh]),
    "low": (lambda given: Activation("flat", given), [1.0, 2, np.nan, -np.inf, "0", None]),
    "knowledge": (lambda given: Problem.of(X, knowledge=given), [[(0, 1)], "x0 -> x1", {"needed": [(0, 1)]}]),
    "max_rounds": (lambda given: Limits(max_rounds=given), [0, 1.5, None, "ten"]),
    "h_tol": (lambda given: Limits(h_tol=given), [0.0, -1e-8, np.nan, None]),
}


@pytest.mark.parametrize(("argument", "given"), [(name, own) for name, (_, odd) in OF_NUMBERS.items() for own in odd])
def test_a_wrong_number_is_refused_by_its_name(argument, given):
    with pytest.raises((TypeError, ValueError), match=rf"\b{argument.split()[0]}\b"):
        OF_NUMBERS[argument][0](given)


NOT_FINITE = WEIGHTS.map(lambda part: part + np.nan)
OF_WEIGHTS = {
    "nll": lambda given: nll(X, given),
    "forward": lambda given: forward(X, given),
    "nll_and_gradient": lambda given: nll_and_gradient(X, given, rows=ROWS),
    "phase_two_objective": lambda given: objective(weights=given),
    "algorithm_1": lambda given: algorithm_1(Problem.of(X), given, QUICK),
    "algorithm_2": lambda given: algorithm_2(Problem.of(X), given),
    "algorithm_3": lambda given: algorithm_3(Problem.of(X), SCALE, given, QUICK),
}


@pytest.mark.parametrize("function", OF_WEIGHTS)
@pytest.mark.parametrize("given", [None, WEIGHTS.w1, THETA, [*vars(WEIGHTS).values()], NOT_FINITE, Weights], ids=str)
def test_what_are_no_weights_is_refused(function, given):
    with pytest.raises((TypeError, ValueError), match=r"^weights (must be|hold)"):
        OF_WEIGHTS[function](given)


def test_weights_go_with_the_problem():
    for weights in (BIASED, random_weights(np.random.default_rng(0), 4, 3, bias=False)):
        with pytest.raises(ValueError, match="weights must be of 3 variables"):
            algorithm_2(Problem.of(X), weights)
    with pytest.raises(TypeError, match=r"problem must be an icdh\.two_phase\.Problem; got a ndarray"):
        algorithm_2(X, WEIGHTS)
    with pytest.raises(ValueError, match="problem has weights of rows"):
        algorithm_2(dataclasses.replace(Problem.of(X), weights=np.ones(len(X))), WEIGHTS)
    assert algorithm_2(Problem.of(X, bias=True), BIASED).w1 is not BIASED.w1


ANOTHER = dataclasses.replace(WEIGHTS, activation=TANH)
OF_PROBLEM = {
    "algorithm_1": lambda problem, given: algorithm_1(problem, given, QUICK),
    "algorithm_2": algorithm_2,
    "algorithm_3": lambda problem, given: algorithm_3(problem, SCALE, given, QUICK),
    "the fast procedure": lambda problem, given: fit_problem(problem, "fast", QUICK, given),
    "its scales": fit_scales,
    "families": lambda problem, given: FamilyFitter(problem, 1.0).refit(given, [(0, ())]),
}


@pytest.mark.parametrize("call", OF_PROBLEM.values(), ids=OF_PROBLEM)
def test_weights_have_the_activation_of_the_problem(call):
    for weights, other in ((WEIGHTS, ANOTHER), (ANOTHER, WEIGHTS)):
        problem = Problem.of(X, activation=weights.activation)
        message = f"activation of the problem, .*{weights.activation.name}.*; got .*{other.activation.name}"
        with pytest.raises(ValueError, match=f"^weights must have the {message}"):
            call(problem, other)
        call(problem, weights)


def test_weights_are_a_value():
    w1 = WEIGHTS.w1.copy()
    parts = w1, WEIGHTS.w2.tolist(), pd.DataFrame(WEIGHTS.w3), pd.Series(WEIGHTS.w3_bias)
    weights = Weights(*parts)
    w1[0, 0, 1] = 99.0
    assert weights == WEIGHTS
    assert hash(weights) == hash(WEIGHTS)
    assert {weights: "found"}[WEIGHTS] == "found"
    for copied in (copy.copy(weights), copy.deepcopy(weights), pickle.loads(pickle.dumps(weights))):
        assert copied == WEIGHTS
        for part in (copied.w1, copied.w2, copied.w3, copied.w3_bias):
            assert part.flags.c_contiguous
            with pytest.raises(ValueError, match="read-only"):
                part[...] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        weights.w2 = w1


def test_weights_differ_by_a_number_a_shape_or_a_part():
    moved = WEIGHTS.from_vector(THETA + 1e-12 * (np.arange(THETA.size) == THETA.size - 1))
    wide = Weights(np.zeros((2, 2, 2)), np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2))
    tall = Weights(np.zeros((1, 6, 1)), np.zeros((1, 6)), np.zeros((1, 6)), np.zeros(1))
    some = dataclasses.replace(BIASED, output_bias=None)
    different = [WEIGHTS, moved, wide, tall, BIASED, some, ANOTHER, THETA, None]
    assert [(a == b) is True for a in different[:-2] for b in different] == [i == j for i in range(7) for j in range(9)]
    assert hash(ANOTHER) != hash(WEIGHTS)
    assert -0.0 * wide.w2[0, 0] == 0.0
    negative = wide.map(np.negative)
    assert (negative == wide, hash(negative) == hash(wide)) == (True, True)


def test_the_activation_stays_with_the_weights():
    same = [ANOTHER.map(np.negative), ANOTHER.from_vector(THETA), nll_and_gradient(X, ANOTHER)[1]]
    same += [copy.deepcopy(ANOTHER), pickle.loads(pickle.dumps(ANOTHER)), drawn(activation=TANH)]
    same += algorithm_1(Problem.of(X, activation=TANH), ANOTHER, QUICK)[:1]
    assert {weights.activation for weights in same} == {TANH}
    assert objective(weights=ANOTHER)[1].activation == TANH
    assert Activation("tanh", -1) == TANH != Activation("tanh", -0.5)


def test_the_vector_has_the_order_of_its_page():
    vector = BIASED.to_vector()
    order = "w1", "w2", "w3", "w3_bias", "hidden_bias", "output_bias"
    np.testing.assert_array_equal(vector, np.concatenate([getattr(BIASED, name).ravel() for name in order]))
    assert BIASED.from_vector(vector) == BIASED
    with_loops = vector.copy()
    with_loops[0] = 5.0  # w1[0, 0, 0]
    assert BIASED.from_vector(with_loops) == BIASED
    for form in ("NaN", "read-only"):
        assert BIASED.from_vector({**SAME, **ODD}[form](vector[np.newaxis])[0]).w1.shape == BIASED.w1.shape
    for odd in (vector[:-1], vector[np.newaxis], vector + 0j, vector.astype(str), None, 3.0, "theta"):
        with pytest.raises((TypeError, ValueError), match=r"^theta "):
            BIASED.from_vector(odd)


def test_map_takes_each_part_with_those_of_others():
    step = BIASED.map(lambda part, other: part - 0.1 * other, BIASED)
    np.testing.assert_allclose(step.to_vector(), 0.9 * BIASED.to_vector(), rtol=1e-15)
    with pytest.raises(ValueError, match="others must have the parts w1, w2, w3, w3_bias, hidden_bias, output_bias"):
        BIASED.map(np.add, WEIGHTS)
    with pytest.raises(ValueError, match=r"w2 must have shape \(3, 4\); got \(3,\)"):
        WEIGHTS.map(lambda part: part if part.ndim == 3 else part.sum(axis=-1))
