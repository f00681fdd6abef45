"""Sparse matrices from untrusted parts, which are checked, because SciPy's compiled loops do not check indices."""

from typing import Any

import numpy as np
from scipy import sparse

from deepnmf.arrays import Array, Matrix

FORMS = {"csr": sparse.csr_array, "csc": sparse.csc_array}


def from_parts(form: str, data: Any, indices: Any, indptr: Any, shape: Any) -> Matrix:
    """Read the parts, each an array in memory or in an open file, and return a CSR matrix, or raise a ValueError.

    Shapes are checked before the parts are read.
    """
    shape = _lengths(shape)
    n_pointers = shape[0 if form == "csr" else 1] + 1
    _check("indptr", indptr, n_pointers, "iu")
    pointers = indptr[()]
    _check("indices", indices, int(pointers[-1]), "iu")
    _check("data", data, int(pointers[-1]), "biufc")
    return valid(FORMS[form]((data[()], indices[()], pointers), shape=shape))


def valid(X: Matrix) -> Matrix:
    """Return X as a CSR matrix; raise a ValueError if an index is outside its shape."""
    X.check_format(full_check=True)
    return X.tocsr()


def _lengths(shape: Any) -> tuple[int, int]:
    lengths = np.asarray(shape)
    if lengths.shape != (2,) or lengths.dtype.kind not in "iu" or lengths.min() < 0:
        raise ValueError(f"the shape is {lengths.tolist()}: expected two lengths")
    return int(lengths[0]), int(lengths[1])


def _check(name: str, part: Array, length: int, kinds: str) -> None:
    if part.shape != (length,) or part.dtype.kind not in kinds:
        raise ValueError(
            f"{name} contains {np.dtype(part.dtype)} of shape {part.shape}: "
            f"expected {length} {'integers' if kinds == 'iu' else 'numbers'}"
        )
