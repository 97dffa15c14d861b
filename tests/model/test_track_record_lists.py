"""What users are told of arrows is what the lists of tables say."""

import sys
from pathlib import Path

import numpy as np
import pytest

from icdh.diagnostics.result import SHARES

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))

from track_record_lists import LISTS, SPREADS, WAYS, of_another_list

ALL = np.array(list(LISTS.values()), dtype=float)
COUNTS = ALL[..., :2].sum(axis=0)


def test_what_is_told_is_the_pool_of_all_lists():
    both, one, neither = WAYS["three groups"](COUNTS)
    expected = {"both": both, "tails": one, "explained": one, "neither": neither}
    assert pytest.approx(expected, abs=0.0051) == SHARES
    np.testing.assert_allclose(of_another_list(ALL)[0], [(0.75, 0.87), (0.46, 0.64), (0.27, 0.46)], atol=0.0051)


def lists_of(shares, error):
    """Return lists whose groups have these shares in percent, and this error of each."""
    return np.array([[(10.0 * share, 1000.0, share - 1.96 * error, share + 1.96 * error)] * 3 for share in shares])


def test_intervals_of_another_list_hold_the_spread_between_lists():
    alike, spread = of_another_list(lists_of([60, 60, 60, 60], 1.0))
    apart, wide = of_another_list(lists_of([45, 55, 65, 75], 1.0))
    assert spread < 0.2 < wide < SPREADS[-1] / 2
    assert (alike[:, 0] > 0.45).all()
    assert (apart[:, 0] < 0.40).all()
    assert (apart[:, 1] > 0.80).all()


def test_lists_that_differ_by_no_more_than_their_errors_give_an_interval_of_their_mean():
    ends, _ = of_another_list(lists_of([50, 50], 5.0))
    of_mean = 5.0 * 1.96 / np.sqrt(2.0) / 100.0
    assert (ends[:, 1] - 0.5 > of_mean).all()
    np.testing.assert_allclose(ends[:, 1] - 0.5, 0.5 - ends[:, 0], atol=2e-3)


def test_groups_that_differ_are_hardly_drawn_together():
    far = np.array([[900.0, 1000.0], [100.0, 1000.0], [500.0, 1000.0]])
    np.testing.assert_allclose(WAYS["shrunk"](far), [0.9, 0.1, 0.5], atol=0.01)
    alike = np.array([[12.0, 20.0], [10.0, 20.0], [8.0, 20.0]])
    assert np.ptp(WAYS["shrunk"](alike)) < 0.1
    np.testing.assert_allclose(WAYS["one group"](alike), 0.5)
    np.testing.assert_allclose(WAYS["two groups"](alike), [0.6, 0.45, 0.45])
