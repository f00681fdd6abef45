"""CNMF: the labeled samples of a class share one code, and the loss is that of the samples."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls

import deepnmf
from catalogue import data
from deepnmf import CNMF
from deepnmf.engines import sparse_holes
from reference import cnmf

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = data()
LABELS = np.random.default_rng(1).choice([-1, 0, 3, 7], size=len(X), p=[0.5, 0.2, 0.2, 0.1])
CONTAINERS = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix]


def fitted(labels=LABELS, X=X, **changes):
    return CNMF(4, random_state=0).set_params(**changes).fit(X, labels)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", CONTAINERS)
def test_samples_of_a_class_share_one_code_and_others_do_not(container, dtype):
    codes = fitted(X=container(X.astype(dtype))).codes_[-1]
    assert codes.shape == (len(X), 4)
    assert codes.dtype == dtype
    assert len(np.unique(codes, axis=0)) == 3 + np.count_nonzero(LABELS == -1)
    for label in (0, 3, 7):
        rows = codes[label == LABELS]
        assert (rows == rows[0]).all()


@pytest.mark.parametrize("solver", ["cd", "apg", "pg", "mu"])
@pytest.mark.parametrize(("dtype", "rel"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_loss_is_that_of_the_samples_and_never_rises(container, dtype, rel, solver):
    seen = []
    model = CNMF(4, solver=solver, random_state=0, tol=0, max_iter=40)
    model.fit(container(X.astype(dtype)), LABELS, on_sweep=lambda _, loss: seen.append(loss))
    error = np.linalg.norm(X - model.codes_[-1].astype(float) @ model.components_)
    assert model.reconstruction_err_ == pytest.approx(error, rel=rel)
    assert model.loss_curve_[-1] == pytest.approx(0.5 * error**2, rel=rel)
    assert np.array_equal(model.loss_curve_, seen)
    assert (np.diff(model.loss_curve_) <= (1e-12 if dtype is np.float64 else 1e-6) * np.sum(X**2)).all()


HIDDEN = np.random.default_rng(3).random(X.shape) < 0.3


def with_holes(form):
    """Data with unobserved entries in one of three forms, and the `entry_weight` of `fit`."""
    seen = np.where(HIDDEN, 0.0, 1.0)
    stored = sparse.csr_array((X[~HIDDEN], np.nonzero(~HIDDEN)), shape=X.shape)
    return {"NaN": (np.where(HIDDEN, np.nan, X), None), "weights": (X, seen), "stored": (stored, "stored")}[form]


@pytest.mark.parametrize("form", ["NaN", "weights", "stored"])
def test_with_holes_the_loss_is_that_of_the_observed_entries_and_never_rises(form):
    holed, weight = with_holes(form)
    model = CNMF(4, random_state=0, tol=0, max_iter=1000).fit(holed, LABELS, entry_weight=weight)
    codes = model.codes_[-1]
    loss = 0.5 * np.sum(np.square(X - codes @ model.components_)[~HIDDEN])
    assert len(np.unique(codes, axis=0)) == 3 + np.count_nonzero(LABELS == -1)
    assert model.loss_curve_[-1] == pytest.approx(loss, rel=1e-4)
    assert 0.5 * model.reconstruction_err_**2 == pytest.approx(loss, rel=1e-10)
    assert (np.diff(model.loss_curve_) <= 1e-12 * np.sum(X**2)).all()


def test_codes_of_classes_with_holes_are_nonnegative_least_squares():
    """Nonnegative least squares over all observed entries of a class."""
    holed, _ = with_holes("NaN")
    model = CNMF(4, random_state=0, tol=1e-12, max_iter=20_000).fit(holed, LABELS)
    for label in (0, 3, 7):
        rows, columns = np.nonzero(~HIDDEN & (label == LABELS)[:, None])
        expected, _ = nnls(model.components_[:, columns].T, X[rows, columns])
        assert np.allclose(model.codes_[-1][label == LABELS], expected, atol=1e-4)


def test_sparsely_observed_classes_are_fitted_row_by_row(monkeypatch):
    monkeypatch.setattr(sparse_holes, "SPARSELY_OBSERVED", 1.1)
    stored, weight = with_holes("stored")
    model = CNMF(4, random_state=0, tol=0, max_iter=30).fit(stored, LABELS, entry_weight=weight)
    loss = 0.5 * np.sum(np.square(X - model.codes_[-1] @ model.components_)[~HIDDEN])
    assert model.loss_curve_[-1] == pytest.approx(loss, rel=1e-10)


def test_the_order_of_the_samples_does_not_matter():
    shuffled = np.random.default_rng(2).permutation(len(X))
    first, second = fitted(tol=0, max_iter=20), fitted(LABELS[shuffled], X[shuffled], tol=0, max_iter=20)
    assert np.allclose(first.loss_curve_, second.loss_curve_, rtol=1e-9)
    assert np.allclose(first.codes_[-1][shuffled], second.codes_[-1], atol=1e-7)


def test_text_and_nan_labels_give_the_same_codes():
    text = np.array([None if label == -1 else f"class {label}" for label in LABELS], dtype=object)
    gaps = np.where(LABELS == -1, np.nan, LABELS)
    expected = fitted()
    assert expected.classes_.tolist() == [0, 3, 7]
    for labels, classes in ((text, ["class 0", "class 3", "class 7"]), (gaps, [0, 3, 7])):
        model = fitted(labels)
        assert model.classes_.tolist() == classes
        assert np.array_equal(model.codes_[-1], expected.codes_[-1])


def test_transform_does_not_use_labels():
    model = fitted()
    codes = model.transform(X)
    assert len(np.unique(codes, axis=0)) == len(X)
    gradient = (codes @ model.components_ - X) @ model.components_.T
    assert (np.abs(np.where(codes > 0, gradient, np.minimum(gradient, 0))) <= 1e-8 * np.sum(X**2)).all()
    assert np.array_equal(CNMF(4, random_state=0).fit_transform(X, LABELS), codes)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cnmf_ends_at_least_as_low_as_the_published_algorithm_from_the_same_start(seed):
    rng = np.random.default_rng(seed)
    A, Z = cnmf.indicator(LABELS), rng.random((4, X.shape[1]))
    V = rng.random((A.shape[1], 4))
    V, Z, _ = cnmf.cnmf(X, A, V, Z, 20)  # from a start far from the data, the two methods may end in different minima
    *_, losses = cnmf.cnmf(X, A, V, Z, 500)
    model = CNMF(4, init="custom", max_iter=500, tol=1e-7).fit(X, LABELS, factors=[Z])
    assert model.loss_curve_[-1] <= losses[-1] * (1 + 1e-6)


def test_the_published_updates_do_not_change_our_optimum():
    model = fitted(tol=1e-12, max_iter=5000)
    A = cnmf.indicator(LABELS)
    V = np.linalg.lstsq(A, model.codes_[-1], rcond=None)[0]
    *_, losses = cnmf.cnmf(X, A, np.maximum(V, 0), model.components_, 50)
    assert losses[-1] == pytest.approx(model.loss_curve_[-1], rel=1e-6)


@pytest.mark.parametrize("labels", [LABELS, None, np.array([f"c{label}" for label in LABELS])])
def test_the_classes_are_saved(labels, tmp_path):
    model = fitted(labels)
    model.save(tmp_path / "model")
    loaded = deepnmf.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert np.array_equal(loaded.classes_, model.classes_)
    assert np.array_equal(loaded.codes_[-1], model.codes_[-1])


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (np.where(LABELS == 3, 3, -1), "y contains one class only, 3: expected labels of two or more classes, or none"),
        (LABELS[:-1], "y has 59 labels, but X has 60 samples"),
        (X[:, 0], "Unknown label type"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_and_change_nothing(labels, sentence):
    model = fitted()
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, labels)
    assert model.__dict__ == before


def test_more_components_than_groups_are_refused_for_an_explicit_nndsvd_only():
    every_label_known = np.arange(len(X)) % 3
    sentence = r"n_components <= min\(n_groups, n_features\), .*; got 4 for \(3, 24\)"
    with pytest.raises(ValueError, match=sentence):
        fitted(every_label_known, init="nndsvd")
    assert fitted(every_label_known, init=None).codes_[-1].shape == (60, 4)
    with pytest.raises(ValueError, match=r"n_components <= min\(n_samples, n_features\)"):
        CNMF(30, init="nndsvd").fit(X)
