"""The two array types that annotations name."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""A dense matrix or vector of float32 or float64."""

Matrix = Any
"""A block of rows: an array, a sparse matrix, anything with ``@`` and ``.T``."""
