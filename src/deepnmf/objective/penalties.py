"""Penalties add to the quadratics of the blocks; no solver knows their names.

A penalty answers what it adds to the codes' problem, what it adds to a factor's problem, and its value. What it may
need of the codes is in the statistics, so that none of them looks at a sample; a penalty that joins samples adds a
statistic of its own (see `deepnmf.objective.graph_penalties`). What has no place in a model is refused in a
sentence, never ignored.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain, Statistics

HEAVIEST = 2.0**100  # a weight beside which the fit is lost in rounding


class KroneckerTerm(NamedTuple):
    """½<left Z right, Z>; the identity where there is no right."""

    left: Array
    right: Array | None = None

    def applied(self, Z: Array) -> Array:
        """The Hessian applied to Z."""
        return self.left @ Z if self.right is None else self.left @ Z @ self.right

    def diagonal(self, n_columns: int) -> Array:
        """The diagonal of the Hessian, one number an entry of Z."""
        return np.outer(np.diag(self.left), np.ones(n_columns) if self.right is None else np.diag(self.right))

    @property
    def norm(self) -> float:
        """The largest curvature."""
        right = 1.0 if self.right is None else np.linalg.norm(self.right, 2)
        return float(np.linalg.norm(self.left, 2) * right)


@dataclass(frozen=True)
class FactorTerms:
    """What penalties add to the problem of a factor Z_l, X ≈ H A Z_l B.

    ½ ridge ‖Z‖² + ½ Σ_k row_sums_k (Σ_j Z_kj)² + Σ ½<left Z right, Z> + l1 Σ Z, and what counts features in input
    space: `top_gram` joins K = HᵀH in ½<AᵀKA Z BBᵀ, Z>, and `gram` joins AᵀKA there.
    """

    top_gram: Array | None = None
    gram: Array | None = None
    ridge: float = 0.0
    row_sums: Array | None = None
    kronecker: tuple[KroneckerTerm, ...] = ()
    l1: float = 0.0

    def applied(self, Z: Array) -> Array:
        """The Hessian of the quadratic terms on Z itself applied to it."""
        product = self.ridge * Z
        if self.row_sums is not None:
            product = product + (self.row_sums * Z.sum(axis=1))[:, None]
        for term in self.kronecker:
            product = product + term.applied(Z)
        return product

    def diagonal(self, shape: tuple[int, ...]) -> Array:
        """The diagonal of that Hessian, one number an entry of Z."""
        diagonal = np.full(shape, self.ridge)
        for term in self.kronecker:
            diagonal += term.diagonal(shape[1])
        return diagonal if self.row_sums is None else diagonal + self.row_sums[:, None]


@dataclass(frozen=True)
class CodePenalty:
    """What penalties add to a row of codes: ½ h P hᵀ + l1 Σ h."""

    gram: Array
    l1: float = 0.0


class Penalty(ABC):
    """A term of the objective beside the fit; unless it says otherwise, it adds nothing to a problem."""

    joins_samples = False  # whether rows of codes meet in it

    def on_codes(self, chain: Chain) -> CodePenalty:
        """Its share of the problem of each row of codes."""
        order = len(chain.factors[-1])
        return CodePenalty(np.zeros((order, order)))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        """Its share of a factor's problem; a majoriser where it is not quadratic itself."""
        return FactorTerms()

    @abstractmethod
    def value(self, chain: Chain, stats: Statistics) -> float:
        """Its value."""


def codes_share(penalties: Sequence[Penalty], chain: Chain) -> CodePenalty:
    """What several penalties add to the codes' problem."""
    order = len(chain.factors[-1])
    shares = [penalty.on_codes(chain) for penalty in penalties]
    gram = sum((share.gram for share in shares), start=np.zeros((order, order)))
    return CodePenalty(gram, sum(share.l1 for share in shares))


def factor_share(penalties: Sequence[Penalty], chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
    """What several penalties add to the problem of a factor."""
    terms = [penalty.on_factor(chain, layer, stats) for penalty in penalties]
    return FactorTerms(
        top_gram=_sum([term.top_gram for term in terms]),
        gram=_sum([term.gram for term in terms]),
        ridge=sum(term.ridge for term in terms),
        row_sums=_sum([term.row_sums for term in terms]),
        kronecker=tuple(one for term in terms for one in term.kronecker),
        l1=sum(term.l1 for term in terms),
    )


def _sum(arrays: Sequence[Array | None]) -> Array | None:
    present = [array for array in arrays if array is not None and array.any()]
    return sum(present[1:], start=present[0]) if present else None


@dataclass(frozen=True)
class SquaredL1Features(Penalty):
    """½ Σ_l μ_l Σ_j ‖Z_l[j, :]‖₁²: sparse factors; needs a partner that holds the codes."""

    weights: tuple[float, ...]

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(row_sums=np.full(len(chain.factors[layer]), self.weights[layer]))

    def value(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * sum(
            weight * float(np.square(Z.sum(axis=1)).sum())
            for weight, Z in zip(self.weights, chain.factors, strict=True)
        )


@dataclass(frozen=True)
class UnitScaleSquaredL1Features(Penalty):
    """The same, alone: the codes' columns count as if they had unit norm.

    Nothing else would stop the factors from shrinking while the codes grow. Written for any scale,
    the top term is ½ μ_m Σ_k ‖H[:, k]‖² ‖Z_m[k, :]‖₁², quadratic in the codes and in Z_m.
    """

    weights: tuple[float, ...]

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(np.diag(self.weights[-1] * np.square(chain.factors[-1].sum(axis=1))))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        weight = self.weights[layer]
        top = layer == chain.depth - 1
        return FactorTerms(row_sums=weight * (np.diag(stats.K) if top else np.ones(len(chain.factors[layer]))))

    def value(self, chain: Chain, stats: Statistics) -> float:
        below = SquaredL1Features((*self.weights[:-1], 0.0)).value(chain, stats)
        top = np.diag(stats.K) @ np.square(chain.factors[-1].sum(axis=1))
        return below + 0.5 * self.weights[-1] * float(top)


@dataclass(frozen=True)
class SquaredL1Codes(Penalty):
    """½ λ Σ_i ‖H[i, :]‖₁²: few features a sample; needs a partner that holds the factors."""

    weight: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        order = len(chain.factors[-1])
        return CodePenalty(np.full((order, order), self.weight))

    def value(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * self.weight * float(stats.K.sum())


@dataclass(frozen=True)
class UnitScaleSquaredL1Codes(Penalty):
    """The same, alone: features count as if they had unit norm, ½ λ cᵀKc with c_k = ‖(S_m C_m)[k, :]‖.

    In a factor it is majorised by K + λ diag((Kc)/c), exact at the current one.
    """

    weight: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        c = self._scale(chain)
        return CodePenalty(self.weight * np.outer(c, c))

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(top_gram=self._majoriser(chain, stats))

    def _majoriser(self, chain: Chain, stats: Statistics) -> Array:
        c = self._scale(chain)
        ratio = np.divide(stats.K @ c, c, out=np.zeros_like(c), where=c > 0)
        return np.diag(self.weight * ratio)

    def value(self, chain: Chain, stats: Statistics) -> float:
        c = self._scale(chain)
        return 0.5 * self.weight * float(c @ stats.K @ c)

    def _scale(self, chain: Chain) -> Array:
        return np.asarray(np.linalg.norm(chain.decoder(), axis=1))


@dataclass(frozen=True)
class TopScaleSquaredL1Codes(UnitScaleSquaredL1Codes):
    """The same below an activation, where only the rows of Z_m trade scale with the codes, c_k = ‖Z_m[k, :]‖.

    Shrinking all that enters the activation while the factors below it grow would be free: they are held
    by ½ λ ‖Z_l‖², l < m.
    """

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        if layer < chain.depth - 1:
            return FactorTerms(ridge=self.weight)
        return FactorTerms(kronecker=(KroneckerTerm(self._majoriser(chain, stats)),))

    def value(self, chain: Chain, stats: Statistics) -> float:
        held = sum(float(np.vdot(Z, Z)) for Z in chain.factors[:-1])
        return super().value(chain, stats) + 0.5 * self.weight * held

    def _scale(self, chain: Chain) -> Array:
        return np.asarray(np.linalg.norm(chain.factors[-1], axis=1))


@dataclass(frozen=True)
class RidgeCodes(Penalty):
    """½ λ ‖H‖²: smooth codes."""

    weight: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self.weight * np.eye(len(chain.factors[-1])))

    def value(self, chain: Chain, stats: Statistics) -> float:
        return 0.5 * self.weight * float(np.trace(stats.K))


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """The penalties of scikit-learn's NMF on codes and factors, already scaled as there."""

    codes_l1: float
    codes_l2: float
    factor_l1: float
    factor_l2: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self.codes_l2 * np.eye(len(chain.factors[-1])), l1=self.codes_l1)

    def on_factor(self, chain: Chain, layer: int, stats: Statistics) -> FactorTerms:
        return FactorTerms(ridge=self.factor_l2, l1=self.factor_l1)

    def value(self, chain: Chain, stats: Statistics) -> float:
        total = self.codes_l1 * float(stats.code_sums.sum()) + 0.5 * self.codes_l2 * float(np.trace(stats.K))
        for Z in chain.factors:
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
