"""Fitted models as files: one zip archive of JSON and arrays, read back to the last bit.

``model.json`` holds everything but the arrays, which are entries of their own, little-endian and in C order, and
appear in the JSON as ``{"array": entry, "dtype": "<f8" or "<i8", "shape": [...]}``. Entries are stored, not compressed,
so that no file can ask for more memory than its own size. Reading executes nothing that the file holds: kinds of
distributions are looked up in a fixed list, and their parts are checked against one another before any compiled code
sees them.
"""

import datetime
import json
import numbers
import os
import zipfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from icdh import graphs
from icdh._ground.arrays import Floats
from icdh._ground.atomic import replace_on_success
from icdh._model.conditionals import Constant, Empirical, Gaussian, Uniform
from icdh._model.hidden import HiddenCause
from icdh._table.categories import MOST_LABELS, Categories
from icdh._table.frames import LIBRARIES
from icdh._table.table import KINDS, Scaling
from icdh._table.transforms import TRANSFORMS
from icdh._version import __version__
from icdh.network import NetworkConditional

if TYPE_CHECKING:
    from icdh._model.structural import StructuralModel

FORMAT, VERSION = "icdh model", 1
CONTENT = "model.json"
FLOATS, INTEGERS = "<f8", "<i8"
MOST_VARIABLES = 100_000
DATES = {"datetime": datetime.datetime, "date": datetime.date}  # subclass first: a datetime is a date, too
# The arrays of a model. In a shape, letters are sizes: N that of the table, others any, but the same within a part.
ARRAYS = {"offset": "N", "scale": "N", "adjacency": "NN", "centre": "N"}
OPTIONAL_ARRAYS = {"edge_probability": "NN", "observed_range": "2N", "settled": "NN"}


class Kind(NamedTuple):
    """How files hold one kind of distribution: its class, and the type and shape of every field of it."""

    part: type
    fields: dict[str, tuple[str, str] | type]


Fields: TypeAlias = dict[str, "tuple[str, str] | type"]


def _kinds() -> dict[str, Kind]:
    """Return all kinds; they are looked up when needed because the node model loads compiled code."""
    from icdh._node_model.categorical import CategoricalConditional
    from icdh._node_model.hidden import ConfoundedConditional
    from icdh._node_model.network import NodeConditional
    from icdh._node_model.ordinal import OrdinalConditional

    inputs: Fields = {"inputs": (INTEGERS, "p")}
    given_parents: Fields = inputs | {"widths": (INTEGERS, "p"), "theta": (FLOATS, "t"), "hidden_units": int}
    two_layers: Fields = {"hidden": (FLOATS, "rm"), "w2": (FLOATS, "m"), "w3": (FLOATS, "m"), "floor": float}
    return {
        "constant": Kind(Constant, inputs),
        "network": Kind(NetworkConditional, inputs | two_layers | {"intercept": float}),
        "node": Kind(NodeConditional, given_parents),
        "confounded": Kind(ConfoundedConditional, given_parents | {"loading": float}),
        "labels": Kind(CategoricalConditional, given_parents | {"log_shares": (FLOATS, "K")}),
        "levels": Kind(OrdinalConditional, given_parents | {"levels": (FLOATS, "K"), "cuts": (FLOATS, "c")}),
        "gaussian": Kind(Gaussian, {}),
        "empirical": Kind(Empirical, {"residuals": (FLOATS, "M")}),
        "uniform": Kind(Uniform, {}),
    }


def write_model(path: str | os.PathLike[str], model: "StructuralModel") -> None:
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

    def encoded(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value.item() if isinstance(value, np.generic) else value
        dtype = INTEGERS if value.dtype.kind in "biu" else FLOATS
        entry = f"arrays/{len(entries)}"
        entries[entry] = np.ascontiguousarray(value, dtype=dtype).tobytes()
        return {"array": entry, "dtype": dtype, "shape": list(value.shape)}

    def encoded_part(part: Any) -> dict[str, Any]:
        name = next((name for name, kind in kinds.items() if type(part) is kind.part), None)
        if name is None:
            raise TypeError(f"files know nothing of {type(part).__name__}; they hold {', '.join(kinds)}")
        return {"kind": name} | {field: encoded(getattr(part, field)) for field in kinds[name].fields}

    kinds = _kinds()
    plain = {name: getattr(model, name) for name in ("named", "frame", "about", "kinds", "column_transform")}
    scaling = {"offset": model.scaling.offset, "scale": model.scaling.scale}
    arrays = {name: scaling.get(name, getattr(model, name, None)) for name in ARRAYS | OPTIONAL_ARRAYS}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "names": [_encoded_name(name) for name in model.names],
        **{name: encoded(value) for name, value in (plain | arrays).items()},
        "direction_loss": _encoded_losses(model.direction_loss),
        "hidden_loss": _encoded_losses(model.hidden_loss),
        "conditionals": [encoded_part(part) for part in model.conditionals],
        "noise": [encoded_part(part) for part in model.noise],
        "categories": [{"variable": n, **known._asdict()} for n, known in model.categories.items()],
        "levels": [{"variable": n, "values": encoded(levels)} for n, levels in model.levels.items()],
    }
    if model.hidden_causes:
        content["hidden_causes"] = [_encoded_cause(model, cause) for cause in model.hidden_causes]
    text = json.dumps(content, indent=1, allow_nan=False)
    with replace_on_success(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {CONTENT: text.encode("ascii"), **entries}.items():
            # A fixed date: the same model gives the same file.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def _encoded_cause(model: "StructuralModel", cause: HiddenCause) -> dict[str, Any]:
    return {
        "children": [model.names.index(child) for child in cause.children],
        "loadings": [float(loading) for loading in cause.loadings],
        "strength": float(cause.strength),
    }


def _hidden_causes(listed: Any, names: Sequence[Hashable], conditionals: Sequence[Any]) -> tuple[HiddenCause, ...]:
    """Return the hidden causes, whose children are what has a loading, each once."""
    _demand(isinstance(listed, list), "hidden causes are no list")
    children = [child for cause in listed for child in cause["children"]]
    confounded = [n for n, part in enumerate(conditionals) if hasattr(part, "loading")]
    _demand(
        all(type(n) is int for n in children) and sorted(children) == confounded, "hidden causes lack their children"
    )
    causes = []
    for cause in listed:
        loadings = np.array(cause["loadings"], dtype=np.float64)
        whole = loadings.shape == (len(cause["children"]),) and np.isfinite([*loadings, cause["strength"]]).all()
        _demand(whole and loadings.size, "loadings are not those of children")
        causes.append(HiddenCause(tuple(names[n] for n in cause["children"]), loadings, float(cause["strength"])))
    return tuple(causes)


def _encoded_losses(loss: Floats | None) -> list[list[Any]] | None:
    """Return the losses of edges as cause, effect and nats, None for infinity; None if there are none."""
    if loss is None:
        return None
    return [
        [i, j, float(loss[i, j]) if loss[i, j] < np.inf else None] for i, j in np.argwhere(~np.isnan(loss)).tolist()
    ]


def _encoded_name(name: Hashable) -> Any:
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


def _json_of(name: Any) -> Any:
    if isinstance(name, tuple):
        return [_json_of(part) for part in name]
    if isinstance(name, (bool, np.bool_)):
        return bool(name)
    if isinstance(name, numbers.Integral):
        return int(name)
    if isinstance(name, numbers.Real) and np.isfinite(float(name)):
        return float(name)
    dates = (kind for kind, of_kind in DATES.items() if isinstance(name, of_kind) and name == name)
    kind = next(dates, None)  # pandas' NaT is a date, too, and no other
    return str(name) if kind is None else {kind: name.isoformat()}


def _name(code: Any) -> Any:
    """Return a name that stands in JSON."""
    if isinstance(code, list):
        return tuple(_name(part) for part in code if not isinstance(part, list))
    if isinstance(code, dict):
        _demand(len(code) == 1 and code.keys() <= DATES.keys(), "names are of no known kind")
        ((kind, text),) = code.items()
        return DATES[kind].fromisoformat(text)
    _demand(isinstance(code, (str, int, float)), "names are neither text, numbers nor dates")
    return code


def read_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_model` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    dict
        The fields of the `StructuralModel`.

    Raises
    ------
    ValueError
        If the file is damaged, of a later version, or no model at all.
    OSError
        If it cannot be read.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _model(_Content(archive, Path(path).stat().st_size))
        # Whatever a damaged file leads zipfile or json to raise says the same to the user.
        except Exception as error:
            known = isinstance(error, _Damage)
            reason = str(error) if known else "the file is damaged or was written by another program"
            raise ValueError(f"{path} is not a model that icdh {__version__} can read: {reason}") from error


class _Damage(ValueError):
    """A contradiction in the file, in words for the user."""


def _demand(condition: Any, message: str) -> None:
    if not condition:
        raise _Damage(message)


class _Content:
    """The entries of an archive, and the parts that its JSON describes."""

    def __init__(self, archive: zipfile.ZipFile, size: int):
        self.archive = archive
        entries = archive.infolist()
        _demand(len({entry.filename for entry in entries}) == len(entries), "an entry occurs twice")
        _demand(all(e.compress_type == zipfile.ZIP_STORED for e in entries), "its entries are compressed")
        _demand(sum(entry.file_size for entry in entries) <= size, "its entries claim more bytes than the file has")
        self.json = json.loads(archive.read(CONTENT))
        _demand(isinstance(self.json, dict) and self.json.get("format") == FORMAT, f"{CONTENT} is not that of a model")
        version = self.json.get("version")
        _demand(version == VERSION, f"it has version {version!r} of the format, not {VERSION}; use a newer icdh")

    def array(self, code: Any, dtype: str, shape: str, sizes: dict[str, int], name: str) -> NDArray[Any]:
        """Return an array after checking that it is what is wanted; new letters of the shape get their sizes."""
        _demand(isinstance(code, dict) and code.get("dtype") == dtype, f"{name} is not an array of type {dtype}")
        given = code.get("shape")
        _demand(
            isinstance(given, list) and len(given) == len(shape) and all(type(n) is int and n >= 0 for n in given),
            f"{name} has shape {given}, not that of an array of {len(shape)} axes",
        )
        for letter, size in zip(shape, given, strict=True):
            wanted = sizes.setdefault(letter, size)
            _demand(size == wanted, f"{name} has shape {given}, where {wanted} is wanted")
        info, n_bytes = self.archive.getinfo(code["array"]), 8
        for size in given:
            n_bytes *= size
        _demand(info.file_size == n_bytes, f"{name} has {info.file_size} bytes, not {n_bytes}")
        values = np.frombuffer(self.archive.read(info), dtype=dtype).reshape(given)
        values = values.astype(np.int64 if dtype == INTEGERS else np.float64)  # of this machine, and writable
        _demand(np.isfinite(values).all(), f"{name} holds NaN or infinity")
        return values

    def part(self, code: Any, kinds: dict[str, Kind], n_variables: int) -> Any:
        """Return a distribution."""
        _demand(isinstance(code, dict) and code.get("kind") in kinds, "a distribution is of no known kind")
        kind, sizes, values = kinds[code["kind"]], {"N": n_variables}, {}
        _demand(kind.fields.keys() <= code.keys(), "a distribution lacks a part, as of an older icdh; fit it again")
        for name, wanted in kind.fields.items():
            if isinstance(wanted, tuple):
                values[name] = self.array(code[name], *wanted, sizes, name)
            else:
                _demand(type(code[name]) is wanted and np.isfinite(code[name]), f"{name} is no {wanted.__name__}")
                values[name] = code[name]
        part = kind.part(**values)
        _check_part(part, n_variables)
        return part

    def of_variables(self, name: str, n_variables: int) -> dict[int, dict[str, Any]]:
        """Return what the JSON lists of some variables."""
        listed = self.json.get(name, [])
        _demand(isinstance(listed, list) and all(isinstance(code, dict) for code in listed), f"{name} are no list")
        numbers_of = [code.pop("variable", None) for code in listed]
        known = all(type(n) is int and 0 <= n < n_variables for n in numbers_of)
        _demand(known, f"{name} are not those of variables")
        return dict(zip(numbers_of, listed, strict=True))


def _check_part(part: Any, n_variables: int) -> None:
    """Demand that the fields of a distribution go together: what compiled code reads must be there."""
    inputs = getattr(part, "inputs", np.zeros(0, dtype=np.int64))
    known = ((inputs >= 0) & (inputs < n_variables)).all() and np.unique(inputs).size == inputs.size
    _demand(known, "inputs are not variables")
    if hasattr(part, "widths"):
        _check_weights(part)
    if isinstance(part, NetworkConditional):
        _demand(len(part.hidden) - inputs.size in (0, 1), "hidden weights do not go with their inputs")
        _demand(part.floor > 0.0, "a scale is not positive")
    if isinstance(part, Constant):
        _demand(inputs.size == 0, "a constant has inputs")
    if isinstance(part, Empirical):
        _demand(part.residuals.size > 0, "residuals are missing")
    if hasattr(part, "levels"):
        _check_ascending(part.levels)
        _demand(part.cuts.size == part.levels.size - 1 and (np.diff(part.cuts) >= 0.0).all(), "cuts do not ascend")


def _check_weights(part: Any) -> None:
    from icdh._node_model.categorical import n_categorical_weights
    from icdh._node_model.network import n_weights

    _demand(part.hidden_units > 0, "there are no hidden units")
    _demand(((part.widths > 0) & (part.widths <= MOST_LABELS)).all(), "inputs are not as wide as they can be")
    width, n_labels = int(part.widths.sum()), getattr(part, "log_shares", np.zeros(0)).size
    needed = n_weights(width, part.hidden_units)
    if hasattr(part, "log_shares"):
        _demand(1 < n_labels <= MOST_LABELS, "labels are too few or too many")
        needed = n_categorical_weights(width, part.hidden_units, n_labels)
    _demand(part.theta.size == needed, f"theta has shape [{part.theta.size}], not [{needed}]")


def _check_ascending(levels: Floats) -> None:
    _demand(1 < levels.size <= MOST_LABELS and (np.diff(levels) > 0.0).all(), "levels do not ascend")


def _model(content: _Content) -> dict[str, Any]:
    found = content.json
    _demand(isinstance(found["names"], list), "names are no list")
    names = list(map(_name, found["names"]))
    N, kinds = len(names), _kinds()
    _demand(0 < N <= MOST_VARIABLES and len(set(names)) == N, "names do not name variables")
    given = [name for name in OPTIONAL_ARRAYS if found.get(name) is not None]
    shapes, sizes = ARRAYS | OPTIONAL_ARRAYS, {"N": N, "2": 2}
    arrays = {name: content.array(found[name], FLOATS, shapes[name], sizes, name) for name in (*ARRAYS, *given)}
    scaling = Scaling(arrays.pop("offset"), arrays.pop("scale"))
    _demand((scaling.scale > 0.0).all(), "a scale is not positive")
    graphs.causal_order(arrays["adjacency"])
    shares = arrays.get("edge_probability", np.zeros(0))
    _demand(((shares >= 0.0) & (shares <= 1.0)).all(), "edge_probability does not hold probabilities")
    parts = {name: found[name] for name in ("conditionals", "noise")}
    for name, codes in parts.items():
        _demand(isinstance(codes, list) and len(codes) == N, f"there are not {N} {name}")
    of_noise = {name: kinds.pop(name) for name in ("gaussian", "empirical", "uniform")}
    conditionals = [content.part(code, kinds, N) for code in parts["conditionals"]]
    categories = {n: _categories(code) for n, code in content.of_variables("categories", N).items()}
    _check_labels(conditionals, categories)
    levels = {
        n: content.array(code["values"], FLOATS, "K", {}, "levels")
        for n, code in content.of_variables("levels", N).items()
    }
    for values in levels.values():
        _check_ascending(values)
    agree = all(levels[n].size == part.levels.size for n, part in enumerate(conditionals) if hasattr(part, "levels"))
    _demand(agree, "levels do not go with their probabilities")
    return {
        "names": names,
        "named": _flag(found["named"], "named"),
        "scaling": scaling,
        **arrays,
        "direction_loss": _losses(found.get("direction_loss"), arrays["adjacency"]),
        "hidden_loss": _losses(found.get("hidden_loss"), arrays["adjacency"]),
        "conditionals": conditionals,
        "noise": [content.part(code, of_noise, N) for code in parts["noise"]],
        "categories": categories,
        "levels": levels,
        "hidden_causes": _hidden_causes(found.get("hidden_causes", []), names, conditionals),
        **_described(found, N),
    }


def _losses(listed: Any, adjacency: Floats) -> Floats | None:
    if listed is None:
        return None
    _demand(isinstance(listed, list), "losses of edges are no list")
    loss = np.full(adjacency.shape, np.nan)
    for i, j, nats in listed:
        known = type(i) is type(j) is int and min(i, j) >= 0 and max(i, j) < len(loss) and adjacency[i, j]
        _demand(known, "losses are not those of edges")
        _demand(nats is None or (type(nats) is float and np.isfinite(nats)), "a loss is no number")
        loss[i, j] = np.inf if nats is None else nats
    return loss


def _described(found: dict[str, Any], n_variables: int) -> dict[str, Any]:
    """Return how the model was made."""
    kinds, transform, frame, about = found.get("kinds"), found.get("column_transform"), found["frame"], found["about"]
    of_columns = isinstance(kinds, list) and len(kinds) == n_variables and all(kind in KINDS for kind in kinds)
    _demand(kinds is None or of_columns, "kinds are not those of columns")
    _demand(transform in TRANSFORMS, "no such transform of columns is known")
    _demand(frame in ("", *LIBRARIES), "frame is no library of tables")
    types = {"estimator": str, "n_observations": int, "parameters": dict, "versions": dict}
    told = isinstance(about, dict) and all(type(value) is types.get(key) for key, value in about.items())
    _demand(told, "it does not say how the model was made")
    for key in ("parameters", "versions"):
        _demand(all(isinstance(text, str) for text in about.get(key, {}).values()), f"{key} are not text")
    return {"kinds": kinds, "column_transform": transform, "frame": frame, "about": about}


def _categories(code: dict[str, Any]) -> Categories:
    known = {"unseen": [], **code}  # of which older files say nothing
    _demand(known.keys() == set(Categories._fields), "categories do not say what their labels are")
    labels, unseen = known["labels"], known["unseen"]
    _demand(
        isinstance(labels, list)
        and 0 < len(labels) <= MOST_LABELS
        and isinstance(unseen, list)
        and all(type(label) in (str, float, int) for label in labels + unseen)
        and len(set(labels + unseen)) == len(labels + unseen),
        "labels are neither text nor numbers, or repeat",
    )
    flags = {key: _flag(code[key], key) for key in ("ordered", "declared")}
    return Categories(tuple(labels), **flags, unseen=tuple(unseen))


def _check_labels(conditionals: Sequence[Any], categories: dict[int, Categories]) -> None:
    """Demand that codes stay within the labels that they stand for."""
    sizes = {n: len(known.labels) for n, known in categories.items() if not known.ordered}
    for n, part in enumerate(conditionals):
        shares = getattr(part, "log_shares", np.zeros(sizes.get(n, 0)))
        _demand(shares.size == sizes.get(n, 0), "labels do not go with their probabilities")
        if hasattr(part, "widths"):
            widths = [sizes.get(int(k), 1) for k in part.inputs]
            _demand(part.widths.tolist() == widths, "inputs do not go with their labels")


def _flag(value: Any, name: str) -> bool:
    _demand(isinstance(value, bool), f"{name} is not true or false")
    return bool(value)
