"""Labels of any kind as classes: integers, with names if the labels are text, and -1 for unknown labels."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.dataset import ReadingError, count_text

UNKNOWN = -1
NUMERAL = re.compile(r"[+-]?(nan|(\d+\.?\d*|\.\d+)(e[+-]?\d{1,9})?)", re.ASCII | re.IGNORECASE)
LEAST, MOST = -(2**63), 2**63 - 1  # integers of 64 bits


def classes(values: Any, n_samples: int, where: str) -> tuple[Array, tuple[str, ...] | None]:
    """Return the class of each sample and the names of the classes, None if the classes are numbers.

    `where` is the beginning of error messages, such as "digits.csv, column 'label'".
    """
    flat = _flat(values, n_samples, where)
    if flat.dtype.kind in "biuf":
        found, places = np.unique(flat, return_inverse=True)
        values, names = _numbered([_whole(Decimal(value), where) for value in found.tolist()])
        return values[places], names
    return _of_text([None if value is None else str(value).strip() for value in flat.tolist()], where)


def from_names(names: Sequence[str]) -> tuple[Array, tuple[str, ...]]:
    """Number the names in sorted order."""
    found = sorted(set(names))
    return _looked_up(names, dict(zip(found, range(len(found)), strict=True))), tuple(found)


def joined_labels(columns: Sequence[Array]) -> Array | None:
    """Return the labels of one attribute as a vector, of several as columns; None without any."""
    if len(columns) < 2:
        return columns[0] if columns else None
    return np.stack(columns, axis=1)


def class_count_text(y: Array | None, source: str) -> str:
    """Return the number of classes and their source in words; an empty text without labels."""
    if y is None:
        return ""
    n_classes, n_unknown = len(np.unique(y[y != UNKNOWN])), int(np.sum(y == UNKNOWN))
    unknown = f" ({count_text(n_unknown, 'sample')} without label)" if n_unknown else ""
    return f"{count_text(n_classes, 'class')} {source}{unknown}"


def _flat(values: Any, n_samples: int, where: str) -> Array:
    flat = np.asarray(values)
    if flat.ndim == 2 and 1 in flat.shape:
        flat = flat.ravel()
    if flat.shape != (n_samples,):
        raise ReadingError(
            f"{where}: the labels have shape {flat.shape}: expected ({n_samples},), one label per sample."
        )
    return flat


def _of_text(texts: Sequence[str | None], where: str) -> tuple[Array, tuple[str, ...] | None]:
    """Return numbers if all texts are numbers, otherwise names; an empty text is an unknown label."""
    known = np.array([bool(text) for text in texts])
    if not known.any():
        raise ReadingError(f"{where}: no sample has a label: expected at least one.")
    given = [text for text in texts if text]
    values, names = _from_numerals(given, where) if all(map(NUMERAL.fullmatch, given)) else from_names(given)
    y = np.full(len(texts), UNKNOWN)
    y[known] = values
    return y, names


def _from_numerals(texts: Sequence[str], where: str) -> tuple[Array, tuple[str, ...] | None]:
    found = list(dict.fromkeys(texts))
    values, names = _numbered([_whole(Decimal(text), where) for text in found])
    return _looked_up(texts, dict(zip(found, values.tolist(), strict=True))), names


def _looked_up(texts: Sequence[str], numbers: Mapping[str, int]) -> Array:
    return np.array([numbers[text] for text in texts], dtype=np.int64)


def _whole(number: Decimal, where: str) -> Decimal:
    """Return a number if it can be a class; decimals are exact, while a float cannot represent 2^53 + 1."""
    if number.is_nan():
        return Decimal(UNKNOWN)
    if number.is_infinite() or number != number.to_integral_value():
        raise ReadingError(
            f"{where}: {number:g} is not a class: expected integers or text as labels, not measurements."
        )
    return number


def _numbered(numbers: Sequence[Decimal]) -> tuple[Array, tuple[str, ...] | None]:
    """Return the numbers, or their ranks and names if some have more than 64 bits."""
    if all(LEAST <= number <= MOST for number in numbers):
        return np.array([int(number) for number in numbers], dtype=np.int64), None
    found = sorted(set(numbers) - {Decimal(UNKNOWN)})
    places = {number: place for place, number in enumerate(found)} | {Decimal(UNKNOWN): UNKNOWN}
    return np.array([places[number] for number in numbers]), tuple(map(str, found))
