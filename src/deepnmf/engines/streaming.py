"""Rows that are not in memory: they are read block by block, and the next blocks are read during the computation."""

import mmap
import os
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines.blocks import Block, Dense
from deepnmf.engines.memory import WORTH_ROUNDING, BlockedRows, RoundedRows, row_blocks
from deepnmf.engines.protocol import CheckedSizes
from deepnmf.engines.threads import Workers, read_ahead

MAX_BYTES_IN_MEMORY = 2**28  # a larger array of all rows is stored in a file beside the data


class RowSource(ABC):
    """A matrix whose rows can be read in parts."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    folder: str | None = None  # the folder of the data, if they are in a file

    @abstractmethod
    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Read some rows into memory, into the buffer if there is one of the right type."""


class RowsOfFile(RowSource):
    """Rows of a file in C order.

    They are read by system calls: with a memory map, a file that is truncated meanwhile would crash the process.
    """

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], dtype: np.dtype[Any], offset: int) -> None:
        self.shape, self.dtype = shape, dtype
        self.folder = str(Path(path).parent)
        self._path, self._offset = Path(path), offset
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - open for the lifetime of this object
        weakref.finalize(self, self._file.close)

    @classmethod
    def of_npy(cls, path: str | os.PathLike[str]) -> "RowsOfFile":
        """Return the rows of a `.npy` file."""
        try:
            mapped = np.lib.format.open_memmap(path, mode="r")
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is not a complete .npy file of numbers: {error}") from error
        return cls.of_mapping(mapped)

    @classmethod
    def of_mapping(cls, X: np.memmap[Any, Any]) -> "RowsOfFile":
        """Return the rows of a memory map of a complete file."""
        if X.ndim != 2 or not X.flags.c_contiguous:
            order = "C" if X.flags.c_contiguous else "Fortran"
            raise ValueError(
                f"{X.filename} contains an array of shape {X.shape} in {order} order: expected a matrix in C order."
            )
        return cls(str(X.filename), X.shape, X.dtype, X.offset)

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Read some rows into memory."""
        shape = rows.stop - rows.start, self.shape[1]
        block = np.empty(shape, self.dtype) if buffer is None or buffer.dtype != self.dtype else buffer[: shape[0]]
        to_fill = block.reshape(-1).view(np.uint8)
        self._file.seek(self._offset + rows.start * self.shape[1] * self.dtype.itemsize)
        while len(to_fill):
            count = self._file.readinto(to_fill.data)
            if not count:
                raise ValueError(f"{self._path} ends before row {rows.stop}: it was truncated while it was read.")
            to_fill = to_fill[count:]
        return block


class RowsOfArray(RowSource):
    """Rows of an array that returns them by slicing, such as one of h5py or zarr."""

    def __init__(self, X: Any) -> None:
        self.shape, self.dtype = X.shape, np.dtype(X.dtype)
        self._X = X

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Read some rows into memory."""
        return np.ascontiguousarray(self._X[rows.start : rows.stop])


def row_source(X: Any) -> RowSource | None:
    """Return the rows of a path, a memory map, or an array of h5py or zarr; None for other kinds of X."""
    if isinstance(X, str | os.PathLike):
        if Path(X).suffix != ".npy":
            raise ValueError(f"X is the path {os.fspath(X)!r}: expected an .npy file, which can be read row by row.")
        return RowsOfFile.of_npy(X)
    if isinstance(X, np.memmap) and _is_whole_file(X):
        return RowsOfFile.of_mapping(X) if X.flags.c_contiguous else RowsOfArray(X)
    sliced = type(X).__module__.partition(".")[0] in ("h5py", "zarr") and len(X.shape) == 2
    return RowsOfArray(X) if sliced else None


def _is_whole_file(X: np.memmap[Any, Any]) -> bool:
    """Whether X is a map of a complete file that still exists, and not a part of another map."""
    return X.ndim == 2 and isinstance(X.base, mmap.mmap) and bool(X.filename) and Path(str(X.filename)).exists()


def is_streamed(X: Any) -> TypeGuard[RowSource]:
    """Whether the rows of X are read in every pass."""
    return isinstance(X, RowSource)


class StreamedRows(BlockedRows):
    """Rows that are read in every pass.

    Parameters
    ----------
    source : RowSource
    workers : Workers
        The open pool on which the passes run.
    nonnegative : bool
        Whether a negative entry is an error.
    unit : float
        The unit by which the rows were divided.
    row_weights : array of shape (n,), optional
        The weight of each row.
    """

    def __init__(
        self,
        source: RowSource,
        workers: Workers,
        *,
        nonnegative: bool,
        unit: float = 1.0,
        row_weights: Array | None = None,
    ) -> None:
        self._source = source
        self.dtype = source.dtype if source.dtype == np.float32 else np.dtype(np.float64)
        n_samples, n_features = source.shape
        self._buffers: deque[Array] = deque()
        self._nbytes = n_samples * n_features * self.dtype.itemsize
        blocks = row_blocks(n_samples, self._nbytes)
        self._longest = max(block.stop - block.start for block in blocks)
        super().__init__(
            source.shape, blocks, workers, unit=unit, row_weights=row_weights, sizes=CheckedSizes(nonnegative)
        )
        self.gains_by_single_precision = self.dtype == np.float64 and self._nbytes >= WORTH_ROUNDING
        if len(blocks) == 1 and row_weights is None:
            self.one_array = self._read(blocks[0])[1]

    def in_single_precision(self) -> RoundedRows:
        """Return an engine for the same rows, which are rounded to single precision when they are read."""
        return RoundedRows(self, is_kept=False)

    def _items(self) -> Iterator[tuple[slice, Block]]:
        return ((rows, Dense(X_b)) for rows, X_b in read_ahead(self._read, self._blocks))

    def _read(self, block: slice) -> tuple[slice, Array]:
        try:
            buffer = self._buffers.popleft()
        except IndexError:
            buffer = np.empty((self._longest, self.n_features), self.dtype)
        return block, self._source.read(block, buffer).astype(self.dtype, copy=False)

    def release(self, X_b: Any) -> None:
        """Keep the buffer for another block, because the system must clear new memory first."""
        if X_b.X.base is not None:
            self._buffers.append(X_b.X.base)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Allocate an array of all rows in memory, or in an unnamed file that is deleted with the array."""
        size = int(np.prod(shape)) * dtype.itemsize
        if size <= MAX_BYTES_IN_MEMORY:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self._folder()) as file:
            return np.memmap(file, dtype, "w+", shape=shape)

    def _folder(self) -> str | None:
        folder = self._source.folder
        return folder if folder is not None and os.access(folder, os.W_OK) else None
