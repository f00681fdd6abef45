"""Every gradient of every model is compared with central differences."""

import numpy as np
import pytest

from deepnmf.objective import ACTIVATIONS, ActivatedObjective, Objective
from deepnmf.solvers.least_squares import free_factor
from gradients import CASES
from gradients.linear import penalties, random_chain, statistics


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_central_differences(name):
    case = CASES[name]
    gradients = case.gradients(case.arrays)
    assert set(gradients) == set(case.arrays)
    for key, gradient in gradients.items():
        measured = central_differences(case, key)
        scale = max(np.abs(measured).max(), np.abs(gradient).max())
        assert scale > 0
        assert np.abs(gradient - measured).max() <= 1e-6 * scale, key


def central_differences(case, key, step=1e-5):
    """The derivative in each entry of one array, to fourth order."""
    result = np.empty(case.arrays[key].shape)
    for entry in np.ndindex(result.shape):
        values = [
            case.value(case.arrays | {key: with_entry_changed(case.arrays[key], entry, k * step)})
            for k in (-2, -1, 1, 2)
        ]
        result[entry] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return result


def with_entry_changed(array, entry, step):
    array = array.copy()
    array[entry] += step
    return array


@pytest.mark.parametrize(("depth", "name"), [(depth, name) for depth in (1, 2, 3) for name in penalties(depth)])
def test_a_factor_of_any_sign_is_optimal_with_every_penalty_or_the_penalty_is_refused(depth, name):
    H, chain, X = random_chain(depth, theta=0.0)
    objective = Objective(penalties(depth)[name])
    stats = statistics(objective, X, H)
    for layer, Z in enumerate(chain.factors):
        terms = objective.factor_terms(chain, layer, stats)
        if terms.l1 or terms.row_sums is not None:
            with pytest.raises(ValueError, match="needs a nonnegative factor"):
                free_factor(chain, layer, stats, terms)
            continue
        gradient = objective.block(chain, layer, stats, n_steps=3).gradient(Z)
        best, violation = free_factor(chain, layer, stats, terms)
        assert violation == pytest.approx(np.sum(gradient**2), rel=1e-8)
        block = objective.block(chain, layer, stats, n_steps=3)  # of the same majorizer
        assert np.linalg.norm(block.gradient(best)) <= 1e-6 * np.linalg.norm(gradient)


@pytest.mark.parametrize("depth", [2, 3])
def test_a_penalty_on_features_in_input_space_is_refused_below_an_activation(depth):
    H, chain, X = random_chain(depth, theta=0.0)
    objective = ActivatedObjective(ACTIVATIONS["square"], penalties(depth)["the same with features of unit norm"])
    stats = statistics(Objective(), X, H)
    for layer in range(depth):
        with pytest.raises(ValueError, match="UnitScaleSquaredL1Codes depends on features in input space"):
            objective.factor_terms(chain, layer, stats)


@pytest.mark.parametrize("name", [name for name in penalties(2) if "graph" in name])
def test_a_graph_with_smoothing_is_refused(name):
    H, chain, X = random_chain(2, theta=0.3)
    objective = Objective(penalties(2)[name])
    stats = statistics(objective, X, H)
    with pytest.raises(ValueError, match="theta must be 0"):
        objective.value(chain, stats)
    with pytest.raises(ValueError, match="theta must be 0"):
        objective.block(chain, 0, stats, 1)
