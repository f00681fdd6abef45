"""Losses of a linear chain.

A problem has one loss. Everything that depends on the divergence between X and X̂ is defined by the loss: descent,
certificate, codes of new rows, reconstruction error, explained share, units and batches.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.objective import Chain, CodePenalty, Guide, Objective
from deepnmf.objective.divergences import SQUARED_ERROR, Divergence, explained_share
from deepnmf.solvers.batch_learning import Memory, learn_batch
from deepnmf.solvers.certificate import kkt_residual
from deepnmf.solvers.coupled_descent import CoupledDescent
from deepnmf.solvers.descent import ChainDescent
from deepnmf.solvers.encoding import encode_rows, residual_norm
from deepnmf.solvers.loop import Descent, History
from deepnmf.solvers.observed_descent import ObservedDescent
from deepnmf.solvers.small_descent import SmallDescent
from deepnmf.solvers.steps import HALS, Solver
from deepnmf.solvers.two_precisions import TwoPrecisions
from deepnmf.solvers.weighted_layers import Layers, WeightedDescent


class Loss(ABC):
    """d(X, X̂), a sum over the observed entries."""

    divergence: Divergence

    @property
    def name(self) -> str:
        """The name, as in scikit-learn's `beta_loss`."""
        return self.divergence.name

    @property
    def degree(self) -> float:
        """The q of d(s X, s X̂) = s^q d(X, X̂), which determines the units of losses and penalty weights."""
        return self.divergence.degree

    def check(self, engine: Engine, objective: Objective) -> None:
        """Refuse data or penalties that the loss does not support."""
        return

    @abstractmethod
    def descent(self, engine: Engine, objective: Objective, solver: Solver) -> Descent[Any]:
        """Return the descent, which makes the sweeps of a fit."""

    def settled(self, descent: Any, state: Any, history: History) -> tuple[Any, History]:
        """Return the final state of a descent, and its history."""
        return state, history

    @abstractmethod
    def weighted_descent(self, engine: Engine, solver: Solver, layers: Layers, guides: Sequence[Guide]) -> Any:
        """Return the descent of a fit in which several layers explain the data."""

    @abstractmethod
    def certificate(self, descent: Any, codes: Array, chain: Chain) -> float:
        """Return how far a result is from a stationary point: the largest relative projected gradient."""

    @abstractmethod
    def encode(self, engine: Engine, decoder: Array, penalty: CodePenalty) -> Array:
        """Return the best codes of the rows of the engine, each row independently."""

    @abstractmethod
    def best_codes(self, engine: Engine, objective: Objective, chain: Chain) -> Array:
        """Return the best codes of all rows together, because penalties may couple them."""

    @abstractmethod
    def error(self, engine: Engine, codes: Array, decoder: Array) -> float:
        """√(2 d(X, H D)), the reconstruction error."""

    def best_error(self, engine: Engine, features: Array) -> float:
        """Return the error of the best codes without penalties, independent of the scale of the features."""
        sizes = np.abs(features).max(axis=1, initial=0)
        decoder = features / np.where(sizes > 0, sizes, 1)[:, None]  # a penalty may have made them tiny
        codes = self.encode(engine, decoder, CodePenalty.none(len(decoder)))
        return self.error(engine, codes, decoder)

    @abstractmethod
    def baseline(self, engine: Engine) -> float:
        """Return the squared error of the baseline of the loss, see `Divergence.baseline`."""

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a model with this error explains beyond the baseline."""
        magnitude = 2 * self.divergence.magnitude(engine.measured.sqnorm, engine.measured.n_entries)
        return explained_share(error**2, self.baseline(engine), magnitude)

    @property
    def memory(self) -> type[Any] | None:
        """The class of the statistics for learning in batches; None if the loss does not support it."""
        return None

    def learn_batch(
        self, engine: Engine, objective: Objective, solver: Solver, chain: Chain, memory: Any
    ) -> tuple[Any, Any]:
        """Learn from one batch of rows; return the last state, and the updated memory."""
        raise TypeError(f"beta_loss={self.name!r} does not support learning in batches.")


class Frobenius(Loss):
    """½‖X - X̂‖²: the problems of factors are quadratic, and depend on X only through HᵀX, HᵀH and Hᵀ1."""

    divergence = SQUARED_ERROR

    def descent(self, engine: Engine, objective: Objective, solver: Solver) -> ChainDescent:
        """Return the descent for coupled or independent rows, with many or few observed entries."""
        if objective.graphs:
            return CoupledDescent(engine, objective, solver)
        if engine.is_sparsely_observed and not objective.penalties:
            return ObservedDescent(engine, objective, solver)
        return (TwoPrecisions if engine.gains_by_single_precision else SmallDescent)(engine, objective, solver)

    def weighted_descent(
        self, engine: Engine, solver: Solver, layers: Layers, guides: Sequence[Guide]
    ) -> WeightedDescent:
        return WeightedDescent(engine, solver, layers, guides)

    certificate = staticmethod(kkt_residual)
    encode = staticmethod(encode_rows)
    error = staticmethod(residual_norm)
    learn_batch = staticmethod(learn_batch)

    def best_codes(self, engine: Engine, objective: Objective, chain: Chain) -> Array:
        codes = encode_rows(engine, chain.decoder(), objective.code_penalty(chain))
        return CoupledDescent(engine, objective, HALS()).settled(codes, chain) if objective.graphs else codes

    def baseline(self, engine: Engine) -> float:
        """Σ w (x - mean of its column)² = Σ w x² - Σ_j (Σ_i w x)² / Σ_i w, with one pass."""
        sums, weights = engine.column_sums()
        return engine.measured.sqnorm - float(sums @ (sums / np.where(weights > 0, weights, 1)))

    @property
    def memory(self) -> type[Any] | None:
        return Memory


FROBENIUS = Frobenius()
