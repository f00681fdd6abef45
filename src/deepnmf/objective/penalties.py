"""Penalties add to the quadratics of the blocks; no solver knows their names.

A penalty answers three questions: what it adds to the codes' problem, what it adds to a factor's
problem, and its value. Everything it may need of the codes is in the statistics K = HᵀH and
h = Hᵀ1, so none of them ever looks at a sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.chain import Chain

HEAVIEST = 2.0**100  # a weight beside which the fit is lost in rounding


@dataclass(frozen=True)
class FactorTerms:
    """What penalties add to the block of one factor.

    `extra_gram` joins K = HᵀH, `ridge` and `row_sums` are those of the quadratic, `l1` is a linear price.
    """

    extra_gram: Array | None = None
    ridge: float = 0.0
    row_sums: Array | None = None
    l1: float = 0.0

    def applied(self, Z: Array) -> Array:
        """The Hessian of the quadratic terms applied to the topmost factor, the only one K itself multiplies."""
        product = self.ridge * Z
        if self.extra_gram is not None:
            product = product + self.extra_gram @ Z
        if self.row_sums is not None:
            product = product + (self.row_sums * Z.sum(axis=1))[:, None]
        return product

    def diagonal(self, order: int) -> Array:
        """The diagonal of that Hessian, the same for every entry of a row."""
        diagonal = np.full(order, self.ridge)
        if self.extra_gram is not None:
            diagonal += np.diag(self.extra_gram)
        return diagonal if self.row_sums is None else diagonal + self.row_sums


@dataclass(frozen=True)
class CodePenalty:
    """What penalties add to a row of codes: ½ h P hᵀ + l1 Σ h."""

    gram: Array
    l1: float = 0.0


class Penalty(Protocol):
    """A term of the objective beside the fit."""

    def on_codes(self, chain: Chain) -> CodePenalty:
        """Its share of the codes' problem."""
        ...

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        """Its share of a factor's problem; a majoriser where it is not quadratic itself."""
        ...

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        """Its value."""
        ...


def codes_share(penalties: Sequence[Penalty], chain: Chain) -> CodePenalty:
    """What several penalties add to the codes' problem."""
    order = len(chain.factors[-1])
    shares = [penalty.on_codes(chain) for penalty in penalties]
    gram = sum((share.gram for share in shares), start=np.zeros((order, order)))
    return CodePenalty(gram, sum(share.l1 for share in shares))


def factor_share(penalties: Sequence[Penalty], chain: Chain, layer: int, K: Array) -> FactorTerms:
    """What several penalties add to the problem of a factor."""
    terms = [penalty.on_factor(chain, layer, K) for penalty in penalties]
    return FactorTerms(
        extra_gram=_sum([term.extra_gram for term in terms]),
        ridge=sum(term.ridge for term in terms),
        row_sums=_sum([term.row_sums for term in terms]),
        l1=sum(term.l1 for term in terms),
    )


def _sum(arrays: Sequence[Array | None]) -> Array | None:
    present = [array for array in arrays if array is not None and array.any()]
    return sum(present[1:], start=present[0]) if present else None


@dataclass(frozen=True)
class SquaredL1Features:
    """½ Σ_l μ_l Σ_j ‖Z_l[j, :]‖₁²: sparse factors; needs a partner that holds the codes."""

    weights: tuple[float, ...]

    def on_codes(self, chain: Chain) -> CodePenalty:
        return _no_code_penalty(chain)

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        return FactorTerms(row_sums=np.full(len(chain.factors[layer]), self.weights[layer]))

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        return 0.5 * sum(
            weight * float(np.square(Z.sum(axis=1)).sum())
            for weight, Z in zip(self.weights, chain.factors, strict=True)
        )


@dataclass(frozen=True)
class UnitScaleSquaredL1Features:
    """The same, alone: the codes' columns count as if they had unit norm.

    Nothing else would stop the factors from shrinking while the codes grow. Written for any scale,
    the top term is ½ μ_m Σ_k ‖H[:, k]‖² ‖Z_m[k, :]‖₁², quadratic in the codes and in Z_m.
    """

    weights: tuple[float, ...]

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(np.diag(self.weights[-1] * np.square(chain.factors[-1].sum(axis=1))))

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        weight = self.weights[layer]
        top = layer == chain.depth - 1
        return FactorTerms(row_sums=weight * (np.diag(K) if top else np.ones(len(chain.factors[layer]))))

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        below = SquaredL1Features((*self.weights[:-1], 0.0)).value(chain, K, code_sums)
        top = np.diag(K) @ np.square(chain.factors[-1].sum(axis=1))
        return below + 0.5 * self.weights[-1] * float(top)


@dataclass(frozen=True)
class SquaredL1Codes:
    """½ λ Σ_i ‖H[i, :]‖₁²: few features a sample; needs a partner that holds the factors."""

    weight: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        order = len(chain.factors[-1])
        return CodePenalty(np.full((order, order), self.weight))

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        return FactorTerms()

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        return 0.5 * self.weight * float(K.sum())


@dataclass(frozen=True)
class UnitScaleSquaredL1Codes:
    """The same, alone: features count as if they had unit norm, ½ λ cᵀKc with c_k = ‖(S_m C_m)[k, :]‖.

    In a factor it is majorised by K + λ diag((Kc)/c), exact at the current one.
    """

    weight: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        c = self._scale(chain)
        return CodePenalty(self.weight * np.outer(c, c))

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        c = self._scale(chain)
        ratio = np.divide(K @ c, c, out=np.zeros_like(c), where=c > 0)
        return FactorTerms(extra_gram=np.diag(self.weight * ratio))

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        c = self._scale(chain)
        return 0.5 * self.weight * float(c @ K @ c)

    def _scale(self, chain: Chain) -> Array:
        return np.asarray(np.linalg.norm(chain.decoder(), axis=1))


@dataclass(frozen=True)
class TopScaleSquaredL1Codes(UnitScaleSquaredL1Codes):
    """The same below an activation, where only the rows of Z_m trade scale with the codes, c_k = ‖Z_m[k, :]‖.

    Shrinking all that enters the activation while the factors below it grow would be free: they are held
    by ½ λ ‖Z_l‖², l < m.
    """

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        return super().on_factor(chain, layer, K) if layer == chain.depth - 1 else FactorTerms(ridge=self.weight)

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        held = sum(float(np.vdot(Z, Z)) for Z in chain.factors[:-1])
        return super().value(chain, K, code_sums) + 0.5 * self.weight * held

    def _scale(self, chain: Chain) -> Array:
        return np.asarray(np.linalg.norm(chain.factors[-1], axis=1))


@dataclass(frozen=True)
class RidgeCodes:
    """½ λ ‖H‖²: smooth codes."""

    weight: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self.weight * np.eye(len(chain.factors[-1])))

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        return FactorTerms()

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        return 0.5 * self.weight * float(np.trace(K))


@dataclass(frozen=True)
class ElasticNet:
    """The penalties of scikit-learn's NMF on codes and on the one factor, already scaled as there."""

    codes_l1: float
    codes_l2: float
    factor_l1: float
    factor_l2: float

    def on_codes(self, chain: Chain) -> CodePenalty:
        return CodePenalty(self.codes_l2 * np.eye(len(chain.factors[-1])), l1=self.codes_l1)

    def on_factor(self, chain: Chain, layer: int, K: Array) -> FactorTerms:
        return FactorTerms(ridge=self.factor_l2, l1=self.factor_l1)

    def value(self, chain: Chain, K: Array, code_sums: Array) -> float:
        (Z,) = chain.factors
        codes = self.codes_l1 * float(code_sums.sum()) + 0.5 * self.codes_l2 * float(np.trace(K))
        return codes + self.factor_l1 * float(Z.sum()) + 0.5 * self.factor_l2 * float(np.vdot(Z, Z))


def _no_code_penalty(chain: Chain) -> CodePenalty:
    order = len(chain.factors[-1])
    return CodePenalty(np.zeros((order, order)))


def weight_in_units(weight: float, power: float, unit: float, name: str) -> float:
    """A penalty's weight times unit^power, the same penalty of data divided by a unit; `name` is the parameter's."""
    own = weight if unit == 1 else weight * unit**power
    if unit != 1 and own > HEAVIEST:
        raise ValueError(
            f"{name} is {weight:g}, and beside entries of X of about {unit:.1e} nothing else would count: "
            f"scale X, or lower {name}."
        )
    return own
