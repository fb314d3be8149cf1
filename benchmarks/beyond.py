"""Compare features, frames and peers on every dataset at hand: ``python beyond.py [--out DIR] [--quick]``.

Writes beyond.json and beyond_table.md. Data that cannot be shipped is looked for in NRCDT_DATA. Peers (Zernike moments
by mahotas, SIFT with RANSAC by OpenCV) are left out where they are not installed.
"""

import argparse
import importlib.util
import json
import time
from functools import partial
from pathlib import Path

import numpy as np

from nrcdt import NRCDT, RCDT
from nrcdt.aggregate import AGGREGATIONS
from nrcdt.baselines import affine_moments
from problems import problems

N_DIRECTIONS, N_QUANTILES = 128, 128
COMBINATIONS = (["tv", "spectrum"], ["angular_quantiles", "spectrum"], ["mean_abs", "spectrum"], ["max", "spectrum"])
ZERNIKE_DEGREE = 12
SIFT_RATIO = 0.8
PEERS = {"Zernike moments": "mahotas", "SIFT and RANSAC": "cv2"}


def nrcdt_rows(kind, items, frame, aggregate, **settings):
    space = "image" if kind == "image" else "euclidean"
    model = NRCDT(
        space, frame=frame, aggregate=aggregate, n_directions=N_DIRECTIONS, n_quantiles=N_QUANTILES, **settings
    )
    return np.asarray(model.fit_transform(list(items)), dtype=np.float64)


def rcdt_rows(kind, items):
    space = "image" if kind == "image" else "euclidean"
    model = RCDT(space, n_directions=32, n_quantiles=64)
    return np.asarray(model.fit_transform(list(items)), dtype=np.float64)


def moment_rows(items):
    rows = affine_moments(list(items))
    return rows / rows.std(axis=0)


def zernike_rows(items):
    import mahotas

    rows = []
    for image in items:
        y, x = np.nonzero(image)
        weights = image[y, x]
        centre = (np.average(y, weights=weights), np.average(x, weights=weights))
        radius = np.hypot(y - centre[0], x - centre[1]).max() + 1
        rows.append(mahotas.features.zernike_moments(image, radius, degree=ZERNIKE_DEGREE, cm=centre))
    return np.array(rows)


def sift_similarities(gallery, queries):
    """Number of matches that one affine map explains, of shape (n_queries, n_gallery)."""
    import cv2

    sift, matcher = cv2.SIFT_create(), cv2.BFMatcher()
    found = [[sift.detectAndCompute(_picture(image), None) for image in images] for images in (gallery, queries)]
    return np.array([[_inliers(cv2, matcher, one, other) for other in found[0]] for one in found[1]])


def _picture(image):
    return np.uint8(np.round(255 * np.clip(image / image.max(), 0, 1)))


def _inliers(cv2, matcher, one, other):
    if one[1] is None or other[1] is None or min(len(one[0]), len(other[0])) < 3:
        return 0
    pairs = [pair for pair in matcher.knnMatch(one[1], other[1], k=2) if len(pair) == 2]
    good = [first for first, second in pairs if first.distance < SIFT_RATIO * second.distance]
    if len(good) < 3:
        return len(good)
    source = np.float32([one[0][match.queryIdx].pt for match in good])
    target = np.float32([other[0][match.trainIdx].pt for match in good])
    mask = cv2.estimateAffine2D(source, target, method=cv2.RANSAC, ransacReprojThreshold=4)[1]
    return 0 if mask is None else int(mask.sum())


def methods(kind):
    """Yield name and the function that turns items into rows."""
    if kind == "image":
        yield "Euclid, pixels", lambda items: np.stack([np.ravel(item) for item in items]).astype(np.float64)
        yield "affine moments, scaled", moment_rows
        if importlib.util.find_spec(PEERS["Zernike moments"]):
            yield "Zernike moments", zernike_rows
    yield "R-CDT", partial(rcdt_rows, kind)
    for frame in ("fixed", "whitened"):
        for aggregate in [*AGGREGATIONS, *COMBINATIONS]:
            if kind == "image" or "tv" not in aggregate:
                name = aggregate if isinstance(aggregate, str) else " + ".join(aggregate)
                yield f"{name}, {frame}", partial(nrcdt_rows, kind, frame=frame, aggregate=aggregate)
    for aggregate in ("max", ["tv", "spectrum"] if kind == "image" else "mean_abs"):
        name = aggregate if isinstance(aggregate, str) else " + ".join(aggregate)
        yield f"{name}, whitened, trim 0.1", partial(nrcdt_rows, kind, frame="whitened", aggregate=aggregate, trim=0.1)


def accuracy(problem, distances):
    """Mean over the episodes; distances have shape (n_queries, n_gallery)."""
    shares = []
    for gallery, queries in problem.episodes:
        found = gallery[distances[np.ix_(queries, gallery)].argmin(axis=1)]
        shares.append(np.mean(problem.gallery_labels[found] == problem.query_labels[queries]))
    return float(np.mean(shares))


def squared_distances(one, other):
    return (one**2).sum(axis=1)[:, np.newaxis] - 2 * one @ other.T + (other**2).sum(axis=1)


def measure(problem, name, rows_of):
    items = [*problem.gallery, *problem.queries]
    began = time.perf_counter()
    rows = rows_of(items)
    seconds = time.perf_counter() - began
    gallery, queries = rows[: len(problem.gallery)], rows[len(problem.gallery) :]
    share = accuracy(problem, squared_distances(queries, gallery))
    return record(problem, name, share, seconds / len(items), rows.shape[1])


def record(problem, name, share, seconds, n_features):
    entry = {"problem": problem.name, "method": name, "accuracy": round(share, 4), "n_features": n_features}
    return entry | {"milliseconds": round(1000 * seconds, 3)}


def measure_sift(problem):
    began = time.perf_counter()
    similarities = sift_similarities(problem.gallery, problem.queries)
    seconds = (time.perf_counter() - began) / (len(problem.gallery) + len(problem.queries))
    return record(problem, "SIFT and RANSAC", accuracy(problem, -similarities), seconds, None)


def table(results, about):
    """One line per method, one column per problem; the best of each column in bold."""
    names = list(about)
    rows = list(dict.fromkeys(result["method"] for result in results))
    cells = {(result["method"], result["problem"]): result for result in results}
    best = {name: max(result["accuracy"] for result in results if result["problem"] == name) for name in names}
    lines = ["| method | " + " | ".join(names) + " | ms per item |", "|---|" + "---:|" * (len(names) + 1)]
    for row in rows:
        found = [cells.get((row, name)) for name in names]
        texts = ["" if one is None else _number(one["accuracy"], best[one["problem"]]) for one in found]
        times = [one["milliseconds"] for one in found if one is not None]
        lines.append(f"| {row} | " + " | ".join(texts) + f" | {np.median(times):.1f} |")
    notes = [f"- **{name}**: {what}." for name, what in about.items()]
    return "\n".join([*lines, "", *notes]) + "\n"


def _number(value, best):
    return f"**{value:.3f}**" if value >= best - 5e-4 else f"{value:.3f}"


def main(out, quick):
    results, about = [], {}
    for problem in problems(quick):
        about[problem.name] = problem.what
        for name, rows_of in methods(problem.kind):
            results.append(measure(problem, name, rows_of))
        if problem.kind == "image" and importlib.util.find_spec(PEERS["SIFT and RANSAC"]):
            results.append(measure_sift(problem))
        best = max((one for one in results if one["problem"] == problem.name), key=lambda one: one["accuracy"])
        print(f"{problem.name}: best {best['method']} {best['accuracy']:.3f}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "beyond.json").write_text(json.dumps({"results": results, "problems": about}, indent=1) + "\n")
    (out / "beyond_table.md").write_text(table(results, about))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("nrcdt-beyond"))
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    main(arguments.out, arguments.quick)
