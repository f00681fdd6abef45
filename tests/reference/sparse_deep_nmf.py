"""Guo & Zhang, "Sparse Deep Nonnegative Matrix Factorization" (2019): DNMF, SDNMF/L, /R, /RL1 and /RL2.

Algorithm 1 (pre-training of a layer), Algorithm 2 (fine-tuning) and Subalgorithms 1 and 2, linear, X ≈ H Z_L ··· Z_1.
The paper's X, W_l, H_l, Ψ_l are our Xᵀ, Z_lᵀ, H_lᵀ, C_lᵀ. /L and /R are as published: nothing holds the scale of the
side without a penalty. Corrected: (20) has its ½, (25) its ‖Ψᵀ_{l-1}Ψ_{l-1}‖. Lower codes feed nothing back in
Algorithm 2, so they are left out, and so is their share of (18).
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def feature_weight(penalty: str | None, mu: float) -> float:
    """μ_l where the variant has a penalty on the factors: (10), (21), (27)."""
    return mu if penalty in ("L", "RL1", "RL2") else 0.0


def factor_penalty(penalty: str | None, mu: float, order: int) -> Array:
    """P of ½ Tr(Z P Zᵀ), μ_l ξᵀξ of (13): ½ μ_l Σ_j ‖Z[j, :]‖₁² for Z >= 0."""
    return feature_weight(penalty, mu) * np.ones((order, order))


def codes_penalty(penalty: str | None, lam: float, order: int) -> Array:
    """P of ½ Tr(H P Hᵀ): λ eᵀe in (18) and (21), λ I in (27)."""
    if penalty in ("R", "RL1"):
        return lam * np.ones((order, order))
    return (lam if penalty == "RL2" else 0.0) * np.eye(order)


def quadratic(V: Array, P: Array) -> float:
    """½ Tr(V P Vᵀ)."""
    return 0.5 * float(np.trace(V @ P @ V.T))


def product(factors: Sequence[Array], n_features: int) -> Array:
    """C_l = Z_l ··· Z_1, the paper's Ψ_lᵀ."""
    C = np.eye(n_features)
    for Z in factors:
        C = Z @ C
    return C


def reconstructed_codes(H: Array, factors: Sequence[Array], layer: int) -> Array:
    """H̃_l = H_L Z_L ··· Z_{l+1}, of Algorithm 2."""
    for Z in reversed(factors[layer + 1 :]):
        H = H @ Z
    return H


def loss(
    X: Array, H: Array, factors: Sequence[Array], penalty: str | None, mu: Sequence[float], lam: Sequence[float]
) -> float:
    """(14), (18) with the top layer's term, (21) or (27)."""
    fit = 0.5 * float(np.sum((X - H @ product(factors, X.shape[1])) ** 2))
    on_factors = sum(
        quadratic(Z, factor_penalty(penalty, one_mu, Z.shape[1])) for Z, one_mu in zip(factors, mu, strict=True)
    )
    return fit + on_factors + quadratic(H, codes_penalty(penalty, lam[-1], H.shape[1]))


def codes_gradient(X: Array, H: Array, C: Array, P: Array) -> Array:
    """(17), (24), (26), with C = C_l."""
    return -X @ C.T + H @ C @ C.T + H @ P


def factor_gradient(X: Array, Z: Array, H: Array, C: Array, P: Array) -> Array:
    """(13), (16), (25), with H = H̃_l and C = C_{l-1}."""
    return -H.T @ X @ C.T + H.T @ H @ Z @ C @ C.T + Z @ P


def spectral_norm(matrix: Array) -> float:
    """‖matrix‖₂."""
    return float(np.linalg.norm(matrix, 2))


def optimal_gradient(start: Array, gradient: Callable[[Array], Array], lipschitz: float, n_inner: int) -> Array:
    """Subalgorithms 1 and 2, which differ in their letters: steps 2.1 to 2.3."""
    H, Y, alpha = start, start, 1.0
    for _ in range(n_inner):
        new = np.maximum(Y - gradient(Y) / lipschitz, 0)  # (9)
        next_alpha = (1 + np.sqrt(4 * alpha**2 + 1)) / 2  # (7)
        Y = new + (alpha - 1) / next_alpha * (new - H)  # (6)
        H, alpha = new, next_alpha
    return H


def update_codes(X: Array, H: Array, C: Array, P: Array, n_inner: int) -> Array:
    """Subalgorithm 1, with the Lipschitz constant of (24) and (26)."""
    lipschitz = spectral_norm(C @ C.T) + spectral_norm(P)
    return optimal_gradient(H, lambda Y: codes_gradient(X, Y, C, P), lipschitz, n_inner)


def update_factor(X: Array, Z: Array, H: Array, C: Array, P: Array, n_inner: int) -> Array:
    """Subalgorithm 2, with the Lipschitz constant of (16), also for (25)."""
    lipschitz = spectral_norm(C @ C.T) * spectral_norm(H.T @ H) + spectral_norm(P)
    return optimal_gradient(Z, lambda Y: factor_gradient(X, Y, H, C, P), lipschitz, n_inner)


def fine_tune(
    X: Array,
    H: Array,
    factors: Sequence[Array],
    penalty: str | None,
    mu: Sequence[float],
    lam: Sequence[float],
    n_iter: int,
    n_inner: int,
) -> tuple[Array, list[Array], list[float]]:
    """Algorithm 2 after its initialisation; μ and λ one a layer; the losses are those after each iteration."""
    factors, losses = list(factors), []
    top_penalty = codes_penalty(penalty, lam[-1], H.shape[1])
    for _ in range(n_iter):
        for i, Z in enumerate(factors):
            P = factor_penalty(penalty, mu[i], Z.shape[1])
            C = product(factors[:i], X.shape[1])
            factors[i] = update_factor(X, Z, reconstructed_codes(H, factors, i), C, P, n_inner)
        H = update_codes(X, H, product(factors, X.shape[1]), top_penalty, n_inner)
        losses.append(loss(X, H, factors, penalty, mu, lam))
    return H, factors, losses


def pretrain_layer(
    X: Array, H: Array, Z: Array, P_codes: Array, P_factor: Array, n_iter: int, n_inner: int
) -> tuple[Array, Array]:
    """Algorithm 1, steps 2.1 and 2.2: (11) or (22)."""
    identity = np.eye(X.shape[1])
    for _ in range(n_iter):
        H = update_codes(X, H, Z, P_codes, n_inner)
        Z = update_factor(X, Z, H, identity, P_factor, n_inner)
    return H, Z


def pretrain(
    X: Array,
    layer_sizes: Sequence[int],
    penalty: str | None,
    mu: Sequence[float],
    lam: Sequence[float],
    n_iter: int,
    n_inner: int,
    start: Callable[[Array, int], tuple[Array, Array]],
) -> tuple[Array, list[Array]]:
    """Algorithm 1 on the codes below, layer by layer; `start(X, rank)` gives the first (H, Z)."""
    H, factors = X, []
    for layer, rank in enumerate(layer_sizes):
        data = H
        H, Z = start(data, rank)
        # Below the top, /RL1 and /RL2 have no penalty on the codes (22), (24).
        on_codes = penalty if penalty == "R" or layer == len(layer_sizes) - 1 else None
        P_codes = codes_penalty(on_codes, lam[layer], rank)
        P_factor = factor_penalty(penalty, mu[layer], data.shape[1])
        H, Z = pretrain_layer(data, H, Z, P_codes, P_factor, n_iter, n_inner)
        factors.append(Z)
    return H, factors
