"""The search of `HNMSearch`: a transform of the columns, then the graph of the highest evidence."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from icdh._checks import n_workers, random_generator
from icdh._clock import Clock, OutOfTime
from icdh._threads import single_blas_thread
from icdh.estimators.canonical import CanonicalTable
from icdh.knowledge.rules import EdgeRules
from icdh.search.climb import Climber
from icdh.search.escapes import SearchResult, greedy_search
from icdh.search.moves import Graph, Move

SUBSAMPLE = 10_000  # observations that a table of more than twice as many is searched on first
FEWEST_UNITS, SEARCH_UNITS, MOST_UNITS = 5, 10, 20  # of hidden_units="auto": at first, in the search, in the end
SHORT_TABLE = 1500  # observations up to which SEARCH_UNITS do; in longer tables misfit looks like edges
MOST_VARIABLES, EXACT_CANDIDATES, EXACT_PARENTS = 22, 8, 3  # of exact search


class FoundGraph(NamedTuple):
    """What a search found, on the columns that vary, in the order that the search saw them in.

    Attributes
    ----------
    transform : str
        The transform of the columns.
    columns : icdh.node_model.columns.Columns
        The columns as causes and responses.
    scores : icdh.node_model.family_evidence.FamilyEvidence or icdh.node_model.subsample.ContinuedEvidence
        The scores of families.
    result : SearchResult
        The graph, and the moves that led to it.
    rules : EdgeRules
        Edges that must not, and that must, appear.
    order : ndarray of int, shape (n,)
        The user's columns.
    """

    transform: str
    columns: Any
    scores: Any
    result: SearchResult
    rules: EdgeRules
    order: np.ndarray

    @property
    def graph(self) -> Graph:
        """The parents of every node."""
        return self.result.graph


class GraphSearch:
    """The search of one table.

    Parameters
    ----------
    parameters : HNMSearch
        The estimator, for its parameters.
    table : CanonicalTable
        The columns that vary.
    clock : Clock
        Ends the search.
    report : callable
        Called with every `Move`, in the user's columns.
    """

    def __init__(self, parameters: Any, table: CanonicalTable, clock: Clock, report: Callable[[Move], None]):
        self.parameters, self.table, self.clock, self.report = parameters, table, clock, report
        self.seed = int(random_generator(parameters.random_state).integers(2**31))
        if parameters.search == "exact" and table.order.size > MOST_VARIABLES:
            raise ValueError(
                f"search='exact' is for at most {MOST_VARIABLES} variables, X has {table.order.size}; use 'greedy'"
            )

    def run(self) -> FoundGraph:
        """Return the best graph found."""
        with single_blas_thread():
            transform = self._transform()
            columns = self.table.columns(transform, self.seed).with_normal_scores()
            scores, found = self._greedy(columns)
            if self.parameters.search == "exact" and not found.ended_early:
                found = self._exact(scores, found)
        return FoundGraph(transform, columns, scores, found, self.table.rules, self.table.order)

    def evidence(self, columns: Any, rows: np.ndarray | None, n_restarts: int) -> Any:
        """Return the evidence of families of columns, on a subsample of a long table."""
        from icdh.node_model.families import Families
        from icdh.node_model.family_evidence import FamilyEvidence

        chosen, n = self.parameters, columns.causes.shape[1]
        families = Families(
            columns.causes,
            columns.responses,
            widths=columns.widths,
            rows=rows,
            prior_precision=chosen.prior_precision,
            edge_penalty=chosen.edge_penalty + chosen.binary_effect_penalty * columns.from_number_to_binary,
            random_state=self.seed,
        )
        grows, most_units = chosen.hidden_units == "auto", SEARCH_UNITS if n <= SHORT_TABLE else MOST_UNITS
        return FamilyEvidence(
            families.subsample(SUBSAMPLE) if n > 2 * SUBSAMPLE else families,
            hidden_units=FEWEST_UNITS if grows else chosen.hidden_units,
            most_units=most_units if grows else None,
            noise=chosen.noise_distribution,
            n_restarts=n_restarts,
            n_jobs=n_workers(chosen.n_jobs),
            clock=self.clock,
        )

    def _transform(self):
        """Return the transform that was asked for, or that the evidence of a short search asks for."""
        from icdh.estimators.transform_choice import choose_transform

        def pilot(columns, part):
            scores = self.evidence(columns, part.rows, 1)
            return Climber(scores, part.rules.forbidden, self.parameters.max_parents, part.rules.required)

        if self.parameters.column_transform != "auto":
            return self.parameters.column_transform
        try:
            return choose_transform(self.table, pilot, self.seed, self.clock)
        except OutOfTime:
            return "none"
        finally:
            self.clock.stage = ""

    def _greedy(self, columns):
        """Search greedily; a subsample of a long table first, and then on with all observations."""
        from icdh.node_model.subsample import on_all_observations

        options = {
            "max_parents": self.parameters.max_parents,
            "required": self.table.rules.required,
            "callback": lambda move: self.report(self.table.in_users_columns(move)),
        }
        first = self.evidence(columns, self.table.rows, self.parameters.n_restarts)
        found = greedy_search(first, self.table.rules.forbidden, **options)
        scores = on_all_observations(first)
        if scores is not first and not found.ended_early:
            found = greedy_search(scores, self.table.rules.forbidden, **options, start=found)
        return scores, found

    def _exact(self, scores, found):
        """Return the best of all graphs of few candidates, or the graph of the greedy search if time is over."""
        from icdh.search.candidates import weigh_families
        from icdh.search.orders import best_graph

        try:
            families = weigh_families(
                scores,
                found.graph,
                self.table.rules.forbidden,
                required=self.table.rules.required,
                n_candidates=EXACT_CANDIDATES,
                max_parents=EXACT_PARENTS,
            )
        except OutOfTime:
            return found._replace(timed_out=True)
        return found._replace(graph=best_graph(families)[0])
