"""The arrows most in doubt as a file of knowledge; a person answers by uncommenting lines."""

import json
from collections.abc import Sequence
from numbers import Integral

from icdh._ground.checks import check_number
from icdh.diagnostics.records import EdgeCheck

HEAD = (
    "# Arrows in doubt, the most doubtful first, both directions of each.",
    '# Uncomment every arrow that is impossible (remove its "# "), then fit again with this file as knowledge.',
)


def questions_about(edges: Sequence[EdgeCheck], n_questions: int) -> str:
    """Return the first edges as TOML that `icdh.Knowledge.read` reads: all arrows are comments.

    Parameters
    ----------
    edges : sequence of EdgeCheck
        The most doubtful first.
    n_questions : int
        How many to ask about.

    Raises
    ------
    ValueError, TypeError
        If ``n_questions`` is no whole number of at least one.
    """
    check_number("n_questions", n_questions, low=1, integer=True)
    lines = [line for number, edge in enumerate(edges[:n_questions], 1) for line in _question(number, edge)]
    return "\n".join([*HEAD, "forbidden = [", *lines, "]", ""])


def _question(number: int, edge: EdgeCheck) -> list[str]:
    cause, effect = _quoted(edge.cause), _quoted(edge.effect)
    known = [f"strength {edge.strength:.3g}"]
    if edge.direction_loss is not None:
        known.append(f"{edge.direction_loss:.3g} nats lost by reversing it")
    if edge.probability is not None:
        known.append(f"probability {edge.probability:.2f}")
    if edge.track_record is not None:
        known.append(f"{100 * edge.track_record.share:.0f} % of such arrows pointed the right way in real tables")
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
