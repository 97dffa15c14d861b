"""Models as files: equal to the last bit after reading, and never anything but ValueError from what is no model."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import cases, hetero_chain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.families import NormalLaw
from support.model import StructuralModel

import icdh
from icdh import ICDH, HNMSearch, NotFittedError

X = hetero_chain(np.random.default_rng(0), 120)
# Names are Python objects: pandas would store text in pyarrow, which refuses half of a surrogate pair.
NAMES = pd.Index(["a", "Größe", "c\ud800", "constant"], dtype=object)
TABLE = pd.DataFrame(np.column_stack([X, np.full(120, 7.0)]), columns=NAMES)


FITS = {
    "network": ICDH(scaling="standardize", max_rounds=2),
    "biased network": ICDH(scaling="center", bias=True, max_rounds=2, hidden_units=3),
    "network of tanh": ICDH(scaling="center", bias=True, activation="tanh", max_rounds=2, hidden_units=3),
    "search": HNMSearch(noise_distribution="gaussian", n_restarts=1),
    "free noise": HNMSearch(noise_distribution="free", n_restarts=1),
}


@pytest.fixture(scope="module", params=FITS)
def fit(request):
    with pytest.warns():
        return FITS[request.param].fit(TABLE)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A saved model, the path of its file and the bytes of it."""
    model = HNMSearch(noise_distribution="free", n_restarts=1).fit(X[:40, :2])
    path = tmp_path_factory.mktemp("model") / "m.icdh"
    model.save(path)
    return model.model_, path, path.read_bytes()


def test_what_was_saved_is_read_to_the_last_bit(fit, tmp_path):
    first, second = tmp_path / "first.icdh", tmp_path / "second.icdh"
    fit.save(first)
    again = icdh.load(first)
    assert isinstance(again, StructuralModel)
    assert (again.names, again.about) == (fit.model_.names, fit.model_.about)
    assert again.about["estimator"] == type(fit).__name__
    np.testing.assert_array_equal(again.adjacency, fit.adjacency_matrix_)
    do = {"a": 1.0, "Größe": icdh.Shift(0.5)}
    for ask in (
        lambda model: model.predict(TABLE),
        lambda model: model.predict_scale(TABLE),
        lambda model: model.residuals(TABLE),
        lambda model: model.sample(50, 0, do=do),
        lambda model: model.counterfactual(TABLE, do),
    ):
        pd.testing.assert_frame_equal(ask(again), ask(fit), check_exact=True)
    assert again.score(TABLE) == fit.score(TABLE)
    assert again.edge_list() == fit.edge_list()
    again.save(second)
    assert first.read_bytes() == second.read_bytes()


def test_probabilities_of_edges_are_kept(small, tmp_path):
    """And a file that says nothing of them, as older ones, has none."""
    model, older, _ = small
    path, probability = tmp_path / "m.icdh", np.array([[0.0, 0.7], [0.1, 0.0]])
    model.save(path, edge_probability=probability)
    np.testing.assert_array_equal(icdh.load(path).edge_evidence.probability, probability)
    silent = rewritten(path, older, without("probability", "edge_evidence"))
    for file in (older, silent):
        assert icdh.load(file).edge_evidence.probability is None
    assert model.adjacency.max() > 1.0
    with pytest.raises(ValueError, match="does not hold probabilities"):
        icdh.load(rewritten(path, older, within("edge_evidence", lambda c, e: e | {"probability": c["adjacency"]})))


def test_arrays_give_arrays_after_reading(small):
    model, path, _ = small
    assert isinstance(icdh.load(path).sample(3, 0), np.ndarray)
    np.testing.assert_array_equal(icdh.load(path).sample(3, 0), model.sample(3, 0))


def test_files_of_the_version_before_are_read(tmp_path):
    """Their fields were not grouped; written again they are, and answer the same."""
    older = icdh.load(Path(__file__).parent / "version4.icdh")
    older.save(tmp_path / "m.icdh")
    for model in (older, icdh.load(tmp_path / "m.icdh")):
        columns, evidence = model.columns, model.edge_evidence
        assert [edge[:2] for edge in model.edge_list()] == [("grade", "a"), ("a", "dose"), ("site", "a")]
        assert model.about["estimator"] == "HNMSearch"
        assert columns.kinds == ["continuous", "categorical", "ordinal", "gridded"]
        assert (columns.frame, columns.transform, list(columns.grids)) == ("pandas", "none", [3])
        np.testing.assert_array_equal(columns.levels[2], [0.0, 1.0, 2.0])
        np.testing.assert_array_equal(columns.masses[3], [0.0])
        assert evidence.probability[2, 0] == 1.0
        assert evidence.mean_loss[2, 0] == pytest.approx(98.592334)
        assert evidence.spread_loss[0, 3] == pytest.approx(9.629014)
        rows = pd.DataFrame({"a": [0.126], "site": ["west"], "grade": [1.0], "dose": [0.24]})
        assert model.predict(rows)["a"][0] == pytest.approx(-0.3308993505)
        assert model.score(rows) == pytest.approx(-2.9773468713)


def test_networks_of_versions_before_have_the_sigmoid_and_all_others_say_what_they_have(tmp_path):
    """Those of the article had no other."""
    path, other = tmp_path / "m.icdh", tmp_path / "other.icdh"
    with pytest.warns():
        fit = FITS["network"].fit(TABLE)
    fit.save(path)

    def silent(version):
        def changed(content):
            for part in content["conditionals"]:
                part["predictor"].pop("activation", None)
            return content | {"version": version}

        return rewritten(other, path, changed)

    pd.testing.assert_frame_equal(icdh.load(silent(5)).predict(TABLE), fit.predict(TABLE), check_exact=True)
    with pytest.raises(ValueError, match="the file is damaged"):
        icdh.load(silent(6))


def test_laws_of_one_name_are_refused(small, tmp_path, monkeypatch):
    monkeypatch.setattr(NormalLaw, "name", "labels")
    with pytest.raises(TypeError, match="two laws share a name"):
        small[0].save(tmp_path / "m.icdh")


def test_a_file_that_cannot_be_written_leaves_the_older_one(small, tmp_path):
    model, _, content = small
    path = tmp_path / "m.icdh"
    path.write_bytes(content)

    class Unknown:
        """No part of a model."""

    with pytest.raises(TypeError, match="files know nothing of Unknown"):
        replace(model, conditionals=[Unknown(), Unknown()]).save(path)
    assert path.read_bytes() == content
    with pytest.raises(OSError, match="no folder"):
        model.save(tmp_path / "absent" / "m.icdh")


def test_only_fits_can_be_saved_and_only_files_read(tmp_path):
    with pytest.raises(NotFittedError):
        HNMSearch().save(tmp_path / "m.icdh")
    for path, error in ((tmp_path / "m.icdh", FileNotFoundError), (tmp_path, OSError)):
        with pytest.raises(error, match=r"No such file|directory|denied"):
            icdh.load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PK\x05\x06" + 18 * b"\0", b"\x80\x04."])
def test_other_files_are_no_models(tmp_path, content):
    path = tmp_path / "m.icdh"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"m\.icdh is not a model that icdh"):
        icdh.load(path)


def with_another_unit(conditional):
    network = conditional["predictor"]
    return conditional | {"predictor": network | {"hidden_units": network["hidden_units"] + 1}}


def within(part, change):
    """A change of the content that changes one part of it."""
    return lambda content: content | {part: change(content, content[part])}


def without(key, part):
    return within(part, lambda content, own: {name: value for name, value in own.items() if name != key})


def no_scale(content, columns):
    return columns | {"scaling": {**columns["scaling"], "scale": columns["scaling"]["offset"]}}


def rewritten(path, source, change=lambda content: content, compression=zipfile.ZIP_STORED, more=()):
    """Write the entries of an archive again, with its JSON changed."""
    with zipfile.ZipFile(source) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["model.json"] = json.dumps(change(json.loads(entries["model.json"]))).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in [*entries.items(), *more]:
            archive.writestr(name, data)
    return path


def moved(conditional, shift):
    """A conditional whose noise, a free density, is moved."""
    law = conditional["law"]
    return conditional | {"law": law | {"errors": law["errors"] | {"shift": shift}}}


@cases(
    ("change", "message"),
    (lambda c: c | {"version": 1}, "version 1 of the format, not 4 to 8; use another icdh"),
    (lambda c: c | {"format": "other"}, "not that of a model"),
    (within("columns", lambda c, own: own | {"names": ["x0"]}), "shape"),
    (within("columns", lambda c, own: own | {"names": ["x0", "x0"]}), "names do not name variables"),
    (within("columns", lambda c, own: own | {"named": 1}), "named is no bool"),
    (lambda c: c | {"about": {"parameters": {"l1": 3}}}, "parameters is no str"),
    (within("columns", no_scale), "a scale is not positive"),
    (
        lambda c: c | {"conditionals": [own | {"law": {"kind": "os.system"}} for own in c["conditionals"]]},
        "no known kind",
    ),
    (lambda c: c | {"hidden_causes": [{"children": ["a"]}]}, "it has hidden common causes, as models no longer have"),
    (lambda c: c | {"conditionals": [with_another_unit(own) for own in c["conditionals"]]}, "theta has shape"),
    (within("columns", lambda c, own: own | {"centre": own["centre"] | {"shape": [10**15]}}), r"centre has shape"),
    (lambda c: c | {"conditionals": [own | {"limits": c["adjacency"]} for own in c["conditionals"]]}, "limits are not"),
    (lambda c: c | {"conditionals": [moved(own, 1e160) for own in c["conditionals"]]}, "density is moved too far"),
    (
        lambda c: c | {"conditionals": [own | {"law": own["law"] | {"low": -1e308}} for own in c["conditionals"]]},
        "limits are in the wrong order or beyond all values",
    ),
    (lambda c: c | {"adjacency": c["adjacency"] | {"array": "model.json"}}, "bytes, not 32"),
    (without("centre", "columns"), "the file is damaged"),
)
def test_contradictions_are_named(small, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        icdh.load(rewritten(tmp_path / "m.icdh", small[1], change))


def test_inputs_beyond_all_variables_never_reach_compiled_code(small, tmp_path):
    def far(content):
        first, second = (own["predictor"] for own in content["conditionals"])
        for name in ("inputs", "widths"):
            first[name], second[name] = {"array": f"arrays/{name}", "dtype": "<i8", "shape": [1]}, first[name]
        return content

    more = [(f"arrays/{name}", np.array([n]).astype("<i8").tobytes()) for name, n in (("inputs", 10**9), ("widths", 1))]
    with pytest.raises(ValueError, match="inputs are not variables"):
        icdh.load(rewritten(tmp_path / "m.icdh", small[1], far, more=more))


def test_archives_that_grow_when_read_are_refused(small, tmp_path):
    path = rewritten(tmp_path / "m.icdh", small[1], compression=zipfile.ZIP_DEFLATED, more=[("x", bytes(10**6))])
    with pytest.raises(ValueError, match="compressed"):
        icdh.load(path)


MANY = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@settings(max_examples=150, **MANY)
@given(st.data())
def test_damaged_files_are_refused_or_unharmed(small, tmp_path, data):
    model, _, content = small
    damaged, path = bytearray(content), tmp_path / "damaged.icdh"
    kind = data.draw(st.sampled_from(["change", "cut", "insert"]))
    at = data.draw(st.integers(0, len(content) - 1))
    if kind == "change":
        damaged[at] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del damaged[at : at + data.draw(st.integers(1, 1000))]
    else:
        damaged[at:at] = data.draw(st.binary(min_size=1, max_size=50))
    path.write_bytes(damaged)
    try:
        found = icdh.load(path)
    except ValueError:
        return
    np.testing.assert_array_equal(found.sample(5, 0), model.sample(5, 0))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
    max_leaves=5,
)


def places(content, path=()):
    """Every path into nested lists and mappings."""
    yield path
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def replaced(content, path, value):
    if not path:
        return value
    content[path[0]] = replaced(content[path[0]], path[1:], value)
    return content


@settings(max_examples=200, **MANY)
@given(st.data())
def test_foreign_content_is_refused_or_a_model(small, tmp_path, data):
    """Whatever stands in the JSON: ValueError, or a model that answers."""

    def change(content):
        path = data.draw(st.sampled_from(sorted(places(content), key=str)))
        return replaced(content, path, data.draw(JSON))

    path = rewritten(tmp_path / "foreign.icdh", small[1], change)
    try:
        found = icdh.load(path)
    except ValueError:
        return
    assert np.isfinite(found.sample(5, 0)).all()
    found.predict(np.zeros((2, 2)))
