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
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from icdh import graphs
from icdh._ground.atomic import replace_on_success
from icdh._model.conditionals import Constant
from icdh._model.noise import Empirical, Gaussian, Uniform
from icdh._table.categories import MOST_LABELS, Categories
from icdh._table.frames import LIBRARIES
from icdh._table.table import KINDS, Scaling
from icdh._table.transforms import TRANSFORMS
from icdh._version import __version__
from icdh.network import NetworkConditional

FORMAT, VERSION = "icdh model", 1
CONTENT = "model.json"
DTYPES = ("<f8", "<i8")
MOST_VARIABLES = 100_000
DATES = {"datetime": datetime.datetime, "date": datetime.date}  # subclass first: a datetime is a date, too


def write_model(path: str | os.PathLike, model: Any) -> None:
    """Write a `StructuralModel`.

    Parameters
    ----------
    path : str or Path
        The file; by convention it ends in ``.icdh``.
    model : StructuralModel
        The model.

    Raises
    ------
    TypeError
        If a part of the model is of a kind that files do not know.
    OSError
        If the file cannot be written; an older one then stays as it was.
    """
    arrays = {}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "names": _encoded_labels(model.names),
        "named": bool(model.named),
        "frame": model.frame,
        "about": model.about,
        "offset": _encoded(model.scaling.offset, arrays),
        "scale": _encoded(model.scaling.scale, arrays),
        "adjacency": _encoded(model.adjacency, arrays),
        "centre": _encoded(model.centre, arrays),
        "edge_probability": _encoded(model.edge_probability, arrays),
        "direction_loss": _encoded_losses(model.direction_loss),
        "conditionals": [_encoded_part(part, arrays) for part in model.conditionals],
        "noise": [_encoded_part(part, arrays) for part in model.noise],
        "categories": [{"variable": n, **own._asdict()} for n, own in model.categories.items()],
        "levels": [{"variable": n, "values": _encoded(own, arrays)} for n, own in model.levels.items()],
        "kinds": model.kinds,
        "column_transform": model.column_transform,
    }
    text = json.dumps(content, indent=1, allow_nan=False)
    with replace_on_success(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, data in {CONTENT: text.encode("ascii"), **arrays}.items():
            # A fixed date: the same model gives the same file.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)


def _encoded_losses(loss):
    """Return the losses of edges as cause, effect and nats, None for infinity; None if there are none."""
    edges = [] if loss is None else np.argwhere(~np.isnan(loss)).tolist()
    nats = [None if np.isinf(loss[i, j]) else float(loss[i, j]) for i, j in edges]
    return None if loss is None else [[*edge, lost] for edge, lost in zip(edges, nats, strict=True)]


def _encoded_labels(labels):
    """Return column labels as JSON holds them.

    Raises
    ------
    ValueError
        If two labels are the same there.
    """
    encoded = [_encoded_label(label) for label in labels]
    texts = [json.dumps(own) for own in encoded]
    for label, text in zip(labels, texts, strict=True):
        if texts.count(text) > 1:
            raise ValueError(f"the column {label!r} and another one have the same name in a file; rename one")
    return encoded


def _encoded_label(label):
    """Return a label: text, numbers and truth values as they are, dates named as such, tuples of these as lists.

    All else becomes text.
    """
    if isinstance(label, tuple):
        return [_encoded_label(str(part) if isinstance(part, tuple) else part) for part in label]
    if isinstance(label, (bool, np.bool_)):
        return bool(label)
    if isinstance(label, numbers.Integral):
        return int(label)
    if isinstance(label, numbers.Real) and np.isfinite(label):
        return float(label)
    for kind, of_kind in DATES.items():
        if isinstance(label, of_kind) and label == label:  # pandas' NaT is a date, too
            return {kind: label.isoformat()}
    return str(label)


def _label(found):
    if isinstance(found, list):
        return tuple(_label(part) for part in found if not isinstance(part, list))
    if isinstance(found, dict):
        _demand(len(found) == 1 and found.keys() <= DATES.keys(), "names are of no known kind")
        ((kind, text),) = found.items()
        return DATES[kind].fromisoformat(text)
    _demand(isinstance(found, (str, int, float)), "names are neither text, numbers nor dates")
    return found


def _kinds():
    """Return the class of every kind of part; it is read here because the node model loads compiled code."""
    from icdh._node_model.categorical import CategoricalConditional
    from icdh._node_model.network import NodeConditional
    from icdh._node_model.ordinal import OrdinalConditional

    return {
        "constant": Constant,
        "network": NetworkConditional,
        "node": NodeConditional,
        "labels": CategoricalConditional,
        "levels": OrdinalConditional,
        "gaussian": Gaussian,
        "empirical": Empirical,
        "uniform": Uniform,
    }


def _encoded_part(part, arrays):
    for kind, of_kind in _kinds().items():
        if type(part) is of_kind:
            return {"kind": kind} | {f.name: _encoded(getattr(part, f.name), arrays) for f in fields(part)}
    raise TypeError(f"files know nothing of {type(part).__name__}; they hold {', '.join(_kinds())}")


def _encoded(value, arrays):
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    dtype = DTYPES[1] if value.dtype.kind in "biu" else DTYPES[0]
    entry = f"arrays/{len(arrays)}"
    arrays[entry] = np.ascontiguousarray(value, dtype=dtype).tobytes()
    return {"array": entry, "dtype": dtype, "shape": list(value.shape)}


def read_model(path: str | os.PathLike) -> dict[str, Any]:
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
            raise ValueError(f"{path} is not a model that icdh {__version__} can read: {_reason(error)}") from error


def _reason(error):
    if isinstance(error, _Damage):
        return str(error)
    return "the file is damaged or was written by another program"


class _Damage(ValueError):
    """A contradiction in the file, in words for the user."""


def _demand(condition, message):
    if not condition:
        raise _Damage(message)


class _Content:
    """The entries of an archive, and the parts that its JSON describes."""

    def __init__(self, archive, size):
        self.archive = archive
        entries = archive.infolist()
        _demand(len({entry.filename for entry in entries}) == len(entries), "an entry occurs twice")
        _demand(all(e.compress_type == zipfile.ZIP_STORED for e in entries), "its entries are compressed")
        _demand(sum(entry.file_size for entry in entries) <= size, "its entries claim more bytes than the file has")
        self.json = json.loads(archive.read(CONTENT))
        _demand(isinstance(self.json, dict) and self.json.get("format") == FORMAT, f"{CONTENT} is not that of a model")
        version = self.json.get("version")
        _demand(version == VERSION, f"it has version {version!r} of the format, not {VERSION}; use a newer icdh")

    def array(self, found, dtype, shape, name):
        """Return an array after checking that it is what is wanted; None in ``shape`` stands for any size."""
        _demand(isinstance(found, dict) and found.get("dtype") == dtype, f"{name} is not an array of type {dtype}")
        own = found.get("shape")
        _demand(
            isinstance(own, list)
            and len(own) == len(shape)
            and all(type(n) is int and n >= 0 and want in (None, n) for n, want in zip(own, shape, strict=True)),
            f"{name} has shape {own}, not {list(shape)}",
        )
        info = self.archive.getinfo(found["array"])
        size = 8
        for n in own:
            size *= n
        _demand(info.file_size == size, f"{name} has {info.file_size} bytes, not {size}")
        values = np.frombuffer(self.archive.read(info), dtype=dtype).reshape(own)
        values = values.astype(np.int64 if dtype == "<i8" else np.float64)  # of this machine, and writable
        _demand(np.isfinite(values).all(), f"{name} holds NaN or infinity")
        return values

    def floats(self, found, shape, name):
        return self.array(found, "<f8", shape, name)

    def number(self, found, kind, name):
        _demand(type(found) is kind and np.isfinite(found), f"{name} is not a finite {kind.__name__}")
        return found


def _model(content):
    names = content.json["names"]
    _demand(isinstance(names, list), "names are no list")
    names = list(map(_label, names))
    N = len(names)
    _demand(0 < N <= MOST_VARIABLES and len(set(names)) == N, "names do not name variables")
    offset, scale, centre = (content.floats(content.json[key], (N,), key) for key in ("offset", "scale", "centre"))
    _demand((scale > 0.0).all(), "a scale is not positive")
    adjacency = content.floats(content.json["adjacency"], (N, N), "adjacency")
    graphs.causal_order(adjacency)
    readers = {"constant": _constant, "network": _network, "node": _node, "labels": _labels, "levels": _levels}
    conditionals = _parts(content, "conditionals", N, readers)
    categories = _categories(content.json.get("categories", []), N)
    _check_labels(conditionals, categories)
    levels = _levels_of_variables(content, N)
    _demand(
        all(levels[n].size == own.levels.size for n, own in enumerate(conditionals) if hasattr(own, "levels")),
        "levels do not go with their probabilities",
    )
    return {
        "names": names,
        "named": _flag(content.json["named"], "named"),
        "scaling": Scaling(offset, scale),
        "adjacency": adjacency,
        "conditionals": conditionals,
        "centre": centre,
        "noise": _parts(content, "noise", N, {"gaussian": _gaussian, "empirical": _empirical, "uniform": _uniform}),
        "frame": _frame(content.json["frame"]),
        "about": _about(content.json["about"]),
        "edge_probability": _shares(content, N, "edge_probability"),
        "direction_loss": _losses(content, adjacency, "direction_loss"),
        "categories": categories,
        "levels": levels,
        **_seen(content.json, N),
    }


def _levels_of_variables(content, n_variables):
    levels = {}
    for own in content.json.get("levels", []):  # files of older versions say nothing of them
        variable = own["variable"]
        _demand(type(variable) is int and 0 <= variable < n_variables, "levels are not those of variables")
        levels[variable] = _ascending(content.floats(own["values"], (None,), "levels"), "levels")
    return levels


def _ascending(values, name):
    _demand(1 < values.size <= MOST_LABELS and (np.diff(values) > 0.0).all(), f"{name} do not ascend")
    return values


def _seen(json, n_variables):
    """Return how a search saw the columns; files of older versions say nothing of it."""
    kinds, transform = json.get("kinds"), json.get("column_transform", "none")
    of_columns = isinstance(kinds, list) and len(kinds) == n_variables and all(kind in KINDS for kind in kinds)
    _demand(kinds is None or of_columns, "kinds are not those of columns")
    _demand(transform in TRANSFORMS, "no such transform of columns is known")
    return {"kinds": kinds, "column_transform": transform}


def _shares(content, n_variables, name):
    found = content.json.get(name)  # files of older versions say nothing of it
    if found is None:
        return None
    shares = content.floats(found, (n_variables, n_variables), name)
    _demand(((shares >= 0.0) & (shares <= 1.0)).all(), f"{name} does not hold probabilities")
    return shares


def _losses(content, adjacency, name):
    found = content.json.get(name)  # files of older versions say nothing of it
    if found is None:
        return None
    _demand(isinstance(found, list), f"{name} is no list")
    loss = np.full(adjacency.shape, np.nan)
    for cause, effect, nats in found:
        edge = content.number(cause, int, name), content.number(effect, int, name)
        _demand(min(edge) >= 0 and max(edge) < len(loss) and adjacency[edge], f"{name} is not that of edges")
        loss[edge] = np.inf if nats is None else content.number(nats, float, name)
    return loss


def _categories(found, n_variables):
    _demand(isinstance(found, list), "categories are no list")
    categories = {}
    for own in found:
        known = {"variable", *Categories._fields}
        _demand(
            isinstance(own, dict) and known - {"unseen"} <= own.keys() <= known,
            "categories do not say what their labels are",
        )
        labels, unseen, variable = own["labels"], own.get("unseen", []), own["variable"]
        _demand(type(variable) is int and 0 <= variable < n_variables, "categories are not those of variables")
        _demand(
            isinstance(labels, list)
            and 0 < len(labels) <= MOST_LABELS
            and isinstance(unseen, list)
            and all(type(label) in (str, float, int) for label in labels + unseen)
            and len(set(labels + unseen)) == len(labels + unseen),
            "labels are neither text nor numbers, or repeat",
        )
        flags = {key: _flag(own[key], key) for key in ("ordered", "declared")}
        categories[variable] = Categories(tuple(labels), **flags, unseen=tuple(unseen))
    return categories


def _check_labels(conditionals, categories):
    """Demand that codes stay within the labels that they stand for."""
    sizes = {n: len(own.labels) for n, own in categories.items() if not own.ordered}
    for n, own in enumerate(conditionals):
        shares = getattr(own, "log_shares", np.zeros(sizes.get(n, 0)))
        _demand(shares.size == sizes.get(n, 0), "labels do not go with their probabilities")
        if hasattr(own, "widths"):
            widths = [sizes.get(int(k), 1) for k in own.inputs]
            _demand(own.widths.tolist() == widths, "inputs do not go with their labels")


def _about(found):
    kinds = {"estimator": str, "n_observations": int, "parameters": dict, "versions": dict}
    _demand(
        isinstance(found, dict) and all(type(value) is kinds.get(key) for key, value in found.items()),
        "it does not say how the model was made",
    )
    for key in ("parameters", "versions"):
        _demand(all(isinstance(text, str) for text in found.get(key, {}).values()), f"{key} are not text")
    return found


def _frame(found):
    if isinstance(found, bool):  # files of older versions know pandas alone
        return "pandas" if found else ""
    _demand(found in ("", *LIBRARIES), "frame is no library of tables")
    return found


def _flag(found, name):
    _demand(isinstance(found, bool), f"{name} is not true or false")
    return found


def _parts(content, name, n_variables, readers):
    parts = content.json[name]
    _demand(isinstance(parts, list) and len(parts) == n_variables, f"there are not {n_variables} {name}")
    for part in parts:
        _demand(isinstance(part, dict) and part.get("kind") in readers, f"one of the {name} is of no known kind")
    return [readers[part["kind"]](content, part, n_variables) for part in parts]


def _inputs(content, part, n_variables):
    inputs = content.array(part["inputs"], "<i8", (None,), "inputs")
    _demand(
        ((inputs >= 0) & (inputs < n_variables)).all() and np.unique(inputs).size == inputs.size,
        "inputs are not variables",
    )
    return inputs


def _constant(content, part, n_variables):
    inputs = _inputs(content, part, n_variables)
    _demand(inputs.size == 0, "a constant has inputs")
    return Constant(inputs)


def _network(content, part, n_variables):
    inputs = _inputs(content, part, n_variables)
    hidden = content.floats(part["hidden"], (None, None), "hidden")
    _demand(len(hidden) in (len(inputs), len(inputs) + 1), "hidden weights do not go with their inputs")
    w2, w3 = (content.floats(part[key], (hidden.shape[1],), key) for key in ("w2", "w3"))
    floor, intercept = (content.number(part[key], float, key) for key in ("floor", "intercept"))
    _demand(floor > 0.0, "a scale is not positive")
    return NetworkConditional(inputs, hidden, w2, w3, floor, intercept)


def _given_parents(content, part, n_variables):
    """Return inputs, widths, hidden units and the rows of the input."""
    inputs = _inputs(content, part, n_variables)
    units = content.number(part["hidden_units"], int, "hidden_units")
    _demand(units > 0, "there are no hidden units")
    if "widths" not in part:  # files of older versions
        return inputs, np.ones(inputs.size, dtype=np.int64), units
    widths = content.array(part["widths"], "<i8", (inputs.size,), "widths")
    _demand(((widths > 0) & (widths <= MOST_LABELS)).all(), "inputs are not as wide as they can be")
    return inputs, widths, units


def _node(content, part, n_variables):
    from icdh._node_model.network import NodeConditional, n_weights

    inputs, widths, units = _given_parents(content, part, n_variables)
    theta = content.floats(part["theta"], (n_weights(int(widths.sum()), units),), "theta")
    return NodeConditional(inputs, widths, theta, units)


def _labels(content, part, n_variables):
    from icdh._node_model.categorical import CategoricalConditional, n_categorical_weights

    inputs, widths, units = _given_parents(content, part, n_variables)
    shares = content.floats(part["log_shares"], (None,), "log_shares")
    _demand(1 < shares.size <= MOST_LABELS, "labels are too few or too many")
    theta = content.floats(part["theta"], (n_categorical_weights(int(widths.sum()), units, shares.size),), "theta")
    return CategoricalConditional(inputs, widths, theta, units, shares)


def _levels(content, part, n_variables):
    from icdh._node_model.network import n_weights
    from icdh._node_model.ordinal import OrdinalConditional

    inputs, widths, units = _given_parents(content, part, n_variables)
    theta = content.floats(part["theta"], (n_weights(int(widths.sum()), units),), "theta")
    levels = _ascending(content.floats(part["levels"], (None,), "levels"), "levels")
    cuts = content.floats(part["cuts"], (levels.size - 1,), "cuts")
    _demand((np.diff(cuts) >= 0.0).all(), "cuts do not ascend")
    return OrdinalConditional(inputs, widths, theta, units, levels, cuts)


def _uniform(content, part, n_variables):
    return Uniform()


def _gaussian(content, part, n_variables):
    return Gaussian()


def _empirical(content, part, n_variables):
    residuals = content.floats(part["residuals"], (None,), "residuals")
    _demand(residuals.size > 0, "residuals are missing")
    return Empirical(residuals)
