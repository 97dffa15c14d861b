"""What all kernels share: exponential, Gram matrix, Cholesky, damping."""

import numpy as np
import pytest
from helpers import cases
from support.utils import jit as _jit


def shared_exp(*values):
    """The exponential of the kernels at every value."""
    return np.array([apply_exp(value) for value in values])


@_jit.kernel(fastmath=_jit.CONTRACT)
def apply_exp(value):
    return _jit.exp(value)


def test_the_exponential_is_that_of_numpy_and_clipped_where_that_overflows():
    x = np.concatenate([np.linspace(-700.0, 700.0, 4001), np.linspace(-1.0, 1.0, 101)])
    np.testing.assert_allclose(shared_exp(*x), np.exp(x), rtol=2 * np.finfo(float).eps)  # both may be an ulp off
    for large in (1e9, 1e300):
        np.testing.assert_array_equal(shared_exp(-large, large), shared_exp(-708.0, 708.0))
    assert np.isfinite(shared_exp(-708.0, 708.0)).all()


@pytest.mark.parametrize("shape", [(4, 4), (8, 12), (12, 4)])
def test_products_are_added_to_what_is_there(shape):
    rng = np.random.default_rng(shape)
    a, b, before = rng.normal(size=(shape[0], 9)), rng.normal(size=(shape[1], 9)), rng.normal(size=shape)
    product, gram = before.copy(), np.ones((shape[0], shape[0]))
    _jit.add_product(a, len(a), b, 7, product)
    _jit.add_gram(a, 7, gram)
    np.testing.assert_allclose(product - before, a[:, :7] @ b[:, :7].T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.triu(gram - 1.0), np.triu(a[:, :7] @ a[:, :7].T), rtol=1e-12, atol=1e-14)


def test_the_padding_of_a_block_to_a_multiple_of_four_rows_holds_no_remains_of_other_objects():
    """They would often be subnormal numbers, which cost a hundred times as much."""
    assert [_jit.padded(size) for size in range(10)] == [0, 4, 4, 4, 4, 8, 8, 8, 8, 12]
    for size in (1, 2, 3, 4, 5, 15):
        remains = [np.full((_jit.padded(size), _jit.ROWS), 1e-310) for _ in range(50)]
        del remains
        block = _jit.empty_block(size)
        assert block.shape == (_jit.padded(size), _jit.ROWS)
        assert not block[size:].any()


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_cholesky_factor_determinant_and_solution(size):
    rng = np.random.default_rng(size)
    root, b = rng.normal(size=(size + 1, size + 1)), rng.normal(size=size)
    whole = root @ root.T + np.eye(size + 1)
    block, factor, solution = whole[:size, :size], whole.copy(), b.copy()
    assert _jit.cholesky_in_place(factor, size) == pytest.approx(np.linalg.slogdet(block)[1], rel=1e-12)
    np.testing.assert_allclose(np.triu(factor[:size, :size]), np.linalg.cholesky(block).T, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(factor[:, size], whole[:, size])
    _jit.cholesky_solve(factor, solution)
    np.testing.assert_allclose(block @ solution, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [np.zeros((1, 1)), np.full((2, 2), 4.0), np.diag([1.0, -1.0, 1.0]), np.diag([1.0, np.nan]), np.eye(2) * np.nan],
    ids=["zero", "singular", "indefinite", "nan at the end", "nan"],
)
def test_what_is_not_positive_definite_has_no_determinant(matrix):
    assert np.isnan(_jit.cholesky_in_place(matrix.copy(), len(matrix)))


def test_damping_falls_with_trust_and_grows_ever_faster_without():
    """Nielsen's schedule: a third after a step that was predicted well, twice, then eight times, then 64 times."""
    for ratio, expected in ((1.0, 0.1), (0.5, 0.3), (1e-9, 0.6)):
        assert _jit.next_damping(0.3, 8.0, ratio) == (pytest.approx(expected), 2.0)
    damping, growth, seen = 1.0, 2.0, []
    for ratio in (-1.0, 0.0, np.nan):
        damping, growth = _jit.next_damping(damping, growth, ratio)
        seen.append(damping)
    assert seen == [2.0, 8.0, 64.0]
    assert _jit.next_damping(1e-12, 2.0, 1.0)[0] > 0.0


@cases(("fall", "predicted", "count"), (0.5, 9.0, 3), (5.0, 0.1, 0), (-1.0, 0.1, 3), (-1.0, 9.0, 2), (0.0, 9.0, 2))
def test_small_steps_in_a_row_are_counted(fall, predicted, count):
    """Of a failed step the prediction counts; a large prediction that failed leaves the count as it is."""
    assert _jit.small_steps(2, fall, predicted, 1.0) == count
