"""The data: seven problems of one layer, small and large, dense and sparse, tall and wide."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition._nmf import _initialize_nmf
from sklearn.preprocessing import normalize

from deepnmf.datasets import load

Array = NDArray[Any]
Matrix = Array | sparse.csr_array


@dataclass(frozen=True)
class Problem:
    """Nonnegative data, a rank, and the factors that every contender starts from."""

    name: str
    X: Matrix
    rank: int
    W: Array
    H: Array

    @classmethod
    def of(cls, name: str, X: Matrix, rank: int, dtype: str) -> "Problem":
        """Return a problem that starts from scikit-learn's NNDSVDA, computed in double precision and then rounded."""
        W, H = _initialize_nmf(X, rank, init="nndsvda", random_state=0)
        return cls(name, X.astype(dtype), rank, *(np.ascontiguousarray(A, dtype=dtype) for A in (W, H)))

    @property
    def described(self) -> str:
        """The name, the shape and the rank as text."""
        rows, columns = self.X.shape
        kind = f", sparse, {self.X.nnz / rows / columns:.2%} nonzero" if sparse.issparse(self.X) else ""
        return f"`{self.name}` ({rows} x {columns}{kind}, k = {self.rank})"

    @cached_property
    def dense(self) -> Array:
        """The data as a dense array, created once for all contenders that do not support sparse data."""
        return self.X.toarray() if sparse.issparse(self.X) else self.X

    def corner(self) -> "Problem":
        """Return a tiny problem of the same kind and rank for warming up; compilers specialize by type, not by size."""
        rows = max(2 * self.rank, 50)
        return Problem(self.name, self.X[:rows], self.rank, self.W[:rows].copy(), self.H)


def low_rank(n_samples: int, n_features: int, rank: int, seed: int = 0) -> Array:
    """Return a product of uniform factors of the given rank, with uniform noise from 0 to 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_samples, rank)) @ rng.random((rank, n_features))
    return X + 0.1 * rng.random((n_samples, n_features))


def pie() -> Array:
    """Return CMU PIE with samples scaled to unit norm, as in the papers."""
    return normalize(load("pie_pose27").data.astype(np.float64))


def _dense() -> tuple[Matrix, int]:
    rng = np.random.default_rng(0)
    X = rng.random((2856, 60)) @ rng.random((60, 1024))
    return np.abs(X + 0.1 * rng.standard_normal(X.shape)), 40


PROBLEMS: dict[str, Callable[[], tuple[Matrix, int]]] = {
    "dense": _dense,
    "pie40": lambda: (pie(), 40),
    "pie160": lambda: (pie(), 160),
    "cbcl": lambda: (load("cbcl_faces_19x19").data / 255, 49),
    "tdt2": lambda: (load("tdt2_30").data.astype(np.float64), 30),
    "tall": lambda: (low_rank(200_000, 64, 16), 16),
    "wide": lambda: (load("leukemia_golub").data.astype(np.float64), 3),
}

DESCRIPTION = """\
`dense` is the absolute value of a product of uniform factors of rank 60 plus normal noise with a standard deviation of 0.1. `tall` is a product of
uniform factors of rank 16 plus uniform noise from 0 to 0.1. `pie40` and `pie160` are the CMU PIE faces of pose 27 (samples of unit norm), `cbcl` are the CBCL
faces, `tdt2` are the word counts of the 30 largest topics of TDT2, and `wide` are Golub's leukemia expressions."""


def problems(names: Sequence[str], dtype: str, missing: set[str]) -> Iterator[Problem]:
    """Yield the named problems; the names of problems without data are added to `missing`."""
    for name in names:
        try:
            X, rank = PROBLEMS[name]()
        except FileNotFoundError:
            missing.add(name)
        else:
            yield Problem.of(name, X, rank, dtype)
