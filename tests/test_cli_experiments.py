"""Experiments from the command line: the column of conditions, and what each of them sets."""

import io
import re
import sys

import numpy as np
import pytest
from helpers import linear_chain

import icdh
from icdh import HNMSearch, Interventions, bootstrap, cli
from icdh.files import LabelledTable, read_with_labels

QUICK = ["--method", "search", "--noise-distribution", "gaussian", "--hidden-units", 3, "--n-restarts", 1]
TARGETS = "none=; set b=b; drug=?"


@pytest.fixture(scope="module")
def experiment():
    """A table and the condition of every row."""
    rng = np.random.default_rng(0)
    X = np.vstack([linear_chain(rng, 150), linear_chain(rng, 150, b_set=True), linear_chain(rng, 150, shift=3.0)])
    return X, ["none"] * 150 + ["set b"] * 150 + ["drug"] * 150


@pytest.fixture(scope="module")
def file(experiment, tmp_path_factory):
    """The table as a European spreadsheet writes it, the condition first."""
    path = tmp_path_factory.mktemp("experiment") / "data.csv"
    lines = ["cond;a;b;c"]
    for row, condition in zip(experiment[0].tolist(), experiment[1], strict=True):
        lines.append(";".join([condition, *(repr(value).replace(".", ",") for value in row)]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def fit(shown):
    return lambda data, *options: shown("fit", data, "--decimal", ",", *options)


@pytest.fixture(scope="module")
def expected(experiment):
    """What the library learns of the same."""
    X, conditions = experiment
    interventions = Interventions(conditions, {"none": [], "set b": ["b"], "drug": None})
    estimator = HNMSearch(noise_distribution="gaussian", hidden_units=3, n_restarts=1)
    return estimator.fit(LabelledTable(X, ["a", "b", "c"]), interventions=interventions), interventions


def test_the_command_learns_what_the_library_does(file, experiment, expected, fit, tmp_path):
    model, interventions = expected
    saved, table = tmp_path / "m.icdh", tmp_path / "p.csv"
    options = ["--condition-column", "cond", "--targets", TARGETS, "--bootstrap", 2, "--save", saved]
    code, out, err = fit(file, *QUICK, *options, "--probabilities", table)
    assert code == 0
    again = icdh.load(saved)
    np.testing.assert_array_equal(again.adjacency, model.adjacency_matrix_)
    ensemble = bootstrap(model, LabelledTable(experiment[0], ["a", "b", "c"]), 2, interventions=interventions)
    np.testing.assert_array_equal(again.edge_probability, ensemble.edge_probability)
    assert f"condition drug acts on b ({model.targets_['drug'][1]:.3g})" in out
    assert "condition 'none', 150 rows: sets nothing" in err
    assert "condition 'set b', 150 rows: sets b" in err
    assert "condition 'drug', 150 rows: what it does is to be found" in err
    assert fit(file, *QUICK, *options, "--quiet") == (0, "", "")


def test_both_methods_take_them(file, fit):
    options = [
        "--condition-column",
        "cond",
        "--targets",
        TARGETS,
        "--method",
        "icdh",
        "--scaling",
        "standardize",
        "--bias",
    ]
    code, out, _ = fit(file, *options)
    assert code == 0
    assert "condition drug acts on b" in out


def test_without_targets_all_are_to_be_found(file, fit):
    code, out, err = fit(file, *QUICK, "--condition-column", "cond")
    assert code == 0
    assert "condition 'none', 150 rows: what the others are compared with" in err
    assert [line.split(" acts")[0] for line in out.splitlines()[-2:]] == ["condition set b", "condition drug"]


def test_tables_with_conditions_from_pipes(file, fit, monkeypatch):
    of_file = fit(file, *QUICK, "--condition-column", "cond", "--targets", TARGETS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert fit("-", *QUICK, "--condition-column", "cond", "--targets", TARGETS) == of_file


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--targets", TARGETS], "--targets goes with --condition-column"),
        (["--condition-column", "cnd"], "no column 'cnd'; it has cond, a, b, c"),
        (["--condition-column", "cond", "--targets", "none=; set b=b"], r"nothing of condition 'drug'.*drug=\?"),
        (["--condition-column", "cond", "--targets", "none"], r"given as 'A=x y; B=\?; C='"),
        (["--condition-column", "cond", "--targets", "none=q; set b=b; drug=?"], "'q' is no variable"),
    ],
)
def test_what_does_not_fit_is_said(file, fit, options, message):
    code, out, err = fit(file, *options)
    assert (code, out) == (2, "")
    assert re.search(message, err)
    assert "Traceback" not in err


def read_labels(path, column):
    return read_with_labels(path, [column], columns=())[1][0]


def test_labels_of_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,how\n1,"x, y"\n\n2,NA\n3,\n')
    with pytest.raises(ValueError, match="column 'how' says nothing in row 3; fill the cell or delete the row"):
        read_labels(path, "how")
    path.write_text('a,how\n1,"x, y"\n\n2,NA\n')
    assert read_labels(path, "how") == ["x, y", "NA"]
    path.write_text("1,2\n3,4\n")
    assert read_labels(path, "x1") == ["2", "4"]


def test_conditions_in_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    parquet.write_table(arrow.table({"a": [1.0, 2.0, 3.0], "how": ["x", "y", None]}), path)
    with pytest.raises(ValueError, match="column 'how' says nothing in row 3; fill"):
        read_labels(path, "how")
    parquet.write_table(arrow.table({"a": [1.0, 2.0], "how": ["x", "y"]}), path)
    assert read_labels(path, "how") == ["x", "y"]


def test_the_conditions_of_a_data_set_of_the_package_are_known(capsys):
    assert cli.main(["fit", "--dataset", "sachs-experiments", "--condition-column", "condition"]) == 2
    assert "is about a file" in capsys.readouterr().err


def test_an_interval_of_an_effect_is_refused_for_rows_of_several_conditions(file, capsys):
    pair = ["--cause", "a", "--effect", "c", "--adjust", "none", "--condition-column", "cond", "--columns", "a", "c"]
    assert cli.main(["effects", str(file), "--decimal", ",", *pair]) == 2
    assert "an interval is about rows of one condition" in capsys.readouterr().err
