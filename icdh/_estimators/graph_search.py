"""The search of `HNMSearch`: a transform of the columns, then the graph of the highest evidence."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from icdh._estimators.arranged import CanonicalTable
from icdh._ground.arrays import Floats, Mask
from icdh._ground.checks import Choice, Flag, Number, Workers, n_workers, parameter
from icdh._ground.clock import Clock, OutOfTime
from icdh._ground.threads import single_blas_thread
from icdh._node_model import NOISE_DISTRIBUTIONS
from icdh._table.transforms import TRANSFORMS
from icdh.exceptions import option
from icdh.knowledge.rules import EdgeRules
from icdh.search.climb import Climber
from icdh.search.escapes import SearchResult, greedy_search
from icdh.search.moves import Family, Graph, Move, price_of_width
from icdh.search.order_search import Gains, graph_of_order, search_orders

if TYPE_CHECKING:
    from icdh._estimators.hidden_causes import FoundCauses
    from icdh._node_model.columns import Columns
    from icdh._node_model.family_evidence import FamilyEvidence

# Observations that a long table is searched on. On 3000, errors at 10^5 rise from 2 to 7 in three tables.
SUBSAMPLE = 10_000
LONG_TABLE = 20_000  # observations of which all are fitted only to the graph found
FEWEST_UNITS, SEARCH_UNITS, MOST_UNITS = 5, 10, 20  # of hidden_units="auto": at first, in the search, in the end
SHORT_TABLE = 1500  # observations up to which SEARCH_UNITS do; in longer tables misfit looks like edges
USUAL_PRICE = 2.0  # nats that an edge must gain in a table of few columns
LEAST_REGAIN = 0.5  # of detours in long tables: half of the fits; one of 11 that gained, by 3 nats, is left out
MOST_EFFECTS = 0.5  # share of the effects that are linear, from which linear models have a search of their own
MOST_LINGAM_VARIABLES = 200  # their order takes 2 s of 1000 rows; it grows with the cube, 200 s among 1000 variables
MOST_VARIABLES, EXACT_CANDIDATES, EXACT_PARENTS = 22, 8, 3  # of exact search


@dataclass(kw_only=True, eq=False, repr=False)
class SearchSettings:
    """How a search looks for a graph: the parameters of `HNMSearch`, where they are explained, that it reads."""

    hidden_units: int | str = parameter("auto", Number(1, integer=True, words=("auto",)))
    prior_precision: float = parameter(3.0, Number(0, above=True))
    edge_penalty: float | str = parameter("auto", Number(0, words=("auto",)))
    binary_effect_penalty: float = parameter(5.0, Number(0))
    max_parents: int = parameter(20, Number(1, integer=True))
    noise_distribution: str = parameter("auto", Choice(NOISE_DISTRIBUTIONS))
    column_transform: str = parameter("auto", Choice(("auto", *TRANSFORMS)))
    search: str = parameter("greedy", Choice(("greedy", "exact")))
    hidden_causes: bool = parameter(False, Flag())
    n_restarts: int = parameter(3, Number(1, integer=True))
    n_jobs: int = parameter(1, Workers())


def units_grow(settings: SearchSettings) -> bool:
    """Return whether variables get more hidden units where that pays."""
    return isinstance(settings.hidden_units, str)


def price_of_edge(settings: SearchSettings, n_variables: int) -> float:
    """Return the nats that an edge must gain in a graph of so many columns that vary, and contexts."""
    if isinstance(settings.edge_penalty, str):
        return USUAL_PRICE + price_of_width(n_variables)
    return float(settings.edge_penalty)


class FoundGraph(NamedTuple):
    """What a search found, on the columns that vary, in the order that the search saw them in.

    Attributes
    ----------
    graph : tuple
        The parents of every node.
    moves : list of Move
        What led there from the graph of the required edges.
    scores : icdh._node_model.family_evidence.FamilyEvidence
        The scores of families that graphs were compared by; of a long table on a subsample.
    table : CanonicalTable
        The columns.
    transform : str
        Their transform.
    columns : icdh._node_model.columns.Columns
        The transformed columns as causes and responses.
    settings : SearchSettings
        How the search looked for it.
    seed : int
        Of the fits.
    interrupted, timed_out : bool
        What ended the search early.
    causes : icdh._estimators.hidden_causes.FoundCauses, optional
        The hidden causes; None if nothing looked for them.
    """

    graph: Graph
    moves: list[Move]
    scores: "FamilyEvidence"
    table: CanonicalTable
    transform: str
    columns: "Columns"
    settings: SearchSettings
    seed: int
    interrupted: bool
    timed_out: bool
    causes: "FoundCauses | None" = None

    @property
    def confounded(self) -> set[int]:
        """The nodes that have a hidden cause."""
        return set() if self.causes is None else self.causes.children

    @property
    def rules(self) -> EdgeRules:
        """Edges that must not, and that must, appear."""
        return self.table.rules

    @property
    def order(self) -> np.ndarray:
        """The user's columns, shape (n,)."""
        return self.table.order

    def among(self, kept: np.ndarray) -> Graph:
        """Return the graph without the edges between the user's columns that are zero in ``kept``, shape (N, N)."""
        N, order = len(kept), self.table.order
        return tuple(
            tuple(k for k in parents if order[k] >= N or kept[order[k], order[node]])
            for node, parents in enumerate(self.graph)
        )


def family_evidence(
    settings: SearchSettings, columns: "Columns", table: CanonicalTable, n_restarts: int, seed: int, clock: Clock
) -> "FamilyEvidence":
    """Return the evidence of families of columns, on a subsample of a long table.

    Parameters
    ----------
    settings : SearchSettings
        How families are scored.
    columns : icdh._node_model.columns.Columns
        The columns as causes and responses.
    table : CanonicalTable
        The table that they are of, for which of its observations count and which depend on one another.
    n_restarts : int
        Number of initial weights of a family.
    seed : int
        Of the fits.
    clock : Clock
        Ends fits.
    """
    from icdh._node_model.families import Families
    from icdh._node_model.family_evidence import FamilyEvidence

    n, price = columns.causes.shape[1], price_of_edge(settings, len(columns.widths))
    families = Families(
        columns.causes,
        columns.responses,
        widths=columns.widths,
        rows=table.rows,
        prior_precision=settings.prior_precision,
        edge_penalty=price + settings.binary_effect_penalty * columns.from_number_to_binary,
        random_state=seed,
        related=table.related,
    )
    most_units = SEARCH_UNITS if n <= SHORT_TABLE else MOST_UNITS
    return FamilyEvidence(
        families.subsample(SUBSAMPLE) if n > LONG_TABLE else families,
        hidden_units=FEWEST_UNITS if isinstance(settings.hidden_units, str) else settings.hidden_units,
        most_units=most_units if units_grow(settings) else None,
        noise=settings.noise_distribution,
        n_restarts=n_restarts,
        n_jobs=n_workers(settings.n_jobs),
        clock=clock,
    )


def cheap_gains(scores: "FamilyEvidence", families: list[Family]) -> Gains | None:
    """Return the gains of linear models if most effects of a graph are linear, of tables if all variables have labels.

    Parameters
    ----------
    scores : icdh._node_model.family_evidence.FamilyEvidence
        The scores that the graph was found by.
    families : list
        The families of the graph.
    """
    from icdh._node_model.table_gains import TableGains

    if scores.families.worth is not None:  # they would count every row
        return None
    gaussian = [scores.families.is_gaussian(node) for node, _ in families]
    if not any(gaussian):
        return TableGains(scores.families)
    linear = [scores.model_of(own) == "linear" for own in families if own[1]]
    return scores.linear_gains if all(gaussian) and np.mean(linear or 0) > MOST_EFFECTS else None


@dataclass(frozen=True)
class GraphSearch:
    """The search of one table.

    Attributes
    ----------
    settings : SearchSettings
        How to search.
    table : CanonicalTable
        The columns that vary.
    clock : Clock
        Ends the search.
    report : callable
        Called with every `Move`, in the user's columns.
    seed : int
        Of the fits.
    hidden : tuple
        The children of hidden causes that there are, and the variables without one: masks of the user's columns.
    """

    settings: SearchSettings
    table: CanonicalTable
    clock: Clock
    report: Callable[[Move], None]
    seed: int
    hidden: tuple[list[Mask], Mask]

    def run(self) -> FoundGraph:
        """Return the best graph found."""
        if self.settings.search == "exact" and self.table.order.size > MOST_VARIABLES:
            raise ValueError(
                f"{option('search', 'exact')} is for at most {MOST_VARIABLES} variables, {option('X')} has "
                f"{self.table.order.size}; use {option('search', 'greedy')}"
            )
        with single_blas_thread():
            transform = self.transform()
            columns = self.table.columns(transform, self.seed).with_normal_scores()
            scores, found = self._greedy(columns)
            if self.settings.search == "exact" and not found.ended_early:
                found = self._exact(scores, found)
            causes = None
            if self.settings.hidden_causes and not found.ended_early:
                found, causes = self._hidden_causes(scores, found)
        how = self.settings, self.seed, found.interrupted, found.timed_out
        return FoundGraph(found.graph, found.moves, scores, self.table, transform, columns, *how, causes)

    def _hidden_causes(self, scores: "FamilyEvidence", found: SearchResult) -> "tuple[SearchResult, FoundCauses]":
        from icdh._estimators.hidden_causes import find_hidden_causes

        linear = cheap_gains(scores, list(enumerate(found.graph))) is scores.linear_gains
        return find_hidden_causes(
            found,
            linear,
            scores=scores,
            rules=self.table.rules,
            max_parents=self.settings.max_parents,
            named=[mask[self.table.order] for mask in self.hidden[0]],
            without=self.hidden[1][self.table.order],
        )

    def _evidence(self, columns: "Columns", table: CanonicalTable, n_restarts: int) -> "FamilyEvidence":
        return family_evidence(self.settings, columns, table, n_restarts, self.seed, self.clock)

    def transform(self) -> str:
        """Return the transform that was asked for, or that the evidence of a short search asks for."""
        from icdh._estimators.transform_choice import choose_transform

        def pilot(columns: "Columns", part: CanonicalTable) -> Climber:
            return Climber(self._evidence(columns, part, 1), part.rules, self.settings.max_parents)

        if self.settings.column_transform != "auto":
            return self.settings.column_transform
        try:
            return choose_transform(self.table, pilot, self.seed, self.clock)
        except OutOfTime:
            return "none"
        finally:
            self.clock.stage = ""

    def _greedy(self, columns: "Columns") -> "tuple[FamilyEvidence, SearchResult]":
        """Search greedily, a long table on a subsample."""
        first = self._evidence(columns, self.table, self.settings.n_restarts)
        found = greedy_search(
            first,
            self.table.rules,
            max_parents=self.settings.max_parents,
            callback=self._tell,
            least_regain=0.0 if first.families.whole is first.families else LEAST_REGAIN,
            other_start=lambda graph: self._cheap_start(first, graph),
            start_of_noise=lambda graph: self._lingam_start(first, graph),
        )
        if not found.ended_early:
            gains = cheap_gains(first, list(enumerate(found.graph)))
            if gains is None:  # else the orders searched by them have decided
                from icdh.search.directions import turn_while_it_gains

                climber = Climber(first, self.table.rules, self.settings.max_parents)
                found = turn_while_it_gains(climber, found, self._tell)
        return first, found

    def _tell(self, move: Move) -> None:
        self.report(self.table.move_in_users_columns(move))

    def _cheap_start(self, scores: "FamilyEvidence", graph: Graph) -> Graph | None:
        """Return the graph of the best order by a cheap score that suits a found graph; None if none does.

        What linear Gaussian tables and tables of labels tell is the class of a graph above all. To leave a wrong class
        a climb would have to turn a chain of edges without a gain.
        """
        cheap = cheap_gains(scores, list(enumerate(graph)))
        if cheap is None:
            return None
        return search_orders(self._clocked(cheap), graph, self.table.rules, self.settings.max_parents)

    def _clocked(self, gains: Gains) -> Gains:
        """Return gains that end when time is over."""

        def ask(node: int, parents: tuple[int, ...]) -> Floats:
            self.clock.check()
            return gains(node, parents)

        return ask

    def _lingam_start(self, scores: "FamilyEvidence", graph: Graph) -> Graph | None:
        """Return the graph along the order of DirectLiNGAM if most effects of a found graph are linear; None if not.

        Under Gaussian noise all linear graphs of a class have the same evidence, so the graph found may point anywhere,
        and its residuals need not show that the noise is not Gaussian.
        """
        from icdh._node_model.lingam_order import lingam_order

        is_chosen = scores.noise == self.settings.noise_distribution
        if is_chosen or len(graph) > MOST_LINGAM_VARIABLES or scores.families.rows is not None:
            return None
        cheap = cheap_gains(scores, list(enumerate(graph)))
        if cheap is None or cheap is not scores.linear_gains:
            return None
        order = lingam_order(scores.families.causes, self.clock.check)
        return graph_of_order(self._clocked(cheap), order, self.table.rules, self.settings.max_parents)

    def _exact(self, scores: "FamilyEvidence", found: SearchResult) -> SearchResult:
        """Return the best of all graphs of few candidates, or the graph of the greedy search if time is over."""
        from icdh.search.orders import best_graph, weigh_families

        try:
            families = weigh_families(
                scores,
                found.graph,
                self.table.rules,
                n_candidates=EXACT_CANDIDATES,
                max_parents=min(EXACT_PARENTS, self.settings.max_parents),
                most_parents=self.settings.max_parents,
            )
        except OutOfTime:
            return found._replace(timed_out=True)
        return found._replace(graph=best_graph(families)[0])
