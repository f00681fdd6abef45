"""Initialization of guided features: at their targets, or in the order and the scale of the targets."""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from deepnmf.arrays import Array
from deepnmf.objective import Chain, FixedEntries, Guide


def in_order_of(guide: Guide, codes: Array, chain: Chain) -> tuple[Array, Chain]:
    """Permute the features of a layer so that each target gets the most similar feature.

    Guided features get the norm of their targets, because nothing else determines their norm.
    """
    features = chain.features()[guide.layer]
    sizes = np.sqrt(guide.known @ np.square(features).T)
    cosines = np.nan_to_num(guide.targets) @ features.T / np.where(sizes > 0, sizes, 1)
    if guide.layer == 0 and chain.fixed is not None:  # fixed components keep their positions
        cosines[:, : len(chain.fixed.values)] = -np.inf
    _, matched = linear_sum_assignment(np.maximum(cosines, -2), maximize=True)
    codes, chain = _renamed(_order(guide.rows, matched, len(features)), guide.layer, codes, chain)
    wanted = np.linalg.norm(np.nan_to_num(guide.targets), axis=1)
    return _rescaled(guide, sizes[np.arange(len(matched)), matched] / wanted, codes, chain)


def with_targets(fixed: FixedEntries | None, guides: Sequence[Guide], norm: float) -> FixedEntries | None:
    """Return the fixed entries in the pre-training: fixed components, and the targets of the first layer.

    The other features are learned around them. Otherwise a guided feature could become any feature before the guide
    takes effect.
    """
    first = [guide for guide in guides if guide.layer == 0]
    if not first:
        return fixed
    (guide,) = first
    values = np.full((guide.rows[-1] + 1, guide.targets.shape[1]), np.nan)
    values[guide.rows] = norm * guide.targets
    if fixed is not None:
        values[: len(fixed.values)] = fixed.values
    return FixedEntries(values)


def _order(places: Array, matched: Array, size: int) -> Array:
    """Return a permutation that moves the matched features to their places and keeps the order of the others."""
    order = np.empty(size, int)
    order[places] = matched
    order[np.setdiff1d(np.arange(size), places)] = np.setdiff1d(np.arange(size), matched)
    return order


def _renamed(order: Array, layer: int, codes: Array, chain: Chain) -> tuple[Array, Chain]:
    above = chain.factors[layer + 1][:, order] if layer + 1 < chain.depth else None
    chain = chain.with_factor(layer, chain.factors[layer][order])
    return (codes[:, order], chain) if above is None else (codes, chain.with_factor(layer + 1, above))


def _rescaled(guide: Guide, sizes: Array, codes: Array, chain: Chain) -> tuple[Array, Chain]:
    """Rescale features to given sizes; with smoothing, all features have a common scale."""
    scales = [np.ones(len(Z)) for Z in chain.factors]
    scales[guide.layer][guide.rows] = 1 / np.where(sizes > 0, sizes, 1)
    if any(chain.theta):
        scales = [np.full(len(Z), 1 / (sizes.mean() or 1.0)) for Z in chain.factors]
    return codes / scales[-1].astype(codes.dtype), chain.rescaled(scales)
