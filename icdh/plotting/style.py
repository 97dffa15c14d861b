"""How pictures look: colours, sizes, and the lines of edges with what they mean."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Look:
    """Colours, and sizes in points or in inches."""

    ground: str = "#ffffff"
    text: str = "#333333"
    edge: str = "#2f4a6d"
    doubtful: str = "#6b7684"
    unlikely: str = "#b85410"
    node: str = "#eaf1fb"
    border: str = "#2f5597"
    hidden: str = "#e4e4e4"  # a node that is no column
    hidden_border: str = "#767676"
    curve: str = "#0072b2"
    soft: str = "#767676"  # what a curve is compared with
    font: float = 10.0  # points
    small_font: float = 8.0
    edge_widths: tuple[float, float] = (0.8, 3.2)  # points, of the weakest and the strongest edge
    least_dot: float = 1.8
    title_height: float = 0.3  # inches
    legend_height: float = 0.21  # of a line
    title_letter: float = 0.095  # width
    legend_letter: float = 0.066
    slide: float = 13.3  # the width that columns move apart to fill
    widest: float = 40.0  # wider pictures are scaled down


LOOK = Look()


class EdgeStyle(NamedTuple):
    """How an edge is drawn.

    Attributes
    ----------
    color : str
        Its colour.
    line : str or tuple
        Its dashes, as matplotlib names them.
    width : float or None
        Its width in points; if None, it shows the strength of the edge.
    mark : str
        What stands behind the number of its strength.
    meanings : tuple of str
        Lines of the legend.
    """

    color: str = LOOK.edge
    line: str | tuple[float, tuple[float, ...]] = "-"
    width: float | None = None
    mark: str = ""
    meanings: tuple[str, ...] = ()


DOTS = (0, (0.1, 2.2))
DOUBTFUL = EdgeStyle(LOOK.doubtful, (0, (3.5, 2.0)), mark="?", meanings=("dashed: the data hardly tell the direction",))
GIVEN = EdgeStyle(line=DOTS, meanings=("dotted: your knowledge gives the direction",))
HIDDEN = EdgeStyle(
    LOOK.doubtful,
    (0, (1.5, 1.5)),
    width=1.0,
    meanings=("grey: hidden common causes, no columns of the table; the nats lost without each stand in it",),
)
