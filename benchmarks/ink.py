"""Measure the way from photograph to ink: ``python ink.py [--out DIR] [--quick] [--data DIR] [--rows NAME ...]``.

Thirty motifs, one clean template each: those of nrcdt.datasets and fourteen more below; with data also thirty tracings.
Every motif goes through random affine maps, then through one disturbance of `nrcdt.datasets.photograph`. The nearest
template by features names the picture: raw, and after `find_ink`. Verified: the best five are registered onto the ink,
and the largest overlap wins. Seeds are not those the room was built with. Times are processor times of one thread.
Writes ink.json and ink_table.md.
"""

from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy.ndimage import zoom
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from machine import command_line, write
from nrcdt import NRCDT
from nrcdt.datasets import data_folder, distorted, photograph, watermarks
from nrcdt.datasets.affine import eight_bits
from nrcdt.datasets.synthetic import MOTIFS, arc, both, circle, curve, draw, line, star
from nrcdt.files import read_picture
from nrcdt.ink import find_ink
from nrcdt.registration import register
from nrcdt.tables import markdown_table
from timing import Stopwatch

SEEDS = (9001, 9002, 9003, 9004, 9005)
SIZES = (256, 1024, 2048, 3000)
ANY_TILT = (-90.0, 90.0)
# Row of the table: disturbance, tilt of the sheet, what is wanted of the nearest template and of the verified one.
ROWS = {
    "clean": ("clean", None, None, None),
    "veil": ("veil", None, 0.98, None),
    "uneven light": ("uneven_light", None, 0.98, None),
    "noise 0.1": ("noise", None, 0.98, None),
    "noise 0.2": ("strong_noise", None, None, None),
    "low contrast, inverted": ("inverted", None, 0.98, None),
    "specks": ("specks", None, 0.98, None),
    "gaps": ("gaps", None, 0.95, None),
    "laid lines": ("laid_lines", None, 0.98, None),
    "chain lines": ("chain_lines", None, 0.96, None),
    "all together": ("all", None, 0.92, 0.96),
    "laid lines, any tilt": ("laid_lines", ANY_TILT, 0.98, None),
    "chain lines, any tilt": ("chain_lines", ANY_TILT, 0.96, None),
    "all together, any tilt": ("all", ANY_TILT, 0.92, 0.96),
}
VERIFIED = ("specks", "gaps", "chain lines", "all together", "all together, any tilt")
MORE_MOTIFS = {
    "cross": [line(0, -0.9, 0, 0.9), line(-0.6, -0.4, 0.6, -0.4), line(-0.35, 0.9, 0.35, 0.9), circle(0, -0.4, 0.2)],
    "heart": [
        *both(curve(0, -0.35, 0.25, -0.75, 0.7, -0.65, 0.75, -0.1, 0.3, 0.5, 0, 0.9)),
        line(-0.9, 0.35, 0.9, -0.3),
        line(0.65, -0.4, 0.9, -0.3, 0.8, -0.05),
    ],
    "fish": [
        curve(-0.9, 0, -0.5, -0.4, 0.1, -0.4, 0.6, 0, 0.9, 0.35),
        curve(-0.9, 0, -0.5, 0.4, 0.1, 0.4, 0.6, 0, 0.9, -0.35),
        line(0.9, -0.35, 0.9, 0.35),
        circle(-0.6, -0.08, 0.07),
        curve(-0.35, -0.3, -0.25, 0, -0.35, 0.3),
    ],
    "ladder": [
        line(-0.4, -0.95, -0.55, 0.95),
        line(0.4, -0.95, 0.55, 0.95),
        *(line(-0.48 - 0.08 * y, y, 0.48 + 0.08 * y, y) for y in (-0.7, -0.35, 0, 0.35, 0.7)),
        *star(0, 0, 0.25, 3),
    ],
    "sun": [circle(0, 0, 0.45), *star(0, 0, 0.95, 7), circle(-0.15, -0.1, 0.06), arc(0, 0.1, 0.2, 0.12, 0, 180)],
    "tree": [
        line(0, 0.95, 0, -0.2),
        *(arc(x, y, 0.28, 0.25) for x, y in ((0, -0.65), (-0.4, -0.3), (0.4, -0.3))),
        line(0, 0.35, -0.4, -0.05),
        line(0, 0.15, 0.4, -0.05),
        line(-0.5, 0.95, 0.5, 0.95),
    ],
    "wheel": [circle(0, 0, 0.85), circle(0, 0, 0.2), *star(0, 0, 0.85, 5), line(0, 0.85, 0.5, 1)],
    "ship": [
        curve(-0.9, 0.35, -0.5, 0.75, 0.4, 0.75, 0.9, 0.25),
        line(-0.9, 0.35, 0.9, 0.25),
        line(0, 0.3, 0, -0.95),
        curve(0, -0.85, 0.5, -0.5, 0.55, -0.1, 0, 0.15),
        line(0, -0.95, -0.35, -0.85, 0, -0.75),
    ],
    "horn": [
        curve(-0.85, -0.3, -0.6, 0.3, 0, 0.5, 0.55, 0.3, 0.8, -0.25),
        curve(-0.45, -0.45, -0.3, 0, 0, 0.15, 0.35, 0.05, 0.7, -0.3),
        line(-0.85, -0.3, -0.45, -0.45),
        line(0.8, -0.25, 0.7, -0.3),
        curve(-0.35, -0.05, 0, -0.75, 0.45, -0.05),
    ],
    "snail": [
        curve(
            0.1,
            0.1,
            0.25,
            -0.05,
            0.1,
            -0.25,
            -0.2,
            -0.2,
            -0.35,
            0.1,
            -0.1,
            0.4,
            0.35,
            0.35,
            0.55,
            0,
            0.4,
            -0.45,
            -0.1,
            -0.6,
        ),
        curve(-0.1, -0.6, -0.6, -0.4, -0.75, 0.1, -0.6, 0.6),
        line(-0.9, 0.65, 0.85, 0.65),
        curve(0.85, 0.65, 0.95, 0.3, 0.85, 0.05),
    ],
    "crossbow": [
        curve(-0.85, 0, -0.5, -0.45, 0, -0.6, 0.5, -0.45, 0.85, 0),
        line(-0.85, 0, 0.85, 0),
        line(0, -0.9, 0, 0.95),
        line(-0.15, -0.7, 0, -0.9, 0.15, -0.7),
        line(-0.2, 0.95, 0.2, 0.95),
    ],
    "banner": [
        line(-0.7, -0.95, -0.7, 0.95),
        line(-0.7, -0.85, 0.8, -0.85, 0.45, -0.4, 0.8, 0.05, -0.7, 0.05),
        circle(-0.15, -0.4, 0.25),
        *star(-0.15, -0.4, 0.2, 3),
    ],
    "cup": [
        *both(curve(0.55, -0.9, 0.5, -0.3, 0.2, 0, 0.1, 0.2)),
        line(-0.55, -0.9, 0.55, -0.9),
        *both(line(0.1, 0.2, 0.1, 0.6, 0.45, 0.9)),
        line(-0.45, 0.9, 0.45, 0.9),
        line(-0.5, -0.5, 0.5, -0.5),
    ],
    "serpent": [
        curve(-0.6, 0.9, 0.1, 0.75, 0.6, 0.5, 0.1, 0.25, -0.5, 0, -0.1, -0.3, 0.4, -0.5, 0, -0.85, -0.35, -0.7),
        line(-0.35, -0.7, -0.65, -0.85),
        line(-0.35, -0.7, -0.7, -0.6),
        *star(0.6, -0.75, 0.2, 5),
    ],
}


def motifs():
    names = [*MOTIFS, *MORE_MOTIFS]
    drawn = np.concatenate([watermarks(len(MOTIFS))[0], [eight_bits(draw(one, 256)) for one in MORE_MOTIFS.values()]])
    return drawn[:30], names[:30]


def tracings(folder):
    """Thirty tracings, spread over all of them, as find_ink sees them."""
    paths = sorted(Path(folder).rglob("*.png"))
    chosen = np.linspace(0, len(paths) - 1, 30).round().astype(int)
    return np.stack([eight_bits(find_ink(read_picture(paths[one])[0]).image) for one in chosen])


class Templates:
    def __init__(self, images):
        self.images = images
        self.features = NRCDT(frame="whitened", aggregate=["tv", "spectrum"], n_directions=128, n_quantiles=128)
        self.known = self.features.fit_transform(images)

    def nearest(self, images, n=1):
        """Positions of the nearest templates; images without ink get none."""
        filled = [image if image.any() else np.ones_like(image) for image in images]
        return np.argsort(cdist(self.features.transform(filled), self.known), axis=1)[:, :n]

    def verified(self, image, best):
        return best[np.argmax([register(self.images[one], image, refine=True).overlap for one in best])]


def pictures(templates, disturbance, tilt, seed, n_pictures):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.resize(np.arange(len(templates)), n_pictures))
    copies = np.concatenate([distorted(templates[one : one + 1], 1, random_state=rng)[0] for one in labels])
    if disturbance == "clean":
        return copies, labels
    return photograph(copies, disturbance, random_state=rng, **({} if tilt is None else {"tilt": tilt})), labels


def inked(picture):
    """Ink and processor time; an empty image where nothing was found."""
    image = np.zeros(picture.shape, np.float32)
    with Stopwatch() as watch, suppress(ValueError):
        image = find_ink(picture).image
    return image, watch.busy


def measure(name, templates, seeds, n_pictures):
    disturbance, tilt, wanted, wanted_verified = ROWS[name]
    raw, after, verified, seconds = [], [], [], []
    for seed in seeds:
        shown, labels = pictures(templates.images, disturbance, tilt, seed, n_pictures)
        images, times = zip(*map(inked, shown), strict=True)
        best = templates.nearest(images, 5)
        if seed == seeds[0]:  # features of dense pictures take long, and chance needs no second seed
            raw.append(np.mean(templates.nearest(shown)[:, 0] == labels))
        after.append(np.mean(best[:, 0] == labels))
        seconds += times
        if name in VERIFIED:
            found = [templates.verified(*pair) if pair[0].any() else -1 for pair in zip(images, best, strict=True)]
            verified.append(np.mean(np.array(found) == labels))
    return {
        "disturbance": name,
        "pictures": len(seeds) * n_pictures,
        "raw": round(float(np.mean(raw)), 3),
        "after": round(float(np.mean(after)), 3),
        "worst seed": round(float(np.min(after)), 3),
        "wanted": wanted or "",
        "verified": round(float(np.mean(verified)), 3) if verified else "",
        "wanted verified": wanted_verified or "",
        "ms, median": round(1000 * float(np.median(seconds)), 1),
    }


def table(results):
    return markdown_table(list(results[0]), [list(map(str, result.values())) for result in results]) + "\n"


def written(found):
    """The text that the documentation includes, by file name."""
    parts = [f"{name}, {n} templates\n\n{table(found[name])}\n" for name, n in found["templates"].items()]
    parts += [table(found["sizes"])] if "sizes" in found else []
    return {"ink_table.md": "".join(parts)}


def sizes(sides):
    """Processor times for larger pictures."""
    drawing = motifs()[0][:1]
    for side in sides:
        large = np.clip(zoom(drawing, (1, side / 256, side / 256), order=1), 0, 1)
        picture = photograph(large, "laid_lines", random_state=1)[0]
        times = [inked(picture)[1] for _ in range(3)]
        yield {
            "picture": f"{side} x {side}",
            "megapixels": round(side**2 / 1e6, 2),
            "ms": round(1000 * np.median(times), 1),
        }


def main(out, quick, data, rows, n_pictures):
    seeds, n_pictures, n_templates = (SEEDS[:1], 4, 6) if quick else (SEEDS, n_pictures, 30)
    sets = {"motifs": motifs()[0][:n_templates]}
    if data and (Path(data) / "watermarks").is_dir():
        sets["tracings"] = tracings(Path(data) / "watermarks")[:n_templates]
    results = {"templates": {name: len(images) for name, images in sets.items()}}
    for name, images in sets.items():
        templates = Templates(images)
        inked(images[0])  # compiled kernels are loaded
        results[name] = []
        for row in rows or ROWS:
            results[name].append(measure(row, templates, seeds, n_pictures))
            print(name, results[name][-1], flush=True)
    if not rows:
        results["sizes"] = list(sizes((256,) if quick else SIZES))
    write(out, {"ink.json": results, **written(results)})


if __name__ == "__main__":
    parser = command_line(__doc__, Path("nrcdt-ink"))
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--rows", nargs="*", choices=list(ROWS))
    parser.add_argument("--pictures", type=int, default=240, help="per row and seed")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        main(arguments.out, arguments.quick, arguments.data, arguments.rows, arguments.pictures)
