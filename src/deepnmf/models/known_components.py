"""Known components and guides as users give them, checked."""

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
    """What a user says of components: those that are fixed, and targets that pull others."""

    fixed: Any = None
    guide: Any = None
    guide_weight: float = GUIDE_WEIGHT

    def checked(self, model: Any, problem: Problem, n_features: int) -> dict[str, Any]:
        """The same as a problem knows it."""
        fixed = checked_components(model, problem, self.fixed, n_features)
        guides = checked_guides(model, problem, self.guide, self.guide_weight, fixed, n_features)
        return {"fixed": fixed, "guides": guides, "guide_weight": float(self.guide_weight)}


NOTHING_GIVEN = GivenComponents()


# ------------------------------------------------------------------------------------------ fixed components


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
    F = _checked(model, problem, components, "fixed_components", n_features)
    size = problem.n_components(n_features)[0]
    if len(F) > size:
        raise ValueError(
            f"fixed_components has {len(F)} rows, but the first layer of the model has {size} components, which count "
            "the fixed ones."
        )
    return F


def components_of_batches(model: Any, problem: Problem, components: Any) -> Array | None:
    """The components that the first batch has fixed, which a later one may name again."""
    before = getattr(model, "fixed_components_", None)
    given = checked_components(model, problem, components, model.n_features_in_)
    if given is not None and (before is None or not np.array_equal(given.astype(before.dtype), before, equal_nan=True)):
        raise ValueError("fixed_components must be those of the first batch, or None: others were fixed before.")
    return None if before is None else before.astype(np.float64)


# ---------------------------------------------------------------------------------------------------- guides


def checked_guides(
    model: Any, problem: Problem, guide: Guides, weight: Any, fixed: Array | None, n_features: int
) -> list[Array | None]:
    """Targets for the features of each layer, in double precision; those of the first layer follow what is fixed."""
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
            raise ValueError(f"{name} and what is fixed are {len(targets)} rows, but the layer has {size} components.")
    return found


def _check_guided(model: Any, problem: Problem, fixed: Array | None) -> None:
    whom = type(model).__name__
    if not problem.guides_components:
        raise ValueError(
            f"{whom} as it is set has no guide: guide must be None, or the model one of {GUIDED}, or "
            "DeepNMF(explains='data'), without activation, and under Kullback-Leibler without penalty and smoothing."
        )
    if fixed is not None and not problem.nonnegative:
        raise ValueError(f"{whom} takes fixed_components or a guide, but not both: its components have any sign.")


# ------------------------------------------------------------------------------------------------ components


def _checked(model: Any, problem: Problem, components: Any, name: str, n_features: int) -> Array:
    """Rows in input space that a model can use, NaN where nothing is known."""
    check_unmasked(components, name)
    _check_names(model, components, name)
    F: Array = check_array(
        components, dtype=np.float64, order="C", copy=True, ensure_all_finite="allow-nan", input_name=name
    )
    if F.shape[1] != n_features:
        raise ValueError(f"{name} has {F.shape[1]} columns, but X has {n_features} features.")
    if problem.nonnegative:
        check_non_negative(np.nan_to_num(F), f"{type(model).__name__} ({name})")
    for row in np.flatnonzero(~F.any(axis=1)):  # NaN is no zero
        raise ValueError(f"Row {row} of {name} is all zeros: a component with an entry other than 0 is expected.")
    return F


def _check_names(model: Any, components: Any, name: str) -> None:
    """Refuse a data frame whose columns are not those of X: they would be taken for others."""
    names, known = getattr(components, "columns", None), getattr(model, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(known):
        return
    missing = [str(one) for one in known if one not in set(names)]
    found = f"has no column {missing[0]!r}" if missing else "has the columns of X in another order"
    raise ValueError(f"{name} {found}: the columns of X in their order are expected.")
