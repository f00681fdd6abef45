"""Guides: features of a layer are pulled towards targets, and not fixed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain, Statistics, smooth
from deepnmf.objective.divergences import SQUARED_ERROR, Divergence
from deepnmf.objective.penalties import Penalty
from deepnmf.objective.quadratic import FactorTerms


@dataclass(frozen=True, eq=False)
class Guide(Penalty):
    """½ ω ‖C_l[j, :] - t_j‖² for some features of a layer in input space, over the entries that have a target.

    As if each target were a row of data whose code at this layer is known, ω times: quadratic in every factor up to
    the layer. Entries without a target (NaN) are filled in by the features as they are, which majorizes it. Under
    another divergence d it is ω d(t_j | C_l[j, :]), and sums over rows are all that factors need to know of it.
    """

    layer: int
    rows: Array  # j
    targets: Array  # t_j at unit norm, for counts with a sum of one; NaN where there is none
    weight: float  # ω
    divergence: Divergence = SQUARED_ERROR

    @classmethod
    def of(cls, layer: int, targets: Array, weight: float, divergence: Divergence = SQUARED_ERROR) -> "Guide":
        """Of the first features of a layer, with targets of any size; those without any entry have no guide."""
        rows = np.flatnonzero(~np.isnan(targets).all(axis=1))
        targets = targets[rows]
        if divergence.is_squared_error:
            sizes = np.sqrt(np.nansum(np.square(targets), axis=1, keepdims=True))
        else:
            sizes = np.nansum(targets, axis=1, keepdims=True)
        return cls(layer, rows, targets / sizes, weight, divergence)

    @cached_property
    def known(self) -> Array:
        """Which entries have a target."""
        return ~np.isnan(self.targets)

    def statistics(self, chain: Chain) -> Statistics:
        """Those of the rows of data that the targets stand for, at their layer."""
        filled, size = self._filled(chain), len(chain.factors[self.layer])
        codes = np.eye(size)[self.rows]
        M, K = self.weight * (codes.T @ filled), self.weight * (codes.T @ codes)
        return Statistics(M, K, self.weight * codes.sum(axis=0), self.weight * float(np.vdot(filled, filled)))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """With C_l[rows] = P Z_i B_i, ½ ω <PᵀP Z BBᵀ, Z> - ω <PᵀTBᵀ, Z>."""
        if layer > self.layer:
            return FactorTerms()
        path, filled = self._path(chain, layer), self._filled(chain)
        for factor in chain.below(layer):
            filled = filled @ factor.T
        return FactorTerms(gram=self.weight * (path.T @ path), linear=self.weight * (path.T @ filled))

    def value(self, chain: Chain, stats: Statistics | None = None) -> float:
        """ω Σ d(t | c)."""
        there, features = np.nonzero(self.known), self._features(chain)
        return self.weight * self.divergence.value(self.targets[there], features[there])

    def powers(self, chain: Chain) -> tuple[Array, Array]:
        """What the rows of data that the targets stand for pull and push at features, see `Divergence.powers`."""
        model = np.maximum(self._features(chain), self.divergence.epsilon)
        pull, push = self.divergence.powers(np.nan_to_num(self.targets), model, self.known.astype(float))
        codes = self.weight * np.eye(len(chain.factors[self.layer]))[self.rows]
        return codes.T @ pull, codes.T @ push

    def _path(self, chain: Chain, layer: int) -> Array:
        """P, from the guided features down to the rows of a factor."""
        path = np.eye(len(chain.factors[self.layer]))[self.rows]
        for between in range(self.layer, layer, -1):
            path = smooth((path @ chain.factors[between]).T, chain.theta[between - 1]).T
        return path

    def _filled(self, chain: Chain) -> Array:
        return np.where(self.known, self.targets, self._features(chain))

    def _features(self, chain: Chain) -> Array:
        return np.asarray(self._path(chain, 0) @ chain.factors[0])
