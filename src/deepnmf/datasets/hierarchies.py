"""Planted hierarchies: data of which the parts, the wholes and all codes are known."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, comb
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_scalar

from deepnmf.arrays import Array
from deepnmf.checks import layer_sizes as check_layer_sizes

__all__ = ["make_hierarchy"]

SIDES = (3, 4, 5, 6)  # of a patch, in pixels
LARGEST_OVERLAP = 0.5  # of the smaller of two patches
NOISE_LEVELS = {"gaussian": 0.05, "poisson": 10.0}
RULES: dict[str, list[Any]] = {
    "n_samples": [Interval(Integral, 1, None, closed="left")],
    "n_features": [Interval(Integral, 1, None, closed="left"), None],
    "parts_per_whole": [Interval(Integral, 2, None, closed="left"), "array-like"],
    "variation": [Interval(Real, 0, 10, closed="both")],
    "noise": [StrOptions(set(NOISE_LEVELS)), None],
    "noise_level": [Interval(Real, 0, 1e9, closed="both"), None],
    "random_state": ["random_state"],
}


def make_hierarchy(
    n_samples: int = 1000,
    layer_sizes: Sequence[int] = (24, 6),
    *,
    image_shape: tuple[int, int] | None = None,
    n_features: int | None = None,
    parts_per_whole: int | Sequence[int] = 7,
    variation: float = 0.5,
    noise: Literal["gaussian", "poisson"] | None = "gaussian",
    noise_level: float | None = None,
    random_state: int | RandomState | None = None,
) -> Bunch:
    """Generate data with a known hierarchy, the ground truth for deep factorizations.

    The true factors of measured data are unknown, so that nobody can check whether a deep model has found them. Here
    they are known: samples are made of wholes, wholes of parts, and parts of pixels or other columns of the data.
    `deepnmf.metrics.matched_cosine` compares the features of a fitted model with the true ones.

    Parameters
    ----------
    n_samples : int, default=1000
        At least one for each feature of the top layer.
    layer_sizes : sequence of int, default=(24, 6)
        r_1..r_m, from the data upwards: r_1 parts, then the wholes of each layer.
    image_shape : (int, int), optional
        Samples are images of this height and width, and a part is a rectangular patch of 3 to 6 pixels a side. At most
        half of a patch lies in another one; in a crowded image, patches are smaller. The default is (20, 20), unless
        `n_features` is given.
    n_features : int, optional
        Samples are vectors of this length instead of images, and a part is a block of consecutive features. Blocks
        cover all features and overlap their neighbors a little. At least 3 features for each part are needed.
    parts_per_whole : int or sequence of int, default=7
        Number of features below that a whole is made of. An integer applies to all layers, but is reduced to half the
        number of features below if it is larger (for a single whole, to all features below). A sequence has one number
        for each layer above the first.
    variation : float, default=0.5
        Coefficient of variation of the part-wise variation, from 0 to 10.
    noise : {"gaussian", "poisson"} or None, default="gaussian"
        Gaussian noise is added, and negative entries are then set to 0. With "poisson", entries are counts.
    noise_level : float, optional
        Gaussian: standard deviation of the noise relative to that of all entries, by default 0.05. Poisson: mean count
        of an entry, by default 10; lower counts are noisier. Ignored without noise.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    Bunch
        data : array of shape (n_samples, n_features)
            Nonnegative: ``codes[0] @ factors[0]`` with noise.
        factors : list of arrays
            Z_1..Z_m, of shape (r_l, r_{l-1}), nonnegative. Rows of Z_1 are the parts. A row of Z_l above has a positive
            weight for each feature that the whole is made of. Every feature is used by some whole, and no two wholes
            are made of the same features.
        features : list of arrays
            C_1..C_m, each layer's features in input space, C_l = Z_l···Z_1, with unit norm as in fitted models.
        codes : list of arrays
            H_1..H_m, of shape (n_samples, r_l), nonnegative. Each sample consists of one to three wholes of the top
            layer, and every whole is used.
        image_shape : (int, int) or None
            None if the samples are not images.

    Notes
    -----
    The codes follow from those of the layer above, H_{l-1} = (H_l Z_l) ∘ G_l. The entries of G_l are independent and
    gamma distributed, with mean 1 and standard deviation `variation`: each part of a whole is stronger in one sample
    and weaker in another. Without variation the codes are an exact chain. The data then have at most the rank of the
    smallest layer, and the parts cannot be found in them. A little variation makes the parts identifiable; with much
    variation, the wholes are hard to recover. It acts between all layers, so it accumulates with depth.

    Examples
    --------
    >>> from deepnmf import NMF
    >>> from deepnmf.datasets import make_hierarchy
    >>> from deepnmf.metrics import matched_cosine
    >>> truth = make_hierarchy(300, (12, 4), image_shape=(16, 16), random_state=0)
    >>> truth.data.shape, [Z.shape for Z in truth.factors]
    ((300, 256), [(12, 256), (4, 12)])
    >>> parts = NMF(12, random_state=0).fit(truth.data).components_
    >>> matched_cosine(parts, truth.features[0]) > 0.9
    True
    """
    given = {name: value for name, value in locals().items() if name in RULES}
    validate_parameter_constraints(RULES, given, "make_hierarchy")
    sizes = check_layer_sizes(layer_sizes)
    if n_samples < sizes[-1]:
        raise ValueError(
            f"n_samples is {n_samples}, but the top layer has {sizes[-1]} features: expected at least one per feature."
        )
    level = NOISE_LEVELS.get(str(noise), 0.0) if noise_level is None else noise_level
    if noise == "poisson" and level == 0:
        raise ValueError("noise_level is 0, but it is the mean count of Poisson noise: expected a positive number.")
    counts = _features_per_whole(parts_per_whole, sizes)

    rng = check_random_state(random_state)
    if n_features is None:
        image_shape = _check_image_shape((20, 20) if image_shape is None else image_shape)
        parts = _patches(sizes[0], image_shape, rng)
    elif image_shape is None:
        parts = _blocks(sizes[0], n_features, rng)
    else:
        raise ValueError(f"image_shape is {image_shape} and n_features is {n_features}: expected at most one of them.")

    factors = [parts / np.linalg.norm(parts, axis=1, keepdims=True)]
    features = [factors[0]]
    for below, size, count in zip(sizes, sizes[1:], counts, strict=False):
        Z = _wholes(size, below, count, rng)
        factors.append(Z / np.linalg.norm(Z @ features[-1], axis=1, keepdims=True))
        features.append(factors[-1] @ features[-1])

    codes = [_top_codes(n_samples, sizes[-1], rng)]
    for Z in reversed(factors[1:]):
        H = codes[0] @ Z
        if variation > 0:
            shape = max(variation, 1e-9) ** -2  # finite for any variation
            H *= rng.standard_gamma(shape, H.shape) / shape
        codes.insert(0, H)

    X = codes[0] @ factors[0]
    if noise == "gaussian":
        X = np.maximum(X + level * X.std() * rng.standard_normal(X.shape), 0)
    elif noise == "poisson":
        codes = [H * (level / X.mean()) for H in codes]
        X = rng.poisson(codes[0] @ factors[0]).astype(float)
    return Bunch(data=X, factors=factors, features=features, codes=codes, image_shape=image_shape)


def _features_per_whole(parts_per_whole: Any, sizes: tuple[int, ...]) -> list[int]:
    """Return for each layer above the first how many features below a whole is made of."""
    if min(sizes[:-1], default=2) < 2:
        raise ValueError(f"layer_sizes is {sizes}: expected at least 2 features in each layer below the top.")
    if isinstance(parts_per_whole, Integral):
        most = [max(2, ceil(below / min(size, 2))) for below, size in pairwise(sizes)]
        counts = np.minimum(int(parts_per_whole), most).tolist()
    else:
        counts = np.ravel(parts_per_whole).tolist()
    if len(counts) != len(sizes) - 1:
        raise ValueError(f"parts_per_whole has {len(counts)} values: expected one, or {len(sizes) - 1} for {sizes}.")
    for layer, ((below, size), count) in enumerate(zip(pairwise(sizes), counts, strict=True), start=2):
        fewest = max(2, ceil(below / size))  # so that every feature below can be used
        check_scalar(count, f"parts_per_whole of layer {layer}", Integral, min_val=fewest, max_val=below)
        if size > comb(below, count):
            raise ValueError(
                f"layer_sizes is {sizes}: expected at most {comb(below, count)} in layer {layer}, the number of "
                f"different choices of {count} out of {below} features."
            )
    return counts


def _check_image_shape(image_shape: Any) -> tuple[int, int]:
    sides = np.asarray(image_shape)
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.min() < SIDES[0]:
        raise ValueError(f"image_shape must be two integers of at least {SIDES[0]}, got {image_shape!r}.")
    return int(sides[0]), int(sides[1])


def _blocks(n_parts: int, n_features: int, rng: RandomState) -> Array:
    """Return indicators of consecutive blocks of features, each of which reaches up to a third into the next one."""
    if n_features < 3 * n_parts:
        raise ValueError(f"n_features is {n_features}: expected at least 3 for each of the {n_parts} parts.")
    lengths = 3 + rng.multinomial(n_features - 3 * n_parts, rng.dirichlet(np.full(n_parts, 5.0)))
    stops = np.cumsum(lengths)
    reach = np.append([rng.randint(length // 3 + 1) for length in lengths[1:]], 0)
    begins, ends = (stops - lengths)[:, None], (stops + reach)[:, None]
    feature = np.arange(n_features)
    return ((begins <= feature) & (feature < ends)).astype(float)


def _patches(n_parts: int, image_shape: tuple[int, int], rng: RandomState) -> Array:
    """Return indicators of rectangles, with shorter sides if longer ones overlap too much."""
    for longest in np.repeat(SIDES[::-1], 5):
        sides = np.column_stack([rng.randint(SIDES[0], min(longest, side) + 1, n_parts) for side in image_shape])
        patches = _placed(sides[np.argsort(-sides.prod(axis=1), kind="stable")], image_shape, rng)
        if len(patches) == n_parts:
            images = np.zeros((n_parts, *image_shape))
            for image, (top, left, bottom, right) in zip(images, rng.permutation(patches), strict=True):
                image[top:bottom, left:right] = 1
            return images.reshape(n_parts, -1)
    raise ValueError(
        f"layer_sizes[0] is {n_parts}, but images of {image_shape[0]} x {image_shape[1]} pixels have no room for that "
        f"many patches of {SIDES[0]} to {SIDES[-1]} pixels per side: expected fewer parts or a larger image_shape."
    )


def _placed(sides: Array, image_shape: tuple[int, int], rng: RandomState) -> Array:
    """Place rectangles, large ones first, where they overlap least, until one overlaps another too much."""
    patches = np.zeros((0, 4), dtype=int)  # top, left, bottom, right
    for side in sides:
        corners = np.column_stack(
            [rng.randint(0, n - length + 1, 300) for n, length in zip(image_shape, side, strict=True)]
        )
        begin = np.maximum(corners[:, None], patches[:, :2])
        end = np.minimum(corners[:, None] + side, patches[:, 2:])
        overlap = np.maximum(end - begin, 0).prod(axis=2) / side.prod()  # all patches placed so far are larger
        best = np.argmin(overlap.max(axis=1, initial=0) + 0.1 * overlap.sum(axis=1))
        if overlap[best].max(initial=0) > LARGEST_OVERLAP:
            break
        patches = np.vstack([patches, [*corners[best], *(corners[best] + side)]])
    return patches


def _wholes(size: int, below: int, count: int, rng: RandomState) -> Array:
    """Return weights of `size` different sets of `count` features below, all of which are used."""
    used = np.zeros((0, below), dtype=bool)
    while len(used) < size:
        whole = np.isin(np.arange(below), rng.choice(below, count, replace=False))
        if not (used == whole).all(axis=1).any():
            used = np.vstack([used, whole])
    for unused in np.flatnonzero(~used.any(axis=0)):  # sets stay different, because only one has the feature
        most_used = used.sum(axis=0).argmax()
        used[rng.choice(np.flatnonzero(used[:, most_used])), [most_used, unused]] = False, True
    return np.where(used, rng.uniform(0.5, 1.5, used.shape), 0)


def _top_codes(n_samples: int, size: int, rng: RandomState) -> Array:
    """Return codes of one to three wholes in each sample."""
    order = rng.uniform(size=(n_samples, size))
    order[np.arange(n_samples), rng.permutation(n_samples) % size] = 0  # every whole comes first somewhere
    rank = order.argsort(axis=1).argsort(axis=1)
    present = rank < rng.randint(1, min(3, size) + 1, (n_samples, 1))
    return np.where(present, rng.gamma(2, 0.5, present.shape), 0)
