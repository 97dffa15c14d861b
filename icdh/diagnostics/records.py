"""The record of a variable, and that of an arrow."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from icdh import graphs
from icdh._ground.arrays import Floats, Mask
from icdh._model.export import weight_unit
from icdh._model.structural import StructuralModel
from icdh.diagnostics.track_record import Marginals, TrackRecord
from icdh.search.moves import DOUBTFUL

DECIDED = 0.95  # the probability of a direction below which the data hardly decide an arrow
SURVIVES = 10.0  # nats: an arrow that loses as many if it is hidden stands
LEAST_SEEN = 0.8  # of the rows: where noise comes and goes by orders of magnitude, a fit is not exact enough for a test
UNKNOWN_SHARE = 0.59  # of all arrows counted: for those without a record


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
        Whether ``p_value`` is below 5 %.
    noise : str
        The distribution that suits the residual: "gaussian", "student" or "free", and "none" of few values and
        labels, and where the test sees nothing.
    meaning : str
        What a rejection can mean; empty without one.
    seen : float
        The share of the observations that the test sees: those with a fitted standard deviation above 1 % of the
        variable's. Noise below that cannot be told from none. With less than 80 % the variable is not tested.
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
        The edge's weight: of `icdh.HNMSearch` nats that it is worth.
    direction_loss : float or None
        How many nats of evidence the best graph loses in which the arrow points the other way; see
        `icdh.uncertainty.direction_loss`. None where knowledge settles the direction or nobody computed the loss.
    hidden_loss : float or None
        How many nats of evidence are lost if the arrow is a hidden common cause instead; see
        `icdh.uncertainty.hidden_loss`. None where that cannot be told or nobody computed it.
    probability : float or None
        That of this direction given an edge, by posterior or resamples, where they were computed; 0.0 of an edge that
        none of them has.
    track_record : TrackRecord or None
        How often arrows of this kind pointed forward in recorded tables; None where labels are cause or effect.
    known : bool
        Whether knowledge settles the direction already.
    """

    cause: Hashable
    effect: Hashable
    strength: float
    direction_loss: float | None
    hidden_loss: float | None
    probability: float | None
    track_record: TrackRecord | None
    known: bool

    @property
    def close(self) -> bool:
        """Whether the data hardly decide the direction: fewer than six nats, or a probability below 95 %."""
        nats = self.direction_loss is not None and not self.direction_loss >= DOUBTFUL
        return nats or (self.probability is not None and not self.probability >= DECIDED)

    @property
    def survives(self) -> bool:
        """Whether the arrow would survive a hidden common cause: more than ten nats would be lost."""
        return self.hidden_loss is not None and self.hidden_loss >= SURVIVES

    @property
    def replaceable(self) -> bool:
        """Whether a hidden common cause may stand in place of the arrow, as far as that can be told."""
        return self.hidden_loss is not None and not self.survives

    @property
    def marks(self) -> str:
        """The signs of lists and pictures: ? if it is close, * if a hidden common cause may replace it."""
        return f"{'?' * self.close}{'*' * self.replaceable}"

    @property
    def doubt(self) -> tuple[bool, bool, float, float, float]:
        """What edges are sorted by: those to settle by knowledge first.

        Those that knowledge settled come last; first those that the data hardly decide, then arrows of a kind that
        often pointed backward, then those that lose least.
        """
        share = UNKNOWN_SHARE if self.track_record is None else self.track_record.share
        lost = np.inf if self.direction_loss is None else self.direction_loss
        return self.known, not self.close, share, lost, self.strength


def edge_records(model: StructuralModel, marginals: Marginals | None, settled: Mask | None = None) -> list[EdgeCheck]:
    """Return a record for each edge of a model, the strongest first.

    Parameters
    ----------
    model : StructuralModel
        The model, with what it knows of its edges.
    marginals : Marginals or None
        Those of its table; without them, and where no search weighed the edges, there are no track records.
    settled : ndarray of bool, shape (N, N), optional
        The edges whose direction knowledge settles; by default what the model was learned with.
    """
    unknown = np.full(model.adjacency.shape, np.nan)
    loss, hidden, probability = (
        unknown if values is None else values
        for values in (model.direction_loss, model.hidden_loss, model.edge_probability)
    )
    settled_by_model: Mask = np.isinf(loss) if model.settled is None else model.settled != 0.0
    given = settled_by_model if settled is None else settled
    direction = probability / np.maximum(probability + probability.T, np.finfo(float).tiny)
    if weight_unit(model) != "nats":
        marginals = None

    def known(values: Floats, edge: tuple[int, int]) -> float | None:
        return float(values[edge]) if np.isfinite(values[edge]) else None

    return [
        EdgeCheck(
            model.names[i],
            model.names[j],
            float(model.adjacency[i, j]),
            known(loss, (i, j)),
            known(hidden, (i, j)),
            known(direction, (i, j)),
            None if marginals is None or given[i, j] else marginals.record(i, j),
            bool(given[i, j]),
        )
        for i, j in graphs.strongest_first(model.adjacency)
    ]
