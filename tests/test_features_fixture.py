"""Features stay what they were: a redesign meets the arrays that were stored before it."""

import numpy as np
import pytest

from features_fixture import STORED, batches, made, tolerance

BATCHES = batches()


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("name", BATCHES)
def test_features_are_those_that_were_stored(name, stored):
    found = made(*BATCHES[name])
    wanted = {key.partition("/")[2]: array for key, array in stored.items() if key.startswith(f"{name}/")}
    assert found.keys() == wanted.keys()
    for key, array in wanted.items():
        assert found[key].dtype == array.dtype
        assert found[key].shape == array.shape
        near = tolerance(name, array)
        np.testing.assert_allclose(found[key], array, rtol=near, atol=near * np.abs(array).max(), err_msg=key)
