"""Yu, Zhou, Cichocki & Xie, "Learning the Hierarchical Parts of Objects by Deep Non-Smooth Nonnegative Matrix
Factorization" (2018): dnsNMF, Algorithm 1 (APG) and Algorithm 2 (pre-training and fine-tuning).

X ≈ H S_m Z_m S_{m-1} ··· S_1 Z_1. The paper's X, Z_i, H_i, A_i, B_i are our Xᵀ, Z_iᵀ, H_iᵀ, `below`ᵀ, `above`ᵀ.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def smoothing(rank: int, theta: float) -> Array:
    """S = (1-θ) I + (θ/r) 1 1ᵀ, (6)."""
    return (1 - theta) * np.eye(rank) + theta / rank * np.ones((rank, rank))


def above(H: Array, factors: Sequence[Array], theta: Sequence[float], layer: int) -> Array:
    """H S_m Z_m ··· Z_{l+1} S_l, the product on the left of Z_l; the paper's B_iᵀ, lines 3 and 7."""
    product = H @ smoothing(H.shape[1], theta[-1])
    for i in range(len(factors) - 1, layer, -1):
        product = product @ factors[i] @ smoothing(len(factors[i - 1]), theta[i - 1])
    return product


def below(factors: Sequence[Array], theta: Sequence[float], layer: int) -> Array:
    """S_{l-1} Z_{l-1} ··· S_1 Z_1, the product on the right of Z_l; the paper's A_iᵀ, lines 6 and 10."""
    product = smoothing(len(factors[0]), theta[0]) @ factors[0]
    for i in range(1, layer):
        product = smoothing(len(factors[i]), theta[i]) @ factors[i] @ product
    return product


def loss(X: Array, H: Array, factors: Sequence[Array], theta: Sequence[float]) -> float:
    """½‖X - H S_m Z_m ··· S_1 Z_1‖², (10)."""
    return 0.5 * float(np.sum((X - H @ below(factors, theta, len(factors))) ** 2))


def codes_gradient(H: Array, AAt: Array, XAt: Array) -> Array:
    """(13), with A = S_m Z_m ··· S_1 Z_1 of (12)."""
    return H @ AAt - XAt


def first_factor_gradient(Z: Array, BtB: Array, BtX: Array) -> Array:
    """The gradient of (18), with B = `above` of layer 1."""
    return BtB @ Z - BtX


def factor_gradient(Z: Array, BtB: Array, AAt: Array, BtXAt: Array) -> Array:
    """(21), with B = `above` and A = `below`."""
    return BtB @ Z @ AAt - BtXAt


def spectral_norm(matrix: Array) -> float:
    """‖matrix‖₂."""
    return float(np.linalg.norm(matrix, 2))


def apg(start: Array, gradient: Callable[[Array], Array], lipschitz: float, n_inner: int) -> Array:
    """Algorithm 1."""
    H, Y, alpha = start, start, 1.0  # line 1
    for _ in range(n_inner):
        new = np.maximum(Y - gradient(Y) / lipschitz, 0)  # line 3
        next_alpha = (1 + np.sqrt(4 * alpha**2 + 1)) / 2  # line 4
        Y = new + (alpha - 1) / next_alpha * (new - H)  # line 5
        H, alpha = new, next_alpha  # line 6
    return H


def update_first_factor(X: Array, Z: Array, B: Array, n_inner: int) -> Array:
    """Algorithm 2, line 4."""
    BtB, BtX = B.T @ B, B.T @ X
    return apg(Z, lambda Y: first_factor_gradient(Y, BtB, BtX), spectral_norm(BtB), n_inner)


def update_factor(X: Array, Z: Array, B: Array, A: Array, n_inner: int) -> Array:
    """Algorithm 2, line 8, with the Lipschitz constant of proposition 1."""
    BtB, AAt, BtXAt = B.T @ B, A @ A.T, B.T @ X @ A.T
    lipschitz = spectral_norm(AAt) * spectral_norm(BtB)
    return apg(Z, lambda Y: factor_gradient(Y, BtB, AAt, BtXAt), lipschitz, n_inner)


def update_codes(X: Array, H: Array, A: Array, n_inner: int) -> Array:
    """Algorithm 2, line 11, with the Lipschitz constant of lemma 1."""
    AAt, XAt = A @ A.T, X @ A.T
    return apg(H, lambda Y: codes_gradient(Y, AAt, XAt), spectral_norm(AAt), n_inner)


def fine_tune(
    X: Array, H: Array, factors: Sequence[Array], theta: Sequence[float], n_iter: int, n_inner: int
) -> tuple[Array, list[Array], list[float]]:
    """Algorithm 2, lines 2 to 13: Z_1, Z_2..Z_m, H_m; the losses are those after each iteration."""
    factors, losses = list(factors), []
    for _ in range(n_iter):
        B = above(H, factors, theta, 0)  # line 3
        factors[0] = update_first_factor(X, factors[0], B, n_inner)  # line 4
        for i in range(1, len(factors)):  # lines 5 to 9
            A, B = below(factors, theta, i), above(H, factors, theta, i)
            factors[i] = update_factor(X, factors[i], B, A, n_inner)
        A = below(factors, theta, len(factors))  # line 10
        H = update_codes(X, H, A, n_inner)  # line 11
        losses.append(loss(X, H, factors, theta))
    return H, factors, losses


def pretrain(
    X: Array,
    layer_sizes: Sequence[int],
    theta: Sequence[float],
    n_iter: int,
    n_inner: int,
    start: Callable[[Array, int], tuple[Array, Array]],
) -> tuple[Array, list[Array]]:
    """Algorithm 2, line 1: nsNMF of the codes below, layer by layer; `start(X, rank)` gives the first (H, Z)."""
    H, factors = X, []
    for rank, one_theta in zip(layer_sizes, theta, strict=True):
        data = H
        H, Z = start(data, rank)
        H, (Z,), _ = fine_tune(data, H, [Z], (one_theta,), n_iter, n_inner)
        factors.append(Z)
    return H, factors
