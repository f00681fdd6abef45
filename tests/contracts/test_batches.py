"""Learning in batches is close to a fit of all rows, and continues from any earlier fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from catalogue import data
from deepnmf import GNMF, NMF, NSNMF, DeepNMF, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SemiNMF, SparseDeepNMF, load

MODELS = [
    NMF(4, random_state=0),
    NMF(4, alpha_W=1e-3, random_state=0),
    NSNMF(4, theta=0.2, random_state=0),
    SemiNMF(4, random_state=0),
    DeepNMF((8, 4), random_state=0),
    DeepNSNMF((8, 4), theta=0.1, random_state=0),
    DeepSemiNMF((8, 4), random_state=0),
    SparseDeepNMF((8, 4), penalty="RL1", random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m)[:40])


def low_rank(n=300, p=30, dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.random((n, 6)) @ rng.random((6, p)) + 0.05 * rng.random((n, p))).astype(dtype)


def in_batches(model, X, epochs=5, size=100):
    rng = np.random.default_rng(0)
    for _ in range(epochs):
        order = rng.permutation(X.shape[0])
        for rows in np.array_split(order, X.shape[0] // size):
            model = model.partial_fit(X[rows])
    return model


def with_200_iterations(model):
    return clone(model).set_params(max_iter=200, tol=0)


@every_model
def test_five_epochs_come_near_a_fit_of_all_rows(model):
    X = low_rank()
    batch, whole = in_batches(with_200_iterations(model), X), with_200_iterations(model).fit(X)
    assert 1 - batch.score(X) <= 1.03 * (1 - whole.score(X))


@every_model
def test_sparse_batches_give_the_same_score_as_dense_ones(model):
    X = low_rank()
    short = clone(model).set_params(max_iter=20, tol=0)
    dense, stored = (in_batches(clone(short), form(X), 1) for form in (np.asarray, sparse.csr_array))
    assert stored.score(X) == pytest.approx(dense.score(X), rel=1e-4)


@pytest.mark.data
@pytest.mark.parametrize(("name", "rank", "size"), [("pie_pose27", 40, 950), ("tdt2_30", 30, 1000)])
def test_five_epochs_are_within_a_percent_on_real_data(name, rank, size, benchmark_data):
    X = benchmark_data(name).data.astype(np.float64)
    X = X if sparse.issparse(X) else X / np.linalg.norm(X, axis=1, keepdims=True)
    batch = in_batches(NMF(rank, random_state=0, max_iter=500), X, size=size)
    whole = NMF(rank, random_state=0, max_iter=500).fit(X)
    assert 1 - batch.score(X) <= 1.01 * (1 - whole.score(X))


def test_the_first_batch_is_a_fit():
    X = low_rank()
    first, fitted = (
        with_200_iterations(NMF(4, random_state=0)).partial_fit(X),
        with_200_iterations(NMF(4, random_state=0)).fit(X),
    )
    assert (first.components_ == fitted.components_).all()
    assert first.n_samples_seen_ == len(X)


def test_every_batch_adds_to_the_counts_and_to_the_loss_curve():
    model = with_200_iterations(NMF(4, random_state=0)).partial_fit(low_rank()[:100])
    n_iter, losses = model.n_iter_, len(model.loss_curve_)
    model.partial_fit(low_rank()[100:150])
    assert model.n_samples_seen_ == 150
    assert (model.n_iter_, len(model.loss_curve_)) == (n_iter + 1, losses + 1)
    assert len(model.codes_[-1]) == 50
    assert model.stop_reason_ == "batch"


def test_a_small_batch_after_a_fit_hardly_lowers_the_score():
    X = low_rank()
    model = with_200_iterations(NMF(6, random_state=0)).fit(X)
    before = 1 - model.score(X)
    model.partial_fit(X[:10])
    assert 1 - model.score(X) < 1.2 * before


def test_a_loaded_model_continues_with_batches(tmp_path):
    X = low_rank()
    model = with_200_iterations(DeepNSNMF((8, 4), random_state=0)).fit(X[:200])
    model.save(tmp_path / "model.safetensors")
    found, expected = load(tmp_path / "model.safetensors").partial_fit(X[200:]), model.partial_fit(X[200:])
    assert np.allclose(found.components_, expected.components_)


def test_unobserved_entries_of_batches_are_ignored():
    X = low_rank()
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    model = in_batches(with_200_iterations(NMF(6, random_state=0)), holed)
    assert model.score(X) > 0.995


def test_precision_is_kept():
    X = low_rank(dtype=np.float32)
    assert in_batches(with_200_iterations(NMF(4, random_state=0)), X, epochs=1).components_.dtype == np.float32


@pytest.mark.parametrize(
    "model", [GNMF(4), MultilayerNMF((8, 4)), DeepSemiNMF((8, 4), activation="stanh")], ids=lambda m: type(m).__name__
)
def test_models_without_partial_fit_say_why(model):
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as refused:
        model.partial_fit(data())
    assert "cannot learn in batches" in str(refused.value.__cause__)


def test_a_batch_with_other_features_is_refused():
    model = with_200_iterations(NMF(4, random_state=0)).partial_fit(low_rank())
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(low_rank()[:, :-1])
