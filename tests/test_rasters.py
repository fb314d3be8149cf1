"""Averages keep masses where they are, boxes hold the ink, and maps move images by pixel coordinates."""

from itertools import pairwise

import numpy as np
import pytest

from nrcdt import rasters
from nrcdt.rasters import averaged, box_around, ink_on_paper, inverse, reduced, resample, tiles


def test_averages_are_those_of_the_definition(rng):
    image = rng.random((12, 9))
    fine = np.kron(image, np.ones((10, 10)))  # of which cells hold whole pixels
    down, across = np.array([-0.5, 1.2, 2.9, 7.0]), np.array([0.0, 3.3, 9.6])
    rows, columns = (np.round(10 * edges).astype(int) + 10 for edges in (down, across))
    padded = np.pad(fine, 10)
    wanted = [[padded[a:b, c:d].mean() for c, d in pairwise(columns)] for a, b in pairwise(rows)]
    np.testing.assert_allclose(averaged(image, down, across), wanted, rtol=1e-12)


def test_reducing_by_a_whole_factor_is_the_mean_of_tiles(rng):
    image = rng.random((12, 18))
    np.testing.assert_allclose(reduced(image, 6)[0], tiles(image, 3).mean(axis=(1, 3)), rtol=1e-6)
    assert reduced(image, 40)[1] == 1


def test_what_is_left_over_is_no_tile():
    assert tiles(np.ones((7, 11)), 3).shape == (2, 3, 3, 3)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (4, 9)])
def test_the_box_holds_what_is_there(rng, shape):
    mask = rng.random(shape) > 0.7
    inside = mask[box_around(mask)]
    assert inside.sum() == mask.sum()
    for side in (inside[0], inside[-1], inside[:, 0], inside[:, -1]):
        assert side.any() or not mask.any()
    assert np.zeros(shape)[box_around(np.zeros(shape, bool))].shape == shape


def test_ink_is_on_one_side_of_the_paper(rng):
    paper = np.full((9, 9), 5.0)
    paper[2, 2:7], paper[6, 3] = 1.0, 6.0
    dark, side = ink_on_paper(paper)
    assert side == "dark"
    np.testing.assert_array_equal(dark, np.maximum(5 - paper, 0))
    light, side = ink_on_paper(-paper)
    assert side == "light"
    np.testing.assert_array_equal(light, dark)
    np.testing.assert_array_equal(ink_on_paper(paper, "light")[0], np.maximum(paper - 5, 0))
    with pytest.raises(ValueError, match="ink must be one of auto, dark, light; got 'red'"):
        rasters.check_polarity("red", "ink")


def test_resampling_there_and_back(rng):
    image = np.pad(rng.random((6, 8)), 6)
    shift = np.array([[1.0, 0, 2], [0, 1, -3]])
    moved = resample(image, shift, image.shape)
    np.testing.assert_allclose(moved, np.roll(image, (-3, 2), (0, 1)), atol=1e-12)
    np.testing.assert_allclose(resample(moved, inverse(shift), image.shape), image, atol=1e-12)
    np.testing.assert_allclose(resample(image, shift, (10, 12), (4, 2)), moved[2:12, 4:16], atol=1e-12)
