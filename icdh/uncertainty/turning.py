"""The certainty of an edge's direction: the nats that a graph loses when the edge is reversed."""

from contextlib import suppress

import numpy as np

from icdh._checks import check_number
from icdh._clock import Clock, OutOfTime
from icdh._threads import single_blas_thread
from icdh.estimators.hnm_search import HNMSearch
from icdh.graphs.cycles import reachability

DOUBTFUL = 10.0  # nats: below this loss, the opposite direction is nearly as good


def turning_loss(model: HNMSearch, *, clock: Clock | None = None) -> np.ndarray:
    """Return how many nats the graph of a search loses when a single edge is reversed.

    Both changed families are fitted, unless the search has fitted them. A small loss means that the data hardly tell
    the direction. A large loss means that this model prefers the direction, not that the model is right.

    Parameters
    ----------
    model : HNMSearch
        Fitted.
    clock : Clock, optional
        When to stop, and what it is told of the progress; by default never.

    Returns
    -------
    ndarray, shape (N, N)
        [i, j] is the loss of the edge i -> j, in nats. NaN if there is no edge; if the reversal closes a cycle, is
        forbidden or needs too many causes; or if time ran out.

    Raises
    ------
    NotFittedError
        Before ``fit``.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> from icdh.uncertainty import turning_loss
    >>> model = HNMSearch(noise_distribution="gaussian").fit(load_sachs().data[:200, :4])
    >>> turning_loss(model).shape
    (4, 4)
    """
    found, dag = model.found_graph(), model.adjacency_matrix_ != 0
    loss = np.full(dag.shape, np.nan)
    parents = found.among(dag)
    turned = {
        (i, j): [(i, tuple(sorted((*parents[i], j)))), (j, tuple(k for k in parents[j] if k != i))]
        for i, j in _that_may_be_turned(found, parents, model.max_parents)
    }
    families = [family for pair in turned.values() for family in pair]
    with suppress(OutOfTime), single_blas_thread(), found.scores.limited(clock or Clock()):
        kept = found.scores(list(enumerate(parents)))
        found.scores.polish(families)
        for (i, j), pair in turned.items():
            loss[found.order[i], found.order[j]] = sum(found.scores(pair)) - kept[i] - kept[j]
    return loss


def doubtful(loss: np.ndarray, level: float = DOUBTFUL) -> np.ndarray:
    """Return which edges have a reversal loss below a level, shape (N, N).

    Parameters
    ----------
    loss : ndarray, shape (N, N)
        As `turning_loss` returns it.
    level : float
        The level, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from icdh.uncertainty.turning import doubtful
    >>> doubtful(np.array([[np.nan, 3.0], [np.nan, np.nan]])).tolist()
    [[False, True], [False, False]]
    """
    check_number("level", level, low=0)
    return ~np.isnan(loss) & (np.nan_to_num(loss) < level)


def _that_may_be_turned(found, parents, max_parents):
    """Yield the edges whose reversal gives an allowed graph."""
    reaches = reachability(parents)
    for j, causes in enumerate(parents):
        for i in causes:
            around = any(reaches[i, other] for other in causes if other != i)
            free = not (found.rules.forbidden[j, i] or found.rules.required[i, j])
            if free and not around and len(parents[i]) < max_parents:
                yield i, j
