"""The certificate of a hierarchy: the violation of the first-order optimality conditions, measured at the result."""

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
    """Return the relative projected gradients of the codes and of the factors of all layers, with one pass over X.

    A projected gradient is the gradient of the loss without the entries that would push a zero below 0. For squared
    error it is relative to the norm of its linear part, X Z_1ᵀ for the codes of the first layer; for Kullback-Leibler,
    to the norm of its positive part. Rows of factors keep their norm or their sum, and the gradient in this direction
    is ignored. A code that is returned as 0 is taken as 0.
    """
    step = CodesResidual(descent.step(factors, 0))
    _, (of_codes, _, *sums) = descent.rows(codes, factors).sweep((codes,), step)
    layers = zip(descent.loss.layers, factors, descent.by_layer(sums), strict=True)
    of_factors = (fit.violation(Z, own) for fit, Z, own in layers)
    return [relative(violation, size) for violation, size in (*of_codes, *of_factors)]


@dataclass(frozen=True)
class CodesResidual:
    """The pass over one block of rows: squared gradients of the codes of each layer, their scales, and sums."""

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
        """Return the gradient in the codes of each layer, from the loss of the layer and that of the layer above."""
        first, scale = self.step.fit.slopes(X_b, np.ascontiguousarray(codes[0]))
        slopes, scales, upper = [first], [scale], self.step.upper
        layers = zip(self.step.codes_fits, upper.weights, codes, codes[1:], upper.matrices(), strict=False)
        for fit, weight, below, own, Z in layers:
            found = fit.slopes(below, own, Z)
            slopes[-1] = slopes[-1] + weight * found.below
            slopes.append(weight * found.own)
            scales.append(weight * found.scale)
        return slopes, scales
