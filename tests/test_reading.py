import json
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet
from scipy import sparse
from scipy.io import savemat, wavfile

from deepnmf.reading import ReadingError, Recipe, Scaling, delimited, read

# Bytes that reading takes at most, in NumPy and in pyarrow; a file of 8 MB stands for a large one.
PEAK = """
import sys, tracemalloc
import pyarrow
from deepnmf.reading import delimited, read
delimited.LARGE_BYTES, delimited.BLOCK_BYTES = 2**20, 2**18
read(sys.argv[2])  # what is imported on the way is no part of a file
tracemalloc.start()
read(sys.argv[1])
print(tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory())
"""


@pytest.fixture
def X():
    X = np.random.default_rng(0).random((6, 4))
    X[X < 0.3] = 0
    return X


def refusal(path, **options):
    """Return the message of a reader, which must be one line that names the file."""
    with pytest.raises(ReadingError) as caught:
        read(path, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert str(path) in sentence
    return sentence


# ----------------------------------------------------------------------------------------- arrays


def test_npy_is_its_matrix(tmp_path, X):
    np.save(tmp_path / "rows.npy", X)
    np.testing.assert_array_equal(read(tmp_path / "rows.npy").X, X)
    np.save(tmp_path / "whole.npy", np.arange(6).reshape(2, 3))
    assert read(tmp_path / "whole.npy").X.dtype == np.float64


@pytest.mark.parametrize("key", ["X", "anything"])
def test_npz_finds_the_matrix_and_the_arrays_beside_it(tmp_path, X, key):
    path = tmp_path / "data.npz"
    np.savez(
        path,
        **{key: X},
        y=[0, 1, 0, 1, 2, 2],
        class_names=["a", "b", "c"],
        image_shape=(2, 2),
        sample_names=list("pqrstu"),
    )
    data = read(path)
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == [0, 1, 0, 1, 2, 2]
    assert (data.class_names, data.image_shape, data.kind) == (("a", "b", "c"), (2, 2), "images")
    assert data.sample_names == tuple("pqrstu")
    assert data.description == "data.npz: 6 samples of 2 x 2 pixels, 3 classes in 'y'."


def test_bytes_of_images_become_gray_levels_from_0_to_1(tmp_path):
    np.savez(tmp_path / "faces.npz", X=np.array([[0, 51, 102, 255]], dtype=np.uint8), image_shape=(2, 2))
    np.testing.assert_allclose(read(tmp_path / "faces.npz").X, [[0, 0.2, 0.4, 1]])


def test_an_image_shape_of_the_samples_is_not_one_of_the_features(tmp_path, X):
    np.savez(tmp_path / "scene.npz", X=X, image_shape=(2, 3))
    assert read(tmp_path / "scene.npz").image_shape is None


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_npz_of_scipy_stays_sparse(tmp_path, X, form):
    sparse.save_npz(tmp_path / "sparse.npz", form(X))
    found = read(tmp_path / "sparse.npz").X
    assert sparse.issparse(found)
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), X)


def test_csr_parts_with_a_vocabulary_are_texts(tmp_path, X):
    S = sparse.csr_array(X)
    parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
    np.savez(tmp_path / "news.npz", **parts, vocabulary=["a", "b", "c", "d"], y=[0, 0, 1, 1, 0, -1])
    data = read(tmp_path / "news.npz")
    np.testing.assert_array_equal(data.X.toarray(), X)
    assert (data.kind, data.feature_names) == ("texts", ("a", "b", "c", "d"))
    assert "2 classes in 'y' (1 sample without label)" in data.description


def test_a_sparse_matrix_with_wrong_parts_is_refused(tmp_path):
    parts = {"data": np.ones(2), "indices": np.array([0, 9]), "indptr": np.array([0, 2]), "shape": (1, 3)}
    np.savez(tmp_path / "wrong.npz", **parts)
    assert "not contain a valid sparse matrix" in refusal(tmp_path / "wrong.npz")


@pytest.mark.parametrize("name", ["bomb.npz", "bomb.npy"])
def test_a_pickle_is_refused_and_never_run(tmp_path, name):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was run",))

    (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    assert "contains a pickle" in refusal(tmp_path / name)


def test_objects_within_an_archive_are_refused(tmp_path):
    np.savez(tmp_path / "objects.npz", X=np.array([[{}]], dtype=object))
    assert "Python objects" in refusal(tmp_path / "objects.npz")


def test_several_matrices_need_a_key(tmp_path, X):
    np.savez(tmp_path / "two.npz", left=X, right=2 * X)
    assert "expected one matrix, an array X, or --key" in refusal(tmp_path / "two.npz")
    np.testing.assert_array_equal(read(tmp_path / "two.npz", key="right").X, 2 * X)
    assert "closest are 'right'" in refusal(tmp_path / "two.npz", key="rihgt")


def test_a_truncated_archive_is_refused(tmp_path, X):
    np.savez(tmp_path / "whole.npz", X=X)
    (tmp_path / "half.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:200])
    assert "not a valid NumPy file" in refusal(tmp_path / "half.npz")


# ----------------------------------------------------------------------------------------- tables


def test_csv_with_labels_and_names(tmp_path):
    path = tmp_path / "fruit.csv"
    path.write_text('who,sugar,kind,water\n"Anna, B.",1,plum,8.5\nBen,2e1,fig,\nCleo,-3,,7\n')
    data = read(path, labels="kind", names="who")
    np.testing.assert_array_equal(data.X, [[1, 8.5], [20, np.nan], [-3, 7]])
    assert data.feature_names == ("sugar", "water")
    assert data.sample_names == ("Anna, B.", "Ben", "Cleo")
    assert (data.y.tolist(), data.class_names) == ([1, 0, -1], ("fig", "plum"))


@pytest.mark.parametrize(("suffix", "delimiter"), [(".tsv", "\t"), (".csv", ";"), (".csv", "\t"), (".csv", ",")])
def test_delimiters_are_recognized(tmp_path, suffix, delimiter):
    path = tmp_path / f"table{suffix}"
    path.write_text("\ufeffa b1 c\n1 2 3\n\n4 5 6\n".replace(" ", delimiter), encoding="utf-8")
    data = read(path)
    np.testing.assert_array_equal(data.X, [[1, 2, 3], [4, 5, 6]])
    assert data.feature_names == ("a", "b1", "c")


def test_a_first_line_of_numbers_is_data_unless_it_counts_the_columns(tmp_path):
    (tmp_path / "data.csv").write_text("1,5,2\n3,4,5\n")
    data = read(tmp_path / "data.csv")
    assert data.X.tolist() == [[1, 5, 2], [3, 4, 5]]
    assert data.feature_names is None
    assert "without a header" in data.description
    (tmp_path / "counted.csv").write_text("0,1,2\n3,4,5\n")
    assert read(tmp_path / "counted.csv").X.tolist() == [[3, 4, 5]]


def test_a_first_column_without_a_name_holds_the_names_of_rows(tmp_path):
    (tmp_path / "r.csv").write_text('"","a","b"\n"row 1",1,2\n"row 2",3,4\n')
    data = read(tmp_path / "r.csv")
    assert (data.sample_names, data.X.tolist()) == (("row 1", "row 2"), [[1, 2], [3, 4]])


@pytest.mark.parametrize("line", ["5,6,7", "5", "5,6,7,8"])
def test_a_ragged_line_is_named(tmp_path, line):
    path = tmp_path / "ragged.csv"
    path.write_text(f"a,b\n1,2\n\n3,4\n{line}\n")
    n_cells = line.count(",") + 1
    assert refusal(path) == (
        f"{path}, line 5: {n_cells} {'cell' if n_cells == 1 else 'cells'}, but the first line has 2."
    )


def test_text_among_numbers_is_named_by_line_and_column(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    path = tmp_path / "typo.csv"
    path.write_text("a,b,c\n" + 40 * "1,2,3\n" + "1,2o,3\n" + "1,2,3\n")
    assert refusal(path).startswith(f"{path}, line 42, column 'b': '2o' is not a number")


def test_many_blocks_are_one_table_and_progress_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 256)
    rows = np.arange(600.0).reshape(200, 3)
    path = tmp_path / "long.csv"
    np.savetxt(path, rows, delimiter=",", header="a,b,c", comments="")
    progress = []
    data = read(path, on_bytes=lambda read, total: progress.append((read, total)))
    np.testing.assert_array_equal(data.X, rows)
    assert len(progress) > 5
    assert progress == sorted(progress)
    assert progress[-1] == (path.stat().st_size, path.stat().st_size)


def test_rows_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 16)
    rows = np.arange(3000.0).reshape(30, 100)
    np.savetxt(tmp_path / "wide.csv", rows, delimiter=",", header=",".join(f"p{j}" for j in range(100)), comments="")
    np.testing.assert_array_equal(read(tmp_path / "wide.csv").X, rows)


def test_a_large_file_of_short_numbers_is_read_in_single_precision(tmp_path, monkeypatch):
    (tmp_path / "short.csv").write_text("a,b\n" + 100 * "1,2\n")
    (tmp_path / "long.csv").write_text("a,b\n" + 100 * "1.234,2.345\n")
    assert read(tmp_path / "short.csv").X.dtype == np.float64
    monkeypatch.setattr(delimited, "LARGE_BYTES", 100)
    data = read(tmp_path / "short.csv")
    assert (data.X.dtype, data.X.sum()) == (np.float32, 300)
    assert "in single precision" in data.description
    assert read(tmp_path / "long.csv").X.dtype == np.float64


def test_a_table_is_read_in_less_than_four_times_its_size(tmp_path):
    digits = np.full((2000, 2 * 2000), ord(","), dtype=np.uint8)
    digits[:, ::2] = np.random.default_rng(0).integers(ord("0"), ord("9"), (2000, 2000), endpoint=True)
    digits[:, -1] = ord("\n")
    path = tmp_path / "digits.csv"
    path.write_bytes(",".join(f"p{j}" for j in range(2000)).encode() + b"\n" + digits.tobytes())
    (tmp_path / "small.csv").write_text("a\n1\n")
    command = [sys.executable, "-c", PEAK, path, tmp_path / "small.csv"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(found.stdout) < 4 * path.stat().st_size


def test_labels_that_are_measurements_are_refused(tmp_path):
    (tmp_path / "weights.csv").write_text("a,weight\n1,0.5\n2,0.7\n")
    assert "0.5 is not a class" in refusal(tmp_path / "weights.csv", labels="weight")


def test_whole_numbers_are_classes_without_names(tmp_path):
    (tmp_path / "digits.csv").write_text("a,digit\n1,7\n2,3.0\n3,\n")
    data = read(tmp_path / "digits.csv", labels="digit")
    assert (data.y.tolist(), data.class_names) == ([7, 3, -1], None)


def test_labels_among_the_features_give_a_warning(tmp_path):
    (tmp_path / "d.csv").write_text("a,Target\n1,7\n2,3\n")
    with pytest.warns(
        UserWarning, match="column 'Target' is used as a feature; pass --labels Target if it contains labels"
    ):
        assert read(tmp_path / "d.csv").X.shape == (2, 2)
    assert read(tmp_path / "d.csv", labels="Target").X.shape == (2, 1)


def test_an_unknown_column_gives_the_closest_names(tmp_path):
    (tmp_path / "t.csv").write_text("alpha,beta\n1,2\n")
    assert "no column 'alhpa' for --labels: closest are 'alpha'" in refusal(tmp_path / "t.csv", labels="alhpa")


@pytest.mark.parametrize(
    ("header", "what"), [("a,a", "two columns have the name 'a'"), ("a,", "column 2 of the features has no name")]
)
def test_columns_must_have_different_names(tmp_path, header, what):
    (tmp_path / "t.csv").write_text(f"{header}\n1,2\n")
    assert what in refusal(tmp_path / "t.csv")


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    assert "not text in UTF-8" in refusal(tmp_path / "latin.csv")


def test_parquet_with_labels_and_nulls(tmp_path):
    path = tmp_path / "t.parquet"
    table = {"a": [1, 2, None], "kind": pyarrow.array(["x", "y", "x"]).dictionary_encode(), "b": [0.5, 0.25, 1.0]}
    parquet.write_table(pyarrow.table(table), path)
    data = read(path, labels="kind")
    np.testing.assert_array_equal(data.X, [[1, 0.5], [2, 0.25], [np.nan, 1]])
    assert (data.feature_names, data.class_names, data.y.tolist()) == (("a", "b"), ("x", "y"), [0, 1, 0])
    assert read(path).notes == (
        "These columns are ignored because they are not numbers: 'kind' (text with 2 values: --labels kind).",
    )
    path.write_bytes(b"PAR1 and nothing more")
    assert "not a valid .parquet file" in refusal(path)


# --------------------------------------------------------------------------- MATLAB and annotated data


def test_mat_of_deng_cai_has_fea_and_gnd(tmp_path, X):
    savemat(tmp_path / "faces.mat", {"fea": X, "gnd": [[1], [1], [2], [2], [3], [3]], "other": X})
    data = read(tmp_path / "faces.mat")
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]


def test_mat_takes_the_only_matrix_or_a_key_and_stays_sparse(tmp_path, X):
    savemat(tmp_path / "one.mat", {"A": sparse.csc_matrix(X), "scale": 2.0})
    data = read(tmp_path / "one.mat")
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), X)
    savemat(tmp_path / "two.mat", {"A": X, "B": 2 * X})
    assert "or --key." in refusal(tmp_path / "two.mat")
    np.testing.assert_array_equal(read(tmp_path / "two.mat", key="B").X, 2 * X)


@pytest.mark.parametrize(
    "content", [b"not MATLAB at all", b"MATLAB 5.0 MAT-file" + 109 * b" " + b"\x00\x01IM" + 40 * b"\xff"]
)
def test_an_unreadable_mat_is_refused(tmp_path, content):
    (tmp_path / "broken.mat").write_bytes(content)
    assert "not a valid MATLAB file" in refusal(tmp_path / "broken.mat")


def test_mat_of_version_7_3_is_hdf5_by_columns(tmp_path, X):
    path = tmp_path / "new.mat"
    S = sparse.csc_array(X)
    with h5py.File(path, "w", userblock_size=512) as file:
        file["fea"], file["gnd"] = X.T, np.array([[1.0, 1, 2, 2, 3, 3]])
        group = file.create_group("counts")
        group.attrs["MATLAB_sparse"] = np.uint64(X.shape[0])
        group["data"], group["ir"], group["jc"] = S.data, S.indices.astype(np.uint64), S.indptr.astype(np.uint64)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    data = read(path)
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == [1, 1, 2, 2, 3, 3]
    counts = read(path, key="counts").X
    assert sparse.issparse(counts)
    np.testing.assert_array_equal(counts.toarray(), X)


def h5ad(path, X, form="csr_matrix"):
    """A small file as AnnData writes it."""
    S = sparse.csr_array(X) if form == "csr_matrix" else sparse.csc_array(X)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": form, "shape": X.shape})
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(S, part)
        for frame, size in {"var": X.shape[1], "obs": X.shape[0]}.items():
            file.create_group(frame).attrs["_index"] = "_index"
            file[frame]["_index"] = np.array([f"{frame}{j}" for j in range(size)], dtype=h5py.string_dtype())
        cells = file["obs"].create_group("cell")
        cells["codes"] = np.array([0, 1, 0, 1, -1, 0], dtype=np.int8)
        cells["categories"] = np.array(["B", "T"], dtype=h5py.string_dtype())


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix"])
def test_h5ad_stays_sparse_and_keeps_its_names(tmp_path, X, form):
    h5ad(tmp_path / "cells.h5ad", X, form)
    data = read(tmp_path / "cells.h5ad", labels="cell")
    assert sparse.issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), X)
    assert data.feature_names == ("var0", "var1", "var2", "var3")
    assert data.sample_names[0] == "obs0"
    assert (data.y.tolist(), data.class_names) == ([0, 1, 0, 1, -1, 0], ("B", "T"))
    assert "closest are 'cell'" in refusal(tmp_path / "cells.h5ad", labels="cel")


@pytest.mark.anndata
def test_h5ad_of_anndata_itself(tmp_path, X):
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    obs = pd.DataFrame({"batch": ["u", "v"] * 3, "n": range(6)}, index=[f"c{i}" for i in range(6)])
    obs["batch"] = obs["batch"].astype("category")
    anndata.AnnData(X=sparse.csr_matrix(X), obs=obs).write_h5ad(tmp_path / "a.h5ad")
    data = read(tmp_path / "a.h5ad", labels="batch")
    np.testing.assert_array_equal(data.X.toarray(), X)
    assert (data.y.tolist(), data.class_names) == ([0, 1] * 3, ("u", "v"))
    assert read(tmp_path / "a.h5ad", labels="n").y.tolist() == list(range(6))


def test_other_hdf5_files_are_refused_as_h5ad(tmp_path):
    (tmp_path / "no.h5ad").write_bytes(b"nothing")
    assert "not an HDF5 file" in refusal(tmp_path / "no.h5ad")
    with h5py.File(tmp_path / "other.h5ad", "w") as file:
        file["something"] = 1
    assert "does not have the layout of an .h5ad file" in refusal(tmp_path / "other.h5ad")


# ------------------------------------------------------------------------------------------ folders


def draw(path, shape=(4, 6), level=128, mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, shape[::-1], level).save(path)


def test_images_in_subfolders_are_classes_and_keep_a_common_size(tmp_path):
    for name, level in {"b/1.png": 255, "a/2.png": 51, "a/1.pgm": 0}.items():
        draw(tmp_path / name, level=level)
    (tmp_path / "note.txt").write_text("not an image")
    data = read(tmp_path)
    assert (data.image_shape, data.kind, data.X.shape) == ((4, 6), "images", (3, 24))
    np.testing.assert_allclose(data.X[:, 0], [0, 0.2, 1])
    assert data.sample_names == ("a/1.pgm", "a/2.png", "b/1.png")
    assert (data.y.tolist(), data.class_names) == ([0, 0, 1], ("a", "b"))


def test_images_of_different_sizes_are_resized_to_one(tmp_path):
    draw(tmp_path / "ann_1.png", (4, 6))
    draw(tmp_path / "ann_2.jpg", (8, 8))
    draw(tmp_path / "bob-1.png", (4, 6))
    draw(tmp_path / "bob-2.png", (4, 6), 30000, "I;16")
    data = read(tmp_path)
    assert data.image_shape == (32, 32)
    assert data.class_names == ("ann", "bob")
    assert "resized from 4 x 6 to 8 x 8, 2 classes (names of files)" in data.description
    assert data.X[3] == pytest.approx(30000 / 65535)
    assert read(tmp_path, size=(3, 5)).X.shape == (4, 15)
    assert read(tmp_path, like=Recipe("images", image_shape=(2, 2))).X.shape == (4, 4)


def test_one_broken_image_is_named(tmp_path):
    for number in range(3):
        draw(tmp_path / f"{number}.png", (40, 40))
    broken = tmp_path / "1.png"
    broken.write_bytes(broken.read_bytes()[:60])
    with pytest.raises(ReadingError, match=f"{broken} is not a valid image"):
        read(tmp_path)


def test_other_texts_are_weighted_like_those_of_the_fit(tmp_path):
    for name, text in {"sea/1.txt": "wave wave sand", "sea/2.txt": "sand wave", "hill/1.txt": "stone sand"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    data = read(tmp_path)
    assert (data.kind, data.feature_names) == ("texts", ("sand", "stone", "wave"))
    assert data.class_names == ("hill", "sea")
    (tmp_path / "more.jsonl").write_text(json.dumps({"text": "wave wave sand, and pebbles"}) + "\n")
    recipe = Recipe.from_json(json.loads(json.dumps(data.recipe.to_json())))
    again = read(tmp_path / "more.jsonl", like=recipe)
    np.testing.assert_allclose(again.X.toarray()[0], data.X.toarray()[data.sample_names.index("sea/1.txt")])
    assert again.recipe.settings["idf"] == data.recipe.settings["idf"]


def test_jsonl_has_texts_labels_and_names(tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [{"text": "wave sand", "label": "sea", "id": 7}, {"text": "stone moss", "label": None, "id": 8}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    data = read(path, names="id")
    assert (data.y.tolist(), data.class_names, data.sample_names) == ([0, -1], ("sea",), ("7", "8"))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "not JSON"),
        ('{"txt": "a"}', "expected an object with the field"),
        ("[]", "expected an object with the field"),
    ],
)
def test_a_wrong_line_of_jsonl_is_named(tmp_path, line, what):
    (tmp_path / "t.jsonl").write_text('{"text": "wave sand"}\n' + line + "\n")
    sentence = refusal(tmp_path / "t.jsonl")
    assert ", line 2" in sentence
    assert what in sentence


def test_texts_without_words_are_refused(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "!"}\n')
    assert "no words" in refusal(tmp_path / "t.jsonl")


def tone(path, frequency, rate=8000, dtype=np.int16, channels=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    wave = 0.5 * np.sin(2 * np.pi * frequency * np.arange(rate) / rate)
    scaled = wave if dtype == np.float32 else wave * 128 + 128 if dtype == np.uint8 else wave * np.iinfo(dtype).max
    wavfile.write(path, rate, np.repeat(scaled[:, None].astype(dtype), channels, axis=1))


@pytest.mark.parametrize(("dtype", "channels"), [(np.int16, 1), (np.uint8, 2), (np.float32, 1), (np.int32, 2)])
def test_the_loudest_frequency_of_a_tone_is_its_own(tmp_path, dtype, channels):
    tone(tmp_path / "a.wav", 1000, dtype=dtype, channels=channels)
    data = read(tmp_path / "a.wav")
    loudest = data.axis[data.X.mean(axis=0).argmax()]
    assert loudest == pytest.approx(1000, abs=8000 / 256)
    assert data.feature_names[data.X.mean(axis=0).argmax()] == f"{loudest:.1f} Hz"
    assert data.X.max() == pytest.approx(0.25, rel=0.1)  # a sine of half the range, seen from one side


def test_recordings_are_groups_subfolders_are_classes_and_rates_are_equal(tmp_path):
    tone(tmp_path / "low/a.wav", 500)
    tone(tmp_path / "high/b.wav", 2000, rate=16000)
    data = read(tmp_path)
    assert data.kind == "sounds"
    assert "1 of them resampled" in data.description
    assert (np.unique(data.groups).tolist(), data.class_names) == ([0, 1], ("high", "low"))
    for group, frequency in enumerate((2000, 500)):
        rows = data.X[data.groups == group]
        assert data.axis[rows.mean(axis=0).argmax()] == pytest.approx(frequency, abs=8000 / 256)
    again = read(tmp_path / "high/b.wav", like=data.recipe)
    assert again.feature_names == data.feature_names
    np.testing.assert_allclose(again.X, data.X[data.groups == 0])


def test_a_broken_recording_is_named(tmp_path):
    tone(tmp_path / "a.wav", 500)
    (tmp_path / "b.wav").write_bytes(b"RIFF and nothing more")
    with pytest.raises(ReadingError, match=r"b\.wav is not a valid \.wav file"):
        read(tmp_path)


def test_a_folder_of_two_kinds_or_of_none_is_refused(tmp_path):
    assert "contains no readable files" in refusal(tmp_path)
    draw(tmp_path / "a.png")
    tone(tmp_path / "a.wav", 500)
    assert "1 image and 1 sound:" in refusal(tmp_path)


# ------------------------------------------------------------------------------------- every reader


def test_a_missing_empty_or_unknown_file_is_refused(tmp_path):
    assert refusal(tmp_path / "no.csv") == f"There is no file or folder {tmp_path / 'no.csv'}."
    (tmp_path / "empty.csv").touch()
    assert refusal(tmp_path / "empty.csv") == f"{tmp_path / 'empty.csv'} is empty."
    (tmp_path / "data.xyz").write_text("1")
    assert "expected .npy, .npz" in refusal(tmp_path / "data.xyz")
    (tmp_path / "header.csv").write_text("a,b\n")
    assert "shape (0, 2)" in refusal(tmp_path / "header.csv")


def test_an_option_of_another_format_is_refused(tmp_path, X):
    np.save(tmp_path / "rows.npy", X)
    assert "--labels cannot be used for a .npy file" in refusal(tmp_path / "rows.npy", labels="y")
    draw(tmp_path / "images" / "a.png")
    assert "--key cannot be used for a folder" in refusal(tmp_path / "images", key="X")


def test_complex_numbers_are_refused(tmp_path):
    np.save(tmp_path / "c.npy", np.ones((2, 2), dtype=complex))
    assert "expected a matrix of real numbers" in refusal(tmp_path / "c.npy")


def test_columns_are_found_by_the_names_the_model_knows(tmp_path):
    (tmp_path / "first.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n")
    recipe = read(tmp_path / "first.csv", labels="kind").recipe
    (tmp_path / "more.csv").write_text("remark,b,a\nfine,20,10\n")
    data = read(tmp_path / "more.csv", like=recipe)
    assert (data.X.tolist(), data.y) == ([[10, 20]], None)
    (tmp_path / "fewer.csv").write_text("a,c\n1,2\n")
    assert "no column 'b', which the model was fitted on" in refusal(tmp_path / "fewer.csv", like=recipe)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_scales_have_their_definition_and_are_applied_again(X, form):
    def dense(found):
        return found.toarray() if sparse.issparse(found) else found

    scaling = Scaling.from_json(json.loads(json.dumps(Scaling.of("max", form(X)).to_json())))
    np.testing.assert_allclose(dense(scaling(form(2 * X))), 2 * X / X.max())
    np.testing.assert_allclose(dense(Scaling.of("log", form(X))(form(X))), np.log1p(X))
    norms = np.linalg.norm(dense(Scaling.of("samples", form(X))(form(X))), axis=1)
    np.testing.assert_allclose(norms[X.any(axis=1)], 1)
    np.testing.assert_array_equal(dense(Scaling.of("none", form(X))(form(X))), X)


def test_scales_leave_holes_and_refuse_logarithms_of_negative_entries():
    holed = np.array([[3.0, np.nan, 4.0]])
    np.testing.assert_allclose(Scaling.of("samples", holed)(holed), [[0.6, np.nan, 0.8]])
    assert Scaling.of("max", holed).divisors == (4,)
    with pytest.raises(ValueError, match="--scale is 'log'"):
        Scaling.of("log", -holed)(-holed)
