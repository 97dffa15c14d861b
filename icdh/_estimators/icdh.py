"""ICDH: the estimator that learns a DAG by the two-phase procedure."""

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from icdh._estimators.base import CausalGraphEstimator, TwoPhaseSettings
from icdh._estimators.data_warnings import DataDoubts, warn_about_columns
from icdh._model.causal import EdgeEvidence, ModelColumns, about_table
from icdh._model.structural import StructuralModel
from icdh._node_model.law import CONSTANT
from icdh._table.experiments import Design
from icdh._table.table import SCALINGS, Scaling, Table
from icdh._utils.arrays import Floats
from icdh._utils.checks import Choice, parameter, random_generator, settings_of
from icdh._utils.clock import Clock
from icdh._utils.labels import counted
from icdh.exceptions import ArgumentValueError, ConvergenceWarning, option, warn
from icdh.graphs import AcyclicPart
from icdh.network import ACTIVATIONS, Weights
from icdh.search.climb import Move
from icdh.two_phase.rounds import OUT_OF_TIME, Round, TwoPhaseResult

if TYPE_CHECKING:
    from icdh._estimators.two_phase_fit import LearnedNetwork


@dataclass(kw_only=True, eq=False, repr=False)
class ICDH(CausalGraphEstimator, TwoPhaseSettings):
    """Causal discovery under heteroscedastic noise by two-phase likelihood maximisation.

    Parameters
    ----------
    hidden_units : int, default 10
        m1, hidden units of every variable's network.
    l1, l2 : float, default 0.01
        Penalties on the input weights (lasso) and on input and output weights of the means (ridge).
    noise : {"heteroscedastic", "unequal", "equal"}, default "heteroscedastic"
        The standard deviation of the noise: a function of the causes, a constant for each variable, or one for all.
    bias : bool, default False
        Whether hidden units and means get intercepts, which the paper's network does not have. Without them, centred
        data can only be fitted by odd functions.
    activation : {"sigmoid", "tanh"}, default "sigmoid"
        What hidden units make of their inputs; the article has the sigmoid (`icdh.network.Activation`). Pass
        ``bias=True`` with "tanh": without intercepts all means are odd, zero where there is no cause, and of two
        opposite observations one has the smallest standard deviation.
    scaling : {"none", "center", "standardize"}, default "none"
        What is done to the columns first. The weights, and hence what the threshold keeps, depend on it.
    threshold : float, default 0.3
        Edges of smaller weight are not part of the graph of the two phases, with which the last stage begins.
    edge_penalty : float, "auto" or None, default "auto"
        The nats of evidence that an edge must gain in the last stage over single edges: see "The last stage" below.
        None leaves the stage out: the graph is then that of the two phases alone. "auto" is 2 nats, and log(N / 10)
        more for N > 10 variables, as of `HNMSearch`; None with ``schedule="paper"``.
    max_rounds : int, optional
        The most rounds of the two phases; by default 10, and where the last stage follows 1, or 2 if the first is
        coarse.
    tol : float, default 0.01
        The procedure ends when a round lowers ``Round.criterion`` by less, in nats.
    schedule : {"fast", "paper"}, default "fast"
        "paper" is Algorithms 1 to 3 as printed (`icdh.two_phase.as_printed`); "fast" takes a fraction of the time, see
        "Differences from the article" below.
    h_tol : float, default 1e-8
        The acyclicity h at which the constraint counts as met by ``schedule="paper"``; "fast" ends at exactly zero.
    rho_max : float, default 1e16
        The penalty weight at which the augmented Lagrangian method gives up, under either schedule.
    n_restarts : int, default 1
        Number of fits, each from other initial weights. The graph of the lowest cost is kept; without the last stage,
        the network of the lowest ``Round.criterion``.
    max_seconds : float, optional
        The time limit of ``fit``, by the wall clock. When it is over, the best round so far is kept, with a
        ConvergenceWarning. If that is during the first round, what it has reached is kept, as a DAG.
    n_jobs : int, default 1
        Number of processes that share the restarts, -1 for one a core. The result does not depend on it. Python may
        start processes afresh (macOS, Windows, and everywhere from 3.14 on). A script with more than one job then needs
        the usual ``if __name__ == "__main__":``.
    knowledge : Knowledge or mapping, optional
        What is known of the graph: forbidden and required edges, tiers, roots, leaves. Forbidden edges are no
        unknowns; required ones are in every graph, whatever the penalty and the threshold.
    min_strength : float, default 0.0
        Edges of less strength, in nats over all observations, are not part of the graph; see ``edge_strength_``.
    max_edges : int, optional
        The most edges of the graph; the strongest stay.
    missing : {"error", "drop", "impute"}, default "error"
        What to do about gaps, NaN: raise an error that counts them, leave out rows with gaps, or draw the missing
        values from the fitted model given the others, and fit again.
    missing_values : collection or mapping of names to collections, optional
        Codes of gaps: ``[-999, "*"]`` in every column, ``{"income": [-9]}`` in one. Codes that are not declared are
        warned of where they are seen; an empty list says that there are none.
    n_imputations : int, default 5
        Number of imputations for ``missing="impute"``. The first one takes values from similar rows. Of the other fits
        the one whose graph agrees best with the rest is kept.
    random_state : int, SeedSequence, Generator or None, default 0
        Draws the initial weights.
    verbose : bool, default False
        Whether to write a line for each round to the standard error stream. The logger "icdh" gets it in any case,
        at level INFO.
    callback : callable, optional
        Called with the `icdh.two_phase.Round` after each round, and with the `icdh.search.Move` after each move of the
        last stage. ``kept`` of the tried moves of a detour is False. The rounds and moves of a restart in another
        process are reported when that process ends.

    Attributes
    ----------
    adjacency_matrix_ : ndarray, shape (N, N)
        The learned DAG: ``weights_``; without the last stage, ``weights_`` without the edges below the threshold and
        without the weakest edges on cycles.
        A required edge of weight zero has the smallest weight there is.
        ``adjacency_matrix_[i, j] != 0`` means i -> j.
    weights_ : ndarray, shape (N, N)
        Weighted adjacency matrix of ``network_``, the norms of its input weights. They refer to the scaled data.
    causal_order_ : list of int
        The variables, causes before effects.
    network_ : icdh.network.Weights
        The network, about the scaled data ``(X - offset_) / scale_``.
    history_ : list of icdh.two_phase.Round
        One record for each round.
    moves_ : list of icdh.search.Move
        The moves of the last stage, in order, with the nats that each gained.
    cost_ : float or None
        What the graph of the last stage costs, in nats over all observations: its negative log evidence, without a
        constant that all graphs share, and ``edge_penalty`` an edge. Edges that a threshold leaves out count. None
        without the last stage.
    nll_ : float
        Negative log-likelihood of the DAG on the scaled data, in nats: mean over the observations that count for each
        variable, sum over variables. Values that were set do not count, nor rows of conditions with unknown targets.
    n_rounds_ : int
        The round of the lowest ``criterion``, counted from 1; without the last stage, network, graph and likelihood
        belong to it.
    converged_ : bool
        Whether the last stage came to its end; without it, whether the criterion stood still and the constraint was
        met. False where there are no more observations than variables: these determine no graph.
    interrupted_ : bool
        Whether Ctrl-C ended ``fit`` before it converged.
    timed_out_ : bool
        Whether ``max_seconds`` did.
    offset_, scale_ : ndarray, shape (N,)
        What ``scaling`` subtracts from the columns, and what it divides them by.
    targets_ : dict
        For each condition of unknown targets, the weight of its effect on every variable, shape (N,).
    edge_strength_ : ndarray, shape (N, N)
        The strength of every edge, in nats: by how much ``cost_`` rises without it. Without the last stage, by how much
        the log-likelihood of the data falls when the cause is held at its mean. That overstates strength where causes
        are correlated. After ``max_seconds`` it is that of the edges of the graph alone. Of imputed tables it is the
        part that falls to the rows that hold both cause and effect.
    edge_probability_ : ndarray, shape (N, N)
        The share of the imputations in which i -> j was found; present only after ``missing="impute"`` met gaps. It
        is no probability that the edge is true: imputed values follow the graph that they were drawn from.
    imputations_ : list of ICDH
        The fits to the imputed tables; present likewise. `icdh.posterior` averages over them, and
        ``average_effect(..., models=[fit.model_ for fit in imputations_])`` takes its band from them.
    n_features_in_ : int
        N.
    feature_names_in_ : ndarray of str, shape (N,)
        The names of the columns; present only if ``fit`` saw a table with names.

    Notes
    -----
    ``predict``, ``sample``, ``score`` and all else that the model tells follow the DAG. A variable may lose inputs of
    ``network_`` by a threshold, a cycle, ``min_strength`` or ``max_edges``. It is then fitted again given its causes
    alone, by both phases in turn. ``score`` on the data of ``fit`` is ``-nll_`` (but for the units).

    A constant column is no cause and no effect. It enters with its value as mean and, by convention, scale one.

    If Ctrl-C interrupts ``fit`` after at least one round, the best round so far is kept, with a ConvergenceWarning.

    **Three procedures.** *As printed* (``schedule="paper"``): Algorithms 1 to 3 of the article, one function each.
    *Fast* (``schedule="fast", edge_penalty=None``): it minimises the same objective in a fraction of the time. *The
    default*: the fast procedure, followed by a last stage over single edges.

    **The last stage.** At lambda1 = 0.01 and 1000 rows a unit of ``|W1|`` costs 10 nats. On most tables the penalised
    objective prefers a wrong graph to the true one. So graphs are compared as `HNMSearch` compares them: by the
    evidence of every variable given its causes, and ``edge_penalty`` for each edge. Single edges of the DAG of the two
    phases are inserted, deleted and reversed until none pays. The same is done from the graph of the required edges
    alone. In the better graph every variable is detached from all of its causes, and what follows is kept if it is
    better. Last, the article's network is fitted to the graph by both phases in turn, every variable given its causes:
    from the weights of the two phases and from fresh ones, under a tenth of the ridge and without the lasso, which the
    evidence replaces. The evidence takes no account of ``noise``, which is that of the network.

    One round of the two phases before the stage gave better graphs than ten. Where the first round is coarse (see
    below), there are two.

    The result does not depend on the order of rows and columns: the fit sees them in an order of their values.

    **Differences from the article.** ``schedule="paper"`` follows the printed algorithms with the penalties of the
    published results, and settles what the print leaves open; comments in `icdh.two_phase.as_printed` name the lines:

    - The inner loop of Algorithm 3, which has no end as printed, ends once h < h_previous / 4. A minimisation ends when
      its objective falls by less than 1e-6 of itself; no tolerance is printed.
    - The first Phase II starts from small random weights, zero being a saddle point; every other from the round before.
    - Phase I starts from the scales of the round before, at first from one that is alive everywhere; for "tanh", from
      one that rises where residuals are large. exp(W3_n0) stays above a thousandth of the root mean squared residual:
      the likelihood has no bound as a scale goes to zero.
    - The round of the highest likelihood is kept.

    ``schedule="fast"`` differs in more:

    - W2 is eliminated: it is the exact minimum for every W1, which leaves the minima of the problem where they are.
      Weights are optimised in units of like curvature.
    - Edges stay absent once their weights are zero. When h < 1 (0.1 for ``noise="equal"``) the edges that close cycles
      are dropped, weakest first, and every node is minimised on the DAG by itself, by Newton's method and from further
      random weights; edges that still lower the objective are added. It
      replaces the ill-conditioned end of the augmented Lagrangian method, where most of its time goes, and h is zero.
    - The graph is decided once a round lowers the criterion by less than 0.02 nats a variable. Later rounds refine the
      weights, and may drop edges. While the scales shrink, the lasso weighs less beside the likelihood, and edges would
      come in that are not there.
    - Of tables with more than one variable for 50 rows the first round is coarse, and a round that gains less than a
      nat, over all rows, for every edge there might be is the last: noise alone gives about so much. On a table of 100
      variables, 100 edges and 1000 rows that leaves 87 errors in 69 s, in place of 170 in 173 s. The threshold, made
      for few variables, is low for many: at 0.5 (``rethreshold``) 49 errors are left.
    - Of more than 100,000 rows, 50,000 decide the graph; later rounds, on all, refine it.
    - Rounds and restarts are judged by likelihood and penalties together. The first round, whose scale is one, gives a
      dense graph, and the likelihood alone is at times in its favour.

    Mean SHD on ten fresh raw tables of 1000 rows and ten variables (``benchmarks/last_stage.py``), and median CPU
    seconds on a busy machine. On eleven tables of 20 variables and 40 edges with softplus-shared noise the stage
    leaves 8.6 errors in 3.6 s, on three of 50 variables and 50 edges 6.3 in 9.9 s.

    =========================  ===========  =====================
    tables                     fast         with the last stage
    =========================  ===========  =====================
    homo-ev, ER1               4.4, 0.3 s   1.4, 0.5 s
    homo-ev, ER2               6.8, 0.4 s   1.9, 1.2 s
    homo-nv, ER1               4.0, 0.3 s   1.3, 0.6 s
    homo-nv, ER2               6.4, 0.5 s   1.8, 1.1 s
    softplus-shared, ER1       3.6, 0.8 s   1.0, 0.9 s
    softplus-shared, ER2       10.6, 1.0 s  3.4, 1.7 s
    =========================  ===========  =====================

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

    scaling: str = parameter("none", Choice(SCALINGS))

    network_: Weights = field(init=False)
    weights_: Floats = field(init=False)
    history_: list[Round] = field(init=False)
    moves_: list[Move] = field(init=False)
    cost_: float | None = field(init=False)
    n_rounds_: int = field(init=False)
    converged_: bool = field(init=False)
    _found: "LearnedNetwork" = field(init=False)
    _least_weight: float = field(init=False)

    def _fit_table(self, table: Table, design: Design, clock: Clock) -> None:
        """Fit to a table without gaps: a network, the DAG of its strong edges, the model of that DAG."""
        from icdh._estimators.two_phase_fit import find_network
        from icdh.two_phase.objective import Problem

        if table.effective_weights is not None and self.schedule == "paper":
            raise ArgumentValueError("sample_weight", f"cannot go with {option('schedule', 'paper')}; leave one out")
        scaling, rules = Scaling.of(table, self.scaling), self._rules(table.names)
        scaled, N = scaling.apply(table.values), table.n_variables
        warn_about_columns(table, scaled)
        values, how = design.with_contexts(scaled), (self.l1, self.l2, self.noise, self.bias)
        weights, activation = table.effective_weights, ACTIVATIONS[self.activation]
        whole = Problem(values, design.rules(rules), *how, rows=design.rows, weights=weights, activation=activation)
        columns, about = ModelColumns.of(table, scaling), about_table(table)
        edgeless = StructuralModel(columns, np.zeros((N, N)), [CONSTANT] * N, about=about)
        report = partial(self._report_record, [*table.names, *design.conditions])
        rng, settings = random_generator(self.random_state), settings_of(TwoPhaseSettings, self)
        found = find_network(settings, whole, edgeless, design.baseline, clock, rng, report)
        result, network = found.result, found.columns
        threshold = self.threshold if result.cost is None else 0.0
        dag = found.rules.dag(network.adjacency(), threshold)
        strength = found.strength(dag.adjacency) * table.seen_together
        model, of_conditions = found.on_graph(self._strong(dag.adjacency, strength, found.rules), clock)
        doubts = DataDoubts(model, table)
        self._learn(
            doubts.marked(),
            nll_=found.nll(model),
            cost_=result.cost,
            network_=network,
            targets_=design.targets(result.weights.adjacency()),
            weights_=network.adjacency(),
            edge_strength_=strength,
            history_=result.history,
            moves_=result.moves,
            n_rounds_=result.best.round,
            converged_=result.converged and table.n_observations > table.n_variables,
            interrupted_=result.interrupted,
            timed_out_=result.timed_out,
            _found=found,
            _of_conditions=of_conditions,
            _least_weight=threshold,
        )
        self._warn_if_not_converged(result)
        _warn_about_cycles(dag)
        doubts.warn()

    def rethreshold(
        self, threshold: float | None = None, *, min_strength: float | None = None, max_edges: int | None = None
    ) -> "ICDH":
        """Set other thresholds and rebuild the DAG from ``weights_``, without fitting again.

        Parameters
        ----------
        threshold, min_strength, max_edges : float, float, int
            New values of the parameters; those that are not given stay.

        Returns
        -------
        ICDH
            self: the model, and what is reported of it, is that of the new graph.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError, TypeError
            If one is not a number of at least zero.

        Warns
        -----
        DataWarning
            If edges on cycles had to go, or more than half of the possible edges stay.
        """
        self._fitted_model()
        thresholds = self._checked(threshold=threshold, min_strength=min_strength, max_edges=max_edges)
        found, least = self._found, self._least_weight if threshold is None else threshold
        dag = found.rules.dag(self.weights_, least)
        kept = copy(self).set_params(**thresholds)._strong(dag.adjacency, self.edge_strength_, found.rules)
        known = EdgeEvidence(unidentified=self.model_.edge_evidence.unidentified)
        model, of_conditions = found.on_graph(kept)
        learned = {"nll_": found.nll(model), "_of_conditions": of_conditions, "_least_weight": least}
        self._learn(replace(model, edge_evidence=known), thresholds, **learned)
        _warn_about_cycles(dag)
        return self

    def _report_record(self, names: Sequence[Hashable], record: Round | Move) -> None:
        """Tell log, standard error stream and callback of a round or a move."""
        if not isinstance(record, Round):
            self._report_move(names, record)
            return
        line = (
            f"round {record.round}: nll {record.nll:.4f}, h {record.h:.1e}, rho {record.rho:.0e}, "
            f"{record.evaluations} evaluations, {record.seconds:.1f} s"
        )
        self._report(line, record)

    def _warn_if_not_converged(self, result: TwoPhaseResult) -> None:
        if result.converged:
            return
        best, limit = result.best, option("max_seconds", self.max_seconds)
        if result.interrupted:
            reason = f"interrupted after {counted(len(result.history), 'round')}; the best one is kept"
        elif result.timed_out and best.message == OUT_OF_TIME:
            reason = f"{limit} ended the first round; what it had reached is kept, as a DAG"
        elif result.timed_out:
            done = f"{counted(len(result.history), 'round')} and {counted(len(result.moves), 'move')} of single edges"
            reason = f"{limit} ended the fit after {done}; the best graph is kept"
        elif best.h > self.h_tol:
            reason = (
                f"the acyclicity h = {best.h:.1e} stayed above {option('h_tol', self.h_tol)} "
                f"(last message of the optimiser: {best.message}); scale the data or raise {option('l1')}"
            )
        else:
            done = counted(len(result.history), "round")
            reason = f"the fit still improved after {done}; raise {option('max_rounds')} or {option('tol')}"
        warn(reason, ConvergenceWarning)


def _warn_about_cycles(dag: AcyclicPart) -> None:
    if dag.removed:
        warn(
            f"{counted(len(dag.removed), 'edge')} on cycles removed, the weakest of each cycle; "
            f"the smallest threshold that gives a DAG is {dag.smallest_threshold:.4g}"
        )
