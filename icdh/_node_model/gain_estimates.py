"""Estimates of what a further parent gains, or two together, for all candidates at once: score tests on residuals.

If a family lacks a parent, its standardised residuals e = (y - mu) / sd, or their squares, depend on that parent. Both
e and (e^2 - 1) / sqrt(2) are white under the fitted model. For every candidate x they are regressed on functions of x:
three smooth ones, and the products of x with each hidden unit, along which a new input of these units acts. The part
that the current fit explains is first removed from both sides.

The estimate is the log evidence of these regressions over none, in nats, at the best of a few prior precisions. It is
about what a fit of the larger family would gain, at the cost of a matrix product. Most estimates are zero, and those
candidates need no fit.

Where cause and effect have categories or levels, counts are held against fits. Under the fitted model of the effect,
the observations of its category y among those where the candidate has category c number E(y, c), a sum of fitted
probabilities. With the counts O(y, c) of the table,

    chi^2 = sum over y and c of (O - E)^2 / E

exceeds its degrees of freedom by about twice what a further parent adds to the log-likelihood. Joint counts with one
parent at a time show what the candidate does only together with that parent. The largest excess is the estimate: it
is optimistic, for the further weights cost evidence.

Of a product, or of a difference of angles, two causes may tell something that each alone does not. No single parent is
worth a fit then, and a search that adds one at a time finds neither. What the fit and what functions of single
variables explain is removed from the standardised derivatives of the log-likelihood by the outputs. They are regressed
on products of functions of two candidates: cosines of the ranks of a number or of grades, indicators of labels. All
pairs and effects take one matrix product for each candidate.

Where a fit ended in a poor local minimum, what is left depends on functions of single parents that the family has.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from icdh._node_model._kernels import add_products_of_features
from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Families, Family
from icdh._node_model.network import indicators
from icdh._utils.arrays import NONE, Floats, Integers, mean_of, of_rows, roots_of, sum_of, times
from icdh._utils.jit import padded

MOST_UNITS = 20  # hidden units whose products with a candidate are tried; their time grows with the square
REMAINING = 1e-3  # share of a function's deviation that must remain once the explained part is removed
LEAST_UNEXPLAINED = 1e-4  # share of the residuals' variance
FEWEST_EXPECTED = 0.5  # observations of a cell: fewer would make a single one a large excess
ROUGH, ROUGH_PRODUCT = (1.0, 0.5, 0.5), 0.25  # prior variances of functions and products, the first function's is 1
VARIANCES = np.geomspace(3e-4, 1.0, 8)  # of the prior of the coefficient of a function of unit variance
FUNCTIONS = 3  # of each candidate
LEAST_PROMISE = 10.0  # nats that a pair must promise beyond its edges; the best of 4000 promises 7 by chance
PAIRS_OF_AN_EFFECT = 2
LARGEST_SCORE = 3.0  # of a derivative: a few rows of a heavy tail promise nothing
ROWS_FOR_FUNCTION = 4  # with fewer, what single variables explain stays; as many functions as rows explain any residual
MISFIT_FUNCTIONS = 8  # of each parent, which tell a misfit
CHECK_FUNCTIONS = 32  # of each cause: turns of a curve that a check looks for in residuals
LEAST_DEVIATION = 1e-6  # deviation of a function that those before it must leave
MOST_MULTIPLICATIONS = 1.5e9  # about a second; of wide tables fewer rows are looked at
FEWEST_PAIR_ROWS = 100  # to look at

Pair = tuple[int, tuple[int, int], float]  # a node, two further parents, and the nats that they promise


def gain_estimates(candidates: Floats, x: Floats, hidden: Floats, scores: Floats, weights: Floats | None) -> Floats:
    """Return an estimate of what every candidate gains as a further parent.

    Parameters
    ----------
    candidates : ndarray, shape (c, n)
        The candidates, standardised, one a row.
    x : ndarray, shape (p, n)
        The parents that the family has.
    hidden : ndarray, shape (m, n)
        The hidden units of its fit.
    scores : ndarray, shape (S, n)
        The derivatives of the log-likelihood by the outputs, that by the mean first, in units of their standard
        deviations, times the roots of the weights.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.

    Returns
    -------
    ndarray, shape (c,)
        Nats, at least zero.
    """
    n = sum_of(weights, scores.shape[1])
    known = times(roots_of(weights), np.vstack([np.ones((1, scores.shape[1])), hidden, x]))
    explained = orthonormal(orthonormal(known))  # twice: rounding once is too much
    rest = scores - (scores @ explained.T) @ explained
    products_with = hidden[: MOST_UNITS if len(x) else 0]
    relative = np.array([*ROUGH, *[ROUGH_PRODUCT] * len(products_with)])
    squares = _squared_projections(candidates, products_with, explained, rest, weights)
    return _nats_of_outputs(squares, rest[0] @ rest[0], relative, n)


def without(vectors: Floats, others: Floats) -> Floats:
    """Return vectors without what others explain of them, one a row."""
    products = others @ others.T
    products += np.diag(REMAINING**2 * products.diagonal() + np.finfo(float).tiny)
    for _ in range(2):  # rounding, and the ridge, leave a little
        vectors = vectors - np.linalg.solve(products, others @ vectors.T).T @ others
    return vectors


def orthonormal(vectors: Floats) -> Floats:
    """Return an orthonormal basis, one vector a row, of the space that these vectors span."""
    products = vectors @ vectors.T
    norms = np.sqrt(np.maximum(products.diagonal(), np.finfo(float).tiny))
    squares, directions = np.linalg.eigh(products / np.outer(norms, norms))
    kept = squares > REMAINING**2 * squares[-1]
    basis: Floats = (directions[:, kept] / np.sqrt(squares[kept]) / norms[:, np.newaxis]).T @ vectors
    return basis


def _squared_projections(
    candidates: Floats, hidden: Floats, explained: Floats, rest: Floats, weights: Floats | None
) -> Floats:
    """Return the squared projections of all scores on the features of every candidate, shape (S, c, k).

    The features are smooth functions of the candidate and its products with the hidden units, each made orthogonal to
    those before it.
    """
    count, size, known = len(candidates), 3 + len(hidden), len(explained)
    others = np.zeros((padded(known + len(rest)), rest.shape[1]))
    others[:known], others[known : known + len(rest)] = explained, rest
    grams, with_others = np.zeros((count, padded(size), padded(size))), np.zeros((count, padded(size), len(others)))
    counts = NONE if weights is None else weights
    add_products_of_features(np.ascontiguousarray(candidates), hidden, counts, others, grams, with_others)
    products, taken, left_over = grams[:, :size, :size], with_others[:, :size, :known], with_others[:, :size, known:]
    left = products - taken @ taken.transpose(0, 2, 1)
    whole, squares = np.einsum("ckk->ck", products), np.einsum("ckk->ck", left)
    scale = np.where(squares > REMAINING**2 * whole, 1.0 / np.sqrt(np.maximum(squares, np.finfo(float).tiny)), 0.0)
    correlations = left * scale[:, :, np.newaxis] * scale[:, np.newaxis, :]
    correlations += np.eye(size) * np.where(scale > 0.0, REMAINING**2, 1.0)[:, np.newaxis]
    projections = scale[:, :, np.newaxis] * left_over[:, :, : len(rest)]
    return np.moveaxis(np.square(np.linalg.solve(np.linalg.cholesky(correlations), projections)), 2, 0)


def _nats_of_outputs(squares: Iterable[Floats], total: float, relative: Floats, n: float) -> Floats:
    """Return the log evidence, over that of none, of squared projections on all outputs, the mean first.

    Those on the mean, whose square is ``total``, are scaled to the log-likelihood gain of a variance that shrinks as
    they explain it.
    """
    (of_mean, *others), tiny = squares, np.finfo(float).tiny
    explained = of_mean.sum(axis=1, keepdims=True)
    growth = -n * np.log(np.maximum(1.0 - explained / max(total, tiny), LEAST_UNEXPLAINED))
    scaled = of_mean * (growth / np.maximum(explained, tiny))
    return _evidence(scaled, relative, n) + sum(_evidence(other, relative, n) for other in others)


def _evidence(squares: Floats, relative: Floats, n: float) -> Floats:
    """Return the log evidence of coefficients with these squared ratios of estimate to error."""
    ratio = n * VARIANCES[:, np.newaxis] * relative
    gains = squares @ (0.5 * ratio / (1.0 + ratio)).T - 0.5 * np.log1p(ratio).sum(axis=1)
    best: Floats = np.maximum(gains.max(axis=1), 0.0)
    return best


def label_gain_estimates(
    effect: Integers,
    probabilities: Floats,
    candidates: Sequence[Integers],
    parents: Sequence[Integers],
    weights: Floats | None,
) -> Floats:
    """Return an estimate of what every candidate gains as a further parent.

    Parameters
    ----------
    effect : ndarray of int, shape (n,)
        The categories of the effect, 0 ... K - 1.
    probabilities : ndarray, shape (K, n)
        Those of its categories under the fit.
    candidates, parents : sequence of ndarray of int, each of shape (n,)
        The categories of the candidates, and of the parents that the family has.
    weights : ndarray, shape (n,), or None
        How often each observation counts; None if once.

    Returns
    -------
    ndarray, shape (c,)
        Nats; negative where counts are closer to the fit than chance makes them.
    """
    residuals = indicators(effect, len(probabilities)) - probabilities
    sizes = [int(candidate.max()) + 1 for candidate in candidates]
    first = np.cumsum([0, *sizes[:-1]])
    members = times(weights, np.vstack(list(map(indicators, candidates, sizes))))
    of_groups = [_excess(members, first, residuals, probabilities, of) for of in (np.zeros_like(effect), *parents)]
    estimates: Floats = np.max(of_groups, axis=0)
    return estimates


def _excess(members: Floats, first: Integers, residuals: Floats, probabilities: Floats, groups: Integers) -> Floats:
    """Return chi-square less its degrees of freedom for every candidate, within groups of observations."""
    chi_square, cells = np.zeros(len(first)), np.zeros(len(first))
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        among = members[:, rows]
        excess, expected = among @ residuals[:, rows].T, among @ probabilities[:, rows].T
        squares = excess**2 / np.maximum(expected, FEWEST_EXPECTED)
        chi_square += np.add.reduceat(squares.sum(axis=1), first)
        cells += np.add.reduceat(among.any(axis=1).astype(float), first)
    return chi_square - (cells - 1.0) * (len(probabilities) - 1)


def pair_gains(families: Families, fits: Sequence[tuple[Family, NodeFit]]) -> list[list[Pair]]:
    """Return the pairs of further parents that promise most, for each family, the best first.

    Parameters
    ----------
    families : Families
        The data.
    fits : sequence of tuple
        Families of nodes, and their fits.
    """
    N, k, M = len(families), FUNCTIONS, families.n_observations
    n_rows = int(min(MOST_MULTIPLICATIONS / max(N * N * (N - 1) / 2 * k * k, 1), M))
    if n_rows < min(FEWEST_PAIR_ROWS, M):
        return [[] for _ in fits]
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    inputs = [families.causes[families.inputs_of([node])] for node in range(N)]
    functions = np.stack([_functions_of(own, k, families.weights) for own in inputs])
    is_long = ROWS_FOR_FUNCTION * N * k <= M
    of_others = (np.delete(functions, family[0], axis=0) if is_long else None for family, _ in fits)  # one at a time
    rests = [_unexplained(families, *own, alone) for own, alone in zip(fits, of_others, strict=True)]
    outputs = np.repeat(np.arange(len(fits)), [len(rest) for rest in rests])
    rows = np.linspace(0, M - 1, n_rows).astype(int)
    rest, weights = np.concatenate(rests)[:, rows], of_rows(families.weights, rows)
    counted, n_all = times(weights, rest != 0.0).sum(axis=1), sum_of(weights, n_rows)
    # Products in single precision take half the time, and decide what is tried alone.
    shares = ((np.ones(n_rows) if weights is None else weights) / n_all).astype(np.float32)
    roots, functions = np.sqrt(shares), functions[:, :, rows].astype(np.float32)
    squares, end, short = np.empty((outputs.size, len(pairs), k * k)), 0, rest.astype(np.float32)
    for a in range(N - 1):
        products = (functions[a, :, np.newaxis] * functions[a + 1 :, np.newaxis]).reshape(-1, n_rows)
        products -= (products @ shares)[:, np.newaxis]
        products *= roots
        products /= np.maximum(np.sqrt(np.square(products).sum(axis=1, keepdims=True)), np.finfo(np.float32).tiny)
        begin, end = end, end + N - 1 - a
        squares[:, begin:end] = np.square(short @ products.T).reshape(outputs.size, -1, k * k)
    squares *= (n_all / np.maximum(counted, 1))[:, np.newaxis, np.newaxis]
    promising, relative = [], np.ones(k * k)
    for place, ((node, parents), _) in enumerate(fits):
        own = np.flatnonzero(outputs == place)
        of_mean, n = rest[own[0]], float(counted[own[0]])
        gains = _nats_of_outputs((squares[output] for output in own), float(of_mean @ of_mean), relative, n)
        penalties, inside = families.edge_penalty[:, node], list(parents)
        gains -= np.where(np.isin(pairs, inside), 0.0, penalties[pairs]).sum(axis=1)
        gains[(pairs == node).any(axis=1) | np.isin(pairs, inside).all(axis=1)] = 0.0
        best = np.argsort(-gains, kind="stable")[:PAIRS_OF_AN_EFFECT]
        best = best[gains[best] > LEAST_PROMISE]
        promising.append([(node, (int(pairs[p, 0]), int(pairs[p, 1])), float(gains[p])) for p in best])
    return promising


def misfit(families: Families, family: Family, fit: NodeFit) -> float:
    """Return the nats that functions of single parents still tell of a family: many where its fit has failed.

    Parameters
    ----------
    families : Families
        The data.
    family : tuple
        A node and its parents.
    fit : NodeFit
        Its fit.
    """
    if not family[1]:
        return 0.0
    counted = families.rows_of(family[0])
    causes = [families.causes[families.inputs_of([own])][:, counted] for own in family[1]]
    rest, weights = _unexplained(families, family, fit)[:, counted], families.row_weights(family[0])
    return _nats_of_functions(rest, causes, MISFIT_FUNCTIONS, weights)


def misfit_of_residual(residual: Floats, causes: Sequence[Floats]) -> float:
    """Return the nats that functions of single causes tell of mean and spread of a standard normal residual.

    Parameters
    ----------
    residual : ndarray, shape (n,)
        The residual.
    causes : sequence of ndarray, each of shape (w, n)
        The network inputs of the causes.
    """
    if not causes or not residual.size:
        return 0.0
    scores = np.stack([residual, np.sqrt(0.5) * (np.square(residual) - 1.0)])
    return _nats_of_functions(np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE), causes, CHECK_FUNCTIONS, None)


def _nats_of_functions(rest: Floats, causes: Sequence[Floats], k: int, weights: Floats | None) -> float:
    """Return the most that k functions of a single cause tell of standardised derivatives, shape (S, n), in nats."""
    n, roots, k = sum_of(weights, rest.shape[1]), roots_of(weights), min(k, rest.shape[1] // ROWS_FOR_FUNCTION)
    if not k:
        return 0.0
    functions = np.stack([times(roots, _functions_of(of_cause, k, weights)) for of_cause in causes])
    squares = np.square(functions @ rest.T) / n
    return float(_nats_of_outputs(np.moveaxis(squares, 2, 0), rest[0] @ rest[0], 1.0 / np.arange(1, k + 1), n).max())


def _unexplained(families: Families, family: Family, fit: NodeFit, alone: Floats | None = None) -> Floats:
    """Return the standardised derivatives without what the fit and single variables explain.

    Parameters
    ----------
    families : Families
        The data.
    family, fit : tuple, NodeFit
        A family and its fit.
    alone : ndarray, shape (c, k, n), optional
        Functions of single variables; by default none.

    Returns
    -------
    ndarray, shape (S, n)
        Zero where rows do not count, times the roots of the weights; of a mean square of one at most, and heavy tails
        are cut off.
    """
    x, response = families.data(family)
    hidden, scores = response.standardised_scores(x, fit.theta, fit.hidden_units)
    rows = families.rows_of(family[0])
    single = [] if alone is None else [alone.reshape(-1, families.n_observations)[:, rows]]
    roots = roots_of(response.weights)
    left = without(scores, times(roots, np.vstack([np.ones((1, x.shape[1])), hidden, x, *single])))
    deviations = np.sqrt(np.maximum(np.square(left).sum(axis=1, keepdims=True) / response.n_counted, 1.0))
    most = times(roots, np.full(x.shape[1], LARGEST_SCORE))
    rest = np.zeros((len(scores), families.n_observations))
    rest[:, rows] = np.clip(left / deviations, -most, most)
    return rest


def _functions_of(inputs: Floats, k: int, weights: Floats | None) -> Floats:
    """Return orthogonal functions of a candidate from its network inputs, shape (k, n); zeros where there are fewer."""
    n = sum_of(weights, inputs.shape[1])
    if len(inputs) == 1:
        places = np.unique(inputs[0], return_inverse=True)[1]
        counts = np.bincount(places, weights)
        middle = (np.cumsum(counts) - 0.5 * counts) / n  # ranks; equal values share theirs
        inputs = np.cos(np.pi * np.arange(1, k + 1)[:, np.newaxis] * middle[places])
    roots = roots_of(weights)
    centred = times(roots, inputs - mean_of(inputs, weights)[:, np.newaxis])
    basis, sizes = np.linalg.qr(centred.T)  # in their order: the smooth ones first
    basis = basis[:, np.abs(np.diag(sizes)) > LEAST_DEVIATION * np.sqrt(n)][:, :k]
    functions = np.zeros((k, inputs.shape[1]))
    functions[: basis.shape[1]] = basis.T * np.sqrt(n)
    return functions if roots is None else functions / roots
