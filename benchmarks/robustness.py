"""Accuracy against the strength of disturbances: ``python robustness.py [--out DIR] [--quick]``.

Nearest template, one clean template per class. In the plane: 16 synthetic watermarks under random affine maps. In
space: furniture under random affine maps, where NRCDT_DATA has it. Writes robustness.json and a picture for each.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from machine import command_line, write
from methods import PAPER, title
from nrcdt import AGGREGATIONS, NRCDT
from nrcdt.datasets import bars, distorted, distorted_clouds, elastic, load_furniture, salt, watermarks
from nrcdt.datasets.registry import locate
from nrcdt.plot import COLOURS, STYLES

NEW = {"image": (["tv", "spectrum"], ["tv", "bispectrum"]), "euclidean": ()}
BEST = {"image": ["tv", "bispectrum"], "euclidean": "mean_abs"}
SETTINGS = {"frame": "whitened", "n_directions": 128, "n_quantiles": 128, "n_jobs": -1}


def planar(quick):
    """Yield name, unit, and pairs of strength and disturbed images."""
    templates = watermarks(4 if quick else 16, size=128)[0]
    copies, labels = distorted(templates, 1 if quick else 5, random_state=0, shift=(-8, 8))
    changes = {
        ("specks", "number of specks"): ((0, 1, 2, 4, 8), lambda n: salt(copies, n, 1.0, random_state=0)),
        ("veil", "grey level of the ground"): ((0, 0.0005, 0.001, 0.002, 0.005), lambda v: (1 - v) * copies + v),
        ("strokes missing", "gaps of 4 pixels"): ((0, 1, 2, 4, 8), lambda n: bars(copies, n, 4, random_state=0)),
        ("waves", "amplitude, 1 is the paper's"): ((0, 1, 2, 4, 8), lambda a: elastic(copies, a, random_state=0)),
    }
    for (name, unit), (strengths, change) in changes.items():
        yield name, unit, templates, labels, [(strength, change(strength)) for strength in strengths]


def spatial(quick):
    """Yield the same for clouds; every disturbance acts on the affine copy."""
    templates = load_furniture().samples[:: 16 if quick else 2]
    copies, labels = distorted_clouds(templates, 1 if quick else 3, random_state=0)
    changes = {
        ("jitter", "noise, in spreads of the shape"): ((0, 0.01, 0.02, 0.05, 0.1), jitter),
        ("outliers", "share of points anywhere"): ((0, 0.005, 0.01, 0.02, 0.05), outliers),
        ("uneven density", "strength of the preference for one side"): ((0, 0.25, 0.5, 1, 2), uneven),
        ("few points", "points left of 2048"): ((2048, 1024, 512, 256, 128), few),
    }
    for (name, unit), (strengths, change) in changes.items():
        disturbed = [
            (strength, [change(cloud, strength, np.random.default_rng(i)) for i, cloud in enumerate(copies)])
            for strength in strengths
        ]
        yield name, unit, templates, labels, disturbed


def jitter(cloud, strength, rng):
    return cloud + strength * cloud.std(axis=0).mean() * rng.normal(size=cloud.shape)


def outliers(cloud, share, rng):
    moved = cloud.copy()
    chosen = rng.permutation(len(cloud))[: round(share * len(cloud))]
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    moved[chosen] = rng.uniform(2 * low - high, 2 * high - low, size=(len(chosen), 3))
    return moved


def uneven(cloud, strength, rng):
    axis = rng.normal(size=3)
    heights = (cloud - cloud.mean(axis=0)) @ axis
    weights = np.exp(strength * heights / heights.std())
    return cloud[rng.choice(len(cloud), len(cloud) // 2, replace=False, p=weights / weights.sum())]


def few(cloud, n_points, rng):
    return cloud[rng.permutation(len(cloud))[:n_points]]


def methods(space):
    """Yield name, family, aggregation and settings; families are drawn in a style each."""
    for name, aggregation in AGGREGATIONS.items():
        if space == "image" or "circle" not in aggregation.needs:
            yield name, "paper" if name in PAPER else "new", name, {}
    for aggregate in NEW[space]:
        yield title(aggregate), "new", aggregate, {}
    for aggregate in ("max", BEST[space]):
        yield f"{title(aggregate)}, trim 0.1", "tolerant", aggregate, {"trim": 0.1}
    for normalize in ("winsorize", "median"):
        yield f"max, {normalize}", "tolerant", "max", {"normalize": normalize}


def curves(space, problem):
    name, unit, templates, labels, disturbed = problem
    entries = []
    for method, family, aggregate, more in methods(space):
        model = NRCDT(space, aggregate=aggregate, **SETTINGS, **more).fit(list(templates))
        rows = model.transform(list(templates)).astype(np.float64)
        shares = []
        for _, samples in disturbed:
            found = pairwise_distances_argmin(model.transform(list(samples)).astype(np.float64), rows)
            shares.append(round(float(np.mean(found == labels)), 4))
        entries.append({"method": method, "family": family, "accuracy": shares})
    return {"disturbance": name, "unit": unit, "strengths": [one for one, _ in disturbed], "curves": entries}


def picture(panels):
    figure = Figure(figsize=(9, 7.5), layout="constrained")
    families = ("paper", "new", "tolerant")
    for ax, panel in zip(figure.subplots(2, 2, sharey=True).flat, panels, strict=True):
        places = range(len(panel["strengths"]))
        seen = dict.fromkeys(families, 0)
        for curve in panel["curves"]:
            family = curve["family"]
            style = {"color": COLOURS[seen[family]], "linestyle": STYLES[families.index(family)]}
            seen[family] += 1
            ax.plot(places, curve["accuracy"], marker=".", label=curve["method"], **style)
        ax.set_xticks(places, [f"{strength:g}" for strength in panel["strengths"]])
        ax.set(title=panel["disturbance"], xlabel=panel["unit"], ylim=(-0.02, 1.02))
    figure.supylabel("accuracy, nearest template")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", fontsize=8, handlelength=3)
    return figure


def main(out, quick):
    found, pictures = {}, {}
    for name, space, make in (("plane", "image", planar), ("space", "euclidean", spatial)):
        if space == "euclidean" and locate("furniture") is None:
            continue
        found[name] = []
        for problem in make(quick):
            with threadpool_limits(1):
                found[name].append(curves(space, problem))
            print(name, problem[0], flush=True)
        pictures[f"robustness_{name}.png"] = picture(found[name])
    write(out, {"robustness.json": found})
    for name, figure in pictures.items():
        figure.savefig(out / name, dpi=110)


if __name__ == "__main__":
    arguments = command_line(__doc__, Path("nrcdt-beyond")).parse_args()
    main(arguments.out, arguments.quick)
