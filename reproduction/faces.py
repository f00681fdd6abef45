"""Functions that experiments on pictures share: samples at unit norm, splits, initializations, random layer sizes."""

from typing import Literal

import numpy as np
from sklearn.preprocessing import normalize

from reproduction.experiment import Array, Data

__all__ = ["STARTS", "divided", "random_sizes", "unit_samples"]


def unit_samples(data: Data, name: str) -> tuple[Array, Array]:
    """Return samples at unit norm in single precision, and their labels."""
    bunch = data[name]
    return normalize(bunch.data.astype(np.float32)), bunch.target


def divided(y: Array, repetition: int, tested: int) -> tuple[Array, Array]:
    """Return training rows and test rows, with `tested` test rows of every class.

    The test rows of repetitions are disjoint as long as there are unused rows; then the samples are shuffled again.

    Examples
    --------
    >>> y = np.repeat([0, 1], 4)
    >>> parts = [set(divided(y, repetition, 2)[1].tolist()) for repetition in (0, 1)]
    >>> parts[0] | parts[1] == set(range(8))
    True
    """
    labels, counts = np.unique(y, return_counts=True)
    shuffle, fold = divmod(repetition, int(counts.min()) // tested)
    rng = np.random.default_rng(shuffle)
    mixed = [rng.permutation(np.flatnonzero(y == label)) for label in labels]
    test = np.concatenate([rows[fold * tested : (fold + 1) * tested] for rows in mixed])
    return np.setdiff1d(np.arange(len(y)), test), test


STARTS: tuple[Literal["svd", "random", "kmeans"], ...] = (
    "svd",
    "random",
    "kmeans",
)  # initializations of Semi-NMF, deep or not; the default first
WIDEST = 1000


def random_sizes(depth: int, top: int, mean: float, seed: int) -> tuple[int, ...]:
    """Return decreasing sizes of `depth` layers: `top` for the top layer, the others from an exponential distribution.

    No layer is narrower than the top layer, or wider than 1000: a layer needs no more features than there are pixels.

    Examples
    --------
    >>> sizes = random_sizes(3, top=40, mean=400, seed=0)
    >>> sizes[-1], sorted(sizes, reverse=True) == list(sizes)
    (40, True)
    """
    drawn = np.random.default_rng([depth, seed]).exponential(mean, depth - 1)
    below = np.clip(drawn.round().astype(int), top + 1, WIDEST)
    return (*sorted(below.tolist(), reverse=True), top)
