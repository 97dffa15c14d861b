"""Groups and sequences: the evidence of an edge counts what its rows are worth."""

import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from naive import design_effect

from icdh import ICDH, HNMSearch, Interventions, bootstrap, check, posterior, refits
from icdh._node_model.evidence import fit_node
from icdh._rows.related import RelatedRows
from icdh.cli import main
from icdh.uncertainty import direction_loss, hidden_loss

QUICK = {"n_restarts": 1, "column_transform": "none", "noise_distribution": "gaussian"}


def visits(seed, persons=30, times=12):
    """Columns a -> b that vary from visit to visit, two columns of persons, and whose visits they are."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(persons), times)
    a = rng.normal(size=groups.size) + rng.normal(size=persons)[groups]
    noise = rng.normal(size=groups.size) + rng.normal(size=persons)[groups]
    b = 3.0 * np.tanh(a) + (0.4 + 0.8 * (a > 0)) * noise
    fixed = rng.normal(size=(persons, 2))[groups]
    return np.column_stack([a, b, fixed]), groups


def fitted(X, **words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HNMSearch(**QUICK).fit(X, **words)


def edges(model):
    return np.argwhere(model.adjacency_matrix_).tolist()


@pytest.mark.parametrize("in_sequence", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_design_effects_are_those_of_slow_sums(grouped, in_sequence):
    if not (grouped or in_sequence):
        return
    rng = np.random.default_rng(0)
    labels = rng.integers(7, size=40) if grouped else np.zeros(40, dtype=int)
    x, y = (np.cumsum(rng.normal(size=40)) for _ in range(2))
    kept = np.sort(rng.permutation(40)[:30])
    related = RelatedRows.of(labels.tolist(), in_sequence, 40)
    for rows in (np.arange(40), kept):
        part = related.of_rows(rows)
        first, second = (part.correlations(own[np.newaxis, rows])[np.newaxis] for own in (x, y))
        places = None if not in_sequence else related.places[rows]
        slow = design_effect(x[rows], y[rows], labels[rows], places)
        np.testing.assert_allclose(part.design_effects(first, second), max(slow, 1.0))


def test_a_weighted_fit_to_copies_is_the_fit_to_one_of_each():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1, 80))
    y = np.tanh(x[0]) + 0.5 * rng.normal(size=80)
    once = fit_node(x, y, tol=1e-6)
    copied = fit_node(np.tile(x, 4), np.tile(y, 4), tol=1e-6, weight=0.25)
    np.testing.assert_allclose(copied.evidence, once.evidence, atol=1e-3)
    np.testing.assert_allclose(copied.theta, once.theta, atol=0.02)


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_copies_of_rows_give_the_graph_of_one_of_each(missing):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 4))
    X[:, 2] = np.tanh(2.0 * X[:, 0]) + 0.3 * X[:, 2]
    if missing == "drop":
        X[:10, 1] = np.nan
    times = np.where(X[:, 0] > 0.5, 6, 2)
    rows = rng.permutation(np.repeat(np.arange(120), times))
    model, once = (HNMSearch(**QUICK, missing=missing) for _ in range(2))
    np.testing.assert_allclose(
        model.fit(X[rows], groups=rows).adjacency_matrix_, once.fit(X).adjacency_matrix_, rtol=1e-6
    )
    assert edges(once) == [[0, 2]]


def test_persons_suggest_no_edges_and_visits_keep_theirs():
    for seed in range(3):
        X, groups = visits(seed)
        assert edges(fitted(X, groups=groups)) == [[0, 1]]
        assert len(edges(fitted(X))) > 1


def test_walks_suggest_hardly_an_edge():
    found = ignored = 0
    for seed in range(3):
        walks = np.cumsum(np.random.default_rng(seed).normal(size=(300, 3)), axis=0)
        found += len(edges(fitted(walks, sequence=True)))
        ignored += len(edges(fitted(walks)))
    assert found <= 1
    assert ignored >= 7


def test_series_keep_their_edges():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 2))
        for t in range(1, 400):
            X[t] += 0.8 * X[t - 1]
        X[:, 1] = 3.0 * np.tanh(X[:, 0]) + (0.2 + 0.4 * (X[:, 0] > 0)) * X[:, 1]
        assert edges(fitted(X, sequence=True)) == [[0, 1]]


def test_labels_may_be_called_anything_and_come_in_any_order():
    X, groups = visits(3)
    model = fitted(X, groups=groups)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    names = np.array([f"p{k}" for k in rng.permutation(30)])
    for same in (fitted(X, groups=names[groups]), fitted(X[order], groups=groups[order])):
        np.testing.assert_allclose(same.adjacency_matrix_, model.adjacency_matrix_, rtol=1e-6)


def test_one_row_a_group_is_no_group():
    X = np.random.default_rng(4).normal(size=(100, 3))
    X[:, 1] += X[:, 0] ** 2
    np.testing.assert_array_equal(fitted(X, groups=range(100)).adjacency_matrix_, fitted(X).adjacency_matrix_)


def test_a_column_of_groups_is_no_variable():
    X, groups = visits(5)
    frame = pd.DataFrame(X, columns=list("abcd"))
    known = fitted(frame, groups=groups)
    labels = [f"p{k}" for k in groups]
    for table in (frame.assign(person=labels), polars.DataFrame({**frame, "person": labels})):
        model = fitted(table, groups="person")
        assert model.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(model.adjacency_matrix_, known.adjacency_matrix_)
    array = np.column_stack([groups, X])
    np.testing.assert_array_equal(fitted(array, groups=0).adjacency_matrix_, known.adjacency_matrix_)


def test_all_kinds_of_columns_gaps_and_interventions_go_with_groups():
    X, groups = visits(6)
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"a": X[:, 0], "few": np.clip(np.round(X[:, 1]), -2, 2), "yes": X[:, 2] > 0})
    table["label"] = np.where(X[:, 1] > 1, "high", np.where(X[:, 1] > 0, "mid", "low"))
    table["floor"] = np.maximum(X[:, 1], -0.5)
    model = fitted(table, groups=groups)
    assert np.isfinite(model.evidence_)
    with_gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for missing in ("drop", "impute"):
            model = HNMSearch(**QUICK, missing=missing, n_imputations=2).fit(with_gaps, groups=groups)
            assert edges(model) == [[0, 1]]
    conditions = np.where(groups < 10, "trial", "none").tolist()
    model = fitted(X, groups=groups, interventions=Interventions(conditions, {"none": [], "trial": ["x0"]}))
    assert [0, 1] in edges(model)
    model = HNMSearch(**QUICK, knowledge={"forbidden": [("x0", "x1")]}).fit(X, groups=groups)
    assert [0, 1] not in edges(model)


def test_resamples_posterior_and_check_count_whole_groups():
    X, groups = visits(7)
    model = fitted(X, groups=groups)
    for sampling in ("subsample", "bootstrap"):
        ensemble = bootstrap(model, X, 4, groups=groups, sampling=sampling)
        assert ensemble.edge_probability[2:, 2:].max() == 0.0
    assert len(refits(model, X, 2, groups=groups)) == 2
    drawn = posterior(model).edge_probability
    assert drawn[:2, :2].sum() > 0.9
    assert (drawn + drawn.T)[2, 3] < 0.5
    found = check(model, X, groups=groups)
    assert (found.n_observations, found.n_checked) == (360, 30)
    assert bootstrap(ICDH(max_rounds=1), X, 2, groups=groups).edge_probability.shape == (4, 4)


def test_strengths_and_losses_are_of_the_rows_that_they_are_worth():
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(60), 10)
    x = rng.normal(size=60)
    y = np.tanh(2.0 * x) + 0.5 * rng.normal(size=60) * (1.0 + 0.5 * np.abs(x))
    chain = np.column_stack([x, y, y**2 + 0.3 * rng.normal(size=60)])
    once, strong = fitted(chain), fitted(chain[groups] + 1e-3 * rng.normal(size=(600, 3)), groups=groups)
    assert edges(strong) == edges(once)
    np.testing.assert_allclose(strong.edge_strength_.max(), once.edge_strength_.max(), rtol=0.25)
    for loss in (direction_loss, hidden_loss):
        assert np.nanmax(loss(once)) > 10.0
        np.testing.assert_allclose(np.nanmax(loss(strong)), np.nanmax(loss(once)), rtol=0.25)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"groups": [1, 2]}, ValueError, "groups has 2 labels where X has 360 rows"),
        ({"groups": "person"}, ValueError, "groups has the variable 'person'"),
        ({"groups": 3.5}, TypeError, "groups must name a column of X or hold a label for every row"),
        ({"groups": np.ones(360)}, ValueError, "groups holds one label alone"),
        ({"groups": [None] * 360}, ValueError, "groups has a gap"),
        ({"groups": [[1]] * 360}, TypeError, "groups must hold a label for every row"),
        ({"groups": pd.Series(range(360), index=range(1, 361))}, ValueError, "groups has other row labels than X"),
        ({"sequence": 1}, TypeError, "sequence must be True or False"),
    ],
)
def test_what_are_no_groups_is_refused(words, error, message):
    table = pd.DataFrame(visits(9)[0], columns=list("abcd"))
    with pytest.raises(error, match=message):
        HNMSearch().fit(table, **words)


def test_icdh_says_why_it_takes_no_groups():
    X, groups = visits(9)
    with pytest.raises(ValueError, match="ICDH thresholds weights and counts no evidence"):
        ICDH().fit(X, groups=groups)


def test_the_command_line_takes_groups_and_sequences(tmp_path, capsys):
    X, groups = visits(10)
    path, saved = tmp_path / "visits.csv", tmp_path / "visits.icdh"
    table = pd.DataFrame(X, columns=list("abcd")).assign(person=[f"p{k}" for k in groups])
    table.to_csv(path, index=False)
    assert main(["fit", str(path), "--group-column", "person", "--save", str(saved)]) == 0
    assert "4 variables: 1 edge" in capsys.readouterr().out
    assert main(["check", str(saved), str(path), "--group-column", "person"]) == 0
    assert "30 of 360 rows" in capsys.readouterr().out
    assert main(["fit", str(path), "--drop", "person"]) == 0
    assert "--group-column NAME" in capsys.readouterr().err
    assert main(["fit", str(path), "--drop", "person", "--sequence"]) == 0
    assert main(["fit", str(path), "--group-column", "person", "--method", "icdh"]) == 2
    assert "--group-column and --sequence need the evidence" in capsys.readouterr().err
