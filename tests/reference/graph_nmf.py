"""NMF with a graph or with classes: GNMF and Discriminant NMF.

Cai, He, Han & Huang, "Graph Regularized Nonnegative Matrix Factorization for Data Representation" (2011): GNMF. Their
X, U, V are our Xᵀ, Zᵀ, H. Their objective is twice ours, with the same λ. As published: nothing holds the scale of Z
while the updates run, so λ Tr(HᵀLH) can be had for nothing; features come to unit norm at the end, (16) and (17).

Discriminant NMF (Zafeiriou et al., 2006) in the Frobenius form ½‖X - HZ‖² + (γ/2)Σ‖h_i - m_c‖² - (δ/2)Σ_c n_c‖m_c - m‖²
over labeled rows, Z with unit rows, 0 <= δ < 1. Labels are integers, -1 is unknown.
"""

import numpy as np
from numpy.typing import NDArray

from reference.lee_seung import EPSILON

Array = NDArray[np.float64]


# ------------------------------------------------------------------------------------------------------------- GNMF


def neighbor_graph(X: Array, n_neighbors: int = 5) -> Array:
    """W, 0/1: an edge if one sample is among the nearest neighbors of the other; without self-edges."""
    distances = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    np.fill_diagonal(distances, np.inf)
    A = np.zeros_like(distances)
    for i, row in enumerate(distances):
        A[i, np.argsort(row, kind="stable")[:n_neighbors]] = 1
    return np.maximum(A, A.T)


def degrees(W: Array) -> Array:
    """D."""
    return np.diag(W.sum(axis=1))


def laplacian(W: Array) -> Array:
    """L = D - W."""
    return degrees(W) - W


def loss(X: Array, H: Array, Z: Array, W: Array, lam: float) -> float:
    """½‖X - HZ‖² + ½λ Tr(HᵀLH)."""
    return 0.5 * float(np.sum((X - H @ Z) ** 2) + lam * np.trace(H.T @ laplacian(W) @ H))


def codes_gradient(X: Array, H: Array, Z: Array, W: Array, lam: float) -> Array:
    """∂/∂H of the loss."""
    return (H @ Z - X) @ Z.T + lam * laplacian(W) @ H


def update_codes(X: Array, H: Array, Z: Array, W: Array, lam: float) -> Array:
    """(15)."""
    return H * (X @ Z.T + lam * W @ H) / np.maximum(H @ Z @ Z.T + lam * degrees(W) @ H, EPSILON)


def update_factor(X: Array, H: Array, Z: Array) -> Array:
    """(14)."""
    return Z * (H.T @ X) / np.maximum(H.T @ H @ Z, EPSILON)


def unit_features(H: Array, Z: Array) -> tuple[Array, Array]:
    """The same product with rows of Z at unit norm, (16) and (17)."""
    norms = np.maximum(np.linalg.norm(Z, axis=1), EPSILON)
    return H * norms, Z / norms[:, None]


def gnmf(X: Array, H: Array, Z: Array, W: Array, lam: float, n_iter: int) -> tuple[Array, Array, list[float]]:
    """Update factor and codes in turn; the losses are those after each iteration, before (16) and (17)."""
    losses = []
    for _ in range(n_iter):
        Z = update_factor(X, H, Z)
        H = update_codes(X, H, Z, W, lam)
        losses.append(loss(X, H, Z, W, lam))
    return *unit_features(H, Z), losses


# ------------------------------------------------------------------------------------------------- Discriminant NMF


def class_means(H: Array, y: Array) -> Array:
    """M_w: in each labeled row the mean of its class; 0 in the others."""
    means = np.zeros_like(H)
    for label in np.unique(y[y >= 0]):
        means[y == label] = H[y == label].mean(axis=0)
    return means


def overall_mean(H: Array, y: Array) -> Array:
    """M_t: in each labeled row the mean of all labeled rows; 0 in the others."""
    means = np.zeros_like(H)
    means[y >= 0] = H[y >= 0].mean(axis=0)
    return means


def scatter(H: Array, y: Array, gamma: float, delta: float) -> Array:
    """γ Σ(h_i - m_c)² - δ Σ_c n_c(m_c - m)², one number per component."""
    M_w, M_t, labeled = class_means(H, y), overall_mean(H, y), y >= 0
    within = np.sum((H - M_w)[labeled] ** 2, axis=0)
    return gamma * within - delta * np.sum((M_w - M_t) ** 2, axis=0)


def discriminant_loss(X: Array, H: Array, Z: Array, y: Array, gamma: float, delta: float) -> float:
    """½‖X - HZ‖² + ½ Σ_k scatter_k, for Z with unit rows."""
    return 0.5 * float(np.sum((X - H @ Z) ** 2) + np.sum(scatter(H, y, gamma, delta)))


def discriminant_codes_gradient(X: Array, H: Array, Z: Array, y: Array, gamma: float, delta: float) -> Array:
    """∂/∂H of the loss."""
    M_w, M_t = class_means(H, y), overall_mean(H, y)
    labeled_H = H * (y >= 0)[:, None]
    return (H @ Z - X) @ Z.T + gamma * (labeled_H - M_w) - delta * (M_w - M_t)


def update_discriminant_codes(X: Array, H: Array, Z: Array, y: Array, gamma: float, delta: float) -> Array:
    """H ∘ (XZᵀ + (γ+δ)M_w + δH) / (HZZᵀ + (γ+δ)H + δM_t), the terms of γ and δ in labeled rows only."""
    M_w, M_t = class_means(H, y), overall_mean(H, y)
    labeled_H = H * (y >= 0)[:, None]
    up = X @ Z.T + (gamma + delta) * M_w + delta * labeled_H
    down = H @ Z @ Z.T + (gamma + delta) * labeled_H + delta * M_t
    return H * up / np.maximum(down, EPSILON)


def update_discriminant_factor(X: Array, H: Array, Z: Array, y: Array, gamma: float, delta: float) -> Array:
    """The update before rows are scaled to unit norm: for any Z the loss has scatter_k ‖Z_k‖² in place of scatter_k."""
    weights = scatter(H, y, gamma, delta)[:, None]
    up = H.T @ X + np.maximum(-weights, 0) * Z
    down = H.T @ H @ Z + np.maximum(weights, 0) * Z
    return Z * up / np.maximum(down, EPSILON)


def discriminant_nmf(
    X: Array, H: Array, Z: Array, y: Array, gamma: float, delta: float, n_iter: int
) -> tuple[Array, Array, list[float]]:
    """Update factor and codes in turn, rows of Z at unit norm; the losses are those after each iteration."""
    losses = []
    H, Z = unit_features(H, Z)
    for _ in range(n_iter):
        H, Z = unit_features(H, update_discriminant_factor(X, H, Z, y, gamma, delta))
        H = update_discriminant_codes(X, H, Z, y, gamma, delta)
        losses.append(discriminant_loss(X, H, Z, y, gamma, delta))
    return H, Z, losses
