"""Coordinate descent on codes, compiled against NumPy: `python benchmarks/kernels.py`."""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from deepnmf.solvers.coordinate import visit_rows
from deepnmf.solvers.lanes import descend_rows

PASSES = 3


def seconds(run, repeats=7):
    """Best of several, after one to warm up."""
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def numpy_passes(V, G, F):
    """The plain twin."""
    for _ in range(PASSES):
        visit_rows(V, G, F)


def main():
    """Print the table."""
    print("| r | dtype | compiled | NumPy |\n| --- | --- | --- | --- |")
    rng = np.random.default_rng(0)
    for r in (3, 16, 40, 160, 600):
        n = 512 if r == 600 else 2048
        for dtype in (np.float64, np.float32):
            D, X = rng.random((r, 2 * r)).astype(dtype), rng.random((n, 2 * r)).astype(dtype)
            G, F, H = D @ D.T, X @ D.T, rng.random((n, r)).astype(dtype)
            V, Ft = H.T.copy(), F.T.copy()
            work = 2 * PASSES * n * r**2 / 1e9
            compiled = work / seconds(lambda H=H, G=G, F=F: descend_rows(H, G, F, PASSES))
            plain = work / seconds(lambda V=V, G=G, F=Ft: numpy_passes(V, G, F))
            print(f"| {r} | {np.dtype(dtype).name} | {compiled:.1f} | {plain:.1f} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
