"""Back up a catalogue while another program writes it and is killed; every backup must be one state that was committed.

Run as a script: ``python tests/backup_beside.py 400``. Half of the backups are made by somebody who may not write.

Each transaction of the writer adds marks, takes some out, edits and judges others, and notes its number and a digest of
all that is in the catalogue then.
"""

import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, nullcontext
from pathlib import Path
from threading import Thread

import catalogues
import rights
from nrcdt.catalogue.maintenance import backup
from nrcdt.catalogue.store import Store

MOST = 60  # marks in the catalogue
ROUND = 15  # backups between two starts of the writer; the last one is made after it was killed
TABLES = (
    "SELECT uid, name, note FROM marks ORDER BY uid",
    "SELECT uid, mark, preview FROM pictures JOIN marks USING (id) ORDER BY uid",
    "SELECT uid, vector FROM features JOIN marks USING (id) ORDER BY uid",
    "SELECT * FROM judgements ORDER BY a, b",
    "SELECT count(*) FROM pictures UNION ALL SELECT count(*) FROM features",
)


def digest(rows):
    """A digest of all that is in a catalogue; `rows` answers a query."""
    found = hashlib.sha256()
    for sql in TABLES:
        found.update(repr(rows(sql)).encode())
    return found.hexdigest()


def step(catalogue, record, number, rng):
    """One transaction of the writer."""
    with catalogue.transaction():
        uids = [f"{number:06}{letter}" for letter in "ab"]
        for uid in uids:
            mark = record.mark._replace(uid=uid, name=f"mark {uid}", source="")
            catalogue.put(record._replace(mark=mark, preview=rng.randbytes(rng.randrange(1, 20_000))))
        catalogue.keep(catalogues.judgement(*uids))
        known = [uid for (uid,) in catalogue.rows("SELECT uid FROM marks ORDER BY uid")]
        catalogue.correct(catalogue.mark(rng.choice(known)), {"note": "seen " * number})
        for uid in known[:-MOST]:
            catalogue.rows("DELETE FROM marks WHERE uid = ?", [uid])
        catalogue.set_about("state", [number, digest(catalogue.rows)])


def write(path, seed, reopen):
    """Write until killed; tell the number of every transaction that is committed."""
    rng = random.Random(seed)
    with Store(path) as catalogue:
        record = next(catalogue.records())
    while True:
        with Store(path) as catalogue:
            number, _ = catalogue.about("state")
            print(number, flush=True)
            for _ in range(rng.randrange(1, 20) if reopen else sys.maxsize):
                number += 1
                step(catalogue, record, number, rng)
                print(number, flush=True)
        time.sleep(0.05 * rng.random())


def serve_backups(path):
    """Make a backup for every name that is asked for; tell what went wrong."""
    for line in sys.stdin:
        try:
            with Store(path, readonly=True) as catalogue:
                backup(catalogue, Path(line.rstrip()))
            print("done", flush=True)
        except ValueError as error:
            print(error, flush=True)


class Writer:
    """A process that writes, and what it has committed."""

    def __init__(self, path, seed):
        # Only root may open the catalogue again whose rights are withheld.
        command = [sys.executable, __file__, "write", path, str(seed), "reopen" * (os.geteuid() == 0)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.committed = int(self.process.stdout.readline())
        self._listener = Thread(target=self._listen)
        self._listener.start()

    def _listen(self):
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.committed = int(line)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._listener.join()
        self.process.stdout.close()


def check(copy, first, last):
    """Assert that a backup is whole, and one of the states that were committed while it was made."""
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    with Store(copy, readonly=True) as catalogue:
        number, expected = catalogue.about("state")
        assert digest(catalogue.rows) == expected, f"state {number} is mixed with another"
    assert first <= number <= last, f"state {number} is none of {first} to {last}"


def run(n_backups, folder, seed=0, bound=False):
    """Make and check backups; return how many beside a writer, how many after its death, and what was refused."""
    path, rng = folder / "share" / "marks.db", random.Random(seed)
    path.parent.mkdir(parents=True)
    with catalogues.make(path, catalogues.marks(1, 1, size=48)) as catalogue:
        step(catalogue, next(catalogue.records()), 1, rng)
    command = [sys.executable, __file__, "back", path]
    command = rights.bound(command) if bound else command
    beside = after = 0
    refused = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as backer:
        while beside + after < n_backups:
            writer = Writer(path, rng.random())
            with rights.withheld(path) if bound else nullcontext():
                for turn in range(ROUND):
                    copy, first = folder / f"{beside + after + len(refused)}.db", writer.committed
                    if turn == ROUND - 1:
                        time.sleep(0.05 * rng.random())
                        writer.kill()
                        first = writer.committed
                    print(copy, file=backer.stdin, flush=True)
                    answer = backer.stdout.readline().strip()
                    if answer != "done":
                        refused.append(answer)
                        assert not copy.exists()
                        continue
                    # One more may have been committed than the writer had time to tell.
                    check(copy, first, writer.committed + 1)
                    copy.unlink()
                    beside, after = beside + (turn < ROUND - 1), after + (turn == ROUND - 1)
        backer.stdin.close()
    assert not list(folder.glob("*.part"))
    return beside, after, refused


def main(arguments):
    if arguments[:1] == ["write"]:
        write(Path(arguments[1]), float(arguments[2]), bool(arguments[3]))
    elif arguments[:1] == ["back"]:
        serve_backups(Path(arguments[1]))
    else:
        n_backups = int(arguments[0]) if arguments else 400
        for bound in (False, True)[: 1 + rights.CAN_BE_BOUND]:
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                beside, after, refused = run(n_backups // 2, Path(folder), bound=bound)
            who = "who may not write" if bound else "who may write"
            seconds = time.perf_counter() - began
            print(f"{who}: {beside} backups beside a writer, {after} after its death, all whole, {seconds:.0f} s")
            for sentence in sorted(set(refused)):
                print(f"  refused {refused.count(sentence)} times: {sentence}")


if __name__ == "__main__":
    main(sys.argv[1:])
