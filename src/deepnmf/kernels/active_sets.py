"""The exact solution of nonnegative quadratic problems, row by row, from an approximate solution."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop, inlined_loop


def polish_rows(H: Array, G: Array, F: Array, tol: float) -> Array:
    """Minimize ½<H G, H> - <F, H> over H >= 0 exactly, from rows H near the minimum, in place.

    This is the active-set method of Lawson & Hanson with a warm start: solve for the positive entries; if an entry of
    the solution is negative, go only to the boundary and fix that entry at zero; otherwise free the entry with the most
    negative gradient. If the positive entries of the warm start are linearly dependent, the method starts from zero; an
    entry that depends linearly on the free ones stays at zero. The Cholesky factor gets a row for each freed entry,
    loses one for each fixed entry, and begins with the rows that a problem shares with the one before. Returns which
    rows have converged.
    """
    return np.asarray(_polish(H, G, F, tol))


def polish_rows_plainly(H: Array, G: Array, F: Array, tol: float) -> Array:
    """`polish_rows` by SciPy: with G = LLᵀ, the minimum of ½‖Lᵀh - L⁻¹f‖²; here G must be positive definite."""
    L = cholesky(G, lower=True)
    for row, target in zip(H, F, strict=True):
        row[:] = nnls(L.T, solve_triangular(L, target, lower=True))[0]
    return (-tol * np.abs(F).max(axis=1, keepdims=True) <= (H @ G - F)).all(axis=1)


@CompiledLoop
def _polish(H, G, F, tol):
    n, r = H.shape
    converged = np.zeros(n, np.bool_)
    free = np.zeros(r, np.bool_)
    dependent = np.zeros(r, np.bool_)
    columns = np.zeros(r, np.int64)
    L = np.zeros((r, r), H.dtype)
    rotations = np.zeros((r, 2), H.dtype)
    h = np.zeros(r, H.dtype)
    s = np.zeros(r, H.dtype)
    size = factored = shared = 0  # numbers of free entries, of those in the Cholesky factor, and of its unrotated rows
    for i in range(n):
        scale = 0.0
        before = min(factored, shared)
        size = factored = 0
        for k in range(r):
            h[k] = H[i, k]
            free[k] = h[k] > 0
            dependent[k] = False
            scale = max(scale, abs(F[i, k]))
            if free[k]:
                if factored == size < before and columns[size] == k:
                    factored += 1
                columns[size] = k
                size += 1
        shared = r
        entering = -1
        for _ in range(5 * r + 5):
            while factored < size and _append(G, columns, factored, L):
                factored += 1
            if factored < size:
                if entering >= 0:
                    free[entering] = False
                    dependent[entering] = True
                    size -= 1
                else:
                    h[:] = 0
                    free[:] = False
                    size = factored = 0
                entering = -1
                continue
            _solve(L, F[i], columns, size, s)
            step = 1.0
            for a in range(size):
                k = columns[a]
                if s[a] <= 0:
                    step = min(step, h[k] / (h[k] - s[a]) if h[k] > 0 else 0.0)
            kept = 0
            for a in range(size):
                k = columns[a]
                h[k] = h[k] + step * (s[a] - h[k])
                if step < 1.0 and s[a] <= 0 and h[k] <= tol * abs(s[a]):
                    h[k] = 0
                    free[k] = False
                    _remove(L, kept, factored, rotations)
                    factored -= 1
                    shared = min(shared, kept)
                else:
                    columns[kept] = k
                    kept += 1
            if step < 1.0:
                size, entering = kept, -1
                continue
            worst, entering = -tol * scale, -1
            for k in range(r):
                if not free[k] and not dependent[k]:
                    gradient = -F[i, k]
                    for a in range(size):
                        gradient += G[k, columns[a]] * s[a]
                    if gradient < worst:
                        worst, entering = gradient, k
            if entering < 0:
                converged[i] = True
                break
            free[entering] = True
            columns[size] = entering
            size += 1
        if converged[i]:
            for k in range(r):
                H[i, k] = h[k]
    return converged


@inlined_loop
def _append(G, columns, a, L):
    """Add the row of the a-th free entry to the Cholesky factor; return False if it depends on those before it."""
    row = L[a]
    diagonal = G[columns[a], columns[a]]
    pivot = diagonal
    for b in range(a):
        other = L[b]
        total = G[columns[a], columns[b]]
        for c in range(b):
            total -= row[c] * other[c]
        row[b] = total / other[b]
        pivot -= row[b] * row[b]
    if pivot <= 1e-10 * diagonal:
        return False
    row[a] = np.sqrt(pivot)
    return True


@inlined_loop
def _remove(L, q, size, rotations):
    """Remove the q-th free entry from the Cholesky factor: move the rows below it up, and rotate their columns."""
    for a in range(q, size - 1):
        moved, row = L[a + 1], L[a]
        left = moved[q]
        for c in range(q, a):
            cosine, sine = rotations[c]
            row[c] = cosine * left + sine * moved[c + 1]
            left = cosine * moved[c + 1] - sine * left
        for c in range(q):
            row[c] = moved[c]
        row[a] = np.hypot(left, moved[a + 1])
        rotations[a, 0], rotations[a, 1] = left / row[a], moved[a + 1] / row[a]


@inlined_loop
def _solve(L, f, columns, size, s):
    """Solve G[columns, columns] s = f[columns] by the Cholesky factor."""
    for a in range(size):
        total = f[columns[a]]
        for c in range(a):
            total -= L[a, c] * s[c]
        s[a] = total / L[a, a]
    for a in range(size - 1, -1, -1):
        s[a] = s[a] / L[a, a]
        for c in range(a):
            s[c] -= L[a, c] * s[a]
