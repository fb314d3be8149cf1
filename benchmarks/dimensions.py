"""How far features of clouds move under affine maps, by dimension: ``python dimensions.py [--out DIR] [--quick]``.

The statements about groups hold for all directions; with finitely many the features of a moved cloud differ, and in
space more than in the plane. The movement is told in class distances: the median distance between features of
different shapes.
"""

from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist, pdist

from machine import command_line, machine_facts, write
from nrcdt import NRCDT
from nrcdt.measures import Cloud
from nrcdt.random_maps import affine, moved_cloud
from nrcdt.tables import markdown_table

DIMENSIONS = (2, 3, 5, 8)
SETTINGS = {
    "defaults: max, fixed, 256 directions": {},
    "max, fixed, 4096 directions": {"n_directions": 4096},
    "max, whitened, 256 directions": {"frame": "whitened"},
    "mean_abs, whitened, 256 directions": {"frame": "whitened", "aggregate": "mean_abs"},
}


def shapes(n_shapes, n_points, dimension, rng):
    """Clouds whose coordinates are heavy-tailed to various degrees, then mixed."""
    powers = rng.uniform(0.3, 2, size=(n_shapes, 1, dimension))
    clouds = rng.exponential(size=(n_shapes, n_points, dimension)) ** powers
    return list(clouds @ rng.normal(size=(n_shapes, dimension, dimension)))


def movement(dimension, settings, quick):
    """Return how far features move, in class distances, and the share that stays nearest to its own shape."""
    rng = np.random.default_rng(0)
    n_shapes, n_copies = (4, 2) if quick else (40, 10)
    originals = shapes(n_shapes, 500, dimension, rng)
    labels = np.repeat(np.arange(n_shapes), n_copies)
    moved = [moved_cloud(affine, Cloud(originals[label], None), rng).points for label in labels]
    model = NRCDT("euclidean", n_quantiles=64, **settings).fit(originals)
    rows, copies = model.transform(originals), model.transform(moved)
    steps = np.linalg.norm(copies - rows[labels], axis=1) / np.median(pdist(rows))
    return float(np.median(steps)), float(np.mean(cdist(copies, rows).argmin(axis=1) == labels))


def measured(quick):
    """Every setting in every dimension."""
    results = []
    for name, settings in SETTINGS.items():
        for dimension in DIMENSIONS:
            step, accuracy = movement(dimension, settings, quick)
            results.append({"features": name, "dimension": dimension, "movement": step, "accuracy": accuracy})
            print(f"{name}, d = {dimension}: {step:.3f} of a class distance, {accuracy:.3f} recognised", flush=True)
    return {"results": results, "machine": machine_facts()}


def written(found):
    """The table that the documentation includes, by file name."""
    rows = []
    for name in SETTINGS:
        own = [one for one in found["results"] if one["features"] == name]
        rows.append([name, *(f"{one['movement']:.2f} ({one['accuracy']:.2f})" for one in own)])
    header = ["features of clouds", *(f"d = {dimension}" for dimension in DIMENSIONS)]
    return {"dimensions_table.md": markdown_table(header, rows, right=range(1, len(header))) + "\n"}


def main(out, quick):
    found = measured(quick)
    write(out, {"dimensions.json": found, **written(found)})


if __name__ == "__main__":
    arguments = command_line(__doc__, Path("nrcdt-dimensions")).parse_args()
    main(arguments.out, arguments.quick)
