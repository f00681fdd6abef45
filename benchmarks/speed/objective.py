"""The loss that every contender minimizes, computed in the same way for all of them."""

import numpy as np
from benchmarks.speed.problems import Array, Matrix
from scipy import sparse


def loss(X: Matrix, W: Array, H: Array) -> float:
    """Return ½‖X - WH‖² in double precision; a sparse X is never converted to a dense array."""
    W, H = W.astype(np.float64), H.astype(np.float64)
    if not sparse.issparse(X):
        return 0.5 * sum(float(np.sum((rows - codes @ H) ** 2)) for rows, codes in _blocks(X, W))
    cross = float(np.sum(W * (X @ H.T)))
    return 0.5 * (squared_norm(X) + float(np.sum((W.T @ W) * (H @ H.T)))) - cross


def squared_norm(X: Matrix) -> float:
    """Return ‖X‖² in double precision."""
    values = (X.data if sparse.issparse(X) else X).ravel().astype(np.float64)
    return float(values @ values)


def relative_error(X: Matrix, W: Array, H: Array) -> float:
    """Return ‖X - WH‖ / ‖X‖."""
    return float(np.sqrt(2 * loss(X, W, H) / squared_norm(X)))


def _blocks(X: Array, W: Array, size: int = 4096):
    """Yield rows of the data together with their codes, some thousands at a time."""
    for begin in range(0, len(X), size):
        yield X[begin : begin + size].astype(np.float64), W[begin : begin + size]
