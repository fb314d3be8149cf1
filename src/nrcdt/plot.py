"""Pictures of what happens on the way: sinograms, quantile functions, features. They need matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .arrays import Array
from .errors import InputError, optional_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by people of every colour vision; styles take over when they run out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C7A00")
STYLES = ("-", "--", ":", "-.")
SINOGRAM_MAP = "Blues"
QUANTILE_MAP = "cividis"


def _axes(ax: Axes | None) -> Axes:
    """Return the axes given, or new ones."""
    plt = optional_package("matplotlib.pyplot", "plots", "matplotlib", "plot")
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def sinogram(
    image: Any, ax: Axes | None = None, *, n_directions: int = 360, n_radii: int | Literal["auto"] = 256
) -> Axes:
    """Show the Radon transform of an image: one column per direction, one row per strip.

    Parameters
    ----------
    image : array of shape (height, width)
    ax : axes to draw on; new ones if left out
    n_directions : directions, equispaced on the circle
    n_radii : strips across [-1, 1], or "auto" for strips of about a third of a pixel

    Returns
    -------
    the axes
    """
    axes = _axes(ax)
    from .spaces.image import radon

    strips = radon(image, n_directions, n_radii=n_radii)
    extent = (*_around(len(strips)), -1, 1)
    axes.imshow(strips.T, origin="lower", aspect="auto", extent=extent, cmap=SINOGRAM_MAP)
    _label_directions(axes)
    axes.set_ylabel("radius")
    return axes


def _around(n_directions: int) -> tuple[float, float]:
    """Where pictures with a column per direction begin and end: directions are in the middle of their columns."""
    half = 180 / n_directions
    return -half, 360 - half


def quantile_surface(quantiles: Any, ax: Axes | None = None, *, levels: Any = None) -> Axes:
    """Show the quantile functions of one measure over directions and levels.

    Parameters
    ----------
    quantiles : array of shape (n_directions, n_quantiles)
        One sample of `RCDT.quantiles` or `NRCDT.quantiles`, its directions equispaced on the circle.
    ax : axes to draw on; new ones if left out
        On axes with ``projection="3d"`` a surface is drawn, otherwise a picture with a colour bar.
    levels : array of shape (n_quantiles,), optional
        Where they are not even: the `levels_` of an estimator with another reference, or with `trim`.

    Returns
    -------
    the axes
    """
    array = np.asarray(quantiles)
    if array.ndim != 2:
        raise InputError("quantiles", "have shape (n_directions, n_quantiles)", array.shape, "Pass a single sample.")
    places, directions = _levels(array, levels), 360 * np.arange(len(array)) / len(array)
    axes = _axes(ax)
    if getattr(axes, "name", "") == "3d":
        solid: Any = axes
        solid.plot_surface(directions[:, np.newaxis], places[np.newaxis], array, cmap=QUANTILE_MAP, linewidth=0)
        solid.set_zlabel("quantile")
    else:
        sides = np.linspace(*_around(len(array)), len(array) + 1)
        ends = np.concatenate([[0.0], (places[:-1] + places[1:]) / 2, [1.0]])
        picture = axes.pcolormesh(sides, ends, array.T, cmap=QUANTILE_MAP, rasterized=True)
        axes.figure.colorbar(picture, ax=axes, label="quantile")
    _label_directions(axes)
    axes.set_ylabel("level")
    return axes


def _label_directions(axes: Any) -> None:
    axes.set_xlabel("direction in degrees")
    axes.set_xticks(range(0, 360, 90))


def _levels(rows: Array, given: Any) -> Array:
    """Return the levels of the columns: those given, or even ones."""
    if given is None:
        return np.asarray(np.arange(1, rows.shape[1] + 1) / (rows.shape[1] + 1))
    levels = np.asarray(given)
    if levels.shape != rows.shape[1:]:
        raise InputError(
            "levels", f"be one per column, {rows.shape[1]}", f"shape {levels.shape}", "Pass the `levels_` in use."
        )
    return levels


def feature_curves(
    features: Any,
    labels: Any,
    names: Sequence[str] | None = None,
    templates: Any = None,
    ax: Axes | None = None,
    *,
    levels: Any = None,
) -> Axes:
    """Show features of one aggregation as functions of the level: samples thin, templates thick, a colour per class.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    labels : array of shape (n_samples,)
    names : one per class, in the order of the sorted labels; the labels themselves if left out
    templates : array of shape (n_classes, n_features), in the same order, optional
    ax : axes to draw on; new ones if left out
    levels : as for `quantile_surface`

    Returns
    -------
    the axes
    """
    features, labels = np.asarray(features), np.asarray(labels)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise InputError(
            "labels", "be one per row of features", f"{labels.shape} for {features.shape}", "Pass matching arrays."
        )
    classes = np.unique(labels)
    names = [str(label) for label in classes] if names is None else list(names)
    _check_classes(names, "names", len(classes))
    if templates is not None:
        _check_classes(templates, "templates", len(classes))
        templates = np.asarray(templates)
        if templates.shape[1:] != features.shape[1:]:
            raise InputError(
                "templates",
                f"have as many features as the samples, {features.shape[1]}",
                f"shape {templates.shape}",
                "Transform both with the same settings.",
            )
    places, axes = _levels(features, levels), _axes(ax)
    for i, label in enumerate(classes):
        look: dict[str, Any] = {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": STYLES[i // len(COLOURS) % len(STYLES)],
        }
        own = features[labels == label]
        lines = [] if templates is None else axes.plot(places, templates[i], linewidth=3, alpha=0.45, **look)
        lines += axes.plot(places, own.T, linewidth=0.7, **look)
        lines[0].set_label(names[i])
    axes.set_xlabel("level")
    axes.set_ylabel("feature")
    legend = axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    for handle in filter(None, legend.legend_handles):
        handle.set(alpha=1, linewidth=2)
    return axes


def _check_classes(given: Any, name: str, n_classes: int) -> None:
    if len(given) != n_classes:
        raise InputError(name, f"be one per class, {n_classes}", len(given), "Leave out unused classes.")
