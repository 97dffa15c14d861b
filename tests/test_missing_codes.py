"""Codes of missing values: which are noticed, how many ordinary tables are suspected, what declaring them does."""

import numpy as np
import pandas as pd
import pytest
from helpers import hetero_chain

from icdh import ICDH, DataWarning, HNMSearch
from icdh._table.missing_codes import said_of_codes, says_none, suspected_codes

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
    assert sum(said_of_codes(ordinary(rng), NAMES) is not None for _ in range(400)) <= 4


@pytest.mark.parametrize("code", [-999, 999, 9999, -9999, -99, 1e20, 99999, -999.25e0 + 0.25, 99.99, 2**31 - 1])
def test_codes_in_half_a_percent_of_the_cells_are_noticed(code):
    rng = np.random.default_rng(1)
    columns = [rng.normal(20, 5, 2000), rng.poisson(8, 2000).astype(float), rng.uniform(0, 30, 2000).round()]
    for values in columns:
        values[rng.random(2000) < 0.005] = code
        assert list(suspected_codes(values)) == [code]
    assert said_of_codes(columns, NAMES[:3]).count("rows of") == 3


def test_several_codes_are_told_from_the_values_between_them():
    ages = np.r_[np.arange(18.0, 40.0), [98.0] * 3, [99.0] * 4, [-9.0] * 5]
    assert suspected_codes(ages[ages != 98]) == {99.0: 4}  # a nine alone may be a value
    assert suspected_codes(np.r_[np.arange(50.0), [-999.0] * 2, [999.0] * 3]) == {-999.0: 2, 999.0: 3}
    assert suspected_codes(np.r_[np.arange(100.0), 99.0]) == {}


def test_a_negative_number_among_positive_grades_may_be_a_code():
    grades = np.arange(300.0) % 5 + 1.0
    assert suspected_codes(np.r_[grades, [-1.0] * 7]) == {-1.0: 7}
    assert suspected_codes(np.r_[grades, [-8.0] * 2, [-9.0] * 3, 0.0]) == {-9.0: 3, -8.0: 2}
    for ordinary in (grades - 2.0, np.r_[grades, -grades], grades - 1.5, np.r_[np.arange(30.0) + 1.0, -1.0, -1.0]):
        assert suspected_codes(ordinary) == {}
    assert "-1 in 7 rows of 'grade'" in said_of_codes([np.r_[grades, [-1.0] * 7]], ["grade"])


@pytest.mark.parametrize("estimator", [HNMSearch, ICDH])
def test_declared_codes_are_gaps_and_others_are_named_once(estimator):
    table = pd.DataFrame(hetero_chain(np.random.default_rng(0), 100), columns=list("abc"))
    table.loc[table.index % 25 == 0, ["a", "b"]] = -999
    read = estimator(missing="drop", missing_values=[-999, "*", 9]).as_table(table)
    np.testing.assert_array_equal(read.gaps, (table == -999).T)
    read = estimator(missing="drop", missing_values={"a": -999}).as_table(table)
    assert read.gaps.sum(axis=1).tolist() == [4, 0, 0]
    with pytest.warns(DataWarning) as caught:
        estimator().as_table(table).warn()
    (said,) = (str(warning.message) for warning in caught)
    assert "-999 in 4 rows of 'a', 4 rows of 'b'; if they" in said
    assert said.endswith("say missing_values=[-999], if not say missing_values=[]")


def test_markers_are_gaps_beside_numbers_and_among_labels_and_labels_that_differ_by_case_alone_are_named():
    table = pd.DataFrame({"x": [1.5, "*", 3.0, 4.0] * 10, "word": ["u", "v", "*", "u"] * 10})
    read = HNMSearch(missing="drop", missing_values=["*"]).as_table(table)
    np.testing.assert_array_equal(read.gaps, (table == "*").T)
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


def test_codes_of_unknown_columns_are_refused():
    with pytest.raises(ValueError, match=r"missing_values has the variable 'incme'.*did you mean 'income'"):
        HNMSearch(missing_values={"incme": -9}).as_table(pd.DataFrame({"income": [1.0, 2.0]}))


def test_codes_on_the_command_line(tmp_path, shown):
    c = ["*" if k == 3 else "u" if k % 2 else "NA" for k in range(40)]
    rows = [f"{k % 7}.5,{-999 if k % 20 == 1 else k * k},{c[k]}" for k in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c", *rows]))
    options = ["--kinds", "c=categorical", "--missing", "drop", "--max-seconds", "1e-6", "--quiet"]
    for words, told in (("--na -999,*", False), ("--na -999 --na 3=", False), ("", True), ("--na=", False)):
        code, _, err = shown("fit", tmp_path / "t.csv", *words.split(), *options)
        assert (code, "-999 in 2 rows of 'b'" in err) == (0, told)
