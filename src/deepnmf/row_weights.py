"""Rows of arrays times weights of samples."""

import numpy as np

from deepnmf.arrays import Array

NO_ROOT = 1e-18  # its square is lost in every sum


def by_weights(rows: Array, weights: Array | None) -> Array:
    """Each row times its weight, if rows have weights."""
    return rows if weights is None else rows * column_of(weights, rows)


def by_roots(rows: Array, weights: Array | None) -> Array:
    """Each row times the root of its weight, if rows have weights."""
    return rows if weights is None else rows * column_of(roots(weights), rows)


def roots(weights: Array) -> Array:
    """Roots of weights, and instead of 0 a number that rows can be divided by again."""
    return np.where(weights > 0, np.sqrt(weights), NO_ROOT)


def column_of(weights: Array, rows: Array) -> Array:
    """Weights in the precision of an array of rows, in a shape by which it can be multiplied."""
    return weights.astype(rows.dtype, copy=False).reshape(-1, *(1,) * (rows.ndim - 1))
