import numpy as np
from scipy import linalg

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Sums

OVERSAMPLING = 10
POWER_STEPS = 4


def truncated_svd(
    engine: Engine, rank: int, rng: np.random.RandomState, power_steps: int = POWER_STEPS
) -> tuple[Array, Array, Array]:
    """The leading singular triplets of X by a randomised range finder, in passes over its rows.

    A power step is one pass, Xᵀ(X V) block by block. With a range as wide as X has rank it is exact, and no power
    steps are needed.
    """
    full = min(engine.n_samples, engine.n_features)
    rank = min(rank, full)
    width = rank + max(OVERSAMPLING, rank // 10)
    exact = 2 * width >= full
    V = rng.standard_normal((engine.n_features, full if exact else width))
    for _ in range(0 if exact else power_steps):
        V = _orthonormal(_power_step(engine, V))
    Q = _orthonormal(engine.project(V.T))
    U, s, Vt = linalg.svd(_products(engine, Q), full_matrices=False, check_finite=False)
    U, Vt = _sign_fixed(Q @ U[:, :rank].astype(Q.dtype, copy=False), Vt[:rank])
    return U, s[:rank], Vt


def _power_step(engine: Engine, V: Array) -> Array:
    """XᵀX V."""
    V = V.astype(engine.dtype, copy=False)
    _, (product,) = engine.sweep((), lambda X_b, _: ((), ((X_b @ V).T @ X_b,)))
    return product.T


def _products(engine: Engine, Q: Array) -> Array:
    """QᵀX."""
    _, (B,) = engine.sweep((Q,), _transposed_product)
    return B


def _transposed_product(X_b: Matrix, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    return (), (np.ascontiguousarray(rows[0].T) @ X_b,)


def _orthonormal(matrix: Array) -> Array:
    return np.asarray(linalg.qr(matrix, mode="economic", check_finite=False)[0])


def _sign_fixed(U: Array, Vt: Array) -> tuple[Array, Array]:
    """Signs that do not depend on the sketch: the largest entry of each right vector is positive."""
    signs = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
    signs[signs == 0] = 1
    return U * signs.astype(U.dtype), Vt * signs[:, None]
