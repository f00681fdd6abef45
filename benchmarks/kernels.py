"""Measure coordinate descent on codes, compiled and in NumPy, and on factors, and exact codes: `python -m benchmarks.kernels`.

The tables are part of decisions 4, 11 and 16.
"""

import time

import numpy as np
from benchmarks.page import described, table
from threadpoolctl import threadpool_limits

from deepnmf.kernels import TWINS, descend_rows
from deepnmf.objective import FactoredGram, FormedGram, Quadratic
from deepnmf.solvers.encoding import solve_rows
from deepnmf.solvers.steps import HALS

PASSES = 3


def seconds(run, repeats=7):
    """Return the shortest time of several runs, after one run to warm up."""
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def of_codes():
    """Yield rows: the GF/s of passes over codes, compiled and in NumPy."""
    rng = np.random.default_rng(0)
    for r in (3, 10, 16, 40, 160, 600):
        n = 512 if r == 600 else 2048
        for dtype in (np.float64, np.float32):
            D, X = rng.random((r, 2 * r)).astype(dtype), rng.random((n, 2 * r)).astype(dtype)
            arguments = rng.random((n, r)).astype(dtype), D @ D.T, X @ D.T, PASSES
            work = 2 * PASSES * n * r**2 / 1e9
            speeds = [work / seconds(lambda run=run: run(*arguments)) for run in (descend_rows, TWINS[descend_rows])]  # noqa: B023
            yield [r, np.dtype(dtype).name, *(f"{speed:.1f}" for speed in speeds)]


def of_factors():
    """Yield rows: the milliseconds of passes over 512 columns of Z_1.

    Its Gram matrix AᵀKA is either formed, or applied as thin products.
    """
    rng = np.random.default_rng(0)
    for order in (64, 100, 160, 200, 300, 600):
        for top in (6, 40):
            if 2 * top < order:
                A, Z, F = rng.random((top, order)), rng.random((order, 512)), rng.random((order, 512))
                K = np.eye(top) + np.ones((top, top))
                grams = FormedGram(A.T @ K @ A), FactoredGram(A, K)
                times = [seconds(lambda G=G, Z=Z, F=F: HALS().step(Z, Quadratic(G, F), PASSES)) for G in grams]
                yield [order, top, *(f"{1e3 * time:.2f}" for time in times)]


def of_exact_codes():
    """Yield rows: the milliseconds per row of exact codes, for features that overlap."""
    rng = np.random.default_rng(0)
    for r, p, n in ((40, 1024, 256), (160, 1024, 256), (300, 1024, 64), (600, 1024, 32), (600, 400, 8)):
        D = rng.gamma(0.5, size=(r, p))
        X = rng.gamma(0.5, size=(n, r)) @ D + rng.gamma(1.0, size=(n, p)) * r / 10
        D /= np.linalg.norm(D, axis=1, keepdims=True)
        G, F = D @ D.T, X @ D.T
        G += 1e-5 * np.diag(G.diagonal()) if r > p else 0
        positive = np.mean(solve_rows(G, F) > 0)
        yield [r, p, f"{positive:.0%}", f"{1e3 * seconds(lambda G=G, F=F: solve_rows(G, F), 3) / n:.2f}"]


def main():
    """Print the tables."""
    print(f"{described()}\n")
    print(table(["r", "dtype", "compiled, GF/s", "NumPy"], of_codes()))
    print()
    print(table(["r_1", "top", "formed, ms", "thin products"], of_factors()))
    print()
    print(table(["features", "columns", "positive codes", "ms per row"], of_exact_codes()))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
