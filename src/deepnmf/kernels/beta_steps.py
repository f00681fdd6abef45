"""Coordinate steps on a beta divergence: codes of dense rows, one entry after the other.

The slope in one coordinate is g = s + l1 + l2 h - p, with s = Σ w f x̂^(β-1) and p = Σ w x f x̂^(β-2). A concave part of
the divergence is replaced by its tangent, so that s (below β = 1) or p (above β = 2) is constant, and g is concave in h
up to β = 2 and convex above. On one side of the minimum, a Newton step stops before the minimum. On the other side it
passes the minimum, but the chord to its end point stops before it; up to β = 1, a Newton step in h^(β-2), in which g is
convex, does so, too. Therefore the divergence never rises.
"""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop, inlined_loop

NEGLIGIBLE = 1e-14  # a component with a smaller share of the total of a row is set to 0


def descend_beta(
    X: Array,
    weights: Array | None,
    D: Array,
    H: Array,
    beta: float,
    prices: tuple[float, float],
    epsilon: float,
    n_passes: int,
    tol: float = 0.0,
) -> float:
    """Lower Σ w d_β(X | H D) + l1 Σ h + ½ l2 ‖h‖² in each row by passes over its coordinates, in place.

    A row stops when the violation of its optimality conditions in a pass is at most `tol` times the positive part of
    the slope. Returns the sum of the squared violations of the first passes, relative to these parts.
    """
    unweighted = weights is None
    W = np.ones((1, 1), H.dtype) if weights is None else np.ascontiguousarray(weights)
    l1, l2 = prices
    return float(
        _descend(np.ascontiguousarray(X), W, unweighted, D, H, beta, l1, l2, epsilon, n_passes, tol * tol)
    )  # fmt: skip


def descend_beta_plainly(
    X: Array,
    weights: Array | None,
    D: Array,
    H: Array,
    beta: float,
    prices: tuple[float, float],
    epsilon: float,
    n_passes: int,
    tol: float = 0.0,
) -> float:
    """`descend_beta`, row by row and coordinate by coordinate."""
    W = np.ones_like(X) if weights is None else weights
    return sum(
        _descend_plainly(x, w, D, h, beta, *prices, epsilon, n_passes, tol) for x, w, h in zip(X, W, H, strict=True)
    )


def _descend_plainly(
    x: Array, w: Array, D: Array, h: Array, beta: float, l1: float, l2: float, epsilon: float, n_passes: int, tol: float
) -> float:
    if not h.any():
        h[:] = np.divide(w @ x, len(h) * (D @ w), out=np.zeros_like(h), where=D @ w > 0)
    first = 0.0

    def slopes(k: int, value: float) -> tuple[float, float, float]:
        model = np.maximum(h @ D + (value - h[k]) * D[k], epsilon)
        f, power = w * D[k], model ** (beta - 2)
        curvature = max(beta - 1, 0) * (f * power) @ D[k] + max(2 - beta, 0) * (f * power * x / model) @ D[k]
        return float((f * power) @ model), float((f * power) @ x), float(curvature)

    for number in range(n_passes):
        total = (w * x) @ np.maximum(h @ D, epsilon) ** (beta - 1)
        violation = size = 0.0
        for k in range(len(h)):
            old = float(h[k])
            push, pull, curvature = slopes(k, old)
            price, steep = push + l1, curvature + l2
            slope = price + l2 * old - pull
            size += price**2
            violation += min(slope, price * (old * price / total if total > 0 else old > 0)) ** 2
            if steep <= 0:
                new = 0.0 if slope > 0 else old
            elif slope > 0 and beta <= 1:
                new = old * (1 + (2 - beta) * slope / (old * steep)) ** (-1 / (2 - beta)) if old > 0 else 0.0
            else:
                new = max(old - slope / steep, 0.0)
                if (slope > 0 and beta < 2) or (slope < 0 and beta > 2):
                    push, pull_there, _ = slopes(k, new)
                    there = push + l1 + l2 * new - (pull if beta > 2 else pull_there)
                    new = new - there * (new - old) / (there - slope) if there * slope < 0 else new
            h[k] = 0.0 if new * price < NEGLIGIBLE * total else new
        first = violation / size if number == 0 and size > 0 else first
        if tol > 0 and violation <= tol**2 * size:
            break
    return first


@CompiledLoop
def _descend(X, W, unweighted, D, H, beta, l1, l2, epsilon, n_passes, square_tol):
    r, p = D.shape
    model, power, x, w = np.empty(p, H.dtype), np.empty(p, H.dtype), np.empty(p, H.dtype), np.ones(p, H.dtype)
    total_violation = 0.0
    for i in range(len(H)):
        h = H[i]
        for j in range(p):
            x[j] = X[i, j]
        if not unweighted:
            for j in range(p):
                w[j] = W[i, j]
        _start(x, w, D, h)
        for j in range(p):
            model[j] = 0
        for k in range(r):
            for j in range(p):
                model[j] += h[k] * D[k, j]
        for number in range(n_passes):
            violation = size = 0.0
            total = _total(x, w, model, power, beta, epsilon)
            for k in range(r):
                f, old = D[k], h[k]
                push, pull, curvature = _slope(x, w, f, model, power, beta, epsilon)
                price = push + l1
                slope, steep = price + l2 * old - pull, curvature + l2
                size += price * price
                if slope <= 0:
                    violation += slope * slope
                elif old > 0:  # a code that is nearly 0 is nearly optimal
                    violation += min(slope, old * price / total * price if total > 0 else price) ** 2
                if steep <= 0:
                    new = 0.0 if slope > 0 else old
                elif slope > 0 and beta <= 1:
                    new = old * (1 + (2 - beta) * slope / (old * steep)) ** (-1 / (2 - beta)) if old > 0 else 0.0
                else:
                    new = max(old - slope / steep, 0.0)
                    if (slope > 0 and beta < 2) or (slope < 0 and beta > 2):
                        new = _chord(x, w, f, model, power, beta, epsilon, old, new, slope, pull, l1, l2)
                if new * price < NEGLIGIBLE * total:
                    new = 0.0
                if new != old:
                    h[k] = new
                    for j in range(p):
                        model[j] += (new - old) * f[j]
            if number == 0 and size > 0:
                total_violation += violation / size
            if square_tol > 0 and violation <= square_tol * size:
                break
    return total_violation


@inlined_loop
def _start(x, w, D, h):
    """If x̂ is 0, where steps have no length, give every feature an equal share of the total of the row."""
    total = above = 0.0
    for k in range(len(h)):
        above = max(above, h[k])
    if above > 0:
        return
    for j in range(len(x)):
        total += w[j] * x[j]
    for k in range(len(h)):
        seen = 0.0
        for j in range(len(x)):
            seen += w[j] * D[k, j]
        h[k] = total / (len(h) * seen) if seen > 0 else 0.0


@inlined_loop
def _total(x, w, model, power, beta, epsilon):
    """Σ w x x̂^(β-1), the total that the components explain."""
    _raise(model, power, beta, epsilon)
    total = 0.0
    for j in range(len(x)):
        total += w[j] * x[j] * power[j] * max(model[j], epsilon)
    return total


@inlined_loop
def _raise(model, power, beta, epsilon):
    """x̂^(β-2), by roots and products if possible, because powers are slow."""
    for j in range(len(model)):
        power[j] = max(model[j], epsilon)
    if beta == 0:
        for j in range(len(model)):
            power[j] = 1 / (power[j] * power[j])
    elif beta == 0.5:
        for j in range(len(model)):
            power[j] = 1 / (power[j] * np.sqrt(power[j]))
    elif beta == 1:
        for j in range(len(model)):
            power[j] = 1 / power[j]
    elif beta == 1.5:
        for j in range(len(model)):
            power[j] = 1 / np.sqrt(power[j])
    elif beta == 2:
        for j in range(len(model)):
            power[j] = 1
    elif beta != 3:
        for j in range(len(model)):
            power[j] = power[j] ** (beta - 2)


@inlined_loop
def _slope(x, w, f, model, power, beta, epsilon):
    """s, p and the curvature of the part that is not replaced by its tangent."""
    _raise(model, power, beta, epsilon)
    push = pull = flat = bent = 0.0
    for j in range(len(x)):
        part = w[j] * f[j] * power[j]
        value = max(model[j], epsilon)
        push += part * value
        pull += part * x[j]
        flat += part * f[j]
        bent += part * f[j] * x[j] / value
    curvature = 0.0
    if beta > 1:
        curvature += (beta - 1) * flat
    if beta < 2:
        curvature += (2 - beta) * bent
    return push, pull, curvature


@inlined_loop
def _chord(x, w, f, model, power, beta, epsilon, old, new, slope, pull, l1, l2):
    """The root of the chord of the slope between the old and the new value; the new value if there is no root."""
    for j in range(len(x)):
        model[j] += (new - old) * f[j]
    push, pull_there, _ = _slope(x, w, f, model, power, beta, epsilon)
    for j in range(len(x)):
        model[j] -= (new - old) * f[j]
    there = push + l1 + l2 * new - (pull if beta > 2 else pull_there)
    if there == slope or (there > 0) == (slope > 0):
        return new
    return new - there * (new - old) / (there - slope)
