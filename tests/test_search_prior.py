"""What an edge costs in a graph of many variables."""

import numpy as np
import pytest

from icdh.search.moves import price_of_width


def test_an_edge_of_a_few_variables_costs_nothing_more():
    assert price_of_width(1) == price_of_width(10) == 0.0


def test_ten_times_the_variables_make_an_edge_ten_times_less_probable():
    assert np.exp(price_of_width(200) - price_of_width(20)) == pytest.approx(10.0)


def test_prior_and_chance_keep_pace():
    """Of N candidates without an effect the best gains log N nats on average, up to a constant."""
    rng = np.random.default_rng(0)
    gains = {n: np.mean([rng.exponential(size=n).max() for _ in range(2000)]) for n in (50, 500)}
    assert gains[500] - gains[50] == pytest.approx(price_of_width(500) - price_of_width(50), abs=0.15)
