"""Splits of data into a part that a fit sees and a hidden part that it must predict.

The hidden part is drawn from a seed whenever it is needed, so that it is the same for every candidate and in every
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
FEWEST_OBSERVED = 200  # entries: the errors of fewer than twenty hidden entries are not informative
LEAST_PREDICTION = 0.01  # relative to the baseline, so that logarithms of predictions are finite
PLACES_AT_ONCE = 2**16


class Seen(NamedTuple):
    """The data that a fit sees, and the weights of its entries as `fit` takes them."""

    X: Matrix
    entry_weight: Any = None


class Splits(ABC):
    """A matrix, and the hidden part of it in each split.

    Parameters
    ----------
    X : array or CSR matrix
    seeds : list of int
        One for each split.
    dtype : dtype or None
        The dtype of the data in the fits; None is that of X.
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
        """Return the data without the hidden part of a split."""

    @abstractmethod
    def errors(self, split: int, model: Any) -> tuple[Array, Array]:
        """Return the divergence of the hidden part from its predictions, summed by row, and the sum of the weights."""

    @abstractmethod
    def spread(self, split: int, divergence: Divergence) -> float:
        """Return the mean divergence of the hidden part from its mean."""

    @abstractmethod
    def some_rows(self, rows: Array) -> Seen:
        """Return some rows, with nothing hidden."""

    def check(self) -> None:
        """Refuse data from which nothing can be hidden."""
        by_row, by_column = self.observed_by_line()
        if not by_column.all():
            column = int(np.flatnonzero(by_column == 0)[0])
            raise ValueError(f"Column {column} of X has no observed entry: remove such columns before choosing layers.")
        if by_row.sum() < FEWEST_OBSERVED:
            raise ValueError(
                f"X has {int(by_row.sum())} observed entries: expected at least {FEWEST_OBSERVED} to choose layers."
            )

    def rng(self, split: int) -> np.random.Generator:
        """Return the random generator for the hidden part of a split."""
        return np.random.default_rng(self.seeds[split])


def decoder(model: Any) -> tuple[Array, Array]:
    """Return H and D of the reconstruction H D of the data by the lowest layer of a model."""
    H = model.codes_[0]
    return H, model.decode(np.eye(H.shape[1], dtype=H.dtype), 0)


def products_at(rows: Array, columns: Array, H: Array, D: Array) -> Array:
    """Return (H D)_ij at some entries; `rows` must be sorted."""
    ends = np.searchsorted(rows, np.arange(len(H) + 1))
    places = sparse.csr_array((np.empty(len(rows), H.dtype), columns, ends), shape=(len(H), D.shape[1]))
    return sampled_products(places, H, D).astype(np.float64)


def parts(n_places: int) -> Iterator[slice]:
    """Yield slices of entries to be predicted together, so that predictions take little memory."""
    return (slice(begin, begin + PLACES_AT_ONCE) for begin in range(0, n_places, PLACES_AT_ONCE))
