"""Nearest neighbors with ties: the same for every form of X, and the first ones of equally near samples."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from catalogue import sparse_forms
from deepnmf import GNMF
from deepnmf.objective.neighbors import neighbor_graph

rng = np.random.default_rng(0)
TIED = {
    "counts": rng.poisson(1, (150, 20)).astype(float),
    "tenths": 0.1 * rng.integers(0, 4, (150, 12)),
    "few columns": rng.integers(0, 9, (150, 2)).astype(float),
    "repeated rows": np.repeat(rng.random((30, 25)), 5, axis=0),
    "equal rows": np.full((60, 5), 0.1),
    "far from zero": 1e5 + rng.integers(0, 3, (150, 6)),
    "an outlier": np.vstack([0.1 * rng.integers(0, 4, (149, 6)), np.full((1, 6), 1e6)]),
    "single precision": rng.integers(0, 4, (150, 12)).astype(np.float32) * np.float32(0.1),
}


def nearest_by_index(X, n_neighbors):
    """The neighbors from all pairs, ordered by nine digits of the distance and then by index."""
    squared = np.square(X[:, None].astype(np.float64) - X).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    digits = np.array([[float(f"{value:.9g}") for value in row] for row in squared])
    return np.sort(np.argsort(digits, axis=1, kind="stable")[:, :n_neighbors], axis=1)


def found(X, n_neighbors=5, holes=False):
    graph = neighbor_graph(X.tocsr() if sparse.issparse(X) else X, n_neighbors, holes=holes)
    graph.sort_indices()
    return graph.indices.reshape(-1, n_neighbors)


@pytest.mark.parametrize("kind", TIED)
def test_equally_near_samples_are_neighbors_in_the_order_of_their_index_in_any_form_of_data(kind):
    X = TIED[kind]
    expected = nearest_by_index(X, 5)
    for name, form in {"array": X, "F-ordered": np.asfortranarray(X), **sparse_forms(X)}.items():
        assert np.array_equal(found(form), expected), name
    with threadpool_limits(1):
        assert np.array_equal(found(X), expected)


def test_equally_near_samples_with_holes_are_neighbors_in_the_order_of_their_index():
    X = TIED["counts"].copy()
    X[:, 5] = np.nan
    X[:, 6] = np.nan
    assert np.array_equal(found(X, holes=True), found(np.delete(X, (5, 6), axis=1)))
    assert np.array_equal(found(np.asfortranarray(X), holes=True), found(X, holes=True))


def test_gnmf_of_counts_is_the_same_from_dense_and_sparse_data():
    X = TIED["counts"]
    dense, stored = (GNMF(4, random_state=0, max_iter=30, tol=0).fit(form) for form in (X, sparse.csr_array(X)))
    assert np.allclose(dense.components_, stored.components_, rtol=1e-6, atol=1e-9)
    assert dense.loss_curve_[-1] == pytest.approx(stored.loss_curve_[-1], rel=1e-9)
