"""A fit kept on disk, so that it can go on after whatever ended it, to the same bits.

A fit is a sequence of stages, each one call of the loop: pre-trainings, then the fine-tuning. All else that a fit does
(starts, products, scaling) follows from the data and the parameters, and is done again on resumption. So a checkpoint
holds the states of the stages that are over and of the one under way, as arrays and a description: nothing in it can
run.
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
    """Where a stage is: its state, the losses so far, the first optimality, and why it is over, if it is."""

    state: Any
    losses: tuple[float, ...] = ()
    first: float = 0.0
    reason: str | None = None


@dataclass
class Checkpoints:
    """The stages of one fit, and the file they are kept in.

    `owner` tells the data and the settings of the fit from all others.
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
            raise ValueError(f"checkpoint={str(self.path)!r} is no checkpoint of a fit: {error}.") from error
        if description.get("owner") != self.owner:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to a fit of other data, or with other settings: give another "
                "file, or remove this one."
            )
        self._stages, self._arrays = description["stages"], arrays

    def enter(self, template: Any) -> tuple[int, Progress]:
        """Begin the next stage where it was, or else at its start, on which a restored state is modeled too."""
        number, self._entered = self._entered, self._entered + 1
        if number >= len(self._stages):
            self._stages.append(None)
            return number, Progress(template)
        return number, unpacked(self._stages[number], self._arrays, Progress(template))

    def keep(self, number: int, progress: Progress, *, now: bool = False) -> None:
        """Write where a stage is, if it is time."""
        if now or progress.reason is not None or time.monotonic() - self._written >= self.seconds:
            self._pack(number, progress)
            self._try_to_write()

    def _pack(self, number: int, progress: Progress) -> None:
        prefix = f"stage.{number}."
        self._arrays = {name: array for name, array in self._arrays.items() if not name.startswith(prefix)}
        self._stages[number] = packed(progress, self._arrays, prefix)

    def _try_to_write(self) -> None:
        """Write the file; if that fails, the fit goes on, and the next checkpoint is tried in its turn."""
        try:
            self._write()
        except (OSError, ValueError, MemoryError) as error:
            self._warn(f"cannot be written, so the fit goes on without it: {_reason(error)}.")
        self._written = time.monotonic()

    def _write(self) -> None:
        description = {"format": FORMAT, "owner": self.owner, "stages": self._stages}
        write(self.path, as_json(description), self._arrays)

    def _warn(self, trouble: str) -> None:
        """Warn once in a fit."""
        if not self._warned:
            self._warned = True
            warnings.warn(f"checkpoint={str(self.path)!r} {trouble}", UserWarning, stacklevel=2)

    def finish(self) -> None:
        """Remove the file of a fit that is over; a link to it stays."""
        try:
            Path(os.path.realpath(self.path)).unlink(missing_ok=True)
        except OSError as error:
            self._warn(f"cannot be removed, although the fit is over: {_reason(error)}.")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error).rstrip(".")


# --------------------------------------------------------------------------------- states as arrays and a description


def packed(value: Any, arrays: dict[str, Array], prefix: str) -> Any:
    """A description of a state, its arrays put beside it; what is no data (an activation) is left to the template."""
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
    """The state again."""
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
    """Names of the fields of a value that is made of data; None where it is made of functions."""
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
    except ImportError:  # a file that another version had
        found = None
    if not (isinstance(found, type) and (dataclasses.is_dataclass(found) or hasattr(found, "_fields"))):
        raise ValueError(f"A checkpoint holds {path}, which is nothing that a fit is made of.")
    return found
