"""The first line of a delimited table, and what may be wrong with any other."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from deepnmf.reading.columns import Columns
from deepnmf.reading.dataset import counted
from deepnmf.reading.errors import ReadingError


@dataclass(frozen=True)
class Layout:
    """What the first line says."""

    delimiter: str
    header: tuple[str, ...]
    n_header_lines: int  # 0 where the first line is data
    line_length: int

    @classmethod
    def of(cls, path: Path) -> "Layout":
        """Look at the first lines of a file."""
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
        """Say what is wrong with a row."""
        expected = len(self.header)
        if len(row) != expected:
            return ReadingError(f"{path}, line {line}: {counted(len(row), 'cell')}, but the first line has {expected}.")
        wrong = next((j for j in columns.features if row[j].strip() and not _is_number(row[j])), columns.features[0])
        return ReadingError(
            f"{path}, line {line}, column {self.header[wrong]!r}: {row[wrong]!r} is not a number; "
            "--labels or --names takes a column of text."
        )


def rows_of(file: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows, each with the number of its last line; empty lines are none."""
    lines = csv.reader(file, delimiter=delimiter)
    return ((lines.line_num, row) for row in lines if row)


def _is_data(cells: Sequence[str]) -> bool:
    """Whether a first line is numbers; those that count the columns are names all the same."""
    counts = ([str(j) for j in range(begin, begin + len(cells))] for begin in (0, 1))
    return all(map(_is_number, cells)) and list(cells) not in counts


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # which Python takes for a separator of digits
