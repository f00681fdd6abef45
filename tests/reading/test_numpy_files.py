"""Only the needed arrays of NumPy files are read, in memory proportional to the result."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from deepnmf.reading import ReadingError, matrix_files, read

X = np.arange(8.0).reshape(4, 2)


def header(shape, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def add(path, name, content):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", content)


def refusal(path, **options):
    with pytest.raises(ReadingError) as caught:
        read(path, **options)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_an_npz_decompresses_no_unneeded_array(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X)
    add(path, "unused", header((2**22,)) + bytes(2**25))
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(read(path).X, X)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_a_damaged_array_that_is_not_needed_is_not_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X, notes=np.array([{}], dtype=object))
    np.testing.assert_array_equal(read(path).X, X)
    assert "contains a pickle or Python objects" in refusal(path, labels="notes")


@pytest.mark.parametrize("name", ["y", "feature_names", "class_names", "sample_names", "image_shape"])
def test_names_and_labels_much_larger_than_the_matrix_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(matrix_files, "ALWAYS_ALLOWED", 1000)
    path = tmp_path / "a.npz"
    shapes = {"y": (4,), "sample_names": (4,)}
    np.savez(path, X=X, **({} if name == "y" else {"y": [0, 1, 0, 1]}))
    add(path, name, header(shapes.get(name, (2,)), "<U1000") + bytes(4 * 1000 * 4))
    assert f"{name!r} takes" in refusal(path)


def test_an_array_larger_than_its_file_is_refused_before_memory_is_allocated(tmp_path):
    np.savez(tmp_path / "a.npz", y=[0, 1])
    add(tmp_path / "a.npz", "X", header((10**7, 10**7)) + bytes(800))
    assert "it contains 800 of 800000000000000 bytes of an array" in refusal(tmp_path / "a.npz")
    (tmp_path / "a.npy").write_bytes(header((10**7, 10**7)) + bytes(800))
    assert "it contains 800 of 800000000000000 bytes of an array" in refusal(tmp_path / "a.npy")


def test_sparse_entries_beyond_the_pointers_are_not_decompressed(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, indptr=[0, 1, 2], shape=[2, 2])
    add(path, "data", header((2**22,)) + bytes(2**25))
    add(path, "indices", header((2**22,), "<i8") + bytes(2**25))
    tracemalloc.start()
    try:
        assert "does not contain a valid sparse matrix" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "image_shape", [(-2, -1), (-1.0, -2.0), (0, 2), (0.5, 4), (np.nan, 2), (np.inf, 2), ("1", "2")]
)
def test_an_invalid_image_shape_is_refused(tmp_path, image_shape):
    np.savez(tmp_path / "a.npz", X=X, image_shape=image_shape)
    assert "expected a height and a width" in refusal(tmp_path / "a.npz")


def test_an_image_shape_in_floats_is_accepted(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, image_shape=(1.0, 2.0))
    assert read(tmp_path / "a.npz").image_shape == (1, 2)


def test_a_matrix_of_booleans_is_read_as_numbers(tmp_path):
    np.save(tmp_path / "a.npy", X > 2)
    np.testing.assert_array_equal(read(tmp_path / "a.npy").X, (X > 2).astype(float))


@pytest.mark.parametrize("n_bytes", [4, 9, 50, -1])
def test_a_truncated_npy_is_named(tmp_path, n_bytes):
    np.save(tmp_path / "whole.npy", X)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:n_bytes])
    refusal(tmp_path / "cut.npy")
