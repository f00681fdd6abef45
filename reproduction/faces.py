"""What experiments on pictures share: unit samples, splits, starts of Semi-NMF, and layer sizes drawn at random."""

from typing import Literal

import numpy as np
from sklearn.preprocessing import normalize

from reproduction.experiment import Array, Data

__all__ = ["STARTS", "divided", "random_sizes", "unit_samples"]


def unit_samples(data: Data, name: str) -> tuple[Array, Array]:
    """Samples at unit norm in single precision, and their labels."""
    bunch = data[name]
    return normalize(bunch.data.astype(np.float32)), bunch.target


def divided(y: Array, repetition: int, tested: int) -> tuple[Array, Array]:
    """Rows to train on and rows to test on, `tested` of every class.

    The test rows of repetitions are disjoint while there are any left, then the samples are shuffled anew.

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
)  # of Semi-NMF, deep or not; the default first
WIDEST = 1000


def random_sizes(depth: int, top: int, mean: float, seed: int) -> tuple[int, ...]:
    """Decreasing sizes of so many layers: `top` on top, those below from an exponential distribution.

    None is narrower than the top layer, or wider than 1000: beyond the number of pixels there is nothing left to hold.

    Examples
    --------
    >>> sizes = random_sizes(3, top=40, mean=400, seed=0)
    >>> sizes[-1], sorted(sizes, reverse=True) == list(sizes)
    (40, True)
    """
    drawn = np.random.default_rng([depth, seed]).exponential(mean, depth - 1)
    below = np.clip(drawn.round().astype(int), top + 1, WIDEST)
    return (*sorted(below.tolist(), reverse=True), top)
