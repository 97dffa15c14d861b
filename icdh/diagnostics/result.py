"""What a check found: a record for each variable and each arrow, in plain words, and as a file of questions.

A person answers by uncommenting lines of that file.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Integral

from icdh._ground.checks import Number
from icdh._model.hidden import HiddenCause
from icdh.diagnostics import words
from icdh.diagnostics.records import EdgeCheck, NodeCheck

LEVEL = 0.05
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
    Number(1, integer=True).check("n_questions", n_questions)
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
        known.append(
            f"{edge.track_record} of the arrows in real tables where {edge.track_record.because} pointed the right way"
        )
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
class ModelCheck:
    """What a check found; see `icdh.check`.

    Attributes
    ----------
    nodes : list of NodeCheck
        A record for each variable that varies, in the order of the table.
    edges : list of EdgeCheck
        A record for each edge, those to settle by knowledge first.
    n_observations, n_checked : int
        The rows of the table, and how many of them residuals were looked at.
    unit : {"nats", "weight"}
        The unit of the strengths of edges.
    hidden_causes : tuple of HiddenCause
        Those of the model.
    """

    nodes: list[NodeCheck]
    edges: list[EdgeCheck]
    n_observations: int
    n_checked: int
    unit: str = "nats"
    hidden_causes: tuple[HiddenCause, ...] = ()

    @property
    def rejected(self) -> bool:
        """Whether any variable is rejected. If the model is right, at most 5 % of tables are."""
        return any(node.rejected for node in self.nodes)

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
        return questions_about([edge for edge in self.edges if not edge.known], n_questions)

    summary = words.summary
    _repr_html_ = words.as_html

    def to_dict(self) -> dict[str, object]:
        """Return all of it as what JSON can hold: dicts, lists, text, numbers, None."""
        return {
            "verdict": words.verdict(self),
            "rejected": self.rejected,
            "level": LEVEL,
            "n_observations": self.n_observations,
            "n_checked": self.n_checked,
            "nodes": [asdict(node) | {"gaussian": node.gaussian, "tested": node.tested} for node in self.nodes],
            "edges": [_as_dict(edge) for edge in self.edges],
            "hidden_causes": words.hidden_lines(self),
            "legend": "; ".join(words.legend(self.edges, self.unit)),
            "blind_spots": words.BLIND_SPOTS,
        }


def _as_dict(edge: EdgeCheck) -> dict[str, object]:
    record = None if edge.track_record is None else edge.track_record._asdict()
    return asdict(edge) | {"track_record": record, "close": edge.close}
