"""The benchmarks work and compare equals with equals. Nothing here looks at a clock."""

import ast
import contextlib
import json
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import cases
import machine
import nrcdt
import run
import timing
from inputs import ink_share, line_drawings
from nrcdt.cli import app
from nrcdt.datasets import watermarks
from nrcdt.directions import circle
from per_ray import per_ray

ROOT = Path(__file__).parents[1]
SCRIPTS = {
    "benchmarks/beyond.py": ["beyond.json", "beyond_table.md", "trained.json", "trained_table.md"],
    "benchmarks/catalogue.py": ["catalogue.json", "catalogue_table.md"],
    "benchmarks/coming_from.py": ["coming_from.json", "coming_from_table.md"],
    "benchmarks/corridor.py": ["corridor.json"],
    "benchmarks/dimensions.py": ["dimensions.json", "dimensions_table.md"],
    "benchmarks/grey_paper.py": ["grey_paper.json", "grey_paper_table.md"],
    "benchmarks/ink.py": ["ink.json", "ink_table.md"],
    "benchmarks/registration.py": ["registration.json", "registration_plane.md", "registration_note.md"],
    "benchmarks/robustness.py": ["robustness.json", "robustness_plane.png"],
    "benchmarks/wasserstein.py": ["wasserstein.json", "wasserstein_table.md", "wasserstein_error.md"],
}
TESTED_APART = {"benchmarks/cases.py", "benchmarks/run.py"} | {
    f"docs/make_{name}.py" for name in ("catalogue", "paper", "pictures", "screenshots", "tables")
}


@pytest.fixture
def tiny(monkeypatch):
    """Sizes with which a case takes milliseconds."""
    sizes = {"SIZE": 32, "N_DIRECTIONS": 8, "N_RADII": 40, "N_QUANTILES": 16, "CLOUD_SIZE": 300}
    for name, size in sizes.items():
        monkeypatch.setattr(cases, name, size)
    monkeypatch.setattr(timing, "ROW_SECONDS", 0.001)


def start(monkeypatch, script, *arguments):
    """Run a script as if from a command line."""
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments)])
    return runpy.run_path(str(script), run_name="__main__")


@pytest.fixture
def docs(tmp_path):
    """A copy of the documentation's scripts, which write beside themselves."""
    for folder in ("images", "catalogue"):
        (tmp_path / "docs" / folder).mkdir(parents=True)
    for script in (ROOT / "docs").glob("make_*.py"):
        shutil.copy(script, tmp_path / "docs")
    return tmp_path / "docs"


def test_every_script_is_run_by_a_test():
    scripts = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "docs").glob("make_*.py")]
    found = {str(path.relative_to(ROOT)) for path in scripts if '__name__ == "__main__"' in path.read_text()}
    assert found == SCRIPTS.keys() | TESTED_APART


def test_what_nrcdt_bench_runs_is_in_the_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    wheel = {Path(source).stem for source in settings["force-include"]}
    assert "run" in wheel
    for name in wheel:
        tree = ast.parse((ROOT / "benchmarks" / f"{name}.py").read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {one for one in imported if (ROOT / "benchmarks" / f"{one}.py").exists()} <= wheel


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_short_form_of_a_script(script, tmp_path, monkeypatch):
    if "catalogue" in script:
        pytest.importorskip("httpx", reason="asks the server")
        pytest.importorskip("starlette", reason="needs the extra `catalogue`")
        monkeypatch.setattr(shutil, "which", lambda name: None)  # no browser: the screenshots are taken with one
    monkeypatch.delenv("NRCDT_DATA", raising=False)
    start(monkeypatch, ROOT / script, "--quick", "--out", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= set(SCRIPTS[script])


@pytest.mark.parametrize("name", cases.CASES)
def test_the_short_form_of_a_case(name, tiny, monkeypatch):
    if reason := run.reason_to_skip(cases.CASES[name]):
        pytest.skip(reason)
    result = cases.CASES[name].run(True)
    assert set(result) == {"name", "what", "unit", "ours", "theirs", "ratio", "bar", "met", "extra"}
    assert result["unit"] in ("s", "MB", "% off")
    assert json.loads(json.dumps(result)) == result


def test_the_short_form_of_all_cases_together(tmp_path, tiny, monkeypatch):
    """Cases run in this process; one in a process of its own is below."""
    pytest.importorskip("matplotlib")
    some = {name: cases.CASES[name] for name in ("cloud_weighted_float64", "scaling_ink", "size_64")}
    monkeypatch.setattr(run, "CASES", some | {"missing": cases.Case(print, "no_such_module")})
    monkeypatch.setattr(run, "run_case", lambda name, quick: some[name].run(quick))
    run.main(tmp_path, True)
    assert [one["name"] for one in json.loads((tmp_path / "benchmarks.json").read_text())["cases"]] == [
        "weighted cloud, float64",
        "scaling, ink",
        "drawing, 64 x 64",
    ]
    assert (tmp_path / "performance_table.md").exists()
    assert (tmp_path / "scaling.png").exists()


@pytest.mark.slow
def test_the_picture_of_the_readme_is_made(docs, monkeypatch):
    pytest.importorskip("matplotlib")
    start(monkeypatch, docs / "make_pictures.py")
    assert Image.open(docs / "images" / "readme.png").width > 1000


@pytest.mark.slow
def test_the_page_of_the_paper_is_made(docs, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "run"
    done = CliRunner().invoke(app, ["paper", "nt-academic", "--quick", "--out", str(folder), "--cache", str(tmp_path)])
    assert done.exit_code == 0
    start(monkeypatch, docs / "make_paper.py", folder)
    assert "(nt-academic)=" in (docs / "paper.md").read_text(encoding="utf-8")
    assert "curves-academic.png" in {path.name for path in (docs / "paper").iterdir()}


def run_here(program, cwd, **more):
    """Stands in for `subprocess.run`: the command line, without another start of Python."""
    with contextlib.chdir(cwd):
        return SimpleNamespace(stdout=CliRunner(env={"NO_COLOR": "1"}).invoke(app, program[3:]).output)


@pytest.mark.slow
def test_the_walk_through_a_catalogue_is_made(docs, tmp_path, monkeypatch):
    drawings = watermarks(6)[0]
    names = ("jug/eng_r0c1", "jug/eng_r0c3", "jug/old_eng_0_1635", "crown/a", "crown/b", "other/c")
    for name, drawing in zip(names, drawings, strict=True):
        path = tmp_path / "data" / "watermarks" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(255 * (1 - drawing)).astype(np.uint8)).save(path)
    monkeypatch.setenv("NRCDT_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(subprocess, "run", run_here)
    commands = start(monkeypatch, docs / "make_catalogue.py")["COMMANDS"]
    for name in commands:
        text = (docs / "catalogue" / f"{name}.txt").read_text()
        assert text.startswith(f"$ {commands[name]}\n")
        assert "Error" not in text
        assert "must" not in text


@pytest.mark.slow
def test_the_screenshots_are_taken(docs, monkeypatch):
    pytest.importorskip("playwright.sync_api", reason="takes pictures of a browser")
    pytest.importorskip("starlette", reason="needs the extra `catalogue`")
    if not (shutil.which("chromium") or shutil.which("chromium-browser")):
        pytest.skip("needs Chromium")
    made = start(monkeypatch, docs / "make_screenshots.py")["PICTURES"]
    wanted = {name for pictures in made.values() for name in pictures.values()}
    assert {path.name for path in (docs / "images").iterdir()} == wanted


@pytest.mark.parametrize(
    ("shape", "n_directions", "n_radii"),
    [((13, 9), 7, 40), ((8, 21), 8, 41), ((5, 5), 16, 300), ((6, 4), 5, 3), ((1, 1), 4, 10)],
)
def test_per_ray_is_the_radon_transform(shape, n_directions, n_radii):
    image = np.random.default_rng(0).random(shape)
    directions = circle(n_directions)
    ray_by_ray = per_ray(image, directions, n_radii)
    np.testing.assert_allclose(ray_by_ray, nrcdt.radon(image, directions, n_radii=n_radii), rtol=0, atol=1e-12)


def test_per_ray_features_are_the_features(monkeypatch):
    monkeypatch.setattr(cases, "N_RADII", 60)
    images = line_drawings(2, 24)
    theirs = cases.per_ray_features(images, circle(16), cases.reference_levels(32))
    ours = nrcdt.nrcdt(images, n_directions=16, n_radii=60, n_quantiles=32)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


def test_drawings_are_line_drawings():
    images = line_drawings(8, 256)
    shares = [ink_share(image) for image in images]
    assert images.min() == 0
    assert images.max() == 1
    assert 0.015 < min(shares) <= max(shares) < 0.025
    assert len({image.tobytes() for image in images}) == 8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cloud_normal_float32", "size_64"])
def test_a_case_is_a_dict_that_json_knows(name):
    result = cases.CASES[name].run(True)
    assert set(result) == {"name", "what", "unit", "ours", "theirs", "ratio", "bar", "met", "extra"}
    assert result["unit"] == "s"
    assert (result["theirs"] is None) == (result["ratio"] is None) == (result["bar"] is None)
    assert json.loads(json.dumps(result)) == result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "differences"),
    [
        ("cloud_torus_float64", ["difference", "in_place_difference"]),
        ("cloud_outliers_float64", ["difference", "in_place_difference"]),
        ("cloud_clusters_float64", ["difference", "in_place_difference"]),
        ("cloud_weighted_float64", ["difference"]),
    ],
)
def test_numpy_finds_the_same_quantiles(name, differences):
    extra = cases.CASES[name].run(True)["extra"]
    assert max(extra[key] for key in differences) < 1e-12


def test_bars():
    fast = cases.record("a", "b", [1.0, 2.0, 3.0], [8.0, 9.0, 20.0], 4)
    assert fast["ratio"] == 4.5
    assert fast["met"] is True
    assert cases.record("a", "b", [1.0], [2.0], 3)["met"] is False
    assert cases.record("a", "b", [1.0])["met"] is None
    assert cases.record_number("a", "b", 299.0, "MB", 300)["met"] is True


def test_tables_show_every_case():
    results = [
        cases.record("timed", "Compared.", [0.001], [2.0], 1000, ink_share=0.02),
        cases.record_number("held", "Kept.", 12.3, "MB", 300),
        cases.record_number("grown", "Fitted.", 4.2, "% off", sizes=[1, 2], seconds=[0.1, 0.2], axis="things"),
    ]
    text = run.markdown(results, machine.machine_facts(), quick=True)
    assert "| timed | 1 ms | 2 s | 2000x | 1000x | yes |" in text
    assert "| held | 12 MB |  |  | under 300 MB | yes |" in text
    assert "| grown | 4 % off |  |  |  |  |" in text
    assert "not for quoting" in text


def test_machine_facts_tell_no_names():
    facts = machine.machine_facts()
    assert set(facts) == {"cpu", "cores", "system", "python", "versions"}


def test_missing_peers_are_skipped_with_a_reason():
    assert "needs the module no_such_module" in run.reason_to_skip(cases.Case(print, "no_such_module"))
    assert "needs 100000 cores" in run.reason_to_skip(cases.Case(print, cores=100000))
    assert run.reason_to_skip(cases.Case(print, "numpy")) is None


@pytest.mark.slow
def test_one_case_in_a_fresh_process():
    result = run.run_case("size_64", True)
    assert result["name"] == "drawing, 64 x 64"


def test_scaling_plot(tmp_path):
    pytest.importorskip("matplotlib")
    assert cases.straight_line([1, 10, 100], [2.2, 4, 22]) == pytest.approx((2, 0.2, 0))
    assert cases.straight_line([1, 10, 100], [2.2, 4, 44])[2] > 0.2
    extra = {"sizes": [1, 10, 100], "seconds": [2.2, 4, 22], "fixed_milliseconds": 2000, "microseconds_each": 2e5}
    extra["axis"] = "things"
    run.plot_scaling([cases.record_number("grown", "Fitted.", 0.0, "% off", **extra)], tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 1000
