"""The start's singular vectors against LAPACK's, and the machine code where LLVM does not know the processor."""

import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deepnmf.engines import RowsInMemory, Workers
from deepnmf.solvers import lanes
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
def test_the_leading_triplets_are_lapacks(shape, dtype):
    X = low_rank(shape, dtype)
    U, s, Vt = four_triplets(X)
    expected = np.linalg.svd(X.astype(float), compute_uv=False)[:4]
    assert np.allclose(s, expected, rtol=1e-4)
    assert np.allclose(U.T @ X @ Vt.T, np.diag(expected), atol=1e-4 * expected[0])
    assert np.allclose(U.T @ U, np.eye(4), atol=1e-5)


def test_vectors_beyond_the_rank_are_finite_and_weigh_nothing():
    X = np.outer(np.arange(1.0, 21), np.arange(1.0, 401))
    U, s, Vt = four_triplets(X)
    assert np.allclose(s[1:], 0, atol=1e-6 * s[0])
    assert np.isfinite(U).all()
    assert np.isfinite(Vt).all()


def test_the_start_of_many_rows_takes_less_memory_than_the_data():
    X = np.random.default_rng(0).random((40_000, 50))
    with Workers() as workers:
        engine = RowsInMemory(X, workers)
        tracemalloc.start()
        try:
            nonnegative_start(engine, 10, "nndsvda", np.random.RandomState(0))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < X.nbytes  # the codes alone are a fifth of it


def test_a_processor_that_llvm_cannot_describe_gets_plain_code(monkeypatch):
    def refuse():
        raise RuntimeError("no host features on this platform")

    G, F, H = np.eye(3) + 0.1, np.ones((20, 3)), np.zeros((20, 3))
    expected, _ = lanes.descend_rows(H, G, F, 5)
    monkeypatch.setattr(lanes.binding, "get_host_cpu_features", refuse)
    lanes.compiled.cache_clear()
    try:
        found, _ = lanes.descend_rows(H, G, F, 5)
    finally:
        lanes.compiled.cache_clear()
    assert np.allclose(found, expected)


def test_threads_that_come_first_together_compile_once(monkeypatch):
    lanes.compiled.cache_clear()
    compile_once, made = lanes.binding.create_mcjit_compiler, []

    def slow(*arguments):
        made.append(arguments)
        time.sleep(0.05)
        return compile_once(*arguments)

    monkeypatch.setattr(lanes.binding, "create_mcjit_compiler", slow)
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lanes.machine_code, ["d"] * 4))
    assert len(made) == 1
    assert all(code is codes[0] for code in codes)
