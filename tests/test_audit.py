"""The audit finds sizes that keep classes apart, and classes that nothing keeps apart."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from nrcdt import NRCDT, SPACES, cli
from nrcdt.audit import Pair, Trial, audit, search
from nrcdt.audit.page import headline, html_page, outcome, write
from nrcdt.cli.batches import class_names
from nrcdt.datasets import distorted, watermarks
from nrcdt.measures import Cloud
from nrcdt.rasters import ink_only


@pytest.fixture(scope="module")
def motifs():
    return watermarks(5, size=64)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(search, "SIZES", (8, 64))
    monkeypatch.setattr("nrcdt.audit.page.SIZES", (8, 64))


@pytest.fixture(scope="module")
def found(motifs):
    return audit(*motifs, n_samples=4)


@pytest.fixture(scope="module")
def twins(motifs):
    """An audit with a class that is there twice, but for one pixel."""
    images, names = motifs
    twin = images[0].copy()
    twin[30, 30] += 0.01
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "SIZES", (8, 64))
        return audit([*images[:3], twin], [*names[:3], "twin"], n_samples=6)


def test_the_recommendation_holds_on_maps_of_others(motifs, found):
    images, _ = motifs
    assert found.holds
    assert found.goal == found.target == 1
    model = eval(found.code, {"NRCDT": NRCDT}).fit(images)
    assert (model.n_directions, model.n_quantiles) == found.recommended[:2]
    samples, labels = distorted(images, 20, random_state=77, shift=(-5, 5))
    nearest = np.linalg.norm(model.transform(samples)[:, None] - model.transform(images), axis=2).argmin(axis=1)
    assert np.mean(nearest == labels) >= 0.98


def test_no_smaller_size_would_do(found):
    smaller = [trial for trial in found.trials if trial.work < found.attempts[0].work]
    assert smaller
    assert all(trial.accuracy < found.goal for trial in smaller)
    assert [trial.work for trial in found.attempts] == sorted(trial.work for trial in found.attempts)
    assert all(trial.accuracy < found.goal for trial in found.attempts[:-1])
    assert found.recommended == found.attempts[-1]


def test_invariance_improves_with_directions(found):
    spreads = {trial[:2]: trial.spread for trial in found.trials}
    assert spreads[512, 512] < spreads[16, 512] / 2 < spreads[8, 512] / 2
    assert found.chosen[:2] == (256, 256)
    assert len(found.trials) == 49
    assert {trial.n_copies for trial in found.trials} == {20}


def test_maps_are_the_same_for_one_seed(motifs, small):
    runs = [audit(*motifs, n_samples=2, random_state=seed) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    assert runs[0].trials != runs[2].trials


def test_twins_collide(twins):
    worst = twins.pairs[0]
    assert {worst.first, worst.second} == {"bull's head", "twin"}
    assert worst.margin < 0.5
    assert worst.verdict == "mixed up"
    assert worst in twins.collisions
    assert twins.goal < twins.target
    assert headline(twins) == "4 classes do not all stay apart: 1 pair mixed up"
    assert outcome(twins).startswith("No size reached the target of 1. This one is as good as the best")
    assert outcome(twins).endswith("--frame whitened --aggregate mean_abs.")


def test_margins_are_what_they_say(motifs, small):
    """Every class is in some pair, and pairs with a margin above one are never mixed up."""
    found = audit(*motifs, n_samples=8, target=0.1)
    assert {name for pair in found.pairs for name in pair[:2]} == set(motifs[1])
    assert [pair.margin for pair in found.pairs] == sorted(pair.margin for pair in found.pairs)
    for pair in found.pairs:
        assert pair.margin == pytest.approx(pair.distance / pair.spread)
        assert pair.margin < 1 or pair.n_mixed_up == 0
    features = NRCDT(n_directions=8, n_quantiles=8).fit_transform([ink_only(image) for image in motifs[0]])
    first, second = (motifs[1].index(name) for name in found.pairs[0][:2])
    assert found.recommended[:2] == (8, 8)
    assert found.pairs[0].distance == pytest.approx(np.linalg.norm(features[first] - features[second]), rel=1e-4)


def test_verdicts():
    assert Pair("a", "b", 1, 2, 0.5, 0).verdict == "overlap"
    assert Pair("a", "b", 1, 0.5, 2, 0).verdict == "apart"
    assert Trial(8, 8, 8, 10, 9, 1.0, 0.0).spread == float("inf")


def test_several_samples_of_a_class(motifs, small):
    images, names = motifs
    copies, labels = distorted(images, 3, random_state=0, shift=(-5, 5))
    found = audit(copies, np.array(names)[labels], n_samples=2, frame="whitened", aggregate="mean_abs")
    assert found.classes == dict.fromkeys(sorted(names), 3)
    assert found.chosen.n_copies == 15  # at least one of each sample
    assert found.holds


def test_sizes_that_are_asked_about(motifs, small):
    found = audit(motifs[0], n_samples=2, n_directions=20, n_quantiles=30)
    assert found.chosen[:2] == (20, 30)
    assert found.chosen in found.trials
    assert list(found.classes) == ["0", "1", "2", "3", "4"]


def test_larger_sizes_are_tried_until_one_holds(motifs, monkeypatch):
    """Sizes that were lucky on the first maps fail on fresh ones."""
    real = search._measure

    def lucky(task, sizes, n_rounds, seed, steps):
        outcomes = real(task, sizes, n_rounds, seed, steps)
        if n_rounds > 1:
            return outcomes
        return [one._replace(trial=one.trial._replace(n_right=one.trial.n_copies)) for one in outcomes]

    monkeypatch.setattr(search, "SIZES", (2, 4, 64))
    monkeypatch.setattr(search, "_measure", lucky)
    found = audit(*motifs, n_samples=4)
    assert found.attempts[0][:2] == (2, 2)
    assert len(found.attempts) > 1
    assert found.holds
    monkeypatch.setattr(search, "SIZES", (2,))
    found = audit(*motifs, n_samples=4, n_directions=2, n_quantiles=2)
    assert not found.holds
    assert "but not again on fresh maps" in outcome(found)


def measure_in(space, rng):
    if space == "image":
        return ink_only(watermarks(1)[0][0])
    if space == "rotation":
        return Cloud(Rotation.random(12, rng=rng).as_quat(), None)
    points = rng.normal(size=(12, 3)) ** 3
    return Cloud(points / np.linalg.norm(points, axis=1, keepdims=True) if space == "sphere_parallel" else points, None)


@pytest.mark.parametrize("space", sorted(name for name, one in SPACES.items() if one.random_map))
def test_maps_leave_features_alone(rng, space):
    """The more directions, the less; rotations are slowest, since their directions fill three dimensions."""
    measure = measure_in(space, rng)
    moved = [SPACES[space].random_map(measure, rng) for _ in range(10)]
    errors = []
    for n_directions in (16, 16 * 4 ** (5 if space == "rotation" else 3)):
        features = NRCDT(space, n_directions=n_directions, n_quantiles=32).fit_transform([measure, *moved])
        errors.append(np.linalg.norm(features[1:] - features[0], axis=1).mean())
    assert 1e-6 < errors[1] < errors[0] / 2.5


@pytest.mark.parametrize(("space", "d"), [("euclidean", 2), ("euclidean", 4), ("circular", 2)])
def test_clouds_of_any_dimension(rng, small, space, d):
    clouds = [(rng.normal(size=(60, d)) ** 3, rng.random(60)) for _ in range(3)]
    found = audit(clouds, space=space, n_samples=2, target=0.5)
    assert found.code.startswith(f'NRCDT("{space}", ')
    assert found.recommended.accuracy >= 0.5


def test_ink_never_leaves_the_canvas(rng):
    image = np.ones((40, 9), dtype=np.float32)
    for _ in range(20):
        moved = SPACES["image"].random_map(image, rng)
        assert moved.sum() > 0
        assert not moved[[0, -1]].any()
        assert not moved[:, [0, -1]].any()


def test_large_pictures_are_reduced():
    image = np.zeros((1001, 2000))
    image[100:700, 50:1051] = np.arange(1, 602)[1:, None]
    small = ink_only(image)
    assert small.shape == (150, 251)
    assert small.dtype == np.float32
    assert 16 * small.sum() == pytest.approx(image.sum())
    np.testing.assert_array_equal(ink_only(np.zeros((5, 7))), np.zeros((5, 7)))


def test_classes_of_files():
    def names(files, *given):
        return class_names([Path(one) for one in files], [Path(one) for one in given])

    assert names(["s/jug/1.png", "s/jug/deep/2.png", "s/key/1.png"], "s") == ["jug", "jug", "key"]
    assert names(["s/a.png", "s/b.png", "s/b.tif"], "s") == ["a", "b.png", "b.tif"]
    assert names(["s/jug/1.png", "s/key/1.png"], "s/jug", "s/key") == ["jug", "key"]
    assert names(["s/jug/1.png", "s/jug/2.png"], "s/jug/1.png", "s/jug/2.png") == ["1", "2"]
    assert names(["s/jug/1.png"], "s") == ["jug"]


def test_json_and_page(tmp_path, found):
    page = write(found, tmp_path / "new" / "folder").read_text(encoding="utf-8")
    numbers = json.loads((tmp_path / "new" / "folder" / "audit.json").read_text(encoding="utf-8"))
    assert numbers["recommendation"] == found.code
    assert numbers["recommended"]["n_directions"] == found.recommended.n_directions
    assert numbers["recommended"]["accuracy"] == 1
    assert numbers["settings"] == {"frame": "fixed", "aggregate": "max"}
    assert numbers["classes"] == dict.fromkeys(found.classes, 1)
    assert len(numbers["trials"]) == 49
    assert numbers["pairs"][0]["verdict"] in ("overlap", "apart")
    assert found.code.replace('"', "&#34;") in page
    assert headline(found) in page
    assert page.count("data:image/png;base64,") == 2
    assert page.count('class="chosen"') == 1
    assert not re.search(r"\$\w|https?:|<script", page)


def test_pages_escape_names_and_do_without_matplotlib(twins, monkeypatch):
    monkeypatch.setattr("nrcdt.audit.page.SIZES", (8, 64))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    pairs = [pair._replace(first="<b>") for pair in twins.pairs]
    page = html_page(twins._replace(pairs=pairs))
    assert "figures must have matplotlib; got none. Run pip install &#39;nrcdt[plot]&#39;." in page
    assert "<b>" not in page
    assert "mixed-up" in page


def test_functions_as_aggregations_are_named_in_json(motifs, small, tmp_path):
    found = audit(*motifs, n_samples=1, aggregate=(np.abs, np.median), target=0.1)
    write(found, tmp_path)
    assert "median" in json.loads((tmp_path / "audit.json").read_text())["settings"]["aggregate"]


def test_errors(motifs, tmp_path):
    images, names = motifs
    with pytest.raises(ValueError, match=r"labels must name at least two classes; got one, crown\. Put the files"):
        audit(images, ["crown"] * 5)
    with pytest.raises(ValueError, match=r"labels must be as many as samples, 5; got 4\. One class for each sample\."):
        audit(images, names[:4])
    with pytest.raises(ValueError, match=r"target must be an accuracy above 0 and at most 1; got 1\.5\."):
        audit(images, target=1.5)
    with pytest.raises(ValueError, match=r"n_samples must be a positive integer; got 0\."):
        audit(images, n_samples=0)
    with pytest.raises(ValueError, match=r"space must be one of image, .* to be audited; got sphere_vertical\."):
        audit(np.ones((2, 5, 3)), space="sphere_vertical")
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ValueError, match=r"out must be a folder; got the file .*Choose another name\."):
        write(None, tmp_path / "file")
    (tmp_path / "audit.json").write_text("{}")
    with pytest.raises(ValueError, match=r"out must not hold another audit.html or audit.json; got .*Choose another"):
        write(None, tmp_path)
    assert (tmp_path / "audit.json").read_text() == "{}"


def run(*arguments):
    result = CliRunner().invoke(cli.app, ["audit", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def save(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.uint8(255 * (1 - image))).save(path)


@pytest.mark.slow
def test_command_with_bad_files(tmp_path, motifs, small):
    for image, name in zip(*motifs, strict=True):
        save(tmp_path / "scans" / name / "1.png", image)
    assert run(tmp_path / "scans", "-o", tmp_path / "out", "--samples", 2)[0] == 0
    (tmp_path / "scans" / "crown" / "2.png").write_bytes(b"nonsense")
    save(tmp_path / "scans" / "crown" / "blank.png", np.zeros((9, 9)))
    code, output = run(tmp_path / "scans", "-o", tmp_path / "out", "--samples", 2, "--target", 0.5)
    assert code == 1
    assert "2.png: the picture must be a whole PNG" in output
    assert "blank.png: the picture must have ink" in output
    numbers = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert numbers["classes"] == dict.fromkeys(sorted(motifs[1]), 1)
    assert numbers["recommendation"] in output
    assert (tmp_path / "out" / "audit.html").is_file()


def test_command_with_clouds(tmp_path, rng, small):
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(50, 3)) ** 3)
    np.save(tmp_path / "plane.npy", rng.normal(size=(50, 2)))
    settings = ("--frame", "whitened", "--aggregate", "max", "--aggregate", "mean_abs", "--target", 0.5)
    code, output = run(tmp_path, "-o", tmp_path / "out", "--samples", 2, *settings)
    assert code == 1
    assert "plane.npy: the sample must have 3 coordinates like other files; got 2" in output
    assert 'frame="whitened", aggregate=["max", "mean_abs"])' in output


def test_command_with_nothing_to_compare(tmp_path, motifs):
    save(tmp_path / "scans" / "crown" / "1.png", motifs[0][1])
    code, output = run(tmp_path / "scans", "-o", tmp_path / "out")
    assert (code, "must name at least two classes; got one, crown" in output) == (2, True)
    (tmp_path / "scans" / "crown" / "1.png").write_bytes(b"nonsense")
    assert run(tmp_path / "scans", "-o", tmp_path / "out")[0] == 2
    assert not (tmp_path / "out" / "audit.json").exists()
