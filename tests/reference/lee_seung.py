"""Lee & Seung, "Algorithms for Non-negative Matrix Factorization" (NIPS 2001): the multiplicative updates.

Their V, W, H are our Xᵀ, Zᵀ, Hᵀ.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EPSILON = np.finfo(np.float64).eps  # a denominator is never 0


def loss(X: Array, H: Array, Z: Array) -> float:
    """½‖X - HZ‖²."""
    return 0.5 * float(np.sum((X - H @ Z) ** 2))


def codes_gradient(X: Array, H: Array, Z: Array) -> Array:
    """∂/∂H of the loss: the update is a gradient step of size H / (H Z Zᵀ)."""
    return (H @ Z - X) @ Z.T


def factor_gradient(X: Array, H: Array, Z: Array) -> Array:
    """∂/∂Z of the loss."""
    return H.T @ (H @ Z - X)


def lee_seung(X: Array, H: Array, Z: Array, n_iter: int) -> tuple[Array, Array, list[float]]:
    """Update codes and factor in turn; the losses are those after each iteration."""
    losses = []
    for _ in range(n_iter):
        H = H * (X @ Z.T) / np.maximum(H @ (Z @ Z.T), EPSILON)  # (4), left
        Z = Z * (H.T @ X) / np.maximum((H.T @ H) @ Z, EPSILON)  # (4), right
        losses.append(loss(X, H, Z))
    return H, Z, losses
