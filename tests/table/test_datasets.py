import numpy as np
import pytest

from icdh import graphs
from icdh.datasets import load_sachs


@pytest.fixture(scope="module")
def sachs():
    return load_sachs()


def test_sachs_is_what_was_published(sachs):
    names = ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"]
    assert (sachs.data.shape, sachs.feature_names) == ((853, 11), names)
    np.testing.assert_array_equal(sachs.data[0], [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0])
    assert sachs.data.min() > 0
    assert np.isfinite(sachs.data).all()
    assert len(set(sachs.edges)) == 17
    assert graphs.is_dag(sachs.adjacency)
    assert {(names[i], names[j]) for i, j in np.argwhere(sachs.adjacency)} == set(sachs.edges)
    assert {("Raf", "Mek"), ("Mek", "Erk")} <= set(sachs.edges)
    load_sachs().data[:] = 0  # every call returns its own data
    assert load_sachs().data.min() > 0


def test_sachs_with_experiments(sachs):
    whole = load_sachs(experiments=True)
    assert whole.data.shape == (7466, 11)
    np.testing.assert_array_equal(whole.data[:853], sachs.data)
    conditions, targets = whole.interventions.conditions, whole.interventions.targets
    assert set(conditions[:853]) == {"cd3cd28"}
    assert (len(conditions), len(set(conditions))) == (7466, 9)
    assert {name for own in targets.values() for name in own or ()} <= set(whole.feature_names)
    assert sachs.interventions is None
