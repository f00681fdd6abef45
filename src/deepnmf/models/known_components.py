"""Checks of the known components and guides that users give."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, check_non_negative

from deepnmf.arrays import Array
from deepnmf.masks import check_unmasked
from deepnmf.solvers.problem import Problem

TAKING = (
    "NMF, NSNMF, SemiNMF, CNMF, GNMF, DiscriminantNMF, MultilayerNMF, DeepNMF, DeepNSNMF, SparseDeepNMF and DeepSemiNMF"
)
GUIDED = "NMF, NSNMF, SemiNMF, GNMF, DiscriminantNMF, WSF, WSFMA, DeepNSNMF, SparseDeepNMF, DeepSemiNMF and DeepWSF"
GUIDE_WEIGHT = 0.01  # see docs/decisions/0029
Guides = Array | Sequence[Array | None] | None


class GivenComponents(NamedTuple):
    """Components given by the user: fixed components, and targets that guide other components."""

    fixed: Any = None
    guide: Any = None
    guide_weight: float = GUIDE_WEIGHT

    def checked(self, model: Any, problem: Problem, n_features: int) -> dict[str, Any]:
        """Return the checked arrays under the names that a problem uses."""
        fixed = checked_components(model, problem, self.fixed, n_features)
        guides = checked_guides(model, problem, self.guide, self.guide_weight, fixed, n_features)
        return {"fixed": fixed, "guides": guides, "guide_weight": float(self.guide_weight)}


NOTHING_GIVEN = GivenComponents()


# ------------------------------------------------------------------------------------------ fixed components


def checked_components(model: Any, problem: Problem, components: Any, n_features: int) -> Array | None:
    """Return the fixed components in double precision, with NaN for entries to be learned; None without them."""
    if components is None:
        return None
    whom = type(model).__name__
    if not problem.fixes_components:
        raise ValueError(
            f"fixed_components must be None: {whom} with these parameters supports no fixed components. {TAKING} do, "
            "without activation."
        )
    F = _checked(model, problem, components, "fixed_components", n_features)
    size = problem.n_components(n_features)[0]
    if len(F) > size:
        raise ValueError(
            f"fixed_components has {len(F)} rows, but the first layer of the model has {size} components, including "
            "fixed ones."
        )
    return F


def components_of_batches(model: Any, problem: Problem, components: Any) -> Array | None:
    """Return the components fixed by the first batch; a later batch may only repeat them."""
    before = getattr(model, "fixed_components_", None)
    given = checked_components(model, problem, components, model.n_features_in_)
    if given is not None and (before is None or not np.array_equal(given.astype(before.dtype), before, equal_nan=True)):
        raise ValueError("fixed_components must be those of the first batch, or None: they cannot change later.")
    return None if before is None else before.astype(np.float64)


# ---------------------------------------------------------------------------------------------------- guides


def checked_guides(
    model: Any, problem: Problem, guide: Guides, weight: Any, fixed: Array | None, n_features: int
) -> list[Array | None]:
    """Return targets for the features of each layer, in double precision; in layer 1, after the fixed components."""
    if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
        raise ValueError(f"guide_weight is {weight!r}: expected a number of at least 0.")
    if guide is None:
        return []
    _check_guided(model, problem, fixed)
    sizes = problem.n_components(n_features)
    listed = list(guide) if isinstance(guide, list | tuple) else [guide]
    if len(listed) > len(sizes):
        raise ValueError(f"guide has {len(listed)} arrays, but the model has {len(sizes)} layers.")
    names = [f"guide[{layer}]" for layer in range(len(listed))] if len(listed) > 1 else ["guide"]
    found = [
        None if targets is None else _checked(model, problem, targets, name, n_features)
        for targets, name in zip(listed, names, strict=True)
    ]
    if fixed is not None and found[0] is not None:
        found[0] = np.vstack([np.full_like(fixed, np.nan), found[0]])
    for targets, size, name in zip(found, sizes, names, strict=False):
        if targets is not None and len(targets) > size:
            raise ValueError(
                f"{name} and the fixed components have {len(targets)} rows, but the layer has {size} components."
            )
    return found


def _check_guided(model: Any, problem: Problem, fixed: Array | None) -> None:
    whom = type(model).__name__
    if not problem.guides_components:
        raise ValueError(
            f"guide must be None: {whom} with these parameters supports no guide. {GUIDED}, and "
            "DeepNMF(explains='data'), do: without activation, and with Kullback-Leibler without penalty and smoothing."
        )
    if fixed is not None and not problem.nonnegative:
        raise ValueError(
            f"{whom} takes either fixed_components or guide, but not both, because its components may be negative."
        )


# ------------------------------------------------------------------------------------------------ components


def _checked(model: Any, problem: Problem, components: Any, name: str, n_features: int) -> Array:
    """Check components in input space; NaN marks unknown entries."""
    check_unmasked(components, name)
    _check_names(model, components, name)
    F: Array = check_array(
        components, dtype=np.float64, order="C", copy=True, ensure_all_finite="allow-nan", input_name=name
    )
    if F.shape[1] != n_features:
        raise ValueError(f"{name} has {F.shape[1]} columns, but X has {n_features} features.")
    if problem.nonnegative:
        check_non_negative(np.nan_to_num(F), f"{type(model).__name__} ({name})")
    for row in np.flatnonzero(~F.any(axis=1)):  # NaN counts as nonzero
        raise ValueError(f"Row {row} of {name} is all zeros: expected at least one nonzero entry.")
    return F


def _check_names(model: Any, components: Any, name: str) -> None:
    """Refuse a data frame whose columns are not those of X, because columns are matched by position."""
    names, known = getattr(components, "columns", None), getattr(model, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(known):
        return
    missing = [str(one) for one in known if one not in set(names)]
    found = f"has no column {missing[0]!r}" if missing else "has the columns of X in a different order"
    raise ValueError(f"{name} {found}: expected the columns of X in the same order.")
