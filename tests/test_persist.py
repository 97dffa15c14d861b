"""Models as files: equal to the last bit after reading, and never anything but ValueError from what is no model."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import icdh
from icdh import ICDH, HNMSearch, NotFittedError
from icdh._model.structural import StructuralModel

X = hetero_chain(np.random.default_rng(0), 120)
# Names are Python objects: pandas would store text in pyarrow, which refuses half of a surrogate pair.
NAMES = pd.Index(["a", "Größe", "c\ud800", "constant"], dtype=object)
TABLE = pd.DataFrame(np.column_stack([X, np.full(120, 7.0)]), columns=NAMES)


def fits():
    yield "network", lambda: ICDH(scaling="standardize", max_rounds=2)
    yield "biased network", lambda: ICDH(scaling="center", bias=True, max_rounds=2, hidden_units=3)
    yield "search", lambda: HNMSearch(noise_distribution="gaussian", n_restarts=1)
    yield "free noise", lambda: HNMSearch(noise_distribution="free", n_restarts=1)


@pytest.fixture(scope="module", params=[fit for _, fit in fits()], ids=[name for name, _ in fits()])
def fit(request):
    with pytest.warns():
        return request.param().fit(TABLE)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A saved model, the path of its file and the bytes of it."""
    model = HNMSearch(noise_distribution="free", n_restarts=1).fit(X[:40, :2])
    path = tmp_path_factory.mktemp("model") / "m.icdh"
    model.save(path)
    return model.model_, path, path.read_bytes()


def test_what_was_saved_is_read_to_the_last_bit(fit, tmp_path):
    path = tmp_path / "m.icdh"
    fit.save(path)
    again = icdh.load(path)
    assert isinstance(again, StructuralModel)
    assert again.names == fit.model_.names
    assert again.about == fit.model_.about
    assert again.about["estimator"] == type(fit).__name__
    np.testing.assert_array_equal(again.adjacency, fit.adjacency_matrix_)
    for ask in ("predict", "predict_scale", "residuals"):
        pd.testing.assert_frame_equal(getattr(again, ask)(TABLE), getattr(fit, ask)(TABLE), check_exact=True)
    assert again.score(TABLE) == fit.score(TABLE)
    do = {"a": 1.0, "Größe": icdh.Shift(0.5)}
    pd.testing.assert_frame_equal(again.sample(50, 0, do=do), fit.sample(50, 0, do=do), check_exact=True)
    pd.testing.assert_frame_equal(again.counterfactual(TABLE, do), fit.counterfactual(TABLE, do), check_exact=True)
    assert again.edge_list() == fit.edge_list()


def test_reading_and_writing_again_gives_the_same_file(fit, tmp_path):
    first, second = tmp_path / "first.icdh", tmp_path / "second.icdh"
    fit.save(first)
    icdh.load(first).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_probabilities_of_edges_are_kept(small, tmp_path):
    """And a file that says nothing of them, as older ones, has none."""
    model, older, _ = small
    probability = np.array([[0.0, 0.7], [0.1, 0.0]])
    model.save(tmp_path / "m.icdh", edge_probability=probability)
    again = icdh.load(tmp_path / "m.icdh")
    np.testing.assert_array_equal(again.edge_probability, probability)
    assert icdh.load(older).edge_probability is None
    silent = rewritten(tmp_path / "n.icdh", older, lambda c: {k: v for k, v in c.items() if k != "edge_probability"})
    assert icdh.load(silent).edge_probability is None
    loud = rewritten(tmp_path / "o.icdh", older, lambda c: c | {"edge_probability": c["adjacency"]})
    assert model.adjacency.max() > 1.0
    with pytest.raises(ValueError, match="does not hold probabilities"):
        icdh.load(loud)


def test_arrays_give_arrays_after_reading(small):
    model, path, _ = small
    assert isinstance(icdh.load(path).sample(3, 0), np.ndarray)
    np.testing.assert_array_equal(icdh.load(path).sample(3, 0), model.sample(3, 0))


def test_a_file_that_cannot_be_written_leaves_the_older_one(small, tmp_path):
    model, _, content = small
    path = tmp_path / "m.icdh"
    path.write_bytes(content)

    class Unknown:
        inputs = np.zeros(0, dtype=int)

    strange = StructuralModel(model.names, False, model.scaling, model.adjacency, [Unknown(), Unknown()], model.centre)
    with pytest.raises(TypeError, match="files know nothing of Unknown"):
        strange.save(path)
    assert path.read_bytes() == content
    with pytest.raises(OSError, match="no folder"):
        model.save(tmp_path / "absent" / "m.icdh")


def test_only_fits_can_be_saved_and_only_files_read(tmp_path):
    with pytest.raises(NotFittedError):
        HNMSearch().save(tmp_path / "m.icdh")
    with pytest.raises(FileNotFoundError):
        icdh.load(tmp_path / "m.icdh")
    with pytest.raises(OSError, match=r"directory|denied"):
        icdh.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PK\x05\x06" + 18 * b"\0", b"\x80\x04."])
def test_other_files_are_no_models(tmp_path, content):
    path = tmp_path / "m.icdh"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"m\.icdh is not a model that icdh"):
        icdh.load(path)


def rewritten(path, source, change=lambda content: content, compression=zipfile.ZIP_STORED, more=()):
    """Write the entries of an archive again, with its JSON changed."""
    with zipfile.ZipFile(source) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["model.json"] = json.dumps(change(json.loads(entries["model.json"]))).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in [*entries.items(), *more]:
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c | {"version": 1}, "version 1 of the format, not 2; use another icdh"),
        (lambda c: c | {"format": "other"}, "not that of a model"),
        (lambda c: c | {"names": ["x0"]}, "shape"),
        (lambda c: c | {"names": ["x0", "x0"]}, "names do not name variables"),
        (lambda c: c | {"named": 1}, "named is no bool"),
        (lambda c: c | {"noise": c["noise"][:1]}, "there are not 2 noise"),
        (lambda c: c | {"about": {"parameters": {"l1": 3}}}, "parameters is no str"),
        (lambda c: c | {"scaling": {**c["scaling"], "scale": c["scaling"]["offset"]}}, "a scale is not positive"),
        (lambda c: c | {"conditionals": [{"kind": "os.system"}] * 2}, "are of no known kind"),
        (lambda c: c | {"centre": c["centre"] | {"shape": [10**15]}}, r"centre has shape"),
        (lambda c: c | {"adjacency": c["adjacency"] | {"array": "model.json"}}, "bytes, not 32"),
        (lambda c: {key: value for key, value in c.items() if key != "centre"}, "the file is damaged"),
    ],
)
def test_contradictions_are_named(small, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        icdh.load(rewritten(tmp_path / "m.icdh", small[1], change))


def test_weights_of_another_shape_never_reach_compiled_code(small, tmp_path):
    def shrink(content):
        for part in content["conditionals"]:
            part["hidden_units"] += 1
        return content

    with pytest.raises(ValueError, match="theta has shape"):
        icdh.load(rewritten(tmp_path / "m.icdh", small[1], shrink))

    def far(content):
        for name in ("inputs", "widths"):
            content["conditionals"][1][name] = content["conditionals"][0][name]
            content["conditionals"][0][name] = {"array": f"arrays/{name}", "dtype": "<i8", "shape": [1]}
        return content

    more = [(f"arrays/{name}", np.array([n]).astype("<i8").tobytes()) for name, n in (("inputs", 10**9), ("widths", 1))]
    with pytest.raises(ValueError, match="inputs are not variables"):
        icdh.load(rewritten(tmp_path / "m.icdh", small[1], far, more=more))


def test_archives_that_grow_when_read_are_refused(small, tmp_path):
    path = rewritten(tmp_path / "m.icdh", small[1], compression=zipfile.ZIP_DEFLATED, more=[("x", bytes(10**6))])
    with pytest.raises(ValueError, match="compressed"):
        icdh.load(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_are_refused_or_unharmed(small, tmp_path, data):
    model, _, content = small
    damaged = bytearray(content)
    kind = data.draw(st.sampled_from(["change", "cut", "insert"]))
    at = data.draw(st.integers(0, len(content) - 1))
    if kind == "change":
        damaged[at] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del damaged[at : at + data.draw(st.integers(1, 1000))]
    else:
        damaged[at:at] = data.draw(st.binary(min_size=1, max_size=50))
    path = tmp_path / "damaged.icdh"
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


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
