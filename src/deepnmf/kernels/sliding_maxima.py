"""The position of the maximum of each component in a window that slides over rows.

Measured on 9600 x 30 codes and windows of 50 rows, it takes a quarter of the time of doubling windows in NumPy.
"""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.compilation import CompiledLoop


def first_maxima(H: Array, starts: Array, stops: Array) -> Array:
    """The row of the first maximum among rows starts[i] .. stops[i] - 1, for each component, in O(n r).

    Windows may only move forward. A queue contains the rows that can still become a maximum, with decreasing values;
    its first row is the maximum of the window.
    """
    return np.asarray(_first_maxima(H, starts, stops))


def first_maxima_plainly(H: Array, starts: Array, stops: Array) -> Array:
    """`first_maxima`, one window after the other."""
    return np.array([start + H[start:stop].argmax(axis=0) for start, stop in zip(starts, stops, strict=True)])


@CompiledLoop
def _first_maxima(H, starts, stops):
    n, r = H.shape
    sources = np.empty((n, r), np.intp)
    queue = np.empty(n, np.intp)
    for k in range(r):
        front, back, entered = 0, 0, 0
        for i in range(n):
            while entered < stops[i]:
                while back > front and H[queue[back - 1], k] < H[entered, k]:
                    back -= 1
                queue[back] = entered
                back += 1
                entered += 1
            while queue[front] < starts[i]:
                front += 1
            sources[i, k] = queue[front]
    return sources
