"""What a check found: a record for each variable and each arrow, in plain words, and as a file of questions.

A person answers by uncommenting lines of that file.

The track record of arrows says how often those of a kind pointed forward in recorded tables whose natural order is
known. In tables as people record them effects are more skewed and heavier-tailed, and better explained by all other
columns, than their causes: causes are designs, ages and groups. That is experience with other tables, no evidence of
the one at hand, and it does not hold for simulated tables. So it enters no score; it shows which arrows to settle by
knowledge.

The shares are those of the arrows of `icdh.HNMSearch` between columns of a natural order in four lists of public
tables. The order was fixed before anything was run. The groups were noticed on the first list, not on the others. The
first three lists are of one collection, the last is from other sources:

=================== ====== ====== ==== === ======= ===
list                tables arrows both one neither any
=================== ====== ====== ==== === ======= ===
"fourth"            71     227    83 % 53  37      60
another, kept apart 60     254    81 % 65  47      64
"record"            102    451    82 % 54  36      58
"collected"         174    817    82 % 51  32      57
all                 407    1749   82 % 54  37      59
=================== ====== ====== ==== === ======= ===

What is printed is the pool of all lists; of four ways it predicts an unseen list best. In another list of such tables
the shares of the three groups lie between 75 and 87, 46 and 64, and 27 and 46 % (intervals of 95 %).
``benchmarks/track_record.py`` counts the arrows of all lists but the second, ``benchmarks/track_record_lists.py``
compares the ways and computes the intervals. Arrows of `icdh.ICDH` deserve less: 79, 48 and 33 % in the first list.

References
----------
Reisach, Tami, Seiler, Chambaz, Weichwald: "A scale-invariant sorting criterion to find a causal order in additive
noise models", NeurIPS 2023 (R2-sortability).
"""

import json
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np

from icdh import graphs
from icdh._model.causal import number_at
from icdh._model.export import MOST_EDGES, Result, weight_unit
from icdh._model.structural import StructuralModel
from icdh._table.table import Table
from icdh._table.transforms import explained_variance
from icdh._utils.arrays import Mask
from icdh._utils.checks import Number
from icdh._utils.labels import counted, edge_lines, first, listed, printable
from icdh.search.climb import DOUBTFUL

SHARES = {  # that pointed forward, by what the effect has more of than the cause
    "both": 0.82,  # heavier tails, and more variance that all other columns explain
    "tails": 0.54,
    "explained": 0.54,
    "neither": 0.37,
}
DECIDED = 0.95  # the probability of a direction below which the data hardly decide an arrow
SURVIVES = 10.0  # nats: an arrow that loses as many if it is hidden stands
WEAK = 10.0  # nats: an edge of less may be chance
LEAST_SEEN = 0.8  # of the rows: where noise comes and goes by orders of magnitude, a fit is not exact enough for a test
FEW_ROWS = 200  # the power of the tests is stated of 1000
ZERO = -0.05  # nats: smaller losses are rounding
STRENGTHS = {
    "nats": "strength: nats (units of log-likelihood) lost without the edge",
    "weight": "weight: the size of the effect in the fitted network, without a unit",
}
IF_HIDDEN = "if hidden: nats lost if a hidden common cause stands in place of this arrow, where the data identify it"
ACTS_ON = f"acts on: which of the effect's mean and spread loses {WEAK:g} nats or more without the cause"
WEAK_EDGE = f"strength below {WEAK:g} nats: doubt that there is an edge"
REPLACEABLE = f"a hidden common cause in its place loses less than {SURVIVES:g} nats"
BELOW_ZERO = "below zero: the graph with that arrow turned is better, and the search missed it or weak edges went"
TURNED, DIVIDED = f"reversing it loses less than {DOUBTFUL:g} nats", f"its probability is below {100 * DECIDED:.0f} %"
COMPUTED = "one end computes the other or has a heap, see the warnings"
EXPLAIN = "what these mean: icdh explain"
BLIND_SPOTS = (
    "Of 100 simulated tables (8 variables, 1000 rows) the tests at 5 % reject 87 to 100 if scales are distorted, 29 if "
    "the strongest arrow is turned, 27 with two hidden common causes, none with measurement noise, and 3 if the model "
    "is right. So a model that passes may have wrong arrows."
)


class Marginals(NamedTuple):
    """Kurtosis and explained variance of the columns of numbers of a table.

    Attributes
    ----------
    kurtosis : ndarray, shape (N,)
        The fourth moment of the standardised column; NaN of labels and of columns that do not vary.
    r2 : ndarray, shape (N,)
        The share of its variance that a linear regression on all other columns of numbers explains; NaN likewise.
    """

    kurtosis: np.ndarray
    r2: np.ndarray

    @classmethod
    def of(cls, table: Table) -> "Marginals":
        """Return those of a table."""
        numbers = table.varying.copy()
        numbers[table.unordered] = False
        moments = np.full((2, table.n_variables), np.nan)
        if numbers.any():
            values = table.values[numbers].T
            z = (values - values.mean(axis=0)) / values.std(axis=0)
            moments[:, numbers] = np.mean(z**4, axis=0), explained_variance(values)
        return cls(*moments)

    def kind(self, cause: int, effect: int) -> str | None:
        """Return the kind of an arrow, a key of `SHARES`; None where an end has labels: these were not counted."""
        if np.isnan(self.kurtosis[[cause, effect]]).any():
            return None
        more = [values[effect] > values[cause] for values in self]
        return {(True, True): "both", (True, False): "tails", (False, True): "explained"}.get(tuple(more), "neither")


def track_record(marginals: Marginals, edges: Sequence[tuple[int, int]], names: Sequence[Hashable]) -> str:
    """Return in a sentence what became of arrows like these in other tables; empty if none was counted.

    Parameters
    ----------
    marginals : Marginals
        Those of the table.
    edges : sequence of pairs
        Cause and effect of every arrow that is no doubtful one, and whose direction nobody knows; by position.
    names : sequence
        The variables.
    """
    kinds = {edge: kind for edge in edges if (kind := marginals.kind(*edge)) is not None}
    if not kinds:
        return ""
    mean = sum(SHARES[kind] for kind in kinds.values()) / len(kinds)
    worst = [f"{printable(names[i])} -> {printable(names[j])}" for (i, j), kind in kinds.items() if kind == "neither"]
    is_mixed = 0 < len(worst) < len(kinds)
    rarest = f", but of those like {listed(worst, 5)} {100 * SHARES['neither']:.0f} %" if is_mixed else ""
    return f"experience with 407 other tables: {100 * mean:.0f} % of arrows like these pointed the right way{rarest}"


@dataclass(frozen=True)
class NodeCheck:
    """What was found about a variable.

    Attributes
    ----------
    name : str or int
        The variable.
    p_value : float
        How often chance alone leaves a residual that depends as much on variables that it should not depend on;
        corrected over the table, by Holm's procedure.
    p_causes, p_mean, p_others : float
        The same of its causes alone, of the mean that they predict, and of all others that it does not cause; corrected
        within this group.
    depends_on : str or int, or None
        The variable that its residual depends on most, itself if that is its mean; None where nothing could be
        compared.
    rejected : bool
        Whether ``p_value`` is below the level of the check.
    noise : str
        The name of the distribution that suits the residual, and "none" of few values and labels, and where the test
        sees nothing.
    meaning : str
        What a rejection can mean, why there is no test, or that the variable moved; else empty.
    seen : float
        The share of the observations that the test sees: those with a fitted standard deviation above 1 % of the
        variable's. Noise below that does not differ from none. With less than 80 % the variable is not tested.
    moved : bool
        Whether it is not distributed as in the rows of the fit, given its causes; False where a cause is not, either.
    """

    name: Hashable
    p_value: float
    p_causes: float
    p_mean: float
    p_others: float
    depends_on: Hashable
    rejected: bool
    noise: str
    meaning: str
    seen: float
    moved: bool = False

    @property
    def tested(self) -> bool:
        """Whether the noise is large enough in four of five rows."""
        return self.seen >= LEAST_SEEN

    @property
    def gaussian(self) -> bool:
        """Whether the residual is Gaussian; of few values and labels True, as their residuals are by construction."""
        return self.noise in ("gaussian", "none")


@dataclass(frozen=True)
class EdgeCheck:
    """What is known of an arrow.

    Attributes
    ----------
    cause, effect : str or int
        The variables.
    strength : float
        The edge's weight: of `icdh.HNMSearch` in nats.
    direction_loss : float or None
        How many nats of evidence the best graph loses in which the arrow points the other way; see
        `icdh.uncertainty.direction_loss`. None where knowledge settles the direction or nobody computed the loss.
    hidden_loss : float or None
        How many nats of evidence are lost if the arrow is a hidden common cause instead; see
        `icdh.uncertainty.hidden_loss`. None where it is not identified or was not computed.
    probability : float or None
        That of this direction given an edge, by posterior or resamples, where they were computed; 0.0 of an edge that
        none of them has.
    known : bool
        Whether knowledge settles the direction already.
    weak : bool
        Whether the edge itself is in doubt: it has less than ten nats.
    mean_loss, spread_loss : float or None
        How many nats are lost if the cause is left out of the mean of the effect alone, and of its spread alone. None
        where the effect is no number, or nobody computed them; see `icdh.uncertainty.mean_and_spread_loss`.
    unidentified : bool
        Whether one end computes the other or has a heap, so that no loss tells the direction.
    """

    cause: Hashable
    effect: Hashable
    strength: float
    direction_loss: float | None
    hidden_loss: float | None
    probability: float | None
    known: bool
    weak: bool = False
    mean_loss: float | None = None
    spread_loss: float | None = None
    unidentified: bool = False

    @property
    def close(self) -> bool:
        """Whether the data hardly decide the direction: fewer than six nats, a probability below 95 %, or no model can.

        Of a weak edge the question is not asked: there may be none.
        """
        nats = self.direction_loss is not None and not self.direction_loss >= DOUBTFUL
        divided = self.probability is not None and not self.probability >= DECIDED
        return not self.weak and (nats or divided or (self.unidentified and not self.known))

    @property
    def survives(self) -> bool:
        """Whether the arrow would survive a hidden common cause: more than ten nats would be lost."""
        return not self.weak and self.hidden_loss is not None and self.hidden_loss >= SURVIVES

    @property
    def replaceable(self) -> bool:
        """Whether a hidden common cause may stand in place of the arrow, as far as the data identify it."""
        return not self.weak and self.hidden_loss is not None and not self.survives

    @property
    def acts_on(self) -> str:
        """What of the effect loses ten nats without the cause: "mean", "spread", "both", or nothing."""
        on_mean, on_spread = (loss is not None and loss >= WEAK for loss in (self.mean_loss, self.spread_loss))
        return "both" if on_mean and on_spread else "mean" if on_mean else "spread" if on_spread else ""

    @property
    def marks(self) -> str:
        """The signs of lists: ~ of a weak edge, ? if it is close, * if a hidden common cause may replace it."""
        return f"{'~' * self.weak}{'?' * self.close}{'*' * self.replaceable}"

    @property
    def doubt(self) -> tuple[bool, bool, bool, float, float]:
        """The key that sorts edges: those to settle by knowledge first.

        Those that knowledge settled come last, and weak ones before them. First come those that the data hardly decide,
        then those that lose least.
        """
        lost = np.inf if self.direction_loss is None else self.direction_loss
        return self.known, self.weak, not self.close, lost, self.strength


def edge_records(model: StructuralModel, settled: Mask | None = None) -> list[EdgeCheck]:
    """Return a record for each edge of a model, the strongest first.

    Parameters
    ----------
    model : StructuralModel
        The model, with what it knows of its edges.
    settled : ndarray of bool, shape (N, N), optional
        The edges whose direction knowledge settles; by default what the model was learned with.
    """
    known, unknown = model.edge_evidence, np.full(model.adjacency.shape, np.nan)
    loss, probability = (unknown if values is None else values for values in (known.direction_loss, known.probability))
    settled_by_model: Mask = np.isinf(loss) if known.settled is None else known.settled != 0.0
    given = settled_by_model if settled is None else settled
    has_nats = weight_unit(model) == "nats"
    direction = probability / np.maximum(probability + probability.T, np.finfo(float).tiny)
    return [
        EdgeCheck(
            model.names[i],
            model.names[j],
            float(model.adjacency[i, j]),
            probability=number_at(direction, (i, j)),
            known=bool(given[i, j]),
            weak=has_nats and float(model.adjacency[i, j]) < WEAK,
            unidentified=known.unidentified is not None and bool(known.unidentified[i, j]),
            **known.nats((i, j)),
        )
        for i, j in graphs.strongest_first(model.adjacency)
    ]


def _about_nodes(nodes: Sequence[NodeCheck]) -> list[str]:
    bad = [node for node in nodes if node.rejected and not node.moved]
    lines = [f"  {printable(node.name)} {node.meaning}" for node in nodes if node.moved]
    lines += [f"  {printable(node.name)}: p = {node.p_value:.2g}, {node.meaning}" for node in bad]
    lines += [f"  {printable(node.name)} is not tested: {node.meaning}" for node in nodes if not node.tested]
    if odd := ", ".join(printable(node.name) for node in nodes if not node.gaussian):
        lines.append(
            f"residuals that are not Gaussian: {odd}; either their noise is not, or they have a hidden common cause"
        )
    return lines


def _about_edges(check: "ModelCheck") -> list[str]:
    edges = check.edges
    if not edges:
        return []
    shown, n_more = first(edges, MOST_EDGES)
    lines = [*edge_lines(edge_rows(shown, check.unit)), *([f"and {n_more} more"] if n_more else [])]
    heading = "arrows" if all(edge.known for edge in edges) else "arrows, those to settle by knowledge first"
    left = filter(None, [survival(edges), unweighed(edges, check.unit)])
    return [f"{heading}:", *lines, *marks_explained(edges), *_below_zero(edges), *left, EXPLAIN]


class Column(NamedTuple):
    """What is known of some edges: heading, cells, and the lines below the list that explain it."""

    heading: str
    cells: list[str]
    meanings: list[str]


def edge_columns(edges: Sequence[EdgeCheck], unit: str) -> list[Column]:
    """Return what is known of edges, without columns that are empty, as some of a saved model are.

    Parameters
    ----------
    edges : sequence of EdgeCheck
        The edges.
    unit : {"nats", "weight"}
        The unit of their strengths.
    """
    strengths = [_nats(edge.strength) if unit == "nats" else f"{edge.strength:.3f}" for edge in edges]
    turned = ["given" if edge.known else _nats(edge.direction_loss) * (not edge.weak) for edge in edges]
    hidden = [_nats(edge.hidden_loss) * (not edge.weak) for edge in edges]
    probabilities = ["" if edge.probability is None else f"{edge.probability:.2f}" for edge in edges]
    columns = [
        Column("cause", [printable(edge.cause) for edge in edges], []),
        Column("effect", [printable(edge.effect) for edge in edges], []),
        Column("strength" if unit == "nats" else unit, strengths, [STRENGTHS[unit]]),
        Column("if turned", turned, ["if turned: nats lost by reversing this arrow", *_below_zero(edges)]),
        Column("if hidden", hidden, [IF_HIDDEN, survival(edges)]),
        Column("acts on", [edge.acts_on for edge in edges], [ACTS_ON]),
        Column("direction", probabilities, ["direction: its probability"]),
        Column("", [edge.marks for edge in edges], marks_explained(edges)),
    ]
    return [*columns[:2], *(column for column in columns[2:] if any(column.cells))]


def _below_zero(edges: Sequence[EdgeCheck]) -> list[str]:
    return [BELOW_ZERO] if any(not edge.weak and (edge.direction_loss or 0.0) < ZERO for edge in edges) else []


def marks_explained(edges: Sequence[EdgeCheck]) -> list[str]:
    """Return a line for each mark that occurs in a list of edges."""
    marks = "".join(edge.marks for edge in edges)
    meanings = ("~", WEAK_EDGE), ("?", doubt(edges)), ("*", REPLACEABLE)
    return [f"{mark} {meaning}" for mark, meaning in meanings if mark in marks]


def doubt(edges: Sequence[EdgeCheck]) -> str:
    """Return in words what makes directions of these edges doubtful."""
    divided, computed = any(edge.probability is not None for edge in edges), any(edge.unidentified for edge in edges)
    reasons = [TURNED, *[DIVIDED] * divided, *[COMPUTED] * computed]
    return f"{', or '.join(reasons)}: the data hardly tell its direction"


def edge_rows(edges: Sequence[EdgeCheck], unit: str) -> list[tuple[str, ...]]:
    """Return the cells of a list of edges, row by row, the heading first."""
    return list(zip(*([column.heading, *column.cells] for column in edge_columns(edges, unit)), strict=True))


def legend(edges: Sequence[EdgeCheck], unit: str) -> list[str]:
    """Return the lines that explain the columns of a list of edges."""
    meanings = [meaning for column in edge_columns(edges, unit) for meaning in column.meanings]
    return [*meanings, *filter(None, [unweighed(edges, unit)])]


def unweighed(edges: Sequence[EdgeCheck], unit: str) -> str:
    """Return in a sentence how many directions were not weighed, as after a search that was stopped."""
    if unit != "nats":
        return ""
    left = sum(not edge.known and edge.direction_loss is None and edge.probability is None for edge in edges)
    of = f"{left} of {counted(len(edges), 'arrow')}"
    return f"{of} not weighed against the other direction: each may point the wrong way" if left else ""


def survival(edges: Sequence[EdgeCheck]) -> str:
    """Return in a sentence how many arrows a hidden common cause cannot replace; empty if no data tell of any."""
    survivors, others = sum(edge.survives for edge in edges), sum(edge.replaceable for edge in edges)
    if not survivors + others:
        return ""
    fail = f", {others} would not" if others else ""
    unknown = len(edges) - survivors - others
    rest = f"; of {unknown} the data cannot tell" if unknown else ""
    return f"{survivors} of {counted(len(edges), 'arrow')} would survive a hidden common cause{fail}{rest}"


def _nats(value: float | None) -> str:
    """Return nats as text, nothing where they are not known."""
    return "" if value is None else f"{max(value, 0.0) if value >= ZERO else value:.1f}"


HEAD = (
    "# Arrows in doubt, the most doubtful first, both directions of each.",
    '# Uncomment every arrow that is impossible (remove its "# "), then fit with this file beside earlier knowledge.',
)


def _question(number: int, edge: EdgeCheck) -> list[str]:
    cause, effect = _quoted(edge.cause), _quoted(edge.effect)
    known = [f"strength {edge.strength:.3g}"]
    if edge.direction_loss is not None:
        known.append(f"{edge.direction_loss:.3g} nats lost by reversing it")
    if edge.probability is not None:
        known.append(f"probability {edge.probability:.2f}")
    return [
        f"    # {number}. {cause} -> {effect} was found: {', '.join(known)}.",
        f"    # [{cause}, {effect}],",
        f"    # [{effect}, {cause}],",
    ]


def _quoted(name: object) -> str:
    """Return a label as TOML holds it, on one line: a whole number, or text with its control characters escaped."""
    if isinstance(name, Integral):
        return str(int(name))
    return json.dumps(str(name), ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True)
class ModelCheck(Result):
    """What a check found; see `icdh.check`.

    Attributes
    ----------
    nodes : list of NodeCheck
        A record for each variable that varies, in the order of the table.
    edges : list of EdgeCheck
        A record for each edge, those to settle by knowledge first.
    n_observations, n_checked : int
        The rows of the table, and how many of them residuals were looked at.
    level : float
        The probability that a right model is rejected, at most.
    unit : {"nats", "weight"}
        The unit of the strengths of edges.
    track_record : str
        What became of arrows like these in other tables, in a sentence; empty where none was counted.
    """

    nodes: list[NodeCheck]
    edges: list[EdgeCheck]
    n_observations: int
    n_checked: int
    level: float
    unit: str = "nats"
    track_record: str = ""

    def __post_init__(self) -> None:
        if any(node.rejected != (node.p_value < self.level) for node in self.nodes):
            raise ValueError("a variable is rejected at another level than the others")

    @property
    def rejected(self) -> bool:
        """Whether any variable is rejected. If the model is right, a share of at most ``level`` of tables are."""
        return any(node.rejected for node in self.nodes)

    @property
    def verdict(self) -> str:
        """The check in one line."""
        rows = f"{self.n_checked} of {self.n_observations}" if self.n_checked < self.n_observations else self.n_checked
        head = f"{rows} rows, {counted(len(self.nodes), 'variable')}, {counted(len(self.edges), 'edge')}: "
        bad = sum(node.rejected and not node.moved for node in self.nodes)
        power = ", but so short a table hardly rejects any" if self.n_checked < FEW_ROWS else ""
        verdict = f"the model does not fit {bad} of the variables" if bad else f"no test rejects the model{power}"
        untested = sum(not node.tested for node in self.nodes)
        rest = f"; {counted(untested, 'variable')} not tested" if untested else ""
        moved = sum(node.moved for node in self.nodes)
        rest += f"; {counted(moved, 'variable')} not distributed as in the rows of fit" if moved else ""
        return f"{head}{verdict} (at {100 * self.level:g} %, over all variables together){rest}"

    def questions(self, n_questions: int = 5) -> str:
        """Return the arrows most in doubt as a file of knowledge for a person to answer.

        Parameters
        ----------
        n_questions : int
            How many arrows.

        Returns
        -------
        str
            TOML that `icdh.Knowledge.read` and ``icdh fit --knowledge`` take as it is. Both directions of every arrow
            are comments in it; uncomment what is impossible.

        Raises
        ------
        ValueError, TypeError
            If ``n_questions`` is no whole number of at least one.
        """
        Number(1, integer=True).check("n_questions", n_questions)
        edges = [edge for edge in self.edges if not edge.known][:n_questions]
        lines = [line for number, edge in enumerate(edges, 1) for line in _question(number, edge)]
        return "\n".join([*HEAD, "forbidden = [", *lines, "]", ""])

    def summary(self) -> str:
        """Return the check in plain words, with what it cannot see."""
        more = filter(None, [self.track_record])
        return "\n".join([self.verdict, *_about_nodes(self.nodes), *_about_edges(self), *more, BLIND_SPOTS])

    def records(self) -> list[dict[str, object]]:
        """Return a dict of every edge."""
        return [{**asdict(edge), "close": edge.close} for edge in self.edges]

    def to_dict(self) -> dict[str, object]:
        """Return all of it as what JSON can hold: dicts, lists, text, numbers, None."""
        return {
            "verdict": self.verdict,
            "rejected": self.rejected,
            "level": self.level,
            "n_observations": self.n_observations,
            "n_checked": self.n_checked,
            "nodes": [asdict(node) | {"gaussian": node.gaussian, "tested": node.tested} for node in self.nodes],
            "edges": self.records(),
            "legend": "; ".join(legend(self.edges, self.unit)),
            "track_record": self.track_record,
            "blind_spots": BLIND_SPOTS,
        }
