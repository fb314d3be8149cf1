"""Compare features, frames and peers on every dataset at hand: ``python beyond.py [--out DIR] [--quick] [--only ...]``.

Three parts, each written as a JSON file and as tables that the documentation includes: `beyond`, the nearest template
or neighbour by every method; `trained`, classifiers on top of features; `directions`, how few directions suffice for
80 shapes in space. Data that cannot be shipped is looked for in NRCDT_DATA. Peers (Zernike moments by mahotas, SIFT
with RANSAC by OpenCV) are left out where they are not installed.
"""

from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from machine import command_line, machine_facts, write
from methods import BEST, PAPER, methods, nrcdt_rows, pair_methods, peers, title
from nrcdt import NRCDT, nrcdt
from nrcdt.classifiers import NearestSubspace
from nrcdt.datasets import distorted_clouds, load_furniture
from nrcdt.datasets.registry import locate
from nrcdt.paper.tables import TABLES
from nrcdt.tables import markdown_table
from problems import problems, training_problems
from timing import Stopwatch

SAME = 5e-4  # accuracies that look the same in print
PEERS = ("Euclid, pixels", "affine moments, scaled", "Zernike moments", "R-CDT", "SIFT and RANSAC")
BASES = {
    "max": ("tv + spectrum", "tv + bispectrum", "angular_quantiles + spectrum"),
    "tv": ("tv + spectrum", "tv + bispectrum"),
    "angular_quantiles": ("angular_quantiles + spectrum",),
    "spectrum": ("bispectrum, phases dropped", "bispectrum"),
}
CLASSIFIERS = {
    "nearest neighbour": KNeighborsClassifier(1),
    "nearest subspace": NearestSubspace(),
    "NCA, nearest neighbour": make_pipeline(
        PCA(0.9999),
        NeighborhoodComponentsAnalysis(init="identity", max_iter=20, random_state=0),
        KNeighborsClassifier(1),
    ),
    "linear SVM": make_pipeline(PCA(0.9999), SVC(kernel="linear", C=100)),
}
# Frame, aggregation, directions, and the accuracy that is asked for.
FURNITURE = (
    ("fixed", "max", 64, None),
    ("fixed", "max", 256, None),
    ("whitened", "max", 64, 0.98),
    ("whitened", "max", 256, 0.998),
    ("whitened", "mean_abs", 64, 1.0),
)


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
    with Stopwatch() as watch:
        rows = rows_of(items)
    gallery, queries = rows[: len(problem.gallery)], rows[len(problem.gallery) :]
    share = accuracy(problem, squared_distances(queries, gallery))
    return record(problem, name, share, watch.seconds / len(items), rows.shape[1])


def measure_pairs(problem, name, distances_of):
    distances, per_item, per_pair, n_features = distances_of(problem.gallery, problem.queries)
    entry = record(problem, name, accuracy(problem, distances), per_item, n_features)
    return entry | {"milliseconds_per_pair": round(1000 * per_pair, 4)}


def record(problem, name, share, seconds, n_features):
    entry = {"problem": problem.name, "method": name, "accuracy": round(share, 4), "n_features": n_features}
    return entry | {"milliseconds": round(1000 * seconds, 3)}


def compared(quick):
    """Every method on every problem."""
    results, about = [], {}
    nrcdt(np.eye(8)[np.newaxis], frame="whitened")  # compiled kernels are loaded
    for problem in problems(quick):
        about[problem.name] = problem.what
        results += [measure(problem, *method) for method in methods(problem.kind)]
        if problem.kind == "image":
            results += [measure_pairs(problem, *method) for method in pair_methods()]
        best = max((one for one in results if one["problem"] == problem.name), key=lambda one: one["accuracy"])
        print(f"{problem.name}: best {best['method']} {best['accuracy']:.3f}", flush=True)
    return {"results": results, "problems": about}


def trained(quick):
    """Every classifier on some features."""
    results, about = [], {}
    for problem in training_problems(quick):
        about[problem.name] = problem.what
        for name, rows_of in trained_features():
            rows = rows_of(problem.gallery)
            for classifier, model in CLASSIFIERS.items():
                share, seconds = learn(problem, rows, model)
                results.append(record(problem, f"{name}: {classifier}", share, seconds, rows.shape[1]))
        print(problem.name, flush=True)
    return {"results": results, "problems": about}


def trained_features():
    """Yield name and the function that turns images into rows."""
    yield from (peer for peer in peers("image") if peer[0] not in ("R-CDT", "Euclid, pixels"))
    for frame, aggregate in (("fixed", "max"), ("whitened", ["tv", "spectrum"]), ("whitened", BEST["image"])):
        yield f"{title(aggregate)}, {frame}", partial(nrcdt_rows, "image", frame=frame, aggregate=aggregate)


def learn(problem, rows, model):
    """Mean accuracy over the episodes, and seconds for learning from and answering one of them."""
    shares, seconds = [], []
    for train, queries in problem.episodes[:10]:
        with Stopwatch() as watch:
            fitted = clone(model).fit(rows[train], problem.gallery_labels[train])
            shares.append(fitted.score(rows[queries], problem.query_labels[queries]))
        seconds.append(watch.seconds)
    return float(np.mean(shares)), float(np.median(seconds))


def directions(quick):
    """80 shapes in space, nearest template, 10 random affine maps each as in the paper's table of ABC shapes."""
    shapes = load_furniture().samples
    results = []
    for frame, aggregate, n_directions, wanted in FURNITURE:
        model = NRCDT("euclidean", frame=frame, aggregate=aggregate, n_directions=n_directions, n_quantiles=200)
        rows, shares = model.fit_transform(shapes), []
        with Stopwatch() as watch:
            for seed in range(1 if quick else 5):
                copies, labels = distorted_clouds(shapes, 1 if quick else 10, random_state=seed)
                found = pairwise_distances_argmin(model.transform(copies), rows)
                shares.append(float(np.mean(found == labels)))
        seconds = watch.seconds / (len(shares) * len(labels))
        entry = {"frame": frame, "aggregate": aggregate, "n_directions": n_directions, "wanted": wanted}
        results.append(entry | {"accuracies": shares, "milliseconds": round(1000 * seconds, 2)})
        print(frame, aggregate, n_directions, np.mean(shares), flush=True)
    return {"results": results}


def numbers_table(header, rows):
    """A table in Markdown; all columns but the first are aligned right."""
    return markdown_table(header, rows, right=range(1, len(header))) + "\n"


def table(results, about, last=("milliseconds", "ms per item")):
    """One line per method, one column per problem; the best of each column in bold."""
    cells = {(one["method"], one["problem"]): one for one in results}
    best = {name: max(one["accuracy"] for one in results if one["problem"] == name) for name in about}
    rows = []
    for method in dict.fromkeys(one["method"] for one in results):
        found = [cells.get((method, name)) for name in about]
        texts = ["" if one is None else _number(one["accuracy"], best[one["problem"]]) for one in found]
        found = [one for one in found if one is not None]
        rows.append([method, *texts, _span([one["n_features"] for one in found]), _median(found, last[0])])
    notes = [f"- **{name}**: {what}." for name, what in about.items()]
    return numbers_table(["method", *about, "features", last[1]], rows) + "\n".join(["", *notes]) + "\n"


def _number(value, best):
    return f"**{value:.3f}**" if value >= best - SAME else f"{value:.3f}"


def _span(counts):
    known = sorted({count for count in counts if count is not None})
    return "varies" if not known else str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"


def _median(found, key):
    return f"{np.median([one[key] for one in found]):.1f}"


def verdicts(results, about):
    """One line per problem: what we recommend against the paper's best and the best peer, and whether it loses."""
    rows = []
    for problem in about:
        found = {one["method"]: one["accuracy"] for one in results if one["problem"] == problem}
        name = title(BEST["image" if "Euclid, pixels" in found else "cloud"])
        ours, trimmed = found[f"{name}, whitened"], found[f"{name}, whitened, trim 0.1"]
        paper, peer, top = (
            max((found[one], one) for one in names if one in found)[1]
            for names in ([f"{one}, fixed" for one in PAPER], PEERS, found)
        )
        gap = ours - max(found[paper], found[peer])
        verdict = "ahead" if gap > SAME else "equal" if gap > -SAME else f"**loses by {-gap:.3f}**"
        others = [_with_name(found, one) for one in (paper, peer, top)]
        rows.append([problem, name, f"{ours:.3f}", f"{trimmed:.3f}", *others, verdict])
    header = ["problem", "recommended", "accuracy", "with trim 0.1", "the paper's best", "best peer", "best of all", ""]
    return numbers_table(header, rows)


def _with_name(found, name):
    alike = sum(accuracy > found[name] - SAME for accuracy in found.values())
    who = "several" if alike > 1 and found[name] == max(found.values()) else name.removesuffix(", fixed")
    return f"{found[name]:.3f} ({who})"


def gains(results, about):
    """What is gained over simpler aggregations, in points; problems where all are equal are left out."""
    found = {(one["method"], one["problem"]): one["accuracy"] for one in results}
    rows, differ = [], set()
    flat = [name for name in about if ("tv, whitened", name) in found]
    for base, more in BASES.items():
        rows.append([f"**{base}**", {name: f"{100 * found[f'{base}, whitened', name]:.1f}" for name in flat}])
        for method in more:
            steps = {name: found[f"{method}, whitened", name] - found[f"{base}, whitened", name] for name in flat}
            differ |= {name for name, step in steps.items() if abs(step) > SAME}
            rows.append([method, {name: f"{100 * step:+.1f}" for name, step in steps.items()}])
    shown = [name for name in flat if name in differ]
    return numbers_table(["whitened frame", *shown], [[name, *(cells[one] for one in shown)] for name, cells in rows])


def pair_times(results):
    """Time per item and per pair of the methods that compare pairs; medians over the problems."""
    pairs = [one for one in results if "milliseconds_per_pair" in one]
    rows = []
    for method in dict.fromkeys(one["method"] for one in pairs):
        found = [one for one in pairs if one["method"] == method]
        per_pair = np.median([one["milliseconds_per_pair"] for one in found])
        rows.append([method, _median(found, "milliseconds"), f"{per_pair:.3f}"])
    return numbers_table(["method", "ms per picture", "ms per pair"], rows)


def directions_table(results):
    """Ours, and what the paper printed for its own shapes."""
    rows = []
    for one in results:
        mean, wanted = np.mean(one["accuracies"]), one["wanted"]
        reached = "" if wanted is None else f"{wanted:.3f}: {'reached' if mean >= wanted else '**missed**'}"
        what = f"{one['aggregate']}, {one['frame']}"
        texts = [f"{mean:.4f}", f"{min(one['accuracies']):.4f}", reached, f"{one['milliseconds']:.2f}"]
        rows.append([what, str(one["n_directions"]), *texts])
    for row in TABLES["nt-abc"].rows:
        if row.directions in (64, 2048):
            printed = f"{row.printed['max'].value:.3f}"
            rows.append(["max, fixed, as printed (ABC shapes)", str(row.directions), printed, "", "", ""])
    return numbers_table(["features", "directions", "mean", "worst seed", "asked for", "ms per shape"], rows)


def written(part, found):
    """The texts that the documentation includes, by file name."""
    if part == "directions":
        return {"directions_table.md": directions_table(found["results"])}
    if part == "trained":
        return {"trained_table.md": table(**_both(found), last=("milliseconds", "ms per episode"))}
    tables = {"beyond_table.md": table(**_both(found)), "beyond_verdicts.md": verdicts(**_both(found))}
    tables |= {"beyond_gains.md": gains(**_both(found)), "beyond_pairs.md": pair_times(found["results"])}
    machine, versions = found["machine"], found["machine"]["versions"]
    where = f"{machine['cpu']}, Python {machine['python']}, NumPy {versions['numpy']}"
    note = f"One run over everything took {found['minutes']:.0f} minutes on one thread ({where})."
    return tables | {"beyond_machine.md": note + "\n"}


def _both(found):
    return {"results": found["results"], "about": found["problems"]}


def main(out, quick, only):
    parts = {"beyond": compared, "trained": trained}
    if locate("furniture"):
        parts["directions"] = directions
    for part in only or parts:
        with Stopwatch() as watch, threadpool_limits(1):
            found = parts[part](quick)
        found |= {"minutes": round(watch.seconds / 60, 1), "machine": machine_facts()}
        write(out, {f"{part}.json": found, **written(part, found)})


if __name__ == "__main__":
    parser = command_line(__doc__, Path("nrcdt-beyond"))
    parser.add_argument("--only", nargs="+", choices=["beyond", "trained", "directions"], help="these parts")
    arguments = parser.parse_args()
    main(arguments.out, arguments.quick, arguments.only)
