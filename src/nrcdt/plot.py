"""Pictures of what happens on the way: sinograms, quantile functions, features. They need matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .slices import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by people of every colour vision; styles take over when they run out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C7A00")
STYLES = ("-", "--", ":", "-.")
SINOGRAM_MAP = "Blues"
QUANTILE_MAP = "cividis"


def _axes(ax: Axes | None) -> Axes:
    """Return the axes given, or new ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots must have matplotlib installed; got none. Run pip install 'nrcdt[plot]'.") from error
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
    axes.imshow(strips.T, origin="lower", aspect="auto", extent=(0, 360, -1, 1), cmap=SINOGRAM_MAP)
    _label_directions(axes)
    axes.set_ylabel("radius")
    return axes


def quantile_surface(quantiles: Any, ax: Axes | None = None) -> Axes:
    """Show the quantile functions of one measure over directions and levels.

    Parameters
    ----------
    quantiles : array of shape (n_directions, n_quantiles)
        One sample of `RCDT.quantiles` or `NRCDT.quantiles`, its directions equispaced on the circle.
    ax : axes to draw on; new ones if left out
        On axes with ``projection="3d"`` a surface is drawn, otherwise a picture with a colour bar.

    Returns
    -------
    the axes
    """
    array = np.asarray(quantiles)
    if array.ndim != 2:
        raise ValueError(
            f"quantiles must have shape (n_directions, n_quantiles); got {array.shape}. Pass a single sample."
        )
    axes = _axes(ax)
    if getattr(axes, "name", "") == "3d":
        directions = 360 * np.arange(len(array)) / len(array)
        solid: Any = axes
        solid.plot_surface(directions[:, np.newaxis], _levels(array)[np.newaxis], array, cmap=QUANTILE_MAP, linewidth=0)
        solid.set_zlabel("quantile")
    else:
        picture = axes.imshow(array.T, origin="lower", aspect="auto", extent=(0, 360, 0, 1), cmap=QUANTILE_MAP)
        axes.figure.colorbar(picture, ax=axes, label="quantile")
    _label_directions(axes)
    axes.set_ylabel("level")
    return axes


def _label_directions(axes: Any) -> None:
    axes.set_xlabel("direction in degrees")
    axes.set_xticks(range(0, 361, 90))


def _levels(rows: Array) -> Array:
    return np.asarray(np.arange(1, rows.shape[1] + 1) / (rows.shape[1] + 1))


def feature_curves(
    features: Any,
    labels: Any,
    names: Sequence[str] | None = None,
    templates: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Show features of one aggregation as functions of the level: samples thin, templates thick, a colour per class.

    Parameters
    ----------
    features : array of shape (n_samples, n_features)
    labels : array of shape (n_samples,)
    names : one per class, in the order of the sorted labels; the labels themselves if left out
    templates : array of shape (n_classes, n_features), in the same order, optional
    ax : axes to draw on; new ones if left out

    Returns
    -------
    the axes
    """
    features, labels = np.asarray(features), np.asarray(labels)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise ValueError(
            f"labels must be one per row of features; got {labels.shape} for {features.shape}. Pass matching arrays."
        )
    classes = np.unique(labels)
    names = [str(label) for label in classes] if names is None else list(names)
    _check_classes(names, "names", len(classes))
    if templates is not None:
        _check_classes(templates, "templates", len(classes))
        if np.shape(templates)[1:] != features.shape[1:]:
            raise ValueError(
                f"templates must have as many features as the samples, {features.shape[1]}; got shape "
                f"{np.shape(templates)}. Transform both with the same settings."
            )
    axes = _axes(ax)
    for i, label in enumerate(classes):
        look: dict[str, Any] = {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": STYLES[i // len(COLOURS) % len(STYLES)],
        }
        own = features[labels == label]
        lines = [] if templates is None else axes.plot(_levels(own), templates[i], linewidth=3, alpha=0.45, **look)
        lines += axes.plot(_levels(own), own.T, linewidth=0.7, **look)
        lines[0].set_label(names[i])
    axes.set_xlabel("level")
    axes.set_ylabel("feature")
    legend = axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    for handle in filter(None, legend.legend_handles):
        handle.set(alpha=1, linewidth=2)
    return axes


def _check_classes(given: Any, name: str, n_classes: int) -> None:
    if len(given) != n_classes:
        raise ValueError(f"{name} must be one per class, {n_classes}; got {len(given)}. Leave out unused classes.")
