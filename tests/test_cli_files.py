"""`nrcdt features` and what people's folders hold."""

import json
import os
import re
import socket

import numpy as np
import pytest
from PIL import Image
from pyarrow import parquet
from typer.testing import CliRunner

import nrcdt
from nrcdt import cli
from nrcdt.datasets import watermarks
from nrcdt.files import collect, count_pages, read_cloud, read_image, read_mesh
from nrcdt.measures import check_clouds, check_images, pack
from nrcdt.plan import Plan

SMALL = ["--directions", "8", "--quantiles", "8"]
PAGES = [Image.fromarray(np.uint8(255 * (1 - one))) for one in watermarks(3, size=48)[0]]


def run(*arguments):
    return CliRunner().invoke(cli.app, ["features", *map(str, arguments), *SMALL])


def told(path):
    """What a table says of itself."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: str(arrays[name]) for name in arrays.files if arrays[name].ndim == 0}
    return {
        key.decode().removeprefix("nrcdt."): text.decode() for key, text in parquet.read_schema(path).metadata.items()
    }


def paths_of(path):
    return parquet.read_table(path)["path"].to_pylist()


@pytest.fixture
def scans(tmp_path):
    folder = tmp_path / "scans"
    folder.mkdir()
    PAGES[0].save(folder / "a.png")
    return folder


def save_pages(path, **how):
    first, *rest = (page.copy() for page in PAGES)  # some writers leave something in what they have written
    first.save(path, save_all=True, append_images=rest, **how)


@pytest.mark.parametrize("name", ["a.tif", "a.gif", "a.png", "a.webp", "a.jpg"])
def test_pages_are_counted(tmp_path, name):
    save_pages(tmp_path / name, **({"format": "MPO"} if name == "a.jpg" else {}))
    assert count_pages(tmp_path / name) == 3
    PAGES[0].save(tmp_path / f"one-{name}")
    assert count_pages(tmp_path / f"one-{name}") == 1
    (tmp_path / name).write_bytes(b"no picture")
    assert count_pages(tmp_path / name) == 1


def test_of_several_pages_the_first_is_taken_and_that_is_said(tmp_path, scans):
    save_pages(scans / "pages.tif")
    save_pages(scans / "turning.gif")
    result = run(scans, "-o", tmp_path / "a.parquet")
    assert result.exit_code == 0
    assert "3 written" in result.stdout
    expected = r"only the first was read of 2 pictures, such as \S*pages\.tif \(3\)\. Split them for a row each\.\n"
    assert re.search(expected, result.stderr)
    a, pages, _ = parquet.read_table(tmp_path / "a.parquet").to_pandas().iloc[:, 1:].to_numpy()
    np.testing.assert_array_equal(a, pages)
    remarks = json.loads(told(tmp_path / "a.parquet")["remarks"])
    assert remarks == [f"{scans / name}: the first of 3 pages or frames" for name in ("pages.tif", "turning.gif")]


def test_what_is_left_out_is_counted_by_reason_and_named_on_request(tmp_path, scans):
    (scans / "sub").mkdir()
    (scans / "sub" / "up").symlink_to(scans)
    for name in ("list.csv", "notes.doc", "README", ".hidden.png"):
        (scans / name).write_text("1,2")
    result = run(scans, "-o", scans / "a.parquet")
    assert result.exit_code == 0
    counts = "left out: 1 of other kinds, 2 of unknown suffixes, 1 hidden, 1 behind links"
    assert re.search(rf"1 written to \S+, 0 failed, [\d.]+ s; {counts} \(-v names them\)\n$", result.stdout)
    result = run(scans, "-o", scans / "a.parquet", "-v")  # the table of before is no file that was left out
    assert result.stdout.endswith(f"{counts}\n")
    for name, why in [
        ("list.csv", "of other kinds"),
        ("notes.doc", "of unknown suffixes"),
        ("README", "of unknown suffixes"),
        (".hidden.png", "hidden"),
        ("sub/up", "behind links"),
    ]:
        assert f"{scans / name}: left out, {why}\n" in result.stdout
    assert "left out" not in run(scans / "a.png", "-o", tmp_path / "a.parquet").stdout


@pytest.mark.slow
def test_an_audit_says_what_it_left_out_too(tmp_path, scans):
    save_pages(scans / "b.tif")
    (scans / "notes.doc").write_text("")
    arguments = ["audit", scans, "-o", tmp_path / "report", "--samples", "1", "--jobs", "1", *SMALL]
    for more, end in ((["-v"], "."), ([], " (-v names them).")):
        result = CliRunner().invoke(cli.app, [str(one) for one in (*arguments, *more)])
        assert result.exit_code == 0, result.output
        assert result.stdout.endswith(f"in a browser; left out: 1 of unknown suffixes{end}\n")
        assert ("notes.doc: left out, of unknown suffixes" in result.stdout) == bool(more)
        assert re.search(r"only the first was read of 1 picture, such as \S*b\.tif \(3\)", result.stderr)


def test_links_that_go_round_cost_a_row(tmp_path, scans):
    (scans / "loop.png").symlink_to("loop.png")
    (scans / "one.png").symlink_to("other.png")
    (scans / "other.png").symlink_to("one.png")
    (scans / "around").symlink_to(scans, target_is_directory=True)
    result = run(scans, "-o", tmp_path / "a.parquet")
    assert result.exit_code == 1
    assert "1 written" in result.stdout
    assert "3 failed (3 unreadable)" in result.stdout
    for name in ("loop", "one", "other"):
        assert re.search(rf"{name}\.png: the file must be readable; got: Too many levels", result.stderr)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize(("name", "reader"), [("p.png", read_image), ("p.csv", read_cloud), ("p.obj", read_mesh)])
def test_nobody_waits_for_a_pipe(tmp_path, name, reader):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="the file must be a regular one; got a folder, a pipe or a device"):
        reader(tmp_path / name)


def test_sockets_and_names_that_are_no_text_cost_a_row(tmp_path, scans, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("scans/s.png")
    content = (scans / "a.png").read_bytes()
    for name in (b"n\xff.png", b"n\xfe.png"):
        with open(os.path.join(os.fsencode(scans), name), "wb") as file:
            file.write(content)
    result = run("scans", "-o", "a.parquet")
    assert "3 written to a.parquet, 1 failed" in result.stdout
    assert "scans/s.png: the file must be a regular one" in result.stderr
    assert paths_of(tmp_path / "a.parquet") == ["scans/a.png", r"scans/n\xfe.png", r"scans/n\xff.png"]


def test_files_that_vanish_cost_a_row(tmp_path, scans, monkeypatch):
    PAGES[1].save(scans / "b.png")
    settle = cli.one_kind

    def vanish(files):
        (scans / "b.png").unlink()
        return settle(files)

    monkeypatch.setattr(cli, "one_kind", vanish)
    result = run(scans, "-o", tmp_path / "a.parquet")
    assert "1 written" in result.stdout
    assert "1 failed (1 unreadable)" in result.stdout
    assert "b.png: the file must be readable; got: No such file or directory" in result.stderr
    assert re.search(r"b\.png: the file must be readable", told(tmp_path / "a.parquet")["remarks"])


def test_a_path_in_a_locked_folder_costs_only_itself(tmp_path, scans, monkeypatch):
    is_dir = type(scans).is_dir

    def locked(path):
        if path.name == "locked.png":
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(type(scans), "is_dir", locked)
    result = run(scans, tmp_path / "locked.png", "-o", tmp_path / "a.parquet")
    assert result.exit_code == 1
    assert "1 failed (1 unreadable)" in result.stdout
    assert "locked.png: the file must be readable; got: Permission denied. Check where" in result.stderr
    result = run(tmp_path / "locked.png", "-o", tmp_path / "a.parquet")
    assert result.exit_code == 2
    assert "locked.png: the file must be readable" in result.stderr


CORNERS = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n"
HEAD = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
HEAD += "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.ply", HEAD + "3 0 1 99\n", r"have faces between its own vertices, 0 to 3; got 0 to 99\. Export it again"),
        ("a.ply", HEAD + "3 0 1 -1\n", r"have faces between its own vertices, 0 to 3; got -1 to 1\. Export it again"),
        ("a.obj", CORNERS + "f 1 2 9\n", "be a whole PLY, OBJ, STL or OFF file; got one that trimesh cannot read"),
        ("a.obj", CORNERS + "f 1 2 -9\n", "be a whole PLY, OBJ, STL or OFF file; got one that trimesh cannot read"),
        ("a.obj", CORNERS + "f 0 1 2\n", r"number the corners of its faces from 1; got 0 in one\. Export it again"),
        ("a.obj", CORNERS + "f 1/1 0/2 2/1\n", "number the corners of its faces from 1; got 0 in one"),
        ("a.off", "OFF 4 1 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 9\n", "be a whole PLY, OBJ, STL or OFF file"),
    ],
)
@pytest.mark.parametrize("surface", [None, 40])
def test_a_mesh_with_wrong_indices_costs_a_row(tmp_path, name, text, message, surface):
    pytest.importorskip("trimesh").creation.box().export(tmp_path / "good.ply")
    (tmp_path / name).write_text(text)
    result = run(tmp_path, "-o", tmp_path / "t.parquet", *(["--surface", surface] if surface else []))
    assert result.exit_code == 1
    assert "1 written" in result.stdout
    assert re.search(rf"{name}: the mesh must {message}", result.stderr)


def test_corners_may_be_counted_backwards(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "a.obj").write_text(CORNERS + "f -1 -2 -3\nf 10/0 2 3\n".replace("10/0", "1"))
    assert read_mesh(tmp_path / "a.obj").shape == (4, 3)


def test_a_misleading_first_batch_is_named_at_the_end(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(cli.batches, "BATCH_SAMPLES", 2)
    for i, d in enumerate([2, 2, 3, 3, 3, 4]):
        np.save(tmp_path / f"{i}.npy", rng.normal(size=(20, d)))
    result = run(tmp_path, "-o", tmp_path / "t.parquet")
    assert result.exit_code == 1
    assert "2 written" in result.stdout
    assert "4 failed (4 of another dimension)" in result.stdout
    assert (
        len(re.findall(r"must have 2 coordinates like other files; got [34]\. Run once for each", result.stderr)) == 4
    )
    assert "3 files have 3 coordinates: the first 2 files decided on 2. Run again for them.\n" in result.stderr
    result = run(tmp_path / "0.npy", tmp_path / "1.npy", tmp_path / "2.npy", "-o", tmp_path / "t.parquet")
    assert "1 failed (1 of another dimension)" in result.stdout
    assert "decided" not in result.stderr


SETTINGS = {
    "pictures": (["--trim", 0.1, "--normalize", "median", "--aggregate", "tv"], {"kind": "image", "ink": "dark"}),
    "clouds": (["--frame", "whitened", "--aggregate", "max", "--aggregate", "std"], {"kind": "cloud"}),
    "rotations": (["--space", "rotation", "--normalize", "none", "--aggregate", "mean"], {"kind": "cloud"}),
}


@pytest.mark.parametrize("suffix", [".parquet", ".npz"])
@pytest.mark.parametrize("what", SETTINGS)
def test_what_a_table_tells_makes_its_plan_and_its_columns_again(tmp_path, rng, suffix, what):
    options, reading = SETTINGS[what]
    if what == "pictures":
        PAGES[0].save(tmp_path / "a.png")
        PAGES[1].save(tmp_path / "b.png")
        options = [*options, "--ink", "dark"]
        measures = check_images([read_image(tmp_path / name, "dark") for name in ("a.png", "b.png")])
    else:
        clouds = rng.normal(size=(2, 30, 4 if what == "rotations" else 3))
        clouds = clouds / np.linalg.norm(clouds, axis=2, keepdims=True) if what == "rotations" else clouds
        for name, cloud in zip("ab", clouds, strict=True):
            np.save(tmp_path / f"{name}.npy", cloud)
        measures = check_clouds(clouds)
    table = tmp_path / f"t{suffix}"
    for _ in range(2):  # the second time over the first: it is still a table of features
        assert run(tmp_path, "-o", table, *options).exit_code == 0
    about = told(table)
    plan = Plan.resolve(**json.loads(about["settings"]))
    assert plan.digest == about["plan"]
    assert about["version"] == nrcdt.__version__
    assert json.loads(about["reading"]) == reading
    found = np.load(table)["features"] if suffix == ".npz" else parquet.read_table(table).to_pandas().iloc[:, 1:]
    scales = np.repeat(json.loads(about["scales"]), plan.block_sizes) if plan.scaled else 1.0
    assert ("scales" in about) == ("--aggregate" in options and options.count("--aggregate") > 1)
    np.testing.assert_allclose(plan.features(pack(plan.space.check(measures))) / scales, found, rtol=1e-12)


def test_remarks_are_not_endless(tmp_path, scans, monkeypatch):
    monkeypatch.setattr(cli.batches, "MAX_REMARKS", 2)
    for i in range(5):
        (scans / f"bad{i}.png").write_text("no picture")
    assert run(scans, "-o", tmp_path / "t.parquet").exit_code == 1
    remarks = json.loads(told(tmp_path / "t.parquet")["remarks"])
    assert [one.partition(":")[0] for one in remarks] == [
        str(scans / "bad0.png"),
        str(scans / "bad1.png"),
        "and 3 more",
    ]


def test_collect_names_what_it_passes_over(tmp_path):
    for name in ("a.png", "b.doc", ".c.png", ".d/e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "up").symlink_to(tmp_path)
    found = collect([tmp_path])
    assert [path.name for path in found.files] == ["a.png"]
    assert [path.name for path in found.unknown] == ["b.doc"]
    assert sorted(path.name for path in found.hidden) == [".c.png", ".d"]
    assert [path.name for path in found.linked] == ["up"]
