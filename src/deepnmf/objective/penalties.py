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
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array, Matrix
from deepnmf.objective.chain import Chain, Statistics
from deepnmf.objective.quadratic import FactorTerms

LARGEST_WEIGHT = 2.0**100  # with a larger weight, the loss would be lost in rounding errors


@dataclass(frozen=True)
class CodePenalty:
    """The terms that penalties add to the problem of a row of codes: ½ h P hᵀ + l1 Σ h."""

    gram: Array
    l1: float = 0.0

    @classmethod
    def none(cls, order: int) -> "CodePenalty":
        """Return the terms of no penalty, for codes of `order` components."""
        return cls(np.zeros((order, order)))


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
        return CodePenalty.none(order)

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
