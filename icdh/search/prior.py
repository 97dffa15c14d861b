"""A prior over graphs that knows how many variables there are.

Among N variables a node has N - 1 possible further parents. The best of those that are none gains about log N nats by
chance, as each of them has its draw. A price of edges that is right for a few variables is therefore too low for many:
the prior probability of a single edge has to fall like 1 / N, so that the expected number of parents stays the same.
The extended BIC pays for the number of parent sets of its size; for few parents among many that is log N for each, too.

References
----------
Chen and Chen, "Extended Bayesian information criteria for model selection with large model spaces", Biometrika 95
(2008).
"""

import math

FEW_VARIABLES = 10  # prices of edges were chosen on tables of so many


def price_of_width(n_variables: int) -> float:
    """Return the nats that an edge of a graph of so many variables costs beyond one of ten: log(N / 10), at least 0.

    Parameters
    ----------
    n_variables : int
        N.
    """
    return math.log(max(n_variables, FEW_VARIABLES) / FEW_VARIABLES)
