"""A file is old or new, never half, whatever happens to the process or the disk meanwhile."""

import os
import stat

import numpy as np
import pytest
from helpers import cases, python

from icdh.files import check_writable, replace_on_success, write_graph

A = np.zeros((2, 2))
NAMES = ["a", "b"]


def written(tmp_path, text, name="file.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.fixture
def old(tmp_path):
    return written(tmp_path, "old")


def test_a_failure_leaves_the_old_file_and_nothing_else(old):
    def fail():
        with replace_on_success(old) as temporary:
            temporary.write_text("half")
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        fail()
    assert os.listdir(old.parent) == ["file.csv"]
    assert old.read_text() == "old"


def test_success_replaces_the_file(old):
    with replace_on_success(old) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert old.read_text() == "old"
    assert os.listdir(old.parent) == ["file.csv"]
    assert old.read_text() == "new"


@cases(
    ("path", "message"),
    ("folder.csv", "it is a folder"),
    ("absent/graph.csv", "there is no folder"),
    ("plain/graph.csv", "there is no folder"),
    ("/proc/self/graph.csv", r"cannot write /proc/self/graph.csv: "),  # a folder that takes no files
)
def test_paths_that_cannot_be_written_are_os_errors(tmp_path, path, message):
    (tmp_path / "folder.csv").mkdir()
    written(tmp_path, "", "plain")
    with pytest.raises(OSError, match=message):
        write_graph(tmp_path / path, A, NAMES)
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "plain"]


@pytest.mark.parametrize("before", [None, "old"])
def test_a_write_goes_through_symbolic_links(tmp_path, before):
    folder, link = tmp_path / "elsewhere", tmp_path / "link.csv"
    folder.mkdir()
    link.symlink_to(folder / "target")
    if before:
        written(folder, before, "target")
    write_graph(link, A, NAMES)
    assert link.is_symlink()
    assert (folder / "target").read_text() == link.read_text() == ",a,b\na,0,0\nb,0,0\n"
    assert os.listdir(folder) == ["target"]
    with replace_on_success(link) as temporary:
        assert temporary.suffix == ".csv"
        temporary.write_text("new")


def test_permissions_are_kept(old):
    old.chmod(0o640)
    new, plain = old.with_name("new.csv"), written(old.parent, "", "plain")
    write_graph(old, A, NAMES)
    write_graph(new, A, NAMES)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (old, new, plain)]
    assert modes == [0o640, modes[2], modes[2]]


def test_a_name_too_long_is_found_before_any_work(tmp_path):
    with pytest.raises(OSError, match=r"cannot write .*nnn\.csv: File name too long"):
        check_writable(tmp_path / ("n" * 252 + ".csv"))
    longest = tmp_path / ("n" * 251 + ".csv")
    write_graph(longest, A, NAMES)
    assert longest.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_os_error_that_names_the_file(tmp_path):
    link = tmp_path / "graph.csv"
    link.symlink_to("/dev/full")
    check_writable(link)
    with pytest.raises(OSError, match=r"cannot write .*graph.csv: No space left on device"):
        write_graph(link, A, NAMES)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_leftovers_of_killed_writers_go_and_those_of_living_ones_stay(tmp_path):
    leftover = written(tmp_path, "half", ".icdh-0123abcd.tmp.csv")
    own = written(tmp_path, "of the user", ".icdh-notes.csv")
    with replace_on_success(tmp_path / "file.csv") as temporary:
        assert not leftover.exists()
        temporary.write_text("slow")
        write_graph(tmp_path / "other.csv", A, NAMES)
        assert temporary.exists()
    assert (tmp_path / "file.csv").read_text() == "slow"
    assert own.exists()


KILLED = """
import itertools, os, random, signal, sys, time
from icdh.files import replace_on_success
random.seed(0)
for _ in range(20):
    told, tells = os.pipe()
    writer = os.fork()
    if not writer:
        for turn in itertools.count():
            with replace_on_success(sys.argv[1]) as temporary:
                temporary.write_text(str(turn % 10) * 100_000)
            os.write(tells, b".")
    os.read(told, 1)
    time.sleep(random.uniform(0, 0.01))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    with open(sys.argv[1]) as file:
        text = file.read()
    print(len(text), len(set(text)))
"""


def test_a_writer_killed_at_any_moment_leaves_the_old_or_the_new_file(tmp_path):
    path = written(tmp_path, "0" * 100_000)
    assert python(tmp_path / "kernels", "-c", KILLED, str(path)).stdout == "100000 1\n" * 20
    with replace_on_success(path) as temporary:
        temporary.write_text("new")
    assert os.listdir(tmp_path) == ["file.csv"]
