"""Fixed entries of the lowest factor: the components that a user has fixed."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array


class FreeBlock(NamedTuple):
    """A block of learned entries of Z_1: the same rows in each of the columns."""

    rows: Array
    columns: Array

    @property
    def entries(self) -> tuple[Array, ...]:
        """The index of the block in Z_1."""
        return np.ix_(self.rows, self.columns)


@dataclass(frozen=True)
class FixedEntries:
    """The fixed entries of the first rows of Z_1; NaN marks learned entries."""

    values: Array

    @cached_property
    def known(self) -> Array:
        """Which entries of these rows are fixed."""
        return ~np.isnan(self.values)

    @cached_property
    def have_scale(self) -> Array:
        """Whether the fixed entries of a row determine its scale: zeros alone do not."""
        return np.any(np.nan_to_num(self.values) != 0, axis=1)

    def put_into(self, Z: Array) -> Array:
        """Z with the fixed entries inserted; Z itself if it has them already."""
        rows, values = Z[: len(self.values)], self.values.astype(Z.dtype, copy=False)
        if np.array_equal(rows[self.known], values[self.known]):
            return Z
        return np.vstack([np.where(self.known, values, rows), Z[len(values) :]])

    def mask(self, n_rows: int) -> Array:
        """Which entries of Z_1 are fixed."""
        mask = np.zeros((n_rows, self.values.shape[1]), bool)
        mask[: len(self.values)] = self.known
        return mask

    def at_learned(self, array: Array, first: int = 0) -> Array:
        """An array of the shape of Z_1, or of its rows from `first` on, with zeros at the fixed entries."""
        array, known = array.copy(), self.known[first : first + len(array)]
        array[: len(known)][known] = 0
        return array

    def rescaled(self, scale: Array) -> "FixedEntries":
        """The fixed entries after each row is multiplied by a number."""
        return FixedEntries(scale[: len(self.values), None] * self.values)

    def fills(self, n_rows: int) -> bool:
        """Whether all entries of a Z_1 with `n_rows` rows are fixed."""
        return len(self.values) == n_rows and bool(self.known.all())

    def free_blocks(self, n_rows: int) -> list[FreeBlock]:
        """The learned entries of Z_1 as blocks: columns with the same fixed rows form one problem."""
        others = np.arange(len(self.values), n_rows)
        patterns, places = np.unique(self.known, axis=1, return_inverse=True)
        blocks = []
        for number, pattern in enumerate(patterns.T):
            rows = np.concatenate([np.flatnonzero(~pattern), others])
            if len(rows):
                blocks.append(FreeBlock(rows, np.flatnonzero(places.ravel() == number)))
        return blocks
