"""Estimates of what two further parents gain together: a score test on the residuals of a fit, for all pairs at once.

Of a product, or of a difference of angles, two causes may tell something that each alone does not. No single parent is
worth a fit then, and a search that adds one at a time finds neither. As in `icdh._node_model.gain_estimates` the
standardised derivatives of the log-likelihood by the outputs are white under the fitted model. What the fit and what
functions of single variables explain is removed from them. They are regressed on products of functions of two
candidates: cosines of the ranks of a number or of grades, indicators of labels. All pairs and effects take one matrix
product for each candidate.

Where a fit ended in a poor local minimum, what is left depends on functions of single parents that the family has.
"""

from collections.abc import Sequence

import numpy as np

from icdh._node_model.evidence import NodeFit
from icdh._node_model.families import Families, Family
from icdh._node_model.gain_estimates import evidence_of_squares, with_large_effects, without
from icdh._utils.arrays import Floats
from icdh._utils.weighted import mean_of, of_rows, roots_of, sum_of, times

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


def pair_gains(families: Families, fits: Sequence[tuple[Family, NodeFit]]) -> list[Pair]:
    """Return the pairs of further parents that promise most, the best first.

    Parameters
    ----------
    families : Families
        The data.
    fits : sequence of tuple
        The family of every node in a graph, and its fit.
    """
    N, k, M = len(families), FUNCTIONS, families.n_observations
    n_rows = int(min(MOST_MULTIPLICATIONS / max(N * N * (N - 1) / 2 * k * k, 1), M))
    if n_rows < min(FEWEST_PAIR_ROWS, M):
        return []
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    functions = np.stack(
        [_functions_of(families.causes[families.inputs_of([node])], k, families.weights) for node in range(N)]
    )
    is_long = ROWS_FOR_FUNCTION * N * k <= M
    of_others = (np.delete(functions, family[0], axis=0) if is_long else None for family, _ in fits)  # one at a time
    rests = [_unexplained(families, *own, alone) for own, alone in zip(fits, of_others, strict=True)]
    outputs = np.repeat(np.arange(N), [len(rest) for rest in rests])
    rows = np.linspace(0, M - 1, n_rows).astype(int)
    rest, weights = np.concatenate(rests)[:, rows], of_rows(families.weights, rows)
    functions, roots, n_all = functions[:, :, rows], roots_of(weights), sum_of(weights, n_rows)
    counted = times(weights, rest != 0.0).sum(axis=1)
    squares, end = np.empty((outputs.size, len(pairs), k * k)), 0
    for a in range(N - 1):
        products = (functions[a, :, np.newaxis] * functions[a + 1 :, np.newaxis]).reshape(-1, n_rows)
        products -= mean_of(products, weights)[:, np.newaxis]
        products = times(roots, products)
        products /= np.maximum(np.sqrt(np.square(products).sum(axis=1, keepdims=True)), np.finfo(float).tiny)
        begin, end = end, end + N - 1 - a
        squares[:, begin:end] = np.square(rest @ products.T).reshape(outputs.size, -1, k * k)
    squares *= (n_all / np.maximum(counted, 1))[:, np.newaxis, np.newaxis]
    found, relative = [], np.ones(k * k)
    for (node, parents), _ in fits:
        first, *others = np.flatnonzero(outputs == node)
        n = float(counted[first])
        total = float(rest[first] @ rest[first])
        gains = evidence_of_squares(with_large_effects(squares[first], total, n), relative, n)
        gains += sum(evidence_of_squares(squares[other], relative, n) for other in others)
        penalties, inside = families.edge_penalty[:, node], list(parents)
        gains -= np.where(np.isin(pairs, inside), 0.0, penalties[pairs]).sum(axis=1)
        gains[(pairs == node).any(axis=1) | np.isin(pairs, inside).all(axis=1)] = 0.0
        best = np.argsort(-gains, kind="stable")[:PAIRS_OF_AN_EFFECT]
        promising = [p for p in best if gains[p] > LEAST_PROMISE]
        found += [(node, (int(pairs[p, 0]), int(pairs[p, 1])), float(gains[p])) for p in promising]
    return sorted(found, key=lambda pair: -pair[2])


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
    relative = 1.0 / np.arange(1, k + 1)
    nats = evidence_of_squares(with_large_effects(squares[:, :, 0], float(rest[0] @ rest[0]), n), relative, n)
    nats += sum(evidence_of_squares(squares[:, :, other], relative, n) for other in range(1, len(rest)))
    return float(nats.max())


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
