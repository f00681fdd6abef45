"""Entries of the lowest factor that are known and stay: the components that a user has fixed."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array


class FreeBlock(NamedTuple):
    """Rows and columns of Z_1 that are learned: the same rows in each of the columns."""

    rows: Array
    columns: Array

    @property
    def entries(self) -> tuple[Array, ...]:
        """The index of the block in Z_1."""
        return np.ix_(self.rows, self.columns)


@dataclass(frozen=True)
class FixedEntries:
    """The first rows of Z_1 as far as they are fixed; NaN is an entry that is learned."""

    values: Array

    @cached_property
    def known(self) -> Array:
        """Which entries of these rows are fixed."""
        return ~np.isnan(self.values)

    @cached_property
    def have_scale(self) -> Array:
        """Whether the fixed entries of a row give it a scale: zeros alone have none."""
        return np.any(np.nan_to_num(self.values) != 0, axis=1)

    def put_into(self, Z: Array) -> Array:
        """Z with the fixed entries; Z itself if it has them."""
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
        """An array of the shape of Z_1, or of its rows from some one on, with zeros at the fixed entries."""
        array, known = array.copy(), self.known[first : first + len(array)]
        array[: len(known)][known] = 0
        return array

    def rescaled(self, scale: Array) -> "FixedEntries":
        """The same entries of rows that are multiplied by numbers."""
        return FixedEntries(scale[: len(self.values), None] * self.values)

    def fills(self, n_rows: int) -> bool:
        """Whether nothing of a Z_1 with so many rows is learned."""
        return len(self.values) == n_rows and bool(self.known.all())

    def free_blocks(self, n_rows: int) -> list[FreeBlock]:
        """What is learned of Z_1, as blocks: columns with the same fixed rows are a problem of the others."""
        others = np.arange(len(self.values), n_rows)
        patterns, places = np.unique(self.known, axis=1, return_inverse=True)
        blocks = []
        for number, pattern in enumerate(patterns.T):
            rows = np.concatenate([np.flatnonzero(~pattern), others])
            if len(rows):
                blocks.append(FreeBlock(rows, np.flatnonzero(places.ravel() == number)))
        return blocks
