"""HNMSearch: the estimator that learns a DAG by greedy search on the evidence of heteroscedastic noise models."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from icdh._checks import check_callback, check_choice, check_number, n_workers
from icdh._clock import Clock
from icdh.estimators.base import CausalGraphEstimator
from icdh.estimators.canonical import CanonicalTable
from icdh.estimators.data_warnings import warn_about_determined_columns, warn_about_guessed_kinds
from icdh.estimators.graph_search import FoundGraph, GraphSearch
from icdh.estimators.refit import refit, strengths
from icdh.exceptions import ConvergenceWarning
from icdh.experiments import Design, Interventions
from icdh.knowledge import Knowledge
from icdh.missing import MISSING
from icdh.model.conditionals import Constant
from icdh.model.structural import StructuralModel
from icdh.table import LEVEL_KINDS, Scaling, Table

SEARCHES = ("greedy", "exact")
NOISE_DISTRIBUTION = ("auto", "gaussian", "student", "free")
TRANSFORM_CHOICES = ("auto", "none", "log", "yeo-johnson")


class HNMSearch(CausalGraphEstimator):
    """Causal discovery by greedy search on the Bayesian evidence of heteroscedastic noise models.

    Every variable is, given its causes, Gaussian with mean and standard deviation that are functions of them
    (`icdh.node_model`). A graph is worth the evidence of its families; the search is in `icdh.search`. Columns are
    standardised first, so units, offsets and the order of the columns do not change the graph.

    Parameters
    ----------
    hidden_units : int or "auto", default "auto"
        Hidden units of every variable's network; or five, doubled for the variables whose evidence asks for more given
        the causes found so far, one to three of ten as a rule: those that are nearly determined. The graph found gets
        up to twenty, and so does the search of tables of more than 1500 rows; in shorter ones it has up to ten, as more
        decide no edge there (1000 rows: 4.1 errors each in the mean of 36 simulated graphs, in two thirds of the time;
        2000 rows: 2.6 errors with ten, 2.1 with twenty in 16). In the mean of ten simulated graphs of 1000 rows "auto"
        made 3.3 errors where five units everywhere made 4.3 (10 variables, 20 edges), and 5.2 beside 5.7 (20
        variables, 20 edges), in 1.4 times the time.
    prior_precision : float, default 3.0
        Precision of the weights' prior, before it is adapted to each family.
    edge_penalty : float, default 2.0
        Nats that an edge must be worth beyond its evidence.
    binary_effect_penalty : float, default 5.0
        Nats more that an edge from a number to a column of two values, or two labels, must be worth. Such a column is a
        group (a sex, a treatment) more often than an outcome, and the evidence hardly tells: where little depends on
        the group, it favours an outcome by a nat, as a logit has fewer weights than a mean and a spread. Of the edges
        between columns of a natural order in 71 public tables 62 % point forward under five nats, 56 % under none; of
        simulated tables of eight variables where half of these edges are true SHD is 0.68 and 0.45. With zero evidence
        alone decides; with a very large number two values have no number for a cause, as in the conditional Gaussian
        networks of Lauritzen and Wermuth. ``knowledge`` says which column is an outcome.
    max_parents : int, default 8
        The most causes of a variable.
    noise_distribution : {"auto", "gaussian", "student", "free"}, default "auto"
        The density of the standardised noise: Gaussian, Student's t with fitted degrees of freedom, free (the
        evidence rises by the negentropy of the residuals), or Gaussian unless the residuals of more than one
        variable in ten deny it, given the causes found, and then for every variable the one of the three that its
        evidence prefers (`icdh.node_model.noise`).
    column_transform : {"auto", "none", "log", "yeo-johnson"}, default "auto"
        One monotone transform of every continuous or gridded column, with a parameter that suits each column
        (`icdh.transforms`), under which the graph is sought; or the one of the three under which variables gain most
        evidence, no single one more than its share, given the graph that a short search on at most 400 rows of 40
        columns finds without any; the distributions that the model then holds are those of the columns as they are.
    kinds : mapping from column names or positions to str, optional
        Which columns are "continuous", "gridded" (recorded on a grid, so that values repeat), "ordinal" (few ordered
        values), "binary" or "categorical" (labels without an order). What is not said is guessed, see ``kinds_``:
        columns of repeating text are labels, as are pandas' categories, ordinal if these are ordered. As an effect a
        gridded variable is spread over its cells, one of few values gets a cumulative logit, so that no grid decides
        an arrow, and labels get a softmax; as a cause labels are indicators that come and go together.
    search : {"greedy", "exact"}, default "greedy"
        How to search. Exact, for at most 22 variables: after the greedy search, the best of all graphs whose families
        have at most three causes among eight candidates, or are those of the greedy graph or one cause away from them;
        none has more than ``max_parents``.
    n_restarts : int, default 3
        From how many initial weights the families of the graph at hand, and those with one cause less, are fitted;
        the fit of the highest evidence is kept.
    max_seconds : float, optional
        How long ``fit`` may take, by the clock on the wall. Once it is over the best graph so far is kept, with a
        ConvergenceWarning; families of long tables that it has no fit of are fitted to 2000 rows.
    n_jobs : int, default 1
        How many threads fit families, -1 for one a core; the graph does not depend on it. Two take 0.8 of the time of
        one.
    forbidden_edges : array_like of bool, shape (N, N), optional
        ``forbidden_edges[i, j]`` keeps the edge i -> j out: a shorthand for a part of ``knowledge``.
    knowledge : Knowledge or mapping, optional
        What is known of the graph: forbidden and required edges, tiers, roots, leaves. Forbidden edges are no
        unknowns; required ones are in every graph, whatever they are worth, even more than ``max_parents``.
    min_strength : float, default 0.0
        Edges of less strength, in nats over all observations, are not part of the graph; see ``edge_strength_``. What
        loses a cause is fitted again given those that stay.
    max_edges : int, optional
        The most edges of the graph, the strongest.
    missing : {"error", "drop", "impute"}, default "error"
        What is done about gaps, NaN: complain and count them, leave out rows with any, or draw what is missing from
        the fitted model given what is there, and fit again.
    n_imputations : int, default 5
        How many times, for ``missing="impute"``. Of the fits after the first, which stands on values of near rows, the
        one is kept whose graph agrees best with the others.
    random_state : int, SeedSequence, Generator or None, default 0
        Draws the first layers that fits start from.
    verbose : bool, default False
        Whether to write a line for each move to the standard error stream. The logger "icdh" gets it in any case,
        at level INFO.
    callback : callable, optional
        Called with the `icdh.search.Move` after each move, and after each that is tried on a detour (``kept`` is then
        False). After it raised KeyboardInterrupt, as after Ctrl-C, the best graph so far is kept.

    Attributes
    ----------
    adjacency_matrix_ : ndarray, shape (N, N)
        The learned DAG. ``adjacency_matrix_[i, j]`` is the score, in nats, that the edge i -> j is worth: by how much
        the family of j gets worse without it; zero where there is no edge, and the smallest number there is for a
        required edge that is worth nothing.
    causal_order_ : list of int
        The variables, causes before effects.
    history_ : list of icdh.search.Move
        The moves from the graph of required edges, by default the empty one, to the one found, with the nats each
        gained, by what units and noise were then. Conditions whose targets were not known are numbered from N on.
    evidence_ : float
        The log evidence of the graph in nats (without a constant that all graphs share), penalties included.
    noise_distribution_ : str
        "gaussian", "student" or "free": the one used for all variables (those of few values aside), else "mixed".
    column_transform_ : str
        "none", "log" or "yeo-johnson": the one used.
    kinds_ : list of str
        The kind of every column: "continuous", "gridded", "ordinal", "binary", "categorical" or "constant".
    nll_ : float
        Negative log-likelihood on the standardised data under Gaussian noise, of labels and of few ordered values that
        of their probabilities: mean over observations, in nats. Of interventions, values that were set do not count,
        nor rows of conditions whose targets were not known.
    interrupted_ : bool
        Whether Ctrl-C ended ``fit`` before the search did.
    timed_out_ : bool
        Whether ``max_seconds`` did.
    offset_, scale_ : ndarray, shape (N,)
        Mean and standard deviation of the columns.
    targets_ : dict
        For each condition whose targets were not known, from its label to the worth of its effect on every
        variable, in nats, shape (N,).
    edge_strength_ : ndarray, shape (N, N)
        The strength of every edge found, in nats: by how much the score of the effect rises without the cause. It
        includes the edges that ``min_strength`` and ``max_edges`` remove.
    edge_probability_ : ndarray, shape (N, N)
        In which share of the imputations i -> j was found; present only after ``missing="impute"`` met gaps.
    imputations_ : list of HNMSearch
        The fits that the share is of, one an imputation; present likewise. `icdh.posterior` averages over them, and
        ``average_effect(..., models=[fit.model_ for fit in imputations_])`` takes its band from them.
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
    Lauritzen and Wermuth: "Graphical models for associations between variables, some of which are qualitative and some
    quantitative", The Annals of Statistics 17(1), 1989.

    Examples
    --------
    >>> from icdh import HNMSearch
    >>> from icdh.datasets import load_sachs
    >>> model = HNMSearch().fit(load_sachs().data)
    >>> model.adjacency_matrix_.shape
    (11, 11)
    """

    history_: list[Any]
    evidence_: float
    noise_distribution_: str
    column_transform_: str
    kinds_: list[str]

    def __init__(
        self,
        hidden_units: int | str = "auto",
        prior_precision: float = 3.0,
        edge_penalty: float = 2.0,
        binary_effect_penalty: float = 5.0,
        max_parents: int = 8,
        noise_distribution: str = "auto",
        column_transform: str = "auto",
        kinds: Mapping | None = None,
        search: str = "greedy",
        n_restarts: int = 3,
        max_seconds: float | None = None,
        n_jobs: int = 1,
        forbidden_edges: ArrayLike | None = None,
        knowledge: Knowledge | Mapping | None = None,
        min_strength: float = 0.0,
        max_edges: int | None = None,
        missing: str = "error",
        n_imputations: int = 5,
        random_state: int | np.random.SeedSequence | np.random.Generator | None = 0,
        verbose: bool = False,
        callback: Callable | None = None,
    ):
        self.hidden_units = hidden_units
        self.prior_precision = prior_precision
        self.edge_penalty = edge_penalty
        self.binary_effect_penalty = binary_effect_penalty
        self.max_parents = max_parents
        self.noise_distribution = noise_distribution
        self.column_transform = column_transform
        self.kinds = kinds
        self.search = search
        self.n_restarts = n_restarts
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.forbidden_edges = forbidden_edges
        self.knowledge = knowledge
        self.min_strength = min_strength
        self.max_edges = max_edges
        self.missing = missing
        self.n_imputations = n_imputations
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def as_table(self, X: Any) -> Table:
        """Return the table that ``fit`` reads in ``X``: numbers, and codes where a column holds labels."""
        kinds = self.kinds if isinstance(self.kinds, Mapping) else {}
        declared = {column for column, kind in kinds.items() if kind == "categorical"}
        return Table.of(X, gaps=self.missing != "error", categorical=declared).coded(self.kinds)

    def _fit_table(self, table, interventions, clock):
        """Fit to a table without gaps: prepare, search, refit, model."""
        table.warn(stacklevel=4)
        table.check_learnable()
        design = Design.of(interventions, table)
        rules, N = design.rules(self._rules(table.names)), table.n_variables
        scaling, kinds = Scaling.of(table, "standardize"), table.kinds_given(self.kinds)
        warn_about_guessed_kinds(table, kinds, self.kinds)
        canonical = CanonicalTable.of(table, scaling, kinds, design, rules)
        found = GraphSearch(self, canonical, clock, partial(self._report_move, canonical.names)).run()
        dag = strengths(found)
        strength, rules = dag[:N, :N], rules.among(np.arange(N))
        kept = self._strong(rules.dag(strength).adjacency, strength, rules, stacklevel=5)
        levels = {n: np.unique(table.values[n]) for n, kind in enumerate(kinds) if kind in LEVEL_KINDS}
        model, values = StructuralModel.of(table, scaling, kept, [Constant()] * N, levels), scaling.apply(table.values)
        model, learned, in_time = self._with_conditionals(model, found, values, clock)
        self._learn(
            model,
            **learned,
            history_=[canonical.move_in_users_columns(move) for move in found.moves],
            column_transform_=found.transform,
            kinds_=kinds,
            targets_=design.targets(dag),
            edge_strength_=strength,
            _found=found,
            interrupted_=found.interrupted,
            timed_out_=not (in_time or found.interrupted),
        )
        if self.interrupted_ or self.timed_out_:
            reason = "interrupted" if self.interrupted_ else f"max_seconds={self.max_seconds} ended the search"
            warnings.warn(
                f"{reason} after {len(self.history_)} moves; the best graph so far is kept",
                ConvergenceWarning,
                stacklevel=4,
            )
        warn_about_determined_columns(model, values)
        return self

    def _with_conditionals(self, model, found, values, clock):
        """Return a model with the conditionals of its graph, fitted attributes, and whether there was time for all.

        The graph is the one that a search found or, where thresholds leave edges out, a part of it.
        """
        fitted = refit(self, found, found.among(model.adjacency), len(model.names), clock)
        model = replace(model, conditionals=fitted.conditionals, noise=())
        if fitted.noise - {"gaussian"}:
            model = model.with_noise_of(values, found.table.baseline)
        learned = {
            "evidence_": fitted.evidence,
            "noise_distribution_": "mixed" if len(fitted.noise) > 1 else min(fitted.noise, default="gaussian"),
            "nll_": model.nll(values, found.table.baseline),
        }
        return model, learned, fitted.in_time

    def _report_move(self, names, move):
        """Tell log, standard error stream and callback of a move; of a detour's move the callback alone."""
        if not move.kept:
            self._call_back(move)
            return
        self._report(f"{move.kind} {names[move.cause]} -> {names[move.effect]}: {move.gain:.2f} nats", move)

    def rethreshold(self, *, min_strength: float | None = None, max_edges: int | None = None) -> "HNMSearch":
        """Set other thresholds and rebuild the DAG from ``edge_strength_``, without searching again.

        Parameters
        ----------
        min_strength, max_edges : float, int
            New values of the parameters; those that are not given stay.

        Returns
        -------
        HNMSearch
            self: what is fitted, and what is reported, is that of the new graph.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        ValueError, TypeError
            If one is not a number of at least zero.

        Warns
        -----
        DataWarning
            If more than half of the possible edges stay.
        """
        model = self._fitted_model()
        changed = self._with_thresholds(min_strength=min_strength, max_edges=max_edges)
        rules = self._rules(model.names)
        kept = changed._strong(rules.dag(self.edge_strength_).adjacency, self.edge_strength_, rules, stacklevel=3)
        values = self._found.table.in_users_columns(len(kept))
        model, learned, _ = changed._with_conditionals(replace(model, adjacency=kept), self._found, values, Clock())
        changed._learn(model, **learned)
        self.__dict__ = changed.__dict__
        return self

    def found_graph(self) -> FoundGraph:
        """Return what the search found, on its own columns, for `icdh.posterior`.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        self._fitted_model()
        return self._found

    def for_resamples(self, X: Any, interventions: ArrayLike | Interventions | None = None) -> "HNMSearch":
        """Return an estimator to fit to resamples of a table, for `icdh.bootstrap`, after a fit to the whole of it.

        Kinds and transform of the columns are those found there. Only continuous columns are looked at anew: repeated
        rows make a grid of them.

        Parameters
        ----------
        X, interventions
            The whole table, as ``fit`` takes it.
        """
        whole = super().for_resamples(X).fit(X, interventions=interventions)
        if whole.interrupted_:
            raise KeyboardInterrupt
        kinds = dict(zip(whole.model_.names, whole.kinds_, strict=True))
        settled = {name: kind for name, kind in kinds.items() if kind not in ("constant", "continuous")}
        return super().for_resamples(X).set_params(kinds=settled, column_transform=whole.column_transform_)

    def _check_parameters(self):
        check_choice("noise_distribution", self.noise_distribution, NOISE_DISTRIBUTION)
        check_choice("column_transform", self.column_transform, TRANSFORM_CHOICES)
        check_choice("search", self.search, SEARCHES)
        if isinstance(self.hidden_units, str):
            check_choice("hidden_units, if not an integer,", self.hidden_units, ("auto",))
        else:
            check_number("hidden_units", self.hidden_units, low=1, integer=True)
        for name in ("max_parents", "n_restarts", "n_imputations"):
            check_number(name, getattr(self, name), low=1, integer=True)
        check_choice("missing", self.missing, MISSING)
        check_number("min_strength", self.min_strength, low=0)
        self._check_limits()
        n_workers(self.n_jobs)
        for name in ("edge_penalty", "binary_effect_penalty"):
            check_number(name, getattr(self, name), low=0)
        check_number("prior_precision", self.prior_precision, low=0, low_open=True)
        check_callback(self.callback)
