"""Features of small measures in every space, with every setting: what a redesign has to meet.

`python tests/features_fixture.py` writes them to `features.npz` beside this file; those that still agree are kept.
Do that only where features are meant to change, and say so in the changelog.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arc_space import ARC
from nrcdt import AGGREGATIONS, NORMALIZATIONS, NRCDT, RCDT, SPACES
from nrcdt.aggregate import angular_quantiles, bispectrum, spectrum
from nrcdt.spaces import manifold_space

STORED = Path(__file__).with_name("features.npz")
SIZES = {"n_directions": 8, "n_quantiles": 7}
HOLDS_FLOAT32 = ("image_dtypes", "euclidean_mixed", "signal_ragged")


def batches():
    """Measures by name, with the space that they live in."""
    rng = np.random.default_rng(18)
    images = rng.random((3, 9, 7)) * (rng.random((3, 9, 7)) < 0.6)
    clouds, weights = rng.exponential(size=(3, 40, 2)), rng.random((3, 40))
    solids = rng.exponential(size=(3, 30, 3))
    quaternions = rng.normal(size=(3, 30, 4))
    quaternions /= np.linalg.norm(quaternions, axis=2, keepdims=True)
    sphere = solids / np.linalg.norm(solids, axis=2, keepdims=True)
    arcs = clouds / np.linalg.norm(clouds, axis=2, keepdims=True)
    signals = rng.random((3, 12))
    ragged = [rng.exponential(size=(n, 2)) for n in (20, 33, 700)]
    return {
        "image": ("image", images),
        "image_rows": ("image", images[:, :7].reshape(3, -1)),
        "image_list": ("image", [images[0], images[1, :5], rng.random((20, 30))]),
        "image_float32": ("image", images.astype(np.float32)),
        "image_uint8": ("image", (images * 255).astype(np.uint8)),
        "image_dtypes": ("image", [images[0], images[1].astype(np.float32), (images[2] * 255).astype(np.int16)]),
        "euclidean": ("euclidean", clouds),
        "euclidean_ragged": ("euclidean", ragged),
        "euclidean_weighted": ("euclidean", list(zip(clouds, weights, strict=True))),
        "euclidean_mixed": ("euclidean", [clouds[0], (clouds[1], weights[1]), ragged[0].astype(np.float32)]),
        "euclidean_float32": ("euclidean", clouds.astype(np.float32)),
        "euclidean_3": ("euclidean", solids),
        "circular": ("circular", clouds),
        "circular_3": ("circular", list(zip(solids, weights[:, :30], strict=True))),
        "rotation": ("rotation", quaternions),
        "rotation_float32": ("rotation", quaternions.astype(np.float32)),
        "sphere_vertical": ("sphere_vertical", sphere),
        "sphere_parallel": ("sphere_parallel", list(zip(sphere, weights[:, :30], strict=True))),
        "hyperbolic_horospherical": ("hyperbolic_horospherical", 0.4 * arcs * clouds / clouds.max()),
        "hyperbolic_geodesic": ("hyperbolic_geodesic", 0.4 * arcs * clouds / clouds.max()),
        "rotation_cubic": ("rotation_cubic", quaternions),
        "rotation_hexagonal": ("rotation_hexagonal", quaternions),
        "signal": ("signal", signals),
        "signal_ragged": ("signal", [signals[0], signals[1, :7], signals[2].astype(np.float32)]),
        "arc": (ARC, arcs),
        "own": ((_heights, np.array([0.5, 1.0, 2.0])), clouds),
        "manifold": (manifold_space(*_strip(), 6), rng.random((3, 45))),
    }


def _heights(points, directions):
    return directions[:, np.newaxis] * points[:, 0] + points[:, 1] ** 2


def _strip():
    x, y = (part.ravel() for part in np.meshgrid(np.arange(9.0), np.arange(5.0)))
    corner = np.flatnonzero((x < 8) & (y < 4))[:, np.newaxis]
    faces = np.vstack([corner + triangle for triangle in ([0, 1, 9], [1, 10, 9])])
    return np.stack([x, y * 1.1, 0 * x], axis=1), faces


def settings_of(space, measures):
    """Keyword arguments for `RCDT` and `NRCDT` that a batch of a space can have, by name."""
    linear = isinstance(space, str) and SPACES[space].linear
    frames = ["fixed", "whitened"] if linear else ["fixed"]
    quantiles = {f"{frame}-{how}": {"frame": frame, "normalize": how} for frame in frames for how in NORMALIZATIONS}
    quantiles["norm"] = {"reference": "norm"}
    quantiles["trim"] = {"trim": 0.1, "normalize": "standardize"}
    aggregations = {
        **{name: name for name in AGGREGATIONS},
        "pair": (np.abs, np.median),
        "levels": angular_quantiles([0.1, 0.6]),
        "spectrum_3": spectrum(3, [1, 0.5, 2, 1]),
        "bispectrum_3": bispectrum(3),
        "list": ["mean", "max", (np.abs, np.median)],
    }
    features = {
        f"{frame}-{how}-{name}": {"frame": frame, "normalize": how, "aggregate": aggregate}
        for frame in frames
        for how, some in (("standardize", aggregations), ("global", ["max", "abs_min", "tv", "list"]))
        for name, aggregate in ((one, aggregations[one]) for one in some)
    }
    return quantiles, features


def made(space, measures):
    """All features of a batch that its space has, by the name of the settings."""
    quantiles, features = settings_of(space, measures)
    found = {}
    for name, settings in quantiles.items():
        found[name] = RCDT(space, **SIZES, **settings).fit(measures).quantiles(measures)
    for name, settings in features.items():
        try:
            found[name] = NRCDT(space, **SIZES, **settings).fit_transform(measures)
        except ValueError as error:  # aggregations that want other directions
            if not str(error).startswith("aggregate "):
                raise
    if space == "image":
        found["radii"] = RCDT(n_radii=31, n_directions=5, n_quantiles=7).fit(measures).quantiles(measures)
        weighted = (np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, -1.0]]), [1, 2, 3, 4])
        for name in ("mean", "std", "max"):
            model = NRCDT(directions=weighted, n_quantiles=7, aggregate=name, normalize="global")
            found[f"weighted-{name}"] = model.fit_transform(measures)
    return found


def tolerance(key, array):
    """How far features may be from those that are stored under a key, relative to the largest of them."""
    return 1e-5 if array.dtype == np.float32 or key.partition("/")[0] in HOLDS_FLOAT32 else 1e-12


def agrees(key, found, array):
    """Tell whether features are those that are stored."""
    if (found.dtype, found.shape) != (array.dtype, array.shape):
        return False
    near = tolerance(key, array)
    return np.allclose(found, array, rtol=near, atol=near * np.abs(array).max())


if __name__ == "__main__":
    everything = {f"{batch}/{name}": array for batch, one in batches().items() for name, array in made(*one).items()}
    with np.load(STORED) as arrays:
        kept = {key: arrays[key] for key in everything.keys() & arrays.keys()}
    kept = {key: array for key, array in kept.items() if agrees(key, everything[key], array)}
    np.savez_compressed(STORED, **{**everything, **kept})
    print(f"{len(everything)} arrays, {len(kept)} of them as before, {STORED.stat().st_size / 1e3:.0f} kB in {STORED}")
