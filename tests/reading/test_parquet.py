"""Tables in Parquet are read in batches of rows and columns."""

from contextlib import suppress

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from deepnmf.reading import ReadingError, read, tables


@pytest.mark.parametrize("rows", [2, 100])
@pytest.mark.parametrize("columns", [1, 2, 100])
def test_batches_of_rows_and_columns_are_one_table(tmp_path, monkeypatch, rows, columns):
    monkeypatch.setattr(tables, "BATCH_ROWS", rows)
    monkeypatch.setattr(tables, "BATCH_COLUMNS", columns)
    X = np.arange(35.0).reshape(7, 5)
    labels, path, progress = list("aabbabb"), tmp_path / "a.parquet", []
    parquet.write_table(pyarrow.table({"kind": labels} | {f"g{j}": X[:, j] for j in range(5)}), path)
    data = read(path, labels="kind", on_bytes=lambda read, total: progress.append((read, total)))
    np.testing.assert_array_equal(data.X, X)
    assert [data.class_names[label] for label in data.y] == labels
    assert progress == sorted(progress)
    assert progress[-1] == (path.stat().st_size, path.stat().st_size)


def promising(rows, path):
    """Change the byte that holds the number of rows, 3, which is stored as 2 * 3."""
    content = path.read_bytes()
    for place in [place for place, byte in enumerate(content) if byte == 2 * 3]:
        path.write_bytes(content[:place] + bytes([2 * rows]) + content[place + 1 :])
        with suppress(OSError, pyarrow.ArrowException):
            if parquet.read_metadata(path).num_rows == rows:
                return path
    return pytest.fail("the number of rows was not found")


def test_a_file_with_fewer_rows_than_it_says_is_refused(tmp_path):
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    with pytest.raises(ReadingError, match=r"contains 3 rows: expected 4, the number in its footer\.$"):
        read(promising(4, tmp_path / "a.parquet"))
