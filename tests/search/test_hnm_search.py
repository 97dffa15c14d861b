"""HNMSearch: what it finds, what it does not depend on, and what it says about awkward tables."""

import logging

import numpy as np
import pandas as pd
import pytest
from helpers import cases, forbidding, hetero_chain, parents_of, recorded, replayed
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from support.estimators import graph_search
from support.families import Start, free_cost

from icdh import DataWarning, HNMSearch, graphs, simulate


@pytest.fixture(scope="module")
def table():
    """A chain of three, x0 and x3 both causes of x4, and x3 alone at the start."""
    rng = np.random.default_rng(1)
    X = hetero_chain(rng, 500)
    x3 = rng.exponential(size=500)
    x4 = np.tanh(X[:, 0]) * x3 + (0.1 + 0.4 * (x3 > 1)) * rng.normal(size=500)
    return np.column_stack([X, x3, x4])


@pytest.fixture(scope="module")
def model(table):
    return HNMSearch().fit(table)


def edges(estimator):
    return set(zip(*map(list, np.nonzero(estimator.adjacency_matrix_)), strict=True))


def test_the_graph_is_found(model):
    assert edges(model) == {(0, 1), (1, 2), (0, 4), (3, 4)}
    assert graphs.is_dag(model.adjacency_matrix_)
    assert model.adjacency_matrix_.max() > 100


@pytest.mark.parametrize("seed", range(1, 4))
def test_noise_that_wrong_arrows_make_look_gaussian_is_found(seed):
    """Evenly spread loads of two fans drive speeds, currents and a sound; an effect of them all has Gaussian noise."""
    rng = np.random.default_rng(seed)
    loads = rng.uniform(0.1, 1.0, (2, 1000))
    speeds = loads + 0.02 * rng.normal(size=(2, 1000))
    currents = loads**3 + (0.02 + 0.02 * loads) * rng.normal(size=(2, 1000))
    sound = 1.5 * speeds.sum(axis=0) + 0.1 * (1.0 + speeds[0]) * rng.normal(size=1000)
    X = np.column_stack([*loads, *speeds, *currents, sound])
    assert edges(HNMSearch().fit(X)) == {(0, 2), (1, 3), (0, 4), (1, 5), (2, 6), (3, 6)}


@pytest.mark.parametrize("seed", [0, 6])
def test_a_column_of_heavy_tails_has_no_causes(seed):
    """Under Gaussian noise a spread that is wide at single rows explains them, and its residuals are Gaussian."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5))
    X[:, 2] = rng.standard_t(1, size=300)
    X[:, 4] = X[:, 0] + rng.normal(size=300)
    assert edges(HNMSearch().fit(X)) <= {(0, 4), (4, 0)}


@pytest.mark.parametrize("seed", [1, 4])
def test_heavy_tails_of_two_of_twelve_columns_decide_their_arrows(seed):
    """A tree of linear effects: the noise of all together gains too little for a density of its own each."""
    rng = np.random.default_rng(seed)
    X, tree = rng.normal(size=(1000, 12)), set()
    X[:, [3, 6]] = rng.standard_t(3, size=(1000, 2))
    for node in range(1, 12):
        cause = int(rng.integers(node))
        X[:, node] += 0.8 * X[:, cause]
        tree.add(frozenset((cause, node)))
    learned = HNMSearch().fit(X)
    assert learned._found.scores.noise == "student"
    assert {frozenset(edge) for edge in edges(learned)} == tree


@pytest.mark.parametrize("seed", [0, 4])
def test_no_edge_is_stronger_than_a_fit_without_it_says(seed):
    """The noise of some effects is low: a fit that came from fewer parents ends hundreds of nats from the best one."""
    graph = simulate.erdos_renyi(6, 2, random_state=seed)
    learned = HNMSearch().fit(simulate.simulate_sem(graph, 300, random_state=seed).X)._found
    scores, pairs = learned.scores, [(family, cause) for family in enumerate(learned.graph) for cause in family[1]]
    for (effect, causes), cause in pairs:
        if len(causes) > 1:
            whole, others = scores.fit_of((effect, causes)), tuple(k for k in causes if k != cause)
            weights = scores.families.weights_of(cause, others, whole.hidden_units)
            fit = scores.fit((effect, others), Start(np.delete(whole.theta, weights), whole.precision))
            rise = scores.rises((effect, causes))[causes.index(cause)]
            assert min(rise, 150.0) < scores.score_by((effect, others), fit) - scores([(effect, causes)])[0] + 1.0


def test_history_leads_from_the_empty_graph_to_the_learned_one(table, model):
    assert replayed(model.history_, 5) == parents_of(model)
    n = len(table)
    empty = -5 * (n / 2 + np.log(n) / 2 + np.log(n / 2) / 2)
    gained = sum(move.gain for move in model.history_)
    assert model.evidence_ >= empty + gained - 1e-6  # refined fits add to what the moves gained


def test_permuted_columns_permute_the_graph_to_the_last_bit_and_the_seed_decides(table, model):
    order, before = np.array([3, 1, 4, 0, 2]), table.copy()
    other = HNMSearch().fit(-table[:, order])
    np.testing.assert_array_equal(other.adjacency_matrix_, model.adjacency_matrix_[np.ix_(order, order)])
    np.testing.assert_allclose(other.predict(-table[:, order]), -model.predict(table)[:, order], atol=1e-6)
    scales = model.predict_scale(table)[:, order]
    np.testing.assert_allclose(other.predict_scale(-table[:, order]), scales, rtol=1e-5)
    another = HNMSearch(random_state=np.random.default_rng(3)).fit(table)
    np.testing.assert_array_equal(table, before)
    assert edges(another) == edges(model)
    assert (another.adjacency_matrix_ != model.adjacency_matrix_).any()


def test_predictions_score_and_likelihood_belong_together(table):
    table = table - 1.0  # no column is an amount, whose density has a limit at zero
    model = HNMSearch(noise_distribution="gaussian", column_transform="none").fit(table)
    mean, scale = model.predict(table), model.predict_scale(table)
    density = -0.5 * ((table - mean) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)
    assert model.score(table) == pytest.approx(density.sum(axis=1).mean())
    assert -model.score(table) == pytest.approx(model.nll_ + np.log(table.std(axis=0)).sum())
    assert np.abs(model.residuals(table).std(axis=0) - 1).max() < 0.1
    np.testing.assert_allclose(mean[:, 3], table[:, 3].mean())
    shuffled = table.copy()
    shuffled[:, 2] = 0.0
    np.testing.assert_array_equal(model.predict(shuffled), mean)  # x2 causes nothing


def test_the_order_of_lingam_counts_once_the_noise_is_known():
    """Hubs that other columns nearly determine: under Gaussian noise wrong arrows seem to have a spread that varies."""
    rng, N = np.random.default_rng([8, 8, 500, 15, 7]), 8
    truth, X = simulate.scale_free(N, 2, random_state=8) != 0, np.zeros((500, N))
    for node in graphs.causal_order(truth):
        p = truth[:, node].sum()
        weights = rng.uniform(1, 3, p) * rng.choice([-1, 1], p)
        noise = rng.laplace(size=500) / np.sqrt(2)
        X[:, node] = X[:, truth[:, node]] @ weights + rng.uniform(0.2, 1) * noise
    found = HNMSearch().fit((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_array_equal(found.adjacency_matrix_ != 0, truth)


def test_samples_look_like_the_data(table, model):
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), table.mean(axis=0), atol=0.25)
    ranks = [np.argsort(np.argsort(X, axis=0), axis=0) for X in (drawn, table)]
    np.testing.assert_allclose(*(np.corrcoef(rank.T) for rank in ranks), atol=0.12)


def test_max_parents_and_penalties_are_honoured(table):
    assert (HNMSearch(max_parents=1).fit(table).adjacency_matrix_ != 0).sum(axis=0).max() == 1
    assert not edges(HNMSearch(edge_penalty=1e6).fit(table))
    empty = HNMSearch(knowledge=forbidding(np.ones((5, 5), dtype=bool))).fit(table)
    assert (edges(empty), empty.history_) == (set(), [])


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_edges_of_wide_tables_have_to_be_worth_more(table, model):
    """The same price for search, exact search and posterior, which all ask the scores that the search leaves behind."""
    assert model.edge_penalty_ == 2.0
    simple = HNMSearch(hidden_units=2, n_restarts=1, column_transform="none", noise_distribution="gaussian")
    assert clone(simple).fit(np.column_stack([table, np.ones((500, 20))])).edge_penalty_ == 2.0  # no possible causes
    found = clone(simple).fit(np.column_stack([table, np.random.default_rng(0).normal(size=(500, 15))]))
    assert found.edge_penalty_ == pytest.approx(2.0 + np.log(2.0))
    assert (found.found_graph().scores.families.edge_penalty == found.edge_penalty_).all()
    assert clone(found).set_params(edge_penalty=3).fit(table).edge_penalty_ == 3.0


def test_every_family_chooses_its_noise_distribution_by_evidence(model):
    assert model.noise_distribution_ == "mixed"  # x3 is exponential, x0 Gaussian
    rng = np.random.default_rng(0)
    independent = HNMSearch(column_transform="none").fit(rng.normal(size=(500, 4)))
    assert (independent.noise_distribution_, len(edges(independent))) == ("gaussian", 0)
    x = rng.standard_t(3, size=1000)
    X = np.column_stack([x, np.tanh(x) + (0.1 + 0.3 * (x > 0)) * rng.standard_t(3, size=1000)])
    auto, gaussian, student, free = (
        HNMSearch(noise_distribution=noise, column_transform="none").fit(X)
        for noise in ("auto", "gaussian", "student", "free")
    )
    assert (auto.noise_distribution_, student.noise_distribution_) == ("free", "student")
    assert edges(auto) == edges(student) == {(0, 1)}
    assert auto.evidence_ == pytest.approx(student.evidence_, abs=1e-6)
    assert auto.evidence_ > gaussian.evidence_ + 20
    assert free.evidence_ < student.evidence_ + 2 * free_cost(1000)


def test_free_noise_finds_the_direction_that_skewed_noise_gives():
    """Exponential cause and noise: the Gaussian model prefers the wrong direction every time."""
    rng, right = np.random.default_rng(0), {"gaussian": 0, "free": 0}
    for _ in range(5):
        x = rng.exponential(size=600)
        X = np.column_stack([x + rng.exponential(size=600), x])
        for noise in right:
            right[noise] += edges(HNMSearch(noise_distribution=noise, column_transform="none").fit(X)) == {(1, 0)}
    assert right == {"gaussian": 0, "free": 5}


def test_duplicated_computed_and_discrete_columns_are_warned_about(table):
    X = table[:, :3]
    with pytest.warns(DataWarning) as caught:
        HNMSearch().fit(np.column_stack([X, X[:, 1]]))
    messages = " ".join(str(warning.message) for warning in caught)
    assert "'x3' repeats column 'x1'" in messages
    assert "column determined by others" in messages
    with pytest.warns(DataWarning, match=r"sums or multiples of others.*: 'x3' \(of 'x0'\)"):
        HNMSearch().fit(np.column_stack([X, 2.0 * X[:, 0] + 1.0]))
    with pytest.warns(DataWarning, match=r"read as grades: 'x1'; mere codes\? pass kinds=\{'x1': 'categorical'\}"):
        HNMSearch().fit(np.column_stack([X[:, 0], np.round(np.clip(X[:, 1], -1, 1))]))


def test_a_column_that_a_computed_one_determines_is_named_too():
    """The weight in pounds is a multiple of the weight; its logarithm is of either; what is lifted is of two."""
    weight, angle = np.random.default_rng(0).normal([120.0, 0.0], [20.0, 1.0], size=(400, 2)).T
    weight = np.round(weight, 1)
    names = ["ounces", "pounds", "log", "angle", "lifted"]
    columns = [weight, weight / 16.0, np.log(weight), angle, (weight / 20.0 - 6.0) * angle]
    with pytest.warns(DataWarning) as caught:
        HNMSearch().fit(pd.DataFrame(np.column_stack(columns), columns=names))
    messages = " ".join(str(each.message) for each in caught)
    assert "'pounds' (of 'ounces')" in messages or "'ounces' (of 'pounds')" in messages
    assert "column computed from another, but for rounding: 'log' (of 'ounces')" in messages
    assert "column determined by others up to a hundredth of the spread: 'lifted'" in messages


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@cases(
    "awkward",
    lambda rng: rng.standard_cauchy(size=(200, 3)),
    lambda rng: rng.integers(0, 100, size=(200, 3)),
    lambda rng: rng.integers(0, 3, size=(200, 3)),
    lambda rng: np.exp(5 * rng.normal(size=(200, 3))),
    lambda rng: rng.normal(size=(200, 3)) * [1e-290, 1.0, 1e290],
    lambda rng: np.cumsum(rng.normal(size=(200, 3)) * [1, 1e-3, 1e-5], axis=1),
    lambda rng: rng.normal(size=(3, 5)),
    lambda rng: rng.normal(size=(2, 2)),
    lambda rng: rng.normal(size=(50, 1)),
    lambda rng: np.eye(200, 3),
    ids=["cauchy", "integers", "three", "lognormal", "units", "collinear", "short", "two", "single", "spike"],
)
@pytest.mark.parametrize("noise", ["gaussian", "free"])
def test_awkward_tables_give_finite_answers(awkward, noise):
    X = awkward(np.random.default_rng(0))
    other = HNMSearch(noise_distribution=noise).fit(X)
    assert graphs.is_dag(other.adjacency_matrix_)
    assert np.isfinite([*other.adjacency_matrix_.ravel(), *other.predict_scale(X).ravel(), other.score(X)]).all()


def test_progress_goes_to_callback_and_logger_and_to_stderr_only_when_asked(table, caplog, capsys):
    seen = []
    with caplog.at_level(logging.INFO, logger="icdh"):
        fitted = HNMSearch(callback=seen.append).fit(table)
    assert [move for move in seen if move.kept] == fitted.history_
    assert f"insert x{seen[0].cause} -> x{seen[0].effect}" in caplog.text
    assert capsys.readouterr().err == ""
    HNMSearch(verbose=True).fit(pd.DataFrame(table[:, :2], columns=["a", "b"]))
    assert "insert a -> b" in capsys.readouterr().err


def test_cross_validation_prefers_edges_to_none(table):
    scores, empty = (cross_val_score(HNMSearch(**of), table, cv=5) for of in ({"n_restarts": 1}, {"edge_penalty": 1e6}))
    assert np.median(scores) > np.median(empty) + 2.0  # one row beyond the range of the others may cost 100 nats


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("noise", ["auto", "free"])
@pytest.mark.parametrize("seed", [58, 7, 117])
def test_rare_binary_columns_end_and_give_numbers(seed, noise):
    """A residual of one value has no density; scores of minus infinity once made the search go on for ever."""
    rng = np.random.default_rng(seed)
    rare = (rng.random((60, 3)) < 0.1).astype(float)
    for X in (np.c_[rare, rng.normal(size=60)], np.c_[rng.normal(size=(30, 2)), rng.integers(0, 2, (30, 2))]):
        model = HNMSearch(noise_distribution=noise).fit(X)
        assert np.isfinite([*model.adjacency_matrix_.ravel(), model.evidence_, model.nll_, model.score(X)]).all()
        assert graphs.is_dag(model.adjacency_matrix_)


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
@pytest.mark.parametrize("noise", ["auto", "free"])
def test_coin_flips_have_no_causes_whatever_the_noise(noise):
    """No fit of a discrete variable is worth more because its residuals have other ties."""
    edges = 0
    for rng in map(np.random.default_rng, range(10)):
        X = np.c_[rng.normal(size=(100, 2)), rng.integers(0, 2, (100, 2))]
        edges += np.count_nonzero(HNMSearch(noise_distribution=noise).fit(X).adjacency_matrix_[:, 2:])
    assert edges <= 2


@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_arrows_between_linear_effects_are_turned_where_the_noise_tells_directions(distribution, monkeypatch):
    """Under Gaussian noise the search over orders has decided them: all graphs of a class are alike."""
    how = {"mechanism": "linear", "noise": "homo-nv", "distribution": distribution}
    X = simulate.simulate_sem(simulate.erdos_renyi(8, 1, random_state=4), 800, random_state=4, **how).X
    calls = recorded(monkeypatch, graph_search, "turn_while_it_gains")
    found = HNMSearch().fit(X).found_graph()
    assert found.scores.noise == ("gaussian" if distribution == "gaussian" else "auto")
    (_, result, _, is_decided), _ = calls[-1]
    effects = [node for node, parents in enumerate(result.graph) if parents]
    assert {is_decided(result.graph, node) for node in effects} == {distribution == "gaussian"}
