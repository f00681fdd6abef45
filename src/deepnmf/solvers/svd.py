import numpy as np
from scipy import linalg

from deepnmf.arrays import Array, Matrix
from deepnmf.engines import Engine, Sums

OVERSAMPLING = 10
POWER_STEPS = 4


def truncated_svd(
    engine: Engine, rank: int, rng: np.random.RandomState, power_steps: int = POWER_STEPS, steady: float = 0.0
) -> tuple[Array, Array, Array]:
    """The leading singular triplets of X by a randomised range finder, in passes over its rows.

    A power step is one pass, Xᵀ(X V) block by block; there are fewer once one changes what is seen of ‖X‖² by no more
    than `steady` of it. With a range as wide as X has rank it is exact, and no power steps are needed.
    """
    full = min(engine.n_samples, engine.n_features)
    rank = min(rank, full)
    width = rank + max(OVERSAMPLING, rank // 10)
    exact = 2 * width >= full
    V = rng.standard_normal((engine.n_features, full if exact else width)) / np.sqrt(engine.n_features)
    seen = 0.0
    for _ in range(0 if exact else power_steps):
        V, squares = _orthonormal(_power_step(engine, V))
        before, seen = seen, float(squares[:rank].sum())
        if seen - before <= steady * seen:
            break
    Q, _ = _orthonormal(engine.project(V.T))
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


def _orthonormal(matrix: Array) -> tuple[Array, Array]:
    """An orthonormal basis of the columns, and how much each of them adds to those before."""
    Q, R = linalg.qr(matrix, mode="economic", check_finite=False)
    return Q, np.abs(np.diag(R))


def _sign_fixed(U: Array, Vt: Array) -> tuple[Array, Array]:
    """Signs that do not depend on the sketch: the largest entry of each right vector is positive."""
    signs = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
    signs[signs == 0] = 1
    return U * signs.astype(U.dtype), Vt * signs[:, None]
