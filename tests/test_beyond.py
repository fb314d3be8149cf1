"""New features converge to what they promise; the comparisons run, and write what the pages include."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import beyond
import grey_paper
import make_tables
import methods
import problems
import registration
import robustness
from conftest import affine_map, cloud_of
from nrcdt import NRCDT, nrcdt
from nrcdt.aggregate import aggregate, bispectrum, find_aggregations, spectrum
from nrcdt.directions import circle

ROOT = Path(__file__).parents[1]
EVEN = np.full(32, 1 / 32)


def waves(phase):
    """Slices in 32 directions with two frequencies, 1 and 2, at a phase to each other."""
    angles = 2 * np.pi * np.arange(32) / 32
    return (1 + np.cos(angles) + np.cos(2 * angles + phase))[np.newaxis, :, np.newaxis]


def test_the_bispectrum_ignores_turns_and_reflections(rng):
    slices = rng.normal(size=(2, 32, 5))
    expected = bispectrum().function(slices, EVEN, circle(32))
    assert expected.shape == (2, 16 * 5)
    for same in (np.roll(slices, 5, axis=1), slices[:, ::-1]):
        np.testing.assert_allclose(bispectrum().function(same, EVEN, circle(32)), expected, atol=1e-9)


def test_the_bispectrum_sees_phases_that_the_spectrum_does_not():
    one, other = waves(0.0), waves(1.0)
    magnitudes = [spectrum().function(slices, EVEN, circle(32)) for slices in (one, other)]
    phases = [bispectrum(2).function(slices, EVEN, circle(32)) for slices in (one, other)]
    np.testing.assert_allclose(*magnitudes, atol=1e-12)
    np.testing.assert_allclose(phases[0][0], np.cbrt([1, 1 / 4, 1 / 4, 1 / 8]), atol=1e-12)
    np.testing.assert_allclose(phases[1][0], [*phases[0][0, :3], np.cos(1.0) / 2], atol=1e-12)


def test_the_bispectrum_grows_with_the_slices_and_keeps_their_dtype(rng):
    slices = rng.normal(size=(2, 32, 5))
    once, thrice = (bispectrum().function(factor * slices, EVEN, circle(32)) for factor in (1, 3))
    np.testing.assert_allclose(thrice, 3 * once)
    assert (
        aggregate(slices.astype(np.float32), find_aggregations(bispectrum()), EVEN, circle(32))[0].dtype == np.float32
    )


def test_frequencies_that_directions_cannot_tell_are_zero(rng):
    few = bispectrum(4).function(rng.normal(size=(1, 4, 1)), np.full(4, 1 / 4), circle(4))
    pairs = [(f, g) for f in range(3) for g in range(f, 5 - f)]
    assert [bool(value == 0) for value in few[0]] == [f + g > 2 for f, g in pairs]
    assert not bispectrum().function(np.zeros((1, 32, 2)), EVEN, circle(32)).any()


def test_where_there_is_no_bispectrum(rng):
    with pytest.raises(ValueError, match="n_frequencies must be a positive integer; got 0"):
        bispectrum(0)
    with pytest.raises(ValueError, match="'bispectrum' must have directions in order around a whole circle"):
        nrcdt(rng.normal(size=(1, 20, 3)), "euclidean", aggregate=bispectrum())
    uneven = circle(12)[[0, 1, 2, 3, 4, 5, 7, 8]]
    with pytest.raises(ValueError, match="'bispectrum' must have directions spread evenly"):
        nrcdt(rng.normal(size=(1, 20, 2)), "euclidean", aggregate=bispectrum(), directions=uneven)


NEW = ["mean", "mean_abs", "std", "angular_quantiles", "spectrum"]


@pytest.mark.parametrize(("name", "d"), [*((name, d) for d in (2, 3) for name in NEW), ("bispectrum", 2)])
def test_new_features_converge_to_affine_invariance(rng, name, d):
    wanted = {"bispectrum": bispectrum(), "spectrum": spectrum(4)}.get(name, name)
    cloud = cloud_of(rng, 200, d)
    moved = [cloud @ matrix.T + shift for matrix, shift in (affine_map(rng, d) for _ in range(4))]
    errors = []
    for n_directions in (16, 4 ** (d + 3)):
        model = NRCDT("euclidean", frame="whitened", aggregate=wanted, n_directions=n_directions, n_quantiles=32)
        features = model.fit_transform([cloud, *moved])
        errors.append(np.linalg.norm(features[1:] - features[0], axis=1).max() / np.linalg.norm(features[0]))
    assert errors[1] < 0.01
    assert errors[1] < errors[0] / 5


@pytest.fixture
def small(rng):
    clouds = [rng.exponential(size=(40, 3)) ** power for power in (0.5, 1, 2)]
    moved = [cloud @ rng.normal(size=(3, 3)) for cloud in clouds]
    return problems.templates("clouds", "three clouds, moved", "cloud", clouds, moved, np.arange(3))


def test_a_problem_is_measured_by_every_method(small):
    results = [beyond.measure(small, name, rows_of) for name, rows_of in methods.methods("cloud")]
    found = {result["method"]: result["accuracy"] for result in results}
    assert found["mean_abs, whitened"] == 1
    assert found["R-CDT"] <= 1
    assert not any(name.startswith("tv") for name in found)
    text = beyond.table(results, {"clouds": small.what})
    assert "| mean_abs, whitened | **1.000** | 128 |" in text
    assert "three clouds, moved" in text
    assert "| clouds | mean_abs | 1.000 |" in beyond.verdicts(results, {"clouds": small.what})


def test_episodes_keep_training_and_queries_apart(rng):
    labels = np.repeat([0, 1, 2], 5)
    problem = problems.one_shot("points", "points", "cloud", rng.normal(size=(15, 4, 3)), labels, 2, 2)
    for train, queries in problem.episodes:
        assert not set(train) & set(queries)
        assert len(train) == 4
        assert len(queries) == 6


def test_accuracy_counts_right_labels():
    problem = problems.templates("two", "", "cloud", [0, 1], [0, 1, 2], np.array([0, 1, 1]))
    distances = np.array([[0, 1], [1, 0], [0, 1]])
    assert beyond.accuracy(problem, distances) == pytest.approx(2 / 3)


@pytest.mark.parametrize("change", [robustness.jitter, robustness.outliers, robustness.uneven])
def test_strength_zero_moves_no_point(rng, change):
    cloud = rng.normal(size=(50, 3)) + 100
    same = {tuple(point) for point in cloud}
    assert {tuple(point) for point in change(cloud, 0, rng)} <= same


def test_jitter_is_relative_to_the_shape(rng):
    cloud = rng.normal(size=(5000, 3)) * 7 + 1000
    assert (robustness.jitter(cloud, 0.1, rng) - cloud).std() == pytest.approx(0.7, rel=0.05)


def pictures():
    return [np.random.default_rng(seed).random((8, 8)).repeat(12, axis=0).repeat(12, axis=1) for seed in (0, 1)]


def test_sift_finds_a_shifted_picture():
    pytest.importorskip("cv2")
    picture, other = pictures()
    shifted = np.roll(picture, (5, 3), axis=(0, 1))
    assert methods.sift_distances([picture, other], [shifted])[0].argmin(axis=1) == [0]


def test_aligned_distances_find_a_mirrored_picture():
    distances, per_item, per_pair, n_features = methods.aligned_distances(pictures(), [pictures()[1][:, ::-1]])
    assert distances.shape == (1, 2)
    assert distances.argmin() == 1
    assert per_item > 0
    assert per_pair > 0
    assert n_features == 64 * 64


def entry(method, accuracy, problem="p"):
    return {"problem": problem, "method": method, "accuracy": accuracy, "n_features": 3, "milliseconds": 1.0}


def test_the_page_says_where_we_lose():
    accuracies = {"Euclid, pixels": 0.9, "max, fixed": 0.7, "tv + bispectrum, whitened": 0.8}
    results = [entry(*one) for one in accuracies.items()] + [entry("tv + bispectrum, whitened, trim 0.1", 0.95)]
    text = beyond.verdicts(
        results,
        {
            "p": "",
        },
    )
    assert (
        "| 0.800 | 0.950 | 0.700 (max) | 0.900 (Euclid, pixels) | 0.950 (tv + bispectrum, whitened, trim 0.1)" in text
    )
    assert "**loses by 0.100**" in text


def test_gains_are_differences_and_leave_out_what_is_equal():
    names = {name for base, more in beyond.BASES.items() for name in (base, *more)}
    results = [entry(f"{name}, whitened", 0.5 + 0.25 * (name == "tv + spectrum")) for name in names]
    results += [entry(f"{name}, whitened", 1.0, "easy") for name in names]
    text = beyond.gains(results, {"p": "", "easy": ""})
    assert "| **tv** | 50.0 |" in text
    assert "| tv + spectrum | +25.0 |" in text
    assert "easy" not in text


def test_classifiers_learn(rng):
    labels = np.repeat([0, 1], 12)
    problem = problems.one_shot("two", "", "image", labels, labels, 6)
    rows = rng.normal(size=(24, 3)) + 20 * labels[:, np.newaxis]
    for model in beyond.CLASSIFIERS.values():
        assert beyond.learn(problem, rows, model)[0] == 1


def test_bounds_that_are_missed_are_named():
    result = {"overlap": 0.9, "ms": 4, "failures": 0}
    assert registration.missed(result | {"wanted": {"overlap": 0.9, "failures": 0}}) == []
    assert registration.missed(result | {"wanted": {"overlap": 0.91, "ms": 3}}) == ["overlap", "ms"]
    assert registration.missed(result | {"wanted": {"overlap, at most": 0.35}}) == ["overlap, at most"]


def test_what_is_left_between_two_maps():
    turn = np.array([[np.cos(0.1), -np.sin(0.1), 0], [np.sin(0.1), np.cos(0.1), 0], [0, 0, 1]])
    true = np.array([[1, 2, 0], [0, 3, 1], [1, 0, 1.0]])
    degrees, scale = registration.errors(1.02 * turn @ true, true)
    assert degrees == pytest.approx(np.degrees(0.1))
    assert scale == pytest.approx(0.02)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The tables as they are made for the pages."""
    folder = tmp_path_factory.mktemp("docs")
    make_tables.main(folder)
    return folder


@pytest.mark.parametrize("part", ["beyond", "trained", "directions", "registration", "grey_paper"])
def test_the_pages_show_results_that_were_measured(part, made):
    stored = json.loads((ROOT / "docs" / "beyond" / f"{part}.json").read_text())
    own = {"registration": registration, "grey_paper": grey_paper}
    texts = own[part].written(stored) if part in own else beyond.written(part, stored)
    for name, text in texts.items():
        assert (made / "beyond" / name).read_text() == text


def test_every_table_that_a_page_includes_is_made_and_every_one_that_is_made_is_included(made):
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    included = {name for page in pages for name in re.findall(r"^```\{include\} (\S+)$", page, re.MULTILINE)}
    assert included == {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}


def test_no_table_is_stored_beside_its_numbers():
    tracked = subprocess.run(["git", "ls-files", "docs"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert [name for name in tracked if name.endswith(".md") and name.count("/") > 1] == []


@pytest.mark.slow
def test_help():
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "beyond.py", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--quick" in done.stdout
