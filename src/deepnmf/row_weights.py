"""Multiplication of rows by sample weights."""

import numpy as np

from deepnmf.arrays import Array

TINY_ROOT = 1e-18  # used instead of 0; its square vanishes in every sum


def by_weights(rows: Array, weights: Array | None) -> Array:
    """Return each row times its weight, if there are weights."""
    return rows if weights is None else rows * column_of(weights, rows)


def by_roots(rows: Array, weights: Array | None) -> Array:
    """Return each row times the square root of its weight, if there are weights."""
    return rows if weights is None else rows * column_of(roots(weights), rows)


def roots(weights: Array) -> Array:
    """Return square roots of weights, with a tiny number instead of 0 so that rows can be divided by them."""
    return np.where(weights > 0, np.sqrt(weights), TINY_ROOT)


def column_of(weights: Array, rows: Array) -> Array:
    """Return weights in the dtype of an array of rows, in a shape that multiplies its rows."""
    return weights.astype(rows.dtype, copy=False).reshape(-1, *(1,) * (rows.ndim - 1))
