"""Slow, obvious versions of what icdh computes fast: the oracles of the tests.

Everything accepts complex weights, so that a derivative is the imaginary part of one evaluation at
``w + i * 1e-30`` (complex-step differentiation), exact to the last digits.
"""

import dataclasses
from itertools import combinations, pairwise, permutations

import numpy as np
from scipy.optimize import minimize

STEP = 1e-30


def sigmoid(z):
    if z.real < 0:
        e = np.exp(z)
        return e / (1 + e)
    return 1 / (1 + np.exp(-z))


ACTIVATIONS = {"sigmoid": sigmoid, "tanh": np.tanh}


def mean_and_scale(x, w, n):
    """Mean and scale of node n at one observation."""
    s = []
    for h in range(len(w["w2"][n])):
        z = 0
        for i in range(len(x)):
            if i != n:
                z = z + w["w1"][n][h][i] * x[i]
        if w["hidden_bias"] is not None:
            z = z + w["hidden_bias"][n][h]
        s.append(ACTIVATIONS[w["activation"].name](z))
    mean = sum(w["w2"][n][h] * s[h] for h in range(len(s)))
    if w["output_bias"] is not None:
        mean = mean + w["output_bias"][n]
    slope = sum(w["w3"][n][h] * s[h] for h in range(len(s)))
    b = w["w3_bias"][n]
    floor = np.exp(b) if abs(b.real) < 150 else np.exp(150.0 * np.sign(b.real))
    return mean, (slope if slope.real > 0 else 0) + floor


def forward(X, weights):
    w = as_dict(weights)
    pairs = [[mean_and_scale(x, w, n) for n in range(X.shape[1])] for x in X]
    return np.array([[p[0] for p in row] for row in pairs]), np.array([[p[1] for p in row] for row in pairs])


def nll(X, w):
    """Eq. 11 divided by the number of observations."""
    total = 0
    for x in X:
        for n in range(X.shape[1]):
            mean, sigma = mean_and_scale(x, w, n)
            e = (x[n] - mean) / sigma
            total = total + np.log(sigma) + 0.5 * np.log(2 * np.pi) + 0.5 * e * e
    return total / len(X)


def acyclicity(A):
    """Tr(exp(A∘A)) - N by the power series."""
    B = A * A
    power, h = np.eye(len(A)), 0
    for k in range(1, 200):
        power = power @ B / k
        h = h + np.trace(power)
    return h


def phase_two_objective(X, scale, w, l1, l2, rho, alpha):
    """The augmented Lagrangian of Phase II; |w| is real-analytic away from zero, so complex steps work."""
    loss = 0
    for x, sigmas in zip(X, scale, strict=True):
        for n in range(X.shape[1]):
            mean, _ = mean_and_scale(x, w, n)
            loss = loss + (x[n] - mean) ** 2 / (2 * sigmas[n] ** 2)
    w1 = w["w1"]
    lasso = np.sum(np.where(w1.real < 0, -w1, w1))
    ridge = np.sum(w1 * w1) + np.sum(w["w2"] * w["w2"])
    h = acyclicity(np.sqrt(np.sum(w1 * w1, axis=1)).T) if rho or alpha else 0
    return loss / len(X) + l1 * lasso + l2 / 2 * ridge + alpha * h + rho / 2 * h * h


def as_dict(weights):
    return {field.name: getattr(weights, field.name) for field in dataclasses.fields(weights)}


def complex_step(function, weights, names):
    """Derivatives of ``function`` (of a dict of weights) by every entry of the named arrays."""
    gradient = {}
    for name in names:
        values = np.asarray(getattr(weights, name))
        gradient[name] = np.zeros(values.shape)
        for index in np.ndindex(values.shape):
            if name == "w1" and index[0] == index[2]:
                continue
            shifted = as_dict(weights)
            shifted[name] = values.astype(complex)
            shifted[name][index] += 1j * STEP
            gradient[name][index] = np.imag(function(shifted)) / STEP
    return gradient


def node_model(x, theta, units):
    """Mean and variance of the node model of `icdh._node_model.network` at one observation of its parents."""
    p, m = len(x), units
    w1, b1 = theta[: p * m], theta[p * m : (p + 1) * m]
    b2, w2 = theta[(p + 1) * m], theta[(p + 1) * m + 1 : (p + 2) * m + 1]
    b3, w3 = theta[(p + 2) * m + 1], theta[(p + 2) * m + 2 :]
    s = [np.tanh(b1[h] + sum(w1[j * m + h] * x[j] for j in range(p))) for h in range(m)]
    mean = b2 + sum(w2[h] * s[h] for h in range(m))
    log_variance = b3 + sum(w3[h] * s[h] for h in range(m))
    if abs(log_variance.real) > 30:
        log_variance = 30.0 * np.sign(log_variance.real)
    return mean, 1e-5 + np.exp(log_variance)


def node_objective(x, y, theta, penalty, units):
    """F of `icdh._node_model.network`."""
    total = 0.5 * sum(penalty[k] * theta[k] ** 2 for k in range(len(theta)))
    for r in range(len(y)):
        mean, variance = node_model(x[r], theta, units)
        total = total + 0.5 * np.log(variance) + (y[r] - mean) ** 2 / (2 * variance)
    return total


def complex_step_gradient(function, theta):
    """Derivatives of a real-analytic function of theta, exact to the last digits."""
    return np.array([function(theta + 1j * STEP * unit).imag / STEP for unit in np.eye(len(theta))])


def node_fisher(x, theta, penalty, units):
    """Sum over observations of dmu dmu^T / v + dv dv^T / (2 v^2), plus the penalties."""
    fisher = np.diag(penalty)
    for row in x:
        _, v = node_model(row, theta, units)
        dmu = complex_step_gradient(lambda t, row=row: node_model(row, t, units)[0] + 0j, theta)
        dv = complex_step_gradient(lambda t, row=row: node_model(row, t, units)[1] + 0j, theta)
        fisher = fisher + np.outer(dmu, dmu) / v + np.outer(dv, dv) / (2 * v**2)
    return fisher


def descendants(G, i):
    """Variable i and all that it causes."""
    found, waiting = {i}, [i]
    while waiting:
        k = waiting.pop()
        new = {j for j in range(len(G)) if G[k][j]} - found
        found |= new
        waiting.extend(new)
    return found


def simple_paths(G, i, j):
    """All paths from i to j that visit no variable twice, whatever the directions of their edges."""
    waiting, paths = [[i]], []
    while waiting:
        path = waiting.pop()
        if path[-1] == j:
            paths.append(path)
            continue
        waiting.extend([*path, k] for k in range(len(G)) if k not in path and (G[path[-1]][k] or G[k][path[-1]]))
    return paths


def is_directed(G, path):
    return all(G[a][b] for a, b in pairwise(path))


def is_blocked(G, path, Z):
    """d-separation by definition, for one path."""
    for a, b, c in zip(path, path[1:], path[2:], strict=False):
        collider = G[a][b] and G[c][b]
        if (collider and not descendants(G, b) & Z) or (not collider and b in Z):
            return True
    return False


def is_valid_adjustment(G, i, j, Z):
    """Whether adjusting for Z gives the effect on j of an intervention on i (Peters and Bühlmann, Section 2)."""
    paths = simple_paths(G, i, j)
    directed = [path for path in paths if is_directed(G, path)]
    forbidden = set().union(*(descendants(G, k) for path in directed for k in path[1:]))
    return not forbidden & Z and all(is_blocked(G, path, Z) for path in paths if path not in directed)


def sid(H, G):
    """Structural intervention distance from the true G to the estimated H, by its definition."""
    errors = 0
    for i in range(len(G)):
        parents = {k for k in range(len(G)) if H[k][i]}
        for j in range(len(G)):
            if j == i:
                continue
            if j in parents:
                errors += j in descendants(G, i)
            else:
                errors += not is_valid_adjustment(G, i, j, parents)
    return errors


def published_auprc(W, G):
    """The published area: edges of at least every weight that occurs, joined by straight lines."""
    points = []
    for t in sorted({abs(w) for w in W.flatten()}):
        found = (abs(W) >= t) & (W != 0)
        right = (found & (G != 0)).sum()
        if found.any():
            points.append((right / (G != 0).sum(), right / found.sum()))
    return sum((a[0] - b[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))


def sortability(statistic, G):
    """Share of paths along which a statistic increases: pairs of variables, for every length of paths between them."""
    increasing, total = 0, 0
    for i in range(len(G)):
        for j in range(len(G)):
            for _ in {len(path) for path in simple_paths(G, i, j) if len(path) > 1 and is_directed(G, path)}:
                total += 1
                increasing += 0.5 if statistic[i] == statistic[j] else float(statistic[i] < statistic[j])
    return increasing / total


def explained_variance(X):
    """R2 of every variable regressed on all others."""
    shares = []
    for n in range(X.shape[1]):
        others = np.column_stack([np.ones(len(X)), np.delete(X, n, axis=1)])
        residual = X[:, n] - others @ np.linalg.lstsq(others, X[:, n], rcond=None)[0]
        shares.append(1 - residual.var() / X[:, n].var())
    return shares


def all_dags(n):
    """Every directed acyclic graph of n variables, as boolean matrices."""
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    for bits in range(1 << len(pairs)):
        G = np.zeros((n, n), dtype=bool)
        for k, (i, j) in enumerate(pairs):
            G[i, j] = bits >> k & 1
        if not any(i != j and j in descendants(G, i) and i in descendants(G, j) for i in range(n) for j in range(n)):
            yield G


def orders_of(G):
    """All orders of the variables that put causes before effects."""
    n = len(G)
    return [p for p in permutations(range(n)) if all(p.index(i) < p.index(j) for i, j in np.argwhere(G))]


def walk_over_orders(tables, candidates, order, swaps, uniforms, every):
    """Metropolis steps that swap two places of an order; the orders after every so many of them."""

    def log_weight(order):
        before = [sum(1 << b for b, k in enumerate(candidates[n]) if k in order[:p]) for p, n in enumerate(order)]
        return sum(tables[n][known] for n, known in zip(order, before, strict=True))

    kept = []
    for step, ((i, j), uniform) in enumerate(zip(swaps, uniforms, strict=True), 1):
        other = list(order)
        other[i], other[j] = order[j], order[i]
        order = other if np.log(uniform) < log_weight(other) - log_weight(order) else order
        kept += [order] if step % every == 0 else []
    return kept


def additive_evidence(x, y, spread, bends, precisions):
    """The negative log evidence of lines and smooths, from dense covariances in units of the variance of the noise."""
    n = len(y)
    lines, precisions = np.column_stack([np.ones(n), x.T]), np.asarray(precisions)
    V = np.eye(n) + sum(own.T @ own / c for own, c in zip(bends, precisions, strict=True))
    inverse = np.linalg.inv(V)
    within = lines.T @ inverse @ lines
    rest = y - lines @ np.linalg.solve(within, lines.T @ inverse @ y)
    variance = (rest @ inverse @ rest + spread.sum()) / n
    determinants = [np.linalg.slogdet(own)[1] for own in (V, within, lines.T @ lines)]
    cost = 0.5 * n * (np.log(variance) + 1) + 0.5 * (determinants[0] + determinants[1] - determinants[2])
    cost += 0.5 * (precisions - 1 - np.log(precisions)).sum()
    return cost + 0.5 * (np.log(n / variance) + np.log(n / 2) + len(x) * np.log(n))


def linear_evidence(x, y, spread):
    """Negative log evidence of a linear model, by normal equations and row by row; causes in columns.

    The log-likelihood of each row at its maximum, without log sqrt(2 pi), is averaged over an even spread of variance
    ``spread``. The determinant is that of the expected Hessian by intercept and log-variance.
    """
    n = len(y)
    design = np.column_stack([np.ones(n), x])
    coefficients = np.linalg.solve(design.T @ design, design.T @ y)
    squares = [(y[k] - design[k] @ coefficients) ** 2 + spread[k] for k in range(n)]
    variance = sum(squares) / n
    cost = sum(0.5 * np.log(variance) + square / (2 * variance) for square in squares)
    hessian = sum(np.diag([1 / variance, 1 / 2]) for _ in range(n))
    return cost + 0.5 * np.log(np.linalg.det(hessian)) + 0.5 * x.shape[1] * np.log(n)


def generalised_linear_evidence(x, levels, cuts):
    """Negative log evidence of levels 0 ... K - 1 whose hidden variable has a linear mean; causes in columns.

    The variance, the same in all rows, is free for more than two levels. The maximum is found without derivatives'
    help, and the information of intercepts is the mean of their squared scores over the levels, by differences.
    """
    (n, q), free = x.shape, 2 if len(cuts) > 1 else 1
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])

    def probability(level, mu, u):
        upper, lower = (
            1 / (1 + np.exp(-(edge - mu) * np.pi / np.sqrt(3) * np.exp(-u / 2)))
            for edge in edges[level + np.array([1, 0])]
        )
        return upper - lower

    def outputs(weights):
        return weights[0] + x @ weights[1 : q + 1], weights[q + 1] if free == 2 else 0.0

    def surprise(weights):
        mu, u = outputs(weights)
        return -sum(np.log(probability(levels[k], mu[k], u)) for k in range(n))

    best = minimize(lambda weights: surprise(weights) / n, np.zeros(q + free), method="BFGS", options={"gtol": 1e-8})
    mu, u = outputs(best.x)
    information, step = np.zeros((free, free)), 1e-5
    for k in range(n):
        for level in range(len(edges) - 1):
            scores = [
                (np.log(probability(level, mu[k] + a, u + b)) - np.log(probability(level, mu[k] - a, u - b)))
                / (2 * step)
                for a, b in [(step, 0.0), (0.0, step)][:free]
            ]
            information += probability(level, mu[k], u) * np.outer(scores, scores)
    return surprise(best.x) + 0.5 * np.log(np.linalg.det(information)) + 0.5 * q * np.log(n), best.x


def heteroscedastic_evidence(x, y, spread, fit, prior):
    """Negative log evidence of a linear mean whose spread a network has, row by row; causes in columns.

    The Fisher matrix is that of intercept and weights of the spread at once; a slope costs half of log n.
    """
    (n, p), (first, _, last), m = x.shape, fit.spread.precision, fit.spread.hidden_units
    of_spread = np.r_[: (p + 1) * m, (p + 2) * m + 1 : (p + 3) * m + 2]  # without mean
    penalty = np.concatenate([np.full((p + 1) * m, first), [1e-8], np.full(m, last)])
    cost = 0.5 * penalty @ fit.spread.theta[of_spread] ** 2 - 0.5 * ((p + 1) * m * np.log(first) + m * np.log(last))
    cost += sum(0.5 * (ratio - 1 - np.log(ratio)) for ratio in (first / prior, last / prior))
    fisher = np.diag(np.append(0.0, penalty))
    for row, value, within in zip(x, y, spread, strict=True):

        def variance(theta, row=row):
            return fit.unit**2 * node_model(row, theta, m)[1]

        v = variance(fit.spread.theta)
        cost += 0.5 * np.log(v) + ((value - fit.intercept - fit.slopes @ row) ** 2 + within) / (2 * v)
        dv = complex_step_gradient(variance, fit.spread.theta)[of_spread]
        dmu, dv = np.append(1.0, np.zeros(dv.size)), np.append(0.0, dv)
        fisher += np.outer(dmu, dmu) / v + np.outer(dv, dv) / (2 * v**2)
    return cost + 0.5 * np.linalg.slogdet(fisher)[1] + 0.5 * p * np.log(n)


def table_evidence(y, x, sizes, worth):
    """Negative log evidence of a table of conditional probabilities: each observation predicted from those before it.

    Labels y, shape (n,), given those of the parents in columns, shape (n, p); sizes are the numbers of labels of y
    and of each parent. The prior counts ``worth`` observations, evenly spread over all cells.
    """
    cell = worth / np.prod(sizes)
    seen, cost = [], 0.0
    for label, given in zip(y.tolist(), x.tolist(), strict=True):
        alike = [other for other, parents in seen if parents == given]
        cost -= np.log((alike.count(label) + cell) / (len(alike) + cell * sizes[0]))
        seen.append((label, given))
    return cost


def free_means(counts, expected, penalties):
    """Smooth means of Poisson counts beside those expected, of the penalty of the highest evidence, by Newton steps."""
    differences = np.diff(np.eye(len(counts)), 2, axis=0)
    best = -np.inf, None
    for penalty in penalties:
        curvature, f = penalty * differences.T @ differences, np.zeros(len(counts))
        for _ in range(500):
            means = expected * np.exp(f)
            step = np.linalg.solve(np.diag(means) + curvature, counts - means - curvature @ f)
            f = f + step * min(1, 1 / max(np.abs(step).max(), 1e-9))
        means = expected * np.exp(f)
        evidence = counts @ f - means.sum() - f @ curvature @ f / 2 + (len(counts) - 2) * np.log(penalty) / 2
        evidence -= np.linalg.slogdet(np.diag(means) + curvature)[1] / 2
        best = max(best, (evidence, means), key=lambda pair: pair[0])
    return best[1]


def gain_estimate(candidate, x, hidden, scores):
    """Log evidence, over none, of scores regressed on functions of a candidate beyond what a fit explains."""
    n, bent = candidate.size, np.tanh(0.8 * candidate)
    known = [np.ones(n), *hidden, *x]
    functions = [bent, bent**2, candidate, *(candidate * unit for unit in hidden if len(x))]
    basis = np.linalg.qr(np.column_stack([*known, *functions]))[0].T  # in their order
    rest = scores - scores @ basis[: len(known)].T @ basis[: len(known)]
    squares = (rest @ basis[len(known) :].T) ** 2
    squares[0] *= -n * np.log(1 - squares[0].sum() / (rest[0] @ rest[0])) / squares[0].sum()
    prior = np.array([1, 0.5, 0.5, *[0.25] * (len(functions) - 3)])
    ratios = [n * variance * prior for variance in np.geomspace(3e-4, 1, 8)]
    return sum(max(0, *(sum(own * r / (1 + r) - np.log(1 + r)) / 2 for r in ratios)) for own in squares)


def ridge(x, y, weights, penalties, steps, most):
    """The ridge regression of the least error of generalised cross-validation, or so many steps of penalties below it.

    Returns intercept and slopes, that error, and degrees of freedom: ``most`` where that is more than the best has.
    """
    n, design, fits = sum(weights), x - weights @ x / sum(weights), []
    for penalty in penalties:
        inverse = np.linalg.inv(design.T * weights @ design + penalty * np.eye(x.shape[1]))
        slopes = inverse @ (design.T * weights) @ y
        left = y - weights @ y / n - design @ slopes
        used = 1 + np.trace(inverse @ (design.T * weights) @ design)
        error = n * weights @ left**2 / (n - used) ** 2 if used < 0.9 * n else np.inf
        fits.append(([weights @ (y - x @ slopes) / n, *slopes], error, used))
    best = min(range(len(fits)), key=lambda k: fits[k][1])
    most = min(max(n / 4, fits[best][2]), most)
    chosen = next(k for k in range(max(best - steps, 0), len(fits)) if fits[k][2] <= most + 1e-6)
    return fits[chosen][0], fits[best][1], fits[chosen][2]


def level_probabilities(x, theta, units, cuts):
    """P of every level of the cumulative logit of `icdh._node_model.discrete` at one observation of its parents."""
    p = len(x)
    hidden = [np.tanh(sum(theta[j * units + h] * x[j] for j in range(p)) + theta[p * units + h]) for h in range(units)]
    b2, b3 = (p + 1) * units, (p + 2) * units + 1
    mean = theta[b2] + sum(theta[b2 + 1 + h] * hidden[h] for h in range(units))
    deviation = np.exp((theta[b3] + sum(theta[b3 + 1 + h] * hidden[h] for h in range(units))) / 2)
    below = [1.0 / (1.0 + np.exp(-np.pi / np.sqrt(3) * (cut - mean) / deviation)) for cut in cuts]
    return [b - a for a, b in pairwise([0.0, *below, 1.0])]


def label_probabilities(x, theta, units, shares):
    """P of every label of the softmax of `icdh._node_model.discrete` at one observation of its parents."""
    p, n_labels = len(x), len(shares)
    hidden = [np.tanh(sum(theta[j * units + h] * x[j] for j in range(p)) + theta[p * units + h]) for h in range(units)]
    c = [0.0, *theta[(p + 1) * units : (p + 1) * units + n_labels - 1]]
    w = theta[(p + 1) * units + n_labels - 1 :]
    scale = np.pi / np.sqrt(6.0)
    weights = [
        np.exp(shares[k] + c[k] + scale * sum(w[k * units + h] * hidden[h] for h in range(units)))
        for k in range(n_labels)
    ]
    return [weight / sum(weights) for weight in weights]


def part_probabilities(x, theta, units, log_odds):
    """Probabilities of the density and of every point mass, as `icdh._node_model.point_masses` has them."""
    first = units * (len(x) + 3) + 2
    hidden = np.tanh(x @ theta[: units * len(x)].reshape(len(x), units) + theta[units * len(x) : units * (len(x) + 1)])
    eta = [0.0]
    for k in range(len(log_odds)):
        c, *w = theta[first + k * (units + 1) : first + (k + 1) * (units + 1)]
        eta.append(log_odds[k] + np.pi / np.sqrt(3.0) * (c + np.dot(w, hidden)))
    return np.exp(eta) / np.exp(eta).sum()


def objective_of_shares(probabilities, x, outcomes, theta, penalty):
    """Minus the log-likelihood of the outcomes, plus the penalties."""
    total = sum(penalty[k] * theta[k] ** 2 for k in range(len(theta))) / 2
    for row, outcome in zip(x, outcomes, strict=True):
        total = total - np.log(probabilities(row, theta)[outcome])
    return total


def fisher_of_shares(probabilities, x, theta, penalty):
    """The sum over observations and outcomes of grad P grad P^T / P, plus the penalties."""
    fisher = np.diag(penalty)
    for row in x:
        for k, probability in enumerate(probabilities(row, theta)):
            slope = complex_step_gradient(lambda t, row=row, k=k: probabilities(row, t)[k], theta)
            fisher += np.outer(slope, slope) / probability
    return fisher


def distance_correlation(x, y, of_labels=False):
    """Bias-corrected distance correlation, over all pairs; distances of labels are 0 and 1."""
    n = len(x)

    def centred(distance):
        a = [[distance(i, j) for j in range(n)] for i in range(n)]
        row = [sum(own) / (n - 2) for own in a]
        whole = sum(map(sum, a)) / ((n - 1) * (n - 2))
        return [[a[i][j] - row[i] - row[j] + whole if i != j else 0.0 for j in range(n)] for i in range(n)]

    def covariance(a, b):
        return sum(a[i][j] * b[i][j] for i in range(n) for j in range(n)) / (n * (n - 3))

    a = centred(lambda i, j: float(x[i] != x[j]) if of_labels else abs(x[i] - x[j]))
    b = centred(lambda i, j: abs(y[i] - y[j]))
    return covariance(a, b) / (covariance(a, a) * covariance(b, b)) ** 0.5


def autocorrelation(x):
    """Autocorrelations of a series of mean zero at all lags, sums over the sum of squares."""
    return [sum(x[t] * x[t + k] for t in range(len(x) - k)) / sum(v * v for v in x) for k in range(len(x))]


def bartlett_effect(x, y):
    """Variance of the correlation of two independent series over that of independent rows."""
    M, rho_x, rho_y = len(x), autocorrelation(x), autocorrelation(y)
    return 1.0 + 2.0 * sum(rho_x[k] * rho_y[k] * M / (M - k) for k in range(1, M))


def design_effect(x, y, groups, places=None):
    """Design effect of rows of groups, where every lag is a kind of pair of its own if rows have places."""
    x, y, n = x - x.mean(), y - y.mean(), len(x)
    kinds = {}
    for r in range(n):
        for s in range(n):
            if r != s and groups[r] == groups[s]:
                kinds.setdefault(None if places is None else abs(places[r] - places[s]), []).append((r, s))

    def correlation(z, pairs):
        return np.mean([z[r] * z[s] for r, s in pairs]) / np.mean(z * z)

    return 1.0 + sum(len(pairs) / n * correlation(x, pairs) * correlation(y, pairs) for pairs in kinds.values())


def window_correlation(series, places, units, window):
    """Return the mean correlation of pairs of one unit in windows of which a line is taken out, and over its error."""
    total, n_pairs = 0.0, 0
    for start in range(0, len(series), window):
        part = slice(start, start + window)
        design = np.column_stack([np.ones(window), places[part]])
        hat = design @ np.linalg.pinv(design)
        left = series[part] - hat @ series[part]
        mean = left @ left / (window - np.linalg.matrix_rank(design))
        for i, j in combinations(range(window), 2):
            if units[part][i] == units[part][j]:
                total += left[i] * left[j] / mean + hat[i, j]
                n_pairs += 1
    return total / n_pairs, total / np.sqrt(n_pairs)
