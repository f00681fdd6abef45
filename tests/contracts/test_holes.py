"""Unobserved entries and entry weights: the fit is that of the observed entries, in every form of X."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.metrics.pairwise import nan_euclidean_distances

from catalogue import SMALL, VARIANTS
from deepnmf import GNMF, NMF, NSNMF, SSNMF, WSF, DeepNSNMF, DeepSemiNMF, SemiNMF, SparseDeepNMF
from deepnmf.engines import Block, HoledSparse, PatternWeights, Workers, make_engine, sparse_holes

masking = pytest.mark.parametrize("model", [m for m in VARIANTS if m._problem().masks_nan], ids=lambda m: repr(m)[:60])
small_masking = pytest.mark.parametrize(
    "model", [m for m in SMALL if m._problem().masks_nan], ids=lambda m: type(m).__name__
)


def holed(share=0.3, shape=(60, 25), dtype=np.float64, seed=0):
    """Data of rank 4, the same data with holes as NaN, and the mask of the holes."""
    rng = np.random.default_rng(seed)
    X = (rng.random((shape[0], 4)) @ rng.random((4, shape[1])) + 0.01 * rng.random(shape)).astype(dtype)
    hidden = rng.random(shape) < share
    return X, np.where(hidden, np.nan, X).astype(dtype), hidden


def as_stored(X, hidden):
    """A sparse matrix that stores the observed entries."""
    rows, columns = np.nonzero(~hidden)
    return sparse.csr_array((X[rows, columns], (rows, columns)), shape=X.shape)


def observed_loss(model, X, hidden):
    model_of_X = model.decode(model.codes_[-1])
    return 0.5 * np.sum(np.square(X - model_of_X)[~hidden])


@masking
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_loss_never_rises(model, share):
    X, Y, _ = holed(share)
    losses = clone(model).set_params(max_iter=30, tol=0).fit(Y).loss_curve_
    assert (np.diff(losses) <= 1e-13 * np.sum(X**2)).all()


@small_masking
def test_the_reported_error_is_that_of_the_observed_entries(model):
    X, Y, hidden = holed()
    fitted = clone(model).set_params(max_iter=60, tol=0).fit(Y)
    assert 0.5 * fitted.reconstruction_err_**2 == pytest.approx(observed_loss(fitted, X, hidden), rel=1e-6)


@pytest.mark.parametrize("model", [NMF(4, random_state=0), DeepSemiNMF((8, 4), random_state=0)], ids=repr)
def test_the_final_loss_is_that_of_the_observed_entries(model):
    X, Y, hidden = holed()
    fitted = clone(model).set_params(max_iter=3000, tol=1e-7).fit(Y)
    assert fitted.loss_curve_[-1] == pytest.approx(observed_loss(fitted, X, hidden), rel=1e-3)


@small_masking
def test_nan_unstored_entries_and_weights_of_zero_give_the_same_fit(model):
    X, Y, hidden = holed()
    model = clone(model).set_params(max_iter=5, tol=0)
    known = needed_arguments(model, Y)
    fits = [
        clone(model).fit(Y),
        clone(model).fit(X, entry_weight=(~hidden).astype(float), **known),
        clone(model).fit(as_stored(X, hidden), entry_weight="stored", **known),
        clone(model).fit(X, entry_weight=sparse.csr_array((~hidden).astype(float)), **known),
        clone(model).fit(sparse.csr_array(X), entry_weight=sparse.csr_array((~hidden).astype(float)), **known),
    ]
    for other in fits[1:]:
        assert np.allclose(other.loss_curve_, fits[0].loss_curve_, rtol=1e-6)
        assert np.allclose(other.components_, fits[0].components_, atol=1e-5)


@small_masking
def test_weights_of_one_give_the_fit_without_weights(model):
    X, _, _ = holed()
    model = clone(model).set_params(max_iter=5, tol=0)
    weighted = clone(model).fit(X, entry_weight=np.ones_like(X), **needed_arguments(model, X))
    plain = clone(model).fit(X)
    assert (weighted.loss_curve_ == plain.loss_curve_).all()
    assert (weighted.components_ == plain.components_).all()


def test_a_weight_of_one_half_counts_half():
    """Half of the rows with weight one half give the fit in which the other rows occur twice."""
    X, _, _ = holed(shape=(20, 15))
    weight = np.ones_like(X)
    weight[10:] = 0.5
    once = NMF(3, random_state=0, max_iter=20_000, tol=1e-9).fit(X, entry_weight=weight)
    twice = NMF(3, random_state=0, max_iter=20_000, tol=1e-9).fit(np.vstack([X, X[:10]]))
    assert 2 * once.loss_curve_[-1] == pytest.approx(twice.loss_curve_[-1], rel=1e-3)


@pytest.mark.parametrize(
    "model",
    [NMF(4, random_state=0), SemiNMF(4, random_state=0), DeepNSNMF((8, 4), random_state=0)],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("form", ["NaN", "stored"])
def test_holes_are_filled_better_than_by_column_means(model, form):
    X, Y, hidden = holed(0.3, (200, 40))
    weight = None if form == "NaN" else "stored"
    data = Y if form == "NaN" else as_stored(X, hidden)
    fitted = clone(model).set_params(max_iter=300, tol=0).fit(data, entry_weight=weight)
    filled = fitted.inverse_transform(fitted.transform(data, entry_weight=weight))
    means = np.broadcast_to(np.nanmean(Y, axis=0), X.shape)
    error, usual = (np.sqrt(np.mean(np.square(guess - X)[hidden])) for guess in (filled, means))
    assert error < 0.1 * usual
    assert fitted.score(data, entry_weight=weight) > 0.999


def test_codes_of_a_row_are_nonnegative_least_squares_over_its_observed_entries():
    X, Y, hidden = holed()
    model = NMF(4, random_state=0, tol=0, max_iter=50).fit(Y)
    codes = model.transform(Y)
    for row, code, unseen in zip(X, codes, hidden, strict=True):
        expected, _ = nnls(model.components_[:, ~unseen].T, row[~unseen])
        assert np.allclose(code, expected, atol=1e-6)


@small_masking
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_and_columns_without_observed_entries_give_finite_results(model, dtype):
    _, Y, _ = holed(dtype=dtype)
    Y[3], Y[:, 5] = np.nan, np.nan
    fitted = clone(model).set_params(max_iter=40, tol=0).fit(Y)
    for array in (*fitted.factors_, *fitted.codes_, fitted.transform(Y), fitted.loss_curve_):
        assert np.isfinite(array).all()
        assert array.dtype in (dtype, np.float64)


def test_an_empty_row_of_ratings_has_zero_codes():
    X, _, hidden = holed()
    hidden[7] = True
    ratings = as_stored(X, hidden)
    model = NMF(4, random_state=0, tol=0, max_iter=50).fit(ratings, entry_weight="stored")
    assert np.isfinite(model.codes_[-1]).all()
    assert (model.transform(ratings, entry_weight="stored")[7] == 0).all()


def test_sparse_ratings_are_never_converted_to_a_dense_array():
    rng = np.random.default_rng(0)
    n, p, stored = 20_000, 2_000, 400_000
    positions = rng.integers(n, size=stored), rng.integers(p, size=stored)
    ratings = sparse.csr_array((rng.random(stored), positions), (n, p))
    NMF(4, max_iter=1, tol=0).fit(ratings[:50], entry_weight="stored")  # compile
    tracemalloc.start()
    NMF(4, random_state=0, max_iter=3, tol=0).fit(ratings, entry_weight="stored")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.3 * n * p * 8


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones((3, 3)), r"entry_weight has shape \(3, 3\), but X has \(60, 25\)"),
        (np.full((60, 25), 2.0), "entry_weight must be from 0 to 1, got 2 to 2"),
        (np.full((60, 25), -1.0), "entry_weight must be from 0 to 1, got -1 to -1"),
        (np.full((60, 25), np.nan), "entry_weight contains NaN"),
        (np.zeros((60, 25)), "entry_weight is 0 for every entry of X"),
        ("stored", 'entry_weight="stored" needs a sparse X'),
        ("absent", 'entry_weight must be None, "stored" or a matrix'),
    ],
)
def test_invalid_weights_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        NMF(4).fit(holed()[0], entry_weight=weight)


def test_the_given_weights_are_not_changed():
    _, Y, _ = holed()
    weight = sparse.csr_array(np.ones_like(Y))
    NMF(4, random_state=0, tol=0, max_iter=2).fit(Y, entry_weight=weight)
    assert (weight.data == 1).all()


def test_dense_weights_of_sparse_data_are_refused():
    with pytest.raises(TypeError, match="entry_weight is dense, but X is sparse"):
        NMF(4).fit(sparse.csr_array(holed()[0]), entry_weight=np.ones((60, 25)))


def test_models_that_cannot_leave_out_entries_refuse_nan_and_weights():
    X, Y, _ = holed()
    for model in (
        SparseDeepNMF((8, 4), activation="square"),
        DeepSemiNMF((8, 4), activation="stanh"),
    ):
        with pytest.raises(ValueError, match="NaN"):
            model.fit(Y)
    with pytest.raises(ValueError, match="SparseDeepNMF with these parameters supports no entry weights"):
        SparseDeepNMF((8, 4), activation="square").fit(X, entry_weight=np.ones((60, 25)))
    with pytest.raises(ValueError, match="entry_weight requires graph"):
        GNMF(4).fit(X, entry_weight=np.ones((60, 25)))
    with pytest.raises(ValueError, match='use "binary"'):
        WSF(4, label_graph="rbf").fit(Y, np.arange(60) % 3)
    with pytest.raises(ValueError, match="use encode, which skips NaN"):
        NMF(4).fit(Y).project(Y)


def test_labels_can_be_used_with_rows_with_holes():
    X, Y, _ = holed()
    model = WSF(4, random_state=0, tol=0, max_iter=20).fit(Y, np.arange(60) % 3)
    assert (np.diff(model.loss_curve_) <= 1e-9 * model.loss_curve_[0]).all()
    assert len(model.transform(X)) == 60


def test_neighbors_are_found_among_rows_with_holes():
    X, Y, _ = holed()
    model = GNMF(4, graph_weights=1, random_state=0, tol=0, max_iter=30).fit(Y)
    assert (np.diff(model.loss_curve_) <= 1e-9 * model.loss_curve_[0]).all()
    given = nan_euclidean_neighbors(Y, model.n_neighbors)
    alike = clone(model).fit(Y, graph=given)
    assert np.array_equal(alike.components_, model.components_)
    weighed = clone(model).fit(np.nan_to_num(Y), graph=given, entry_weight=np.isfinite(Y).astype(float))
    assert np.allclose(weighed.components_, model.components_)
    assert not np.allclose(clone(model).fit(np.nan_to_num(Y), graph=given).components_, model.components_)


def needed_arguments(model, Y):
    """The arguments of `fit` that a model needs with weights."""
    return {"graph": nan_euclidean_neighbors(Y, model.n_neighbors)} if isinstance(model, GNMF) else {}


def nan_euclidean_neighbors(Y, n_neighbors):
    """Edges to the nearest rows, by the columns that both rows have."""
    distances = nan_euclidean_distances(Y)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :n_neighbors]
    graph = np.zeros(distances.shape)
    np.put_along_axis(graph, nearest, 1, axis=1)
    return graph


def test_data_without_observed_entries_are_refused():
    with pytest.raises(ValueError, match="X has no observed entry"):
        NMF(4).fit(np.full((10, 5), np.nan))


LINEAR = [
    NMF(4, random_state=0),
    NSNMF(4, theta=0.2, random_state=0),
    SemiNMF(4, random_state=0),
    DeepNSNMF((8, 4), theta=0.1, random_state=0),
    DeepSemiNMF((8, 4), random_state=0),
    SparseDeepNMF((8, 4), random_state=0),
]
row_by_row = pytest.mark.parametrize("model", LINEAR, ids=lambda m: type(m).__name__)


@pytest.fixture
def always_sparsely_observed(monkeypatch):
    """Every matrix with holes counts as sparsely observed."""
    monkeypatch.setattr(sparse_holes, "SPARSELY_OBSERVED", 1.1)


@row_by_row
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("always_sparsely_observed")
def test_the_loss_of_a_row_by_row_fit_never_rises(model, dtype):
    X, Y, _ = holed(0.5, dtype=dtype)
    losses = clone(model).set_params(max_iter=30, tol=0).fit(Y).loss_curve_
    allowed = 1e-13 if dtype == np.float64 else 1e-7
    assert (np.diff(losses) <= allowed * np.sum(X**2)).all()
    if dtype == np.float64:  # in single precision, the start may already be optimal up to rounding
        assert losses[-1] < losses[0]


@pytest.mark.parametrize("model", [m for m in LINEAR if type(m) is not DeepNSNMF], ids=lambda m: type(m).__name__)
def test_a_row_by_row_fit_is_as_good_as_one_with_completed_rows(model, monkeypatch):
    """DeepNSNMF is left out: its two fits end in different minima."""
    X, Y, hidden = holed(0.3, (100, 40))
    fits = []
    for share in (0, 1.1):
        monkeypatch.setattr(sparse_holes, "SPARSELY_OBSERVED", share)
        fits.append(clone(model).set_params(max_iter=300, tol=0).fit(Y))
    completed, by_rows = (observed_loss(fit, X, hidden) for fit in fits)
    assert by_rows <= 1.05 * completed


@pytest.mark.usefixtures("always_sparsely_observed")
def test_weights_count_in_a_row_by_row_fit():
    X, _, hidden = holed()
    weight = sparse.csr_array(np.where(hidden, 0, np.random.default_rng(1).random(X.shape)))
    model = NMF(4, random_state=0, tol=0, max_iter=300).fit(X, entry_weight=weight)
    residual = np.square(X - model.decode(model.codes_[-1]))
    assert model.loss_curve_[-1] == pytest.approx(0.5 * np.sum(weight.toarray() * residual), rel=1e-6)


def test_a_sparsely_observed_dense_matrix_is_stored_as_sparse():
    _, Y, _ = holed(0.95)
    with Workers() as workers:
        assert make_engine(Y, workers=workers, nonnegative=True).is_sparsely_observed
        assert not make_engine(holed(0.5)[1], workers=workers, nonnegative=True).is_sparsely_observed


@pytest.mark.parametrize("weight", [1e-300, 1e-30, 1e-4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_that_are_all_tiny_are_refused(weight, form):
    X, _, _ = holed()
    weights = form(np.full(X.shape, weight))
    message = f"entry_weight has a maximum of {weight:g}: expected a maximum from 0.001"
    with pytest.raises(ValueError, match=message):
        NMF(4, random_state=0).fit(form(X), entry_weight=weights)


@pytest.mark.parametrize("weight", [1e-300, 1e-30])
def test_a_tiny_weight_among_others_counts_as_a_weight_of_zero(weight):
    X, _, hidden = holed()
    tiny, zero = (np.where(hidden, least, 1.0) for least in (weight, 0.0))
    one, other = (NMF(4, random_state=0).fit(X, entry_weight=weights) for weights in (tiny, zero))
    assert np.allclose(one.components_, other.components_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_codes_and_score_do_not_depend_on_the_scale_of_the_weights(dtype):
    X, _, _ = holed(dtype=dtype)
    model = NMF(4, random_state=0).fit(X)
    weights = np.full(X.shape, 1e-300 if dtype == np.float64 else 1e-30, dtype)
    assert np.allclose(model.transform(X, entry_weight=weights), model.transform(X), atol=1e-5)
    assert model.score(X, entry_weight=weights) == pytest.approx(model.score(X), abs=1e-5)


# --------------------------------------------------------------------------- sparse data whose zeros count


def with_zeros_that_count(rest, seed=0):
    """Mostly zeros, of which some are stored without weight: a dense matrix and its weights, and the same as sparse."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((60, 25)) < 0.3, holed()[0], 0)
    hidden = rng.random(X.shape) < 0.1
    rows, columns = np.nonzero(hidden | (X > 0))
    weight = np.full(X.shape, rest)
    weight[rows, columns] = np.where(hidden, 0.0, 1.0)[rows, columns]
    stored, weights = (
        sparse.csr_array((values[rows, columns], (rows, columns)), shape=X.shape) for values in (X, weight)
    )
    return (X, weight), (stored, PatternWeights(weights, rest))


@pytest.mark.parametrize("rest", [1.0, 0.9])
@pytest.mark.parametrize(
    "model", [NMF(4), SemiNMF(4), NSNMF(4, theta=0.3), NMF(4, solver="apg"), SSNMF(4)], ids=lambda m: repr(m)[:40]
)
def test_zeros_that_count_give_the_fit_of_the_dense_matrix(model, rest, monkeypatch):
    monkeypatch.setattr(HoledSparse, "with_zeros", Block.with_zeros)  # so that both start from the means of columns
    fits = [
        clone(model).set_params(random_state=0, max_iter=15, tol=0).fit(X, entry_weight=weight)
        for X, weight in with_zeros_that_count(rest)
    ]
    losses = [fit.loss_curve_ for fit in fits]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    np.testing.assert_allclose(*(fit.components_ for fit in fits), atol=1e-3)


def test_codes_of_zeros_that_count_are_nonnegative_least_squares():
    (X, weight), (stored, weights) = with_zeros_that_count(0.9)
    model = NMF(4, random_state=0).fit(stored, entry_weight=weights)
    root = np.sqrt(weight)
    expected = [nnls((r * model.components_).T, r * x)[0] for x, r in zip(X, root, strict=True)]
    np.testing.assert_allclose(model.transform(stored, entry_weight=weights), expected, atol=1e-6)
