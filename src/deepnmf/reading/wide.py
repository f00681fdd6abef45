"""Tables of many columns, row by row: pyarrow takes some kilobytes for each column of a block."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from deepnmf.arrays import Array
from deepnmf.reading.columns import Columns
from deepnmf.reading.dataset import Request
from deepnmf.reading.errors import needed
from deepnmf.reading.layout import Layout, rows_of

Block = tuple[Array, dict[int, list[Any]]]


def wide_blocks(request: Request, layout: Layout, columns: Columns) -> Iterator[Block]:
    """Blocks of one row: the features' numbers, and the cells of columns of text."""
    pyarrow = needed("pyarrow", "pyarrow", "tables")
    size = request.path.stat().st_size
    with request.path.open("rb") as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        for line, row in rows_of(text, layout.delimiter):
            if line <= layout.n_header_lines:
                continue
            try:
                numbers = _numbers([row[place] for place in columns.features])
            except (IndexError, pyarrow.ArrowInvalid) as error:
                raise layout.fault(row, line, columns, request.path) from error
            if len(row) != len(layout.header) or len(numbers) != len(columns.features):
                raise layout.fault(row, line, columns, request.path)
            request.tell(file.tell(), size)
            yield numbers.reshape(1, -1), {place: [row[place]] for place in columns.texts}


def _numbers(cells: Sequence[str]) -> Array:
    """Numbers of a row, which pyarrow reads as those of a column, by the same rules as those of other tables."""
    pyarrow, csv = needed("pyarrow", "pyarrow", "tables"), needed("pyarrow.csv", "pyarrow", "tables")
    column = "\n".join([*cells, ""]).encode()
    table = csv.read_csv(
        pyarrow.BufferReader(column),
        csv.ReadOptions(use_threads=False, column_names=["numbers"], block_size=len(column) + 1),
        csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types={"numbers": pyarrow.float64()}),
    )
    return table.column(0).to_numpy()
