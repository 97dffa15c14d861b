import numpy as np
import pytest
from scipy.stats import yeojohnson, yeojohnson_llf

from icdh import HNMSearch
from icdh._clock import OutOfTime
from icdh.estimators import transform_choice
from icdh.exceptions import ConvergenceWarning
from icdh.node_model.families import FamilyEvidence
from icdh.transforms import TRANSFORMS, Transform, fit_transform

CASES = [
    Transform(),
    Transform("log", 0.3, -2.0),
    *(Transform("yeo-johnson", power) for power in (-0.5, 0.0, 1.3, 2.0, 3.0)),
]


@pytest.mark.parametrize("transform", CASES)
def test_transforms_increase_and_know_their_slope(transform):
    x = np.linspace(-1.9, 4.0, 301)
    z = transform.apply(x)
    assert (np.diff(z) > 0).all()
    slope = (transform.apply(x + 1e-6) - transform.apply(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(transform.log_slope(x), np.log(slope), atol=1e-7)


def test_yeo_johnson_is_that_of_scipy():
    x = np.random.default_rng(0).exponential(size=500)
    x = (x - x.mean()) / x.std()
    fitted = fit_transform("yeo-johnson", x)
    values, power = yeojohnson(x)
    assert fitted.parameter == pytest.approx(power, abs=1e-3)
    np.testing.assert_allclose(fitted.apply(x), values, atol=1e-2)
    gain = fitted.log_density_gain(x) - Transform().log_density_gain(x)
    assert 500 * gain == pytest.approx(yeojohnson_llf(power, x) - yeojohnson_llf(1.0, x), rel=1e-6)


def test_the_log_undoes_an_exponential():
    normal = np.random.default_rng(1).normal(size=2000)
    x = np.exp(normal)
    fitted = fit_transform("log", (x - x.mean()) / x.std())
    z = fitted.apply((x - x.mean()) / x.std())
    assert np.corrcoef(z, normal)[0, 1] > 0.999


def test_a_gaussian_gains_nothing():
    x = np.random.default_rng(2).normal(size=1000)
    x = (x - x.mean()) / x.std()
    gains = [fit_transform(kind, x).log_density_gain(x) for kind in TRANSFORMS]
    assert max(gains) < 2.0 / 1000


@pytest.mark.parametrize("exponentiated", [False, True])
def test_a_transform_stays_only_if_the_graph_found_under_it_is_worth_more_with_it(monkeypatch, exponentiated):
    """Whatever a short search on few rows says."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3))
    x[:, 1] += np.sin(2.0 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 / 2
    X = np.exp(x / 2) if exponentiated else x
    monkeypatch.setattr(transform_choice, "choose_transform", lambda *arguments: "log")
    chosen, logarithms, plain = (HNMSearch(column_transform=t).fit(X) for t in ("auto", "log", "none"))
    assert chosen.column_transform_ == ("log" if exponentiated else "none")
    better, worse = (logarithms, plain) if exponentiated else (plain, logarithms)
    assert chosen.evidence_ > worse.evidence_ + 10.0
    assert chosen.evidence_ == pytest.approx(better.evidence_, abs=1.0)


@pytest.mark.parametrize(("error", "reason"), [(OutOfTime, "timed_out_"), (KeyboardInterrupt, "interrupted_")])
def test_an_end_while_a_transform_is_doubted_keeps_the_graph_found_under_it(monkeypatch, error, reason):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    X[:, 1] += X[:, 0]
    whole, honest = HNMSearch(column_transform="log").fit(X), FamilyEvidence.settle
    seen = []

    def settle(scores, families):
        seen.append(scores)
        if scores is not seen[0]:
            raise error
        return honest(scores, families)

    monkeypatch.setattr(transform_choice, "choose_transform", lambda *arguments: "log")
    monkeypatch.setattr(FamilyEvidence, "settle", settle)
    with pytest.warns(ConvergenceWarning):
        found = HNMSearch().fit(X)
    assert getattr(found, reason)
    assert found.column_transform_ == "log"
    np.testing.assert_array_equal(found.adjacency_matrix_ != 0, whole.adjacency_matrix_ != 0)
