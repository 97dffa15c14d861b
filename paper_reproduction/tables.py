"""The paper's tables: on which data each method runs, how often, and what is reported.

A setting of the same name holds the same data in every table, so that a method computed for one table serves another.
"""

from typing import NamedTuple

RAW, STANDARDIZED = "raw", "standardized"
HETEROSCEDASTIC, EARLY = ("softplus-shared", "exp"), ("exp-shared",)  # early: what the authors had at first, raw only
SACHS_NODES = 11
PAIRS = 99

ICDH_FAMILY = ("ICDH", "ICDH (as printed)", "ICDH (last stage)", "HNMSearch")
NETWORKS = ("NOTEARS-MLP", "MLP (unequal variances)")
LINEAR = ("NOTEARS", "GOLEM-EV", "GOLEM-NV")
GRAN_DAG = ("GraN-DAG", "GraN-DAG++")
CONTINUOUS = (*NETWORKS, *LINEAR, *GRAN_DAG)
OTHER_MODELS = ("sortnregress", "LiNGAM", "DirectLiNGAM", "GES", "CD-NOD", "US", "GFBS", "CAM", "HOST")
PAIRS_ONLY = ("causal_direction", "LOCI", "LOCI-M", "CAREFL", "HEC")


class Setting(NamedTuple):
    """What one observes: the same for all methods and, but for the draw, for all trials.

    Attributes
    ----------
    data : str
        The noise of simulated data, as `icdh.simulate.simulate_sem` calls it, or "sachs" or "pairs".
    graph : str
        "ER1", "ER2" or "ER3": a random graph of 1, 2 or 3 edges a variable; the subset of the pairs; or "".
    nodes : int
        N.
    units : {"raw", "standardized"}
        The data as drawn, or with columns of mean 0 and standard deviation 1 in a random order.
    """

    data: str
    graph: str
    nodes: int
    units: str

    @property
    def name(self) -> str:
        """The fields in one word."""
        return "/".join((self.data, self.graph or "-", str(self.nodes), self.units))


class Table(NamedTuple):
    """One table of the paper.

    Attributes
    ----------
    name, title : str
        What the command line and the report call it.
    settings : tuple of Setting
        Its data.
    methods : tuple of str
        Its rows.
    metrics : tuple of str
        Its columns.
    """

    name: str
    title: str
    settings: tuple
    methods: tuple
    metrics: tuple


def _settings(data, graphs, nodes, units=(RAW, STANDARDIZED)):
    return tuple(Setting(d, g, n, u) for n in nodes for d in data for g in graphs for u in units)


SYNTHETIC_METRICS = ("au_shdc", "shd", "minimum_shd", "truncated_auprc")

TABLES = {
    table.name: table
    for table in (
        Table(
            "homo-ev",
            "Noise of one variance",
            _settings(("homo-ev",), ("ER1", "ER2"), (5, 10, 20, 50)),
            (*ICDH_FAMILY, *CONTINUOUS, *OTHER_MODELS),
            SYNTHETIC_METRICS,
        ),
        Table(
            "homo-nv",
            "Noise of one variance for each variable",
            _settings(("homo-nv",), ("ER1", "ER2"), (5, 10, 20, 50)),
            (*ICDH_FAMILY, *CONTINUOUS, *OTHER_MODELS),
            SYNTHETIC_METRICS,
        ),
        Table(
            "hetero",
            "Heteroscedastic noise",
            _settings(HETEROSCEDASTIC, ("ER1", "ER2"), (5, 10, 20, 50))
            + _settings(EARLY, ("ER1", "ER2"), (5, 10, 20, 50), (RAW,)),
            (*ICDH_FAMILY, *CONTINUOUS, "HOST"),
            SYNTHETIC_METRICS,
        ),
        Table(
            "comparison",
            "Heteroscedastic noise, methods of other models",
            _settings(HETEROSCEDASTIC, ("ER1", "ER2"), (5, 10, 20))
            + _settings(EARLY, ("ER1", "ER2"), (5, 10, 20), (RAW,)),
            (*ICDH_FAMILY, *OTHER_MODELS),
            ("shd", "minimum_shd", "au_shdc", "truncated_auprc"),
        ),
        Table(
            "dense",
            "Dense graphs, heteroscedastic noise",
            _settings(HETEROSCEDASTIC, ("ER3",), (10,)) + _settings(EARLY, ("ER3",), (10,), (RAW,)),
            (*ICDH_FAMILY, *CONTINUOUS, *OTHER_MODELS),
            ("shd", "sid"),
        ),
        Table(
            "sachs",
            "Protein signalling (Sachs et al. 2005)",
            _settings(("sachs",), ("",), (SACHS_NODES,)),
            (*ICDH_FAMILY, *CONTINUOUS, *OTHER_MODELS),
            ("au_shdc", "shd", "minimum_shd", "truncated_auprc"),
        ),
        Table(
            "pairs",
            "Cause-effect pairs (Mooij et al. 2016)",
            _settings(("pairs",), ("loci-99",), (2,)),
            (*ICDH_FAMILY, *NETWORKS, *LINEAR, "LiNGAM", "DirectLiNGAM", "sortnregress", "US", "GFBS", "CAM", "HOST")
            + PAIRS_ONLY,
            ("correct", "weighted_accuracy"),
        ),
    )
}

# Seconds of a whole run decide how often a method is tried. What is left out here is left out of the report too.
_NEVER = 0
TRIALS = {
    # methods: trials at 5, 10 (and 11), 20, 50 variables
    "ICDH (as printed)": (10, 10, 10, 3),
    "ICDH (last stage)": (10, 10, 10, 3),
    "GraN-DAG": (3, 3, 3, _NEVER),
    "GraN-DAG++": (3, 3, 3, _NEVER),
    "HOST": (10, 10, 10, 3),
}
CHEAP = (10, 10, 10, 10)
DEAR = GRAN_DAG  # they run last, and on standardised data once


def trials(setting: Setting, method: str) -> int:
    """Return how many times a method runs in a setting.

    Parameters
    ----------
    setting : Setting
        The data.
    method : str
        A row of a table.
    """
    if setting.data == "pairs":
        return PAIRS
    at = next(i for i, most in enumerate((5, 11, 20, 50)) if setting.nodes <= most)
    planned = TRIALS.get(method, CHEAP)[at]
    most = 1 if method in DEAR and setting.units == STANDARDIZED else 3 if setting.data == "sachs" else planned
    return min(planned, most)
