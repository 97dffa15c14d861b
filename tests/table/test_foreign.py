"""Files of statistical programs: labels of values stay labels, and codes of missing values are gaps."""

import sys

import numpy as np
import pandas as pd
import pytest
from helpers import cases

import icdh
from icdh import HNMSearch
from icdh.exceptions import MissingExtraError
from icdh.files import UnreadableTableError, read_table

RNG = np.random.default_rng(0)
N = 60


@pytest.fixture
def frame():
    income = np.round(50_000.0 + 9_000.0 * RNG.normal(size=N))
    sex = pd.Categorical(RNG.choice(["male", "female"], N))
    table = pd.DataFrame({"income": income, "sex": sex, "score": RNG.normal(size=N)})
    table.loc[3, "score"] = np.nan
    return table


def spss(table, path):
    pyreadstat = pytest.importorskip("pyreadstat")
    coded = table.assign(sex=table["sex"].cat.codes.astype(float))
    coded.loc[5, "income"] = 99_999.0
    labels = {"sex": dict(enumerate(table["sex"].cat.categories))}
    pyreadstat.write_sav(coded, path, variable_value_labels=labels, missing_ranges={"income": [99_999.0]})


def sas(table, path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_xport(table.assign(sex=table["sex"].astype(str)), path, file_format_version=5)


def stata(table, path):
    labelled = table.assign(income=table["income"].where(table.index != 5))
    labelled.to_stata(path, write_index=False)


WRITERS = {
    "t.dta": stata,
    "t.sav": spss,
    "t.xpt": sas,
    "t.xlsx": lambda table, path: table.to_excel(path, index=False),
    "t.parquet": lambda table, path: table.to_parquet(path),
    "t.feather": lambda table, path: table.to_feather(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_programs_write_is_read(tmp_path, frame, name):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    WRITERS[name](frame, tmp_path / name)
    read = read_table(tmp_path / name, gaps=True, categorical=())
    assert read.columns == ["income", "sex", "score"]
    assert read.values[:, 1].tolist() == frame["sex"].tolist()
    gaps = np.isnan(read.values[:, [0, 2]].astype(float))
    declared = name in ("t.dta", "t.sav")  # a gap of the format in the fifth row
    assert np.argwhere(gaps).tolist() == [[3, 1]] + [[5, 0]] * declared
    others = np.delete(np.arange(N), [3, 5])
    numbers = read.values[others][:, [0, 2]].astype(float)
    np.testing.assert_allclose(numbers, frame.loc[others, ["income", "score"]].to_numpy(), rtol=1e-15)  # Excel rounds


def test_the_command_fits_a_file_of_stata(tmp_path, frame, printed):
    stata(frame, tmp_path / "survey.dta")
    assert printed("fit", tmp_path / "survey.dta", "--missing", "drop", "--max-seconds", 60).startswith("58 obs")


@cases(("library", "said"), ("pandas", "needs pandas.*"), ("openpyxl", "t.xlsx needs a further library: "))
def test_a_library_that_is_not_installed_is_named(tmp_path, monkeypatch, frame, library, said):
    pytest.importorskip("openpyxl")
    frame.to_excel(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf"{said}pip install 'icdh\[formats\]'"):
        read_table(tmp_path / "t.xlsx")


@cases(("name", "words"), ("t.dta", "cannot be read as .dta"), ("t.parquet", "cannot be read as .parquet"))
def test_damaged_files_are_refused_in_words(tmp_path, name, words):
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(b"nonsense" * 50)
    with pytest.raises(ValueError, match=words):
        read_table(tmp_path / name)


def test_a_file_that_is_not_there_stays_that_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.dta")


def test_columns_of_several_values_a_cell_are_left_out_by_name(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"x": RNG.normal(size=9), "pair": [[1, 2]] * 9, "record": [{"u": 1}] * 9})
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(UnreadableTableError, match="column 'pair' holds several values a cell") as error:
        read_table(tmp_path / "t.parquet")
    assert error.value.options == {"drop": ["pair", "record"]}
    assert read_table(tmp_path / "t.parquet", drop=["pair", "record"]).columns == ["x"]


def test_lazy_frames_and_structs_are_refused_in_words():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"x": RNG.normal(size=9), "s": [{"u": 1}] * 9})
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*pass X.collect\(\)"):
        HNMSearch().fit(table.lazy())
    with pytest.raises(TypeError, match=r"column 's' of X holds several values a cell"):
        icdh.ICDH().fit(table)
