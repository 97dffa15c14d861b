"""Simulated tables whose effect is known, for `effect_coverage`: doses, treatments, units, what is hard for splines.

A design draws covariates w, a cause and an effect. The truth of a `Drawn` is the effect of a unit of the cause or, of a
treatment, the effect of each row: an answer about some rows should be their mean.
"""

from dataclasses import dataclass, field

import numpy as np
from effect_graphs import drawn

DESIGNS = {}


@dataclass
class Drawn:
    """A table: effect, cause and covariates (columns), the truth, and what is known of its rows."""

    effect: np.ndarray
    cause: np.ndarray
    covariates: np.ndarray
    truth: float | np.ndarray
    labels: tuple[int, ...] = ()
    groups: tuple[np.ndarray, ...] = ()
    within: list = field(default_factory=list)
    weights: np.ndarray | None = None

    @property
    def is_treatment(self) -> bool:
        """Whether the cause has two values, and the truth is one number a row."""
        return np.ndim(self.truth) == 1


def design(function):
    """Register a design by its name."""
    DESIGNS[function.__name__.strip("_")] = function
    return function


def expit(x):
    """Return the logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def smokers(rng, n, n_coins):
    """Draw a dose that 85 % do not take, income, and coins that decide nothing about it."""
    income, coins = rng.normal(size=n), rng.integers(0, 2, size=(n_coins, n)).astype(float)
    dose = np.where(rng.random(n) < expit(0.5 * income - 1.7), rng.integers(1, 40, size=n), 0).astype(float)
    weight = 120.0 + 2.0 * income + 3.0 * coins[0] - 0.5 * dose + 10.0 * rng.normal(size=n)
    return Drawn(weight, dose, np.column_stack([income, *coins]), -0.5)


@design
def one_coin(rng, n):
    """Draw zeros and a dose; one irrelevant covariate."""
    return smokers(rng, n, 1)


@design
def two_coins(rng, n):
    """Draw the same with two."""
    return smokers(rng, n, 2)


@design
def three_coins(rng, n):
    """Draw the same with three."""
    return smokers(rng, n, 3)


def births(rng, n, dose_of):
    """Draw a birth weight of income, parity, sex and colour, and a dose of income."""
    income, parity = rng.normal(size=n), rng.integers(1, 5, size=n).astype(float)
    male, white = rng.integers(0, 2, size=n).astype(float), (rng.random(n) < 0.8) * 1.0
    dose = dose_of(income)
    mean = 120.0 + 2.0 * income + parity + 3.0 * male + 4.0 * white - 0.5 * dose
    return Drawn(mean + 10.0 * rng.normal(size=n), dose, np.column_stack([income, parity, male, white]), -0.5)


@design
def gaussian(rng, n):
    """Draw a Gaussian dose."""
    return births(rng, n, lambda income: income + rng.normal(size=n))


@design
def lognormal(rng, n):
    """Draw a dose with a heavy tail."""
    return births(rng, n, lambda income: np.exp(0.5 * income + rng.normal(size=n)))


@design
def counts(rng, n):
    """Draw a dose that is counted."""
    return births(rng, n, lambda income: rng.poisson(np.exp(0.3 * income)).astype(float))


@design
def zeros(rng, n):
    """Draw a continuous dose that 85 % do not take."""
    return births(
        rng, n, lambda income: np.where(rng.random(n) < expit(0.5 * income - 1.7), rng.gamma(2.0, 5.0, size=n), 0.0)
    )


@design
def strong(rng, n):
    """Draw a treatment under strong confounding, bent."""
    w = rng.normal(size=(3, n))
    treated, effects = (rng.random(n) < expit(1.5 * w[0] + 0.5 * w[1])) * 1.0, 1.0 + 0.5 * w[1]
    return Drawn(effects * treated + w[0] + 0.5 * w[0] ** 2 + w[2] + rng.normal(size=n), treated, w.T, effects)


@design
def rare(rng, n):
    """Draw four treated in a hundred."""
    w = rng.normal(size=(3, n))
    treated = (rng.random(n) < expit(0.7 * w[0] - 3.5)) * 1.0
    return Drawn(treated + w[0] + 0.5 * w[1] ** 2 + rng.normal(size=n), treated, w.T, np.ones(n))


@design
def no_overlap(rng, n):
    """Draw probabilities down to zero: most rows have no counterpart."""
    w = rng.normal(size=n)
    treated, effects = (rng.random(n) < expit(1.5 * w - 5.0)) * 1.0, 1.0 + w
    return Drawn(effects * treated + w + rng.normal(size=n), treated, w[:, np.newaxis], effects)


@design
def balanced(rng, n):
    """Draw moderate confounding; sines and a product."""
    w = rng.normal(size=(3, n))
    treated, effects = (rng.random(n) < expit(0.7 * w[0] - 0.5 * w[1])) * 1.0, 1.0 + w[0]
    return Drawn(effects * treated + np.sin(2.0 * w[0]) + w[1] * w[2] + rng.normal(size=n), treated, w.T, effects)


@design
def interaction(rng, n):
    """Draw a slope that depends on a covariate; its mean is one."""
    w = rng.normal(size=(3, n))
    dose = w[0] + rng.normal(size=n)
    return Drawn(dose * (1.0 + w[1]) + w[0] + rng.normal(size=n), dose, w.T, 1.0)


@design
def curved(rng, n):
    """Draw a quadratic effect of a Gaussian dose; its mean slope is one."""
    w = rng.normal(size=(3, n))
    dose = w[0] + rng.normal(size=n)
    return Drawn(dose + 0.5 * dose**2 + w[0] + w[1] + rng.normal(size=n), dose, w.T, 1.0)


@design
def bent_confounding(rng, n):
    """Draw sines, squares and products that move both."""
    w = rng.normal(size=(4, n))
    dose = np.sin(2.0 * w[0]) + 0.5 * w[1] ** 2 + w[2] * w[3] + rng.normal(size=n)
    rest = np.cos(2.0 * w[0]) + w[1] ** 2 + w[2] * w[3]
    return Drawn(0.5 * dose + rest + rng.normal(size=n), dose, w.T, 0.5)


@design
def jumps(rng, n):
    """Draw jumps of both where two covariates are positive at once: splines miss it."""
    w = rng.normal(size=(4, n))
    mean = 2.0 * ((w[0] > 0.0) & (w[1] > 0.0)) - 1.0 * (w[2] > 0.5)
    dose = mean + rng.normal(size=n)
    return Drawn(0.5 * dose + 2.0 * mean + rng.normal(size=n), dose, w.T, 0.5)


@design
def clusters(rng, n):
    """Draw groups of ten that share a part of both."""
    of = np.arange(n) // 10
    w = rng.normal(size=(2, n))
    dose = rng.normal(size=of[-1] + 1)[of] + 0.5 * w[0] + rng.normal(size=n)
    shared = rng.normal(size=of[-1] + 1)[of]
    return Drawn(0.5 * dose + w[0] + shared + rng.normal(size=n), dose, w.T, 0.5, groups=(of,))


def slow(rng, n_units, length):
    """Return a series of autocorrelation 0.6 for every unit."""
    series = rng.normal(size=(n_units, length))
    for t in range(1, length):
        series[:, t] += 0.6 * series[:, t - 1]
    return series.ravel()


@design
def panel(rng, n):
    """Draw units of six years whose level moves both."""
    of = np.arange(n // 6 * 6) // 6
    level, w = rng.normal(size=of[-1] + 1)[of], rng.normal(size=(2, of.size))
    dose = 2.0 * level + 0.5 * w[0] ** 2 + slow(rng, of[-1] + 1, 6)
    effect = 0.5 * dose + 3.0 * level + w[0] ** 2 + slow(rng, of[-1] + 1, 6)
    return Drawn(effect, dose, w.T, 0.5, within=[of])


@design
def panel_and_years(rng, n):
    """Draw the same, where years move both as well."""
    drawn = panel(rng, n)
    year, shocks = np.arange(drawn.effect.size) % 6, rng.normal(size=6)
    drawn.effect, drawn.cause = drawn.effect + 3.0 * shocks[year], drawn.cause + 2.0 * shocks[year]
    drawn.within = [*drawn.within, year]
    return drawn


# Seven that were written after the estimators.


@design
def two_ways(rng, n):
    """Draw firms and years that share parts of both, crossed: compared within both."""
    n_firms = max(n // 20, 10)
    firm, year = np.repeat(np.arange(n_firms), 20), np.tile(np.arange(20), n_firms)
    w = rng.normal(size=(2, firm.size))
    shared = [rng.normal(size=size)[at] for size, at in ((n_firms, firm), (20, year)) for _ in range(2)]
    dose = shared[0] + shared[2] + 0.5 * w[0] + slow(rng, n_firms, 20)
    effect = 0.5 * dose + 2.0 * shared[0] + shared[1] + 2.0 * shared[2] + shared[3] + w[0] + slow(rng, n_firms, 20)
    return Drawn(effect, dose, w.T, 0.5, within=[firm, year])


@design
def crossed(rng, n):
    """Draw firms and years that share parts of both, crossed: rows depend in two ways."""
    n_years = max(int(np.sqrt(n / 2.0)), 10)
    firm, year = np.divmod(np.arange(n // n_years * n_years), n_years)
    w = rng.normal(size=(2, firm.size))
    shared = [rng.normal(size=at[-1] + 1)[at] for at in (firm, firm, year, year)]
    dose = shared[0] + shared[2] + 0.5 * w[0] + rng.normal(size=firm.size)
    return Drawn(
        0.5 * dose + w[0] + shared[1] + shared[3] + rng.normal(size=firm.size), dose, w.T, 0.5, groups=(firm, year)
    )


@design
def heavy_tails(rng, n):
    """Draw covariates of Student's t with two degrees of freedom and lognormal; noise of t with three."""
    w = np.stack([rng.standard_t(2, size=n), rng.lognormal(sigma=1.2, size=n), rng.normal(size=n)])
    dose = 0.5 * w[0] + np.log(w[1]) + rng.standard_t(3, size=n)
    return Drawn(0.5 * dose + w[0] + 2.0 * np.log(w[1]) + w[2] + rng.standard_t(3, size=n), dose, w.T, 0.5)


@design
def thirty(rng, n):
    """Draw thirty correlated covariates, ten of which move both."""
    w = rng.normal(size=(30, n)) + 0.7 * rng.normal(size=n)
    weights = np.where(np.arange(30) < 10, 0.3, 0.0)
    dose = weights @ w + rng.normal(size=n)
    return Drawn(0.5 * dose + weights @ w + 0.3 * w[20] + rng.normal(size=n), dose, w.T, 0.5)


@design
def three_way(rng, n):
    """Draw a product of three covariates moves both: no design column holds it."""
    w = rng.normal(size=(4, n))
    product = w[0] * w[1] * w[2]
    dose = w[0] + 0.5 * product + rng.normal(size=n)
    return Drawn(0.5 * dose + w[0] + 0.5 * product + w[3] + rng.normal(size=n), dose, w.T, 0.5)


@design
def labels(rng, n):
    """Draw a covariate of twelve labels of unequal frequency moves a treatment and the effect."""
    shares = np.arange(12, 0, -1) / 78.0
    label, w = rng.choice(12, size=n, p=shares), rng.normal(size=n)
    levels, effects = np.sin(np.arange(12.0))[label], 1.0 + 0.5 * w
    treated = (rng.random(n) < expit(0.8 * levels + 0.5 * w)) * 1.0
    effect = effects * treated + 2.0 * levels + w + rng.normal(size=n)
    return Drawn(effect, treated, np.column_stack([label, w]), effects, labels=(0,))


@design
def skewed_treatment(rng, n):
    """Draw a treatment by a skewed covariate, and an effect whose noise is skewed and grows with it."""
    w = np.stack([rng.gamma(1.0, size=n), rng.normal(size=n), rng.integers(0, 4, size=n).astype(float)])
    treated, effects = (rng.random(n) < expit(w[0] - 1.0 + 0.4 * w[1])) * 1.0, 1.0 + 0.5 * w[0]
    noise = (0.5 + 0.5 * w[0]) * (rng.gamma(2.0, size=n) - 2.0)
    return Drawn(effects * treated + np.sqrt(w[0]) + 0.3 * w[2] + noise, treated, w.T, effects)


@design
def surface(rng, n):
    """Draw a curve of the sum of two covariates that moves both: no product, and no sum of curves."""
    w = rng.normal(size=(3, n))
    mean = np.sin(1.5 * (w[0] + w[1]))
    dose = mean + 0.5 * w[2] + rng.normal(size=n)
    return Drawn(0.5 * dose + 2.0 * mean + w[2] ** 2 + rng.normal(size=n), dose, w.T, 0.5)


@design
def network(rng, n):
    """Draw random networks of two covariates, which act together on a cause and on its effect, in any curve."""
    A = np.zeros((4, 4))
    A[:2, 2:] = A[2, 3] = 1.0
    X, _, slope = drawn("curved", A, n, rng)
    return Drawn(X[:, 3], X[:, 2], X[:, :2], slope(2, 3))


# Rows that were sampled with unequal chances, which are known.


def sampled(rng, n, of):
    """Draw n rows of a population, more often those of a large effect and of the covariate that moves its slope."""
    w = rng.normal(size=(3, 8 * n))
    cause = of(w)
    effect = cause * (1.0 + w[1]) + w[0] + rng.normal(size=w.shape[1])
    chance = 0.1 + 0.6 * expit(w[1] + 0.5 * effect)
    rows = np.flatnonzero(rng.random(chance.size) < chance)[:n]
    return effect[rows], cause[rows], w[:, rows].T, 1.0 / chance[rows]


@design
def sampled_dose(rng, n):
    """Draw such rows of a dose; the mean slope of the population is one."""
    *columns, weights = sampled(rng, n, lambda w: w[0] + rng.normal(size=w.shape[1]))
    return Drawn(*columns, 1.0, weights=weights)


@design
def sampled_treatment(rng, n):
    """Draw such rows of a treatment, whose mean effect in the population is one."""
    *columns, weights = sampled(rng, n, lambda w: (rng.random(w.shape[1]) < expit(0.7 * w[0])) * 1.0)
    return Drawn(*columns, np.ones(n), weights=weights)
