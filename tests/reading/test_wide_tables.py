"""Tables of many columns are read row by row, by the same rules as others."""

import tracemalloc

import numpy as np
import pyarrow
import pytest

from deepnmf.reading import ReadingError, delimited, read

TABLE = """name,a,b,"c, quoted",kind
"Anna, B.",1, 2.5 ,NA,plum

Ben,,-inf,3e2,"two
lines"
Cleo,nan,"4",null,
"""


@pytest.fixture(params=[0, 2**12], ids=["wide", "narrow"])
def any_width(request, monkeypatch):
    monkeypatch.setattr(delimited, "WIDE", request.param)


def refusal(path, **options):
    with pytest.raises(ReadingError) as caught:
        read(path, **options)
    return str(caught.value).removeprefix(str(path))


@pytest.fixture
def pool():
    """A memory pool that records the peak of pyarrow since the test began."""
    usual = pyarrow.default_memory_pool()
    pool = pyarrow.proxy_memory_pool(usual)
    pyarrow.set_memory_pool(pool)
    yield pool
    pyarrow.set_memory_pool(usual)


def test_a_csv_of_many_columns_takes_less_than_ten_times_what_the_result_needs(tmp_path, pool):
    n_columns = 50_000
    names = ",".join(f"gene{j}" for j in range(n_columns))
    (tmp_path / "a.csv").write_text(f"{names}\n" + 3 * (",".join(["0.125"] * n_columns) + "\n"))
    tracemalloc.start()
    try:
        data = read(tmp_path / "a.csv")
        result, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (data.X == 0.125).all()
    assert peak + pool.max_memory() < 10 * result


def test_wide_and_narrow_tables_are_read_by_the_same_rules(tmp_path, any_width):
    (tmp_path / "a.csv").write_text(TABLE, encoding="utf-8-sig")
    data = read(tmp_path / "a.csv", names="name", labels="kind")
    np.testing.assert_array_equal(data.X, [[1, 2.5, np.nan], [np.nan, -np.inf, 300], [np.nan, 4, np.nan]])
    assert data.feature_names == ("a", "b", "c, quoted")
    assert data.sample_names == ("Anna, B.", "Ben", "Cleo")
    assert (data.y.tolist(), data.class_names) == ([0, 1, -1], ("plum", "two\nlines"))


def test_a_table_without_a_header_keeps_its_first_row(tmp_path, any_width):
    (tmp_path / "a.tsv").write_text("5\t6\n7\t8")
    assert read(tmp_path / "a.tsv").X.tolist() == [[5, 6], [7, 8]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_no_row_is_lost_whatever_ends_the_lines(tmp_path, any_width, end):
    (tmp_path / "a.csv").write_bytes(end.join(["a,b", "1,2", "3,4", "5,6"]).encode())
    assert read(tmp_path / "a.csv").X.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("5", ", line 4: 1 cell, but the first line has 2."),
        ("5,6,7", ", line 4: 3 cells, but the first line has 2."),
        ("5,6o", ", line 4, column 'b': '6o' is not a number; pass --labels or --names for a column of text."),
        ("5,1_0", ", line 4, column 'b': '1_0' is not a number; pass --labels or --names for a column of text."),
        ('5,"6,7"', ", line 4, column 'b': '6,7' is not a number; pass --labels or --names for a column of text."),
    ],
)
def test_a_wrong_row_is_named_by_line_and_column(tmp_path, any_width, row, fault):
    (tmp_path / "a.csv").write_text(f"a,b\n1,2\n3,4\n{row}\n5,6\n")
    assert refusal(tmp_path / "a.csv") == fault


def test_a_number_over_two_lines_is_refused(tmp_path, any_width):
    (tmp_path / "a.csv").write_text('a,b\n1,"2\n3"\n4,5\n')
    assert "is not a number" in refusal(tmp_path / "a.csv")


def test_empty_lines_allocate_no_rows(tmp_path):
    names = ",".join(f"p{j}" for j in range(1000))
    (tmp_path / "a.csv").write_text(f"{names}\n" + 999 * "1," + "1\n" + 10**7 * "\n")  # 80 GB of rows
    tracemalloc.start()
    try:
        assert read(tmp_path / "a.csv").X.shape == (1, 1000)
        assert tracemalloc.get_traced_memory()[1] < 2**27 + 10 * 2**20
    finally:
        tracemalloc.stop()


def test_two_columns_of_one_name_among_many_are_found_at_once(tmp_path):
    names = [f"gene{j}" for j in range(200_000)]
    (tmp_path / "a.csv").write_text(",".join([*names, names[-1]]) + "\n")
    assert "two columns have the name 'gene199999'" in refusal(tmp_path / "a.csv")
