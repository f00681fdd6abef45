"""A whole sweep of NMF in one compiled call, for small data, where calls would cost more than arithmetic."""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop, inlined_loop
from deepnmf.kernels.quadratic_descent import COLUMNS, descend_in_place, descend_rows_plainly


def sweep_at_once(
    X: Array, codes: Array, plain_codes: Array, Z: Array, n_inner: tuple[int, int], beta: float, negligible: float
) -> tuple[Array, Array, Array, float, float, float, float, float]:
    """Update codes, extrapolate them, and update the factor from the statistics of the extrapolated ones.

    Codes start from the extrapolated codes of the last sweep, with `n_inner[0]` passes, and so does Z, with
    `n_inner[1]` passes. Diagonal entries of a Gram matrix below `negligible` times the largest count as zero. Returns
    the extrapolated codes, the codes before the extrapolation, the factor, <K, ZZᵀ> - 2<M, Z>, and the squared
    violation and target of codes and of factor.
    """
    return _sweep_at_once(X, codes, plain_codes, Z, *n_inner, beta, negligible)


def sweep_at_once_plainly(
    X: Array, codes: Array, plain_codes: Array, Z: Array, n_inner: tuple[int, int], beta: float, negligible: float
) -> tuple[Array, Array, Array, float, float, float, float, float]:
    """`sweep_at_once`, one product after the other."""
    target = X @ Z.T.astype(X.dtype)
    gram = _without_negligible((Z @ Z.T).astype(X.dtype), negligible)
    plain, codes_violation = descend_rows_plainly(codes, gram, target, n_inner[0])
    ahead = np.maximum(plain + X.dtype.type(beta) * (plain - plain_codes), 0)
    M, K = (ahead.T @ X).astype(np.float64), (ahead.T @ ahead).astype(np.float64)
    columns, violation = descend_rows_plainly(Z.T, _without_negligible(K, negligible), M.T, n_inner[1])
    new = columns.T
    value = np.vdot(K, new @ new.T) - 2 * np.vdot(M, new)
    return ahead, plain, new, value, codes_violation, np.vdot(target, target), violation, np.vdot(M, M)


def _without_negligible(gram: Array, negligible: float) -> Array:
    diagonal = np.diag(gram)
    return np.asarray(gram - np.diag(np.where(diagonal < negligible * diagonal.max(), diagonal, 0)))


@CompiledLoop
def _sweep_at_once(X, codes, plain_codes, Z, n_codes_passes, n_factor_passes, beta, negligible):
    n_rows, order = codes.shape
    n_features = X.shape[1]
    features = np.empty((n_features, order), X.dtype)
    for k in range(order):
        for j in range(n_features):
            features[j, k] = Z[k, j]
    target = X @ features
    target_size = _square(target)
    plain = codes.copy()
    gram = _padded((Z @ Z.T).astype(X.dtype), negligible)
    codes_violation = descend_in_place(
        plain.ravel(), target.ravel(), gram, n_rows, order, order, 1, n_codes_passes, 0.0
    )
    ahead, step = np.empty_like(plain), X.dtype.type(beta)
    for i in range(n_rows):
        for k in range(order):
            value = plain[i, k] + step * (plain[i, k] - plain_codes[i, k])
            ahead[i, k] = value if value > 0 else value * 0
    across = np.ascontiguousarray(ahead.T)
    M, K = (across @ X).astype(np.float64), (across @ ahead).astype(np.float64)
    new = Z.copy()
    violation = descend_in_place(
        new.ravel(), M.ravel(), _padded(K, negligible), n_features, order, 1, n_features, n_factor_passes, 0.0
    )
    G = new @ new.T
    value = 0.0
    for k in range(order):
        for other in range(order):
            value += K[k, other] * G[k, other]
        for j in range(n_features):
            value -= 2 * M[k, j] * new[k, j]
    return ahead, plain, new, value, codes_violation, target_size, violation, _square(M)


@inlined_loop
def _padded(gram, negligible):
    order = len(gram)
    padded = np.zeros((order + -order % COLUMNS, order + -order % COLUMNS), gram.dtype)
    largest = 0.0
    for k in range(order):
        largest = max(largest, gram[k, k])
        for j in range(order):
            padded[k, j] = gram[k, j]
    for k in range(order):
        if gram[k, k] < negligible * largest:
            padded[k, k] = 0
    return padded


@inlined_loop
def _square(matrix):
    total = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            total += np.float64(matrix[i, j]) * np.float64(matrix[i, j])
    return total
