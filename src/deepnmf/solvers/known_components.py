"""Components that a user has fixed: the scale that they are optimized in, and a start of the others around them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.layout import Arrays, Expected
from deepnmf.objective import Chain, FixedEntries


@dataclass(frozen=True)
class KnownComponents:
    """Fixed components as they are given, NaN where they are learned, and what they are divided by in a fit.

    They are optimized at one norm: what is large in the user's scale has no other weight in a gradient step or in a
    penalty than what is small. Smoothing mixes components in the scale that they have, so that one number divides all.
    """

    given: Array
    scale: Array  # one number a component

    @classmethod
    def at_norm(cls, given: Array, norm: float, smoothed: bool) -> "KnownComponents":
        """With components optimized at a norm; where they are smoothed, with the largest of them."""
        norms = _norms(np.nan_to_num(given))
        sizes = np.full_like(norms, norms.max()) if smoothed else norms
        return cls(given, np.where(sizes > 0, sizes / norm, 1.0))

    @classmethod
    def at_norms_of(cls, given: Array, Z: Array) -> "KnownComponents":
        """With components optimized in the scale that the rows of a Z_1 have at their fixed entries."""
        norms, own = _norms(np.nan_to_num(given)), _norms(np.where(np.isnan(given), 0, Z[: len(given)]))
        return cls(given, np.divide(norms, own, out=np.ones_like(norms), where=(norms > 0) & (own > 0)))

    @property
    def entries(self) -> FixedEntries:
        """The fixed entries in the scale that they are optimized in."""
        return FixedEntries(self.given / self.scale[:, None])

    @property
    def mask(self) -> Array:
        """Which entries of the components are fixed."""
        return ~np.isnan(self.given)

    def exempt(self, scales: Array) -> Array:
        """What codes of the first layer are divided by: those of components with a scale of the user's by nothing."""
        scales = scales.copy()
        scales[: len(self.given)][FixedEntries(self.given).have_scale] = 1
        return scales

    def given_scales(self, scales: Array) -> Array:
        """The same where codes of fixed components are divided by what brings these into the scale of the user."""
        return np.concatenate([scales[: len(self.scale)] * self.scale, scales[len(self.scale) :]])

    def chain_scales(self, chain: Chain) -> list[Array]:
        """What codes of each layer are divided by then; smoothing commutes with one number alone."""
        if any(chain.theta):
            return [np.full(len(Z), self.scale[0]) for Z in chain.factors]
        first, *others = (np.ones(len(Z)) for Z in chain.factors)
        return [self.given_scales(first), *others]

    def put_into(self, chain: Chain) -> Chain:
        """A chain in the scale of the user with the given values, to the bit; no step follows."""
        return replace(replace(chain, fixed=FixedEntries(self.given)), fixed=None)


def balanced_norm(engine: Engine, n_components: int) -> float:
    """About the norm of features in a start, which balances codes and features: (‖X‖²/k)^¼ for k of the same size."""
    return float((engine.measured.sqnorm / n_components) ** 0.25) or 1.0


def start_around(fixed: FixedEntries, codes: Array, Z: Array) -> tuple[Array, Array]:
    """A start of all components with the fixed ones in place of those that are most like them, and first.

    The others are then a start of what the fixed ones leave.
    """
    known = np.nan_to_num(fixed.values)
    sizes = np.sqrt(fixed.known @ np.square(Z).T)  # of what components of the start have at the entries that are fixed
    _, replaced = linear_sum_assignment(known @ Z.T / np.where(sizes > 0, sizes, 1), maximize=True)
    order = np.concatenate([replaced, np.setdiff1d(np.arange(len(Z)), replaced)])
    own, wanted, growth = sizes[np.arange(len(known)), replaced], _norms(known), np.ones(len(Z))
    np.divide(wanted, own, out=growth[: len(known)], where=(own > 0) & (wanted > 0))
    return codes[:, order] / growth.astype(codes.dtype), fixed.put_into(growth[:, None] * Z[order])


def _norms(rows: Array) -> Array:
    """Norms of rows of any size."""
    largest = np.abs(rows).max(axis=1, initial=0)
    return largest * np.linalg.norm(rows / np.where(largest > 0, largest, 1)[:, None], axis=1)


# ------------------------------------------------------------------------------------------------ in a file


def fixed_layout(arrays: Arrays, n_features: int, size: int) -> list[Expected]:
    """What a file must hold of fixed components: a mask of at most so many rows, if any."""
    masks = arrays.get("fixed", [])
    rows = min(len(masks[0]), size) if masks else 0
    return [Expected((rows, n_features), 0, 1, kind="u")] if masks else []


def restored_mask(arrays: Arrays) -> Array | None:
    """Which entries of the first rows of Z_1 were fixed."""
    masks = arrays.get("fixed", [])
    return masks[0].astype(bool) if masks else None
