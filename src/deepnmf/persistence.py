"""A file of arrays and a JSON description (safetensors). Nothing in it can run."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

KEY = "deepnmf"


def write(path: str | os.PathLike[str], description: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Write arrays and their description to one file."""
    from safetensors.numpy import save  # noqa: PLC0415 - loaded when used

    payload = save(
        {name: np.ascontiguousarray(array) for name, array in tensors.items()},
        metadata={KEY: json.dumps(description, default=plain)},
    )
    write_whole(path, payload)


def write_whole(path: str | os.PathLike[str], payload: bytes) -> None:
    """Write beside the file's place first, then move it there in one step: it is never half there."""
    target = Path(path)
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _mode_of_a_new_file())
        os.replace(beside, target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _mode_of_a_new_file() -> int:
    """What `open` would have given it; mkstemp lets only its owner read."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the description and the arrays of a file that `write` has made."""
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - loaded when used

    try:
        with safe_open(path, framework="numpy") as file:
            description = json.loads((file.metadata() or {}).get(KEY, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except FileNotFoundError:
        raise
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise ValueError(f"{path} is not a deepnmf model: {error}.") from error
    return description, tensors


def plain(value: object) -> object:
    """Turn NumPy's numbers and arrays into Python's, for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a number, text or a list of them")
