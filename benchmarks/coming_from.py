"""The same job by other packages and by nrcdt: ``python coming_from.py [--out DIR] [--quick]``.

The functions below are what the documentation shows side by side. Each pair is run on the same input; the table says
how far results agree, or how many samples are recognised, and how long each takes on one thread, warm. Packages that
are not installed are left out: pytranskit, kymatio, POT, scikit-image.
"""

import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from machine import command_line, machine_facts, write
from nrcdt import NRCDT, NearestSubspace, radon, rcdt, sliced_wasserstein
from nrcdt.datasets import distorted, watermarks
from nrcdt.directions import circle
from nrcdt.tables import markdown_table
from timing import interleave

DEGREES = np.arange(0, 180, 4)


def quantiles_pytranskit(image):
    from pytranskit.optrans.continuous.radoncdt import RadonCDT

    uniform = np.ones(image.shape) / image.size
    found = RadonCDT(DEGREES).forward([0, 1], uniform, [0, 1], image / image.sum())
    return found.T  # one row per angle; the diagonal of the image is [0, 1], the levels run from 0 to 1


def quantiles_nrcdt(image):
    angles = np.radians(DEGREES)
    directions = np.stack([np.cos(angles), -np.sin(angles)], axis=1)  # y runs down
    found = rcdt([image], directions=directions, n_quantiles=127, normalize=None)[0]
    return (found.reshape(len(angles), -1) + 1) / 2  # the diagonal is [-1, 1], the levels are l / 128


def recognise_pytranskit(train, labels, test):
    from pytranskit.classification.rcdt_ns import RCDT_NS

    model = RCDT_NS(len(set(labels)), DEGREES, rm_edge=True)
    model.fit(train, labels)
    return model.predict(test)


def recognise_nrcdt(train, labels, test):
    model = make_pipeline(NRCDT(), NearestSubspace())
    return model.fit(train, labels).predict(test)


def distance_pot(a, b, directions):
    import ot

    return ot.sliced_wasserstein_distance(a, b, projections=directions.T)


def distance_nrcdt(a, b, directions):
    return sliced_wasserstein([a], [b], "euclidean", directions=directions)[0, 0]


@cache
def scattering_2d(shape):
    from kymatio.numpy import Scattering2D

    return Scattering2D(J=4, shape=shape)


def nearest_kymatio(train, labels, test):
    scattering = scattering_2d(train.shape[1:])
    rows = [scattering(images.astype(np.float32)).reshape(len(images), -1) for images in (train, test)]
    return KNeighborsClassifier(1).fit(rows[0], labels).predict(rows[1])


def nearest_nrcdt(train, labels, test):
    model = make_pipeline(NRCDT(), KNeighborsClassifier(1))
    return model.fit(train, labels).predict(test)


def sinogram_scikit_image(image):
    from skimage.transform import radon

    return radon(image, DEGREES, circle=False).T  # in pixels; one row per angle


def sinogram_nrcdt(image):
    angles = np.radians(DEGREES)
    directions = np.stack([np.cos(angles), -np.sin(angles)], axis=1)
    size = int(np.ceil(np.sqrt(2) * max(image.shape)))
    side = np.sqrt(2) / max(image.shape)
    return radon(image, directions, n_radii=size, lines=True) * side  # from the frame's units to pixels


def difference_of_quantiles(theirs, ours):
    levels = np.arange(1, 128) / 128
    same = [np.interp(levels, np.linspace(0, 1, theirs.shape[1]), row) for row in theirs]
    return f"{np.abs(same - ours).mean():.4f} of the diagonal apart, on average"


def correlation(theirs, ours):
    return f"correlation {np.corrcoef(theirs.ravel(), ours.ravel())[0, 1]:.4f}"


def jobs(quick):
    """Yield package, job, their function, ours, the input, and how the two results are compared."""
    size, n_copies = (64, 1) if quick else (128, 10)
    drawings, _ = watermarks(10, size=size)
    image = drawings[1].astype(np.float64)
    train, labels = distorted(drawings, 2 if quick else 5, random_state=0)
    test, truth = distorted(drawings, n_copies, random_state=1)
    few = (train.astype(np.float64), labels, test.astype(np.float64))
    one = (drawings.astype(np.float64), np.arange(10), test.astype(np.float64))

    def shares(theirs, ours):
        return f"{np.mean(theirs == truth):.2f} and {np.mean(ours == truth):.2f} recognised"

    rng = np.random.default_rng(0)
    clouds = (rng.normal(size=(500, 2)), rng.exponential(size=(400, 2)), circle(50))
    yield "pytranskit", "R-CDT of an image", quantiles_pytranskit, quantiles_nrcdt, (image,), difference_of_quantiles
    yield "pytranskit", "classifier, five examples", recognise_pytranskit, recognise_nrcdt, few, shares
    yield "ot", "sliced Wasserstein distance", distance_pot, distance_nrcdt, clouds, difference
    yield "kymatio", "features without training, one example", nearest_kymatio, nearest_nrcdt, one, shares
    middle = (watermarks(2, size=size + 1)[0][1].astype(np.float64),)  # of odd size, both turn it about one middle
    yield "skimage", "Radon transform of an image", sinogram_scikit_image, sinogram_nrcdt, middle, correlation


def difference(theirs, ours):
    return f"{abs(theirs - ours) / theirs:.1e} apart, relatively"


def measured(quick):
    results = []
    for package, job, theirs, ours, inputs, compare in jobs(quick):
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed: {job} is left out", flush=True)
            continue
        agreement = compare(theirs(*inputs), ours(*inputs))
        times = interleave([lambda: theirs(*inputs), lambda: ours(*inputs)], quick)  # noqa: B023  called at once
        ratio = float(np.median(times[0]) / np.median(times[1]))
        results.append({"package": package, "job": job, "agreement": agreement, "ratio": ratio})
        print(f"{package}, {job}: {agreement}, {ratio:.2g} times as long as nrcdt", flush=True)
    return {"results": results, "machine": machine_facts()}


NAMES = {"pytranskit": "PyTransKit", "ot": "POT", "kymatio": "kymatio", "skimage": "scikit-image"}


def written(found):
    """The table that the documentation includes, by file name."""
    rows = [[NAMES[one["package"]], one["job"], one["agreement"], f"{one['ratio']:.0f}"] for one in found["results"]]
    head = ["package", "job", "theirs and ours", "their time over ours"]
    return {"coming_from_table.md": markdown_table(head, rows, right=[3]) + "\n"}


def main(out, quick):
    with threadpool_limits(1):
        found = measured(quick)
    write(out, {"coming_from.json": found, **written(found)})


if __name__ == "__main__":
    arguments = command_line(__doc__, Path("nrcdt-coming-from")).parse_args()
    main(arguments.out, arguments.quick)
