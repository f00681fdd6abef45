"""`code_scale` moves scale between codes and features, and nothing else."""

import numpy as np
import pytest

import deepnmf
from catalogue import data
from deepnmf import DeepSemiNMF, SemiNMF

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = [
    SemiNMF(4, random_state=0),
    DeepSemiNMF((8, 4), random_state=0),
    DeepSemiNMF((8, 4), activation="relu", random_state=0),
]


def rms(codes):
    return np.sqrt(np.mean(np.square(codes), axis=0))


def both(model, X):
    return [type(model)(**model.get_params() | {"code_scale": scale, "tol": 1e-6}).fit(X) for scale in ("norm", "rms")]


@pytest.mark.parametrize("model", MODELS)
def test_codes_have_unit_root_mean_square_or_features_unit_norm(model):
    by_norm, by_rms = both(model, data(noise=0.3))
    assert rms(by_rms.codes_[-1]) == pytest.approx(np.ones(4))
    is_linear = getattr(model, "activation", "identity") == "identity"
    features = by_norm.components_ if is_linear else by_norm.factors_[-1]  # below an activation, rows of Z_m
    assert np.linalg.norm(features, axis=1) == pytest.approx(np.ones(4))


@pytest.mark.parametrize("model", MODELS)
def test_the_scale_of_codes_changes_no_reconstruction(model):
    X = data(noise=0.3)
    by_norm, by_rms = both(model, X)
    assert by_rms.reconstruction_err_ == pytest.approx(by_norm.reconstruction_err_, rel=1e-9)
    assert by_rms.decode(by_rms.codes_[-1]) == pytest.approx(by_norm.decode(by_norm.codes_[-1]), abs=1e-9)


@pytest.mark.parametrize("model", MODELS[:2])
def test_the_scale_of_codes_changes_no_reconstruction_of_any_layer_of_new_rows(model):
    X = data(noise=0.3)
    by_norm, by_rms = both(model, X)
    for layer in range(len(by_norm.factors_)):
        decoded = [each.decode(each.encode(X, layer), layer) for each in (by_norm, by_rms)]
        assert decoded[1] == pytest.approx(decoded[0], abs=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_transform_gives_codes_in_the_scale_of_the_fit(model, tmp_path):
    X = data(noise=0.3)
    _, by_rms = both(model, X)
    codes = by_rms.transform(X)
    assert rms(codes) == pytest.approx(np.ones(4), abs=0.05)
    assert by_rms.inverse_transform(codes) == pytest.approx(by_rms.decode(codes), abs=1e-12)
    by_rms.save(tmp_path / "model.safetensors")
    assert np.array_equal(deepnmf.load(tmp_path / "model.safetensors").transform(X), codes)


def test_lower_codes_of_the_chain_have_unit_root_mean_square():
    X = data(noise=0.3)
    _, model = both(DeepSemiNMF((8, 4), random_state=0), X)
    assert rms(model.codes_[-1] @ model.factors_[1]) == pytest.approx(np.ones(8))


def test_a_warm_start_and_a_batch_continue_from_scaled_codes():
    X = data(noise=0.3)
    _, model = both(SemiNMF(4, warm_start=True, random_state=0), X)
    before = model.loss_curve_[-1]
    assert model.fit(X).loss_curve_[0] <= before * (1 + 1e-9)
    batch = model.partial_fit(X[:30])
    assert rms(batch.codes_[-1]) == pytest.approx(np.ones(4))
    assert batch.score(X) > 0.8


def test_a_feature_that_no_sample_has_keeps_unit_norm():
    model = SemiNMF(2, init="custom", code_scale="rms", max_iter=1, tol=0)
    model.fit(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), factors=[np.array([[1.0, 1.0], [-1.0, -1.0]])])
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.codes_[-1]).all()
