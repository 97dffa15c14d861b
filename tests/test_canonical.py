"""The table as the search sees it: neither the order nor the signs of the columns change the arrangement."""

import numpy as np
import pytest

from icdh._estimators.arranged import CanonicalTable
from icdh._table.experiments import Design
from icdh._table.table import Scaling, Table
from icdh.knowledge import EdgeRules

# Columns with the same fourth moment, 1, and third moments of 1/2 and 1/4: exact sums of small integers.
SPIKE, SIGNS = np.r_[2.0, np.zeros(15)], np.r_[np.ones(10), -np.ones(6)]


def canonical(*columns):
    table = Table.of(np.column_stack(columns))
    scaling = Scaling(np.zeros(len(columns)), np.ones(len(columns)))
    rules = EdgeRules.of(np.eye(len(columns), dtype=bool), np.zeros((len(columns),) * 2, dtype=bool))
    return CanonicalTable.of(table, scaling, ["continuous"] * len(columns), Design.of(None, table), rules)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("other", [1.0, -1.0])
def test_columns_of_equal_fourth_moment_stand_by_their_third_whatever_its_sign(sign, other):
    expected = np.array([SIGNS, SPIKE])
    for columns in ((sign * SPIKE, other * SIGNS), (other * SIGNS, sign * SPIKE)):
        arranged = canonical(*columns)
        np.testing.assert_array_equal(arranged.values, expected)
        np.testing.assert_array_equal(arranged.in_users_columns(2), columns)


@pytest.mark.filterwarnings("ignore")
def test_a_part_holds_its_columns_and_observations():
    rng = np.random.default_rng(0)
    whole = canonical(*rng.gamma(1.0, size=(3, 20)))
    part = whole.part(np.array([2, 0]), np.arange(5))
    np.testing.assert_array_equal(part.values, whole.values[[2, 0], :5])
    np.testing.assert_array_equal(part.order, whole.order[[2, 0]])
    np.testing.assert_array_equal(part.signs, whole.signs[[2, 0]])
