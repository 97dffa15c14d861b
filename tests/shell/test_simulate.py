import networkx as nx
import numpy as np
import pytest
from helpers import cases, random_dag
from naive import explained_variance, sigmoid, sortability
from scipy import stats

from icdh import graphs, simulate
from icdh.simulate import DISTRIBUTIONS, MECHANISMS, NOISES, draw_moments

CHAIN, DENSE = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), np.triu(np.ones((9, 9)), 1)
LEVEL = 1e-4  # of every statistical test; seeds are fixed, so none fails by chance later
RANDOM = ("mim", "gp", "gp-add")


ERDOS_RENYI = [(1, 0), (2, 0.5), (5, 1), (5, 2), (10, 1), (10, 4), (10, 4.5), (100, 3)]
SCALE_FREE = [(1, 0), (5, 0), (5, 1), (10, 2), (10, 9), (60, 3)]


@cases(
    ("draw", "n", "k", "n_edges"),
    *((simulate.erdos_renyi, n, k, k * n) for n, k in ERDOS_RENYI),
    *((simulate.scale_free, n, k, n * k - k * (k + 1) // 2) for n, k in SCALE_FREE),
)
def test_graphs_have_exactly_the_edges_asked_for(draw, n, k, n_edges):
    for seed in range(20):
        graph = draw(n, k, seed)
        assert (graph.shape, graph.sum(), graphs.is_dag(graph)) == ((n, n), n_edges, True)
        assert set(np.unique(graph)) <= {0, 1}


def test_scale_free_prefers_the_variables_that_have_many_causes():
    # the third variable becomes a cause of the first, which has one cause already, twice as often as of the second
    common_effect = sum(simulate.scale_free(3, 1, seed).sum(axis=0).max() == 2 for seed in range(900))
    assert stats.binomtest(common_effect, 900, 2 / 3).pvalue > LEVEL
    most_causes = [simulate.scale_free(100, 2, seed).sum(axis=0).max() for seed in range(10)]
    assert min(most_causes) > max(simulate.erdos_renyi(100, 2, seed).sum(axis=0).max() for seed in range(10))


@pytest.mark.parametrize("kind", simulate.GRAPHS)
def test_column_order_carries_no_information(kind):
    draws = 2000
    count = sum(simulate.GRAPHS[kind](4, 0.75 if kind != "scale-free" else 1, seed) for seed in range(draws))
    expected = np.full(12, count.sum() / 12)
    off_diagonal = count[~np.eye(4, dtype=bool)]
    # edges of one graph repel each other, which makes the statistic smaller than chi-square, not larger
    assert stats.chisquare(off_diagonal, expected).pvalue > LEVEL
    assert np.diagonal(count).sum() == 0


def test_relabelling_is_uniform_and_keeps_the_graph():
    weighted = CHAIN * [[1, 0.3, 1], [1, 1, 0.7], [1, 1, 1]]
    drawn = [simulate.relabel(weighted, seed).ravel() for seed in range(1200)]
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > LEVEL
    graph = simulate.erdos_renyi(8, 2, 0)
    assert nx.is_isomorphic(nx.DiGraph(graph), nx.DiGraph(simulate.relabel(graph, 1)))


def test_weights_are_uniform_on_both_sides_of_zero():
    graph = np.triu(np.ones((60, 60)), k=1) * (np.arange(60)[:, None] < 20) * (np.arange(60) >= 20)
    weights = simulate.simulate_sem(graph, 2, mechanism="linear", noise="homo-ev", random_state=0).weights
    drawn = weights[graph > 0]
    assert stats.kstest(np.abs(drawn), stats.uniform(0.5, 1.5).cdf).pvalue > LEVEL
    assert stats.binomtest(int((drawn > 0).sum()), len(drawn)).pvalue > LEVEL
    assert not weights[graph == 0].any()
    first_layer = simulate.draw_weights((50, 100), np.random.default_rng(0))
    assert stats.kstest(np.abs(first_layer).ravel(), stats.uniform(0.5, 1.5).cdf).pvalue > LEVEL


def test_mlp_is_one_hidden_layer_without_intercepts():
    x = np.random.default_rng(0).normal(size=(5, 3))
    values, weights, _ = simulate.mlp(x, np.random.default_rng(1), n_outputs=2)
    rng = np.random.default_rng(1)
    w1, w2 = simulate.draw_weights((3, 100), rng), simulate.draw_weights((100, 2), rng)
    for m in range(5):
        hidden = [sigmoid(sum(w1[i, h] * x[m, i] for i in range(3))) for h in range(100)]
        expected = [sum(w2[h, output] * hidden[h] for h in range(100)) for output in range(2)]
        assert values[m] == pytest.approx(expected)
    np.testing.assert_allclose(weights, [np.sqrt(sum(w**2 for w in row)) for row in w1])


def test_multiple_index_model_is_tanh_plus_cos_plus_sin_and_linear_means_are_weighted_sums():
    x = np.random.default_rng(0).normal(size=(5, 2))
    values, _, _ = simulate.multiple_index(x, np.random.default_rng(1))
    w = simulate.draw_weights((2, 3), np.random.default_rng(1))
    np.testing.assert_allclose(values, np.tanh(x @ w[:, 0]) + np.cos(x @ w[:, 1]) + np.sin(x @ w[:, 2]))
    data = simulate.simulate_sem(simulate.erdos_renyi(8, 2, 0), 50, mechanism="linear", noise="homo-nv", random_state=1)
    np.testing.assert_allclose(data.mean, data.X @ data.weights, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gp", "gp-add"])
def test_gaussian_processes_have_their_covariance(name):
    x = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    rng = np.random.default_rng(0)
    draws = np.array([MECHANISMS[name](x, rng).values for _ in range(8000)])
    squares = (x[:, None] - x) ** 2
    expected = np.exp(-squares.sum(axis=2) / 2) if name == "gp" else np.exp(-squares / 2).sum(axis=2)
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.08)


def test_a_random_function_of_equal_causes_is_equal():
    x = np.repeat(np.random.default_rng(0).normal(size=(40, 1)), 2, axis=0)
    for mechanism in MECHANISMS.values():
        values = mechanism(x, np.random.default_rng(1)).values
        np.testing.assert_allclose(values[::2], values[1::2], atol=1e-3)


def standardized_residuals(data):
    """Residuals over their true standard deviation, and that deviation, where rounding leaves them meaningful."""
    meaningful = data.std > 1e-6 * np.abs(data.mean)
    return ((data.X - data.mean) / data.std)[meaningful], data.std[meaningful]


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("noise", NOISES)
def test_residuals_have_mean_0_and_variance_1_wherever_the_spread_is(noise, distribution):
    graph = simulate.erdos_renyi(10, 1, 0)
    data = simulate.simulate_sem(graph, 4000, noise=noise, distribution=distribution, random_state=3)
    residuals, std = standardized_residuals(data)
    assert len(residuals) > 0.7 * data.X.size
    by_spread = residuals[np.argsort(std, kind="stable")]
    for decile in np.array_split(by_spread, 10):
        squares = decile**2
        assert abs(decile.mean()) < 4 / np.sqrt(len(decile))
        assert abs(squares.mean() - 1) < 4.5 * squares.std() / np.sqrt(len(decile))


@cases(
    ("name", "law"),
    ("gaussian", stats.norm()),
    ("laplace", stats.laplace(scale=np.sqrt(0.5))),
    ("student-t", stats.t(5, scale=np.sqrt(3 / 5))),
    ("uniform", stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))),
)
def test_noise_has_its_distribution_of_variance_1(name, law):
    assert law.var() == pytest.approx(1)
    data = simulate.simulate_sem(CHAIN, 3000, noise="exp-bounded", distribution=name, random_state=0)
    residuals, _ = standardized_residuals(data)
    assert stats.kstest(residuals, law.cdf).pvalue > LEVEL


def test_homoscedastic_spreads():
    graph = simulate.erdos_renyi(200, 1, 0)
    draws = (simulate.simulate_sem(graph, 3, noise=noise, random_state=0) for noise in ("homo-ev", "homo-nv"))
    equal, unequal = (draw.std for draw in draws)
    assert (equal == 1).all()
    assert (unequal == unequal[0]).all()
    assert stats.kstest(unequal[0] ** 2, stats.uniform(0.5, 1.5).cdf).pvalue > LEVEL


@pytest.mark.parametrize("noise", ["softplus-shared", "exp-shared", "exp", "exp-bounded", "piecewise"])
def test_heteroscedastic_spreads_vary_with_the_causes_alone(noise):
    data = simulate.simulate_sem(CHAIN, 300, noise=noise, random_state=0)
    assert (data.std[:, 0] == 1).all()
    assert (data.mean[:, 0] == 0).all()
    assert (np.ptp(data.std[:, 1:], axis=0) > 0.1).all()
    by_cause = np.argsort(data.X[:, 0])
    steps = np.abs(np.diff(np.log(data.std[by_cause, 1])))
    assert np.median(steps) < 0.05 * np.ptp(np.log(data.std[:, 1]))  # smooth in the cause, not a draw per row


@pytest.mark.parametrize("spread", [1.0, 3.0, 100.0])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bounded_spreads_keep_their_bounds(mechanism, spread):
    graph, options = simulate.erdos_renyi(6, 1, 1), {"mechanism": mechanism, "spread": spread, "random_state": 1}
    draws = (simulate.simulate_sem(graph, 200, noise=noise, **options) for noise in ("exp-bounded", "piecewise"))
    bounded, piecewise = (draw.std[:, graph.any(axis=0)] for draw in draws)
    np.testing.assert_allclose(bounded.min(axis=0), spread**-0.5)
    np.testing.assert_allclose(bounded.max(axis=0), spread**0.5)
    np.testing.assert_allclose(piecewise.max(axis=0), spread)
    assert ((piecewise == 1).sum(axis=0) >= 100).all()


@cases(("noise", "variance"), ("softplus-shared", lambda g: np.log(1 + np.exp(g))), ("exp-shared", np.exp))
def test_the_variance_shares_the_hidden_layer_of_the_mean(noise, variance):
    x = np.random.default_rng(0).normal(size=(50, 2))
    mean, std, _, _ = draw_moments(x, "mlp", noise, 1.0, np.random.default_rng(1))
    f, g = simulate.mlp(x, np.random.default_rng(1), n_outputs=2).values.T
    np.testing.assert_allclose(mean, f)
    np.testing.assert_allclose(std**2, variance(g))


def test_the_literal_formula_reports_its_spread_and_a_single_observation_one_of_1():
    data = simulate.simulate_sem(simulate.erdos_renyi(10, 1, 0), 1000, noise="exp", random_state=0)
    report, std = data.report(), data.std[:, data.adjacency.any(axis=0)]
    assert (report.smallest_std, report.largest_std) == (std.min(), std.max())
    assert report.largest_ratio == pytest.approx((std.max(axis=0) / std.min(axis=0)).max())
    assert report.largest_ratio > 1e6
    for noise in ("exp-bounded", "piecewise"):
        assert (simulate.simulate_sem(CHAIN, 1, noise=noise, random_state=0).std == 1).all()


@pytest.mark.parametrize(
    ("options", "largest"),
    [*(({"noise": noise}, 0) for noise in NOISES), *(({"mechanism": own, "noise": "exp"}, 10) for own in RANDOM)],
    ids=str,
)
def test_every_noise_at_100_variables(options, largest):
    data = simulate.simulate_sem(simulate.erdos_renyi(100, 4, 0), 60, random_state=0, **options)
    assert np.isfinite(data.X).all()
    assert (data.std > 0).all()
    assert all(np.isfinite(data.report()))
    assert data.report().largest_ratio > largest


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", simulate.GRAPHS)
def test_every_mechanism_and_graph_at_100_variables(kind, mechanism):
    graph = simulate.GRAPHS[kind](100, 2, 0)
    data = simulate.simulate_sem(graph, 60, mechanism=mechanism, noise="exp-bounded", random_state=0)
    assert np.isfinite(data.X).all()
    np.testing.assert_array_equal(data.adjacency, graph)
    np.testing.assert_array_equal(data.weights != 0, graph != 0)


def test_standardised_data_keep_their_noise():
    graph = simulate.erdos_renyi(6, 1, 0)
    raw, data = (
        simulate.simulate_sem(graph, 500, noise="piecewise", random_state=0, standardize=is_standardised)
        for is_standardised in (False, True)
    )
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    np.testing.assert_allclose(data.std, raw.std / raw.X.std(axis=0))
    np.testing.assert_allclose((data.X - data.mean) / data.std, (raw.X - raw.mean) / raw.std, atol=1e-9)


def test_the_seed_alone_decides():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    graph = simulate.erdos_renyi(8, 2, 5)
    first, second, other = (simulate.simulate_sem(graph, 100, random_state=seed).X for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(graph, simulate.erdos_renyi(8, 2, 5))  # nor did a simulation change it
    assert not np.array_equal(graph, simulate.erdos_renyi(8, 2, 6))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_a_labelled_graph_keeps_its_names():
    data = simulate.simulate_sem(nx.DiGraph([("rain", "wet"), ("sprinkler", "wet")]), 5, random_state=0)
    assert (data.names, data.adjacency.tolist()) == (["rain", "wet", "sprinkler"], [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert simulate.simulate_sem(CHAIN, 5, random_state=0).names == ["x0", "x1", "x2"]


def test_sortability_by_hand():
    noise = np.random.default_rng(0).normal(size=(500, 3))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    for scales, expected in (([1, 2, 3], 1), ([3, 2, 1], 0), ([1, 1, 1], 0.5), ([1, 3, 2], 2 / 3)):
        assert simulate.varsortability(noise * scales, CHAIN) == pytest.approx(expected)


def test_sortability_agrees_with_its_definition():
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(3, 7))  # both of two variables have the same R2
        graph = random_dag(rng, n, 0.6)
        if not graph.any():
            continue
        X = rng.normal(size=(50, n)) @ rng.normal(size=(n, n))
        assert simulate.varsortability(X, graph) == pytest.approx(sortability(X.var(axis=0), graph))
        assert simulate.r2_sortability(X, graph) == pytest.approx(sortability(explained_variance(X), graph))


def test_r2_sortability_does_not_depend_on_units():
    graph = simulate.erdos_renyi(8, 2, 0)
    data = simulate.simulate_sem(graph, 300, mechanism="linear", noise="homo-ev", random_state=0)
    scaled = data.X * np.logspace(-6, 6, 8) + 5
    assert simulate.r2_sortability(scaled, graph) == simulate.r2_sortability(data.X, graph)
    assert data.report().varsortability > 0.8


def test_sortability_of_collinear_and_constant_columns_is_finite_and_without_edges_there_is_none():
    x = np.random.default_rng(0).normal(size=(20, 1))
    X = np.hstack([x, 2 * x, np.ones((20, 1))])
    assert 0 <= simulate.r2_sortability(X, CHAIN) <= 1
    assert simulate.r2_sortability(X[:2], CHAIN) <= 1
    assert simulate.simulate_sem(np.zeros((3, 3)), 10, random_state=0).report() == (None,) * 5


def sem(graph=CHAIN, *arguments, **options):
    return lambda: simulate.simulate_sem(graph, *arguments, **options)


@cases(
    ("call", "error", "message"),
    (lambda: simulate.erdos_renyi(5, 3), ValueError, "edges_per_variable must be at least 0 and at most 2.0; got 3"),
    (lambda: simulate.erdos_renyi(5, 0.5), ValueError, "must give 5 variables a whole number of edges; got 0.5"),
    (lambda: simulate.erdos_renyi(5, -1), ValueError, "edges_per_variable must be at least 0"),
    (lambda: simulate.erdos_renyi(0, 1), ValueError, "n_variables must be at least 1"),
    (lambda: simulate.erdos_renyi(5.0, 1), TypeError, "n_variables must be an integer"),
    (lambda: simulate.scale_free(5, 5), ValueError, "edges_per_variable must be at least 0 and at most 4; got 5"),
    (lambda: simulate.scale_free(5, 1.5), ValueError, "whole number"),
    (sem(CHAIN + CHAIN.T), ValueError, "cycle, x0 -> x1 -> x0"),
    (sem(np.eye(3)), ValueError, "from variable 0 to itself"),
    (sem(CHAIN[:2]), ValueError, "square matrix"),
    (sem(np.zeros((0, 0))), ValueError, "no variables"),
    (sem(CHAIN, 0), ValueError, "n_observations must be at least 1"),
    (sem(CHAIN, 1, standardize=True), ValueError, "n_observations must be at least 2"),
    (sem(spread=0.5), ValueError, "spread must be at least 1"),
    (sem(mechanism="cubic"), ValueError, "mechanism must be one of 'mlp'"),
    (sem(noise="loud"), ValueError, "noise must be one of 'homo-ev'"),
    (sem(distribution="flat"), ValueError, "distribution must be one of"),
    (sem(mechanism="gp"), ValueError, "softplus-shared.*hidden layer of .mlp."),
    (sem(DENSE, mechanism="linear", noise="exp", random_state=0), ValueError, "overflows.*exp-bounded"),
    (lambda: simulate.varsortability(np.zeros((5, 2)), CHAIN), ValueError, "2 columns and graph 3"),
    (lambda: simulate.varsortability(np.zeros((5, 3)), CHAIN * 0), ValueError, "no edges"),
    (lambda: simulate.r2_sortability(np.ones((5, 3)), CHAIN + CHAIN.T), ValueError, "cycle"),
)
def test_impossible_requests_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
