"""Losses: what each one asks of the data, of the codes and of the factors of a linear chain.

A problem has one loss. Nothing but a loss knows how far X̂ is from X: descent, certificate, codes of new rows, the error
that is reported, the share that is explained, units and batches all go through it.
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
        """As scikit-learn's `beta_loss` has it."""
        return self.divergence.name

    @property
    def degree(self) -> float:
        """The q of d(s X, s X̂) = s^q d(X, X̂), by which losses and weights of penalties change with the units."""
        return self.divergence.degree

    def check(self, engine: Engine, objective: Objective) -> None:
        """Refuse data or penalties that the loss cannot take."""
        return

    @abstractmethod
    def descent(self, engine: Engine, objective: Objective, solver: Solver) -> Descent[Any]:
        """What makes the sweeps of a fit."""

    def settled(self, descent: Any, state: Any, history: History) -> tuple[Any, History]:
        """The last state of a descent as it is handed out, and the history that belongs to it."""
        return state, history

    @abstractmethod
    def weighted_descent(self, engine: Engine, solver: Solver, layers: Layers, guides: Sequence[Guide]) -> Any:
        """What makes the sweeps of a fit in which several layers explain the data."""

    @abstractmethod
    def certificate(self, descent: Any, codes: Array, chain: Chain) -> float:
        """How far from a stationary point a result of the descent is: the largest relative projected gradient."""

    @abstractmethod
    def encode(self, engine: Engine, decoder: Array, penalty: CodePenalty) -> Array:
        """The best codes of the engine's rows, each row on its own."""

    @abstractmethod
    def best_codes(self, engine: Engine, objective: Objective, chain: Chain) -> Array:
        """The best codes of all rows together, where penalties may join them."""

    @abstractmethod
    def error(self, engine: Engine, codes: Array, decoder: Array) -> float:
        """√(2 d(X, H D)), the reconstruction error."""

    def best_error(self, engine: Engine, features: Array) -> float:
        """The error that the best codes of the engine's rows leave, without penalties, at any size of the features."""
        sizes = np.abs(features).max(axis=1, initial=0)
        decoder = features / np.where(sizes > 0, sizes, 1)[:, None]  # a penalty may have left them next to nothing
        none = CodePenalty(np.zeros((len(decoder), len(decoder))))
        return self.error(engine, self.encode(engine, decoder, none), decoder)

    @abstractmethod
    def baseline(self, engine: Engine) -> float:
        """The square of the error that the baseline of the loss has: see `Divergence.baseline`."""

    def explained(self, engine: Engine, error: float) -> float:
        """The share that a model with this error explains beyond the baseline."""
        magnitude = 2 * self.divergence.magnitude(engine.measured.sqnorm, engine.measured.n_entries)
        return explained_share(error**2, self.baseline(engine), magnitude)

    @property
    def memory(self) -> type[Any] | None:
        """What later batches need to know of earlier ones; None where the loss does not learn in batches."""
        return None

    def learn_batch(
        self, engine: Engine, objective: Objective, solver: Solver, chain: Chain, memory: Any
    ) -> tuple[Any, Any]:
        """Learn from one batch of rows after those of a memory: the last state, and the memory with them."""
        raise TypeError(f"beta_loss={self.name!r} does not learn in batches.")


class Frobenius(Loss):
    """½‖X - X̂‖²: blocks are quadratic, and X is seen through HᵀX, HᵀH and Hᵀ1 alone."""

    divergence = SQUARED_ERROR

    def descent(self, engine: Engine, objective: Objective, solver: Solver) -> ChainDescent:
        """Sweeps whose rows are coupled or not, much of them observed or little."""
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
