"""Penalties. They add terms to the quadratic problems of the blocks; solvers do not depend on particular penalties.

A penalty returns the terms that it adds to the problem of the codes and to the problem of a factor, and its value. All
that it needs of the codes is in the statistics, so that no penalty accesses samples; a penalty that couples samples
adds its own statistic (see `deepnmf.objective.graph_penalties`). A penalty that a model does not support is refused
with an error, never ignored. Penalties ignore the fixed entries of a factor.

The penalties of a model depend on its parameters only. Before a fit they are resolved (weights of every layer, graphs
of the samples), and their weights are converted to the units of the data, or measured at the start of the fit.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.checks import per_layer
from deepnmf.objective.chain import Chain, Statistics
from deepnmf.objective.quadratic import FactorTerms, KroneckerTerm

LARGEST_WEIGHT = 2.0**100  # with a larger weight, the loss would be lost in rounding errors


@dataclass(frozen=True)
class CodePenalty:
    """The terms that penalties add to the problem of a row of codes: ½ h P hᵀ + l1 Σ h."""

    gram: Array
    l1: float = 0.0


@dataclass(frozen=True)
class Known:
    """The data of a fit in its units, and additional knowledge about samples and components."""

    X: Matrix
    n_rows: float  # the sum of the row weights, if there are any
    labels: Any = None
    graph: Matrix | None = None
    groups: Any = None
    fixed: Array | None = None  # known components; NaN marks learned entries
    guides: Sequence[Array | None] = ()  # targets for features of each layer, the lowest first; NaN is no target
    guide_weight: float = 0.0


class UnresolvedPenalty(ABC):
    """A penalty of a model before the data are known."""

    joins_samples = False  # whether it couples rows of codes
    streams = True  # whether it can be resolved if X is read in blocks

    @property
    def has_units(self) -> bool:
        """Whether a change of the units of the data only changes the weight of the penalty."""
        return True

    @abstractmethod
    def resolved(self, known: Known, depth: int) -> Sequence["Penalty"]:
        """The penalties of a chain with `depth` layers."""


class Penalty(UnresolvedPenalty):
    """A term that is added to the loss; by default it adds nothing to the problems of codes and factors."""

    is_relative = False  # whether its weights are shares of ½‖X‖², measured at the start of a fit

    def resolved(self, known: Known, depth: int) -> Sequence["Penalty"]:
        """The penalty itself, with a weight for each layer; nothing if all weights are zero."""
        return (self,)

    def of_layer(self, layer: int) -> Sequence["Penalty"]:
        """The penalties in the pre-training of one layer, by default none."""
        return ()

    def below_activation(self) -> "Penalty":
        """The form of the penalty in a chain with an activation between the layers."""
        return self

    def in_units(self, unit: float, degree: float) -> "Penalty":
        """The same penalty for data divided by `unit` and a loss of degree `degree`."""
        return self

    def units(self, chain: Chain, stats: Statistics) -> tuple[float, ...]:
        """The factors of its weights, one per layer, measured at the start of a fit."""
        return ()

    def with_units(self, units: Mapping[str, Sequence[float]]) -> "Penalty":
        """The penalty with its weights multiplied by its units, which are found by the name of its class."""
        return self

    def on_codes(self, chain: Chain) -> CodePenalty:
        """The terms that it adds to the problem of each row of codes."""
        order = len(chain.factors[-1])
        return CodePenalty(np.zeros((order, order)))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """The terms that it adds to the problem of a factor; a majorizer if it is not quadratic."""
        return FactorTerms()

    @abstractmethod
    def value(self, chain: Chain, stats: Statistics) -> float:
        """The value of the penalty."""


class Penalized:
    """The base class of objectives with penalties."""

    penalties: tuple[Penalty, ...]

    def code_penalty(self, chain: Chain) -> CodePenalty:
        """The sum of the terms that penalties add to the problem of each row; graphs are separate."""
        order = len(chain.factors[-1])
        shares = [penalty.on_codes(chain) for penalty in self.penalties]
        gram = sum((share.gram for share in shares), start=np.zeros((order, order)))
        return CodePenalty(gram, sum(share.l1 for share in shares))


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


@dataclass(frozen=True)
class ElasticNetPerEntry(UnresolvedPenalty):
    """The penalties of scikit-learn's NMF, whose weights are per entry of X."""

    alpha_W: float
    alpha_H: float
    l1_ratio: float

    def resolved(self, known: Known, depth: int) -> Sequence[Penalty]:
        codes, factor = known.X.shape[1] * self.alpha_W, known.n_rows * self.alpha_H
        l1, l2 = self.l1_ratio, 1 - self.l1_ratio
        return (ElasticNet(codes * l1, codes * l2, factor * l1, factor * l2),)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """codes_l1 Σ H + ½ codes_l2 ‖H‖² + factor_l1 Σ Z + ½ factor_l2 ‖Z‖²."""

    codes_l1: float
    codes_l2: float
    factor_l1: float
    factor_l2: float

    def in_units(self, unit: float, degree: float) -> "ElasticNet":
        """H and Z are each divided by the square root of the unit, the objective by the unit to the power `degree`."""
        l1, l2 = 0.5 - degree, 1 - degree
        return ElasticNet(
            weight_in_units(self.codes_l1, l1, unit, "alpha_W"),
            weight_in_units(self.codes_l2, l2, unit, "alpha_W"),
            weight_in_units(self.factor_l1, l1, unit, "alpha_H"),
            weight_in_units(self.factor_l2, l2, unit, "alpha_H"),
        )

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self.codes_l2 * np.eye(len(chain.factors[-1])), l1=self.codes_l1)

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(ridge=self.factor_l2, l1=self.factor_l1)

    def value(self, chain: Chain, stats: Statistics) -> float:
        total = self.codes_l1 * float(stats.code_sums.sum()) + 0.5 * self.codes_l2 * float(np.trace(stats.K))
        for layer in range(chain.depth):
            Z = chain.learned_part(layer)
            total += self.factor_l1 * float(Z.sum())
            total += 0.5 * self.factor_l2 * float(np.vdot(Z, Z))
        return total


def weight_in_units(weight: float, power: float, unit: float, name: str) -> float:
    """The weight of a penalty for data divided by a unit, weight times unit^power; `name` is that of the parameter."""
    own = weight if unit == 1 else weight * unit**power
    if unit != 1 and own > LARGEST_WEIGHT:
        raise ValueError(
            f"{name} is {weight:g}, which is too large for entries of X of about {unit:.1e}: scale X, or use a smaller "
            f"{name}."
        )
    return own
