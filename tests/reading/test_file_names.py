"""Files whose names are not UTF-8 are read like others, and every text about them can be written anywhere."""

import os
import sys
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from scipy.io import savemat, wavfile

from deepnmf.reading import ReadingError, read

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
X = np.random.default_rng(0).random((6, 4))


def annotated(path):
    with h5py.File(path, "w") as file:
        file["X"] = X
        for frame, size in (("obs", 6), ("var", 4)):
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = np.array([str(i) for i in range(size)], dtype=h5py.string_dtype())


WRITERS = {
    ".npy": lambda path: np.save(path, X),
    ".npz": lambda path: np.savez(path, X=X),
    ".csv": lambda path: np.savetxt(path, X, delimiter=",", header="a,b,c,d", comments=""),
    ".parquet": lambda path: parquet.write_table(pyarrow.table({"a": X[:, 0], "b": X[:, 1]}), path),
    ".mat": lambda path: savemat(path, {"fea": X}),
    ".h5ad": annotated,
    ".jsonl": lambda path: path.write_text('{"text": "oak"}'),
    ".wav": lambda path: wavfile.write(path, 8000, np.arange(4000, dtype=np.int16)),
}


def unusual(path):
    return path.with_name(os.fsdecode(b"caf\xe9") + path.suffix)


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_file_whose_name_is_not_utf_8_is_read(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    WRITERS[suffix](path)
    usual = read(path)
    data = read(path.rename(unusual(path)))
    assert data.X.shape == usual.X.shape
    assert data.description.encode().startswith(rf"caf\udce9{suffix}: ".encode())


def test_samples_and_classes_named_after_such_files_can_be_written(tmp_path):
    for name in (b"caf\xe9/1.png", b"bar/\xff.png"):
        path = tmp_path / os.fsdecode(name)
        path.parent.mkdir()
        Image.new("L", (2, 2)).save(path.with_name("plain.png"))
        path.with_name("plain.png").rename(path)
    data = read(tmp_path)
    assert data.sample_names == (r"bar/\udcff.png", r"caf\udce9/1.png")
    assert data.class_names == ("bar", r"caf\udce9")


def test_an_error_about_such_a_file_can_be_written(tmp_path):
    path = unusual(Path(tmp_path, "a.npy"))
    path.write_bytes(b"nothing")
    with pytest.raises(ReadingError) as caught:
        read(path)
    assert rf"{tmp_path}/caf\udce9.npy".encode() in str(caught.value).encode()
