import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from reproduction.__main__ import app

N_SAMPLES = 120


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory):
    """A folder with a small stand-in for every data set, made of digits."""
    folder = tmp_path_factory.mktemp("data")
    digits = load_digits()
    X, y = digits.data[:N_SAMPLES], digits.target[:N_SAMPLES]
    pictures = {"X": (X * 15).astype(np.uint8), "y": y, "image_shape": [8, 8]}
    for name in ("orl_32x32", "yale_32x32", "pie_pose27", "coil20_32x32", "cbcl_faces_19x19"):
        np.savez(folder / f"{name}.npz", **pictures)
    savemat(folder / "jaffe.mat", {"fea": pictures["X"], "gnd": y[:, None] + 1})
    names = {"class_names": [f"digit {label}" for label in range(10)]}
    words = [f"pixel{pixel}" for pixel in range(64)]
    counts = sparse.csr_array(X)
    parts = {"data": counts.data, "indices": counts.indices, "indptr": counts.indptr, "shape": counts.shape, "y": y}
    np.savez(folder / "bbc_news.npz", **parts, **names, vocabulary=words)
    np.savez(folder / "tdt2_30.npz", **parts)
    np.savez(folder / "pbmc68k_reduced.npz", **parts, **names, gene_names=words)
    np.savez(folder / "leukemia_golub.npz", X=X, y=y, **names, gene_ids=words, gene_descriptions=words)
    sound = np.random.default_rng(0).integers(-999, 999, (20, 22050)).astype(np.int16)
    clips = {"samples": sound, "y": np.repeat(np.arange(4), 5), "class_names": list("abcd"), "sample_rate": 11025}
    np.savez(folder / "esc50_birds.npz", **clips, fold=np.tile(np.arange(1, 6), 4), source_id=np.arange(20))
    abundances = np.random.default_rng(0).dirichlet(np.ones(3), N_SAMPLES)
    truth = {"abundances": abundances, "endmembers": X[:3], "endmember_names": list("abc"), "scale": 16}
    np.savez(folder / "samson_95x95.npz", X=X.astype(np.uint16), image_shape=[10, 12], **truth)
    return folder


@pytest.fixture(scope="session")
def reproduce():
    """``python -m reproduction`` with these arguments."""

    def invoke(*arguments):
        return CliRunner().invoke(app, [*map(str, arguments)])

    return invoke
