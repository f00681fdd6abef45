"""Layers with a map between them, and the chain rule through them: once, for every model that has one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.activations import Activation

AtLevels = Mapping[int, Array]
"""What is added at the values of some levels, counted from 0 at the top."""

NOWHERE: AtLevels = {}


class Trace(NamedTuple):
    """What a ladder went through: values from the top down, and the arguments of g between them."""

    values: list[Array]
    arguments: list[Array]

    @property
    def bottom(self) -> Array:
        """The last value."""
        return self.values[-1]


class Backward(NamedTuple):
    """Gradients in the rows on top, and in the arguments of g from the bottom up."""

    top: Array
    arguments: list[Array]


@dataclass(frozen=True)
class LayerStack:
    """g(··· g(top Z_k) ··· Z_1), row by row; `factors` are Z_1..Z_k."""

    factors: tuple[Array, ...]
    activation: Activation

    def trace(self, top: Array) -> Trace:
        """Go down from the top, one value a layer."""
        trace = Trace([top], [])
        for Z in reversed(self.factors):
            trace.arguments.append(trace.bottom @ Z)
            trace.values.append(self.activation.function(trace.arguments[-1]))
        return trace

    def backward(self, trace: Trace, at_bottom: Array, at_levels: AtLevels = NOWHERE) -> Backward:
        """Carry the gradient in the lowest value up to the top, taking up what each level adds to it."""
        found = Backward(at_bottom + at_levels.get(len(self.factors), 0), [])
        for level in range(len(self.factors) - 1, -1, -1):
            Z, argument = self._below(level), trace.arguments[level]
            found.arguments.append(found.top * self.activation.derivative(argument))
            found = found._replace(top=found.arguments[-1] @ Z.T + at_levels.get(level, 0))
        return found

    def curvature(self, trace: Trace, at_bottom: Array, at_levels: AtLevels = NOWHERE) -> Backward:
        """Carry second derivatives up as the gradient is, without what joins two entries (LeCun's approximation)."""
        found = Backward(at_bottom + at_levels.get(len(self.factors), 0), [])
        for level in range(len(self.factors) - 1, -1, -1):
            Z, argument = self._below(level), trace.arguments[level]
            found.arguments.append(found.top * np.square(self.activation.derivative(argument)))
            found = found._replace(top=found.arguments[-1] @ np.square(Z).T + at_levels.get(level, 0))
        return found

    def _below(self, level: int) -> Array:
        """The factor between a level, counted from the top, and the next."""
        return self.factors[len(self.factors) - 1 - level]

    def factor_gradients(self, trace: Trace, found: Backward) -> list[Array]:
        """Gradients in Z_1..Z_k."""
        above = reversed(trace.values[:-1])
        return [value.T @ gradient for value, gradient in zip(above, found.arguments, strict=True)]
