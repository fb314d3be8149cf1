"""The measured cases: each times this library against a peer on the same input and returns one dict.

    name, what        the case, and one sentence about it
    ours, theirs      medians in seconds (or another `unit`); None where there is no peer
    ratio, bar, met   theirs / ours, the ratio that is wanted, whether it is reached; None where nothing is wanted
    extra             everything else worth knowing: minima, repeats, errors

``python cases.py NAME [--quick]`` prints the dict of one case as JSON. `run.py` starts it so, in a fresh process whose
environment allows one thread.
"""

import json
import statistics
import sys
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nrcdt
from inputs import clusters, ink_share, line_drawings, normal, outliers, random_ink, torus
from nrcdt.aggregate import aggregate, find_aggregations
from nrcdt.directions import circle, fibonacci
from nrcdt.levels import reference_levels
from nrcdt.measures import Points
from nrcdt.normalize import normalize
from nrcdt.slices import Projection, StripDensity
from nrcdt.spaces.image import strip_count
from per_ray import per_ray
from timing import interleave

SIZE = 256
N_DIRECTIONS = 256
N_RADII = 850
N_QUANTILES = 256
CLOUD_SIZE = 5000


def median_ratio(ours, theirs):
    return statistics.median(theirs) / statistics.median(ours)


def record(name, what, ours, theirs=None, bar=None, **extra):
    """Put the dict of a timed case together from lists of seconds."""
    ratio = median_ratio(ours, theirs) if theirs else None
    extra |= {"repeats": len(ours), "ours_min": min(ours)}
    if theirs:
        extra |= {"theirs_min": min(theirs), "ratio_of_minima": min(theirs) / min(ours)}
    return {
        "name": name,
        "what": what,
        "unit": "s",
        "ours": statistics.median(ours),
        "theirs": statistics.median(theirs) if theirs else None,
        "ratio": ratio,
        "bar": bar,
        "met": None if bar is None else ratio >= bar,
        "extra": extra,
    }


def record_number(name, what, number, unit, bar=None, **extra):
    """Put the dict of a case together whose result is not a time; its bar is an upper one."""
    met = None if bar is None else number < bar
    empty = {"theirs": None, "ratio": None}
    return {"name": name, "what": what, "unit": unit, "ours": number, **empty, "bar": bar, "met": met, "extra": extra}


def per_ray_features(images, directions, levels):
    """The features through the per-ray transform; everything after the slices is the library's own."""
    weights = np.full(len(directions), 1 / len(directions))
    masses = [per_ray(image, directions, N_RADII) for image in images]
    quantiles = StripDensity(masses).quantiles(levels)
    quantiles = normalize(quantiles, "standardize", levels.weights, weights)
    return aggregate(quantiles, find_aggregations("max"), weights, directions)[0]


def drawings(quick):
    images = line_drawings(2 if quick else 8, SIZE)
    n = len(images)
    directions, levels = circle(N_DIRECTIONS), reference_levels(N_QUANTILES)
    transform = nrcdt.NRCDT(n_radii=N_RADII, n_quantiles=N_QUANTILES).fit(images)
    in_turn = cycle(images)
    calls = [partial(transform.transform, images), lambda: per_ray_features([next(in_turn)], directions, levels)]
    ours_times, their_times = interleave(calls, quick)
    image = images[0]
    half = directions[: N_DIRECTIONS // 2]
    radon = [partial(nrcdt.radon, image, half, n_radii=N_RADII), partial(per_ray, image, directions, N_RADII)]
    ours = transform.transform(images)
    return record(
        "drawings, per ray",
        "Features of one 256 x 256 line drawing (256 directions, 850 strips, 256 quantiles, float64) against the "
        "per-ray algorithm of the original implementation, written anew and compiled, with the same steps after it.",
        [t / n for t in ours_times],
        their_times,
        1000,
        n_images=n,
        ink_share=ink_share(images),
        radon_ratio=median_ratio(*interleave(radon, quick)),
        feature_difference=float(np.abs(ours - per_ray_features(images, directions, levels)).max()),
    )


def half_circle(n):
    """Angles over half the circle, and directions that agree with ASTRA's axes: y up, where ours runs down."""
    angles = np.pi * np.arange(n) / n
    return angles, np.stack([np.cos(angles), -np.sin(angles)], axis=1)


def mass_error(sinogram, image):
    mass = image.sum(dtype=np.float64)
    return float(np.abs(sinogram.sum(axis=1, dtype=np.float64) - mass).max() / mass)


def astra_strips(image, angles):
    """Return (run, read): ASTRA's projector on the CPU with everything set up, and its strip masses."""
    import astra

    width = SIZE * np.sqrt(2) / N_RADII
    detector = astra.create_proj_geom("parallel", width, N_RADII, angles)
    volume = astra.create_vol_geom(SIZE, SIZE)
    projections = astra.data2d.create("-sino", detector, 0)
    settings = astra.astra_dict("FP") | {
        "ProjectorId": astra.create_projector("strip", detector, volume),
        "VolumeDataId": astra.data2d.create("-vol", volume, image.astype(np.float32)),
        "ProjectionDataId": projections,
    }
    algorithm = astra.algorithm.create(settings)
    return lambda: astra.algorithm.run(algorithm), lambda: astra.data2d.get(projections) * width


def dense_astra(dtype, quick):
    image = random_ink(SIZE * SIZE, SIZE).astype(dtype)
    angles, directions = half_circle(N_DIRECTIONS)
    ours = partial(nrcdt.radon, image, directions, n_radii=N_RADII)
    theirs, read = astra_strips(image, angles)
    ours_times, their_times = interleave([ours, theirs], quick)
    strips, their_strips = ours(), read()
    return record(
        f"dense, ASTRA, {dtype}",
        f"Radon transform of a dense 256 x 256 image ({dtype} for us, float32 for ASTRA, which knows no other), 256 "
        "angles over half the circle, 850 strips, against ASTRA's CPU strip projector, set up outside the timing.",
        ours_times,
        their_times,
        4,
        full_circle_ratio=2 * median_ratio(ours_times, their_times),
        relative_difference=float(np.abs(strips - their_strips).max() / strips.max()),
        our_mass_error=mass_error(strips, image),
        their_mass_error=mass_error(their_strips, image),
    )


def dense_skimage(dtype, quick):
    from skimage.transform import radon

    image = random_ink(SIZE * SIZE, SIZE).astype(dtype)
    angles, directions = half_circle(N_DIRECTIONS)
    ours = partial(nrcdt.radon, image, directions, n_radii=N_RADII)
    theirs = partial(radon, image, np.degrees(angles), circle=False)
    ours_times, their_times = interleave([ours, theirs], quick)
    their_strips = theirs().T
    return record(
        f"dense, skimage, {dtype}",
        f"The same image, in {dtype}, against scikit-image's radon, which interpolates rotated images; its output has "
        f"{their_strips.shape[1]} radii where ours has 850.",
        ours_times,
        their_times,
        4,
        full_circle_ratio=2 * median_ratio(ours_times, their_times),
        their_n_radii=their_strips.shape[1],
        our_mass_error=mass_error(ours(), image),
        their_mass_error=mass_error(their_strips, image),
    )


def sorted_quantiles(points, directions, ranks):
    return np.sort(directions @ points.T, axis=1)[:, ranks]


def sorted_in_place(points, directions, ranks):
    """Return a function that does the same in memory of its own, which a call finds as the last one left it."""
    values = np.empty((len(directions), len(points)), points.dtype)
    out = np.empty((len(directions), len(ranks)), points.dtype)

    def call():
        np.matmul(directions, points.T, out=values)
        values.sort(axis=1)
        return np.take(values, ranks, axis=1, out=out, mode="clip")

    return call


def cloud_and_directions(draw_points, dtype):
    points = draw_points(np.random.default_rng(0), CLOUD_SIZE)
    return points.astype(dtype), fibonacci(N_DIRECTIONS).astype(dtype)


def cloud(draw_points, bar, dtype, quick):
    (points, directions), levels = cloud_and_directions(draw_points, dtype), reference_levels(1000)
    shape = draw_points.__name__
    ranks = np.minimum((levels.values * len(points) * (1 + 1e-12)).astype(int), len(points) - 1)
    ours = partial(Projection(Points(points, None, (0, len(points))), directions[np.newaxis]).quantiles, levels)
    theirs = partial(sorted_quantiles, points, directions, ranks)
    in_place = sorted_in_place(points, directions, ranks)
    ours_times, their_times, in_place_times = interleave([ours, theirs, in_place], quick)
    return record(
        f"{shape} cloud, {dtype}",
        f"1000 quantiles of 5000 points in R^3 ({shape}, {dtype}) in 256 directions against a matrix product, np.sort "
        "and picking the same order statistics; in place: into arrays that are used again.",
        ours_times,
        their_times,
        bar,
        in_place_ratio=median_ratio(ours_times, in_place_times),
        difference=float(np.abs(ours() - theirs()).max()),
        in_place_difference=float(np.abs(ours() - in_place()).max()),
    )


def weighted_quantiles(points, weights, directions, levels):
    values = directions @ points.T
    order = np.argsort(values, axis=1)
    cumulative = np.cumsum(weights[order], axis=1)
    bounds = levels * weights.sum()
    return np.array(
        [v[o[np.searchsorted(c, bounds, side="right")]] for v, o, c in zip(values, order, cumulative, strict=True)]
    )


def weighted_cloud(dtype, quick):
    (points, directions), levels = cloud_and_directions(normal, dtype), reference_levels(1000)
    weights = np.random.default_rng(1).random(len(points))
    weights /= weights.sum()
    ours = partial(Projection(Points(points, weights, (0, len(points))), directions[np.newaxis]).quantiles, levels)
    theirs = partial(weighted_quantiles, points, weights, directions, levels.values)
    ours_times, their_times = interleave([ours, theirs], quick)
    return record(
        f"weighted cloud, {dtype}",
        f"The normal cloud with random weights ({dtype}) against np.argsort, np.cumsum and np.searchsorted.",
        ours_times,
        their_times,
        difference=float(np.abs(ours() - theirs()).max()),
    )


def two_threads(space, n, bar, quick):
    if space == "image":
        batch, settings = np.tile(line_drawings(8, SIZE), (n // 8, 1, 1)), {"n_radii": N_RADII}
        name, what = f"two threads, {n} drawings", f"Features of {n} line drawings (8 different ones)"
    else:
        batch, settings = np.random.default_rng(0).normal(size=(n, CLOUD_SIZE, 3)), {"n_quantiles": 1000}
        name, what = f"two threads, {n} clouds", f"Features of {n} clouds of 5000 points in R^3 (1000 quantiles)"
    calls = [partial(nrcdt.NRCDT(space, n_jobs=k, **settings).fit(batch).transform, batch) for k in (2, 1)]
    what += " on two threads (ours) against one (theirs)."
    return record(name, what, *interleave(calls, quick), bar, n_samples=n)


def plain_loop(quick):
    """Two threads on work that shares nothing and keeps a core busy: cores that are halves of one gain little."""
    from concurrent.futures import ThreadPoolExecutor

    from numba import njit

    @njit(nogil=True)
    def work(numbers, n):
        for _ in range(n):
            for i in range(numbers.shape[0]):
                numbers[i] = 0.999 * numbers[i] + 0.001

    pair, n = np.ones((2, 4000)), 50_000

    def both():
        list(pool.map(work, pair, (n, n)))

    with ThreadPoolExecutor(2) as pool:
        times = interleave([both, lambda: [work(numbers, n) for numbers in pair]], quick)
    what = (
        "For comparison: two multiply-and-add loops over 4000 numbers each, which share nothing and stay in the cache, "
        "on two threads (ours) against one (theirs)."
    )
    return record("two threads, plain loop", what, *times)


def median_time(call, quick):
    return statistics.median(interleave([call], quick)[0])


def straight_line(sizes, times):
    """Fit a fixed time and a time for each; return both, and by how much of a time the line misses it at most."""
    sizes, times = np.array(sizes), np.array(times)
    each, fixed = np.polyfit(sizes, times, 1, w=1 / times)
    return float(fixed), float(each), float(np.abs((fixed + each * sizes) / times - 1).max())


def scaling(sizes, call_for, quick, name, what, **extra):
    times = [median_time(call_for(size), quick) for size in sizes]
    fixed, each, miss = straight_line(sizes, times)
    extra |= {"sizes": sizes, "seconds": times, "fixed_milliseconds": 1e3 * fixed, "microseconds_each": 1e6 * each}
    what = f"{what}, and by how much a straight line misses it at most: a fixed time, and one for each."
    return record_number(name, what, 100 * miss, "% off", **extra)


def scaling_ink(quick):
    shares = (0.01, 0.1, 0.3, 1.0) if quick else (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
    transform = nrcdt.NRCDT(n_radii=N_RADII).fit(random_ink(100, SIZE)[np.newaxis])

    def call_for(n_inked):
        return partial(transform.transform, random_ink(n_inked, SIZE)[np.newaxis])

    what = "Time for the features of a 256 x 256 image against its inked pixels"
    sizes = [round(share * SIZE * SIZE) for share in shares]
    return scaling(sizes, call_for, quick, "scaling, ink", what, axis="inked pixels")


def scaling_directions(quick):
    images = line_drawings(1, SIZE)
    sizes = [32, 128, 512, 1024] if quick else [32, 64, 128, 256, 512, 1024]

    def call_for(n):
        return partial(nrcdt.NRCDT(n_directions=n, n_radii=N_RADII).fit(images).transform, images)

    what = "Time for the features of a line drawing against the number of directions"
    return scaling(sizes, call_for, quick, "scaling, directions", what, axis="directions")


def resident_megabytes():
    """Return memory resident now, and the largest so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    status = Path("/proc/self/status")
    if not status.exists():
        return peak, peak
    sizes = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return tuple(int(sizes[key].split()[0]) / 2**10 for key in ("VmRSS", "VmHWM"))


def memory(n, quick):
    """Peak while transforming, less what was resident before; an older peak can only make the number larger."""
    different = np.rint(255 * line_drawings(8, SIZE)).astype(np.uint8)
    images = np.empty((n, SIZE, SIZE), np.uint8)
    for i in range(n):
        images[i] = different[i % len(different)]
    transform = nrcdt.NRCDT(n_radii=N_RADII).fit(images[:1])
    transform.transform(images[:1])
    before, _ = resident_megabytes()
    features = transform.transform(images)
    _, peak = resident_megabytes()
    output = features.nbytes / 2**20
    return record_number(
        f"memory, {n} drawings",
        f"Transforming {n} drawings of 256 x 256, one byte per pixel: largest resident memory, beyond what was "
        "resident before (program, kernels and input) and beyond the output.",
        peak - before - output,
        "MB",
        300,
        input_megabytes=images.nbytes / 2**20,
        output_megabytes=output,
        peak_megabytes=peak,
    )


def one_drawing(size, quick):
    images = line_drawings(8, size)
    transform = nrcdt.NRCDT().fit(images)
    (times,) = interleave([partial(transform.transform, images)], quick)
    n_strips = strip_count((size, size), "auto")
    return record(
        f"drawing, {size} x {size}",
        f"Features of one {size} x {size} line drawing with the default settings ({n_strips} strips), in batches of 8.",
        [t / len(images) for t in times],
        ink_share=ink_share(images),
        n_images=len(images),
    )


class Case(NamedTuple):
    """A function of `quick`, the module that it needs beside ours, and the cores that it needs."""

    run: Callable
    needs: str | None = None
    cores: int = 1


CASES = {
    "drawings": Case(drawings),
    "dense_astra_float64": Case(partial(dense_astra, "float64"), "astra"),
    "dense_astra_float32": Case(partial(dense_astra, "float32"), "astra"),
    "dense_skimage_float64": Case(partial(dense_skimage, "float64"), "skimage"),
    "dense_skimage_float32": Case(partial(dense_skimage, "float32"), "skimage"),
    "cloud_normal_float64": Case(partial(cloud, normal, 3, "float64")),
    "cloud_normal_float32": Case(partial(cloud, normal, 3, "float32")),
    "cloud_torus_float64": Case(partial(cloud, torus, 3, "float64")),
    "cloud_torus_float32": Case(partial(cloud, torus, 3, "float32")),
    "cloud_outliers_float64": Case(partial(cloud, outliers, None, "float64")),
    "cloud_outliers_float32": Case(partial(cloud, outliers, None, "float32")),
    "cloud_clusters_float64": Case(partial(cloud, clusters, None, "float64")),
    "cloud_clusters_float32": Case(partial(cloud, clusters, None, "float32")),
    "cloud_weighted_float64": Case(partial(weighted_cloud, "float64")),
    "cloud_weighted_float32": Case(partial(weighted_cloud, "float32")),
    "threads_drawings": Case(partial(two_threads, "image", 256, 1.7), cores=2),
    "threads_64_drawings": Case(partial(two_threads, "image", 64, None), cores=2),
    "threads_16_drawings": Case(partial(two_threads, "image", 16, None), cores=2),
    "threads_clouds": Case(partial(two_threads, "euclidean", 64, 1.7), cores=2),
    "threads_plain": Case(plain_loop, cores=2),
    "scaling_ink": Case(scaling_ink),
    "scaling_directions": Case(scaling_directions),
    "memory_20": Case(partial(memory, 20), "resource"),
    "memory_2000": Case(partial(memory, 2000), "resource"),
    "size_64": Case(partial(one_drawing, 64)),
    "size_128": Case(partial(one_drawing, 128)),
    "size_256": Case(partial(one_drawing, 256)),
    "size_512": Case(partial(one_drawing, 512)),
}


def main():
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        result = CASES[sys.argv[1]].run("--quick" in sys.argv[2:])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
