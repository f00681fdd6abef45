"""Graph penalties: what samples that belong together pull each other's codes to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain
from deepnmf.objective.graphs import Graph
from deepnmf.objective.quadratic import inner

FINENESS = np.sqrt(2)  # curvatures are rounded up to powers of it, so that many rows share a Gram matrix
HAIR = 1e-9


@dataclass(frozen=True)
class GraphPenalty:
    """½ λ Tr(H̃_lᵀ L H̃_l), H̃_l = H A_l the chain's own codes of layer l, its features counted at unit norm.

    Otherwise the codes would shrink and the features grow until the penalty is nothing. Written for any scale it is
    ½ λ <S, HᵀLH> with S = A_l diag(‖C_l[k]‖²) A_lᵀ, quadratic in the codes and in each factor.
    """

    graph: Graph
    weight: float
    layer: int

    def metric(self, chain: Chain) -> Array:
        """S."""
        A = _above(chain, self.layer)
        return np.asarray((A * _square_norms(chain, self.layer)) @ A.T)

    def value(self, chain: Chain, T: Array) -> float:
        """The penalty, from T = HᵀLH."""
        return 0.5 * self.weight * inner(self.metric(chain), T)

    def unit_share(self, chain: Chain, T: Array) -> Array:
        """λ diag(A_lᵀ T A_l): what a unit of each feature's squared norm costs."""
        A = _above(chain, self.layer)
        return self.weight * np.einsum("ij,ij->j", A, T @ A)


@dataclass(frozen=True)
class Coupling:
    """The majorised graphs in one sweep: rows of group g add ½ h grams[g] hᵀ - h·pull to their problem."""

    pull: Array
    groups: Array
    grams: tuple[Array, ...]


class KroneckerTerm(NamedTuple):
    """½<left Z right, Z>."""

    left: Array
    right: Array


class FactorCoupling(NamedTuple):
    """What graphs add to the problem of a factor: to its left Gram matrix, and terms of a shape of their own."""

    gram: Array
    terms: tuple[KroneckerTerm, ...]


@dataclass(frozen=True)
class Graphs:
    """The graph penalties of one objective."""

    penalties: tuple[GraphPenalty, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.penalties)

    def of_layer(self, layer: int) -> "Graphs":
        """Those of one layer, for a fit of that layer alone."""
        return Graphs(tuple(replace(one, layer=0) for one in self.penalties if one.layer == layer))

    def reach_below(self, layer: int) -> bool:
        """Whether any of them is on a lower layer."""
        return any(penalty.layer < layer for penalty in self.penalties)

    def products(self, H: Array) -> tuple[Array, ...]:
        """L H for each graph."""
        return tuple(penalty.graph.product(H) for penalty in self.penalties)

    def value(self, chain: Chain, couplings: Sequence[Array]) -> float:
        """The penalties, from T = HᵀLH of each graph."""
        return sum(penalty.value(chain, T) for penalty, T in zip(self.penalties, couplings, strict=True))

    def metrics(self, chain: Chain) -> list[Array]:
        """λ S of each graph."""
        return [penalty.weight * penalty.metric(chain) for penalty in self.penalties]

    def coupling(self, metrics: Sequence[Array], H: Array, products: Sequence[Array]) -> Coupling:
        """The majoriser at codes H, with their products."""
        groups, curvatures = self._groups
        pull = np.zeros_like(H)
        for a, (S, LH) in enumerate(zip(metrics, products, strict=True)):
            pull += (curvatures[groups, a, None].astype(H.dtype) * H - LH) @ S.astype(H.dtype)
        return Coupling(pull, groups, tuple(np.tensordot(row, metrics, axes=1) for row in curvatures))

    @cached_property
    def _groups(self) -> tuple[Array, Array]:
        """Each row's group, and the groups' curvatures, one column a graph."""
        each = np.column_stack([_rounded_up(penalty.graph.curvature) for penalty in self.penalties])
        curvatures, groups = np.unique(each, axis=0, return_inverse=True)
        return groups.ravel(), curvatures

    def top_gram(self, chain: Chain, couplings: Sequence[Array]) -> Array:
        """What graphs of the top layer add to K: a price on each feature's squared norm."""
        shares = [
            penalty.weight * np.diag(T)
            for penalty, T in zip(self.penalties, couplings, strict=True)
            if penalty.layer == chain.depth - 1
        ]
        return np.diag(np.sum(shares, axis=0) if shares else np.zeros(len(chain.factors[-1])))

    def on_factor(self, chain: Chain, layer: int, couplings: Sequence[Array]) -> FactorCoupling:
        """What the graphs add to the problem of Z_{layer+1}."""
        order = len(chain.factors[layer])
        gram, terms = np.zeros((order, order)), []
        for penalty, T in zip(self.penalties, couplings, strict=True):
            if penalty.layer >= layer:  # they weigh norms of features that it is part of
                path = _path(chain, layer + 1, penalty.layer + 1)
                gram += path.T @ (penalty.unit_share(chain, T)[:, None] * path)
            else:  # and of features it leads down to
                A, B = _above(chain, layer), _path(chain, penalty.layer + 1, layer)
                right = (B * _square_norms(chain, penalty.layer)) @ B.T
                terms.append(KroneckerTerm(penalty.weight * (A.T @ T @ A), right))
        return FactorCoupling(gram, tuple(terms))


NO_GRAPHS = Graphs()


def _above(chain: Chain, layer: int) -> Array:
    A = chain.above(layer)
    return np.eye(len(chain.factors[layer])) if A is None else A


def _path(chain: Chain, low: int, high: int) -> Array:
    """The product of `factors[low:high]`, the highest first; the identity where there are none."""
    product = np.eye(len(chain.factors[high - 1]))
    for between in range(high - 1, low - 1, -1):
        product = product @ chain.factors[between]
    return product


def _square_norms(chain: Chain, layer: int) -> Array:
    C = chain.decoder(layer)
    return np.einsum("ij,ij->i", C, C)


def _rounded_up(curvature: Array) -> Array:
    """To powers of the fineness, and a hair more, so that rounding never leaves them below."""
    positive = curvature > 0
    exponents = np.log(curvature, where=positive, out=np.zeros_like(curvature)) / np.log(FINENESS)
    return np.where(positive, (1 + HAIR) * FINENESS ** np.ceil(exponents - HAIR), 0.0)
