"""The nearest neighbors of each sample, independent of how their distances are computed.

A search finds distances up to rounding, which differs between dense and sparse rows, memory layouts and methods. The
search therefore only finds candidates: all samples that may be among the nearest within a bound on the rounding error.
Their distances are computed again, with additions in the same order for every form of X. Distances that agree in nine
digits are ties, and the sample with the smaller index comes first.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix

N_EXTRA_CANDIDATES = 8  # additional candidates of the first search
MAX_NUMBERS = 2**22  # numbers that are computed at once
TIE_PRECISION = 2.0**30  # the precision of squared distances: those that agree to this precision are ties


def neighbor_graph(X: Matrix, n_neighbors: int, *, holes: bool) -> Matrix:
    """A sparse matrix with 1 at the nearest neighbors of each row; X is an array, with NaN for holes, or CSR."""
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - imported only if it is needed

    X = X.astype(np.float64, copy=False)
    search = NearestNeighbors(metric="nan_euclidean" if holes else "minkowski").fit(X)
    samples, neighbors = _nearest(_Distances(X), n_neighbors, search, _Rounding(X, holes))
    return sparse.csr_array((np.ones(len(samples)), (samples, neighbors)), shape=(X.shape[0],) * 2)


class _Rounding:
    """A bound on the error of squared distances ‖x‖² + ‖y‖² - 2 x·y, in which ‖y‖² <= 2‖x‖² + 2‖x - y‖²."""

    def __init__(self, X: Matrix, holes: bool) -> None:
        squares = np.asarray(X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.nansum(np.square(X), axis=1))
        n_features = X.shape[1]
        self._unit = 2 * (n_features + 4) * np.finfo(np.float64).eps * (n_features if holes else 1)
        # With holes, the norms are of more entries than the ones observed in both samples.
        self._squares = np.full(len(squares), squares.max()) if holes else squares.ravel()

    def bound(self, rows: Array, squared: Array) -> Array:
        """The bound for each squared distance from these rows."""
        return self._unit * (3 * self._squares[rows, None] + 2 * squared)


class _Distances:
    """Squared distances between rows, with the same bits for the same numbers in every form of X.

    Squares are added column by column, so that zeros do not change the sums. Distances between copies of the same rows
    are computed once, since data may have many ties.
    """

    def __init__(self, X: Matrix) -> None:
        self.X = X
        numbers: dict[bytes, int] = {}
        self._kinds = np.array([numbers.setdefault(digest, len(numbers)) for digest in _digests(X)])

    def squared(self, samples: Array, others: Array) -> Array:
        """The squared distance of each pair."""
        kinds = self._kinds[samples] * len(self._kinds) + self._kinds[others]
        _, first, place = np.unique(kinds, return_index=True, return_inverse=True)
        parts = [self._computed(samples[part], others[part]) for part in _parts(first, self.X.shape[1])]
        return np.concatenate([*parts, np.empty(0)])[place]

    def _computed(self, samples: Array, others: Array) -> Array:
        difference = self.X[samples] - self.X[others]
        return (_sparse_squares if sparse.issparse(difference) else _dense_squares)(difference)


def _digests(X: Matrix) -> Iterator[bytes]:
    """A hash of each row, by which equal rows are found."""
    for row in range(X.shape[0]):
        if sparse.issparse(X):
            stored = slice(X.indptr[row], X.indptr[row + 1])
            yield blake2b(X.indices[stored].tobytes() + X.data[stored].tobytes()).digest()
        else:
            yield blake2b(X[row].tobytes()).digest()


def _sparse_squares(difference: Matrix) -> Array:
    difference.sort_indices()
    places = np.repeat(np.arange(difference.shape[0]), np.diff(difference.indptr))
    return np.bincount(places, np.square(difference.data), difference.shape[0])


def _dense_squares(difference: Array) -> Array:
    """The sums of squares; with holes, they are extrapolated to all columns."""
    seen = ~np.isnan(difference)
    total = np.cumsum(np.square(np.where(seen, difference, 0)), axis=1)[:, -1]
    count = seen.sum(axis=1)
    return np.where(count > 0, total * (difference.shape[1] / np.maximum(count, 1)), np.inf)


def _nearest(exact: _Distances, n_neighbors: int, search: Any, rounding: _Rounding) -> Array:
    """Pairs (sample, neighbor); the search is repeated with more candidates for samples that may have more ties."""
    X, rows = exact.X, np.arange(exact.X.shape[0])
    found, n_searched = [], n_neighbors + 1 + N_EXTRA_CANDIDATES  # the search also finds the sample itself
    while len(rows):
        n_searched = min(n_searched, X.shape[0])
        unsure = []
        for part in _parts(rows, max(X.shape[1], n_searched)):
            distances, others = search.kneighbors(X[part], n_searched)
            squared = np.nan_to_num(np.square(distances), nan=np.inf)
            bound = rounding.bound(part, squared)
            limit = (squared + bound)[:, n_neighbors, None]
            with np.errstate(invalid="ignore"):  # inf - inf: samples without a common column stay candidates
                near = ~(squared - bound > limit)
            sure = ~near[:, -1] | (n_searched == X.shape[0])
            near &= sure[:, None] & (others != part[:, None])
            samples = np.broadcast_to(part[:, None], near.shape)
            found.append(_first(exact, samples[near], others[near], n_neighbors))
            unsure.append(part[~sure])
        rows, n_searched = np.concatenate(unsure), 2 * n_searched
    return np.hstack(found)


def _first(exact: _Distances, samples: Array, others: Array, n_neighbors: int) -> Array:
    """The nearest candidates of each sample, ordered by distance and then by index."""
    order = np.lexsort((others, _rounded(exact.squared(samples, others)), samples))
    samples, others = samples[order], others[order]
    rank = np.arange(len(samples)) - np.searchsorted(samples, samples)
    return np.stack([samples, others])[:, rank < n_neighbors]


def _rounded(squared: Array) -> Array:
    mantissa, exponent = np.frexp(squared)
    return np.ldexp(np.rint(mantissa * TIE_PRECISION), exponent)


def _parts(rows: Array, width: int) -> list[Array]:
    """Rows in parts of at most MAX_NUMBERS numbers, for rows of `width` numbers."""
    height = max(1, MAX_NUMBERS // max(width, 1))
    return [rows[begin : begin + height] for begin in range(0, len(rows), height)]
