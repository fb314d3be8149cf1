"""Catalogues for tests: pictures of synthetic marks, and catalogues made of them."""

import numpy as np
from PIL import Image

from nrcdt.catalogue.importers import Entry
from nrcdt.catalogue.ingest import record_of
from nrcdt.catalogue.intake import Settings, prepare
from nrcdt.catalogue.ranking import write_ink
from nrcdt.catalogue.store import Judgement, Store
from nrcdt.datasets import distorted, watermarks

DRAWING = Settings(ink=False)
SIZE = 128


def marks(n, n_copies=1, size=SIZE):
    """Pairs (name, image): distorted copies of different drawings; the first of each is the drawing itself."""
    drawings, names = watermarks(n, size=size)
    copies, labels = distorted(drawings, n_copies, random_state=1, shift=(-3, 3))
    found = [(f"{name}-{0}", drawing) for name, drawing in zip(names, drawings, strict=True)]
    for n_before, (copy, label) in enumerate(zip(copies, labels, strict=True)):
        found.append((f"{names[label]}-{n_before % n_copies + 1}", copy))
    return sorted(found, key=lambda pair: pair[0])


def paper(image):
    """Black ink on white paper, eight bits."""
    return np.rint(255 * (1 - np.clip(image, 0, 1))).astype(np.uint8)


def write_folder(folder, pairs):
    """Pictures in folders named after their motifs."""
    for name, image in pairs:
        motif = folder / name.rsplit("-", 1)[0].replace(" ", "_").replace("'", "")
        motif.mkdir(parents=True, exist_ok=True)
        Image.fromarray(paper(image)).save(motif / f"{name.replace(' ', '_')}.png")
    return folder


def make(path, pairs, **metadata):
    """A catalogue of marks, without worker processes."""
    catalogue = Store(path, create=True)
    with catalogue.transaction():
        for name, image in pairs:
            entry = Entry(path.parent / f"{name}.png", name, name.rsplit("-", 1)[0], **metadata)
            catalogue.put(record_of(prepare(write_ink(paper(image)), DRAWING), DRAWING, entry))
    return catalogue


def judgement(a, b):
    """What somebody says about two marks."""
    return Judgement(a, b, "similar", "", "2024-01-01")
