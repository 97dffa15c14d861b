import numpy as np
import pytest
from helpers import cases
from scipy.stats import yeojohnson, yeojohnson_llf
from support.estimators import CanonicalTable, best_transform, graph_search
from support.families import FamilyScore
from support.search import Climber
from support.table import TRANSFORMS, Transform, fit_transform

from icdh import HNMSearch, Knowledge, simulate

POWERS = [Transform("yeo-johnson", power) for power in (-0.5, 0.0, 1.3, 2.0, 3.0)]


@cases("transform", Transform(), Transform("log", 0.3, -2.0), *POWERS)
def test_transforms_increase_and_know_their_slope(transform):
    x = np.linspace(-1.9, 4.0, 301)
    z = transform.apply(x)
    assert (np.diff(z) > 0).all()
    slope = (transform.apply(x + 1e-6) - transform.apply(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(transform.log_slope(x), np.log(slope), atol=1e-7)


def scaled(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def test_yeo_johnson_is_that_of_scipy():
    x = scaled(np.random.default_rng(0).exponential(size=500))
    fitted = fit_transform("yeo-johnson", x, x.min(), None)
    values, power = yeojohnson(x)
    assert fitted.parameter == pytest.approx(power, abs=1e-3)
    np.testing.assert_allclose(fitted.apply(x), values, atol=1e-2)
    gain = fitted.log_density_gain(x, None) - Transform().log_density_gain(x, None)
    assert 500 * gain == pytest.approx(yeojohnson_llf(power, x) - yeojohnson_llf(1.0, x), rel=1e-6)


def test_the_log_undoes_an_exponential_and_a_gaussian_gains_nothing():
    normal = np.random.default_rng(1).normal(size=2000)
    x = scaled(np.exp(normal))
    assert np.corrcoef(fit_transform("log", x, x.min(), None).apply(x), normal)[0, 1] > 0.999
    normal = scaled(np.random.default_rng(2).normal(size=1000))
    assert (
        max(fit_transform(kind, normal, normal.min(), None).log_density_gain(normal, None) for kind in TRANSFORMS[1:])
        < 2.0 / 1000
    )


@pytest.mark.parametrize("exponentiated", [False, True])
def test_the_transform_is_that_which_the_evidence_prefers(exponentiated):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 3))
    x[:, 1] += np.sin(2.0 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 / 2
    X = np.exp(x / 2) if exponentiated else x
    chosen, logarithms, plain = (HNMSearch(column_transform=t).fit(X) for t in ("auto", "log", "none"))
    assert chosen.column_transform_ == ("log" if exponentiated else "none")
    better, worse = (logarithms, plain) if exponentiated else (plain, logarithms)
    assert better.evidence_ > worse.evidence_ + 10.0
    assert chosen.evidence_ == better.evidence_


def test_transforms_compare_given_the_graph_of_one_short_search(monkeypatch):
    starts, asked, honest = [], [], Climber.climb_once
    data = simulate.simulate_sem(simulate.erdos_renyi(6, 2, random_state=1), 400, random_state=1)

    def noted(climber, graph, *options, **further):
        if climber.scores.families.n_observations == 390:
            starts.append(graph)
        return honest(climber, graph, *options, **further)

    def settled(scores, families):
        if scores.families.n_observations == 390:
            asked.append(families)
        return False

    monkeypatch.setattr(Climber, "climb_once", noted)
    monkeypatch.setattr(FamilyScore, "choose_noise", settled)
    monkeypatch.setattr(graph_search, "SIZES", graph_search.SearchSizes(pilot_rows=390))
    assert HNMSearch(n_restarts=1).fit(np.exp(scaled(data.X))).column_transform_ == "log"
    assert starts == [((),) * 6]
    assert len(asked) == 3
    assert asked[0] == asked[1] == asked[2] != list(enumerate(((),) * 6))


def test_the_part_of_a_table_that_chooses_the_transform_does_not_depend_on_the_seed(monkeypatch):
    parts = []

    def stop(part, *_):
        parts.append(part.values)
        raise ValueError("stopped")

    monkeypatch.setattr(graph_search, "SIZES", graph_search.SearchSizes(pilot_rows=30))
    monkeypatch.setattr(CanonicalTable, "columns", stop)
    X = np.random.default_rng(0).normal(size=(100, 3))
    for seed in (0, 1):
        with pytest.raises(ValueError, match="stopped"):
            HNMSearch(random_state=seed).fit(X)
    assert parts[0].shape == (3, 30)
    np.testing.assert_array_equal(*parts)


SMALL, MOST = np.array([4.0, 3.0, 2.0, 5.0]), np.array([-300.0, 30.0, 30.0, 250.0])
ONE, HALF = np.array([300.0, -4.0, -3.0, -30.0]), np.array([15.0, 15.0, -1.0, -1.0, -1.0])


@cases(
    ("gains", "chosen"),
    ({"log": ONE}, "none"),
    ({"log": ONE, "yeo-johnson": SMALL}, "yeo-johnson"),
    ({"log": MOST, "yeo-johnson": SMALL}, "log"),
    ({"log": 2.0 * SMALL, "yeo-johnson": SMALL}, "log"),
    ({"log": MOST}, "log"),
    ({"log": -SMALL}, "none"),
    ({"log": SMALL / 3.0}, "none"),
    ({"log": HALF}, "log"),
    ({"log": np.array([290.0, 5.0, 5.0]), "yeo-johnson": np.array([240.0, 5.1, 5.1])}, "log"),
)
def test_one_variable_does_not_choose_the_transform_of_all(gains, chosen):
    """However much its mechanism gains or loses by it."""
    assert best_transform({"none": np.zeros(len(gains["log"])), **gains}, 400) == chosen


def test_a_wide_table_asks_some_of_its_columns_and_keeps_what_is_known():
    X = np.exp(np.random.default_rng(6).normal(size=(60, 43)))
    known = Knowledge(required=[(0, 42), (7, 8)])
    model = HNMSearch(hidden_units=1, n_restarts=1, knowledge=known).fit(X)
    assert model.column_transform_ == "log"
    assert model.adjacency_matrix_[[0, 7], [42, 8]].all()


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_value_that_two_rows_have_decides_no_transform_and_no_counts(seed):
    """Columns that do not vary in the rows that choose have no evidence there; numpy is silent, too."""
    rng, n = np.random.default_rng(seed), 1000
    X = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.8], [0.0, 0.0, 0.6]])
    rare, visits = np.zeros(n), rng.poisson(np.exp(1.5 + 0.5 * X[:, 0]))
    rare[rng.choice(n, 2, replace=False)] = 1.0
    assert HNMSearch().fit(np.column_stack([np.exp(1.3 * X), rare])).column_transform_ == "log"
    assert HNMSearch().fit(np.column_stack([X, visits, rare])).kinds_[3] == "count"
