"""What the arrays and numbers of a model's file must be like, said by each model and checked in one place."""

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
    """An array of finite numbers between bounds; of integers or of floating point."""

    shape: tuple[int, ...]
    low: float = -np.inf
    high: float = np.inf
    kind: str = "f"

    def check(self, array: Array, name: str) -> None:
        """Refuse another array."""
        if array.shape != self.shape:
            raise ValueError(f"its {name} has shape {array.shape}, but the model needs {self.shape}")
        if array.dtype.kind != self.kind:
            raise ValueError(f"its {name} holds {array.dtype}, and {_KINDS[self.kind]} are expected")
        if array.size:
            least, most = float(array.min()), float(array.max())  # NaN is both
            if not (np.isfinite([least, most]).all() and self.low <= least and most <= self.high):
                bounds = f"finite ones from {self.low} to {self.high}"
                raise ValueError(f"its {name} has entries from {least} to {most}, and {bounds} are expected")


_KINDS = {"f": "numbers of floating point", "i": "integers", "u": "bytes"}

Arrays = dict[str, list[Array]]
Layout = dict[str, list[Expected]]


def check_layout(arrays: Arrays, layout: Layout) -> None:
    """Refuse arrays that are missing, too many, or not as the model says."""
    for kind in {**layout, **arrays}:
        found, expected = arrays.get(kind, []), layout.get(kind, [])
        if len(found) != len(expected):
            raise ValueError(f"it holds {len(found)} arrays of {kind}, but the model needs {len(expected)}")
        for i, (array, one) in enumerate(zip(found, expected, strict=True)):
            one.check(array, f"{kind}.{i}")


def listed_numbers(description: dict[str, Any], name: str, count: int, low: float, high: float) -> tuple[float, ...]:
    """Read a list of numbers between bounds, one a layer."""
    return per_layer(of_type(description.get(name), list, name), count, name, low, high)


def n_samples(arrays: Arrays) -> int:
    """Count the training rows, whose codes a file holds."""
    codes = arrays.get("codes", [])
    if not codes or codes[-1].ndim != 2 or not len(codes[-1]):
        raise ValueError("it holds no codes")
    return len(codes[-1])


def check_codes(codes: Sequence[Array], sizes: Sequence[int]) -> None:
    """Refuse codes that are neither those of the top layer nor those of every one; the top's are nonnegative."""
    rows = len(codes[-1])
    every = [*(Expected((rows, size)) for size in sizes[:-1]), Expected((rows, sizes[-1]), low=0)]
    check_layout({"codes": list(codes)}, {"codes": every if len(codes) > 1 else every[-1:]})


# --------------------------------------------------------------------------------------------- texts


def packed(texts: Sequence[str]) -> list[Array]:
    """Texts as bytes and where each ends: a million names would be too long for a header."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return [np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(text) for text in encoded], dtype=np.int64)]


def unpacked(arrays: Sequence[Array], count: int) -> list[str]:
    """Texts out of what `packed` gave."""
    content, ends = arrays
    if np.any(np.diff(ends, prepend=0) < 0) or (ends[-1] if count else 0) != len(content):
        raise ValueError("its feature names do not end where their bytes do")
    whole, places = content.tobytes(), [0, *ends.tolist()]
    return [whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(places)]
