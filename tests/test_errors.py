"""Warnings: at the user's line, and once."""

import sys
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from nrcdt import NRCDT, RCDT, nrcdt, rcdt, sliced_wasserstein
from nrcdt.audit import audit
from nrcdt.baselines import AffineMoments
from nrcdt.catalogue import Catalogue
from nrcdt.datasets import watermarks
from nrcdt.distances import aligned
from nrcdt.errors import InputError, Where, samples_called, warn
from nrcdt.measures import PaperWarning
from nrcdt.registration import register
from nrcdt.signed import Signed

SMALL = {"n_directions": 6, "n_quantiles": 8}
POINTS = np.random.default_rng(0).random((8, 40, 2))  # clouds that are taken for images
LABELS = np.arange(8) % 2


def heard(call, *arguments, skipped=PaperWarning):
    """The warnings of a call, apart from those about paper, and the line where they should point."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        call(*arguments)
    return [one for one in caught if not issubclass(one.category, skipped)], line


def fitted(model):
    return model.fit(POINTS[:, :5], LABELS)


PIPELINE = make_pipeline(NRCDT(**SMALL), KNeighborsClassifier(1))
CALLS = {
    "nrcdt": lambda: (nrcdt, POINTS),
    "rcdt": lambda: (rcdt, list(POINTS)),
    "fit": lambda: (NRCDT(**SMALL).fit, POINTS),
    "fit_transform": lambda: (RCDT(**SMALL).fit_transform, POINTS),
    "fit_transform, list": lambda: (NRCDT(aggregate=["max", "tv"], **SMALL).fit_transform, list(POINTS)),
    "transform": lambda: (fitted(NRCDT(**SMALL)).transform, POINTS),
    "pipeline, fit": lambda: (PIPELINE.fit, POINTS, LABELS),
    "pipeline, predict": lambda: (fitted(PIPELINE).predict, POINTS),
    "pipeline, score": lambda: (fitted(PIPELINE).score, POINTS, LABELS),
    "pandas": lambda: (NRCDT(**SMALL).set_output(transform="pandas").fit_transform, POINTS),
    "sliced_wasserstein": lambda: (sliced_wasserstein, POINTS),
    "aligned": lambda: (aligned, POINTS),
    "aligned, list": lambda: (aligned, list(POINTS)),
    "audit": lambda: (audit, POINTS[:2], None, "image"),
    "baseline": lambda: (AffineMoments().fit_transform, POINTS),
    "signed": lambda: (Signed(NRCDT(**SMALL)).fit_transform, POINTS),
    "rows": lambda: (Signed(NRCDT(**SMALL)).fit_transform, POINTS[0, :, [0, 1, 0, 1]].T),
    "rows alone": lambda: (NRCDT(**SMALL).fit_transform, POINTS[0, :, [0, 1, 0, 1]].T),
    "pictures": lambda: (NRCDT("euclidean", **SMALL).fit_transform, np.random.default_rng(0).random((2, 40, 12))),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "audit" else name for name in CALLS]
)
def test_warnings_come_once_and_point_at_the_user(name):
    caught, line = heard(*CALLS[name]())
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, line)]


def test_two_arguments_are_told_apart():
    for distances in (sliced_wasserstein, aligned):
        caught, _ = heard(distances, POINTS, 2 * POINTS[:3])
        assert [str(one.message)[:24] for one in caught] == ["X has shape (8, 40, 2) a", "Y has shape (3, 40, 2) a"]
        assert {one.filename for one in caught} == {__file__}


def test_registered_pictures_on_paper_that_is_not_zero():
    paper = 1 - watermarks(1, size=64)[0][0]
    caught, line = heard(register, paper, paper.T, skipped=())
    assert [(one.filename, one.lineno, str(one.message)[:37]) for one in caught] == [
        (__file__, line, f"{name} should have paper of exactly 0; got") for name in "ab"
    ]


def test_what_lies_between_is_skipped():
    caught, line = heard(partial(cross_val_predict, cv=2), PIPELINE, POINTS, LABELS)
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, line)}


@pytest.mark.slow  # it starts processes
def test_applications_point_at_the_user(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with Catalogue(tmp_path / "marks.db") as catalogue, pytest.warns(UserWarning, match="broken.png") as caught:
        catalogue.add(tmp_path)
    assert {one.filename for one in caught} == {__file__}


def test_a_warning_without_a_user_is_a_warning():
    with pytest.warns(UserWarning, match="^alone$"):
        exec("warn('alone')", {"warn": warn, "__name__": "nrcdt.alone"})


def test_samples_are_called_after_their_argument():
    with samples_called("Y"), pytest.warns(UserWarning, match=r"^Y\[2\] looks odd$"):
        warn("looks odd", Where("X", 2))
    with pytest.raises(InputError, match=r"^Y\[2\] must be even; got 3\.$"), samples_called("Y"):
        raise InputError(Where("X", 2), "be even", 3)
    with pytest.raises(InputError, match=r"^image_shape must be given .* got None for X of shape \(7, 15\)\. Give"):
        sliced_wasserstein([POINTS[0], POINTS[1, :20]], np.ones((7, 15)))
    with pytest.raises(InputError, match=r"^X\[2\] must be even; got 3\.$"), samples_called(None):
        raise InputError(Where("X", 2), "be even", 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with samples_called(None):
            warn("looks odd", Where("X", 2))
        with pytest.raises(UserWarning, match="not about data"), samples_called(None):
            warn("not about data")
