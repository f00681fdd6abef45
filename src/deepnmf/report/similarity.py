"""An order in which similar vectors are neighbors."""

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from deepnmf.arrays import Array

MOST_OPTIMAL = 120  # vectors; with more, the order of the branches is not optimized, which would take seconds


def similarity_order(vectors: Array) -> Array:
    """Return the leaves of a clustering tree of the vectors by their angles.

    Examples
    --------
    >>> import numpy as np
    >>> similarity_order(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]])).tolist()
    [0, 2, 3, 1]
    """
    if len(vectors) < 3:
        return np.arange(len(vectors))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)
    distances = (1 - directions @ directions.T).clip(0)
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), "average", optimal_ordering=len(vectors) <= MOST_OPTIMAL)
    return np.asarray(leaves_list(tree))
