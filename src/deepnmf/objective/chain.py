"""The chain of factors, its features and smoothing, and the statistics of the data that it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.fixed_entries import FixedEntries
from deepnmf.objective.gram import NEGLIGIBLE_NORM


@dataclass(frozen=True)
class Chain:
    """X ≈ H S_m Z_m S_{m-1} ··· S_1 Z_1: the factors, their smoothing, and whether they are nonnegative.

    A chain is immutable: solvers create a new one with one factor changed. Fixed entries of Z_1 keep their values in
    every chain derived from it, even after a step, an extrapolation or a lift of zeros.
    """

    factors: tuple[Array, ...]
    theta: tuple[float, ...]
    nonnegative: bool = True
    fixed: FixedEntries | None = None  # of Z_1
    _decoders: dict[int, Array] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.fixed is not None:
            object.__setattr__(self, "factors", (self.fixed.put_into(self.factors[0]), *self.factors[1:]))

    @classmethod
    def of(
        cls,
        factors: Sequence[Array],
        theta: Sequence[float] | None = None,
        nonnegative: bool = True,
        fixed: FixedEntries | None = None,
    ) -> "Chain":
        """Make a chain of factors Z_1..Z_m, by default without smoothing."""
        return cls(tuple(factors), tuple(theta or (0.0,) * len(factors)), nonnegative, fixed)

    @property
    def depth(self) -> int:
        """The number of layers, m."""
        return len(self.factors)

    def with_factor(self, layer: int, Z: Array) -> "Chain":
        """Return the chain with Z_{layer+1} replaced, or this chain if Z is that factor."""
        if Z is self.factors[layer]:
            return self
        return replace(self, factors=(*self.factors[:layer], Z, *self.factors[layer + 1 :]))

    def up_to(self, layer: int) -> "Chain":
        """The chain that ends with a layer."""
        return replace(self, factors=self.factors[: layer + 1], theta=self.theta[: layer + 1])

    def fixed_of(self, layer: int) -> FixedEntries | None:
        """The fixed entries of a factor; None if all entries are learned."""
        return self.fixed if layer == 0 else None

    def at_learned_entries(self, layer: int, array: Array, first: int = 0) -> Array:
        """An array of the shape of a factor, or of its rows from `first` on, with zeros at fixed entries."""
        fixed = self.fixed_of(layer)
        return array if fixed is None else fixed.at_learned(array, first)

    def learned_part(self, layer: int) -> Array:
        """Z_l with zeros at its fixed entries, which penalties ignore."""
        return self.at_learned_entries(layer, self.factors[layer])

    def smoothed(self, layer: int) -> Array:
        """S_l Z_l."""
        return smooth(self.factors[layer], self.theta[layer])

    def decoder(self, layer: int = -1) -> Array:
        """S_l C_l: the codes of a layer times this matrix approximate the data.

        Multiplied from the top, so that every product has few rows, and only once for each layer.
        """
        layer %= len(self.factors)
        if layer not in self._decoders:
            product = self.smoothed(layer)
            for below in range(layer - 1, -1, -1):
                product = smooth(product.T, self.theta[below]).T @ self.factors[below]
            self._decoders[layer] = product
        return self._decoders[layer]

    def features(self) -> list[Array]:
        """C_1..C_m: the features of each layer in input space, C_l = Z_l S_{l-1} C_{l-1}."""
        features = [self.factors[0]]
        for Z, theta in zip(self.factors[1:], self.theta, strict=False):
            features.append(Z @ smooth(features[-1], theta))
        return features

    def above(self, layer: int) -> Array | None:
        """A_l = S_m Z_m ··· Z_{l+1} S_l, from the top codes down to layer l; None if it is the identity."""
        if layer == self.depth - 1:
            theta, order = self.theta[layer], len(self.factors[layer])
            return smooth(np.eye(order), theta) if theta else None
        product = self.smoothed(self.depth - 1)
        for between in range(self.depth - 2, layer, -1):
            product = smooth(product.T, self.theta[between]).T @ self.factors[between]
        return smooth(product.T, self.theta[layer]).T

    def below(self, layer: int) -> list[Array]:
        """The factors of B_l = S_{l-1} Z_{l-1} ··· S_1 Z_1, lowest first; empty at layer 1."""
        return [self.smoothed(lower) for lower in range(layer)]

    def row_norms(self) -> list[Array]:
        """‖Z_l[j, :]‖ of each layer; the norm of a zero row is given as 1, so that it can be divided by."""
        return [1 / inverse_norms(Z) for Z in self.factors]

    def with_row_norms(self, norms: Sequence[Array], degree: float) -> "Chain":
        """Return the chain with given norms of the rows of Z_1..Z_k: the same function, up to the scale of the codes.

        Between layers is a map with f(s u) = s^q f(u). For V_l ← V_l D_l⁻¹, the argument of f is divided by the q-th
        root of D_l, and so are the columns of Z_{l+1}.
        """
        factors = list(self.factors)
        for layer, wanted in enumerate(norms):
            scale = wanted * inverse_norms(factors[layer])
            factors[layer] = scale[:, None] * factors[layer]
            if layer + 1 < self.depth:
                factors[layer + 1] = factors[layer + 1] / scale ** (1 / degree)
        return replace(self, factors=tuple(factors))

    def with_unit_rows_below(self, degree: float) -> "Chain":
        """Return the chain with unit rows in Z_1..Z_{m-1}, the same function of the codes."""
        return self.with_row_norms([np.ones(len(Z)) for Z in self.factors[:-1]], degree)

    def rescaled(self, scales: Sequence[Array]) -> "Chain":
        """Z_l ← D_l Z_l D_{l-1}⁻¹ with D_l = diag(scales[l]), D_0 = I."""
        factors = [scale[:, None] * Z for scale, Z in zip(scales, self.factors, strict=True)]
        for layer in range(1, self.depth):
            factors[layer] = factors[layer] / scales[layer - 1]
        fixed = None if self.fixed is None else self.fixed.rescaled(scales[0])
        return replace(self, factors=tuple(factors), fixed=fixed)


@dataclass(frozen=True)
class Statistics:
    """The statistics of the data that a linear chain needs: M = HᵀX, K = HᵀH, h = Hᵀ1, ‖X‖².

    `joint` contains HᵀLH for each penalty that couples samples, which is not a sum over blocks of rows.
    """

    M: Array
    K: Array
    code_sums: Array
    sqnorm: float
    joint: Mapping[object, Array] = field(default_factory=dict)

    def weighted(self, weight: float) -> "Statistics":
        """Return these statistics times a weight."""
        return Statistics(weight * self.M, weight * self.K, weight * self.code_sums, weight * self.sqnorm)

    def seen_below(self, W: Array) -> "Statistics":
        """Return the statistics of the codes H W."""
        return Statistics(W.T @ self.M, W.T @ self.K @ W, W.T @ self.code_sums, self.sqnorm)

    def plus(self, other: "Statistics") -> "Statistics":
        """Return the sum of both statistics, as for different rows."""
        return Statistics(
            self.M + other.M, self.K + other.K, self.code_sums + other.code_sums, self.sqnorm + other.sqnorm
        )


def inverse_norms(features: Array) -> Array:
    """1/‖row‖, or 1 for a row that is zero or negligible compared with the largest."""
    norms = np.sqrt(np.einsum("ij,ij->i", features, features))
    return np.asarray(1 / np.where(norms > NEGLIGIBLE_NORM * norms.max(initial=0.0), norms, 1.0))


def smooth(Z: Array, theta: float) -> Array:
    """S Z with S = (1-θ) I + (θ/r) 1 1ᵀ, without forming S; S is symmetric, so Z S is ``smooth(Z.T).T``.

    Examples
    --------
    >>> import numpy as np
    >>> smooth(np.array([[1.0], [0.0]]), theta=0.5)
    array([[0.75],
           [0.25]])
    """
    if theta == 0:
        return Z
    return (1 - theta) * Z + theta * Z.mean(axis=0)
