"""`kkt_residual_`: the distance of a linear model from a stationary point."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import deepnmf
from catalogue import VARIANTS, beta_of, data, is_linear, name_of
from deepnmf import GDNMF, GNMF, NMF, DeepNMF, DeepNMFNetwork, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SemiNMF
from deepnmf.engines import Workers, make_engine
from deepnmf.solvers.divergence_loss import loss_of
from deepnmf.solvers.layered_certificate import layered_residuals
from deepnmf.solvers.layered_chain import layered_loss
from deepnmf.solvers.layered_descent import LayeredDescent

CERTIFIED = [
    model
    for model in VARIANTS
    if model._problem().projects and is_linear(model) and not isinstance(model, MultilayerNMF)
]
LABELS = np.where(np.arange(60) % 2, np.arange(60) % 3, -1)


def fitted(model, X=None, entry_weight=None, **parameters):
    X = data() if X is None else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(model).set_params(**parameters)
        return model.fit(X, LABELS[: X.shape[0]], **({} if entry_weight is None else {"entry_weight": entry_weight}))


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


def residuals(rows, codes, factors, losses, weights=(0.5,)):
    with Workers() as workers:
        engine = make_engine(*rows, workers=workers, nonnegative=True)
        descent = LayeredDescent(engine, layered_loss(loss_of(losses[0]), losses[1:], weights, engine))
        return layered_residuals(descent, np.hstack(codes), factors)


EPSILON = 1e-6  # of the losses between layers


def layered_value(X, codes, factors, weights, losses):
    """The loss of a hierarchy, written down."""
    total = 0.0
    for layer, (V, H, Z) in enumerate(zip([X, *codes[:-1]], codes, factors, strict=True)):
        model = H @ Z + (EPSILON if layer else 0)
        kl = np.sum(V * np.log(V / model) - V + model)
        total += [1, *weights][layer] * (kl if losses[layer] == "kullback-leibler" else 0.5 * np.sum((V - model) ** 2))
    return total


def by_differences(value, array, step=1e-6):
    gradient = np.empty_like(array)
    for place, kept in np.ndenumerate(array.copy()):
        sides = []
        for array[place] in (kept + step, kept - step):
            sides.append(value())
        array[place], gradient[place] = kept, (sides[0] - sides[1]) / (2 * step)
    return gradient


@pytest.mark.parametrize("layer_loss", ["kullback-leibler", "frobenius"])
@pytest.mark.parametrize("beta_loss", ["kullback-leibler", "frobenius"])
def test_the_residuals_of_a_hierarchy_agree_with_finite_differences(beta_loss, layer_loss):
    """Rows of factors keep their norm or sum: gradients count as far as they do not change these."""
    rng, sizes, weights, losses = np.random.default_rng(0), (8, 5, 3, 2), (0.4, 0.2), [beta_loss, *[layer_loss] * 2]
    X, *codes = (rng.uniform(0.2, 2, (12, size)) for size in sizes)
    factors = [rng.uniform(0.2, 2, shape) for shape in zip(sizes[1:], sizes, strict=False)]
    expected = [[], []]
    for layer, (V, H, Z) in enumerate(zip([X, *codes[:-1]], codes, factors, strict=True)):
        weight, V = [1, *weights][layer], V - (EPSILON if layer else 0)
        slopes = [by_differences(lambda: layered_value(X, codes, factors, weights, losses), one) for one in (H, Z)]
        if losses[layer] == "frobenius":
            slopes[1] -= Z * (np.sum(slopes[1] * Z, axis=1) / np.sum(Z * Z, axis=1))[:, None]
            scales = V @ Z.T, H.T @ V
        else:
            multiplier = -np.sum(slopes[1] * Z, axis=1, keepdims=True) / Z.sum(axis=1, keepdims=True)
            push = weight * H.sum(axis=0)[:, None] + multiplier + 0 * Z
            total = np.sum(Z * (push - slopes[1] - multiplier), axis=1, keepdims=True)
            slopes[1] = np.minimum(slopes[1] + multiplier, push * (Z * push / total))  # nearly 0 is nearly optimal
            scales = Z.sum(axis=1) + 0 * H, push / weight
        for found, slope, scale in zip(expected, slopes, scales, strict=True):
            found.append(np.linalg.norm(slope) / np.linalg.norm(weight * scale))
    assert residuals((X,), codes, factors, losses, weights) == pytest.approx([*expected[0], *expected[1]], rel=1e-5)


@pytest.mark.parametrize("beta_loss", ["kullback-leibler", "frobenius"])
def test_a_hierarchy_comes_to_rest_at_a_stationary_point(beta_loss):
    model = DeepNMF((8, 4), beta_loss=beta_loss, random_state=0, tol=0)
    few, many = (fitted(model, max_iter=sweeps).kkt_residual_ for sweeps in (20, 2000))
    assert many < 1e-4 < few


@pytest.mark.parametrize("beta_loss", ["kullback-leibler", "frobenius"])
def test_the_residuals_of_a_hierarchy_do_not_depend_on_the_form_of_the_rows(beta_loss):
    rng, losses, X = np.random.default_rng(0), [beta_loss, "kullback-leibler"], data()
    codes, factors = [rng.random((60, size)) for size in (8, 4)], [rng.random((8, 24)), rng.random((4, 8))]
    seen = rng.random(X.shape) < 0.8
    holed = np.where(seen, X, np.nan)
    for one, other in ([(X,), (sparse.csr_array(X),)], [(holed,), (X, seen.astype(float))]):
        found, expected = (residuals(form, codes, factors, losses) for form in (one, other))
        assert found == pytest.approx(expected, rel=1e-9)
        assert found != pytest.approx(residuals((np.where(seen, X, 1),), codes, factors, losses), rel=1e-3)


def test_unobserved_entries_do_not_count_in_the_residual():
    X = data()
    seen = np.random.default_rng(0).random(X.shape) < 0.8
    filled = [np.where(seen, X, np.nan), np.where(seen, X, 1e3)]
    model = NMF(4, random_state=0, tol=1e-8, max_iter=3000)
    found = [fitted(model, filled[0]), fitted(model, filled[1], entry_weight=seen.astype(float))]
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
