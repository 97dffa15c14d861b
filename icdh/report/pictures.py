"""The pictures of the page: those of `icdh.plotting` as elements of HTML."""

import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree.ElementTree import fromstring, tostring

from icdh.exceptions import import_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def svg_of(figure: "Figure", **attributes: str) -> str:
    """Return a figure as an element of HTML, without namespaces, and without ids but those of arrows and variables.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The picture.
    **attributes : str
        Attributes of the element.
    """
    stream, how = io.StringIO(), {"svg.fonttype": "none", "svg.hashsalt": "icdh"}
    with import_extra("matplotlib", "report").rc_context(how), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a browser has other fonts
        figure.savefig(stream, format="svg", transparent=True)
    root = fromstring(stream.getvalue())
    root.attrib = {"viewBox": root.attrib["viewBox"], **attributes}
    root[:] = [part for part in root if part.tag.endswith("}g")]
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        known = {key.rpartition("}")[2]: _of_page(text) for key, text in element.items() if key != "clip-path"}
        if element.tag == "g" and not re.match("(edge|node) ", known.get("id", "")):
            known.pop("id", None)
        element.attrib = known
    for parent in root.iter("g"):
        for point in parent.iterfind("use"):  # hundreds of one style
            parent.set("style", point.attrib.pop("style", parent.get("style", "")))
    return tostring(root, "unicode")


def _of_page(attribute: str) -> str:
    """Return an attribute in the font of the page."""
    return re.sub(r"font: ([\d.]+px) [^;]*", r"font-size: \1", re.sub("font-family: [^;]*; ", "", attribute))
