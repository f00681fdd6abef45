"""What a fit of a chain has learned: it encodes rows, decodes codes, and says what a file must hold of it.

Codes are in the scale that is handed out, each in units of what it adds to the data.
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
        The factors as they are handed out.
    code_scales : sequence of arrays
        What the codes of each layer were divided by, where smoothing keeps the factors from taking it.
    code_penalties : sequence of CodePenalty
        The penalties of each layer's codes, in their scale.
    optimized_norms : sequence of arrays
        Norms of the factors' rows as they were optimized, which penalties may depend on.
    loss : Loss
        How far X̂ is from X: codes of new rows are the best ones by it.
    has_roots : bool
        Whether the top codes are handed out as their square roots.
    unit : float
        What the data were divided by in the fit.
    penalty_units : mapping
        What the weights of relative penalties were multiplied by, one number a layer, by the names of their classes:
        a fit that goes on from this one has the same weights.
    fixed : array of bool or None
        Which entries of the first rows of Z_1 were fixed.
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
        """The components that were fixed, as they were given, NaN where they were learned; None if there were none."""
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
        """What the fit has minimized beside its penalties."""
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
        """What codes of a layer are multiplied by to give the data."""
        D = self.chain.decoder(layer)
        return (self.code_scales[layer][:, None] * D).astype(D.dtype, copy=False)

    def linear_decoder(self, layer: int) -> Array:
        """What codes of a layer are multiplied by, where that is all that stands between them and the data."""
        return self.decoder(layer)

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the engine's rows at a layer, with the factors fixed."""
        penalty, degree = self.code_penalties[layer], self.loss.degree
        if engine.unit != 1:
            gram, l1 = penalty.gram * engine.unit ** (2 - degree), penalty.l1 * engine.unit ** (1 - degree)
            penalty = CodePenalty(gram, l1)
        codes = self.loss.encode(engine, self.decoder(layer), penalty)
        return self.handed_out(codes, layer)

    def encode_layers(self, engine: Engine) -> list[Array]:
        """Codes of the engine's rows at every layer, each from a problem of its own."""
        return [self.encode(engine, layer) for layer in range(self.chain.depth)]

    def lower_codes(self, engine: Engine, codes: Array) -> list[Array]:
        """Codes of the training rows below the top, whose own are given as they were fitted: problems of their own."""
        return [self.encode(engine, layer) for layer in range(self.top)]

    def decode(self, H: Array, layer: int) -> Array:
        """Data that codes of a layer stand for."""
        return self.as_fitted(H, layer) @ self.decoder(layer).astype(H.dtype, copy=False)

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """The reconstruction error for codes of a layer, ‖X - X̂‖_F under squared error."""
        return self.loss.error(engine, self.as_fitted(codes, layer), self.decoder(layer))

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a reconstruction with this error explains beyond the baseline of the loss."""
        return self.loss.explained(engine, error)

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error that the features of a layer leave with their best codes, without penalties."""
        return self.loss.best_error(engine, self.features()[layer])

    def part_norms(self, layer: int) -> Array:
        """The norms of what codes of a layer of size 1 add to the data, in the scale of the factor above."""
        units = np.eye(len(self.factors[layer]))
        return np.linalg.norm(self.decode(units, layer), axis=1) / self.code_scales[layer]

    def handed_out(self, codes: Array, layer: int) -> Array:
        """Codes in the form a user gets them."""
        return np.sqrt(codes) if self.has_roots and layer == self.top else codes

    def as_fitted(self, codes: Array, layer: int) -> Array:
        """Codes as the chain has them, from the form a user gets them in."""
        return np.square(codes) if self.has_roots and layer == self.top else codes

    @property
    def degree(self) -> float:
        """The q of f(s u) = s^q f(u) between layers; 1 too where f lets no scale through."""
        return 1.0

    def optimized_chain(self) -> Chain:
        """The factors in the scale that they were optimized in: penalties may depend on it."""
        chain = self.chain.with_row_norms(self.optimized_norms, self.degree)
        return replace(chain, factors=tuple(np.asarray(Z, dtype=np.float64) for Z in chain.factors))

    def in_units(self, unit: float, factor_unit: float) -> Self:
        """The same for data times `unit`, with factors times `factor_unit`."""
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
        """What a file must hold: a description, and lists of arrays."""
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
    """A linear chain of samples of which those of one class share their code."""

    classes: Array

    def state(self) -> tuple[dict[str, Any], dict[str, list[Array]]]:
        """What a file must hold: a description, and lists of arrays."""
        description, arrays = super().state()
        return description | described_classes(self.classes), arrays


@dataclass(frozen=True, kw_only=True)
class NonlinearChain(LinearChain):
    """A chain with an activation f between its layers."""

    activation: Activation

    @property
    def degree(self) -> float:
        """The q of f(s u) = s^q f(u); 1 too where f lets no scale through, and none is moved there."""
        return self.activation.degree or 1.0

    def features(self) -> list[Array]:
        """What unit codes of every layer decode to."""
        return [self.decode(np.eye(len(Z), dtype=Z.dtype), layer) for layer, Z in enumerate(self.chain.factors)]

    def linear_decoder(self, layer: int) -> Array:
        """What codes of the first layer are multiplied by; those above have an activation on their way."""
        if layer > 0:
            raise ValueError(
                f"project needs a linear path to layer {layer}, but activation={self.activation.name!r} lies on it."
            )
        return self.decoder(layer)

    def decode(self, H: Array, layer: int) -> Array:
        """Data that codes of a layer stand for."""
        H = self.as_fitted(H, layer)
        for below in range(layer, -1, -1):
            H = H @ self.layer_decoder(below).astype(H.dtype, copy=False)
            H = self.activation.function(H) if below else H
        return H

    def residual(self, engine: Engine, codes: Array, layer: int) -> float:
        """‖X - X̂‖_F for codes of a layer."""
        return decoded_residual_norm(engine, codes, partial(self.decode, layer=layer))

    def best_error(self, engine: Engine, layer: int) -> float:
        """The error that the features of a layer leave with codes of its own, found downhill above an activation."""
        if layer == 0:
            return super().best_error(engine, layer)
        decoders, size = [self.layer_decoder(below) for below in range(layer + 1)], len(self.factors[layer])
        none = CodePenalty(np.zeros((size, size)))
        encoder = activated_encoder(decoders, self.activation, none, self.chain.nonnegative, self.known_codes(layer))
        return self.residual(engine, self.handed_out(encoder.encode(engine), layer), layer)

    def known_codes(self, layer: int) -> Array:
        """Codes of a layer that a row may start from; none by default."""
        return np.empty((0, len(self.factors[layer])))


@dataclass(frozen=True, kw_only=True)
class ActivatedChain(NonlinearChain):
    """X ≈ f(··· f(H_m Z_m) ···) Z_1, all layers fitted together."""

    others: Array  # codes of some training rows, as fitted: a new row may start from one of them

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the top layer first: those of a lower one are their values there."""
        codes = self.encoder.values_below(self.encoder.encode(engine))[layer].astype(engine.dtype, copy=False)
        return self.handed_out(codes, layer)

    def lower_codes(self, engine: Engine, codes: Array) -> list[Array]:
        """What the codes of the top stand for on the layers below."""
        values = self.encoder.values_below(codes)
        return [V.astype(codes.dtype, copy=False) for V in values[:-1]]

    def known_codes(self, layer: int) -> Array:
        """What the codes of some training rows stand for on a layer."""
        return self.encoder.values_below(self.others)[layer]

    @cached_property
    def encoder(self) -> ActivatedEncoder:
        """Solves for codes of new rows, from those of the training rows where these are a better start."""
        decoders = [self.layer_decoder(layer) for layer in range(self.chain.depth)]
        penalty, nonnegative = self.code_penalties[-1], self.chain.nonnegative
        return activated_encoder(decoders, self.activation, penalty, nonnegative, self.others)

    def optimized_others(self) -> Array:
        """Codes of some training rows in the scale that they were optimized in."""
        *lower, top = self.optimized_norms
        Z = self.chain.with_row_norms(lower, self.degree).factors[-1]
        return self.others / (top * inverse_norms(Z))


@dataclass(frozen=True, kw_only=True)
class GreedyChain(LinearChain):
    """Layers fitted one upon the other; codes are found in the same way."""

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the first layer, then of the second given these, and so on."""
        for below in range(layer + 1):
            codes = self.loss.encode(engine, self.layer_decoder(below), self.code_penalties[below])
            engine = engine.for_codes(codes) if below < layer else engine
        return codes


@dataclass(frozen=True, kw_only=True)
class GreedyNonlinearChain(NonlinearChain):
    """The same with an activation between the layers."""

    def encode(self, engine: Engine, layer: int) -> Array:
        """Codes of the first layer; f⁻¹ of them is what the second is fitted to, and so on."""
        for below in range(layer + 1):
            codes = self.loss.encode(engine, self.layer_decoder(below), self.code_penalties[below])
            engine = (
                engine.for_codes(self.activation.inverse(codes, self.chain.nonnegative)) if below < layer else engine
            )
        return codes


def activated_encoder(
    decoders: Sequence[Array], activation: Activation, penalty: CodePenalty, nonnegative: bool, others: Array
) -> ActivatedEncoder:
    """The encoder of a chain with these factors, in double precision, with a choice of other rows' codes."""
    return ActivatedEncoder(
        decoders=tuple(Z.astype(np.float64) for Z in decoders),
        activation=activation,
        penalty=penalty,
        nonnegative=nonnegative,
        others=others,
    )


def some_rows(codes: Array) -> Array:
    """Codes of some training rows, evenly spaced in the order of their sums, in double precision."""
    by_size = np.argsort(codes.sum(axis=1, dtype=np.float64), kind="stable")
    return codes[by_size[:: max(1, -(-len(codes) // MOST_OTHERS))]].astype(np.float64)
