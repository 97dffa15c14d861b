"""Experiments from the command line: the column of conditions, and what each of them sets."""

import io
import re
import sys

import numpy as np
import pytest
from helpers import cases, linear_chain

import icdh
from icdh import HNMSearch, Interventions, bootstrap
from icdh.files import LabelledTable

OF_QUICK = {"noise_distribution": "gaussian", "hidden_units": 3, "n_restarts": 1}
QUICK = ["--method", "search", "--noise-distribution", "gaussian", "--hidden-units", 3, "--n-restarts", 1]
TARGETS = "none=; set b=b; drug=?"
CONDITIONS = ["--condition-column", "cond", "--targets", TARGETS]


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
    rows = zip(experiment[0].tolist(), experiment[1], strict=True)
    lines = [";".join([condition, *(repr(value).replace(".", ",") for value in row)]) for row, condition in rows]
    path.write_text("\n".join(["cond;a;b;c", *lines]) + "\n")
    return path


@pytest.fixture
def fit(shown):
    return lambda data, *options: shown("fit", data, "--decimal", ",", *options)


def test_the_command_learns_what_the_library_does(file, experiment, fit, tmp_path):
    interventions = Interventions(experiment[1], {"none": [], "set b": ["b"], "drug": None})
    X, estimator = LabelledTable(experiment[0], ["a", "b", "c"]), HNMSearch(**OF_QUICK)
    model = estimator.fit(X, interventions=interventions)
    saved, options = tmp_path / "m.icdh", [*QUICK, *CONDITIONS, "--bootstrap", 2]
    code, out, err = fit(file, *options, "--save", saved, "--probabilities", tmp_path / "p.csv")
    assert code == 0
    again = icdh.load(saved)
    np.testing.assert_array_equal(again.adjacency, model.adjacency_matrix_)
    ensemble = bootstrap(model, X, 2, interventions=interventions)
    np.testing.assert_array_equal(again.edge_probability, ensemble.edge_probability)
    assert f"condition drug acts on b ({model.targets_['drug'][1]:.3g})" in out
    for name, does in (("none", "sets nothing"), ("set b", "sets b"), ("drug", "what it does is to be found")):
        assert f"condition '{name}', 150 rows: {does}" in err
    assert fit(file, *options, "--quiet") == (0, "", "")


def test_both_methods_take_them(file, fit):
    code, out, _ = fit(file, *CONDITIONS, "--method", "icdh", "--scaling", "standardize", "--bias")
    assert (code, "condition drug acts on b" in out) == (0, True)


def test_without_targets_all_are_to_be_found(file, fit, monkeypatch):
    """Also in a table from a pipe."""
    of_file = code, out, err = fit(file, *QUICK, *CONDITIONS[:2])
    assert (code, "condition 'none', 150 rows: what the others are compared with" in err) == (0, True)
    assert [line.split(" acts")[0] for line in out.splitlines()[-2:]] == ["condition set b", "condition drug"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert fit("-", *QUICK, *CONDITIONS[:2]) == of_file


@cases(
    ("options", "message"),
    (["--targets", TARGETS], "--targets goes with --condition-column"),
    (["--condition-column", "cnd"], "no column 'cnd'; it has cond, a, b, c"),
    (["--condition-column", "cond", "--targets", "none=; set b=b"], r"nothing of condition 'drug'.*drug=\?"),
    (["--condition-column", "cond", "--targets", "none"], r"given as 'A=x y; B=\?; C='"),
    (["--condition-column", "cond", "--targets", "none=q; set b=b; drug=?"], "'q' is no variable"),
)
def test_what_does_not_fit_is_said(file, fit, options, message):
    code, out, err = fit(file, *options)
    assert (code, out, "Traceback" in err) == (2, "", False)
    assert re.search(message, err)


def test_the_conditions_of_a_data_set_of_the_package_are_known(shown):
    code, _, err = shown("fit", "--dataset", "sachs-experiments", "--condition-column", "condition")
    assert (code, "is about a file" in err) == (2, True)


def test_an_interval_of_an_effect_is_refused_for_rows_of_several_conditions(file, shown):
    pair = ["--cause", "a", "--effect", "c", "--adjust", "none", "--condition-column", "cond", "--columns", "a", "c"]
    code, _, err = shown("effects", file, "--decimal", ",", *pair)
    assert (code, "an interval is about rows of one condition" in err) == (2, True)
