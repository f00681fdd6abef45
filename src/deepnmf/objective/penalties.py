"""Penalties add to the quadratics of the blocks; no solver knows their names.

A penalty answers what it adds to the codes' problem, what it adds to a factor's problem, and its value. What it may
need of the codes is in the statistics, so that none of them looks at a sample; a penalty that joins samples adds a
statistic of its own (see `deepnmf.objective.graph_penalties`). What has no place in a model is refused in a
sentence, never ignored. Entries of a factor that are fixed have no price.

A model states its penalties by its parameters alone. Before a fit they are resolved (weights of every layer, graphs of
the samples), and their weights are brought into the units of the data, or measured at the start of the fit.
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

HEAVIEST = 2.0**100  # a weight beside which the fit is lost in rounding


@dataclass(frozen=True)
class CodePenalty:
    """What penalties add to a row of codes: ½ h P hᵀ + l1 Σ h."""

    gram: Array
    l1: float = 0.0


@dataclass(frozen=True)
class Known:
    """The data of a fit in its units, and what is known of the samples beside them."""

    X: Matrix
    labels: Any = None
    graph: Matrix | None = None
    groups: Any = None
    fixed: Array | None = None  # known components, NaN where an entry is learned
    guides: Sequence[Array | None] = ()  # targets for features of each layer, the lowest first; NaN is none
    guide_weight: float = 0.0


class UnresolvedPenalty(ABC):
    """A penalty as a model states it, before there is data."""

    joins_samples = False  # whether rows of codes meet in it
    streams = True  # whether rows that are read block by block are enough to resolve it

    @property
    def has_units(self) -> bool:
        """Whether data in other units have the same penalty with another weight."""
        return True

    @abstractmethod
    def resolved(self, known: Known, depth: int) -> Sequence["Penalty"]:
        """The penalties of a chain of so many layers."""


class Penalty(UnresolvedPenalty):
    """A term of the objective beside the fit; unless it says otherwise, it adds nothing to a problem."""

    is_relative = False  # whether its weights are shares of ½‖X‖², measured at the start of a fit

    def resolved(self, known: Known, depth: int) -> Sequence["Penalty"]:
        """The penalty itself, with a weight for each layer; none if it weighs nothing."""
        return (self,)

    def of_layer(self, layer: int) -> Sequence["Penalty"]:
        """Its share in the pre-training of one layer; none unless it says otherwise."""
        return ()

    def below_activation(self) -> "Penalty":
        """Its form in a chain with an activation between the layers."""
        return self

    def in_units(self, unit: float, degree: float) -> "Penalty":
        """The same penalty for data divided by `unit` and a loss of some degree."""
        return self

    def units(self, chain: Chain, stats: Statistics) -> tuple[float, ...]:
        """What its weights are multiplied by, one number a layer, measured at a start."""
        return ()

    def with_units(self, units: Mapping[str, Sequence[float]]) -> "Penalty":
        """The penalty with its weights multiplied by its own units, which are found by the name of its class."""
        return self

    def on_codes(self, chain: Chain) -> CodePenalty:
        """Its share of the problem of each row of codes."""
        order = len(chain.factors[-1])
        return CodePenalty(np.zeros((order, order)))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """Its share of a factor's problem; a majorizer where it is not quadratic itself."""
        return FactorTerms()

    @abstractmethod
    def value(self, chain: Chain, stats: Statistics) -> float:
        """Its value."""


class Penalized:
    """What objectives with penalties have in common."""

    penalties: tuple[Penalty, ...]

    def code_penalty(self, chain: Chain) -> CodePenalty:
        """The penalties' shares of each row's problem, added up; what joins rows is apart."""
        order = len(chain.factors[-1])
        shares = [penalty.on_codes(chain) for penalty in self.penalties]
        gram = sum((share.gram for share in shares), start=np.zeros((order, order)))
        return CodePenalty(gram, sum(share.l1 for share in shares))


@dataclass(frozen=True)
class LayerPenalty(Penalty):
    """A penalty with one weight for all layers, or one a layer, which means the same on any data.

    At a start that was fitted without penalties, with features of unit norm, the term of a layer is its weight times
    ½‖X‖². No descent from there can lose more than this share.
    """

    weights: float | Sequence[float]
    parameter: ClassVar[str] = "weights"  # what the user calls them
    is_relative = True

    def resolved(self, known: Known, depth: int) -> Sequence[Self]:
        weights = per_layer(self.weights, depth, self.parameter, 0, np.inf)
        return (replace(self, weights=weights),) if any(weights) else ()

    def on_lower_codes(self, layer: int) -> Self:
        """The same penalty on the codes of one layer, which are a problem of their own."""
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
    """½ Σ_l μ_l Σ_j ‖Z_l[j, :]‖₁²: sparse factors; needs a partner that holds the codes."""

    parameter = "feature_penalty"

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(row_sums=np.full(len(chain.factors[layer]), self._of(layer)))

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        return [0.5 * float(np.square(chain.learned_part(layer).sum(axis=1)).sum()) for layer in range(chain.depth)]


@dataclass(frozen=True)
class UnitScaleSquaredL1Features(SquaredL1Features):
    """The same, alone: the codes' columns count as if they had unit norm.

    Nothing else would stop the factors from shrinking while the codes grow. Written for any scale,
    the top term is ½ μ_m Σ_k ‖H[:, k]‖² ‖Z_m[k, :]‖₁², quadratic in the codes and in Z_m.
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
    """A penalty on the codes of the top layer, λ times a term; weights of lower layers do not count in it."""

    parameter = "code_penalty"

    @abstractmethod
    def term(self, chain: Chain, stats: Statistics) -> float:
        """Its value with a weight of one."""

    def terms(self, chain: Chain, stats: Statistics) -> list[float]:
        return [self.term(chain, stats)] * chain.depth

    def value(self, chain: Chain, stats: Statistics) -> float:
        return self._top * self.term(chain, stats)


@dataclass(frozen=True)
class SquaredL1Codes(TopCodesPenalty):
    """½ λ Σ_i ‖H[i, :]‖₁²: few features a sample; needs a partner that holds the factors."""

    def on_codes(self, chain: Chain) -> CodePenalty:
        order = len(chain.factors[-1])
        return CodePenalty(np.full((order, order), self._top))

    def term(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * float(stats.K.sum())


@dataclass(frozen=True)
class RidgeCodes(TopCodesPenalty):
    """½ λ ‖H‖²: smooth codes."""

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self._top * np.eye(len(chain.factors[-1])))

    def term(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * float(np.trace(stats.K))


@dataclass(frozen=True)
class UnitScaleSquaredL1Codes(TopCodesPenalty):
    """The first one alone: features count as if they had unit norm, ½ λ cᵀKc with c_k = ‖(S_m C_m)[k, :]‖.

    In a factor it is majorized by K + λ diag((Kc)/c), exact at the current one.
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
        """On lower layers, of the codes that the chain has there, H A_l: codes of their own are solved for later."""
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
    """The same below an activation, where only the rows of Z_m trade scale with the codes, c_k = ‖Z_m[k, :]‖.

    Shrinking all that enters the activation while the factors below it grow would be free: they are held
    by ½ λ_l ‖Z_l‖², l < m, which no paper has.
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
    """The penalties of scikit-learn's NMF: its parameters are prices per entry of X."""

    alpha_W: float
    alpha_H: float
    l1_ratio: float

    def resolved(self, known: Known, depth: int) -> Sequence[Penalty]:
        n_samples, n_features = known.X.shape
        codes, factor = n_features * self.alpha_W, n_samples * self.alpha_H
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
        """H and Z are divided by the square root of the unit each, the objective by its power of the loss's degree."""
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
    """A penalty's weight times unit^power, the same penalty of data divided by a unit; `name` is the parameter's."""
    own = weight if unit == 1 else weight * unit**power
    if unit != 1 and own > HEAVIEST:
        raise ValueError(
            f"{name} is {weight:g}, and beside entries of X of about {unit:.1e} nothing else would count: "
            f"scale X, or lower {name}."
        )
    return own
