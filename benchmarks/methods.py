"""The methods that are compared: features of ours and of the paper, peers, and distances that know no features."""

import importlib.util
from functools import partial

import numpy as np

from nrcdt import NRCDT, RCDT
from nrcdt.aggregate import AGGREGATIONS
from nrcdt.baselines import affine_moments
from nrcdt.distances import AlignedMetric, aligned
from timing import Stopwatch

N_DIRECTIONS, N_QUANTILES = 128, 128
PAPER = ("max", "abs_max", "abs_min", "abs_range", "range", "tv")
BEST = {"image": ["tv", "bispectrum"], "cloud": "mean_abs"}
COMBINATIONS = (
    ["tv", "spectrum"],
    ["tv", "bispectrum"],
    ["angular_quantiles", "spectrum"],
    ["mean_abs", "spectrum"],
    ["max", "spectrum"],
)
ZERNIKE_DEGREE = 12
SIFT_RATIO = 0.8
ALIGNED_SIZE = 64
BOUND = 45
PEERS = {"Zernike moments": "mahotas", "SIFT and RANSAC": "cv2"}


def no_phase(quantiles):
    """What is left of the bispectrum without its phases; the sign of the mean stays."""
    found = np.fft.rfft(quantiles, axis=1, norm="forward")[:, :7]
    sizes = np.abs(found)
    products = [sizes[:, f] * sizes[:, g] * sizes[:, f + g] for f in range(4) for g in range(f, 7 - f)]
    signs = [np.sign(found[:, 0].real) if f == 0 else 1 for f in range(4) for g in range(f, 7 - f)]
    return np.hstack([sign * np.cbrt(product) for sign, product in zip(signs, products, strict=True)])


def title(aggregate):
    """The name of an aggregation, or of several."""
    return aggregate if isinstance(aggregate, str) else " + ".join(aggregate)


def nrcdt_rows(kind, items, frame, aggregate, **settings):
    space = "image" if kind == "image" else "euclidean"
    sizes = {"n_directions": N_DIRECTIONS, "n_quantiles": N_QUANTILES}
    model = NRCDT(space, frame=frame, aggregate=aggregate, **sizes | settings)
    return np.asarray(model.fit_transform(list(items)), dtype=np.float64)


def rcdt_rows(kind, items):
    space = "image" if kind == "image" else "euclidean"
    model = RCDT(space, n_directions=32, n_quantiles=64)
    return np.asarray(model.fit_transform(list(items)), dtype=np.float64)


def pixel_rows(items):
    return np.stack([np.ravel(item) for item in items]).astype(np.float64)


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


def peers(kind):
    """Yield name and the function that turns items into rows, for what is not ours."""
    if kind == "image":
        yield "Euclid, pixels", pixel_rows
        yield "affine moments, scaled", moment_rows
        if importlib.util.find_spec(PEERS["Zernike moments"]):
            yield "Zernike moments", zernike_rows
    yield "R-CDT", partial(rcdt_rows, kind)


def methods(kind):
    """Yield name and the function that turns items into rows."""
    yield from peers(kind)
    flat = kind == "image"
    every = [*AGGREGATIONS, *COMBINATIONS]
    every = [one for one in every if flat or not {"tv", "bispectrum"} & set(title(one).split(" + "))]
    for frame in ("fixed", "whitened"):
        for aggregate in every:
            yield f"{title(aggregate)}, {frame}", partial(nrcdt_rows, kind, frame=frame, aggregate=aggregate)
    if flat:
        yield "bispectrum, phases dropped, whitened", partial(nrcdt_rows, kind, frame="whitened", aggregate=no_phase)
    for aggregate in ("max", *([["tv", "spectrum"]] if flat else []), BEST[kind]):
        rows_of = partial(nrcdt_rows, kind, frame="whitened", aggregate=aggregate, trim=0.1)
        yield f"{title(aggregate)}, whitened, trim 0.1", rows_of


def pair_methods():
    """Yield name and the function of gallery and queries that returns distances, seconds per item, per pair, size."""
    for bound in (None, BOUND):
        for mirror in (True, False):
            words = ["aligned", *([f"within {bound} degrees"] if bound else []), *([] if mirror else ["no mirror"])]
            yield ", ".join(words), partial(aligned_distances, max_rotation=bound, reflection=mirror)
    if importlib.util.find_spec(PEERS["SIFT and RANSAC"]):
        yield "SIFT and RANSAC", sift_distances


def aligned_distances(gallery, queries, **options):
    """Distances by `aligned`; its two halves are timed through the metric, which does them one after the other."""
    items = [*gallery, *queries]
    sizes = {"n_directions": ALIGNED_SIZE, "n_quantiles": ALIGNED_SIZE}
    with Stopwatch() as describing:
        rows = RCDT(frame="whitened", **sizes).fit_transform(items)
    with Stopwatch() as comparing:
        AlignedMetric(**sizes, **options).pairwise(rows[len(gallery) :], rows[: len(gallery)])
    distances = aligned(list(queries), list(gallery), **sizes, **options)
    return distances, describing.seconds / len(items), comparing.seconds / distances.size, rows.shape[1]


def sift_distances(gallery, queries):
    """Minus the number of matches that one affine map explains, of shape (n_queries, n_gallery)."""
    import cv2

    sift, matcher = cv2.SIFT_create(), cv2.BFMatcher()
    with Stopwatch() as describing:
        found = [[sift.detectAndCompute(_picture(image), None) for image in images] for images in (gallery, queries)]
    with Stopwatch() as comparing:
        matches = np.array([[_inliers(cv2, matcher, one, other) for other in found[0]] for one in found[1]])
    n_items = len(gallery) + len(queries)
    return -matches, describing.seconds / n_items, comparing.seconds / matches.size, None


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
