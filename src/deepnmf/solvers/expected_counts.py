"""Updates of factors for counts, by expectation-maximization with the statistic M = Hᵀ(X/X̂).

Each count is a sum over the paths of the chain from a code to a column. The E step distributes it over the paths: in
X ≈ H A_l Z_l B_l, N_l = Z_l∘(A_lᵀMB_lᵀ) contains the expected counts of the entries of Z_l. The M step divides N_l by
the contribution of a unit entry of Z_l to Σ X̂, layer by layer with the current other layers, because Σ X̂ is linear in
each of them. For other divergences, one factor at a time is multiplied by a ratio.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective import Chain, ElasticNet
from deepnmf.objective.divergences import Divergence, expected_root
from deepnmf.objective.linear import block_target
from deepnmf.objective.quadratic import inner

IN_CACHE = 2**15  # numbers


@dataclass(frozen=True)
class Counts:
    """Statistics of counts, which are sums over rows: M = Hᵀ(W∘X/X̂), h = Hᵀ1, and T = HᵀW if entries have weights."""

    M: Array
    code_sums: Array
    T: Array | None = None

    @classmethod
    def of(cls, code_sums: Array, M: Array | None = None, T: Array | None = None) -> "Counts":
        """Return the statistics from the transposed sums of a pass; without M, only sums of codes."""
        return cls(np.empty((0, 0)) if M is None else M.T, code_sums, None if T is None else T.T)

    def weighted(self, weight: float) -> "Counts":
        """Return these statistics times a weight."""
        return Counts(weight * self.M, weight * self.code_sums, None if self.T is None else weight * self.T)

    def seen_below(self, W: Array) -> "Counts":
        """Return the statistics of the codes H W."""
        return Counts(W.T @ self.M, W.T @ self.code_sums, None if self.T is None else W.T @ self.T)

    def plus(self, other: "Counts") -> "Counts":
        """Return the sum of both statistics, as for different rows."""
        T = None if self.T is None and other.T is None else self.over_columns + other.over_columns
        return Counts(self.M + other.M, self.code_sums + other.code_sums, T)

    @property
    def over_columns(self) -> Array:
        """T, whether entries have weights or not."""
        return np.outer(self.code_sums, np.ones(self.M.shape[1])) if self.T is None else self.T

    def push(self, chain: Chain, layer: int) -> Array:
        """The contribution of a unit entry of Z_l to Σ W∘X̂: A_lᵀTB_lᵀ, without weights (A_lᵀh)(B_l1)ᵀ."""
        A, below = chain.above(layer), chain.below(layer)
        if self.T is not None:
            return block_target(A, below, self.T)
        across = np.ones(self.M.shape[1])
        for factor in below:
            across = factor @ across
        return np.outer(self.code_sums if A is None else A.T @ self.code_sums, across)

    def pull(self, chain: Chain, layer: int) -> Array:
        """A_lᵀMB_lᵀ, which equals the push at positive entries of an optimal chain."""
        return block_target(chain.above(layer), chain.below(layer), self.M)


def expect(chain: Chain, counts: Counts, penalty: ElasticNet, lowest: int = 0) -> tuple[Chain, float]:
    """Update the factors from layer `lowest` on by one step; return how far from optimal they were."""
    pulls = [counts.pull(chain, layer) for layer in range(lowest, chain.depth)]
    worst = 0.0
    for layer, pull in enumerate(pulls, lowest):
        Z, violation = expected_factor(chain, layer, pull, counts.push(chain, layer), penalty)
        chain, worst = chain.with_factor(layer, Z), max(worst, violation)
    return chain, worst


def expected_factor(chain: Chain, layer: int, pull: Array, push: Array, penalty: ElasticNet) -> tuple[Array, float]:
    """Return a factor after one step from its pull and push, and how far from optimal it was."""
    Z = chain.factors[layer]
    new, violation, size = np.empty_like(Z), 0.0, 0.0
    for part in _some_rows(Z):
        N, own_push = Z[part] * pull[part], push[part] + penalty.factor_l1
        new[part] = expected_root(N, push[part], penalty.factor_l1, penalty.factor_l2)
        slope = own_push + penalty.factor_l2 * Z[part] - pull[part]
        slope = chain.at_learned_entries(layer, slope, part.start)
        violation += square_violation(Z[part], slope, own_push, N.sum(axis=1, keepdims=True))
        size += inner(own_push, own_push)
    return new, math.sqrt(violation / (size or 1.0))


def _some_rows(Z: Array) -> Iterator[slice]:
    """Yield slices of rows that fit into the cache of a processor for several operations."""
    together = max(1, IN_CACHE // Z.shape[1])
    return (slice(start, start + together) for start in range(0, len(Z), together))


def residual(chain: Chain, counts: Counts, penalty: ElasticNet) -> float:
    """The largest relative violation of the optimality conditions of any factor."""
    return max(_residual(chain, layer, counts.pull(chain, layer), counts, penalty) for layer in range(chain.depth))


def _residual(chain: Chain, layer: int, pull: Array, counts: Counts, penalty: ElasticNet) -> float:
    """Compute it a few rows at a time, because arrays of the size of Z_1 may be as large as sparse data."""
    factor, push, violation, size = chain.factors[layer], counts.push(chain, layer), 0.0, 0.0
    for part in _some_rows(factor):
        Z, own_push = factor[part], push[part] + penalty.factor_l1
        slope = chain.at_learned_entries(layer, own_push + penalty.factor_l2 * Z - pull[part], part.start)
        violation += square_violation(Z, slope, own_push, (Z * pull[part]).sum(axis=1, keepdims=True))
        size += inner(own_push, own_push)
    return math.sqrt(violation / (size or 1.0))


@dataclass(frozen=True)
class Ratios:
    """Statistics of one multiplicative update: P = Hᵀ(W∘X∘X̂^(β-2)) and Q = Hᵀ(W∘X̂^(β-1))."""

    P: Array
    Q: Array

    def weighted(self, weight: float) -> "Ratios":
        """Return these statistics times a weight."""
        return Ratios(weight * self.P, weight * self.Q)

    def seen_below(self, W: Array) -> "Ratios":
        """Return the statistics of the codes H W."""
        return Ratios(W.T @ self.P, W.T @ self.Q)

    def plus(self, other: "Ratios") -> "Ratios":
        """Return the sum of both statistics, as for different rows."""
        return Ratios(self.P + other.P, self.Q + other.Q)

    def pull(self, chain: Chain, layer: int) -> Array:
        """A_lᵀPB_lᵀ."""
        return block_target(chain.above(layer), chain.below(layer), self.P)

    def push(self, chain: Chain, layer: int) -> Array:
        """A_lᵀQB_lᵀ."""
        return block_target(chain.above(layer), chain.below(layer), self.Q)


def multiplied(
    chain: Chain, layer: int, ratios: Ratios, divergence: Divergence, penalty: ElasticNet, exponent: float | None = None
) -> tuple[Chain, float]:
    """Return the chain after the multiplicative update of one factor, and how far from optimal it was."""
    Z, pull, push = chain.factors[layer], ratios.pull(chain, layer), ratios.push(chain, layer)
    ratio = divergence.ratio(pull, push, Z, penalty.factor_l1, penalty.factor_l2, exponent)
    slope = chain.at_learned_entries(layer, push + penalty.factor_l1 + penalty.factor_l2 * Z - pull)
    totals = (Z * pull).sum(axis=1, keepdims=True)
    return chain.with_factor(layer, Z * ratio), relative_violation(Z, slope, push + penalty.factor_l1, totals)


def relative_violation(Z: Array, slope: Array, push: Array, totals: Array) -> float:
    """√(Σ violation²/Σ push²) for variables that explain shares of totals.

    The violation is the slope; a positive slope counts at most as push times the share of the total that the variable
    explains, because a variable that is nearly 0 is nearly optimal.
    """
    return float(np.sqrt(square_violation(Z, slope, push, totals) / (inner(push, push) or 1.0)))


def square_violation(Z: Array, slope: Array, push: Array, totals: Array) -> float:
    """Σ violation²."""
    share = np.divide(Z * push, totals, out=(Z > 0).astype(Z.dtype), where=totals > 0)
    violation = np.where(slope > 0, np.minimum(slope, push * share), slope)
    return inner(violation, violation)
