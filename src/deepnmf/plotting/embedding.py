"""Codes in two dimensions."""

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from deepnmf.arrays import Array

MOST_POINTS = 600  # t-SNE of a thousand rows takes seconds
FEWEST_FOR_TSNE = 100
SWEEPS = 400  # where a map of some hundred rows has settled


class Plane(NamedTuple):
    """One point a row, and the method that placed them."""

    method: str
    points: Array


def chosen_rows(n_samples: int, limit: int = MOST_POINTS) -> Array:
    """Rows to place: all, or a fixed random choice, in their order."""
    if n_samples <= limit:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).choice(n_samples, limit, replace=False))


def plane(codes: Array) -> Plane:
    """t-SNE with a fixed seed; PCA where there are few rows or nothing to unfold."""
    if len(codes) < FEWEST_FOR_TSNE or codes.shape[1] < 3:
        return Plane("PCA", _principal(codes))
    from sklearn.manifold import TSNE  # noqa: PLC0415 - importing deepnmf stays light

    start = _principal(codes)
    start *= 1e-4 / (start[:, 0].std() or 1.0)
    # One thread: the sums of several come in an order of their own, and with them another map.
    with threadpool_limits(1):
        tsne = TSNE(init=start, random_state=0, angle=0.7, max_iter=SWEEPS)
        return Plane("t-SNE", tsne.fit_transform(np.ascontiguousarray(codes, dtype=np.float64)))


def _principal(codes: Array) -> Array:
    """The first two principal components, the second zero where there is one only."""
    centred = np.asarray(codes, dtype=np.float64) - np.mean(codes, axis=0, dtype=np.float64)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])  # an SVD's signs are chance
    points = (left * values * signs)[:, :2]
    return np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])
