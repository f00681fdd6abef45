"""k-means by passes over the rows, for data that is only ever seen that way."""

from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums

RESTARTS = 4
MOST_PASSES = 30


def kmeans_centers(engine: Engine, k: int, rng: np.random.RandomState) -> Array:
    """The centers of the best of a few runs."""
    runs = [_lloyd(engine, _spread_out(engine, k, rng)) for _ in range(RESTARTS)]
    return min(runs, key=itemgetter(1))[0]


def _spread_out(engine: Engine, k: int, rng: np.random.RandomState) -> Array:
    """Rows drawn one after the other, far ones more likely (k-means++)."""
    centers = _row(engine, rng.randint(engine.n_samples))[None]
    nearest = _square_distances(engine, centers[0])
    while len(centers) < k:
        total = nearest.sum()
        drawn = rng.choice(engine.n_samples, p=nearest / total) if total > 0 else rng.randint(engine.n_samples)
        centers = np.vstack([centers, _row(engine, drawn)])
        nearest = np.minimum(nearest, _square_distances(engine, centers[-1]))
    return centers


def _row(engine: Engine, index: int) -> Array:
    chosen = np.zeros((engine.n_samples, 1), engine.dtype)
    chosen[index] = 1
    return np.asarray(engine.combined(chosen)[0])


def _square_distances(engine: Engine, center: Array) -> Array:
    (squares,), _ = engine.sweep((), _Distances(center))
    return np.maximum(squares, 0)


def _lloyd(engine: Engine, centers: Array) -> tuple[Array, float]:
    spread = np.inf
    for _ in range(MOST_PASSES):
        centers_before, spread_before = centers, spread
        _, (sums, counts, spread_now) = engine.sweep((), _Assignment(centers))
        spread = float(spread_now)
        centers = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if spread >= spread_before:
            return centers_before, spread_before
    return centers, spread


@dataclass(frozen=True)
class _Distances:
    """Squared distances of the rows from one center."""

    center: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        c = self.center
        return (X_b.row_squares() - 2 * np.asarray(X_b @ c) + c @ c,), ()


@dataclass(frozen=True)
class _Assignment:
    """The sums and sizes of the clusters in a block of rows, and how far the rows are from their centers."""

    centers: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        C = self.centers
        squares = np.asarray(-2 * (X_b @ C.T)) + np.einsum("ij,ij->i", C, C)
        cluster = squares.argmin(axis=1)
        member = np.zeros((len(cluster), len(C)))
        member[np.arange(len(cluster)), cluster] = 1
        spread = X_b.row_squares().sum() + squares.min(axis=1).sum()
        return (), (member.T @ X_b, member.sum(axis=0), np.asarray(spread))
