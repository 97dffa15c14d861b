"""What watches over the evaluations of a Phase II: it counts them, and ends them when the time is over."""

from icdh._ground.clock import Clock


class Watch:
    """Looks at the clock before every evaluation, and counts it.

    Parameters
    ----------
    clock : Clock, optional
        Says when evaluations must end, by raising OutOfTime; by default never.
    """

    def __init__(self, clock: Clock | None = None):
        self.clock, self.whole, self.children = clock or Clock(), 0, 0
        self.begin = self.clock.begin

    def all_children(self) -> None:
        """Count an evaluation of the whole objective."""
        self.clock.check()
        self.whole += 1

    def one_child(self) -> None:
        """Count an evaluation of one child."""
        self.clock.check()
        self.children += 1

    def evaluations(self, n_children: int) -> int:
        """Return the evaluations so far; those of one child count as their share of a network of so many."""
        return self.whole - (-self.children // n_children)
