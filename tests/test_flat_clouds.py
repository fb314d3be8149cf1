"""Clouds on a line or in one point, and clouds of one coordinate: measured where they can be, else refused."""

import numpy as np
import pytest

from conftest import cloud_of
from nrcdt import NORMALIZATIONS, NRCDT, RCDT, cdt, nrcdt, rcdt, sliced_wasserstein
from nrcdt.directions import circle, sphere
from nrcdt.frames import whitening
from nrcdt.measures import Cloud
from nrcdt.normalize import SLICEWISE, FlatSlice

FEW = {"n_directions": 16, "n_quantiles": 9}
DIVIDING = [how for how in NORMALIZATIONS if how not in ("center", None)]


def on_a_line(values, angle=1.1):
    return np.outer(values, [np.cos(angle), np.sin(angle)])


def test_a_point_has_quantiles(rng):
    point = rng.normal(size=3)
    for X in ([point[np.newaxis]], [np.tile(point, (7, 1))], [(point[np.newaxis], [2.0])]):
        quantiles = rcdt(X, "euclidean", **FEW)[0]
        np.testing.assert_allclose(quantiles, np.repeat(sphere(16, 3) @ point, 9).reshape(16, 9), atol=1e-15)
        assert np.abs(rcdt(X, "euclidean", normalize="center", **FEW)).max() < 1e-15
    assert not nrcdt([[point]], "euclidean", normalize="center", aggregate=["max", "mean"], **FEW).any()


@pytest.mark.parametrize(("d", "n"), [(2, 64), (3, 4096)])
def test_points_are_as_far_apart_as_they_are(rng, d, n):
    """The sliced Wasserstein distance of x and y: the root mean square of <x - y, theta> is |x - y| / sqrt(d)."""
    x, y = rng.normal(size=(2, d))
    [[found]] = sliced_wasserstein([[x]], [[y, y]], "euclidean", n_directions=n)
    assert found == pytest.approx(np.linalg.norm(x - y) / np.sqrt(d), rel=1e-4)


@pytest.mark.parametrize("offset", [0.0, 1 / 3, -1e6 / 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_point_has_no_spread_to_be_divided_by(rng, offset, dtype):
    point = np.full((5, 2), offset, dtype)
    if offset:
        point[2] = np.nextafter(point[2], np.inf, dtype=dtype)  # the same, but for rounding
    good = cloud_of(rng).astype(dtype)
    for how in SLICEWISE:
        with pytest.raises(FlatSlice, match=r"X\[1\] must have spread in every slice; got none in direction 0. Drop"):
            nrcdt([good, point], "euclidean", normalize=how, **FEW)
    with pytest.raises(FlatSlice, match=r"X\[1\] must have spread in some slice; got none in any direction. Drop"):
        nrcdt([good, point], "euclidean", normalize="global", **FEW)
    for how in DIVIDING:
        with pytest.raises(FlatSlice, match=r"X\[1\] must have spread in"):
            nrcdt([good, point], "circular", normalize=how, **FEW)
    assert rcdt([point], "circular", **FEW).max() <= np.ptp(point)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1e6, -1e12])
@pytest.mark.parametrize("direction", [0, 4, 14])
def test_a_line_is_refused_where_a_direction_sees_no_spread(rng, direction, shift):
    """Seen from direction 0 the line of direction 4 is a point, up to rounding; one degree beside it is a line."""
    line = on_a_line(rng.exponential(size=50), 2 * np.pi * (direction + 4) / 16) * 1e-2 * max(1, abs(shift)) ** 0.5
    line += shift * np.array([1.0, 0.7])
    blind = direction % 8  # and the opposite one, which comes later
    with pytest.raises(FlatSlice, match=rf"X\[0\] must have spread in every slice; got none in direction {blind}\. "):
        nrcdt([line], "euclidean", **FEW)
    beside = circle(360)[np.arange(16) * 22 + 1]
    assert np.isfinite(nrcdt([line], "euclidean", directions=beside, n_quantiles=9)).all()
    for how in ("global", "center", None):
        assert np.isfinite(nrcdt([line], "euclidean", normalize=how, **FEW)).all()


@pytest.mark.parametrize("how", NORMALIZATIONS)
def test_a_line_is_a_measure_on_the_line(rng, how):
    """Every slice is that of the measure on the line, longer or shorter; standardised, it is the same slice."""
    values = rng.exponential(size=40)
    line = on_a_line(values) + np.array([3.0, -1.0])
    alone = rcdt([values[:, np.newaxis]], "euclidean", normalize=how, n_quantiles=9)
    quantiles = rcdt([line], "euclidean", normalize=how, **FEW)[0]
    along = circle(16) @ on_a_line([1.0])[0]
    expected = np.where(along[:, np.newaxis] > 0, *alone[0])
    if how in SLICEWISE:
        np.testing.assert_allclose(quantiles, expected, atol=1e-9)
    if how == "center":
        np.testing.assert_allclose(quantiles, np.abs(along)[:, np.newaxis] * expected, atol=1e-9)
    if how == "global":  # the mean square of the factors is one half
        np.testing.assert_allclose(quantiles, np.abs(along)[:, np.newaxis] * expected * np.sqrt(2), atol=1e-9)
    if how is None:
        shifted = np.abs(along)[:, np.newaxis] * expected + (circle(16) @ [3.0, -1.0])[:, np.newaxis]
        np.testing.assert_allclose(quantiles, shifted, atol=1e-9)


@pytest.mark.parametrize("thin", [1e-4, 1e-6, 1e-8, 5e-10])
def test_thin_clouds_are_whitened_to_the_last_digits(rng, thin):
    round_cloud, turn = cloud_of(rng, 100, 3), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    settings = {"space": "euclidean", "frame": "whitened", "n_directions": 400, "n_quantiles": 9}
    expected, found = nrcdt([round_cloud, round_cloud * [1, 1, thin] @ turn], aggregate="mean_abs", **settings)
    np.testing.assert_allclose(found, expected, atol=0.02)
    points = round_cloud * [1, thin, 1] @ turn
    mean, matrix = whitening(Cloud(points, None))
    covariance = np.cov((points - mean) @ matrix, rowvar=False, bias=True)
    np.testing.assert_allclose(covariance, np.eye(3), atol=1e-13 / thin)
    assert np.isfinite(rcdt([points, (points, rng.random(100))], **settings)).all()


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_flat_clouds_are_not_whitened(rng, normalize, shift):
    flat = cloud_of(rng, 50, 3) * [1, 1, 1e-11] @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + shift
    rule = r"X\[1\] must span all 3 dimensions; got points on a plane. .* take frame='fixed'\.$"
    for make in (RCDT, NRCDT):
        with pytest.raises(ValueError, match=rule):
            make("euclidean", frame="whitened", normalize=normalize, **FEW).fit_transform([cloud_of(rng, 50, 3), flat])
    assert np.isfinite(nrcdt([flat], "euclidean", **FEW)).all()


def test_lines_among_circular_slices(rng):
    """A line has spread from every centre; its features ignore similarities."""
    line = on_a_line(rng.exponential(size=60))
    turned = 3 * on_a_line(line @ on_a_line([1.0])[0], 0.3) + 7
    a, b = nrcdt([line, turned], "circular", n_directions=1024, n_quantiles=20)
    assert np.abs(a - b).max() < 0.01 * np.abs(a).max()


@pytest.mark.parametrize("n_directions", [1, 2, 7, 256])
def test_the_line_has_two_directions(rng, n_directions):
    values = rng.exponential(size=(3, 30))
    model = RCDT("euclidean", n_directions=n_directions, n_quantiles=9).fit(values[:, :, np.newaxis])
    np.testing.assert_array_equal(model.directions_, [[1], [-1]])
    found = model.quantiles(values[:, :, np.newaxis])
    np.testing.assert_allclose(found[:, 0], cdt(values, n_quantiles=9))
    np.testing.assert_allclose(found[:, 1], cdt(-values, n_quantiles=9))
    distances = sliced_wasserstein(values[:, :, np.newaxis], space="euclidean", n_directions=n_directions)
    assert distances[0, 1] == pytest.approx(np.sqrt(np.mean((np.sort(values[0]) - np.sort(values[1])) ** 2)), rel=0.02)


@pytest.mark.parametrize("frame", ["fixed", "whitened"])
@pytest.mark.parametrize("aggregate", ["max", "range", "mean", "std", "angular_quantiles", ["max", "mean_abs"]])
def test_affine_maps_of_the_line(rng, frame, aggregate):
    cloud, other = rng.exponential(size=(2, 30, 1))
    moved = [cloud, -3 * cloud + 7, (0.1 * cloud, np.ones(30)), other[:20]]
    a, b, c, d = nrcdt(moved, "euclidean", frame=frame, aggregate=aggregate, n_quantiles=9)
    np.testing.assert_allclose(b, a, atol=1e-12)
    np.testing.assert_allclose(c, a, atol=1e-12)
    assert np.abs(d - a).max() > 0.05 * np.abs(a).max()


def test_what_the_line_does_not_have(rng):
    cloud = [rng.exponential(size=(30, 1))]
    for aggregate in ("tv", "spectrum", "bispectrum"):
        with pytest.raises(ValueError, match=rf"aggregate '{aggregate}' must have directions .* shape \(2, 1\)"):
            nrcdt(cloud, "euclidean", aggregate=aggregate)
    with pytest.raises(ValueError, match=r"X\[0\] must span all 1 dimensions; got points on a single point"):
        nrcdt(np.ones((1, 5, 1)), "euclidean", frame="whitened")
    a, b = nrcdt([cloud[0], 5 - 2 * cloud[0]], "circular", n_quantiles=9)
    np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("how", NORMALIZATIONS)
@pytest.mark.parametrize("frame", ["fixed", "whitened"])
def test_mass_in_one_place_still_has_a_width(how, frame):
    """A sample of a signal is a strip, a pixel is a square: standardised, they are the uniform measure."""
    signal, image = np.zeros(1000), np.zeros((40, 30))
    signal[30] = image[3, 4] = 7
    for X, space in (([signal, 3 * signal], "signal"), ([image, 3 * image], "image")):
        a, b = nrcdt(X, space, normalize=how, frame=frame, n_directions=8, n_quantiles=9, n_radii=400)
        np.testing.assert_allclose(a, b, atol=1e-12)
        assert np.isfinite(a).all()
