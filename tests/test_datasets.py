import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from deepnmf import datasets


@pytest.fixture
def folder(tmp_path):
    np.savez(
        tmp_path / "yale_32x32.npz", X=np.arange(12, dtype=np.uint8).reshape(3, 4), y=[0, 1, 0], image_shape=[2, 2]
    )
    X = sparse.random(5, 7, density=0.4, format="csr", random_state=0)
    np.savez(tmp_path / "bbc_news.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=np.arange(5))
    np.savez(tmp_path / "esc50_birds.npz", samples=np.ones((2, 3)), fold=[0, 1])
    return tmp_path


def test_images_texts_and_sounds_are_read_as_rows(folder):
    yale = datasets.load("yale_32x32", folder)
    assert yale.data.shape == (3, 4)
    assert list(yale.target) == [0, 1, 0]
    assert list(yale.image_shape) == [2, 2]
    news = datasets.load("bbc_news", folder)
    assert sparse.issparse(news.data)
    assert news.data.shape == (5, 7)
    assert datasets.load("esc50_birds", folder).data.shape == (2, 3)


def test_the_folder_may_come_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("DEEPNMF_DATA", str(folder))
    assert datasets.load("yale_32x32").data.shape == (3, 4)


def test_what_is_missing_is_named(folder, monkeypatch):
    monkeypatch.delenv("DEEPNMF_DATA", raising=False)
    with pytest.raises(
        FileNotFoundError, match="set DEEPNMF_DATA, or data_home, to the folder of yale_32x32.npz or Yale_32x32.mat"
    ):
        datasets.load("yale_32x32")
    with pytest.raises(FileNotFoundError, match="there is no file tdt2_30.npz or TDT2.mat"):
        datasets.load("tdt2_30", folder)
    with pytest.raises(ValueError, match="There is no data set 'mnist'"):
        datasets.load("mnist", folder)


def test_pickled_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "yale_32x32.npz", X=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        datasets.load("yale_32x32", tmp_path)


def test_every_loader_says_what_it_looks_for_and_where_it_is_published(tmp_path):
    loaders = [getattr(datasets, name) for name in datasets.__all__ if name.startswith("load_")]
    assert len(loaders) == 13
    for loader in loaders:
        with pytest.raises(FileNotFoundError, match=r"there is no file \w+\.npz.* Its content: .* is published by \w+"):
            loader(tmp_path)


@pytest.mark.parametrize(
    ("name", "loader", "side"),
    [
        ("Yale_32x32.mat", datasets.load_yale, 32),
        ("jaffe.mat", datasets.load_jaffe, 26),
        ("JAFFE.mat", datasets.load_jaffe, 32),
        ("AR_32x32.mat", datasets.load_ar, 32),
    ],
)
def test_images_of_a_mat_file_are_upright_and_labels_start_at_0(tmp_path, name, loader, side):
    pictures = np.arange(3 * side**2).reshape(3, side, side) % 251
    fea = pictures.swapaxes(1, 2).reshape(3, -1)  # column by column
    savemat(tmp_path / name, {"fea": fea, "gnd": np.array([[2], [1], [2]])})
    faces = loader(tmp_path)
    assert (faces.data.reshape(3, side, side) == pictures).all()
    assert list(faces.target) == [1, 0, 1]
    assert tuple(faces.image_shape) == (side, side)


def test_a_sparse_mat_file_stays_sparse(tmp_path):
    X = sparse.random(5, 7, density=0.4, format="csc", random_state=0)
    savemat(tmp_path / "TDT2.mat", {"fea": X, "gnd": np.arange(1, 6)})
    news = datasets.load_tdt2(tmp_path)
    assert sparse.issparse(news.data)
    assert (news.data.toarray() == X.toarray()).all()


@pytest.mark.parametrize(
    ("name", "content"), [("Yale_32x32.mat", b"not a file"), ("Yale_32x32.mat", b""), ("yale_32x32.npz", b"PK")]
)
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} is no"):
        datasets.load_yale(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"faces": np.ones((2, 2))}, "contains faces: expected fea"),
        ({"fea": np.ones((2, 60))}, "contains fea with 60 columns: expected square images"),
    ],
)
def test_a_mat_file_of_something_else_is_refused(tmp_path, content, sentence):
    savemat(tmp_path / "Yale_32x32.mat", content)
    with pytest.raises(ValueError, match=sentence):
        datasets.load_yale(tmp_path)
