"""Numbers for a page: few digits, and None for what is no number."""

import math

import numpy as np

from deepnmf.arrays import Array


def rounded(number: float, digits: int = 4) -> float | None:
    """So many significant digits; JSON knows neither NaN nor infinity."""
    value = float(number)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def all_rounded(numbers: Array, digits: int = 4) -> list[float | None]:
    """The same of a vector."""
    return [rounded(number, digits) for number in np.asarray(numbers).tolist()]


def peaks(vectors: Array) -> Array:
    """The largest observed magnitude of each vector, 1 for one that is zero: what it is drawn relative to."""
    largest = np.abs(np.nan_to_num(np.asarray(vectors, dtype=np.float64))).max(axis=1)
    return np.where(largest > 0, largest, 1.0)
