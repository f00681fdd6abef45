"""Graph penalties, which attract the codes of connected samples to each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain, Statistics
from deepnmf.objective.graphs import Graph
from deepnmf.objective.penalties import Penalty
from deepnmf.objective.quadratic import FactorTerms, KroneckerTerm, inner

FINENESS = np.sqrt(2)  # curvatures are rounded up to powers of it, so that many rows share a Gram matrix
HAIR = 1e-9


@dataclass(frozen=True, eq=False)  # hashed by identity, because it is the key of its statistic
class GraphPenalty(Penalty):
    """½ λ Tr(H̃_lᵀ L H̃_l) with the chain's own codes H̃_l = H A_l of layer l, for features of unit norm.

    Without the unit norm, codes would shrink and features grow until the penalty vanishes. Written for any scale, it is
    ½ λ <S, HᵀLH> with S = A_l diag(‖C_l[k]‖²) A_lᵀ, quadratic in the codes and in each factor.
    """

    graph: Graph
    weight: float
    layer: int
    joins_samples = True

    def of_layer(self, layer: int) -> Sequence[Penalty]:
        """The same graph in a fit of its layer alone."""
        return (replace(self, layer=0),) if layer == self.layer else ()

    def metric(self, chain: Chain) -> Array:
        """S."""
        _check_plain(chain)
        A = _above(chain, self.layer)
        return np.asarray((A * _square_norms(chain, self.layer)) @ A.T)

    def value(self, chain: Chain, stats: Statistics) -> float:
        """The penalty, from T = HᵀLH."""
        return 0.5 * self.weight * inner(self.metric(chain), stats.joint[self])

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """The penalty on the norms of the features above or below the factor."""
        _check_plain(chain)
        T = stats.joint[self]
        if self.layer == chain.depth - 1:
            return FactorTerms(top_gram=np.diag(self.weight * np.diag(T)))
        if self.layer >= layer:
            A, path = _above(chain, self.layer), _path(chain, layer + 1, self.layer + 1)
            price = self.weight * np.einsum("ij,ij->j", A, T @ A)
            return FactorTerms(gram=path.T @ (price[:, None] * path))
        A, B = _above(chain, layer), _path(chain, self.layer + 1, layer)
        right = (B * _square_norms(chain, self.layer)) @ B.T
        return FactorTerms(kronecker=(KroneckerTerm(self.weight * (A.T @ T @ A), right),))


def _check_plain(chain: Chain) -> None:
    if any(chain.theta):
        raise ValueError("theta must be 0: a graph penalty supports no smoothing between codes and features.")


@dataclass(frozen=True)
class Coupling:
    """The majorized graphs in one sweep: rows of group g add ½ h grams[g] hᵀ - h·pull to their problem."""

    pull: Array
    groups: Array
    grams: tuple[Array, ...]


@dataclass(frozen=True)
class Graphs:
    """The penalties of an objective that join samples, in the codes' problem."""

    penalties: tuple[GraphPenalty, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.penalties)

    def products(self, H: Array) -> tuple[Array, ...]:
        """L H for each graph."""
        return tuple(penalty.graph.product(H) for penalty in self.penalties)

    def joint(self, sums: Sequence[Array]) -> dict[object, Array]:
        """The statistics T = HᵀLH by their penalties, symmetrized against rounding."""
        return {penalty: (T + T.T) / 2 for penalty, T in zip(self.penalties, sums, strict=True)}

    def metrics(self, chain: Chain) -> list[Array]:
        """λ S of each graph."""
        return [penalty.weight * penalty.metric(chain) for penalty in self.penalties]

    def coupling(self, metrics: Sequence[Array], H: Array, products: Sequence[Array]) -> Coupling:
        """The majorizer at codes H, with their products."""
        groups, curvatures = self._groups
        pull = np.zeros_like(H)
        for a, (S, LH) in enumerate(zip(metrics, products, strict=True)):
            pull += (curvatures[groups, a, None].astype(H.dtype) * H - LH) @ S.astype(H.dtype)
        return Coupling(pull, groups, tuple(np.tensordot(row, metrics, axes=1) for row in curvatures))

    @cached_property
    def _groups(self) -> tuple[Array, Array]:
        """The group of each row, and the curvatures of the groups, one column per graph."""
        each = np.column_stack([_rounded_up(penalty.graph.curvature) for penalty in self.penalties])
        curvatures, groups = np.unique(each, axis=0, return_inverse=True)
        return groups.ravel(), curvatures


def _above(chain: Chain, layer: int) -> Array:
    A = chain.above(layer)
    return np.eye(len(chain.factors[layer])) if A is None else A


def _path(chain: Chain, low: int, high: int) -> Array:
    """The product of `factors[low:high]`, the highest first; the identity if there are none."""
    product = np.eye(len(chain.factors[high - 1]))
    for between in range(high - 1, low - 1, -1):
        product = product @ chain.factors[between]
    return product


def _square_norms(chain: Chain, layer: int) -> Array:
    C = chain.decoder(layer)
    return np.einsum("ij,ij->i", C, C)


def _rounded_up(curvature: Array) -> Array:
    """Round curvatures up to powers of the fineness, with a margin for rounding errors."""
    positive = curvature > 0
    exponents = np.log(curvature, where=positive, out=np.zeros_like(curvature)) / np.log(FINENESS)
    return np.where(positive, (1 + HAIR) * FINENESS ** np.ceil(exponents - HAIR), 0.0)
