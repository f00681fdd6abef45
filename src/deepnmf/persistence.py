"""Model files: arrays and a description in one safetensors file with a digest. A file contains no code.

A file is

    N, eight bytes, little-endian | header, N bytes of JSON | the arrays, one after the other

The header contains the ``dtype``, the ``shape`` and the ``data_offsets`` (within the last part) of each array. Under
``__metadata__`` it contains two texts:

    deepnmf   the description, again JSON: format, class, parameters, and other attributes of the model
    sha256    the digest of the whole file, computed with zeros in place of these 64 characters

safetensors itself would not detect a changed number. Files of the first format, "deepnmf-1", have no digest.

`read` checks everything before it is used: arrays must fill the file without gaps or overlaps, so that the memory for
them is not larger than the file; the size of the JSON is bounded before it is parsed.
"""

import io
import json
import math
import os
import re
import reprlib
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.untrusted import of_type, parsed

FORMAT, WITHOUT_DIGEST = "deepnmf-2", "deepnmf-1"
MODELS = (FORMAT, WITHOUT_DIGEST)
DESCRIPTION, DIGEST = "deepnmf", "sha256"
ZEROS = b"0" * 64
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
MOST_HEADER = 2**24  # bytes; parsed JSON may take thirty times as many
MOST_DIMENSIONS = 2


class ModelFileError(ValueError):
    """A file is not a deepnmf model, or is damaged; the message of `deepnmf.load` says in one sentence why.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import deepnmf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.safetensors"
    ...     _ = path.write_bytes(b"a text")
    ...     try:
    ...         deepnmf.load(path)
    ...     except deepnmf.ModelFileError as error:
    ...         print(str(error).replace(folder, ""))
    /model.safetensors is not a valid deepnmf model: it is only 6 bytes long.
    """


@contextmanager
def refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert the error of a check into one sentence about the file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split()).replace(". ", "; ").rstrip(".")
        text = text if len(text) < 500 else f"{text[:500]}..."
        raise ModelFileError(f"{os.fspath(path)} is not a valid deepnmf model: {text}.") from error


# ------------------------------------------------------------------------------------------- writing


def as_json(description: dict[str, Any]) -> str:
    """Return a description as JSON; raise an error for NaN and for objects other than numbers and text."""
    return json.dumps(description, default=plain, allow_nan=False)


def plain(value: object) -> object:
    """Convert NumPy numbers and arrays to Python objects, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a number, text or a list of them")


def write(path: str | os.PathLike[str], description: str, tensors: dict[str, Array]) -> None:
    """Write the file completely or not at all."""
    check_destination(path)
    from safetensors.numpy import save  # noqa: PLC0415 - loaded when used

    payload = save(tensors, metadata={DESCRIPTION: description, DIGEST: ZEROS.decode()})
    length = int.from_bytes(payload[:8], "little")
    if length > MOST_HEADER:
        raise ValueError(f"the description of the model takes {length} bytes, but a model file allows {MOST_HEADER}.")
    key = f'"{DIGEST}":"'.encode()  # quotes within the description are escaped
    place = payload.index(key + ZEROS) + len(key)
    digest = sha256(payload).hexdigest().encode()
    view = memoryview(payload)
    replace_file(Path(os.path.realpath(path)), (view[:place], digest, view[place + len(digest) :]))


def check_destination(path: str | os.PathLike[str]) -> None:
    """Raise an error if the file cannot be written, before anything is computed."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path is {os.fspath(path)!r}, which is a folder: expected the name of a file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path is {os.fspath(path)!r}, but there is no folder {os.fspath(target.parent)!r}: "
            "expected an existing folder."
        )


def replace_file(target: Path, parts: tuple[bytes | memoryview, ...]) -> None:
    """Write a temporary file, then move it into place in one step: a crash leaves the old file or the new one."""
    temporary = target.parent / f".deepnmf-{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _make_durable(target.parent)


def _make_durable(folder: Path) -> None:
    """Flush the entry of the file in its folder to the disk, where the system can open a folder."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class _ArrayEntry:
    """The entry of one array in the header."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    begin: int
    end: int


def read(path: str | os.PathLike[str], formats: Sequence[str] = MODELS) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the description and the arrays of a file written by `write`, or raise a ValueError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is not a regular file")
    with open(path, "rb") as file:  # one handle for all reads, because the file may be replaced meanwhile
        size = os.fstat(file.fileno()).st_size
        start, header = _header(file, size)
        entries = parsed(header.decode())
        metadata = _metadata(entries)
        description = _description(metadata, formats)
        digest = sha256(start + header.replace(_digest(metadata), ZEROS))
        tensors = {}
        for entry in _laid_out(entries, size - len(start) - len(header)):
            tensors[entry.name] = _array(file, entry)
            digest.update(tensors[entry.name].reshape(-1).view(np.uint8).data)
    if metadata.get(DIGEST, digest.hexdigest()) != digest.hexdigest():
        raise ValueError("its content does not match its digest, so it was changed or damaged")
    return description, tensors


def _header(file: io.BufferedReader, size: int) -> tuple[bytes, bytes]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if size < 8:
        raise ValueError(f"it is only {size} bytes long")
    if length > size - 8:
        raise ValueError(f"its header would be {length} bytes long, but the file has {size} bytes")
    if length > MOST_HEADER:
        raise ValueError(f"its header is {length} bytes long: expected at most {MOST_HEADER}")
    return start, file.read(length)


def _metadata(entries: dict[str, Any]) -> dict[str, str]:
    if "__metadata__" not in entries:
        raise ValueError("it holds no description of a model")
    metadata = of_type(entries.pop("__metadata__"), dict, "metadata")
    return {name: of_type(text, str, name) for name, text in metadata.items()}


def _description(metadata: dict[str, str], formats: Sequence[str]) -> dict[str, Any]:
    if DESCRIPTION not in metadata:
        raise ValueError("it holds no description of a model")
    description = parsed(metadata[DESCRIPTION])
    found = of_type(description.get("format"), str, "format")
    if found not in formats:
        raise ValueError(f"its format is {reprlib.repr(found)}, but this version reads {formats[0]!r} and earlier ones")
    if found != WITHOUT_DIGEST and DIGEST not in metadata:
        raise ValueError("its digest is missing")
    return description


def _digest(metadata: dict[str, str]) -> bytes:
    """Return the digest in the file, or zeros if it has none."""
    digest = metadata.get(DIGEST, ZEROS.decode())
    if not re.fullmatch("[0-9a-f]{64}", digest):  # another length would change the length of the header
        raise ValueError(f"its digest is {reprlib.repr(digest)}: expected 64 hexadecimal digits")
    return digest.encode()


def _laid_out(entries: dict[str, Any], room: int) -> list[_ArrayEntry]:
    """Return the arrays in their order within the file, which they must fill without gaps."""
    found = sorted((_entry(*item) for item in entries.items()), key=attrgetter("begin", "end"))
    ends = [0, *(entry.end for entry in found)]
    if [entry.begin for entry in found] != ends[:-1] or ends[-1] != room:
        raise ValueError(f"its arrays do not fill the {room} bytes after its header without gaps")
    return found


def _entry(name: str, content: Any) -> _ArrayEntry:
    content = of_type(content, dict, name)
    shape, offsets = (of_type(content.get(key), list, f"{key} of {name}") for key in ("shape", "data_offsets"))
    dtype = DTYPES.get(of_type(content.get("dtype"), str, f"dtype of {name}"))
    counts = [*shape, *offsets]
    if dtype is None or len(offsets) != 2 or not 1 <= len(shape) <= MOST_DIMENSIONS or len(content) != 3:
        raise ValueError(f"it describes {name} by {reprlib.repr(content)}, which is not an array of a model")
    if any(type(count) is not int or count < 0 for count in counts):
        raise ValueError(f"it describes {name} by {reprlib.repr(counts)}: expected integers of at least 0")
    begin, end = offsets
    if math.prod(shape) * np.dtype(dtype).itemsize != end - begin:
        raise ValueError(f"its {name} of shape {shape} cannot be {end - begin} bytes long")
    return _ArrayEntry(name, np.dtype(dtype), tuple(shape), begin, end)


def _array(file: io.BufferedReader, entry: _ArrayEntry) -> Array:
    array = np.empty(entry.shape, entry.dtype)
    if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:
        raise ValueError(f"it ends within {entry.name}")
    return array
