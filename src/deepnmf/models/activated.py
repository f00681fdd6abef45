"""Deep models with an activation between their layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.models.base import DeepEstimator, Task
from deepnmf.models.checks import layer_sizes
from deepnmf.objective import ACTIVATIONS, ActivatedObjective, Activation, Chain, CodePenalty, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers import (
    SOLVERS,
    ActivatedDescent,
    ActivatedEncoder,
    Descent,
    decoded_residual_norm,
    encode_rows,
)

MOST_OTHERS = 256  # training rows whose codes a new row may start from


class ActivatedEstimator(DeepEstimator):
    """X ≈ f(··· f(H_m Z_m) ···) Z_1; the linear chain where f is the identity, or where there is one layer only."""

    @property
    def _between(self) -> Activation | None:
        """The activation that lies between layers; None where the chain is linear."""
        linear = self.activation == "identity" or len(layer_sizes(self.layer_sizes)) == 1
        return None if linear else ACTIVATIONS[self.activation]

    # ------------------------------------------------------------------------------------- fitting

    def _descent(self, engine: Engine, objective: Objective) -> Descent[Any]:
        if self._between is None:
            return super()._descent(engine, objective)
        activated = ActivatedObjective(self._between, objective.penalties)
        return ActivatedDescent(engine, activated, SOLVERS[self._solver_name])

    def _solved_codes(self, engine: Engine, chain: Chain, task: Task) -> Array:
        if self._between is None:
            return super()._solved_codes(engine, chain, task)
        penalty = self._objective(chain.depth, engine).code_penalty(chain)
        decoders = [chain.smoothed(layer) for layer in range(chain.depth)]
        others = self._codes_before() if task.start.warm else np.empty((0, len(decoders[-1])))
        return self._encoder_of(decoders, penalty, others).encode(engine)

    def _codes_before(self) -> Array:
        """Codes of the fit before, in the scale it was optimised in."""
        *lower, top = self._optimised_norms
        Z = self._chain.with_row_norms(lower, self._degree).factors[-1]
        return self._as_fitted(self.codes_[-1]) / (top * inverse_norms(Z))

    def _lower_codes(self, engine: Engine, codes: Array) -> list[Array]:
        """What the fitted codes stand for on the layers below."""
        if self._between is None:
            return super()._lower_codes(engine, codes)
        return [V.astype(codes.dtype, copy=False) for V in self._encoder().values_below(codes)[:-1]]

    def _balanced(self, chain: Chain) -> Chain:
        """Where f lets scale through, lower layers come out with unit rows, or chance would decide the codes' scale."""
        degree = None if self._between is None or any(chain.theta) else self._between.degree
        return chain if degree is None else chain.with_unit_rows_below(degree)

    def _scales(self, chain: Chain) -> list[Array]:
        """Only the rows of S_m Z_m trade scale with the codes; those of lower layers have theirs already."""
        if self._between is None:
            return super()._scales(chain)
        return [*(np.ones(len(Z)) for Z in chain.factors[:-1]), inverse_norms(chain.smoothed(chain.depth - 1))]

    # ------------------------------------------------------------------------------------- at work

    def _features(self) -> list[Array]:
        if self._between is None:
            return super()._features()
        return [self._decoded(np.eye(len(Z), dtype=Z.dtype), layer) for layer, Z in enumerate(self.factors_)]

    def _layer_decoder(self, layer: int) -> Array:
        """S_l Z_l between the scaled codes of two neighbouring layers."""
        D = self._code_scales[layer][:, None] * self._chain.smoothed(layer)
        return D if layer == 0 else D / self._code_scales[layer - 1]

    def _linear_decoder(self, layer: int) -> Array:
        if self._between is not None and layer > 0:
            raise ValueError(
                f"project needs a linear path to layer {layer}, but activation={self.activation!r} lies on it."
            )
        return super()._linear_decoder(layer)

    def _encoded(self, engine: Engine, layer: int) -> Array:
        """Codes of the top layer first: those of a lower one are their values there."""
        if self._between is None:
            return super()._encoded(engine, layer)
        encoder = self._encoder()
        return encoder.values_below(encoder.encode(engine))[layer].astype(engine.dtype, copy=False)

    def _encoder(self) -> ActivatedEncoder:
        codes = self._as_fitted(self.codes_[-1])
        decoders = [self._layer_decoder(layer) for layer in range(len(self.factors_))]
        return self._encoder_of(decoders, self._code_penalties[-1], codes)

    def _encoder_of(self, decoders: Sequence[Array], penalty: CodePenalty, others: Array) -> ActivatedEncoder:
        return ActivatedEncoder(
            decoders=tuple(Z.astype(np.float64) for Z in decoders),
            activation=ACTIVATIONS[self.activation],
            penalty=penalty,
            nonnegative=self._nonnegative,
            others=others[:: max(1, -(-len(others) // MOST_OTHERS))].astype(np.float64),
        )

    def _layer_by_layer(self, engine: Engine, layer: int) -> Array:
        """Codes of the first layer, then of the second given these, and so on: how the pre-training saw the rows."""
        for below in range(layer + 1):
            codes = encode_rows(engine, self._layer_decoder(below), self._code_penalties[below])
            if below < layer:
                between = self._between
                fed = codes if between is None else between.inverse(codes, self._nonnegative)
                engine = engine.upon(fed)
        return codes

    def _decoded(self, H: Array, layer: int) -> Array:
        if self._between is None:
            return super()._decoded(H, layer)
        for below in range(layer, -1, -1):
            H = H @ self._layer_decoder(below).astype(H.dtype, copy=False)
            H = self._between.function(H) if below else H
        return H

    def _residual(self, engine: Engine, codes: Array, layer: int) -> float:
        if self._between is None:
            return super()._residual(engine, codes, layer)
        return decoded_residual_norm(engine, codes, lambda H: self._decoded(H, layer))
