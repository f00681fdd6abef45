"""Coordinate descent on the codes of all layers of a row, of which each explains the codes of the layer below it.

The problem of a row is convex in all its codes together: the fit of h_1 to the data, squared or Kullback-Leibler, plus
Σ_l λ_l KL(h_{l-1} | h_l Z_l + ε). A coordinate has slope s and curvature b > 0, and moves by a Newton step that never
passes the minimum: where s < 0 in h itself, in which the slope is concave, h ← h - s/b; where s > 0 in 1/h, in which it
is convex, h ← h·hb/(hb + s).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop, inlined_loop
from deepnmf.kernels.poisson import Entries
from deepnmf.kernels.poisson_loops import LOG_2, ROOT_HALF_BITS

SMALLEST = 1e-30  # a code: in the loss of the layer above, a code of 0 could never be left
FLOOR = 1e-6  # ε; codes have a root mean square of one
BLOCK = 32  # rows
PULL, CURVATURE, CODE, CHANGED, LARGEST, MOVED = range(6)  # rows of the room of a block


class UpperLayers(NamedTuple):
    """Z_2..Z_m one after the other in one array, the sizes of all layers, and λ_2..λ_m."""

    factors: Array
    sizes: Array
    weights: Array

    @classmethod
    def of(cls, factors: list[Array], weights: tuple[float, ...], dtype: np.dtype[Any]) -> "UpperLayers":
        """From all factors Z_1..Z_m, of which the first belongs to the data."""
        flat = np.concatenate([Z.ravel() for Z in factors[1:]]).astype(dtype)
        return cls(flat, np.array([len(Z) for Z in factors]), np.array(weights, dtype=dtype))

    def matrices(self) -> list[Array]:
        """Z_2..Z_m as matrices."""
        sizes, start, matrices = self.sizes, 0, []
        for below, size in pairwise(sizes):
            matrices.append(self.factors[start : start + below * size].reshape(size, below))
            start += below * size
        return matrices


class Features(NamedTuple):
    """Z_1 for counts: one row per column of X, the sums of the features, and what X̂ counts as at least."""

    by_column: Array
    sums: Array
    epsilon: float


def descend_layers(H: Array, F: Array, G: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
    """Lower ½<H_1 G, H_1> - <F, H_1> + Σ_l λ_l KL(H_{l-1} | H_l Z_l + ε) in place, row by row.

    H has the codes of all layers side by side. A row stops after a pass that changes no code by more than `tol` times
    the largest code of its layer.
    """
    _descend_layers(H, np.ascontiguousarray(F, H.dtype), np.ascontiguousarray(G, H.dtype), *upper, n_passes, tol)


def descend_layers_of_counts(
    H: Array, entries: Entries, features: Features, upper: UpperLayers, n_passes: int, tol: float = 0.0
) -> None:
    """The same with KL(X | H_1 Z_1) as fit to the data, by the stored entries of X."""
    weights = entries.values[:0] if entries.weights is None else entries.weights
    arrays = entries.indptr, entries.columns, entries.values.astype(H.dtype, copy=False), weights.astype(H.dtype)
    _descend_layers_of_counts(H, *arrays, entries.weights is not None, *features, *upper, n_passes, tol)


def descend_layers_plainly(H: Array, F: Array, G: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
    """`descend_layers`, one coordinate after the other, for all rows that have not stopped."""
    moving = np.arange(len(H))
    for _ in range(n_passes):
        layers = _split(H[moving], upper.sizes)
        moved = _quadratic_pass(layers[0], F[moving], G, _models(layers, upper)[0], upper.weights[0])
        moved = np.maximum(moved, _upper_pass(layers, upper))
        H[moving] = np.hstack(layers)
        moving = moving[moved > tol]


def descend_layers_of_counts_plainly(
    H: Array, entries: Entries, features: Features, upper: UpperLayers, n_passes: int, tol: float = 0.0
) -> None:
    """`descend_layers_of_counts`, one row after the other."""
    for i, (begin, end) in enumerate(pairwise(entries.indptr)):
        x, own = entries.values[begin:end], features.by_column[entries.columns[begin:end]].T
        weights = np.ones(end - begin) if entries.weights is None else entries.weights[begin:end]
        price = features.sums if entries.weights is None else own @ weights
        for _ in range(n_passes):
            layers = _split(H[i : i + 1], upper.sizes)
            model = layers[0] @ own + features.epsilon
            prior = _models(layers, upper)[0], upper.weights[0]
            moved = _counts_pass(layers[0], (weights * x)[None], model, own, price, 1.0, *prior)
            moved = np.maximum(moved, _upper_pass(layers, upper))
            H[i] = np.hstack(layers)[0]
            if moved[0] <= tol:
                break


def _split(H: Array, sizes: Array) -> list[Array]:
    return [np.array(part) for part in np.split(H, np.cumsum(sizes)[:-1], axis=1)]


def _models(layers: list[Array], upper: UpperLayers) -> list[Array]:
    return [codes @ Z + FLOOR for codes, Z in zip(layers[1:], upper.matrices(), strict=True)]


def _quadratic_pass(H: Array, F: Array, G: Array, model: Array, weight: float) -> Array:
    before = H.copy()
    for k, curvature in enumerate(np.diag(G)):
        pull = F[:, k] - H @ G[k] + curvature * H[:, k]
        code = H[:, k]
        if curvature > 0:
            code = np.where(pull > 0, np.maximum(code, np.minimum(model[:, k], pull / curvature)), code)
        slope = curvature * code - pull + weight * np.log(code / model[:, k])
        H[:, k] = _moved_plainly(code, slope, curvature * code + weight)
    return np.asarray(np.abs(H - before).max(axis=1) / H.max(axis=1))


def _upper_pass(layers: list[Array], upper: UpperLayers) -> Array:
    moved = np.zeros(len(layers[0]))
    for layer, Z in enumerate(upper.matrices(), 1):
        models = _models(layers, upper)
        prior = (models[layer], upper.weights[layer]) if layer < len(models) else (None, 0.0)
        own = _counts_pass(
            layers[layer], layers[layer - 1], models[layer - 1], Z, Z.sum(axis=1), upper.weights[layer - 1], *prior
        )
        moved = np.maximum(moved, own)
    return moved


def _counts_pass(
    H: Array, X: Array, model: Array, Z: Array, price: Array, own_weight: float, prior: Array | None,
    prior_weight: float,
) -> Array:  # fmt: skip
    before = H.copy()
    for k, z in enumerate(Z):
        code = H[:, k]
        slope = own_weight * (price[k] - (X / model) @ z)
        step = own_weight * ((X / model**2) @ z**2) * code
        if prior is not None:
            slope, step = slope + prior_weight * np.log(code / prior[:, k]), step + prior_weight
        new = _moved_plainly(code, slope, step)
        model += np.outer(new - code, z)
        H[:, k] = new
    return np.asarray(np.abs(H - before).max(axis=1) / H.max(axis=1))


def _moved_plainly(code: Array, slope: Array, step: Array) -> Array:
    up = 1 - np.divide(slope, step, out=np.zeros_like(slope), where=(slope < 0) & (step > 0))
    down = np.divide(step, step + slope, out=np.ones_like(slope), where=(slope >= 0) & (step + slope > 0))
    return np.maximum(code * np.where(slope < 0, up, down), SMALLEST)


@CompiledLoop
def _descend_layers(H, F, G, factors, sizes, weights, n_passes, tol):
    """All passes under squared error, block by block; rows of a block are side by side, for loops over them."""
    first, width = sizes[0], H.shape[1]
    codes, models = np.ones((width, BLOCK), H.dtype), np.ones((width - sizes[-1], BLOCK), H.dtype)
    targets, room = np.zeros((first, BLOCK), H.dtype), np.empty((6, BLOCK), H.dtype)
    logs, stopped = np.empty((2, BLOCK)), np.empty(BLOCK, np.bool_)
    for start in range(0, len(H), BLOCK):
        count = min(BLOCK, len(H) - start)
        for s in range(count):
            stopped[s] = False
            for k in range(width):
                codes[k, s] = H[start + s, k]
            for k in range(first):
                targets[k, s] = F[start + s, k]
        _fill_models(codes, factors, sizes, models)
        for _ in range(n_passes):
            _begin_pass(room)
            _descend_quadratic(codes, targets, G, models, weights[0], room, logs)
            _descend_upper(codes, factors, sizes, weights, models, room, logs)
            if _written(H, start, count, codes, room, tol, stopped) == count:
                break
        _write(H, start, count, codes, stopped)


@CompiledLoop
def _descend_layers_of_counts(
    H, indptr, columns, values, entry_weights, weighted, by_column, sums, epsilon, factors, sizes, weights, n_passes,
    tol
):  # fmt: skip
    """The same for counts, where the first layer has entries of its own in each row."""
    first, width = sizes[0], H.shape[1]
    codes, models = np.ones((width, BLOCK), H.dtype), np.ones((width - sizes[-1], BLOCK), H.dtype)
    room, logs, stopped = np.empty((6, BLOCK), H.dtype), np.empty((2, BLOCK)), np.empty(BLOCK, np.bool_)
    longest = 0
    for i in range(len(H)):
        longest = max(longest, indptr[i + 1] - indptr[i])
    own, x, model = np.empty((first, longest), H.dtype), np.empty(longest, H.dtype), np.empty(longest, H.dtype)
    price = np.empty(first, H.dtype)
    for start in range(0, len(H), BLOCK):
        count = min(BLOCK, len(H) - start)
        for s in range(count):
            stopped[s] = False
            for k in range(width):
                codes[k, s] = H[start + s, k]
        _fill_models(codes, factors, sizes, models)
        for _ in range(n_passes):
            _begin_pass(room)
            for s in range(count):
                if stopped[s]:
                    continue
                begin, n_entries = indptr[start + s], indptr[start + s + 1] - indptr[start + s]
                for k in range(first):
                    price[k] = 0 if weighted else sums[k]
                for t in range(n_entries):
                    x[t] = values[begin + t]
                    model[t] = epsilon
                    for k in range(first):
                        own[k, t] = by_column[columns[begin + t], k]
                        model[t] += codes[k, s] * own[k, t]
                    if weighted:
                        x[t] *= entry_weights[begin + t]
                        for k in range(first):
                            price[k] += entry_weights[begin + t] * own[k, t]
                for k in range(first):
                    old, pull, curvature = codes[k, s], H.dtype.type(0), H.dtype.type(0)
                    for t in range(n_entries):
                        inverse = 1 / model[t]
                        ratio = own[k, t] * x[t] * inverse
                        pull += ratio
                        curvature += ratio * own[k, t] * inverse
                    slope = price[k] - pull + weights[0] * np.log(old / models[k, s])
                    new = _moved(old, slope, curvature * old + weights[0])
                    for t in range(n_entries):
                        model[t] += (new - old) * own[k, t]
                    codes[k, s] = new
                    room[CHANGED, s], room[LARGEST, s] = (
                        max(room[CHANGED, s], abs(new - old)),
                        max(room[LARGEST, s], new),
                    )
            _end_layer(room)
            _descend_upper(codes, factors, sizes, weights, models, room, logs)
            if _written(H, start, count, codes, room, tol, stopped) == count:
                break
        _write(H, start, count, codes, stopped)


@inlined_loop
def _fill_models(codes, factors, sizes, models):
    """What each layer above the first makes of the codes below it, h_l Z_l + ε."""
    at, start = 0, 0
    for layer in range(1, len(sizes)):
        below, size = sizes[layer - 1], sizes[layer]
        for j in range(below):
            for s in range(BLOCK):
                models[at + j, s] = FLOOR
            for k in range(size):
                z = factors[start + k * below + j]
                for s in range(BLOCK):
                    models[at + j, s] += z * codes[at + below + k, s]
        at += below
        start += below * size


@inlined_loop
def _descend_quadratic(codes, targets, G, models, weight, room, logs):
    """One pass over h_1 under squared error, with the layer above."""
    order = len(targets)
    pull = room[PULL]
    for k in range(order):
        curvature = G[k, k]
        for s in range(BLOCK):
            pull[s] = targets[k, s] + curvature * codes[k, s]
        for j in range(0, order - 3, 4):
            g0, g1, g2, g3 = G[k, j], G[k, j + 1], G[k, j + 2], G[k, j + 3]
            for s in range(BLOCK):
                pull[s] -= g0 * codes[j, s] + g1 * codes[j + 1, s] + g2 * codes[j + 2, s] + g3 * codes[j + 3, s]
        for j in range(order - order % 4, order):
            g = G[k, j]
            for s in range(BLOCK):
                pull[s] -= g * codes[j, s]
        for s in range(BLOCK):
            code = codes[k, s]
            if curvature > 0:  # the minimum is not below the smaller one of model and unpenalized minimum
                code = max(code, min(models[k, s], pull[s] / curvature))
            room[CODE, s] = code
            logs[0, s] = code / models[k, s]
        _take_logs(logs)
        for s in range(BLOCK):
            code = room[CODE, s]
            slope = curvature * code - pull[s] + weight * logs[0, s]
            _move(codes, k, s, code, slope, curvature * code + weight, room)
    _end_layer(room)


@inlined_loop
def _descend_upper(codes, factors, sizes, weights, models, room, logs):
    """One pass over the codes of every layer above the first; their models are kept up to date."""
    at, start = 0, 0
    pull, curvature, change, one = room[PULL], room[CURVATURE], room[CODE], codes.dtype.type(1)
    for layer in range(1, len(sizes)):
        below, size, weight, top = sizes[layer - 1], sizes[layer], weights[layer - 1], layer + 1 == len(sizes)
        above = weight if top else weights[layer]
        for k in range(size):
            row, own, price = start + k * below, at + below + k, codes.dtype.type(0)
            for s in range(BLOCK):
                pull[s] = 0
                curvature[s] = 0
            for j in range(below):
                z = factors[row + j]
                price += z
                if z > 0:
                    for s in range(BLOCK):
                        inverse = one / models[at + j, s]
                        ratio = z * codes[at + j, s] * inverse
                        pull[s] += ratio
                        curvature[s] += ratio * z * inverse
            if not top:
                for s in range(BLOCK):
                    logs[0, s] = codes[own, s] / models[own, s]
                _take_logs(logs)
            for s in range(BLOCK):
                code = codes[own, s]
                slope, step = weight * (price - pull[s]), weight * curvature[s] * code
                if not top:
                    slope += above * logs[0, s]
                    step += above
                _move(codes, own, s, code, slope, step, room)
                change[s] = codes[own, s] - code
            for j in range(below):
                z = factors[row + j]
                if z > 0:
                    for s in range(BLOCK):
                        models[at + j, s] += change[s] * z
        _end_layer(room)
        at += below
        start += below * size


@inlined_loop
def _move(codes, k, s, code, slope, step, room):
    """Move a code, and note how far."""
    new = _moved(code, slope, step)
    room[CHANGED, s] = max(room[CHANGED, s], abs(new - codes[k, s]))
    room[LARGEST, s] = max(room[LARGEST, s], new)
    codes[k, s] = new


@inlined_loop
def _moved(code, slope, step):
    """A Newton step with slope s and step = curvature times code, which never passes the minimum."""
    down = slope >= 0
    numerator, denominator = (step if down else step - slope), (step + slope if down else step)
    new = code * (numerator / denominator) if denominator > 0 else code
    return new if new > SMALLEST else code * 0 + SMALLEST


@inlined_loop
def _begin_pass(room):
    for s in range(BLOCK):
        room[CHANGED, s] = 0
        room[LARGEST, s] = 0
        room[MOVED, s] = 0


@inlined_loop
def _end_layer(room):
    """Note the largest change of a layer beside its largest code."""
    for s in range(BLOCK):
        if room[LARGEST, s] > 0:
            room[MOVED, s] = max(room[MOVED, s], room[CHANGED, s] / room[LARGEST, s])
        room[CHANGED, s] = 0
        room[LARGEST, s] = 0


@inlined_loop
def _written(H, start, count, codes, room, tol, stopped):
    """Write rows that have stopped, and count them: what happens to them from now on does not matter."""
    n_stopped = 0
    for s in range(count):
        if not stopped[s] and room[MOVED, s] <= tol:
            stopped[s] = True
            for k in range(len(codes)):
                H[start + s, k] = codes[k, s]
        n_stopped += stopped[s]
    return n_stopped


@inlined_loop
def _write(H, start, count, codes, stopped):
    for s in range(count):
        if not stopped[s]:
            for k in range(len(codes)):
                H[start + s, k] = codes[k, s]


@inlined_loop
def _take_logs(logs):
    """Replace a row by its logarithms, by operations that a compiler can do on several entries at once.

    x = 2^e m with √½ <= m < √2, and log m = 2 artanh t = 2 (t + t³/3 + t⁵/5 + ...), t = (m-1)/(m+1), |t| < 0.172.
    """
    bits, mantissa_bits = logs[0].view(np.int64), logs[1].view(np.int64)
    for s in range(BLOCK):
        exponent = (bits[s] - ROOT_HALF_BITS) >> 52
        mantissa_bits[s] = bits[s] - (exponent << 52)
        bits[s] = exponent
    for s in range(BLOCK):
        t = (logs[1, s] - 1) / (logs[1, s] + 1)
        q = t * t
        odd = 2 / 11 + q * (2 / 13 + q * (2 / 15 + q * (2 / 17 + q * (2 / 19))))
        odd = t * (2 + q * (2 / 3 + q * (2 / 5 + q * (2 / 7 + q * (2 / 9 + q * odd)))))
        logs[0, s] = odd + bits[s] * LOG_2
