"""Groups and sequences: the evidence of an edge counts what its rows are worth."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars
import pytest
from helpers import cases, family_evidence, standardised
from naive import design_effect
from support.families import FamilyModels, fit_node
from support.table import RelatedRows

from icdh import ICDH, HNMSearch, Interventions, bootstrap, check, posterior, refits
from icdh.files import LabelledTable
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


def fitted(X, *, groups=None, sequence=False, interventions=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HNMSearch(**QUICK, **options).fit(X, groups=groups, sequence=sequence, interventions=interventions)


def edges(model):
    return np.argwhere(model.adjacency_matrix_).tolist()


@pytest.mark.parametrize(("grouped", "in_sequence"), [(False, True), (True, False), (True, True)])
def test_design_effects_are_those_of_slow_sums(grouped, in_sequence):
    rng = np.random.default_rng(0)
    labels = rng.integers(7, size=40) if grouped else np.zeros(40, dtype=int)
    x, y = (np.cumsum(rng.normal(size=40)) for _ in range(2))
    related = RelatedRows.of(labels.tolist(), in_sequence, 40)
    for rows in (np.arange(40), np.sort(rng.permutation(40)[:30])):
        part = related.of_rows(rows)
        first, second = (part.correlations(own[np.newaxis, rows])[np.newaxis] for own in (x, y))
        places = related.places[rows] if in_sequence else None
        slow = design_effect(x[rows], y[rows], labels[rows], places)
        np.testing.assert_allclose(part.design_effects(first, second), max(slow, 1.0))


def test_noise_is_of_all_rows_where_groups_have_nothing_in_common():
    """A design effect is above one by chance. Without every second row outliers have no noise that explains them."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(300, 3)), rng.standard_t(3, size=300)])
    effects = fitted(X, groups=np.arange(300) // 3).found_graph().scores.models.design_effects
    assert all(effects.apart(node).all() for node in range(4))
    X, groups = visits(0)
    of_persons = fitted(X, groups=groups).found_graph().scores.models.design_effects
    assert min(of_persons.apart(node).mean() for node in range(4)) < 0.2
    assert of_persons.largest() == pytest.approx(12.0, rel=0.02)  # of both columns of persons


def test_rows_that_stand_alone_have_the_scores_of_no_groups():
    x, e, other = np.random.default_rng(0).normal(size=(3, 80))
    scores = family_evidence(standardised(x, np.tanh(x) + 0.5 * e, other))
    alone = RelatedRows.of(list(range(80)), False, 80)
    grouped = FamilyModels(replace(scores.families, related=alone))
    families = [(1, (0,)), (1, (0, 2)), (2, ())]
    scores(families)
    for family in families:
        fit = scores.fit_of(family)
        for name, further in (("score", (fit, "gaussian")), ("linear_score", ("gaussian",))):
            pair = [getattr(models, name)(family, *further) for models in (grouped, scores.models)]
            assert pair[0] == pytest.approx(pair[1])


def test_a_weighted_fit_to_copies_is_the_fit_to_one_of_each():
    x, noise = np.random.default_rng(1).normal(size=(2, 1, 80))
    y = np.tanh(x[0]) + 0.5 * noise[0]
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
    rows = rng.permutation(np.repeat(np.arange(120), np.where(X[:, 0] > 0.5, 6, 2)))
    copied, once = fitted(X[rows], groups=rows, missing=missing), fitted(X, missing=missing)
    np.testing.assert_allclose(copied.adjacency_matrix_, once.adjacency_matrix_, rtol=1e-6)
    assert edges(once) == [[0, 2]]


@pytest.mark.parametrize("seed", range(3))
def test_persons_suggest_no_edges_and_visits_keep_theirs(seed):
    X, groups = visits(seed)
    assert edges(fitted(X, groups=groups)) == [[0, 1]]
    assert len(edges(fitted(X))) > 1


def test_walks_suggest_hardly_an_edge():
    walks = [np.cumsum(np.random.default_rng(seed).normal(size=(300, 3)), axis=0) for seed in range(3)]
    assert sum(len(edges(fitted(own, sequence=True))) for own in walks) <= 1
    assert sum(len(edges(fitted(own))) for own in walks) >= 7


@pytest.mark.parametrize("seed", range(3))
def test_series_keep_their_edges(seed):
    X = np.random.default_rng(seed).normal(size=(400, 2))
    for t in range(1, 400):
        X[t] += 0.8 * X[t - 1]
    X[:, 1] = 3.0 * np.tanh(X[:, 0]) + (0.2 + 0.4 * (X[:, 0] > 0)) * X[:, 1]
    assert edges(fitted(X, sequence=True)) == [[0, 1]]


def test_labels_may_be_called_anything_and_come_in_any_order():
    (X, groups), rng = visits(3), np.random.default_rng(0)
    model, order = fitted(X, groups=groups), rng.permutation(len(X))
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
    model = fitted(array, groups=0)
    np.testing.assert_array_equal(model.adjacency_matrix_, known.adjacency_matrix_)
    assert model.feature_names_in_.tolist() == [1, 2, 3, 4]  # as in a frame without labels
    assert fitted(array[:, [1, 2, 3, 4, 0]], groups=4).model_.names == ["x0", "x1", "x2", "x3"]
    assert fitted(LabelledTable(array, list("gabcd")), groups="g").feature_names_in_.tolist() == list("abcd")


def test_all_kinds_of_columns_gaps_and_interventions_go_with_groups():
    X, groups = visits(6)
    table = pd.DataFrame({"a": X[:, 0], "few": np.clip(np.round(X[:, 1]), -2, 2), "yes": X[:, 2] > 0})
    table["label"] = np.where(X[:, 1] > 1, "high", np.where(X[:, 1] > 0, "mid", "low"))
    table["floor"] = np.maximum(X[:, 1], -0.5)
    assert np.isfinite(fitted(table, groups=groups).evidence_)
    with_gaps = np.where(np.random.default_rng(6).random(X.shape) < 0.05, np.nan, X)
    for missing in ("drop", "impute"):
        assert edges(fitted(with_gaps, groups=groups, missing=missing, n_imputations=2)) == [[0, 1]]
    given = Interventions(np.where(groups < 10, "trial", "none").tolist(), {"none": [], "trial": ["x0"]})
    assert [0, 1] in edges(fitted(X, groups=groups, interventions=given))
    assert [0, 1] not in edges(fitted(X, groups=groups, knowledge={"forbidden": [("x0", "x1")]}))


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
    rng, groups = np.random.default_rng(8), np.repeat(np.arange(60), 10)
    x, noise, rest = rng.normal(size=(3, 60))
    y = np.tanh(2.0 * x) + 0.5 * noise * (1.0 + 0.5 * np.abs(x))
    chain = np.column_stack([x, y, y**2 + 0.3 * rest])
    once, strong = fitted(chain), fitted(chain[groups] + 1e-3 * rng.normal(size=(600, 3)), groups=groups)
    assert edges(strong) == edges(once)
    np.testing.assert_allclose(strong.edge_strength_.max(), once.edge_strength_.max(), rtol=0.25)
    for loss in (direction_loss, hidden_loss):
        assert np.nanmax(loss(once)) > 10.0
        np.testing.assert_allclose(np.nanmax(loss(strong)), np.nanmax(loss(once)), rtol=0.25)


@cases(
    ("words", "error", "message"),
    ({"groups": [1, 2]}, ValueError, "groups has 2 labels where X has 360 rows"),
    ({"groups": "person"}, ValueError, "groups has the variable 'person'"),
    ({"groups": 3.5}, TypeError, "groups must name a column of X or hold a label for every row"),
    ({"groups": np.ones(360)}, ValueError, "groups holds one label alone"),
    ({"groups": [None] * 360}, ValueError, "groups has a gap"),
    ({"groups": [[1]] * 360}, TypeError, "groups must hold a label for every row"),
    ({"groups": pd.Series(range(360), index=range(1, 361))}, ValueError, "groups has other row labels than X"),
    ({"sequence": 1}, TypeError, "sequence must be True or False"),
)
def test_what_are_no_groups_is_refused(words, error, message):
    table = pd.DataFrame(visits(9)[0], columns=list("abcd"))
    with pytest.raises(error, match=message):
        HNMSearch().fit(table, **words)


def test_icdh_says_why_it_takes_no_groups():
    with pytest.raises(ValueError, match="not supported by ICDH, which counts no evidence"):
        ICDH().fit(np.eye(20, 3), groups=np.arange(20) // 2)


def test_the_command_line_takes_groups_and_sequences(tmp_path, printed, shown):
    X, groups = visits(10)
    path, saved = tmp_path / "visits.csv", tmp_path / "visits.icdh"
    pd.DataFrame(X, columns=list("abcd")).assign(person=[f"p{k}" for k in groups]).to_csv(path, index=False)
    by_person = ("--group-column", "person")
    assert "4 variables: 1 edge" in printed("fit", path, *by_person, "--save", saved)
    assert "30 of 360 rows" in printed("check", saved, path, *by_person)
    for options, code, told in (
        (("--drop", "person"), 0, "--group-column NAME"),
        (("--drop", "person", "--sequence"), 0, ""),
        ((*by_person, "--method", "icdh"), 2, "--group-column and --sequence need the evidence"),
    ):
        found, _, err = shown("fit", path, *options)
        assert (found, told in err) == (code, True)
