"""The certainty of an edge's direction: the nats that a graph loses when the edge is reversed."""

from contextlib import suppress

import numpy as np

from icdh._estimators.hnm_search import HNMSearch
from icdh._ground.checks import check_number
from icdh._ground.clock import Clock, OutOfTime
from icdh._ground.threads import single_blas_thread
from icdh.search.climb import Climber
from icdh.search.reversals import reversal_losses

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
    climber = Climber(found.scores, found.rules.forbidden, model.max_parents, found.rules.required)
    with suppress(OutOfTime), single_blas_thread(), found.scores.limited(clock or Clock()):
        for (i, j), lost in reversal_losses(climber, found.among(dag)).items():
            loss[found.order[i], found.order[j]] = lost
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
