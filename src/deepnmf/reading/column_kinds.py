"""Kinds of columns, by the first rows of a table: numbers, Booleans, dates and texts; labels, names and pixels."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Literal

ColumnKind = Literal["number", "boolean", "date", "text"]

SAMPLE_ROWS, SAMPLE_CELLS = 1000, 2**17
MISSING = ("", "NA", "N/A", "#N/A", "n/a", "nan", "NaN", "NULL", "null", "None", "?")
TRUE, FALSE = ("true", "yes", "t", "y"), ("false", "no", "f", "n")
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( .*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}"
)
USUAL_LABELS = ("label", "labels", "class", "target", "y", "species", "diagnosis", "category", "outcome", "cluster")
IDENTIFIER = re.compile(r"(.*[ _.-])?(id|identifier|uuid|index)|.*[a-z]I[Dd]|unnamed: 0|row[ _]?(number|names?)?")
MOST_CLASSES = 20
PIXEL = re.compile(r"(?:pixels?|px|p)[ _.-]?(\d+)", re.IGNORECASE)
PIXEL_PAIR = re.compile(r"(?:pixels?|px|p)?[ _.-]?(\d+)[x_.,:-](\d+)", re.IGNORECASE)
NUMBERED = re.compile(r"\D{0,12}\d+(\.\d+)?\D{0,4}|\D{0,12}\d+\D\d+")


def is_number(cell: str) -> bool:
    """Whether a cell is a number as Python and pyarrow read it."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python allows underscores between digits


@dataclass(frozen=True)
class ColumnSample:
    """A column by some of its cells, without those that are missing."""

    name: str
    cells: tuple[str, ...]

    @classmethod
    def of(cls, name: str, cells: Sequence[str]) -> "ColumnSample":
        """Remove missing cells."""
        stripped = (cell.strip() for cell in cells)
        return cls(name, tuple(cell for cell in stripped if cell not in MISSING))

    @cached_property
    def kind(self) -> ColumnKind:
        """The kind of most cells; a few texts in a column of numbers are mistakes."""
        n_numbers = sum(map(is_number, self.cells))
        if 2 * n_numbers >= len(self.cells):
            return "number"
        if all(cell.lower() in (*TRUE, *FALSE) for cell in self.cells):
            return "boolean"
        n_dates = sum(DATE.fullmatch(cell) is not None for cell in self.cells)
        return "date" if 2 * n_dates > len(self.cells) else "text"

    @property
    def n_different(self) -> int:
        """The number of different cells."""
        return len(set(self.cells))

    @property
    def is_repeated(self) -> bool:
        """Whether there are a few values that occur many times, as in labels."""
        counts = Counter(self.cells)
        return 2 <= len(counts) <= max(2, min(MOST_CLASSES, len(self.cells) // 3))

    @property
    def is_identifier(self) -> bool:
        """Whether the name is that of an identifier and no value occurs twice."""
        named = IDENTIFIER.fullmatch(self.name) or IDENTIFIER.fullmatch(self.name.lower())
        return named is not None and len(self.cells) > 1 and self.n_different == len(self.cells)

    @property
    def is_whole(self) -> bool:
        """Whether all cells are integers."""
        return all(is_number(cell) and float(cell).is_integer() for cell in self.cells)

    @property
    def has_a_label_name(self) -> bool:
        """Whether labels usually have this name."""
        return self.name.lower() in USUAL_LABELS


def label_like(columns: Sequence[ColumnSample]) -> list[str]:
    """Return the names of columns of numbers that may be labels.

    They have the name of labels; or they are the first or last column and have few integers, while most of the other
    columns have fractions.
    """
    named = [column.name for column in columns if column.has_a_label_name]
    if named or len(columns) < 3:
        return named
    n_whole = sum(column.is_whole for column in columns)
    ends = (columns[-1], columns[0])
    return [one.name for one in ends if one.is_whole and one.is_repeated and 2 * (n_whole - 1) < len(columns)][:1]


def pixel_shape(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the height and width of images whose pixels are the columns, from the names of the columns.

    Examples
    --------
    >>> pixel_shape([f"pixel_{i}_{j}" for i in range(8) for j in range(6)])
    (8, 6)
    >>> pixel_shape([f"pixel{i}" for i in range(784)])
    (28, 28)
    >>> pixel_shape(["height", "width"])
    """
    pairs = [PIXEL_PAIR.fullmatch(name) for name in names]
    if len(names) > 3 and all(pairs):
        numbers = [(int(pair[1]), int(pair[2])) for pair in pairs if pair]
        (top, left), (bottom, right) = numbers[0], numbers[-1]
        height, width = bottom - top + 1, right - left + 1
        expected = [(i, j) for i in range(top, bottom + 1) for j in range(left, right + 1)]
        return (height, width) if numbers == expected else None
    side = isqrt(len(names))
    return (side, side) if side > 1 and side * side == len(names) and all(map(PIXEL.fullmatch, names)) else None


def are_numbered(names: Sequence[str]) -> bool:
    """Whether columns are numbered, such as wavelengths, pixels or genes of an array; they then have the same unit.

    Examples
    --------
    >>> are_numbered(["x1", "x2", "x3"]), are_numbered(["400.5 nm", "401 nm"]), are_numbered(["age", "height"])
    (True, True, False)
    """
    return 2 * sum(NUMBERED.fullmatch(name) is not None for name in names) > len(names)
