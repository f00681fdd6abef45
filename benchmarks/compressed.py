"""Compare NMF that is warmed up on a compressed X with NMF on X itself: `python benchmarks/compressed.py`.

The compressed X is a product Q B, where Q has few columns. This method is not part of the library, see
docs/decisions/0011-speed.md. It needs DEEPNMF_DATA.
"""

import time

import numpy as np
from benchmarks.speed.problems import PROBLEMS
from scipy import linalg
from sklearn.decomposition import NMF as ScikitNMF
from sklearn.decomposition._nmf import _initialize_nmf

from deepnmf.engines import Block, RowsInMemory, Workers
from deepnmf.engines.blocks import Sizes
from deepnmf.objective import Chain, Objective
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.steps import SOLVERS

REPEATS = 5
WARM_UPS = (0, 10, 20, 40)


class Product(Block):
    """Rows of Q B, a product that is never computed."""

    def __init__(self, Q, B):
        self.Q, self.B = Q, B
        self.shape, self.dtype = (len(Q), B.shape[1]), Q.dtype

    @property
    def nbytes(self):
        """The size of the product, so that it is divided into the same blocks as X."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __matmul__(self, features):
        return self.Q @ (self.B @ features)

    def __rmatmul__(self, codes):
        return (codes @ self.Q) @ self.B

    def rows(self, part):
        """Return some of the rows."""
        return Product(self.Q[part], self.B)

    def sizes(self):
        """Return ‖QB‖², the sum of the entries, and their number."""
        sqnorm = np.vdot(self.Q.T @ self.Q, self.B @ self.B.T)
        return Sizes(sqnorm, self.Q.sum(axis=0) @ self.B.sum(axis=1), self.shape[0] * self.shape[1])


def compressed(engine, width, rng):
    """Return X ≈ Q B, where Q is an orthonormal basis of most of the range of X.

    Q is found in two passes (one power step).
    """
    Q = _basis(engine.project(rng.standard_normal((width, engine.n_features))))
    Q = _basis(engine.project(engine.combined(Q)))
    return RowsInMemory(Product(Q, engine.combined(Q)), engine.workers)


def _basis(columns):
    return linalg.qr(columns, mode="economic", check_finite=False)[0]


def seconds_to(target, X, W, H, width, n_warm):
    """Return the time to the target, including the sketch and the sweeps on it, and the number of sweeps on X."""
    with Workers() as workers:
        began = time.perf_counter()
        engine, codes, chain = RowsInMemory(X, workers), W, Chain.of([H])
        if n_warm:
            warm = FROBENIUS.descent(compressed(engine, width, np.random.RandomState(0)), Objective(), SOLVERS["hals"])
            state = warm.start(codes, chain)
            for _ in range(n_warm):
                state = warm.advance(state)
            codes, chain = state.codes, state.chain
        sweeps, n_sweeps = FROBENIUS.descent(engine, Objective(), SOLVERS["hals"]), 0
        state = sweeps.start(codes, chain, refined=n_warm > 0)
        while state.loss > target:
            state, n_sweeps = sweeps.advance(state), n_sweeps + 1
        return time.perf_counter() - began, n_sweeps


def main():
    """Print the table."""
    print("| data | sweeps on the sketch | then on X | ms to scikit-learn's objective |\n| --- | --- | --- | --- |")
    for name in ("dense", "pie40", "pie160", "cbcl"):
        X, rank = PROBLEMS[name]()
        W, H = _initialize_nmf(X, rank, init="nndsvda", random_state=0)
        scikit = ScikitNMF(rank, init="custom", tol=0, max_iter=200).fit(X, W=W.copy(), H=H.copy())
        target = scikit.reconstruction_err_**2 / 2
        for n_warm in WARM_UPS:
            runs = [seconds_to(target, X, W, H, rank + rank // 2, n_warm) for _ in range(REPEATS)]
            best, n_sweeps = min(runs)
            print(f"| {name} | {n_warm} | {n_sweeps} | {1e3 * best:.0f} |", flush=True)


if __name__ == "__main__":
    main()
