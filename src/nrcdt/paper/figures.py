"""The pictures of the numerical section: data, features, clusters. They need matplotlib.

Every function returns a figure of its own, without the global state of pyplot; `save` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import PCA

from .. import plot
from ..arrays import Array
from ..errors import InputError
from ..whole_files import whole_file
from .panels import (
    FONT,
    add_panel,
    check_matplotlib,
    count_lines,
    draw_legend,
    fold_text,
    grid_shape,
    legend_lines,
    new_figure,
    panel_grid,
    write_text,
)
from .solids import camera, cones, show_cloud

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (*plot.COLOURS, "#7B2D5B", "#8E9AA6")
MARKERS = ("o", "*", "^", "D", "v", "p", "<", ">", "h", "X")
ALPHAS = {"train": 1.0, "test": 0.35}
WIDTH = 9.0
GAP = 0.1
SEAM = 0.05
LINE = 0.17


def _groups(samples: Any, labels: Any, names: Sequence[str]) -> list[Array]:
    """Split samples by class, in the order of the sorted labels."""
    samples, labels = np.asarray(samples), np.asarray(labels)
    classes = np.unique(labels)
    _check_one_per("class", classes, "names", names, "Leave out unused classes.")
    return [samples[labels == label] for label in classes]


def _check_one_per(what: str, of: Sized, name: str, given: Sized, remedy: str) -> None:
    if len(given) != len(of):
        raise InputError(name, f"be one per {what}, {len(of)}", len(given), remedy)


def image_gallery(
    templates: Any, samples: Any, labels: Any, names: Sequence[str], per_class: int | None = None
) -> Figure:
    """Show pictures of every class: a large template above some samples, or samples alone.

    Parameters
    ----------
    templates : array of shape (n_classes, height, width), or None
        In the order of the sorted labels.
    samples : array of shape (n_samples, height, width)
        Ink is bright; it is printed dark on white paper.
    labels : array of shape (n_samples,)
    names : one per class
    per_class : samples shown of each class; 2 below a template, 4 in a row if left out

    Examples
    --------
    >>> from nrcdt.datasets import distorted, watermarks
    >>> templates, names = watermarks(3, size=64)
    >>> samples, labels = distorted(templates, 2, random_state=0, shift=(-3, 3))
    >>> len(image_gallery(templates, samples, labels, names).axes)
    9
    """
    n_shown = per_class or (4 if templates is None else 2)
    groups = [group[:n_shown] for group in _groups(samples, labels, names)]
    if templates is not None:
        _check_one_per("class", groups, "templates", templates, "Or pass None.")
    *groups, large = _cut([*groups, np.asarray(samples)[:0] if templates is None else np.asarray(templates)])
    return _class_panels(groups, large, names)


def _cut(groups: list[Array]) -> list[Array]:
    """Cut off the blank margin that all pictures have in common; their middle stays in the middle."""
    ink = np.any(np.concatenate(groups) > 0, axis=0)
    blank = min(_margin(ink.any(axis=0)), _margin(ink.any(axis=1))) - len(ink) // 32
    return [group[:, blank:-blank, blank:-blank] for group in groups] if blank > 0 else groups


def _margin(marked: Array) -> int:
    """Return the number of leading or trailing places without a mark, whichever is smaller."""
    return int(min(marked.argmax(), marked[::-1].argmax()))


def _class_panels(groups: list[Array], templates: Array, names: Sequence[str]) -> Figure:
    """Show a panel per class: its name, its template, if there are any, and its samples: below it two in a row."""
    n_samples, large = max(map(len, groups)), 1.35 if len(templates) else 0.0
    small, n_across, most = (0.65, 2, 6) if large else (0.95, n_samples, 1 + (len(groups) > 5))
    width, below = n_across * (small + SEAM) - SEAM, large and large + SEAM
    titles = [fold_text(name, width) for name in names]
    head, foot = GAP + LINE * count_lines(titles) + SEAM, -(-n_samples // n_across) * (small + SEAM) + GAP
    figure, corners = panel_grid(len(groups), most, width + 2 * GAP, head + below + foot - SEAM)
    for i, (left, top) in enumerate(corners):
        left, top = left + GAP, top + head
        write_text(figure, left + width / 2, top - 0.04, titles[i], ha="center", va="bottom")
        if large:
            _show_ink(add_panel(figure, left, top, large, large), templates[i])
        for j, sample in enumerate(groups[i]):
            x, y = left + j % n_across * (small + SEAM), top + below + j // n_across * (small + SEAM)
            _show_ink(add_panel(figure, x, y, small, small), sample)
    return figure


def _show_ink(axes: Any, image: Any) -> None:
    """Show bright ink as dark ink on white paper, in a thin frame."""
    axes.imshow(image, cmap="gray_r", vmin=0, vmax=max(float(np.max(image)), 1e-12), interpolation="antialiased")
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(linewidth=0.5, color="0.6")


def cloud_gallery(
    clouds: Sequence[Any],
    names: Sequence[str] | None = None,
    columns: int = 10,
    *,
    up: int = 2,
    view: tuple[float, float] = (20, -60),
) -> Figure:
    """Show point clouds in space side by side, near points dark, far points light.

    Parameters
    ----------
    clouds : arrays of shape (n_points, 3)
        Each is centred and scaled to its panel; at most 1500 points are drawn.
    names : one per cloud; an empty name leaves the place below it free
    columns : panels in a row at most
    up : the axis that points upwards
    view : elevation and azimuth of the viewer in degrees

    Examples
    --------
    >>> from nrcdt.directions import fibonacci
    >>> len(cloud_gallery([fibonacci(50), 2 * fibonacci(80)], ["small", "large"]).axes)
    2
    """
    names = [""] * len(clouds) if names is None else list(names)
    _check_one_per("cloud", clouds, "names", names, "Use '' for none.")
    side = min(1.7, WIDTH / min(columns, len(clouds)))
    size = FONT if side > 1.2 else 7.5
    texts = [fold_text(name, side, size) for name in names]
    foot = size / FONT * LINE * count_lines(texts) + GAP / 2
    figure, corners = panel_grid(len(clouds), columns, side, side + foot)
    for (left, top), cloud, text in zip(corners, clouds, texts, strict=True):
        show_cloud(add_panel(figure, left, top, side, side), np.roll(cloud, 2 - up, axis=1), camera(*view))
        write_text(figure, left + side / 2, top + side, text, ha="center", va="top", fontsize=size)
    return figure


def rotation_cones(rows: Mapping[str, Any], n_shown: int = 20) -> Figure:
    """Show rotations as cones that pointed to the north pole before they were turned.

    A periodic colour map around the axis of the cone shows rotations about that axis.

    Parameters
    ----------
    rows : name of a measure -> quaternions of shape (n_rotations, 4), in the order w, x, y, z
    n_shown : the first so many of each are drawn

    Examples
    --------
    >>> from nrcdt.directions import rotations
    >>> len(rotation_cones({"uniform": rotations(64)}).axes)
    1
    """
    pitch, label = 0.44, 0.25 + 0.075 * max(map(len, rows))
    across, down = label + (n_shown + 1) * pitch, len(rows) * pitch + GAP
    figure = new_figure(across, down)
    from matplotlib.collections import PolyCollection

    polygons, colours = [], []
    for i, (name, quaternions) in enumerate(rows.items()):
        y = GAP / 2 + (i + 0.5) * pitch
        write_text(figure, label - GAP, y, name, ha="right", va="center")
        faces, paints = cones(np.asarray(quaternions)[:n_shown])
        polygons += [face * 0.52 * pitch + [label + (j + 0.5) * pitch, down - y] for j, face in enumerate(faces)]
        colours += paints
        if len(quaternions) > n_shown:
            write_text(figure, label + (n_shown + 0.1) * pitch, y, "…", va="center", fontsize=12)
    paint = np.concatenate(colours)
    look: dict[str, Any] = {"facecolors": paint, "edgecolors": paint, "linewidths": 0.6, "rasterized": True}
    axes = add_panel(figure, 0, 0, across, down, xlim=(0, across), ylim=(0, down))
    axes.add_collection(PolyCollection(list(np.concatenate(polygons)), **look))
    axes.set_axis_off()
    return figure


def feature_curves(blocks: Mapping[str, tuple[Any, Any]], labels: Any, names: Sequence[str]) -> Figure:
    """Show the features of several aggregations, one panel each: templates thick, samples thin, a colour per class.

    Parameters
    ----------
    blocks : name of an aggregation -> features of the templates (or None), features of the samples
    labels : array of shape (n_samples,)
    names : one per class, in the order of the sorted labels

    Examples
    --------
    >>> figure = feature_curves({"max": (None, np.ones((2, 4)))}, [0, 1], ["a", "b"])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['a', 'b']
    """
    n_columns, width = grid_shape(len(blocks), 3)[1], WIDTH if len(blocks) > 1 else 5.0
    lines = legend_lines(names, 7, width)
    across = width / n_columns
    down = 0.78 * across
    figure, corners = panel_grid(len(blocks), 3, across, down, 0.3 * len(lines) + 0.1)
    for i, (title, (templates, samples)) in enumerate(blocks.items()):
        left, top = corners[i]
        axes = add_panel(figure, left + 0.6, top + 0.3, across - 0.75, down - 0.75)
        plot.feature_curves(samples, labels, names, templates, axes)
        axes.set_title(title, fontsize=FONT + 1)
        axes.set(xlim=(0, 1), ylabel="feature" if i % n_columns == 0 else "")
        axes.set_xlabel("level" if i + n_columns >= len(blocks) else "", labelpad=2)
        axes.tick_params(labelsize=8)
        handles = axes.get_legend().legend_handles
        axes.get_legend().remove()
    draw_legend(figure, lines, handles, names)
    return figure


def quantile_surfaces(quantiles: Any, names: Sequence[str]) -> Figure:
    """Show quantile functions over directions and levels as surfaces, side by side.

    Parameters
    ----------
    quantiles : array of shape (n_measures, n_directions, n_quantiles)
    names : one per measure

    Examples
    --------
    >>> len(quantile_surfaces(np.ones((2, 8, 5)), ["a", "b"]).axes)
    2
    """
    _check_one_per("measure", quantiles, "names", names, "Pass one for each.")
    side = 3.2
    figure, corners = panel_grid(len(names), 3, side, side)
    for (left, top), name, surface in zip(corners, names, quantiles, strict=True):
        axes = add_panel(figure, left - 0.02, top + 0.2, side - 0.2, side - 0.25, projection="3d")
        plot.quantile_surface(surface, axes)
        axes.set(xticks=[0, 180, 360], yticks=[0, 0.5, 1])
        axes.locator_params("z", nbins=5)
        axes.tick_params(labelsize=7, pad=-2)
        for axis, pad in ((axes.xaxis, -6), (axes.yaxis, -6), (axes.zaxis, -4)):
            axis.labelpad = pad
            axis.label.set_fontsize(8)
        axes.set_box_aspect((4, 4, 3), zoom=0.94)
        axes.collections[0].set_rasterized(True)
        write_text(figure, left + side / 2, top + 0.08, name, ha="center", va="top", fontsize=FONT + 1)
    return figure


class View(NamedTuple):
    """One clustering in its feature space: rows of features, true labels, and the nearest centre of every row."""

    train: Array
    test: Array
    centres: Array
    train_labels: Array
    test_labels: Array
    train_clusters: Array
    test_clusters: Array


def cluster_scatter(views: Mapping[str, View], names: Sequence[str], dimensions: Literal[2, 3] = 2) -> Figure:
    """Show clusterings in the plane or in space of their first principal components, one panel per method.

    The symbol of a point is its class, its colour the nearest centre; training points are opaque, test points
    transparent, centres are squares. Principal components are those of the training points. Centres are matched with
    classes, so that the colour of a centre is that of the class it stands for.

    Parameters
    ----------
    views : name of a method -> its clustering
    names : one per class, in the order of the sorted labels
    dimensions : 2 or 3

    Examples
    --------
    >>> rows, labels = np.random.default_rng(0).normal(size=(6, 4)), np.array([0, 0, 0, 1, 1, 1])
    >>> view = View(rows, rows, rows[:2], labels, labels, labels, labels)
    >>> len(cluster_scatter({"max": view}, ["a", "b"]).axes)
    1
    """
    if dimensions not in (2, 3):
        raise InputError("dimensions", "be 2 or 3", dimensions, "Other numbers have no picture.")
    n_columns, page = grid_shape(len(views), 3)[1], WIDTH if len(views) > 1 else 6.0
    n_centres = max(len(view.centres) for view in views.values())
    lines, handles, labels = _cluster_legend(names, n_centres, page)
    across = page / n_columns
    down = 0.85 * across
    figure, corners = panel_grid(len(views), 3, across, down, 0.3 * len(lines) + 0.1)
    draw_legend(figure, lines, handles, labels, handlelength=1)
    look: dict[str, Any] = {"projection": "3d", "computed_zorder": False} if dimensions == 3 else {}
    x, y, width, height = (0.1, 0.2, across - 0.2, down - 0.25) if look else (0.5, 0.3, across - 0.65, down - 0.65)
    for (left, top), (title, view) in zip(corners, views.items(), strict=True):
        _show_clusters(add_panel(figure, left + x, top + y, width, height, **look), view, dimensions)
        write_text(figure, left + x + width / 2, top + 0.24, title, ha="center", fontsize=FONT + 1)
    return figure


def _cluster_legend(names: Sequence[str], n_centres: int, width: float) -> tuple[list[list[int]], list[Any], list[str]]:
    """Return lines, handles and labels of three groups, each behind a heading; on one line if they fit."""
    check_matplotlib()
    from matplotlib.lines import Line2D

    def handle(marker: str, **look: Any) -> Any:
        return Line2D([], [], linestyle="none", marker=marker, markersize=6.5, **look)

    centre_names = [*names, *(str(i + 1) for i in range(len(names), n_centres))][:n_centres]
    symbols = [handle(_cycle(MARKERS, i), color="0.25", markeredgewidth=0) for i in range(len(names))]
    squares = [handle("s", color=_cycle(COLOURS, i), markeredgecolor="black") for i in range(n_centres)]
    points = [handle("o", color=COLOURS[0], alpha=alpha, markeredgewidth=0) for alpha in ALPHAS.values()]
    groups = (("class:", symbols, names), ("nearest centre:", squares, centre_names), ("points:", points, ALPHAS))
    handles = [one for _, own, _ in groups for one in (handle(""), *own)]
    labels = [text for heading, _, texts in groups for text in (heading, *texts)]
    lines = legend_lines(labels, 5, width)
    if len(lines) > 1:
        ends = np.cumsum([1 + len(texts) for *_, texts in groups])
        parts = np.split(np.arange(len(labels)), ends[:-1])
        lines = [part[line].tolist() for part in parts for line in legend_lines([labels[i] for i in part], 5, width)]
    return lines, handles, labels


def _cycle(looks: Sequence[str], i: int) -> str:
    return looks[i % len(looks)]


def _show_clusters(axes: Any, view: View, dimensions: int) -> None:
    pca = PCA(dimensions, random_state=0).fit(view.train)
    paint = np.array(COLOURS)[_matched(view.train_labels, view.train_clusters, len(view.centres)) % len(COLOURS)]
    look: dict[str, Any] = {"depthshade": False} if dimensions == 3 else {}
    test = pca.transform(view.test), view.test_labels, view.test_clusters, ALPHAS["test"]
    train = pca.transform(view.train), view.train_labels, view.train_clusters, ALPHAS["train"]
    for rows, labels, clusters, alpha in (test, train):
        for i, label in enumerate(np.unique(view.train_labels)):
            own, marker = labels == label, _cycle(MARKERS, i)
            size = 40 if marker == "*" else 26
            axes.scatter(*rows[own].T, c=paint[clusters[own]], marker=marker, s=size, alpha=alpha, lw=0, **look)
    centres = pca.transform(view.centres).T
    axes.scatter(*centres, c=paint, marker="s", s=62, edgecolors="black", linewidths=1.1, zorder=5, **look)
    axes.locator_params(nbins=5)
    axes.tick_params(labelsize=7.5, labelcolor="0.35", color="0.6")
    if dimensions == 3:
        axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
        axes.set_box_aspect((4, 4, 3), zoom=1.06)


def _matched(labels: Array, clusters: Array, n_centres: int) -> Array:
    """Return a colour number per centre: that of the class it shares most points with, each class once."""
    classes = np.unique(labels)
    size = max(len(classes), n_centres)
    shared = np.zeros((size, size))
    np.add.at(shared, (clusters, np.searchsorted(classes, labels)), 1)
    return np.asarray(linear_sum_assignment(-shared)[1][:n_centres])


def save(figure: Figure, folder: Path | str, name: str) -> None:
    """Write `NAME.png` and `NAME.svg` into a folder, the same bytes for the same figure, each whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> save(quantile_surfaces(np.ones((1, 8, 5)), ["a"]), folder, "surface")
    >>> sorted(path.name for path in folder.iterdir())
    ['surface.png', 'surface.svg']
    """
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "nrcdt"}):
        for suffix, metadata in ((".png", {}), (".svg", {"Date": None})):
            with whole_file(Path(folder) / f"{name}{suffix}") as part:
                figure.savefig(part, dpi=150, metadata=metadata)
