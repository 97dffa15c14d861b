"""Gaps in a table: complained of, left out with their rows, or imputed; and numbers that stand for them."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import cases, hetero_chain
from numpy.testing import assert_allclose, assert_array_equal
from support.estimators import draw_gaps, neighbours_values
from support.families import Conditional, NormalLaw
from support.table import Design, Table, codes_message, says_none, suspected_codes

from icdh import ICDH, DataWarning, HNMSearch, Interventions, bootstrap, posterior, refits
from icdh.files import LabelledTable
from icdh.uncertainty import direction_loss


def estimator(method, **options):
    if method == "icdh":
        return ICDH(**{"hidden_units": 4, "scaling": "standardize", "bias": True, "max_rounds": 2} | options)
    return HNMSearch(**{"hidden_units": 3, "n_restarts": 1, "noise_distribution": "gaussian"} | options)


both_methods = pytest.mark.parametrize("method", ["icdh", "search"])
pytestmark = pytest.mark.filterwarnings("ignore::icdh.exceptions.ConvergenceWarning")


def gappy(X, share, seed=0):
    """The table without a share of its cells, no column without its first."""
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[0] = False
    return np.where(gaps, np.nan, X)


@pytest.fixture(scope="module")
def X():
    return hetero_chain(np.random.default_rng(3), 300)


@both_methods
def test_gaps_are_counted_and_remedies_named(method, X):
    table = X.copy()
    table[[3, 7], 1] = table[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"gaps \(NaN\) in 2 of 300 rows: 2 in 'b', 1 in 'c'.*'drop' or .*'impute'"):
        estimator(method).fit(LabelledTable(table, ["a", "b", "c"]))


@pytest.mark.parametrize("missing", ["error", "drop", "impute"])
def test_what_no_remedy_mends(missing, X):
    for cell, said in ((np.nan, "'x1' of X holds no value at all"), (np.inf, "'x1' of X holds infinity")):
        with pytest.raises(ValueError, match=said):
            HNMSearch(missing=missing).fit(np.where([False, True, False], cell, X))


@both_methods
def test_dropping_is_fitting_the_other_rows(method, X):
    table, mask = gappy(X, 0.05), np.zeros(X.shape, dtype=bool)
    mask[200:, 1] = True
    complete = np.isfinite(table).all(axis=1)
    expected = estimator(method).fit(table[complete], interventions=mask[complete]).adjacency_matrix_
    conditions = Interventions(np.where(mask[:, 1], "set", "none"), {"none": [], "set": [1]})
    for interventions in (mask, conditions):
        found = estimator(method, missing="drop").fit(table, interventions=interventions)
        assert_array_equal(found.adjacency_matrix_, expected)


def test_dropping_most_rows_is_warned_of(X):
    with pytest.warns(DataWarning, match=r"keeps \d+ of 300 rows"):
        estimator("search", missing="drop").fit(gappy(X, 0.4))


@cases(
    ("options", "rows", "said"),
    ({"missing": "drop"}, np.where(np.eye(3) > 0, np.nan, 1.0), "leaves 0 of 3 row"),
    ({}, np.where(np.arange(4)[:, None] * np.ones(9) > 0, np.nan, 1.0), "3 in 'x4' and 4 more columns"),
    ({"missing_values": {"incme": -9}}, pd.DataFrame({"income": [1.0, 2.0]}), "'incme'.*did you mean 'income'"),
)
def test_what_is_refused_of_gaps(options, rows, said):
    with pytest.raises(ValueError, match=said):
        HNMSearch(**options).fit(rows)


@both_methods
def test_without_gaps_nothing_changes(method, X):
    expected = estimator(method).fit(X).adjacency_matrix_
    for missing in ("drop", "impute"):
        model = estimator(method, missing=missing).fit(X)
        assert_array_equal(model.adjacency_matrix_, expected)
        assert not hasattr(model, "edge_probability_")


def test_imputation_finds_what_the_complete_table_shows(X):
    model, table = estimator("search", missing="impute", n_imputations=3), gappy(X, 0.2)
    before = table.copy()
    model.fit(table)
    assert_array_equal(table, before)
    assert_array_equal(model.adjacency_matrix_ != 0, np.eye(3, k=1))
    assert model.edge_probability_[0, 1] == model.edge_probability_[1, 2] == 1.0
    assert model.predict(X).shape == X.shape
    model.set_params(missing="error").fit(X)
    assert not hasattr(model, "edge_probability_")
    assert not hasattr(model, "imputations_")


@both_methods
def test_imputation_is_reproducible_and_keeps_what_is_known(method, X):
    known = {"required": [(2, 0)], "forbidden": [(2, 1)]}
    model, table = estimator(method, missing="impute", n_imputations=2, knowledge=known), gappy(X, 0.3)
    first = model.fit(table).adjacency_matrix_
    assert (first[2, 0] > 0, first[2, 1]) == (True, 0)
    assert_array_equal(first, model.fit(table).adjacency_matrix_)


def test_imputed_tables_of_constant_and_discrete_columns(X):
    table = gappy(np.column_stack([X, np.full(300, 7.0), np.arange(300) % 3]), 0.2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator("search", missing="impute", n_imputations=2).fit(table)
    assert sum("constant" in str(warning.message) for warning in caught) == 1
    assert caught[0].filename == __file__
    assert not model.adjacency_matrix_[3].any()


def test_neighbours_give_values_that_were_seen():
    """Near rows of a curve give values near the curve; far columns do not help, nor rows without any value."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    table = Table.of(gappy(np.column_stack([x, np.sin(2 * x)]), 0.2), gaps=True)
    assert table.gaps.all(axis=0).any()
    values = neighbours_values(table, Design.of(None, table), rng)
    assert np.isfinite(values).all()
    assert_array_equal(values[~table.gaps], table.values[~table.gaps])
    for n in range(2):
        assert set(values[n, table.gaps[n]]) <= set(table.values[n, ~table.gaps[n]])
    only_y = table.gaps[1] & ~table.gaps[0]
    assert np.abs(values[1, only_y] - np.sin(2 * values[0, only_y])).mean() < 0.1


class Linear:
    """A predictor of deviation one, linear in its cause, if any."""

    def __init__(self, inputs, slope):
        self.inputs, self.slope = np.array(inputs, dtype=int), slope

    def predict(self, values, law):
        mean = self.slope * values[self.inputs].sum(axis=0)
        return np.array([mean, np.ones_like(mean)])


def test_draws_follow_the_conditional_of_a_linear_model():
    """Given its effect, the cause in a linear Gaussian model is normal with known mean and variance."""
    model = [Conditional(own, NormalLaw()) for own in (Linear([], 0.0), Linear([0], 2.0))]
    values = np.vstack([np.zeros(20_000), np.full(20_000, 1.5)])
    gaps = np.array([[True], [False]]) & np.ones(values.shape, dtype=bool)
    rng, design = np.random.default_rng(0), Design.of(None, Table.of(values.T))
    for _ in range(3):
        values = draw_gaps(model, values, gaps, design, rng)
    assert_allclose([values[0].mean(), values[0].var()], [2 * 1.5 / 5, 1 / 5], atol=0.02)
    assert_array_equal(values[1], 1.5)
    both = np.zeros((2, 20_000))  # without an effect that was seen, the marginal distribution
    for _ in range(10):
        both = draw_gaps(model, both, np.ones(both.shape, dtype=bool), design, rng)
    assert_allclose(np.cov(both), [[1, 2], [2, 5]], atol=0.2)


def test_what_was_set_is_drawn_from_rows_that_set_it_and_says_nothing_of_its_causes():
    rng = np.random.default_rng(0)
    rows = np.array([rng.normal(size=3000), np.repeat([1.5, 9.0, 29.0], 1000)])
    conditions = np.repeat(["none", "set y", "set y higher"], 1000)
    table = Table.of(rows.T)
    design = Design.of(Interventions(conditions, {"none": [], "set y": ["x1"], "set y higher": ["x1"]}), table)
    gaps = np.zeros(rows.shape, dtype=bool)
    gaps[0, ::2] = gaps[1, 1500:2500] = True
    model = [Conditional(own, NormalLaw()) for own in (Linear([], 0.0), Linear([0], 2.0))]
    drawn = draw_gaps(model, np.where(gaps, 0.0, rows), gaps, design, rng)
    assert_array_equal(drawn[1], rows[1])
    # Where y is no effect of x it says nothing of it.
    means = [drawn[0, part][gaps[0, part]].mean() for part in (slice(1000), slice(1000, None))]
    assert_allclose(means, [1.5 * 2 / 5, 0.0], atol=0.1)


def test_neighbours_are_of_the_same_condition():
    rng = np.random.default_rng(0)
    drug = np.arange(5000) >= 4950
    rows = np.column_stack([rng.normal(size=5000), rng.normal(size=5000) + 30.0 * drug])
    table = Table.of(gappy(rows, 0.3), gaps=True)
    design = Design.of(Interventions(drug.tolist(), {True: None, False: None}), table)
    values = neighbours_values(table, design, rng)
    assert values[1, drug].min() > 20.0 > values[1, ~drug].max()


@both_methods
def test_what_a_condition_does_is_that_of_the_complete_table(method):
    rng, drug = np.random.default_rng(0), np.arange(400) >= 200
    x = rng.normal(size=400)
    X = np.column_stack([x, x + 3.0 * drug + rng.normal(size=400)])
    done = Interventions(np.where(drug, "drug", "none"), {"none": None, "drug": None})
    gaps = rng.random(400) < 0.4
    whole = estimator(method).fit(X, interventions=done).targets_["drug"][1]
    whole *= np.mean(~gaps) if method == "search" else 1.0  # nats of rows whose effect was seen, or a weight
    X[gaps, 1] = np.nan
    model = estimator(method, missing="impute", n_imputations=4).fit(X, interventions=done)
    for fit in model.imputations_:
        assert fit.targets_["drug"][1] == pytest.approx(whole, rel=0.3)


@pytest.mark.filterwarnings("ignore:missing='drop' keeps", "ignore:column of which more than half")
@pytest.mark.parametrize("gappy_column", [0, 1])
def test_imputed_cells_are_no_evidence_of_an_edge(gappy_column):
    """The strength, and the loss of the other direction, are those of the rows that hold cause and effect."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    X = np.column_stack([x, np.tanh(x) + (0.5 + 0.3 * (x > 0.0)) * rng.normal(size=400), rng.normal(size=400)])
    X[:, 2] += x
    known = {"required": [(0, 2)], "forbidden": [(2, 1), (1, 2)]}
    model = {name: estimator("search", missing=name, n_imputations=4, knowledge=known) for name in ("drop", "impute")}
    X[rng.random(400) < 0.6, gappy_column] = np.nan
    drop, impute = (each.fit(X) for each in model.values())
    assert impute.edge_strength_[0, 1] == pytest.approx(drop.edge_strength_[0, 1], rel=0.4)
    losses = [direction_loss(fit)[0, 1] for fit in (*impute.imputations_, drop)]
    assert np.mean(losses[:-1]) == pytest.approx(losses[-1], rel=0.7)


@both_methods
def test_what_was_seen_together_is_counted(method):
    X = gappy(hetero_chain(np.random.default_rng(0), 100), 0.2)
    table = replace(estimator(method, missing="impute").as_table(X), imputed=np.isnan(X).T)
    seen = ~np.isnan(X)
    assert_allclose(table.seen_together, [[np.mean(seen[:, i] & seen[:, j]) for j in range(3)] for i in range(3)])


@pytest.fixture(scope="module")
def imputed():
    """A search on a table whose second edge is in doubt, with gaps."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    table = np.column_stack([x, np.tanh(2 * x) + 0.2 * rng.normal(size=80), 0.3 * x + rng.normal(size=80)])
    return estimator("search", missing="impute", n_imputations=4).fit(gappy(table, 0.3))


def test_dependence_is_that_of_the_complete_table():
    """Values of similar rows understate it, and so do the draws from the first fits."""
    known, short = {"required": [(0, 1)], "forbidden": [(2, 0), (2, 1), (0, 2), (1, 2)]}, []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        cause = rng.normal(size=(500, 1))
        table = np.hstack([cause, 2.0 * cause + rng.normal(size=(500, 1)), rng.normal(size=(500, 1))])
        imputing = HNMSearch(missing="impute", n_imputations=6, knowledge=known, random_state=seed)
        with_gaps = np.where(rng.random(table.shape) < 0.25, np.nan, table)
        fits = HNMSearch(knowledge=known).fit(table), imputing.fit(with_gaps)
        whole, imputed = (np.diff(fit.predict([[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])[:, 1])[0] / 2.0 for fit in fits)
        short.append(whole - imputed)
    assert abs(np.mean(short)) < 0.05


def test_every_imputation_is_a_fit_of_its_own(imputed):
    assert len(imputed.imputations_) == 3
    graphs = np.array([fit.adjacency_matrix_ != 0 for fit in imputed.imputations_])
    assert_array_equal(imputed.edge_probability_, graphs.mean(axis=0))
    # What gaps alone leave open is no probability of a direction.
    assert imputed.model_.edge_evidence.probability is None
    assert not any(hasattr(fit, "imputations_") for fit in imputed.imputations_)
    models = [fit.model_ for fit in imputed.imputations_]
    band = imputed.average_effect("x0", "x1", [1.0], models=models, n_samples=500)
    assert band.lower < band.upper


def test_the_posterior_averages_over_imputations(imputed):
    """The probability of an edge is the mean of those that each imputation alone gives."""
    whole = posterior(imputed, n_samples=500)
    parts = [posterior(fit, n_samples=500) for fit in imputed.imputations_]
    expected = np.mean([part.edge_probability for part in parts], axis=0)
    assert_allclose(whole.edge_probability, expected, atol=1e-12)
    assert not np.allclose(expected, parts[0].edge_probability, atol=1e-3)
    assert whole.weights.sum() == pytest.approx(1.0)
    assert len(np.unique(whole.graphs, axis=0)) == len(whole.graphs)
    assert whole.best is None


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_resamples_of_a_table_with_gaps(missing, X):
    table, model = gappy(X, 0.1), estimator("search", missing=missing, n_imputations=2)
    ensemble = bootstrap(model, table, 3)
    assert ensemble.edge_probability[0, 1] == ensemble.edge_probability[1, 2] == 1.0
    assert_array_equal(ensemble.graphs, [fit.adjacency != 0 for fit in refits(model, table, 3)])
    with pytest.raises(ValueError, match=r"gaps \(NaN\)"):
        bootstrap(estimator("search"), table, 3)


def test_imputed_values_are_values_of_the_column():
    """Of its grid, or of its levels; a column of numbers that differ stays one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    grid = np.round(4 * (x + 0.5 * rng.normal(size=200))) / 4
    grades = np.clip(np.round(3 * x + 1.5 * rng.normal(size=200)), -6, 6) * 0.1 + 0.3
    X = gappy(np.column_stack([x, grid, grades]), 0.15)
    model = estimator("search", missing="impute", n_imputations=2, kinds={2: "ordinal"}).fit(X)
    for fit in model.imputations_:
        assert fit.kinds_ == ["continuous", "gridded", "ordinal"]
        values = fit.found_graph().table.in_users_columns(3)  # in single precision
        for k in (1, 2):
            assert np.isin(values[k], fit.model_.columns.scaling.apply(X[:, k], k).astype(np.float32)).all()
    assert_array_equal(model.model_.columns.levels[2], np.unique(X[~np.isnan(X[:, 2]), 2]))


def test_a_column_that_is_mostly_imputed_is_named(X):
    table = X.copy()
    table[: len(X) // 2 + 1, 1] = np.nan
    with pytest.warns(DataWarning, match=r"column of which more than half of 300 rows are imputed: 'x1' \(151\)"):
        estimator("search", missing="impute", n_imputations=1).fit(table)


@pytest.mark.filterwarnings("ignore:read as labels")
def test_labels_of_dropped_rows_alone_are_none_of_the_model(X):
    frame = pd.DataFrame({"label": ["a", "b"] * 60 + ["z"] * 6, "y": np.r_[X[:120, 0], [np.nan] * 6]})
    model = HNMSearch(n_restarts=1, missing="drop").fit(frame)
    same = HNMSearch(n_restarts=1).fit(frame.dropna())
    assert model.model_.columns.categories == same.model_.columns.categories
    assert_array_equal(model.adjacency_matrix_, same.adjacency_matrix_)
    assert model.evidence_ == same.evidence_
    with pytest.raises(ValueError, match="holds 'z', but its labels are 'a', 'b'"):
        model.average_effect("label", "y", ["z"])


NAMES = list("abcde")


def ordinary(rng):
    """Five columns as tables have them: rounded, heavy-tailed, counts, levels, percentages."""
    rows = int(10 ** rng.uniform(1.3, 4.5))
    shape = rng.uniform(0.2, 2.0)
    kinds = [
        lambda: rng.normal(rng.uniform(-50, 50), rng.uniform(1, 40), rows).round(int(rng.integers(0, 3))),
        lambda: (100 * rng.standard_cauchy(rows)).round(int(rng.integers(-1, 3))),
        lambda: rng.poisson(rng.gamma(shape, 50.0, rows)).astype(float),
        lambda: rng.zipf(1.0 + shape, rows).clip(max=10**7).astype(float),
        lambda: np.exp(rng.normal(4.0, 2.0, rows)).round(),
        lambda: rng.integers(0, rng.integers(3, 12), rows).astype(float),
        lambda: (100 * rng.beta(shape, 1.0, rows)).round(int(rng.integers(0, 2))),
        lambda: rng.choice([0.0, 1.0, 10.0, 100.0, 1000.0], rows),
    ]
    columns = [kinds[k]() for k in rng.integers(0, len(kinds), 5)]
    return [own[rng.integers(0, rows, rows)] for own in columns] if rng.random() < 0.3 else columns


def test_at_most_one_of_a_hundred_ordinary_tables_is_suspected():
    rng = np.random.default_rng(2024)
    assert sum(codes_message(ordinary(rng), NAMES) is not None for _ in range(400)) <= 4


@pytest.mark.parametrize("code", [-999, 999, 9999, -9999, -99, 1e20, 99999, -999.25e0 + 0.25, 99.99, 2**31 - 1])
def test_codes_in_half_a_percent_of_the_cells_are_noticed(code):
    rng = np.random.default_rng(1)
    columns = [rng.normal(20, 5, 2000), rng.poisson(8, 2000).astype(float), rng.uniform(0, 30, 2000).round()]
    for values in columns:
        values[rng.random(2000) < 0.005] = code
        assert list(suspected_codes(values)) == [code]
    assert codes_message(columns, NAMES[:3]).count("rows of") == 3


GRADES = np.arange(300.0) % 5 + 1.0


@cases(
    ("values", "codes"),
    (np.r_[np.arange(18.0, 40.0), [99.0] * 4, [-9.0] * 5], {-9.0: 5, 99.0: 4}),
    # A negative digit that repeats, far below all others; of 9,870 public columns one has it, as a code.
    (np.r_[np.arange(87.0, 229.0), [-9.0] * 3], {-9.0: 3}),
    (np.r_[np.arange(87.0, 229.0), -9.0], {}),
    (np.r_[np.arange(87.0, 229.0), [-9.0] * 3, [-3.0] * 2], {}),
    (np.r_[np.arange(87.0, 229.0), [-12.0] * 3], {}),
    # A digit that surveys write for gaps, beside no and yes.
    (np.r_[GRADES % 2.0, [-9.0] * 3], {-9.0: 3}),
    (np.r_[GRADES % 2.0, [7.0] * 2, [9.0] * 3], {7.0: 2, 9.0: 3}),
    (np.r_[GRADES % 2.0, [-1.0] * 3], {}),
    (np.r_[GRADES % 2.0, 9.0], {}),
    (np.r_[np.arange(50.0), [-999.0] * 2, [999.0] * 3], {-999.0: 2, 999.0: 3}),
    (np.r_[np.arange(100.0), 99.0], {}),
    (np.r_[GRADES % 2.0, [666.0] * 2], {666.0: 2}),
    (np.r_[np.arange(30.0), [77.0] * 2, [888.0] * 3], {888.0: 3}),
    (np.r_[np.arange(300.0), 333.0, 333.0], {}),
    # A negative number among positive grades may be a code.
    (np.r_[GRADES, [-1.0] * 7], {-1.0: 7}),
    (np.r_[GRADES, [-8.0] * 2, [-9.0] * 3, 0.0], {-9.0: 3, -8.0: 2}),
    (GRADES - 2.0, {}),
    (np.r_[GRADES, -GRADES], {}),
    (GRADES - 1.5, {}),
    (np.r_[np.arange(30.0) + 1.0, -1.0, -1.0], {}),
    # So may be 8 and 9 above them.
    (np.r_[GRADES, [9.0] * 7], {9.0: 7}),
    (np.r_[GRADES, [8.0] * 2, [9.0] * 3], {8.0: 2, 9.0: 3}),
    (np.r_[GRADES, [7.0, 7.0, 9.0, 9.0]], {}),
    (np.r_[GRADES, [6.0, 8.0, 8.0]], {}),
    (np.r_[GRADES, [8.0, 8.0, 24.0]], {}),
    (np.r_[GRADES - 1.0, [9.0, 9.0]], {}),
)
def test_codes_are_told_from_the_values_beside_them(values, codes):
    assert suspected_codes(values) == codes
    for code, rows in codes.items():
        assert f"{code:g} in {rows} rows of 'grade'" in codes_message([values], ["grade"])


@pytest.mark.parametrize("estimator", [HNMSearch, ICDH])
def test_declared_codes_are_gaps_and_others_are_named_once(estimator):
    table = pd.DataFrame(hetero_chain(np.random.default_rng(0), 100), columns=list("abc"))
    table.loc[table.index % 25 == 0, ["a", "b"]] = -999
    read = estimator(missing="drop", missing_values=[-999, "*", 9]).as_table(table)
    assert_array_equal(read.gaps, (table == -999).T)
    read = estimator(missing="drop", missing_values={"a": -999}).as_table(table)
    assert read.gaps.sum(axis=1).tolist() == [4, 0, 0]
    with pytest.warns(DataWarning) as caught:
        estimator().as_table(table).warn()
    (said,) = (str(warning.message) for warning in caught)
    assert "-999 in 4 rows of 'a', 4 rows of 'b'; pass" in said
    assert said.endswith("pass missing_values=[-999] to take them for gaps, or missing_values=[] to keep them")


def test_a_whole_number_names_a_column_before_it_counts_one():
    table = pd.DataFrame({2: [1.0, -9.0, 3.0], 1: [-9.0, 5.0, 6.0]})
    read = HNMSearch(missing="drop", missing_values={1: [-9]}).as_table(table)
    assert read.gaps.sum(axis=1).tolist() == [0, 1]
    text = pd.DataFrame({1: [str(k % 3) for k in range(30)], 0: ["a", "b", "c"] * 10})
    with pytest.raises(TypeError, match="column 1 of X holds text such as '0', not numbers"):
        HNMSearch(kinds={0: "categorical"}).as_table(text)


def test_markers_are_gaps_beside_numbers_and_among_labels_and_labels_that_differ_by_case_alone_are_named():
    table = pd.DataFrame({"x": [1.5, "*", 3.0, 4.0] * 10, "word": ["u", "v", "*", "u"] * 10})
    read = HNMSearch(missing="drop", missing_values=["*"]).as_table(table)
    assert_array_equal(read.gaps, (table == "*").T)
    table = pd.DataFrame({"x": np.arange(40.0) ** 2, "answer": ["Yes", "yes", "no", "no"] * 10})
    with pytest.warns(DataWarning, match="column 'answer': 'Yes' and 'yes' differ by case alone"):
        HNMSearch(kinds={"answer": "categorical"}).as_table(table).warn()


def test_who_says_that_there_are_no_codes_is_not_warned():
    assert all(says_none(codes) for codes in ([], {None: []}))
    assert not any(says_none(codes) for codes in (None, [-999], {"a": []}))
    table = hetero_chain(np.random.default_rng(0), 100)
    table[::25] = 999.0
    with pytest.warns(DataWarning, match="999 in 4 rows of 'x0'"):
        HNMSearch().as_table(table).warn()
    HNMSearch().as_table(table).warn(codes=False)


def test_codes_on_the_command_line(tmp_path, shown):
    c = ["*" if k == 3 else "u" if k % 2 else "NA" for k in range(40)]
    rows = [f"{k % 7}.5,{-999 if k % 20 == 1 else k * k},{c[k]}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *rows]))
    options = ["--kinds", "c=categorical", "--missing", "drop", "--max-seconds", "1e-6", "--quiet"]
    for words, told in (("--na -999,*", False), ("--na -999 --na 3=", False), ("", True), ("--na=", False)):
        code, _, err = shown("fit", tmp_path / "t.csv", *words.split(), *options)
        assert (code, "-999 in 2 rows of 'b'" in err) == (0, told)
