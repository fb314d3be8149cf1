"""What is measured on: line drawings, dense ink, clouds of points, and a photograph."""

import io

import numpy as np

PEN = 2.5 / 256
PHOTO = (1224, 1632)


def polyline(seed):
    """Strokes in the unit square: a triangle, square, pentagon, hexagon or circle, and a zigzag across the page."""
    rng = np.random.default_rng(seed)
    n_corners = (3, 4, 5, 6, 48)[seed % 5]
    angles = 2 * np.pi * np.arange(n_corners + 1) / n_corners + rng.uniform(0, 2 * np.pi)
    circle_points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    outline = rng.uniform(0.25, 0.75, 2) + rng.uniform(0.09, 0.12) * circle_points
    zigzag = np.stack([np.linspace(0.1, 0.9, 4), rng.uniform(0.3, 0.7, 4)], axis=1)
    return [(line[i], line[i + 1]) for line in (outline, zigzag) for i in range(len(line) - 1)]


def draw(strokes, size):
    """Antialiased lines: a pixel is as dark as the pen covers it, by its distance to the nearest stroke."""
    place = (np.arange(size) + 0.5) / size
    nearest = np.full((size, size), np.inf)
    for start, stop in strokes:
        (dx, dy), (x, y) = stop - start, (place - start[0], place[:, np.newaxis] - start[1])
        share = np.clip((x * dx + y * dy) / (dx * dx + dy * dy), 0, 1)
        np.minimum(nearest, np.hypot(x - share * dx, y - share * dy), out=nearest)
    return np.clip((PEN / 2 - nearest) * size + 0.5, 0, 1)


def line_drawings(n, size):
    """Drawings with two per cent of ink."""
    return np.stack([draw(polyline(seed), size) for seed in range(n)])


def ink_share(images):
    return np.count_nonzero(images) / images.size


def random_ink(n_inked, size):
    rng = np.random.default_rng(0)
    image = np.zeros(size * size)
    image[rng.permutation(image.size)[:n_inked]] = 1 - rng.random(n_inked)
    return image.reshape(size, size)


def normal(rng, n):
    return rng.normal(size=(n, 3))


def torus(rng, n):
    u, v = rng.uniform(0, 2 * np.pi, (2, n))
    return np.stack([(2 + np.cos(v)) * np.cos(u), (2 + np.cos(v)) * np.sin(u), np.sin(v)], axis=1)


def outliers(rng, n):
    """A normal cloud, but one point in a thousand is a thousand times as far away."""
    return normal(rng, n) * np.where(np.arange(n) % 1000 == 0, 1000, 1)[:, np.newaxis]


def clusters(rng, n):
    """Ten normal clouds, each a sixtieth as wide as their centres are apart."""
    return 0.05 * normal(rng, n) + 3 * normal(rng, 10)[np.arange(n) % 10]


def photo():
    """A simulated photograph of two megapixels, as JPEG."""
    from PIL import Image

    from nrcdt.datasets import distorted, photograph, watermarks

    drawing = watermarks(3)[0][2]
    copy = distorted(drawing[np.newaxis], 1, random_state=2, shift=(-5, 5))[0][0]
    sheet = np.zeros(PHOTO)
    large = Image.fromarray(copy).resize((1200, 1200), Image.Resampling.BICUBIC)
    sheet[12:1212, 200:1400] = np.clip(np.asarray(large), 0, 1)
    picture = photograph(sheet[np.newaxis], "all", random_state=2)[0]
    file = io.BytesIO()
    Image.fromarray(np.rint(255 * picture).astype(np.uint8)).save(file, "JPEG", quality=90)
    return file.getvalue()
