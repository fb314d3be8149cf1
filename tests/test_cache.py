import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from nrcdt.paper.cache import PACKAGE, Cache, code_digest, default_folder
from nrcdt.whole_files import PART

KEY = {"data": "abc", "n_directions": 16}


def answer():
    return {"features": np.arange(6.0).reshape(2, 3)}


def test_arrays_are_computed_once(tmp_path):
    calls = []
    cache = Cache(tmp_path / "new" / "folder")
    for _ in range(3):
        np.testing.assert_array_equal(
            cache.get(KEY, lambda: calls.append(1) or answer())["features"], [[0, 1, 2], [3, 4, 5]]
        )
    assert len(calls) == 1


def test_every_part_of_the_key_counts(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    cache.get(KEY, answer)
    for other in ({**KEY, "n_directions": 17}, {**KEY, "more": 1}):
        assert cache.get(other, lambda: {"features": np.zeros(1)})["features"].shape == (1,)
    monkeypatch.setattr("nrcdt.paper.cache.code_digest", lambda package: "another")
    assert cache.get(KEY, lambda: {"features": np.zeros(2)})["features"].shape == (2,)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("kernels/cpu.py", True),
        ("transform.py", True),
        ("baselines/lot.py", True),
        ("paper/features.py", True),
        ("paper/run.py", False),
        ("catalogue/store.py", False),
        ("plot.py", False),
    ],
)
def test_changed_sources_of_features_compute_them_anew(tmp_path, name, counts):
    assert (PACKAGE / name).is_file()
    digests = []
    for version in ("old", "new"):
        path = tmp_path / version / name
        path.parent.mkdir(parents=True)
        path.write_text(version)
        digests.append(code_digest(tmp_path / version))
    assert (digests[0] != digests[1]) is counts


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not an archive", None])
def test_a_damaged_file_is_made_anew(tmp_path, damage):
    cache = Cache(tmp_path)
    cache.get(KEY, answer)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-40] if damage is None else damage)
    np.testing.assert_array_equal(cache.get(KEY, answer)["features"], answer()["features"])
    np.testing.assert_array_equal(cache.get(KEY, lambda: 1 / 0)["features"], answer()["features"])


def test_a_failed_computation_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        Cache(tmp_path).get(KEY, lambda: 1 / 0)
    with pytest.raises(AttributeError, match="lambda"):  # objects that cannot be stored, found out half way
        Cache(tmp_path).get(KEY, lambda: {"features": np.array([lambda: 0])})
    assert list(tmp_path.iterdir()) == []


def test_many_writers_share_one_folder(tmp_path):
    def write(i):
        return Cache(tmp_path).get({**KEY, "i": i % 3}, lambda: {"x": np.full(100_000, i % 3)})["x"]

    with ThreadPoolExecutor(8) as pool:
        for i, array in enumerate(pool.map(write, range(48))):
            assert np.all(array == i % 3)
    assert {path.suffix for path in tmp_path.iterdir()} == {".npz"}


def test_a_part_that_another_run_finishes_in_between_is_no_error(tmp_path, monkeypatch):
    gone = tmp_path / "gone.part"  # listed, then renamed by its writer before it is looked at
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: iter([gone]))
    np.testing.assert_array_equal(Cache(tmp_path).get(KEY, answer)["features"], answer()["features"])


@pytest.mark.slow
def test_a_killed_writer_leaves_no_half_file(tmp_path):
    script = (
        "import numpy as np, sys; from pathlib import Path; from nrcdt.paper.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1])); print('ready', flush=True)\n"
        "for i in range(10**6): cache.get({'i': i % 4, 'n': i}, lambda: {'x': np.full(500_000, i % 4)})\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        time.sleep(0.3)
        writer.kill()
    stored = list(tmp_path.glob("*.npz"))
    assert stored
    for path in stored:
        with np.load(path) as arrays:
            assert len(np.unique(arrays["x"])) == 1


def test_the_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("NRCDT_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("NRCDT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "nrcdt"


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.warns(UserWarning, match="the cache must be writable; got .*Choose another --cache"):
        np.testing.assert_array_equal(Cache(tmp_path / "cache").get(KEY, answer)["features"], answer()["features"])


def test_parts_of_killed_runs_are_cleared_away(tmp_path):
    old, new = tmp_path / "old.part", tmp_path / "new.part"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    Cache(tmp_path)
    assert list(tmp_path.iterdir()) == [new]


def test_folders_that_killed_writers_leave_are_cleared_away(tmp_path):
    old = tmp_path / f"a{PART}"
    old.mkdir()
    (old / "half.npz").touch()
    os.utime(old, (0, 0))
    Cache(tmp_path)
    assert list(tmp_path.iterdir()) == []
