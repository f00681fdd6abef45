"""Pictures of faces as the papers prepare them."""

import numpy as np
from sklearn.preprocessing import normalize

from deepnmf.arrays import Array
from deepnmf.reproduction.experiment import Data

__all__ = ["divided", "unit_faces"]


def unit_faces(data: Data, name: str) -> tuple[Array, Array]:
    """Samples at unit norm in single precision, and their labels."""
    bunch = data[name]
    return normalize(bunch.data.astype(np.float32)), bunch.target


def divided(y: Array, repetition: int, tested: int) -> tuple[Array, Array]:
    """Rows to train on and rows to test on, `tested` of every class.

    The test rows of repetitions are disjoint while there are any left, then the samples are shuffled anew.

    Examples
    --------
    >>> y = np.repeat([0, 1], 4)
    >>> parts = [set(divided(y, repetition, 2)[1].tolist()) for repetition in (0, 1)]
    >>> parts[0] | parts[1] == set(range(8))
    True
    """
    labels, counts = np.unique(y, return_counts=True)
    shuffle, fold = divmod(repetition, int(counts.min()) // tested)
    rng = np.random.default_rng(shuffle)
    mixed = [rng.permutation(np.flatnonzero(y == label)) for label in labels]
    test = np.concatenate([rows[fold * tested : (fold + 1) * tested] for rows in mixed])
    return np.setdiff1d(np.arange(len(y)), test), test
