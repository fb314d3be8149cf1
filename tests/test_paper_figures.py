import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

from nrcdt import plot  # noqa: E402
from nrcdt.directions import fibonacci, rotations  # noqa: E402
from nrcdt.paper import figures, solids  # noqa: E402
from nrcdt.paper.figures import View  # noqa: E402


def pictures(n_classes, n_samples, size=32):
    """Bright squares in the middle of a dark ground."""
    images = np.zeros((n_classes * n_samples, size, size))
    images[:, 12:20, 12:20] = 0.5
    return images, np.repeat(np.arange(n_classes), n_samples)


def texts(figure):
    return [text.get_text() for text in figure.texts]


def assert_texts_apart(figure):
    """No text of a figure lies over another or leaves the picture."""
    FigureCanvasAgg(figure).draw()
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    found += [axes.title for axes in figure.axes]
    boxes = [text.get_window_extent() for text in found if text.get_text().strip()]
    width, height = figure.bbox.size
    for i, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize("n_classes", [1, 3, 9, 11])
def test_gallery_shows_templates_above_samples(n_classes):
    samples, labels = pictures(n_classes, 3)
    names = [f"motif number {i}" for i in range(n_classes)]
    figure = figures.image_gallery(samples[::3], samples, labels, names)
    assert len(figure.axes) == 3 * n_classes
    large, *small = (axes.get_position() for axes in figure.axes[:3])
    assert all(large.width > 1.9 * box.width for box in small)
    assert all(box.y1 < large.y0 for box in small)
    assert len({axes.get_position().bounds for axes in figure.axes}) == 3 * n_classes
    assert_texts_apart(figure)


@pytest.mark.slow
def test_gallery_without_templates_shows_rows_of_four():
    samples, labels = pictures(11, 5)
    figure = figures.image_gallery(None, samples, labels, [f"motif {i}" for i in range(11)])
    assert len(figure.axes) == 44
    assert len({axes.get_position().y0.round(6) for axes in figure.axes[:4]}) == 1
    assert texts(figure) == [f"motif {i}" for i in range(11)]
    assert len(figures.image_gallery(None, samples, labels, ["a"] * 11, per_class=2).axes) == 22
    assert_texts_apart(figure)


def test_gallery_prints_dark_ink_on_white_paper():
    samples, labels = pictures(1, 2)
    axes = figures.image_gallery(None, samples, labels, ["a"]).axes[0]
    picture = axes.images[0]
    grey = picture.cmap(picture.norm(picture.get_array()))[..., :3].mean(axis=-1)
    middle = len(grey) // 2
    assert grey[0, 0] == 1
    assert grey[middle, middle] == 0


def test_gallery_cuts_the_common_margin_and_no_ink():
    samples, labels = pictures(1, 2)
    samples[1, 4, 16] = 1
    figure = figures.image_gallery(None, samples, labels, ["a"])
    shown = [axes.images[0].get_array() for axes in figure.axes]
    assert {picture.shape for picture in shown} == {(26, 26)}
    assert [picture.sum() for picture in shown] == [sample.sum() for sample in samples]


def test_galleries_refuse_missing_names_and_templates():
    samples, labels = pictures(2, 2)
    with pytest.raises(ValueError, match="names must be one per class, 2; got 1"):
        figures.image_gallery(None, samples, labels, ["a"])
    with pytest.raises(ValueError, match="templates must be one per class, 2; got 1"):
        figures.image_gallery(samples[:1], samples, labels, ["a", "b"])
    with pytest.raises(ValueError, match="names must be one per cloud, 1; got 2"):
        figures.cloud_gallery([fibonacci(10)], ["a", "b"])
    with pytest.raises(ValueError, match="names must be one per measure, 2; got 1"):
        figures.quantile_surfaces(np.ones((2, 8, 5)), ["a"])


def test_cloud_gallery_has_a_panel_per_cloud_and_few_points():
    clouds = [fibonacci(n) for n in (2000, 300, 40, 10, 5, 4, 3)]
    figure = figures.cloud_gallery(clouds, [f"cloud {i}" for i in range(7)], columns=3)
    sizes = [len(axes.collections[0].get_offsets()) for axes in figure.axes]
    assert sizes == [1500, 300, 40, 10, 5, 4, 3]
    assert all(not axes.axison and axes.get_aspect() == 1 for axes in figure.axes)
    assert all(axes.collections[0].get_rasterized() for axes in figure.axes)
    assert_texts_apart(figure)


def test_clouds_are_centred_scaled_and_upright():
    points = np.array([[0, 0, 0], [0, 0, 10], [1, 1, 0]]) + 100.0
    upright = figures.cloud_gallery([points], view=(0, 0)).axes[0].collections[0].get_offsets()
    np.testing.assert_allclose(np.ptp(upright, axis=0), [0.2, 2], atol=1e-12)
    np.testing.assert_allclose(upright.max(axis=0) + upright.min(axis=0), 0, atol=1e-12)
    turned = np.roll(points, -1, axis=1)
    again = figures.cloud_gallery([turned], up=1, view=(0, 0)).axes[0].collections[0].get_offsets()
    np.testing.assert_allclose(again, upright, atol=1e-12)


def test_near_points_are_drawn_last_and_darkest():
    points = np.array([[5.0, 0, 1], [-5.0, 0, -1]])
    drawn = figures.cloud_gallery([points], view=(0, 0)).axes[0].collections[0]
    np.testing.assert_allclose(drawn.get_offsets()[:, 1], [-1, 1])
    assert drawn.get_array()[1] > drawn.get_array()[0]


def test_cones_point_to_the_turned_north_pole():
    angle = np.deg2rad(90)
    upright, fallen = (
        solids.cones(np.array([quaternion]))[0][0]
        for quaternion in ([1.0, 0, 0, 0], [np.cos(angle / 2), np.sin(angle / 2), 0, 0])
    )
    view = solids.camera(20, -60)
    for seen, tip in ((upright, [0, 0, 0.95]), (fallen, [0, -0.95, 0])):
        assert np.abs(seen - tip @ view[:, :2]).sum(axis=-1).min() < 1e-9
    assert upright[..., 1].max() > 0.8


def test_turning_a_cone_about_its_axis_changes_its_colours_only():
    half = np.deg2rad(30)
    (face, turned), (paint, other) = solids.cones(np.array([[1, 0, 0, 0], [np.cos(half), 0, 0, np.sin(half)]]))
    np.testing.assert_allclose(np.sort(face.ravel()), np.sort(turned.ravel()), atol=1e-9)
    assert np.abs(paint - other).max() > 0.2


def test_cones_have_a_row_per_measure():
    figure = figures.rotation_cones({"template 1": rotations(30), "sample": rotations(20)}, n_shown=20)
    assert texts(figure) == ["template 1", "…", "sample"]
    collection = figure.axes[0].collections[0]
    heights = np.array([path.vertices[:, 1].mean() for path in collection.get_paths()])
    middle = figure.get_size_inches()[1] / 2
    assert np.sum(heights > middle) > 20 * 10
    assert np.sum(heights < middle) > 20 * 10
    assert_texts_apart(figure)


@pytest.mark.parametrize(("n_panels", "n_classes"), [(1, 10), (3, 6), (4, 11), (6, 3)])
def test_feature_curves_share_one_legend(n_panels, n_classes, rng):
    labels = np.repeat(np.arange(n_classes), 2)
    names = [f"class {i + 1}" for i in range(n_classes)]
    block = rng.random((n_classes, 20)), rng.random((2 * n_classes, 20))
    figure = figures.feature_curves({f"kind {i}": block for i in range(n_panels)}, labels, names)
    assert [axes.get_title() for axes in figure.axes] == [f"kind {i}" for i in range(n_panels)]
    assert all(axes.get_legend() is None and len(axes.lines) == 3 * n_classes for axes in figure.axes)
    assert [text.get_text() for legend in figure.legends for text in legend.get_texts()] == names
    assert_texts_apart(figure)


def test_quantile_surfaces_stand_side_by_side():
    figure = figures.quantile_surfaces(np.ones((3, 16, 8)), ["template 1", "template 2", "template 3"])
    assert [axes.name for axes in figure.axes] == ["3d"] * 3
    assert all(axes.collections[0].get_rasterized() for axes in figure.axes)
    assert_texts_apart(figure)


def clustering(n_classes, rng):
    """A perfect clustering whose clusters are numbered backwards."""
    centres = 10 * rng.normal(size=(n_classes, 6))
    labels = np.repeat(np.arange(n_classes), 5)
    train, test = (centres[labels] + rng.normal(size=(len(labels), 6)) for _ in range(2))
    clusters = n_classes - 1 - labels
    return View(train, test, centres[::-1], labels, labels, clusters, clusters)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_clusters_symbol_for_class_colour_for_centre(dimensions, rng):
    figure = figures.cluster_scatter({"max": clustering(10, rng)}, [str(i) for i in range(10)], dimensions)
    FigureCanvasAgg(figure).draw()
    *points, centres = figure.axes[0].collections
    assert len(points) == 20
    assert [points[0].get_alpha(), points[-1].get_alpha()] == [figures.ALPHAS["test"], 1]
    shapes = {tuple(map(tuple, group.get_paths()[0].vertices.round(6))) for group in points}
    assert len(shapes) == 10
    for i, group in enumerate(points):
        assert {to_hex(colour) for colour in group.get_facecolor()} == {figures.COLOURS[i % 10].lower()}
    paint = [to_hex(colour) for colour in centres.get_facecolor()]
    expected = [colour.lower() for colour in figures.COLOURS[::-1]]
    assert paint == expected if dimensions == 2 else sorted(paint) == sorted(expected)


def test_principal_components_are_those_of_the_training_points(rng):
    view = clustering(3, rng)
    shown = figures.cluster_scatter({"max": view}, ["1", "5", "7"]).axes[0].collections[3:6]
    spread = np.var(np.concatenate([group.get_offsets() for group in shown]), axis=0).sum()
    values = np.linalg.eigvalsh(np.cov(view.train.T, bias=True))
    assert spread == pytest.approx(values[-2:].sum())


@pytest.mark.parametrize(("n_views", "n_classes"), [(1, 3), (3, 3), (4, 10)])
def test_cluster_legends_fit(n_views, n_classes, rng):
    views = {f"method {i}": clustering(n_classes, rng) for i in range(n_views)}
    figure = figures.cluster_scatter(views, [f"pose {i + 1}" for i in range(n_classes)])
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert [label for label in labels if label.endswith(":")] == ["class:", "nearest centre:", "points:"]
    assert labels[-2:] == ["train", "test"]
    assert_texts_apart(figure)


def test_clusters_are_flat_or_solid(rng):
    with pytest.raises(ValueError, match="dimensions must be 2 or 3; got 4"):
        figures.cluster_scatter({"max": clustering(3, rng)}, ["1", "2", "3"], 4)


def test_colours_and_markers_are_ten_and_distinct():
    assert len(set(figures.COLOURS)) == len(set(figures.MARKERS)) == 10
    assert figures.COLOURS[:8] == plot.COLOURS
    assert "s" not in figures.MARKERS


def test_save_writes_the_same_bytes_twice_and_nothing_else(tmp_path, rng):
    names = []
    for i in range(2):
        figures.save(
            figures.cluster_scatter({"max": clustering(3, np.random.default_rng(0))}, list("abc")), tmp_path, f"{i}"
        )
        names += [f"{i}.png", f"{i}.svg"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert (tmp_path / "0.png").read_bytes() == (tmp_path / "1.png").read_bytes()
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
    assert ElementTree.parse(tmp_path / "0.svg").getroot().tag.endswith("svg")
    assert b"<dc:date>" not in (tmp_path / "0.svg").read_bytes()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: figures.image_gallery(None, *pictures(1, 2), ["a"]),
        lambda rng: figures.cloud_gallery([fibonacci(10)]),
        lambda rng: figures.rotation_cones({"a": rotations(10)}),
        lambda rng: figures.feature_curves({"max": (None, np.ones((2, 4)))}, [0, 1], ["a", "b"]),
        lambda rng: figures.quantile_surfaces(np.ones((1, 8, 5)), ["a"]),
        lambda rng: figures.cluster_scatter({"max": clustering(3, rng)}, ["1", "2", "3"]),
    ],
)
def test_missing_matplotlib_is_explained(draw, rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"figures must have matplotlib; got none. Run pip install 'nrcdt\[paper\]'"):
        draw(rng)


@pytest.mark.slow
def test_importing_the_module_does_not_import_matplotlib():
    check = "import sys, nrcdt.paper.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
