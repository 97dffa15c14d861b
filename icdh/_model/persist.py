"""Fitted models as files: one zip archive of JSON and arrays, read back to the last bit.

``model.json`` holds the fields of the `StructuralModel` and of its parts by name. Arrays are entries of their own,
little-endian and in C order, and appear in the JSON as ``{"array": entry, "dtype": "<f8" or "<i8", "shape": [...]}``.
Entries are stored, not compressed, so that no file can ask for more memory than its own size. Reading executes nothing
that the file holds: it follows the types of the fields, kinds of distributions are looked up in a fixed list, and the
parts are checked against one another before any compiled code sees them.
"""

import datetime
import json
import numbers
import os
import zipfile
from collections.abc import Hashable, Sequence
from dataclasses import asdict, fields, is_dataclass
from inspect import isabstract
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from icdh import graphs
from icdh._model.causal import CausalModel, EdgeEvidence, ModelColumns
from icdh._node_model.law import Conditional, Law, NoCauses, Predictor
from icdh._node_model.noise import NOISE_DENSITIES, Noise
from icdh._table.codes import MOST_LABELS, Categories
from icdh._table.frames import LIBRARIES
from icdh._table.kinds import KINDS, MOST_DIGITS
from icdh._table.transforms import TRANSFORMS
from icdh._utils.arrays import Cells
from icdh._utils.atomic import replace_on_success
from icdh._version import __version__
from icdh.network import SIGMOID, NetworkConditional

Json: TypeAlias = Any  # what stands in JSON, demanded to be what is wanted before it is used

Model = TypeVar("Model", bound=CausalModel)

FORMAT, VERSION = "icdh model", 8  # before, all bins of free noise were equally wide
NAMED_ACTIVATIONS = 6  # the version from which networks name their activation
MIN_VERSION = 4  # had the fields of columns and evidence beside the others
RENAMED = {"column_transform": "transform", "edge_probability": "probability"}  # since then
CONTENT = "model.json"
FLOATS, INTEGERS = "<f8", "<i8"
# Subclass first: a datetime is a date, too.
DATES: dict[str, type[datetime.date]] = {"datetime": datetime.datetime, "date": datetime.date}
# In a shape, letters are sizes: N that of the table, others any, but the same within a part.
SHAPES_OF_INTEGERS = {"inputs": "p", "widths": "p"}
LOSSES = ("direction_loss", "hidden_loss", "mean_loss", "spread_loss")
SHAPES = {
    **dict.fromkeys(("offset", "scale", "centre"), "N"),
    **dict.fromkeys(("adjacency", "probability", "settled", "unidentified", *LOSSES), "NN"),
    **{"observed_range": "2N", "hidden": "rm", "w2": "m", "w3": "m", "theta": "t", "log_shares": "K", "levels": "K"},
    **{"cuts": "c", "shares": "B", "masses": "K", "log_odds": "K", "knots": "k", "bends": "k", "observed": "k"},
    **{"limits": "2o", "slopes": "q"},
}


def _kinds() -> dict[object, dict[str, type]]:
    """Return the kinds of parts; they are looked up when needed because the node model loads compiled code."""
    from icdh._node_model import columns  # noqa: F401 - the responses of all kinds, and so all laws
    from icdh._node_model.additive import AdditivePredictor
    from icdh._node_model.heteroscedastic import LinearMeanNetwork
    from icdh._node_model.network import NodeNetwork

    classes = Law.__subclasses__()
    for law in classes:
        classes += law.__subclasses__()
    concrete = [law for law in classes if not isabstract(law)]
    laws: dict[str, type] = {law.name: law for law in concrete}
    if len(laws) < len(concrete):
        raise TypeError(f"two laws share a name; the names are {', '.join(laws)}")
    return {
        Predictor: {
            "constant": NoCauses,
            "network": NetworkConditional,
            "node": NodeNetwork,
            "additive": AdditivePredictor,
            "heteroscedastic": LinearMeanNetwork,
        },
        Law: laws,
        Noise: NOISE_DENSITIES,
    }


def write_model(path: str | os.PathLike[str], model: CausalModel) -> None:
    """Write a `StructuralModel`.

    Parameters
    ----------
    path : str or Path
        The file; by convention it ends in ``.icdh``.
    model : StructuralModel
        The model.

    Raises
    ------
    TypeError, ValueError
        If a part of the model, or the name of a column, is of a kind that files do not know.
    OSError
        If the file cannot be written; an older one then stays as it was.
    """
    entries: dict[str, bytes] = {}
    kinds = {part: name for of_protocol in _kinds().values() for name, part in of_protocol.items()}

    def encoded(value: object) -> Json:
        if isinstance(value, np.ndarray):
            dtype, entry = INTEGERS if value.dtype.kind in "biu" else FLOATS, f"arrays/{len(entries)}"
            entries[entry] = np.ascontiguousarray(value, dtype=dtype).tobytes()
            return {"array": entry, "dtype": dtype, "shape": list(value.shape)}
        if is_dataclass(value) or isinstance(value, Categories):
            kind = {"kind": kinds[type(value)]} if type(value) in kinds else {}
            parts = {name: getattr(value, name) for name in _hints(type(value))}
            of_names = {name: list(map(_encoded_name, parts.pop(name))) for name in {"names"} & {*parts}}
            return {**kind, **of_names, **{name: encoded(part) for name, part in parts.items()}}
        if isinstance(value, dict):
            return {str(key): encoded(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return list(map(encoded, value))
        if isinstance(value, (str, int, float, np.generic, type(None))):
            return value.item() if isinstance(value, np.generic) else value
        raise TypeError(f"files know nothing of {type(value).__name__}; they hold {', '.join(kinds.values())}")

    content = {"format": FORMAT, "version": VERSION, "written_by": __version__, **encoded(model)}
    text = json.dumps(content, indent=1, allow_nan=False)
    with replace_on_success(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {CONTENT: text.encode("ascii"), **entries}.items():
            # A fixed date: the same model gives the same file.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def _hints(kind: type) -> dict[str, Any]:
    """Return the fields of a part, with their types."""
    hints = get_type_hints(kind)
    return {part.name: hints[part.name] for part in fields(kind)} if is_dataclass(kind) else hints


def _encoded_name(name: Hashable) -> Json:
    """Return the name of a column as JSON: tuples as lists, dates named as such.

    Raises
    ------
    ValueError
        If another name would come back.
    """
    code = _json_of(name)
    try:
        kept = _name(code) == name
    except ValueError:  # a date of more digits than Python's
        kept = False
    if not kept:
        raise ValueError(
            f"the column {name!r} is called by a {type(name).__name__}, which a file cannot hold; rename it, "
            "for instance to its text"
        )
    return code


def _json_of(name: object) -> Json:
    if isinstance(name, tuple):
        return [_json_of(part) for part in name]
    if isinstance(name, (bool, np.bool_)):
        return bool(name)
    if isinstance(name, numbers.Integral):
        return int(name)
    if isinstance(name, numbers.Real) and np.isfinite(float(name)):
        return float(name)
    for kind, of_kind in DATES.items():
        if isinstance(name, of_kind) and name == name:  # pandas' NaT is a date, too, and no other
            return {kind: name.isoformat()}
    return str(name)


def _name(code: Json) -> Hashable:
    """Return a name that stands in JSON."""
    if isinstance(code, list):
        return tuple(_name(part) for part in code if not isinstance(part, list))
    if isinstance(code, dict):
        _demand(len(code) == 1 and code.keys() <= DATES.keys(), "names are of no known kind")
        ((kind, text),) = code.items()
        return DATES[kind].fromisoformat(text)
    _demand(isinstance(code, (str, int, float)), "names are neither text, numbers nor dates")
    name: Hashable = code
    return name


def read_model(path: str | os.PathLike[str], kind: type[Model]) -> Model:
    """Read what `write_model` wrote.

    Parameters
    ----------
    path : str or Path
        The file.
    kind : type
        The class of models.

    Raises
    ------
    ValueError
        If the file is damaged, of another version, or no model at all.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _Content(archive, Path(path).stat().st_size).model(kind)
        # Whatever a damaged file leads zipfile or json to raise says the same to the user.
        except Exception as error:
            known = isinstance(error, _Damage)
            reason = str(error) if known else "the file is damaged or was written by another program"
            raise ValueError(f"{path} is not a model that icdh {__version__} can read: {reason}") from error


class _Damage(ValueError):
    """A contradiction in the file, in words for the user."""


def _demand(condition: object, message: str) -> None:
    if not condition:
        raise _Damage(message)


def _grouped(content: dict[str, Json]) -> dict[str, Json]:
    """Return the content of a file of the oldest version as it is now."""
    content = {RENAMED.get(name, name): part for name, part in content.items()}
    groups = {"columns": ModelColumns, "edge_evidence": EdgeEvidence}
    return content | {group: {k: content[k] for k in _hints(kind) if k in content} for group, kind in groups.items()}


class _Content:
    """The entries of an archive, and the parts that its JSON describes."""

    def __init__(self, archive: zipfile.ZipFile, size: int):
        self.archive, self.kinds = archive, _kinds()
        entries = archive.infolist()
        _demand(len({entry.filename for entry in entries}) == len(entries), "an entry occurs twice")
        _demand(all(e.compress_type == zipfile.ZIP_STORED for e in entries), "its entries are compressed")
        _demand(sum(entry.file_size for entry in entries) <= size, "its entries claim more bytes than the file has")
        self.json = json.loads(archive.read(CONTENT))
        _demand(isinstance(self.json, dict) and self.json.get("format") == FORMAT, f"{CONTENT} is not that of a model")
        version = self.json.get("version")
        known = type(version) is int and MIN_VERSION <= version <= VERSION
        _demand(known, f"it has version {version!r} of the format, not {MIN_VERSION} to {VERSION}; use another icdh")
        _demand(not self.json.get("hidden_causes"), "it has hidden common causes, as models no longer have; fit again")
        if version == MIN_VERSION:
            self.json = _grouped(self.json)
        for part in self.json["conditionals"] if version in range(MIN_VERSION, NAMED_ACTIVATIONS) else ():
            part["predictor"]["activation"] = asdict(SIGMOID)  # read of networks alone

    def model(self, kind: type[Model]) -> Model:
        """Return the model."""
        names = self.value(self.json["columns"]["names"], list[Hashable], "names", 0)
        model: Model = self.value(self.json, kind, "model", len(names))
        _check_model(model)
        return model

    def value(self, code: Json, kind: Any, name: str, n_variables: int, sizes: dict[str, int] | None = None) -> Any:
        """Return a value of a type, as an annotation gives it; ``sizes`` are those of its part's shapes so far."""
        origin, inner = get_origin(kind), get_args(kind)
        if kind is Hashable:
            return _name(code)
        if is_typeddict(kind):
            parts = get_type_hints(kind)
            _demand(isinstance(code, dict) and code.keys() <= parts.keys(), "it does not say how the model was made")
            return {key: self.value(part, parts[key], key, n_variables) for key, part in code.items()}
        if origin in (Union, UnionType):
            chosen = next((choice for choice in inner if type(code) is choice), inner[0])
            return None if chosen is type(None) else self.value(code, chosen, name, n_variables, sizes)
        if np.ndarray in (kind, origin):
            return self.array(code, name, {"N": n_variables, "2": 2} if sizes is None else sizes)
        if origin in (list, tuple, Sequence):
            _demand(isinstance(code, list), f"{name} are no list")
            return (tuple if origin is tuple else list)(self.value(part, inner[0], name, n_variables) for part in code)
        if origin is dict:
            _demand(isinstance(code, dict), f"{name} are no mapping")
            return {inner[0](key): self.value(part, inner[1], name, n_variables) for key, part in code.items()}
        if kind in self.kinds:
            _demand(isinstance(code, dict), f"{name} is no part of a model")
            _demand(code.get("kind") in self.kinds[kind], f"{name} are of no known kind")
            kind = self.kinds[kind][code["kind"]]
        if hasattr(kind, "__annotations__"):
            _demand(isinstance(code, dict), f"{name} is no part of a model")
            sizes = {"N": n_variables, "2": 2}
            hints = {field: hint for field, hint in _hints(kind).items() if field in code}
            return kind(**{key: self.value(code[key], hint, key, n_variables, sizes) for key, hint in hints.items()})
        _demand(type(code) is kind and (kind is not float or np.isfinite(code)), f"{name} is no {kind.__name__}")  # pyright: ignore[reportCallIssue, reportArgumentType]
        return code

    def array(self, code: Json, name: str, sizes: dict[str, int]) -> Cells:
        """Return an array after checking that it is what is wanted; new letters of its shape get their sizes."""
        dtype, shape = (INTEGERS, SHAPES_OF_INTEGERS[name]) if name in SHAPES_OF_INTEGERS else (FLOATS, SHAPES[name])
        _demand(isinstance(code, dict) and code.get("dtype") == dtype, f"{name} is not an array of type {dtype}")
        given = code.get("shape")
        _demand(
            isinstance(given, list) and len(given) == len(shape) and all(type(n) is int and n >= 0 for n in given),
            f"{name} has shape {given}, not that of an array of {len(shape)} axes",
        )
        n_bytes = 8
        for letter, size in zip(shape, given, strict=True):  # pyright: ignore[reportArgumentType]
            wanted = sizes.setdefault(letter, size)
            _demand(size == wanted, f"{name} has shape {given}, where {wanted} is wanted")
            n_bytes *= size
        info = self.archive.getinfo(code["array"])
        _demand(info.file_size == n_bytes, f"{name} has {info.file_size} bytes, not {n_bytes}")
        values = np.frombuffer(self.archive.read(info), dtype=dtype).reshape(given)
        values = values.astype(np.int64 if dtype == INTEGERS else np.float64)  # of this machine, and writable
        _demand(name.endswith("_loss") or np.isfinite(values).all(), f"{name} holds NaN or infinity")
        return values


def _check_model(model: CausalModel) -> None:
    """Demand that the parts of a model go together: what compiled code reads must be there."""
    columns, N, absent = model.columns, len(model.names), model.adjacency == 0.0
    _demand(0 < N == len(set(model.names)), "names do not name variables")
    _demand(len(model.conditionals) == N, f"there are not {N} conditionals")
    transforms = columns.scaling.transforms
    scales = [*columns.scaling.scale.tolist(), *(transform.scale for transform in transforms.values())]
    _demand(min(scales) > 0.0 and all(0 <= n < N for n in transforms), "a scale is not positive")
    _demand({of.transform.kind for of in transforms.values()} <= {*TRANSFORMS}, "no such transform is known")
    graphs.causal_order(model.adjacency)
    evidence = model.edge_evidence
    shares = np.zeros(0) if evidence.probability is None else evidence.probability
    _demand(((shares >= 0.0) & (shares <= 1.0)).all(), "edge_probability does not hold probabilities")
    for loss in (getattr(evidence, name) for name in LOSSES):
        _demand(loss is None or np.isnan(loss[absent]).all(), "losses are not those of edges")
    of_columns = columns.kinds is None or (len(columns.kinds) == N and {*columns.kinds} <= {*KINDS})
    _demand(of_columns, "kinds are not those of columns")
    _demand(columns.transform in TRANSFORMS, "no such transform of columns is known")
    _demand(columns.frame in ("", *LIBRARIES), "frame is no library of tables")
    _demand(
        all(0 <= n < N for n in (*columns.categories, *columns.levels, *columns.masses, *columns.grids)),
        "labels are not those of variables",
    )
    for known in columns.categories.values():
        n_different = len({*known.labels, *known.unseen})
        _demand(0 < len(known.labels) <= MOST_LABELS, "labels are too few or too many")
        _demand(n_different == len(known.labels + known.unseen), "labels repeat")
    for grid in columns.grids.values():
        _demand(grid.step > 0 and 0 <= grid.digits <= MOST_DIGITS, "a grid has no steps")
        _demand((np.diff(grid.observed) > 0.0).all(), "numbers of a grid do not ascend")
    for levels in columns.levels.values():
        ascend = 1 < levels.size <= MOST_LABELS and (np.diff(levels) > 0.0).all()
        _demand(ascend, "levels do not ascend")
    labels = {n: known.labels for n, known in columns.categories.items() if not known.ordered}
    n_labels = {n: len(of) for n, of in labels.items() if columns.kinds is None or columns.kinds[n] != "binary"}
    for n, part in enumerate(model.conditionals):
        _check_part(part, model, n, n_labels)


def _check_part(part: Conditional, model: CausalModel, n: int, n_labels: dict[int, int]) -> None:
    """Demand that the fields of the distribution of variable ``n`` go together, and with the labels of variables."""
    known = ((part.inputs >= 0) & (part.inputs < len(model.names))).all() and np.unique(part.inputs).size
    _demand(known == part.inputs.size, "inputs are not variables")
    limits = np.zeros((2, part.law.n_outputs)) if part.limits is None else part.limits
    are_limits = limits.shape[1] == part.law.n_outputs and (limits[0] <= limits[1]).all()
    _demand(are_limits, "limits are not those of outputs")
    faults = chain(
        part.law.faults(n_labels.get(n, 0), model.columns.levels.get(n)),
        part.predictor.faults(part.law, [n_labels.get(int(k), 1) for k in part.inputs]),
    )
    for fault in faults:
        raise _Damage(fault)
