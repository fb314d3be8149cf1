"""The main job in one minute: watermarks, distorted at random, found again in a catalogue of one drawing each."""

from __future__ import annotations

import io
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageOps
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from . import plot
from .arrays import Array
from .datasets import distorted, watermarks
from .errors import InputError
from .estimators import NRCDT, RCDT
from .pages import Table, claim_folder, render
from .pages.pictures import figure_address, new_figure, png_address
from .rasters import box_around
from .whole_files import write_whole

BATCH = 20
SHOWN_PER_CLASS = 3
SHOWN_WRONG = 10
# The square around a motif is as wide as this share of its drawing, or wider where the motif is.
VIEW = 0.6
CURVES_PER_CLASS = 8
CLASSES_WITH_CURVES = 6
SHOWCASE = "NR-CDT, max"
COLUMNS = ("method", "features per image", "accuracy", "ms per image")

Progress = Callable[[int, int, str], None]


class Result(NamedTuple):
    """How one method did."""

    method: str
    n_features: int
    accuracy: float
    milliseconds: float


class Task(NamedTuple):
    """One drawing per class, and the samples to be found."""

    templates: Array
    names: list[str]
    samples: Array
    labels: Array


def run(
    out: Path,
    n_classes: int = 10,
    n_samples: int = 20,
    seed: int = 0,
    progress: Progress = lambda done, total, what: None,
) -> tuple[Path, Table]:
    """Run the demonstration, and write a page.

    Parameters
    ----------
    out : folder for `index.html`; created if needed
    n_classes : number of motifs
    n_samples : distorted copies of each
    seed : of the random affine maps
    progress : function of the number of steps done, of all steps, and of what is being done

    Returns
    -------
    path of the page, and the table of methods
    """
    if n_samples < 1:
        raise InputError("n_samples", "be at least 1", n_samples, "20 is a good start.")
    page = claim_folder(out, "nrcdt: ", "not hold a page of somebody else", "index.html")
    progress(0, 1, "drawing and distorting watermarks")
    templates, names = watermarks(n_classes)
    task = Task(templates, names, *distorted(templates, n_samples, random_state=seed))
    results, predictions = _compare(task, progress)
    progress(1, 1, "writing the page")
    write_whole(page, html_page(task, results, predictions[SHOWCASE]).encode())
    return page, _table(task, results)


def next_command() -> str:
    """Return what to type next, with the program as it was started where the shell does not find it by name."""
    ways = {"nrcdt": shlex.quote(sys.argv[0]), "__main__": f"{shlex.quote(sys.executable)} -m nrcdt"}
    found = shutil.which("nrcdt") is not None
    program = "nrcdt" if found else ways.get(Path(sys.argv[0]).stem, "nrcdt")
    return f"{program} features my-scans/ -o features.parquet"


def _methods() -> dict[str, Any]:
    return {
        "Euclid (pixels)": FunctionTransformer(lambda images: images.reshape(len(images), -1)),
        "R-CDT": RCDT(),
        SHOWCASE: NRCDT(aggregate="max"),
        "NR-CDT, tv": NRCDT(aggregate="tv"),
    }


def _compare(task: Task, progress: Progress) -> tuple[list[Result], dict[str, Array]]:
    """Classify all samples by the nearest template, with every method."""
    results, predictions = [], {}
    methods = _methods()
    n_samples = len(task.samples)
    for n_done, (name, transform) in enumerate(methods.items()):
        classifier = make_pipeline(transform, KNeighborsClassifier(1))
        classifier.fit(task.templates, np.arange(len(task.names)))
        classifier.predict(task.samples[:1])  # compiled kernels are loaded on first use
        predicted, seconds = [], 0.0
        for start in range(0, n_samples, BATCH):
            progress(n_done * n_samples + start, len(methods) * n_samples, name)
            began = time.perf_counter()
            predicted.append(classifier.predict(task.samples[start : start + BATCH]))
            seconds += time.perf_counter() - began
        predictions[name] = np.concatenate(predicted)
        accuracy = float(np.mean(predictions[name] == task.labels))
        n_features = transform.transform(task.templates[:1]).shape[1]
        results.append(Result(name, n_features, accuracy, 1000 * seconds / n_samples))
    return results, predictions


def _table(task: Task, results: list[Result]) -> Table:
    summary = f"{len(task.names)} watermarks, {len(task.samples)} distorted copies, one template each"
    rows = [(name, f"{n:,}", f"{accuracy:.3f}", f"{each:.1f}") for name, n, accuracy, each in results]
    styles = ["best" if result.method == SHOWCASE else "" for result in results]
    return Table(summary, COLUMNS, rows, styles, f"guessing would score {1 / len(task.names):.3f}")


def html_page(task: Task, results: list[Result], predicted: Array) -> str:
    """Return the page, with what the samples were taken for."""
    accuracies = _table(task, results)
    showcase = next(result for result in results if result.method == SHOWCASE)
    return render(
        "demo.html",
        title=f"nrcdt: {accuracies.title}",
        accuracies=accuracies,
        n_samples=len(task.samples),
        n_right=int(np.sum(predicted == task.labels)),
        n_by_pixels=round(results[0].accuracy * len(task.samples)),
        n_features=showcase.n_features,
        templates=[_tile(image, name, name) for image, name in zip(task.templates, task.names, strict=True)],
        samples=[
            _tile(task.samples[i], task.names[predicted[i]], task.names[task.labels[i]])
            for i in _shown_samples(task, predicted)
        ],
        guess=f"{1 / len(task.names):.3f}",
        figures=_figures(task),
        command=next_command(),
    )


def _shown_samples(task: Task, predicted: Array) -> list[int]:
    """The first copies of every class in turn, then further wrong answers."""
    some = _first(task, SHOWN_PER_CLASS).T.ravel()
    wrong = np.flatnonzero(predicted != task.labels)
    return [*some, *np.setdiff1d(wrong, some)[:SHOWN_WRONG]]


def _first(task: Task, n: int) -> Array:
    """Positions of the first n copies of every class, of shape (n_classes, n) or narrower."""
    return np.arange(len(task.samples)).reshape(len(task.names), -1)[:, :n]


def _tile(image: Array, name: str, truth: str) -> dict[str, str]:
    """A picture, the class it was taken for, and its own: dark ink on white paper, cut to a square around the motif."""
    rows, columns = box_around(image > 0)
    box = np.array([[columns.start, rows.start], [columns.stop - 1, rows.stop - 1]])
    half = max(VIEW * len(image) / 2, np.ptp(box, axis=0).max() / 2 + 4)
    corners = np.round([box.mean(axis=0) - half, box.mean(axis=0) + half]).astype(int)
    picture = Image.fromarray(np.uint8(np.round(255 * image))).crop(tuple(corners.ravel().tolist()))
    buffer = io.BytesIO()
    ImageOps.invert(picture).save(buffer, "PNG", optimize=True)
    return {"picture": png_address(buffer.getvalue()), "name": name, "truth": truth}


def _figures(task: Task) -> dict[str, str]:
    try:
        return {"sinogram": _sinogram(task), "curves": _curves(task)}
    except ImportError as error:
        return {"missing": str(error)}


def _sinogram(task: Task) -> str:
    figure, ax = new_figure(5.6, 3.2)
    plot.sinogram(task.templates[0], ax).set_ylim(-0.5, 0.5)
    return figure_address(figure, 150)


def _curves(task: Task) -> str:
    some = _first(task, CURVES_PER_CLASS)[:CLASSES_WITH_CURVES].ravel()
    shown, names = task.templates[:CLASSES_WITH_CURVES], task.names[:CLASSES_WITH_CURVES]
    transform = NRCDT().fit(shown)
    templates, features = transform.transform(shown), transform.transform(task.samples[some])
    average = templates.mean(axis=0)
    figure, ax = new_figure(5.6, 4.2)
    plot.feature_curves(features - average, task.labels[some], names, templates - average, ax)
    ax.set_ylabel("feature, minus the average template")
    return figure_address(figure, 150)
