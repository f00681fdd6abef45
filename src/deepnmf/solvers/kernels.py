"""The compiled inner loop. Imported at the first fit: numba takes a quarter of a second to load.

Four samples go through a pass together, so that each row of G is loaded once for four dot products.
`deepnmf.solvers.coordinate.visit_rows` is its plain twin; a test holds them equal.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, and keep the result on disk where a place for it can be found."""
    options: dict[str, Any] = {"nogil": True, "fastmath": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)


@_compiled
def descend_rows(H, G, F, n_passes, fading, tol):  # type: ignore[no-untyped-def]
    """Lower ½<H G, H> - <F, H> over H >= 0 in place by coordinate descent, each row on its own.

    A row rests once a pass over it moves less than `fading` of what its first one moved, or less than
    `tol` of its target. Returns Σ_k (G_kk · change)² of the first passes.
    """
    n, r = H.shape
    buffer = np.zeros((4, r), H.dtype)
    target = np.zeros((4, r), H.dtype)
    first = np.zeros(4)
    limit = np.zeros(4)
    moved = np.zeros(4)
    awake = np.zeros(4, H.dtype)
    zero = H.dtype.type(0)
    violation = 0.0
    for start in range(0, n, 4):
        size = min(4, n - start)
        for i in range(4):
            awake[i] = 1 if i < size else 0
            limit[i] = 0
            for k in range(r):
                buffer[i, k] = H[start + i, k] if i < size else zero
                target[i, k] = F[start + i, k] if i < size else zero
                limit[i] += np.float64(target[i, k]) ** 2
            limit[i] *= tol**2
        h0, h1, h2, h3 = buffer[0], buffer[1], buffer[2], buffer[3]
        for number in range(n_passes):
            moved[:] = 0
            for k in range(r):
                curvature = G[k, k]
                if curvature <= 0:
                    continue
                a0 = a1 = a2 = a3 = zero
                for j in range(r):
                    g = G[k, j]
                    a0 += g * h0[j]
                    a1 += g * h1[j]
                    a2 += g * h2[j]
                    a3 += g * h3[j]
                d0 = (max(h0[k] + (target[0, k] - a0) / curvature, zero) - h0[k]) * awake[0]
                d1 = (max(h1[k] + (target[1, k] - a1) / curvature, zero) - h1[k]) * awake[1]
                d2 = (max(h2[k] + (target[2, k] - a2) / curvature, zero) - h2[k]) * awake[2]
                d3 = (max(h3[k] + (target[3, k] - a3) / curvature, zero) - h3[k]) * awake[3]
                h0[k] += d0
                h1[k] += d1
                h2[k] += d2
                h3[k] += d3
                moved[0] += np.float64(curvature * d0) ** 2
                moved[1] += np.float64(curvature * d1) ** 2
                moved[2] += np.float64(curvature * d2) ** 2
                moved[3] += np.float64(curvature * d3) ** 2
            still = False
            for i in range(size):
                if number == 0:
                    first[i] = moved[i]
                    violation += moved[i]
                if moved[i] <= max(fading**2 * first[i], limit[i]):
                    awake[i] = 0
                still = still or awake[i] > 0
            if not still:
                break
        for i in range(size):
            for k in range(r):
                H[start + i, k] = buffer[i, k]
    return violation
