"""The nearest neighbours of each sample, the same whichever way their distances were computed.

A search finds distances up to rounding, which differs between dense and sparse rows, layouts and methods. So what it
finds are candidates: all samples that may be among the nearest by the bound on that rounding. Their distances are
computed again, by additions in one order whatever the form of X, and those that agree in nine digits are ties, which
the index of a sample decides.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix

SPARE = 8  # candidates beyond those asked for, at first
ROOM = 2**22  # numbers at a time
DIGITS = 2.0**30  # of squared distances, where they differ behind these they are ties


def neighbor_graph(X: Matrix, n_neighbors: int, *, holes: bool) -> Matrix:
    """Ones at the nearest other samples of each row, sparse; X is an array or CSR, with NaN where it has holes."""
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - loaded where it is used

    X = X.astype(np.float64, copy=False)
    search = NearestNeighbors(metric="nan_euclidean" if holes else "minkowski").fit(X)
    samples, neighbours = _nearest(_Distances(X), n_neighbors, search, _Rounding(X, holes))
    return sparse.csr_array((np.ones(len(samples)), (samples, neighbours)), shape=(X.shape[0],) * 2)


class _Rounding:
    """How far squared distances ‖x‖² + ‖y‖² - 2 x·y may be from the true ones: ‖y‖² is at most 2‖x‖² + 2‖x - y‖²."""

    def __init__(self, X: Matrix, holes: bool) -> None:
        squares = np.asarray(X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.nansum(np.square(X), axis=1))
        n_features = X.shape[1]
        self._unit = 2 * (n_features + 4) * np.finfo(np.float64).eps * (n_features if holes else 1)
        # With holes, the norms are of more entries than those that both samples have.
        self._squares = np.full(len(squares), squares.max()) if holes else squares.ravel()

    def bound(self, rows: Array, squared: Array) -> Array:
        """One number for each squared distance found from these rows."""
        return self._unit * (3 * self._squares[rows, None] + 2 * squared)


class _Distances:
    """Squared distances between rows, to the same bits for the same numbers in any form.

    Squares are added column by column, so that zeros change no digit. Of equal rows, only one is computed with: data
    may be made of ties.
    """

    def __init__(self, X: Matrix) -> None:
        self.X = X
        numbers: dict[bytes, int] = {}
        self._kinds = np.array([numbers.setdefault(digest, len(numbers)) for digest in _digests(X)])

    def squared(self, samples: Array, others: Array) -> Array:
        """One for each pair."""
        kinds = self._kinds[samples] * len(self._kinds) + self._kinds[others]
        _, first, place = np.unique(kinds, return_index=True, return_inverse=True)
        parts = [self._computed(samples[part], others[part]) for part in _parts(first, self.X.shape[1])]
        return np.concatenate([*parts, np.empty(0)])[place]

    def _computed(self, samples: Array, others: Array) -> Array:
        difference = self.X[samples] - self.X[others]
        return (_sparse_squares if sparse.issparse(difference) else _dense_squares)(difference)


def _digests(X: Matrix) -> Iterator[bytes]:
    """What tells rows apart."""
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
    """With holes, as many as if all columns were observed by both."""
    seen = ~np.isnan(difference)
    total = np.cumsum(np.square(np.where(seen, difference, 0)), axis=1)[:, -1]
    count = seen.sum(axis=1)
    return np.where(count > 0, total * (difference.shape[1] / np.maximum(count, 1)), np.inf)


def _nearest(exact: _Distances, n_neighbors: int, search: Any, rounding: _Rounding) -> Array:
    """Pairs (sample, neighbour); more are searched for where there may be others as near."""
    X, rows = exact.X, np.arange(exact.X.shape[0])
    found, n_searched = [], n_neighbors + 1 + SPARE  # a sample finds itself too
    while len(rows):
        n_searched = min(n_searched, X.shape[0])
        unsure = []
        for part in _parts(rows, max(X.shape[1], n_searched)):
            distances, others = search.kneighbors(X[part], n_searched)
            squared = np.nan_to_num(np.square(distances), nan=np.inf)
            bound = rounding.bound(part, squared)
            limit = (squared + bound)[:, n_neighbors, None]
            with np.errstate(invalid="ignore"):  # samples without a column in common may be as near as any
                near = ~(squared - bound > limit)
            sure = ~near[:, -1] | (n_searched == X.shape[0])
            near &= sure[:, None] & (others != part[:, None])
            samples = np.broadcast_to(part[:, None], near.shape)
            found.append(_first(exact, samples[near], others[near], n_neighbors))
            unsure.append(part[~sure])
        rows, n_searched = np.concatenate(unsure), 2 * n_searched
    return np.hstack(found)


def _first(exact: _Distances, samples: Array, others: Array, n_neighbors: int) -> Array:
    """Of candidates, the nearest of each sample, by distance and then by index."""
    order = np.lexsort((others, _rounded(exact.squared(samples, others)), samples))
    samples, others = samples[order], others[order]
    rank = np.arange(len(samples)) - np.searchsorted(samples, samples)
    return np.stack([samples, others])[:, rank < n_neighbors]


def _rounded(squared: Array) -> Array:
    mantissa, exponent = np.frexp(squared)
    return np.ldexp(np.rint(mantissa * DIGITS), exponent)


def _parts(rows: Array, width: int) -> list[Array]:
    """Rows in parts that have room with so many numbers each."""
    height = max(1, ROOM // max(width, 1))
    return [rows[begin : begin + height] for begin in range(0, len(rows), height)]
