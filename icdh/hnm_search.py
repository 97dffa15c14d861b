"""HNMSearch: the estimator that learns a DAG by greedy search on the evidence of heteroscedastic noise models."""

import logging
import sys
import warnings

import numpy as np

from icdh._validation import check_choice, check_forbidden_edges, check_number, constant_columns, random_generator
from icdh.base import CausalGraphEstimator
from icdh.estimator import check_magnitude, offset_and_scale
from icdh.exceptions import DataWarning
from icdh.search import greedy_search

NOISE_DISTRIBUTION = ("auto", "gaussian", "free")
FEW_VALUES = 10

logger = logging.getLogger("icdh")


class HNMSearch(CausalGraphEstimator):
    """Causal discovery by greedy search on the Bayesian evidence of heteroscedastic noise models.

    Every variable is, given its causes, Gaussian with mean and standard deviation that are functions of them
    (`icdh.evidence`). A graph is worth the evidence of its families; the search is in `icdh.search`. Columns are
    standardised first, so units, offsets and the order of the columns do not change the graph.

    Parameters
    ----------
    hidden_units : int
        Hidden units of every variable's network.
    l2 : float
        Precision of the weights' prior, before it is adapted to each family.
    edge_penalty : float
        Nats that an edge must be worth beyond its evidence.
    max_parents : int
        The most causes of a variable.
    noise_distribution : {"auto", "gaussian", "free"}
        The density of the standardised noise: Gaussian, or free (the evidence falls by the negentropy of the
        residuals), or the one of the two that the residuals of a first, Gaussian search ask for: free if most
        variables' are further from Gaussian than chance allows (`icdh.entropy.is_non_gaussian`).
    restarts : int
        Cold starts added to the fits of the graph at hand and of the graphs with one edge less.
    n_jobs : int
        Threads that fit families; the graph does not depend on it.
    forbidden_edges : array_like of bool, shape (N, N), optional
        ``forbidden_edges[i, j]`` keeps the edge i -> j out.
    random_state : int, SeedSequence, Generator or None
        Draws the first layers that fits start from.
    verbose : bool
        Whether to write a line for each move to the standard error stream. The logger "icdh" gets it in any case,
        at level INFO.
    callback : callable, optional
        Called with the `icdh.search.Move` after each move.

    Attributes
    ----------
    adjacency_matrix_ : ndarray, shape (N, N)
        The learned DAG. ``adjacency_matrix_[i, j]`` is the score, in nats, that the edge i -> j is worth: by how much
        the family of j gets worse without it; zero where there is no edge.
    causal_order_ : list of int
        The variables, causes before effects.
    history_ : list of icdh.search.Move
        The moves from the empty graph to the learned one, with the nats each gained.
    evidence_ : float
        The log evidence of the graph in nats (without a constant that all graphs share), penalties included.
    noise_distribution_ : str
        "gaussian" or "free": the one used.
    nll_ : float
        Negative log-likelihood on the standardised data under Gaussian noise: mean over observations, in nats.
    offset_, scale_ : ndarray, shape (N,)
        Mean and standard deviation of the columns.
    n_features_in_ : int
        N.
    feature_names_in_ : ndarray of str, shape (N,)
        The column labels; present only if ``fit`` saw a table with labels.

    Notes
    -----
    A constant column is no cause and no effect.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024,
    Definition 1.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> model = HNMSearch().fit(load_sachs().data)
    >>> model.adjacency_matrix_.shape
    (11, 11)
    """

    def __init__(
        self,
        hidden_units: int = 5,
        l2: float = 3.0,
        edge_penalty: float = 2.0,
        max_parents: int = 8,
        noise_distribution: str = "auto",
        restarts: int = 2,
        n_jobs: int = 1,
        forbidden_edges=None,
        random_state=0,
        verbose: bool = False,
        callback=None,
    ):
        self.hidden_units = hidden_units
        self.l2 = l2
        self.edge_penalty = edge_penalty
        self.max_parents = max_parents
        self.noise_distribution = noise_distribution
        self.restarts = restarts
        self.n_jobs = n_jobs
        self.forbidden_edges = forbidden_edges
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None) -> "HNMSearch":
        """Learn the DAG and the distribution of every variable given its causes.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations in rows, variables in columns.
        y : None
            Ignored.

        Returns
        -------
        HNMSearch
            self.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the table is not what it should be; the message names parameter or column.

        Warns
        -----
        DataWarning
            For constant, duplicated and discrete columns, columns that others determine, and fewer rows than columns.
        """
        self._check_parameters()
        table = self._start_fit(X)
        forbidden = check_forbidden_edges(self.forbidden_edges, len(table.names))
        varying = ~constant_columns(table.values)
        if not varying.any():
            raise ValueError("every column of X is constant; there is nothing to learn")
        check_magnitude(table, "standardize")
        _warn_about_discrete_columns(table, varying)
        offset, scale = offset_and_scale(table.values, "standardize", varying)
        Z = (table.values - offset) / scale
        order, signs = canonical_order_and_signs(Z, np.flatnonzero(varying))
        self._record_columns(table, offset, scale)
        self._column_labels = table.names
        self._search(Z[:, order] * signs, forbidden[np.ix_(order, order)], order, signs)
        self._warn_about_determined_columns(Z, table.names)
        self.nll_ = -self._log_likelihood(Z)
        return self

    def _check_parameters(self):
        check_choice("noise_distribution", self.noise_distribution, NOISE_DISTRIBUTION)
        for name in ("hidden_units", "max_parents", "n_jobs"):
            check_number(name, getattr(self, name), low=1, integer=True)
        check_number("restarts", self.restarts, low=0, integer=True)
        check_number("edge_penalty", self.edge_penalty, low=0)
        check_number("l2", self.l2, low=0, low_open=True)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None; got {self.callback!r}")

    def _search(self, Z, forbidden, order, signs):
        """Search on canonical columns, and record the result in terms of the user's columns."""

        def in_users_columns(move):
            return move._replace(cause=int(order[move.cause]), effect=int(order[move.effect]))

        scores, graph, moves = self._learn(Z, forbidden, lambda move: self._report(in_users_columns(move)))
        dag = np.zeros((self.n_features_in_, self.n_features_in_))
        self._models = {}
        for node, parents in enumerate(graph):
            causes = order[list(parents)]
            dag[causes, order[node]] = _worth_of_edges(scores, node, parents)
            theta = in_original_signs(
                scores.fits[node, parents].theta, self.hidden_units, signs[list(parents)], signs[node]
            )
            self._models[int(order[node])] = (causes, theta)
        self._set_graph(dag)
        self.history_ = [in_users_columns(move) for move in moves]
        self.evidence_ = -float(sum(scores(list(enumerate(graph)))))

    def _learn(self, Z, forbidden, report):
        """Return the scores, the graph and the moves of the search that ``noise_distribution`` asks for."""
        from icdh.entropy import is_non_gaussian
        from icdh.evidence import FamilyEvidence

        def search(free_noise):
            scores = FamilyEvidence(
                Z,
                hidden_units=self.hidden_units,
                l2=self.l2,
                edge_penalty=self.edge_penalty,
                random_state=seed,
                free_noise=free_noise,
                restarts=self.restarts,
                n_jobs=self.n_jobs,
            )
            return scores, *greedy_search(scores, forbidden, max_parents=self.max_parents, callback=report)

        seed = int(random_generator(self.random_state).integers(2**31))
        found = search(free_noise=self.noise_distribution == "free")
        if self.noise_distribution == "auto":
            scores, graph, _ = found
            if is_non_gaussian([scores.residuals(family) for family in enumerate(graph)]):
                found = search(free_noise=True)
        self.noise_distribution_ = "free" if found[0].free_noise else "gaussian"
        return found

    def _report(self, move):
        names = self._column_labels
        line = f"{move.kind} {names[move.cause]} -> {names[move.effect]}: {move.gain:.2f} nats"
        logger.info(line)
        if self.verbose:
            sys.stderr.write(f"icdh: {line}\n")
        if self.callback is not None:
            self.callback(move)

    def _mean_and_scale(self, Z):
        pairs = [self._mean_and_scale_of(node, Z) for node in range(Z.shape[1])]
        return np.column_stack([mean for mean, _ in pairs]), np.column_stack([scale for _, scale in pairs])

    def _mean_and_scale_of(self, node, Z):
        if node not in self._models:  # a constant column: its value, and by convention scale one
            return np.zeros(len(Z)), np.ones(len(Z))
        from icdh.evidence import predict_node

        causes, theta = self._models[node]
        return predict_node(theta, np.ascontiguousarray(Z[:, causes]), self.hidden_units)

    def _warn_about_determined_columns(self, Z, names):
        from icdh.evidence import VARIANCE_FLOOR

        for node, (causes, _) in self._models.items():
            _, deviation = self._mean_and_scale_of(node, Z)
            if len(causes) and np.quantile(deviation**2, 0.9) < 2 * VARIANCE_FLOOR:
                labels = ", ".join(repr(names[k]) for k in causes)
                warnings.warn(
                    f"column {names[node]!r} is determined by {labels} up to a hundredth of its spread or less: a "
                    "model of noise cannot tell the direction of these edges; drop columns computed from others",
                    DataWarning,
                    stacklevel=3,
                )


def canonical_order_and_signs(Z: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return columns in an order, and with signs, that depend on their values alone.

    The search sees the table so arranged: neither the order of the user's columns nor their signs change its result.

    Parameters
    ----------
    Z : ndarray, shape (M, N)
        A standardised table.
    columns : ndarray of int
        Which columns to arrange.

    Returns
    -------
    tuple of ndarray
        The columns, by their fourth and third moments, and for each the sign that makes its third moment positive.
    """
    third, fourth = (np.array([np.mean(Z[:, k] ** power) for k in columns]) for power in (3, 4))
    order = np.lexsort((np.abs(third), fourth))
    return columns[order], np.where(third[order] < 0, -1.0, 1.0)


def in_original_signs(theta, hidden_units, signs, sign):
    """Return the weights of the model of ``sign * y`` given ``signs * x``, when theta's are of y given x."""
    flipped = theta.copy()
    inputs = len(signs) * hidden_units
    flipped[:inputs] *= np.repeat(signs, hidden_units)
    mean = slice(inputs + hidden_units, inputs + 2 * hidden_units + 1)
    flipped[mean] *= sign
    return flipped


def _worth_of_edges(scores, node, parents):
    """Return by how much the score of a family rises without each of its parents, never quite zero."""
    fewer = [(node, tuple(k for k in parents if k != cause)) for cause in parents]
    worth = np.array(scores(fewer)) - scores([(node, parents)])[0]
    return np.maximum(worth, np.finfo(float).tiny)


def _warn_about_discrete_columns(table, varying):
    discrete = [table.names[k] for k in np.flatnonzero(varying) if np.unique(table.values[:, k]).size < FEW_VALUES]
    if discrete and len(table.values) >= FEW_VALUES:
        labels = ", ".join(map(repr, discrete))
        warnings.warn(
            f"column(s) {labels} hold fewer than {FEW_VALUES} different values, but the model is about continuous "
            "ones: doubt the edges at them",
            DataWarning,
            stacklevel=3,
        )
