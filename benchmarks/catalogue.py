"""Measure the catalogue: ``python catalogue.py [--out DIR] [--quick]``.

Catalogues of synthetic marks of several sizes are served by `nrcdt serve`, and a simulated photograph of two megapixels
is sent to each, again and again: from the request to the page with the ranked, registered shortlist. The cold command
line, the addition of line drawings, and the first paint of the page in Chromium are measured apart. Writes
catalogue.json and the table that the documentation includes.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from PIL import Image

from inputs import photo
from machine import command_line, machine_facts, write
from nrcdt.catalogue.importers import listed
from nrcdt.catalogue.ingest import add
from nrcdt.catalogue.intake import Settings, prepare
from nrcdt.catalogue.ranking import Search, query_of
from nrcdt.catalogue.store import Store
from nrcdt.catalogue.synthetic import drawn, uid_of
from nrcdt.catalogue.workers import Workers
from nrcdt.datasets import distorted, watermarks
from nrcdt.tables import markdown_table
from timing import Stopwatch, seconds

REPEATS = 7
N_ORIGINALS = 300
# Features of marks made up from one original differ as those of different drawings of one motif do.
SPREAD = 0.1
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def timed(action, repeats):
    """Times of an action in milliseconds, after one that does not count."""
    action()
    times = [1e3 * seconds(action) for _ in range(repeats)]
    return {"median_ms": float(np.median(times)), "worst_ms": float(max(times)), "repeats": repeats}


def generate(path, n_marks, pictures=True):
    """A catalogue of any size, with or without pictures: those of a million marks take 10 GB.

    The first 300 marks are bent and distorted drawings. More than that share their pictures, and have features near
    theirs: enough to measure speed on, not to be looked at.
    """
    rng = np.random.default_rng(0)
    originals = list(islice(drawn(rng), min(n_marks, N_ORIGINALS)))
    with Store(path, create=True) as catalogue, catalogue.transaction():
        for n in range(n_marks):
            record = originals[n % len(originals)]
            catalogue.put(blurred(record, n, rng, pictures) if n >= len(originals) or not pictures else record)


def blurred(record, n, rng, pictures):
    noise = 1 + SPREAD * rng.standard_normal(len(record.features), dtype=np.float32)
    mark = record.mark._replace(uid=uid_of(n), name=f"{record.mark.motif} {n + 1}", reference=f"S{n + 1:05}")
    record = record._replace(mark=mark, features=record.features * noise)
    return record if pictures else record._replace(ink=b"", preview=b"")


@contextmanager
def served(path):
    command = [sys.executable, "-m", "nrcdt", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield re.search(r"http://\S+", server.stdout.readline())[0]
        finally:
            server.terminate()


def ask(client, data):
    answer = client.post("/query", files={"picture": ("photo.jpg", data, "image/jpeg")}, follow_redirects=True)
    answer.raise_for_status()
    assert "overlap" in answer.text.lower()


def through_the_server(path, data, repeats):
    import httpx  # the documentation makes tables with this file, and does without

    with served(path) as address:
        headers = {"Origin": address.rstrip("/")}
        with httpx.Client(base_url=address, headers=headers, timeout=300) as client:
            return timed(lambda: ask(client, data), repeats), first_paint(address)


def first_paint(address):
    """Milliseconds until Chromium shows something, in the middle of several visits; None where there is no browser.

    Measured in a tab that has been open for a second, and in one that is just being opened, when the browser is still
    busy starting its processes.
    """
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        return None
    paints = {"open_tab": [], "new_tab": []}
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=browser) as chromium:
        for _ in range(9):
            for kind, seconds in (("open_tab", 1), ("new_tab", 0)):
                page = chromium.new_page()
                time.sleep(seconds)
                page.goto(address)
                while (paint := page.evaluate(PAINT)) is None:
                    time.sleep(0.05)
                paints[kind].append(paint)
                page.close()
    return {kind: float(np.median(times)) for kind, times in paints.items()}


def search_alone(path, data, repeats, n_registered):
    with Store(path, readonly=True) as catalogue:
        with Stopwatch() as watch:
            search = Search(catalogue)
            search.index.held()
        query = query_of(prepare(data))
        found = timed(lambda: search.query(query, n_registered=n_registered), repeats)
    return found | {"loading_s": watch.seconds}


def cold_query(path, data, folder):
    (folder / "photo.jpg").write_bytes(data)
    command = [sys.executable, "-m", "nrcdt", "catalogue", "query", str(path), str(folder / "photo.jpg")]
    return seconds(partial(subprocess.run, command, check=True, capture_output=True))


def adding(folder, n_drawings):
    """Line drawings of 256 x 256 added per second by one process, read, cleaned, described and stored."""
    drawings, names = watermarks(16)
    copies, labels = distorted(drawings, n_drawings // 16 + 1, random_state=0, shift=(-5, 5))
    for n, (copy, label) in enumerate(zip(copies[:n_drawings], labels[:n_drawings], strict=True)):
        motif = folder / "scans" / names[label]
        motif.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.rint(255 * (1 - copy)).astype(np.uint8)).save(motif / f"{n}.png")
    rates = {}
    for name, settings in (("drawings", Settings(ink=False)), ("photographs", Settings())):
        with Workers(1) as workers, Store(folder / f"{name}.db", create=True) as catalogue:
            workers.prepare((motif / f"{n}.png").read_bytes(), settings)
            with Stopwatch() as watch:
                count = add(catalogue, listed(folder / "scans"), settings, workers, report=print)
            rates[name] = count.added / watch.seconds
            assert count.added == n_drawings
    return rates


def measure(sizes, repeats, million):
    data = photo()
    results = {"machine": machine_facts(), "photo_bytes": len(data), "sizes": {}}
    results["prepare"] = timed(lambda: prepare(data), repeats)
    print("prepare", results["prepare"], flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results["added_per_second"] = adding(folder, 64 * repeats)
        print("added per second", results["added_per_second"], flush=True)
        for n_marks in sizes:
            path = folder / f"{n_marks}.db"
            generate(path, n_marks)
            server, paint = through_the_server(path, data, repeats)
            row = {"server": server, "first_paint_ms": paint, "megabytes": path.stat().st_size / 1e6}
            row["search"] = search_alone(path, data, repeats, 50)
            row["command_line_s"] = cold_query(path, data, folder)
            results["sizes"][n_marks] = row
            print(n_marks, row, flush=True)
            path.unlink()
        if million:
            path = folder / "million.db"
            generate(path, million, pictures=False)
            row = {"megabytes": path.stat().st_size / 1e6, "search": search_alone(path, data, repeats, 0)}
            results["sizes"][f"{million} (not registered)"] = row
            print(million, row, flush=True)
    return results


def table(results):
    prepared = results["prepare"]["median_ms"]
    rates = results["added_per_second"]
    rows = []
    for n_marks, row in results["sizes"].items():
        if "server" in row:
            server = row["server"]["median_ms"]
            rows.append((f"query through the server, {int(n_marks):,} marks", f"{server:.0f} ms", "under 1000 ms"))
            rows.append(("the same, cold command line", f"{row['command_line_s']:.1f} s", ""))
            if row["first_paint_ms"] is not None:
                paint = row["first_paint_ms"]
                rows.append(("first paint of the page in an open tab", f"{paint['open_tab']:.0f} ms", "under 300 ms"))
                rows.append(("the same, in a tab that is just being opened", f"{paint['new_tab']:.0f} ms", ""))
        else:
            total = row["search"]["median_ms"] + prepared
            rows.append((f"query among {n_marks} marks", f"{total:.0f} ms", "under 3000 ms"))
            rows.append(("loading its features, once", f"{row['search']['loading_s']:.1f} s", ""))
    rows.append(("of that, two megapixels to ink and features", f"{prepared:.0f} ms", ""))
    rows.append(("clean drawings added per second and core", f"{rates['drawings']:.0f}", "at least 50"))
    rows.append(("the same, cleaned like photographs", f"{rates['photographs']:.0f}", "at least 50"))
    return markdown_table(["what", "measured", "wanted"], rows) + "\n"


def written(results):
    """The text that the documentation includes, by file name."""
    return {"catalogue_table.md": table(results)}


def main(out, quick):
    sizes, million, repeats = ([8], 16, 1) if quick else ([1000, 100_000], 1_000_000, REPEATS)
    results = measure(sizes, repeats, million)
    write(out, {"catalogue.json": results, **written(results)})
    print(table(results))


if __name__ == "__main__":
    arguments = command_line(__doc__, Path("nrcdt-bench")).parse_args()
    main(arguments.out, arguments.quick)
