import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib.figure import Figure  # noqa: E402

from nrcdt import NRCDT, nrcdt, plot, rcdt  # noqa: E402
from nrcdt.datasets import distorted, watermarks  # noqa: E402


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def image():
    return watermarks(1, size=64)[0][0]


def test_sinogram_shows_every_direction_and_strip(image):
    axes = plot.sinogram(image, n_directions=36, n_radii=50)
    picture = axes.images[0].get_array()
    assert picture.shape == (50, 36)
    np.testing.assert_allclose(picture.sum(axis=0), image.sum())
    assert axes.images[0].get_extent() == [-5, 355, -1, 1]  # direction k is at 10 k degrees
    assert axes.get_xlabel() == "direction in degrees"
    assert axes.get_ylabel() == "radius"


def test_quantile_surface_as_picture_and_as_solid(image):
    quantiles = rcdt(image[np.newaxis], normalize="standardize", n_directions=16, n_quantiles=20)[0]
    axes = plot.quantile_surface(quantiles)
    np.testing.assert_array_equal(axes.collections[0].get_array(), quantiles.T)
    assert axes.get_xlim() == (-11.25, 348.75)
    assert axes.get_ylabel() == "level"
    solid = Figure().add_subplot(projection="3d")
    assert plot.quantile_surface(quantiles, solid) is solid
    assert solid.get_zlabel() == "quantile"
    assert len(solid.collections) == 1


def test_feature_curves_have_a_legend_entry_and_a_colour_per_class():
    templates, names = watermarks(3, size=64)
    samples, labels = distorted(templates, 2, random_state=0, shift=(-3, 3))
    settings = {"n_directions": 32, "n_quantiles": 16}
    given = Figure().add_subplot()
    axes = plot.feature_curves(nrcdt(samples, **settings), labels, names, nrcdt(templates, **settings), given)
    assert axes is given
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert len(axes.lines) == 9
    assert len({line.get_color() for line in axes.lines}) == 3
    assert sorted({line.get_linewidth() for line in axes.lines}) == [0.7, 3]


def test_feature_curves_work_without_names_and_templates():
    axes = plot.feature_curves(np.ones((3, 4)), ["b", "a", "b"])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    assert axes.get_xlabel() == "level"


def test_levels_of_other_references_stand_where_they_are(image):
    model = NRCDT(n_directions=8, n_quantiles=9, reference="expon").fit([image])
    features = model.transform([image])
    [line] = plot.feature_curves(features, [0], levels=model.levels_).lines
    np.testing.assert_array_equal(line.get_xdata(), model.levels_)
    axes = plot.quantile_surface(model.quantiles([image])[0], levels=model.levels_)
    middles = (model.levels_[:-1] + model.levels_[1:]) / 2
    np.testing.assert_allclose(np.unique(axes.collections[0].get_coordinates()[..., 1])[1:-1], middles)
    with pytest.raises(ValueError, match=r"levels must be one per column, 9; got shape \(8,\). Pass the `levels_`"):
        plot.feature_curves(features, [0], levels=model.levels_[1:])


def test_feature_curves_take_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.arange(8.0).reshape(2, 4), columns=list("abcd"))
    axes = plot.feature_curves(frame, pandas.Series([0, 1]), templates=frame)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [0, 1, 2, 3])


def test_classes_beyond_the_colours_differ_in_style():
    n_classes = 2 * len(plot.COLOURS)
    axes = plot.feature_curves(np.ones((n_classes, 4)), np.arange(n_classes))
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == n_classes


def test_mismatched_arguments_are_refused():
    with pytest.raises(ValueError, match="labels must be one per row of features"):
        plot.feature_curves(np.ones((3, 4)), [0, 1])
    with pytest.raises(ValueError, match="names must be one per class, 2; got 1"):
        plot.feature_curves(np.ones((2, 4)), [0, 1], ["a"])
    with pytest.raises(ValueError, match="templates must be one per class, 2; got 3"):
        plot.feature_curves(np.ones((2, 4)), [0, 1], templates=np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"templates must have as many features as the samples, 4; got shape \(2, 5\)"):
        plot.feature_curves(np.ones((2, 4)), [0, 1], templates=np.ones((2, 5)))
    with pytest.raises(ValueError, match="quantiles must have shape"):
        plot.quantile_surface(np.ones((2, 3, 4)))


def test_missing_matplotlib_is_explained(monkeypatch, image):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'nrcdt\[plot\]'"):
        plot.sinogram(image)


def test_importing_the_module_does_not_import_matplotlib():
    check = "import sys, nrcdt.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
