"""Loops over the stored entries of CSR matrices: products at these entries, and codes fitted to them."""

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.kernels.compilation import CompiledLoop


def sampled_products(pattern: Matrix, H: Array, D: Array) -> Array:
    """(H D)_ij for each stored entry of a CSR matrix, in the order of the matrix."""
    out = np.empty_like(pattern.data)
    _sample_products(pattern.indptr, pattern.indices, np.ascontiguousarray(H), np.ascontiguousarray(D.T), out)
    return out


def sampled_products_plainly(pattern: Matrix, H: Array, D: Array) -> Array:
    """`sampled_products` from the full product."""
    rows = np.repeat(np.arange(len(H)), np.diff(pattern.indptr))
    return (H @ D)[rows, pattern.indices].astype(pattern.data.dtype, copy=False)


@CompiledLoop
def _sample_products(indptr, indices, H, features, out):
    for i in range(len(H)):
        for position in range(indptr[i], indptr[i + 1]):
            j = indices[position]
            total = out[position] * 0
            for k in range(H.shape[1]):
                total += H[i, k] * features[j, k]
            out[position] = total


def descend_observed(
    X: Matrix, weights: Array, features: Array, H: Array, n_passes: int, nonnegative: bool, still: Array | None = None
) -> tuple[float, float, float]:
    """Lower ½ Σ w_ij (x_ij - <h_i, f_j>)² over the stored entries of CSR rows, by coordinate descent, in place.

    `still`, an array of the shape of H, marks coordinates that do not change. Returns Σ (curvature · change)² of the
    first pass, Σ target² for comparison, and Σ w (x - hf)² at the end.
    """
    still = np.empty((0, H.shape[1]), bool) if still is None else still
    violation, size, misfit = _descend(X.indptr, X.indices, X.data, weights, features, H, still, n_passes, nonnegative)
    return violation, size, misfit


def descend_observed_plainly(
    X: Matrix, weights: Array, features: Array, H: Array, n_passes: int, nonnegative: bool, still: Array | None = None
) -> tuple[float, float, float]:
    """`descend_observed`, one row and one coordinate after the other."""
    violation = size = misfit = 0.0
    for i, (begin, end) in enumerate(zip(X.indptr[:-1], X.indptr[1:], strict=True)):
        row, seen, weight = X.data[begin:end], features[X.indices[begin:end]], weights[begin:end]
        for number in range(n_passes):
            for k in range(H.shape[1]) if still is None else np.flatnonzero(~still[i]):
                weighted = weight * seen[:, k]
                curvature = weighted @ seen[:, k]
                if curvature <= 0:
                    continue
                new = H[i, k] + weighted @ (row - seen @ H[i]) / curvature
                new = max(new, 0) if nonnegative else new
                if number == 0:
                    violation += float(curvature * (new - H[i, k])) ** 2
                    size += float(weighted @ row) ** 2
                H[i, k] = new
        misfit += float(weight @ np.square(row - seen @ H[i]))
    return violation, size, misfit


@CompiledLoop
def _descend(indptr, indices, values, weights, features, H, still, n_passes, nonnegative):
    r = H.shape[1]
    violation = size = misfit = 0.0
    longest = 0
    for i in range(len(H)):
        longest = max(longest, indptr[i + 1] - indptr[i])
    F, residual, weight = np.empty((r, longest), H.dtype), np.empty(longest, H.dtype), np.empty(longest, H.dtype)
    for i in range(len(H)):
        begin, count = indptr[i], indptr[i + 1] - indptr[i]
        for t in range(count):
            j = indices[begin + t]
            model = H[i, 0] * 0
            for k in range(r):
                F[k, t] = features[j, k]
                model += H[i, k] * features[j, k]
            residual[t] = values[begin + t] - model
            weight[t] = weights[begin + t]
        for number in range(n_passes):
            for k in range(r):
                if len(still) and still[i, k]:
                    continue
                slope = curvature = target = H[i, k] * 0
                for t in range(count):
                    weighted = weight[t] * F[k, t]
                    slope += weighted * residual[t]
                    curvature += weighted * F[k, t]
                    target += weighted * values[begin + t]
                if curvature <= 0:
                    continue
                new = H[i, k] + slope / curvature
                if nonnegative and new < 0:
                    new = new * 0
                change = new - H[i, k]
                H[i, k] = new
                for t in range(count):
                    residual[t] -= change * F[k, t]
                if number == 0:
                    violation += (curvature * change) ** 2
                    size += target**2
        for t in range(count):
            misfit += weight[t] * residual[t] ** 2
    return violation, size, misfit
