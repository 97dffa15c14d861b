"""ICDH: the estimator that learns a DAG by the two-phase procedure."""

import logging
import sys
import warnings
from functools import partial

import numpy as np

from icdh import graphs
from icdh._validation import (
    check_choice,
    check_forbidden_edges,
    check_number,
    constant_columns,
    random_generator,
)
from icdh.base import LARGEST_SCALED_VALUE, CausalGraphEstimator
from icdh.exceptions import ConvergenceWarning, DataWarning
from icdh.likelihood import LOG_SQRT_2PI

NOISE = ("heteroscedastic", "unequal", "equal")
SCALING = ("none", "center", "standardize")
# The penalties and the threshold are meant for variables whose spread is near one; beyond this they cannot act.
USUAL_SPREAD = (1e-6, 1e6)
LARGEST_VALUE = {"none": LARGEST_SCALED_VALUE, "center": LARGEST_SCALED_VALUE, "standardize": 1e300}

logger = logging.getLogger("icdh")


class ICDH(CausalGraphEstimator):
    """Causal discovery under heteroscedastic noise by two-phase likelihood maximisation.

    Parameters
    ----------
    hidden_units : int
        m1, hidden units of every variable's network.
    l1, l2 : float
        Penalties on the input weights (lasso) and on input and output weights of the means (ridge).
    noise : {"heteroscedastic", "unequal", "equal"}
        The standard deviation of the noise: a function of the causes, a constant for each variable, or one for all.
    bias : bool
        Whether hidden units and means get intercepts, which the paper's network does not have. Without them, centred
        data can only be fitted by odd functions.
    scaling : {"none", "center", "standardize"}
        What is done to the columns first. The weights, and hence what the threshold keeps, depend on it.
    threshold : float
        Edges of smaller weight are not part of the graph.
    max_rounds : int
        The most rounds of the two phases.
    tol : float
        The procedure ends when a round lowers the negative log-likelihood by less, in nats.
    h_tol : float
        The acyclicity h at which the constraint counts as met.
    rho_max : float
        The penalty weight at which the augmented Lagrangian method gives up.
    n_restarts : int
        How many times to fit, each from other initial weights; the network of the highest likelihood is kept.
    n_jobs : int
        How many processes share the restarts. Where Python starts processes afresh (macOS, Windows, and everywhere from
        3.14 on) a script that asks for more than one needs the usual ``if __name__ == "__main__":``.
    forbidden_edges : array_like of bool, shape (N, N), optional
        ``forbidden_edges[i, j]`` keeps the edge i -> j out.
    random_state : int, SeedSequence, Generator or None
        Draws the initial weights.
    verbose : bool
        Whether to write a line for each round to the standard error stream. The logger "icdh" gets it in any case,
        at level INFO.
    callback : callable, optional
        Called with the `icdh.two_phase.Round` after each round; of a restart in another process, when that is over.

    Attributes
    ----------
    adjacency_matrix_ : ndarray, shape (N, N)
        The learned DAG: ``weights_`` without the edges below the threshold and without the weakest edges on cycles.
        ``adjacency_matrix_[i, j] != 0`` means i -> j.
    weights_ : ndarray, shape (N, N)
        Weighted adjacency matrix of ``network_``, the norms of its input weights. They refer to the scaled data.
    causal_order_ : list of int
        The variables, causes before effects.
    network_ : icdh.network.Weights
        The network, about the scaled data ``(X - offset_) / scale_``.
    history_ : list of icdh.two_phase.Round
        One record for each round.
    nll_ : float
        Negative log-likelihood of ``network_`` on the scaled data: mean over observations, in nats.
    n_rounds_ : int
        The round that network, graph and likelihood belong to: the best one, counted from 1.
    converged_ : bool
        Whether the likelihood stood still and the constraint was met.
    offset_, scale_ : ndarray, shape (N,)
        The scaling.
    n_features_in_ : int
        N.
    feature_names_in_ : ndarray of str, shape (N,)
        The column labels; present only if ``fit`` saw a table with labels.

    Notes
    -----
    ``predict``, ``predict_scale``, ``residuals`` and ``score`` use ``network_`` as it was fitted, so that
    ``score`` on the data of ``fit`` is ``-nll_`` (but for the units); weights below the threshold still count in
    them. ``sample`` draws from the DAG: inputs that are no causes in ``adjacency_matrix_`` are held at their mean.

    A constant column is no cause and no effect. It enters with its value as mean and, by convention, scale one.

    If Ctrl-C interrupts ``fit`` after at least one round, the best round so far is kept, with a ConvergenceWarning.

    References
    ----------
    Yin, Gao, Yu, Ji: "Effective Causal Discovery under Identifiable Heteroscedastic Noise Model", AAAI 2024.

    Examples
    --------
    >>> from icdh import ICDH
    >>> from icdh.datasets import load_sachs
    >>> sachs = load_sachs()
    >>> model = ICDH(scaling="standardize", random_state=0).fit(sachs.data)
    >>> model.adjacency_matrix_.shape
    (11, 11)
    """

    def __init__(
        self,
        hidden_units: int = 10,
        l1: float = 0.01,
        l2: float = 0.01,
        noise: str = "heteroscedastic",
        bias: bool = False,
        scaling: str = "none",
        threshold: float = 0.3,
        max_rounds: int = 10,
        tol: float = 1e-2,
        h_tol: float = 1e-8,
        rho_max: float = 1e16,
        n_restarts: int = 1,
        n_jobs: int = 1,
        forbidden_edges=None,
        random_state=None,
        verbose: bool = False,
        callback=None,
    ):
        self.hidden_units = hidden_units
        self.l1 = l1
        self.l2 = l2
        self.noise = noise
        self.bias = bias
        self.scaling = scaling
        self.threshold = threshold
        self.max_rounds = max_rounds
        self.tol = tol
        self.h_tol = h_tol
        self.rho_max = rho_max
        self.n_restarts = n_restarts
        self.n_jobs = n_jobs
        self.forbidden_edges = forbidden_edges
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X, y=None) -> "ICDH":
        """Learn network and DAG.

        Parameters
        ----------
        X : array_like or DataFrame, shape (M, N)
            Observations in rows, variables in columns.
        y : None
            Ignored.

        Returns
        -------
        ICDH
            self.

        Raises
        ------
        ValueError, TypeError
            If a parameter or the table is not what it should be; the message names parameter or column.

        Warns
        -----
        DataWarning
            For constant and duplicated columns, fewer rows than columns, extreme units, and cycles that the
            threshold leaves.
        ConvergenceWarning
            If the procedure stopped before it converged, or was interrupted.
        """
        self._check_parameters()
        table = self._start_fit(X)
        forbidden = check_forbidden_edges(self.forbidden_edges, len(table.names))
        varying = ~constant_columns(table.values)
        if not varying.any():
            raise ValueError("every column of X is constant; there is nothing to learn")
        check_magnitude(table, self.scaling)
        offset, scale = offset_and_scale(table.values, self.scaling, varying)
        Z = (table.values - offset) / scale
        _warn_about_units(Z, table.names, varying)
        result = self._run(np.ascontiguousarray(Z[:, varying]), forbidden[np.ix_(varying, varying)])
        self._record_columns(table, offset, scale)
        self.network_ = _with_constant_variables(result.weights, varying)
        self.weights_ = self.network_.adjacency()
        self.history_ = result.history
        self.nll_ = result.nll + LOG_SQRT_2PI * np.count_nonzero(~varying)
        self.n_rounds_ = result.n_rounds
        self.converged_ = result.converged
        self._warn_if_not_converged(result)
        self._apply_threshold()
        return self

    def rethreshold(self, threshold: float) -> "ICDH":
        """Set another threshold and rebuild the DAG from ``weights_``, without fitting again.

        Parameters
        ----------
        threshold : float
            The new value of the parameter.

        Returns
        -------
        ICDH
            self, with new ``adjacency_matrix_`` and ``causal_order_``.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError, TypeError
            If the threshold is not a number of at least zero.

        Warns
        -----
        DataWarning
            If edges on cycles had to go.
        """
        self._check_fitted()
        check_number("threshold", threshold, low=0)
        self.threshold = threshold
        self._apply_threshold()
        return self

    def _check_parameters(self):
        check_choice("noise", self.noise, NOISE)
        check_choice("scaling", self.scaling, SCALING)
        for name in ("hidden_units", "max_rounds", "n_restarts", "n_jobs"):
            check_number(name, getattr(self, name), low=1, integer=True)
        for name in ("l1", "l2", "threshold", "tol"):
            check_number(name, getattr(self, name), low=0)
        for name in ("h_tol", "rho_max"):
            check_number(name, getattr(self, name), low=0, low_open=True)
        if not isinstance(self.bias, (bool, np.bool_)):
            raise TypeError(f"bias must be True or False; got {self.bias!r}")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable or None; got {self.callback!r}")

    def _run(self, Z, forbidden_edges):
        """Return the likeliest result of all restarts."""
        from icdh.restarts import best_of_restarts
        from icdh.two_phase import draw_initial_weights, fit_two_phase

        rng = random_generator(self.random_state)
        starts = [draw_initial_weights(Z, self.hidden_units, self.bias, rng) for _ in range(self.n_restarts)]
        fit = partial(
            fit_two_phase,
            Z,
            l1=self.l1,
            l2=self.l2,
            noise=self.noise,
            bias=self.bias,
            max_rounds=self.max_rounds,
            tol=self.tol,
            h_tol=self.h_tol,
            rho_max=self.rho_max,
            forbidden_edges=forbidden_edges,
        )
        return best_of_restarts(fit, starts, self.n_jobs, self._report)

    def _report(self, record):
        line = (
            f"round {record.round}: nll {record.nll:.4f}, h {record.h:.1e}, rho {record.rho:.0e}, "
            f"{record.evaluations} evaluations, {record.seconds:.1f} s"
        )
        logger.info(line)
        if self.verbose:
            sys.stderr.write(f"icdh: {line}\n")
        if self.callback is not None:
            self.callback(record)

    def _warn_if_not_converged(self, result):
        if result.converged:
            return
        best = result.history[result.n_rounds - 1]
        if result.interrupted:
            reason = f"interrupted after {len(result.history)} round(s); the best one is kept"
        elif best.h > self.h_tol:
            reason = (
                f"the acyclicity h = {best.h:.1e} stayed above h_tol = {self.h_tol:.1e} "
                f"(last message of the optimiser: {best.message}); scale the data or raise l1"
            )
        else:
            reason = f"the likelihood still rose after {self.max_rounds} round(s); raise max_rounds or tol"
        warnings.warn(reason, ConvergenceWarning, stacklevel=3)

    def _apply_threshold(self):
        dag, removed, smallest = graphs.break_cycles(graphs.threshold(self.weights_, self.threshold))
        if removed:
            warnings.warn(
                f"{len(removed)} edge(s) on cycles removed, the weakest of each cycle; "
                f"the smallest threshold that gives a DAG is {smallest:.4g}",
                DataWarning,
                stacklevel=3,
            )
        self._set_graph(dag)

    def _mean_and_scale(self, Z):
        from icdh.network import forward

        return forward(Z, self.network_)

    def _mean_and_scale_of(self, node, Z):
        from icdh.network import forward_node

        return forward_node(Z, self.network_, node)


def offset_and_scale(values, scaling, varying):
    """Return what to subtract from and divide each column by; a constant column becomes zero."""
    peak = np.where(varying, np.abs(values).max(axis=0), 1.0)
    shares = values / peak
    mean = np.where(varying, shares.mean(axis=0), values[0])
    offset = np.where(varying & (scaling == "none"), 0.0, mean * peak)
    spread = shares.std(axis=0) * peak
    scale = np.where(varying & (scaling == "standardize"), spread, 1.0)
    return offset, scale


def check_magnitude(table, scaling):
    """Raise ValueError if a column holds values that the scaling cannot bring into range."""
    largest = np.abs(table.values).max(axis=0)
    if largest.max() > LARGEST_VALUE[scaling]:
        name = table.names[int(np.argmax(largest))]
        raise ValueError(f"column {name!r} holds values above {LARGEST_VALUE[scaling]:.0e}; divide it by its spread")


def _warn_about_units(Z, names, varying):
    """Warn where the penalties and the threshold cannot act."""
    spread = Z.std(axis=0)
    unusual = varying & ((spread < USUAL_SPREAD[0]) | (spread > USUAL_SPREAD[1]))
    if unusual.any():
        at = int(np.argmax(unusual))
        warnings.warn(
            f"column {names[at]!r} has standard deviation {spread[at]:.1e}, far from the units near one that penalties "
            "and threshold are made for; use scaling='standardize'",
            DataWarning,
            stacklevel=3,
        )


def _with_constant_variables(weights, varying):
    """Return the network with further nodes, without edges, of mean zero and scale one, for constant columns."""
    from icdh.network import Weights

    if varying.all():
        return weights
    N, m1 = varying.size, weights.hidden_units
    w1 = np.zeros((N, m1, N))
    w1[np.ix_(varying, range(m1), varying)] = weights.w1

    def widened(part):
        if part is None:
            return None
        full = np.zeros((N, *part.shape[1:]))
        full[varying] = part
        return full

    others = (weights.w2, weights.w3, weights.w3_bias, weights.hidden_bias, weights.output_bias)
    return Weights(w1, *map(widened, others))
