"""Columns that others give, columns that number rows or units: each is named with its remedy, and others are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import cases
from support.estimators import dummies, functions, sums_and_ratios
from support.table import Table

import icdh
from icdh import ICDH, HNMSearch
from icdh.diagnostics.result import edge_records
from icdh.exceptions import DataWarning

RNG = np.random.default_rng(0)
N = 300
WEIGHT, HEIGHT = np.round(RNG.normal(75.0, 12.0, N), 1), np.round(RNG.normal(1.72, 0.09, N), 2)
OTHER = RNG.normal(size=N)


NOISE = WEIGHT.std() * RNG.normal(size=N)
RATIOS = [np.round(WEIGHT / HEIGHT**2, decimals) for decimals in (12, 2, 1, 0)]


@cases(
    ("columns", "found"),
    *(([WEIGHT, HEIGHT, OTHER, ratio], [(3, [0, 1])]) for ratio in RATIOS),
    *(([ratio, OTHER, WEIGHT, HEIGHT], [(3, [0, 2])]) for ratio in RATIOS),
    ([WEIGHT, HEIGHT, OTHER, np.round(WEIGHT + 10.0 * HEIGHT)], [(3, [0, 1])]),
    ([WEIGHT, HEIGHT, OTHER, WEIGHT - 3.0 * OTHER], [(3, [0, 2])]),
    ([WEIGHT, HEIGHT, OTHER, 2.54 * HEIGHT - 1.0], [(3, [1])]),
    ([WEIGHT, HEIGHT, OTHER, np.round(WEIGHT * HEIGHT, 1)], [(3, [0, 1])]),
    ([1e200 * OTHER, 1e-200 * WEIGHT, 1e200 * OTHER + 3.0], [(2, [0])]),
    # What has noise of its own is not named, nor columns of so few rows that all are sums.
    ([WEIGHT, HEIGHT, WEIGHT + 0.1 * NOISE], []),
    ([WEIGHT, HEIGHT, np.round(WEIGHT + 0.08 * NOISE, 1)], []),
    (RNG.normal(size=(20, 30)), []),
)
def test_sums_ratios_and_products_are_named_however_they_were_rounded(columns, found):
    assert list(sums_and_ratios(np.array(columns), range(len(columns)))) == found


AGE = np.random.default_rng(0).integers(18, 66, N).astype(float)
INCOME = np.where(OTHER > 0.2, 0.0, np.exp(1.0 + OTHER))
LONG = np.random.default_rng(0).normal(size=(2, 4000))


@cases(
    ("columns", "found"),
    ([HEIGHT, np.exp(OTHER), OTHER], [(2, [1])]),
    ([HEIGHT, AGE, np.log(AGE)], [(2, [1])]),
    ([HEIGHT, AGE, (AGE - 40.0) ** 2], [(2, [1])]),
    ([HEIGHT, OTHER, OTHER**2], [(2, [1])]),
    ([HEIGHT, OTHER, np.sin(2.0 * OTHER)], [(2, [1])]),
    ([HEIGHT, INCOME, np.log(np.where(INCOME > 0.0, INCOME, 1.0))], [(2, [1])]),
    ([HEIGHT, WEIGHT, np.round(np.log(WEIGHT), 3)], [(2, [1])]),
    ([HEIGHT, np.exp(OTHER).astype(np.float32), OTHER.astype(np.float32)], [(2, [1])]),
    ([HEIGHT, 1e-200 * AGE, 1e200 * np.sqrt(AGE)], [(2, [1])]),
    ([AGE, np.log(AGE), np.sqrt(AGE), (AGE - 40.0) ** 2], [(1, [0]), (2, [0, 1]), (3, [0, 1, 2])]),
    ([LONG[0], np.exp(LONG[0]) + LONG[1] * (np.arange(4000) % 2)], []),  # noise in every other row
)
def test_functions_of_one_column_are_named(columns, found):
    assert functions(np.array(columns, dtype=float), range(len(columns))) == found


@pytest.mark.parametrize("n", [50, 300, 5000])
def test_what_merely_rises_with_another_column_is_no_function(n):
    rng = np.random.default_rng(n)
    x, noise, counts = rng.normal(size=n), rng.normal(size=n), rng.poisson(3.0, size=(2, n)) + 1
    columns = [
        x,
        np.exp(x + 0.01 * noise),
        x**2 + 0.01 * noise,
        np.round(x + 0.03 * noise, 2),
        np.round(12.0 * np.exp(x)),
        np.digitize(x, np.quantile(x, np.linspace(0.0, 1.0, 23)[1:-1])),
        np.where(rng.random(n) < 0.9, 0.0, noise),
        rng.standard_cauchy(n),
        *np.cumsum(counts, axis=1),
        np.sort(rng.exponential(size=n)),
        np.sort(noise),
    ]
    assert functions(np.array(columns, dtype=float), range(len(columns))) == []


def test_a_threshold_of_one_of_many_numbers_is_named():
    numbers = np.random.default_rng(0).normal(size=(100, 3))
    assert Table.of(np.column_stack([numbers, numbers[:, 1] > 0.3])).cuts == {"x3": "x1"}


def test_dummies_are_named_and_independent_columns_are_not():
    label = RNG.choice(3, N, p=[0.5, 0.3, 0.2])
    a, b, c = (label == k for k in range(3))
    free, rare = RNG.random(N) < 0.3, RNG.random(N) < 0.01
    assert dummies(np.array([a, free, b, c], dtype=float)) == [[0, 2, 3]]
    assert dummies(np.array([a, free, ~a], dtype=float)) == [[0, 2]]
    assert dummies(np.array([a, b, free], dtype=float)) == []  # two of three, as any two rare states may be
    assert dummies(np.array([rare, a & ~rare, free & ~rare], dtype=float)) == []  # no chance to be seen together


def told(table, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        HNMSearch(n_restarts=1, **options).fit(table)
    assert all(own.category is DataWarning for own in caught)
    return " | ".join(str(own.message) for own in caught)


def test_a_fit_names_dummies_with_the_remedy():
    label = RNG.choice(["a", "b", "c"], N)
    table = pd.get_dummies(pd.Series(label), prefix="k").astype(int).assign(y=(label == "a") + OTHER)
    message = told(table)
    assert "dummies of a label are: 'k_a', 'k_b', 'k_c'" in message
    assert "pass the label itself, as one column" in message


def test_columns_that_number_the_rows_are_named():
    walk = np.cumsum(RNG.normal(size=N))
    assert "column that may number the rows: 't'" in told(pd.DataFrame({"walk": walk, "t": np.arange(N), "z": OTHER}))
    table = pd.DataFrame({"x": OTHER, "y": OTHER + RNG.normal(size=N)}).sort_values("y")
    assert "may number the rows" not in told(table)
    assert "column that may number the rows: 'id'" in told(table.assign(id=3 * np.arange(N) + RNG.integers(3, size=N)))
    alone = pd.DataFrame({"t": np.arange(N), "x": OTHER, "y": OTHER + RNG.normal(size=N)})
    assert "may number the rows" not in told(alone)  # it has no edge


def test_a_fit_names_a_function_once_and_marks_its_arrow():
    """The logarithm of a price and its square, beside a multiple that is a sum already."""
    price = np.exp(0.3 * OTHER)
    table = pd.DataFrame({"price": price, "tax": 0.19 * price, "rate": WEIGHT, "lprice": np.log(price)})
    message = told(table)
    assert "column computed from another, but for rounding: 'lprice' (of 'price'): a model" in message
    assert "'tax' (of 'price')" in message
    assert "determined by others" not in message
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = edge_records(HNMSearch(n_restarts=1).fit(table).model_)
    assert {edge.close for edge in edges if "lprice" in {edge.cause, edge.effect}} == {True}


def test_codes_of_units_are_asked_about_and_quantities_are_not():
    school = RNG.integers(40, size=800)
    race = 3.0 * (school > 20) + 2.0 * RNG.normal(size=40)[school] + RNG.normal(size=800)
    message = told(pd.DataFrame({"schidkn": school, "race": race}))
    assert "codes of persons or places: 'schidkn'" in message
    assert "pass kinds={'schidkn': 'categorical'} or groups='schidkn'" in message
    age = RNG.integers(20, 60, size=800)
    gift = RNG.choice([0, 5, 10, 25, *range(1, 30, 2)], p=[0.4, 0.2, 0.2, 0.05, *np.full(15, 0.01)], size=800)
    fives = 5 * RNG.integers(2, 19, size=800)
    by_age = RNG.normal(size=19)[fives // 5]
    for quantity, wage in ((age, np.sqrt(age)), (gift, 3.0 * (gift > 0) + np.sin(40.0 * gift)), (fives, by_age)):
        message = told(pd.DataFrame({"quantity": quantity, "wage": wage + 0.3 * RNG.normal(size=800)}))
        assert "codes of persons or places" not in message


def test_what_is_computed_from_years_does_not_make_them_codes():
    rng = np.random.default_rng(0)
    years = rng.binomial(20, 0.55, size=450)
    table = pd.DataFrame({"years": years, "early": (years < 12) * 1, "wage": 0.1 * years + rng.normal(size=450)})
    assert "codes of persons or places" not in told(table)


@pytest.mark.parametrize("method", [HNMSearch, ICDH])
def test_arrows_of_computed_columns_are_marked(method, tmp_path):
    """Their losses say how badly another model fits, not which column was computed."""
    cause, noise = np.random.default_rng(1).normal(size=(2, N))
    table = pd.DataFrame({"dose": cause, "answer": 2.0 * np.tanh(cause) + (0.2 + 0.2 * (cause > 0)) * noise})
    table = table.assign(high=(table["answer"] > 1.0) * 1.0, double=2.0 * table["answer"] + 1.0)

    def marks(model, **how):
        edges = edge_records(model, **how)
        return {frozenset((edge.cause, edge.effect)): edge.close for edge in edges if not edge.weak}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = method().fit(table)
        learned.model_.save(tmp_path / "m.icdh")
        stricter = method().fit(table).rethreshold(max_edges=2)
    given = marks(learned.model_)
    computed = {frozenset(pair) for pair in (("answer", "high"), ("answer", "double"))}
    assert {pair for pair in computed if given.get(pair)} == computed & given.keys() != set()
    assert not given.get(frozenset(("dose", "answer")))
    assert marks(icdh.load(tmp_path / "m.icdh")) == given
    assert all(given[pair] == mark for pair, mark in marks(stricter.model_).items())
    assert not any(marks(learned.model_, settled=learned.adjacency_matrix_ != 0.0).values())  # knowledge says it


def test_arrows_of_a_heap_are_marked():
    """Of a quarter of the rows and more, at a number whose neighbours are too frequent for a point mass."""
    shares = np.array([*np.full(6, 0.05), 0.11, 0.32, 0.11, *np.full(4, 0.04)])
    years = np.random.default_rng(0).choice(np.arange(5, 18), 600, p=shares / shares.sum()).astype(float)
    wage = 0.3 * years + np.random.default_rng(1).normal(size=600)
    table = pd.DataFrame({"years": years, "wage": wage})
    with pytest.warns(DataWarning, match="column with a heap: 'years'"):
        (edge,) = edge_records(HNMSearch(knowledge={"required": [("years", "wage")]}).fit(table).model_)
    assert edge.unidentified
    assert not edge.close  # as it was required


def test_columns_whose_values_agree_in_single_precision_are_named():
    """One wrong cell, or several powers of ten; neither computed twice nor among very many rows."""
    rng = np.random.default_rng(0)
    amount = rng.gamma(2.0, 50.0, size=500)
    wide = np.exp(rng.uniform(0.0, 22.6, size=500))
    computed = np.append(amount[:250], np.nextafter(amount[:250], 0.0))
    for column, named in (
        (np.append(amount[1:], 1e6), False),
        (np.append(amount[1:], 1e10), True),
        (wide, True),
        (np.log(wide), False),
        (computed, False),
        (rng.normal(size=400_000), False),
    ):
        table = HNMSearch().as_table(pd.DataFrame({"amount": column}))
        assert list(table.merged) == ["amount"] * named
    assert not Table.of(np.column_stack([wide, wide])).merged  # where there is no search of columns that are rounded
    table = HNMSearch().as_table(pd.DataFrame({"amount": wide, "other": amount}))
    with pytest.warns(DataWarning, match=r"column .* single precision.*: 'amount' \(\d+ of 500\).*take logarithms"):
        table.warn()
