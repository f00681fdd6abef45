"""The singular vectors of the initialization agree with those of LAPACK."""

import tracemalloc

import numpy as np
import pytest

from deepnmf.engines import RowsInMemory, Workers
from deepnmf.solvers.starts import nonnegative_start
from deepnmf.solvers.svd import truncated_svd

SHAPES = {"wide": (20, 400), "tall": (400, 20), "sketched": (150, 120)}


def low_rank(shape, dtype, rank=6):
    rng = np.random.default_rng(0)
    n, p = shape
    return ((rng.random((n, rank)) @ rng.random((rank, p))) + 1e-3 * rng.random(shape)).astype(dtype)


def four_triplets(X):
    with Workers() as workers:
        return truncated_svd(RowsInMemory(X, workers), 4, np.random.RandomState(0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_leading_triplets_agree_with_lapack(shape, dtype):
    X = low_rank(shape, dtype)
    U, s, Vt = four_triplets(X)
    expected = np.linalg.svd(X.astype(float), compute_uv=False)[:4]
    assert np.allclose(s, expected, rtol=1e-4)
    assert np.allclose(U.T @ X @ Vt.T, np.diag(expected), atol=1e-4 * expected[0])
    assert np.allclose(U.T @ U, np.eye(4), atol=1e-5)


def test_vectors_beyond_the_rank_are_finite_with_zero_singular_values():
    X = np.outer(np.arange(1.0, 21), np.arange(1.0, 401))
    U, s, Vt = four_triplets(X)
    assert np.allclose(s[1:], 0, atol=1e-6 * s[0])
    assert np.isfinite(U).all()
    assert np.isfinite(Vt).all()


def test_the_initialization_of_many_rows_needs_less_memory_than_the_data():
    X = np.random.default_rng(0).random((40_000, 50))
    with Workers() as workers:
        engine = RowsInMemory(X, workers)
        tracemalloc.start()
        try:
            nonnegative_start(engine, 10, "nndsvda", np.random.RandomState(0))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < X.nbytes  # the codes alone need a fifth of it
