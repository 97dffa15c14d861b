"""Background knowledge: forbidden and required edges, as masks that every fit reads, and as users state them.

Users also state tiers, roots and leaves. Files of knowledge are TOML or JSON.
"""

import json
import os
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icdh import graphs
from icdh._utils.arrays import Floats, Mask
from icdh._utils.labels import did_you_mean, listed
from icdh.exceptions import import_extra, option

__all__ = ["Knowledge"]


class EdgeRules(NamedTuple):
    """Forbidden and required edges. The rules are consistent: at least one DAG satisfies them.

    Attributes
    ----------
    forbidden : ndarray of bool, shape (N, N)
        [i, j] is True where i -> j must not appear. This includes the diagonal and every edge that would close a cycle
        of required edges.
    required : ndarray of bool, shape (N, N)
        [i, j] is True where i -> j must appear.
    """

    forbidden: np.ndarray
    required: np.ndarray

    @classmethod
    def of(cls, forbidden: np.ndarray, required: np.ndarray | None = None) -> "EdgeRules":
        """Return the rules that follow from forbidden and required edges; the required edges must form a DAG."""
        required = np.zeros_like(forbidden) if required is None else required
        closing = graphs.descendants(required).T if required.any() else required
        return cls(forbidden | closing | np.eye(len(required), dtype=bool), required)

    @property
    def required_parents(self) -> tuple[tuple[int, ...], ...]:
        """The causes that every variable has to have: the smallest graph that obeys the rules."""
        return tuple(tuple(np.flatnonzero(causes).tolist()) for causes in self.required.T)

    @property
    def settled(self) -> Mask:
        """Which edges have no other direction: they are required, or their reverses are forbidden; shape (N, N)."""
        settled: Mask = self.required | self.forbidden.T
        return settled

    def among(self, variables: np.ndarray) -> "EdgeRules":
        """Return the rules among some variables, given by index or mask, in that order."""
        at = np.ix_(variables, variables)
        return EdgeRules(self.forbidden[at], self.required[at])

    def dag(self, A: np.ndarray, threshold: float = 0.0) -> graphs.AcyclicPart:
        """Return the DAG that remains without weak edges and without the weakest edge of each cycle.

        Required edges stay. A required edge of weight zero gets the smallest weight there is.
        """
        kept = graphs.threshold(A, threshold)
        kept[self.required] = np.maximum(A[self.required], np.finfo(float).tiny)
        return graphs.break_cycles(kept, self.required)

    def strong(self, A: Floats, strength: Floats, min_strength: float, max_edges: int | None) -> Floats:
        """Return a graph without its weak edges; required edges stay, and count as the first.

        Parameters
        ----------
        A : ndarray, shape (N, N)
            A weighted adjacency matrix.
        strength : ndarray, shape (N, N)
            The strength of its edges, in nats.
        min_strength : float
            Weaker edges are removed.
        max_edges : int or None
            The most edges to keep, the strongest first; None keeps all.
        """
        order = sorted(graphs.strongest_first(A), key=lambda edge: (not self.required[edge], -strength[edge]))
        kept = np.zeros_like(A)
        for count, edge in enumerate(order):
            if self.required[edge] or (strength[edge] >= min_strength and (max_edges is None or count < max_edges)):
                kept[edge] = A[edge]
        return kept


@dataclass(frozen=True, repr=False)
class Knowledge:
    """Background knowledge about a causal graph, stated before any data are seen.

    A variable is named by its label or by its index. A pattern names several: ``*`` stands for any characters, ``?``
    for one and ``[ab]`` for one of several. A label that is also a pattern means the label.

    Parameters
    ----------
    forbidden : sequence of (cause, effect)
        Edges that must not be in the graph. Two patterns forbid every cause with every effect that they match.
    required : sequence of (cause, effect)
        Edges that must be in the graph, even if the data show only a weak effect.
    tiers : sequence of sequence
        Groups of variables, earlier ones first: no variable causes a variable of an earlier tier. Variables in no tier
        are unrestricted. A pattern means the variables that it matches, without those that a tier names and those
        that an earlier pattern matches.
    roots : sequence
        Variables without causes.
    leaves : sequence
        Variables without effects.

    Raises
    ------
    TypeError
        If an edge is not a pair, or a variable neither text nor an integer.
    ValueError
        If the rules contradict one another: a required edge that another rule forbids, required edges that make a
        cycle, a variable in two tiers. The message names the rule, or every edge of the cycle.

    Examples
    --------
    >>> from icdh import Knowledge
    >>> Knowledge(tiers=[["age", "sex"], ["dose"], ["outcome"]], required=[("dose", "outcome")]).rules(
    ...     ["outcome", "dose", "age", "sex"]
    ... ).forbidden.astype(int)
    array([[1, 1, 1, 1],
           [0, 1, 1, 1],
           [0, 0, 1, 0],
           [0, 0, 0, 1]])
    """

    forbidden: Sequence[Sequence[Hashable]] = ()
    required: Sequence[Sequence[Hashable]] = ()
    tiers: Sequence[Sequence[Hashable]] = ()
    roots: Sequence[Hashable] = ()
    leaves: Sequence[Hashable] = ()

    def __repr__(self) -> str:
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return f"Knowledge({', '.join(f'{name}={_as_list(value)!r}' for name, value in parts.items() if value)})"

    def __post_init__(self) -> None:
        for part in fields(self):
            object.__setattr__(self, part.name, _checked_parts(part.name, getattr(self, part.name)))
        # Contradictions between variables named in full are found without a table.
        groups: tuple[Sequence[Hashable], ...] = (*self.forbidden, *self.required, *self.tiers, self.roots, self.leaves)
        labels = list(dict.fromkeys(label for group in groups for label in group if not _is_pattern(label)))
        self._rules(_Variables(labels, strict=False))

    @classmethod
    def of(cls, knowledge: object) -> "Knowledge":
        """Return the knowledge of an argument: None, a Knowledge, or a mapping of its parameters."""
        if knowledge is None:
            return cls()
        if isinstance(knowledge, cls):
            return knowledge
        if isinstance(knowledge, Mapping):
            return cls.from_mapping(knowledge)
        raise TypeError(
            f"knowledge must be an icdh.Knowledge, a mapping such as {{'roots': ['age']}}, or None; got {knowledge!r}"
        )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "Knowledge":
        """Return the knowledge of a mapping with the parameters as keys; a ValueError names any other key."""
        parts = [part.name for part in fields(cls)]
        for key in mapping:
            if key not in parts:
                raise ValueError(f"knowledge has no part {key!r}; it has {', '.join(parts)}")
        return cls(**mapping)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Knowledge":
        """Read knowledge from a TOML or JSON file.

        Parameters
        ----------
        path : str or Path
            ``.toml`` or ``.json``, with the parameters as keys.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError, TypeError
            If it is not in that format, or contradicts itself; the message names file and line or key.
        """
        try:
            return cls.from_mapping(read_mapping(path))
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{path}: {error}") from error

    def __or__(self, other: "Knowledge") -> "Knowledge":
        """Return the union of both; only one of the two may have tiers."""
        if self.tiers and other.tiers and self.tiers != other.tiers:
            raise ValueError("both sides have tiers, and how these interleave is not known; give them once")
        parts = {part.name: getattr(self, part.name) + getattr(other, part.name) for part in fields(self)}
        return Knowledge(**parts | {"tiers": self.tiers or other.tiers})

    def rules(self, names: Sequence[Hashable], strict: bool = True) -> EdgeRules:
        """Return the rules about the edges among variables of these names.

        Parameters
        ----------
        names : sequence
            N labels.
        strict : bool
            Whether every label must mean one of these variables; otherwise rules about others are ignored.

        Raises
        ------
        TypeError, ValueError
            If a label is none of the names, a pattern matches none, or the rules contradict one another.
        """
        return self._rules(_Variables(list(names), strict))

    def _rules(self, variables: "_Variables") -> EdgeRules:
        names = variables.names
        required = variables.edges("required", self.required)
        forbidden = np.eye(len(names), dtype=bool)
        for node in np.flatnonzero(required.diagonal()):
            raise ValueError(f"required: {names[node]!r} cannot cause itself")
        for rule, mask in self._forbidding(variables):
            for cause, effect in np.argwhere(required & mask):
                edge = f"the edge {names[cause]} -> {names[effect]}"
                raise ValueError(f"{edge} is required, but forbidden by {rule}; take one back")
            forbidden = forbidden | mask
        if required.any() and (cycle := graphs.find_cycle(required)):
            edges = ", ".join(f"{names[i]} -> {names[j]}" for i, j in pairwise(cycle))
            raise ValueError(f"the required edges make a cycle: {edges}; take one of them back")
        return EdgeRules.of(forbidden, required)

    def _forbidding(self, variables: "_Variables") -> Iterator[tuple[str, Mask]]:
        """Yield the name of every kind of forbidding rule, and the mask of the edges that it forbids."""
        if self.forbidden:
            yield "'forbidden'", variables.edges("forbidden", self.forbidden)
        if self.tiers:
            tier = variables.tiers(self.tiers)
            yield "'tiers'", tier[:, np.newaxis] > tier
        if self.roots:
            yield "'roots'", variables.group("roots", self.roots)
        if self.leaves:
            yield "'leaves'", variables.group("leaves", self.leaves)[:, np.newaxis]


def variables_meant(labels: Sequence[Hashable], names: Sequence[Hashable], where: str) -> Mask:
    """Return the mask of the variables that labels mean, shape (N,): names, indices or patterns, as in `Knowledge`.

    Parameters
    ----------
    labels : sequence
        The labels.
    names : sequence
        N variables.
    where : str
        The origin of the labels in error messages.

    Raises
    ------
    TypeError, ValueError
        If a label means no variable.
    """
    return _Variables(list(names), strict=True).group(where, _labels(where, labels))


class _Variables:
    """The variables that labels may mean; if ``strict``, each label must mean one."""

    def __init__(self, names: list[Hashable], strict: bool):
        self.names, self.strict = names, strict
        self.index = {name: i for i, name in enumerate(names)}

    def find(self, where: str, label: object) -> list[int]:
        """Return the variables that a label means: by name, by index, by pattern."""
        if label in self.index:
            return [self.index[label]]
        if isinstance(label, Integral) and 0 <= int(label) < len(self.names):
            return [int(label)]
        found = []
        if _is_pattern(label):
            found = [i for i, name in enumerate(self.names) if isinstance(name, str) and fnmatchcase(name, str(label))]
        if found or not self.strict:
            return found
        raise ValueError(
            f"{option(where)}: {label!r} is no variable, nor a pattern or index of any; there are {listed(self.names)}"
            f"{did_you_mean(label, self.names)}"
        )

    def edges(self, where: str, pairs: Iterable[Sequence[Hashable]]) -> Mask:
        """Return the mask of edges; a pattern does not pair a variable with itself."""
        mask = np.zeros((len(self.names), len(self.names)), dtype=bool)
        for pair in pairs:
            causes, effects = (self.find(where, label) for label in pair)
            mask[np.ix_(causes, effects)] = True
            if len(causes) > 1 or len(effects) > 1:
                both = np.intersect1d(causes, effects)
                mask[both, both] = False
        return mask

    def group(self, where: str, labels: Iterable[Hashable]) -> Mask:
        """Return the mask of the variables that some labels mean."""
        mask = np.zeros(len(self.names), dtype=bool)
        mask[[i for label in labels for i in self.find(where, label)]] = True
        return mask

    def tiers(self, tiers: Sequence[Sequence[Hashable]]) -> Floats:
        """Return the tier of every variable, NaN without one: comparisons with it are False."""
        found = np.full(len(self.names), np.nan)
        patterns = [[label for label in tier if _is_pattern(label) and label not in self.index] for tier in tiers]
        for k, tier in enumerate(tiers):
            members = self.group("tiers", [label for label in tier if label not in patterns[k]])
            for i in np.flatnonzero(members & (found < k)):
                raise ValueError(f"tiers: {self.names[i]!r} is in tiers {found[i] + 1:.0f} and {k + 1}; keep one")
            found[members] = k
        for k, labels in enumerate(patterns):
            found[self.group("tiers", labels) & np.isnan(found)] = k
        return found


def _is_pattern(label: object) -> bool:
    return isinstance(label, str) and not set("*?[").isdisjoint(label)


def _checked_parts(name: str, value: object) -> tuple[Hashable, ...]:
    """Return one part of the knowledge as nested tuples."""
    if name in ("roots", "leaves"):
        return _labels(name, value)
    groups = tuple(_labels(f"{name}[{k}]", group) for k, group in enumerate(_listed(name, value)))
    for group in groups:
        if name in ("forbidden", "required") and len(group) != 2:
            raise TypeError(f"{name}: an edge is a pair (cause, effect); got {group!r}")
    return groups


def _labels(name: str, value: object) -> tuple[Hashable, ...]:
    labels = tuple(_listed(name, value))
    for label in labels:
        if isinstance(label, (bool, np.bool_)) or not isinstance(label, Hashable):
            raise TypeError(f"{name}: a variable is given by its name or its index; got {label!r}")
    return labels


def _listed(name: str, value: object) -> Iterable[object]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a list; got {value!r}")
    return value


def _as_list(value: object) -> object:
    return [_as_list(part) for part in value] if isinstance(value, tuple) else value


def read_mapping(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return the content of a file of knowledge with the parameters of `icdh.Knowledge` as keys.

    Parameters
    ----------
    path : str or Path
        ``.toml`` or ``.json``.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not in its format.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("not text in UTF-8") from error
    if (suffix := path.suffix.lower()) not in (".toml", ".json"):
        raise ValueError("knowledge is read from .toml or .json")
    toml = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    content = json.loads(text) if suffix == ".json" else import_extra(toml, "toml").loads(text)
    if not isinstance(content, dict):
        raise ValueError('it must hold an object, for instance {"roots": ["age"]}')
    return content
