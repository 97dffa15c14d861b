"""The search of `HNMSearch`: a transform of the columns, then the graph of the highest evidence.

By the evidence of a short search, too, columns that look like counts are read as such or not. Counts that their causes
nearly determine vary less than Poisson's, which no negative binomial distribution does: the children of a woman, given
her age. Read as counts they lose their causes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from icdh._estimators.arranged import CanonicalTable
from icdh._estimators.base import SearchSettings
from icdh._node_model.columns import Columns
from icdh._node_model.families import Families
from icdh._node_model.family_models import tolerance_of
from icdh._node_model.score import FamilyScore, ScoreSettings, WholeScore
from icdh._node_model.screening import lingam_order
from icdh._table.transforms import TRANSFORMS
from icdh._utils.arrays import Floats, Integers, sum_of
from icdh._utils.checks import n_workers
from icdh._utils.clock import Clock, OutOfTime
from icdh.exceptions import option
from icdh.knowledge import EdgeRules
from icdh.search.climb import Climber, Family, Graph, Move, differing_families, parents_matrix, price_of_width
from icdh.search.directions import turn_while_it_gains
from icdh.search.escapes import Search, SearchResult, greedy_search
from icdh.search.order_search import Gains, graph_of_order, search_orders
from icdh.search.orders import MOST_VARIABLES, best_graph, weigh_families


@dataclass(frozen=True)
class SearchSizes:
    """Sizes of tables, networks and searches.

    Which transform of the columns a table asks for is told by the evidence of one graph on a part of its rows. The
    graph is that of a short search without a transform. Under the one that suits it nearly every variable gains a few
    nats given the same causes. Of 80 simulated tables that had been transformed all but four gained, most of them 20 to
    160 nats; of 113 that had not, six did, by 4 to 44 nats, all with noise of heavy tails. A transform has a parameter
    for every column, which costs ``transform_price`` nats each: with that, seven of the former have none, and three of
    the latter one. Searches under every transform tell less: they end with other graphs, in which some variables gain
    hundreds of nats that others lose, whatever the transform.

    One transform serves all columns, so many of them have to ask for it. A variable that its causes nearly determine
    gains or loses nats by the observation with the slightest misfit of its mechanism, and would outvote all others: of
    tables without a transform that made one in six take one. So none counts for more than ``most_gain`` nats an
    observation.
    """

    long_table: int = 20_000  # observations of which all are fitted only to the graph found
    first_rows: int = 2500  # that a search of more than twice as many sees first: half of the time
    subsample: int = 10_000  # on 3000, errors at 10^5 rise from 2 to 7 in three tables
    doubtful: float = 0.05  # nats an observation: an edge that gains less may be misfit
    short_table: int = 1500  # observations up to which ``search_units`` do; in longer tables misfit looks like edges
    min_units: int = 5  # of hidden_units="auto": at first
    search_units: int = 10
    most_units: int = 20
    usual_price: float = 2.0  # nats that an edge must gain in a table of few columns
    order_swaps: tuple[int, int] = (20, 50)  # in vain, in a row, that end a search over orders: the least and the most
    most_at_once: int = 20  # parents that a variable begins with in the end: the work grows with their cube
    lingam_variables: int = 200  # an order of 1000 rows takes 4 s; it grows with the cube
    exact_candidates: int = 8
    exact_parents: int = 3
    pilot_rows: int = 400
    pilot_variables: int = 40
    most_gain: float = 0.05  # nats an observation that a variable counts for
    transform_price: float = 1.5  # nats a variable


SIZES = SearchSizes()


def edge_penalty_of(settings: SearchSettings, n_variables: int) -> float:
    """Return the nats that an edge must gain in a graph of so many columns that vary, and contexts."""
    if isinstance(settings.edge_penalty, str):
        return SIZES.usual_price + price_of_width(n_variables)
    return float(settings.edge_penalty)


class LearnedGraph(NamedTuple):
    """What a search found, on the columns that vary, in the order that the search saw them in.

    Attributes
    ----------
    graph : tuple
        The parents of every node.
    moves : list of Move
        What led there from the graph of the required edges.
    scores : icdh._node_model.score.FamilyScore
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
    whole : icdh._node_model.score.WholeScore, optional
        The scores on all rows of a long table.
    by_subsample : tuple, optional
        The graph that they changed: the best one by ``scores``.
    """

    graph: Graph
    moves: list[Move]
    scores: FamilyScore
    table: CanonicalTable
    transform: str
    columns: Columns
    settings: SearchSettings
    seed: int
    interrupted: bool
    timed_out: bool
    whole: WholeScore | None = None
    by_subsample: Graph | None = None

    @property
    def decided(self) -> frozenset[int]:
        """The nodes whose parents the scores on all rows changed."""
        return frozenset(node for node, _ in differing_families(self.by_subsample or self.graph, self.graph))

    def copy(self, clock: Clock | None = None) -> "LearnedGraph":
        """Return what was found with scores that may learn more until a clock ends it, while these stay as they are."""
        whole = None if self.whole is None else self.whole.copy(clock)
        return self._replace(scores=self.scores.copy(clock) if whole is None else whole.subsample, whole=whole)

    def limit(self, clock: Clock) -> None:
        """Let a clock end fits."""
        (self.whole or self.scores).limit(clock)

    def among(self, kept: np.ndarray) -> Graph:
        """Return the graph without the edges between the user's columns that are zero in ``kept``, shape (N, N)."""
        N, order = len(kept), self.table.order
        return tuple(
            tuple(k for k in parents if order[k] >= N or kept[order[k], order[node]])
            for node, parents in enumerate(self.graph)
        )


def family_evidence(
    settings: SearchSettings, columns: Columns, table: CanonicalTable, seed: int, clock: Clock
) -> FamilyScore:
    """Return the evidence of families of columns, on a subsample of a long table.

    Parameters
    ----------
    settings : SearchSettings
        How families are scored.
    columns : icdh._node_model.columns.Columns
        The columns as causes and responses.
    table : CanonicalTable
        The table that they are of, for which of its observations count and which depend on one another.
    seed : int
        Of the fits.
    clock : Clock
        Ends fits.
    """
    n, price = columns.causes.shape[1], edge_penalty_of(settings, len(columns.widths))
    families = Families(
        columns.causes,
        columns.responses,
        columns.widths,
        np.where(columns.from_number_to_binary, price + settings.binary_effect_penalty, price),
        settings.prior_precision,
        seed,
        table.rows,
        table.related,
    )
    units = SIZES.min_units, SIZES.search_units if n <= SIZES.short_table else SIZES.most_units
    if not isinstance(settings.hidden_units, str):
        units = settings.hidden_units, settings.hidden_units
    how = ScoreSettings(*units, settings.noise_distribution, settings.n_restarts, n_workers(settings.n_jobs))
    return FamilyScore(families.subsample(SIZES.subsample) if n > SIZES.long_table else families, how, clock)


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
    """

    settings: SearchSettings
    table: CanonicalTable
    clock: Clock
    report: Callable[[Move], None]
    seed: int

    def run(self) -> LearnedGraph:
        """Return the best graph found."""
        if self.settings.search == "exact" and self.table.order.size > MOST_VARIABLES:
            raise ValueError(
                f"{option('search', 'exact')} is for at most {MOST_VARIABLES} variables, {option('X')} has "
                f"{self.table.order.size}; use {option('search', 'greedy')}"
            )
        transform = self.transform()
        columns = self.table.columns(transform, self.seed).with_normal_scores()
        scores, found = self._greedy(columns)
        if self.settings.search == "exact" and not found.ended_early:
            found = self._exact(scores, found)
        whole, by_subsample = None, found.graph
        if scores.families is not scores.families.whole and not found.ended_early:
            whole, found = self._on_all_rows(scores, found)
        how = self.settings, self.seed, found.interrupted, found.timed_out
        return LearnedGraph(found.graph, found.moves, scores, self.table, transform, columns, *how, whole, by_subsample)

    def transform(self) -> str:
        """Return the requested transform, or that raises the evidence of the graph of a short search most."""
        if self.settings.column_transform != "auto":
            return self.settings.column_transform
        rng = np.random.default_rng(0)  # the same part whatever the seed: it decides more than the initial weights
        rows = some(self.table.values.shape[1], SIZES.pilot_rows, rng)
        part = self.table.varying_part(some(len(self.table.values), SIZES.pilot_variables, rng), rows)
        if not part.kinds:
            return "none"
        settings = replace(self.settings, n_restarts=1)
        graph, evidences = None, {}
        self.clock.stage = "choosing a transform of the columns"
        try:
            for transform in TRANSFORMS:
                columns = part.columns(transform, self.seed).with_normal_scores()
                scores = family_evidence(settings, columns, part, self.seed, self.clock)
                graph = graph or short_search(scores, part.rules, settings.max_parents)
                scores.choose_noise(list(enumerate(graph)))
                evidences[transform] = columns.log_jacobians - scores(list(enumerate(graph)))
        except OutOfTime:
            return "none"
        finally:
            self.clock.stage = ""
        return best_transform(evidences, sum_of(part.weights, rows.size))

    def _greedy(self, columns: Columns) -> tuple[FamilyScore, SearchResult]:
        """Search greedily, on a few rows if there are twice as many, and on from that graph on all, or a subsample."""
        scores = family_evidence(self.settings, columns, self.table, self.seed, self.clock)
        families = scores.families
        if families.n_observations <= 2 * SIZES.first_rows:
            return scores, self._searched(scores)
        first = scores.on(families.whole.subsample(SIZES.first_rows), self.clock)
        found = self._searched(first)
        if found.ended_early:
            return first, found
        scores = first.on(families, self.clock)
        return scores, Search(self._climber(scores), self._tell, found).climb_on()

    def _on_all_rows(self, scores: FamilyScore, found: SearchResult) -> tuple[WholeScore, SearchResult]:
        """Climb on by all rows of a long table, where those of the subsample were described without misfit.

        The others are left as they are: on more rows their misfit looks like edges. What gains less than the tolerance
        of two fits adds no edge and turns none.
        """
        whole, edges = WholeScore(scores), parents_matrix(found.graph)
        is_left = ~np.array(list(map(scores.describes_well, enumerate(found.graph))))
        forbidden, required = self.table.rules
        rules = EdgeRules.of(forbidden | is_left & ~edges, required | is_left & edges)
        n = sum_of(whole.families.weights, whole.families.n_observations)
        margin, doubt = SIZES.doubtful * n, 2.0 * tolerance_of(whole.families.n_observations)
        climber = Climber(whole, rules, self.settings.max_parents, margin, doubt)
        return whole, Search(climber, self._tell, found).climb_on()

    def _searched(self, scores: FamilyScore) -> SearchResult:
        """Return the end of a climb, and of every escape from it that gains."""
        lingam_graph = cache(partial(self._lingam_graph, scores))

        def lingam_start(graph: Graph) -> Graph | None:
            """Return the graph along the order of DirectLiNGAM if most effects of a found graph are linear."""
            return lingam_graph() if scores.closed_form_gains(graph) is scores.linear_gains else None

        def start_of_noise(graph: Graph) -> Graph | None:
            return None if scores.noise == self.settings.noise_distribution else lingam_start(graph)

        starts = partial(self._closed_form_start, scores), start_of_noise
        found = greedy_search(self._climber(scores), self._tell, *starts)
        if not found.ended_early and scores.noise != "gaussian":
            found = self._from_another_start(scores, found, lingam_start)
        gains = None if found.ended_early else scores.closed_form_gains(found.graph)
        if found.ended_early or gains not in (None, scores.linear_gains):  # the orders searched by tables have decided
            return found

        # Of linear effects the search over orders has, too, but for directions that other noise alone tells.
        least = -np.inf
        if gains is not None and scores.noise == "gaussian":
            least = SIZES.doubtful * scores.families.n_observations

        def is_decided(graph: Graph, node: int) -> bool:
            family = node, graph[node]
            return not family[1] or scores.baseline_score_of(family, "linear") - scores([family])[0] < least

        return turn_while_it_gains(self._climber(scores), found, self._tell, is_decided)

    def _climber(self, scores: FamilyScore) -> Climber:
        return Climber(scores, self.table.rules, self.settings.max_parents)

    def _tell(self, move: Move) -> None:
        self.report(self.table.move_in_users_columns(move))

    def _closed_form_start(self, scores: FamilyScore, graph: Graph) -> Graph | None:
        """Return the graph of the best order by a closed form that suits a found graph; None if none does.

        What linear Gaussian tables and tables of labels tell is the class of a graph above all. To leave a wrong class
        a climb would have to turn a chain of edges without a gain.
        """
        gains = scores.closed_form_gains(graph)
        if gains is None:
            return None
        how = self.table.rules, self.settings.max_parents, int(np.clip(len(graph), *SIZES.order_swaps))
        # Tables of several parents at once would have cells without rows.
        most_at_once = min(self.settings.max_parents, SIZES.most_at_once) if gains is scores.linear_gains else 0
        return search_orders(self._clocked(gains), graph, *how, most_at_once)

    def _clocked(self, gains: Gains) -> Gains:
        """Return gains that end when time is over."""

        def ask(node: int, parents: tuple[int, ...]) -> Floats:
            self.clock.check()
            return gains(node, parents)

        return ask

    def _from_another_start(
        self, scores: FamilyScore, found: SearchResult, start_of: Callable[[Graph], Graph | None]
    ) -> SearchResult:
        """Return what a search finds from another start, too, once its noise turned out not to be Gaussian.

        Before that, wrong arrows give even linear effects a spread that varies. A start far behind is that of a table
        whose effects are not all linear.
        """
        search = Search(self._climber(scores), self._tell, found)
        most_behind = SIZES.doubtful * scores.families.n_observations

        def run() -> None:
            start, total = start_of(search.graph), search.climber.total
            if start is not None and total(start) - total(search.graph) < most_behind:
                search.climb_from(start)
            if search.graph != found.graph:
                search.escape()

        return search.result_of(run)

    def _lingam_graph(self, scores: FamilyScore) -> Graph | None:
        """Return the graph along the order of DirectLiNGAM; None of too many variables, or if some rows do not count.

        Under Gaussian noise all linear graphs of a class have the same evidence, so the graph found may point anywhere,
        and its residuals need not show that the noise is not Gaussian.
        """
        families = scores.families
        if len(families) > SIZES.lingam_variables or families.rows is not None:
            return None
        order = lingam_order(families.causes, families.weights, self.clock.check)
        most = self.settings.max_parents
        how = order, self.table.rules, most, min(most, SIZES.most_at_once)
        return graph_of_order(self._clocked(scores.linear_gains), *how)

    def _exact(self, scores: FamilyScore, found: SearchResult) -> SearchResult:
        """Return the best of all graphs of few candidates, or the graph of the greedy search if time is over."""

        def polished(families: Sequence[Family]) -> list[float]:
            scores.polish_failed(families)
            return scores(families)

        try:
            families = weigh_families(
                polished,
                found.graph,
                self.table.rules,
                n_candidates=SIZES.exact_candidates,
                max_parents=min(SIZES.exact_parents, self.settings.max_parents),
                most_parents=self.settings.max_parents,
            )
        except OutOfTime:
            return found._replace(timed_out=True)
        return found._replace(graph=best_graph(families)[0])


def short_search(scores: FamilyScore, rules: EdgeRules, max_parents: int) -> Graph:
    """Return the graph of one climb from the required edges alone."""
    climber = Climber(scores, rules, max_parents)
    return climber.climb_once(climber.least)[0]


def some(size: int, most: int, rng: np.random.Generator) -> Integers:
    """Return at most so many of the positions below ``size``, in order."""
    return np.arange(size) if size <= most else np.sort(rng.choice(size, most, replace=False))


def best_transform(evidences: Mapping[str, np.ndarray], n_observations: float) -> str:
    """Return the transform under which variables gain most, if that pays for it, none of them more than its share.

    Where that is the same within a nat, a column that needs any transform has its whole share by each. All that it
    gains then decides, not tenths of a nat of other columns.

    Parameters
    ----------
    evidences : mapping
        The log evidence of every variable given its parents, shape (N,), by transform.
    n_observations : float
        n.
    """
    most, price = SIZES.most_gain * n_observations, SIZES.transform_price * evidences["none"].size
    gains = {transform: evidence - evidences["none"] for transform, evidence in evidences.items()}
    shares = {transform: np.clip(gain, -most, most).sum() for transform, gain in gains.items()}
    close = [transform for transform, share in shares.items() if share > max(price, max(shares.values()) - 1.0)]
    return max(close, key=lambda transform: float(gains[transform].sum()), default="none")


def are_counts(settings: SearchSettings, table: CanonicalTable, columns: list[int], seed: int, clock: Clock) -> bool:
    """Return whether columns that are read as counts have more evidence so than as rounded numbers.

    Parameters
    ----------
    settings : SearchSettings
        How to search.
    table : CanonicalTable
        The table.
    columns : list of int
        Their places in it.
    seed : int
        Of the fits.
    clock : Clock
        Ends the search; as counts they are read then.
    """
    others = np.setdiff1d(np.arange(len(table.kinds)), columns)
    rng = np.random.default_rng(0)
    chosen = np.append(columns, others[some(others.size, max(SIZES.pilot_variables - len(columns), 0), rng)])
    part = table.varying_part(chosen, some(table.values.shape[1], SIZES.pilot_rows, rng))
    doubtful = np.flatnonzero(np.isin(part.order, table.order[columns])).tolist()
    if not doubtful:
        return True
    rounded = part.as_rivals(doubtful)
    clock.stage = "reading counts"
    try:
        return _of_short_search(settings, part, seed, clock) > _of_short_search(settings, rounded, seed, clock)
    except OutOfTime:
        return True
    finally:
        clock.stage = ""


def _of_short_search(settings: SearchSettings, table: CanonicalTable, seed: int, clock: Clock) -> float:
    """Return the evidence of the graph of a short search, in nats, densities as those in the user's units."""
    columns = table.columns("none", seed).with_normal_scores()
    scores = family_evidence(replace(settings, n_restarts=1), columns, table, seed, clock)
    graph = short_search(scores, table.rules, settings.max_parents)
    nats = float(columns.log_jacobian - sum(scores(list(enumerate(graph)))))
    for response, (_, unit) in zip(columns.responses, table.of_counts.tolist(), strict=True):
        if response.n_dense:
            nats += response.n_dense * (math.log(abs(unit)) - 0.5 * math.log(2.0 * math.pi))
    return nats
