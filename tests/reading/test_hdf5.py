"""Forged HDF5 files and sparse matrices neither crash the process nor refer to other files."""

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from deepnmf import datasets
from deepnmf.reading import ReadingError, read

ENTRIES = sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5]]))
WRONG = {  # of a 3 x 3 matrix with five entries
    "indices beyond the shape": {"indices": np.array([0, 2, 1, 0, 10**9])},
    "negative indices": {"indices": np.array([0, 2, 1, 0, -(10**9)])},
    "indices that are not integers": {"indices": np.array([0, 2, 1, 0, 1.5])},
    "pointers that decrease": {"indptr": np.array([0, 9, 3, 5])},
    "pointers beyond the entries": {"indptr": np.array([0, 2, 3, 10**9])},
    "pointers that begin late": {"indptr": np.array([1, 2, 3, 5])},
    "too few pointers": {"indptr": np.array([0, 2, 5])},
    "too few indices": {"indices": np.array([0, 2, 1])},
    "too few numbers": {"data": np.ones(2)},
    "more numbers than pointers say": {"data": np.ones(9), "indices": np.zeros(9, dtype=int)},
    "text for numbers": {"data": np.array([b"a"] * 5)},
    "numbers in two axes": {"data": np.ones((5, 1))},
    "a negative shape": {"shape": np.array([-3, 3])},
    "a shape of one axis": {"shape": np.array([3])},
}
any_wrong_part = pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())


def parts(**wrong):
    known = {"data": ENTRIES.data, "indices": ENTRIES.indices, "indptr": ENTRIES.indptr, "shape": np.array((3, 3))}
    return known | wrong


def frames(file):
    for frame in ("obs", "var"):
        file.create_group(frame).attrs["_index"] = "_index"
        file[frame]["_index"] = np.array(list("abc"), dtype=h5py.string_dtype())


def h5ad(path, form="csr_matrix", **wrong):
    """Write a file like AnnData, with some parts replaced."""
    with h5py.File(path, "w") as file:
        frames(file)
        group = file.create_group("X")
        for name, part in parts(**wrong).items():
            if name == "shape":
                group.attrs.update({"encoding-type": form, "shape": part})
            else:
                group[name] = part


def matlab_header(path):
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def refusal(path, **options):
    with pytest.raises(ReadingError) as caught:
        read(path, **options)
    assert str(path) in str(caught.value)
    return str(caught.value)


# ----------------------------------------------------------------------------- parts that do not fit


@any_wrong_part
@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix"])
def test_a_crafted_h5ad_with_wrong_sparse_parts_is_refused(tmp_path, form, wrong):
    h5ad(tmp_path / "a.h5ad", form, **wrong)
    assert "does not contain a valid sparse matrix" in refusal(tmp_path / "a.h5ad")


@any_wrong_part
def test_an_npz_with_wrong_sparse_parts_is_refused(tmp_path, wrong):
    np.savez(tmp_path / "a.npz", **parts(**wrong))
    assert "does not contain a valid sparse matrix" in refusal(tmp_path / "a.npz")


@any_wrong_part
def test_a_data_set_with_wrong_sparse_parts_is_refused(tmp_path, wrong):
    np.savez(tmp_path / "bbc_news.npz", **parts(**wrong))
    with pytest.raises(ValueError, match=r"bbc_news\.npz does not contain a valid sparse matrix"):
        datasets.load("bbc_news", tmp_path)


def test_a_sparse_matrix_of_matlab_with_indices_beyond_its_shape_is_refused(tmp_path):
    wrong = sparse.csc_matrix(ENTRIES.toarray())
    wrong.indices[-1] = 10**6
    savemat(tmp_path / "TDT2.mat", {"fea": wrong})
    assert "not a valid MATLAB file" in refusal(tmp_path / "TDT2.mat")
    with pytest.raises(ValueError, match=r"TDT2\.mat does not contain a valid sparse matrix"):
        datasets.load_tdt2(tmp_path)


@pytest.mark.parametrize("wrong", [[0, 2, 1, 0, 10**9], [0, 2, 1]])
def test_a_sparse_matrix_of_matlab_7_3_with_wrong_parts_is_refused(tmp_path, wrong):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("fea")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        group["data"], group["ir"], group["jc"] = np.ones(5), np.array(wrong, dtype=np.uint64), np.array([0, 2, 3, 5])
    matlab_header(path)
    refusal(path)


@pytest.mark.parametrize("frame", ["obs", "var"])
def test_names_of_an_h5ad_that_do_not_fit_its_matrix_are_refused(tmp_path, frame):
    path = tmp_path / "a.h5ad"
    h5ad(path)
    with h5py.File(path, "r+") as file:
        del file[frame]["_index"]
        file[frame]["_index"] = np.array(["only one"], dtype=h5py.string_dtype())
    assert refusal(path) == f"{path}: {frame} has 1 name, but X needs 3."


# ------------------------------------------------------------------------------ ways out of the file


@pytest.fixture
def secret(tmp_path):
    """Numbers in another file, in HDF5 and as plain bytes."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["X"] = np.ones((3, 3))
        file["names"] = np.array(list("xyz"), dtype=h5py.string_dtype())
    (tmp_path / "secret.raw").write_bytes(np.ones((3, 3)).tobytes())
    return tmp_path / "secret.h5"


def external_link(file, secret):
    file["X"] = h5py.ExternalLink(secret, "/X")


def link_to_an_external_link(file, secret):
    file["way"] = h5py.ExternalLink(secret, "/")
    file["X"] = h5py.SoftLink("/way/X")


def external_storage(file, secret):
    file.create_dataset("X", (3, 3), "f8", external=[(secret.with_suffix(".raw"), 0, 72)])


def virtual_dataset(file, secret):
    layout = h5py.VirtualLayout((3, 3), "f8")
    layout[:] = h5py.VirtualSource(secret, "X", (3, 3))
    file.create_virtual_dataset("X", layout)


ways_out = pytest.mark.parametrize(
    "way_out", [external_link, link_to_an_external_link, external_storage, virtual_dataset]
)


@ways_out
def test_an_h5ad_that_refers_to_another_file_is_refused(tmp_path, secret, way_out):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        frames(file)
        way_out(file, secret)
    assert "expected all data within the file" in refusal(path)


@ways_out
def test_a_matlab_7_3_file_that_refers_to_another_file_is_refused(tmp_path, secret, way_out):
    path = tmp_path / "a.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        way_out(file, secret)
    matlab_header(path)
    assert "expected all data within the file" in refusal(path, key="X")


def test_names_and_labels_of_an_h5ad_cannot_refer_to_another_file(tmp_path, secret):
    path = tmp_path / "a.h5ad"
    h5ad(path)
    with h5py.File(path, "r+") as file:
        file["way"] = h5py.ExternalLink(secret, "/")
    assert "expected all data within the file" in refusal(path, labels="/way/names")
    with h5py.File(path, "r+") as file:
        file["obs"].attrs["_index"] = "/way/names"
    assert "expected all data within the file" in refusal(path)


def test_a_soft_link_within_an_h5ad_is_followed_and_a_loop_of_them_refused(tmp_path):
    path = tmp_path / "a.h5ad"
    h5ad(path)
    with h5py.File(path, "r+") as file:
        file.move("X", "raw")
        file["X"] = h5py.SoftLink("/raw")
    np.testing.assert_array_equal(read(path).X.toarray(), ENTRIES.toarray())
    with h5py.File(path, "r+") as file:
        del file["raw"]
        file["raw"] = h5py.SoftLink("/X")
    refusal(path)


def test_a_modality_of_several_is_read_by_its_name(tmp_path):
    path = tmp_path / "both.h5mu"
    with h5py.File(path, "w") as file:
        for name, shape in (("rna", (4, 3)), ("atac", (4, 2))):
            cells = file.create_group(f"mod/{name}")
            cells["X"] = np.full(shape, 2.0)
            cells["layers/counts"] = np.full(shape, 7.0)
            for frame, length in (("obs", shape[0]), ("var", shape[1])):
                cells[f"{frame}/_index"] = [f"{frame}{i}" for i in range(length)]
                cells[frame].attrs["_index"] = "_index"
    assert read(path, key="atac").X.shape == (4, 2)
    data = read(path, key="rna/counts")
    assert (data.X[0, 0], data.feature_names) == (7.0, ("var0", "var1", "var2"))
    assert read(path, like=data.recipe).X[0, 0] == 7.0
    with pytest.raises(ReadingError, match="has the modalities 'atac', 'rna': expected one of them as --key, got ''"):
        read(path)
