"""``.parquet``, by pyarrow, in batches of rows."""

from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.reading.columns import Columns
from deepnmf.reading.dataset import Dataset, Request
from deepnmf.reading.errors import ReadingError, needed, said

BATCH_ROWS = 2**12


def read_parquet(request: Request) -> Dataset:
    """A table of numbers; null is NaN, not observed."""
    pyarrow, arrow_parquet = needed("pyarrow", "pyarrow", "tables"), needed("pyarrow.parquet", "pyarrow", "tables")
    try:
        with arrow_parquet.ParquetFile(request.path) as file:
            columns = Columns.of(file.schema_arrow.names, request)
            X, texts = _rows(file, columns, request)
    except pyarrow.ArrowInvalid as error:
        raise ReadingError(f"{request.path} is not a whole .parquet file: {said(error)}.") from error
    return columns.dataset(X, texts, request)


def _rows(file: Any, columns: Columns, request: Request) -> tuple[Array, dict[int, list[Any]]]:
    n_samples, size = file.metadata.num_rows, request.path.stat().st_size
    X = np.empty((n_samples, len(columns.features)), _dtype(file.schema_arrow, columns, request))
    texts: dict[int, list[Any]] = {place: [] for place in columns.texts}
    n_rows = 0
    wanted = [columns.header[place] for place in (*columns.features, *columns.texts)]
    for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
        rows = X[n_rows : n_rows + batch.num_rows]
        for j, name in enumerate(columns.feature_names):
            rows[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
        for place, cells in texts.items():
            cells.extend(batch.column(columns.header[place]).to_pylist())
        n_rows += batch.num_rows
        request.tell(size * n_rows // n_samples, size)
    return X, texts


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
