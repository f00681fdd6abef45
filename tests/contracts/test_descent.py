"""Properties of every fit: its loss, and the scale and shape of its results."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import NMF as ScikitNMF

from catalogue import VARIANTS, beta_of, data, is_linear, name_of
from deepnmf import GDNMF, NMF, DeepNMF, DeepNMFNetwork, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SparseDeepNMF
from deepnmf.metrics import sparseness
from deepnmf.objective.divergences import Divergence
from deepnmf.solvers.hierarchy_problem import HierarchyProblem
from deepnmf.solvers.layered_descent import LayeredState
from deepnmf.solvers.loop import Run, minimize
from deepnmf.solvers.small_descent import SmallDescent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_variant = pytest.mark.parametrize("model", VARIANTS, ids=name_of)


def fitted(model, X, **changes):
    return clone(model).set_params(**changes).fit(X)


def lowest_loss_of_rank(rank, X):
    return np.sum(np.linalg.svd(X, compute_uv=False)[rank:] ** 2) / 2


@every_variant
def test_loss_never_rises(model):
    X = data()
    model = fitted(model, X, tol=0, max_iter=60)
    curve = model.loss_curve_
    assert (np.diff(curve) <= 1e-12 * np.sum(X**2)).all()
    assert curve[-1] < curve[0] or curve[0] <= (1 + 1e-9) * lowest_loss_of_rank(len(model.components_), X)


@every_variant
def test_loss_never_rises_in_single_precision(model):
    X = data().astype(np.float32)
    curve = fitted(model, X, tol=0, max_iter=60).loss_curve_
    assert (np.diff(curve) <= 1e-6 * curve[0]).all()


@pytest.mark.parametrize("tol", [0, 1e-4])
@pytest.mark.parametrize(("n_samples", "noise"), [(30, 0.1), (1500, 0.1), (1500, 1e-4)])  # 1500: in two precisions
def test_sweeps_made_at_once_have_the_bits_of_observed_sweeps(tol, n_samples, noise):
    rng = np.random.default_rng(0)
    X = rng.gamma(1, size=(n_samples, 4)) @ rng.gamma(0.5, size=(4, 60)) + noise * rng.random((n_samples, 60))
    model = NMF(4, random_state=0, tol=tol, max_iter=150)
    at_once, one_by_one = clone(model).fit(X), clone(model).fit(X, on_sweep=lambda sweep, loss: False)
    assert np.array_equal(at_once.components_, one_by_one.components_)
    assert np.array_equal(at_once.loss_curve_, one_by_one.loss_curve_)
    assert at_once.stop_reason_ == one_by_one.stop_reason_


@every_variant
def test_fitted_attributes_agree_with_each_other(model):
    X = data()
    model = fitted(model, X)
    assert model.n_iter_ == len(model.loss_curve_)
    assert model.stop_reason_ in {"decrease", "optimality", "max_iter"}
    assert np.array_equal(model.components_, model.features_[-1])
    assert [Z.shape[0] for Z in model.factors_] == [C.shape[0] for C in model.features_]
    assert model.codes_[-1].min() >= 0
    error = np.sqrt(2 * Divergence(beta_of(model)).value(X, model.decode(model.codes_[-1])))
    assert model.reconstruction_err_ == pytest.approx(error, rel=1e-9)
    if model._problem().nonnegative:
        assert all(Z.min() >= 0 for Z in model.factors_)


def has_unit_features(model):
    """With penalties, NMF keeps the scale of scikit-learn; features of a nonlinear model are decoded unit codes."""
    return not getattr(model, "alpha_W", 0) and is_linear(model) and has_unit_norm(model)


def has_unit_norm(model):
    """Whether it is the codes that carry the scale."""
    return getattr(model, "code_scale", "norm") == "norm"


@pytest.mark.parametrize("model", [m for m in VARIANTS if has_unit_features(m)], ids=name_of)
def test_every_layers_features_have_unit_norm_in_input_space(model):
    for C in fitted(model, data()).features_:
        norms = np.linalg.norm(C, axis=1)
        assert np.allclose(norms[norms > 0], 1)


def minimizes_the_error_of_the_data(model):
    weighted = getattr(model, "layer_weights", None) is not None or isinstance(model, DeepNMF)
    return not weighted and not isinstance(model, MultilayerNMF | DeepNMFNetwork)


@pytest.mark.parametrize("model", [m for m in VARIANTS if minimizes_the_error_of_the_data(m)], ids=name_of)
def test_unpenalized_loss_is_half_the_squared_error(model):
    nothing = {"penalty": None, "alpha_W": 0, "alpha_H": 0, "graph_weights": 0}
    parameters = model.get_params()
    model = clone(model).set_params(**{name: value for name, value in nothing.items() if name in parameters})
    model = fitted(model, data())
    assert model.loss_curve_[-1] == pytest.approx(0.5 * model.reconstruction_err_**2, rel=1e-8)


def has_separate_lower_codes(model):
    """In GDNMF, the codes of lower layers are functions of the top ones."""
    return hasattr(model, "keep_codes") and not isinstance(model, GDNMF)


@pytest.mark.parametrize("model", [m for m in VARIANTS if has_separate_lower_codes(m)], ids=name_of)
def test_codes_of_every_layer_are_kept_on_request(model):
    X = data()
    model = fitted(model, X, keep_codes="all")
    assert [H.shape for H in model.codes_] == [(len(X), len(Z)) for Z in model.factors_]


def has_chained_codes(model):
    """Elsewhere the codes of all layers are variables; in GDNMF, the shallow path skips the lower layers."""
    all_variables = isinstance(model, DeepNMFNetwork) or isinstance(model._problem(), HierarchyProblem)
    return hasattr(model, "keep_codes") and not all_variables and not isinstance(model, GDNMF)


@pytest.mark.parametrize("model", [m for m in VARIANTS if has_chained_codes(m)], ids=name_of)
def test_codes_of_lower_layers_are_what_encode_gives(model):
    X = data()
    model = fitted(model, X, keep_codes="all")
    for layer in range(len(model.factors_) - 1):
        if is_linear(model) or isinstance(model, MultilayerNMF):
            assert np.allclose(model.codes_[layer], model.encode(X, layer), atol=1e-9)
        else:  # the codes of the top layer, decoded to the lower one
            expected = model.decode(model.codes_[-1])
            assert np.allclose(model.decode(model.codes_[layer], layer), expected, atol=1e-9 * expected.max())


@pytest.mark.parametrize("theta", [0.0, 0.3])
def test_stopping_does_not_depend_on_the_quality_of_the_start(theta):
    X = data(noise=0.3)
    model = DeepNSNMF((8, 4), theta=theta, random_state=0, tol=1e-5, max_iter=2000, pretrain_max_iter=0).fit(X)
    again = DeepNSNMF((8, 4), theta=theta, init="custom", tol=1e-5, max_iter=2000)
    again.fit(X, factors=model.factors_)
    assert again.n_iter_ < model.n_iter_ / 2
    assert again.loss_curve_[-1] <= model.loss_curve_[-1] * (1 + 1e-9)


@pytest.mark.parametrize(
    "model",
    [
        DeepNSNMF((8, 4), theta=0.0),
        DeepNSNMF((20, 8, 4), theta=(0.1, 0.3, 0.5)),
        DeepSemiNMF((8, 4)),
        DeepSemiNMF((4, 8), init="random"),
    ],
    ids=name_of,
)
def test_a_fit_from_given_factors_starts_at_their_loss(model):
    X = data(noise=0.3)
    model = fitted(model, X, random_state=0)
    again = clone(model).set_params(max_iter=1).fit(X, factors=model.factors_)
    assert again.loss_curve_[0] <= model.loss_curve_[-1] * (1 + 1e-9)


@pytest.mark.parametrize("penalties", [{}, {"alpha_W": 0.02, "alpha_H": 0.01, "l1_ratio": 0.3}])
def test_sweeps_in_one_compiled_call_are_those_of_larger_data(penalties, monkeypatch):
    X = data(noise=0.3)
    model = NMF(4, max_iter=30, tol=0, random_state=0, **penalties)
    at_once = clone(model).fit(X)
    monkeypatch.setattr(SmallDescent, "_simple_rows", lambda self, chain: None)
    one_by_one = clone(model).fit(X)
    assert np.allclose(at_once.loss_curve_, one_by_one.loss_curve_, rtol=1e-9)
    assert np.allclose(at_once.components_, one_by_one.components_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_a_smaller_tolerance_gives_a_lower_loss(tol):
    X = data(noise=0.3)
    loose, tight = (NMF(4, tol=t, max_iter=5000, random_state=0).fit(X) for t in (tol, tol / 10))
    assert tight.loss_curve_[-1] <= loose.loss_curve_[-1]
    assert tight.n_iter_ > loose.n_iter_


def test_decreases_of_a_negligible_loss_end_the_sweeps():
    def halved(state):
        return replace(state, loss=state.loss / 2)

    state = LayeredState(np.empty((0, 0)), (), loss=1.0)
    ends = [minimize(halved, state, max_iter=30, tol=1e-3, run=Run(), negligible=size)[1] for size in (0.0, 10.0)]
    assert [(end.stop_reason, len(end.losses)) for end in ends] == [("max_iter", 30), ("decrease", 10)]


def test_on_sweep_is_called_after_every_sweep_and_can_stop_the_fit():
    seen = []
    model = NMF(4, random_state=0, tol=0)
    model.fit(data(), on_sweep=lambda sweep, loss: seen.append((sweep, loss)) or sweep == 7)
    assert [sweep for sweep, _ in seen] == list(range(1, 8))
    assert model.stop_reason_ == "on_sweep"
    assert np.array_equal(model.loss_curve_, [loss for _, loss in seen])


@pytest.mark.parametrize("sizes", [(5,), (8, 5)])
@pytest.mark.parametrize("penalty", ["L", "R"])
def test_a_one_sided_penalty_changes_sparseness_and_not_only_the_scale(penalty, sizes):
    X = data(n=100, p=40, rank=8, noise=0.3)
    measured = []
    for weight in (0.0, 0.01, 0.1):
        model = SparseDeepNMF(sizes, penalty=penalty, feature_penalty=weight, code_penalty=weight, random_state=0).fit(
            X
        )
        measured.append(sparseness(model.components_ if penalty == "L" else model.codes_[-1]))
    assert measured[0] < measured[1] < measured[2]


def has_unit_rows(model):
    is_homogeneous = isinstance(model, SparseDeepNMF | DeepSemiNMF) and model.activation in ("square", "relu")
    return is_homogeneous and has_unit_norm(model)


@pytest.mark.parametrize("model", [m for m in VARIANTS if has_unit_rows(m)], ids=name_of)
def test_factors_have_unit_rows_below_a_homogeneous_activation(model):
    for Z in fitted(model, data()).factors_:
        norms = np.linalg.norm(Z, axis=1)
        assert np.allclose(norms[norms > 0], 1)


def test_fits_of_data_like_text_begin_with_the_iterations_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 80)) < 0.05, rng.gamma(1, size=(60, 80)), 0)
    W, H = rng.random((60, 4)), rng.random((4, 80))
    params = {"init": "custom", "tol": 0, "max_iter": 5}
    fits = (cls(4, **params) for cls in (NMF, ScikitNMF))
    ours, theirs = (model.fit(X, W=W.copy(), H=H.copy()) for model in fits)
    assert ours.reconstruction_err_ == pytest.approx(theirs.reconstruction_err_, rel=1e-9)
