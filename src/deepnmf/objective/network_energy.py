"""The layer-wise energy of Flenner & Hunter's network, as a function of each of its blocks of variables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective.pooling import Pooling
from deepnmf.objective.terms import GramFit, Labels, PooledFit, Sum, Term


class Input(Protocol):
    """The input of a layer: ½‖W∘(X - H Z)‖² as a function of H or Z."""

    def on_codes(self, Z: Array) -> Term:
        """The fit as a function of H."""
        ...

    def on_factor(self, H: Array) -> Term:
        """The fit as a function of Zᵀ."""
        ...


@dataclass(frozen=True)
class PooledInput:
    """The input of a layer above the first: p(H) of the codes below."""

    X: Array

    def on_codes(self, Z: Array) -> GramFit:
        Z = Z.astype(self.X.dtype, copy=False)
        return GramFit(self.X @ Z.T, Z @ Z.T, self._sqnorm)

    def on_factor(self, H: Array) -> GramFit:
        H = H.astype(np.float64, copy=False)
        return GramFit(self.X.T @ H, H.T @ H, self._sqnorm)

    @property
    def _sqnorm(self) -> float:
        return float(np.einsum("ij,ij->", self.X, self.X, dtype=np.float64))


@dataclass(frozen=True)
class Network:
    """H_1..H_m, Z_1..Z_m, and the head B, which maps the top codes to labels; immutable."""

    codes: tuple[Array, ...]
    factors: tuple[Array, ...]
    head: Array

    @property
    def depth(self) -> int:
        """The number of layers, m."""
        return len(self.factors)

    def with_codes(self, layer: int, H: Array) -> "Network":
        """Return the network with one layer's codes replaced."""
        return replace(self, codes=_replaced(self.codes, layer, H))

    def with_factor(self, layer: int, Z: Array) -> "Network":
        """Return the network with one layer's factor replaced."""
        return replace(self, factors=_replaced(self.factors, layer, Z))


def _replaced(arrays: tuple[Array, ...], index: int, array: Array) -> tuple[Array, ...]:
    return (*arrays[:index], array, *arrays[index + 1 :])


@dataclass(frozen=True)
class NetworkEnergy:
    """E = ½ Σ_l ‖W_l∘(X_{l-1} - H_l Z_l)‖² + (λ/2)‖L∘(Y - H_m B)‖² with X_0 = X and X_l = p(H_l)."""

    data: Input
    poolings: Sequence[Pooling]
    labels: Labels

    def value(self, network: Network) -> float:
        """E."""
        layers = range(network.depth)
        fits = (self.input(network, layer).on_codes(network.factors[layer]) for layer in layers)
        fit = sum(term.value(H) for term, H in zip(fits, network.codes, strict=True))
        return fit + self.labels.on_codes(network.head).value(network.codes[-1])

    def input(self, network: Network, layer: int) -> Input:
        """X_{l-1}, with its mask."""
        if layer == 0:
            return self.data
        return PooledInput(self.poolings[layer - 1](network.codes[layer - 1]).maxima)

    def above(self, network: Network, layer: int) -> Term:
        """The term of the layer above, which fits the maxima of these codes, or at the top the term of the labels."""
        if layer == network.depth - 1:
            return self.labels.on_codes(network.head)
        H, Z = network.codes[layer + 1], network.factors[layer + 1]
        return PooledFit(self.poolings[layer], H @ Z.astype(H.dtype, copy=False))

    def on_codes(self, network: Network, layer: int) -> Term:
        """E as a function of the codes of a layer: their fit to the input, and the term of the layer above."""
        own = self.input(network, layer).on_codes(network.factors[layer])
        return Sum((own, self.above(network, layer)))

    def on_factor(self, network: Network, layer: int) -> Term:
        """E as a function of the transposed factor of a layer."""
        return self.input(network, layer).on_factor(network.codes[layer])

    def on_head(self, network: Network) -> GramFit:
        """E as a function of Bᵀ."""
        return self.labels.on_head(network.codes[-1])
