"""The comparison of features and the robustness curves run, and write what the page includes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import beyond  # noqa: E402
import problems  # noqa: E402
import robustness  # noqa: E402


@pytest.fixture
def small(rng):
    clouds = [rng.exponential(size=(40, 3)) ** power for power in (0.5, 1, 2)]
    moved = [cloud @ rng.normal(size=(3, 3)) for cloud in clouds]
    return problems.templates("clouds", "three clouds, moved", "cloud", clouds, moved, np.arange(3))


def test_a_problem_is_measured_by_every_method(small):
    results = [beyond.measure(small, name, rows_of) for name, rows_of in beyond.methods("cloud")]
    found = {result["method"]: result["accuracy"] for result in results}
    assert found["mean_abs, whitened"] == 1
    assert found["R-CDT"] <= 1
    assert not any(name.startswith("tv") for name in found)
    text = beyond.table(results, {"clouds": small.what})
    assert "| mean_abs, whitened | **1.000** |" in text
    assert "three clouds, moved" in text


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


def test_sift_finds_a_shifted_picture():
    pytest.importorskip("cv2")
    picture = np.random.default_rng(0).random((8, 8)).repeat(12, axis=0).repeat(12, axis=1)
    other = np.random.default_rng(1).random((8, 8)).repeat(12, axis=0).repeat(12, axis=1)
    shifted = np.roll(picture, (5, 3), axis=(0, 1))
    assert beyond.sift_similarities([picture, other], [shifted])[0].argmax() == 0


def test_the_page_shows_results_that_were_measured():
    folder = ROOT / "docs" / "beyond"
    stored = json.loads((folder / "beyond.json").read_text())
    assert beyond.table(stored["results"], stored["problems"]) == (folder / "beyond_table.md").read_text()


def test_help():
    done = subprocess.run([sys.executable, ROOT / "benchmarks" / "beyond.py", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--quick" in done.stdout
