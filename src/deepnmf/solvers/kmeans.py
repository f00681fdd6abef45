"""k-means by passes over the rows, for data of any engine."""

from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums

RESTARTS = 4
MOST_PASSES = 30
ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-5}


def kmeans_centers(engine: Engine, k: int, rng: np.random.RandomState) -> Array:
    """Return the centers of the best of a few runs."""
    runs = [_lloyd(engine, _distant_rows(engine, k, rng)) for _ in range(RESTARTS)]
    return min(runs, key=itemgetter(1))[0]


def _distant_rows(engine: Engine, k: int, rng: np.random.RandomState) -> Array:
    """Draw rows one after the other, with higher probability for distant rows (k-means++).

    For each draw, the rows are sorted by a random projection, so that the drawn row does not depend on the order of
    the rows in X.
    """
    order = np.argsort(np.asarray(engine.project(rng.standard_normal((1, engine.n_features))))[:, 0])
    weights = np.ones(engine.n_samples) if engine.row_weights is None else engine.row_weights
    centers = _row(engine, _drawn(weights, order, rng))[None]
    nearest = _square_distances(engine, centers[0])
    while len(centers) < k:
        chances = weights * nearest
        centers = np.vstack([centers, _row(engine, _drawn(chances if chances.any() else weights, order, rng))])
        nearest = np.minimum(nearest, _square_distances(engine, centers[-1]))
    return centers


def _drawn(chances: Array, order: Array, rng: np.random.RandomState) -> int:
    """Draw a row by its probability."""
    ends = np.cumsum(chances[order])
    return int(order[np.searchsorted(ends, rng.random_sample() * ends[-1], side="right")])


def _row(engine: Engine, index: int) -> Array:
    chosen = np.zeros((engine.n_samples, 1), engine.dtype)
    chosen[index] = 1
    return np.asarray(engine.combined(chosen)[0])


def _square_distances(engine: Engine, center: Array) -> Array:
    (squares,), _ = engine.sweep((), _Distances(center))
    return np.asarray(squares)


def _lloyd(engine: Engine, centers: Array) -> tuple[Array, float]:
    spread = np.inf
    for _ in range(MOST_PASSES):
        centers_before, spread_before = centers, spread
        _, (sums, counts, spread_now) = engine.sweep((), _Assignment(centers))
        spread = float(spread_now)
        centers = np.where(counts[:, None] > 0, sums / np.where(counts > 0, counts, 1)[:, None], centers)
        if spread >= spread_before:
            return centers_before, spread_before
    return centers, spread


@dataclass(frozen=True)
class _Distances:
    """Squared distances of the rows from one center, exactly 0 for equal rows, which are not drawn again."""

    center: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        sizes = X_b.row_squares() + self.center @ self.center
        squares = sizes - 2 * np.asarray(X_b @ self.center)
        return (np.where(squares > ROUNDING[X_b.dtype] * sizes, squares, 0),), ()


@dataclass(frozen=True)
class _Assignment:
    """The sums and sizes of the clusters in a block of rows, and the distances of the rows from their centers."""

    centers: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        C = self.centers
        squares = np.asarray(-2 * (X_b @ C.T)) + np.einsum("ij,ij->i", C, C)
        cluster = squares.argmin(axis=1)
        member = np.zeros((len(cluster), len(C)))
        member[np.arange(len(cluster)), cluster] = 1
        spread = X_b.total(X_b.row_squares() + squares.min(axis=1))
        member = X_b.weighed(member)
        return (), (member.T @ X_b, member.sum(axis=0), np.asarray(spread))
