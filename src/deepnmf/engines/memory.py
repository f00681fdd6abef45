"""Passes over rows in blocks, and rows that are in memory."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from threading import Lock

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix
from deepnmf.engines.blocks import Block, Dense, Sizes, Sparse, block_of
from deepnmf.engines.protocol import Engine, Step, Sums, sizes
from deepnmf.engines.threads import Workers

# Measured on 2 cores (decision 11): four blocks are as fast as two, and more cause more calls and longer sums.
# Of a number that is no multiple of four, the last blocks leave cores idle.
BLOCK_BYTES, BLOCKS_TOGETHER = 8 * 2**20, 4
WORTH_ROUNDING = 2**19  # bytes: early sweeps on larger data are made in single precision
LARGEST_ROUNDED_COPY = 2**32  # bytes; larger data are rounded again in every pass
SMALLEST_SPLIT = 2**21  # bytes; smaller data are one block


class BlockedRows(Engine):
    """Rows in blocks, each of which is a task for the thread pool."""

    empty: Callable[..., Array] = staticmethod(np.empty)  # allocates an array of all rows

    def __init__(
        self,
        shape: tuple[int, int],
        blocks: list[slice],
        workers: Workers,
        *,
        unit: float = 1.0,
        row_weights: Array | None = None,
        sizes: Step = sizes,
    ) -> None:
        self.n_samples, self.n_features = shape
        self.workers, self.unit, self.row_weights = workers, unit, row_weights
        self._blocks = blocks
        self.measured = Sizes(*map(float, self.sweep((), sizes)[1]))

    @abstractmethod
    def _items(self) -> Iterable[tuple[slice, Block]]:
        """The blocks in order, each with the slice of its rows."""

    def sweep(
        self, rows: Sequence[Array], step: Step, out: Sequence[Array] | None = None
    ) -> tuple[tuple[Array, ...], Sums]:
        """Run one pass over X on the thread pool."""
        rows, step = self.weighing(rows, step)
        on_block = _StepOnBlock(self, rows, step, tuple(out or ()))
        totals: list[Array] | None = None
        map_in_order = map if len(self._blocks) == 1 else self.workers.map
        for sums in map_in_order(on_block, self._items()):
            if totals is None:
                totals = [np.array(part, dtype=np.float64) for part in sums]
            else:
                for total, part in zip(totals, sums, strict=True):
                    total += part
        return on_block.new_rows, tuple(totals or ())

    def release(self, X_b: Block) -> None:
        """Called when a block is no longer used."""

    def for_codes(self, codes: Array) -> Engine:
        """Return an engine for codes of these rows, which are in memory."""
        return RowsInMemory(Dense(codes), self.workers, row_weights=self.row_weights)


class RowsInMemory(BlockedRows):
    """Rows that fit into memory; X is copied only to single precision, for early sweeps.

    Parameters
    ----------
    X : Block, C-ordered array or CSR matrix of shape (n, p), float32 or float64
    workers : Workers
        The open pool on which the passes run.
    unit : float
        The unit by which X was divided.
    row_weights : array of shape (n,), optional
        The weight of each row.
    sqnorm : float, optional
        ‖X‖² of the samples, if these rows are means of groups of samples.
    """

    sqnorm: float = 0.0  # ‖X‖² of the samples

    def __init__(
        self,
        X: Block | Matrix,
        workers: Workers,
        *,
        unit: float = 1.0,
        row_weights: Array | None = None,
        sqnorm: float | None = None,
    ) -> None:
        self._X = X if isinstance(X, Block) else block_of(X)
        self.dtype, self.is_complete = self._X.dtype, self._X.is_complete
        self.is_sparsely_observed = self._X.is_sparsely_observed
        blocks = row_blocks(self._X.shape[0], self._X.nbytes)
        super().__init__(self._X.shape, blocks, workers, unit=unit, row_weights=row_weights)
        self.sqnorm = self.measured.sqnorm if sqnorm is None else sqnorm
        self.scatter = self.sqnorm - self.measured.sqnorm
        if isinstance(self._X, Dense):
            self.one_array = self._X.X if len(self._blocks) == 1 and row_weights is None else None
        self.gains_by_single_precision = (
            self.dtype == np.float64 and isinstance(self._X, Dense | Sparse) and self._X.nbytes >= WORTH_ROUNDING
        )

    def in_single_precision(self) -> "RoundedRows":
        """Return an engine for the same rows in single precision."""
        return RoundedRows(self, is_kept=self._X.nbytes <= LARGEST_ROUNDED_COPY)

    @cached_property
    def _columns(self) -> "RowsInMemory":
        return RowsInMemory(self.scaled_block.transposed(), self.workers)

    @property
    def scaled_block(self) -> Block:
        """The rows times their weights, so that columns can be fitted as for rows without weights."""
        return self._X if self.row_weights is None else self._X.scaled(self.row_weights)

    def filled(self) -> Engine:
        """Return an engine for the rows with holes filled in: by zeros if most entries are 0, else by column means."""
        zeros = self._X.with_zeros()
        if zeros is None:
            return super().filled()
        return RowsInMemory(zeros, self.workers, unit=self.unit, row_weights=self.row_weights)

    def transposed(self) -> "RowsInMemory":
        """Return an engine for the columns of sparsely observed data."""
        return self._columns

    def grouped(self, places: Array, counts: Array) -> "RowsInMemory":
        """Return an engine for the mean of each group times √count; its loss is that of the samples."""
        mean, scaled_mean = (
            _averaging_matrix(places, counts, scale) for scale in (np.ones(len(counts)), np.sqrt(counts))
        )
        means = self._X.averaged(mean, scaled_mean)
        return RowsInMemory(means, self.workers, unit=self.unit, sqnorm=self.sqnorm)

    def _items(self) -> list[tuple[slice, Block]]:
        if len(self._blocks) == 1:
            return [(self._blocks[0], self._X)]
        return [(block, self._X.rows(block)) for block in self._blocks]


class RoundedRows(BlockedRows):
    """Complete rows of another engine in single precision, in the same blocks.

    Parameters
    ----------
    rows : BlockedRows
    is_kept : bool
        Whether the rounded rows are stored, which takes half the memory of `rows`.
    """

    def __init__(self, rows: BlockedRows, *, is_kept: bool) -> None:
        self._rows, self._blocks, self.dtype = rows, rows._blocks, np.dtype(np.float32)
        self.n_samples, self.n_features, self.unit = rows.n_samples, rows.n_features, rows.unit
        self.workers, self.row_weights, self.empty = rows.workers, rows.row_weights, rows.empty
        self.measured, self.scatter = rows.measured, rows.scatter
        if rows.one_array is not None:
            self.one_array = rows.one_array.astype(np.float32)
            self._kept: list[tuple[slice, Block]] | None = [(self._blocks[0], Dense(self.one_array))]
        else:
            self._kept = list(self._rounded()) if is_kept else None

    @property
    def sqnorm(self) -> float:
        """‖X‖² of the rows before rounding."""
        return self._rows.sqnorm

    def _items(self) -> Iterable[tuple[slice, Block]]:
        return self._rounded() if self._kept is None else self._kept

    def _rounded(self) -> Iterator[tuple[slice, Block]]:
        for block, X_b in self._rows._items():
            rounded = X_b.rounded()
            self._rows.release(X_b)
            yield block, rounded


@dataclass
class _StepOnBlock:
    """A step whose new rows are written into arrays of all rows, allocated when the first block shows their shapes."""

    engine: BlockedRows
    rows: Sequence[Array]
    step: Step
    new_rows: tuple[Array, ...]
    lock: Lock = field(default_factory=Lock)

    def __call__(self, item: tuple[slice, Block]) -> Sums:
        block, X_b = item
        new_rows, sums = self.step(X_b, tuple(array[block] for array in self.rows))
        with self.lock:
            if not self.new_rows:
                shapes = [(self.engine.n_samples, *new.shape[1:]) for new in new_rows]
                self.new_rows = tuple(map(self.engine.empty, shapes, [new.dtype for new in new_rows]))
        for array, new in zip(self.new_rows, new_rows, strict=True):
            array[block] = new
        self.engine.release(X_b)
        return sums


def _averaging_matrix(places: Array, counts: Array, scale: Array) -> Matrix:
    """The sparse matrix that maps rows to the mean of each group, times the scale of the group."""
    weights = (scale / counts)[places]
    return sparse.csr_array((weights, (places, np.arange(len(places)))), shape=(len(counts), len(places)))


def row_blocks(n_samples: int, size: int) -> list[slice]:
    """Slices of about equal length, for rows of `size` bytes in total."""
    count = 1 if size <= SMALLEST_SPLIT else BLOCKS_TOGETHER * -(-size // (BLOCKS_TOGETHER * BLOCK_BYTES))
    edges = np.linspace(0, n_samples, min(count, n_samples) + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges)]
