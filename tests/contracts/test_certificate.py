"""`kkt_residual_`: the distance of a linear chain from a stationary point."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import deepnmf
from catalogue import VARIANTS, beta_of, data, explains_codes, is_linear, name_of
from deepnmf import GDNMF, GNMF, NMF, DeepNMFNetwork, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SemiNMF

CERTIFIED = [
    model
    for model in VARIANTS
    if model._problem().projects
    and is_linear(model)
    and not isinstance(model, MultilayerNMF)
    and not explains_codes(model)
]
LABELS = np.where(np.arange(60) % 2, np.arange(60) % 3, -1)


def fitted(model, X=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(**parameters).fit(*((data(), LABELS) if X is None else (X, LABELS[: len(X)])))


@pytest.mark.parametrize("model", CERTIFIED, ids=name_of)
def test_the_residual_falls_with_tol(model):
    loose, tight = (fitted(model, data(30, 12), tol=tol, max_iter=400).kkt_residual_ for tol in (1e-2, 1e-5))
    slow = getattr(model, "solver", None) == "mu" or beta_of(model) not in (1, 2)  # multiplicative steps near zeros
    assert tight < (2 * loose if slow else 0.5 * loose) or tight < 1e-4
    assert tight < 0.05


def test_the_residual_falls_to_rounding_error():
    model = GNMF(4, random_state=0, tol=0, max_iter=300)
    assert fitted(model, data(30, 12)).kkt_residual_ < 1e-6


def residual_of_nmf(model, X):
    """The definition: projected gradients of codes and features, relative to their linear parts."""
    H, Z = model.codes_[-1], model.components_
    gradients = [(H, H @ Z @ Z.T, X @ Z.T), (Z, H.T @ H @ Z, H.T @ X)]
    norms = []
    for V, quadratic, linear in gradients:
        gradient = quadratic - linear
        norms.append(np.linalg.norm(np.where(V > 0, gradient, np.minimum(gradient, 0))) / np.linalg.norm(linear))
    return max(norms)


def test_the_residual_agrees_with_its_definition():
    X = data()
    model = fitted(NMF(4, alpha_W=1e-12, random_state=0), tol=1e-3)  # with a penalty, the scale of the fit is kept
    assert model.kkt_residual_ == pytest.approx(residual_of_nmf(model, X), rel=1e-4)


def test_the_residual_of_semi_nmf_is_of_the_size_of_its_definition():
    X = data() - 0.3
    model = fitted(SemiNMF(4, init="random", random_state=0), X, max_iter=3)
    H, D = model.codes_[-1], model.components_
    gradient = H @ D @ D.T - X @ D.T
    projected = np.where(H > 0, gradient, np.minimum(gradient, 0))
    assert 1e-4 < model.kkt_residual_ < 1
    assert 0.1 < model.kkt_residual_ / (np.linalg.norm(projected) / np.linalg.norm(X @ D.T)) < 10


def test_unobserved_entries_do_not_count_in_the_residual():
    X = data()
    seen = np.random.default_rng(0).random(X.shape) < 0.8
    filled = [np.where(seen, X, np.nan), np.where(seen, X, 1e3)]
    model = NMF(4, random_state=0, tol=1e-8, max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [clone(model).fit(filled[0]), clone(model).fit(filled[1], entry_weight=seen.astype(float))]
    assert all(one.kkt_residual_ < 1e-3 for one in found)


@pytest.mark.parametrize("model", [NMF(4, random_state=0), DeepNSNMF((8, 4), random_state=0)], ids=name_of)
def test_the_residual_is_restored_from_a_file(model, tmp_path):
    found = fitted(model, max_iter=5)
    found.save(tmp_path / "model.safetensors")
    assert deepnmf.load(tmp_path / "model.safetensors").kkt_residual_ == found.kkt_residual_
    assert pickle.loads(pickle.dumps(found)).kkt_residual_ == found.kkt_residual_


def test_a_fit_of_several_batches_has_no_residual():
    model = NMF(4, random_state=0).partial_fit(data())
    assert model.kkt_residual_ < 0.1
    assert not hasattr(model.partial_fit(data(seed=1)), "kkt_residual_")


def test_a_refit_with_an_activation_has_no_residual():
    model = fitted(DeepSemiNMF((8, 4), random_state=0), max_iter=3)
    assert model.kkt_residual_ < 1
    model.set_params(activation="relu")
    with pytest.warns(ConvergenceWarning):
        assert not hasattr(model.fit(data()), "kkt_residual_")
    for other in (MultilayerNMF((8, 4)), DeepNMFNetwork((8, 4)), GDNMF((8, 4))):
        assert not hasattr(fitted(other, max_iter=3), "kkt_residual_")
