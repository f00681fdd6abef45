"""Graphs on the samples, as operators on arrays of all codes, without a dense n x n matrix.

A graph is given by its Laplacian L. It couples samples of different blocks, so the problem of the codes uses a
majorizer: with L ⪯ diag(d), ½ Tr(HᵀLH) is at most its tangent at the codes of the last sweep plus
½ Σ_i d_i ‖h_i - last h_i‖². The problems of the rows are then independent again, and a step that lowers all of them
also lowers the penalty.
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
    """The Laplacian L of a graph, as an operator on codes."""

    @property
    def curvature(self) -> Array:
        """d, one number per sample, with L ⪯ diag(d)."""
        ...

    def product(self, H: Array) -> Array:
        """L H."""
        ...


@dataclass(frozen=True)
class ClassMeans:
    """Means of codes over the samples of each class, in O(n r) time and with memory for the means only."""

    places: Array  # the index of each sample's class, -1 if it is unknown

    @cached_property
    def known(self) -> Array:
        """1 if the class of a sample is known, otherwise 0."""
        return (self.places >= 0).astype(np.float64)

    @cached_property
    def counts(self) -> Array:
        """The number of samples of each class."""
        return np.bincount(self.places[self.places >= 0]).astype(np.float64)

    def of_classes(self, H: Array) -> Array:
        """The mean of each class, one row per class; zeros for a class without samples."""
        sums = self._indicator @ H
        return np.asarray(sums / np.maximum(self.counts, 1)[:, None], dtype=H.dtype)

    def of_samples(self, H: Array) -> Array:
        """The mean of each sample's class; zeros if the class is unknown."""
        means = np.vstack([self.of_classes(H), np.zeros((1, H.shape[1]), H.dtype)])
        return means[self.places]  # -1 is the index of the row of zeros

    @cached_property
    def _indicator(self) -> Matrix:
        rows = np.flatnonzero(self.places >= 0)
        ones = np.ones(len(rows))
        return sparse.csr_array((ones, (self.places[rows], rows)), shape=(len(self.counts), len(self.places)))


@dataclass(frozen=True)
class LabelGraph:
    """An edge of weight 1 between any two samples of the same known class: (LH)_i = n_c (h_i - class mean)."""

    means: ClassMeans

    @cached_property
    def curvature(self) -> Array:
        """n_c, the largest eigenvalue of the block of the class; 0 for samples without edges."""
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
        """γ: the scatter between classes only adds negative curvature."""
        return self.within * self.means.known

    def product(self, H: Array) -> Array:
        """L H."""
        classes = self.means.of_samples(H)
        overall = (self.means.known @ H / max(self.means.known.sum(), 1.0)).astype(H.dtype)
        product = self.within * (H - classes) - self.between * (classes - overall)
        return product * self.means.known[:, None].astype(H.dtype)


@dataclass(frozen=True)
class EdgeGraph:
    """Edges with sparse symmetric weights >= 0, without self-edges."""

    weights: Matrix

    @cached_property
    def degrees(self) -> Array:
        """D, the sum of the weights of each sample."""
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
    """Edges with weights x_i·x_j within each known class, X >= 0, applied by products with X_c."""

    X: Matrix
    places: Array

    @cached_property
    def _members(self) -> list[Array]:
        order = np.argsort(self.places, kind="stable")
        classes, starts = np.unique(self.places[order], return_index=True)
        return [rows for place, rows in zip(classes, np.split(order, starts[1:]), strict=True) if place >= 0]

    @cached_property
    def _degrees(self) -> Array:
        """The sums of weights including self-edges, which cancel in L."""
        return self._weighted(np.ones((len(self.places), 1)))[:, 0]

    @cached_property
    def curvature(self) -> Array:
        """2 D without self-edges (Gershgorin)."""
        squares = self.X.multiply(self.X) if sparse.issparse(self.X) else np.square(self.X)
        self_weights = np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
        return np.maximum(2 * (self._degrees - np.where(self.places >= 0, self_weights, 0.0)), 0.0)

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
    """The graph of one attribute: edges within classes, for "rbf" and "dot" weighted by similarity."""
    if kind == "binary":
        return LabelGraph(ClassMeans(places))
    return DotGraph(X, places) if kind == "dot" else EdgeGraph(_rbf_weights(X, places))


def _rbf_weights(X: Matrix, places: Array) -> Matrix:
    """exp(-‖x_i - x_j‖²/2σ²) within classes, with σ² the mean squared distance within classes."""
    from sklearn.metrics.pairwise import euclidean_distances  # noqa: PLC0415 - imported only if it is needed

    members = [np.flatnonzero(places == place) for place in np.unique(places[places >= 0])]
    squares = [euclidean_distances(X[rows], squared=True).astype(np.float64) for rows in members]
    pairs = sum(len(rows) * (len(rows) - 1) for rows in members)
    variance = sum(float(block.sum()) for block in squares) / max(pairs, 1)
    data = [np.exp(block / (-2 * variance)) if variance > 0 else np.ones_like(block) for block in squares]
    return symmetric(_blocks_on_rows(data, members, len(places)))


def _blocks_on_rows(blocks: Sequence[Array], members: Sequence[Array], n_samples: int) -> Matrix:
    """A sparse matrix with a dense block for the rows and columns of each list of members."""
    rows = [np.repeat(indices, len(indices)) for indices in members] or [np.empty(0, int)]
    columns = [np.tile(indices, len(indices)) for indices in members] or [np.empty(0, int)]
    entries = [block.ravel() for block in blocks] or [np.empty(0)]
    places = (np.concatenate(rows), np.concatenate(columns))
    return sparse.coo_array((np.concatenate(entries), places), shape=(n_samples, n_samples))


def symmetric(weights: Matrix) -> Matrix:
    """max(A, Aᵀ) without self-edges."""
    weights = sparse.coo_array(weights)
    off_diagonal = weights.row != weights.col
    edges = (weights.data[off_diagonal], (weights.row[off_diagonal], weights.col[off_diagonal]))
    directed = sparse.csr_array(edges, shape=weights.shape)
    return directed.maximum(directed.T).tocsr()
