import numpy as np
import pytest
from scipy import sparse

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
    with pytest.raises(FileNotFoundError, match="set DEEPNMF_DATA, or data_home, to the folder of yale_32x32.npz"):
        datasets.load("yale_32x32")
    with pytest.raises(FileNotFoundError, match="there is no file tdt2_30.npz"):
        datasets.load("tdt2_30", folder)
    with pytest.raises(ValueError, match="There is no data set 'mnist'"):
        datasets.load("mnist", folder)


def test_pickled_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "yale_32x32.npz", X=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        datasets.load("yale_32x32", tmp_path)
