"""How the fast procedure solves Phase II. The procedure as printed needs none of it: `icdh.two_phase.as_printed`."""

import math
from typing import NamedTuple

SCHEDULES = ("fast", "paper")


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
        The tolerance of the first round, whose scale is one; by default the same.
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

    @property
    def decides(self) -> bool:
        """Whether there is a round that decides the graph."""
        return self.deciding_gain > -math.inf

    @property
    def rounds_before_edges(self) -> int:
        """The rounds after which a last stage over single edges takes over: one, that is not coarse."""
        return 1 if self.first_tolerance is None else 2

    def of_the_first_round(self) -> "Schedule":
        """Return the schedule of the first round."""
        return self if self.first_tolerance is None else self._replace(tolerance=self.first_tolerance)

    def once_the_graph_is_decided(self) -> "Schedule":
        """Return the schedule of rounds that only refine: they start from the weights they find, and no others."""
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
