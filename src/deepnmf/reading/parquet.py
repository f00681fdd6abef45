"""``.parquet``, by pyarrow, in batches of rows and columns."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.columns import Columns
from deepnmf.reading.dataset import Dataset, Request
from deepnmf.reading.errors import ReadingError, needed, said

BATCH_ROWS, BATCH_COLUMNS = 2**12, 2**12


def read_parquet(request: Request) -> Dataset:
    """A table of numbers; null is NaN, not observed."""
    pyarrow, arrow_parquet = needed("pyarrow", "pyarrow", "tables"), needed("pyarrow.parquet", "pyarrow", "tables")
    try:
        # pyarrow takes no name that is not UTF-8.
        with request.path.open("rb") as opened, arrow_parquet.ParquetFile(opened) as file:
            columns = Columns.of(file.schema_arrow.names, request)
            X, texts = _rows(file, columns, request)
    except pyarrow.ArrowInvalid as error:
        raise ReadingError(f"{request.path} is not a whole .parquet file: {said(error)}.") from error
    return columns.dataset(X, texts, request)


def _rows(file: Any, columns: Columns, request: Request) -> tuple[Array, dict[int, list[Any]]]:
    shape = n_samples, n_features = file.metadata.num_rows, len(columns.features)
    X, size = np.empty(shape, _dtype(file.schema_arrow, columns, request)), request.path.stat().st_size
    for first in range(0, n_features, BATCH_COLUMNS):
        names = columns.feature_names[first : first + BATCH_COLUMNS]
        for rows, batch in _batches(file, names, request):
            for j, name in enumerate(names, start=first):
                X[rows, j] = batch.column(name).to_numpy(zero_copy_only=False)
            request.tell(size * (first * n_samples + len(names) * rows.stop) // X.size, size)
    texts: dict[int, list[Any]] = {place: [] for place in columns.texts}
    for _, batch in _batches(file, [columns.header[place] for place in texts], request):
        for place, cells in texts.items():
            cells.extend(batch.column(columns.header[place]).to_pylist())
    return X, texts


def _batches(file: Any, names: Sequence[str], request: Request) -> Iterator[tuple[slice, Any]]:
    """Blocks of rows of some columns, and where they lie."""
    n_rows = 0
    for batch in file.iter_batches(BATCH_ROWS, columns=list(names)) if names else ():
        yield slice(n_rows, n_rows + batch.num_rows), batch
        n_rows += batch.num_rows
    if names and n_rows != file.metadata.num_rows:
        raise ReadingError(f"{request.path} holds {n_rows} rows: expected {file.metadata.num_rows}, as its end says.")


def _dtype(schema: Any, columns: Columns, request: Request) -> Any:
    """Single precision where every column has it; a column that holds no numbers is refused."""
    types = needed("pyarrow.types", "pyarrow", "tables")
    found = {name: schema.field(name).type for name in columns.feature_names}
    for name, kind in found.items():
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise ReadingError(
                f"{request.path}, column {name!r}: {kind} is not a number; --labels or --names takes a column of text."
            )
    return np.float32 if all(types.is_float32(kind) for kind in found.values()) else np.float64
