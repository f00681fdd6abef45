"""Data of any magnitude, and degenerate data, give finite results without warnings."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import deepnmf
from catalogue import SMALL, VARIANTS, beta_of, data, is_linear, name_of
from deepnmf import GDNMF, NMF, SSNMF, WSF, DeepNMFNetwork, DeepSemiNMF, HierarchyWarning, SemiNMF
from deepnmf.objective import Chain, Known, Statistics
from deepnmf.solvers.problem import Start

N = 24
LABELS = np.where(np.arange(N) % 2, np.arange(N) % 3, -1)
LIMITS = [("float64", 1e150), ("float64", 1e-150), ("float32", 1e30), ("float32", 1e-30)]
EXPONENTS = [("float64", 496), ("float64", -496), ("float32", 96), ("float32", -96)]  # 2^496 is 2e149, 2^96 8e28


def is_penalized(model):
    """Whether the model has a weight that is not relative to the units of the fit."""
    values = model.get_params()
    return bool(values.get("alpha_W")) or "label_weight" in values


RESCALED = [model for model in VARIANTS if is_linear(model) and not isinstance(model, GDNMF)]
EXACT = [model for model in RESCALED if not is_penalized(model) and beta_of(model) == 2]
DIVERGENCES = [model for model in RESCALED if not is_penalized(model) and beta_of(model) != 2]
NETWORKS = [model for model in VARIANTS if isinstance(model, SSNMF | DeepNMFNetwork)]
REFUSED = [model for model in VARIANTS if model not in RESCALED]


def fitted(model, X, y=LABELS, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", HierarchyWarning)
        return clone(model).set_params(**{"max_iter": 6, **parameters}).fit(X, y)


def is_finite(model):
    return all(np.isfinite(array).all() for array in (*model.factors_, *model.features_, *model.codes_))


def scaled(X, exponent):
    """Multiply X by a power of two, which is exact."""
    return np.ldexp(X, exponent).astype(X.dtype)


@pytest.mark.parametrize(("dtype", "exponent"), EXPONENTS)
@pytest.mark.parametrize("model", EXACT, ids=name_of)
def test_data_in_other_units_have_the_same_model_in_other_units(model, dtype, exponent):
    X = data(N, 10).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ordinary, other = fitted(model, X), fitted(model, scaled(X, exponent))
        codes, others = ordinary.transform(X), other.transform(scaled(X, exponent))
        assert np.array_equal(other.components_, ordinary.components_)
        assert np.array_equal(others, scaled(codes, exponent))
        assert np.array_equal(other.codes_[-1], scaled(ordinary.codes_[-1], exponent))
        assert np.array_equal(other.loss_curve_, np.ldexp(ordinary.loss_curve_, 2 * exponent))
        assert other.reconstruction_err_ == np.ldexp(ordinary.reconstruction_err_, exponent)
        assert other.score(scaled(X, exponent)) == ordinary.score(X)
        assert getattr(other, "hierarchy_", None) == getattr(ordinary, "hierarchy_", None)
        decoded = scaled(ordinary.inverse_transform(codes), exponent)  # products of small numbers may underflow
        assert np.allclose(other.inverse_transform(others), decoded, rtol=1e-6, atol=0)


@pytest.mark.parametrize(("dtype", "exponent"), EXPONENTS)
@pytest.mark.parametrize("model", DIVERGENCES, ids=name_of)
def test_divergences_are_nearly_the_same_in_other_units(model, dtype, exponent):
    X, beta = data(N, 10).astype(dtype), beta_of(model)
    ordinary, other = fitted(model, X), fitted(model, scaled(X, exponent))
    codes, others = ordinary.transform(X), other.transform(scaled(X, exponent))
    assert other.components_ == pytest.approx(ordinary.components_, abs=1e-3)
    assert scaled(others, -exponent) == pytest.approx(codes, abs=1e-2 * float(codes.max()))
    if abs(beta * exponent) < 1000:  # within the range of double precision
        assert np.log2(other.loss_curve_[-1] / ordinary.loss_curve_[-1]) == pytest.approx(beta * exponent, abs=1e-2)
    assert other.score(scaled(X, exponent)) == pytest.approx(ordinary.score(X), abs=1e-3)


@pytest.mark.parametrize(("dtype", "size"), LIMITS)
@pytest.mark.parametrize("model", [model for model in EXACT if model in SMALL], ids=name_of)
def test_data_at_the_limits_of_the_supported_range_are_fitted(model, dtype, size):
    X = data(N, 10)
    X = (X / X.max() * size).astype(dtype)
    found = fitted(model, X)
    assert is_finite(found)
    assert found.score(X) > 0.6


@pytest.mark.parametrize(("dtype", "exponent"), EXPONENTS)
@pytest.mark.parametrize("model", NETWORKS, ids=name_of)
def test_networks_without_labels_are_the_same_in_other_units(model, dtype, exponent):
    X = data(N, 10).astype(dtype)
    ordinary, other = fitted(model, X, None), fitted(model, scaled(X, exponent), None)
    assert np.array_equal(other.components_, ordinary.components_)
    assert np.array_equal(other.transform(scaled(X, exponent)), scaled(ordinary.transform(X), exponent))


@pytest.mark.parametrize(("dtype", "exponent"), EXPONENTS)
@pytest.mark.parametrize("model", REFUSED, ids=name_of)
def test_a_model_that_depends_on_units_refuses_data_that_must_be_scaled(model, dtype, exponent):
    X = data(N, 10).astype(dtype)
    with pytest.raises(ValueError, match="X has entries of about .* scale X"):
        fitted(model, scaled(X, exponent))


def test_a_model_that_depends_on_units_refuses_new_rows_that_must_be_scaled():
    X = data(N, 10)
    model = fitted(DeepSemiNMF((8, 4), activation="relu", random_state=0), X)
    with pytest.raises(ValueError, match="X has entries of about .* scale X"):
        model.transform(scaled(X, 496))


@pytest.mark.parametrize("unit", [2.0**-12, 2.0**12])
def test_penalties_are_in_the_units_of_the_data(unit):
    rng, X = np.random.default_rng(0), data(N, 10)
    H, Z = rng.random((N, 3)), rng.random((3, 10))
    model = NMF(3, alpha_W=1e-3, alpha_H=2e-3, l1_ratio=0.5)

    def value(unit, X, H, Z):
        stats = Statistics(H.T @ X, H.T @ H, H.sum(axis=0), np.sum(X**2))
        sizes = SimpleNamespace(sqnorm=np.sum(X**2), total=X.sum())
        engine = SimpleNamespace(unit=unit, n_samples=N, n_features=10, measured=sizes)
        bound = model._problem().bind(engine, Known(X, N), Start())
        return bound.objective.value(Chain.of([Z]), stats)

    whole = value(1.0, unit * X, unit**0.5 * H, unit**0.5 * Z)
    assert unit**2 * value(unit, X, H, Z) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("exponent", [496, 144])
def test_a_penalized_model_is_fitted_in_the_units_of_the_data(exponent):
    X = scaled(data(N, 10), exponent)
    weight = np.ldexp(1e-3, exponent)  # large enough to change the fit
    model = fitted(NMF(3, alpha_W=weight, l1_ratio=0.5, random_state=0), X, max_iter=200, tol=1e-9)
    H, Z = model.codes_[-1], model.components_
    penalty = sum(weight * count * (0.5 * V.sum() + 0.25 * np.sum(V**2)) for V, count in ((H, 10), (Z, N)))
    assert model._learned.unit != 1
    assert model.loss_curve_[-1] == pytest.approx(0.5 * np.sum((X - H @ Z) ** 2) + penalty, rel=1e-6)
    assert model.transform(X) == pytest.approx(H, rel=1e-2, abs=1e-3 * H.max())


def test_label_weights_are_in_the_units_of_the_data(monkeypatch):
    X, model = scaled(data(N, 10), 14), SSNMF(4, label_weight=1e7, random_state=0)
    plain = fitted(model, X, max_iter=30)
    monkeypatch.setattr("deepnmf.engines.choice.MAX_RMS", {"float64": 2.0**5})
    scaled_fit = fitted(model, X, max_iter=30)
    assert scaled_fit._learned.unit != 1
    assert scaled_fit.label_factor_ == pytest.approx(plain.label_factor_, rel=1e-6)
    assert scaled_fit.predict_proba(X) == pytest.approx(plain.predict_proba(X), rel=1e-4)


@pytest.mark.parametrize("model", [NMF(3, alpha_W=0.1), SSNMF(3)], ids=name_of)
def test_a_penalty_far_larger_than_the_data_is_refused(model):
    with pytest.raises(ValueError, match="too large for entries of X of about"):
        fitted(model, scaled(data(N, 10), -496))


@pytest.mark.parametrize("form", ["sparse", "holes", "weights", "file", "dask"])
def test_every_kind_of_data_can_be_scaled(form, tmp_path):
    X = data(N, 10)
    given = {}
    for exponent in (0, 496):
        A = scaled(X, exponent)
        if form == "sparse":
            A = sparse.csr_array(A)
        elif form == "holes":
            A[::3, ::4] = np.nan
        elif form == "file":
            np.save(tmp_path / f"{exponent}.npy", A)
            A = tmp_path / f"{exponent}.npy"
        elif form == "dask":
            A = pytest.importorskip("dask.array").from_array(A, chunks=(8, -1))
        weight = {"entry_weight": np.linspace(0.1, 1, X.size).reshape(X.shape)} if form == "weights" else {}
        model = NMF(3, random_state=0, max_iter=6, tol=0).fit(A, **weight)
        given[exponent] = model.components_, np.asarray(model.transform(A, **weight)), model.score(A, **weight)
    assert np.array_equal(given[0][0], given[496][0])
    assert np.array_equal(scaled(given[0][1], 496), given[496][1])
    assert given[0][2] == given[496][2]


def test_rows_of_very_different_magnitudes_are_encoded_together():
    X = data(N, 10)
    model = fitted(NMF(3, random_state=0), X)
    mixed = X * np.logspace(-150, 150, N)[:, None]
    together = model.transform(mixed)
    assert together == pytest.approx(np.vstack([model.transform(row[None]) for row in mixed]), rel=1e-9)
    assert together / np.logspace(-150, 150, N)[:, None] == pytest.approx(model.transform(X), rel=1e-6, abs=1e-9)


def test_batches_use_the_units_of_the_first_one(tmp_path):
    X = data(N, 10)
    plain, other = (NMF(3, random_state=0).partial_fit(scaled(X, e)).partial_fit(scaled(X, e)) for e in (0, 496))
    assert np.array_equal(plain.components_, other.components_)
    assert other.loss_curve_[-1] == np.ldexp(plain.loss_curve_[-1], 992)
    other.save(tmp_path / "model.safetensors")
    loaded = deepnmf.load(tmp_path / "model.safetensors").partial_fit(scaled(X, 496))
    assert np.array_equal(loaded.components_, plain.partial_fit(X).components_)
    with pytest.raises(ValueError, match="expected batches of similar magnitude"):
        other.partial_fit(X)


def test_a_warm_start_and_on_sweep_use_the_units_of_the_data():
    X, seen = data(N, 10), []
    plain, other = (NMF(3, random_state=0, warm_start=True, max_iter=4, tol=0) for _ in range(2))
    for model, exponent in ((plain, 0), (other, 496)):
        model.fit(scaled(X, exponent))
        model.fit(scaled(X, exponent), on_sweep=lambda _, loss: seen.append(loss))
    assert np.array_equal(plain.components_, other.components_)
    assert seen[4:] == [np.ldexp(loss, 992) for loss in seen[:4]]


def test_a_custom_start_is_in_the_units_of_the_data():
    X, rng = data(N, 10), np.random.default_rng(0)
    W, H = rng.random((N, 3)), rng.random((3, 10))
    plain, other = (NMF(3, init="custom", max_iter=5, tol=0).fit(scaled(X, e), W=scaled(W, e), H=H) for e in (0, 496))
    assert np.array_equal(plain.components_, other.components_)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_data_outside_the_supported_range_are_refused(size):
    with pytest.raises(ValueError, match=r"X has entries of about .* magnitudes from 1e-150 to 1e150"):
        fitted(NMF(3), data(N, 10) / data(N, 10).mean() * size)


def kinds(dtype):
    X = data(N, 10).astype(dtype)
    zero_columns = X * (np.arange(10) % 2).astype(dtype)
    one = np.outer(X[:, 1] + 1, X[0] + 1).astype(dtype)
    return {
        "all rows equal": np.tile(X[:1] + 1, (N, 1)).astype(dtype),
        "rank one": one,
        "columns of zeros": zero_columns,
        "one entry": np.eye(N, 10, dtype=dtype) * (np.arange(N) == 0)[:, None].astype(dtype),
        "zeros": np.zeros_like(X),
    }


@pytest.mark.parametrize(
    ("model", "dtype"),
    [*((model, "float64") for model in VARIANTS), *((model, "float32") for model in SMALL)],
    ids=lambda value: value if isinstance(value, str) else name_of(value),
)
def test_degenerate_data_give_finite_results(model, dtype):
    shortened = {"pretrain_max_iter": 3} if "pretrain_max_iter" in model.get_params() else {}
    for kind, X in kinds(dtype).items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = fitted(model, X, max_iter=3, **shortened)
            codes = found.transform(X)
            assert is_finite(found), kind
            assert np.isfinite(codes).all(), kind
            assert np.isfinite(found.inverse_transform(codes)).all(), kind
            assert all(n <= len(C) for n, C in zip(found.n_dead_, found.features_, strict=True)), kind
            assert np.isfinite(found.score(X, np.maximum(LABELS, 0))), kind


def test_unused_features_are_counted(tmp_path):
    X = np.random.default_rng(0).random((50, 8))
    model = NMF(3, alpha_W=0.05, l1_ratio=1, random_state=0).fit(X)
    assert not model.codes_[-1].any(axis=0).all()
    assert model.n_dead_ == [3 - np.count_nonzero(model.codes_[-1].any(axis=0) & model.components_.any(axis=1))]
    model.save(tmp_path / "model")
    assert deepnmf.load(tmp_path / "model").n_dead_ == model.n_dead_
    assert NMF(3, random_state=0).fit(X).n_dead_ == [0]
    assert not hasattr(NMF(3), "n_dead_")


@pytest.mark.parametrize("model", [NMF(4, random_state=0), SemiNMF(4, random_state=0), WSF(4, random_state=0)])
def test_data_of_rank_one_are_explained_by_several_components(model):
    X = kinds("float64")["rank one"]
    assert fitted(model, X, None, max_iter=100).score(X) > 1 - 1e-6
