"""Learned chains, which encode rows, decode codes, and describe themselves for model files.

Codes are in the final scale, each in units of its contribution to the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.labels import described_classes
from deepnmf.objective import Activation, Chain, CodePenalty, FixedEntries
from deepnmf.objective.chain import inverse_norms
from deepnmf.objective.divergences import Divergence
from deepnmf.solvers.activated_encoding import ActivatedEncoder
from deepnmf.solvers.encoding import decoded_residual_norm
from deepnmf.solvers.losses import Loss

MOST_OTHERS = 256  # training rows whose codes a new row may start from


@dataclass(frozen=True)
class LinearChain:
    """X ≈ H_m S_m Z_m ··· S_1 Z_1.

    Parameters
    ----------
    chain : Chain
        The factors in their final scale.
    code_scales : sequence of arrays
        The divisors of the codes of each layer, if the factors cannot take the scale because of smoothing.
    code_penalties : sequence of CodePenalty
        The penalties of the codes of each layer, in their scale.
    optimized_norms : sequence of arrays
        Norms of the rows of the factors in the optimization, on which penalties may depend.
    loss : Loss
        The loss between X and X̂, which the codes of new rows minimize.
    has_roots : bool
        Whether the returned codes of the top layer are square roots.
    unit : float
        The divisor of the data in the fit.
    penalty_units : mapping
        The factors of the weights of relative penalties, one per layer, by the names of their classes. A fit that
        continues from this one uses the same weights.
    fixed : array of bool or None
        The mask of the fixed entries of the first rows of Z_1.
    """

    chain: Chain
    code_scales: Sequence[Array]
    code_penalties: Sequence[CodePenalty]
    optimized_norms: Sequence[Array]
    loss: Loss
    has_roots: bool = False
    unit: float = 1.0
    penalty_units: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    fixed: Array | None = None

    @property
    def fixed_components(self) -> Array | None:
        """The given fixed components, with NaN for learned entries; None if there were none."""
        return None if self.fixed is None else np.where(self.fixed, self.factors[0][: len(self.fixed)], np.nan)

    @property
    def factors(self) -> Sequence[Array]:
        """Z_1..Z_m."""
        return self.chain.factors

    @property
    def top(self) -> int:
        """The index of the top layer."""
        return self.chain.depth - 1

    @property
    def divergence(self) -> Divergence:
        """The divergence that the fit minimized, without penalties."""
        return self.loss.divergence

    def features(self) -> list[Array]:
        """Every layer's features in input space, with unit norm."""
        first, *others = self.chain.features()
        if any(self.chain.theta):
            scale = inverse_norms(first)
            if self.fixed_components is not None:
                scale[: len(self.fixed_components)][FixedEntries(self.fixed_components).have_scale] = 1
            first, others = scale[:, None] * first, [inverse_norms(C)[:, None] * C for C in others]
        return [first, *others]

    def decoder(self, layer: int) -> Array:
        """The matrix that maps codes of a layer to data."""
        D = self.chain.decoder(layer)
        return (self.code_scales[layer][:, None] * D).astype(D.dtype, copy=False)

    def linear_decoder(self, layer: int) -> Array:
        """The matrix that maps codes of a layer to data, if the map is linear."""
        return self.decoder(layer)

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the rows of an engine at a layer, with the factors fixed."""
        penalty, degree = self.code_penalties[layer], self.loss.degree
        if engine.unit != 1:
            gram, l1 = penalty.gram * engine.unit ** (2 - degree), penalty.l1 * engine.unit ** (1 - degree)
            penalty = CodePenalty(gram, l1)
        codes = self.loss.encode(engine, self.decoder(layer), penalty)
        return self.handed_out(codes, layer)

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Return the codes of the rows at every layer, each from a separate problem."""
        return [self.encode(engine, layer) for layer in range(self.chain.depth)]

    def lower_codes(self, engine: Engine, codes: Array) -> list[Array]:
        """Return the codes of the training rows below the top layer, from separate problems."""
        return [self.encode(engine, layer) for layer in range(self.top)]

    def decode(self, H: Array, layer: int) -> Array:
        """Reconstruct data from codes of a layer."""
        return self.as_fitted(H, layer) @ self.decoder(layer).astype(H.dtype, copy=False)

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """The reconstruction error for codes of a layer, ‖X - X̂‖_F under squared error."""
        return self.loss.error(engine, self.as_fitted(codes, layer), self.decoder(layer))

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a reconstruction with this error explains beyond the baseline of the loss."""
        return self.loss.explained(engine, error)

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error of the features of a layer with their best codes, without penalties."""
        return self.loss.best_error(engine, self.features()[layer])

    def part_norms(self, layer: int) -> Array:
        """The norms of the contributions of unit codes of a layer, in the scale of the factor above."""
        units = np.eye(len(self.factors[layer]))
        return np.linalg.norm(self.decode(units, layer), axis=1) / self.code_scales[layer]

    def handed_out(self, codes: Array, layer: int) -> Array:
        """Convert codes of the chain to the codes that users get."""
        return np.sqrt(codes) if self.has_roots and layer == self.top else codes

    def as_fitted(self, codes: Array, layer: int) -> Array:
        """Convert the codes that users get to codes of the chain."""
        return np.square(codes) if self.has_roots and layer == self.top else codes

    @property
    def degree(self) -> float:
        """The q of f(s u) = s^q f(u) between layers; 1 if there is no such q."""
        return 1.0

    def optimized_chain(self) -> Chain:
        """The factors in the scale of the optimization, on which penalties may depend."""
        chain = self.chain.with_row_norms(self.optimized_norms, self.degree)
        return replace(chain, factors=tuple(np.asarray(Z, dtype=np.float64) for Z in chain.factors))

    def in_units(self, unit: float, factor_unit: float) -> Self:
        """Return the chain for data multiplied by `unit`, with factors multiplied by `factor_unit`."""
        degree = self.loss.degree
        penalties = [
            CodePenalty(
                penalty.gram * factor_unit**2 * unit ** (degree - 2), penalty.l1 * unit ** (degree - 1) * factor_unit
            )
            for penalty in self.code_penalties
        ]
        return replace(
            self,
            chain=replace(self.chain, factors=tuple(factor_unit * Z for Z in self.chain.factors)),
            code_penalties=penalties,
            optimized_norms=[factor_unit * norm for norm in self.optimized_norms],
        )

    def state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        """Return the content of a model file: a description, and lists of arrays."""
        description: dict[str, Any] = {"theta": self.chain.theta, "l1": [one.l1 for one in self.code_penalties]}
        if self.unit != 1:
            description["unit"] = [self.unit]
        if self.penalty_units:
            description["penalty_units"] = dict(self.penalty_units)
        arrays = {
            "factor": list(self.chain.factors),
            "scale": list(self.code_scales),
            "penalty": [penalty.gram for penalty in self.code_penalties],
            "norm": list(self.optimized_norms),
            "fixed": [] if self.fixed is None else [self.fixed.astype(np.uint8)],
        }
        return description, arrays

    def layer_decoder(self, layer: int) -> Array:
        """S_l Z_l between the scaled codes of two neighboring layers."""
        D = self.code_scales[layer][:, None] * self.chain.smoothed(layer)
        return D if layer == 0 else D / self.code_scales[layer - 1]


@dataclass(frozen=True, kw_only=True)
class TiedChain(LinearChain):
    """A linear chain in which samples of the same class share their code."""

    classes: Array

    def state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        """Return the content of a model file: a description, and lists of arrays."""
        description, arrays = super().state()
        return description | described_classes(self.classes), arrays


@dataclass(frozen=True, kw_only=True)
class NonlinearChain(LinearChain):
    """A chain with an activation f between its layers."""

    activation: Activation

    @property
    def degree(self) -> float:
        """The q of f(s u) = s^q f(u); 1 if there is no such q, because layers then do not exchange scale."""
        return self.activation.degree or 1.0

    def features(self) -> list[Array]:
        """The reconstructions of unit codes of every layer."""
        return [self.decode(np.eye(len(Z), dtype=Z.dtype), layer) for layer, Z in enumerate(self.chain.factors)]

    def linear_decoder(self, layer: int) -> Array:
        """The matrix that maps codes of the first layer to data; the maps of higher layers are not linear."""
        if layer > 0:
            raise ValueError(
                f"project needs a linear map to layer {layer}, but activation is {self.activation.name!r}."
            )
        return self.decoder(layer)

    def decode(self, H: Array, layer: int) -> Array:
        """Reconstruct data from codes of a layer."""
        H = self.as_fitted(H, layer)
        for below in range(layer, -1, -1):
            H = H @ self.layer_decoder(below).astype(H.dtype, copy=False)
            H = self.activation.function(H) if below else H
        return H

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """‖X - X̂‖_F for codes of a layer."""
        return decoded_residual_norm(engine, codes, partial(self.decode, layer=layer))

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error of a layer with its own codes, which are found by descent above an activation."""
        if layer == 0:
            return super().best_error(engine, layer)
        decoders, size = [self.layer_decoder(below) for below in range(layer + 1)], len(self.factors[layer])
        none = CodePenalty.none(size)
        encoder = activated_encoder(decoders, self.activation, none, self.chain.nonnegative, self.known_codes(layer))
        return self.residual(engine, self.handed_out(encoder.encode(engine), layer), layer)

    def known_codes(self, layer: int) -> Array:
        """Codes of a layer from which a row may start, by default none."""
        return np.empty((0, len(self.factors[layer])))


@dataclass(frozen=True, kw_only=True)
class ActivatedChain(NonlinearChain):
    """X ≈ f(··· f(H_m Z_m) ···) Z_1, all layers fitted together."""

    others: Array  # fitted codes of some training rows, from which new rows may start

    def encode(self, engine: Engine, layer: int) -> Array:
        """Return the codes of the top layer, or their values at a lower layer."""
        codes = self.encoder.values_below(self.encoder.encode(engine))[layer].astype(engine.dtype, copy=False)
        return self.handed_out(codes, layer)

    def lower_codes(self, engine: Engine, codes: Array) -> list[Array]:
        """Return the values of the top codes at the layers below."""
        values = self.encoder.values_below(codes)
        return [V.astype(codes.dtype, copy=False) for V in values[:-1]]

    def known_codes(self, layer: int) -> Array:
        """Return the values of the codes of some training rows at a layer."""
        return self.encoder.values_below(self.others)[layer]

    @cached_property
    def encoder(self) -> ActivatedEncoder:
        """The encoder of new rows, which may start from codes of training rows."""
        decoders = [self.layer_decoder(layer) for layer in range(self.chain.depth)]
        penalty, nonnegative = self.code_penalties[-1], self.chain.nonnegative
        return activated_encoder(decoders, self.activation, penalty, nonnegative, self.others)

    def optimized_others(self) -> Array:
        """The codes of some training rows in the scale of the optimization."""
        *lower, top = self.optimized_norms
        Z = self.chain.with_row_norms(lower, self.degree).factors[-1]
        return self.others / (top * inverse_norms(Z))


@dataclass(frozen=True, kw_only=True)
class GreedyChain(LinearChain):
    """Layers fitted one after the other; codes are found in the same way."""

    def encode(self, engine: Engine, layer: int) -> Array:
        """Compute the codes of the first layer, then of the second given these, and so on."""
        for below in range(layer + 1):
            codes = self.loss.encode(engine, self.layer_decoder(below), self.code_penalties[below])
            engine = engine.for_codes(codes) if below < layer else engine
        return codes


@dataclass(frozen=True, kw_only=True)
class GreedyNonlinearChain(NonlinearChain):
    """The same with an activation between the layers."""

    def encode(self, engine: Engine, layer: int) -> Array:
        """Compute the codes of the first layer, then of the second from f⁻¹ of these, and so on."""
        for below in range(layer + 1):
            codes = self.loss.encode(engine, self.layer_decoder(below), self.code_penalties[below])
            engine = (
                engine.for_codes(self.activation.inverse(codes, self.chain.nonnegative)) if below < layer else engine
            )
        return codes


def activated_encoder(
    decoders: Sequence[Array], activation: Activation, penalty: CodePenalty, nonnegative: bool, others: Array
) -> ActivatedEncoder:
    """Return the encoder of a chain with these factors, in double precision, with codes of some other rows."""
    return ActivatedEncoder(
        decoders=tuple(Z.astype(np.float64) for Z in decoders),
        activation=activation,
        penalty=penalty,
        nonnegative=nonnegative,
        others=others,
    )


def some_rows(codes: Array) -> Array:
    """Select codes of some training rows, evenly spaced in the order of their sums, in double precision."""
    by_size = np.argsort(codes.sum(axis=1, dtype=np.float64), kind="stable")
    return codes[by_size[:: max(1, -(-len(codes) // MOST_OTHERS))]].astype(np.float64)
