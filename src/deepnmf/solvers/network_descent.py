"""Descent on the layer-wise energy of a network, its initialization, and its codes with the factors fixed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import CodePenalty, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.network_energy import Network, NetworkEnergy, Pooling
from deepnmf.objective.terms import Labels, Sum, ValueOnly
from deepnmf.solvers.descent import ROUNDING, without_zeros
from deepnmf.solvers.encoding import encode_rows, solve_rows
from deepnmf.solvers.multiplicative import lowered, lowered_unit_columns, unit_columns
from deepnmf.solvers.pretraining import LayerwisePlan
from deepnmf.solvers.rows_input import rows_input


@dataclass(frozen=True)
class NetworkState:
    """A network and its energy."""

    network: Network
    loss: float = np.inf
    optimality: float = np.inf
    exhausted: bool = False


class NetworkDescent:
    """Sweeps of Flenner & Hunter's Algorithm 3, or of Algorithm 2 without feedback.

    A sweep updates the layers from the lowest up, first the factor, then the codes, and finally the head. Every factor
    has unit rows, because otherwise H_1 could shrink and Z_1 grow until all upper terms vanish. Every block descends.
    Without feedback, codes are updated for their own layer only, with steps short enough that the total energy does not
    rise.
    """

    def __init__(self, engine: Engine, poolings: Sequence[Pooling], labels: Labels, *, backprop: bool = True) -> None:
        self.energy = NetworkEnergy(rows_input(engine), poolings, labels)
        self._backprop = backprop
        self._rounding = ROUNDING[engine.dtype] * engine.sqnorm

    def start(self, codes: Sequence[Array], factors: Sequence[Array]) -> NetworkState:
        """Begin at codes and factors, with zeros raised a little, because multiplicative steps cannot leave 0."""
        lifted = tuple(without_zeros(H) for H in codes)
        head = fitted_head(self.energy.labels, lifted[-1])
        return NetworkState(Network(lifted, tuple(_lifted(Z) for Z in factors), head))

    def advance(self, state: NetworkState) -> NetworkState:
        """Make one sweep."""
        network, loss, optimality = state.network, 0.0, 0.0
        for layer in range(network.depth):
            network, fit, left_to_do = self._update_layer(network, layer)
            loss, optimality = loss + fit, max(optimality, left_to_do)
        network = replace(network, head=fitted_head(self.energy.labels, network.codes[-1]))
        loss += self.energy.above(network, network.depth - 1).value(network.codes[-1])
        if not loss <= state.loss + self._rounding:
            return replace(state, exhausted=True)
        return NetworkState(network, loss, optimality)

    def _update_layer(self, network: Network, layer: int) -> tuple[Network, float, float]:
        """Return the network with new Z_l and H_l, the energy of the layer, and how far from optimal it was."""
        rows = self.energy.input(network, layer)
        factor = lowered_unit_columns(network.factors[layer].T, rows.on_factor(network.codes[layer]))
        network = network.with_factor(layer, factor.Z.T)
        own, above = rows.on_codes(network.factors[layer]), self.energy.above(network, layer)
        feels_above = self._backprop or layer == network.depth - 1
        codes = lowered(network.codes[layer], Sum((own, above if feels_above else ValueOnly(above))))
        return network.with_codes(layer, codes.Z), own.value(codes.Z), max(factor.violation, codes.violation)


def _lifted(Z: Array) -> Array:
    """Raise zeros, except in columns that no feature uses, and scale rows to unit norm."""
    return unit_columns(np.where(Z.any(axis=0), without_zeros(Z), Z).T).T


def fitted_head(labels: Labels, H: Array) -> Array:
    """argmin_{B >= 0} ‖L∘(Y - H B)‖², the same for every λ; zeros if there are no labels."""
    if not labels.one_hot.size:
        return np.zeros((H.shape[1], labels.one_hot.shape[1]))
    fit = replace(labels, weight=1.0).on_head(H)
    return solve_rows(fit.gram, fit.target).T


def layerwise_start(
    engine: Engine, sizes: Sequence[int], poolings: Sequence[Pooling], plan: LayerwisePlan, given: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Return codes and factors of every layer, each by NMF of the maxima below; given factors are only scaled.

    For the initialization, missing entries are filled in by the means of their columns.
    """
    factors = list(_unit_rows(given))
    codes = list(encoded_layers(engine, factors, poolings))
    rows = engine if given else engine.filled()
    for layer in range(len(given), len(sizes)):
        if layer:
            rows = engine.for_codes(poolings[layer - 1](codes[-1]).maxima)
        H, Z, _ = plan.fit_layer(rows, sizes[layer], 0.0, Objective(), layer + 1)
        scale = inverse_norms(Z)
        codes.append((H / scale).astype(engine.dtype, copy=False))
        factors.append(scale[:, None] * Z)
    return codes, factors


def _unit_rows(factors: Sequence[Array]) -> Iterator[Array]:
    """Z_l ← D_l Z_l D_{l-1}⁻¹, which moves the scale of every layer into its codes; maxima scale with the codes."""
    below = np.ones(1)
    for Z in factors:
        scale = inverse_norms(Z / below)
        yield scale[:, None] * Z / below
        below = scale


def encoded_layers(engine: Engine, factors: Sequence[Array], poolings: Sequence[Pooling]) -> Iterator[Array]:
    """Yield the codes of each layer with the factors fixed, fitted to the maxima below without feedback."""
    rows = engine
    for layer, Z in enumerate(factors):
        codes = encode_rows(rows, Z, CodePenalty.none(len(Z)))
        yield codes
        if layer + 1 < len(factors):
            rows = engine.for_codes(poolings[layer](codes).maxima)
