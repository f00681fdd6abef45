"""Labels that differ in a file differ as classes."""

import json

import h5py
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from deepnmf.reading import ReadingError, read

CLOSE = [2**53, 2**53 + 1, 2**53 + 2, 2**62 + 1]  # no two of the first three differ as floats
HUGE = [2**63, 2**63 + 1, 2**64 - 1, 10**30]
ROWS = np.arange(8.0).reshape(4, 2)


def csv(folder, labels):
    lines = [f"{a},{b},{label}" for (a, b), label in zip(ROWS, labels, strict=True)]
    (folder / "a.csv").write_text("\n".join(["a,b,label", *lines]))
    return folder / "a.csv"


def jsonl(folder, labels):
    lines = [json.dumps({"text": "iron and oak", "label": label}) for label in labels]
    (folder / "a.jsonl").write_text("\n".join(lines))
    return folder / "a.jsonl"


def table(folder, labels):
    parquet.write_table(pyarrow.table({"a": ROWS[:, 0], "label": labels}), folder / "a.parquet")
    return folder / "a.parquet"


def archive(folder, labels):
    np.savez(folder / "a.npz", X=ROWS, label=np.array(labels))
    return folder / "a.npz"


def annotated(folder, labels):
    with h5py.File(folder / "a.h5ad", "w") as file:
        file["X"] = ROWS
        for frame, size in (("obs", 4), ("var", 2)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = np.array([str(i) for i in range(size)], dtype=h5py.string_dtype())
        file["obs"]["label"] = np.array(labels)
    return folder / "a.h5ad"


@pytest.mark.parametrize("write", [csv, jsonl, table, archive, annotated])
def test_integer_labels_above_2_to_the_53_stay_distinct(tmp_path, write):
    data = read(write(tmp_path, CLOSE), labels="label")
    assert (data.y.tolist(), data.class_names) == (CLOSE, None)


@pytest.mark.parametrize("write", [csv, jsonl])
def test_integer_labels_above_2_to_the_63_stay_distinct_as_names(tmp_path, write):
    data = read(write(tmp_path, HUGE[::-1]), labels="label")
    assert (data.y.tolist(), data.class_names) == ([3, 2, 1, 0], tuple(map(str, HUGE)))


@pytest.mark.parametrize("write", [table, archive, annotated])
def test_unsigned_labels_above_2_to_the_63_do_not_become_negative(tmp_path, write):
    labels = np.array([2**64 - 1, 2**63, 5, 5], dtype=np.uint64)
    data = read(write(tmp_path, labels), labels="label")
    assert (data.y.tolist(), data.class_names) == ([2, 1, 0, 0], ("5", str(2**63), str(2**64 - 1)))


def test_floats_above_2_to_the_63_stay_distinct_and_minus_1_stays_unknown(tmp_path):
    data = read(archive(tmp_path, [1e30, 2e30, -1.0, np.nan]), labels="label")
    assert data.y.tolist() == [0, 1, -1, -1]
    assert [float(name) for name in data.class_names] == [1e30, 2e30]


@pytest.mark.parametrize("labels", [["1_0", "10"], ["nan1", "nan2"], ["inf", "5"], ["٣", "3"]])
def test_text_that_only_python_parses_as_numbers_is_names(tmp_path, labels):
    data = read(csv(tmp_path, labels * 2), labels="label")
    assert data.class_names == tuple(sorted(labels))


def test_numbers_in_several_spellings_are_one_class(tmp_path):
    assert read(csv(tmp_path, ["3", "3.0", "+3", "30e-1"]), labels="label").y.tolist() == [3, 3, 3, 3]


@pytest.mark.parametrize("label", [np.inf, 0.5])
def test_a_label_that_is_infinite_or_a_fraction_is_refused(tmp_path, label):
    with pytest.raises(ReadingError, match="is not a class: expected integers or text as labels"):
        read(archive(tmp_path, [label, 1.0, 2.0, 3.0]), labels="label")


def test_one_long_label_does_not_make_the_others_long(tmp_path):
    from deepnmf.reading.classes import from_names

    y, names = from_names(["x" * 10**7, *map(str, range(10_000))])  # 400 GB in an array of text
    assert (len(y), len(names)) == (10_001, 10_001)


def test_json_numbers_with_a_point_stay_distinct(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(f'{{"text": "oak", "label": {label}.0}}' for label in CLOSE))
    assert read(path).y.tolist() == CLOSE
