"""Codes in two dimensions: t-SNE of landmarks, among which the other samples are placed by their neighbors."""

from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from deepnmf.arrays import Array

MOST_LANDMARKS = 1000  # t-SNE of so many rows takes about a second
FEWEST_FOR_TSNE = 100
TSNE_ITERATIONS = 300  # enough for so few rows
N_NEIGHBORS = 3


class Embedding(NamedTuple):
    """One point per row, the method that computed them, and the number of rows that it was applied to."""

    method: str
    points: Array
    n_landmarks: int


def embedding(codes: Array) -> Embedding:
    """Return t-SNE with a fixed seed, or PCA for few rows or fewer than three columns."""
    codes = np.ascontiguousarray(codes, dtype=np.float64)
    if len(codes) < FEWEST_FOR_TSNE or codes.shape[1] < 3:
        return Embedding("PCA", _principal(codes), len(codes))
    landmarks = landmark_rows(len(codes))
    points = _tsne(codes[landmarks])
    if len(landmarks) < len(codes):
        points = _placed(codes, codes[landmarks], points)
    return Embedding("t-SNE", points, len(landmarks))


def landmark_rows(n_samples: int) -> Array:
    """Return the indices of all rows, or of a fixed random choice, in their order."""
    if n_samples <= MOST_LANDMARKS:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).choice(n_samples, MOST_LANDMARKS, replace=False))


def _tsne(codes: Array) -> Array:
    from sklearn.manifold import TSNE  # noqa: PLC0415 - so that importing deepnmf is fast

    start = _principal(codes)
    start *= 1e-4 / (start[:, 0].std() or 1.0)
    # One thread, because several threads add in a different order each time, which changes the map.
    with threadpool_limits(1):
        tsne = TSNE(init=start, random_state=0, angle=0.7, max_iter=TSNE_ITERATIONS)
        return np.asarray(tsne.fit_transform(codes))


def _placed(codes: Array, landmarks: Array, points: Array) -> Array:
    """Return for each row a weighted mean of the points of its nearest landmarks.

    Weights are the inverse fourth powers of the distances: a landmark lies on its own point, and a row between two
    groups is drawn to the nearer one instead of into the gap.
    """
    from sklearn.neighbors import NearestNeighbors  # noqa: PLC0415 - so that importing deepnmf is fast

    with threadpool_limits(1):
        distances, nearest = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(landmarks).kneighbors(codes)
    weights = 1 / np.maximum(distances, 1e-9 * (distances.max() or 1.0)) ** 4
    weights /= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("nk,nkd->nd", weights, points[nearest]))


def _principal(codes: Array) -> Array:
    """Return the first two principal components; the second is zero if there is only one."""
    centered = codes - codes.mean(axis=0)
    left, values, right = np.linalg.svd(centered, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])  # the signs of an SVD are arbitrary
    points = (left * values * signs)[:, :2]
    return np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])
