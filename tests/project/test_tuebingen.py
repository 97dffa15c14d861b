"""The Tübingen pairs that benchmarks read: their columns, directions and weights."""

import sys

import numpy as np
import pytest
from helpers import ROOT

sys.path.append(str(ROOT))

from benchmarks import tuebingen
from benchmarks.tuebingen import tuebingen_pairs

EFFECT_COMES_FIRST = {47, 48, 49, 50, 51, 52, 53, 55, *range(56, 64), 68, 69, 73, 75, 77, 79, 80, 84, 89, 90, 92, 99}
EFFECT_COMES_FIRST |= {106, 108}
COPIES = {52, 53, 54, 55, 71, 105}


def write_pairs(folder):
    """Write 108 files of 3 rows; every cell says which pair and which column (from 1) it belongs to."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, 109):
        cells = 100 * number + np.arange(1, 33) + np.zeros((3, 1))
        np.savetxt(folder / f"pair{number:04d}.txt", cells, delimiter="\t" if number % 2 else "  ")
    return folder


@pytest.fixture(autouse=True)
def no_data_home(monkeypatch):
    monkeypatch.delenv("ICDH_DATA_HOME", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.mark.parametrize(
    ("subset", "left_out"), [("all", set()), ("loci-99", {47, 70, 107, *COPIES}), ("cdt-99", {106, 107, 108, *COPIES})]
)
def test_subsets(folder, subset, left_out):
    pairs = tuebingen_pairs(subset=subset, folder=folder)
    assert [pair.id for pair in pairs] == sorted(set(range(1, 109)) - left_out)


def test_directions_and_columns(folder):
    for pair in tuebingen_pairs(subset="all", folder=folder, swap=False):
        assert pair.first_causes_second == (pair.id not in EFFECT_COMES_FIRST)
        assert pair.cause.shape[0] == 3
        columns = np.r_[np.atleast_2d(pair.first.T)[:, 0], np.atleast_2d(pair.second.T)[:, 0]] - 100 * pair.id
        np.testing.assert_array_equal(columns, np.arange(1, len(columns) + 1))
        is_plain = pair.id not in tuebingen.MULTIVARIATE or len(columns) == 2
        assert (pair.first.ndim == pair.second.ndim == 1) == is_plain
        assert pair.cause is (pair.first if pair.first_causes_second else pair.second)
        assert pair.effect is (pair.second if pair.first_causes_second else pair.first)


def test_most_files_list_the_cause_first_and_swaps_undo_that(folder):
    as_listed = tuebingen_pairs(folder=folder, swap=False)
    assert sum(pair.first_causes_second for pair in as_listed) == 73
    drawn = [tuebingen_pairs(folder=folder, random_state=seed) for seed in (*range(20), 0)]
    firsts = np.array([[pair.first_causes_second for pair in pairs] for pairs in drawn])
    assert abs(firsts[:20].mean() - 0.5) < 4 * 0.5 / np.sqrt(20 * 99)
    np.testing.assert_array_equal(firsts[0], firsts[20])
    for listed, pair in zip(as_listed, drawn[0], strict=True):
        np.testing.assert_array_equal(pair.cause, listed.cause)
        np.testing.assert_array_equal(pair.effect, listed.effect)


def test_weights_count_copies_of_one_data_set_as_one(folder):
    weights = {pair.id: pair.weight for pair in tuebingen_pairs(subset="all", folder=folder)}
    for group in (range(5, 12), range(25, 33), (49, 50, 51), range(56, 64), (65, 66, 67), (86,), (94, 95, 96)):
        # pairs 56 to 63 share their unit of weight with other pairs of the United Nations
        assert sum(weights[number] for number in group) == pytest.approx(2 / 3 if 56 in group else 1, abs=2e-3)
    assert all(weights[number] == 0 for number in (52, 53, 54, 55, 71))


def test_the_folder_may_come_from_the_environment_and_what_is_missing_is_named(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("ICDH_DATA_HOME", str(folder))
    assert len(tuebingen_pairs()) == 99
    with pytest.raises(ValueError, match="'all', 'loci-99', 'cdt-99'"):
        tuebingen_pairs(subset="99")
    write_pairs(tmp_path)
    (tmp_path / "pair0042.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no .*pair0042\.txt; unpack http.*ICDH_DATA_HOME"):
        tuebingen_pairs(folder=tmp_path)
