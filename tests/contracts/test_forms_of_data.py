"""The same matrix gives the same result in every form."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from catalogue import LABELED, SMALL, VARIANTS, beta_of, data, is_linear, layouts, name_of, sparse_forms
from deepnmf import NMF, DeepNSNMF
from deepnmf.engines import memory

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def short(model):
    # Spectral steps amplify rounding errors from step to step, so two fits soon differ. Rounding must not decide either
    # when a pre-training ends.
    few = {"max_iter": 15 if is_linear(model) else 1, "tol": 0, "pretrain_max_iter": 20, "pretrain_tol": 0}
    return clone(model).set_params(**{name: value for name, value in few.items() if name in model.get_params()})


def assert_same_bits(fitted, other, X, same_X):
    """Check that models fitted to two forms of a matrix, and their codes for the two forms, agree in every bit."""
    assert np.array_equal(fitted.loss_curve_, other.loss_curve_)
    assert np.array_equal(fitted.codes_[-1], other.codes_[-1])
    assert all(np.array_equal(Z, same_Z) for Z, same_Z in zip(fitted.factors_, other.factors_, strict=True))
    assert np.array_equal(fitted.transform(X), other.transform(same_X))


@pytest.mark.parametrize("model", VARIANTS, ids=name_of)
def test_the_same_numbers_give_the_same_bits_in_c_and_fortran_order(model):
    X = data()
    assert_same_bits(short(model).fit(X), short(model).fit(np.asfortranarray(X)), X, np.asfortranarray(X))


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_the_same_numbers_give_the_same_bits_in_any_layout_and_as_a_frame(model):
    X = data()
    fitted = short(model).fit(X)
    for form in layouts(X).values():
        assert_same_bits(fitted, short(model).fit(form), X, form)


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_sparse_data_give_the_same_bits_in_every_format(model):
    stored = sparse.csr_array(data())
    fitted = short(model).fit(stored)
    for form in sparse_forms(data()).values():
        assert_same_bits(fitted, short(model).fit(form), stored, form)


@pytest.mark.parametrize("model", VARIANTS, ids=name_of)
def test_sparse_data_give_the_fit_of_dense_data(model):
    X = data()
    stored = sparse.csr_array(X)
    dense, fitted = short(model).fit(X), short(model).fit(stored)
    rounding = 1e-6 if beta_of(model) == 2 else 1e-4  # of early steps in single precision
    assert np.allclose(dense.loss_curve_, fitted.loss_curve_, rtol=rounding)
    assert np.allclose(dense.components_, fitted.components_, atol=10 * rounding)
    assert np.allclose(dense.transform(X[:5]), dense.transform(stored[:5]), atol=1e-3 * rounding)
    assert dense.reconstruction_err_ == pytest.approx(fitted.reconstruction_err_, rel=rounding)


@pytest.mark.parametrize("order", ["C", "F"])
def test_starts_weights_and_codes_give_the_same_bits_in_any_layout(order):
    rng, X = np.random.default_rng(0), data()
    weight, Z, H = rng.random(X.shape), rng.random((4, X.shape[1])), rng.random((len(X), 4))
    plain, other = (
        NMF(4, init="custom", tol=0, max_iter=5).fit(X, H=layout(Z), W=layout(H), entry_weight=layout(weight))
        for layout in (np.ascontiguousarray, partial(np.asarray, order=order))
    )
    assert_same_bits(plain, other, X, X)
    assert np.array_equal(plain.inverse_transform(H), plain.inverse_transform(np.asarray(H, order=order)))


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_single_precision_is_close_to_double_precision(model):
    X = data()
    model = clone(model).set_params(max_iter=60, tol=0)
    double, single = clone(model).fit(X), clone(model).fit(X.astype(np.float32))
    assert (
        single.components_.dtype
        == single.codes_[-1].dtype
        == single.transform(X.astype(np.float32)).dtype
        == np.float32
    )
    assert single.reconstruction_err_ == pytest.approx(double.reconstruction_err_, rel=2e-3)
    # One of them may leave a saddle point some sweeps before the other.
    assert single.loss_curve_[-1] == pytest.approx(double.loss_curve_[-1], rel=1e-2)


@pytest.mark.parametrize("model", LABELED, ids=name_of)
def test_single_precision_learns_from_labels_as_well_as_double(model):
    accuracy = {np.float64: [], np.float32: []}
    for seed in range(5):
        X, y, known = labeled_blobs(seed)
        for dtype, found in accuracy.items():
            fitted = clone(model).set_params(random_state=seed).fit(X.astype(dtype), np.where(known, y, -1))
            codes = fitted.transform(X.astype(dtype))
            readout = LogisticRegression().fit(codes[known] / codes.std(), y[known])
            found.append(readout.score(codes[~known] / codes.std(), y[~known]))
    assert np.mean(accuracy[np.float32]) == pytest.approx(np.mean(accuracy[np.float64]), abs=0.02)


def labeled_blobs(seed):
    """Three overlapping classes in twelve dimensions, nonnegative, half of them with labels."""
    X, y = make_blobs(n_samples=120, n_features=12, cluster_std=3, random_state=seed)
    return X - X.min(), y, np.arange(len(y)) % 2 == 0


@pytest.mark.usefixtures("small_blocks")
def test_sparse_rows_in_several_blocks_equal_dense_ones(monkeypatch):
    monkeypatch.setattr(memory, "WORTH_ROUNDING", np.inf)
    X = np.where(data(n=1500, p=120) > 1, data(n=1500, p=120), 0)
    stored = sparse.csr_array(X)
    assert len(memory.row_blocks(len(X), stored.data.nbytes + stored.indices.nbytes)) > 2
    dense, sparser = (NMF(4, random_state=0, tol=0, max_iter=5).fit(form) for form in (X, sparse.csr_array(X)))
    assert np.allclose(dense.codes_[-1], sparser.codes_[-1], atol=1e-8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_the_same_seed_gives_the_same_bits_with_one_and_two_threads(model):
    X = data(n=1500, p=120)
    assert len(memory.row_blocks(len(X), X.nbytes)) > 2
    model = clone(model).set_params(max_iter=6, tol=0)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(clone(model).fit(X))
    one, two = results
    assert np.array_equal(one.loss_curve_, two.loss_curve_)
    assert np.array_equal(one.codes_[-1], two.codes_[-1])
    for first, second in zip(one.factors_, two.factors_, strict=True):
        assert np.array_equal(first, second)


@pytest.mark.usefixtures("small_blocks")
def test_splitting_the_columns_of_a_wide_factor_does_not_change_bits():
    X = data(n=40, p=3000)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            results.append(DeepNSNMF((20, 5), random_state=0, max_iter=5, tol=0).fit(X).factors_)
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))


def test_blas_threads_are_restored_after_a_fit_and_after_a_failure():
    from threadpoolctl import threadpool_info

    def blas_threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before = blas_threads()
    NMF(3, random_state=0).fit(data())
    with pytest.raises(ZeroDivisionError):
        NMF(3, random_state=0).fit(data(), on_sweep=lambda *_: 1 / 0)
    assert blas_threads() == before


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16])
def test_integers_and_half_precision_are_read_in_double_precision(dtype):
    X = (10 * data()).astype(dtype)
    assert NMF(3, random_state=0).fit(X).components_.dtype == np.float64


def test_data_frames_keep_their_names():
    import pandas as pd

    X = pd.DataFrame(data(), columns=[f"gene{j}" for j in range(24)])
    model = NMF(3, random_state=0).set_output(transform="pandas").fit(X)
    assert list(model.transform(X).columns) == ["nmf0", "nmf1", "nmf2"]
    names = model.top_features(n=2)
    assert len(names) == 3
    heaviest = model.feature_names_in_[model.components_[0].argmax()]
    assert names[0][0] == (heaviest, pytest.approx(model.components_[0].max()))
