"""Guo & Zhang, "Sparse Deep Nonnegative Matrix Factorization" (2019): DNMF, SDNMF/L, /R, /RL1 and /RL2.

Algorithm 1 (pre-training of a layer), Algorithm 2 (fine-tuning) and Subalgorithms 1 and 2, linear, X ≈ H Z_L ··· Z_1.
The paper's X, W_l, H_l, Ψ_l are our Xᵀ, Z_lᵀ, H_lᵀ, C_lᵀ. /L and /R are as published: nothing holds the scale of the
side without a penalty. Corrected: (20) has its ½, (25) its ‖Ψᵀ_{l-1}Ψ_{l-1}‖. Lower codes feed nothing back in
Algorithm 2, so they are left out, and so is their share of (18).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Term(NamedTuple):
    """½ weight Σ_j ‖V[j, :]‖² over the rows of V >= 0, in the norm "L1" or "L2"."""

    norm: str
    weight: float


def on_factor(penalty: str | None, mu: float) -> Term:
    """The penalty of Z_l in (14), (21) and (27)."""
    return Term("L1", mu if penalty in ("L", "RL1", "RL2") else 0.0)


def on_codes(penalty: str | None, lam: float) -> Term:
    """The penalty of H_L in (18), (21) and (27)."""
    if penalty == "RL2":
        return Term("L2", lam)
    return Term("L1", lam if penalty in ("R", "RL1") else 0.0)


def term_value(term: Term, V: Array) -> float:
    """½ μ Tr((ξV)ᵀ(ξV)) or ½ λ ‖V‖²."""
    return 0.5 * term.weight * float(np.sum(V.sum(axis=1) ** 2 if term.norm == "L1" else V**2))


def term_gradient(term: Term, V: Array) -> Array:
    """μ ξᵀξ V or λ V."""
    return term.weight * (V.sum(axis=1, keepdims=True) if term.norm == "L1" else V)


def term_lipschitz(term: Term, V: Array) -> float:
    """‖μ ξᵀξ‖₂, which is μ times the length of ξ, or λ."""
    return term.weight * (V.shape[1] if term.norm == "L1" else 1)


def product(factors: Sequence[Array]) -> Array:
    """C_l = Z_l ··· Z_1, the paper's Ψ_lᵀ."""
    C = factors[0]
    for Z in factors[1:]:
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
    fit = 0.5 * float(np.sum((X - H @ product(factors)) ** 2))
    factor_terms = sum(term_value(on_factor(penalty, weight), Z) for Z, weight in zip(factors, mu, strict=True))
    return fit + factor_terms + term_value(on_codes(penalty, lam[-1]), H)


def codes_gradient(H: Array, CCt: Array, XCt: Array, term: Term) -> Array:
    """(12), (17), (24), (26), with C = C_l."""
    return -XCt + H @ CCt + term_gradient(term, H)


def first_factor_gradient(Z: Array, HtH: Array, HtX: Array, term: Term) -> Array:
    """(13), (23), and (16) for l = 1, with H = H̃_1."""
    return -HtX + HtH @ Z + term_gradient(term, Z)


def factor_gradient(Z: Array, HtH: Array, CCt: Array, HtXCt: Array, term: Term) -> Array:
    """(16), (25), with H = H̃_l and C = C_{l-1}."""
    return -HtXCt + HtH @ Z @ CCt + term_gradient(term, Z)


def spectral_norm(matrix: Array) -> float:
    """‖matrix‖₂."""
    return float(np.linalg.norm(matrix, 2))


def optimal_gradient(start: Array, gradient: Callable[[Array], Array], lipschitz: float, n_inner: int) -> Array:
    """Subalgorithms 1 and 2, steps 2.1 to 2.3, which differ only in notation."""
    H, Y, alpha = start, start, 1.0
    for _ in range(n_inner):
        new = np.maximum(Y - gradient(Y) / lipschitz, 0)  # (9)
        next_alpha = (1 + np.sqrt(4 * alpha**2 + 1)) / 2  # (7)
        Y = new + (alpha - 1) / next_alpha * (new - H)  # (6)
        H, alpha = new, next_alpha
    return H


def update_codes(X: Array, H: Array, C: Array, term: Term, n_inner: int) -> Array:
    """Subalgorithm 1, with the Lipschitz constant of (24) and (26)."""
    CCt, XCt = C @ C.T, X @ C.T
    lipschitz = spectral_norm(CCt) + term_lipschitz(term, H)
    return optimal_gradient(H, lambda Y: codes_gradient(Y, CCt, XCt, term), lipschitz, n_inner)


def update_first_factor(X: Array, Z: Array, H: Array, term: Term, n_inner: int) -> Array:
    """Subalgorithm 2 for the lowest layer, with the Lipschitz constant of (23)."""
    HtH, HtX = H.T @ H, H.T @ X
    lipschitz = spectral_norm(HtH) + term_lipschitz(term, Z)
    return optimal_gradient(Z, lambda Y: first_factor_gradient(Y, HtH, HtX, term), lipschitz, n_inner)


def update_factor(X: Array, Z: Array, H: Array, C: Array, term: Term, n_inner: int) -> Array:
    """Subalgorithm 2, with the Lipschitz constant of (16), also for (25)."""
    HtH, CCt, HtXCt = H.T @ H, C @ C.T, H.T @ X @ C.T
    lipschitz = spectral_norm(CCt) * spectral_norm(HtH) + term_lipschitz(term, Z)
    return optimal_gradient(Z, lambda Y: factor_gradient(Y, HtH, CCt, HtXCt, term), lipschitz, n_inner)


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
    """Algorithm 2 after its initialization; one μ and λ per layer; the losses are those after each iteration."""
    factors, losses = list(factors), []
    terms = [on_factor(penalty, weight) for weight in mu]
    for _ in range(n_iter):
        factors[0] = update_first_factor(X, factors[0], reconstructed_codes(H, factors, 0), terms[0], n_inner)
        for i in range(1, len(factors)):
            C = product(factors[:i])
            factors[i] = update_factor(X, factors[i], reconstructed_codes(H, factors, i), C, terms[i], n_inner)
        H = update_codes(X, H, product(factors), on_codes(penalty, lam[-1]), n_inner)
        losses.append(loss(X, H, factors, penalty, mu, lam))
    return H, factors, losses


def pretrain_layer(
    X: Array, H: Array, Z: Array, codes_term: Term, factor_term: Term, n_iter: int, n_inner: int
) -> tuple[Array, Array]:
    """Algorithm 1, steps 2.1 and 2.2: (11) or (22)."""
    for _ in range(n_iter):
        H = update_codes(X, H, Z, codes_term, n_inner)
        Z = update_first_factor(X, Z, H, factor_term, n_inner)
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
        # Below the top, /RL1 and /RL2 have no penalty on the codes: (22), (24).
        penalized = penalty == "R" or layer == len(layer_sizes) - 1
        codes_term = on_codes(penalty if penalized else None, lam[layer])
        H, Z = pretrain_layer(data, H, Z, codes_term, on_factor(penalty, mu[layer]), n_iter, n_inner)
        factors.append(Z)
    return H, factors
