"""Hyper-parameters: chosen once for each method on graphs that no table uses, and the same in every setting.

    python -m paper_reproduction tune GFBS HOST ...

prints the mean SHD of every candidate over 16 tuning problems: noise of one variance a variable and heteroscedastic
noise, ER1 and ER2, N = 10, two draws each, raw and standardised. Methods without an entry run with the values that
their source or package recommends: ICDH, NOTEARS-MLP and the unequal-variance network with the penalties of the code
released with the paper (0.01), CAM with p < 0.001, GraN-DAG with the settings of gcastle (10 000 iterations).
What was chosen stands in `paper_reproduction.parameters`.
"""

from itertools import product

import numpy as np

CANDIDATES = {
    "NOTEARS": {"lambda1": (0.01, 0.03, 0.1, 0.3)},
    "CD-NOD": {"alpha": (0.001, 0.01, 0.05)},
    "US": {"alpha": (1e-6, 1e-4, 1e-3, 1e-2)},
    "GFBS": {"eta": (0.0, 0.05), "gamma": (0.01, 0.03, 0.1, 0.3)},
    "HOST": {"hidden_units": (5, 10), "ridge": (1e-3, 1e-2), "max_iterations": (100, 300)},
}

NOISES, GRAPHS, NODES, DRAWS = ("homo-nv", "softplus-shared"), ("ER1", "ER2"), 10, 2


def tune(method: str) -> dict:
    """Print the mean SHD of every candidate and return the best.

    Parameters
    ----------
    method : str
        A method that has candidates.

    Raises
    ------
    ValueError
        If it has none.
    """
    if method not in CANDIDATES:
        raise ValueError(f"{method!r} has no candidates; choose from {', '.join(CANDIDATES)}")
    names, problems, scores = tuple(CANDIDATES[method]), _problems(), {}
    for values in product(*CANDIDATES[method].values()):
        distances = [_distance(method, dict(zip(names, values, strict=True)), problem) for problem in problems]
        scores[values] = float(np.mean(distances))
        print(f"{method}: {dict(zip(names, values, strict=True))} mean SHD {scores[values]:.2f}", flush=True)
    best = dict(zip(names, min(scores, key=scores.get), strict=True))
    print(f"{method}: best {best}", flush=True)
    return best


def _problems():
    from paper_reproduction.jobs import Job
    from paper_reproduction.problems import problem_of
    from paper_reproduction.tables import RAW, STANDARDIZED, Setting

    # trials that are negative, which no table has: other draws
    return [
        problem_of(Job("tuning", Setting(noise, graph, NODES, units), -1 - draw, "tuning"))
        for noise, graph, units, draw in product(NOISES, GRAPHS, (RAW, STANDARDIZED), range(DRAWS))
    ]


def _distance(method, parameters, problem):
    from icdh.graphs import threshold
    from icdh.metrics import shd
    from paper_reproduction.judging import THRESHOLD
    from paper_reproduction.methods import estimate

    weights = estimate(method, problem.X, 0, **parameters)
    return shd(threshold(weights, THRESHOLD), problem.truth)
