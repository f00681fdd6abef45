"""The learned chain of a hierarchy, in which the codes of all layers are found together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.layout import Arrays
from deepnmf.objective import Chain, CodePenalty, FixedEntries
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers.divergence_loss import BetaDivergence
from deepnmf.solvers.layer_steps import CodesFit, CountedCodes, SquaredCodes
from deepnmf.solvers.layered_descent import (
    LayeredLoss,
    encoded,
)
from deepnmf.solvers.layered_fits import CountsFit, DataFit, SquaredFit
from deepnmf.solvers.learned import LinearChain
from deepnmf.solvers.losses import Loss

CODES_FITS: dict[str, CodesFit] = {fit.name: fit for fit in (CountedCodes(), SquaredCodes())}
NEGLIGIBLE = 1e-5  # smaller codes are returned as 0


@dataclass(frozen=True, kw_only=True)
class LayeredChain(LinearChain):
    """X ≈ H_1 Z_1 and H_{l-1} ≈ H_l Z_l: a chain whose codes are found together.

    Parameters
    ----------
    weights : tuple of float
        λ_2..λ_m, in the units of the data.
    layer_loss : tuple of str
        The names of d_2..d_m.
    """

    weights: tuple[float, ...]
    layer_loss: tuple[str, ...]

    def encode(self, engine: Engine, layer: int) -> Array:
        """Return the codes of a layer, from the problem of all layers."""
        return self.encode_layers(engine)[layer]

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Return the codes of all layers, each in units of its contribution to the data."""
        factors, weights = self.optimized(engine.unit)
        loss = layered_loss(self.loss, self.layer_loss, weights, engine)
        return self.split(encoded(engine, loss, factors), factors)

    def optimized(self, unit: float) -> tuple[list[Array], tuple[float, ...]]:
        """Return the factors in the scale of the optimization, and λ, for data divided by `unit`."""
        first, *upper = self.optimized_chain().factors
        return [first / unit, *upper], tuple(weight / unit**self.loss.degree for weight in self.weights)

    def split(self, codes: Array, factors: Sequence[Array]) -> list[Array]:
        """Split the codes of all layers, each in units of its contribution to the data."""
        norms = [1 / inverse_norms(D) for D in Chain.of(factors).features()]
        if self.fixed is not None:  # fixed features do not have unit norm
            norms[0] = norms[0] * inverse_norms(self.factors[0])
        edges = np.cumsum([0, *(len(norm) for norm in norms)])
        codes = codes * (codes > NEGLIGIBLE)
        parts = (codes[:, start:stop] for start, stop in pairwise(edges))
        return [part * norm.astype(codes.dtype) for part, norm in zip(parts, norms, strict=True)]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        description, arrays = super().state()
        return description | {"layer_weights": list(self.weights)}, arrays


def learned_chain(
    factors: Sequence[Array],
    norms: Sequence[Array],
    weights: tuple[float, ...],
    loss: Loss,
    layer_loss: tuple[str, ...],
    unit: float,
) -> LayeredChain:
    """Return the learned chain, without penalties and with features of unit norm."""
    ones, none = [np.ones(len(Z)) for Z in factors], [CodePenalty.none(len(Z)) for Z in factors]
    return LayeredChain(Chain.of(factors), ones, none, norms, loss, unit=unit, weights=weights, layer_loss=layer_loss)


def layered_loss(
    loss: Loss,
    layer_loss: Sequence[str],
    weights: tuple[float, ...],
    engine: Engine,
    fixed: FixedEntries | None = None,
) -> LayeredLoss:
    """Return the loss over the rows of an engine."""
    data, codes = layer_fits(loss, layer_loss, fixed)
    return LayeredLoss(data.over(engine), codes, weights)


def layer_fits(
    loss: Loss, layer_loss: Sequence[str], fixed: FixedEntries | None = None
) -> tuple[DataFit, tuple[CodesFit, ...]]:
    """Return the fit of the first layer to the data, and d_2..d_m by their names."""
    data = CountsFit(loss.divergence, fixed=fixed) if isinstance(loss, BetaDivergence) else SquaredFit(fixed)
    return data, tuple(CODES_FITS[name] for name in layer_loss)
