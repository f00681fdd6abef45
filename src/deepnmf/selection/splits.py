"""Data split into what a fit gets to see and what it must predict, several times.

What is hidden is drawn again from a seed whenever it is needed, and so is the same for every candidate and in every
process.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.kernels import sampled_products
from deepnmf.objective.divergences import Divergence

HIDDEN_SHARE = 0.1
FEWEST_OBSERVED = 200  # entries: of fewer than twenty hidden ones the errors say next to nothing
LEAST_PREDICTION = 0.01  # of the baseline's: logarithms of predictions must be finite
PLACES_AT_ONCE = 2**16


class Seen(NamedTuple):
    """What a fit gets to see: data, and the weights of its entries as `fit` takes them."""

    X: Matrix
    entry_weight: Any = None


class Splits(ABC):
    """A matrix and what is hidden of it in each split.

    Parameters
    ----------
    X : array or CSR matrix
    seeds : list of int
        One for each split.
    dtype : dtype or None
        In which fits see it; None is that of X.
    """

    def __init__(self, X: Matrix, seeds: list[int], dtype: Any = None) -> None:
        self.X, self.seeds, self.shape = X, seeds, X.shape
        self.dtype = X.dtype if dtype is None else np.dtype(dtype)
        self.check()

    @abstractmethod
    def observed_by_line(self) -> tuple[Array, Array]:
        """The numbers of observed entries in each row and in each column."""

    @abstractmethod
    def seen(self, split: int) -> Seen:
        """The data without what a split hides."""

    @abstractmethod
    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """The divergence of what is hidden from its predictions, summed by row, and the sum of the weights."""

    @abstractmethod
    def spread(self, split: int, divergence: Divergence) -> float:
        """The mean divergence of what is hidden from its mean."""

    @abstractmethod
    def some_rows(self, rows: Array) -> Seen:
        """Some rows, with nothing hidden."""

    def check(self) -> None:
        """Refuse data from which nothing can be hidden."""
        by_row, by_column = self.observed_by_line()
        if not by_column.all():
            column = int(np.flatnonzero(by_column == 0)[0])
            raise ValueError(f"Column {column} of X has no observed entry: remove such columns before choosing layers.")
        if by_row.sum() < FEWEST_OBSERVED:
            raise ValueError(
                f"X has {int(by_row.sum())} observed entries: at least {FEWEST_OBSERVED} are needed to hide a tenth."
            )

    def rng(self, split: int) -> np.random.Generator:
        """What draws the entries that a split hides."""
        return np.random.default_rng(self.seeds[split])


def decoder(model: Any) -> tuple[Array, Array]:
    """H and D of the data's reconstruction H D by the lowest layer of a model."""
    H = model.codes_[0]
    return H, model.decode(np.eye(H.shape[1], dtype=H.dtype), 0)


def products_at(rows: Array, columns: Array, H: Array, D: Array) -> Array:
    """(H D)_ij at some entries; `rows` ascend."""
    ends = np.searchsorted(rows, np.arange(len(H) + 1))
    places = sparse.csr_array((np.empty(len(rows), H.dtype), columns, ends), shape=(len(H), D.shape[1]))
    return sampled_products(places, H, D).astype(np.float64)


def parts(n_places: int) -> Iterator[slice]:
    """Slices of places that are predicted at once, so that predictions take little room beside the data."""
    return (slice(begin, begin + PLACES_AT_ONCE) for begin in range(0, n_places, PLACES_AT_ONCE))
