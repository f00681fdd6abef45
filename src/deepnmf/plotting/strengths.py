"""Contributions of features to the data, and of parts to their wholes."""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.models.factorization import Factorization
from deepnmf.models.hierarchy import contributions


def strengths(features: Array, codes: Array | None) -> Array:
    """Return the norm of each feature, times its mean weight in the codes if there are codes."""
    norms = np.linalg.norm(features, axis=1)
    return norms if codes is None else norms * np.abs(codes).mean(axis=0)


def part_shares(model: Factorization, layer: int) -> Array:
    """Return the share of each feature of the layer below in each feature of a layer: rows sum to 1, or are zero."""
    added = contributions(model._learned, layer)
    totals = added.sum(axis=1, keepdims=True)
    return np.asarray(added / np.where(totals > 0, totals, 1))


def codes_of_layers(model: Factorization) -> list[Array | None]:
    """Return the codes of the training rows at every layer, None for layers without codes."""
    missing = len(model.features_) - len(model.codes_)
    return [*[None] * missing, *model.codes_]
