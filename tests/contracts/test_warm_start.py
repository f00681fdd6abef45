"""warm_start: a fit continues where the previous one ended."""

import numpy as np
import pytest
from sklearn.base import clone

import deepnmf
from catalogue import SMALL, VARIANTS, beta_of, data, is_linear, name_of
from deepnmf import (
    CNMF,
    GDNMF,
    NMF,
    SSNMF,
    DeepNMF,
    DeepNMFNetwork,
    DeepNSNMF,
    DeepSemiNMF,
    MultilayerNMF,
    SemiNMF,
    SparseDeepNMF,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_model = pytest.mark.parametrize("model", SMALL, ids=name_of)

X = data(noise=0.3)
LABELS = np.random.default_rng(1).choice([-1, 0, 1, 2], size=len(X))
LIFTED = 1.001  # multiplicative steps never leave 0, so zeros of their start are replaced by small numbers


def has_one_loss(model):
    """Each layer of MultilayerNMF has its own loss, which depends on the layer below."""
    return not isinstance(model, MultilayerNMF)


one_loss = pytest.mark.parametrize("model", [m for m in VARIANTS if has_one_loss(m)], ids=name_of)


def warm(model, **changes):
    return clone(model).set_params(warm_start=True, tol=0, **changes)


def starts_at_its_optimum(model):
    """The truncated SVD is already the optimum."""
    return isinstance(model, SemiNMF | DeepSemiNMF) and model.init == "svd" and is_linear(model)


def may_not_descend(model):
    """Whether the model starts at its optimum, or lower layers ignore the loss of upper ones."""
    return starts_at_its_optimum(model) or not getattr(model, "backprop", True)


def slack(model):
    passes = isinstance(model, DeepNMF) and model.explains == "data" and beta_of(model) != 2
    lifts = isinstance(model, SSNMF | DeepNMFNetwork) or getattr(model, "solver", None) == "mu" or passes
    return LIFTED if lifts else 1 + 1e-9


@one_loss
def test_a_warm_fit_starts_no_higher_than_the_previous_one_ended(model):
    model = warm(model, max_iter=20).fit(X, LABELS)
    for _ in range(2):
        previous = model.loss_curve_[-1]
        assert model.fit(X, LABELS).loss_curve_[0] <= slack(model) * previous


@one_loss
def test_short_warm_fits_continue_to_descend(model):
    model, losses = warm(model, max_iter=2), []
    for _ in range(8):
        losses.append(model.fit(X, LABELS).loss_curve_[-1])
    assert (np.diff(losses) <= (slack(model) - 1) * losses[0]).all()
    assert may_not_descend(model) or losses[-1] < losses[0] * (1 - 1e-7)


@one_loss
def test_a_warm_fit_in_single_precision_continues_from_the_previous_one(model):
    if getattr(model, "activation", None) == "stanh" and isinstance(model, DeepSemiNMF):
        pytest.skip("codes below stanh are computed again, and rounded factors can lead to another minimum")
    model = warm(model, max_iter=10).fit(X.astype(np.float32), LABELS)
    previous = model.loss_curve_[-1]
    assert model.fit(X.astype(np.float32), LABELS).loss_curve_[0] <= max(slack(model), 1 + 1e-4) * previous
    assert model.components_.dtype == np.float32


@pytest.mark.parametrize("theta", [0.0, 0.2])
@pytest.mark.parametrize("activation", ["identity", "square"])
def test_the_lowest_greedy_layer_continues_to_descend(activation, theta):
    model = warm(MultilayerNMF((8, 4), activation=activation, theta=theta, random_state=0), max_iter=3)
    errors = [np.linalg.norm(X - model.fit(X).decode(model.encode(X, 0), 0)) for _ in range(5)]
    assert (np.diff(errors) < 0).all()


@every_model
def test_a_fit_without_warm_start_forgets_the_previous_one(model):
    fresh, again = clone(model).fit(X, LABELS), clone(model).fit(X[:40], LABELS[:40]).fit(X, LABELS)
    first_warm = clone(model).set_params(warm_start=True).fit(X, LABELS)
    for other in (again, first_warm):
        assert np.array_equal(fresh.loss_curve_, other.loss_curve_)
        assert np.array_equal(fresh.components_, other.components_)
        assert np.array_equal(fresh.codes_[-1], other.codes_[-1])


@every_model
@pytest.mark.parametrize("rows", [slice(40), slice(None, None, -1)], ids=["fewer", "others"])
def test_a_warm_fit_of_other_rows_starts_from_the_factors(model, rows):
    model = warm(model, max_iter=30).fit(X, LABELS)
    model.fit(X[rows], LABELS[rows])
    cold = clone(model).fit(X[rows], LABELS[rows])
    assert model.codes_[-1].shape == cold.codes_[-1].shape
    assert model.reconstruction_err_ <= 1.2 * cold.reconstruction_err_


def other_sizes(model):
    name = "n_components" if hasattr(model, "n_components") else "layer_sizes"
    return {name: 5 if name == "n_components" else (8, 5)}


def assert_unchanged(model, before):
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[name] is before[name] for name in before)


@every_model
def test_a_warm_fit_with_other_sizes_is_refused_and_changes_nothing(model):
    model = warm(model).fit(X, LABELS).set_params(**other_sizes(model))
    before = dict(model.__dict__)
    with pytest.raises(
        ValueError, match=r"warm_start=True .* have shapes \[.*\(4, .*\], but the model needs \[.*\(5, "
    ):
        model.fit(X, LABELS)
    assert_unchanged(model, before)


@every_model
def test_a_warm_fit_of_data_with_other_columns_is_refused_and_changes_nothing(model):
    model = warm(model).fit(X, LABELS)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=r"warm_start=True .*24\).*, but the model needs .*23\).* for this X"):
        model.fit(X[:, :-1], LABELS)
    assert_unchanged(model, before)
    assert model.transform(X).shape == (60, 4)


@pytest.mark.parametrize("model", [DeepNSNMF((8, 4)), DeepNMFNetwork((8, 4)), GDNMF((8, 4))], ids=name_of)
def test_a_warm_fit_with_another_number_of_layers_is_refused(model):
    model = warm(model, max_iter=3).fit(X).set_params(layer_sizes=(8, 4, 2))
    with pytest.raises(ValueError, match="warm_start=True"):
        model.fit(X)


@pytest.mark.parametrize("change", [{"paths": "deep"}, {"paths": "shallow"}, {"basis_sizes": (6, 4)}], ids=str)
def test_a_warm_fit_with_other_paths_is_refused(change):
    model = warm(GDNMF((8, 4), random_state=0), max_iter=3).fit(X).set_params(**change)
    with pytest.raises(ValueError, match="warm_start=True"):
        model.fit(X)


def test_a_warm_fit_with_other_classes_continues_from_the_features():
    model = warm(GDNMF((8, 4), random_state=0), max_iter=20).fit(X, LABELS)
    previous = model.reconstruction_err_
    model.fit(X, np.where(LABELS == 2, -1, LABELS))
    assert model.classes_.tolist() == [0, 1]
    assert model.reconstruction_err_ <= 1.01 * previous
    assert model.fit(X).reconstruction_err_ <= 1.01 * previous


@pytest.mark.parametrize(
    "model", [CNMF(4), DeepNSNMF((8, 4)), SparseDeepNMF((8, 4)), DeepSemiNMF((8, 4)), SSNMF(4)], ids=name_of
)
def test_given_factors_take_precedence_over_a_warm_start(model):
    given = clone(model).set_params(random_state=1, init="random", max_iter=5).fit(X).factors_
    expected = clone(model).set_params(tol=0, max_iter=5).fit(X, factors=given)
    model = warm(model, max_iter=5).fit(X)
    assert np.array_equal(model.fit(X, factors=given).loss_curve_, expected.loss_curve_)


def test_a_custom_start_takes_precedence_over_a_warm_start_and_is_needed_once():
    rng = np.random.default_rng(0)
    W, H = rng.random((60, 4)), rng.random((4, 24))
    model = warm(NMF(4, init="custom"), max_iter=5).fit(X, W=W, H=H)
    first = model.loss_curve_
    assert np.array_equal(model.fit(X, W=W, H=H).loss_curve_, first)
    assert model.fit(X).loss_curve_[0] <= first[-1]


@every_model
def test_a_loaded_model_continues_its_fit(model, tmp_path):
    model = warm(model, max_iter=20).fit(X)
    model.save(tmp_path / "model")
    previous = model.loss_curve_[-1]
    loaded = deepnmf.load(tmp_path / "model").fit(X)
    model.fit(X)
    if not isinstance(model, DeepNMFNetwork):  # the file does not contain its codes of all layers
        assert np.allclose(loaded.loss_curve_, model.loss_curve_, rtol=1e-9)
    assert loaded.loss_curve_[-1] <= previous * (1 + 1e-9) or not has_one_loss(model)
