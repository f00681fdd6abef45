"""The two array types of annotations."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""A dense matrix or vector of float32 or float64."""

Matrix = Any
"""An array or a sparse matrix; blocks of its rows are `deepnmf.engines.Block`."""
