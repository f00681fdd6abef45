"""``.csv`` and ``.tsv`` files, parsed in blocks by pyarrow into one array.

The lines are counted first, so that the array is allocated once; besides it, only a block of a few megabytes is in
memory. pandas would fill a row that is too short with missing values; pyarrow refuses it.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.column_kinds import FALSE, MISSING, SAMPLE_CELLS, SAMPLE_ROWS, TRUE, is_number
from deepnmf.reading.dataset import Dataset, ReadingError, Request, count_text, import_optional, library_message
from deepnmf.reading.tables import Columns

# ------------------------------------------------------------------------------------ the first line


@dataclass(frozen=True)
class Layout:
    """The delimiter, the header and the length of the lines."""

    delimiter: str
    header: tuple[str, ...]
    n_header_lines: int  # 0 if the first line is data
    line_length: int

    @classmethod
    def of(cls, path: Path) -> "Layout":
        """Determine the layout from the first lines of a file."""
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                first = next((line for line in file if line.strip()), "")
                delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=first.count)
                file.seek(0)
                line_length = max(map(len, islice(file, 3)))
                file.seek(0)
                n_lines, header = next(rows_of(file, delimiter), (0, []))
        except UnicodeDecodeError as error:
            raise ReadingError(f"{path} is not text in UTF-8: {error.reason} at byte {error.start}.") from error
        if not header:
            raise ReadingError(f"{path} is empty.")
        names = tuple(name.strip() for name in header)
        if _is_data(names):
            return cls(delimiter, tuple(f"column {j + 1}" for j in range(len(names))), 0, line_length)
        return cls(delimiter, names, n_lines, line_length)

    @property
    def named(self) -> bool:
        """Whether the columns have names."""
        return self.n_header_lines > 0

    def fault(self, row: Sequence[str], line: int, columns: Columns, path: Path) -> ReadingError:
        """Return an error that describes what is wrong with a row."""
        expected = len(self.header)
        if len(row) != expected:
            return ReadingError(
                f"{path}, line {line}: {count_text(len(row), 'cell')}, but the first line has {expected}."
            )
        wrong = next((j for j in columns.features if _is_wrong(row[j], j in columns.booleans)), columns.features[0])
        return ReadingError(
            f"{path}, line {line}, column {self.header[wrong]!r}: {row[wrong]!r} is not a number; "
            "pass --labels or --names for a column of text."
        )


def _is_wrong(cell: str, is_boolean: bool) -> bool:
    text = cell.strip()
    return text not in MISSING and not (text.lower() in (*TRUE, *FALSE) if is_boolean else is_number(text))


def rows_of(file: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with the numbers of their last lines; empty lines are skipped."""
    lines = csv.reader(file, delimiter=delimiter)
    return ((lines.line_num, row) for row in lines if row)


def _is_data(cells: Sequence[str]) -> bool:
    """Whether the first line contains numbers; numbers that count the columns are names."""
    counts = ([str(j) for j in range(begin, begin + len(cells))] for begin in (0, 1))
    return all(map(is_number, cells)) and list(cells) not in counts


# ---------------------------------------------------------------------------- tables of many columns


Block = tuple[Array, dict[int, list[Any]]]


def wide_blocks(request: Request, layout: Layout, columns: Columns) -> Iterator[Block]:
    """Yield one row at a time: the numbers of the features, and the cells of columns of text."""
    pyarrow = import_optional("pyarrow", "pyarrow", "tables")
    size = request.path.stat().st_size
    with request.path.open("rb") as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        for line, row in rows_of(text, layout.delimiter):
            if line <= layout.n_header_lines:
                continue
            try:
                numbers = _row_numbers([_numeral(row[place], place, columns) for place in columns.features])
            except (IndexError, pyarrow.ArrowInvalid) as error:
                raise layout.fault(row, line, columns, request.path) from error
            if len(row) != len(layout.header) or len(numbers) != len(columns.features):
                raise layout.fault(row, line, columns, request.path)
            request.report_progress(file.tell(), size)
            yield numbers.reshape(1, -1), {place: [row[place]] for place in columns.texts}


def _numeral(cell: str, place: int, columns: Columns) -> str:
    """Return a Boolean as 0 or 1, other cells unchanged."""
    if place not in columns.booleans:
        return cell
    return {**dict.fromkeys(TRUE, "1"), **dict.fromkeys(FALSE, "0")}.get(cell.strip().lower(), cell)


def _row_numbers(cells: Sequence[str]) -> Array:
    """Return the numbers of a row, which pyarrow parses as a column by the rules for other tables."""
    pyarrow, csv = import_optional("pyarrow", "pyarrow", "tables"), import_optional("pyarrow.csv", "pyarrow", "tables")
    column = "\n".join([*cells, ""]).encode()
    table = csv.read_csv(
        pyarrow.BufferReader(column),
        csv.ReadOptions(use_threads=False, column_names=["numbers"], block_size=len(column) + 1),
        csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types={"numbers": pyarrow.float64()}, null_values=MISSING),
    )
    return table.column(0).to_numpy()


# ------------------------------------------------------------------------------------ blocks of rows


BLOCK_BYTES = 2**20  # pyarrow reads 32 blocks ahead
LEAST_ROWS_IN_A_BLOCK = 16  # a row must not be longer than a block
WIDE = 2**12  # columns; pyarrow needs 9 kB for each
LARGE_BYTES = 2**26
SHORT_CELL = 3.0  # bytes, including the delimiter
ROW_NUMBER = re.compile(r"Row #(\d+)")


def read_delimited(request: Request) -> Dataset:
    """Read a table whose first line contains the names of the features; an empty cell becomes NaN (not observed)."""
    layout = Layout.of(request.path)
    columns = Columns.of(layout.header, request, _samples(request.path, layout))
    most_rows, n_columns = _most_rows(request.path, len(layout.header)), len(layout.header)
    X = np.empty((most_rows, len(columns.features)), _dtype(request.path, most_rows * n_columns))
    texts: dict[int, list[Any]] = {place: [] for place in columns.texts}
    n_rows = 0
    for numbers, cells in (wide_blocks if n_columns > WIDE else _blocks)(request, layout, columns):
        X[n_rows : n_rows + len(numbers)] = numbers
        for place, column in cells.items():
            texts[place].extend(column)
        n_rows += len(numbers)
        del numbers  # before the next block is allocated
    return columns.dataset(X[:n_rows], texts, request, layout.named)


def _samples(path: Path, layout: Layout) -> list[list[str]]:
    """Return the first cells of each column; rows of another length are left to the parser."""
    n_columns = len(layout.header)
    n_rows = max(1, min(SAMPLE_ROWS, SAMPLE_CELLS // n_columns))
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        data = (row for line, row in rows_of(file, layout.delimiter) if line > layout.n_header_lines)
        rows = [row for row in islice(data, n_rows) if len(row) == n_columns]
    return [list(cells) for cells in zip(*rows, strict=True)] if rows else [[] for _ in layout.header]


def _dtype(path: Path, n_cells: int) -> type[np.floating[Any]]:
    """Return float32 for large files of short numbers, which would need four times their size in double precision."""
    size = path.stat().st_size
    return np.float32 if size > LARGE_BYTES and size < SHORT_CELL * n_cells else np.float64


def _most_rows(path: Path, n_columns: int) -> int:
    """Return an upper bound of the number of rows: the number of lines; a row has at least one byte per column."""
    with path.open("rb") as file:
        n_lines = 1 + sum(map(_count_line_ends, iter(partial(file.read, BLOCK_BYTES), b"")))
    return min(n_lines, 1 + path.stat().st_size // n_columns)


def _count_line_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _blocks(request: Request, layout: Layout, columns: Columns) -> Iterator[Block]:
    """Yield blocks of rows; columns are named by their indices, because names may occur twice."""
    pyarrow, arrow_csv = (
        import_optional("pyarrow", "pyarrow", "tables"),
        import_optional("pyarrow.csv", "pyarrow", "tables"),
    )
    size = request.path.stat().st_size
    with request.path.open("rb") as file:
        try:
            reader = arrow_csv.open_csv(file, **_options(pyarrow, arrow_csv, layout, columns))
            with closing(reader):
                for batch in reader:
                    request.report_progress(file.tell(), size)
                    cells = {place: batch.column(str(place)).to_pylist() for place in columns.texts}
                    yield _batch_numbers(batch, columns), cells
        except pyarrow.ArrowInvalid as error:
            raise _error_with_line(error, request.path, layout, columns) from error


def _options(pyarrow: Any, arrow_csv: Any, layout: Layout, columns: Columns) -> dict[str, Any]:
    numbers = {
        str(place): pyarrow.bool_() if place in columns.booleans else pyarrow.float64() for place in columns.features
    }
    types = numbers | dict.fromkeys(map(str, columns.texts), pyarrow.string())
    return {
        "read_options": arrow_csv.ReadOptions(
            use_threads=False,  # only then does an error contain the number of its row
            block_size=max(BLOCK_BYTES, LEAST_ROWS_IN_A_BLOCK * layout.line_length),
            skip_rows=layout.n_header_lines,
            column_names=[str(j) for j in range(len(layout.header))],
        ),
        "parse_options": arrow_csv.ParseOptions(delimiter=layout.delimiter),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=MISSING,
            true_values=_spellings(TRUE),
            false_values=_spellings(FALSE),
        ),
    }


def _spellings(words: Sequence[str]) -> list[str]:
    return [spelling for word in words for spelling in (word, word.capitalize(), word.upper())]


def _batch_numbers(batch: Any, columns: Columns) -> Array:
    """Return the features of a batch, which are its first columns, in row-major order."""
    features = batch.select(list(range(len(columns.features))))
    if columns.booleans:
        pyarrow = import_optional("pyarrow", "pyarrow", "tables")
        features = pyarrow.RecordBatch.from_arrays(
            [column.cast(pyarrow.float64()) for column in features.columns], features.schema.names
        )
    return np.asarray(features.to_tensor(null_to_nan=True, row_major=True).to_numpy())


def _error_with_line(error: Exception, path: Path, layout: Layout, columns: Columns) -> ReadingError:
    """Return an error with line and column; pyarrow does not count empty rows."""
    number = ROW_NUMBER.search(str(error))
    if number is None:
        return ReadingError(f"{path} cannot be read as a table: {library_message(error)}.")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        place = int(number[1]) - 1
        line, row = next(islice(rows_of(file, layout.delimiter), place, None), (0, []))
    return layout.fault(row, line, columns, path)
