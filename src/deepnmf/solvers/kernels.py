"""The compiled inner loop. Imported at the first fit, with numba.

Four samples go through a pass together, so that each row of G is loaded once for four dot products.
`deepnmf.solvers.coordinate.visit_rows` is its plain twin; a test holds them equal.
"""

import numpy as np

from deepnmf.compiled import compiled


@compiled
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
                if curvature <= 0:  # it adds nothing: a price on it, if there is one, has the last word
                    for i in range(4):
                        if target[i, k] < 0:
                            buffer[i, k] = zero
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


@compiled
def finish_rows(H, G, F, tol):  # type: ignore[no-untyped-def]
    """Bring rows of H from near the optimum of `descend_rows`'s problem to it, in place, by active sets.

    Lawson & Hanson's method from a warm start: solve on the positive entries, step back to the boundary
    where that leaves the nonnegatives, let in the worst of the others. Where the entries of the warm start
    depend on each other, from zero; an entry that depends on those already in is left out. The Cholesky factor
    grows by a row when an entry comes in and is kept up to the first that goes. Returns which rows are done.
    """
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


@compiled
def _append(G, members, a, L):  # type: ignore[no-untyped-def]
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


@compiled
def _solve(L, f, members, size, s):  # type: ignore[no-untyped-def]
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
