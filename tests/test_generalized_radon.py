"""The generalised Radon transform of measures: slices, disintegration, duality, and what it says about bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from features_fixture import batches
from nrcdt import SPACES, GeneralizedRadon, back_projection, radon, rcdt
from nrcdt.directions import circle
from nrcdt.errors import InputError
from nrcdt.measures import pack
from nrcdt.spaces import find_space

BATCHES = batches()
POINTS = [name for name, (space, _) in BATCHES.items() if find_space(space).densities is None]


def g(t, theta):
    """Smooth, bounded, and different in every direction."""
    return np.cos(t + theta.sum()) + np.ravel(theta)[0] * np.tanh(t)


def bare(sample):
    """The points of a sample, without its weights."""
    return sample[0] if isinstance(sample, tuple) else sample


@pytest.mark.parametrize("name", POINTS)
def test_transform_and_back_projection_are_adjoint(name):
    space, X = BATCHES[name]
    transform = GeneralizedRadon(space, n_directions=12)
    travels = find_space(space).travels
    for sample, measure, sliced in zip(X, find_space(space).check(X), transform.transform(X), strict=True):
        weights = np.ones(len(measure.points)) if measure.weights is None else measure.weights
        points = (sample > 0).astype(float) if name == "manifold" else bare(sample)
        found = transform.back_projection(g, points, sample if travels else None)
        assert found.shape == (len(measure.points),)
        tolerance = 1e-6 if measure.points.dtype == np.float32 else 1e-12
        assert sliced.integrate(g) == pytest.approx(np.average(found, weights=weights), abs=tolerance)


@pytest.mark.parametrize("name", POINTS)
def test_slices_are_those_whose_quantiles_the_rcdt_takes(name):
    space, X = BATCHES[name]
    quantiles = rcdt(X, space, n_directions=12, n_quantiles=7, normalize=None)
    levels = np.arange(1, 8) / 8
    for sliced, row in zip(GeneralizedRadon(space, n_directions=12).transform(X), quantiles, strict=True):
        expected = []
        for values, masses in zip(sliced.values, sliced.masses, strict=True):
            order = values.argsort()
            reached = np.cumsum(masses[order])
            expected.append(values[order][np.searchsorted(reached, levels * (1 + 1e-12), side="right")])
        assert_allclose(row.reshape(len(expected), 7), expected, rtol=1e-5, atol=1e-6)
        assert_allclose(sliced.masses.sum(axis=1), 1)
        assert_allclose(sliced.direction_weights.sum(), 1)


def test_gamma_is_the_weight_of_directions():
    X, repeated = BATCHES["euclidean"][1], np.repeat(circle(5), [1, 2, 0, 3, 1], axis=0)
    weighted = GeneralizedRadon("euclidean", directions=(circle(5), [1, 2, 0, 3, 1]))
    again = GeneralizedRadon("euclidean", directions=repeated)
    assert_allclose(weighted.transform(X)[0].integrate(g), again.transform(X)[0].integrate(g))
    assert_allclose(weighted.back_projection(g, X[0]), again.back_projection(g, X[0]))


def test_disintegration():
    """The integral over R x Theta is the average over gamma of the integrals over the slices."""
    space, X = BATCHES["circular_3"]
    sliced = GeneralizedRadon(space, n_directions=6).transform(X)[1]
    single = [
        g(t, theta) @ mass for t, theta, mass in zip(sliced.values, sliced.directions, sliced.masses, strict=True)
    ]
    assert sliced.integrate(g) == pytest.approx(np.average(single, weights=sliced.direction_weights))


def test_slices_of_an_image_are_its_radon_transform():
    image = BATCHES["image"][1][0]
    [sliced] = GeneralizedRadon(n_directions=8, n_radii=40).transform([image])
    strips = radon(image, 8, n_radii=40)
    assert_allclose(sliced.masses, strips / image.sum(), atol=1e-15)
    assert_allclose(sliced.values[3], (np.arange(40) + 0.5) / 20 - 1)


def test_the_pair_of_images_is_the_special_case():
    """For functions that are constant on strips the two are the transposes `radon` and `back_projection`."""
    image, g_strips = BATCHES["image"][1][0], np.random.default_rng(1).normal(size=(8, 40))
    [sliced] = GeneralizedRadon(n_directions=8, n_radii=40).transform([image])
    rows = iter(g_strips)
    found = sliced.integrate(lambda t, theta: next(rows))
    share = image / image.sum()
    assert found == pytest.approx((share * back_projection(g_strips, image.shape, average=True)).sum())
    assert_allclose(8 * back_projection(g_strips, (9, 7), average=True), back_projection(g_strips, (9, 7)))


def test_duality_for_images_converges_with_strips_and_pixels():
    """The integral of R*[g] against an image, by the middles of ever smaller parts of its pixels."""
    image = BATCHES["image"][1][0]
    errors = []
    for fine in (1, 3, 9):
        transform = GeneralizedRadon(n_directions=16, n_radii=40 * fine)
        parts = np.kron(image, np.ones((fine, fine)))
        side = 2**0.5 / max(parts.shape)
        y, x = ((np.arange(n) - (n - 1) / 2) * side for n in parts.shape)
        points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        right = np.average(transform.back_projection(g, points), weights=parts.ravel())
        errors.append(abs(transform.transform([image])[0].integrate(g) - right))
    assert errors[0] > 6 * errors[1] > 36 * errors[2]


def test_duality_for_signals():
    row = BATCHES["signal"][1][0]
    transform = GeneralizedRadon("signal", directions=([[1.0], [-1.0]], [3, 1]))
    middles = ((np.arange(12) + 0.5) / 6 - 1)[:, np.newaxis]
    found = np.average(transform.back_projection(g, middles), weights=row)
    assert transform.transform([row])[0].integrate(g) == pytest.approx(found)


def test_every_space_has_the_transform():
    known = {
        space if isinstance(space, str) else space.name for space, _ in BATCHES.values() if not isinstance(space, tuple)
    }
    assert known >= set(SPACES)


def test_shapes_of_g():
    transform, X = GeneralizedRadon("euclidean", n_directions=4), BATCHES["euclidean"][1]
    assert_allclose(transform.back_projection(lambda t, theta: 2.0, X[0]), np.full(40, 2.0))
    assert transform.transform(X)[0].integrate(lambda t, theta: 2.0) == pytest.approx(2)
    with pytest.raises(InputError, match=r"g must return one number per value, shape \(40,\); got shape \(3,\)"):
        transform.back_projection(lambda t, theta: np.ones(3), X[0])
    with pytest.raises(InputError, match="g of values and a direction must be finite; got NaN"):
        transform.transform(X)[0].integrate(lambda t, theta: t * np.nan)


def test_directions_that_travel_want_the_measure():
    space, X = BATCHES["circular"]
    transform = GeneralizedRadon(space, n_directions=4)
    with pytest.raises(InputError, match="seen_from must be the measure that was transformed, in the circular space"):
        transform.back_projection(g, X[0])
    with pytest.raises(InputError, match="seen_from must be a cloud"):
        transform.back_projection(g, X[0], seen_from=X[0][0])
    with pytest.raises(InputError, match=r"seen_from must lie in the space of the points; got 3 coordinates for"):
        transform.back_projection(g, X[0], seen_from=np.ones((4, 3)))
    sliced, other = transform.transform(X[:2])
    assert np.abs(sliced.directions - other.directions).max() > 0.01


@pytest.mark.parametrize("space", ["image", "signal"])
def test_points_of_pictures_and_signals_are_checked(space):
    transform, d = GeneralizedRadon(space, n_directions=4), 2 - (space == "signal")
    with pytest.raises(InputError, match=rf"points must have shape \(n_points, {d}\); got shape \(5, 3\)"):
        transform.back_projection(g, np.ones((5, 3)))
    with pytest.raises(InputError, match="points must be finite"):
        transform.back_projection(g, np.full((5, d), np.inf))


def test_points_are_named():
    with pytest.raises(InputError, match="points must hold points of unit length"):
        GeneralizedRadon("sphere_parallel").back_projection(g, np.ones((5, 3)))


def test_the_mirror_half_of_slices():
    """Slices that leave their second half to the mirror hand it out all the same."""
    for name, directions in (("image", circle(4)), ("signal", np.array([[1.0], [-1.0]]))):
        space = find_space(name)
        batch = pack(space.check(BATCHES[name][1])[:])
        whole = space.slices(batch, directions[np.newaxis], "auto", False).atoms()
        halves = space.slices(batch, directions[np.newaxis], "auto", True).atoms()
        for left, right in zip(whole, halves, strict=True):
            assert_allclose(left.masses, right.masses, atol=1e-12)


def test_weights_of_points_do_not_count():
    transform, X = GeneralizedRadon("euclidean", n_directions=4), BATCHES["euclidean_weighted"][1]
    points = X[0][0]
    weightless = (points, np.arange(len(points)) % 2)
    assert_allclose(transform.back_projection(g, weightless), transform.back_projection(g, points))
