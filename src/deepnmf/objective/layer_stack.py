"""Layers with an activation between them, and the chain rule through them, for all models with activations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.activations import Activation

AtLevels = Mapping[int, Array]
"""Gradients or curvatures that are added at the values of some levels, counted from 0 at the top."""

NO_LEVELS: AtLevels = {}


class Trace(NamedTuple):
    """The results of a forward pass: the values from the top down, and the arguments of g between them."""

    values: list[Array]
    arguments: list[Array]

    @property
    def bottom(self) -> Array:
        """The last value."""
        return self.values[-1]


class Backward(NamedTuple):
    """The results of a backward pass: the gradient in the top values, and in the arguments of g from the bottom up."""

    top: Array
    arguments: list[Array]


@dataclass(frozen=True)
class LayerStack:
    """g(··· g(top Z_k) ··· Z_1), row by row; `factors` are Z_1..Z_k."""

    factors: tuple[Array, ...]
    activation: Activation

    def trace(self, top: Array) -> Trace:
        """Run the forward pass, from the top values down."""
        trace = Trace([top], [])
        for Z in reversed(self.factors):
            trace.arguments.append(trace.bottom @ Z)
            trace.values.append(self.activation.function(trace.arguments[-1]))
        return trace

    def backward(self, trace: Trace, at_bottom: Array, at_levels: AtLevels = NO_LEVELS) -> Backward:
        """Propagate the gradient in the lowest values to the top, adding `at_levels` on the way."""
        found = Backward(at_bottom + at_levels.get(len(self.factors), 0), [])
        for level in range(len(self.factors) - 1, -1, -1):
            Z, argument = self._factor_below(level), trace.arguments[level]
            found.arguments.append(found.top * self.activation.derivative(argument))
            found = found._replace(top=found.arguments[-1] @ Z.T + at_levels.get(level, 0))
        return found

    def curvature(self, trace: Trace, at_bottom: Array, at_levels: AtLevels = NO_LEVELS) -> Backward:
        """Propagate the diagonal of the second derivatives to the top (LeCun's approximation)."""
        found = Backward(at_bottom + at_levels.get(len(self.factors), 0), [])
        for level in range(len(self.factors) - 1, -1, -1):
            Z, argument = self._factor_below(level), trace.arguments[level]
            found.arguments.append(found.top * np.square(self.activation.derivative(argument)))
            found = found._replace(top=found.arguments[-1] @ np.square(Z).T + at_levels.get(level, 0))
        return found

    def _factor_below(self, level: int) -> Array:
        """The factor between a level, counted from the top, and the next lower one."""
        return self.factors[len(self.factors) - 1 - level]

    def factor_gradients(self, trace: Trace, found: Backward) -> list[Array]:
        """The gradients in Z_1..Z_k."""
        above = reversed(trace.values[:-1])
        return [value.T @ gradient for value, gradient in zip(above, found.arguments, strict=True)]
