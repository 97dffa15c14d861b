"""Whether columns that look like counts are read as such: what the evidence of a short search says.

Counts that their causes nearly determine vary less than Poisson's, which no negative binomial distribution does: the
children of a woman, given her age. Read as counts they lose their causes.
"""

import math
from dataclasses import replace

import numpy as np

from icdh._estimators.arranged import CanonicalTable
from icdh._estimators.base import SearchSettings
from icdh._estimators.graph_search import SIZES, family_evidence, short_search, some
from icdh._utils.clock import Clock, OutOfTime


def are_counts(settings: SearchSettings, table: CanonicalTable, columns: list[int], seed: int, clock: Clock) -> bool:
    """Return whether columns that are read as counts have more evidence so than as rounded numbers.

    Parameters
    ----------
    settings : SearchSettings
        How to search.
    table : CanonicalTable
        The table.
    columns : list of int
        Their places in it.
    seed : int
        Of the fits.
    clock : Clock
        Ends the search; as counts they are read then.
    """
    others = np.setdiff1d(np.arange(len(table.kinds)), columns)
    rng = np.random.default_rng(0)
    chosen = np.append(columns, others[some(others.size, max(SIZES.pilot_variables - len(columns), 0), rng)])
    part = table.part(chosen, some(table.values.shape[1], SIZES.pilot_rows, rng))
    rounded = part.as_rivals(range(len(columns)))
    clock.stage = "reading counts"
    try:
        return evidence(settings, part, seed, clock) > evidence(settings, rounded, seed, clock)
    except OutOfTime:
        return True
    finally:
        clock.stage = ""


def evidence(settings: SearchSettings, table: CanonicalTable, seed: int, clock: Clock) -> float:
    """Return the evidence of the graph of a short search, in nats, densities as those in the user's units."""
    columns = table.columns("none", seed).with_normal_scores()
    scores = family_evidence(replace(settings, n_restarts=1), columns, table, seed, clock)
    graph = short_search(scores, table.rules, settings.max_parents)
    nats = float(columns.log_jacobian - sum(scores(list(enumerate(graph)))))
    for response, (_, unit) in zip(columns.responses, table.of_counts.tolist(), strict=True):
        nats += response.n_with_density * (math.log(abs(unit)) - 0.5 * math.log(2.0 * math.pi))
    return nats
