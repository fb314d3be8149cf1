"""Recognition problems for the comparison of features: galleries of labelled items, and queries to be found in them."""

from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import binary_closing, gaussian_filter
from scipy.spatial.transform import Rotation

from nrcdt.datasets import (
    academic,
    bars,
    data_folder,
    distorted,
    distorted_clouds,
    elastic,
    linmnist,
    load_furniture,
    load_watermarks,
    polygon,
    random_affine,
    salt,
    watermarks,
)
from nrcdt.datasets.registry import locate
from nrcdt.random_maps import moved_about_centre

EPISODES = 20
VIEW, VIEW_SPREAD = (20, 35), 15  # degrees: from above and from the side; how far queries are seen from elsewhere
OMNIGLOT = "omniglot/omniglot_small.npz"


class Problem(NamedTuple):
    """In every episode (positions in the gallery, positions in the queries) the nearest item labels each query."""

    name: str
    what: str
    kind: str
    gallery: Any
    queries: Any
    gallery_labels: np.ndarray
    query_labels: np.ndarray
    episodes: list


def templates(name, what, kind, gallery, queries, labels):
    """One template per class, which every query is compared with."""
    classes = np.arange(len(gallery))
    return Problem(name, what, kind, gallery, queries, classes, labels, [(classes, np.arange(len(labels)))])


def one_shot(name, what, kind, items, labels, n_train, n_ways=None, queries=None):
    """Random training items per class, and all others as queries, again and again."""
    episodes = []
    for episode in range(EPISODES):
        rng = np.random.default_rng(episode)
        classes = np.unique(labels)
        chosen = rng.permutation(classes)[: n_ways or len(classes)]
        train = np.concatenate([rng.permutation(np.flatnonzero(labels == label))[:n_train] for label in chosen])
        episodes.append((train, np.setdiff1d(np.flatnonzero(np.isin(labels, chosen)), train)))
    return Problem(name, what, kind, items, items if queries is None else queries, labels, labels, episodes)


def moved(images, seed, **ranges):
    """Every image under one random affine map that may push ink off the canvas a little."""
    rng = np.random.default_rng(seed)
    return np.stack([moved_about_centre(image, *random_affine(rng, **ranges)) for image in images])


def synthetic(quick):
    n = 2 if quick else 6
    drawings = watermarks(4 if quick else 16)[0]
    copies, labels = distorted(drawings, n, random_state=0)
    yield templates(
        "watermarks", "16 synthetic watermarks, affine copies, mirrored or not", "image", drawings, copies, labels
    )
    changed = {
        "elastic": ("bent in waves of up to 4 pixels", elastic(copies, 2, random_state=0)),
        "specks": ("with 3 specks each", salt(copies, 3, 1.5, random_state=0)),
        "gaps": ("with 3 gaps of 4 pixels each", bars(copies, 3, 4, random_state=0)),
        "veil": ("under a veil of 0.2 % grey", 0.998 * copies + 0.002),
    }
    for name, (what, images) in list(changed.items())[: 1 if quick else None]:
        yield templates(f"watermarks, {name}", f"the same, {what}", "image", drawings, images, labels)
    symbols = academic(n)
    yield templates("academic", "the paper's academic set", "image", symbols.templates, symbols.samples, symbols.labels)
    shapes = polygon(n // 2)
    yield templates(
        "polygon", "the paper's polygon set (our drawings)", "image", shapes.templates, shapes.samples, shapes.labels
    )
    digits = linmnist(8 if quick else 60)
    yield one_shot("LinMNIST", "digits 1, 5, 7, five training samples each", "image", digits.samples, digits.labels, 5)


def of_the_data_folder(quick):
    """Problems on data that cannot be shipped; those that are absent are left out."""
    if locate("briquet") or locate("wzis"):
        marks = load_watermarks()
        images = marks.samples.astype(np.float64)
        ranges = {"scale": (0.5, 1.0), "shift": (-10, 10)}
        what = "tracings of old watermarks by motif, one template per class, queries under affine maps"
        yield one_shot("tracings, motif", what, "image", images, marks.labels, 1, queries=moved(images, 0, **ranges))
        what = "the same tracings, each its own class: the identical mark under an affine map"
        yield templates(
            "tracings, identical", what, "image", images, moved(images, 1, **ranges), np.arange(len(images))
        )
    folder = data_folder()
    if folder is not None and (folder / OMNIGLOT).is_file():
        yield from handwriting(folder / OMNIGLOT, quick)
    if locate("furniture"):
        shapes = load_furniture().samples
        yield silhouettes(shapes, 1 if quick else 3)
        clouds, labels = distorted_clouds(shapes, 2 if quick else 5, random_state=0)
        yield templates("furniture", "80 shapes in space, affine copies", "cloud", shapes, clouds, labels)


def handwriting(path, quick):
    items, labels = characters(path, 20 if quick else 60)
    what = "handwritten characters, one example of each of 20, queries by other hands"
    queries = moved(items, 2, scale=(0.6, 1.0), shear=(-20, 20), shift=(-4, 4))
    yield one_shot("omniglot", f"{what} under affine maps", "image", items, labels, 1, 20, queries)
    yield one_shot("omniglot, upright", f"{what} as they were written", "image", items, labels, 1, 20)


def characters(path, n_classes, n_hands=6):
    with np.load(path, allow_pickle=False) as stored:
        images = np.unpackbits(stored["images"], axis=1)[:, :11025].reshape(-1, 105, 105)
        labels = stored["labels"]
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.unique(labels))[:n_classes]
    keep = np.concatenate([rng.permutation(np.flatnonzero(labels == label))[:n_hands] for label in chosen])
    return np.pad(images[keep].astype(np.float64), ((0, 0), (12, 12), (12, 12))), labels[keep]


def silhouettes(shapes, n_queries):
    """Filled outlines from one place, to be recognised from near it and under affine maps of the picture."""
    rng = np.random.default_rng(3)
    gallery = np.stack([silhouette(shape, VIEW) for shape in shapes])
    views = np.repeat([VIEW], n_queries * len(shapes), axis=0)
    views = views + rng.uniform(-VIEW_SPREAD, VIEW_SPREAD, size=views.shape)
    labels = np.repeat(np.arange(len(shapes)), n_queries)
    seen = np.stack([silhouette(shapes[label], view) for label, view in zip(labels, views, strict=True)])
    what = f"outlines of 80 shapes in space, queries seen from up to {VIEW_SPREAD} degrees aside and under affine maps"
    return templates("silhouettes", what, "image", gallery, moved(seen, 4, shift=(-4, 4)), labels)


def silhouette(points, view, size=128):
    """Shadow of a cloud, y up, its longest side half of the picture."""
    seen = Rotation.from_euler("xy", view, degrees=True).apply(points)[:, :2] * [1, -1]
    low, high = seen.min(axis=0), seen.max(axis=0)
    places = (seen - (low + high) / 2) * (size / 2 / (high - low).max()) + size / 2
    edges = np.arange(size + 1)
    counts = np.histogram2d(places[:, 1], places[:, 0], bins=(edges, edges))[0]
    return gaussian_filter(binary_closing(counts > 0, iterations=4).astype(np.float64), 1)


def problems(quick):
    yield from synthetic(quick)
    yield from of_the_data_folder(quick)


def training_problems(quick):
    """Problems with several training samples per class."""
    digits = linmnist(8 if quick else 60)
    for n_train in (5,) if quick else (5, 25):
        what = f"digits 1, 5, 7, {n_train} training samples each"
        yield one_shot(f"LinMNIST, {n_train}", what, "image", digits.samples, digits.labels, n_train)
    copies, labels = distorted(
        watermarks(4 if quick else 10, size=128)[0], 8 if quick else 40, random_state=0, shift=(-10, 10)
    )
    copies = salt(elastic(copies, random_state=1), 2, 1.0, random_state=2)
    for n_train in (5,) if quick else (5, 25):
        what = f"10 synthetic watermarks, affine copies in waves and with 2 specks, {n_train} training samples each"
        yield one_shot(f"watermarks, {n_train}", what, "image", copies, labels, n_train)
    if locate("briquet") or locate("wzis"):
        yield frequent_motifs(load_watermarks())
    folder = data_folder()
    if folder is not None and (folder / OMNIGLOT).is_file():
        items, labels = characters(folder / OMNIGLOT, 20, 10)
        what = "20 handwritten characters, 5 training samples each, as they were written"
        yield one_shot("omniglot, 5", what, "image", items, labels, 5)


def frequent_motifs(marks, n_train=3):
    keep = np.isin(marks.labels, np.flatnonzero(np.bincount(marks.labels) > n_train + 1))
    images, labels = marks.samples[keep].astype(np.float64), marks.labels[keep]
    what = f"tracings of the {len(np.unique(labels))} commonest motifs, {n_train} training samples each, all under maps"
    return one_shot("tracings, 3", what, "image", moved(images, 5, scale=(0.5, 1.0), shift=(-10, 10)), labels, n_train)
