"""Liu, Wu, Li, Cai & Huang, "Constrained Nonnegative Matrix Factorization for Image Representation" (TPAMI 2012).

Their X, U, Z, A are our Xᵀ, Zᵀ, V, A: X ≈ U (A Z)ᵀ there, X ≈ A V Z here.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EPSILON = np.finfo(np.float64).eps  # a denominator is never 0


def indicator(labels: Array) -> Array:
    """A: one column per class, then one per unlabeled sample (label -1)."""
    classes = [c for c in np.unique(labels) if c != -1]
    unlabeled = np.flatnonzero(labels == -1)
    A = np.zeros((len(labels), len(classes) + len(unlabeled)))
    for k, c in enumerate(classes):
        A[labels == c, k] = 1
    for k, i in enumerate(unlabeled):
        A[i, len(classes) + k] = 1
    return A


def loss(X: Array, A: Array, V: Array, Z: Array) -> float:
    """½‖X - A V Z‖²."""
    return 0.5 * float(np.sum((X - A @ V @ Z) ** 2))


def cnmf(X: Array, A: Array, V: Array, Z: Array, n_iter: int) -> tuple[Array, Array, list[float]]:
    """Update the basis and the groups' codes in turn; the losses are those after each iteration."""
    losses = []
    for _ in range(n_iter):
        Z = Z * (V.T @ A.T @ X) / np.maximum(V.T @ A.T @ A @ V @ Z, EPSILON)  # the update of u_ij
        V = V * (A.T @ X @ Z.T) / np.maximum(A.T @ A @ V @ Z @ Z.T, EPSILON)  # the update of z_ij
        losses.append(loss(X, A, V, Z))
    return V, Z, losses
