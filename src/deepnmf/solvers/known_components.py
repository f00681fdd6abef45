"""Fixed components: their scale in the optimization, and the initialization of the other components."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.layout import Arrays, Expected
from deepnmf.objective import Chain, FixedEntries


@dataclass(frozen=True)
class KnownComponents:
    """The given fixed components, with NaN for learned entries, and their divisors in a fit.

    In the optimization all have the same norm, so that gradient steps and penalties do not depend on the scale of the
    user. Smoothing mixes components in their current scale, so that with smoothing one number divides all.
    """

    given: Array
    scale: Array  # one number per component

    @classmethod
    def at_norm(cls, given: Array, norm: float, smoothed: bool) -> "KnownComponents":
        """Return components with a given norm; with smoothing, the largest one has this norm."""
        norms = _norms(np.nan_to_num(given))
        sizes = np.full_like(norms, norms.max()) if smoothed else norms
        return cls(given, np.where(sizes > 0, sizes / norm, 1.0))

    @classmethod
    def at_norms_of(cls, given: Array, Z: Array) -> "KnownComponents":
        """Return components in the scale of the rows of a Z_1 at their fixed entries."""
        norms, own = _norms(np.nan_to_num(given)), _norms(np.where(np.isnan(given), 0, Z[: len(given)]))
        return cls(given, np.divide(norms, own, out=np.ones_like(norms), where=(norms > 0) & (own > 0)))

    @property
    def entries(self) -> FixedEntries:
        """The fixed entries in the scale of the optimization."""
        return FixedEntries(self.given / self.scale[:, None])

    @property
    def mask(self) -> Array:
        """Which entries of the components are fixed."""
        return ~np.isnan(self.given)

    def exempt(self, scales: Array) -> Array:
        """Return the divisors of the codes of the first layer: 1 for components whose scale is fixed by the user."""
        scales = scales.copy()
        scales[: len(self.given)][FixedEntries(self.given).have_scale] = 1
        return scales

    def given_scales(self, scales: Array) -> Array:
        """Return the divisors with which fixed components get the scale of the user."""
        return np.concatenate([scales[: len(self.scale)] * self.scale, scales[len(self.scale) :]])

    def chain_scales(self, chain: Chain) -> list[Array]:
        """Return the divisors of the codes of each layer; smoothing commutes only with a common scale."""
        if any(chain.theta):
            return [np.full(len(Z), self.scale[0]) for Z in chain.factors]
        first, *others = (np.ones(len(Z)) for Z in chain.factors)
        return [self.given_scales(first), *others]

    def put_into(self, chain: Chain) -> Chain:
        """Return a chain in the scale of the user with the exact given values, after the last step."""
        return replace(replace(chain, fixed=FixedEntries(self.given)), fixed=None)


def balanced_norm(engine: Engine, n_components: int) -> float:
    """The approximate norm of features in an initialization with balanced codes and features, (‖X‖²/k)^¼."""
    return float((engine.measured.sqnorm / n_components) ** 0.25) or 1.0


def start_around(fixed: FixedEntries, codes: Array, Z: Array) -> tuple[Array, Array]:
    """Replace the most similar components of an initialization by the fixed ones, and move them to the front.

    The others are then an initialization for the rest of the data.
    """
    known = np.nan_to_num(fixed.values)
    sizes = np.sqrt(fixed.known @ np.square(Z).T)  # the norms of the initial components at the fixed entries
    _, replaced = linear_sum_assignment(known @ Z.T / np.where(sizes > 0, sizes, 1), maximize=True)
    order = np.concatenate([replaced, np.setdiff1d(np.arange(len(Z)), replaced)])
    own, wanted, growth = sizes[np.arange(len(known)), replaced], _norms(known), np.ones(len(Z))
    np.divide(wanted, own, out=growth[: len(known)], where=(own > 0) & (wanted > 0))
    return codes[:, order] / growth.astype(codes.dtype), fixed.put_into(growth[:, None] * Z[order])


def _norms(rows: Array) -> Array:
    """Norms of rows, without overflow."""
    largest = np.abs(rows).max(axis=1, initial=0)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1)[:, None], axis=1)


# ------------------------------------------------------------------------------------------------ in a file


def fixed_layout(arrays: Arrays, n_features: int, size: int) -> list[Expected]:
    """The layout of fixed components in a file: a mask of at most `size` rows, if there is one."""
    masks = arrays.get("fixed", [])
    rows = min(len(masks[0]), size) if masks else 0
    return [Expected((rows, n_features), 0, 1, kind="u")] if masks else []


def restored_mask(arrays: Arrays) -> Array | None:
    """Return the mask of the fixed entries of the first rows of Z_1."""
    masks = arrays.get("fixed", [])
    return masks[0].astype(bool) if masks else None
