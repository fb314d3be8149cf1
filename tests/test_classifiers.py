"""Nearest subspace as a scikit-learn classifier."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from nrcdt import NRCDT
from nrcdt.classifiers import NearestSubspace
from nrcdt.datasets import distorted, watermarks


@pytest.mark.parametrize("estimator", [NearestSubspace(), NearestSubspace(1), NearestSubspace(center=False)])
def test_estimator_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    status = [result["status"] for result in results]
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert status.count("passed") >= 40


def planes(rng, n_samples, origin=None):
    """Samples on two planes in R^6, which meet in the origin or run through points of their own."""
    bases = [np.linalg.qr(rng.normal(size=(6, 2)))[0].T for _ in range(2)]
    origins = np.zeros((2, 6)) if origin is None else origin
    samples = np.concatenate([rng.normal(size=(n_samples, 2)) @ b + o for b, o in zip(bases, origins, strict=True)])
    return samples, np.repeat(["a", "b"], n_samples), bases


def test_planes_are_found_exactly(rng):
    samples, labels, bases = planes(rng, 20)
    model = NearestSubspace(center=False, energy=1).fit(samples[::2], labels[::2])
    for basis, subspace in zip(bases, model.subspaces_, strict=True):
        np.testing.assert_allclose(subspace.basis.T @ subspace.basis, basis.T @ basis, atol=1e-12)
    distances = model.distances(samples)
    expected = [np.linalg.norm(samples - samples @ basis.T @ basis, axis=1) for basis in bases]
    np.testing.assert_allclose(distances.T, expected, atol=1e-12)
    assert model.score(samples, labels) == 1


def test_planes_beside_the_origin_need_means(rng):
    samples, labels, _ = planes(rng, 40, origin=rng.normal(size=(2, 6)))
    model = NearestSubspace().fit(samples[::2], labels[::2])
    assert [len(one.basis) for one in model.subspaces_] == [2, 2]
    np.testing.assert_allclose(model.distances(samples)[labels == "a", 0], 0, atol=1e-12)
    through_the_origin = NearestSubspace(2, center=False).fit(samples[::2], labels[::2])
    assert through_the_origin.distances(samples)[labels == "a", 0].max() > 0.1


def test_energy_decides_how_many_components(rng):
    spreads = np.array([10.0, 3.0, 1.0, 0.1])
    samples = np.concatenate([rng.normal(size=(500, 4)) * spreads, rng.normal(size=(500, 4))])
    labels = np.repeat([0, 1], 500)
    kept = [len(NearestSubspace(energy=e).fit(samples, labels).subspaces_[0].basis) for e in (0, 0.8, 0.98, 0.9999)]
    assert kept == [1, 1, 2, 3]


def test_a_subspace_never_fills_the_space(rng):
    samples = np.concatenate([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 1])
    model = NearestSubspace(energy=1).fit(samples, np.repeat([0, 1], 50))
    assert [len(one.basis) for one in model.subspaces_] == [1, 1]


@pytest.mark.parametrize("center", [True, False])
def test_one_sample_per_class_and_different_counts(rng, center):
    means = rng.normal(size=(3, 10))
    labels = np.repeat([7, -1, 30], [1, 4, 9])
    samples = np.repeat(means, [1, 4, 9], axis=0) + 0.01 * rng.normal(size=(14, 10))
    model = NearestSubspace(5, center=center).fit(samples, labels)
    assert model.classes_.tolist() == [-1, 7, 30]
    assert [len(one.basis) for one in model.subspaces_] == [4 - center, 1 - center, 5]
    one_each = NearestSubspace(center=center).fit(means, ["x", "y", "z"])
    assert one_each.predict(means + 0.01).tolist() == ["x", "y", "z"]


def test_no_components_are_nearest_means(rng):
    samples, labels = rng.normal(size=(30, 5)), np.arange(30) % 3
    model = NearestSubspace(0).fit(samples, labels)
    means = np.stack([samples[labels == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(model.distances(samples), np.linalg.norm(samples[:, None] - means, axis=2))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_decision_function_agrees_with_predict(rng, n_classes):
    samples, labels = rng.normal(size=(40, 8)), np.arange(40) % n_classes
    model = NearestSubspace(2).fit(samples, labels)
    values = model.decision_function(samples)
    expected = values > 0 if n_classes == 2 else values.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(samples), expected)


def test_after_the_transform_in_a_pipeline():
    motifs, names = watermarks(4, size=64)
    samples, labels = distorted(motifs, 10, random_state=0, shift=(-5, 5))
    transform = NRCDT(n_directions=32, n_quantiles=16)
    model = make_pipeline(transform, NearestSubspace()).fit(samples[::2], np.array(names)[labels[::2]])
    assert model.score(samples[1::2], np.array(names)[labels[1::2]]) >= 0.95
    grid = GridSearchCV(clone(model), {"nearestsubspace__n_components": [0, 2]}, cv=2).fit(samples, labels)
    assert grid.best_score_ >= 0.9


def test_errors(rng):
    samples, labels = rng.normal(size=(6, 4)), [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"y must have at least two classes; got one class, .*Add samples of another"):
        NearestSubspace().fit(samples, [1] * 6)
    for n_components in (-1, 1.5, True):
        with pytest.raises(ValueError, match=r"n_components must be a whole number from 0, or None; got"):
            NearestSubspace(n_components).fit(samples, labels)
    for energy in (-0.1, 1.1, float("nan"), "much"):
        with pytest.raises(ValueError, match=r"energy must be a number between 0 and 1; got"):
            NearestSubspace(energy=energy).fit(samples, labels)
    with pytest.raises(NotFittedError):
        NearestSubspace().predict(samples)
