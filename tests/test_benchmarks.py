"""The benchmarks work and compare equals with equals. Nothing here looks at a clock."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import nrcdt
from nrcdt.directions import circle

FOLDER = Path(__file__).parents[1] / "benchmarks"


def load(name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("shape", "n_directions", "n_radii"),
    [((13, 9), 7, 40), ((8, 21), 8, 41), ((5, 5), 16, 300), ((6, 4), 5, 3), ((1, 1), 4, 10)],
)
def test_per_ray_is_the_radon_transform(shape, n_directions, n_radii, monkeypatch):
    image = np.random.default_rng(0).random(shape)
    directions = circle(n_directions)
    ray_by_ray = load("per_ray", monkeypatch).per_ray(image, directions, n_radii)
    np.testing.assert_allclose(ray_by_ray, nrcdt.radon(image, directions, n_radii=n_radii), rtol=0, atol=1e-12)


def test_per_ray_features_are_the_features(monkeypatch):
    load("per_ray", monkeypatch)
    cases = load("cases", monkeypatch)
    monkeypatch.setattr(cases, "N_RADII", 60)
    images = cases.line_drawings(2, 24)
    theirs = cases.per_ray_features(images, circle(16), cases.reference_levels(32))
    ours = nrcdt.nrcdt(images, n_directions=16, n_radii=60, n_quantiles=32)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


def test_drawings_are_line_drawings(monkeypatch):
    images = load("cases", monkeypatch).line_drawings(8)
    shares = [np.count_nonzero(image) / image.size for image in images]
    assert images.min() == 0
    assert images.max() == 1
    assert 0.015 < min(shares) <= max(shares) < 0.025
    assert len({image.tobytes() for image in images}) == 8


@pytest.mark.parametrize("name", ["cloud_normal_float32", "size_64"])
def test_a_case_is_a_dict_that_json_knows(name, monkeypatch):
    result = load("cases", monkeypatch).CASES[name].run(True)
    assert set(result) == {"name", "what", "unit", "ours", "theirs", "ratio", "bar", "met", "extra"}
    assert result["unit"] == "s"
    assert (result["theirs"] is None) == (result["ratio"] is None) == (result["bar"] is None)
    assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize(
    ("name", "differences"),
    [
        ("cloud_torus_float64", ["difference", "in_place_difference"]),
        ("cloud_outliers_float64", ["difference", "in_place_difference"]),
        ("cloud_clusters_float64", ["difference", "in_place_difference"]),
        ("cloud_weighted_float64", ["difference"]),
    ],
)
def test_numpy_finds_the_same_quantiles(name, differences, monkeypatch):
    extra = load("cases", monkeypatch).CASES[name].run(True)["extra"]
    assert max(extra[key] for key in differences) < 1e-12


def test_bars(monkeypatch):
    cases = load("cases", monkeypatch)
    fast = cases.record("a", "b", [1.0, 2.0, 3.0], [8.0, 9.0, 20.0], 4)
    assert fast["ratio"] == 4.5
    assert fast["met"] is True
    assert cases.record("a", "b", [1.0], [2.0], 3)["met"] is False
    assert cases.record("a", "b", [1.0])["met"] is None
    assert cases.record_number("a", "b", 299.0, "MB", 300)["met"] is True


def test_tables_show_every_case(monkeypatch):
    cases, run = load("cases", monkeypatch), load("run", monkeypatch)
    results = [
        cases.record("timed", "Compared.", [0.001], [2.0], 1000, ink_share=0.02),
        cases.record_number("held", "Kept.", 12.3, "MB", 300),
        cases.record_number("grown", "Fitted.", 4.2, "% off", sizes=[1, 2], seconds=[0.1, 0.2], axis="things"),
    ]
    text = run.markdown(results, run.machine_facts(), quick=True)
    assert "| timed | 1 ms | 2 s | 2000x | 1000x | yes |" in text
    assert "| held | 12 MB |  |  | under 300 MB | yes |" in text
    assert "| grown | 4 % off |  |  |  |  |" in text
    assert "not for quoting" in text


def test_machine_facts_tell_no_names(monkeypatch):
    facts = load("run", monkeypatch).machine_facts()
    assert set(facts) == {"cpu", "cores", "system", "python", "versions"}


def test_missing_peers_are_skipped_with_a_reason(monkeypatch):
    cases, run = load("cases", monkeypatch), load("run", monkeypatch)
    assert "needs the module no_such_module" in run.reason_to_skip(cases.Case(print, "no_such_module"))
    assert "needs 100000 cores" in run.reason_to_skip(cases.Case(print, cores=100000))
    assert run.reason_to_skip(cases.Case(print, "numpy")) is None


def test_one_case_in_a_fresh_process(monkeypatch):
    result = load("run", monkeypatch).run_case("size_64", True)
    assert result["name"] == "drawing, 64 x 64"


def test_scaling_plot(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    cases, run = load("cases", monkeypatch), load("run", monkeypatch)
    assert cases.straight_line([1, 10, 100], [2.2, 4, 22]) == pytest.approx((2, 0.2, 0))
    assert cases.straight_line([1, 10, 100], [2.2, 4, 44])[2] > 0.2
    extra = {"sizes": [1, 10, 100], "seconds": [2.2, 4, 22], "fixed_milliseconds": 2000, "microseconds_each": 2e5}
    extra["axis"] = "things"
    run.plot_scaling([cases.record_number("grown", "Fitted.", 0.0, "% off", **extra)], tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 1000
