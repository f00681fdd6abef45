"""``.csv`` and ``.tsv``: parsed in blocks by pyarrow, straight into the rows of one array.

The lines are counted first, so that the array is made once, and pages of it that stay untouched cost nothing: what is
held beside it is a block of a few megabytes.
pandas takes a row that is too short for one with missing values; pyarrow refuses it, which is why it reads here.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.columns import Columns
from deepnmf.reading.dataset import Dataset, Request
from deepnmf.reading.errors import ReadingError, needed, said

BLOCK_BYTES = 2**20  # pyarrow reads 32 blocks ahead
ROWS_IN_A_BLOCK = 16  # at least: a row must not be longer than a block
LARGE_BYTES = 2**26
SHORT_CELL = 3.0  # bytes, the delimiter among them
ROW_NUMBER = re.compile(r"Row #(\d+)")


@dataclass(frozen=True)
class Layout:
    """What the first line says."""

    delimiter: str
    header: tuple[str, ...]
    n_header_lines: int  # 0 where the first line is data
    line_length: int

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.n_header_lines > 0


def read_delimited(request: Request) -> Dataset:
    """A table with the features' names in its first line; an empty cell is NaN, not observed."""
    layout = _layout(request.path)
    columns = Columns.of(layout.header, request)
    n_lines = _count_lines(request.path)
    X = np.empty((n_lines, len(columns.features)), _dtype(request.path, n_lines * len(layout.header)))
    texts: dict[int, list[Any]] = {place: [] for place in columns.texts}
    n_rows = 0
    for batch in _batches(request, layout, columns):
        X[n_rows : n_rows + batch.num_rows] = _numbers(batch, X.shape[1])
        for place, cells in texts.items():
            cells.extend(batch.column(str(place)).to_pylist())
        n_rows += batch.num_rows
    return columns.dataset(X[:n_rows], texts, request, layout.named)


def _dtype(path: Path, n_cells: int) -> type[np.floating[Any]]:
    """Single precision for large files of short numbers, which would take four times the file's size in double."""
    size = path.stat().st_size
    return np.float32 if size > LARGE_BYTES and size < SHORT_CELL * n_cells else np.float64


# ------------------------------------------------------------------------------------ the first line


def _layout(path: Path) -> Layout:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next((line for line in file if line.strip()), "")
            delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=first.count)
            file.seek(0)
            line_length = max(map(len, islice(file, 3)))
            file.seek(0)
            lines = csv.reader(file, delimiter=delimiter)
            header = next((row for row in lines if row), [])
    except UnicodeDecodeError as error:
        raise ReadingError(f"{path} is not text in UTF-8: {error.reason} at byte {error.start}.") from error
    if not header:
        raise ReadingError(f"{path} is empty.")
    names = tuple(name.strip() for name in header)
    if _is_data(names):
        return Layout(delimiter, tuple(f"column {j + 1}" for j in range(len(names))), 0, line_length)
    return Layout(delimiter, names, lines.line_num, line_length)


def _is_data(cells: Sequence[str]) -> bool:
    """Whether a first line is numbers; those that count the columns are names all the same."""
    counts = ([str(j) for j in range(begin, begin + len(cells))] for begin in (0, 1))
    return all(map(_is_number, cells)) and list(cells) not in counts


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# ------------------------------------------------------------------------------------------ the rows


def _count_lines(path: Path) -> int:
    """At least as many as there are rows."""
    with path.open("rb") as file:
        return 1 + sum(block.count(b"\n") for block in iter(lambda: file.read(BLOCK_BYTES), b""))


def _batches(request: Request, layout: Layout, columns: Columns) -> Iterator[Any]:
    """Blocks of rows, columns called by their places: names of columns need not differ to pyarrow then."""
    pyarrow, arrow_csv = needed("pyarrow", "pyarrow", "tables"), needed("pyarrow.csv", "pyarrow", "tables")
    size = request.path.stat().st_size
    with request.path.open("rb") as file:
        try:
            reader = arrow_csv.open_csv(file, **_options(pyarrow, arrow_csv, layout, columns))
            with closing(reader):
                for batch in reader:
                    request.tell(file.tell(), size)
                    yield batch
        except pyarrow.ArrowInvalid as error:
            raise _located(error, request.path, layout, columns) from error


def _options(pyarrow: Any, arrow_csv: Any, layout: Layout, columns: Columns) -> dict[str, Any]:
    types = dict.fromkeys(map(str, columns.features), pyarrow.float64()) | dict.fromkeys(
        map(str, columns.texts), pyarrow.string()
    )
    return {
        "read_options": arrow_csv.ReadOptions(
            use_threads=False,  # only then does an error know its row
            block_size=max(BLOCK_BYTES, ROWS_IN_A_BLOCK * layout.line_length),
            skip_rows=layout.n_header_lines,
            column_names=[str(j) for j in range(len(layout.header))],
        ),
        "parse_options": arrow_csv.ParseOptions(delimiter=layout.delimiter),
        "convert_options": arrow_csv.ConvertOptions(column_types=types, include_columns=list(types)),
    }


def _numbers(batch: Any, n_features: int) -> Array:
    """The features of a batch, which are its first columns, row by row."""
    features = batch.select(list(range(n_features)))
    return np.asarray(features.to_tensor(null_to_nan=True, row_major=True).to_numpy())


# ----------------------------------------------------------------------------- what is wrong, and where


def _located(error: Exception, path: Path, layout: Layout, columns: Columns) -> ReadingError:
    """Name line and column; pyarrow counts rows without the empty ones."""
    number = ROW_NUMBER.search(str(error))
    if number is None:
        return ReadingError(f"{path} cannot be read as a table: {said(error)}.")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        line, row = _row(file, layout.delimiter, int(number[1]))
    expected = len(layout.header)
    if len(row) != expected:
        cells = "cell" if len(row) == 1 else "cells"
        return ReadingError(f"{path}, line {line}: {len(row)} {cells}, but the first line has {expected}.")
    wrong = next((j for j in columns.features if row[j].strip() and not _is_number(row[j])), columns.features[0])
    name = layout.header[wrong]
    return ReadingError(
        f"{path}, line {line}, column {name!r}: {row[wrong]!r} is not a number; "
        "--labels or --names takes a column of text."
    )


def _row(file: Any, delimiter: str, number: int) -> tuple[int, list[str]]:
    lines = csv.reader(file, delimiter=delimiter)
    for count, row in enumerate((row for row in lines if row), start=1):
        if count == number:
            return lines.line_num, row
    return lines.line_num, []
