"""Deep models with an activation between their layers."""

from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.models.base import DeepEstimator, Task
from deepnmf.models.checks import layer_sizes
from deepnmf.objective import ACTIVATIONS, ActivatedObjective, Activation, Chain, Objective
from deepnmf.objective.chain import inverse_norms
from deepnmf.solvers import SOLVERS, ActivatedDescent, Descent
from deepnmf.solvers.learnt import ActivatedChain, LinearChain, activated_encoder


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
        others = np.empty((0, len(decoders[-1])))
        if task.start.warm and isinstance(self._learnt, ActivatedChain):
            others = self._learnt.fitted_codes(self.codes_[-1], self._degree)
        return activated_encoder(decoders, self._between, penalty, self._nonnegative, others).encode(engine)

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

    def _learnt_chain(self, *parts: Any) -> LinearChain:
        if self._between is None:
            return super()._learnt_chain(*parts)
        return ActivatedChain(*parts, activation=self._between)

    def _linear_decoder(self, layer: int) -> Array:
        if self._between is not None and layer > 0:
            raise ValueError(
                f"project needs a linear path to layer {layer}, but activation={self.activation!r} lies on it."
            )
        return super()._linear_decoder(layer)
