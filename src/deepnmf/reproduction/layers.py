"""What the experiments with Deep Semi-NMF and Sparse Deep NMF share: starts, and layer sizes drawn at random to compare depths."""

from typing import Literal

import numpy as np

__all__ = ["STARTS", "random_sizes"]

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
