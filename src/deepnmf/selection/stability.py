"""Stability of features between fits from random starts on different halves of the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import normalize

from deepnmf.arrays import Array
from deepnmf.metrics import matched_cosine


def halves(n_rows: int, seed: int) -> list[Array]:
    """Two disjoint halves of the rows, each in order."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return [np.sort(half) for half in np.array_split(order, 2)]


def of_rows(value: Any, rows: Array, n_rows: int) -> Any:
    """Return the items of some rows if a value has one item for each row; return other values unchanged."""
    if value is None or isinstance(value, str) or not hasattr(value, "__len__") or len(value) != n_rows:
        return value
    return np.asarray(value)[rows]


def stability(features: Sequence[Array]) -> tuple[float, float]:
    """Return the mean cosine of matched features of two fits, and their mean silhouette.

    Examples
    --------
    >>> import numpy as np
    >>> stability([np.eye(3), np.eye(3)[::-1]])
    (1.0, 1.0)
    """
    one, other = features
    return matched_cosine(one, other), matched_silhouette(one, other)


def matched_silhouette(one: Array, other: Array) -> float:
    """Return the mean silhouette of the features of two fits, with matched pairs as clusters; NaN for one feature."""
    if len(one) < 2:
        return float("nan")
    one, other = normalize(one), normalize(other)
    _, partners = linear_sum_assignment(one @ other.T, maximize=True)
    pooled, clusters = np.vstack([one, other[partners]]), np.tile(np.arange(len(one)), 2)
    distances = np.clip(1 - pooled @ pooled.T, 0, 2)
    np.fill_diagonal(distances, 0)
    return float(silhouette_score(distances, clusters, metric="precomputed"))
