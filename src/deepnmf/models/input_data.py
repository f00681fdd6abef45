"""Checks of the X that users give: in memory or not, with missing entries, with weights of its entries."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, check_array, validate_data

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import FLOATS, check_any_weight, check_observed
from deepnmf.engines import Engine, PatternWeights, Workers, is_on_cluster, is_streamed, make_engine, row_source
from deepnmf.engines.choice import check_magnitude
from deepnmf.masks import check_unmasked, mask_of, with_holes
from deepnmf.solvers.problem import Problem

STORED = "stored"
EntryWeight = Any
"""None, ``"stored"``, or a dense or sparse matrix of the shape of X."""


class Observed(NamedTuple):
    """Data with the weights of its entries and rows; if the entry weights are sparse, X has their sparsity pattern."""

    X: Matrix
    weight: Matrix | PatternWeights | None = None
    row_weights: Array | None = None


def observed(
    model: Any, problem: Problem, X: Matrix, entry_weight: EntryWeight, sample_weight: Any = None, *, reset: bool
) -> Observed:
    """Check X and the weights of its entries and rows, for a fit (`reset`) or for a fitted model."""
    data = _observed(model, problem, validated(model, problem, X, reset=reset), entry_weight, reset)
    if sample_weight is None:
        return data
    if not problem.weighs_rows:
        raise ValueError(
            f"sample_weight must be None: {type(model).__name__} with these parameters supports no sample weights."
        )
    return data._replace(row_weights=_checked_rows(sample_weight, data.X.shape[0]))


def _observed(model: Any, problem: Problem, X: Matrix, entry_weight: EntryWeight, reset: bool) -> Observed:
    if entry_weight is None:
        return Observed(X)
    if not problem.masks_nan:
        raise ValueError(
            f"entry_weight must be None: {type(model).__name__} with these parameters supports no entry weights."
        )
    if is_streamed(X) or is_on_cluster(X):
        raise ValueError("entry_weight needs X in memory, but the rows of X are read in blocks.")
    data = _weighed(X, entry_weight)
    if reset and data.weight is not None:
        check_any_weight(data.weight)
    return data


def rows(problem: Problem, data: Observed, workers: Workers, whom: str, unit: float | None = None) -> Engine:
    """Return an engine over the rows divided by `unit`; if it is None, by a unit that prevents over- and underflow."""
    unit = unit if problem.has_units else 1.0
    engine = make_engine(*data, workers=workers, nonnegative=problem.nonnegative, unit=unit)
    if not problem.has_units:
        check_magnitude(engine, whom)
    return engine


# ------------------------------------------------------------------------------------------------- X


def validated(model: Any, problem: Problem, X: Matrix, *, reset: bool) -> Matrix:
    """Check X; if it is not in memory, check only what is known before it is read."""
    whom = type(model).__name__
    if mask_of(X) is not None:
        if not problem.masks_nan:
            raise ValueError(f"X has masked entries, but {whom} with these parameters needs complete data: fill them.")
        X = with_holes(X)
    if is_on_cluster(X):
        return _on_cluster(model, X, problem, reset)
    source = None if isinstance(X, np.memmap) and not problem.streams else row_source(X)
    if source is None:
        return _in_memory(model, X, problem, reset)
    if not problem.streams:
        raise ValueError(f"{whom} needs X in memory, but the rows of X are read in blocks.")
    return _to_be_read(model, source, reset)


def _on_cluster(model: Any, X: Matrix, problem: Problem, reset: bool) -> Matrix:
    if not problem.distributes:
        raise ValueError(
            f"X is a dask array, which {type(model).__name__} with these parameters does not support, because its rows "
            "depend on each other."
        )
    from deepnmf.engines.cluster import check_dask_array  # noqa: PLC0415 - dask is imported for its own arrays only

    return _to_be_read(model, check_dask_array(X), reset)


def _to_be_read(model: Any, X: Matrix, reset: bool) -> Matrix:
    """Check what is known before the rows are read; the rest is checked in the first pass."""
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X has dtype {X.dtype}: expected real numbers.")
    fewest = 2 if reset else 1
    if X.shape[0] < fewest or X.shape[1] < 1:
        raise ValueError(f"X has shape {X.shape}: expected at least {fewest} samples and one feature.")
    validate_data(model, X, reset=reset, skip_check_array=True)
    return X


def _in_memory(model: Any, X: Matrix, problem: Problem, reset: bool) -> Matrix:
    X = validate_data(
        model,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=FLOATS,
        ensure_min_samples=2 if reset else 1,
        ensure_all_finite="allow-nan" if problem.masks_nan and not sparse.issparse(X) else True,
    )
    if not sparse.issparse(X):
        X = np.require(X, requirements=["C", "A"])  # products of other layouts differ in the last bits
    elif not X.has_canonical_format:
        X = X.copy()  # the user's matrix must not be modified
        X.sum_duplicates()
    check_observed(X, type(model).__name__, nonnegative=problem.nonnegative, learns=reset)
    return X


# ------------------------------------------------------------------------------- weights of its entries


def _weighed(X: Matrix, entry_weight: EntryWeight) -> Observed:
    """Check weights and give X their sparsity pattern."""
    if isinstance(entry_weight, PatternWeights):  # from `select_layers`, which stores X in their pattern
        return Observed(X, entry_weight)
    if isinstance(entry_weight, str):
        return _stored(X, entry_weight)
    weight = _checked(X, entry_weight)
    if sparse.issparse(weight):
        return _at(weight, X)
    return Observed(X, None if weight.min() == 1 else weight)


def _stored(X: Matrix, name: str) -> Observed:
    if name != STORED:
        raise ValueError(f'entry_weight must be None, "{STORED}" or a matrix of the shape of X, got {name!r}.')
    if not sparse.issparse(X):
        raise ValueError(f'entry_weight="{STORED}" needs a sparse X, whose absent entries it skips, but X is dense.')
    return Observed(X, _with_data(X, np.ones_like(X.data)))


def _checked(X: Matrix, entry_weight: Any) -> Matrix:
    check_unmasked(entry_weight, "entry_weight")
    weight = check_array(entry_weight, accept_sparse="csr", dtype=X.dtype, order="C", input_name="entry_weight")
    if weight.shape != X.shape:
        raise ValueError(
            f"entry_weight has shape {weight.shape}, but X has {X.shape}: expected one weight for each entry."
        )
    if sparse.issparse(X) and not sparse.issparse(weight):
        raise TypeError("entry_weight is dense, but X is sparse: expected sparse weights, with 0 for absent entries.")
    if weight.size and not 0 <= weight.min() <= weight.max() <= 1:
        raise ValueError(f"entry_weight must be from 0 to 1, got {weight.min():g} to {weight.max():g}.")
    return weight


def _checked_rows(sample_weight: Any, n_samples: int) -> Array:
    """Check for one weight per row, at least one of them above 0."""
    check_unmasked(sample_weight, "sample_weight")
    like = np.broadcast_to(0.0, (n_samples, 1))
    weights = _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.asarray(weights)


def _at(weight: Matrix, X: Matrix) -> Observed:
    """Store the entries of X that have a weight, including zeros; NaN gets weight 0."""
    rows = np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr))
    values = np.asarray(X[rows, weight.indices], dtype=X.dtype).ravel()
    unseen = np.isnan(values)
    values[unseen] = 0
    return Observed(_with_data(weight, values), _with_data(weight, np.where(unseen, 0, weight.data)))


def _with_data(pattern: Matrix, data: Array) -> Matrix:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
