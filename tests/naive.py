"""Slow, obvious versions of what icdh computes fast: the oracles of the tests.

Everything accepts complex weights, so that a derivative is the imaginary part of one evaluation at
``w + i * 1e-30`` (complex-step differentiation), exact to the last digits.
"""

import dataclasses

import numpy as np

STEP = 1e-30


def sigmoid(z):
    if z.real < 0:
        e = np.exp(z)
        return e / (1 + e)
    return 1 / (1 + np.exp(-z))


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
        s.append(sigmoid(z))
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
