"""The Tübingen pairs that benchmarks read: their columns, directions and weights, and the archive that has them."""

import functools
import hashlib
import http.server
import sys
import threading
import zipfile

import numpy as np
import pytest
from helpers import ROOT

sys.path.append(str(ROOT))

from benchmarks import tuebingen
from benchmarks.tuebingen import fetch_tuebingen

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


@pytest.fixture
def server(tmp_path, folder, monkeypatch):
    """A server of this machine that has the archive; returns the SHA-256 of it."""
    archive = tmp_path / "pairs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.iterdir():
            file.write(path, f"pairs/{path.name}")
    handler = functools.partial(QuietHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(tuebingen, "ARCHIVE", f"http://127.0.0.1:{server.server_port}/pairs.zip")
        yield hashlib.sha256(archive.read_bytes()).hexdigest()
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("subset", "left_out"), [("all", set()), ("loci-99", {47, 70, 107, *COPIES}), ("cdt-99", {106, 107, 108, *COPIES})]
)
def test_subsets(folder, subset, left_out):
    pairs = fetch_tuebingen(subset=subset, data_home=folder)
    assert [pair.id for pair in pairs] == sorted(set(range(1, 109)) - left_out)


def test_directions_and_columns(folder):
    for pair in fetch_tuebingen(subset="all", data_home=folder, swap=False):
        assert pair.first_causes_second == (pair.id not in EFFECT_COMES_FIRST)
        assert pair.cause.shape[0] == 3
        columns = np.r_[np.atleast_2d(pair.first.T)[:, 0], np.atleast_2d(pair.second.T)[:, 0]] - 100 * pair.id
        np.testing.assert_array_equal(columns, np.arange(1, len(columns) + 1))
        assert (pair.first.ndim == pair.second.ndim == 1) == (
            pair.id not in tuebingen.MULTIVARIATE or len(columns) == 2
        )
        assert pair.cause is (pair.first if pair.first_causes_second else pair.second)
        assert pair.effect is (pair.second if pair.first_causes_second else pair.first)


def test_most_files_list_the_cause_first_and_swaps_undo_that(folder):
    as_listed = fetch_tuebingen(data_home=folder, swap=False)
    assert sum(pair.first_causes_second for pair in as_listed) == 73
    drawn = [fetch_tuebingen(data_home=folder, random_state=seed) for seed in (*range(20), 0)]
    firsts = np.array([[pair.first_causes_second for pair in pairs] for pairs in drawn])
    assert abs(firsts[:20].mean() - 0.5) < 4 * 0.5 / np.sqrt(20 * 99)
    np.testing.assert_array_equal(firsts[0], firsts[20])
    for listed, pair in zip(as_listed, drawn[0], strict=True):
        np.testing.assert_array_equal(pair.cause, listed.cause)
        np.testing.assert_array_equal(pair.effect, listed.effect)


def test_weights_count_copies_of_one_data_set_as_one(folder):
    weights = {pair.id: pair.weight for pair in fetch_tuebingen(subset="all", data_home=folder)}
    for group in (range(5, 12), range(25, 33), (49, 50, 51), range(56, 64), (65, 66, 67), (86,), (94, 95, 96)):
        # pairs 56 to 63 share their unit of weight with other pairs of the United Nations
        assert sum(weights[number] for number in group) == pytest.approx(2 / 3 if 56 in group else 1, abs=2e-3)
    assert all(weights[number] == 0 for number in (52, 53, 54, 55, 71))


def test_the_folder_comes_from_the_environment_or_a_subfolder(folder, tmp_path, monkeypatch):
    write_pairs(tmp_path / "tuebingen")
    assert len(fetch_tuebingen(data_home=str(tmp_path), download=False)) == 99
    monkeypatch.setenv("ICDH_DATA_HOME", str(folder))
    assert len(fetch_tuebingen(download=False)) == 99


def test_the_archive_is_downloaded_once_and_refused_if_it_is_not_what_its_checksum_says(server, tmp_path, monkeypatch):
    home, checked = tmp_path / "home", tmp_path / "checked"
    with pytest.raises(ValueError, match="the server's file changed"):
        fetch_tuebingen(data_home=home, checksum="0" * 64)
    assert len(fetch_tuebingen(data_home=home)) == 99
    assert len(fetch_tuebingen(data_home=checked, checksum=f"sha256:{server}")) == 99
    monkeypatch.setattr(tuebingen, "ARCHIVE", tuebingen.ARCHIVE + ".gone")
    assert len(fetch_tuebingen(data_home=home, download=False)) == 99
    with pytest.raises(OSError, match=r"cannot download.*by hand.*ICDH_DATA_HOME"):
        fetch_tuebingen(data_home=tmp_path / "none")


def test_what_is_missing_is_named(tmp_path, folder, monkeypatch):
    with pytest.raises(ValueError, match="'all', 'loci-99', 'cdt-99'"):
        fetch_tuebingen(subset="99", data_home=folder)
    with pytest.raises(FileNotFoundError, match=r"no files pair0001\.txt.*ICDH_DATA_HOME"):
        fetch_tuebingen(data_home=tmp_path, download=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match="pooch"):
        fetch_tuebingen(data_home=tmp_path)
    write_pairs(tmp_path)
    (tmp_path / "pair0042.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"there is no .*pair0042\.txt"):
        fetch_tuebingen(data_home=tmp_path)
