"""Scales of the data before a fit, which are applied again before a transform."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.preprocessing import in_different_units
from deepnmf.reading.column_kinds import are_numbered
from deepnmf.reading.counts import has_counts
from deepnmf.reading.dataset import Dataset

MOST_UNITS = 300  # columns; wider tables contain spectra, genes or answers in the same unit
Divisors = tuple[float, ...]


def _unchanged(X: Matrix, _: Divisors) -> Matrix:
    return X


def _divided(X: Matrix, divisors: Divisors) -> Matrix:
    """Divide by one number, or each column by its own number; 0 has no effect."""
    inverse = np.array([1 / divisor if divisor > 0 else 1.0 for divisor in divisors], dtype=X.dtype)
    return sparse.csr_array(X.multiply(inverse)) if sparse.issparse(X) else X * inverse


def _unit(X: Matrix, _: Divisors) -> Matrix:
    """Scale each row to unit Euclidean norm; NaN is ignored, and rows of zeros stay."""
    if sparse.issparse(X):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ X)
    norms = np.sqrt(np.nansum(np.square(X), axis=1, keepdims=True))
    return X / np.where(norms > 0, norms, 1).astype(X.dtype)


def _logarithm(X: Matrix, _: Divisors) -> Matrix:
    """Return log(1 + x), for counts; entries that are not stored stay zero."""
    if smallest_entry(X) < 0:
        raise ValueError("--scale is 'log', but the data have negative entries: expected another scale.")
    return X.log1p() if sparse.issparse(X) else np.log1p(X)


SCALES: dict[str, Callable[[Matrix, Divisors], Matrix]] = {
    "columns": _divided,
    "samples": _unit,
    "max": _divided,
    "log": _logarithm,
    "none": _unchanged,
}
EARLIER_NAMES = {"unit": "samples"}  # in results of earlier versions


@dataclass(frozen=True)
class Scaling:
    """One of `SCALES`, with its divisors.

    Parameters
    ----------
    name : {"columns", "samples", "max", "log", "none"}
        "columns" divides each column by its largest magnitude, "samples" scales each row to unit Euclidean norm, "max"
        divides by the largest magnitude of all entries, "log" is log(1 + x).
    divisors : tuple of float
        One number for "max", one for each column for "columns".

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf.reading import Scaling
    >>> scaling = Scaling.of("columns", np.array([[1.0, 4.0], [0.5, 2.0]]))
    >>> scaling(np.array([[2.0, 8.0]]))
    array([[2., 2.]])
    """

    name: str
    divisors: Divisors = (1.0,)

    @classmethod
    def of(cls, name: str, X: Matrix) -> "Scaling":
        """Determine the scale from data."""
        if name not in ("columns", "max"):
            return cls(name)
        maxima = column_maxima(X)
        return cls(name, tuple(maxima.tolist()) if name == "columns" else (float(maxima.max(initial=0)),))

    @classmethod
    def for_units(cls, data: Dataset) -> "Scaling":
        """Divide the columns of a table by their maxima if they are in different units; otherwise change nothing."""
        return cls.of("columns" if has_different_units(data) else "none", data.X)

    def __call__(self, X: Matrix) -> Matrix:
        """Return X in this scale."""
        return SCALES[self.name](X, self.divisors)

    def to_json(self) -> dict[str, Any]:
        """Return the scaling as numbers and text."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Scaling":
        """Return the scaling that `to_json` described; earlier versions had one divisor."""
        divisors = content.get("divisors") or [content["largest"]]
        name = EARLIER_NAMES.get(content["name"], content["name"])
        if name not in SCALES:
            raise ValueError(f"{name!r} is not a scale: expected {', '.join(SCALES)}")
        return cls(name, tuple(map(float, divisors)))


def has_different_units(data: Dataset) -> bool:
    """Whether the columns of a table are measurements in different units, by their names and maxima.

    Columns without names, or with numbers for names (pixels, wavelengths), have the same unit, and so do counts, genes,
    and tables of more than 300 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf.reading import Dataset
    >>> X = np.array([[1.2, 830.0], [0.4, 512.5]])
    >>> has_different_units(Dataset(X, "table", "2 wines.", feature_names=("ash", "proline")))
    True
    >>> has_different_units(Dataset(X, "table", "2 spectra.", feature_names=("400 nm", "500 nm")))
    False
    """
    names = data.feature_names
    if data.kind != "table" or names is None or len(names) > MOST_UNITS or are_numbered(names) or has_counts(data):
        return False
    return in_different_units(column_maxima(data.X))


def column_maxima(X: Matrix) -> Array:
    """Return the largest observed magnitude of each column, 0 where nothing is observed."""
    if sparse.issparse(X):
        return np.asarray(abs(X).max(axis=0).todense()).ravel()
    largest, smallest = (function.reduce(X, axis=0) for function in (np.fmax, np.fmin))
    return np.nan_to_num(np.maximum(largest, -smallest))


def smallest_entry(X: Matrix) -> float:
    """Return the smallest observed entry, 0 if there is none."""
    entries = X.data if sparse.issparse(X) else X
    return float(np.fmin.reduce(entries, axis=None)) if entries.size else 0.0
