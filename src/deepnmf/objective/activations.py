"""Element-wise maps between layers, named by the map in the reconstruction."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from deepnmf.arrays import Array

NEARLY = 1e-3  # how far from its bounds a map is cut before it is inverted: there it is all but flat
STANH_SCALE, STANH_SLOPE = 1.7159, 2 / 3


@dataclass(frozen=True)
class Activation:
    """f with its derivative and its inverse: ``H_{l-1} = f(H_l Z_l)``, so f⁻¹(H_{l-1}) feeds layer l."""

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    unbounded_inverse: Callable[[Array], Array]
    ceiling: float = np.inf  # what f stays below
    degree: float | None = None  # q where f(s u) = s^q f(u) for every s > 0

    @property
    def at_zero(self) -> float:
        """f(0), the least that nonnegative arguments give."""
        return float(self.function(np.zeros(1))[0])

    def inverse(self, V: Array, nonnegative: bool = True) -> Array:
        """f⁻¹ of nonnegative values, cut to what f reaches from nonnegative arguments, or from any."""
        lowest = self.at_zero if nonnegative or self.at_zero == 0 else NEARLY
        return self.unbounded_inverse(np.clip(V, lowest, (1 - NEARLY) * self.ceiling))

    def through_zero(self) -> "Activation":
        """F - f(0): for models in which 0 must stand for nothing."""
        shift = self.at_zero
        return Activation(
            lambda U: self.function(U) - shift,
            self.derivative,
            lambda V: self.unbounded_inverse(V + shift),
            self.ceiling - shift,
        )


def _tanh_slope(U: Array) -> Array:
    return 1 - np.square(np.tanh(U))


def _stanh(U: Array) -> Array:
    return STANH_SCALE * np.tanh(STANH_SLOPE * U)


def _sigmoid_slope(U: Array) -> Array:
    value = expit(U)
    return value * (1 - value)


ACTIVATIONS = {
    "identity": Activation(lambda U: U, np.ones_like, lambda V: V, degree=1),
    "square": Activation(np.square, lambda U: 2 * U, np.sqrt, degree=2),
    "relu": Activation(lambda U: np.maximum(U, 0), lambda U: (U > 0).astype(U.dtype), lambda V: V, degree=1),
    "tanh": Activation(np.tanh, _tanh_slope, np.arctanh, 1.0),
    "stanh": Activation(
        _stanh,
        lambda U: STANH_SCALE * STANH_SLOPE * _tanh_slope(STANH_SLOPE * U),
        lambda V: np.arctanh(V / STANH_SCALE) / STANH_SLOPE,
        STANH_SCALE,
    ),
    "sigmoid": Activation(expit, _sigmoid_slope, logit, 1.0),
    "softplus": Activation(lambda U: np.logaddexp(0, U), expit, lambda V: V + np.log(-np.expm1(-V))),
}
