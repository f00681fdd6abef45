"""Rows that are read block by block give the same bits as rows in memory."""

import os

import numpy as np
import pytest
from sklearn.base import clone

from catalogue import SMALL, data
from deepnmf import CNMF, GNMF, NMF, WSF, DeepNSNMF, DeepSemiNMF
from deepnmf.engines import memory, streaming
from deepnmf.engines.threads import read_ahead

pytestmark = pytest.mark.usefixtures("small_blocks")
NEEDS_MEMORY = (CNMF, GNMF)
streaming_models = pytest.mark.parametrize(
    "model", [m for m in SMALL if not isinstance(m, NEEDS_MEMORY)], ids=lambda m: type(m).__name__
)


class H5Like:
    """The interface of h5py: a shape, a dtype, and rows by slicing."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.reads = X, X.shape, X.dtype, []

    def __getitem__(self, rows):
        self.reads.append(rows)
        return self.X[rows]


H5Like.__module__ = "h5py._hl.dataset"


@pytest.fixture
def on_disk(tmp_path, monkeypatch):
    """Return a function that writes a matrix to a file, which is read in several blocks."""
    monkeypatch.setattr(memory, "BLOCK_BYTES", 2**11)

    def write(X, name="X.npy"):
        np.save(tmp_path / name, X)
        return tmp_path / name

    return write


@streaming_models
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_file_gives_the_same_bits_as_an_array_in_memory(model, dtype, on_disk):
    X = data().astype(dtype)
    path = on_disk(X)
    model = clone(model).set_params(max_iter=4, tol=0)
    expected = clone(model).fit(X)
    columns = np.load(on_disk(np.asfortranarray(X), "F.npy"), mmap_mode="r")
    forms = {
        "path": path,
        "text": str(path),
        "mapped": np.load(path, mmap_mode="r"),
        "mapped in Fortran order": columns,
        "sliced": H5Like(X),
    }
    for form, rows in forms.items():
        found = clone(model).fit(rows)
        assert all((a == b).all() for a, b in zip(found.factors_, expected.factors_, strict=True)), form
        assert (found.codes_[-1] == expected.codes_[-1]).all(), form
        assert (found.transform(rows) == expected.transform(X)).all(), form
        assert found.n_features_in_ == X.shape[1]


def test_a_part_of_a_memory_map_is_read_as_an_array(on_disk):
    X = data()
    mapped = np.load(on_disk(X), mmap_mode="r")
    model = NMF(4, random_state=0, tol=0, max_iter=4)
    assert (clone(model).fit(mapped[::2]).components_ == clone(model).fit(X[::2]).components_).all()


def test_integers_are_read_as_double_precision(on_disk):
    X = (100 * data()).astype(np.uint8)
    found, expected = (NMF(4, random_state=0, tol=0, max_iter=4).fit(rows) for rows in (on_disk(X), X.astype(float)))
    assert (found.components_ == expected.components_).all()


def test_score_and_projection_read_from_files(on_disk):
    X = data()
    model = DeepNSNMF((8, 4), random_state=0, tol=0, max_iter=4).fit(X)
    path = on_disk(X)
    assert model.score(path) == model.score(X)
    assert (model.project(path) == model.project(X)).all()


def test_large_arrays_of_rows_are_stored_in_files(on_disk, monkeypatch):
    monkeypatch.setattr(streaming, "MAX_BYTES_IN_MEMORY", 100)
    X = data()
    found = NMF(4, random_state=0, tol=0, max_iter=4).fit(on_disk(X))
    expected = NMF(4, random_state=0, tol=0, max_iter=4).fit(X)
    assert isinstance(found.codes_[-1], np.memmap)
    assert (found.codes_[-1] == expected.codes_[-1]).all()


def test_no_file_is_left_beside_the_data(on_disk, monkeypatch):
    monkeypatch.setattr(streaming, "MAX_BYTES_IN_MEMORY", 100)
    path = on_disk(data())
    NMF(4, random_state=0, tol=0, max_iter=4).fit(path)
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_is_truncated_while_it_is_read_is_refused(on_disk):
    path = on_disk(data())

    def shrink(sweep, loss):
        os.truncate(path, 1000)

    with pytest.raises(ValueError, match="was truncated while it was read"):
        NMF(4, random_state=0, tol=0, max_iter=4).fit(path, on_sweep=shrink)


def test_the_path_of_an_npy_of_booleans_is_fitted_like_the_array(on_disk):
    X = data() > 0.5
    path = on_disk(X)
    streamed, in_memory = (NMF(4, random_state=0, tol=0, max_iter=4).fit(form) for form in (path, X))
    np.testing.assert_allclose(streamed.components_, in_memory.components_)


@pytest.mark.parametrize("n_bytes", [0, 4, 9, 50, -1])
def test_the_path_of_a_truncated_npy_is_named(on_disk, n_bytes):
    path = on_disk(data())
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(ValueError, match=r"X\.npy is not a complete \.npy file of numbers: .+"):
        NMF(4).fit(path)


def test_a_fit_that_fails_leaves_the_model_as_it_was(on_disk):
    model = NMF(4, random_state=0, tol=0, max_iter=4).fit(data())
    before = model.components_
    path = on_disk(data())
    with pytest.raises(ValueError, match="truncated while"):
        model.fit(path, on_sweep=lambda *_: os.truncate(path, 1000))
    assert model.components_ is before


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: np.where(X.max() == X, np.nan, X), "contains NaN or infinity"),
        (lambda X: np.where(X.max() == X, np.inf, X), "contains NaN or infinity"),
        (lambda X: np.where(X.max() == X, -1, X), "Negative values in data"),
        (np.asfortranarray, "in Fortran order: expected a matrix in C order"),
        (lambda X: X[0], r"of shape \(24,\) in C order: expected a matrix"),
        (lambda X: X[:1], "at least 2 samples"),
        (lambda X: X.astype(complex), "expected real numbers"),
        (lambda X: X.astype(str), "expected real numbers"),
    ],
)
def test_files_that_cannot_be_used_are_refused(spoil, words, on_disk):
    with pytest.raises(ValueError, match=words):
        NMF(4).fit(on_disk(spoil(data())))


def test_what_needs_data_in_memory_refuses_a_path(on_disk, tmp_path):
    path = on_disk(data())
    with pytest.raises(ValueError, match="CNMF needs X in memory"):
        CNMF(4).fit(path)
    with pytest.raises(ValueError, match="GNMF needs X in memory"):
        GNMF(4).fit(path)
    mapped = GNMF(4, random_state=0, tol=0, max_iter=3).fit(np.load(path, mmap_mode="r"))
    assert (mapped.components_ == GNMF(4, random_state=0, tol=0, max_iter=3).fit(data()).components_).all()
    with pytest.raises(ValueError, match='use "binary"'):
        WSF(4, label_graph="rbf").fit(path, np.arange(len(data())) % 3)
    with pytest.raises(ValueError, match="entry_weight needs X in memory"):
        NMF(4).fit(path, entry_weight=np.ones_like(data()))
    with pytest.raises(ValueError, match=r"expected an \.npy file"):
        NMF(4).fit(str(tmp_path / "X.csv"))
    with pytest.raises(FileNotFoundError):
        NMF(4).fit(tmp_path / "absent.npy")
    with pytest.raises(ValueError, match="features"):
        DeepSemiNMF((8, 4), max_iter=2, tol=0).fit(data()).transform(on_disk(data()[:, :-1]))


def test_blocks_are_read_ahead_in_order():
    read = []

    def slow(item):
        read.append(item)
        return item

    received = []
    for item in read_ahead(slow, range(20)):
        received.append(item)
        assert len(read) <= len(received) + 6
    assert received == list(range(20))
