"""Checks of the arrays and numbers in a model file against the layout that each model specifies."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.checks import per_layer
from deepnmf.untrusted import of_type


@dataclass(frozen=True)
class Expected:
    """The shape, type and bounds of an array in a model file."""

    shape: tuple[int, ...]
    low: float = -np.inf
    high: float = np.inf
    kind: str = "f"

    def check(self, array: Array, name: str) -> None:
        """Refuse an array that does not match."""
        if array.shape != self.shape:
            raise ValueError(f"its {name} has shape {array.shape}, but the model needs {self.shape}")
        if array.dtype.kind != self.kind:
            raise ValueError(f"its {name} has dtype {array.dtype}: expected {_KINDS[self.kind]}")
        if array.size:
            least, most = float(array.min()), float(array.max())  # both are NaN if any entry is
            if not (np.isfinite([least, most]).all() and self.low <= least and most <= self.high):
                bounds = f"finite entries from {self.low} to {self.high}"
                raise ValueError(f"its {name} has entries from {least} to {most}: expected {bounds}")


_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "bytes"}

Arrays = dict[str, list[Array]]
Layout = dict[str, list[Expected]]


def check_layout(arrays: Arrays, layout: Layout) -> None:
    """Refuse missing or superfluous arrays, and arrays that do not match the layout."""
    for kind in {**layout, **arrays}:
        found, expected = arrays.get(kind, []), layout.get(kind, [])
        if len(found) != len(expected):
            raise ValueError(f"it contains {len(found)} arrays of {kind}, but the model needs {len(expected)}")
        for i, (array, one) in enumerate(zip(found, expected, strict=True)):
            one.check(array, f"{kind}.{i}")


def listed_numbers(description: dict[str, Any], name: str, count: int, low: float, high: float) -> tuple[float, ...]:
    """Read a list of numbers between bounds, one per layer."""
    return per_layer(of_type(description.get(name), list, name), count, name, low, high)


def n_samples(arrays: Arrays) -> int:
    """Return the number of training rows, from the codes in a file."""
    codes = arrays.get("codes", [])
    if not codes or codes[-1].ndim != 2 or not len(codes[-1]):
        raise ValueError("it contains no codes")
    return len(codes[-1])


def check_codes(codes: Sequence[Array], sizes: Sequence[int]) -> None:
    """Refuse codes other than those of the top layer or of all layers; those of the top layer must be nonnegative."""
    rows = len(codes[-1])
    every = [*(Expected((rows, size)) for size in sizes[:-1]), Expected((rows, sizes[-1]), low=0)]
    check_layout({"codes": list(codes)}, {"codes": every if len(codes) > 1 else every[-1:]})


# --------------------------------------------------------------------------------------------- texts


def packed(texts: Sequence[str]) -> list[Array]:
    """Return texts as bytes and the position where each text ends: many names would be too long for the header."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return [np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(text) for text in encoded], dtype=np.int64)]


def unpacked(arrays: Sequence[Array], count: int) -> list[str]:
    """Return the texts from the output of `packed`."""
    content, ends = arrays
    if np.any(np.diff(ends, prepend=0) < 0) or (ends[-1] if count else 0) != len(content):
        raise ValueError("the lengths of its feature names do not match their bytes")
    whole, places = content.tobytes(), [0, *ends.tolist()]
    return [whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(places)]
