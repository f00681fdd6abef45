"""Masks of `numpy.ma`, which `numpy.asarray` drops without a word: the values below them would be taken for data."""

from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix


def mask_of(array: Any) -> Array | None:
    """Where an array, or a list of rows, is masked; None where it is nowhere."""
    if isinstance(array, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in array):
        array = np.ma.stack(array)
    masked = isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array)
    return np.ma.getmaskarray(array) if masked else None


def with_holes(X: Matrix) -> Matrix:
    """X with NaN where it is masked; where it is nowhere, as it is."""
    mask = mask_of(X)
    if mask is None:
        return X
    values = np.asarray(X)
    values = values.astype(np.float64 if values.dtype.kind in "biu" else values.dtype)
    values[mask] = np.nan
    return values


def check_unmasked(array: Any, name: str) -> None:
    """Refuse a mask where every entry is needed."""
    if mask_of(array) is not None:
        raise ValueError(f"{name} has masked entries, and a value is expected for each: fill them first.")
