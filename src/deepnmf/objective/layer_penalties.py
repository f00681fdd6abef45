"""Penalties with a weight for each layer: squared L1 norms of features and codes, and the ridge of codes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from deepnmf.arrays import Array
from deepnmf.checks import per_layer
from deepnmf.objective.chain import Chain, Statistics
from deepnmf.objective.penalties import CodePenalty, Known, Penalty
from deepnmf.objective.quadratic import FactorTerms, KroneckerTerm


@dataclass(frozen=True)
class LayerPenalty(Penalty):
    """A penalty with one weight for all layers, or one per layer, which means the same on any data.

    At a start that was fitted without penalties, with features of unit norm, the term of a layer is its weight times
    ½‖X‖². Therefore a descent from there cannot increase the loss by more than this share.
    """

    weights: float | Sequence[float]
    parameter: ClassVar[str] = "weights"  # the name of the user's parameter
    is_relative = True

    def resolved(self, known: Known, depth: int) -> Sequence[Self]:
        weights = per_layer(self.weights, depth, self.parameter, 0, np.inf)
        return (replace(self, weights=weights),) if any(weights) else ()

    def on_lower_codes(self, layer: int) -> Self:
        """The same penalty on the codes of one lower layer, which are a separate problem."""
        return replace(self, weights=(self._of(layer),))

    @abstractmethod
    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        """The term of each layer with a weight of one."""

    def units(self, chain: Chain, stats: Statistics) -> tuple[float, ...]:
        return tuple(0.5 * stats.sqnorm / term if term > 0 else 0.0 for term in self.terms(chain, stats))

    def with_units(self, units: Mapping[str, Sequence[float]]) -> Self:
        pairs = zip(np.atleast_1d(self.weights).tolist(), units[type(self).__name__], strict=True)
        return replace(self, weights=tuple(weight * unit for weight, unit in pairs))

    def value(self, chain: Chain, stats: Statistics) -> float:
        return sum(self._of(layer) * term for layer, term in enumerate(self.terms(chain, stats)))

    def _of(self, layer: int) -> float:
        return float(np.atleast_1d(self.weights)[layer])

    @property
    def _top(self) -> float:
        return self._of(-1)


@dataclass(frozen=True)
class SquaredL1Features(LayerPenalty):
    """½ Σ_l μ_l Σ_j ‖Z_l[j, :]‖₁², for sparse factors; it needs another penalty that limits the codes."""

    parameter = "feature_penalty"

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(row_sums=np.full(len(chain.factors[layer]), self._of(layer)))

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        return [0.5 * float(np.square(chain.learned_part(layer).sum(axis=1)).sum()) for layer in range(chain.depth)]


@dataclass(frozen=True)
class UnitScaleSquaredL1Features(SquaredL1Features):
    """The same without another penalty: it is evaluated as if the columns of the codes had unit norm.

    Otherwise the factors would shrink while the codes grow. Written for any scale, the term of the top layer is
    ½ μ_m Σ_k ‖H[:, k]‖² ‖Z_m[k, :]‖₁², quadratic in the codes and in Z_m.
    """

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(np.diag(self._top * self._square_sums(chain)))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        if layer < chain.depth - 1:
            return super().on_factor(chain, layer, stats)
        return FactorTerms(row_sums=self._top * np.diag(stats.K))

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        *below, _ = super().terms(chain, stats)
        return [*below, 0.5 * float(np.diag(stats.K) @ self._square_sums(chain))]

    def _square_sums(self, chain: Chain) -> Array:
        return np.square(chain.learned_part(chain.depth - 1).sum(axis=1))


@dataclass(frozen=True)
class TopCodesPenalty(LayerPenalty):
    """A penalty on the codes of the top layer, λ times a term; it does not use the weights of lower layers."""

    parameter = "code_penalty"

    @abstractmethod
    def term(self, chain: Chain, stats: Statistics) -> float:
        """The value with a weight of one."""

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        return [self.term(chain, stats)] * chain.depth

    def value(self, chain: Chain, stats: Statistics) -> float:
        return self._top * self.term(chain, stats)


@dataclass(frozen=True)
class SquaredL1Codes(TopCodesPenalty):
    """½ λ Σ_i ‖H[i, :]‖₁², for few features per sample; it needs another penalty that limits the factors."""

    def on_codes(self, chain: Chain) -> CodePenalty:
        order = len(chain.factors[-1])
        return CodePenalty(np.full((order, order), self._top))

    def term(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * float(stats.K.sum())


@dataclass(frozen=True)
class RidgeCodes(TopCodesPenalty):
    """½ λ ‖H‖², for smooth codes."""

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self._top * np.eye(len(chain.factors[-1])))

    def term(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * float(np.trace(stats.K))


@dataclass(frozen=True)
class UnitScaleSquaredL1Codes(TopCodesPenalty):
    """`SquaredL1Codes` without another penalty, for features of unit norm: ½ λ cᵀKc with c_k = ‖(S_m C_m)[k, :]‖.

    In the problem of a factor it is majorized by K + λ diag((Kc)/c), which is exact at the current factor.
    """

    def below_activation(self) -> "Penalty":
        return TopScaleSquaredL1Codes(self.weights)

    def on_codes(self, chain: Chain) -> CodePenalty:
        c = self._scale(chain)
        return CodePenalty(self._top * np.outer(c, c))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(top_gram=self._majorizer(chain, stats))

    def _majorizer(self, chain: Chain, stats: Statistics) -> Array:
        c = self._scale(chain)
        return np.diag(self._top * np.divide(stats.K @ c, c, out=np.zeros_like(c), where=c > 0))

    def term(self, chain: Chain, stats: Statistics) -> float:
        c = self._scale(chain)
        return 0.5 * float(c @ stats.K @ c)

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        """On lower layers, the terms of the chain's own codes H A_l; separate codes are computed later."""
        found = []
        for layer in range(chain.depth):
            A, upto = chain.above(layer), slice(layer + 1)
            own = stats if A is None else replace(stats, K=A.T @ stats.K @ A)
            found.append(self.term(Chain.of(chain.factors[upto], chain.theta[upto]), own))
        return found

    def _scale(self, chain: Chain) -> Array:
        return np.asarray(np.linalg.norm(chain.decoder(), axis=1))


@dataclass(frozen=True)
class TopScaleSquaredL1Codes(UnitScaleSquaredL1Codes):
    """The same for a chain with an activation, where codes exchange scale only with the rows of Z_m: c_k = ‖Z_m[k, :]‖.

    The input of the activation could shrink while the factors below it grow. This is prevented by ½ λ_l ‖Z_l‖², l < m,
    a term that is in no paper.
    """

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        if layer < chain.depth - 1:
            return FactorTerms(ridge=self._of(layer))
        return FactorTerms(kronecker=(KroneckerTerm(self._majorizer(chain, stats)),))

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        return [*(0.5 * float(np.vdot(Z, Z)) for Z in chain.factors[:-1]), self.term(chain, stats)]

    def value(self, chain: Chain, stats: Statistics) -> float:
        return LayerPenalty.value(self, chain, stats)

    def _scale(self, chain: Chain) -> Array:
        return np.asarray(np.linalg.norm(chain.factors[-1], axis=1))
