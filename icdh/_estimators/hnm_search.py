"""HNMSearch: the estimator that learns a DAG by greedy search on the evidence of heteroscedastic noise models."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from icdh._estimators.arranged import CanonicalTable
from icdh._estimators.base import CausalGraphEstimator, SearchSettings
from icdh._estimators.data_warnings import DataDoubts
from icdh._model.causal import ModelColumns, about_table
from icdh._model.structural import StructuralModel
from icdh._node_model.law import CONSTANT
from icdh._table.experiments import Design, InterventionsLike
from icdh._table.kinds import KINDS, grid_of, numbers_among, point_masses
from icdh._table.table import Scaling, Table
from icdh._utils.arrays import ByColumn, TableLike
from icdh._utils.checks import random_generator, settings_of
from icdh._utils.clock import Clock
from icdh._utils.parallel import deferred_interrupts
from icdh.exceptions import ConvergenceWarning, option, warn
from icdh.knowledge import EdgeRules
from icdh.search.climb import Move

if TYPE_CHECKING:
    from icdh._estimators.graph_search import LearnedGraph


@dataclass(kw_only=True, eq=False, repr=False)
class HNMSearch(CausalGraphEstimator, SearchSettings):
    """Causal discovery by greedy search on the Bayesian evidence of heteroscedastic noise models.

    Given its causes every variable is Gaussian, with a mean and a standard deviation that are functions of the causes
    (`icdh._node_model`). The score of a graph is the sum of the evidence of its families; `icdh.search` looks for the
    best graph. A family has the evidence of a neural network or, if that is higher, of a simpler model: a linear or an
    additive mean, or logistic regression of a column of two values. The fitted model holds the best one. Columns are
    standardised first, so units, offsets and the order of the columns do not change the graph.

    Parameters
    ----------
    hidden_units : int or "auto", default "auto"
        Hidden units of every variable's network. "auto" starts with five and doubles them for the variables whose
        evidence rises by that, given the causes found so far. As a rule these are one to three of ten, which are nearly
        determined by their causes. The search goes up to ten units, on tables of more than 1500 rows to twenty; the
        graph found is fitted with up to twenty. A variable that a sum of functions of one cause each, or a line,
        describes best is kept as that, without hidden units.
    prior_precision : float, default 3.0
        Precision of the weights' prior, before it is adapted to each family.
    edge_penalty : float or "auto", default "auto"
        Nats that an edge must gain beyond its evidence: the prior over graphs. "auto" is 2 nats for up to ten columns
        and 2 + log(N / 10) for N (`icdh.search.climb`). Among many columns one that is no cause looks like one by
        chance. Columns that do not vary do not count, contexts of unknown targets do.
    binary_effect_penalty : float, default 5.0
        Further nats that an edge from a number to a binary column must gain. A column of two values or categories is
        more often a group (a sex, a treatment) than an outcome. The evidence hardly tells the two apart. In 122 public
        tables 60 of 202 arrows between such columns and others point backward with five nats, 105 of 236 without.
        In 60 simulated ones, whose binary columns are effects as often, there are 193 wrong edges with it and 128
        without. So little is no belief: in `icdh.posterior` a fifth counts. With zero the evidence alone decides. With
        a very large number no binary column has a numeric cause, as in conditional Gaussian networks (Lauritzen and
        Wermuth). ``knowledge`` declares outcomes.
    max_parents : int, default 100
        The most causes of a variable. A limit below what a variable has spoils the graph around it: of 50 linear
        variables, one of them with 30 causes, a limit of 20 leaves 78 errors, the default none.
    noise_distribution : {"auto", "gaussian", "student", "free"}, default "auto"
        The density of the standardised noise: Gaussian, Student's t with fitted degrees of freedom, or any density
        ("free"; the evidence rises by the negentropy of the residuals). "auto" begins with the Gaussian. Where
        residuals are not Gaussian it searches on, and where the graph found so gains much, or more than half of its
        variables clearly do, the evidence chooses one density for every variable (`icdh._node_model.noise`). Else
        it is Student's t: with tails of three degrees of freedom in two of twelve linear variables (six tables of 1000
        rows) Gaussian noise has 69 errors between classes, Student's t 9. The fitted model then holds for every
        variable the density that its residuals ask for, be it the Gaussian. Where no value is below zero, or none of a
        share above one, what the density has beyond that limit counts next to it.
    column_transform : {"auto", "none", "log", "yeo-johnson"}, default "auto"
        The monotone transform of every continuous or gridded column during the search, with a fitted parameter for
        each column (`icdh._table.transforms`). "auto" takes the one that raises the evidence of many variables, given
        the graph of a short search on at most 400 rows and 40 columns. The fitted model answers under the same
        transform, in the units of the columns.
    kinds : mapping from column names or positions to str, optional
        Which columns are "continuous", "gridded" (recorded on a grid, so that values repeat), "count" (whole numbers
        from zero on, such as visits), "ordinal" (few ordered values), "binary" or "categorical" (categories without an
        order). Other kinds are guessed, see ``kinds_``:
        columns of repeated text and pandas' categories are categorical, or ordinal if their categories are ordered.
        As an effect a gridded column is spread over its cells, so that no grid decides an arrow. An ordinal one has a
        cumulative logit, counts are negative binomial, and a categorical column has a softmax. As a cause a categorical
        column is a set of indicators that enter and leave a family together.
    search : {"greedy", "exact"}, default "greedy"
        How to search. "exact", for at most 22 variables, goes on from the greedy graph to the best of many more. Their
        families have at most three causes among eight candidates, or one cause more or fewer than in the greedy graph.
        None has more than ``max_parents``. It is exact about the choice among these, given their fits: a fit may end in
        a local minimum. Families whose residuals still depend on their own causes are fitted again first.
    n_restarts : int, default 3
        Number of random initialisations of each family of the current graph, and of each with one cause removed. The
        fit of the highest evidence is kept.
    max_seconds : float, optional
        The time limit of ``fit``, by the wall clock. When it is over, the best graph so far is kept, with a
        ConvergenceWarning. On long tables, families without a fit are then fitted to 2000 rows.
    n_jobs : int, default 1
        Number of threads that fit families, -1 for one a core. The graph does not depend on it. Two threads take 0.85
        of the time of one. Inside ``joblib.parallel_config("dask")`` a cluster first scores tables of 100 columns on.
    knowledge : Knowledge or mapping, optional
        What is known of the graph: forbidden and required edges, tiers, roots, leaves. Required edges are in every
        graph, whatever their strength, even beyond ``max_parents``.
    min_strength : float, default 0.0
        Edges of less strength, in nats, are not part of the graph; see ``edge_strength_``. A variable that loses a
        cause so is fitted again to the others.
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
        Draws the initial weights of fits.
    verbose : bool, default False
        Whether to write a line for each move to the standard error stream. The logger "icdh" gets it in any case,
        at level INFO.
    callback : callable, optional
        Called with the `icdh.search.Move` after each move, and after each tried move of a detour, whose ``kept`` is
        False. If it raises KeyboardInterrupt, as Ctrl-C does, the best graph so far is kept.

    Attributes
    ----------
    adjacency_matrix_ : ndarray, shape (N, N)
        The learned DAG. ``adjacency_matrix_[i, j]`` is the strength of the edge i -> j in nats: by how much the score
        of j rises without i. Zero means no edge; a required edge without strength has the smallest positive number.
    causal_order_ : list of int
        The variables, causes before effects.
    history_ : list of icdh.search.Move
        The moves from the graph of required edges, by default the empty one, to the one found. Each has its gain in
        nats, at the time of the move and of the rows that were searched then. Conditions of unknown targets are
        numbered from N on.
    edge_penalty_ : float
        The nats that every edge had to gain: ``edge_penalty``, or what "auto" came to.
    evidence_ : float
        The log evidence of the graph in nats, without a constant that all graphs share, minus the penalties of edges.
        Fits end in local minima, so it depends on the path of the search and on ``random_state``, too. Fitted anew from
        other initial weights, a graph of ten to fifty columns has up to a hundred nats more or less. A smaller
        difference between two fits does not say which of their graphs is better.
    noise_distribution_ : str
        The noise that all numbers have in the fitted model, or "mixed".
    column_transform_ : str
        The transform of the search: "none", "log" or "yeo-johnson".
    kinds_ : list of str
        The kind of every column: one of those of ``kinds``, or "constant".
    nll_ : float
        Negative log-likelihood of the fitted model on the standardised data, in nats: mean over the observations that
        count for each variable, sum over variables; of ordinal and categorical columns, and of point masses, by their
        probabilities. Values that were set do not count, nor rows of conditions with unknown targets. ``score`` is in
        the units of the table.
    interrupted_ : bool
        Whether Ctrl-C ended ``fit`` before the search did.
    timed_out_ : bool
        Whether ``max_seconds`` did.
    offset_, scale_ : ndarray, shape (N,)
        Mean and standard deviation of the columns.
    targets_ : dict
        For each condition of unknown targets, the strength of its effect on every variable, in nats, shape (N,).
    edge_strength_ : ndarray, shape (N, N)
        The strength of every edge found, in nats: by how much the score of the effect rises without the cause. It
        includes the edges that ``min_strength`` and ``max_edges`` remove. Graphs of a table of more than 20,000 rows
        are compared on 10,000 of them, evenly spread. The strength of an edge is that in these rows. All rows may then
        change the causes of variables without misfit. Edges to these have the part of their strength in all rows that
        falls to 10,000. Of imputed tables it is the part that falls to the rows that hold both cause and effect.
    edge_probability_ : ndarray, shape (N, N)
        The share of the imputations in which i -> j was found; present only after ``missing="impute"`` met gaps. It
        is no probability that the edge is true: imputed values follow the graph that they were drawn from.
    imputations_ : list of HNMSearch
        The fits to the imputed tables; present likewise. `icdh.posterior` averages over them, and
        ``average_effect(..., models=[fit.model_ for fit in imputations_])`` takes its band from them.
    n_features_in_ : int
        N.
    feature_names_in_ : ndarray of str, shape (N,)
        The names of the columns; present only if ``fit`` saw a table with names.

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

    kinds: ByColumn[str] | None = None

    history_: list[Move] = field(init=False)
    edge_penalty_: float = field(init=False)
    evidence_: float = field(init=False)
    noise_distribution_: str = field(init=False)
    column_transform_: str = field(init=False)
    kinds_: list[str] = field(init=False)
    _found: "LearnedGraph" = field(init=False)
    _counts_dependent_rows = True
    _weight_unit = "nats"

    def as_table(self, X: TableLike) -> Table:
        """Return the table that ``fit`` reads in ``X``: numbers, and codes for categories."""
        kinds = self.kinds if isinstance(self.kinds, Mapping) else {}
        declared = {column for column, kind in kinds.items() if kind == "categorical"}
        gaps, codes = self.missing != "error", self.missing_values
        return Table.of(X, gaps=gaps, categorical=declared, missing_values=codes).coded(self.kinds)

    def _fit_table(self, table: Table, design: Design, clock: Clock) -> None:
        """Fit to a table without gaps: prepare, search, refit, model."""
        from icdh._estimators.graph_search import GraphSearch, are_counts

        rules, scaling = design.rules(self._rules(table.names)), Scaling.of(table, "standardize")
        canonical = CanonicalTable.of(table, scaling, table.kinds, design, rules).with_rows_by_content()
        seed = int(random_generator(self.random_state).integers(2**31))
        settings = settings_of(SearchSettings, self)
        guesses = [k for k, column in enumerate(canonical.order) if table.rival(column)]
        if guesses and not are_counts(settings, canonical, guesses, seed, clock):
            table = table.declaring({column: table.rival(column) for column in canonical.order[guesses].tolist()})
            canonical = canonical.as_rivals(guesses)
        report = partial(self._report_move, [*table.names, *design.conditions])
        found = GraphSearch(settings, canonical, clock, report, seed).run()
        learn = partial(self._learn_graph, table, scaling, design, rules)
        if not found.interrupted:
            try:
                learn(found, clock)
                return
            except KeyboardInterrupt:
                found = found._replace(interrupted=True)
        with deferred_interrupts(ignored=True):
            learn(found, Clock(0.0))

    def _learn_graph(
        self, table: Table, scaling: Scaling, design: Design, rules: EdgeRules, found: "LearnedGraph", clock: Clock
    ) -> None:
        """Learn the model of the graph that a search found."""
        from icdh._estimators.graph_search import edge_penalty_of
        from icdh._estimators.refit import refit, strengths

        dag, N = strengths(found), table.n_variables
        strength, rules = dag[:N, :N], rules.among(np.arange(N))
        kept = self._strong(rules.dag(strength).adjacency, strength, rules)
        counts = [slice(None)] * N if design.rows is None else list(design.rows[:N])
        numbers = {n: table.values[n][counts[n]] for n in numbers_among(table.kinds)}
        columns = replace(
            ModelColumns.of(table, scaling),
            levels={n: np.unique(table.values[n]) for n, kind in enumerate(table.kinds) if KINDS[kind].has_levels},
            masses={n: np.array(masses) for n, values in numbers.items() if (masses := point_masses(values))},
            grids={n: grid for n, values in numbers.items() if (grid := grid_of(values))},
            kinds=table.kinds,
            transform=found.transform,
        )
        about = about_table(table)
        if table.related is not None:
            about["n_effective"] = table.n_observations / found.scores.models.largest_design_effect()
        model, learned, in_time = refit(found, StructuralModel(columns, kept, [CONSTANT] * N, about=about), clock)
        doubts = DataDoubts(model, table)
        self._learn(
            doubts.marked(),
            **learned,
            history_=[found.table.move_in_users_columns(move) for move in found.moves],
            column_transform_=found.transform,
            edge_penalty_=edge_penalty_of(found.settings, len(found.graph)),
            kinds_=table.kinds,
            targets_=design.targets(dag),
            edge_strength_=strength,
            _found=found,
            interrupted_=found.interrupted,
            timed_out_=not (in_time or found.interrupted),
        )
        if self.interrupted_ or self.timed_out_:
            late = f"{option('max_seconds', self.max_seconds)} ended the search"
            reason = "interrupted" if self.interrupted_ else late
            warn(f"{reason} after {len(self.history_)} moves; the best graph so far is kept", ConvergenceWarning)
        doubts.warn()

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
        from icdh._estimators.refit import refit

        model = self._fitted_model()
        thresholds, rules = self._checked(min_strength=min_strength, max_edges=max_edges), self._rules(model.names)
        stricter = copy(self).set_params(**thresholds)
        kept = stricter._strong(rules.dag(self.edge_strength_).adjacency, self.edge_strength_, rules)
        found = self._found.copy()  # what the search found stays as it is
        model, learned, _ = refit(found, replace(model, adjacency=kept), Clock())
        self._learn(model, thresholds, **learned)
        return self

    def found_graph(self) -> "LearnedGraph":
        """Return what the search found, on its own columns, for `icdh.posterior`.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        self._fitted_model()
        return self._found

    def for_resamples(self, X: TableLike, interventions: InterventionsLike = None) -> "HNMSearch":
        """Return an estimator to fit to resamples of a table, for `icdh.bootstrap`, after a fit to the whole of it.

        Kinds and transform of the columns are those of that fit. The kinds of continuous columns alone are guessed
        again: repeated rows make them gridded.

        Parameters
        ----------
        X, interventions
            The whole table, as ``fit`` takes it.
        """
        whole = super().for_resamples(X).fit(X, interventions=interventions)
        if whole.interrupted_:
            raise KeyboardInterrupt
        kinds = dict(zip(whole.model_.names, whole.kinds_, strict=True))
        again = {"constant", *(kind.exact for kind in KINDS.values())}
        decided = {name: kind for name, kind in kinds.items() if kind not in again}
        return super().for_resamples(X).set_params(kinds=decided, column_transform=whole.column_transform_)
