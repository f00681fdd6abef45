"""Model files: arrays and their description, in one safetensors file with a digest. Nothing in it can run.

A file is

    N, eight bytes, the lowest first | header, N bytes of JSON | the arrays, end to end

The header says of each array its ``dtype``, its ``shape`` and its ``data_offsets`` within the last part. Under
``__metadata__`` it holds two texts:

    deepnmf   the description, JSON again: format, class, parameters, and what else a model is made of
    sha256    the digest of the whole file in which these 64 characters are zeros

safetensors itself would not notice a changed number. Files of the first format, "deepnmf-1", have no digest.

`read` believes nothing it has not checked. The file's size comes first; arrays must fill the file without gap or
overlap, so that no more memory is asked for than the file is long; JSON is bounded before it is parsed.
"""

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
from pathlib import Path
from typing import Any, BinaryIO

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
    """A file that is no deepnmf model, or is damaged: `deepnmf.load` says in one sentence what is wrong with it.

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
    /model.safetensors is not a sound deepnmf model: it is 6 bytes long, and no model is so short.
    """


@contextmanager
def refusing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what a check has to say into one sentence about the file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split()).replace(". ", "; ").rstrip(".")
        text = text if len(text) < 500 else f"{text[:500]}..."
        raise ModelFileError(f"{os.fspath(path)} is not a sound deepnmf model: {text}.") from error


# ------------------------------------------------------------------------------------------- writing


def as_json(description: dict[str, Any]) -> str:
    """Write a description down; NaN and what is neither number nor text are refused."""
    return json.dumps(description, default=plain, allow_nan=False)


def plain(value: object) -> object:
    """Turn NumPy's numbers and arrays into Python's, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a number, text or a list of them")


def write(path: str | os.PathLike[str], description: str, tensors: dict[str, Array]) -> None:
    """Write the file whole or not at all."""
    from safetensors.numpy import save  # noqa: PLC0415 - loaded when used

    payload = save(tensors, metadata={DESCRIPTION: description, DIGEST: ZEROS.decode()})
    length = int.from_bytes(payload[:8], "little")
    if length > MOST_HEADER:
        raise ValueError(f"the model's description takes {length} bytes, and a model file has room for {MOST_HEADER}.")
    key = f'"{DIGEST}":"'.encode()  # quotes within the description have a backslash before them
    place = payload.index(key + ZEROS) + len(key)
    digest = sha256(payload).hexdigest().encode()
    view = memoryview(payload)
    replace_file(Path(os.path.realpath(path)), (view[:place], digest, view[place + len(digest) :]))


def replace_file(target: Path, parts: tuple[bytes | memoryview, ...]) -> None:
    """Write beside the file's place, then move it there in one step: a crash leaves the old file or the new one."""
    beside = target.parent / f".deepnmf-{secrets.token_hex(8)}"
    try:
        with open(beside, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _make_durable(target.parent)


def _make_durable(folder: Path) -> None:
    """Have the file's new name on the disk too, where a folder can be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True)
class _Entry:
    """What the header says of one array."""

    name: str
    dtype: Any
    shape: tuple[int, ...]
    begin: int
    end: int


def read(path: str | os.PathLike[str], formats: Sequence[str] = MODELS) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the description and the arrays of a file that `write` has made, or raise ValueError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError("it is no file")
    with open(path, "rb") as file:  # everything by one handle: the file may be replaced meanwhile
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
        raise ValueError("its content is not what its digest says, so it was changed or damaged")
    return description, tensors


def _header(file: BinaryIO, size: int) -> tuple[bytes, bytes]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if size < 8:
        raise ValueError(f"it is {size} bytes long, and no model is so short")
    if length > size - 8:
        raise ValueError(f"its header would be {length} bytes long in {size}")
    if length > MOST_HEADER:
        raise ValueError(f"its header is {length} bytes long, and at most {MOST_HEADER} are expected")
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
        raise ValueError(f"its format is {reprlib.repr(found)}, and this version reads {formats[0]!r} and earlier ones")
    if found != WITHOUT_DIGEST and DIGEST not in metadata:
        raise ValueError("its digest is missing")
    return description


def _digest(metadata: dict[str, str]) -> bytes:
    """Return what the file says of itself, or zeros where it says nothing."""
    digest = metadata.get(DIGEST, ZEROS.decode())
    if not re.fullmatch("[0-9a-f]{64}", digest):  # another length would change the header's
        raise ValueError(f"its digest is {reprlib.repr(digest)}, and 64 hexadecimal digits are expected")
    return digest.encode()


def _laid_out(entries: dict[str, Any], room: int) -> list[_Entry]:
    """Return the arrays in their order within the file, which they must fill end to end."""
    found = sorted((_entry(*item) for item in entries.items()), key=lambda entry: (entry.begin, entry.end))
    ends = [0, *(entry.end for entry in found)]
    if [entry.begin for entry in found] != ends[:-1] or ends[-1] != room:
        raise ValueError(f"its arrays do not lie end to end within the {room} bytes that follow its header")
    return found


def _entry(name: str, said: Any) -> _Entry:
    said = of_type(said, dict, name)
    shape, offsets = (of_type(said.get(key), list, f"{key} of {name}") for key in ("shape", "data_offsets"))
    dtype = DTYPES.get(of_type(said.get("dtype"), str, f"dtype of {name}"))
    counts = [*shape, *offsets]
    if dtype is None or len(offsets) != 2 or not 1 <= len(shape) <= MOST_DIMENSIONS or len(said) != 3:
        raise ValueError(f"it describes {name} by {reprlib.repr(said)}, and no array of a model is like that")
    if any(type(count) is not int or count < 0 for count in counts):
        raise ValueError(f"it describes {name} by {reprlib.repr(counts)}, and counts of at least 0 are expected")
    begin, end = offsets
    if math.prod(shape) * np.dtype(dtype).itemsize != end - begin:
        raise ValueError(f"its {name} of shape {shape} cannot be {end - begin} bytes long")
    return _Entry(name, np.dtype(dtype), tuple(shape), begin, end)


def _array(file: BinaryIO, entry: _Entry) -> Array:
    array = np.empty(entry.shape, entry.dtype)
    if file.readinto(array.reshape(-1).view(np.uint8)) != array.nbytes:  # type: ignore[attr-defined]
        raise ValueError(f"it ends within {entry.name}")
    return array
