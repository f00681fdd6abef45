"""The sliding maximum between layers, and the transpose of its Jacobian."""

from dataclasses import dataclass, field

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels import first_maxima


@dataclass(frozen=True)
class Pooled:
    """The maxima of each component, and the rows of these maxima; the first row if several are equal."""

    maxima: Array
    sources: Array

    def route_back(self, values: Array) -> Array:
        """J_pᵀ V: each value is added to the row of its maximum."""
        width = values.shape[1]
        cells = self.sources * width + np.arange(width)
        sums = np.bincount(cells.ravel(), weights=values.ravel(), minlength=values.size)
        return sums.reshape(values.shape).astype(values.dtype, copy=False)


@dataclass(frozen=True)
class Pooling:
    """p: row i becomes the maximum over rows starts[i] .. stops[i] - 1, component by component."""

    starts: Array
    stops: Array
    _latest: list[tuple[Array, Pooled]] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def centered(cls, width: int, groups: Array) -> "Pooling":
        """Pool rows i-⌊(w-1)/2⌋ .. i+⌊w/2⌋ of the group of row i; with a width of 0 or 1, nothing is pooled."""
        rows, width = np.arange(len(groups)), max(width, 1)
        first, last = _group_bounds(groups)
        return cls(np.maximum(rows - (width - 1) // 2, first), np.minimum(rows + width // 2 + 1, last))

    def __call__(self, H: Array) -> Pooled:
        """Pool the rows of H, which must not be changed in place, since the latest result is cached.

        A sweep uses the same maxima in the feedback, in the loss, and as input of the layer above.
        """
        if not self._latest or self._latest[0][0] is not H:
            self._latest[:] = [(H, self._pool(H))]
        return self._latest[0][1]

    def _pool(self, H: Array) -> Pooled:
        sources = first_maxima(H, self.starts, self.stops)
        return Pooled(np.take_along_axis(H, sources, axis=0), sources)


def _group_bounds(groups: Array) -> tuple[Array, Array]:
    """The first row of each row's group, and one past its last row; the rows of a group are contiguous."""
    begins = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    ends = np.r_[begins[1:], len(groups)]
    return np.repeat(begins, ends - begins), np.repeat(ends, ends - begins)
