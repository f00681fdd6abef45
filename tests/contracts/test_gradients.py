"""Every gradient against central differences, for every model that has one."""

import numpy as np
import pytest

from gradients import CASES


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_central_differences(name):
    case = CASES[name]
    gradients = case.gradients(case.arrays)
    assert set(gradients) == set(case.arrays)
    for key, gradient in gradients.items():
        measured = central_differences(case, key)
        scale = max(np.abs(measured).max(), np.abs(gradient).max())
        assert scale > 0
        assert np.abs(gradient - measured).max() <= 1e-6 * scale, key


def central_differences(case, key, step=1e-5):
    """The derivative along every entry of one array, to fourth order."""
    result = np.empty(case.arrays[key].shape)
    for entry in np.ndindex(result.shape):
        values = [case.value(case.arrays | {key: nudged(case.arrays[key], entry, k * step)}) for k in (-2, -1, 1, 2)]
        result[entry] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return result


def nudged(array, entry, step):
    array = array.copy()
    array[entry] += step
    return array
