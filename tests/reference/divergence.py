"""Factorization under a beta divergence as it is published: multiplicative updates, and EM on a chain of counts.

Févotte & Idier, "Algorithms for nonnegative matrix factorization with the beta-divergence" (2011), and Leplat et al.,
"Deep nonnegative matrix factorization with beta divergences" (2023). X ≈ H S_m Z_m ··· S_1 Z_1, everything dense.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EPSILON = 1e-300  # a denominator is never 0


def divergence(X: Array, Y: Array, beta: float) -> float:
    """Σ d_β(x|y)."""
    if beta == 1:
        logs = X * np.log(np.where(X > 0, X, 1) / np.where(X > 0, Y, 1))
        return float(np.sum(logs - X + Y))
    if beta == 0:
        return float(np.sum(X / Y - np.log(X / Y) - 1))
    return float(np.sum(X**beta + (beta - 1) * Y**beta - beta * X * Y ** (beta - 1)) / (beta * (beta - 1)))


def smoothing(order: int, theta: float) -> Array:
    """S = (1-θ) I + (θ/r) 11ᵀ."""
    return (1 - theta) * np.eye(order) + theta / order * np.ones((order, order))


def product(matrices: Sequence[Array], size: int) -> Array:
    """The product of matrices; the identity of some size if there are none."""
    result = np.eye(size)
    for matrix in matrices:
        result = result @ matrix
    return result


def around(Z: Sequence[Array], theta: Sequence[float], layer: int) -> tuple[Array, Array]:
    """A_l and B_l of X ≈ H A_l Z_l B_l."""
    steps = [smoothing(len(factor), t) @ factor for factor, t in zip(Z, theta, strict=True)]
    above = [steps[upper] for upper in range(len(Z) - 1, layer, -1)]
    below = [steps[lower] for lower in range(layer - 1, -1, -1)]
    A = product(above, len(Z[-1])) @ smoothing(len(Z[layer]), theta[layer])
    return A, product(below, Z[layer].shape[1])


def multiplicative(
    X: Array, H: Array, Z: Sequence[Array], theta: Sequence[float], beta: float, n_iter: int, W: Array | None = None
) -> tuple[Array, list[Array], list[float]]:
    """Every block in turn is multiplied by a ratio to the power that never rises; W are weights of entries."""
    W = np.ones_like(X) if W is None else W
    power = 1 / (2 - beta) if beta < 1 else 1 / (beta - 1) if beta > 2 else 1.0
    Z, losses = list(Z), []
    for _ in range(n_iter):
        A, B = around(Z, theta, 0)
        D = A @ Z[0] @ B
        Y = H @ D
        H = H * ((W * X * Y ** (beta - 2)) @ D.T / np.maximum((W * Y ** (beta - 1)) @ D.T, EPSILON)) ** power
        for layer in range(len(Z)):
            A, B = around(Z, theta, layer)
            Y = H @ A @ Z[layer] @ B
            pull = A.T @ H.T @ (W * X * Y ** (beta - 2)) @ B.T
            push = A.T @ H.T @ (W * Y ** (beta - 1)) @ B.T
            Z[layer] = Z[layer] * (pull / np.maximum(push, EPSILON)) ** power
        A, B = around(Z, theta, 0)
        Y = H @ A @ Z[0] @ B
        losses.append(divergence(X, Y, beta) if W.all() else float("nan"))
    return H, Z, losses


def expectation_maximization(
    X: Array, H: Array, Z: Sequence[Array], theta: Sequence[float], n_iter: int
) -> tuple[Array, list[Array], list[float]]:
    """Counts distributed over the paths of the chain: all blocks move by one E step, each to its maximum in turn."""
    Z, losses = list(Z), []
    for _ in range(n_iter):
        blocks = [around(Z, theta, layer) for layer in range(len(Z))]
        D = blocks[0][0] @ Z[0]
        R = X / np.maximum(H @ D, EPSILON)
        expected = [factor * (A.T @ H.T @ R @ B.T) for factor, (A, B) in zip(Z, blocks, strict=True)]
        H = H * (R @ D.T) / np.maximum(D.sum(axis=1), EPSILON)
        for layer, N in enumerate(expected):
            A, B = around(Z, theta, layer)
            Z[layer] = N / np.maximum(np.outer(A.T @ H.sum(axis=0), B.sum(axis=1)), EPSILON)
        A, _ = around(Z, theta, 0)
        losses.append(divergence(X, H @ A @ Z[0], 1))
    return H, Z, losses
