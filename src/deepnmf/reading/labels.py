"""Labels of any kind as classes: integers, with names where they were text, -1 where unknown."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.dataset import counted
from deepnmf.reading.errors import ReadingError

UNKNOWN = -1


def classes(values: Any, n_samples: int, where: str) -> tuple[Array, tuple[str, ...] | None]:
    """Return each sample's class and the classes' names, None where the classes are numbers.

    `where` begins the sentence of an error, such as "digits.csv, column 'label'".
    """
    flat = _flat(values, n_samples, where)
    if flat.dtype.kind in "biu":
        return flat.astype(np.int64), None
    if flat.dtype.kind == "f":
        return _whole(flat, where), None
    return _of_text([None if value is None else str(value).strip() for value in flat.tolist()], where)


def from_names(names: Sequence[str]) -> tuple[Array, tuple[str, ...]]:
    """Number names in their sorted order."""
    found, y = np.unique(np.array(names, dtype=str), return_inverse=True)
    return y, tuple(found.tolist())


def classes_in_words(y: Array | None, source: str) -> str:
    """How many classes there are and where they come from, in words; nothing without labels."""
    if y is None:
        return ""
    n_classes, n_unknown = len(np.unique(y[y != UNKNOWN])), int(np.sum(y == UNKNOWN))
    unknown = f" ({counted(n_unknown, 'sample')} without)" if n_unknown else ""
    return f"{counted(n_classes, 'class')} {source}{unknown}"


def _flat(values: Any, n_samples: int, where: str) -> Array:
    flat = np.asarray(values)
    if flat.ndim == 2 and 1 in flat.shape:
        flat = flat.ravel()
    if flat.shape != (n_samples,):
        raise ReadingError(
            f"{where}: labels have shape {flat.shape}, and one label a sample, ({n_samples},), is expected."
        )
    return flat


def _whole(numbers: Array, where: str) -> Array:
    odd = ~np.isnan(numbers) & (numbers != np.round(numbers))
    if odd.any():
        raise ReadingError(
            f"{where}: {numbers[odd][0]:g} is not a class, and labels must be whole numbers or text, not measurements."
        )
    return np.where(np.isnan(numbers), UNKNOWN, numbers).astype(np.int64)


def _of_text(texts: Sequence[str | None], where: str) -> tuple[Array, tuple[str, ...] | None]:
    """Numbers where all of them are, else names; an empty cell is unknown."""
    known = np.array([bool(text) for text in texts])
    if not known.any():
        raise ReadingError(f"{where}: no sample has a label, and at least one is expected.")
    given = [text for text in texts if text]
    try:
        values, names = _whole(np.array(given, dtype=float), where), None
    except ReadingError:
        raise
    except ValueError:
        values, names = from_names(given)
    y = np.full(len(texts), UNKNOWN)
    y[known] = values
    return y, names
