"""Measure sliced Wasserstein distances: ``python wasserstein.py [--out DIR] [--quick]``.

Time: a table of all pairs of two batches, against POT's function on its diagonal, and against NumPy on slices that
are projected and sorted beforehand. Everybody has the same clouds and directions, is warm, and takes turns with the
others on one thread; times are of the processor. Error: what sampled quantiles miss of the exact distance.
Writes wasserstein.json and the tables that the documentation includes; without POT, the table of errors alone.
"""

import importlib.metadata
import importlib.util
import statistics
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from machine import command_line, machine_facts, write
from nrcdt import sliced_wasserstein
from nrcdt.datasets import watermarks
from nrcdt.directions import low_discrepancy, sphere
from nrcdt.tables import markdown_table
from timing import Stopwatch

BAR = 5
N_ROUNDS = 7
# Name: dimension, directions, p, points on either side, whether they have weights, the ratio that is wanted, clouds.
TIMES = {
    "plane": (2, 50, 2, (500, 500), False, BAR, 400),
    "plane, p = 1": (2, 50, 1, (500, 500), False, BAR, 400),
    "space": (3, 50, 2, (500, 500), False, BAR, 400),
    "space, 64 directions": (3, 64, 2, (500, 500), False, BAR, 400),
    "plane, 500 and 400 points": (2, 50, 2, (500, 400), False, None, 100),
    "plane, weights": (2, 50, 2, (500, 500), True, None, 100),
}
POINTS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "heavy tails": lambda rng, shape: rng.standard_t(2.5, size=shape),
}
N_POINTS = (20, 100, 500)
N_QUANTILES = (64, 256, 1024)
N_TRIES = 50
ALL_QUANTILES = 65_536  # stand for all of them, where slices are densities


def without_opposites(n, d):
    """Directions none of which is the opposite of another: everybody has to compute all of them."""
    return sphere(2 * n, d)[:n] if d == 2 else low_discrepancy(n, d)


def batch(rng, n_clouds, n_points, d, weighted):
    clouds = rng.normal(size=(n_clouds, n_points, d)) + rng.normal(size=(n_clouds, 1, d))
    if not weighted:
        return list(clouds)
    weights = rng.random((n_clouds, n_points))
    return list(zip(clouds, weights / weights.sum(axis=1, keepdims=True), strict=True))


def by_pot(left, right, directions, p):
    """Distances of pairs, by POT, which projects and sorts both clouds of every pair."""
    from ot import sliced_wasserstein_distance

    projections, out = np.ascontiguousarray(directions.T), []
    for x, y in zip(left, right, strict=True):
        (x, a), (y, b) = (one if isinstance(one, tuple) else (one, None) for one in (x, y))
        out.append(sliced_wasserstein_distance(x, y, a, b, p=p, projections=projections))
    return np.array(out)


def sort_all(clouds, directions):
    return np.sort(np.stack([directions @ cloud.T for cloud in clouds]), axis=2)


def by_numpy(left, right, p):
    """Distances of pairs of sorted slices with as many points."""
    pairs = zip(left, right, strict=True)
    return np.array([np.sqrt(np.mean((a - b) ** 2)) if p == 2 else np.mean(np.abs(a - b)) for a, b in pairs])


def busy(call):
    with Stopwatch() as watch:
        call()
    return watch.busy


def measure_times(name, quick):
    """Seconds per pair of everybody, in the median of rounds in turn, after one that does not count."""
    d, n_directions, p, sizes, weighted, bar, n_clouds = TIMES[name]
    n_clouds = 6 if quick else n_clouds
    n_rounds = 2 if quick else N_ROUNDS
    rng = np.random.default_rng(0)
    left, right = (batch(rng, n_clouds, n, d, weighted) for n in sizes)
    directions = without_opposites(n_directions, d)
    plain = not weighted and sizes[0] == sizes[1]
    sorted_slices = [sort_all(clouds, directions) for clouds in (left, right)] if plain else None

    def ours():
        return sliced_wasserstein(left, right, "euclidean", directions=directions, p=p)

    calls = {"ours": (ours, n_clouds**2)}
    calls["pot"] = (lambda: by_pot(left, right, directions, p), n_clouds)
    if plain:
        calls["numpy"] = (lambda: by_numpy(*sorted_slices, p), n_clouds)
        calls["sorting"] = (lambda: [sort_all(clouds, directions) for clouds in (left, right)], n_clouds**2)
    for call, _ in calls.values():
        call()
    rounds = [{key: busy(call) / n for key, (call, n) in calls.items()} for _ in range(n_rounds)]
    found = {key: statistics.median(one[key] for one in rounds) for key in calls}
    found["numpy"] = found["numpy"] + found.pop("sorting") if plain else None
    difference = np.abs(np.diagonal(ours()) - by_pot(left, right, directions, p)).max()
    ratio = found["pot"] / found["ours"]
    found |= {"name": name, "bar": bar, "ratio": ratio, "difference": float(difference)}
    return found | {"n_clouds": n_clouds, "n_rounds": n_rounds}


def percent_off(sampled, exact):
    """Median and worst error of distances, in per cent; the worst is the largest, with its sign."""
    errors = 100 * (sampled / exact - 1)
    return {"median": float(np.median(errors)), "worst": float(errors[np.abs(errors).argmax()])}


def cloud_errors(kind, n_points, n_tries):
    """Errors between independent samples of the same distribution in the plane."""
    x, y = POINTS[kind](np.random.default_rng(n_points), (2, n_tries, n_points, 2))
    settings = {"space": "euclidean", "n_directions": 64, "paired": True}
    exact = sliced_wasserstein(x, y, **settings)
    errors = {m: percent_off(sliced_wasserstein(x, y, n_quantiles=m, **settings), exact) for m in N_QUANTILES}
    return {"measures": f"clouds, {kind}, {n_points} points", "errors": errors}


def image_errors(size, all_quantiles):
    """Errors between drawings, of which none is a copy of another."""
    drawings = watermarks(10, size=size)[0]
    i, j = np.triu_indices(len(drawings), 1)

    def distances(m):
        return sliced_wasserstein(drawings, n_directions=16, n_quantiles=m)[i, j]

    exact = distances(all_quantiles)
    errors = {m: percent_off(distances(m), exact) for m in N_QUANTILES}
    return {"measures": f"drawings, {size} x {size}", "errors": errors}


def error_table(errors):
    def cell(one):
        return f"{one['median']:+.2g} ({one['worst']:+.2g})"

    columns = list(errors[0]["errors"])
    rows = [[row["measures"], *(cell(row["errors"][m]) for m in columns)] for row in errors]
    return markdown_table(["measures", *(f"{m} quantiles" for m in columns)], rows, right=range(1, 9)) + "\n"


def micros(seconds):
    return "" if seconds is None else f"{float(f'{1e6 * seconds:.3g}'):g} µs"


def time_row(one):
    wanted, met = ("", "") if one["bar"] is None else (f"{one['bar']}x", "yes" if one["ratio"] >= one["bar"] else "no")
    sorted_ratio = "" if one["numpy"] is None else f"{one['numpy'] / one['ours']:.1f}x"
    clouds = f"{one['n_clouds']} x {one['n_clouds']}"
    cells = [one["name"], clouds, *(micros(one[key]) for key in ("ours", "pot")), f"{one['ratio']:.0f}x", wanted, met]
    return [*cells, micros(one["numpy"]), sorted_ratio]


def time_table(found):
    head = ["one pair", "of clouds", "ours", "POT", "ratio", "wanted", "met", "NumPy, sorted once", "ratio"]
    table = markdown_table(head, map(time_row, found["times"]), right=(1, 2, 3, 4, 5, 7, 8))
    largest = max(one["difference"] for one in found["times"])
    versions = found["machine"]["versions"]
    note = (
        f"We take all pairs, the others those of the diagonal, and the time is for one of them, in the median of "
        f"{found['times'][0]['n_rounds']} rounds. The distances differ from POT's by {largest:.1g} at most. "
        f"Measured on {found['machine']['cpu']}, with POT {versions['pot']}, NumPy {versions['numpy']}."
    )
    quick = "**A quick run: it shows that everything works, and is not for quoting.**\n\n" if found["quick"] else ""
    return f"{quick}{table}\n\n{note}\n"


def written(found):
    """The text that the documentation includes, by file name."""
    files = {"wasserstein_error.md": error_table(found["errors"])}
    return files | ({"wasserstein_table.md": time_table(found)} if found["times"] else {})


def main(out, quick):
    machine, times = machine_facts(), []
    if importlib.util.find_spec("ot"):
        machine["versions"]["pot"] = importlib.metadata.version("pot")
        for name in TIMES:
            times.append(measure_times(name, quick))
            print(times[-1], flush=True)
    else:
        print("skipped the times: POT is not installed; pip install 'nrcdt[bench]' brings the peers")
    errors = [cloud_errors(kind, n, 4 if quick else N_TRIES) for kind in POINTS for n in N_POINTS]
    errors += [image_errors(size, 4096 if quick else ALL_QUANTILES) for size in ((32,) if quick else (64, 256))]
    found = {"quick": quick, "machine": machine, "times": times, "errors": errors}
    write(out, {"wasserstein.json": found, **written(found)})


if __name__ == "__main__":
    arguments = command_line(__doc__, Path("nrcdt-wasserstein")).parse_args()
    with threadpool_limits(1):
        main(arguments.out, arguments.quick)
