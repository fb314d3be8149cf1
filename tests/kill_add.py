"""Kill `nrcdt catalogue add` at random moments; every committed mark must stay, and the next run must finish the rest.

Run as a script: ``python tests/kill_add.py 100``.
"""

import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import catalogues
from nrcdt.catalogue import maintenance
from nrcdt.catalogue.store import Store

N_MARKS = 240


def committed(path):
    """Ids of the marks that are safely stored, seen from another program; none where there is no table yet."""
    if not path.is_file():
        return set()
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=30)) as db:
            return {uid for (uid,) in db.execute("SELECT uid FROM marks")}
    except sqlite3.OperationalError:
        return set()


def start(path, scans):
    command = [sys.executable, "-m", "nrcdt", "catalogue", "add", str(path), str(scans), "--drawing", "--jobs", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def kill_once(path, scans, rng, n_before):
    """Kill an `add` after it has stored some more marks, or at the very start; return what had been stored before."""
    with start(path, scans) as process:
        wanted = n_before + rng.randrange(0, 60)
        while process.poll() is None and len(committed(path)) < wanted:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.2)
        seen = committed(path)
        process.send_signal(signal.SIGKILL)
    return seen


def run(n_kills, folder, seed=0):
    """Return how often an `add` was killed half way: at least so often that the test says something."""
    rng = random.Random(seed)
    scans = catalogues.write_folder(folder / "scans", _many(N_MARKS))
    n_half_way, path, n = 0, folder / "marks0.db", 0
    for kill in range(n_kills):
        before = committed(path)
        if len(before) > N_MARKS - 60:
            n += 1
            path, before = folder / f"marks{n}.db", set()
        seen = kill_once(path, scans, rng, len(before))
        after = committed(path)
        assert before <= seen <= after, f"kill {kill} lost marks"
        n_half_way += 0 < len(after) < N_MARKS
        if path.is_file() and after:
            with Store(path) as catalogue:
                assert list(maintenance.verify(catalogue)) == [], f"kill {kill} damaged the catalogue"
    with start(path, scans) as process:
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()
    with Store(path) as catalogue:
        assert len(catalogue) == N_MARKS
        assert list(maintenance.verify(catalogue)) == []
    return n_half_way


def _many(n):
    pairs = catalogues.marks(8, n // 8 - 1, size=48)
    assert len(pairs) == n
    return pairs


if __name__ == "__main__":
    n_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        half_way = run(n_kills, Path(folder))
    print(f"{n_kills} kills, {half_way} of them half way, nothing lost, {time.perf_counter() - began:.0f} s")
