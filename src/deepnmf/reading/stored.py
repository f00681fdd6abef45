"""Arrays that stay in their file until they are needed."""

import math
from typing import Any, Protocol

import numpy as np


class Stored(Protocol):
    """What an array in a file, or in memory, says of itself before it is read by ``stored[()]``."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its entries."""
        ...

    def __getitem__(self, everything: tuple[()], /) -> Any:
        """Read it."""
        ...


def is_matrix(stored: Stored) -> bool:
    """Whether it may be X: numbers in rows and columns, more than one of each."""
    return len(stored.shape) == 2 and 1 not in stored.shape and stored.dtype.kind in "biufc"


def unpacked_bytes(stored: Stored) -> int:
    """Bytes that it takes in memory."""
    return math.prod(stored.shape) * stored.dtype.itemsize
