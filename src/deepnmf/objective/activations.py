"""Element-wise maps between layers, named by the map in the reconstruction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from deepnmf.arrays import Array

MARGIN = 1e-3  # distance from the bounds to which values are clipped before inversion, because the map is flat there
STANH_SCALE, STANH_SLOPE = 1.7159, 2 / 3


@dataclass(frozen=True)
class Activation:
    """f with its derivative and its inverse: ``H_{l-1} = f(H_l Z_l)``, so f⁻¹(H_{l-1}) feeds layer l."""

    name: str
    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    unbounded_inverse: Callable[[Array], Array]
    ceiling: float = np.inf  # the upper bound of f
    degree: float | None = None  # q if f(s u) = s^q f(u) for every s > 0
    shift: float = 0.0  # subtracted from f

    @property
    def at_zero(self) -> float:
        """f(0), the smallest value for nonnegative arguments."""
        return float(self.function(np.zeros(1))[0])

    def inverse(self, V: Array, nonnegative: bool = True) -> Array:
        """f⁻¹ of nonnegative values, clipped to the range of f for nonnegative arguments, or for all arguments."""
        lowest = self.at_zero if nonnegative or self.at_zero == 0 else MARGIN
        return self.unbounded_inverse(np.clip(V, lowest, (1 - MARGIN) * self.ceiling))

    def through_zero(self) -> "Activation":
        """F - f(0), which maps 0 to 0; f itself if f(0) = 0."""
        if self.at_zero == 0:
            return self
        shift = self.at_zero
        return Activation(
            self.name,
            lambda U: self.function(U) - shift,
            self.derivative,
            lambda V: self.unbounded_inverse(V + shift),
            self.ceiling - shift,
            shift=shift,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _activation, (self.name, self.shift != 0)  # functions are restored by name


def _activation(name: str, shifted: bool) -> Activation:
    return ACTIVATIONS[name].through_zero() if shifted else ACTIVATIONS[name]


def _unchanged(U: Array) -> Array:
    return U


def _doubled(U: Array) -> Array:
    return 2 * U


def _relu(U: Array) -> Array:
    return np.maximum(U, 0)


def _relu_slope(U: Array) -> Array:
    return (U > 0).astype(U.dtype)


def _tanh_slope(U: Array) -> Array:
    return 1 - np.square(np.tanh(U))


def _stanh(U: Array) -> Array:
    return STANH_SCALE * np.tanh(STANH_SLOPE * U)


def _stanh_slope(U: Array) -> Array:
    return STANH_SCALE * STANH_SLOPE * _tanh_slope(STANH_SLOPE * U)


def _stanh_inverse(V: Array) -> Array:
    return np.arctanh(V / STANH_SCALE) / STANH_SLOPE


def _sigmoid_slope(U: Array) -> Array:
    value = expit(U)
    return value * (1 - value)


def _softplus(U: Array) -> Array:
    return np.logaddexp(0, U)


def _softplus_inverse(V: Array) -> Array:
    return V + np.log(-np.expm1(-V))


ACTIVATIONS = {
    activation.name: activation
    for activation in (
        Activation("identity", _unchanged, np.ones_like, _unchanged, degree=1),
        Activation("square", np.square, _doubled, np.sqrt, degree=2),
        Activation("relu", _relu, _relu_slope, _unchanged, degree=1),
        Activation("tanh", np.tanh, _tanh_slope, np.arctanh, 1.0),
        Activation("stanh", _stanh, _stanh_slope, _stanh_inverse, STANH_SCALE),
        Activation("sigmoid", expit, _sigmoid_slope, logit, 1.0),
        Activation("softplus", _softplus, expit, _softplus_inverse),
    )
}
