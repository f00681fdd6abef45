"""Blocks of rows: a new kind of data is one small class, and every kind gives the same results."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from catalogue import LABELED, VARIANTS, beta_of, data, is_linear, name_of
from deepnmf.engines import (
    Block,
    Dense,
    HoledDense,
    HoledSparse,
    LowRankPlusSparse,
    RowsInMemory,
    Sparse,
    Workers,
    blocks,
    choice,
)


class RemoteArray:
    """An array of another type, such as one on another device: it has products, but its entries cannot be read."""

    __array_ufunc__ = None

    def __init__(self, values):
        self._values, self.shape, self.dtype = values, values.shape, values.dtype

    def __matmul__(self, right):
        return self._values @ right

    def __rmatmul__(self, left):
        return left @ self._values


class RemoteBlock(Block):
    """Everything that is needed to fit such data."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __matmul__(self, right):
        return self.X @ right

    def __rmatmul__(self, left):
        return left @ self.X


@pytest.fixture
def remote_data(monkeypatch):
    """Models read their data as an array that has only products."""
    monkeypatch.setattr(choice, "observed_block", lambda X, _: RemoteBlock(RemoteArray(X)))
    monkeypatch.setattr(blocks, "DENSE_ROWS", 7)


@pytest.mark.parametrize("model", VARIANTS, ids=name_of)
def test_an_array_that_offers_only_products_fits_and_transforms_every_model(model, request):
    X = data()
    labels = [np.arange(len(X)) % 4] if type(model) in map(type, LABELED) else []
    model = clone(model).set_params(max_iter=10, tol=0)
    expected = clone(model).fit(X, *labels)
    codes, share = expected.transform(X), expected.score(X, *labels)
    request.getfixturevalue("remote_data")
    found = model.fit(X, *labels)
    # Counts in memory are fitted over rows and columns, others over rows alone: to another local minimum.
    rel = 0.2 if beta_of(model) == 1 else 1e-6
    assert found.reconstruction_err_ == pytest.approx(expected.reconstruction_err_, rel=rel)
    assert found.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=2 * rel)
    assert found.score(X, *labels) == pytest.approx(share, rel=rel)
    atol = (1e-5 if is_linear(model) else 1e-4) * codes.max()
    assert beta_of(model) == 1 or np.allclose(found.transform(X), codes, rtol=1e-5, atol=atol)


def low_rank_plus_sparse(X):
    H, D = np.ones((len(X), 2)), np.linspace(0, 1, 2 * X.shape[1]).reshape(2, -1)
    return LowRankPlusSparse(H, D, sparse.csr_array(X - H @ D))


KINDS = {
    "dense": Dense,
    "sparse": lambda X: Sparse(sparse.csr_array(X)),
    "low rank plus sparse": low_rank_plus_sparse,
    "remote": lambda X: RemoteBlock(RemoteArray(X)),
}
METHODS = {
    "shape": lambda block: block.shape,
    "right product": lambda block: block @ np.arange(48.0).reshape(24, 2),
    "left product": lambda block: np.arange(120.0).reshape(2, 60) @ block,
    "dense rows": lambda block: block.dense(np.array([3, 59, 0])),
    "a slice of rows": lambda block: block.rows(slice(5, 20)) @ np.eye(24),
    "sizes": lambda block: block.sizes(),
    "absolute sizes": lambda block: block.absolute_sizes(),
    "minimum": lambda block: block.minimum(),
    "row squares": lambda block: block.row_squares(),
    "misfit": lambda block: block.misfit(np.ones((60, 1)), np.full((1, 24), 0.3)),
    "means of groups": lambda block: block.averaged(*[sparse.csr_array(np.eye(2, 60))] * 2) @ np.eye(24),
    "normal equations": lambda block: np.vstack([own.target for own in block.normal_equations(np.ones((24, 3)))]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_complete_block_gives_the_results_of_the_dense_one(kind, method, monkeypatch):
    monkeypatch.setattr(blocks, "DENSE_ROWS", 7)
    X = data() - 0.2
    result = METHODS[method]
    assert np.allclose(result(KINDS[kind](X)), result(Dense(X)), rtol=1e-10, atol=1e-10)


def holed_blocks():
    rng = np.random.default_rng(0)
    X, weight = data() + 0.1, rng.random((60, 24))
    weight[rng.random(X.shape) < 0.4] = 0
    stored = sparse.csr_array(weight)
    values = sparse.csr_array((X[weight > 0], stored.indices, stored.indptr), X.shape)
    return (
        X,
        weight,
        {"dense": HoledDense(np.where(weight > 0, X, np.nan), weight), "sparse": HoledSparse(values, stored)},
    )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_with_holes_count_observed_entries_by_their_weights(kind):
    X, weight, kinds = holed_blocks()
    H, D = np.random.default_rng(1).random((60, 3)), np.random.default_rng(2).random((3, 24))
    block = kinds[kind]
    assert np.allclose(block.sizes(), [np.sum(weight * X**2), np.sum(weight * X), np.sum(weight)])
    assert np.allclose(block.absolute_sizes(), [np.sum(weight * X), np.sum(weight)])
    assert block.misfit(H, D) == pytest.approx(np.sum(weight * (X - H @ D) ** 2))
    completed = weight * X + (1 - weight) * (H @ D)
    assert np.allclose(block.completed(H, D).block @ np.eye(24), completed)
    fit = block.completed(H, D).sqnorm - np.sum(completed**2) + np.sum((completed - H @ D) ** 2)
    assert fit == pytest.approx(block.misfit(H, D))
    for own, row, weights in zip(block.normal_equations(D.T), X, weight, strict=True):
        assert np.allclose(own.gram, (D * weights) @ D.T)
        assert np.allclose(own.target, (D * weights) @ row)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_blocks_with_holes_refuse_products(kind):
    block = holed_blocks()[2][kind]
    with pytest.raises(TypeError, match="complete them first"):
        block @ np.eye(24)
    with pytest.raises(TypeError, match="complete them first"):
        np.eye(60) @ block


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_completed_rows_have_the_same_norm_before_and_after_a_pass(kind):
    X, weight, kinds = holed_blocks()
    H, D = np.ones((60, 1)), np.full((1, 24), 0.5)
    with Workers() as workers:
        rows = RowsInMemory(kinds[kind], workers).completed(H, D)
        before = rows.sqnorm
        rows.project(D)
    completed = weight * X + (1 - weight) * (H @ D)
    assert rows.sqnorm == before
    assert before == pytest.approx(np.sum(completed**2) + np.sum(weight * (1 - weight) * (X - H @ D) ** 2))
