"""Trigeorgis, Bousmalis, Zafeiriou & Schuller (2017), sections 4.1 and 4.2: WSF, (19), and WSF-MA, (21).

The paper's X, Z, H are our Xᵀ, Zᵀ, Hᵀ; its W, D, L are symmetric and the same. Its updates are in a supplement; these
are those of Semi-NMF with the graph's share of Algorithm 2, η = ½. WSF-MA is the general case, one graph and λ an
attribute; WSF has one. As published: nothing holds the scale of Z. Corrected: (18) has its ½, h_jᵀh_l in its second
sum, and, samples being columns there, Tr(H L Hᵀ); (19) and (21) have ½ on both terms. A sample is no neighbor of its
own: self edges would cancel in L, but slow the updates. Labels are integers, -1 is unknown and has no edges.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference.deep_semi_nmf import EPSILON, negative, positive, update_first_factor
from reference.graph_nmf import degrees, laplacian

Array = NDArray[np.float64]


def label_graph(X: Array, y: Array, kind: str = "binary", sigma: float = 1.0) -> Array:
    """W of (15), (16) "rbf" or (17) "dot"."""
    weight = {
        "binary": lambda a, b: 1.0,
        "rbf": lambda a, b: np.exp(-np.sum((a - b) ** 2) / (2 * sigma**2)),
        "dot": lambda a, b: a @ b,
    }[kind]
    W = np.zeros((len(y), len(y)))
    for i, j in np.ndindex(W.shape):
        if i != j and y[i] == y[j] and y[i] >= 0:
            W[i, j] = weight(X[i], X[j])
    return W


def combined(graphs: Sequence[Array], lams: Sequence[float]) -> Array:
    """Σ λ_i W_i, the only function of the graphs that (21) needs."""
    return sum(lam * W for lam, W in zip(lams, graphs, strict=True))


def loss(X: Array, H: Array, Z: Array, graphs: Sequence[Array], lams: Sequence[float]) -> float:
    """½‖X - HZ‖² + ½ Σ λ_i Tr(HᵀL_iH), (19) and (21)."""
    L = laplacian(combined(graphs, lams))
    return 0.5 * float(np.sum((X - H @ Z) ** 2) + np.trace(H.T @ L @ H))


def codes_gradient(X: Array, H: Array, Z: Array, graphs: Sequence[Array], lams: Sequence[float]) -> Array:
    """∂/∂H of the loss."""
    return (H @ Z - X) @ Z.T + laplacian(combined(graphs, lams)) @ H


def update_codes(X: Array, H: Array, Z: Array, graphs: Sequence[Array], lams: Sequence[float]) -> Array:
    """H ∘ F^½, F of Algorithm 2 with Z for its Ψ, and W and D split by sign for graphs with negative weights."""
    XZt, ZZt = X @ Z.T, Z @ Z.T
    W = combined(graphs, lams)
    D = degrees(W)
    up = positive(XZt) + H @ negative(ZZt) + positive(W) @ H + negative(D) @ H
    down = negative(XZt) + H @ positive(ZZt) + negative(W) @ H + positive(D) @ H
    return H * np.sqrt(up / np.maximum(down, EPSILON))


def wsf(
    X: Array, H: Array, graphs: Sequence[Array], lams: Sequence[float], n_iter: int
) -> tuple[Array, Array, list[float]]:
    """Update the factor by pseudo-inverse and the codes in turn; the losses are those after each iteration."""
    losses = []
    for _ in range(n_iter):
        Z = update_first_factor(X, H)
        H = update_codes(X, H, Z, graphs, lams)
        losses.append(loss(X, H, Z, graphs, lams))
    return H, Z, losses
