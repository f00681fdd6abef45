"""NumPy files (``.npy``, ``.npz``): headers are read first, arrays when they are needed. Nothing is unpickled."""

import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.lib import format as npy

from deepnmf.arrays import Array
from deepnmf.reading.dataset import ReadingError, library_message

# ------------------------------------------------------------------------------------- stored arrays


class StoredArray(Protocol):
    """An array in a file or in memory: its shape and dtype are known before ``stored[()]`` reads it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the entries."""
        ...

    def __getitem__(self, everything: tuple[()], /) -> Any:
        """Read the array."""
        ...


def is_matrix(stored: StoredArray) -> bool:
    """Whether the array may be X: numbers in at least two rows and two columns."""
    return len(stored.shape) == 2 and 1 not in stored.shape and stored.dtype.kind in "biufc"


def unpacked_bytes(stored: StoredArray) -> int:
    """Return the number of bytes of the array in memory."""
    return math.prod(stored.shape) * stored.dtype.itemsize


# --------------------------------------------------------------------------------------------- files


SUFFIX = ".npy"
ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06")  # first bytes of a zip archive, and of an empty one


@contextmanager
def open_arrays(path: Path) -> Iterator[StoredArray | Mapping[str, StoredArray]]:
    """Yield the array of a file, or the arrays of an archive by their names."""
    try:
        with path.open("rb") as file:
            if not _is_archive(file):
                yield ArrayFile(file, path, path.stat().st_size)
                return
            with zipfile.ZipFile(file) as archive:
                yield {name.removesuffix(SUFFIX): ArrayInArchive(archive, name, path) for name in _arrays_in(archive)}
    except ReadingError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ReadingError(f"{path} is not a valid NumPy file: {library_message(error)}.") from error


def _is_archive(file: IO[bytes]) -> bool:
    begin = file.read(4)
    file.seek(0)
    return begin in ARCHIVES


def _arrays_in(archive: zipfile.ZipFile) -> list[str]:
    return [name for name in dict.fromkeys(archive.namelist()) if name.endswith(SUFFIX)]


class ArrayFile:
    """One array whose header has been read.

    Parameters
    ----------
    file : binary file
    path : Path
        The file, for messages.
    size : int
        The number of bytes of the file.
    """

    def __init__(self, file: IO[bytes], path: Path, size: int) -> None:
        self._file, self._path = file, path
        self.shape, self.dtype = _header(file, path)
        promised, found = unpacked_bytes(self), size - file.tell()
        if not self.dtype.hasobject and promised > found:
            raise ReadingError(
                f"{path} is not a complete NumPy file: it contains {found} of {promised} bytes of an array."
            )

    def __getitem__(self, everything: tuple[()]) -> Array:
        self._file.seek(0)
        return _read(self._file, self.dtype, self._path)


class ArrayInArchive:
    """One array in an archive.

    Parameters
    ----------
    archive : ZipFile
    name : str
        The name of the file in the archive.
    path : Path
        The archive, for messages.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str, path: Path) -> None:
        self._archive, self._name, self._path = archive, name, path
        with archive.open(name) as file:
            header = ArrayFile(file, path, archive.getinfo(name).file_size)
        self.shape, self.dtype = header.shape, header.dtype

    def __getitem__(self, everything: tuple[()]) -> Array:
        with self._archive.open(self._name) as file:
            return _read(file, self.dtype, self._path)


def _header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        version = npy.read_magic(file)
    except ValueError as error:
        raise _pickle_error(path) from error
    shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
    return shape, dtype


def _read(file: IO[bytes], dtype: np.dtype[Any], path: Path) -> Array:
    if dtype.hasobject:
        raise _pickle_error(path)
    return npy.read_array(file, allow_pickle=False)


def _pickle_error(path: Path) -> ReadingError:
    return ReadingError(
        f"{path} contains a pickle or Python objects, which could run code: "
        "expected arrays of numbers, saved by numpy.savez."
    )
