import errno

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from nrcdt import tables
from nrcdt.tables import write_features

NAMES = ["a.png", "b, c.png", "größer.png"]
COLUMNS = ["max_0", "max_1"]
FEATURES = np.random.default_rng(0).normal(size=(3, 2))


def read(path):
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return list(arrays["path"]), list(arrays["columns"]), arrays["features"]
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    return list(frame["path"]), list(frame.columns[1:]), frame.iloc[:, 1:].to_numpy()


@pytest.mark.parametrize("suffix", list(tables.WRITERS))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tables_come_back(tmp_path, suffix, dtype):
    path = tmp_path / f"features{suffix}"
    write_features(path, NAMES, COLUMNS, FEATURES.astype(dtype))
    names, columns, features = read(path)
    assert names == NAMES
    assert columns == COLUMNS
    np.testing.assert_array_equal(features, FEATURES.astype(dtype))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", list(tables.WRITERS))
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failed_write_leaves_the_old_table(tmp_path, monkeypatch, suffix, error):
    path = tmp_path / f"features{suffix}"
    write_features(path, NAMES, COLUMNS, FEATURES)
    old = path.read_bytes()

    def fail(file, *rest):
        file.write(b"half a table")
        raise error

    monkeypatch.setitem(tables.WRITERS, suffix, fail)
    with pytest.raises(error):
        write_features(path, NAMES, COLUMNS, FEATURES + 1)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", list(tables.WRITERS))
def test_a_complete_write_replaces_the_old_table(tmp_path, suffix):
    path = tmp_path / f"features{suffix}"
    write_features(path, NAMES, COLUMNS, FEATURES)
    write_features(path, NAMES[:1], COLUMNS, FEATURES[:1])
    assert read(path)[0] == NAMES[:1]


@pytest.mark.parametrize("suffix", list(tables.WRITERS))
def test_only_tables_of_features_are_replaced(tmp_path, suffix):
    path = tmp_path / f"precious{suffix}"
    for content in (b"path,date,place\na.png,1450,Basel\n", b"1,2\n3,4\n", b"\x89PNG"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"must not replace what is no table of features; got .*precious"):
            write_features(path, NAMES, COLUMNS, FEATURES)
        assert path.read_bytes() == content
    np.savez(tmp_path / "cloud.npz", points=FEATURES)
    pd.DataFrame({"path": ["a"], "date": [1450]}).to_parquet(tmp_path / "list.parquet")
    for mine in ("cloud.npz", "list.parquet"):
        with pytest.raises(ValueError, match="must not replace"):
            write_features(tmp_path / mine, NAMES, COLUMNS, FEATURES)
    path.write_bytes(b"")
    write_features(path, NAMES, COLUMNS, FEATURES)
    assert read(path)[0] == NAMES


def test_columns_that_were_added_are_not_lost(tmp_path):
    frame = pd.DataFrame({"path": ["a"], "max_0": [0.5], "label": ["crown"]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    np.savez(tmp_path / "a.npz", path=["a"], columns=["max_0"], features=[[0.5]], labels=["crown"])
    for suffix in tables.WRITERS:
        with pytest.raises(ValueError, match="must not replace what is no table of features"):
            write_features(tmp_path / f"a{suffix}", NAMES, COLUMNS, FEATURES)


def test_who_may_read_the_table_stays_as_it_was(tmp_path):
    write_features(tmp_path / "a.csv", NAMES, COLUMNS, FEATURES)
    (tmp_path / "a.csv").chmod(0o640)
    write_features(tmp_path / "a.csv", NAMES, COLUMNS, FEATURES)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "table.csv").symlink_to(tmp_path / "far.csv")
    write_features(tmp_path / "table.csv", NAMES, COLUMNS, FEATURES)
    assert (tmp_path / "table.csv").is_symlink()
    assert read(tmp_path / "far.csv")[0] == NAMES


def test_a_full_disk_is_named_with_the_file(tmp_path, monkeypatch):
    def fail(file, *rest):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(tables.WRITERS, ".csv", fail)
    with pytest.raises(OSError, match=r"the table must be written whole; got: No space left on device: '.*a\.csv'"):
        write_features(tmp_path / "a.csv", NAMES, COLUMNS, FEATURES)


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in one of \.parquet, \.npz, \.csv; got 'a\.xlsx'"):
        write_features(tmp_path / "a.xlsx", NAMES, COLUMNS, FEATURES)
    with pytest.raises(ValueError, match="a folder that exists"):
        write_features(tmp_path / "missing" / "a.csv", NAMES, COLUMNS, FEATURES)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="the table must be a file"):
        write_features(tmp_path / "folder.csv", NAMES, COLUMNS, FEATURES)
    with pytest.raises(ValueError, match=r"features must have one row per name .*\(3, 2\); got \(2, 2\)"):
        write_features(tmp_path / "a.csv", NAMES, COLUMNS, FEATURES[:2])
    with pytest.raises(ValueError, match="columns must be distinct"):
        write_features(tmp_path / "a.csv", NAMES, ["max_0", "max_0"], FEATURES)
    with pytest.raises(
        ValueError, match=r"about must name some of version, .*remarks; got author\. Leave out the others"
    ):
        write_features(tmp_path / "a.csv", NAMES, COLUMNS, FEATURES, about={"author": "me"})


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv"])
def test_tables_say_which_plan_made_their_columns(tmp_path, suffix):
    path = tmp_path / f"features{suffix}"
    for plan in ("one", "another"):  # the second time over the first: it is still a table of features
        write_features(path, NAMES, COLUMNS, FEATURES, plan)
    if suffix == ".parquet":
        assert parquet.read_schema(path).metadata[b"nrcdt.plan"] == b"another"
    if suffix == ".npz":
        assert np.load(path)["plan"] == "another"
