"""Who belongs to whom among the samples: operators on whole code arrays, never a dense n x n.

A graph is its Laplacian L. It couples samples across blocks of rows, so the codes' problem sees it through a majoriser:
with L ⪯ diag(d), ½ Tr(HᵀLH) is at most its tangent at the last sweep's codes plus ½ Σ_i d_i ‖h_i - last h_i‖². Every
row is then a problem of its own again, and lowering all of them lowers the penalty itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix

LabelGraphKind = Literal["binary", "rbf", "dot"]


class Graph(Protocol):
    """L, as what it does to codes."""

    @property
    def curvature(self) -> Array:
        """d, one number a sample, with L ⪯ diag(d)."""
        ...

    def product(self, H: Array) -> Array:
        """L H."""
        ...


@dataclass(frozen=True)
class ClassMeans:
    """Means of codes over the samples of each class, by class sums: O(n r) time, and memory for the means alone."""

    places: Array  # each sample's class, -1 where it is unknown

    @cached_property
    def known(self) -> Array:
        """1 where the class is known, else 0."""
        return (self.places >= 0).astype(np.float64)

    @cached_property
    def counts(self) -> Array:
        """Samples in each class."""
        return np.bincount(self.places[self.places >= 0]).astype(np.float64)

    def of_classes(self, H: Array) -> Array:
        """One row a class; a class of nobody has zeros."""
        sums = self._indicator @ H
        return np.asarray(sums / np.maximum(self.counts, 1)[:, None], dtype=H.dtype)

    def of_samples(self, H: Array) -> Array:
        """Each sample's class mean; zeros where the class is unknown."""
        means = np.vstack([self.of_classes(H), np.zeros((1, H.shape[1]), H.dtype)])
        return means[self.places]  # -1 is the last

    @cached_property
    def _indicator(self) -> Matrix:
        rows = np.flatnonzero(self.places >= 0)
        ones = np.ones(len(rows))
        return sparse.csr_array((ones, (self.places[rows], rows)), shape=(len(self.counts), len(self.places)))


@dataclass(frozen=True)
class LabelGraph:
    """An edge of weight 1 between any two samples of one known class: (LH)_i = n_c (h_i - class mean)."""

    means: ClassMeans

    @cached_property
    def curvature(self) -> Array:
        """n_c, the largest eigenvalue of the class's own block; 0 where there is no edge."""
        sizes = np.append(self.means.counts, 0.0)[self.means.places]
        return np.where(sizes > 1, sizes, 0.0)

    def product(self, H: Array) -> Array:
        """L H."""
        out = self.means.of_samples(H)
        np.subtract(H, out, out=out)
        out *= self.curvature[:, None].astype(H.dtype)
        return out


@dataclass(frozen=True)
class FisherScatter:
    """γ times the scatter within the known classes minus δ times the scatter between them."""

    means: ClassMeans
    within: float
    between: float

    @property
    def curvature(self) -> Array:
        """γ: what lies between only bends down."""
        return self.within * self.means.known

    def product(self, H: Array) -> Array:
        """L H."""
        classes = self.means.of_samples(H)
        overall = (self.means.known @ H / max(self.means.known.sum(), 1.0)).astype(H.dtype)
        apart = self.within * (H - classes) - self.between * (classes - overall)
        return apart * self.means.known[:, None].astype(H.dtype)


@dataclass(frozen=True)
class EdgeGraph:
    """Symmetric weights >= 0 of edges, sparse, without self edges."""

    weights: Matrix

    @cached_property
    def degrees(self) -> Array:
        """D, the sum of each sample's weights."""
        return np.asarray(self.weights.sum(axis=1), dtype=np.float64).ravel()

    @property
    def curvature(self) -> Array:
        """2 D (Gershgorin)."""
        return 2 * self.degrees

    def product(self, H: Array) -> Array:
        """L H."""
        out = -np.asarray(self.weights @ H, dtype=H.dtype)
        out += self.degrees[:, None].astype(H.dtype) * H
        return out


@dataclass(frozen=True)
class DotGraph:
    """Edges x_i·x_j within each known class, X >= 0, through products with X_c alone."""

    X: Matrix
    places: Array

    @cached_property
    def _members(self) -> list[Array]:
        order = np.argsort(self.places, kind="stable")
        classes, starts = np.unique(self.places[order], return_index=True)
        return [rows for place, rows in zip(classes, np.split(order, starts[1:]), strict=True) if place >= 0]

    @cached_property
    def _degrees(self) -> Array:
        """Sums of weights, a sample's edge to itself among them: it cancels in L."""
        return self._weighted(np.ones((len(self.places), 1)))[:, 0]

    @cached_property
    def curvature(self) -> Array:
        """2 D without self edges (Gershgorin)."""
        squares = self.X.multiply(self.X) if sparse.issparse(self.X) else np.square(self.X)
        itself = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        return np.maximum(2 * (self._degrees - np.where(self.places >= 0, itself, 0.0)), 0.0)

    def product(self, H: Array) -> Array:
        """L H."""
        out = -self._weighted(H)
        out += self._degrees[:, None].astype(H.dtype) * H
        return out

    def _weighted(self, H: Array) -> Array:
        out = np.zeros_like(H)
        for rows in self._members:
            X_c = self.X[rows]
            out[rows] = X_c @ (X_c.T @ H[rows])
        return out


def label_graph(kind: LabelGraphKind, X: Matrix, places: Array) -> Graph:
    """The graph of one attribute: who shares a class, and for "rbf" and "dot" how alike they are."""
    if kind == "binary":
        return LabelGraph(ClassMeans(places))
    return DotGraph(X, places) if kind == "dot" else EdgeGraph(_rbf_weights(X, places))


def _rbf_weights(X: Matrix, places: Array) -> Matrix:
    """exp(-‖x_i - x_j‖²/2σ²) within classes, a block each, with σ² the mean squared distance there."""
    from sklearn.metrics.pairwise import euclidean_distances  # noqa: PLC0415 - loaded where it is used

    members = [np.flatnonzero(places == place) for place in np.unique(places[places >= 0])]
    squares = [euclidean_distances(X[rows], squared=True).astype(np.float64) for rows in members]
    pairs = sum(len(rows) * (len(rows) - 1) for rows in members)
    variance = sum(float(block.sum()) for block in squares) / max(pairs, 1)
    data = [np.exp(block / (-2 * variance)) if variance > 0 else np.ones_like(block) for block in squares]
    return symmetric(_blocks_on_rows(data, members, len(places)))


def _blocks_on_rows(blocks: Sequence[Array], members: Sequence[Array], n_samples: int) -> Matrix:
    """A sparse matrix with dense blocks where rows and columns of the same members meet."""
    rows = [np.repeat(who, len(who)) for who in members] or [np.empty(0, int)]
    columns = [np.tile(who, len(who)) for who in members] or [np.empty(0, int)]
    entries = [block.ravel() for block in blocks] or [np.empty(0)]
    places = (np.concatenate(rows), np.concatenate(columns))
    return sparse.coo_array((np.concatenate(entries), places), shape=(n_samples, n_samples))


def symmetric(weights: Matrix) -> Matrix:
    """max(A, Aᵀ) without self edges."""
    weights = sparse.coo_array(weights)
    apart = weights.row != weights.col
    edges = (weights.data[apart], (weights.row[apart], weights.col[apart]))
    one_way = sparse.csr_array(edges, shape=weights.shape)
    return one_way.maximum(one_way.T).tocsr()
