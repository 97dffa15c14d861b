"""Scaling, that it can be undone, and the table as a search sees it, whatever the order and signs of the columns."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import free
from support.estimators import CanonicalTable
from support.table import Design, Scaling, Table


@pytest.fixture
def table():
    """Columns far from zero, in large units, and constant: 0.1 is not the mean of 0.1, 0.1, 0.1 as computed."""
    x = np.random.default_rng(0).normal(size=9)
    return Table.of(np.column_stack([x + 50.0, 1e200 * x, np.full(9, 0.1), np.zeros(9), -3.0 * x]))


@pytest.mark.parametrize("how", ["none", "center", "standardize"])
def test_scaling_does_what_its_name_says(table, how):
    if how != "standardize":
        table = Table.of(np.delete(table.values, 1, axis=0).T)
    varying = np.flatnonzero(table.varying)
    scaled = Scaling.of(table, how).apply(table.values)
    raw = table.values[varying]
    if how == "none":
        np.testing.assert_array_equal(scaled[varying], raw)
    else:
        np.testing.assert_allclose(scaled[varying].mean(axis=1), 0.0, atol=1e-14 * np.abs(scaled[varying]).max())
        spread = raw.std(axis=1) if how == "center" else 1.0
        np.testing.assert_allclose(scaled[varying].std(axis=1), spread, rtol=1e-12)


@pytest.mark.parametrize("how", ["none", "center", "standardize"])
def test_a_constant_variable_becomes_zero_to_the_last_bit(how):
    table = Table.of(np.column_stack([np.arange(3.0), np.full(3, 0.1), np.zeros(3), np.full(3, -7.0)]))
    assert not table.varying[1:].any()
    scaling = Scaling.of(table, how)
    np.testing.assert_array_equal(scaling.apply(table.values)[1:], 0.0)
    np.testing.assert_array_equal(scaling.undo(np.zeros((4, 3)))[1:], table.values[1:])
    np.testing.assert_array_equal(scaling.scale[1:], 1.0)


def test_scaling_is_undone(table):
    scaling = Scaling.of(table, "standardize")
    scaled = scaling.apply(table.values)
    np.testing.assert_allclose(scaling.undo(scaled), table.values, rtol=1e-12)
    for n in range(5):
        np.testing.assert_array_equal(scaling.apply(table.values[n], n), scaled[n])
        np.testing.assert_allclose(scaling.undo(scaled[n], n), table.values[n], rtol=1e-12)
    spread = table.values[4].std()
    expected = [table.values[0].std(), 1e200 * spread / 3.0, spread]
    np.testing.assert_allclose(scaling.scale[[0, 1, 4]], expected, rtol=1e-12)


def test_weights_count_for_kishs_number_of_rows_in_any_unit():
    weights = np.random.default_rng(0).gamma(2.0, size=50)
    tables = [replace(Table.of(np.arange(100.0).reshape(50, 2)), weights=unit * weights) for unit in (1.0, 7.0)]
    assert tables[0].n_effective == pytest.approx(weights.sum() ** 2 / (weights @ weights), rel=1e-6)
    np.testing.assert_array_equal(*(table.effective_weights for table in tables))


def test_only_a_guess_of_a_column_has_a_rival():
    counts = Table.of(np.random.default_rng(0).poisson(3.0, size=(200, 1)))
    assert [counts.kinds, counts.rival(0), counts.rival(1)] == [["count"], "gridded", ""]  # conditions come after it
    assert counts.declaring({0: "count"}).rival(0) == ""


def test_values_beyond_reach_are_refused_by_name():
    table = Table.of(np.array([[0.0, 1e61], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="column 'x1' holds values above 1e\\+60"):
        Scaling.of(table, "center")
    np.testing.assert_allclose(Scaling.of(table, "standardize").apply(table.values), [[-1, 1], [1, -1]], rtol=1e-12)


@pytest.mark.parametrize("kind", ["ordinal", "categorical", "gridded", "continuous"])
def test_two_values_that_are_declared_few_are_binary(kind):
    table = Table.of(np.column_stack([np.arange(12) % 2, np.arange(12)]).astype(float))
    assert table.coded({0: kind}).kinds[0] == (kind if kind in ("gridded", "continuous") else "binary")


# Columns with the same fourth moment, 1, and third moments of 1/2 and 1/4: exact sums of small integers.
SPIKE, SIGNS = np.r_[2.0, np.zeros(15)], np.r_[np.ones(10), -np.ones(6)]


def canonical(*columns):
    table, count = Table.of(np.column_stack(columns)), len(columns)
    scaling = Scaling(np.zeros(count), np.ones(count))
    return CanonicalTable.of(table, scaling, ["continuous"] * count, Design.of(None, table), free(count))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("other", [1.0, -1.0])
def test_columns_of_equal_fourth_moment_stand_by_their_third_whatever_its_sign(sign, other):
    for columns in ((sign * SPIKE, other * SIGNS), (other * SIGNS, sign * SPIKE)):
        arranged = canonical(*columns)
        np.testing.assert_array_equal(arranged.values, [SIGNS, SPIKE])
        np.testing.assert_array_equal(arranged.in_users_columns(2), columns)


@pytest.mark.filterwarnings("ignore")
def test_a_part_holds_its_columns_and_observations():
    whole = canonical(*np.random.default_rng(0).gamma(1.0, size=(3, 20)))
    part = whole.part(np.array([2, 0]), np.arange(5))
    np.testing.assert_array_equal(part.values, whole.values[[2, 0], :5])
    np.testing.assert_array_equal(part.order, whole.order[[2, 0]])
    np.testing.assert_array_equal(part.signs, whole.signs[[2, 0]])
