"""The layer-wise energy of Flenner & Hunter's network: the sliding maximum between layers, and the sum of the fits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels import first_maxima
from deepnmf.objective.quadratic import inner
from deepnmf.objective.terms import GramFit, Labels, Pulls, Sum, Term


@dataclass(frozen=True)
class Pooled:
    """The maxima of each component, and the rows of these maxima; the first row if several are equal."""

    maxima: Array
    sources: Array

    def route_back(self, values: Array) -> Array:
        """J_pᵀ V: each value is added to the row of its maximum."""
        width = values.shape[1]
        cells = self.sources * width + np.arange(width)
        sums = np.bincount(cells.ravel(), weights=values.ravel(), minlength=values.size)
        return sums.reshape(values.shape).astype(values.dtype, copy=False)


@dataclass(frozen=True)
class Pooling:
    """p: row i becomes the maximum over rows starts[i] .. stops[i] - 1, component by component."""

    starts: Array
    stops: Array
    _latest: list[tuple[Array, Pooled]] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def centered(cls, width: int, groups: Array) -> "Pooling":
        """Pool rows i-⌊(w-1)/2⌋ .. i+⌊w/2⌋ of the group of row i; with a width of 0 or 1, nothing is pooled."""
        rows, width = np.arange(len(groups)), max(width, 1)
        first, last = _group_bounds(groups)
        return cls(np.maximum(rows - (width - 1) // 2, first), np.minimum(rows + width // 2 + 1, last))

    def __call__(self, H: Array) -> Pooled:
        """Pool the rows of H, which must not be changed in place, since the latest result is cached.

        A sweep uses the same maxima in the feedback, in the loss, and as input of the layer above.
        """
        if not self._latest or self._latest[0][0] is not H:
            self._latest[:] = [(H, self._pool(H))]
        return self._latest[0][1]

    def _pool(self, H: Array) -> Pooled:
        sources = first_maxima(H, self.starts, self.stops)
        return Pooled(np.take_along_axis(H, sources, axis=0), sources)


def _group_bounds(groups: Array) -> tuple[Array, Array]:
    """The first row of each row's group, and one past its last row; the rows of a group are contiguous."""
    begins = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    ends = np.r_[begins[1:], len(groups)]
    return np.repeat(begins, ends - begins), np.repeat(ends, ends - begins)


@dataclass(frozen=True)
class PooledFit:
    """½‖p(V) - T‖²: how well the layer above, T = H_{l+1} Z_{l+1}, fits the maxima of the codes V below it."""

    pooling: Pooling
    target: Array

    def value(self, V: Array) -> float:
        residual = self.pooling(V).maxima - self.target
        return 0.5 * inner(residual, residual)

    def pulls(self, V: Array) -> Pulls:
        pooled = self.pooling(V)
        return Pulls(pooled.route_back(self.target), pooled.route_back(pooled.maxima))


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
