"""Who reads a catalogue sees what is committed, whatever he may write, whatever lies beside it, whoever is writing."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import backup_beside
import catalogues
import rights
from nrcdt.catalogue import maintenance, reading
from nrcdt.catalogue.reading import LOG_HEADER, Files, Reading
from nrcdt.catalogue.store import Store
from nrcdt.errors import InputError

PAIRS = catalogues.marks(2, 1, size=48)  # in the file itself
N_LATER, N_NOTES = 5, 3  # marks and notes that are only in the log
COMMITTED = {"marks": len(PAIRS) + N_LATER, "notes": N_NOTES}
EARLIER = {"marks": len(PAIRS), "notes": 0}
EVERYBODY, NOBODY = (0o644, 0o755), (0o444, 0o555)
RIGHTS = {"all": EVERYBODY, "not the file": (0o444, 0o755), "not the folder": (0o644, 0o555), "none": NOBODY}

WRITER = """
import sys
from pathlib import Path
from nrcdt.catalogue.store import Store
Store._settle = lambda self: None  # nothing is brought from the log into the file
catalogue = Store(Path(sys.argv[1]))
record = next(catalogue.records())
with catalogue.transaction():
    for n in range({N_LATER}):
        catalogue.put(record._replace(mark=record.mark._replace(uid=f"later {{n}}", name=f"later {{n}}", source="")))
for n in range({N_NOTES}):
    catalogue.edit(f"later {{n}}", {{"note": "seen"}})
print("ready", flush=True)
sys.stdin.read()
"""
READER = """
import json, sys
from pathlib import Path
from nrcdt.catalogue import maintenance
from nrcdt.catalogue.store import Store
for line in sys.stdin:
    path, out = map(Path, json.loads(line))
    try:
        with Store(path, readonly=True) as catalogue:
            maintenance.backup(catalogue, out / "copy.db")
            maintenance.export(catalogue, out / "list.json")
            listed = json.loads((out / "list.json").read_text())
            found = {"marks": len(listed), "notes": sum(bool(row["note"]) for row in listed)}
            assert maintenance.stats(catalogue)["marks"] == len(catalogue) == found["marks"]
            assert list(maintenance.verify(catalogue)) == []
        with Store(path) as catalogue:  # as the page opens it
            assert len(catalogue) == found["marks"]
        with Store(out / "copy.db", readonly=True) as copy:
            assert len(copy.marks()) == found["marks"] == len(list(copy.records()))
    except ValueError as error:
        found = {"error": str(error)}
    print(json.dumps(found), flush=True)
"""

WRITING = r"the catalogue must be free; got .*marks.db, which another program is writing. Wait for it, then try again"
needs_rights = pytest.mark.skipif(not rights.CAN_BE_BOUND, reason="root, whom rights do not bind")


def talk(process, *words):
    print(json.dumps([str(word) for word in words]), file=process.stdin, flush=True)
    return json.loads(process.stdout.readline())


@pytest.fixture(scope="module")
def reader():
    """A process that rights bind."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(rights.bound([sys.executable, "-c", READER]), **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    """A process that has committed to the log, and lives; and the path of its catalogue."""
    path = tmp_path_factory.mktemp("live") / "marks.db"
    catalogues.make(path, PAIRS).close()
    code = WRITER.format(N_LATER=N_LATER, N_NOTES=N_NOTES)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, path], **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        copied(path, path.parent / "as it was", "-wal", "-shm")
        yield path
        process.kill()


def copied(path, folder, *ends):
    """A copy of a catalogue with some of the files beside it."""
    folder.mkdir()
    for end in ("", *ends):
        shutil.copy(f"{path}{end}", folder / f"{path.name}{end}")
    return folder / path.name


def left(*ends, cut=None):
    """What makes a copy of the catalogue as it was while its writer lived, with a log that is cut."""

    def make(path, folder):
        found = copied(path.parent / "as it was" / path.name, folder, *ends)
        if cut is not None:
            os.truncate(f"{found}-wal", cut)
        return found

    return make


STATES = {
    "a live writer": (lambda path, folder: path, COMMITTED),
    "a killed writer": (left("-wal", "-shm"), COMMITTED),
    "a writer that was killed in its transaction": (left("-wal", "-shm", cut=4000), EARLIER),
    "a writer that was killed before its first transaction": (left("-wal", "-shm", cut=LOG_HEADER), EARLIER),
    "an empty log": (left("-wal", "-shm", cut=0), EARLIER),
    "a log without an index": (left("-wal"), COMMITTED),
    "an index without a log": (left("-shm"), EARLIER),
    "nothing": (left(), EARLIER),
}


@needs_rights
@pytest.mark.slow
@pytest.mark.parametrize("given", RIGHTS)
@pytest.mark.parametrize("state", STATES)
def test_what_was_committed_is_seen(state, given, writer, reader, tmp_path):
    make, expected = STATES[state]
    path, out = make(writer, tmp_path / "share"), tmp_path / "out"
    out.mkdir()
    before = {one.name for one in path.parent.iterdir()}
    with rights.withheld(path, *RIGHTS[given]):
        assert talk(reader, path, out) == expected
        if given != "all":
            assert {one.name for one in path.parent.iterdir()} == before
    assert {"copy.db", "list.json"} <= {one.name for one in out.iterdir()}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize("state", STATES)
def test_what_was_committed_is_seen_on_a_file_system_that_is_only_for_reading(state, writer, tmp_path):
    make, expected = STATES[state]
    path, out = make(writer, tmp_path / "share"), tmp_path / "out"
    out.mkdir()
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" || exit 9; ! touch "$0/x" 2>/dev/null || exit 9'
    command = ["unshare", "-m", "sh", "-c", f'{mount}; exec "$@"', path.parent, sys.executable, "-c", READER]
    told = f"{json.dumps([str(path), str(out)])}\n"
    done = subprocess.run(command, input=told, capture_output=True, text=True)
    if done.returncode in (1, 9, 127) and not done.stdout:
        pytest.skip("nothing can be mounted here")
    assert json.loads(done.stdout) == expected, done.stderr


@needs_rights
@pytest.mark.slow
@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_log_that_may_not_be_read_is_named(end, writer, reader, tmp_path):
    path = left("-wal", "-shm")(writer, tmp_path / "share")
    with rights.withheld(path, *NOBODY):
        Path(f"{path}{end}").chmod(0)
        said = talk(reader, path, tmp_path)["error"]
    assert said == (
        f"the catalogue must be readable with all that is committed; got {path} with marks.db{end} beside it, which "
        "you may not read. Ask who may write it to open and close it once, or for a backup."
    )
    assert not list(tmp_path.glob("*.db"))


@needs_rights
def test_a_catalogue_that_may_not_be_read_is_named(writer, reader, tmp_path):
    path = left()(writer, tmp_path / "share")
    with rights.withheld(path, 0o000, 0o755):
        assert "which you may not read. Ask its owner for the right to" in talk(reader, path, tmp_path)["error"]
    with rights.withheld(path, 0o644, 0o000):
        said = talk(reader, path, tmp_path)["error"]
    assert said.startswith(f"the catalogue must be a file that can be found; got {path} ([Errno 13] Permission denied")


@needs_rights
def test_an_unfinished_transaction_in_a_journal_is_not_shown(reader, tmp_path):
    """Not of this package, but of any program that took the catalogue out of the mode with a log."""
    path = tmp_path / "share" / "marks.db"
    path.parent.mkdir()
    catalogues.make(path, PAIRS).close()
    code = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = DELETE")
db.execute("PRAGMA cache_size = 1")  # pages go to the file before the transaction is finished
db.execute("BEGIN")
db.execute("DELETE FROM pictures"), db.execute("DELETE FROM marks")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code, path], check=True)
    assert Path(f"{path}-journal").stat().st_size
    with rights.withheld(path, *NOBODY):
        assert "with an unfinished transaction in marks.db-journal" in talk(reader, path, tmp_path)["error"]
    with Store(path) as catalogue:
        assert len(catalogue) == len(PAIRS)


# One who reads alone, while a writer comes and goes.


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A path, and a catalogue there that is read alone."""
    path = tmp_path / "marks.db"
    catalogues.make(path, PAIRS).close()
    monkeypatch.setattr(reading, "may_write", lambda path: False)
    with Store(path, readonly=True) as catalogue:
        assert len(catalogue) == len(PAIRS)
        yield catalogue


def later(path, name, close=True):
    """Another program adds a mark."""
    catalogue = Store(path)
    record = next(catalogue.records())
    with catalogue.transaction():
        catalogue.put(record._replace(mark=record.mark._replace(uid=name, name=name, source="")))
    if close:
        catalogue.close()
    return catalogue


def test_a_reader_sees_what_is_committed_later(alone):
    first = later(alone.path, "first")
    assert len(alone) == len(PAIRS) + 1
    assert not list(alone.path.parent.glob("marks.db-*"))
    with closing(later(alone.path, "second", close=False)) as second:
        assert len(alone) == len(second) == len(PAIRS) + 2
        later(alone.path, "third")
        assert len(alone) == len(PAIRS) + 3
    assert first.path == alone.path


def test_what_was_read_while_somebody_wrote_is_read_again(alone):
    names = iter(["meanwhile"])

    def disturbed(db):
        found = db.execute("SELECT count(*) FROM marks").fetchall()
        for name in names:
            later(alone.path, name)
        return found

    assert alone._steady(disturbed) == [(len(PAIRS) + 1,)]


def test_nonsense_that_was_read_while_somebody_wrote_is_no_damage(alone):
    names = iter(["meanwhile"])

    def disturbed(db):
        for name in names:
            later(alone.path, name)
            raise sqlite3.DatabaseError("database disk image is malformed")
        return len(db.execute("SELECT 1 FROM marks").fetchall())

    assert alone._steady(disturbed) == len(PAIRS) + 1


def test_a_reader_who_is_always_disturbed_says_so(alone):
    with pytest.raises(
        InputError, match=r"the catalogue must be free; got .*marks.db, which another program is writing"
    ):
        alone._steady(lambda db: later(alone.path, os.urandom(4).hex()))
    assert len(alone) == len(PAIRS) + reading.ATTEMPTS


def test_a_backup_that_was_disturbed_is_made_again(alone, tmp_path, monkeypatch):
    names, steady = iter(["meanwhile"]), Reading.steady

    def disturbed(self, read):
        def copy(db):
            found = read(db)
            for name in names:
                later(alone.path, name)
            return found

        return steady(self, copy)

    monkeypatch.setattr(Reading, "steady", disturbed)
    maintenance.backup(alone, tmp_path / "copy.db")
    with Store(tmp_path / "copy.db", readonly=True) as copy:
        assert len(copy) == len(PAIRS) + 1


@pytest.mark.slow
def test_a_change_within_the_same_tick_has_another_time(tmp_path):
    path = tmp_path / "marks.db"
    for n in range(20):
        path.write_bytes(bytes([n]) * 100)
        before = Files.of(path)
        before.settle()
        path.write_bytes(bytes([n + 1]) * 100)
        assert Files.of(path) != before


def test_a_catalogue_that_comes_and_goes_while_it_is_opened(tmp_path, monkeypatch):
    path = tmp_path / "marks.db"
    catalogues.make(path, PAIRS).close()
    monkeypatch.setattr(reading, "may_write", lambda path: False)
    opened = Reading._connect

    def disturbed(self, *rest):
        path.touch()
        return opened(self, *rest)

    monkeypatch.setattr(Reading, "_connect", disturbed)
    with pytest.raises(
        InputError, match=r"the catalogue must be free; got .*marks.db, which another program is writing"
    ):
        Store(path, readonly=True)


def test_no_room_for_the_copy_that_reading_takes(writer, tmp_path, monkeypatch):
    path = left("-wal")(writer, tmp_path / "share")
    monkeypatch.setattr(reading, "may_write", lambda path: False)

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(InputError, match=r"must have room; got no room for the copy that reading .*\(No space left on"):
        Store(path, readonly=True)


def test_a_link_to_a_catalogue_is_read_with_the_log_of_the_catalogue(writer, tmp_path, monkeypatch):
    path = left("-wal")(writer, tmp_path / "share")
    (tmp_path / "link.db").symlink_to(path)
    monkeypatch.setattr(reading, "may_write", lambda path: False)
    with Store(tmp_path / "link.db", readonly=True) as catalogue:
        assert len(catalogue) == COMMITTED["marks"]


@pytest.mark.slow
@needs_rights
def test_who_may_not_write_is_told_before_work_is_done(tmp_path):
    path = tmp_path / "share" / "marks.db"
    path.parent.mkdir()
    catalogues.make(path, PAIRS).close()
    code = f"""
from nrcdt.catalogue import Catalogue
catalogue = Catalogue({str(path)!r})
for change in (lambda: catalogue.add({{"a/b": b"a picture"}}), catalogue.renew):
    try:
        change()
    except ValueError as error:
        print(error)
"""
    with rights.withheld(path, *NOBODY):
        said = subprocess.run(rights.bound([sys.executable, "-c", code]), capture_output=True, text=True)
    sentence = (
        f"the catalogue must be writable; got {path}, which is read-only. Copy it elsewhere, or change its rights"
    )
    assert said.stdout.count(sentence) == 2, said.stderr
    assert said.stderr == ""  # no picture was looked at


# Backups.


@contextmanager
def spoiled(monkeypatch, spoil):
    """Have backups arrive in another state than they were made in."""
    copy_to = Store.copy_to

    def spoiling(self, target):
        copy_to(self, target)
        spoil(target)

    monkeypatch.setattr(Store, "copy_to", spoiling)
    yield
    monkeypatch.setattr(Store, "copy_to", copy_to)


SPOILS = {
    "holds no table": "PRAGMA writable_schema = ON; DELETE FROM sqlite_master",
    "refers to a missing mark": "PRAGMA foreign_keys = OFF; DELETE FROM marks WHERE id = 1",
    "another kind of database": "PRAGMA application_id = 7",
    "missing from index": "DROP INDEX by_place; CREATE INDEX by_place ON marks (place) WHERE 0; "
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'WHERE 0', '') WHERE name = 'by_place'",
}


@pytest.mark.parametrize("reason", SPOILS)
def test_a_backup_is_checked_before_it_gets_its_name(reason, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    with (
        catalogues.make(tmp_path / "marks.db", PAIRS) as catalogue,
        spoiled(monkeypatch, lambda target: target.executescript(SPOILS[reason])),
        pytest.raises(InputError, match=r"the backup must be whole; got .* Nothing was kept of it") as caught,
    ):
        maintenance.backup(catalogue, tmp_path / "out" / "copy.db")
    assert reason in str(caught.value) or reason == "holds no table", caught.value
    assert list((tmp_path / "out").iterdir()) == []


def test_a_backup_takes_no_name_with_a_log_beside_it(tmp_path):
    (tmp_path / "copy.db-wal").write_bytes(b"of another catalogue")
    with catalogues.make(tmp_path / "marks.db", PAIRS) as catalogue:
        with pytest.raises(
            InputError, match=r"what belongs to the backup must be a new file; got .*copy.db-wal, which"
        ):
            maintenance.backup(catalogue, tmp_path / "copy.db")
        assert not (tmp_path / "copy.db").exists()
        maintenance.backup(catalogue, str(tmp_path / "other.db"))
    assert sorted(one.name for one in tmp_path.glob("other*")) == ["other.db"]


@pytest.mark.slow
@pytest.mark.parametrize("bound", [False, pytest.param(True, marks=needs_rights)])
def test_backups_beside_a_writer_are_whole(bound, tmp_path):
    beside, after, refused = backup_beside.run(20, tmp_path, seed=int(bound), bound=bound)
    assert beside + after >= 20
    assert after
    assert len(refused) <= 2, refused
