"""The numbers that a column is recorded by, and transforms with their inverses."""

import numpy as np
import pytest
from support.table import Rescaled, fit_transform, grid_of

from icdh import HNMSearch


@pytest.mark.parametrize(("first", "step", "digits"), [(0, 1, 0), (-40, 20, 0), (3, 25, 2), (1, 1, 4)])
def test_draws_are_on_the_grid_of_decimals_to_the_last_bit(first, step, digits):
    rng = np.random.default_rng(0)
    texts = [f"{(first + step * k) / 10**digits:.{digits}f}" for k in rng.permutation(300)]
    grid = grid_of(np.array(texts, dtype=float))
    assert (grid.first, grid.step, grid.digits, grid.single) == (first, step, digits, False)
    drawn = grid.nearest(rng.normal(first, 50 * step, size=200) / 10**digits)
    assert drawn.tolist() == [float(f"{value:.{digits}f}") for value in drawn]
    offsets = np.rint(drawn * 10**digits).astype(int) - first
    assert not (offsets % step).any()


def test_decimals_of_single_precision_stay_so():
    values = np.arange(300, dtype=np.float32) / np.float32(10.0)
    grid = grid_of(values.astype(float))
    assert (grid.digits, grid.single) == (1, True)
    np.testing.assert_array_equal(grid.nearest(values.astype(float) + 0.01), values.astype(float))


def test_values_that_new_rows_repeat_are_their_grid():
    values = np.repeat([0.3, np.pi, 65.0], [30, 50, 20])
    grid = grid_of(values)
    np.testing.assert_array_equal(grid.nearest(np.array([-9.0, 3.0, 40.0, 900.0])), [0.3, np.pi, 65.0, 65.0])


def test_beyond_values_that_new_rows_repeat_the_steps_go_on():
    values = np.repeat([10.0, 15.0, 25.0, 30.0], 50)
    grid = grid_of(values)
    np.testing.assert_array_equal(grid.nearest(np.array([2.0, 19.9, 31.0, 44.0])), [0.0, 15.0, 30.0, 45.0])


def test_numbers_in_the_cell_of_an_end_are_that_end():
    """Beyond a gap of the grid, too: the cell of zero beside 0.3 is wider than a step of 0.1."""
    observed = np.append(0.0, np.arange(3, 20) / 10.0)
    grid = grid_of(np.repeat(observed, 60))
    low, high = grid.cells(observed)
    np.testing.assert_array_equal(grid.nearest(0.99 * low + 0.01 * high), observed)
    np.testing.assert_array_equal(grid.nearest(0.01 * low + 0.99 * high), observed)
    np.testing.assert_array_equal(grid.nearest(np.array([-0.2, 2.0])), [-0.2, 2.0])


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e200])
def test_numbers_of_many_digits_have_none(scale):
    assert grid_of(scale * np.random.default_rng(0).normal(size=200)) is None
    assert grid_of(np.full(20, np.pi)) is None


@pytest.mark.parametrize("kind", ["log", "yeo-johnson"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("power", [0.0, 1.0, 3.0])
def test_transforms_have_an_inverse_and_a_slope_also_beyond_the_column(kind, sign, power):
    rng = np.random.default_rng(1)
    column = np.exp(power * rng.normal(size=400)) if power else rng.normal(size=400)
    column = (column - column.mean()) / column.std()
    rescaled = Rescaled(fit_transform(kind, column, column.min(), None), sign, 0.3, 1.7)
    below = 2.0 * (kind == "yeo-johnson")  # no logarithm goes on below
    above = np.linspace(column.min() - below, column.max() + 3.0, 4001)
    x = sign * above
    z = rescaled.apply(x)
    np.testing.assert_allclose(rescaled.undo(z), x, atol=1e-9)
    assert (np.diff(z) * sign > 0.0).all()
    slope = np.gradient(z, x)[1:-1]
    smooth = (np.abs(above[1:-1] - column.max()) > 0.01) & (np.abs(above[1:-1] - column.min()) > 0.1)
    np.testing.assert_allclose(slope[smooth], np.exp(rescaled.log_slope(x))[1:-1][smooth], rtol=2e-2)


def test_what_lies_far_beyond_a_column_grows_in_proportion():
    column = np.random.default_rng(2).lognormal(sigma=1.5, size=500)
    column = (column - column.mean()) / column.std()
    transform = fit_transform("log", column, column.min(), None)
    far = transform.undo(transform.apply(np.array([column.max()])) + np.array([0.0, 10.0, 20.0]))
    assert far[2] - far[1] == pytest.approx(far[1] - far[0])


def test_cells_reach_half_way_to_the_next_values_and_as_far_at_the_ends():
    """Also of two values alone, where a user declares such a column to be rounded."""
    two, three = (grid_of(np.repeat(values, 50)) for values in ([0.0, 1.0], [0.0, 1.0, 5.0]))
    np.testing.assert_array_equal(two.cells(np.array([1.0, 0.0])), [[0.5, -0.5], [1.5, 0.5]])
    np.testing.assert_array_equal(three.cells(np.array([0.0, 1.0, 5.0])), [[-0.5, 0.5, 3.0], [0.5, 3.0, 7.0]])


@pytest.mark.parametrize("noise", ["auto", "free"])
def test_rounded_rows_are_as_likely_as_their_neighbours(noise):
    """The bins of a free density do not know the numbers of a grid: every whole age has the density of its year."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(20, 60, 1500), rng.normal(size=1500)]).astype(float)
    model, true = HNMSearch(noise_distribution=noise).fit(table), -np.log(40.0) - 0.5 * np.log(2.0 * np.pi * np.e)
    assert model.score(table) == pytest.approx(true, abs=0.05)
    for moved in (-0.3, -0.1, 0.1, 0.3):
        assert model.score(table + [moved, 0.0]) == pytest.approx(true, abs=0.1)
