"""The exact solution of a nonnegative quadratic, row by row, from a start near it."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop


def polish_rows(H: Array, G: Array, F: Array, tol: float) -> Array:
    """Bring rows of H from near the optimum of ½<H G, H> - <F, H>, H >= 0, to it, in place, by active sets.

    Lawson & Hanson's method from a warm start: solve on the positive entries, step back to the boundary
    where that leaves the nonnegatives, let in the worst of the others. Where the entries of the warm start
    depend on each other, from zero; an entry that depends on those already in is left out. The Cholesky factor
    grows by a row when an entry comes in and is kept up to the first that goes. Returns which rows are done.
    """
    return np.asarray(_finish(H, G, F, tol))


def polish_rows_plainly(H: Array, G: Array, F: Array, tol: float) -> Array:
    """`polish_rows` by SciPy's solver: with G = LLᵀ, the minimum of ½‖Lᵀh - L⁻¹f‖²; here G must be regular."""
    L = cholesky(G, lower=True)
    for row, target in zip(H, F, strict=True):
        row[:] = nnls(L.T, solve_triangular(L, target, lower=True))[0]
    return (-tol * np.abs(F).max(axis=1, keepdims=True) <= (H @ G - F)).all(axis=1)


@CompiledLoop
def _finish(H, G, F, tol):
    n, r = H.shape
    done = np.zeros(n, np.bool_)
    passive = np.zeros(r, np.bool_)
    barred = np.zeros(r, np.bool_)
    members = np.zeros(r, np.int64)
    L = np.zeros((r, r), H.dtype)
    h = np.zeros(r, H.dtype)
    s = np.zeros(r, H.dtype)
    for i in range(n):
        scale = 0.0
        size = known = 0  # entries that are in, and how many of them the factor knows
        for k in range(r):
            h[k] = H[i, k]
            passive[k] = h[k] > 0
            barred[k] = False
            scale = max(scale, abs(F[i, k]))
            if passive[k]:
                members[size] = k
                size += 1
        entering = -1
        for _ in range(5 * r + 5):
            while known < size and _append(G, members, known, L):
                known += 1
            if known < size:
                if entering >= 0:
                    passive[entering] = False
                    barred[entering] = True
                    size -= 1
                else:
                    h[:] = 0
                    passive[:] = False
                    size = known = 0
                entering = -1
                continue
            _solve(L, F[i], members, size, s)
            step = 1.0
            for a in range(size):
                k = members[a]
                if s[a] <= 0:
                    step = min(step, h[k] / (h[k] - s[a]) if h[k] > 0 else 0.0)
            kept = 0
            for a in range(size):
                k = members[a]
                h[k] = h[k] + step * (s[a] - h[k])
                if step < 1.0 and s[a] <= 0 and h[k] <= tol * abs(s[a]):
                    h[k] = 0
                    passive[k] = False
                    known = min(known, kept)
                else:
                    members[kept] = k
                    kept += 1
            if step < 1.0:
                size, entering = kept, -1
                continue
            worst, entering = -tol * scale, -1
            for k in range(r):
                if not passive[k] and not barred[k]:
                    gradient = -F[i, k]
                    for a in range(size):
                        gradient += G[k, members[a]] * s[a]
                    if gradient < worst:
                        worst, entering = gradient, k
            if entering < 0:
                done[i] = True
                break
            passive[entering] = True
            members[size] = entering
            size += 1
        if done[i]:
            for k in range(r):
                H[i, k] = h[k]
    return done


@CompiledLoop
def _append(G, members, a, L):
    """Add the row of the a-th member to the Cholesky factor of those before it; False where it depends on them."""
    row = L[a]
    diagonal = G[members[a], members[a]]
    rest = diagonal
    for b in range(a):
        other = L[b]
        total = G[members[a], members[b]]
        for c in range(b):
            total -= row[c] * other[c]
        row[b] = total / other[b]
        rest -= row[b] * row[b]
    if rest <= 1e-10 * diagonal:
        return False
    row[a] = np.sqrt(rest)
    return True


@CompiledLoop
def _solve(L, f, members, size, s):
    """Solve G[members, members] s = f[members] with its Cholesky factor."""
    for a in range(size):
        total = f[members[a]]
        for c in range(a):
            total -= L[a, c] * s[c]
        s[a] = total / L[a, a]
    for a in range(size - 1, -1, -1):
        s[a] = s[a] / L[a, a]
        for c in range(a):
            s[c] -= L[a, c] * s[a]
