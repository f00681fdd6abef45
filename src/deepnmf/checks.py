"""Checks of parameters and of starting values. Each error names the parameter, the value found and what is expected."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_non_negative, column_or_1d

from deepnmf.arrays import Array, Matrix
from deepnmf.masks import check_unmasked

NNDSVD = ("nndsvd", "nndsvda", "nndsvdar")
FLOATS = [np.float64, np.float32]
SMALLEST_WEIGHT = 1e-3  # of the largest weight: with smaller weights, steps are so short that the fit stops at once


def layer_sizes(sizes: Any, name: str = "layer_sizes") -> tuple[int, ...]:
    """Check layer sizes; one integer is one layer."""
    sizes = (sizes,) if isinstance(sizes, Integral) else sizes
    try:
        values: tuple[Any, ...] = tuple(sizes)
    except TypeError:
        values = ()
    if not values:
        raise ValueError(f"{name} must contain one positive integer per layer, got {sizes!r}.")
    for size in values:
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise TypeError(f"{name} must contain integers, got {size!r} in {sizes!r}.")
        if size < 1:
            raise ValueError(f"{name} must be positive, got {size!r} in {sizes!r}.")
    return tuple(int(size) for size in values)


def per_layer(
    value: float | Sequence[float], depth: int, name: str, low: float, high: float, what: str = "layer"
) -> tuple[float, ...]:
    """Check one number for all layers, or one number per layer, against bounds."""
    values = np.atleast_1d(np.asarray(value)).tolist() * (depth if np.ndim(value) == 0 else 1)
    if len(values) != depth:
        raise ValueError(f"{name} has {len(values)} values for {depth} {what}s: expected one, or one per {what}.")
    for one in values:
        if not isinstance(one, Real) or not low <= float(one) <= high or not np.isfinite(float(one)):
            bounds = f"from {low:g} to {high:g}" if np.isfinite(high) else f"of at least {low:g}"
            raise ValueError(f"{name} must be a finite number {bounds}, or one per {what}; got {one!r}.")
    return tuple(float(one) for one in values)


def check_rank(init: str, shape: tuple[int, int], sizes: tuple[int, ...]) -> None:
    """Refuse an explicit NNDSVD beyond the rank, with scikit-learn's message."""
    n_samples, width = shape
    for size in sizes:
        if size > min(n_samples, width):
            raise ValueError(
                f"init = '{init}' can only be used when n_components <= min(n_samples, n_features)"
                + ("" if len(sizes) == 1 else f", layer by layer; got {size} for ({n_samples}, {width})")
            )
        width = size


def as_matrices(factors: object) -> list[Array] | None:
    """Return factors to start from as a list; a single matrix is refused."""
    if factors is None:
        return None
    if not isinstance(factors, Sequence) or any(np.ndim(Z) != 2 for Z in factors):
        raise TypeError(f"factors must be a list of matrices [Z_1, ...], got {type(factors).__name__}.")
    for layer, Z in enumerate(factors):
        check_unmasked(Z, f"factors[{layer}]")
    return [np.ascontiguousarray(Z) for Z in factors]


def layer_index(layer: Any, depth: int) -> int:
    """Return the index of a layer, counted from 0; refuse a layer that does not exist."""
    if not isinstance(layer, Integral):
        raise TypeError(f"layer must be an integer, got {type(layer).__name__}.")
    if not -depth <= int(layer) < depth:
        raise ValueError(f"layer is {layer}, but the model has {depth} layers: expected {-depth} to {depth - 1}.")
    return int(layer) % depth


def check_output_layer(output_layer: int, depth: int) -> None:
    """Refuse a layer that does not exist."""
    if not -depth <= output_layer < depth:
        raise ValueError(
            f"output_layer is {output_layer}, but the model has {depth} layers: expected {-depth} to {depth - 1}."
        )


def check_start(
    init: str | None,
    factors: Sequence[Array],
    shape: tuple[int, int],
    sizes: tuple[int, ...],
    whom: str,
    nonnegative: bool,
) -> None:
    """Refuse a start that is missing, that is impossible for this X, or whose shapes do not match the layers."""
    if init == "custom" and not factors:
        raise ValueError("init='custom' needs a start: pass factors=[Z_1, ...] to fit.")
    if init in NNDSVD:
        check_rank(init, shape, sizes)
    if len(factors) > len(sizes):
        raise ValueError(f"factors has {len(factors)} matrices, but the model has {len(sizes)} layers.")
    width = shape[1]
    for layer, (Z, size) in enumerate(zip(factors, sizes, strict=False)):
        check_start_array(Z, (size, width), whom, f"factors[{layer}]", nonnegative)
        width = size


def factor_shapes(n_features: int, sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Shapes of Z_1..Z_m."""
    return list(zip(sizes, (n_features, *sizes), strict=False))


def check_warm_start(found: Sequence[Array], expected: Sequence[tuple[int, ...]]) -> None:
    """Refuse a warm start from a fit with other layer sizes or another number of columns."""
    shapes = [Z.shape for Z in found]
    if shapes != list(expected):
        raise ValueError(
            f"warm_start=True starts from the previous fit, whose factors have shapes {shapes}, but the model needs "
            f"{list(expected)} for this X."
        )


def check_start_array(array: Array, shape: tuple[int, int], whom: str, name: str, nonnegative: bool) -> None:
    """Refuse a starting matrix that the model cannot use."""
    check_unmasked(array, name)
    array = check_array(array, dtype=FLOATS, input_name=name)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, but the model needs {shape}.")
    if nonnegative:
        check_non_negative(array, f"{whom} ({name})")


def pool_sizes(value: Any, depth: int) -> tuple[int, ...]:
    """Check window widths: one for all poolings, or one for each pair of consecutive layers."""
    values = np.atleast_1d(np.asarray(value)).tolist() * (depth - 1 if np.ndim(value) == 0 else 1)
    for width in values:
        if not isinstance(width, Integral) or isinstance(width, bool) or width < 0:
            raise ValueError(f"pool_size must be an integer of at least 0, or one per pooling; got {width!r}.")
    if len(values) != depth - 1:
        raise ValueError(f"pool_size has {len(values)} values, but {depth} layers have {depth - 1} poolings.")
    return tuple(values)


def check_groups(groups: Any, n_samples: int) -> Array:
    """Check that each sample has a group and that the rows of a group are consecutive; None is one group."""
    if groups is None:
        return np.zeros(n_samples, dtype=int)
    check_unmasked(groups, "groups")
    ids: Array = column_or_1d(groups)
    if len(ids) != n_samples:
        raise ValueError(f"groups has {len(ids)} entries, but X has {n_samples} samples: expected one per sample.")
    begins = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    _, first = np.unique(ids[begins], return_index=True)
    for row in begins[np.setdiff1d(np.arange(len(begins)), first)]:
        raise ValueError(f"groups must have consecutive rows for each group, but {ids[row]} begins again at row {row}.")
    return ids


def check_observed(X: Matrix, whom: str, *, nonnegative: bool, learns: bool) -> None:
    """Refuse negative entries for a nonnegative model, and data without observed entries; NaN is unobserved."""
    if not nonnegative and not learns:
        return
    smallest = X if sparse.issparse(X) else np.fmin.reduce(X, axis=None, keepdims=True)  # NaN if all entries are NaN
    if nonnegative:
        check_non_negative(smallest, f"{whom} (input X)")
    if learns and not sparse.issparse(X) and np.isnan(smallest).all():
        raise ValueError("X has no observed entry, only NaN: expected at least one number.")


def check_any_weight(weight: Any) -> None:
    """Refuse weights that are all zero or too small."""
    largest = float((weight if isinstance(weight, np.ndarray) else weight.data).max(initial=0))
    if largest == 0:
        raise ValueError("entry_weight is 0 for every entry of X: expected at least one positive weight.")
    if largest < SMALLEST_WEIGHT:
        raise ValueError(
            f"entry_weight has a maximum of {largest:g}: expected a maximum from {SMALLEST_WEIGHT:g} to 1, so divide "
            "the weights by it."
        )
