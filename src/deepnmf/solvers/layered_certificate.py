"""How far the result of a hierarchy is from the first-order conditions of optimality, measured at the result itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Sums
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.descent import relative
from deepnmf.solvers.layered_chain import NEGLIGIBLE
from deepnmf.solvers.layered_descent import LayeredDescent, LayeredStep
from deepnmf.solvers.steps import squared_violation


def layered_residuals(descent: LayeredDescent, codes: Array, factors: Sequence[Array]) -> list[float]:
    """The relative projected gradients of the codes and of the factors of all layers, with one pass over X.

    The gradient of the loss in one of them, without what points out of the nonnegative ones at a zero, by the norm of
    its linear part, X Z_1ᵀ for the codes of the first layer, or under Kullback-Leibler of what its model alone costs.
    Rows of factors keep their norm or their sum, and gradients along these do not count. A code that is handed out as 0
    counts as 0.
    """
    step = CodesResidual(descent.step(factors, 0))
    _, (of_codes, _, *sums) = descent.rows(codes, factors).sweep((codes,), step)
    layers = zip(descent.loss.layers, factors, descent.by_layer(sums), strict=True)
    of_factors = (fit.violation(Z, own) for fit, Z, own in layers)
    return [relative(violation, size) for violation, size in (*of_codes, *of_factors)]


@dataclass(frozen=True)
class CodesResidual:
    """One block of rows: the squared gradient of the codes of each layer and its scale, and what factors need."""

    step: LayeredStep

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        (H,), sums = self.step(X_b, rows)
        codes = self.step.upper.split(H)
        measured = []
        for own, slope, scale in zip(codes, *self.slopes(X_b, codes), strict=True):
            scale = X_b.by_roots(scale)
            left = np.where(own > NEGLIGIBLE, own, 0)
            measured.append((squared_violation(left, X_b.by_roots(slope)), inner(scale, scale)))
        return (), (np.array(measured), *sums)

    def slopes(self, X_b: Block, codes: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """The gradient of the codes of each layer, which explain the layer below and are explained by the one above."""
        first, scale = self.step.fit.slopes(X_b, np.ascontiguousarray(codes[0]))
        slopes, scales, upper = [first], [scale], self.step.upper
        layers = zip(self.step.codes_fits, upper.weights, codes, codes[1:], upper.matrices(), strict=False)
        for fit, weight, below, own, Z in layers:
            found = fit.slopes(below, own, Z)
            slopes[-1] = slopes[-1] + weight * found.below
            slopes.append(weight * found.own)
            scales.append(weight * found.scale)
        return slopes, scales
