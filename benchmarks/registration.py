"""Measure registration: ``python registration.py [--out DIR] [--quick]``.

Pairs of synthetic watermarks, 256 x 256, all 16 motifs under random affine maps, every second one mirrored; some with
foreign ink, some with gaps. Overlap is the intersection over union of ink widened by 2 pixels, with the copy as it was
before ink was added or taken away. Where NRCDT_DATA has them: furniture in space, and handwriting with one sample per
class. Times are per pair on one thread, features included. Writes registration.json and registration_table.md.
"""

import argparse
import json
import os
import time
from itertools import chain
from pathlib import Path

for limit in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(limit, "1")

import numpy as np  # noqa: E402
from scipy.spatial.distance import cdist  # noqa: E402

from nrcdt import nrcdt  # noqa: E402
from nrcdt.datasets import data_folder, load_furniture, random_affine, random_affine_3d, sticks, warp, watermarks  # noqa: E402
from nrcdt.datasets.registry import locate  # noqa: E402
from nrcdt.distances import aligned  # noqa: E402
from nrcdt.frames import whitening  # noqa: E402
from nrcdt.measures import Cloud  # noqa: E402
from nrcdt.registration import overlap, register  # noqa: E402
from nrcdt.registration.solid import solid_candidates  # noqa: E402

FAILED = 0.7
CLEARLY = 0.02  # copies come back with residuals of 1e-5 and less
HANDWRITING = Path("omniglot") / "omniglot_small.npz"
HOLES, FOREIGN = 4, 0.05


def moved(image, rng, mirrored):
    """An image under a random affine map that keeps its ink on the canvas."""
    for _ in range(1000):
        matrix, shift = random_affine(rng, reflect=False)
        copy = warp(image, matrix @ np.diag([-1.0, 1.0]) if mirrored else matrix, shift)
        if not copy[[0, -1]].any() and not copy[:, [0, -1]].any():
            return copy
    raise ValueError("image must have room to move; got none in 1000 maps. Choose a smaller one.")


def with_foreign_ink(image, rng):
    """Add strokes until they are a twentieth of the ink."""
    n_sticks = 1
    while (added := sticks(image[np.newaxis], n_sticks, 12, random_state=rng)[0]).sum() < (1 + FOREIGN) * image.sum():
        n_sticks += 1
    return added


def with_gaps(image, rng):
    """Punch round holes into the strokes."""
    out = image.copy()
    y, x = np.indices(image.shape)
    ink = np.argwhere(image > 0.5)
    for row, column in ink[rng.integers(len(ink), size=HOLES)]:
        out[np.hypot(y - row, x - column) < rng.uniform(3, 6)] = 0
    return out


def pairs(n, change=None, other=False):
    drawings = watermarks(16)[0]
    for i in range(n):
        rng = np.random.default_rng(i)
        template = drawings[i % 16]
        drawing = drawings[(i + 1 + i // 16 % 15) % 16] if other else template
        copy = moved(drawing, rng, mirrored=i // 16 % 2 == 1)
        yield template, copy if change is None else change(copy, rng), copy


def measure(name, found, bars, refine=False):
    """Register all pairs; return what came out, with the bars it is held against."""
    overlaps, seconds, busy = [], [], []
    for template, seen, copy in found:
        began, worked = time.perf_counter(), time.thread_time()
        matrix = register(template, seen, refine=refine).matrix
        seconds.append(time.perf_counter() - began)
        busy.append(time.thread_time() - worked)
        overlaps.append(overlap(template, copy, matrix))
    overlaps = np.array(overlaps)
    return {
        "case": name,
        "pairs": len(overlaps),
        "mean": round(float(overlaps.mean()), 4),
        "5 %": round(float(np.quantile(overlaps, 0.05)), 4),
        "failures": int((overlaps < FAILED).sum()),
        "ms, median": round(1000 * float(np.median(seconds)), 2),
        "ms, best": round(1000 * float(np.min(seconds)), 2),
        "ms of the processor, median": round(1000 * float(np.median(busy)), 2),
        "wanted": bars,
    }


def plane(quick):
    n = 32 if quick else 600
    register(*next(pairs(1))[:2], refine=True)  # compiled kernels are loaded
    yield measure("affine copies", pairs(n), "mean 0.97, 5 % 0.95, no failure, 3 ms")
    yield measure("affine copies, refined", pairs(n), "", refine=True)
    yield measure("other motifs", pairs(n, other=True), "mean at most 0.35")
    for name, change in (("5 % foreign ink", with_foreign_ink), ("four gaps", with_gaps)):
        yield measure(name, pairs(n, change), "")
        yield measure(f"{name}, refined", pairs(n, change), "mean 0.95, 20 ms", refine=True)


def solid(quick):
    """Copies of furniture, points in another order: how many maps come back within a degree and a per cent."""
    right, lopsided, seconds = [], [], []
    register(*np.random.default_rng(0).normal(size=(2, 50, 3)), "euclidean")  # the grid of rotations is made
    for i, cloud in enumerate(load_furniture().samples[:: 8 if quick else 1]):
        rng = np.random.default_rng(i)
        matrix, shift = random_affine_3d(rng)
        matrix = matrix @ np.diag([-1.0, 1.0, 1.0]) if i % 2 else matrix
        copy = rng.permutation(cloud @ matrix.T + shift)
        began = time.perf_counter()
        found = register(cloud, copy, "euclidean").matrix
        seconds.append(time.perf_counter() - began)
        right.append(close(found[:, :3], matrix))
        lopsided.append(second_best(cloud) > CLEARLY)
    for name, chosen in (("all furniture", np.full(len(right), True)), ("asymmetric furniture", np.array(lopsided))):
        yield {
            "case": name,
            "pairs": int(chosen.sum()),
            "within 1 degree and 1 %": int(np.array(right)[chosen].sum()),
            "ms, median": round(1000 * float(np.median(seconds)), 2),
            "ms, best": round(1000 * float(np.min(seconds)), 2),
            "wanted": "all" if "asymmetric" in name else "",
        }


def second_best(cloud):
    """Residual of the best map of a cloud to itself that turns, in the whitened frame, by more than 20 degrees."""
    itself = Cloud(cloud, None)
    matrix = whitening(itself).matrix
    found = solid_candidates(itself, itself, 64, 64, None, True, 8)
    turns = matrix @ found.matrices[:, :, :3] @ np.linalg.inv(matrix)
    return found.residuals[np.trace(turns, axis1=1, axis2=2) < 1 + 2 * np.cos(np.radians(20))].min(initial=np.inf)


def handwriting(quick):
    """Twenty random characters of one drawer, recognised by those of another; mean over the draws."""
    with np.load(data_folder() / HANDWRITING) as arrays:
        pixels, labels, drawers = (arrays[name] for name in ("images", "labels", "drawer"))
    images = np.unpackbits(pixels, axis=1)[:, :11025].reshape(-1, 105, 105).astype(np.float64)
    rng = np.random.default_rng(0)
    scores = {
        "full invariance": [],
        "no mirror": [],
        "within 45 degrees": [],
        "within 45 degrees, no mirror": [],
        "max": [],
    }
    for _ in range(5 if quick else 100):
        chosen = rng.choice(np.unique(labels), 20, replace=False)
        known, asked = (
            np.stack([images[(labels == label) & (drawers == drawer)][0] for label in chosen])
            for drawer in rng.choice(np.unique(drawers), 2, replace=False)
        )
        tables = [
            aligned(asked, known, max_rotation=bound, reflection=mirror)
            for bound in (None, 45)
            for mirror in (True, False)
        ]
        tables.append(cdist(nrcdt(asked), nrcdt(known)))
        for score, table in zip(scores.values(), tables, strict=True):
            score.append(np.mean(table.argmin(axis=1) == np.arange(20)))
    for name, score in scores.items():
        yield {
            "case": f"one-shot handwriting, {name}",
            "pairs": 400 * len(score),
            "accuracy": round(float(np.mean(score)), 3),
        }


def close(found, true):
    left, stretches, right = np.linalg.svd(found @ np.linalg.inv(true))
    cosine = np.clip((np.trace(left @ right) - 1) / 2, -1, 1)
    return bool(np.degrees(np.arccos(cosine)) < 1 and np.abs(stretches - 1).max() < 0.01)


def table(results):
    columns = list(dict.fromkeys(key for result in results for key in result))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(result.get(key, "")) for key in columns) + " |" for result in results]
    return "\n".join(lines) + "\n"


def main(out, quick):
    results = []
    parts = [plane(quick)]
    if locate("furniture"):
        parts.append(solid(quick))
    if data_folder() and (data_folder() / HANDWRITING).is_file():
        parts.append(handwriting(quick))
    for result in chain.from_iterable(parts):
        results.append(result)
        print(result, flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "registration.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "registration_table.md").write_text(table(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("nrcdt-beyond"))
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    main(arguments.out, arguments.quick)
