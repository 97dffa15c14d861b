"""Tables of pandas, polars and pyarrow, and masked arrays: what comes in, and what is given back."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest
from helpers import cases, hetero_chain
from numpy.testing import assert_array_equal
from support.table import columns_of, frame_of

import icdh
from icdh import HNMSearch, Interventions, bootstrap, causal_direction, check, effect
from icdh.exceptions import MissingExtraError

QUICK = {"hidden_units": 3, "n_restarts": 1, "noise_distribution": "gaussian", "column_transform": "none"}
X = hetero_chain(np.random.default_rng(0), 200)
COLOURS = np.where(X[:, 0] + X[:, 1] > 0, "red", "blue")
COLUMNS = {"a": X[:, 0], "b": X[:, 1], "colour": COLOURS.astype(object), "c": X[:, 2]}


def of(library):
    pytest.importorskip(library)
    return frame_of(library, COLUMNS)


def cells_of(table):
    return np.column_stack([column.astype(object) for column in columns_of(table)])


@pytest.fixture(scope="module")
def expected():
    return HNMSearch(**QUICK).fit(of("pandas"))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_what_came_in_comes_out(library, expected, tmp_path):
    table = of(library)
    model = HNMSearch(**QUICK).fit(table)
    assert_array_equal(model.adjacency_matrix_, expected.adjacency_matrix_)
    assert list(model.feature_names_in_) == list(COLUMNS)
    model.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    for ask in (
        lambda own, rows: own.predict(rows),
        lambda own, rows: own.predict_scale(rows),
        lambda own, rows: own.residuals(rows),
        lambda own, _: own.sample(20, 0),
        lambda own, rows: own.counterfactual(rows, do={"c": 1.0}),
        lambda own, rows: own.probabilities("colour", rows),
    ):
        known = ask(expected.model_, of("pandas")).to_numpy()
        for answer in (ask(model.model_, table), ask(again, table)):
            assert type(answer) is type(table)
            assert_array_equal(cells_of(answer), known)
    assert type(model.predict(table)) is type(table)
    assert np.isfinite(model.score(model.sample(50, 0)))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_nulls_are_gaps(library):
    module, cells = pytest.importorskip(library), {"x": [1.0, 2.0, None, 4.0], "word": ["u", None, "v", "u"]}
    tables = [(module.table if library == "pyarrow" else module.DataFrame)(cells)]
    if library == "pyarrow":
        tables.append(module.table({**cells, "word": module.array(cells["word"]).dictionary_encode()}))
    for table in tables:
        read = HNMSearch(missing="drop", kinds={"word": "categorical"}).as_table(table)
        assert_array_equal(read.gaps, [[0, 0, 1, 0], [0, 1, 0, 0]])
        assert_array_equal(read.values[1][[0, 2, 3]], [0.0, 1.0, 0.0])


def test_a_library_that_is_not_there_is_named():
    with pytest.raises(MissingExtraError, match="a table of polars_of_old, which is not installed"):
        frame_of("polars_of_old", {})


@pytest.mark.parametrize("dtype", [float, int, object])
def test_what_is_masked_is_a_gap(dtype):
    cells = (100 * X).astype(dtype)
    table = np.ma.masked_array(cells, mask=np.zeros(X.shape, dtype=bool))
    assert_array_equal(icdh.ICDH().as_table(table).values, cells.T.astype(float))
    table[3, 1] = table[7, 2] = np.ma.masked
    read = HNMSearch(missing="drop").as_table(table)
    assert_array_equal(np.argwhere(read.gaps.T), [[3, 1], [7, 2]])
    assert np.count_nonzero(table.mask) == 2  # the input is as it was
    for ask in (HNMSearch().fit, HNMSearch(**QUICK).fit(X).predict, lambda rows: causal_direction(*rows.T[:2])):
        with pytest.raises(ValueError, match="has gaps"):
            ask(table)
    words = np.ma.masked_array(np.array([["u"], ["v"], ["u"], ["v"]]), mask=[[0], [0], [0], [1]])
    read = HNMSearch(missing="drop", kinds={0: "categorical"}).as_table(words)
    assert_array_equal(read.values[0], [0.0, 1.0, 0.0, np.nan])


@cases(
    "labels",
    [0.5, 1.5, 2.5],
    [1.0, "1.0", 2],
    [True, False, "True"],
    [datetime.date(2024, 3, 31), "2024-03-31", datetime.date(2024, 4, 1)],
    pd.date_range("2024-03-31 12:00", periods=3, tz="UTC"),
    pd.MultiIndex.from_product([["a"], [0.5, 1, datetime.date(2024, 1, 1)]]),
    [np.float64(0.1), np.int64(3), np.bool_(True)],
    ids=repr,
)
def test_labels_of_columns_survive_a_file(labels, tmp_path):
    frame = pd.DataFrame(X, columns=labels)
    model = HNMSearch(**QUICK).fit(frame)
    model.save(tmp_path / "m.icdh")
    again = icdh.load(tmp_path / "m.icdh")
    assert again.names == model.model_.names
    assert [type(_plain(name)) for name in again.names] == [type(_plain(name)) for name in model.model_.names]
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(frame))
    assert list(again.sample(2, 0).columns) == list(model.sample(2, 0).columns) == list(frame.columns)


def _plain(label):
    """Return a label as Python's own types have it."""
    label = label.item() if isinstance(label, np.generic) else label
    return label.to_pydatetime() if isinstance(label, pd.Timestamp) else label


TINY = pd.Timestamp("2020-01-01 00:00:00.000000001")
MONTH = pd.Period("2020-01", "M")


@pytest.mark.parametrize(
    "strange",
    [pd.Timedelta(1), MONTH, pd.Interval(0, 1), b"bytes", np.nan, TINY, ("a", ("b", "c")), ("a", MONTH)],
    ids=repr,
)
def test_names_that_would_not_come_back_are_refused_on_saving(strange, tmp_path):
    names = pd.Index([strange, "b", "c"], dtype=object, tupleize_cols=False)
    model = HNMSearch(**QUICK).fit(pd.DataFrame(X, columns=names))
    with pytest.raises(ValueError, match="which a file cannot hold; rename it"):
        model.save(tmp_path / "m.icdh")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_and_durations_are_refused_with_the_remedy(library):
    module = pytest.importorskip(library)
    days = [datetime.datetime(2024, 3, 31), datetime.datetime(2024, 4, 1)]
    for cells in (days, [day - days[0] for day in days]):
        with pytest.raises(TypeError, match=r"column 't' of X holds dates or times.*such as days, or drop it"):
            HNMSearch().as_table(module.DataFrame({"a": [1.0, 2.0], "t": cells}))


def test_a_column_reads_the_same_whatever_stands_beside_it():
    frame = pd.DataFrame({"a": X[:, 0], "n": np.arange(200), "flag": X[:, 1] > 0, "word": COLOURS})
    table = HNMSearch(missing="drop").as_table(frame.convert_dtypes().assign(gap=pd.array([None, 1] * 100)))
    assert_array_equal(table.values[:3], [X[:, 0], np.arange(200), X[:, 1] > 0])
    assert_array_equal(table.values[4], [np.nan, 1.0] * 100)
    assert table.categories[3].labels == HNMSearch().as_table(frame[["word"]]).categories[0].labels


@pytest.mark.filterwarnings("ignore::icdh.DataWarning")
def test_declared_labels_that_no_row_held_are_accepted(tmp_path):
    declared = pd.CategoricalDtype(["unseen", "red", "blue", "green"])
    colours = np.where(np.arange(len(X)) % 3, COLOURS, "green")
    frame = pd.DataFrame({"g": colours, "c": np.where(colours == "red", 3.0, 0.0) + X[:, 0]}).astype({"g": declared})
    model, known = HNMSearch(**QUICK).fit(frame), HNMSearch(**QUICK).fit(frame.astype({"g": object}))
    assert_array_equal(model.edge_strength_, known.edge_strength_)  # what nobody saw counts for nothing
    assert set(model.sample(500, 0)["g"]) == {"red", "blue", "green"}
    rows = pd.DataFrame({"g": pd.Series(["unseen", "red", "blue"], dtype=declared), "c": 0.0})
    model.save(tmp_path / "m.icdh")
    for asked in (model, icdh.load(tmp_path / "m.icdh")):
        prediction = asked.predict(rows)
        pd.testing.assert_frame_equal(prediction[1:], known.predict(rows[1:].astype({"g": object})))
        assert np.isfinite(prediction["c"][0])
        with pytest.raises(ValueError, match="a label that no row of the fit held has no probability"):
            asked.score(rows)


@pytest.mark.parametrize("kind", ["int64", "Int64", object])
def test_identifiers_that_double_precision_merges_are_refused(kind):
    frame = pd.DataFrame({"a": X[:, 0], "id": pd.Series(2**60 + np.arange(200)).astype(kind)})
    with pytest.raises(ValueError, match=r"'id' of X holds whole numbers above 2\*\*53 .* drop it, or subtract"):
        HNMSearch().as_table(frame)
    times = pd.Series(1_700_000_000_000_000_000 + 10**9 * np.arange(200)).astype(kind)
    assert HNMSearch().as_table(frame.assign(id=times)).n_distinct(1) == 200


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    a = rng.normal(size=300)
    b = a + (0.3 + 0.4 * (a > 0)) * rng.normal(size=300)
    return pd.DataFrame({"a": a, "b": b, "c": np.sin(b) + 0.3 * rng.normal(size=300)})


def test_masks_are_aligned_by_their_labels(frame):
    first = pd.DataFrame(np.eye(3, k=1), index=list("abc"), columns=list("abc"))
    mask = pd.DataFrame({name: np.arange(300) < 100 * (name == "b") for name in "abc"})

    def found(interventions):
        return HNMSearch(n_restarts=1).fit(frame, interventions=interventions).adjacency_matrix_

    for columns in ("abc", "cba"):
        assert_array_equal(found(mask[list(columns)]), found(mask.to_numpy()))
    probability = pd.DataFrame(0.5 * first, index=list("cab"), columns=list("bac"))
    model = HNMSearch(n_restarts=1).fit(frame).model_.with_edge_probability(probability)
    assert_array_equal(model.edge_evidence.probability, 0.5 * first.to_numpy())


def test_masks_of_other_labels_are_refused(frame):
    columns = pd.DataFrame(False, index=frame.index, columns=list("abe"))
    rows, cause = columns.set_axis(list("abc"), axis=1).iloc[::-1], frame["a"].iloc[::-1]
    model = HNMSearch(n_restarts=1).fit(frame)
    weights, conditions = cause - cause.min() + 1.0, Interventions(cause > 0.0, {True: ["a"], False: []})
    remedy = "interventions has other row labels than X; pass conditions.loc[X.index]"
    for said, ask in (
        (remedy, lambda: HNMSearch().fit(frame, interventions=conditions)),
        ("sample_weight has other row labels", lambda: effect(frame, "a", "b", [], sample_weight=weights)),
        ("interventions has the label 'e', which no variable", lambda: HNMSearch().fit(frame, interventions=columns)),
        ("edge_probability has the label 'e'", lambda: model.model_.with_edge_probability(columns[:3].corr())),
        ("interventions has other row labels than X", lambda: HNMSearch().fit(frame, interventions=rows)),
        ("interventions has other row labels", lambda: bootstrap(HNMSearch(), frame, 1, interventions=rows)),
        ("interventions has other row labels than X", lambda: check(model, frame, interventions=rows)),
        ("do['a'] has other row labels than X", lambda: model.counterfactual(frame, do={"a": cause})),
    ):
        with pytest.raises(ValueError, match=re.escape(said)):
            ask()
