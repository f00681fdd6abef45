"""Rows that are not in memory: read block by block, the next ones while these are at work."""

import mmap
import os
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, TypeGuard

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines.blocks import Block, Dense
from deepnmf.engines.memory import BlockedRows, row_blocks
from deepnmf.engines.protocol import CheckedSizes
from deepnmf.engines.threads import Workers, read_ahead

MAX_BYTES_IN_MEMORY = 2**28  # bytes; larger arrays of all rows live in files beside the data


class RowSource(Protocol):
    """A matrix of which some rows can be read."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers as they are stored."""
        ...

    @property
    def folder(self) -> str | None:
        """Beside the data, where there is such a place."""
        ...

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Some rows, in memory, and where there is room for them there."""
        ...


class RowsOfFile:
    """Rows of a file, one after the other, read by calls: a mapping of a file that shrinks would end the process."""

    def __init__(self, path: str | os.PathLike[str], shape: tuple[int, int], dtype: np.dtype[Any], offset: int) -> None:
        self.shape, self.dtype = shape, dtype
        self.folder = str(Path(path).parent)
        self._path, self._offset = Path(path), offset
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - open for as long as this lives: one reads on in order
        weakref.finalize(self, self._file.close)

    @classmethod
    def of_npy(cls, path: str | os.PathLike[str]) -> "RowsOfFile":
        """A `.npy` file."""
        try:
            mapped = np.lib.format.open_memmap(path, mode="r")
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is not a whole .npy file of numbers: {error}") from error
        return cls.of_mapping(mapped)

    @classmethod
    def of_mapping(cls, X: np.memmap[Any, Any]) -> "RowsOfFile":
        """A whole file that is mapped."""
        if X.ndim != 2 or not X.flags.c_contiguous:
            raise ValueError(
                f"{X.filename} holds an array of shape {X.shape} whose rows do not lie one after the other: "
                "two axes in C order are expected."
            )
        return cls(str(X.filename), X.shape, X.dtype, X.offset)

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Some rows, in memory."""
        shape = rows.stop - rows.start, self.shape[1]
        block = np.empty(shape, self.dtype) if buffer is None or buffer.dtype != self.dtype else buffer[: shape[0]]
        to_fill = block.reshape(-1).view(np.uint8)
        self._file.seek(self._offset + rows.start * self.shape[1] * self.dtype.itemsize)
        while len(to_fill):
            count = self._file.readinto(to_fill.data)
            if not count:
                raise ValueError(f"{self._path} ends before row {rows.stop}: it was cut short while it was read.")
            to_fill = to_fill[count:]
        return block


class RowsOfArray:
    """Rows of anything that gives them when it is sliced."""

    def __init__(self, X: Any) -> None:
        self.shape: tuple[int, int] = X.shape
        self.dtype, self.folder = np.dtype(X.dtype), None
        self._X = X

    def read(self, rows: slice, buffer: Array | None) -> Array:
        """Some rows, in memory."""
        return np.ascontiguousarray(self._X[rows.start : rows.stop])


def row_source(X: Any) -> RowSource | None:
    """X as rows to be read, where it is a path, a mapped file, or an array of h5py, zarr and their like."""
    if isinstance(X, str | os.PathLike):
        if Path(X).suffix != ".npy":
            raise ValueError(f"X is the path {os.fspath(X)!r}, and only .npy files can be read row by row.")
        return RowsOfFile.of_npy(X)
    if isinstance(X, np.memmap) and _is_whole_file(X):
        return RowsOfFile.of_mapping(X) if X.flags.c_contiguous else RowsOfArray(X)
    sliced = type(X).__module__.partition(".")[0] in ("h5py", "zarr") and len(X.shape) == 2
    return RowsOfArray(X) if sliced else None


def _is_whole_file(X: np.memmap[Any, Any]) -> bool:
    """Whether X is no part of another mapping, and its file is still there."""
    return X.ndim == 2 and isinstance(X.base, mmap.mmap) and bool(X.filename) and Path(str(X.filename)).exists()


def is_streamed(X: Any) -> TypeGuard[RowSource]:
    """Whether X is rows to be read."""
    return isinstance(X, RowsOfFile | RowsOfArray)


class StreamedRows(BlockedRows):
    """Rows that are read in every pass.

    Parameters
    ----------
    source : RowSource
    workers : Workers
        The open pool the passes run on.
    nonnegative : bool
        Whether a negative entry is an error.
    unit : float
        What the rows were divided by.
    """

    def __init__(self, source: RowSource, workers: Workers, *, nonnegative: bool, unit: float = 1.0) -> None:
        self._source = source
        self.dtype = source.dtype if source.dtype == np.float32 else np.dtype(np.float64)
        n_samples, n_features = source.shape
        self._rooms: deque[Array] = deque()
        blocks = row_blocks(n_samples, n_samples * n_features * self.dtype.itemsize)
        self._longest = max(block.stop - block.start for block in blocks)
        super().__init__(source.shape, blocks, workers, unit=unit, sizes=CheckedSizes(nonnegative))

    def _items(self) -> Iterator[tuple[slice, Block]]:
        return ((rows, Dense(X_b)) for rows, X_b in read_ahead(self._read, self._blocks))

    def _read(self, block: slice) -> tuple[slice, Array]:
        try:
            room = self._rooms.popleft()
        except IndexError:
            room = np.empty((self._longest, self.n_features), self.dtype)
        return block, self._source.read(block, room).astype(self.dtype, copy=False)

    def _release_block(self, X_b: Any) -> None:
        """Keep the room for another block: new memory has to be cleared by the system first, page by page."""
        if X_b.X.base is not None:
            self._rooms.append(X_b.X.base)

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """In memory, or in a file without a name that is gone with the array."""
        size = int(np.prod(shape)) * dtype.itemsize
        if size <= MAX_BYTES_IN_MEMORY:
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self._folder()) as file:
            return np.memmap(file, dtype, "w+", shape=shape)

    def _folder(self) -> str | None:
        folder = self._source.folder
        return folder if folder is not None and os.access(folder, os.W_OK) else None
