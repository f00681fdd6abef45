"""Scales of the data before a fit, which are applied again before a transform."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Matrix


def _unchanged(X: Matrix, _: float) -> Matrix:
    return X


def _divided(X: Matrix, largest: float) -> Matrix:
    return X / largest if largest > 0 else X


def _unit(X: Matrix, _: float) -> Matrix:
    """Scale each row to unit Euclidean norm; NaN is ignored, and rows of zeros stay."""
    if sparse.issparse(X):
        norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ X)
    norms = np.sqrt(np.nansum(np.square(X), axis=1, keepdims=True))
    return X / np.where(norms > 0, norms, 1).astype(X.dtype)


def _logarithm(X: Matrix, _: float) -> Matrix:
    """Return log(1 + x), for counts; entries that are not stored stay zero."""
    if smallest_entry(X) < 0:
        raise ValueError("--scale is 'log', but the data have negative entries: expected none, max or unit.")
    return X.log1p() if sparse.issparse(X) else np.log1p(X)


SCALES: dict[str, Callable[[Matrix, float], Matrix]] = {
    "none": _unchanged,
    "max": _divided,
    "unit": _unit,
    "log": _logarithm,
}


@dataclass(frozen=True)
class Scaling:
    """One of `SCALES`, with the largest entry of the data that it was determined from.

    Parameters
    ----------
    name : {"none", "max", "unit", "log"}
        "max" divides by the largest magnitude of all entries, "unit" scales each row to unit Euclidean norm, "log" is
        log(1 + x).
    largest : float
        The divisor of "max".

    Examples
    --------
    >>> import numpy as np
    >>> from deepnmf.reading import Scaling
    >>> scaling = Scaling.of("max", np.array([[1.0, 4.0]]))
    >>> scaling(np.array([[2.0, 8.0]]))
    array([[0.5, 2. ]])
    """

    name: str
    largest: float = 1.0

    @classmethod
    def of(cls, name: str, X: Matrix) -> "Scaling":
        """Determine the scale from data."""
        return cls(name, _largest_entry(X) if name == "max" else 1.0)

    def __call__(self, X: Matrix) -> Matrix:
        """Return X in this scale."""
        return SCALES[self.name](X, self.largest)

    def to_json(self) -> dict[str, Any]:
        """Return the scaling as numbers and text."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Scaling":
        """Return the scaling that `to_json` described."""
        return cls(content["name"], content["largest"])


def _entries(X: Matrix) -> Matrix:
    return X.data if sparse.issparse(X) else X


def _largest_entry(X: Matrix) -> float:
    entries = _entries(X)
    return float(max(np.fmax.reduce(entries, axis=None), -np.fmin.reduce(entries, axis=None))) if entries.size else 0.0


def smallest_entry(X: Matrix) -> float:
    """Return the smallest observed entry, 0 if there is none."""
    entries = _entries(X)
    return float(np.fmin.reduce(entries, axis=None)) if entries.size else 0.0
