"""Masks of `numpy.ma`, which `numpy.asarray` drops silently: masked values would be used as data."""

from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix


def mask_of(array: Any) -> Array | None:
    """Return the mask of an array or a list of rows; None if nothing is masked."""
    if isinstance(array, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in array):
        array = np.ma.stack(array)
    masked = isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array)
    return np.ma.getmaskarray(array) if masked else None


def with_holes(X: Matrix) -> Matrix:
    """Return X with NaN in place of masked entries; X itself if nothing is masked."""
    mask = mask_of(X)
    if mask is None:
        return X
    values = np.asarray(X)
    values = values.astype(np.float64 if values.dtype.kind in "biu" else values.dtype)
    values[mask] = np.nan
    return values


def check_unmasked(array: Any, name: str) -> None:
    """Raise an error if the array has masked entries."""
    if mask_of(array) is not None:
        raise ValueError(f"{name} has masked entries: expected a value for every entry, so fill them first.")
