"""Flenner & Hunter, "A Deep Non-Negative Matrix Factorization Neural Network": Algorithms 2 and 3 as published.

Samples are rows here, columns there; equation (4) where it and the boxes differ. Loops instead of windows, a dense
Jacobian instead of indices, no guard against rising.
"""

import numpy as np

Array = np.ndarray
EPSILON = 1e-12


def pool(H: Array, width: int, groups: Array) -> tuple[Array, list[Array]]:
    """p(H), and the n x n Jacobian of each component, with 1 at the row of each maximum."""
    n, r = H.shape
    pooled, jacobians = np.zeros((n, r)), [np.zeros((n, n)) for _ in range(r)]
    below, above = (max(width, 1) - 1) // 2, max(width, 1) // 2
    for i in range(n):
        window = [j for j in range(i - below, i + above + 1) if 0 <= j < n and groups[j] == groups[i]]
        for k in range(r):
            source = max(window, key=lambda j: (H[j, k], -j))
            pooled[i, k] = H[source, k]
            jacobians[k][i, source] = 1
    return pooled, jacobians


def energy(
    X: Array,
    codes: list[Array],
    factors: list[Array],
    B: Array,
    Y: Array,
    known: Array,
    weight: float,
    width: int,
    groups: Array,
) -> float:
    """½ Σ ‖W∘(X_{l-1} - H_l Z_l)‖² + (λ/2)‖L∘(Y - H_m B)‖²."""
    inputs = [X, *(pool(H, width, groups)[0] for H in codes[:-1])]
    fit = sum(np.nansum((below - H @ Z) ** 2) for below, H, Z in zip(inputs, codes, factors, strict=True))
    return 0.5 * float(fit) + 0.5 * weight * float(np.sum((Y - codes[-1] @ B)[known] ** 2))


def sweep(
    X: Array,
    codes: list[Array],
    factors: list[Array],
    B: Array,
    Y: Array,
    known: Array,
    weight: float,
    width: int,
    groups: Array,
    backprop: bool,
) -> tuple[list[Array], list[Array], Array]:
    """One iteration of the while loop, equation (4)."""
    codes, factors = list(codes), list(factors)
    L = np.broadcast_to(known[:, None], Y.shape)
    below = X
    for layer in range(len(codes)):
        W = ~np.isnan(below)
        seen = np.where(W, below, 0)
        H, Z = codes[layer], factors[layer]
        Z = Z * (H.T @ seen) / (H.T @ (W * (H @ Z)) + EPSILON)
        up, down = seen @ Z.T, (W * (H @ Z)) @ Z.T
        if layer == len(codes) - 1:
            up, down = up + weight * (L * Y) @ B.T, down + weight * (L * (H @ B)) @ B.T
        elif backprop:
            pooled, jacobians = pool(H, width, groups)
            target = codes[layer + 1] @ factors[layer + 1]
            up = up + np.column_stack([J.T @ t for J, t in zip(jacobians, target.T, strict=True)])
            down = down + np.column_stack([J.T @ t for J, t in zip(jacobians, pooled.T, strict=True)])
        codes[layer], factors[layer] = H * up / (down + EPSILON), Z
        if layer + 1 < len(codes):
            below = pool(codes[layer], width, groups)[0]
    H = codes[-1]
    return codes, factors, B * (H.T @ (L * Y)) / (H.T @ (L * (H @ B)) + EPSILON)
