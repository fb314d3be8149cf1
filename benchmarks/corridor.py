"""Measure the way from settings to features, here and in another version: ``python corridor.py [--against SRC]``.

SRC is the source folder of another checkout of the project (``git worktree add ../before v1.0``, then
``--against ../before/src``). Fresh processes with one thread of NumPy take turns, one version after the other; what is
told is the median of the processes. Every number is the better the smaller it is.
``--out FOLDER`` writes corridor.json.
"""

import ast
import json
import os
import statistics
import sys
import tempfile
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from inputs import line_drawings, photo
from machine import command_line, machine_facts, printed_by, write
from timing import interleave

HERE = Path(__file__).resolve().parent
N_PROCESSES = 3
LIST = ["max", "tv", "mean", "std"]
LONG = 40


def calls_of_one_image(quick, folder):
    """Count the package's own functions, and the files they lie in, that one small image passes."""
    import nrcdt

    image, found = np.random.default_rng(0).random((16, 16)), {}
    for name, model in (("default settings", nrcdt.NRCDT()), ("64 directions", nrcdt.NRCDT(n_directions=64))):
        model.fit_transform([image])
        files = files_called(partial(model.fit_transform, [image]), Path(nrcdt.__file__).parent)
        found |= {f"calls, {name}": len(files), f"files called, {name}": len(set(files))}
    return found


def files_called(action, package):
    """The file of every function of the package that is called, in order."""
    files = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(f"{package}{os.sep}"):
            files.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return files


def list_of_aggregations(quick, folder):
    from nrcdt import NRCDT

    images = line_drawings(4 if quick else 64, 128)
    model = NRCDT(aggregate=LIST).fit(images)
    both, once = map(
        min, interleave([partial(NRCDT(aggregate=LIST).fit_transform, images), partial(model.transform, images)], quick)
    )
    return {"list, fit_transform, ms": 1e3 * both, "list, transform, ms": 1e3 * once, "list, ratio": both / once}


def one_by_one(quick, folder):
    """Microseconds for a sample that comes alone."""
    from nrcdt import NRCDT

    rng, calls = np.random.default_rng(0), {}
    for size in (16, 64, 128):
        images = line_drawings(8, size)
        calls[f"one image, {size} x {size}, us"] = NRCDT(n_directions=64).fit(images), images
    for (d, where), n in product(((2, "plane"), (3, "space")), (50, 300, 1000, 5000)):
        clouds = rng.normal(size=(8, n, d))
        calls[f"one cloud, {n} points, {where}, us"] = NRCDT("euclidean", n_directions=64).fit(clouds), clouds
    found = interleave([partial(transform_each, *call) for call in calls.values()], quick)
    return {name: 1e6 * min(seconds) / 8 for name, seconds in zip(calls, found, strict=True)}


def transform_each(model, samples):
    for i in range(len(samples)):
        model.transform(samples[i : i + 1])


def query(quick, folder):
    """Milliseconds from a photograph of two megapixels to the ranked hits, in the catalogue of the demonstration."""
    ask = asking(demo_catalogue(folder, quick), photo())
    (found,) = interleave([ask], quick)
    return {"one query, ms": 1e3 * statistics.median(found)}


def demo_catalogue(folder, quick):
    try:
        from nrcdt.catalogue import synthetic
    except ImportError:  # as it was called before
        from nrcdt.catalogue import generate as synthetic
    if quick and not (folder / "marks.db").exists():
        synthetic.generate(folder / "marks.db", 4).close()
    return synthetic.demonstration(folder)


def asking(path, data):
    """A function that asks the catalogue, by its front door where it has one."""
    try:
        from nrcdt.catalogue import Catalogue
    except ImportError:
        return asking_search(path, data)
    return partial(Catalogue(path).query, data)


def asking_search(path, data):
    from nrcdt.catalogue.prepare import prepare

    from nrcdt.catalogue.ranking import Search, query_of
    from nrcdt.catalogue.store import Catalogue

    search = Search(Catalogue(path, readonly=True))
    return lambda: search.query(query_of(prepare(data)), n=10)


PARTS = {"calls": calls_of_one_image, "list": list_of_aggregations, "one": one_by_one, "query": query}


def sizes(source):
    """Lines of source and tests, and how long functions are outside the kernels, docstrings left out."""
    package = source / "nrcdt"
    bodies = [
        length
        for path in package.rglob("*.py")
        if package / "kernels" not in path.parents
        for length in function_lengths(ast.parse(path.read_text(encoding="utf-8")))
    ]
    return {
        "lines of source": lines(source),
        "lines of tests": lines(source.parent / "tests"),
        "longest function": max(bodies),
        f"functions over {LONG} lines": sum(length > LONG for length in bodies),
    }


def function_lengths(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[ast.get_docstring(node) is not None :]
            yield body[-1].end_lineno - body[0].lineno + 1 if body else 0


def lines(folder):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in folder.rglob("*.py"))


def measured_here(parts, folder, quick):
    return {row: value for part in parts for row, value in PARTS[part](quick, folder).items()}


def measure(parts, source, folder, quick):
    """Measure with the package of a source folder, in a fresh process."""
    command = [__file__, "--here", "--folder", str(folder), "--only", *parts] + ["--quick"] * quick
    return printed_by(command, PYTHONPATH=str(source))


def measured(sources, parts, quick):
    """Return a dict of numbers for each source; the sources take turns."""
    runs = {source: {} for source in sources}
    with tempfile.TemporaryDirectory() as name:
        folders = {source: Path(name, str(k)) for k, source in enumerate(sources)}
        for _, (source, folder) in product(range(1 if quick else N_PROCESSES), folders.items()):
            folder.mkdir(exist_ok=True)
            for row, value in measure(parts, source, folder, quick).items():
                runs[source].setdefault(row, []).append(value)
    return {
        source: {row: statistics.median(values) for row, values in found.items()} | sizes(source)
        for source, found in runs.items()
    }


def rows(now, before):
    """One dict per number: now, before, and before / now; None where that cannot be had."""
    for name in before | now:
        both = before.get(name), now.get(name)
        yield {"row": name, "before": both[0], "now": both[1], "ratio": both[0] / both[1] if all(both) else None}


def print_table(results):
    from rich.console import Console
    from rich.table import Table

    table = Table("", *(found := ("before", "now", "ratio")), title="ratio: before / now")
    for one in results:
        cells = ["" if one[key] is None else f"{one[key]:.4g}" for key in found[:2]]
        table.add_row(one["row"], *cells, "" if one["ratio"] is None else f"{one['ratio']:.3g}x")
    Console().print(table)


def main(out, quick, against, parts):
    here = HERE.parent / "src"
    found = measured([source for source in (against, here) if source], parts, quick)
    results = list(rows(found[here], found.get(against, {})))
    print_table(results)
    if out:
        write(out, {"corridor.json": {"quick": quick, "machine": machine_facts(), "rows": results}})


if __name__ == "__main__":
    parser = command_line(__doc__, None)
    parser.add_argument("--against", type=Path, metavar="SRC", help="source folder of another version")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="these parts")
    parser.add_argument("--here", action="store_true", help="measure in this process, and print JSON")
    parser.add_argument("--folder", type=Path, help="where that may keep a catalogue")
    arguments = parser.parse_args()
    against = arguments.against and arguments.against.resolve()
    if against and not (against / "nrcdt").is_dir():
        parser.error(f"--against must be a folder that holds nrcdt/; got {against}")
    if arguments.here:
        print(json.dumps(measured_here(arguments.only, arguments.folder, arguments.quick)))
    else:
        main(arguments.out, arguments.quick, against, arguments.only)
