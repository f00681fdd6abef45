"""Trigeorgis, Bousmalis, Zafeiriou & Schuller, "A Deep Matrix Factorization Method for Learning Attribute
Representations" (2017): Semi-NMF, (4) and (5), and Deep Semi-NMF, Algorithm 1, linear, X ≈ H Z_m ··· Z_1.

The paper's X, Z_i, H_i, Ψ are our Xᵀ, Z_iᵀ, H_iᵀ, C_{i-1}ᵀ. Corrected: the codes are updated with C_i where the
paper prints Ψ = C_{i-1}. Lower codes feed nothing back in Algorithm 1, so only the top layer's are updated.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EPSILON = np.finfo(np.float64).eps  # the paper's ε: a denominator is never 0


def positive(A: Array) -> Array:
    """A^pos, (6)."""
    return (np.abs(A) + A) / 2


def negative(A: Array) -> Array:
    """A^neg, (6)."""
    return (np.abs(A) - A) / 2


def pseudo_inverse(A: Array) -> Array:
    """A†; singular values that are 0 up to rounding count as 0."""
    return np.linalg.pinv(A, rcond=max(A.shape) * np.finfo(np.float64).eps)


def product(factors: Sequence[Array]) -> Array:
    """C_i = Z_i ··· Z_1, the paper's Ψᵀ of layer i+1."""
    C = factors[0]
    for Z in factors[1:]:
        C = Z @ C
    return C


def reconstructed_codes(H: Array, factors: Sequence[Array], layer: int) -> Array:
    """H̃_i = H_m Z_m ··· Z_{i+1}, of Algorithm 1."""
    for Z in reversed(factors[layer + 1 :]):
        H = H @ Z
    return H


def loss(X: Array, H: Array, factors: Sequence[Array]) -> float:
    """½‖X - H Z_m ··· Z_1‖², (10)."""
    return 0.5 * float(np.sum((X - H @ product(factors)) ** 2))


def codes_gradient(X: Array, H: Array, C: Array) -> Array:
    """∂/∂H_m of (10), the difference of denominator and numerator of (12), with C = C_m."""
    return (H @ C - X) @ C.T


def factor_gradient(X: Array, Z: Array, H: Array, C: Array) -> Array:
    """∂/∂Z_i of (10), with H = H̃_i and C = C_{i-1}; (11) is where it vanishes."""
    return H.T @ (H @ Z @ C - X) @ C.T


def update_first_factor(X: Array, H: Array) -> Array:
    """(4), and (11) for i = 1, with H = H̃_1."""
    return pseudo_inverse(H) @ X


def update_factor(X: Array, H: Array, C: Array) -> Array:
    """(11), with H = H̃_i and C = C_{i-1}."""
    return pseudo_inverse(H) @ X @ pseudo_inverse(C)


def update_codes(X: Array, H: Array, C: Array) -> Array:
    """(5), and (12) with C = C_m."""
    XCt, CCt = X @ C.T, C @ C.T
    up = positive(XCt) + H @ negative(CCt)
    down = negative(XCt) + H @ positive(CCt)
    return H * np.sqrt(up / np.maximum(down, EPSILON))


def semi_nmf(X: Array, H: Array, n_iter: int) -> tuple[Array, Array, list[float]]:
    """Update the factor (4) and the codes (5) in turn; the losses are those after each iteration."""
    losses = []
    for _ in range(n_iter):
        Z = update_first_factor(X, H)
        H = update_codes(X, H, Z)
        losses.append(loss(X, H, [Z]))
    return H, Z, losses


def fine_tune(X: Array, H: Array, factors: Sequence[Array], n_iter: int) -> tuple[Array, list[Array], list[float]]:
    """Algorithm 1 after its initialization; the losses are those after each iteration."""
    factors, losses = list(factors), []
    for _ in range(n_iter):
        factors[0] = update_first_factor(X, reconstructed_codes(H, factors, 0))
        for i in range(1, len(factors)):
            factors[i] = update_factor(X, reconstructed_codes(H, factors, i), product(factors[:i]))
        H = update_codes(X, H, product(factors))
        losses.append(loss(X, H, factors))
    return H, factors, losses


def pretrain(
    X: Array, layer_sizes: Sequence[int], n_iter: int, start: Callable[[Array, int], Array]
) -> tuple[Array, list[Array]]:
    """Algorithm 1, first loop: Semi-NMF of the codes below, layer by layer; `start(X, rank)` gives the first H."""
    H, factors = X, []
    for rank in layer_sizes:
        H, Z, _ = semi_nmf(H, start(H, rank), n_iter)
        factors.append(Z)
    return H, factors
