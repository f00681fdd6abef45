"""Numbers of a page: rounded in JSON, or many of them as deflated bytes."""

import base64
import math
import zlib
from typing import Any

import numpy as np

from deepnmf.arrays import Array

Pack = dict[str, Any]
BYTE = 127  # the largest magnitude of a code or a value in 8 bits


def rounded(number: float, digits: int = 4) -> float | None:
    """Round to significant digits; NaN and infinity, which JSON does not have, become None."""
    value = float(number)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def all_rounded(numbers: Array, digits: int = 4) -> list[float | None]:
    """Round the entries of a vector."""
    return [rounded(number, digits) for number in np.asarray(numbers).tolist()]


def largest_magnitudes(vectors: Array) -> Array:
    """Return the scale of each vector: its largest observed magnitude, or 1 if it is zero."""
    largest = np.abs(np.nan_to_num(np.asarray(vectors, dtype=np.float64))).max(axis=1, initial=0)
    return np.where(largest > 0, largest, 1.0)


def deflated(numbers: Array) -> Pack:
    """Pack numbers of 1, 2 or 4 bytes, which the page unpacks into a typed array."""
    kind = {"|u1": "Uint8", "|i1": "Int8", "<u2": "Uint16", "<i2": "Int16", "<u4": "Uint32"}[numbers.dtype.str]
    content = zlib.compress(np.ascontiguousarray(numbers).tobytes(), 9)
    return {"array": kind, "deflated": base64.b64encode(content).decode("ascii")}


def in_bytes(vectors: Array, scales: Array) -> Pack:
    """Pack vectors in 8 bits, each relative to its scale; -128 is unobserved."""
    relative = BYTE * (np.asarray(vectors, dtype=np.float64) / scales[:, None]).clip(-1, 1)
    return deflated(np.where(np.isnan(relative), -BYTE - 1, np.round(relative)).astype(np.int8))
