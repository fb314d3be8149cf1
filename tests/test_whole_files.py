"""Files are written whole or not at all, whatever happens on the way."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nrcdt import whole_files
from nrcdt.whole_files import whole_file, write_whole


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "new.txt"
    with whole_file(target) as part:
        part.write_text("half")
        assert not target.exists()
        assert part.parent.parent == tmp_path  # on the same disk
        part.write_text("whole")
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_new_files_have_the_mode_that_the_umask_gives(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_whole(tmp_path / "new.txt", b"text")
    finally:
        os.umask(before)
    assert mode(tmp_path / "new.txt") == 0o666 & ~umask


@pytest.mark.parametrize("kept", [0o640, 0o600, 0o444, 0o755])
def test_a_file_that_is_replaced_hands_on_its_mode(tmp_path, kept):
    target = tmp_path / "old.txt"
    target.write_text("old")
    target.chmod(kept)
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert mode(target) == kept


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    far, link = tmp_path / "far" / "real.txt", tmp_path / "link.txt"
    far.write_text("old")
    link.symlink_to(far)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert far.read_bytes() == b"new"
    assert list((tmp_path / "far").iterdir()) == [far]


def test_nobody_can_put_a_link_where_the_part_is_written(tmp_path):
    """The part lies in a folder that is new, that nobody else may enter, and whose name cannot be guessed."""
    names = set()
    for _ in range(3):
        with whole_file(tmp_path / "a.txt") as part:
            assert mode(part.parent) == 0o700
            assert not part.parent.is_symlink()
            assert list(part.parent.iterdir()) == []
            names.add(part.parent.name)
            part.touch()
    assert len(names) == 3


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = tmp_path / "old.txt"
    target.write_text("old")

    def write_half():
        with whole_file(target) as part:
            part.write_text("half")
            (part.parent / "journal").write_text("what a database writes beside it")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace", "shutil.copymode"])
def test_a_full_disk_is_noticed_before_the_old_file_goes(tmp_path, monkeypatch, step):
    target = tmp_path / "old.txt"
    target.write_text("old")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(step, fail)
    with pytest.raises(OSError, match="No space left on device"):
        write_whole(target, b"new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_written_is_an_error_and_no_empty_file(tmp_path):
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a.txt"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_on_the_disk_before_its_name_and_then_the_folder(tmp_path, monkeypatch):
    target, done = tmp_path / "a.txt", []
    sync, replace = os.fsync, Path.replace

    def watched_sync(handle):
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else os.fstat(handle).st_size)
        sync(handle)

    def watched_replace(part, new):
        done.append(new.name)
        return replace(part, new)

    monkeypatch.setattr(os, "fsync", watched_sync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    write_whole(target, b"four")
    assert done == [4, "a.txt", "folder"]


def test_a_folder_that_cannot_be_synced_is_no_error(tmp_path, monkeypatch):
    sync = os.fsync

    def picky(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(handle)

    monkeypatch.setattr(os, "fsync", picky)
    write_whole(tmp_path / "a.txt", b"text")
    assert (tmp_path / "a.txt").read_bytes() == b"text"


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    target = tmp_path / "old.txt"
    target.write_text("old")
    script = (
        "import sys, time; from nrcdt.whole_files import whole_file\n"
        "with whole_file(sys.argv[1]) as part:\n"
        "    part.write_text('half'); print('half', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(target)], stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    assert target.read_text() == "old"
    (left,) = (path for path in tmp_path.iterdir() if path != target)
    assert left.name.endswith(whole_files.PART)
