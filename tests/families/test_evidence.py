import numpy as np
import pytest
from helpers import family_evidence, node_system, recorded
from naive import complex_step_gradient, node_fisher, node_model, node_objective
from scipy.optimize import minimize
from scipy.stats import chi2, multivariate_normal
from support.families import (
    NONE,
    SEARCH_TOLERANCE,
    VARIANCE_FLOOR,
    GaussianLaw,
    GaussianResponse,
    NodeNetwork,
    cold_start,
    evidence,
    family_models,
    forward,
    gaussian,
    node_gradient,
    node_outputs,
    residuals_of,
)
from support.families import fit_node as fit_of_rows
from support.utils import negentropy

UNITS = 3
LAYERS = (slice(0, 2 * UNITS), slice(2 * UNITS + 1, 3 * UNITS + 1), slice(3 * UNITS + 2, None))


def fit_node(x, y, **options):
    return fit_of_rows(np.ascontiguousarray(x.T), y, **options)


def predict_node(theta, x, units=5):
    return node_outputs(theta, x.T, units)


def system(x, y, theta, penalty, units=UNITS, spread=None):
    spread = np.zeros(len(y)) if spread is None else spread
    return node_system(np.ascontiguousarray(x.T), y, spread, theta, penalty, units)


def penalties(precisions):
    """The precision of every weight of one cause, given those of first layer, mean weights and scale weights."""
    flat, (first, mean, scale) = 1e-8, precisions
    return np.repeat([first, flat, mean, flat, scale], [2 * UNITS, 1, UNITS, 1, UNITS])


def mackays_rule(theta, fisher, precisions, prior):
    """gamma + 1 over |w|^2 + 1 / prior, layer by layer."""
    variance, updated = np.diag(np.linalg.inv(fisher)), []
    for layer, own in zip(LAYERS, precisions, strict=True):
        determined = theta[layer].size - own * variance[layer].sum()
        updated.append((determined + 1.0) / (np.sum(theta[layer] ** 2) + 1.0 / prior))
    return updated


def problem(kind, p, n=23):
    rng = np.random.default_rng(p)
    x, y = rng.normal(size=(n, p)), rng.normal(size=n)
    theta = cold_start(p, UNITS, 0) + 0.5 * rng.normal(size=(p + 3) * UNITS + 2)
    if kind == "saturated":
        theta[: p * UNITS] *= 200.0
    elif kind in ("floor", "clipped"):
        theta[-UNITS - 1] = -14.0 if kind == "floor" else 29.9
    elif kind == "constant":
        y[:] = 0.0
    elif kind == "label":
        x[:, 0] = np.arange(n) >= 256  # the first block of observations lacks it
    return x, y, theta, rng.uniform(0.1, 5.0, size=theta.size)


def assert_close(ours, exact):
    np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


KINDS = ["ordinary", "saturated", "floor", "clipped", "constant", "label"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("p", "n"), [(1, 23), (3, 1), (2, 97), (2, 300)])
def test_objective_gradient_and_fisher_matrix_agree_with_their_definitions(kind, p, n):
    """F gains spread / (2 v) at every observation of a cell; backpropagation gives the same gradient."""
    x, y, theta, penalty = problem(kind, p, n)
    spread, cheap, features = np.random.default_rng(n).uniform(0.0, 2.0, size=n), np.empty(theta.size), x.T.copy()

    def slow(t):
        within = sum(spread[k] / (2 * node_model(x[k], t, UNITS)[1]) for k in range(n))
        return node_objective(x, y, t, penalty, UNITS) + within

    value, gradient, fisher = system(x, y, theta, penalty, spread=spread)
    assert value == pytest.approx(slow(theta), rel=1e-12)
    assert system(x, y, theta, penalty)[0] == pytest.approx(node_objective(x, y, theta, penalty, UNITS), rel=1e-12)
    assert_close(gradient, complex_step_gradient(slow, theta))
    assert_close(fisher, node_fisher(x, theta, penalty, UNITS))
    outputs = forward(theta, features, UNITS)
    node_gradient((features, y, spread, NONE), theta, penalty, outputs, np.empty((2, n)), cheap)
    assert_close(cheap, gradient)


def test_predictions_agree_with_naive_and_weights_turn_into_those_of_negated_columns():
    x, _, theta, _ = problem("ordinary", 3)
    mean, deviation = predict_node(theta, x, UNITS)
    exact = np.array([node_model(row, theta, UNITS) for row in x])
    np.testing.assert_allclose(mean, exact[:, 0], rtol=1e-12)
    np.testing.assert_allclose(deviation**2, exact[:, 1], rtol=1e-11)
    signs = np.array([-1.0, 1.0, -1.0])
    network = NodeNetwork(np.arange(3), np.ones(3, dtype=int), theta, UNITS)
    turned = predict_node(network.in_original_signs(signs, -1.0, GaussianLaw()).theta, x * signs, UNITS)
    np.testing.assert_allclose(turned, [-mean, deviation], rtol=1e-12)


def heteroscedastic(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1))
    y = np.tanh(2 * x[:, 0]) + 0.1 * np.exp(x[:, 0]) * rng.normal(size=n)
    return x, (y - y.mean()) / y.std()


def test_fit_is_stationary_and_at_least_as_good_as_lbfgs():
    x, y = heteroscedastic()
    fit = fit_node(x, y, hidden_units=UNITS, precision_updates=0, tol=1e-8, max_steps=1000)
    penalty, start = penalties([3.0] * 3), cold_start(1, UNITS, 0)
    value, gradient, fisher = system(x, y, fit.theta, penalty)
    assert fit.converged
    assert gradient @ np.linalg.solve(fisher, gradient) < 1e-5
    assert (fit.objective, fit.log_determinant) == pytest.approx((value, np.linalg.slogdet(fisher)[1]))
    peer = minimize(lambda t: system(x, y, t, penalty)[:2], start, jac=True, method="L-BFGS-B")
    assert fit.objective < peer.fun + 0.1
    expected = fit.objective + 0.5 * fit.log_determinant - 0.5 * (fit.theta.size - 2) * np.log(3.0)
    assert fit.evidence == pytest.approx(expected)


def test_a_cold_start_fits_the_mean_under_constant_variance_before_both(monkeypatch):
    x, y = heteroscedastic()
    honest, scale_weights = GaussianResponse.minimiser, []

    def recorded(self, x, hidden_units):
        def minimise(theta, *arguments):
            result = honest(self, x, hidden_units)(theta, *arguments)
            scale_weights.append(theta[-UNITS:].copy())
            return result

        return minimise

    monkeypatch.setattr(GaussianResponse, "minimiser", recorded)
    fit_node(x, y, hidden_units=UNITS, precision_updates=0)
    first, second = scale_weights
    np.testing.assert_array_equal(first, 0.0)
    assert np.abs(second).min() > 0.0


def test_evidence_of_linear_gaussian_model_is_the_closed_form():
    """With the first layer and the variance fixed, F is quadratic and Laplace's approximation exact."""
    rng = np.random.default_rng(2)
    n, units, l2 = 40, 4, 3.0
    x, y = rng.normal(size=(n, 1)), rng.normal(size=n)
    theta = cold_start(1, units, 0)
    penalty = np.full(theta.size, l2)
    free = np.arange(2 * units, 3 * units + 1)  # b2, w2: b2 gets the prior of the weights here
    theta[-units - 1] = np.log(1 - VARIANCE_FLOOR)
    _, gradient, fisher = system(x, y, theta, penalty, units)
    theta[free] -= np.linalg.solve(fisher[np.ix_(free, free)], gradient[free])
    fixed = 0.5 * penalty @ np.where(np.isin(np.arange(theta.size), free), 0.0, theta) ** 2
    value, gradient, fisher = system(x, y, theta, penalty, units)
    assert np.abs(gradient[free]).max() < 1e-9
    laplace = value - fixed + 0.5 * np.linalg.slogdet(fisher[np.ix_(free, free)])[1] - 0.5 * free.size * np.log(l2)
    features = np.column_stack([np.ones(n), np.tanh(x * theta[:units] + theta[units : 2 * units])])
    covariance = np.eye(n) + features @ features.T / l2
    exact = -multivariate_normal(np.zeros(n), covariance).logpdf(y) - 0.5 * n * np.log(2 * np.pi)
    assert laplace == pytest.approx(exact, rel=1e-10)


def test_evidence_without_parents_is_the_closed_form():
    y = heteroscedastic()[1]
    n, fit = y.size, fit_node(np.empty((y.size, 0)), y)
    assert fit.evidence == pytest.approx(n / 2 + 0.5 * np.log(n) + 0.5 * np.log(n / 2))
    mean, deviation = predict_node(fit.theta, np.empty((7, 0)))
    np.testing.assert_allclose(mean, y.mean(), atol=1e-12)
    np.testing.assert_allclose(deviation, y.std(), rtol=1e-9)


def test_evidence_prefers_dependence_where_there_is_one():
    x, y = heteroscedastic()
    alone, noise = fit_node(x[:, :0], y).evidence, np.random.default_rng(5).normal(size=x.shape)
    assert fit_node(x, y).evidence < alone - 50
    assert fit_node(noise, y).evidence > alone - 2


@pytest.mark.parametrize("prior", [0.3, 3.0])
def test_the_precisions_are_updated_by_mackays_rule_and_their_hyperprior_is_paid(prior):
    """From the fit with the prior's precision."""
    x, y = heteroscedastic(seed=3)
    options = {"hidden_units": UNITS, "prior_precision": prior, "tol": 1e-9, "max_steps": 1000}
    first, fit = (fit_node(x, y, precision_updates=updates, **options) for updates in (0, 1))
    assert fit.evidence < first.evidence - 0.1
    fisher = system(x, y, first.theta, penalties([prior] * 3))[2]
    updated = mackays_rule(first.theta, fisher, [prior] * 3, prior)
    penalty, ratio = penalties(updated), np.array(updated) / prior
    value, gradient, fisher = system(x, y, fit.theta, penalty)
    assert gradient @ np.linalg.solve(fisher, gradient) < 1e-5
    density, mode = (chi2.logpdf(r, df=1) + np.log(r) for r in (ratio, 1.0))  # in the logarithm of the ratio
    paid = np.sum(mode - density) - 0.5 * np.log(penalty[penalty > 1e-8]).sum()
    assert fit.evidence == pytest.approx(value + 0.5 * np.linalg.slogdet(fisher)[1] + paid, abs=1e-6)


def test_weights_held_at_zero_cost_nothing():
    """The evidence is that of the weights that are free: those of the spread are held here, but for its intercept."""
    x, y = heteroscedastic(seed=2)
    response = GaussianResponse.exact(y, None)
    free = evidence.Layers.of(response, x.shape[1], UNITS)
    kept = np.arange(free.of_weights.size) < free.of_weights.size - UNITS
    layers = free._replace(of_weights=np.where(kept, free.of_weights, free.number + 1))
    start = evidence.Start(None, np.full(3, 2.0), tol=1e-6, precision_updates=0, layers=layers)
    fit = evidence.fit_node(np.ascontiguousarray(x.T), response, UNITS, start, prior_precision=3.0, weight=1.0)
    value, _, fisher = system(x, y, fit.theta, penalties([2.0] * 3))
    log_determinant = np.linalg.slogdet(fisher[np.ix_(kept, kept)])[1]
    of_priors = evidence.Layers(free.of_weights[kept], free.number, kept.sum()).cost(np.full(3, 2.0), 3.0)
    np.testing.assert_allclose(fit.theta[~kept], 0.0, atol=1e-6)
    assert fit.evidence == pytest.approx(value + 0.5 * log_determinant + of_priors, abs=1e-3)


def test_of_all_precisions_the_best_evidence_is_kept(monkeypatch):
    """Here the first update helps and further ones may go too far: what is returned is the best of them."""
    honest, seen = evidence._fits_of_updated_precisions, []

    def remembering(*arguments, **options):
        fits = honest(*arguments, **options)
        seen.append([fit.evidence for fit in fits])
        return fits

    monkeypatch.setattr(evidence, "_fits_of_updated_precisions", remembering)
    kept = [fit_node(*heteroscedastic(60, seed), precision_updates=3).evidence for seed in range(8)]
    assert kept == [min(evidences) for evidences in seen]
    assert all(evidences[0] > evidences[1] for evidences in seen)
    assert any(evidences[-1] > min(evidences) for evidences in seen)


def test_the_precisions_have_one_fixed_point_wherever_a_fit_comes_from(monkeypatch):
    """MacKay's rule, applied to the fit there, gives its own precisions back."""
    (x, y), objectives = heteroscedastic(seed=3), []
    fits = recorded(monkeypatch, gaussian, "node_fit")
    for precision in (0.3, 30.0):
        start = fit_node(x, y, precision=np.full(3, precision), precision_updates=0, hidden_units=UNITS)
        before = len(fits)
        fit = evidence.at_fixed_point(
            np.ascontiguousarray(x.T), GaussianResponse.exact(y, None), start, prior_precision=3.0, weight=1.0
        )
        assert 2 < len(fits) - before < 40  # updates end where one changes nothing any more
        value, _, fisher = system(x, y, fit.theta, penalties(fit.precision))
        assert value == pytest.approx(fit.objective)
        assert mackays_rule(fit.theta, fisher, fit.precision, 3.0) == pytest.approx(fit.precision, rel=0.05)
        objectives.append(fit.objective)
    assert objectives[0] == pytest.approx(objectives[1], abs=5e-4 * y.size)


@pytest.mark.parametrize("n", [2, 3, 50])
def test_short_constant_and_exactly_determined_nodes_stay_finite(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, 2))
    for y in (np.zeros(n), x[:, 0].copy(), rng.standard_cauchy(n)):
        fit = fit_node(x, y)
        assert np.isfinite([*fit.theta, fit.objective, fit.log_determinant, fit.evidence]).all()


@pytest.mark.parametrize("n_inputs", [0, 1])
def test_likelihood_and_cost_make_up_the_evidence(n_inputs):
    x, y = heteroscedastic(60, 0)
    fit = fit_node(x[:, :n_inputs], y)
    parts = evidence.likelihood_and_cost(GaussianResponse.exact(y, None), n_inputs, fit)
    assert sum(parts) == pytest.approx(fit.evidence)
    assert parts[0] <= fit.objective


def evidence_of(Z, **options):
    settings = {"hidden_units": 3, "edge_penalty": 1.0, "n_restarts": 3}
    return family_evidence(np.ascontiguousarray(Z.T), **{**settings, **options})


def families():
    return [(0, ()), (0, (1,)), (0, (2,)), (0, (1, 2)), (2, (0, 1)), (1, (0,))]


def test_family_scores_do_not_depend_on_threads_and_are_cached():
    Z = np.random.default_rng(0).normal(size=(100, 3))
    one, two = evidence_of(Z), evidence_of(Z, n_jobs=2)
    assert one(families()) == two(families())
    one.polish(families())
    two.polish(families())
    assert one(families()) == two(families())
    before = one.fit_of((0, (1, 2)))
    one(families())
    assert one.fit_of((0, (1, 2))) is before


def wave(n=300):
    """x1 and x2 independent; x0 a wave of x1, which the first fit gets wrong, plus a little of x2."""
    rng = np.random.default_rng(3)
    x1, x2 = rng.uniform(-2, 2, size=(2, n))
    Z = np.column_stack([np.sin(3.0 * x1) + 0.3 * x2 + 0.15 * rng.normal(size=n), x1, x2])
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def test_polish_finds_the_best_of_all_starts():
    Z, family = wave(), (0, (1,))
    scores, x, y = evidence_of(Z, edge_penalty=0.0), Z[:, 1:2], Z[:, 0].copy()
    scores([family])
    first = scores.network_score_of(family)  # a linear or additive model may score better than a poor start
    scores.polish([family])
    options = {"hidden_units": 3, "tol": SEARCH_TOLERANCE}
    coarse = [fit_node(x, y, random_state=k, **options) for k in range(3)]
    best = min(coarse, key=lambda fit: fit.evidence)
    assert first == pytest.approx(coarse[0].evidence, rel=1e-12)
    assert best.evidence < first - 1.0
    finer = {"start": best.theta, "precision": best.precision, "precision_updates": 2, "tol": 1e-6}
    fine, found = fit_node(x, y, **options | finer), scores.network_score_of(family)
    assert found == pytest.approx(fine.evidence, abs=0.1)
    assert found <= best.evidence
    assert scores([family])[0] == min(found, scores.baseline_score_of(family, "additive"))


def test_a_family_is_polished_once_and_others_stay(monkeypatch):
    scores, fits = evidence_of(wave()), recorded(monkeypatch, family_models, "fit_node")
    scores([(0, (1,)), (0, ())])
    scores.polish([(0, (1,)), (0, ())])
    scores.polish([(0, (1,))])
    assert [start.seed for (*_, start), _ in fits] == [0, 0, 1, 2, 0]


def test_a_warm_start_is_the_best_smaller_fit_wherever_the_new_parent_stands(monkeypatch):
    """Whatever the new parent's values: mean, deviation and precisions are those of the best fit without it."""
    Z = np.random.default_rng(8).normal(size=(120, 4))
    Z[:, 0] += np.sin(2.0 * Z[:, 1]) - Z[:, 2] + 0.5 * Z[:, 3]
    fits = recorded(monkeypatch, family_models, "fit_node")
    pairs = [(0, pair) for pair in ((1, 2), (1, 3), (2, 3))]
    for smaller, parents in [([(0, (1,))], (1, 2)), *(([pair], (1, 2, 3)) for pair in pairs), (pairs, (1, 2, 3))]:
        scores = evidence_of(Z)
        scores(smaller)
        scores([(0, parents)])
        x, *_, start = next(given for given, _ in fits[::-1] if len(given[0]) == len(parents))
        np.testing.assert_array_equal(x, Z[:, list(parents)].T)
        best = min(smaller, key=lambda family: scores.fit_of(family).evidence)
        known = predict_node(scores.fit_of(best).theta, Z[:, list(best[1])], 3)
        np.testing.assert_allclose(predict_node(start.theta, x.T, 3), known, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(start.precision, scores.fit_of(best).precision)
    assert fits[0][0][3].precision is None


def test_edges_cost_their_penalty_and_free_noise_earns_its_negentropy():
    Z, networks = wave(), []
    extra = [10.0 * len(parents) for _, parents in families()]
    np.testing.assert_allclose(np.subtract(*(evidence_of(Z, edge_penalty=c)(families()) for c in (11.0, 1.0))), extra)
    for noise in ("gaussian", "free"):
        scores = evidence_of(Z, noise=noise)
        scores(families())
        networks.append([scores.network_score_of(family) for family in families()])
    earned = [len(Z) * negentropy(residuals_of(scores, family), None) for family in families()]
    np.testing.assert_allclose(np.subtract(*networks), earned, rtol=1e-9, atol=1e-9)
    assert max(earned) > 1.0


def test_the_constant_model_of_cells_has_the_spread_within_them_too():
    """Mean and variance of a mixture of uniform densities, one a cell."""
    rng = np.random.default_rng(9)
    low = rng.normal(size=50)
    high = low + rng.uniform(0.0, 2.0, size=50)
    theta, objective, _ = GaussianResponse.over_cells(low, high, (), None).without_parents(UNITS)
    mean, deviation = predict_node(theta, np.empty((1, 0)), UNITS)
    centre = (low + high) / 2
    variance = centre.var() + np.mean((high - low) ** 2) / 12
    expected = centre.mean(), variance, 25 * (1 + np.log(variance))
    assert (mean[0], deviation[0] ** 2, objective) == pytest.approx(expected, rel=1e-12)
