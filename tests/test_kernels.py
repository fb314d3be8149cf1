"""Every fast kernel equals the obvious loops."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

import reference
from nrcdt.directions import circle
from nrcdt.kernels import compiled, kernels_for, order, portable
from nrcdt.sorted_slices import SortedSlices

cpu = compiled("cpu")  # `plain` where numba may not compile
LEVELS = {m: np.arange(1, m + 1) / (m + 1) for m in (1, 7, 40)} | {4: np.array([0.001, 0.002, 0.6, 0.999])}


def image_of(rng, shape, ink=0.6):
    image = rng.normal(size=shape) * (rng.random(shape) < ink)
    image[0, 0] = 1.0
    return image


def test_the_backends_have_the_same_functions():
    for name in cpu.__all__:
        fast, slow = getattr(cpu, name), getattr(reference, name)
        fast = getattr(fast, "py_func", fast)
        assert list(inspect.signature(fast).parameters) == list(inspect.signature(slow).parameters)


def test_only_numpy_arrays_have_kernels():
    assert kernels_for(np.zeros(1)) is cpu
    with pytest.raises(TypeError, match="must be a NumPy array; got list"):
        kernels_for([0.0])


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (5, 5), (7, 4), (3, 9)])
@pytest.mark.parametrize("n_radii", [1, 2, 5, 37, 300])
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_strip_sums(rng, shape, n_radii, lines, dtype):
    image = image_of(rng, shape).astype(dtype)
    directions = np.concatenate([circle(8), circle(7)])
    if lines:
        directions = directions[np.abs(directions.prod(axis=1)) > 1e-6]  # on an axis the shadow is a box, and jumps
    arguments = (image, directions, np.sqrt(2) / max(shape), lines)
    fast, slow = (module.strip_sums(*arguments, np.empty((len(directions), n_radii))) for module in (cpu, reference))
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12 * n_radii)


def test_strip_sums_of_many_pixels(rng):
    arguments = (rng.random((60, 50)), circle(3), np.sqrt(2) / 60, False)
    fast, slow = (module.strip_sums(*arguments, np.empty((3, 90))) for module in (cpu, reference))
    np.testing.assert_allclose(fast, slow, rtol=1e-11)


def test_an_image_of_zeros_has_no_shadow():
    assert not cpu.strip_sums(np.zeros((3, 4)), circle(5), 0.3, False, np.empty((5, 20))).any()


@pytest.mark.parametrize("shape", [(1, 1), (6, 4), (3, 9)])
@pytest.mark.parametrize("lines", [False, True])
def test_back_project(rng, shape, lines):
    arguments = (rng.normal(size=(5, 30)), circle(5)[:, ::-1].copy(), np.sqrt(2) / max(shape), lines)
    fast, slow = (module.back_project(*arguments, np.empty(shape)) for module in (cpu, reference))
    np.testing.assert_allclose(fast, slow, atol=1e-11)


@pytest.mark.parametrize("m", LEVELS)
def test_linear_quantiles(rng, m):
    masses = rng.random((6, 25)) * (rng.random((6, 25)) < 0.5)
    masses[:, 7] += 1e-3
    masses[1] = 0
    masses[1, [0, 24]] = 1.0
    masses[2] = 0
    masses[2, 24] = 3.0
    fast, slow = (
        module.linear_quantiles(masses, LEVELS[m], -1.0, 0.08, np.empty((6, m))) for module in (cpu, reference)
    )
    np.testing.assert_allclose(fast, slow, atol=1e-13)


def test_faint_ends_are_mass_like_any_other():
    masses, levels = np.array([[1e-14, 0, 0, 1], [1, 0, 0, 1e-14]]), np.array([1e-30, 0.5, 1 - 1e-16])
    fast, slow = (module.linear_quantiles(masses, levels, 0.0, 1.0, np.empty((2, 3))) for module in (cpu, reference))
    np.testing.assert_allclose(fast, slow, atol=1e-12)
    assert fast[0, 0] < 1e-12


def test_linear_quantiles_of_the_mirror(rng):
    masses = rng.integers(0, 3, (8, 12)).astype(float)
    masses[:, 0] = 1
    fast, slow = (
        module.linear_quantiles(masses, LEVELS[7], -1.0, 0.5, np.empty((16, 7))) for module in (cpu, reference)
    )
    np.testing.assert_allclose(fast, slow, atol=1e-13)


@pytest.mark.parametrize("shape", [(1, 6), (7, 4), (5, 5)])
@pytest.mark.parametrize("n_radii", [1, 5, 30, 60])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [7, 14])
@pytest.mark.parametrize("n_levels", [40, 7])
def test_shadow_quantiles_and_extremes(rng, shape, n_radii, dtype, n_rows, n_levels):
    image = np.abs(image_of(rng, shape)).astype(dtype)
    arguments = (image, circle(14)[:7], np.sqrt(2) / max(shape), n_radii, LEVELS[n_levels])
    fast, slow = (
        module.shadow_quantiles(*arguments, np.empty((n_rows, n_levels), dtype)) for module in (cpu, reference)
    )
    np.testing.assert_allclose(fast, slow, atol=1e-12 if dtype == np.float64 else 1e-6)
    weights = np.full(n_levels, 1 / n_levels)
    outputs = [(np.empty(n_rows), np.empty(n_rows), np.empty((2, n_levels), dtype)) for _ in range(2)]
    for module, out in zip((cpu, reference), outputs, strict=True):
        module.shadow_extremes(*arguments, weights, *out)
    for fast, slow in zip(*outputs, strict=True):
        np.testing.assert_allclose(fast, slow, atol=1e-11 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("n_radii", [40, 850])
def test_shadow_quantiles_close_to_an_axis(rng, n_radii):
    image = rng.random((30, 23)) * (rng.random((30, 23)) < 0.1)
    angles = np.concatenate([turn + np.array([0, 1e-300, 1e-16, 1e-14, 1e-9, 1e-5, 0.01]) for turn in (0, np.pi / 2)])
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    pixel, out = np.sqrt(2) / 30, np.empty((len(directions), 40))
    fast = cpu.shadow_quantiles(image, directions, pixel, n_radii, LEVELS[40], out)
    slow = reference.shadow_quantiles(image, directions, pixel, n_radii, LEVELS[40], np.empty_like(out))
    np.testing.assert_allclose(fast, slow, atol=1e-13)


@pytest.mark.slow
def test_where_nothing_may_be_cached_kernels_still_compile(tmp_path):
    """Without a folder of its own numba refuses to compile what asks for a cache."""
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment |= {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "NUMBA_DISABLE_JIT": "0",
        "TMPDIR": str(tmp_path),
    }
    for name in ("cpu", "lines"):
        code = f"from nrcdt.kernels import compiled; print(compiled({name!r}).__name__)"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.stdout == f"nrcdt.kernels.{name}\n", done.stderr
        assert list(tmp_path.iterdir()) == []


def falling_heaps(n, sizes):
    return np.array([np.arange(n) // size - np.arange(n) % size / 1e4 for size in sizes])


CLOUDS = {
    "normal": lambda rng, n: rng.normal(size=(4, n)),
    "ties": lambda rng, n: rng.integers(0, 5, (4, n)).astype(float),
    "equal": lambda rng, n: np.full((4, n), 2.5),
    "outliers": lambda rng, n: rng.standard_cauchy((4, n)) ** 3,
    "two heaps": lambda rng, n: rng.normal(size=(4, n)) * 1e-6 + rng.integers(0, 2, (4, n)),
    "sorted": lambda rng, n: np.sort(rng.normal(size=(4, n)), axis=1),
    "falling in heaps of 6 to 9": lambda rng, n: falling_heaps(n, (6, 7, 8, 9)),
    "falling in heaps of 15 to 80": lambda rng, n: falling_heaps(n, (15, 17, 33, 80)),
    "far away on one side": lambda rng, n: np.where(np.arange(n) % 97 == 50, 1e6, rng.normal(size=(4, n))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", CLOUDS)
@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 500, 2001])
def test_step_quantiles(rng, kind, n, dtype):
    values = CLOUDS[kind](rng, n).astype(dtype)
    for weights in (np.empty(0), rng.random(n) + 0.01, rng.integers(1, 4, n).astype(float)):
        for levels in LEVELS.values():
            out = np.empty((4, len(levels)), dtype)
            expected = reference.step_quantiles(values, weights, levels, out.copy())
            np.testing.assert_array_equal(cpu.step_quantiles(values, weights, levels, out), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_value_has_its_place(rng, dtype):
    """Buckets are in the order of the values down to the last bit, also next to values far larger."""
    nearly_equal = np.array([1, -1, 0.1, 0.3 - 0.2, 0.1 * 3 - 0.2])
    for n in range(12, 60):
        values = np.concatenate([np.exp(8 * rng.normal(size=(200, n))), rng.choice(nearly_equal, (200, n))])
        levels, values = (np.arange(n) + 0.5) / n, values.astype(dtype)
        placed = cpu.step_quantiles(values, np.empty(0), levels, np.empty_like(values))
        np.testing.assert_array_equal(placed, np.sort(values, axis=1))


@pytest.mark.skipif(cpu.__name__.endswith("plain"), reason="nothing is compiled")
@pytest.mark.parametrize("n", [300, 5000, 30000])
@pytest.mark.parametrize("place", [0, -1])
def test_one_value_far_away_does_not_widen_the_buckets(rng, n, place):
    cloud, n_sampled = rng.random((1, n)), order._scratch(n, np.empty(0)).sampled.shape[0]
    cloud[0, place], sample = 1e6, np.empty((1, n_sampled))
    order._copy(cloud, np.empty((1, n)), sample)
    assert 0.3 < order._lay(sample[0], 1000)[1] < 0.6


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("n_directions", [1, 2, 9])
def test_projected_quantiles(rng, n_directions, d, dtype):
    points, directions = rng.normal(size=(d, 300)).astype(dtype), rng.normal(size=(n_directions, d))
    directions = (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(dtype)
    for weights in (np.empty(0), rng.random(300)):
        out = np.empty((n_directions, 40), dtype)
        expected = reference.projected_quantiles(points, directions, weights, LEVELS[40], out.copy())
        fast = cpu.projected_quantiles(points, directions, weights, LEVELS[40], out)
        np.testing.assert_allclose(fast, expected, rtol=0, atol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_projected_points(rng, d, dtype):
    points, directions = rng.normal(size=(d, 30)).astype(dtype), rng.normal(size=(7, d)).astype(dtype)
    fast, slow = (module.projected_points(points, directions) for module in (cpu, reference))
    assert fast.dtype == dtype
    np.testing.assert_allclose(fast, slow, rtol=0, atol=16 * np.finfo(dtype).eps)


def sorted_clouds(rng, sizes, weights, dtype, n_directions=3):
    """Sorted slices of clouds with many equal points; with weights, two clouds in three have them."""
    offsets = np.cumsum([0, *sizes])
    values, levels = np.empty((n_directions, offsets[-1]), dtype), np.empty((n_directions, offsets[-1]))
    even = np.arange(len(sizes)) % 3 == 0 if weights else np.ones(len(sizes), bool)
    for i, n in enumerate(sizes):
        where = slice(offsets[i], offsets[i + 1])
        values[:, where] = np.sort(rng.normal(size=(n_directions, n)).round(1), axis=1)
        sums = np.cumsum(np.ones((n_directions, n)) if even[i] else weights(rng, (n_directions, n)), axis=1)
        levels[:, where] = sums / sums[:, -1:]
    return SortedSlices(values, levels if weights else levels[:1], offsets, even)


WEIGHTS = {
    "none": None,
    "any": lambda rng, shape: rng.random(shape) + 1e-3,
    "whole": lambda rng, shape: rng.integers(1, 4, shape),
    "from tiny to huge": lambda rng, shape: 10.0 ** rng.integers(-12, 0, shape),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("left", WEIGHTS)
@pytest.mark.parametrize("right", WEIGHTS)
def test_step_distances(rng, left, right, dtype):
    a = sorted_clouds(rng, (1, 2, 7, 7, 40, 40, 100), WEIGHTS[left], dtype)
    b = sorted_clouds(rng, (40, 7, 100, 1, 1, 13), WEIGHTS[right], dtype)
    pairs, weights = np.argwhere(np.ones((7, 6))), rng.random(3)
    for p in (1, 2):
        fast, slow = (module.step_distances(a, b, pairs, weights, p, np.ones(42)) for module in (cpu, reference))
        np.testing.assert_allclose(fast, slow, rtol=1e-12)


def test_first_flat(rng):
    means, spreads = rng.normal(size=(4, 5)), rng.uniform(1, 2, (4, 5))
    for module in (cpu, reference, portable):
        assert module.first_flat(means, spreads, 1e-9) == -1
    for where, value in (((3, 4), 0.0), ((2, 1), 1e-9), ((0, 3), -1.0)):
        spreads[where] = value
        expected = np.ravel_multi_index(where, spreads.shape)
        assert {module.first_flat(means, spreads, 1e-9) for module in (cpu, reference, portable)} == {expected}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_moments_and_shift_and_scale(rng, dtype):
    quantiles, weights = rng.normal(size=(3, 5, 41)).astype(dtype), rng.random(41) / 20
    fast, slow = (
        module.row_moments(quantiles, weights, np.empty((3, 5)), np.empty((3, 5))) for module in (cpu, reference)
    )
    np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=1e-14)
    fast, slow = (module.shift_and_scale(quantiles.copy(), *slow) for module in (cpu, reference))
    np.testing.assert_allclose(fast, slow, rtol=0, atol=8 * np.finfo(dtype).eps)


def run_this_file(before, chosen, **environment):
    """Run tests of this file once more, in a process of its own, after a line of Python."""
    options = ["-q", "-x", "-p", "no:cacheprovider", __file__, "-k", chosen]
    command = [sys.executable, "-c", f"{before}\nimport sys, pytest\nsys.exit(pytest.main({options!r}))"]
    result = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]


@pytest.mark.slow
def test_no_kernel_leaves_its_arrays(tmp_path):
    """The compiler checks no bounds unless asked: ask once, on the shapes of this file."""
    chosen = "strip_sums or back_project or linear_quantiles or shadow or step_distances or (quantiles and float64)"
    run_this_file("", chosen, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.slow
def test_kernels_that_are_not_compiled_agree_too():
    run_this_file("", "not slow", NUMBA_DISABLE_JIT="1")


@pytest.mark.slow
def test_registers_of_the_other_size(tmp_path):
    """Processors with and without AVX-512 sort alike."""
    other = "from nrcdt.kernels import vectors\nvectors.BYTES = 96 - vectors.BYTES"
    run_this_file(other, "step_quantiles or projected_quantiles or place", NUMBA_CACHE_DIR=str(tmp_path))


def test_more_points_than_buckets_have_numbers(rng):
    """The number of a bucket has 16 bits."""
    values, levels = rng.normal(size=(2, 100_001)), (np.arange(100_001) + 0.5) / 100_001
    found = cpu.step_quantiles(values, np.empty(0), levels, np.empty_like(values))
    np.testing.assert_array_equal(found, np.sort(values, axis=1))
