import numpy as np
import pytest

from nrcdt import NRCDT
from nrcdt.datasets import MOTIFS, distorted, random_affine, warp, watermarks


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
    np.testing.assert_array_equal(np.argwhere(warp(image, quarter, np.zeros(2)) > 0.5), [[7, 4]])


def test_warp_moves_the_centre_of_mass_by_the_map():
    image = watermarks(1)[0][0]
    matrix, shift = np.array([[0.8, 0.3], [-0.1, 0.9]]), np.array([5.0, -3.0])
    np.testing.assert_allclose(_mean(warp(image, matrix, shift)), matrix @ _mean(image) + shift, atol=0.2)


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


@pytest.mark.parametrize("n_classes", [0, len(MOTIFS) + 1])
def test_number_of_classes_is_checked(n_classes):
    with pytest.raises(ValueError, match="n_classes must be between 1 and"):
        watermarks(n_classes)


def test_size_is_checked():
    with pytest.raises(ValueError, match="size must be at least 16"):
        watermarks(1, size=8)
