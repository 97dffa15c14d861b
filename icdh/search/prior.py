"""A prior over graphs whose price of an edge grows with the number of variables.

Among N variables a node has about N candidate parents. The best of the false ones gains about log N nats by chance. A
price of edges that suits few variables is therefore too low for many. The prior probability of an edge must fall like
1 / N to keep the expected number of parents constant. The extended BIC penalises the number of parent sets of the same
size; for few parents among many variables this is also about log N for each parent.

References
----------
Chen and Chen, "Extended Bayesian information criteria for model selection with large model spaces", Biometrika 95
(2008).
"""

import math

FEW_VARIABLES = 10  # prices of edges were chosen on tables of so many


def price_of_width(n_variables: int) -> float:
    """Return the extra price of an edge beyond that among ten variables, in nats: log(N / 10), at least 0.

    Parameters
    ----------
    n_variables : int
        N.
    """
    return math.log(max(n_variables, FEW_VARIABLES) / FEW_VARIABLES)
