"""The main job in one minute: watermarks, distorted at random, found again in a catalogue of one drawing each."""

from __future__ import annotations

import base64
import html
import io
import shlex
import shutil
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageOps
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from .datasets import distorted, watermarks
from .errors import InputError
from .estimators import NRCDT, RCDT
from .slices import Array
from .whole_files import write_whole

BATCH = 20
SHOWN_PER_CLASS = 3
SHOWN_WRONG = 10
VIEW = 0.6
CURVES_PER_CLASS = 8
CLASSES_WITH_CURVES = 6
SHOWCASE = "NR-CDT, max"


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


def run(out: Path, n_classes: int = 10, n_samples: int = 20, seed: int = 0, console: Console | None = None) -> Path:
    """Run the demonstration, print its table, and write a page.

    Parameters
    ----------
    out : folder for `index.html`; created if needed
    n_classes : number of motifs
    n_samples : distorted copies of each
    seed : of the random affine maps
    console : where to print

    Returns
    -------
    path of the page
    """
    console = console or Console()
    if n_samples < 1:
        raise InputError("n_samples", "be at least 1", n_samples, "20 is a good start.")
    page = _place_for_page(out)
    with console.status("drawing and distorting watermarks"):
        templates, names = watermarks(n_classes)
        task = Task(templates, names, *distorted(templates, n_samples, random_state=seed))
    results, predictions = _compare(task, console)
    console.print(_rich_table(results, task))
    with console.status("writing the page"):
        write_whole(page, _page(task, results, predictions[SHOWCASE]).encode())
    if find_spec("matplotlib") is None:
        console.print("Its figures are left out: pip install 'nrcdt[plot]' brings matplotlib.", markup=False)
    return page


def _place_for_page(out: Path) -> Path:
    """Make the folder, and refuse to write over a page of somebody else."""
    if out.exists() and not out.is_dir():
        raise InputError("out", "be a folder", f"the file {out}", "Choose another name.")
    page = out / "index.html"
    if page.exists() and "<title>nrcdt: " not in page.read_text(encoding="utf-8", errors="replace"):
        raise InputError("out", "not hold a page of somebody else", page, "Choose another folder.")
    out.mkdir(parents=True, exist_ok=True)
    return page


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


def _compare(task: Task, console: Console) -> tuple[list[Result], dict[str, Array]]:
    """Classify all samples by the nearest template, with every method."""
    results, predictions = [], {}
    methods = _methods()
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("comparing", total=len(methods) * len(task.samples))
        for name, transform in methods.items():
            progress.update(bar, description=name)
            classifier = make_pipeline(transform, KNeighborsClassifier(1))
            classifier.fit(task.templates, np.arange(len(task.names)))
            classifier.predict(task.samples[:1])  # compiled kernels are loaded on first use
            predicted, seconds = [], 0.0
            for start in range(0, len(task.samples), BATCH):
                batch = task.samples[start : start + BATCH]
                began = time.perf_counter()
                predicted.append(classifier.predict(batch))
                seconds += time.perf_counter() - began
                progress.advance(bar, len(batch))
            predictions[name] = np.concatenate(predicted)
            accuracy = float(np.mean(predictions[name] == task.labels))
            n_features = transform.transform(task.templates[:1]).shape[1]
            results.append(Result(name, n_features, accuracy, 1000 * seconds / len(task.samples)))
    return results, predictions


COLUMNS = ("method", "features per image", "accuracy", "ms per image")


def _cells(result: Result) -> tuple[str, str, str, str]:
    return result.method, f"{result.n_features:,}", f"{result.accuracy:.3f}", f"{result.milliseconds:.1f}"


def _rich_table(results: list[Result], task: Task) -> Table:
    table = Table(title=_summary(task), caption=f"guessing would score {1 / len(task.names):.3f}", title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "method" else "right")
    for result in results:
        table.add_row(*_cells(result), style="bold" if result.method == SHOWCASE else None)
    return table


def _summary(task: Task) -> str:
    return f"{len(task.names)} watermarks, {len(task.samples)} distorted copies, one template each"


def _page(task: Task, results: list[Result], predicted: Array) -> str:
    showcase = next(result for result in results if result.method == SHOWCASE)
    n_right = int(np.sum(predicted == task.labels))
    return PAGE.substitute(
        summary=html.escape(_summary(task)),
        n_classes=len(task.names),
        n_samples=len(task.samples),
        right=f"{n_right} of {len(task.samples)}",
        baseline=f"{round(results[0].accuracy * len(task.samples))} of {len(task.samples)}",
        n_features=showcase.n_features,
        templates="".join(
            _tile(image, html.escape(name)) for image, name in zip(task.templates, task.names, strict=True)
        ),
        samples=_sample_tiles(task, predicted),
        table=_html_table(results),
        guess=f"{1 / len(task.names):.3f}",
        figures=_figures(task),
        command=html.escape(next_command()),
    )


def _tile(image: Array, caption: str, verdict: str = "") -> str:
    picture = f'<img src="{_ink_png(image)}" alt="">'
    return f'<figure class="tile {verdict}">{picture}<figcaption>{caption}</figcaption></figure>'


def _sample_tiles(task: Task, predicted: Array) -> str:
    """The first copies of every class in turn, then further wrong answers."""
    some = _first(task, SHOWN_PER_CLASS).T.ravel()
    wrong = np.flatnonzero(predicted != task.labels)
    return "".join(_sample_tile(task, predicted, i) for i in [*some, *np.setdiff1d(wrong, some)[:SHOWN_WRONG]])


def _first(task: Task, n: int) -> Array:
    """Positions of the first n copies of every class, of shape (n_classes, n) or narrower."""
    return np.arange(len(task.samples)).reshape(len(task.names), -1)[:, :n]


def _sample_tile(task: Task, predicted: Array, i: int) -> str:
    found, truth = html.escape(task.names[predicted[i]]), html.escape(task.names[task.labels[i]])
    if found == truth:
        return _tile(task.samples[i], found, "right")
    return _tile(task.samples[i], f"{found}<br>is {truth}", "wrong")


def _html_table(results: list[Result]) -> str:
    head = "".join(f"<th>{column}</th>" for column in COLUMNS)
    rows = [
        f"<tr{' class=best' if result.method == SHOWCASE else ''}>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(result))
        + "</tr>"
        for result in results
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _figures(task: Task) -> str:
    try:
        return FIGURES.substitute(sinogram=_sinogram(task), curves=_curves(task), name=html.escape(task.names[0]))
    except ImportError as error:
        return f"<p>{html.escape(str(error))}</p>"


def _sinogram(task: Task) -> str:
    from . import plot

    figure, ax = _new_figure(5.6, 3.2)
    plot.sinogram(task.templates[0], ax).set_ylim(-0.5, 0.5)
    return _figure_png(figure)


def _curves(task: Task) -> str:
    from . import plot

    some = _first(task, CURVES_PER_CLASS)[:CLASSES_WITH_CURVES].ravel()
    shown, names = task.templates[:CLASSES_WITH_CURVES], task.names[:CLASSES_WITH_CURVES]
    transform = NRCDT().fit(shown)
    templates, features = transform.transform(shown), transform.transform(task.samples[some])
    average = templates.mean(axis=0)
    figure, ax = _new_figure(5.6, 4.2)
    plot.feature_curves(features - average, task.labels[some], names, templates - average, ax)
    ax.set_ylabel("feature, minus the average template")
    return _figure_png(figure)


def _new_figure(width: float, height: float) -> tuple[Any, Any]:
    """Make a figure of its own, without the global state of pyplot."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures must have matplotlib; got none. Run pip install 'nrcdt[plot]'.") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _figure_png(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return _data_url(buffer)


def _ink_png(image: Array) -> str:
    """Dark ink on white paper, as a catalogue prints it, cut to a square around the motif."""
    rows, columns = np.nonzero(image)
    box = np.array([[columns.min(), rows.min()], [columns.max(), rows.max()]])
    half = max(VIEW * len(image) / 2, np.ptp(box, axis=0).max() / 2 + 4)
    corners = np.round([box.mean(axis=0) - half, box.mean(axis=0) + half]).astype(int)
    picture = Image.fromarray(np.uint8(np.round(255 * image))).crop(tuple(corners.ravel().tolist()))
    buffer = io.BytesIO()
    ImageOps.invert(picture).save(buffer, "PNG", optimize=True)
    return _data_url(buffer)


def _data_url(buffer: io.BytesIO) -> str:
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


FIGURES = Template("""
<h2>Why it works</h2>
<p>From every direction, the motif casts a shadow: how much ink lies on each line across the picture. All shadows side
by side are the picture below, drawn for the $name.</p>
<figure class="plot"><img src="$sinogram" alt="Radon transform of one template over direction and radius"></figure>
<p>Every shadow is centred and scaled to the same spread, and then the largest value over all directions is kept. What
remains is one curve per picture. Thin lines are distorted copies, thick lines are templates: a copy stays close to the
template it was made from. The first motifs are shown.</p>
<figure class="plot"><img src="$curves" alt="Features of copies and templates, one colour per motif"></figure>
""")

PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nrcdt: $summary</title>
<style>
:root { color-scheme: light dark; --text: #22201c; --quiet: #6a655c; --page: #faf8f4; --card: #fff; --line: #e2ddd2;
  --right: #1a7f4b; --wrong: #c0392b; }
@media (prefers-color-scheme: dark) {
  :root { --text: #ece8e0; --quiet: #a39d91; --page: #171614; --card: #000; --line: #35322d;
    --right: #4cc38a; --wrong: #ff7b6b; }
  img { filter: invert(1) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 64rem; background: var(--page); color: var(--text);
  font: 1.05rem/1.6 Georgia, "Times New Roman", serif; }
h1 { font-size: clamp(1.6rem, 5vw, 2.4rem); line-height: 1.2; text-wrap: balance; margin: 0 0 1rem;
  font-weight: normal; }
h2 { font-size: 1.35rem; font-weight: normal; margin: 2.8rem 0 .6rem; }
p { max-width: 42rem; margin: .6rem 0; }
.grid { display: grid; gap: .6rem; grid-template-columns: repeat(auto-fill, minmax(5.5rem, 1fr)); margin: 1rem 0; }
.tile { margin: 0; border: 1px solid var(--line); border-radius: .4rem; background: var(--card); overflow: hidden;
  position: relative; }
.tile img { display: block; width: 100%; }
figcaption { padding: .15rem .2rem .35rem; font: .8rem/1.3 system-ui, sans-serif; text-align: center; }
.tile::before { position: absolute; padding: .1rem .35rem; font: 700 .85rem/1.3 system-ui, sans-serif; z-index: 1; }
.right { border-color: var(--right); } .right figcaption, .right::before { color: var(--right); }
.wrong { border: 2px solid var(--wrong); } .wrong figcaption, .wrong::before { color: var(--wrong); }
.right::before { content: "✓"; } .wrong::before { content: "✗"; }
.plot { margin: 1rem 0; max-width: 46rem; border: 1px solid var(--line); border-radius: .4rem; overflow: hidden; }
.plot img { display: block; width: 100%; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font: .95rem/1.4 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .9rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--quiet); font-weight: 500; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
.best { font-weight: 700; }
.quiet { color: var(--quiet); font-size: .92rem; }
code { display: block; overflow-x: auto; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .4rem; font: .95rem/1.4 ui-monospace, monospace; max-width: 42rem; }
@media (max-width: 30rem) { th, td { padding: .4rem .5rem; } }
</style>
</head>
<body>
<h1>$right distorted watermarks recognised, from one drawing each</h1>
<p>Nobody traces or photographs a watermark twice in the same way: the sheet is turned, lies on its other side, has
shrunk, or was seen at a slant. Compared pixel by pixel, the same copies are recognised $baseline times. Here each
picture is described by $n_features numbers that turning, mirroring, stretching, slanting and shifting hardly change,
and then looked up in the catalogue.</p>

<h2>The catalogue</h2>
<p>$n_classes invented motifs in the manner of old paper, one drawing of each.</p>
<div class="grid">$templates</div>

<h2>Copies, and what they were taken for</h2>
<p>Some of the $n_samples copies: each was turned, mirrored, stretched, slanted and shifted at random. They are shown
centred; below each is the catalogue entry with the nearest features.</p>
<div class="grid">$samples</div>

<h2>Compared with other methods</h2>
<div class="scroll">$table</div>
<p class="quiet">$summary. The time includes the search in the catalogue. Guessing would score $guess. The R-CDT keeps
every shadow as it is, and changes whenever the picture does; the NR-CDT keeps the largest value over all directions
("max"), or how much the shadows change from one direction to the next ("tv").</p>
$figures
<h2>Now with your own pictures</h2>
<p>Scans, photographs or tracings in any folder become a table with one row of features per picture:</p>
<code>$command</code>
</body>
</html>
""")
