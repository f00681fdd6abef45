"""Entries of a product at the places that a sparse matrix stores; imported when used, for numba is slow to load."""

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.compiled import compiled


def sampled_products(places: Matrix, H: Array, D: Array) -> Array:
    """(H D)_ij for every stored entry of a CSR matrix, in its order."""
    out = np.empty_like(places.data)
    _sample(places.indptr, places.indices, np.ascontiguousarray(H), np.ascontiguousarray(D.T), out)
    return out


@compiled
def _sample(indptr, indices, H, features, out):  # type: ignore[no-untyped-def]
    for i in range(len(H)):
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            total = out[place] * 0
            for k in range(H.shape[1]):
                total += H[i, k] * features[j, k]
            out[place] = total
