"""Coordinate descent on the codes of all layers of a row, where each layer explains the codes of the layer below.

The problem of a row is convex in all its codes together: the loss of h_1 on the data plus
Σ_l λ_l d_l(h_{l-1} | h_l Z_l + ε), where each loss is squared error or the Kullback-Leibler divergence. A coordinate
has slope s and curvature b > 0. If all its terms are squared errors, it moves to its minimum. Otherwise it makes a
Newton step that never passes the minimum: if s < 0 in h itself, in which the slope is concave, h ← h - s/b; if s > 0 in
1/h, in which the slope is convex, h ← h·hb/(hb + s).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.layered_loops import FLOOR, SMALLEST, descend_all_layers, descend_all_layers_of_counts
from deepnmf.kernels.poisson import CodesProblem, Entries


class UpperLayers(NamedTuple):
    """Z_2..Z_m concatenated in one array, the sizes of all layers, λ_2..λ_m, and which d_l are squared errors."""

    factors: Array
    sizes: Array
    weights: Array
    squared: Array

    @classmethod
    def of(
        cls, factors: list[Array], weights: tuple[float, ...], squared: list[bool], dtype: np.dtype[Any]
    ) -> "UpperLayers":
        """Return the upper layers from all factors Z_1..Z_m."""
        flat = np.concatenate([Z.ravel() for Z in factors[1:]]).astype(dtype)
        sizes = np.array([len(Z) for Z in factors])
        return cls(flat, sizes, np.array(weights, dtype=dtype), np.array(squared))

    def split(self, H: Array) -> list[Array]:
        """The codes of each layer, of all of them side by side."""
        return np.split(H, np.cumsum(self.sizes)[:-1], axis=1)

    def matrices(self) -> list[Array]:
        """Z_2..Z_m as matrices."""
        sizes, start, matrices = self.sizes, 0, []
        for below, size in pairwise(sizes):
            matrices.append(self.factors[start : start + below * size].reshape(size, below))
            start += below * size
        return matrices


def descend_layers(H: Array, F: Array, G: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
    """Lower ½<H_1 G, H_1> - <F, H_1> + Σ_l λ_l d_l(H_{l-1} | H_l Z_l + ε) in place, row by row.

    H has the codes of all layers side by side. A row stops after a pass that changes no code by more than `tol` times
    the largest code of its layer.
    """
    descend_all_layers(H, np.ascontiguousarray(F, H.dtype), np.ascontiguousarray(G, H.dtype), *upper, n_passes, tol)


def descend_layers_of_counts(
    H: Array, entries: Entries, problem: CodesProblem, upper: UpperLayers, n_passes: int, tol: float = 0.0
) -> None:
    """The same with KL(X | H_1 Z_1) as the loss of the data, from the stored entries of X."""
    weights = entries.values[:0] if entries.weights is None else entries.weights
    arrays = entries.indptr, entries.columns, entries.values.astype(H.dtype, copy=False), weights.astype(H.dtype)
    of_columns = problem.features, problem.sums, problem.epsilon
    descend_all_layers_of_counts(H, *arrays, entries.weights is not None, *of_columns, *upper, n_passes, tol)


def descend_layers_plainly(H: Array, F: Array, G: Array, upper: UpperLayers, n_passes: int, tol: float = 0.0) -> None:
    """`descend_layers`, one coordinate after the other, for all rows that have not stopped."""
    moving = np.arange(len(H))
    for _ in range(n_passes):
        layers = [np.array(part) for part in upper.split(H[moving])]
        moved = _quadratic_pass(layers[0], F[moving], G, Prior.of(layers, upper, 0))
        moved = np.maximum(moved, _upper_pass(layers, upper))
        H[moving] = np.hstack(layers)
        moving = moving[moved > tol]


def descend_layers_of_counts_plainly(
    H: Array, entries: Entries, problem: CodesProblem, upper: UpperLayers, n_passes: int, tol: float = 0.0
) -> None:
    """`descend_layers_of_counts`, one row after the other."""
    for i, (begin, end) in enumerate(pairwise(entries.indptr)):
        x, own = entries.values[begin:end], problem.features[entries.columns[begin:end]].T
        weights = np.ones(end - begin) if entries.weights is None else entries.weights[begin:end]
        price = problem.sums if entries.weights is None else own @ weights
        for _ in range(n_passes):
            layers = [np.array(part) for part in upper.split(H[i : i + 1])]
            model = layers[0] @ own + problem.epsilon
            prior = Prior.of(layers, upper, 0)
            moved = _counts_pass(layers[0], (weights * x)[None], model, own, price, 1.0, prior)
            moved = np.maximum(moved, _upper_pass(layers, upper))
            H[i] = np.hstack(layers)[0]
            if moved[0] <= tol:
                break


def _models(layers: list[Array], upper: UpperLayers) -> list[Array]:
    return [codes @ Z + FLOOR for codes, Z in zip(layers[1:], upper.matrices(), strict=True)]


class Prior(NamedTuple):
    """The prediction of the codes of a layer by the layer above, with its weight."""

    model: Array
    weight: float
    squared: bool

    @classmethod
    def of(cls, layers: list[Array], upper: UpperLayers, layer: int) -> "Prior":
        """Return the prior of a layer below the top layer."""
        return cls(_models(layers, upper)[layer], upper.weights[layer], upper.squared[layer])

    def added(self, k: int, code: Array, slope: Array, step: Array) -> tuple[Array, Array]:
        """Add the prior to the slope and the step of a code."""
        if self.squared:
            return slope + self.weight * (code - self.model[:, k]), step + self.weight * code
        return slope + self.weight * np.log(code / self.model[:, k]), step + self.weight


def _quadratic_pass(H: Array, F: Array, G: Array, prior: Prior) -> Array:
    before = H.copy()
    for k, curvature in enumerate(np.diag(G)):
        pull = F[:, k] - H @ G[k] + curvature * H[:, k]
        code = H[:, k]
        if prior.squared:
            H[:, k] = np.maximum((pull + prior.weight * prior.model[:, k]) / (curvature + prior.weight), SMALLEST)
            continue
        if curvature > 0:
            code = np.where(pull > 0, np.maximum(code, np.minimum(prior.model[:, k], pull / curvature)), code)
        H[:, k] = _moved_plainly(code, *prior.added(k, code, curvature * code - pull, curvature * code))
    return np.asarray(np.abs(H - before).max(axis=1) / H.max(axis=1))


def _upper_pass(layers: list[Array], upper: UpperLayers) -> Array:
    moved = np.zeros(len(layers[0]))
    for layer, Z in enumerate(upper.matrices(), 1):
        prior = Prior.of(layers, upper, layer) if layer + 1 < len(layers) else None
        model, weight = _models(layers, upper)[layer - 1], upper.weights[layer - 1]
        if upper.squared[layer - 1]:
            own = _squares_pass(layers[layer], layers[layer - 1], model, Z, weight, prior)
        else:
            own = _counts_pass(layers[layer], layers[layer - 1], model, Z, Z.sum(axis=1), weight, prior)
        moved = np.maximum(moved, own)
    return moved


def _counts_pass(
    H: Array, X: Array, model: Array, Z: Array, price: Array, own_weight: float, prior: Prior | None
) -> Array:
    before = H.copy()
    for k, z in enumerate(Z):
        code = H[:, k]
        slope = own_weight * (price[k] - (X / model) @ z)
        step = own_weight * ((X / model**2) @ z**2) * code
        new = _moved_plainly(code, *(prior.added(k, code, slope, step) if prior else (slope, step)))
        model += np.outer(new - code, z)
        H[:, k] = new
    return np.asarray(np.abs(H - before).max(axis=1) / H.max(axis=1))


def _squares_pass(H: Array, X: Array, model: Array, Z: Array, own_weight: float, prior: Prior | None) -> Array:
    before = H.copy()
    for k, z in enumerate(Z):
        code = H[:, k]
        curvature = own_weight * (z @ z)
        slope, step = own_weight * ((model - X) @ z), curvature * code
        slope, step = prior.added(k, code, slope, step) if prior else (slope, step)
        if prior is None or prior.squared:
            curvature += prior.weight if prior else 0
            new = np.maximum(code - slope / curvature, SMALLEST) if curvature > 0 else code
        else:
            new = _moved_plainly(code, slope, step)
        model += np.outer(new - code, z)
        H[:, k] = new
    return np.asarray(np.abs(H - before).max(axis=1) / H.max(axis=1))


def _moved_plainly(code: Array, slope: Array, step: Array) -> Array:
    up = 1 - np.divide(slope, step, out=np.zeros_like(slope), where=(slope < 0) & (step > 0))
    down = np.divide(step, step + slope, out=np.ones_like(slope), where=(slope >= 0) & (step + slope > 0))
    return np.maximum(code * np.where(slope < 0, up, down), SMALLEST)
