"""Special cases in which one model is equal to another."""

import numpy as np
import pytest

from catalogue import data
from deepnmf import CNMF, NMF, NSNMF, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SemiNMF, SparseDeepNMF
from deepnmf.objective import ACTIVATIONS, ActivatedObjective, Chain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RUN = {"random_state": 0, "tol": 0, "max_iter": 30}


def same(first, second):
    assert np.array_equal(first.loss_curve_, second.loss_curve_)
    assert np.array_equal(first.components_, second.components_)
    assert np.array_equal(first.codes_[-1], second.codes_[-1])


@pytest.mark.parametrize("theta", [0.0, 0.4])
def test_one_layer_of_deep_nsnmf_is_nsnmf(theta):
    X = data()
    same(DeepNSNMF((5,), theta=theta, **RUN).fit(X), NSNMF(5, theta=theta, **RUN).fit(X))


def test_one_layer_of_sparse_deep_nmf_is_nmf():
    X = data()
    same(SparseDeepNMF((5,), init="nndsvda", **RUN).fit(X), NMF(5, **RUN).fit(X))


@pytest.mark.parametrize("y", [None, np.full(60, -1), np.full(60, None)], ids=["no y", "-1", "None"])
@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_without_labels_constrained_nmf_is_nmf(y, solver, order):
    X = np.asarray(data(), order=order)
    same(CNMF(5, solver=solver, **RUN).fit(X, y), NMF(5, solver=solver, **RUN).fit(X))


def test_one_layer_of_deep_semi_nmf_is_semi_nmf():
    X = data() - 0.5
    same(DeepSemiNMF((5,), init="random", **RUN).fit(X), SemiNMF(5, init="random", **RUN).fit(X))


def test_one_layer_of_multilayer_nmf_is_nsnmf():
    X = data()
    same(MultilayerNMF(5, theta=0.0, **RUN).fit(X), NSNMF(5, theta=0.0, **RUN).fit(X))


def test_deep_nsnmf_without_smoothing_is_a_plain_chain():
    X = data()
    same(DeepNSNMF((8, 5), theta=0.0, **RUN).fit(X), SparseDeepNMF((8, 5), **RUN).fit(X))


def test_nsnmf_without_smoothing_is_nmf():
    X = data()
    same(NSNMF(5, theta=0.0, init="nndsvda", **RUN).fit(X), NMF(5, **RUN).fit(X))


@pytest.mark.parametrize("penalty", ["L", "R", "RL1", "RL2"])
def test_a_penalty_of_weight_zero_is_no_penalty(penalty):
    X = data()
    zero = SparseDeepNMF((8, 5), penalty=penalty, feature_penalty=0, code_penalty=0, **RUN).fit(X)
    none = SparseDeepNMF((8, 5), **RUN).fit(X)
    assert np.allclose(zero.loss_curve_, none.loss_curve_, rtol=1e-6)


def test_one_theta_is_used_for_every_layer():
    X = data()
    same(DeepNSNMF((8, 5), theta=(0.2, 0.2), **RUN).fit(X), DeepNSNMF((8, 5), theta=0.2, **RUN).fit(X))


@pytest.mark.parametrize("sizes", [(12, 5), (12, 8, 5), (5, 12, 5)])
def test_linear_deep_semi_nmf_reaches_the_optimum_of_semi_nmf(sizes):
    X = data(noise=0.3)
    singular = np.linalg.svd(X, compute_uv=False)
    optimum = np.sqrt(np.sum(singular[5:] ** 2))
    assert SemiNMF(5, random_state=0).fit(X).reconstruction_err_ == pytest.approx(optimum, rel=1e-6)
    deep = DeepSemiNMF(sizes, random_state=0, max_iter=500, tol=1e-7).fit(X)
    assert deep.reconstruction_err_ == pytest.approx(optimum, rel=1e-3)


def test_semi_nmf_of_mixed_signs_is_at_least_as_good_as_the_svd_of_one_rank_less():
    X = data(noise=0.3) - 0.4
    singular = np.linalg.svd(X, compute_uv=False)
    assert SemiNMF(5, random_state=0).fit(X).reconstruction_err_ <= np.sqrt(np.sum(singular[4:] ** 2)) * (1 + 1e-9)


def test_the_square_activation_roots_the_codes_that_feed_the_next_layer():
    X = data()
    model = MultilayerNMF((8, 4), activation="square", random_state=0, tol=1e-6, max_iter=500).fit(X)
    below = NSNMF(8, theta=0.0, random_state=0, tol=1e-6, max_iter=500).fit(X)
    assert model.encode(X, 0) @ model.factors_[0] == pytest.approx(
        below.inverse_transform(below.transform(X)), abs=1e-9
    )
    best = SemiNMF(4, random_state=0).fit(np.sqrt(model.encode(X, 0))).reconstruction_err_
    fed = np.sqrt(model.encode(X, 0))
    assert best <= np.linalg.norm(fed - model.transform(X) @ model.factors_[1]) <= 2 * best
    H = model.transform(X)
    assert np.allclose(model.inverse_transform(H), np.square(H @ model.factors_[1]) @ model.factors_[0])


@pytest.mark.parametrize("sizes", [(8, 4), (12, 8, 4)])
@pytest.mark.parametrize("cls", [DeepSemiNMF, SparseDeepNMF])
def test_the_identity_between_layers_is_the_linear_model(cls, sizes):
    X = data()
    model = cls(sizes, activation="identity", random_state=0).fit(X)
    chain, H = Chain.of(model.factors_, nonnegative=model._problem().nonnegative), model.codes_[-1]
    rows = ActivatedObjective(ACTIVATIONS["identity"]).rows(chain, X.dtype)
    values, gradient = rows.evaluate(H, X @ model.factors_[0].T)
    assert values.sum() + 0.5 * np.sum(X**2) == pytest.approx(model.loss_curve_[-1], rel=1e-9)
    D = model.components_
    assert np.allclose(gradient, H @ D @ D.T - X @ D.T, atol=1e-9)


def test_an_activation_has_no_effect_on_a_single_layer():
    X = data()
    plain, activated = (SparseDeepNMF(4, activation=a, random_state=0).fit(X) for a in ("identity", "square"))
    assert np.array_equal(plain.components_, activated.components_)


def test_root_codes_give_the_same_model():
    X = data()
    plain = SparseDeepNMF((8, 4), activation="square", random_state=0, max_iter=20).fit(X)
    rooted = SparseDeepNMF((8, 4), activation="square", root_codes=True, random_state=0, max_iter=20).fit(X)
    assert np.array_equal(plain.loss_curve_, rooted.loss_curve_)
    assert np.allclose(rooted.codes_[-1] ** 2, plain.codes_[-1])
    assert rooted.score(X) == pytest.approx(plain.score(X), rel=1e-6)
    assert rooted.reconstruction_err_ == pytest.approx(plain.reconstruction_err_)


def test_one_layer_with_root_codes_is_nmf_with_roots_of_its_codes():
    X = data()
    model = SparseDeepNMF((4,), activation="square", root_codes=True, random_state=0, max_iter=40).fit(X)
    (codes,) = model.codes_
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - codes**2 @ model.components_))
    assert np.allclose(model.inverse_transform(codes), codes**2 @ model.components_)
