import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

import nrcdt
from nrcdt import NRCDT, cli, demo, tables
from nrcdt.datasets import photograph, watermarks
from nrcdt.files import read_cloud, read_image

SMALL = ["--directions", "16", "--quantiles", "8"]
SETTINGS = {"n_directions": 16, "n_quantiles": 8}


def run(*arguments):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def features_of(path):
    return pd.read_parquet(path).set_index("path")


def one_line(result):
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def drawings():
    return np.uint8(255 * (1 - watermarks(4, size=64)[0]))


@pytest.fixture
def scans(tmp_path, drawings):
    folder = tmp_path / "scans"
    folder.mkdir()
    for i, drawing in enumerate(drawings):
        Image.fromarray(drawing).save(folder / f"{i}.png")
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv"])
def test_features_of_pictures_in_every_format(tmp_path, scans, suffix):
    out = tmp_path / f"features{suffix}"
    result = run("features", scans, "-o", out, *SMALL)
    assert result.exit_code == 0
    assert re.search(r"4 written to .*features.*, 0 failed, [\d.]+ s", one_line(result))
    expected = NRCDT(**SETTINGS).fit_transform([read_image(path) for path in sorted(scans.iterdir())])
    if suffix == ".npz":
        found = np.load(out)["features"]
    else:
        frame = pd.read_parquet(out) if suffix == ".parquet" else pd.read_csv(out)
        assert list(frame.columns) == ["path", *(f"max_{j}" for j in range(8))]
        assert list(frame["path"]) == [str(path) for path in sorted(scans.iterdir())]
        found = frame.iloc[:, 1:].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_bad_files_are_named_and_the_rest_goes_on(tmp_path, scans, drawings):
    (scans / "corrupt.png").write_bytes((scans / "0.png").read_bytes()[:100])
    Image.fromarray(np.full((20, 20), 255, dtype=np.uint8)).save(scans / "empty [1].png")
    Image.fromarray(drawings[0].astype(np.uint16) * 257).save(scans / "deep.png")
    result = run("features", scans, "-o", tmp_path / "a.parquet", *SMALL)
    assert result.exit_code == 1
    assert "5 written" in result.output
    assert "2 failed" in result.output
    assert re.search(r"corrupt\.png: the picture must be a whole PNG", result.output)
    assert re.search(r"empty \[1\]\.png: the picture must have ink; got none with --ink auto. Drop the", result.output)
    table = features_of(tmp_path / "a.parquet")
    np.testing.assert_allclose(table.loc[str(scans / "deep.png")], table.loc[str(scans / "0.png")], rtol=1e-9)


def test_paths_that_lead_nowhere_are_named_and_the_rest_goes_on(tmp_path, scans):
    (scans / "link.png").symlink_to(tmp_path / "gone.png")
    (tmp_path / "notes.docx").write_text("no picture")
    paths = (scans, tmp_path / "gone.png", tmp_path / "notes.docx")
    n_good = len(list(scans.glob("*.png"))) - 1
    result = run("features", *paths, "-o", tmp_path / "a.parquet", *SMALL)
    assert result.exit_code == 1
    assert f"{n_good} written" in result.output
    assert "3 failed" in result.output
    assert re.search(r"PATH must be a file or a folder; got .*gone\.png, which does not exist", result.output)
    assert re.search(r"notes\.docx: ", result.output)
    assert re.search(r"link\.png: .*No such file", result.output)
    assert run("features", *paths[1:], "-o", tmp_path / "b.parquet", *SMALL).exit_code == 2


def test_black_on_white_and_white_on_black_agree(tmp_path, drawings):
    Image.fromarray(drawings[0]).save(tmp_path / "black.png")
    Image.fromarray(255 - drawings[0]).save(tmp_path / "white.png")
    assert run("features", tmp_path, "-o", tmp_path / "a.parquet", *SMALL).exit_code == 0
    black, white = features_of(tmp_path / "a.parquet").to_numpy()
    np.testing.assert_array_equal(black, white)
    result = run("features", tmp_path, "-o", tmp_path / "a.parquet", "--ink", "light", *SMALL)
    assert result.exit_code == 1
    assert "black.png: the picture must have ink; got none with --ink light. Try --ink dark" in result.output


def test_photographs_are_cleaned_first(tmp_path):
    drawing = watermarks(1, size=128)[0]
    for name, picture in (("clean", drawing), ("photo", photograph(drawing, "chain_lines", random_state=0))):
        Image.fromarray(np.rint(255 * picture[0]).astype(np.uint8)).save(tmp_path / f"{name}.png")
    tables = {}
    for ink in ("light", "photograph"):
        result = run("features", tmp_path / "clean.png", tmp_path / "photo.png", "-o", tmp_path / "a.npz", "--ink", ink)
        assert result.exit_code == 0, result.output
        clean, photo = np.load(tmp_path / "a.npz")["features"]
        tables[ink] = np.abs(clean - photo).max()
    assert tables["photograph"] < 0.3 * tables["light"]


def test_several_aggregations_do_not_depend_on_batches(tmp_path, scans, monkeypatch):
    monkeypatch.setattr(cli.batches, "BATCH_SAMPLES", 3)
    (scans / "1b.png").write_bytes(b"nonsense")
    arguments = ["--aggregate", "max", "--aggregate", "tv", "--normalize", "center"]
    assert run("features", scans, "-o", tmp_path / "a.parquet", *arguments, *SMALL).exit_code == 1
    images = [read_image(scans / f"{i}.png") for i in range(4)]
    model = NRCDT(aggregate=["max", "tv"], normalize="center", **SETTINGS)
    table = features_of(tmp_path / "a.parquet")
    np.testing.assert_allclose(table, model.fit_transform(images), rtol=1e-12)
    assert list(table.columns) == list(model.get_feature_names_out())


def test_clouds_are_not_overwritten_and_tables_not_read_as_clouds(tmp_path):
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "a.csv", rng.normal(size=(30, 2)), delimiter=",")
    before = (tmp_path / "a.csv").read_bytes()
    result = run("features", tmp_path, "-o", tmp_path / "a.csv", *SMALL)
    assert result.exit_code == 2
    assert "must not replace what is no table of features" in result.output
    assert (tmp_path / "a.csv").read_bytes() == before
    for _ in range(2):
        result = run("features", tmp_path, "-o", tmp_path / "table.csv", *SMALL)
        assert (result.exit_code, "1 written" in result.output) == (0, True)


def test_options_for_other_files_are_refused(tmp_path, scans):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(30, 2)))
    result = run("features", tmp_path / "a.npy", "-o", tmp_path / "a.csv", "--ink", "dark")
    assert "--ink must be left out for files of kind cloud; got dark. It is for pictures." in result.output
    result = run("features", scans, "-o", tmp_path / "a.csv", "--surface", 100)
    assert "--surface must be left out for files of kind image; got 100. It is for meshes." in result.output


def test_what_may_not_be_read_is_named(tmp_path, scans, monkeypatch):
    (scans / "locked").mkdir()
    (scans / "gone.png").symlink_to(tmp_path / "nowhere.png")
    os_walk = os.walk

    def walk(top, onerror):
        onerror(PermissionError(13, "Permission denied", str(scans / "locked")))
        return os_walk(top)

    monkeypatch.setattr("os.walk", walk)
    result = run("features", scans, "-o", tmp_path / "a.csv", *SMALL)
    assert result.exit_code == 1
    assert "locked: the folder must be readable; got none of its files. Change its permissions." in result.output
    assert "gone.png: the file must be readable; got: No such file or directory. Check where it is" in result.output


def test_nothing_to_write(tmp_path):
    (tmp_path / "a.png").write_bytes(b"nonsense")
    old = tmp_path / "old.csv"
    old.write_text("path,max_0\nprecious,1\n")
    result = run("features", tmp_path / "a.png", "-o", old)
    assert result.exit_code == 2
    assert "0 written, 1 failed" in result.output
    assert old.read_text() == "path,max_0\nprecious,1\n"


def test_a_failed_write_leaves_the_old_table(tmp_path, scans, monkeypatch):
    def fail(file, *rest):
        raise OSError("no space left on device")

    out = tmp_path / "a.csv"
    assert run("features", scans, "-o", out, *SMALL).exit_code == 0
    old = out.read_bytes()
    monkeypatch.setitem(tables.WRITERS, ".csv", fail)
    result = run("features", scans, "-o", out, *SMALL)
    assert result.exit_code == 2
    assert "no space left on device" in result.output
    assert out.read_bytes() == old


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--aggregate", "median"], "--aggregate must be one of max, abs_max, .*; got median"),
        (["--frame", "turned"], "--frame must be one of fixed, whitened; got turned"),
        (["--jobs", "0"], "--jobs.*must be a number of threads, or -1 for all cores; got 0"),
        (["--normalize", "whiten"], "--normalize must be one of standardize, .*, none; got whiten"),
        (["--space", "torus"], "--space must be one of image for files of kind image; got torus"),
        (["--space", "rotation"], "--space must be one of image for files of kind image; got rotation"),
        (["--quantiles", "1"], "n_quantiles must be at least 2"),
        (["--ink", "red"], "'auto', 'dark', 'light', 'photograph'"),
        (["--directions", "0"], "--directions"),
    ],
)
def test_wrong_settings_list_the_choices(tmp_path, scans, arguments, message):
    result = run("features", scans, "-o", tmp_path / "a.csv", *arguments)
    assert result.exit_code == 2
    assert re.search(message, re.sub(r"[│\s]+", " ", result.output))
    assert "Traceback" not in result.output
    assert not (tmp_path / "a.csv").exists()


def test_wrong_paths(tmp_path, scans):
    np.save(scans / "cloud.npy", np.eye(3))
    (tmp_path / "none").mkdir()
    for arguments, message in [
        ([scans, scans / "cloud.npy", "-o", tmp_path / "a.csv"], "PATH must hold files of one kind; got"),
        ([tmp_path / "none", "-o", tmp_path / "a.csv"], "PATH must hold at least one file"),
        ([tmp_path / "missing", "-o", tmp_path / "a.csv"], "PATH must be a file or a folder"),
        ([scans / "0.png", "-o", tmp_path / "a.xls"], "must end in one of .parquet, .npz, .csv"),
    ]:
        result = run("features", *arguments)
        assert result.exit_code == 2
        assert message in result.output


@pytest.mark.parametrize("n_good", [2, 12])
def test_a_stray_first_file_costs_only_itself(tmp_path, n_good):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "0.npy", rng.normal(size=(40, 2)))
    for i in range(n_good):
        np.save(tmp_path / f"good{i}.npy", rng.normal(size=(40, 3)))
    result = run("features", tmp_path, "-o", tmp_path / "a.npz", *SMALL)
    assert result.exit_code == 1
    assert "0.npy: the sample must have 3 coordinates like other files; got 2. Run once" in result.output
    assert f"{n_good} written" in result.output


def test_features_of_clouds(tmp_path):
    points = np.random.default_rng(0).normal(size=(3, 40, 2))
    folder = tmp_path / "clouds"
    folder.mkdir()
    np.save(folder / "a.npy", points[0])
    np.savez(folder / "b.npz", points=points[1], weights=np.arange(1.0, 41))
    np.savetxt(folder / "c.csv", points[2], delimiter=",", header="x,y", comments="")
    samples = [read_cloud(path) for path in sorted(folder.iterdir())]
    np.save(folder / "d.npy", np.ones((5, 2)))
    np.save(folder / "e.npy", np.array([[np.nan, 1.0], [1.0, 2.0]]))
    np.save(folder / "f.npy", np.random.default_rng(0).normal(size=(9, 3)))
    result = run("features", folder, "-o", tmp_path / "a.parquet", "--aggregate", "tv", *SMALL)
    assert result.exit_code == 1
    assert "d.npy: the sample must have spread in every slice; got none in direction 0" in result.output
    assert "e.npy: the sample must be finite; got NaN" in result.output
    assert "f.npy: the sample must have 2 coordinates like other files; got 3. Run once" in result.output
    expected = NRCDT("euclidean", aggregate="tv", **SETTINGS).fit_transform(samples)
    np.testing.assert_allclose(features_of(tmp_path / "a.parquet"), expected, rtol=1e-12)


def test_other_spaces_and_samples_that_fail_in_their_batch(tmp_path):
    rng = np.random.default_rng(0)
    quaternions = rng.normal(size=(20, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    np.save(tmp_path / "a.npy", quaternions)
    np.save(tmp_path / "b.npy", quaternions[:1])
    np.save(tmp_path / "c.npy", quaternions[5:])
    result = run("features", tmp_path, "-o", tmp_path / "a.parquet", "--space", "rotation", *SMALL)
    assert result.exit_code == 1
    assert "b.npy: the sample must have spread in every slice" in result.output
    expected = NRCDT("rotation", **SETTINGS).fit_transform([quaternions, quaternions[5:]])
    np.testing.assert_allclose(features_of(tmp_path / "a.parquet"), expected, rtol=1e-12)


def test_an_aggregation_that_does_not_fit_the_dimension_is_a_wrong_setting(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(9, 3)))
    result = run("features", tmp_path, "-o", tmp_path / "a.csv", "--aggregate", "tv")
    assert result.exit_code == 2
    assert "aggregate 'tv' must have directions in order around a whole circle" in result.output


def test_features_of_meshes(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    folder = tmp_path / "meshes"
    folder.mkdir()
    mesh = trimesh.creation.cone(1, 2, sections=7)
    for suffix in ("ply", "obj", "stl", "off"):
        mesh.export(folder / f"cone.{suffix}")
    assert run("features", folder, "-o", tmp_path / "vertices.parquet", *SMALL).exit_code == 0
    table = features_of(tmp_path / "vertices.parquet").to_numpy()
    np.testing.assert_allclose(table, np.repeat(table[:1], 4, axis=0), atol=1e-5)
    result = run("features", folder, "-o", tmp_path / "surface.parquet", "--surface", "500", *SMALL)
    assert result.exit_code == 0
    surface = features_of(tmp_path / "surface.parquet").to_numpy()
    assert surface.shape == (4, 8)
    assert np.abs(surface - table).max() > 1e-3


def test_demo_writes_a_page_that_needs_nothing_else(tmp_path):
    result = run("demo", "--out", tmp_path / "demo", "--classes", "3", "--samples", "2", "--seed", "1")
    assert result.exit_code == 0
    for word in ("Euclid", "R-CDT", "NR-CDT, max", "accuracy", "ms per image", "nrcdt features my-scans/"):
        assert word in one_line(result)
    page = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    assert page.count('class="tile ') == 3 + 6
    assert page.count("data:image/png;base64,") == 3 + 6 + 2
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "prefers-color-scheme" in page
    assert "nrcdt features my-scans/ -o features.parquet" in page


def test_demo_shows_wrong_answers_as_wrong():
    templates, names = watermarks(2, size=64)
    task = demo.Task(templates, names, templates, np.arange(2))
    tiles = demo.html_page(task, [demo.Result(demo.SHOWCASE, 1, 0.5, 1.0)], np.array([0, 0]))
    assert tiles.count('"tile right"') == 1
    assert re.search(r'"tile wrong".*bull&#39;s head<br>is crown', tiles)


def test_demo_without_matplotlib_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run("demo", "--out", tmp_path, "--classes", "1", "--samples", "1").exit_code == 0
    assert "pip install &#39;nrcdt[plot]&#39;" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_demo_refuses_too_many_classes(tmp_path):
    result = run("demo", "--out", tmp_path / "demo", "--classes", "1000")
    assert result.exit_code == 2
    assert "n_classes must be between 1 and" in result.output


def test_bench_runs_the_script_beside_the_package(tmp_path, monkeypatch):
    package = tmp_path / "src" / "nrcdt"
    package.mkdir(parents=True)
    monkeypatch.setattr(nrcdt, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setitem(sys.modules, "nrcdt_benchmarks", None)
    result = run("bench", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "the benchmarks must lie in" in result.output
    script = tmp_path / "benchmarks" / "run.py"
    script.parent.mkdir()
    script.write_text("def main(out, quick):\n    (out / 'done.txt').write_text(str(quick))\n")
    assert run("bench", "--out", tmp_path / "out", "--quick").exit_code == 0
    assert (tmp_path / "out" / "done.txt").read_text() == "True"


def test_version_and_help():
    assert run("--version").output.strip() == f"nrcdt {nrcdt.__version__}"
    assert "features" in run("--help").output


def test_help_does_not_wait_for_heavy_imports():
    check = "import sys, nrcdt.cli; sys.exit(any(m in sys.modules for m in ('numba', 'sklearn', 'scipy', 'pyarrow')))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_targets_are_tried_before_the_work(tmp_path, scans):
    (tmp_path / "page").write_text("")
    result = run("demo", "--out", tmp_path / "page")
    assert result.exit_code == 2
    assert "--out must be a folder that can be written; got" in result.output
    with pytest.raises(ValueError, match=r"out must be a folder; got the file .*page\. Choose another name\."):
        demo.run(tmp_path / "page")
    (tmp_path / "index.html").write_text("<h1>My page</h1>")
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == 2
    assert "out must not hold a page of somebody else; got" in result.output
    assert (tmp_path / "index.html").read_text() == "<h1>My page</h1>"


def test_names_cannot_break_or_colour_lines(tmp_path):
    (tmp_path / "two\nlines \x1b[31mred.png").write_bytes(b"no picture")
    result = run("features", tmp_path, "-o", tmp_path / "a.csv")
    assert result.exit_code == 2
    assert r"two\nlines \x1b[31mred.png: the picture must be a whole PNG" in result.output
