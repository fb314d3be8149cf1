"""Recognition problems for the comparison of features: galleries of labelled items, and queries to be found in them."""

from typing import Any, NamedTuple

import numpy as np

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
    warp,
    watermarks,
)
from nrcdt.datasets.registry import locate

EPISODES = 20
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
    return np.stack([warp(image, *random_affine(rng, **ranges)) for image in images])


def synthetic(quick):
    n = 2 if quick else 6
    drawings = watermarks(16)[0]
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
    for name, (what, images) in changed.items():
        yield templates(f"watermarks, {name}", f"the same, {what}", "image", drawings, images, labels)
    symbols = academic(n)
    yield templates("academic", "the paper's academic set", "image", symbols.templates, symbols.samples, symbols.labels)
    shapes = polygon(n // 2)
    yield templates(
        "polygon", "the paper's polygon set (our drawings)", "image", shapes.templates, shapes.samples, shapes.labels
    )
    digits = linmnist(20 if quick else 60)
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
        yield handwriting(folder / OMNIGLOT, quick)
    if locate("furniture"):
        shapes = load_furniture()
        clouds, labels = distorted_clouds(shapes.samples, 2 if quick else 5, random_state=0)
        yield templates("furniture", "80 shapes in space, affine copies", "cloud", shapes.samples, clouds, labels)


def handwriting(path, quick):
    with np.load(path, allow_pickle=False) as stored:
        images = np.unpackbits(stored["images"], axis=1)[:, :11025].reshape(-1, 105, 105)
        labels = stored["labels"]
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.unique(labels))[: 20 if quick else 60]
    keep = np.concatenate([rng.permutation(np.flatnonzero(labels == label))[:6] for label in chosen])
    items = np.pad(images[keep].astype(np.float64), ((0, 0), (12, 12), (12, 12)))
    queries = moved(items, 2, scale=(0.6, 1.0), shear=(-20, 20), shift=(-4, 4))
    what = "handwritten characters, one example of each of 20, queries by other hands under affine maps"
    return one_shot("omniglot", what, "image", items, labels[keep], 1, 20, queries)


def problems(quick):
    yield from synthetic(quick)
    yield from of_the_data_folder(quick)
