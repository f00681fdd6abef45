from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.gram import NEGLIGIBLE_NORM


@dataclass(frozen=True)
class Chain:
    """X ≈ H S_m Z_m S_{m-1} ··· S_1 Z_1: the factors, their smoothing, and whether they are nonnegative.

    Data, not behaviour: solvers make a new chain with one factor changed.
    """

    factors: tuple[Array, ...]
    theta: tuple[float, ...]
    nonnegative: bool = True

    @classmethod
    def of(cls, factors: Sequence[Array], theta: Sequence[float] | None = None, nonnegative: bool = True) -> "Chain":
        """Make a chain of factors Z_1..Z_m; no smoothing unless asked for."""
        return cls(tuple(factors), tuple(theta or (0.0,) * len(factors)), nonnegative)

    @property
    def depth(self) -> int:
        """The number of layers, m."""
        return len(self.factors)

    def with_factor(self, layer: int, Z: Array) -> "Chain":
        """Return the chain with Z_{layer+1} replaced; the same one where nothing changed."""
        if Z is self.factors[layer]:
            return self
        return replace(self, factors=(*self.factors[:layer], Z, *self.factors[layer + 1 :]))

    def smoothed(self, layer: int) -> Array:
        """S_l Z_l."""
        return smooth(self.factors[layer], self.theta[layer])

    def decoder(self, layer: int = -1) -> Array:
        """S_l C_l, what codes of a layer are multiplied by to give the data."""
        layer %= self.depth
        return self._top_decoder if layer == self.depth - 1 else self._into_input_space(self.smoothed(layer), layer)

    @cached_property
    def _top_decoder(self) -> Array:
        return self._into_input_space(self.smoothed(self.depth - 1), self.depth - 1)

    def top_features(self) -> Array:
        """C_m alone, multiplied from the top so that every product is thin."""
        return self._into_input_space(self.factors[-1], self.depth - 1)

    def _into_input_space(self, product: Array, layer: int) -> Array:
        for below in range(layer - 1, -1, -1):
            product = smooth(product.T, self.theta[below]).T @ self.factors[below]
        return product

    def features(self) -> list[Array]:
        """C_1..C_m: every layer's features in input space, C_l = Z_l S_{l-1} C_{l-1}."""
        return list(self._features())

    def _features(self) -> Iterator[Array]:
        C = self.factors[0]
        yield C
        for layer in range(1, self.depth):
            C = self.factors[layer] @ smooth(C, self.theta[layer - 1])
            yield C

    def above(self, layer: int) -> Array | None:
        """A_l = S_m Z_m ··· Z_{l+1} S_l, from the top codes down to layer l; None where it is the identity."""
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
        """‖Z_l[j, :]‖ of every layer; a dead row has the norm 1, for others to be divided by."""
        return [1 / inverse_norms(Z) for Z in self.factors]

    def with_row_norms(self, norms: Sequence[Array], degree: float) -> "Chain":
        """The same function of the codes, but for their scale, with other norms of the rows of Z_1..Z_k.

        f(s u) = s^q f(u) stands between layers. V_l ← V_l D_l⁻¹ wants the argument of f divided by the q-th root of
        D_l: the columns of Z_{l+1} take it.
        """
        factors = list(self.factors)
        for layer, wanted in enumerate(norms):
            scale = wanted * inverse_norms(factors[layer])
            factors[layer] = scale[:, None] * factors[layer]
            if layer + 1 < self.depth:
                factors[layer + 1] = factors[layer + 1] / scale ** (1 / degree)
        return replace(self, factors=tuple(factors))

    def with_unit_rows_below(self, degree: float) -> "Chain":
        """The same function of the codes with unit rows in Z_1..Z_{m-1}."""
        return self.with_row_norms([np.ones(len(Z)) for Z in self.factors[:-1]], degree)

    def rescaled(self, scales: Sequence[Array]) -> "Chain":
        """Z_l ← D_l Z_l D_{l-1}⁻¹ with D_l = diag(scales[l]), D_0 = I."""
        factors = [scale[:, None] * Z for scale, Z in zip(scales, self.factors, strict=True)]
        for layer in range(1, self.depth):
            factors[layer] = factors[layer] / scales[layer - 1]
        return replace(self, factors=tuple(factors))


@dataclass(frozen=True)
class Statistics:
    """All that a linear chain needs to know of the data: M = HᵀX, K = HᵀH, h = Hᵀ1, ‖X‖².

    `joint` has HᵀLH of each penalty that joins samples: it is no sum over blocks of rows.
    """

    M: Array
    K: Array
    code_sums: Array
    sqnorm: float
    joint: Mapping[object, Array] = field(default_factory=dict)


def inverse_norms(features: Array) -> Array:
    """1/‖row‖; a row that is dead, or nothing beside the largest, keeps its scale."""
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
