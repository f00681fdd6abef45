"""Weights of `SparseDeepNMF` are shares of ½‖X‖², measured at a start without penalties and kept from then on."""

import numpy as np
import pytest

import deepnmf
from catalogue import data
from deepnmf import SparseDeepNMF
from deepnmf.metrics import sparseness

PENALTIES = ("L", "R", "RL1", "RL2")


def fitted(X, penalty="RL1", **parameters):
    return SparseDeepNMF((8, 4), **{"penalty": penalty, "max_iter": 20, "tol": 0, "random_state": 0} | parameters).fit(
        X
    )


def units_of(model):
    return model._learned.penalty_units


@pytest.mark.parametrize("activation", ["identity", "square", "tanh"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_fit_loses_no_more_than_the_shares_that_its_penalties_are_at_the_start(penalty, activation):
    X = data(noise=0.3)
    share, terms = 0.01, {"L": 2, "R": 1 if activation == "identity" else 2, "RL1": 3, "RL2": 3}[penalty]
    start = fitted(X, None, activation=activation, max_iter=1)
    model = fitted(X, penalty, activation=activation, feature_penalty=share, code_penalty=share)
    allowed = 0.5 * start.reconstruction_err_**2 + terms * share * 0.5 * np.sum(X**2)
    assert model.loss_curve_[0] <= 1.05 * allowed  # `start` has made a sweep more
    assert 0.5 * model.reconstruction_err_**2 < model.loss_curve_[-1] < model.loss_curve_[0]


def test_units_are_those_of_features_with_unit_norm():
    X, rng = data(), np.random.default_rng(0)
    H, factors = rng.random((len(X), 4)), [rng.random((8, X.shape[1])), rng.random((4, 8))]
    model = SparseDeepNMF((8, 4), penalty="RL2", max_iter=1, tol=0).fit(X, factors=factors, codes=H)
    norms = [np.linalg.norm(C, axis=1) for C in (factors[0], factors[1] @ factors[0])]
    lower, upper = factors[0] / norms[0][:, None], factors[1] * norms[0] / norms[1][:, None]
    expected = [np.sum(X**2) / np.sum(Z.sum(axis=1) ** 2) for Z in (lower, upper)]
    assert units_of(model)["SquaredL1Features"] == pytest.approx(expected)
    assert units_of(model)["RidgeCodes"][-1] == pytest.approx(np.sum(X**2) / np.sum((H * norms[1]) ** 2))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_more_samples_of_the_same_kind_have_the_same_weights(penalty):
    X = data(noise=0.3)
    once, twice = fitted(X, penalty), fitted(np.vstack([X, X]), penalty)
    assert twice.score(X) == pytest.approx(once.score(X), abs=2e-3)
    assert sparseness(twice.components_) == pytest.approx(sparseness(once.components_), abs=0.02)


def test_a_warm_start_keeps_the_units_of_the_first_fit():
    X = data(noise=0.3)
    model = fitted(X, warm_start=True, feature_penalty=0.1)
    units = units_of(model)
    assert units_of(model.set_params(feature_penalty=0.001).fit(X)) == units
    assert units_of(model.set_params(penalty="L").fit(X)).keys() != units.keys()  # other penalties are measured anew


def test_batches_and_files_keep_the_units_of_the_first_batch(tmp_path):
    X = data(noise=0.3)
    model = fitted(X[:30])
    units = units_of(model)
    model.save(tmp_path / "model.safetensors")
    again = deepnmf.load(tmp_path / "model.safetensors")
    assert units_of(again) == units
    assert np.array_equal(again.partial_fit(X[30:]).components_, model.partial_fit(X[30:]).components_)
    assert units_of(again) == units


def test_a_layer_without_weight_is_not_penalized():
    X = data(noise=0.3)
    one, both = fitted(X, "L", feature_penalty=(0, 0.1)), fitted(X, "L", feature_penalty=0.1)
    assert sparseness(one.factors_[0]) < sparseness(both.factors_[0])
