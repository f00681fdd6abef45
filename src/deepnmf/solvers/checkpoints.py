"""Checkpoints of a fit on disk, from which it can continue after an interruption, with identical results.

A fit is a sequence of stages, each one call of the loop: pre-training of the layers, then the fine-tuning. Everything
else (initializations, products, scaling) follows from the data and the parameters, and is repeated on resumption.
Therefore a checkpoint contains the states of the finished stages and of the current stage, as arrays and a description;
it contains no code.
"""

import dataclasses
import importlib
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.persistence import as_json, read, write

FORMAT = "deepnmf-checkpoint-1"


@dataclass(frozen=True)
class Progress:
    """The progress of a stage: its state, the losses so far, the first optimality, and the stop reason, if any."""

    state: Any
    losses: tuple[float, ...] = ()
    first: float = 0.0
    reason: str | None = None


@dataclass
class Checkpoints:
    """The stages of one fit, and the file in which they are saved.

    `owner` identifies the data and the parameters of the fit.
    """

    path: Path
    seconds: float
    owner: str
    _stages: list[Any] = field(default_factory=list)
    _arrays: dict[str, Array] = field(default_factory=dict)
    _entered: int = 0
    _written: float = field(default_factory=time.monotonic)
    _warned: bool = False

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        try:
            description, arrays = read(self.path, (FORMAT,))
        except ValueError as error:
            raise ValueError(f"checkpoint={str(self.path)!r} is not a checkpoint of a fit: {error}.") from error
        if description.get("owner") != self.owner:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to a fit with other data or other parameters: use another "
                "file, or remove this one."
            )
        self._stages, self._arrays = description["stages"], arrays

    def enter(self, template: Any) -> tuple[int, Progress]:
        """Begin the next stage at its saved progress, or at its start `template`, which a restored state resembles."""
        number, self._entered = self._entered, self._entered + 1
        if number >= len(self._stages):
            self._stages.append(None)
            return number, Progress(template)
        return number, unpacked(self._stages[number], self._arrays, Progress(template))

    def keep(self, number: int, progress: Progress, *, now: bool = False) -> None:
        """Save the progress of a stage, if the interval has passed."""
        if now or progress.reason is not None or time.monotonic() - self._written >= self.seconds:
            self._pack(number, progress)
            self._try_to_write()

    def _pack(self, number: int, progress: Progress) -> None:
        prefix = f"stage.{number}."
        self._arrays = {name: array for name, array in self._arrays.items() if not name.startswith(prefix)}
        self._stages[number] = packed(progress, self._arrays, prefix)

    def _try_to_write(self) -> None:
        """Write the file; if this fails, the fit continues, and the next checkpoint tries again."""
        try:
            self._write()
        except (OSError, ValueError, MemoryError) as error:
            self._warn(f"cannot be written, so the fit continues without it: {_reason(error)}.")
        self._written = time.monotonic()

    def _write(self) -> None:
        description = {"format": FORMAT, "owner": self.owner, "stages": self._stages}
        write(self.path, as_json(description), self._arrays)

    def _warn(self, trouble: str) -> None:
        """Warn once per fit."""
        if not self._warned:
            self._warned = True
            warnings.warn(f"checkpoint={str(self.path)!r} {trouble}", UserWarning, stacklevel=2)

    def finish(self) -> None:
        """Remove the file of a finished fit; a link to it stays."""
        try:
            Path(os.path.realpath(self.path)).unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"cannot be removed, although the fit is over: {_reason(error)}.")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error).rstrip(".")


# --------------------------------------------------------------------------------- states as arrays and a description


def packed(value: Any, arrays: dict[str, Array], prefix: str) -> Any:
    """Describe a state and collect its arrays; values that are not data (an activation) come from the template."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray | np.generic):
        name = f"{prefix}{len(arrays)}"
        arrays[name] = np.array(value, order="C", ndmin=1)
        columns_first = value.ndim > 1 and not value.flags.c_contiguous
        return {"array": name, "columns_first": columns_first, "number": value.ndim == 0}
    if isinstance(value, Sequence) and not hasattr(value, "_fields"):
        return {"items": [packed(item, arrays, prefix) for item in value], "tuple": isinstance(value, tuple)}
    if (names := _names_of_data(value)) is not None:
        fields = {name: packed(getattr(value, name), arrays, prefix) for name in names}
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "fields": fields}
    return {"template": True}


def unpacked(described: Any, arrays: dict[str, Array], template: Any) -> Any:
    """Restore the state."""
    if not isinstance(described, dict):
        return described
    if "float" in described:
        return float(described["float"])
    if "array" in described:
        array = arrays[described["array"]]
        shaped = np.asfortranarray(array) if described["columns_first"] else np.array(array)
        return shaped[0] if described["number"] else shaped
    if "items" in described:
        models = template if isinstance(template, Sequence) else ()
        items = [unpacked(item, arrays, _at(models, i)) for i, item in enumerate(described["items"])]
        return tuple(items) if described["tuple"] else items
    if "class" in described:
        fields = described["fields"]
        made = {name: unpacked(part, arrays, getattr(template, name, None)) for name, part in fields.items()}
        return _class(described["class"])(**made)
    return template


def _names_of_data(value: Any) -> Sequence[str] | None:
    """The names of the fields of a value that consists of data; None if it consists of functions."""
    if hasattr(value, "_fields"):
        return value._fields
    if not dataclasses.is_dataclass(value):
        return None
    names = [part.name for part in dataclasses.fields(value) if part.init]
    return None if any(callable(getattr(value, name)) for name in names) else names


def _at(models: Sequence[Any], place: int) -> Any:
    return models[place] if place < len(models) else None


def _class(path: str) -> Any:
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name, None) if module.startswith("deepnmf.") else None
    except ImportError:  # a file of another version
        found = None
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or hasattr(found, "_fields"))):
        raise ValueError(f"A checkpoint contains {path}, which is not part of a fit.")
    return found
