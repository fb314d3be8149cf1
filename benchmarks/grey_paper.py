"""Accuracy on paper that is not zero: ``python grey_paper.py [--out DIR] [--quick]``.

Nearest template, one clean template per class: synthetic watermarks under random affine maps, then a veil, light or a
file format over them. Without and with `nrcdt.ink.PaperRemover`. Writes grey_paper.json and grey_paper_table.md.
"""

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from machine import command_line, write
from nrcdt import NRCDT
from nrcdt.datasets import distorted, watermarks
from nrcdt.ink import PaperRemover
from nrcdt.measures import PaperWarning
from nrcdt.measures.paper import mass_on_paper
from nrcdt.tables import markdown_table

SIZE = 128
METHODS = {"max": {}, "tv, whitened": {"aggregate": "tv", "frame": "whitened"}}
SLOPE = np.linspace(0, 1, SIZE)


def veiled(images, grey):
    return (1 - grey) * images + grey


def noisy(images, grey, deviation):
    noise = np.random.default_rng(0).normal(size=images.shape)
    return np.clip(veiled(images, grey) + deviation * noise, 0, 1)


def as_jpeg(images):
    """Eight bits, compressed: small waves around every stroke."""
    read = []
    for image in images:
        held = io.BytesIO()
        Image.fromarray(np.rint(255 * image).astype(np.uint8)).save(held, "JPEG", quality=75)
        read.append(np.asarray(Image.open(held)))
    return np.stack(read)


SHEETS = {
    "clean": lambda ink: ink,
    "veil of 0.5 %": lambda ink: veiled(ink, 0.005),
    "veil of 2 %": lambda ink: veiled(ink, 0.02),
    "veil of 5 %": lambda ink: veiled(ink, 0.05),
    "veil of 2 %, noise of 1 %": lambda ink: noisy(ink, 0.02, 0.01),
    "noise of 2 %, cut off at 0": lambda ink: noisy(ink, 0, 0.02),
    "veil that grows from 0 to 5 %": lambda ink: ink + 0.05 * SLOPE * (1 - ink),
    "inverted": lambda ink: 1 - ink,
    "scan in eight bits, dark ink on grey": lambda ink: np.rint(210 - 150 * ink).astype(np.uint8),
    "JPEG, bright ink on black": as_jpeg,
    "JPEG, dark ink on white": lambda ink: as_jpeg(1 - ink),
}


def measure(sheet, model, known, copies, labels):
    """Shares that are recognised as they are and on blank paper, and of pictures that are warned of."""
    shown = SHEETS[sheet](copies)
    inks = PaperRemover(n_jobs=-1).transform(shown)
    shares = {}
    for name, images in (("as it is", shown), ("after PaperRemover", inks)):
        found = pairwise_distances_argmin(model.transform(images), known)
        shares[name] = round(float(np.mean(found == labels)), 3)
    return shares | {"warned of": round(float(np.mean([bool(mass_on_paper(image)) for image in shown])), 3)}


def written(found):
    """The text that the documentation includes, by file name."""
    methods = list(found["accuracy"])
    columns = [f"{method}, {when}" for method in methods for when in ("as it is", "after PaperRemover")]
    rows = []
    for sheet, first in found["accuracy"][methods[0]].items():
        shares = [found["accuracy"][method][sheet] for method in methods]
        cells = [f"{one[when]:.2f}" for one in shares for when in ("as it is", "after PaperRemover")]
        rows.append([sheet, *cells, f"{first['warned of']:.2f}"])
    note = f"{found['copies']} copies of {found['templates']} templates, {SIZE} x {SIZE} pixels.\n"
    return {"grey_paper_table.md": f"{markdown_table(['paper', *columns, 'warned of'], rows)}\n\n{note}"}


def main(out, quick):
    templates = watermarks(4 if quick else 16, size=SIZE)[0]
    copies, labels = distorted(templates, 1 if quick else 10, random_state=11, shift=(-8, 8))
    accuracy = {}
    with warnings.catch_warnings(action="ignore", category=PaperWarning), threadpool_limits(1):
        for name, settings in METHODS.items():
            model = NRCDT(n_jobs=-1, **settings)
            known = model.fit_transform(templates)
            accuracy[name] = {sheet: measure(sheet, model, known, copies, labels) for sheet in SHEETS}
    found = {"templates": len(templates), "copies": len(copies), "accuracy": accuracy}
    write(out, {"grey_paper.json": found, **written(found)})


if __name__ == "__main__":
    arguments = command_line(__doc__, Path("nrcdt-grey-paper")).parse_args()
    main(arguments.out, arguments.quick)
