"""Trigeorgis, Bousmalis, Zafeiriou & Schuller (2017), Algorithm 2: Deep WSF, linear, X ≈ H_m Z_m ··· Z_1.

The paper's X, Z_i, H_i, Ψ are our Xᵀ, Z_iᵀ, H_iᵀ, C_{i-1}ᵀ. As published: a lower H_i is updated with its own graph
but feeds nothing back, so the labels of a lower layer act through pre-training alone, and (20), which counts these
H_i, may rise; and nothing holds the scale of the factors. Corrected: the codes are updated with C_i where Algorithm 2
prints Ψ = C_{i-1}; its "if i = k" is i = m; λ_i L_i H_i in the derivatives is λ_i H_i L_i there, samples being columns.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from reference import wsf
from reference.deep_semi_nmf import product, reconstructed_codes, update_factor, update_first_factor
from reference.graph_nmf import laplacian

Array = NDArray[np.float64]


def loss(
    X: Array, codes: Sequence[Array], factors: Sequence[Array], graphs: Sequence[Array], lams: Sequence[float]
) -> float:
    """½‖X - H_m Z_m ··· Z_1‖² + ½ Σ λ_i Tr(H_iᵀ L_i H_i), (20)."""
    fit = float(np.sum((X - codes[-1] @ product(factors)) ** 2))
    terms = [lam * np.trace(H.T @ laplacian(W) @ H) for H, W, lam in zip(codes, graphs, lams, strict=True)]
    return 0.5 * (fit + float(sum(terms)))


def layer_loss(X: Array, H: Array, factors: Sequence[Array], W: Array, lam: float) -> float:
    """½‖X - H_i Z_i ··· Z_1‖² + ½ λ_i Tr(H_iᵀ L_i H_i), which the update of H_i lowers.

    For the top layer, it is (20) without the terms of the layers below.
    """
    return wsf.loss(X, H, product(factors), [W], [lam])


def sweep(
    X: Array, codes: Sequence[Array], factors: Sequence[Array], graphs: Sequence[Array], lams: Sequence[float]
) -> tuple[list[Array], list[Array]]:
    """One iteration of Algorithm 2: Z_i, then H_i, layer by layer."""
    codes, factors = list(codes), list(factors)
    for i in range(len(factors)):
        H = reconstructed_codes(codes[-1], factors, i)  # H̃_i
        factors[i] = update_factor(X, H, product(factors[:i])) if i else update_first_factor(X, H)
        codes[i] = wsf.update_codes(X, codes[i], product(factors[: i + 1]), [graphs[i]], [lams[i]])
    return codes, factors


def fine_tune(
    X: Array,
    codes: Sequence[Array],
    factors: Sequence[Array],
    graphs: Sequence[Array],
    lams: Sequence[float],
    n_iter: int,
) -> tuple[list[Array], list[Array], list[float]]:
    """Algorithm 2 after its initialization; the losses (20) are those after each iteration."""
    codes, factors, losses = list(codes), list(factors), []
    for _ in range(n_iter):
        codes, factors = sweep(X, codes, factors, graphs, lams)
        losses.append(loss(X, codes, factors, graphs, lams))
    return codes, factors, losses


def pretrain(
    X: Array,
    layer_sizes: Sequence[int],
    graphs: Sequence[Array],
    lams: Sequence[float],
    n_iter: int,
    start: Callable[[Array, int], Array],
) -> tuple[list[Array], list[Array]]:
    """Algorithm 2, first loop: WSF of the codes below, layer by layer; `start(X, rank)` gives the first H."""
    below, codes, factors = X, [], []
    for rank, W, lam in zip(layer_sizes, graphs, lams, strict=True):
        H, Z, _ = wsf.wsf(below, start(below, rank), [W], [lam], n_iter)
        codes.append(H)
        factors.append(Z)
        below = H
    return codes, factors
