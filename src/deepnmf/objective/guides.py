"""Guides: features of a layer are pulled towards targets, and not fixed."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain, Statistics, smooth
from deepnmf.objective.penalties import Penalty
from deepnmf.objective.quadratic import FactorTerms


@dataclass(frozen=True, eq=False)
class Guide(Penalty):
    """½ ω ‖C_l[j, :] - t_j‖² for some features of a layer in input space, over the entries that have a target.

    As if each target were a row of data whose code at this layer is known, ω times: quadratic in every factor up to
    the layer. Entries without a target (NaN) are filled in by the features as they are, which majorizes it.
    """

    layer: int
    rows: Array  # j
    targets: Array  # t_j at unit norm, NaN where there is none
    weight: float  # ω

    @classmethod
    def of(cls, layer: int, targets: Array, weight: float) -> "Guide":
        """Of the first features of a layer, with targets of any norm; those without any entry have no guide."""
        rows = np.flatnonzero(~np.isnan(targets).all(axis=1))
        norms = np.sqrt(np.nansum(np.square(targets[rows]), axis=1, keepdims=True))
        return cls(layer, rows, targets[rows] / norms, weight)

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

    def value(self, chain: Chain, stats: Statistics) -> float:
        """½ ω Σ (c - t)²."""
        missing = np.where(self.known, self._features(chain) - self.targets, 0)
        return 0.5 * self.weight * float(np.vdot(missing, missing))

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
