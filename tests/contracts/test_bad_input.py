"""Bad input is refused with an error that names it; unusual valid input gives a valid result."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from catalogue import SMALL, data, explained, name_of
from deepnmf import (
    GDNMF,
    NMF,
    NSNMF,
    DeepNSNMF,
    DeepSemiNMF,
    MultilayerNMF,
    SemiNMF,
    SparseDeepNMF,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
every_model = pytest.mark.parametrize("model", SMALL, ids=name_of)
nonnegative_model = pytest.mark.parametrize("model", [m for m in SMALL if m._problem().nonnegative], ids=name_of)


def with_entry(value):
    X = data()
    X[3, 4] = value
    return X


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (with_entry(np.inf), "Input X contains infinity"),
        (np.empty((0, 5)), r"Found array with 0 sample\(s\)"),
        (np.empty((5, 0)), r"Found array with 0 feature\(s\)"),
        (data()[:1], r"Found array with 1 sample\(s\) .* while a minimum of 2 is required"),
        (data()[0], "Expected 2D array, got 1D array instead"),
        (np.array([["a", "b"], ["c", "d"]]), "could not convert string to float"),
        (data() * 1j, "Complex data not supported"),
    ],
    ids=["inf", "no rows", "no columns", "one sample", "1-D", "text", "complex"],
)
def test_data_that_cannot_be_fitted_is_refused_in_scikit_learns_words(X, sentence):
    for model in SMALL:
        with pytest.raises(ValueError, match=sentence):
            clone(model).fit(X)


@pytest.mark.parametrize("model", [m for m in SMALL if not m._problem().masks_nan], ids=name_of)
def test_nan_is_refused_where_it_cannot_be_masked(model):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clone(model).fit(with_entry(np.nan))


@every_model
def test_nan_in_a_sparse_matrix_is_refused(model):
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clone(model).fit(sparse.csr_array(with_entry(np.nan)))


@nonnegative_model
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_negative_entries_are_refused_in_fit_and_transform(model, container):
    sentence = f"Negative values in data passed to {type(model).__name__}"
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit(container(with_entry(-1.0)))
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit(data()).transform(container(with_entry(-1.0)))


@every_model
def test_the_wrong_number_of_features_is_refused_in_transform(model):
    fitted = clone(model).fit(data())
    with pytest.raises(ValueError, match="X has 23 features, but .* is expecting 24 features"):
        fitted.transform(data()[:, :-1])


@every_model
def test_an_unfitted_model_raises_an_error_that_says_so(model):
    for call in (model.transform, model.inverse_transform, model.score, model.encode):
        with pytest.raises(NotFittedError):
            call(data())
    with pytest.raises(NotFittedError):
        model.top_features()


@every_model
def test_codes_and_layers_that_do_not_exist_are_refused(model):
    fitted = clone(model).fit(data())
    with pytest.raises(ValueError, match=r"Codes have 99 columns, but layer \d of this model has 4 features"):
        fitted.inverse_transform(np.ones((2, 99)))
    with pytest.raises(ValueError, match="layer is 7, but the model has"):
        fitted.encode(data(), 7)
    with pytest.raises(TypeError, match="layer must be an integer, got str"):
        fitted.encode(data(), "top")


@pytest.mark.parametrize("cls", [DeepNSNMF, DeepSemiNMF, SparseDeepNMF, MultilayerNMF])
@pytest.mark.parametrize(
    ("sizes", "error", "sentence"),
    [
        ((), ValueError, "layer_sizes must contain one positive integer per layer"),
        ((5, 0), ValueError, "layer_sizes must be positive, got 0"),
        ((5, -2), ValueError, "layer_sizes must be positive, got -2"),
        ((5.0, 2), TypeError, "layer_sizes must contain integers, got 5.0"),
        ((True, 2), TypeError, "layer_sizes must contain integers, got True"),
        (("5", 2), TypeError, "layer_sizes must contain integers, got '5'"),
        (0, ValueError, "The 'layer_sizes' parameter"),
        ("53", ValueError, "The 'layer_sizes' parameter"),
        (None, ValueError, "The 'layer_sizes' parameter"),
    ],
)
def test_bad_layer_sizes_are_refused(cls, sizes, error, sentence):
    with pytest.raises(error, match=sentence):
        cls(sizes).fit(data())


@pytest.mark.parametrize("init", ["nndsvd", "nndsvda", "nndsvdar"])
def test_an_explicit_nndsvd_start_above_the_rank_is_refused(init):
    sentence = r"can only be used when n_components <= min\(n_samples, n_features\)"
    with pytest.raises(ValueError, match=sentence):
        NMF(30, init=init).fit(data())
    with pytest.raises(ValueError, match=sentence):
        DeepNSNMF((30, 5), init=init).fit(data())
    with pytest.raises(ValueError, match=sentence):
        SparseDeepNMF((5, 10), init=init).fit(data())


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (NMF(4, beta_loss="poisson"), "The 'beta_loss' parameter of NMF"),
        (NMF(4, beta_loss=float("nan")), "beta_loss must be one of"),
        (NMF(4, beta_loss=0), "When beta_loss <= 0 and X contains zeros, the solver may diverge"),
        (
            SparseDeepNMF((4, 2), beta_loss=1, penalty="L"),
            "beta_loss='kullback-leibler' supports only L1 and L2 penalties",
        ),
        (SparseDeepNMF((4, 2), beta_loss=1, activation="square"), "needs a linear chain, but activation is 'square'"),
        (NMF(0), "The 'n_components' parameter of NMF"),
        (NMF(2.5), "The 'n_components' parameter of NMF"),
        (NMF(4, solver="adam"), "The 'solver' parameter of NMF"),
        (NMF(4, tol=-1), "The 'tol' parameter of NMF"),
        (NMF(4, max_iter=0), "The 'max_iter' parameter of NMF"),
        (NMF(4, init="custom"), r"init='custom' needs W and H, but NMF \(input H\) is missing"),
        (NSNMF(4, theta=1.5), "The 'theta' parameter of NSNMF"),
        (NSNMF(4, init="custom"), "init='custom' needs a start"),
        (SemiNMF(4, init="nndsvd"), "The 'init' parameter of SemiNMF"),
        (DeepNSNMF((8, 4), theta=(0.1, 0.2, 0.3)), "theta has 3 values for 2 layers"),
        (DeepNSNMF((8, 4), theta=(0.1, 1.2)), "theta must be a finite number from 0 to 1, or one per layer; got 1.2"),
        (DeepNSNMF((8, 4), output_layer=2), "output_layer is 2, but the model has 2 layers: expected -2 to 1"),
        (SparseDeepNMF((8, 4), penalty="L1"), "The 'penalty' parameter of SparseDeepNMF"),
        (
            SparseDeepNMF((8, 4), penalty="L", feature_penalty=-1),
            "feature_penalty must be a finite number of at least 0",
        ),
        (
            SparseDeepNMF((8, 4), penalty="R", code_penalty=(1,)),
            "code_penalty has 1 values for 2 layers",
        ),
        (MultilayerNMF((8, 4), activation="tanh"), "The 'activation' parameter of MultilayerNMF"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(model, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(data())


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ({"factors": [np.ones((8, 23))]}, r"factors\[0\] has shape \(8, 23\), but the model needs \(8, 24\)"),
        ({"factors": [np.ones((8, 24)), np.ones((8, 4))]}, r"factors\[1\] has shape \(8, 4\), but the model needs"),
        (
            {"factors": [np.ones((8, 24)), np.ones((4, 8)), np.ones((4, 4))]},
            "factors has 3 matrices, but the model has 2",
        ),
        ({"factors": [-np.ones((8, 24))]}, r"Negative values in data passed to DeepNSNMF \(factors\[0\]\)"),
        ({"factors": [np.ones((8, 24))], "codes": np.ones((60, 5))}, r"codes has shape \(60, 5\), but the model needs"),
        ({"factors": [np.full((8, 24), np.nan)]}, "contains NaN"),
        ({}, "init='custom' needs a start: pass factors"),
    ],
    ids=["width", "second width", "too many", "negative", "codes", "nan", "nothing"],
)
def test_a_start_that_does_not_fit_is_refused(start, sentence):
    with pytest.raises(ValueError, match=sentence):
        DeepNSNMF((8, 4), init="custom").fit(data(), **start)


def test_a_start_is_used_and_layers_above_it_are_trained():
    X = data()
    model = DeepNSNMF((8, 4), random_state=0, max_iter=30).fit(X)
    again = DeepNSNMF((8, 6, 4), init="custom", random_state=0, max_iter=30)
    again.fit(X, factors=model.factors_[:1])
    assert [len(Z) for Z in again.factors_] == [8, 6, 4]


@every_model
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_zero_rows_and_columns_give_zero_codes_and_features(model, container):
    X = data()
    X[5] = 0
    X[:, 7] = 0
    model = clone(model).fit(container(X))
    assert np.isfinite(model.reconstruction_err_)
    H = model.transform(container(X))
    assert np.isfinite(H).all()
    assert not H[5].any()
    assert np.allclose(model.components_[:, 7], 0, atol=1e-12)


@every_model
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_matrix_of_zeros_is_fitted_exactly(model, container):
    X = container(np.zeros((20, 6)))
    model = clone(model).fit(X)
    assert model.reconstruction_err_ == 0
    assert not model.inverse_transform(model.transform(X)).any()


@pytest.mark.parametrize("model", [m for m in SMALL if not is_classifier(m)], ids=name_of)
def test_a_matrix_of_zeros_has_a_score_of_1(model):
    X = np.zeros((20, 6))
    assert clone(model).fit(X).score(X) == 1


@every_model
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_of_rank_one_are_explained_by_every_model(model, dtype):
    rng = np.random.default_rng(0)
    X = np.outer(rng.random(30), rng.random(12)).astype(dtype)
    model = clone(model).fit(X)
    # GDNMF's graph penalties cost up to .22 % over six draws of X on three processors.
    assert explained(model, X) > (0.995 if isinstance(model, GDNMF) else 0.999)
    assert all(np.isfinite(Z).all() for Z in model.factors_)


@pytest.mark.parametrize("model", [NMF(5), SemiNMF(5), DeepNSNMF((5, 3)), DeepSemiNMF((5, 3))], ids=name_of)
@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (2, 50)])
def test_more_components_than_the_rank_of_the_data_are_legal(model, shape):
    X = np.random.default_rng(0).random(shape)
    model = clone(model).set_params(random_state=0).fit(X)
    assert model.score(X) > 0.99


@pytest.mark.parametrize("max_iter", [1, 5])
def test_the_arrays_of_a_start_are_not_changed(max_iter):
    X, rng = data(), np.random.default_rng(0)
    W, H = rng.random((60, 4)), rng.random((4, 24))
    start = W.copy(), H.copy()
    NMF(4, init="custom", max_iter=max_iter, tol=0).fit(X, W=W, H=H)
    DeepNSNMF((4,), init="custom", max_iter=max_iter, tol=0).fit(X, factors=[H], codes=W)
    assert np.array_equal(W, start[0])
    assert np.array_equal(H, start[1])


def test_lists_of_lists_are_accepted_as_data_and_as_a_start():
    X, rng = data(), np.random.default_rng(0)
    W, H = rng.random((60, 4)), rng.random((4, 24))
    lists = NMF(4, init="custom", max_iter=3, tol=0).fit(X.tolist(), W=W.tolist(), H=H.tolist())
    assert np.array_equal(lists.components_, NMF(4, init="custom", max_iter=3, tol=0).fit(X, W=W, H=H).components_)


def test_good_codes_given_to_a_semi_nonnegative_chain_are_used_although_the_given_factors_are_bad():
    X, rng = data() - 0.5, np.random.default_rng(0)
    good = SemiNMF(4, random_state=0).fit(X)
    factors = [rng.standard_normal((8, 24)), rng.standard_normal((4, 8))]
    model = DeepSemiNMF((8, 4), init="custom", max_iter=1, tol=0).fit(X, factors=factors, codes=good.codes_[-1])
    assert model.reconstruction_err_ <= good.reconstruction_err_ * (1 + 1e-9)


@pytest.mark.parametrize(
    "factors", [np.ones((4, 24)), np.ones((1, 4, 24)), 5, [1.0, 2.0]], ids=["matrix", "stack", "5", "numbers"]
)
def test_factors_that_are_not_a_list_of_matrices_are_refused(factors):
    with pytest.raises(TypeError, match="factors must be a list of matrices"):
        SemiNMF(4, init="custom").fit(data(), factors=factors)


@pytest.mark.parametrize("H", [3, np.ones(4), sparse.csr_array(np.ones((4, 24)))], ids=["3", "1-D", "sparse"])
def test_a_custom_start_of_nmf_that_is_not_a_dense_matrix_is_refused(H):
    with pytest.raises((TypeError, ValueError), match="Expected 2D array|Sparse data was passed"):
        NMF(4, init="custom").fit(data(), W=np.ones((60, 4)), H=H)


def test_codes_cannot_start_greedy_layers():
    with pytest.raises(ValueError, match="codes must be None: MultilayerNMF"):
        MultilayerNMF((8, 4)).fit(data(), codes=np.ones((60, 4)))


def test_a_refused_fit_leaves_the_model_as_it_was():
    X = data()
    model = NSNMF(4, random_state=0).fit(X)
    codes = model.transform(X)
    with pytest.raises(ValueError, match="factors"):
        model.fit(X[:, :5], factors=[np.ones((3, 3))])
    assert model.n_features_in_ == 24
    assert np.array_equal(model.transform(X), codes)


@every_model
@pytest.mark.parametrize(("scale", "dtype"), [(1e35, np.float32), (1e200, np.float64), (1e-200, np.float64)])
def test_values_outside_the_supported_range_are_refused(model, scale, dtype):
    with pytest.raises(ValueError, match="X has entries of about .* expected .* so scale X"):
        clone(model).fit((data() * scale).astype(dtype))


@pytest.mark.parametrize("weight", [0.0, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("solver", ["hals", "apg", "pg", "mu"])
@pytest.mark.parametrize("penalty", ["L", "R", "RL1", "RL2"])
def test_a_fit_with_any_penalty_is_no_worse_than_zero_factors(penalty, solver, weight):
    X = data()
    model = SparseDeepNMF(
        (8, 4), penalty=penalty, feature_penalty=weight, code_penalty=weight, solver=solver, random_state=0
    )
    model.set_params(max_iter=100).fit(X)
    assert np.isfinite(model.reconstruction_err_)
    assert all(np.isfinite(Z).all() for Z in model.factors_)
    if solver == "hals":
        assert model.loss_curve_[-1] <= 0.5 * np.sum(X**2) * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["cd", "apg", "pg", "mu"])
@pytest.mark.parametrize("alpha", [0.02, 0.2, 2.0, 200.0])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_features_that_a_penalty_sets_to_zero_have_zero_codes(solver, alpha, l1_ratio):
    X = data()
    model = NMF(6, alpha_W=alpha, l1_ratio=l1_ratio, solver=solver, random_state=0).fit(X)
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.components_).all()
    if solver == "cd":
        assert model.loss_curve_[-1] <= 0.5 * np.sum(X**2) * (1 + 1e-9)
        dead = ~model.components_.any(axis=1)
        assert l1_ratio == 0 or not model.codes_[-1][:, dead].any()


def test_duplicate_entries_of_a_sparse_matrix_are_summed_without_changing_it():
    A = sparse.csr_matrix(data())
    doubled = sparse.csr_matrix((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), A.indptr * 2), shape=A.shape)
    model, expected = NMF(3, random_state=0).fit(doubled), NMF(3, random_state=0).fit(A)
    assert doubled.nnz == 2 * A.nnz
    assert model.reconstruction_err_ == pytest.approx(expected.reconstruction_err_)
    assert model.score(doubled) == pytest.approx(expected.score(A))
