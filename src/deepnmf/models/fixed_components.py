"""Known components as users give them, checked."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_non_negative

from deepnmf.arrays import Array
from deepnmf.masks import check_unmasked
from deepnmf.solvers.problem import Problem

TAKING = (
    "NMF, NSNMF, SemiNMF, CNMF, GNMF, DiscriminantNMF, MultilayerNMF, DeepNMF, DeepNSNMF, SparseDeepNMF and DeepSemiNMF"
)


def checked_components(model: Any, problem: Problem, components: Any, n_features: int) -> Array | None:
    """Components that a model keeps, in double precision, NaN where an entry is learned; None if there are none."""
    if components is None:
        return None
    whom = type(model).__name__
    if not problem.fixes_components:
        raise ValueError(
            f"{whom} as it is set has no fixed components: fixed_components must be None, or the model one of {TAKING} "
            "without activation."
        )
    check_unmasked(components, "fixed_components")
    _check_names(model, components)
    F: Array = check_array(
        components, dtype=np.float64, order="C", copy=True, ensure_all_finite="allow-nan", input_name="fixed_components"
    )
    if F.shape[1] != n_features:
        raise ValueError(f"fixed_components has {F.shape[1]} columns, but X has {n_features} features.")
    if len(F) > problem.n_lowest(n_features):
        raise ValueError(
            f"fixed_components has {len(F)} rows, but the first layer of the model has {problem.n_lowest(n_features)} "
            "components, which count the fixed ones."
        )
    if problem.nonnegative:
        check_non_negative(np.nan_to_num(F), f"{whom} (fixed_components)")
    for row in np.flatnonzero(~F.any(axis=1)):  # NaN is no zero
        raise ValueError(f"Row {row} of fixed_components is all zeros: a component with an entry above 0 is expected.")
    return F


def _check_names(model: Any, components: Any) -> None:
    """Refuse a data frame whose columns are not those of X: they would be taken for others."""
    names, known = getattr(components, "columns", None), getattr(model, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(known):
        return
    missing = [str(name) for name in known if name not in set(names)]
    found = f"has no column {missing[0]!r}" if missing else "has the columns of X in another order"
    raise ValueError(f"fixed_components {found}: the columns of X in their order are expected.")


def components_of_batches(model: Any, problem: Problem, components: Any) -> Array | None:
    """The components that the first batch has fixed, which a later one may name again."""
    before = getattr(model, "fixed_components_", None)
    given = checked_components(model, problem, components, model.n_features_in_)
    if given is not None and (before is None or not np.array_equal(given.astype(before.dtype), before, equal_nan=True)):
        raise ValueError("fixed_components must be those of the first batch, or None: others were fixed before.")
    return None if before is None else before.astype(np.float64)
