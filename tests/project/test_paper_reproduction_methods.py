"""The paper's baselines: each must succeed on its own model and fail where its source says that it cannot tell."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import cases

sys.path.append(str(Path(__file__).parent.parent.parent))

from icdh import simulate
from icdh.graphs import causal_order
from icdh.metrics import shd
from paper_reproduction.methods import METHODS, cam, carefl, estimate, gfbs, golem, host, loci, us
from paper_reproduction.methods._additive import AdditiveModels
from paper_reproduction.methods._location_scale import Objective, fit_location_scale


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As jobs run: a second BLAS thread makes small problems slower."""
    with pytest.importorskip("threadpoolctl").threadpool_limits(1):
        yield


CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
FORWARD, BACKWARD = np.array([[0, 1], [0, 0]]), np.array([[0, 0], [1, 0]])


def rng_of(seed=0):
    return np.random.default_rng(seed)


def draw(graph, mechanism, noise, seed=0, rows=1000, **options):
    return simulate.simulate_sem(graph, rows, mechanism=mechanism, noise=noise, random_state=seed, **options).X


def pair(effect, seed=0, rows=800, cause=None):
    """Return a cause and an effect that is a function of it and of standard normal noise."""
    rng = rng_of(seed)
    x = rng.normal(size=rows) if cause is None else cause(rng, rows)
    return np.column_stack([x, effect(x, rng.normal(size=rows))])


def edges(method, X):
    return (estimate(method, X, 0) != 0).astype(int)


def needs(method):
    return pytest.mark.skipif(not METHODS[method].is_installed(), reason="needs the extra [reproduction]")


def location_scale(x, e):
    return np.tanh(2.0 * x) + 0.5 * x + (0.2 + 0.6 / (1.0 + np.exp(-2.0 * x))) * e


def square(x, e):
    return x**2 + (0.3 + 0.5 * np.abs(x)) * e


def linear_gaussian(x, e):
    return x + 0.7 * e


@cases(
    ("method", "mechanism", "noise", "nodes", "seed"),
    *(("CAM", "gp-add", "homo-nv", 6, seed) for seed in range(2)),  # standardised: in any units
    ("GFBS", "gp-add", "homo-ev", 6, 1),
    *(("US", "linear", "homo-ev", 8, seed) for seed in range(3)),
)
def test_each_finds_models_of_its_own_kind(method, mechanism, noise, nodes, seed):
    graph, rows = simulate.erdos_renyi(nodes, 1, seed), 1000 if method == "US" else 600
    X = draw(graph, mechanism, noise, seed, rows, standardize=method == "CAM")
    assert shd(estimate(method, X, 0), graph) <= 1


def test_cam_takes_the_effect_of_a_volatility_for_its_cause():
    """The mean does not depend on the cause, but the cause depends on the size of the effect."""
    np.testing.assert_array_equal(edges("CAM", pair(lambda x, e: np.exp(0.7 * x) * e)), BACKWARD)


@pytest.mark.parametrize(("method", "mechanism"), [("GFBS", "gp-add"), ("US", "linear")])
def test_methods_that_sort_by_variances_depend_on_units(method, mechanism):
    X = draw(CHAIN, mechanism, "homo-ev", 2, rows=600)
    np.testing.assert_array_equal(edges(method, X), CHAIN)
    assert (edges(method, X * [100.0, 1.0, 0.01]) != CHAIN).any()


def test_us_orders_by_the_variances_that_regression_leaves():
    X = draw(simulate.erdos_renyi(6, 1.5, 0), "linear", "homo-nv", 0)
    X = X - X.mean(axis=0)
    order = us.forward_order(X.T @ X / len(X))
    for at in range(6):
        left = []
        for k in order[at:]:
            fitted = X[:, order[:at]] @ np.linalg.lstsq(X[:, order[:at]], X[:, k], rcond=None)[0] if at else 0.0
            left.append(np.var(X[:, k] - fitted))
        assert np.argmin(left) == 0


def test_host_finds_gaussian_location_scale_models():
    x = pair(location_scale, seed=3)
    X = np.column_stack([x, location_scale(x[:, 1], rng_of(4).normal(size=len(x)))])
    np.testing.assert_array_equal(edges("HOST", X), CHAIN)
    np.testing.assert_array_equal(edges("HOST", X[:, [2, 0, 1]]), CHAIN[np.ix_([2, 0, 1], [2, 0, 1])])


def test_host_takes_what_looks_normal_for_the_cause():
    X = pair(linear_gaussian, cause=lambda rng, rows: rng.choice([-1.0, 1.0], rows) + 0.1 * rng.normal(size=rows))
    X[:, 1] += 2.0 * rng_of(9).normal(size=len(X))
    np.testing.assert_array_equal(edges("HOST", X), BACKWARD)


def test_host_judges_residuals_in_units_of_their_spread_around_their_mean():
    """Given the first variable, the second is Gaussian of varying mean and spread, the third is a mixture."""
    rng = rng_of(1)
    a, e, f = rng.normal(size=(3, 1500))
    b = a**2 + np.exp(0.8 * a) * e
    X = np.column_stack([a, b, a + 2.0 * np.tanh(b) + 0.5 * f])
    options = {"hidden_units": 10, "ridge": 1e-3, "max_iterations": 300}
    assert host.layers_by_normality((X - X.mean(axis=0)) / X.std(axis=0), rng, options) == [[0], [1], [2]]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["LOCI", "LOCI-M", "CAREFL"])
def test_pair_methods_find_the_cause_on_either_side_and_cannot_orient_a_linear_gaussian_pair(method):
    X = pair(square, seed=1)
    found = estimate(method, X, 0)
    np.testing.assert_array_equal(found != 0, FORWARD)
    np.testing.assert_array_equal(edges(method, X[:, ::-1]), BACKWARD)
    unclear = np.abs(estimate(method, pair(linear_gaussian, seed=1), 0)).max()
    assert unclear < (1e-3 if method == "LOCI" else 0.2 * np.abs(found).max())


def numerical_gradient(function, theta, step=1e-6):
    """Return central differences."""
    steps = step * np.eye(len(theta))
    return np.array([(function(theta + s) - function(theta - s)) / (2.0 * step) for s in steps])


@pytest.mark.parametrize("count", [1, 3])
def test_gradients_of_the_location_scale_network_and_of_the_flow(count):
    """Of so many causes, and of so many couplings."""
    rng = rng_of(count)
    network = Objective(rng.normal(size=(40, count)), rng.normal(size=40), 4, 1e-2)
    theta = 3.0 * network.start(rng)
    numeric = numerical_gradient(lambda t: network(t)[0], theta)
    np.testing.assert_allclose(network(theta)[1], numeric, rtol=1e-6, atol=1e-8)
    Z, theta = rng.normal(size=(40, 2)), 0.5 * rng.normal(size=count * carefl.LAYER)
    numeric = numerical_gradient(lambda t: carefl.negative_log_likelihood(t, Z)[0], theta)
    np.testing.assert_allclose(carefl.negative_log_likelihood(theta, Z)[1], numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_the_flow_is_a_density():
    """Of a cause and an effect on a fine grid, the likelihood sums to one."""
    theta = 0.3 * rng_of().normal(size=carefl.LAYER)
    axis = np.arange(-15.0, 15.0, 0.25)
    logs = [-carefl.negative_log_likelihood(theta, np.array([[x, y]]))[0] for x in axis for y in axis]
    assert np.sum(np.exp(logs)) * 0.25**2 == pytest.approx(1.0, abs=0.03)


def test_likelihood_of_the_network_is_that_of_its_mean_and_spread():
    X = pair(location_scale)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"hidden_units": 5, "ridge": 0.0, "max_iterations": 50, "random_state": 0}
    for causes in (X[:, :1], X[:, :0]):
        found = fit_location_scale(causes, X[:, 1], **options)
        logs = -0.5 * ((X[:, 1] - found.mean) / found.std) ** 2 - np.log(found.std) - 0.5 * np.log(2.0 * np.pi)
        assert found.log_likelihood == pytest.approx(logs.mean(), rel=1e-10)


def test_hsic_is_the_trace_of_centred_kernels():
    rng = rng_of()
    a = rng.normal(size=60)
    b = a**2 + 0.1 * rng.normal(size=60)

    def kernel(sample):
        squared = (sample[:, None] - sample) ** 2
        return np.exp(-squared / np.median(squared[np.triu_indices(60, 1)]))

    centring = np.eye(60) - 1.0 / 60
    expected = np.trace(kernel(a) @ centring @ kernel(b) @ centring) / 60**2
    assert loci.hsic(a, b) == pytest.approx(expected, rel=1e-10)
    assert loci.hsic(a, b) > 3 * loci.hsic(a, rng.permutation(b))


def test_additive_regression_leaves_the_noise_and_p_values_are_uniform():
    rng = rng_of()
    X = rng.normal(size=(1000, 3))
    X[:, 2] = np.sin(2.0 * X[:, 0]) + 0.5 * rng.normal(size=1000)
    models = AdditiveModels(X)
    assert models.residual_variance(2, [0, 1]) * X[:, 2].var() == pytest.approx(0.25, rel=0.1)
    assert models.p_values(2, [0, 1])[0] < 1e-10
    p = [AdditiveModels(rng.normal(size=(200, 2))).p_values(1, [0])[0] for _ in range(200)]
    assert 0.01 < np.mean(np.array(p) < 0.05) < 0.15


def test_additive_regression_spends_few_degrees_of_freedom_on_noise():
    """Generalised cross-validation smooths noise to about a line; splines without a penalty would spend nine."""
    rng = rng_of()
    explained = [1.0 - AdditiveModels(rng.normal(size=(300, 2))).residual_variance(1, [0]) for _ in range(60)]
    assert 1.0 < 300 * np.mean(explained) < 4.0


def test_additive_regression_agrees_with_pygam():
    pygam = pytest.importorskip("pygam")
    x, y = pair(lambda x, e: np.sin(2.0 * x) + (0.2 + 0.3 * np.abs(x)) * e).T
    theirs = pygam.LinearGAM(n_splines=10).gridsearch(x[:, None], y, progress=False)
    ours = AdditiveModels(np.column_stack([x, y])).residual_variance(1, [0])
    unexplained = np.mean((y - theirs.predict(x[:, None])) ** 2) / y.var()
    assert ours == pytest.approx(unexplained, rel=0.05)  # their knots are evenly spaced


def test_layers_of_gfbs_and_the_order_of_cam_hold_all_variables_once():
    layers = gfbs.forward(AdditiveModels(draw(simulate.erdos_renyi(6, 1, 0), "linear", "homo-ev")), eta=0.5)
    assert sorted(node for layer in layers for node in layer) == list(range(6))
    assert len(layers) < 6
    assert sorted(cam.greedy_order(AdditiveModels(rng_of().normal(size=(300, 6))))) == list(range(6))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["CAM", "GFBS", "HOST", "US"])
@pytest.mark.parametrize("flaw", ["constant", "duplicate", "huge", "few rows", "ties"])
def test_awkward_tables_give_a_dag(method, flaw):
    X = rng_of().normal(size=(12 if flaw == "few rows" else 120, 4))
    X[:, 1] += X[:, 0] ** 2
    if flaw in ("constant", "duplicate"):
        X[:, 2] = 3.0 if flaw == "constant" else X[:, 1]
    elif flaw in ("huge", "ties"):
        X = 1e12 * X if flaw == "huge" else np.round(X)
    assert len(causal_order(estimate(method, X, 0))) == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=needs(name)) for name in METHODS if not name.startswith(("GraN", "ICDH"))]
)
def test_every_method_answers_on_a_pair_repeats_itself_and_does_not_change_its_data(method):
    X, options = pair(location_scale, rows=300), {"iterations": 3000} if method.startswith("GOLEM") else {}
    first, second = (estimate(method, X, 5, **options) for _ in range(2))
    assert first.shape == (2, 2)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, pair(location_scale, rows=300))


@needs("LiNGAM")
@pytest.mark.parametrize("method", ["LiNGAM", "DirectLiNGAM"])
def test_lingam_orients_non_gaussian_chains(method):
    X = draw(CHAIN, "linear", "homo-ev", 3, distribution="uniform", standardize=True)
    np.testing.assert_array_equal(np.abs(estimate(method, X, 0)) > 0.2, CHAIN)


@cases(
    ("method", "least", "options"),
    pytest.param("NOTEARS", 0.3, {}, marks=needs("NOTEARS")),
    pytest.param("sortnregress", 0.1, {}, marks=needs("sortnregress")),
    pytest.param("GOLEM-EV", 0.3, {"iterations": 6000}, marks=pytest.mark.slow),
    pytest.param("GOLEM-NV", 0.3, {"iterations": 6000}, marks=pytest.mark.slow),
)
def test_linear_methods_find_linear_models_of_one_variance(method, least, options):
    found = np.abs(estimate(method, draw(CHAIN, "linear", "homo-ev", 1), 0, **options))
    np.testing.assert_array_equal(found > least, CHAIN)


@needs("GES")
@pytest.mark.parametrize("method", ["GES", "CD-NOD"])
def test_a_collider_is_directed_and_a_chain_is_not(method):
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(edges(method, draw(collider, "linear", "homo-ev", 1)), collider)
    np.testing.assert_array_equal(edges(method, draw(CHAIN, "linear", "homo-ev", 1)), CHAIN + CHAIN.T)


@needs("sortnregress")
def test_sortnregress_sorts_by_variance():
    X = draw(CHAIN, "linear", "homo-ev", 1)
    assert estimate("sortnregress", X * [100.0, 10.0, 1.0] / X.std(axis=0), 0)[2].any()


@needs("HEC")
def test_hec_finds_the_cause():
    X = pair(lambda x, e: x**3 + (0.1 + np.abs(x)) * e, rows=2000, cause=lambda rng, rows: rng.uniform(-2, 2, rows))
    np.testing.assert_array_equal(edges("HEC", X), FORWARD)


@needs("GraN-DAG")
@pytest.mark.parametrize("equal_variances", [True, False])
def test_golem_takes_the_steps_of_gcastle(equal_variances):
    from castle.algorithms import GOLEM

    X = draw(simulate.erdos_renyi(5, 2, 3), "mlp", "homo-nv", 3)
    X -= X.mean(axis=0)
    l1 = golem.EQUAL if equal_variances else golem.UNEQUAL
    model = GOLEM(equal_variances=equal_variances, lambda_1=l1, num_iter=400)
    model.learn(X)
    ours = golem.adam(X.T @ X, np.zeros((5, 5)), equal_variances, l1, 400)
    assert np.abs(ours).max() > 0.2
    np.testing.assert_allclose(ours, np.asarray(model.weight_causal_matrix), atol=2 * golem.RATE)


@needs("GraN-DAG")
@pytest.mark.parametrize("seed", range(2))
def test_notears_mlp_is_no_worse_than_gcastles(seed):
    """The same objective, l1 = l2 = 0.01, without intercepts: ours ends at a value that is no higher."""
    from castle.algorithms import NotearsNonlinear

    graph = simulate.erdos_renyi(5, 1, seed)
    X = draw(graph, "mlp", "homo-ev", seed)
    model = NotearsNonlinear(lambda1=0.01, lambda2=0.01, w_threshold=0.3)
    model.learn(X)
    theirs = shd(np.asarray(model.causal_matrix), graph)
    assert abs(shd(estimate("NOTEARS-MLP", X, seed) > 0.3, graph) - theirs) <= 2


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_torch_is_loaded_only_by_methods_that_need_it():
    code = (
        "import sys, numpy; from paper_reproduction.methods import estimate; "
        "X = numpy.random.default_rng(0).normal(size=(100, 3)); "
        "[estimate(name, X, 0) for name in ('CAM', 'GFBS', 'HOST', 'US')]; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent.parent, check=True)
