"""``.csv`` and ``.tsv``: parsed in blocks by pyarrow, straight into the rows of one array.

The lines are counted first, so that the array is made once, and pages of it that stay untouched cost nothing: what is
held beside it is a block of a few megabytes.
pandas takes a row that is too short for one with missing values; pyarrow refuses it, which is why it reads here.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.columns import Columns
from deepnmf.reading.dataset import Dataset, Request
from deepnmf.reading.errors import ReadingError, needed, said
from deepnmf.reading.layout import Layout, rows_of
from deepnmf.reading.wide import Block, wide_blocks

BLOCK_BYTES = 2**20  # pyarrow reads 32 blocks ahead
ROWS_IN_A_BLOCK = 16  # at least: a row must not be longer than a block
WIDE = 2**12  # columns; pyarrow takes 9 kB for each
LARGE_BYTES = 2**26
SHORT_CELL = 3.0  # bytes, the delimiter among them
ROW_NUMBER = re.compile(r"Row #(\d+)")


def read_delimited(request: Request) -> Dataset:
    """A table with the features' names in its first line; an empty cell is NaN, not observed."""
    layout = Layout.of(request.path)
    columns = Columns.of(layout.header, request)
    most_rows, n_columns = _most_rows(request.path, len(layout.header)), len(layout.header)
    X = np.empty((most_rows, len(columns.features)), _dtype(request.path, most_rows * n_columns))
    texts: dict[int, list[Any]] = {place: [] for place in columns.texts}
    n_rows = 0
    for numbers, cells in (wide_blocks if n_columns > WIDE else _blocks)(request, layout, columns):
        X[n_rows : n_rows + len(numbers)] = numbers
        for place, column in cells.items():
            texts[place].extend(column)
        n_rows += len(numbers)
        del numbers  # before the next block is made
    return columns.dataset(X[:n_rows], texts, request, layout.named)


def _dtype(path: Path, n_cells: int) -> type[np.floating[Any]]:
    """Single precision for large files of short numbers, which would take four times the file's size in double."""
    size = path.stat().st_size
    return np.float32 if size > LARGE_BYTES and size < SHORT_CELL * n_cells else np.float64


def _most_rows(path: Path, n_columns: int) -> int:
    """As many rows as there are ends of lines, but a row has at least a byte for each column."""
    with path.open("rb") as file:
        n_lines = 1 + sum(map(_count_ends, iter(lambda: file.read(BLOCK_BYTES), b"")))
    return min(n_lines, 1 + path.stat().st_size // n_columns)


def _count_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _blocks(request: Request, layout: Layout, columns: Columns) -> Iterator[Block]:
    """Blocks of rows, columns called by their places: names of columns need not differ to pyarrow then."""
    pyarrow, arrow_csv = needed("pyarrow", "pyarrow", "tables"), needed("pyarrow.csv", "pyarrow", "tables")
    size = request.path.stat().st_size
    with request.path.open("rb") as file:
        try:
            reader = arrow_csv.open_csv(file, **_options(pyarrow, arrow_csv, layout, columns))
            with closing(reader):
                for batch in reader:
                    request.tell(file.tell(), size)
                    cells = {place: batch.column(str(place)).to_pylist() for place in columns.texts}
                    yield _numbers(batch, len(columns.features)), cells
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


def _located(error: Exception, path: Path, layout: Layout, columns: Columns) -> ReadingError:
    """Name line and column; pyarrow counts rows without the empty ones."""
    number = ROW_NUMBER.search(str(error))
    if number is None:
        return ReadingError(f"{path} cannot be read as a table: {said(error)}.")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        place = int(number[1]) - 1
        line, row = next(islice(rows_of(file, layout.delimiter), place, None), (0, []))
    return layout.fault(row, line, columns, path)
