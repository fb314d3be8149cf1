"""Simulated photographs: every disturbance does what its name says, and repeats from its seed."""

import numpy as np
import pytest

from nrcdt.datasets import PHOTOGRAPHS, photograph, watermarks
from nrcdt.datasets.photographs import chains, light, ripple, with_gaps, with_specks


@pytest.fixture(scope="module")
def drawings():
    return watermarks(2, size=128)[0]


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_grey_values_of_eight_bits_that_repeat(drawings, name):
    first, again = (photograph(drawings, name, random_state=3) for _ in range(2))
    other = photograph(drawings, name, random_state=4)
    assert first.shape == drawings.shape
    assert first.min() >= 0
    assert first.max() <= 1
    np.testing.assert_array_equal(np.round(255 * first) / 255, first)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, drawings)


def test_ink_is_lighter_than_paper_unless_inverted(drawings):
    ink = drawings > 0.5
    for name in PHOTOGRAPHS:
        pictures = photograph(np.concatenate([drawings] * 8), name, random_state=0)
        lighter = [p[i].mean() > np.median(p[~i]) for p, i in zip(pictures, np.concatenate([ink] * 8), strict=True)]
        if name == "all":
            assert 0 < sum(lighter) < len(lighter)
        else:
            assert set(lighter) == {name != "inverted"}


def test_no_images_make_no_pictures():
    assert photograph(np.zeros((0, 9, 9)), "veil").shape == (0, 9, 9)


@pytest.mark.parametrize("tilt", [0.0, 30.0, -75.0])
def test_chain_lines_lean_by_the_tilt(tilt):
    sheet = chains((128, 128), np.random.default_rng(1), tilt)
    y, x = np.indices(sheet.shape) - 63.5
    angles = np.arange(-90, 90, 5.0)

    def roughness(angle):
        across = x * np.cos(np.radians(angle)) + y * np.sin(np.radians(angle))
        return np.var(np.bincount((across + 95).astype(int).ravel(), sheet.ravel(), 190))

    assert angles[np.argmax([roughness(angle) for angle in angles])] == tilt


def test_chain_lines_are_five_to_eight_and_cross_the_sheet():
    counts = set()
    for seed in range(20):
        sheet = chains((256, 256), np.random.default_rng(seed), 0)
        rising = np.diff((sheet > 0.2).astype(int), axis=1) == 1
        counts |= set((rising.sum(axis=1) + (sheet[:, 0] > 0.2)).tolist())
        assert 0.25 < sheet.max() <= 0.9
    assert counts <= set(range(4, 10))
    assert len(counts) > 2


def test_laid_lines_have_their_period():
    for seed in range(5):
        power = np.abs(np.fft.rfft(ripple((256, 64), np.random.default_rng(seed), 0), axis=0)).mean(axis=1)
        assert 4 <= 256 / np.argmax(power) <= 7.2


def test_lengths_grow_with_the_sheet():
    small, large = (ripple((side, side), np.random.default_rng(2), 0) for side in (128, 256))
    np.testing.assert_allclose(large[::2, ::2], small, atol=0.9)
    np.testing.assert_allclose((large[::2] + large[1::2])[:, ::2] / 2, small, atol=0.5)


def test_specks_add_and_gaps_remove(drawings):
    rng = np.random.default_rng(0)
    spotted, holed = with_specks(drawings[0], rng, 30), with_gaps(drawings[0], rng, 4)
    assert np.all(spotted >= drawings[0])
    assert 20 < np.count_nonzero(spotted > drawings[0]) < 600
    assert np.all(holed <= drawings[0])
    assert 0.7 < holed.sum() / drawings[0].sum() < 0.99
    assert not with_gaps(np.zeros((9, 9)), rng, 4).any()


def test_light_is_uneven_and_smooth():
    field = light((64, 64), np.random.default_rng(0), 0.3)
    assert 0.2 < np.ptp(field) < 0.6
    assert np.abs(np.diff(field, axis=0)).max() < 0.02


def test_bad_arguments_are_named(drawings):
    with pytest.raises(ValueError, match=r"images must have shape \(n_images, height, width\); got \(128, 128\)"):
        photograph(drawings[0])
    with pytest.raises(ValueError, match=r"disturbance must be one of veil, .*all; got 'rain'"):
        photograph(drawings, "rain")
