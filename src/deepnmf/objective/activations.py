"""Element-wise maps between layers, named by the map in the reconstruction."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from deepnmf.arrays import Array

NEARLY_ONE = 1 - 1e-3  # where tanh and sigmoid are cut off before they are inverted: there they saturate
STANH_SCALE, STANH_SLOPE = 1.7159, 2 / 3


@dataclass(frozen=True)
class Activation:
    """f with its derivative, and an inverse on the nonnegatives: ``H_{l-1} = f(H_l Z_l)``, f⁻¹(H_{l-1}) feeds layer l.

    The inverse takes any nonnegative array: what f of a nonnegative argument cannot reach is cut to what it can.
    """

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    ceiling: float = np.inf  # what f stays below

    def through_zero(self) -> "Activation":
        """F - f(0): for models in which 0 must stand for nothing."""
        at_zero = float(self.function(np.zeros(1))[0])
        return Activation(
            lambda U: self.function(U) - at_zero,
            self.derivative,
            lambda V: self.inverse(V + at_zero),
            self.ceiling - at_zero,
        )


def _tanh_slope(U: Array) -> Array:
    return 1 - np.square(np.tanh(U))


def _stanh(U: Array) -> Array:
    return STANH_SCALE * np.tanh(STANH_SLOPE * U)


def _sigmoid_slope(U: Array) -> Array:
    value = expit(U)
    return value * (1 - value)


def _inverse_softplus(V: Array) -> Array:
    V = np.maximum(V, np.log(2).astype(V.dtype))
    return V + np.log(-np.expm1(-V))


ACTIVATIONS = {
    "identity": Activation(lambda U: U, np.ones_like, lambda V: V),
    "square": Activation(np.square, lambda U: 2 * U, np.sqrt),
    "relu": Activation(lambda U: np.maximum(U, 0), lambda U: (U > 0).astype(U.dtype), lambda V: V),
    "tanh": Activation(np.tanh, _tanh_slope, lambda V: np.arctanh(np.minimum(V, NEARLY_ONE)), 1.0),
    "stanh": Activation(
        _stanh,
        lambda U: STANH_SCALE * STANH_SLOPE * _tanh_slope(STANH_SLOPE * U),
        lambda V: np.arctanh(np.minimum(V / STANH_SCALE, NEARLY_ONE)) / STANH_SLOPE,
        STANH_SCALE,
    ),
    "sigmoid": Activation(expit, _sigmoid_slope, lambda V: logit(np.clip(V, 0.5, NEARLY_ONE)), 1.0),
    "softplus": Activation(lambda U: np.logaddexp(0, U), expit, _inverse_softplus),
}
