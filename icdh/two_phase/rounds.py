"""The rounds of the two-phase procedure: how each is solved, its record, the best one, and when to stop.

The schedules are those of the fast procedure; the procedure as printed needs none: `icdh.two_phase.as_printed`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple

import numpy as np

from icdh._utils.arrays import Floats
from icdh._utils.checks import Number, constraints_of, parameter
from icdh._utils.clock import Clock
from icdh.network import Weights
from icdh.search.climb import Move

SCHEDULES = ("fast", "paper")
OUT_OF_TIME = "OUT OF TIME"  # the message of a round that was cut short


class Schedule(NamedTuple):
    """How Phase II is solved, and which round decides the graph.

    Attributes
    ----------
    tolerance : float
        Relative decrease at which a subproblem of the augmented Lagrangian method ends.
    decided_h : float
        Once h is below, edges that close cycles are dropped, and the rest is minimised where h is exactly zero. That
        takes the place of the ill-conditioned end of the augmented Lagrangian method.
    reaches : tuple of float
        On the DAG every node is also minimised from random weights of these largest sizes, in units of 1 / (root mean
        square of the input), which escapes poor local minima; the best of all is kept.
    deciding_gain : float
        The first round that lowers the criterion by less, in nats a variable, decides the graph: later ones refine its
        weights and may drop edges. While scales shrink, the lasso loses weight beside the likelihood, and further
        rounds would add false edges.
    first_tolerance : float, optional
        The tolerance of the first round, whose scale is one, if it is coarse; by default the same.
    least_gain : float
        A round that lowers the criterion by less is the last: nats over all observations, for every edge that there
        might be.
    """

    tolerance: float
    decided_h: float
    reaches: tuple[float, ...]
    deciding_gain: float = -math.inf
    first_tolerance: float | None = None
    least_gain: float = -math.inf

    def once_the_graph_is_decided(self) -> "Schedule":
        """Return the schedule of rounds that only refine: they start from the weights of the round before alone."""
        return self._replace(reaches=())


# One round has to do all of it.
FAST_ALONE = Schedule(tolerance=1e-5, decided_h=1e-1, reaches=(1.0, 2.0, 4.0, 1.0, 2.0, 4.0))
# Where rounds follow, each mends what the one before left.
FAST = Schedule(tolerance=1e-4, decided_h=1.0, reaches=(1.0,), deciding_gain=0.02)

# Where noise alone gains so much in every round that none would decide the graph, while scales that shrink let in more
# and more edges. The first round, minimised to the end, is dense as well, and takes a third of the time.
FAST_AND_WIDE = FAST._replace(first_tolerance=1e-3, least_gain=1.0)


def schedule_for(noise: str, n_variables: int, n_observations: int) -> Schedule:
    """Return the schedule for a kind of noise and a size of the table."""
    if noise == "equal":
        return FAST_ALONE
    wide = FAST_AND_WIDE.least_gain * (n_variables - 1) > FAST.deciding_gain * n_observations
    return FAST_AND_WIDE if wide else FAST


class Round(NamedTuple):
    """The record of one round: Phase II, then Phase I.

    Attributes
    ----------
    round : int
        Counted from 1.
    nll : float
        Negative log-likelihood after the round, in nats, mean over observations.
    criterion : float
        What rounds are compared by, in nats; the lowest is the best. ``schedule="paper"``: ``nll``. "fast":
        ``nll + l1 |W1|_1 + (l2/2) (|W1|^2 + |W2|^2)``.
    objective : float
        Regularised objective of Phase II (without the terms in h) at its end.
    h : float
        Acyclicity of the weights.
    rho, alpha : float
        Penalty weight and multiplier at the end of the augmented Lagrangian method.
    evaluations : int
        Evaluations of the objective of Phase II.
    seconds : float
        Wall time of the round.
    status : int
        Status of the last minimisation of Phase II: 0 converged, 1 limit reached, 2 failed line search.
    message : str
        Its message.
    """

    round: int
    nll: float
    criterion: float
    objective: float
    h: float
    rho: float
    alpha: float
    evaluations: int
    seconds: float
    status: int
    message: str


@dataclass(frozen=True)
class Limits:
    """When the procedure and its augmented Lagrangian method end.

    Attributes
    ----------
    max_rounds : int
        The most rounds of Phase II and Phase I.
    tol : float
        A round that lowers the criterion by no more, in nats, is the last.
    h_tol : float
        h at which the constraint counts as met.
    rho_max : float
        The penalty weight at which the augmented Lagrangian method gives up.

    Raises
    ------
    TypeError, ValueError
        If one of them is no such number; the message names it.
    """

    max_rounds: int = parameter(10, Number(1, integer=True))
    tol: float = parameter(1e-2, Number())
    h_tol: float = parameter(1e-8, Number(0, above=True))
    rho_max: float = parameter(1e16, Number(0, above=True))

    def __post_init__(self) -> None:
        for name, constraint in constraints_of(self).items():
            constraint.check(name, getattr(self, name))


LIMITS = Limits()


class MeanStep(NamedTuple):
    """What Phase II returns: the weights, and how the augmented Lagrangian method ended."""

    weights: Weights
    objective: float
    h: float
    rho: float
    alpha: float
    evaluations: int
    status: int
    message: str


class TwoPhaseResult(NamedTuple):
    """The best round, and the history of all rounds.

    Attributes
    ----------
    weights : Weights
        The network of the best round.
    best : Round
        The record of that round, the one of the lowest criterion.
    history : list of Round
        All rounds, in order.
    converged : bool
        Whether the criterion stood still and the constraint was met before ``max_rounds``.
    interrupted : bool
        Whether a KeyboardInterrupt ended the procedure early.
    timed_out : bool
        Whether the time was over before it ended.
    moves : list of icdh.search.Move
        The moves of the last stage over single edges.
    cost : float, optional
        What its graph costs, in nats over all observations; None without that stage.
    strength : ndarray, shape (N, N), optional
        The nats of likelihood lost without each edge of its graph, over all observations.
    """

    weights: Weights
    best: Round
    history: list[Round]
    converged: bool
    interrupted: bool
    timed_out: bool = False
    moves: Sequence[Move] = ()
    cost: float | None = None
    strength: Floats | None = None


class Rounds:
    """The rounds of one fit. Used as a context it keeps the best round when a KeyboardInterrupt ends the fit.

    Parameters
    ----------
    max_rounds : int
        The most rounds, those of ``before`` aside.
    tol : float
        A round that lowers the criterion by no more, in nats, is the last; infinity makes the first one the last.
    clock : Clock
        Says when to end.
    callback : callable, optional
        Called with the record of each round.
    before : TwoPhaseResult, optional
        The result of rounds on fewer observations. The first round on all observations replaces its best one.
    """

    def __init__(
        self,
        max_rounds: int,
        tol: float,
        clock: Clock,
        callback: Callable[[Round], None] | None = None,
        before: TwoPhaseResult | None = None,
    ):
        self.max_rounds, self.tol, self.clock, self.callback = max_rounds, tol, clock, callback
        self.history = [] if before is None else list(before.history)
        self.best: Round | None = None if before is None else before.best
        self.weights: Weights | None = None if before is None else before.weights
        self.converged = self.interrupted = False
        self._before = len(self.history)

    def __enter__(self) -> "Rounds":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.interrupted = kind is not None and issubclass(kind, KeyboardInterrupt) and self.best is not None
        return self.interrupted

    @property
    def go_on(self) -> bool:
        """Whether another round follows."""
        done = self.converged or len(self.history) - self._before >= self.max_rounds
        return not done and not (self.history and self.clock.is_over)

    def add(self, weights: Weights, step: MeanStep, nll: float, criterion: float, seconds: float) -> float:
        """Record a round; return by how much it lowered the criterion."""
        end = {name: value for name, value in step._asdict().items() if name != "weights"}
        record = Round(round=len(self.history) + 1, nll=nll, criterion=criterion, seconds=seconds, **end)
        best = None if len(self.history) == self._before else self.best
        gain = np.inf if best is None else best.criterion - criterion
        self.history.append(record)
        self.converged = not gain > self.tol and not self.clock.is_over
        if gain > 0.0:
            self.best, self.weights = record, weights
        if self.callback is not None:
            self.callback(record)
        return gain

    def result(self, h_tol: float) -> TwoPhaseResult:
        """Return the best round; it converged only if its h is at most ``h_tol``."""
        if self.best is None or self.weights is None:
            raise RuntimeError("there is no round yet")
        timed_out = self.clock.is_over and not (self.converged or self.interrupted)
        converged = self.converged and self.best.h <= h_tol and not self.interrupted
        return TwoPhaseResult(self.weights, self.best, self.history, converged, self.interrupted, timed_out)
