from dataclasses import dataclass

import numpy as np
from scipy import linalg

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.row_weights import by_roots, column_of, roots

OVERSAMPLING = 10
POWER_STEPS = 4
ROUNDING = 100  # units in the last place of the largest entry
WIDE = 3  # a sketch is used only if it is this many times narrower than X; otherwise the range is computed exactly


def truncated_svd(
    engine: Engine, rank: int, rng: np.random.RandomState, power_steps: int = POWER_STEPS, steady: float = 0.0
) -> tuple[Array, Array, Array]:
    """Return the leading singular triplets of X by a randomized range finder, in passes over its rows.

    If rows have weights D, right vectors are eigenvectors of XᵀDX, and UᵀDU = I; rows of weight 0 get X V/s.

    A power step is one pass, Xᵀ(X V) block by block; they end early when one changes the captured part of ‖X‖² by at
    most the fraction `steady`. If X has not many more rows or columns than the sketch, the range is exact: with more
    rows than columns it comes from the leading eigenvectors of XᵀX, so that arrays of all rows are as wide as the rank.
    """
    rank = min(rank, engine.n_samples, engine.n_features)
    width = rank + max(OVERSAMPLING, rank // 10)
    if width < min(engine.total_weight, engine.n_samples, engine.n_features) / WIDE:
        V = rng.standard_normal((engine.n_features, width)) / np.sqrt(engine.n_features)
        Q = _range(engine, V, rank, power_steps, steady)
    elif engine.n_samples <= engine.n_features:
        Q = np.eye(engine.n_samples, dtype=engine.dtype)
    else:
        Q = _orthonormal(by_roots(engine.project(_right_vectors(engine, rank)), engine.row_weights))[0]
    U, s, Vt = _svd_of_wide(engine.combined(by_roots(Q, engine.row_weights)))
    U, s, Vt = Q @ U[:, :rank].astype(Q.dtype, copy=False), s[:rank], Vt[:rank]
    if engine.row_weights is not None:
        unweighted = np.asarray(engine.project(Vt)) / np.where(s > 0, s, 1).astype(engine.dtype)
        U = np.where(engine.counting_rows[:, None], U / column_of(roots(engine.row_weights), U), unweighted)
    U, Vt = _sign_fixed(U, Vt)
    return _without_rounding(U), s, Vt


def _range(engine: Engine, V: Array, rank: int, power_steps: int, steady: float) -> Array:
    """Return an orthonormal basis of X V, after power steps on V."""
    seen = 0.0
    for _ in range(power_steps):
        _, (product,) = engine.sweep((), _PowerStep(V.astype(engine.dtype, copy=False)))
        V, squares = _orthonormal(product.T)
        before, seen = seen, float(squares[:rank].sum())
        if seen - before <= steady * seen:
            break
    return _orthonormal(by_roots(engine.project(V.T), engine.row_weights))[0]


@dataclass(frozen=True)
class _PowerStep:
    """(XᵀDX V)ᵀ of one block of rows."""

    V: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        return (), (X_b.weighed(X_b @ self.V).T @ X_b,)


def _right_vectors(engine: Engine, rank: int) -> Array:
    """Return the leading eigenvectors of XᵀDX in double precision, as rows, for few columns."""
    _, (gram,) = engine.sweep((), _block_gram)
    return linalg.eigh(gram, check_finite=False)[1].T[::-1][:rank]


def _block_gram(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    dense = X_b @ np.eye(X_b.shape[1])
    return (), (X_b.weighed(dense).T @ dense,)


def _orthonormal(matrix: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis of the columns, and the norm of the new part of each column."""
    Q, R = linalg.qr(matrix, mode="economic", check_finite=False)
    return Q, np.abs(np.diag(R))


def _svd_of_wide(B: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition of a matrix with few rows, by the eigenvectors of B Bᵀ.

    Values below 1e-8 of the largest are inaccurate; no initialization needs them.
    """
    _, U = linalg.eigh((B @ B.T).astype(np.float64, copy=False), check_finite=False)
    U = np.ascontiguousarray(U[:, ::-1])  # before NumPy 2.3 a reversed matrix is multiplied without BLAS
    Vt = (U.T @ B).astype(B.dtype, copy=False)
    s = np.linalg.norm(Vt, axis=1)
    return U, s, Vt / np.where(s > 0, s, 1)[:, None]


def _without_rounding(U: Array) -> Array:
    """Set rounding errors to zero, as in rows of zeros, because initializations treat zeros differently."""
    return np.where(np.abs(U) > ROUNDING * np.finfo(U.dtype).eps * np.abs(U).max(axis=0), U, 0)


def _sign_fixed(U: Array, Vt: Array) -> tuple[Array, Array]:
    """Choose signs that do not depend on the sketch: the largest entry of each right vector is positive."""
    signs = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
    signs[signs == 0] = 1
    return U * signs.astype(U.dtype), Vt * signs[:, None]
