import pickle
import sys
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from nrcdt import files
from nrcdt.errors import InputError
from nrcdt.files import collect, kind_of, read_cloud, read_image, read_mesh, read_picture


@pytest.fixture
def drawing():
    """A dark stroke on light paper, 8 bit."""
    grey = np.full((20, 30), 240, dtype=np.uint8)
    grey[5:8, 4:25] = 40
    return grey


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "gif", "pgm", "webp"])
def test_formats_without_loss_agree(tmp_path, drawing, suffix):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(drawing).save(path, **({"lossless": True} if suffix == "webp" else {}))
    np.testing.assert_array_equal(read_image(path), np.where(drawing == 40, 200.0, 0.0))


def test_jpeg_is_close(tmp_path, drawing):
    Image.fromarray(drawing).save(tmp_path / "a.jpg", quality=95)
    assert np.abs(read_image(tmp_path / "a.jpg") - np.where(drawing == 40, 200.0, 0.0)).max() < 40


def test_ink_is_found_on_either_side_of_the_paper(tmp_path, drawing):
    Image.fromarray(drawing).save(tmp_path / "dark.png")
    Image.fromarray(255 - drawing).save(tmp_path / "light.png")
    dark, light = read_image(tmp_path / "dark.png"), read_image(tmp_path / "light.png")
    np.testing.assert_array_equal(dark, light)
    np.testing.assert_array_equal(dark, read_image(tmp_path / "dark.png", ink="dark"))
    assert not read_image(tmp_path / "dark.png", ink="light").any()


def test_deep_and_shallow_modes(tmp_path, drawing):
    inked = drawing == 40
    Image.fromarray(drawing.astype(np.uint16) * 257).save(tmp_path / "deep.png")
    Image.fromarray(drawing.astype(np.float32) / 255).save(tmp_path / "float.tif")
    Image.fromarray(drawing > 100).save(tmp_path / "bit.png")
    np.testing.assert_array_equal(read_image(tmp_path / "deep.png"), np.where(inked, 200.0 * 257, 0))
    np.testing.assert_allclose(read_image(tmp_path / "float.tif"), np.where(inked, 200 / 255, 0), atol=1e-6)
    np.testing.assert_array_equal(read_image(tmp_path / "bit.png"), np.where(inked, 255.0, 0))


def test_colour_and_palette(tmp_path, drawing):
    colour = Image.fromarray(drawing).convert("RGB")
    for picture in (colour, colour.quantize(8), colour.convert("CMYK")):
        path = tmp_path / f"{picture.mode}.tif"
        picture.save(path)
        assert np.abs(read_image(path) - np.where(drawing == 40, 200.0, 0)).max() <= 2


def test_transparent_parts_are_white_paper(tmp_path):
    pixels = np.zeros((10, 10, 4), dtype=np.uint8)
    pixels[2:4, 2:8, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), pixels[..., 3].astype(float))


def test_white_ink_on_transparent_paper_is_seen(tmp_path):
    pixels = np.full((10, 10, 4), 255, dtype=np.uint8)
    pixels[..., 3] = 0
    pixels[2:4, 2:8, 3] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), pixels[..., 3].astype(float))


# What a viewer does to a picture with orientation 1 to 8.
TURNS = (
    lambda a: a,
    np.fliplr,
    lambda a: np.rot90(a, 2),
    np.flipud,
    np.transpose,
    lambda a: np.rot90(a, -1),
    lambda a: np.rot90(a, 2).T,
    np.rot90,
)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.png", "raw.tif", "packed.tif", "deep.tif", "a.jpg", "a.webp"])
def test_camera_orientation_is_applied(tmp_path, drawing, name, orientation):
    drawing[5:18, 4:7] = 40  # looks different from all sides
    exif = Image.Exif()
    exif[0x0112] = orientation
    how = {"packed.tif": {"compression": "tiff_lzw"}, "a.webp": {"lossless": True}}.get(name, {})
    pixels = drawing.astype(np.uint16) * 257 if name == "deep.tif" else drawing
    Image.fromarray(pixels).save(tmp_path / name, exif=exif, **how)
    expected = TURNS[orientation - 1](drawing == 40)
    for source in (tmp_path / name, (tmp_path / name).read_bytes()):
        grey, _ = read_picture(source)
        np.testing.assert_array_equal(grey < grey.max() / 2, expected)


def test_infinite_grey_is_refused(tmp_path):
    grey = np.zeros((4, 4), dtype=np.float32)
    grey[1, 1] = np.nan
    Image.fromarray(grey).save(tmp_path / "a.tif")
    with pytest.raises(ValueError, match="the picture must have finite grey levels"):
        read_image(tmp_path / "a.tif")


def test_damaged_pictures_are_refused(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (60, 60), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    for name, content in {"cut.png": whole[: len(whole) // 2], "text.png": b"no picture"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=r"the picture must be a whole PNG.*Copy or export it again"):
            read_image(tmp_path / name)


def test_programs_in_disguise_are_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n")
    with pytest.raises(ValueError, match="the picture must be a whole PNG"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize("pillow_limit", [None, 400, 100])
def test_pixels_are_counted_before_decoding(tmp_path, drawing, monkeypatch, pillow_limit):
    Image.fromarray(drawing).save(tmp_path / "a.png")
    monkeypatch.setattr(files.pictures, "MAX_PIXELS", 500)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", pillow_limit)
    monkeypatch.setattr(files.pictures, "_grey_levels", lambda picture: pytest.fail("decoded"))
    with pytest.raises(ValueError, match=r"at most 0\.0005 megapixels; got.*(30 x 20|600) pixels.* Scale it down"):
        read_image(tmp_path / "a.png")


@pytest.mark.parametrize(("reader", "name"), [(read_image, "a.png"), (read_cloud, "a.npy"), (read_mesh, "a.ply")])
def test_bytes_are_counted_for_every_kind(tmp_path, monkeypatch, reader, name):
    (tmp_path / name).write_bytes(b"x" * 2000)
    monkeypatch.setattr(files.checks, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"the file must have at most 0\.001 MB"):
        reader(tmp_path / name)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match="the file must hold data; got 0 bytes"):
        reader(tmp_path / name)


def test_archives_are_measured_unpacked(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", points=np.zeros((1000, 2)))
    monkeypatch.setattr(files.checks, "MAX_BYTES", 10_000)
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    with pytest.raises(ValueError, match="the file must have at most"):
        read_cloud(tmp_path / "a.npz")


def test_unknown_ink_lists_the_choices(tmp_path):
    with pytest.raises(ValueError, match="ink must be one of auto, dark, light, photograph, none; got 'red'"):
        read_image(tmp_path / "a.png", ink="red")


POINTS = np.array([[0.0, 1.5], [2.0, -3.0], [4e-3, 5.0]])
WEIGHTS = np.array([1.0, 2.0, 3.0])


def test_arrays(tmp_path):
    np.save(tmp_path / "a.npy", POINTS)
    np.savez(tmp_path / "b.npz", points=POINTS, weights=WEIGHTS)
    np.savez(tmp_path / "c.npz", POINTS)
    for name, expected in {"a.npy": None, "b.npz": WEIGHTS, "c.npz": None}.items():
        points, weights = read_cloud(tmp_path / name)
        np.testing.assert_array_equal(points, POINTS)
        np.testing.assert_array_equal(weights, expected)


@pytest.mark.parametrize(
    ("name", "text", "weighted"),
    [
        ("a.csv", "0,1.5\n2,-3\n4e-3,5\n", False),
        ("a.csv", "\ufeffx,y\r\n0,1.5\r\n2,-3\r\n4e-3,5\r\n", False),
        ("a.csv", 'x,"Weight",y\n0,1,1.5\n2,2,-3\n4e-3,3,5\n', True),
        ("a.csv", "x;y;weight\n0;1,5;1\n2;-3;2\n4e-3;5;3\n", True),
        ("a.xyz", "0 1.5\n\n2   -3\n 4E-3 5\n", False),
        ("a.txt", "# x y weight\n0 1.5 1\n2 -3 2\n4e-3 5 3\n", True),
        ("a.txt", "0\t1.5\n2\t-3\n4e-3\t5", False),
        ("a.csv", "A vase, 3 cm\nx,y,weight\nmm,mm,g\n0,1.5,1\n2,-3,2\n4e-3,5,3\n", True),
        ("a.csv", "A vase, of old\nx,y\n0,1.5\n2,-3\n4e-3,5\n", False),
        ("a.csv", "id,x,y\n1,0,1.5\n2,2,-3\n3,4e-3,5\n", False),
    ],
)
def test_text(tmp_path, name, text, weighted):
    (tmp_path / name).write_bytes(text.encode())
    points, weights = read_cloud(tmp_path / name)
    np.testing.assert_array_equal(points, POINTS)
    np.testing.assert_array_equal(weights, WEIGHTS if weighted else None)


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n{0},{1}\n{2},{3}\n",  # pandas, without its row numbers
        ",0,1\n0,{0},{1}\n1,{2},{3}\n",  # pandas, with them
        "Unnamed: 0,x,y\n0,{0},{1}\n1,{2},{3}\n",  # pandas, read and written again
        "     0    1\n0  {0}  {1}\n1  {2}  {3}\n",  # pandas, as it prints
        "x y\n1 {0} {1}\n2 {2} {3}\n",  # R, write.table without quotes
        '"x" "y"\n"1" {0} {1}\n"2" {2} {3}\n',  # and with them
        '"x","y"\n"{0}","{1}"\n"{2}","{3}"\n',
    ],
)
def test_row_and_column_numbers_are_no_coordinates(tmp_path, text):
    points = np.array([[0.5, 1.25], [-2.0, 3.5]])
    (tmp_path / "a.csv").write_text(text.format(*points.ravel()))
    np.testing.assert_array_equal(read_cloud(tmp_path / "a.csv")[0], points)


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n3,2\n",
        "0 1\n3 2",
        "A vase, of old\n0,1\n3,2\n",
        "vase\n0,1\n3,2\n",
        "x,y\n0,1\n3.0,2.0\n",
        "id,x,y\n0,0,1\n1,3.0,2.0\n",
        "\ufeffx;y\r\n0;1\r\n3,0;2,0\r\n",
        "# cloud\n0 1\n3.0 2\n",
        "0,1\n3.0,2\n",
        "# no names\n0 1\n3. 2.\n",
    ],
)
def test_first_points_of_whole_numbers_are_points(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.encode())
    np.testing.assert_array_equal(read_cloud(tmp_path / "a.csv")[0], [[0, 1], [3, 2]])


@pytest.mark.parametrize("text", ["0,1\n", "x,y\n0,1\n", "0 1"])
def test_a_single_point_of_whole_numbers_is_a_point(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    np.testing.assert_array_equal(read_cloud(tmp_path / "a.csv")[0], [[0, 1]])


def test_numbered_columns_beside_weights(tmp_path):
    frame = pd.DataFrame([[0.5, 1.25], [-2.0, 3.0]]).assign(weight=[1.0, 2.0])
    named = frame.rename_axis("id"), frame.rename_axis("Unnamed: 0"), frame.rename_axis("index")
    for one in (frame, frame.astype(float), *named):
        one.to_csv(tmp_path / "a.csv")
        points, weights = read_cloud(tmp_path / "a.csv")
        np.testing.assert_array_equal(points, [[0.5, 1.25], [-2, 3]])
        np.testing.assert_array_equal(weights, [1, 2])


def test_remarks_are_no_names(tmp_path):
    (tmp_path / "a.txt").write_text("# time series\n0 1.5 2.5\n1 2.5 3.5\n2 4.5 5\n")
    assert read_cloud(tmp_path / "a.txt")[0].shape == (3, 3)
    for indented in (" # 1 2\n3 4\n5 7\n", "\t% 1,2\n3,4\n5,7\n"):
        (tmp_path / "a.txt").write_text(indented)
        np.testing.assert_array_equal(read_cloud(tmp_path / "a.txt")[0], [[3, 4], [5, 7]])


def test_missing_numbers_stay_missing(tmp_path):
    (tmp_path / "a.csv").write_text("nan,1\n2,3\n")
    assert np.isnan(read_cloud(tmp_path / "a.csv")[0][0, 0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3\n", "the table must hold as many numbers in every row"),
        ("1,2\n3,four\n", "the table must hold as many numbers in every row"),
        ("1,,2\n3,,4\n", "the table must hold as many numbers in every row"),
        ("x,y\n", "the table must hold at least one row"),
        ("x,y,name\n1,2,cup\n", "got words in each, such as '1,2,cup'. Leave out columns of words"),
        ("x,y,z,weight\nNA,1,2,3\n4,5,6,7\n", "the table must have numbers in every row; got 'NA' in one. Mend"),
        ("2\nvase\nC 1 2 3\nC 4 5 6\n", r"every row; got [^;`]*\. Mend that row"),
        (b"\xff\xfe\x00\x81", "the table must hold as many numbers in every row"),
    ],
)
def test_bad_text(tmp_path, text, message):
    (tmp_path / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        read_cloud(tmp_path / "a.csv")


def test_bad_arrays(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object))
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    np.save(tmp_path / "flat.npy", np.arange(3.0))
    np.savez(tmp_path / "many.npz", a=POINTS, b=POINTS)
    (tmp_path / "broken.npz").write_bytes(b"PK no archive")
    np.savez_compressed(tmp_path / "damaged.npz", points=np.random.default_rng(0).random((200, 2)))
    damaged = bytearray((tmp_path / "damaged.npz").read_bytes())
    damaged[200:400] = bytes(200)
    (tmp_path / "damaged.npz").write_bytes(damaged)
    with ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("points.txt", "1 2")
    np.savez(tmp_path / "empty.npz")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "flat.npy").read_bytes()[:-8])
    Image.new("L", (3, 3)).save(tmp_path / "picture.png")
    (tmp_path / "picture.png").rename(tmp_path / "picture.npy")
    messages = {
        "objects.npy": "the file must hold whole arrays of numbers",
        "words.npy": "the points must be real numbers",
        "flat.npy": r"the points must have shape \(n_points, d\)",
        "many.npz": "the archive must hold `points`, or a single array; got a, b",
        "broken.npz": "the file must hold whole arrays of numbers",
        "damaged.npz": "the file must hold whole arrays of numbers",
        "empty.npz": "the archive must hold `points`, or a single array; got nothing",
        "text.npz": "the archive must hold `points`, or a single array; got nothing",
        "cut.npy": "the file must hold whole arrays of numbers",
        "picture.npy": "the file must hold whole arrays of numbers; got objects, or no array file. Save it again",
    }
    for name, message in messages.items():
        with pytest.raises(ValueError, match=message):
            read_cloud(tmp_path / name)


@pytest.fixture
def box():
    return pytest.importorskip("trimesh").creation.box(extents=(1, 2, 3))


@pytest.mark.parametrize("suffix", ["ply", "obj", "stl", "off"])
def test_meshes(tmp_path, box, suffix):
    path = tmp_path / f"box.{suffix}"
    box.export(path)
    corners = np.unique(box.vertices, axis=0)
    np.testing.assert_allclose(read_mesh(path), corners)
    surface = read_mesh(path, n_samples=4000)
    np.testing.assert_array_equal(surface, read_mesh(path, n_samples=4000))
    np.testing.assert_allclose(np.abs(surface / [0.5, 1, 1.5]).max(axis=1), 1)
    on_small_faces = np.isclose(np.abs(surface[:, 2]), 1.5).mean()
    assert on_small_faces == pytest.approx(4 / 22, abs=0.03)


def test_bare_points_in_a_mesh_file(tmp_path):
    path = tmp_path / "a.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n")
    assert read_mesh(path).shape == (4, 3)
    with pytest.raises(ValueError, match="the mesh must have faces"):
        read_mesh(path, n_samples=10)


def test_a_mesh_with_fewer_vertices_than_it_declares_is_refused(tmp_path):
    pytest.importorskip("trimesh")
    header = "ply\nformat ascii 1.0\nelement vertex 1000\nproperty float x\nproperty float y\nproperty float z\n"
    (tmp_path / "a.ply").write_text(header + "end_header\n" + "1 2 3\n4 5 6\n7 8 10\n0 0 1\n" * 3)
    with pytest.raises(ValueError, match=r"got 12 of 1000 lines of vertices and faces\. Export it again"):
        read_mesh(tmp_path / "a.ply")


@pytest.mark.parametrize("comment", ["", "# a box\n"])
@pytest.mark.parametrize("suffix", ["off", "ply"])
def test_a_mesh_with_fewer_faces_than_it_declares_is_refused(tmp_path, box, suffix, comment):
    box.export(tmp_path / f"whole.{suffix}", **({"encoding": "ascii"} if suffix == "ply" else {}))
    lines = (tmp_path / f"whole.{suffix}").read_text().splitlines(keepends=True)
    (tmp_path / f"a.{suffix}").write_text("".join([lines[0], comment * (suffix == "off"), *lines[1:-3]]))
    with pytest.raises(ValueError, match=r"got 17 of 20 lines of vertices and faces\. Export it again"):
        read_mesh(tmp_path / f"a.{suffix}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.off", "OFF 4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n2 0 1\n"),
        (
            "a.off",
            "COFF\n# by hand\n4 1 0 # counts\n\n0 0 0 1 1 1 1\n1 0 0 1 1 1 1\n0 1 0 1 1 1 1\n0 0 1 1 1 1 1\n3 0 1 2\n",
        ),
        (
            "a.ply",
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
            "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
            "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n2 0 1\n",
        ),
    ],
)
def test_whole_meshes_of_all_kinds_are_read(tmp_path, name, text):
    pytest.importorskip("trimesh")
    (tmp_path / name).write_text(text)
    assert len(read_mesh(tmp_path / name)) == 4


def test_half_a_binary_mesh_is_refused_for_what_it_is(tmp_path, box):
    box.export(tmp_path / "whole.stl")
    (tmp_path / "a.stl").write_bytes((tmp_path / "whole.stl").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"must be a whole PLY, OBJ, STL or OFF file; got 4 of 12 triangles\. Export"):
        read_mesh(tmp_path / "a.stl")
    assert len(read_mesh(tmp_path / "whole.stl")) == 8


def test_comments_in_a_mesh_declare_nothing(tmp_path, box):
    box.export(tmp_path / "a.ply")
    head, _, rest = (tmp_path / "a.ply").read_bytes().partition(b"\n")
    (tmp_path / "a.ply").write_bytes(head + b"\ncomment element vertex 99 of the old file\n" + rest)
    assert len(read_mesh(tmp_path / "a.ply")) == 8


@pytest.mark.parametrize(("name", "content"), [("a.ply", b"ply\nnonsense"), ("a.off", b"OFF\n3 1 0\n0 0 0\n")])
def test_damaged_meshes_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match="the mesh must be a whole PLY, OBJ, STL or OFF file"):
        read_mesh(tmp_path / name)


def test_empty_meshes_and_counts_are_refused(tmp_path):
    (tmp_path / "a.obj").write_text("# nothing\n")
    (tmp_path / "flat.obj").write_text("v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n")
    with pytest.raises(ValueError, match="must have three coordinates per vertex; got 2"):
        read_mesh(tmp_path / "flat.obj")
    with pytest.raises(ValueError, match="the mesh must have vertices"):
        read_mesh(tmp_path / "a.obj")
    with pytest.raises(ValueError, match="n_samples must be a positive integer"):
        read_mesh(tmp_path / "a.obj", n_samples=0)


def test_missing_trimesh_is_explained(tmp_path, monkeypatch):
    (tmp_path / "a.ply").write_bytes(b"ply")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ImportError, match=r"pip install 'nrcdt\[mesh\]'"):
        read_mesh(tmp_path / "a.ply")


def test_collect_walks_folders_and_keeps_the_order_of_files(tmp_path):
    for name in ("b/two.png", "b/one.PNG", "b/deep/x.tif", "b/notes.md", "b/.hidden/y.png", "b/._one.png", "z.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_bytes(b"")
    found, left_out, *_ = collect([tmp_path / "z.png", tmp_path / "b", tmp_path / "b/two.png"])
    assert left_out == []
    assert [path.relative_to(tmp_path).as_posix() for path in found] == [
        "z.png",
        "b/deep/x.tif",
        "b/one.PNG",
        "b/two.png",
    ]


def test_a_folder_stands_for_its_pictures_then_meshes_then_points(tmp_path):
    (tmp_path / "list.csv").write_bytes(b"")
    (tmp_path / "points.npy").write_bytes(b"")
    assert [path.name for path in collect([tmp_path])[0]] == ["list.csv", "points.npy"]
    (tmp_path / "vase.ply").write_bytes(b"")
    assert [path.name for path in collect([tmp_path])[0]] == ["vase.ply"]
    (tmp_path / "scan.png").write_bytes(b"")
    found, left_out, *_ = collect([tmp_path])
    assert [path.name for path in found] == ["scan.png"]
    assert [path.name for path in left_out] == ["vase.ply", "list.csv", "points.npy"]
    assert [path.name for path in collect([tmp_path, tmp_path / "vase.ply"])[1]] == ["list.csv", "points.npy"]


def test_collect_says_what_it_cannot_take(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"a\.docx: the suffix must be one of \.png .*\.off; got '\.docx'"):
        collect([tmp_path / "a.docx"])
    with pytest.raises(ValueError, match=r"PATH must be a file or a folder; got .*nowhere"):
        collect([tmp_path / "nowhere"])


def test_every_suffix_has_one_kind():
    assert {kind_of(f"a{suffix}") for suffix in files.SUFFIXES["mesh"]} == {"mesh"}
    with pytest.raises(ValueError, match="the suffix must be one of"):
        kind_of("README")


def test_tables_as_other_programs_write_them(tmp_path):
    points = np.random.default_rng(0).random((6, 2))
    np.savetxt(tmp_path / "a.csv", points, delimiter=",", header="exported from a tool\nx,y")
    np.testing.assert_allclose(read_cloud(tmp_path / "a.csv")[0], points)
    rows = [f"{i},{x!r},{y!r}" for i, (x, y) in enumerate(points.tolist())]
    (tmp_path / "b.csv").write_text("\n".join([",x,y", *rows]))
    np.testing.assert_allclose(read_cloud(tmp_path / "b.csv")[0], points)
    (tmp_path / "c.csv").write_text("weight\n1\n2\n")
    with pytest.raises(ValueError, match="must have columns of coordinates; got weights only"):
        read_cloud(tmp_path / "c.csv")


def test_what_is_no_array_file_is_told_by_its_first_bytes(tmp_path):
    np.savez(tmp_path / "archive.npz", points=POINTS)
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps([1, 2]))
    for name in ("archive.npy", "pickle.npy"):
        with pytest.raises(InputError, match="got objects, or no array file"):
            read_cloud(tmp_path / name)


def test_names_of_files_may_hold_braces(tmp_path):
    (tmp_path / "{0}.doc").write_text("")
    with pytest.raises(ValueError, match=r"\{0\}\.doc: the suffix must be one of \.png"):
        collect([tmp_path / "{0}.doc"])


def test_what_is_hidden_is_left_out_of_folders(tmp_path, drawing):
    for name in ("a.png", ".b.png", ".trash/c.png", "d/e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(drawing).save(tmp_path / name)
    assert [path.name for path in collect([tmp_path]).files] == ["a.png", "e.png"]
