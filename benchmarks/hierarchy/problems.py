"""The real data, with layer sizes that were fixed before the first run."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.counts import log_normalized, tf_idf
from scipy import sparse
from sklearn.datasets import load_digits


def stored(name: str):
    """Return the arrays of a file in the folder DEEPNMF_DATA."""
    return np.load(Path(os.environ["DEEPNMF_DATA"]) / f"{name}.npz", allow_pickle=False)


def counts(name: str) -> sparse.csr_array:
    """Return the sparse counts of a file."""
    parts = stored(name)
    return sparse.csr_array(
        (parts["data"].astype(float), parts["indices"], parts["indptr"]), shape=tuple(parts["shape"])
    )


def digits():
    """Return the handwritten digits of scikit-learn."""
    return load_digits().data


def image_file(name: str):
    """Return a function that reads images, with entries up to 1."""

    def read():
        return stored(name)["X"] / 255.0

    return read


def count_file(name: str, weighted: Callable[[Any], Any] = sparse.csr_array):
    """Return a function that reads counts and applies a weighting."""

    def read():
        return weighted(counts(name))

    return read


def samson():
    """Return the spectra of the pixels of a scene."""
    parts = stored("samson_95x95")
    return parts["X"] / float(parts["scale"])


def labels(name: str, key: str):
    """Return labels of a file, or the position of each row within its class if the file does not have the key.

    The position is an attribute if the rows of all classes are in the same order.
    """
    parts = stored(name)
    if key in parts:
        return parts[key]
    y = parts["y"]
    return np.array([np.count_nonzero(y[:row] == y[row]) for row in range(len(y))])


@dataclass(frozen=True)
class Problem:
    """Data, and the sizes of the layers."""

    read: Callable[[], Any]
    sizes: tuple[int, ...]


REAL = {
    "digits": Problem(digits, (40, 10)),
    "cbcl": Problem(image_file("cbcl_faces_19x19"), (100, 49, 16)),
    "cbcl-80": Problem(image_file("cbcl_faces_19x19"), (80, 40, 20)),
    "pie": Problem(image_file("pie_pose27"), (100, 50)),
    "orl": Problem(image_file("orl_32x32"), (100, 40)),
    "bbc": Problem(count_file("bbc_news", tf_idf), (40, 5)),
    "tdt2": Problem(count_file("tdt2_30", tf_idf), (60, 30)),
    "newsgroups": Problem(count_file("newsgroups", tf_idf), (40, 8)),
    "pbmc_facs": Problem(count_file("pbmc_facs", log_normalized), (30, 6)),
    "samson": Problem(samson, (12, 3)),
}
