"""Which data are counts: by the kind of the data and by the values."""

import json

import h5py
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from deepnmf.reading import Dataset, has_counts, read
from deepnmf.reading import counts as counts_module

rng = np.random.default_rng(0)
WORDS = rng.poisson(rng.gamma(0.3, 1, (80, 60)) * rng.gamma(0.5, 2, 60))


def table(X, **options):
    return Dataset(X, "table", "rows", **options)


@pytest.mark.parametrize(
    "X",
    [
        WORDS,
        WORDS.astype(np.float32),
        sparse.csr_array(WORDS),
        sparse.csr_array(WORDS.astype(float)),
        np.where(rng.random(WORDS.shape) < 0.1, np.nan, WORDS),
    ],
    ids=["integers", "float32", "sparse integers", "sparse", "with holes"],
)
def test_integers_with_zeros_and_a_long_tail_are_counts(X):
    assert has_counts(table(X))
    assert has_counts(Dataset(X, "texts", "rows"))


def with_entry(value):
    changed = WORDS.astype(float)
    changed[-1, -1] = value
    return changed


@pytest.mark.parametrize(
    "X",
    [
        np.log1p(WORDS),
        sparse.csr_array(np.log1p(WORDS)),
        with_entry(0.5),
        with_entry(-1),
        with_entry(np.inf),
        with_entry(255),
        (WORDS > 0).astype(float),
        1 + WORDS,
        np.zeros((4, 3)),
        sparse.csr_array((4, 3)),
        np.full((4, 3), np.nan),
        rng.integers(0, 6, (50, 20)),
        load_digits().data,
    ],
    ids=[
        "logarithms",
        "sparse logarithms",
        "one fraction",
        "one negative entry",
        "infinity",
        "white pixels",
        "zeros and ones",
        "no zeros",
        "only zeros",
        "nothing stored",
        "nothing observed",
        "ratings",
        "pixels of digits",
    ],
)
def test_other_numbers_are_not_counts(X):
    assert not has_counts(table(X))


def test_images_and_sounds_are_not_counts():
    assert not has_counts(Dataset(WORDS, "images", "rows", image_shape=(6, 10)))
    assert not has_counts(Dataset(WORDS, "sounds", "rows"))


def test_other_data_are_recognized_by_their_first_entries(monkeypatch):
    monkeypatch.setattr(counts_module, "CHUNK", 120)
    chunks = []

    class Watched(np.ndarray):
        def __getitem__(self, rows):
            chunks.append(rows)
            return super().__getitem__(rows)

    assert has_counts(table(WORDS.view(Watched)))
    assert len(chunks) >= 40
    chunks.clear()
    assert not has_counts(table((WORDS + 0.5).view(Watched)))
    assert chunks[0] == slice(0, 2)
    assert slice(2, 4) not in chunks


def test_cells_of_an_h5ad_file_are_counts_until_they_are_normalized(tmp_path):
    for name, X in {"raw": WORDS.astype(np.float32), "logged": np.log1p(WORDS)}.items():
        with h5py.File(tmp_path / f"{name}.h5ad", "w") as file:
            file["X"] = X
            for frame, length in zip(("obs", "var"), X.shape, strict=True):
                file.create_group(frame).attrs["_index"] = "_index"
                file[frame]["_index"] = np.array([f"{frame}{i}" for i in range(length)], dtype=h5py.string_dtype())
    assert has_counts(read(tmp_path / "raw.h5ad"))
    assert not has_counts(read(tmp_path / "logged.h5ad"))


def test_texts_are_read_as_weights_and_counted_texts_as_counts(tmp_path):
    texts = ["wave sand salt", "wave salt", "stone moss", "moss stone stone", "sand moss", "salt wave wave"]
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    assert not has_counts(read(tmp_path / "t.jsonl"))
    X = sparse.csr_array(WORDS)
    np.savez(
        tmp_path / "t.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        vocabulary=[f"word{j}" for j in range(60)],
    )
    assert has_counts(read(tmp_path / "t.npz"))
