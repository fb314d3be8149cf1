import numpy as np
import pytest

from conftest import affine_map, cloud_of
from nrcdt import NORMALIZATIONS, NRCDT, RCDT, invariance, nrcdt
from nrcdt.directions import circle
from nrcdt.frames import mean_and_covariance, pull_back, whitening
from nrcdt.measures import Cloud


def test_images_and_their_pixels_have_the_same_moments(rng):
    image = rng.random((5, 8))
    side = np.sqrt(2) / 8
    fine = np.kron(image, np.ones((50, 50)))
    y, x = np.indices(fine.shape)
    points = (np.stack([x.ravel(), y.ravel()], axis=1) - [199.5, 124.5]) * side / 50
    mean, covariance = mean_and_covariance(image)
    expected = mean_and_covariance(Cloud(points, fine.ravel()))
    np.testing.assert_allclose(mean, expected[0], atol=1e-12)
    np.testing.assert_allclose(covariance, expected[1] + (side / 50) ** 2 / 12 * np.eye(2), rtol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_affine_maps_only_turn_the_whitened_measure(rng, d):
    cloud = Cloud(cloud_of(rng, 50, d), rng.uniform(0.5, 2, 50))
    matrix, shift = affine_map(rng, d)
    moved = Cloud(cloud.points @ matrix.T + shift, cloud.weights)
    turn = whitening(moved).matrix @ matrix @ np.linalg.inv(whitening(cloud).matrix)
    np.testing.assert_allclose(turn @ turn.T, np.eye(d), atol=1e-9)


def test_whitened_slices_have_mean_zero_and_spread_one(rng):
    images = [rng.random((30, 40)) ** 4, rng.random((20, 9))]
    quantiles = RCDT(frame="whitened", n_quantiles=4000, n_directions=12).fit(images).quantiles(images)
    np.testing.assert_allclose(quantiles.mean(axis=2), 0, atol=1e-3)
    np.testing.assert_allclose(quantiles.std(axis=2), 1, atol=2e-3)


def test_opposite_directions_stay_exactly_opposite(rng):
    seen = pull_back(whitening(Cloud(cloud_of(rng), None)), circle(64))
    np.testing.assert_array_equal(seen.directions[32:], -seen.directions[:32])


def test_a_sheared_cloud_needs_fewer_directions(rng):
    cloud = cloud_of(rng)
    moved = [cloud @ (rng.normal(size=(2, 2)) * [1, 0.2]) for _ in range(10)]
    spread = {}
    for frame in ("fixed", "whitened"):
        features = nrcdt([cloud, *moved], "euclidean", frame=frame, n_directions=32)
        spread[frame] = np.linalg.norm(features[1:] - features[0])
    assert spread["whitened"] < 0.4 * spread["fixed"]


@pytest.mark.parametrize("aggregate", ["mean", "mean_abs", "std", "angular_quantiles", "spectrum"])
def test_images_under_exact_affine_maps(aggregate):
    image = np.zeros((24, 24))
    image[4:12, 6:20] = 1
    image[12:18, 6:9] = 0.5
    wide = np.kron(image, np.ones((1, 2)))
    turned, mirrored = np.rot90(wide), np.kron(image, np.ones((3, 1)))[:, ::-1]
    features = nrcdt(
        [image, wide, turned, mirrored], frame="whitened", n_directions=256, aggregate=aggregate, n_radii=4000
    )
    assert np.abs(features - features[0]).max() < 4e-3 * np.abs(features[0]).max()


def test_float32_and_batches(rng):
    images = rng.random((5, 16, 16)).astype(np.float32)
    model = NRCDT(frame="whitened", n_directions=16, aggregate=["mean_abs", "spectrum"]).fit(images)
    together = model.transform(images)
    assert together.dtype == np.float32
    np.testing.assert_array_equal(together[3], model.transform(images[3:4])[0])


def test_degenerate_clouds_get_the_same_message_as_before(rng):
    flat = np.stack([np.arange(9.0), 2 * np.arange(9.0)], axis=1)
    for normalize in NORMALIZATIONS:
        with pytest.raises(ValueError, match=r"X\[1\] must span all 2 dimensions; got points on a line. Nothing else"):
            nrcdt([cloud_of(rng), flat], "euclidean", frame="whitened", normalize=normalize)


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("space", ["signal", "euclidean"])
def test_whitening_on_the_line_is_a_shift_and_a_scale(rng, space, normalize):
    """What undoes a scale undoes it; without, the whitened features ignore shift and scale, and the others do not."""
    sample, moved = rng.random(30), np.zeros(80)
    moved[40:70] = sample[::-1]
    samples = [sample, moved] if space == "signal" else [sample[:, np.newaxis], 5 - 2 * sample[:, np.newaxis]]
    fixed, whitened = (
        nrcdt(samples, space, frame=frame, normalize=normalize, n_quantiles=9) for frame in ("fixed", "whitened")
    )
    np.testing.assert_allclose(whitened[1], whitened[0], atol=1e-10)
    assert np.allclose(fixed[1], fixed[0], atol=1e-10) == (normalize not in ("center", None))
    assert np.allclose(whitened, fixed, atol=1e-10) == (normalize not in ("center", None))
    assert "affine maps" in invariance(space, frame="whitened", normalize=normalize)


def test_curved_slices_cannot_be_whitened(rng):
    with pytest.raises(ValueError, match="frame must be 'fixed' in the circular space, which is not flat or not"):
        nrcdt([cloud_of(rng)], "circular", frame="whitened")


def test_the_inverse_belongs_to_the_fixed_frame(rng):
    model = RCDT(frame="whitened", n_directions=8, n_quantiles=8).fit(rng.random((1, 6, 6)))
    with pytest.raises(ValueError, match=r"frame='fixed' and trim=0; got .* frame='whitened'"):
        model.inverse_transform(np.zeros((1, 64)))


def test_opposites_stay_opposite_under_any_map(rng):
    for _ in range(50):
        seen = pull_back(whitening(Cloud(cloud_of(rng), None)), circle(64))
        np.testing.assert_array_equal(seen.directions[32:], -seen.directions[:32])
