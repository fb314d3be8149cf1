"""The Radon transform of images: closed form, mass, adjoint, known shadows, inverse."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from conftest import supersampled
from nrcdt import RCDT, back_projection, inverse_rcdt, radon, rcdt
from nrcdt.directions import circle, opposite_half
from nrcdt.spaces.image import filtered_back_projection, pixel_side, strip_count

SHAPES = st.tuples(st.integers(1, 12), st.integers(1, 12))


@given(SHAPES, st.integers(1, 9), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_mass_is_conserved(shape, n_directions, n_radii, seed):
    image = np.random.default_rng(seed).normal(size=shape)
    strips = radon(image, n_directions, n_radii=n_radii)
    np.testing.assert_allclose(strips.sum(axis=1), image.sum(), rtol=0, atol=1e-13 * np.abs(image).sum())


@given(SHAPES, st.integers(1, 9), st.integers(1, 200), st.booleans(), st.integers(0, 2**32 - 1))
def test_back_projection_is_the_adjoint(shape, n_directions, n_radii, lines, seed):
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=shape), rng.normal(size=(n_directions, n_radii))
    left = radon(f, n_directions, n_radii=n_radii, lines=lines) * g
    right = f * back_projection(g, shape, lines=lines)
    assert left.sum() == pytest.approx(right.sum(), rel=0, abs=1e-13 * (np.abs(left).sum() + np.abs(right).sum() + 1))


@given(SHAPES, st.integers(0, 2**32 - 1))
def test_linear_and_zeros_skipped(shape, seed):
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=(2, *shape)) * (rng.random(shape) < 0.5)
    together = radon(f - 2 * g, 5, n_radii=40)
    np.testing.assert_allclose(together, radon(f, 5, n_radii=40) - 2 * radon(g, 5, n_radii=40), atol=1e-12)


def test_the_transform_is_even(rng):
    strips = radon(rng.random((9, 6)), 10, n_radii=33)
    np.testing.assert_allclose(strips[5:], strips[:5, ::-1], atol=1e-14)


def test_axis_parallel_shadows_are_row_and_column_sums():
    image = np.arange(12.0).reshape(4, 3)
    n_radii = 2000
    edges = np.linspace(-1, 1, n_radii + 1)
    strips = radon(image, circle(4), n_radii=n_radii)
    side = pixel_side(image.shape)
    for k, sums in ((0, image.sum(axis=0)), (1, image.sum(axis=1))):
        borders = (np.arange(len(sums) + 1) - len(sums) / 2) * side
        expected = np.interp(edges, borders, np.concatenate([[0], np.cumsum(sums)]))
        np.testing.assert_allclose(np.cumsum(strips[k]), expected[1:], atol=1e-11)


def test_shadow_of_a_disc():
    """The image of a disc has the half circle as its shadow, with an error that falls with the pixels."""
    radius, centre = 0.4, np.array([0.1, -0.2])
    edges = np.linspace(-1, 1, 101)
    directions = circle(7)

    def error(size):
        image = supersampled((size, size), lambda x, y: np.hypot(x - centre[0], y - centre[1]) < radius)
        z = np.clip((edges - (directions @ centre)[:, np.newaxis]) / radius, -1, 1)
        below = radius**2 * (np.arccos(-z) + z * np.sqrt(1 - z**2))
        return np.abs(radon(image, directions, n_radii=100) - np.diff(below, axis=1)).max()

    errors = [error(size) for size in (16, 32, 64, 128)]
    assert errors[-1] < errors[0] / 20
    assert errors[-1] < 3e-4


def test_shadow_of_a_polygon():
    """A rectangle of whole pixels has a trapezoid as its shadow, exactly."""
    image = np.zeros((20, 20))
    image[4:10, 3:17] = 1.0
    side = pixel_side(image.shape)
    centre = side * np.array([(3 + 17) / 2 - 10, (4 + 10) / 2 - 10])
    edges = np.linspace(-1, 1, 251)
    directions = circle(16) @ np.array([[np.cos(0.1), np.sin(0.1)], [-np.sin(0.1), np.cos(0.1)]])
    strips = radon(image, directions, n_radii=250)
    for direction, row in zip(directions, strips, strict=True):
        a, b = sorted(np.abs(direction) * side * [14, 6])
        z = edges - direction @ centre
        corners = np.array([-(a + b) / 2, -(b - a) / 2, (b - a) / 2, (a + b) / 2])
        powers = np.maximum(z[:, np.newaxis] - corners, 0) ** 2 @ [1, -1, -1, 1] / (2 * a * b)
        np.testing.assert_allclose(row, np.diff(84 * powers), atol=1e-11)


def test_lines_are_the_limit_of_thin_strips(rng):
    image = rng.random((6, 5))
    directions = circle(5)
    lines = radon(image, directions, n_radii=7, lines=True)
    errors = []
    for factor in (9, 81, 729):
        thin = radon(image, directions, n_radii=7 * factor)[:, factor // 2 :: factor]
        errors.append(np.abs(thin * 7 * factor / 2 - lines).max())
    assert errors[2] < errors[0] / 20
    assert errors[2] < 0.05 * lines.max()


def test_float32_stays(rng):
    image = rng.random((5, 8)).astype(np.float32)
    assert radon(image, 4).dtype == np.float32
    assert back_projection(np.ones((3, 8), np.float32), (4, 4)).dtype == np.float32
    np.testing.assert_allclose(radon(image, 4), radon(image.astype(float), 4), atol=1e-6)


def test_strip_count():
    assert strip_count((256, 200), "auto") == 1087
    assert strip_count((256, 200), 850) == 850
    width_in_pixels = 2 / strip_count((100, 100), "auto") / pixel_side((100, 100))
    assert width_in_pixels == pytest.approx(1 / 3, rel=0.01)


def test_opposite_half():
    assert opposite_half(circle(6))
    assert not opposite_half(circle(5))
    assert not opposite_half(circle(6)[:4])


def test_lines_on_pixel_borders():
    """A constant image has constant line integrals along an axis, also where a line runs between two rows."""
    for shape, n_radii in (((4, 4), 1), ((4, 4), 3), ((5, 8), 7), ((256, 256), 1087)):
        lines = radon(np.ones(shape), 4, n_radii=n_radii, lines=True)
        side = pixel_side(shape)
        inside = np.abs((np.arange(n_radii) + 0.5) / n_radii * 2 - 1)
        for k, (across, along) in enumerate([shape[::-1], shape] * 2):
            wanted = inside < across * side / 2 - 1e-6
            np.testing.assert_allclose(lines[k, wanted], along / side)


@pytest.mark.parametrize("n_radii", [0, -5, 2.5, "x", True])
def test_counts(n_radii):
    with pytest.raises(ValueError, match="n_radii must be a positive integer; got"):
        radon(np.ones((3, 3)), 4, n_radii=n_radii)
    with pytest.raises(ValueError, match="directions must be a positive integer; got 0"):
        radon(np.ones((3, 3)), 0)


def test_back_projection_compares_its_arguments():
    with pytest.raises(ValueError, match="directions must be as many as rows of the sinogram, 64; got 2"):
        back_projection(np.ones((64, 5)), (3, 3), np.eye(2))


def test_directions_must_be_unit_vectors():
    with pytest.raises(ValueError, match="directions must be unit vectors"):
        radon(np.ones((3, 3)), 2 * circle(4))
    with pytest.raises(ValueError, match=r"got shape \(4, 3\)"):
        radon(np.ones((3, 3)), np.ones((4, 3)))


def test_the_inverse_converges(rng):
    """The error of rcdt and back falls as directions and quantiles grow."""
    y, x = np.mgrid[:48, :48] - 23.5
    image = np.exp(-((x - 6) ** 2 + (y + 4) ** 2) / 40) + 0.7 * np.exp(-((x + 9) ** 2 / 60 + (y - 7) ** 2 / 20))
    image /= image.sum()

    def error(n):
        quantiles = rcdt(image[np.newaxis], n_directions=n, n_quantiles=n)
        return np.abs(inverse_rcdt(quantiles, (48, 48))[0] - image).sum()

    errors = [error(n) for n in (32, 64, 128, 256)]
    assert all(later < earlier * 0.7 for earlier, later in pairwise(errors))
    assert errors[-1] < 0.06


def test_inverse_with_uneven_directions_and_other_shapes(rng):
    image = supersampled((24, 40), lambda x, y: (np.abs(x) < 0.3) & (np.abs(y) < 0.15))
    image /= image.sum()
    angles = 2 * np.pi * (np.arange(400) / 400) ** 1.3
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    weights = np.diff(angles, append=2 * np.pi)
    quantiles = rcdt(image[np.newaxis], directions=directions, n_quantiles=400)[0]
    weighted = inverse_rcdt(quantiles, (24, 40), directions=(directions, weights))
    plain = inverse_rcdt(quantiles, (24, 40), directions=directions)
    assert np.abs(weighted - image).sum() < 0.1
    assert np.abs(weighted - image).sum() < np.abs(plain - image).sum() / 2


def test_inverse_messages():
    with pytest.raises(ValueError, match="quantiles must have shape"):
        inverse_rcdt(np.ones(5), (4, 4))
    inside, shift = np.tile(np.linspace(-0.5, 0.5, 4), (2, 8, 1)), np.array([0, 1])[:, np.newaxis, np.newaxis]
    with pytest.raises(ValueError, match=r"^sample 1: quantiles must lie on the canvas, in \[-1, 1\]; got 50"):
        inverse_rcdt(inside + 51 * shift, (3, 3))
    standardized = rcdt(np.eye(5)[np.newaxis], n_directions=8, n_quantiles=9, normalize="standardize")
    with pytest.raises(
        ValueError, match=r"quantiles must lie on the canvas, .* not normalised, and clip what was moved"
    ):
        inverse_rcdt(standardized, (5, 5))
    aside = np.tile(np.linspace(0.95, 0.99, 8), (8, 1))
    with pytest.raises(ValueError, match=r"^sample 0: quantiles must have mass in the image; got none\. Pass the ref"):
        inverse_rcdt(aside, (1, 40))
    with pytest.raises(ValueError, match=r"^sample 1: quantiles must be finite; got NaN"):
        inverse_rcdt(np.where(shift, np.nan, inside), (3, 3))
    with pytest.raises(ValueError, match="directions must be as many as in quantiles, 5; got 4"):
        inverse_rcdt(np.ones((5, 6)), (4, 4), directions=circle(4))


def test_directions_that_are_a_little_long_are_mended():
    image = np.zeros((1, 400_000))
    image[0, [0, -1]] = 1
    expected = rcdt(image[np.newaxis], directions=[[1.0, 0.0]], n_quantiles=4)
    found = rcdt(image[np.newaxis], directions=[[1 + 0.99e-5, 0.0]], n_quantiles=4)
    np.testing.assert_array_equal(found, expected)
    assert radon(np.ones((3, 3)), [[1 + 0.9e-5, 0.0]], n_radii=1_000_000).sum() == pytest.approx(9)
    assert np.isfinite(rcdt(np.ones((1, 2, 2)), directions=[[0.70711, 0.70711]], n_radii=1_000_000)).all()


@pytest.mark.parametrize("shape", [5, None, (5.0, 5.0), (-5, -5), (0, 4), "ab", (1, 2, 3)])
def test_shapes_of_images_are_two_positive_numbers(shape):
    with pytest.raises(ValueError, match=r"^shape must be two positive whole numbers; got .* Give"):
        back_projection(np.ones((4, 9)), shape)
    with pytest.raises(ValueError, match=r"^shape must be two positive whole numbers; got .* Give"):
        inverse_rcdt(np.cumsum(np.ones((4, 9)), axis=1), shape)


@pytest.mark.parametrize("directions", ["x", np.zeros((0, 2)), [[1.0, 0.0, 0.0]], [1.0, 0.0]])
def test_directions_of_images_are_rows_of_two(directions):
    with pytest.raises(ValueError, match=r"^directions must "):
        radon(np.ones((4, 4)), directions)


def test_inverses_keep_float32(rng):
    quantiles = rcdt(rng.random((2, 6, 7)).astype(np.float32), n_directions=16, n_quantiles=20)
    assert inverse_rcdt(quantiles, (6, 7)).dtype == np.float32
    assert inverse_rcdt(quantiles[0], (6, 7)).dtype == np.float32


@pytest.mark.parametrize("reference", ["norm", stats.beta(2, 3)])
def test_the_inverse_knows_the_reference(reference):
    image = supersampled((24, 24), lambda x, y: (np.abs(x) < 0.3) & (np.abs(y - 0.1) < 0.15))
    image /= image.sum()
    model = RCDT(n_directions=128, n_quantiles=256, reference=reference).fit([image])
    assert np.abs(model.inverse_transform(model.transform([image]))[0] - image).sum() < 0.12


def test_the_inverse_takes_its_number_of_strips(rng):
    quantiles = rcdt(rng.random((1, 9, 9)), n_directions=16, n_quantiles=20)
    coarse, usual = inverse_rcdt(quantiles, (9, 9), n_radii=7), inverse_rcdt(quantiles, (9, 9))
    assert np.abs(coarse - usual).max() > 1e-4


def test_filtered_back_projection_keeps_the_mass():
    image = supersampled((32, 32), lambda x, y: np.hypot(x, y) < 0.3)
    image /= image.sum()
    found = filtered_back_projection(radon(image, 128), (32, 32), circle(128), np.full(128, 1 / 128))
    assert found.sum() == pytest.approx(1, abs=0.02)
