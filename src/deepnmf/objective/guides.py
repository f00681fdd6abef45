"""Guides: penalties that attract features of a layer to targets."""

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

    It equals the loss of an additional row of data with weight ω for each target, whose code at this layer is known,
    and is quadratic in every factor up to the layer. Entries without a target (NaN) are filled in by the current
    features, which gives a majorizer. For another divergence d it is ω d(t_j | C_l[j, :]), and the problems of the
    factors depend only on sums over these rows.
    """

    layer: int
    rows: Array  # j
    targets: Array  # t_j with unit norm, for counts with unit sum; NaN where there is no target
    weight: float  # ω
    divergence: Divergence = SQUARED_ERROR

    @classmethod
    def of(cls, layer: int, targets: Array, weight: float, divergence: Divergence = SQUARED_ERROR) -> "Guide":
        """Guide the first features of a layer, with targets of any size; targets without any entry are ignored."""
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
        """The statistics of the additional rows of data at the layer of the targets."""
        filled, size = self._filled(chain), len(chain.factors[self.layer])
        codes = np.eye(size)[self.rows]
        M, K = self.weight * (codes.T @ filled), self.weight * (codes.T @ codes)
        return Statistics(M, K, self.weight * codes.sum(axis=0), self.weight * float(np.vdot(filled, filled)))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """The terms ½ ω <PᵀP Z BBᵀ, Z> - ω <PᵀTBᵀ, Z>, with C_l[rows] = P Z_i B_i."""
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
        """The powers of the additional rows of data, see `Divergence.powers`."""
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
