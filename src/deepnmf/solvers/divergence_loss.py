"""The beta divergences as losses of a linear chain: Kullback-Leibler for counts, Itakura-Saito for power spectra."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, CodePenalty, ElasticNet, Guide, Objective
from deepnmf.objective.divergences import FREE, Divergence
from deepnmf.solvers.count_batches import CountMemory, learn_count_batch
from deepnmf.solvers.divergence_descent import DivergenceDescent
from deepnmf.solvers.divergence_encoding import divergence_of, divergence_residual, encode_by_divergence
from deepnmf.solvers.divergence_state import DivergenceState
from deepnmf.solvers.divergence_steps import few_rows
from deepnmf.solvers.loop import History
from deepnmf.solvers.losses import FROBENIUS, Loss
from deepnmf.solvers.steps import Solver
from deepnmf.solvers.weighted_layers import Layers
from deepnmf.solvers.weighted_passes import WeightedPasses


@dataclass(frozen=True)
class BetaDivergence(Loss):
    """Σ d_β(x | x̂): every layer is nonnegative, and updates depend on ratios of X and X̂."""

    divergence: Divergence
    multiplies: bool = False  # whether all updates are multiplicative, as in scikit-learn

    def check(self, engine: Engine, objective: Objective) -> None:
        """Refuse penalties other than L1 and L2, and zeros for which the divergence is infinite."""
        _elastic_net(objective, self.name)
        if self.divergence.needs_positive_data:
            _, (n_zeros,) = engine.sweep((), _count_zeros)
            if n_zeros:
                raise ValueError(
                    "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values to X, "
                    "or use a positive beta_loss."
                )

    def descent(self, engine: Engine, objective: Objective, solver: Solver) -> DivergenceDescent:
        """Coordinate steps for counts in memory, otherwise passes over the rows; `solver` is for squared error only."""
        penalty = _elastic_net(objective, self.name)
        return DivergenceDescent(engine, self.divergence, penalty, multiplies=self.multiplies)

    def weighted_descent(
        self, engine: Engine, solver: Solver, layers: Layers, guides: Sequence[Guide]
    ) -> WeightedPasses:
        """Passes over the rows; `solver` is for squared error only."""
        return WeightedPasses(engine, self.divergence, layers, self.multiplies, guides)

    def settled(
        self, descent: DivergenceDescent, state: DivergenceState, history: History
    ) -> tuple[DivergenceState, History]:
        """Return the state with codes that match the last factors, and their loss as the last one."""
        end = descent.settled(state)
        return end, history if end is state else history.ending_with(end.loss)

    def certificate(self, descent: DivergenceDescent, codes: Array, chain: Chain) -> float:
        return divergence_residual(descent.engine, codes, chain, descent.divergence, descent.penalty)

    def encode(self, engine: Engine, decoder: Array, penalty: CodePenalty) -> Array:
        l2 = float(penalty.gram[0, 0])  # with L2 only, the matrix is a multiple of the identity
        return encode_by_divergence(engine, decoder, self.divergence, ElasticNet(penalty.l1, l2, 0.0, 0.0))

    def best_codes(self, engine: Engine, objective: Objective, chain: Chain) -> Array:
        return self.encode(engine, chain.decoder(), objective.code_penalty(chain))

    def error(self, engine: Engine, codes: Array, decoder: Array) -> float:
        return self.divergence.reconstruction_error(divergence_of(engine, codes, decoder, self.divergence))

    def baseline(self, engine: Engine) -> float:
        """Twice the divergence of the baseline: row totals times column shares for counts, otherwise column means."""
        loss = self.divergence
        (row_totals,), (column_totals, column_weights) = engine.sweep((), _totals)
        rows, columns = loss.baseline(row_totals[:, 0], column_totals, column_weights)
        rows = np.ones(engine.n_samples) if rows is None else rows
        return 2 * divergence_of(engine, rows[:, None].astype(engine.dtype), columns[None], loss)

    @property
    def memory(self) -> type[Any] | None:
        """Expected counts for Kullback-Leibler; for other losses, ratios cannot be summed over batches."""
        return CountMemory if self.divergence.is_kl else None

    def learn_batch(
        self, engine: Engine, objective: Objective, solver: Solver, chain: Chain, memory: CountMemory
    ) -> tuple[DivergenceState, CountMemory]:
        penalty = _elastic_net(objective, self.name)
        return learn_count_batch(engine, self.divergence, chain, memory, penalty)


def loss_of(beta_loss: str | float, solver: str = "hals") -> Loss:
    """Return the loss for scikit-learn's `beta_loss`, with the updates for the name of a solver."""
    divergence = Divergence.of(beta_loss)
    return FROBENIUS if divergence.beta == 2 else BetaDivergence(divergence, multiplies=solver == "mu")


def _elastic_net(objective: Objective, name: str) -> ElasticNet:
    """Return L1 and L2 of codes and factors; other penalties are not supported for divergences."""
    if not objective.penalties:
        return FREE
    first, *others = objective.penalties
    if others or not isinstance(first, ElasticNet):
        raise ValueError(
            f"beta_loss={name!r} supports only L1 and L2 penalties (alpha_W and alpha_H of NMF): use "
            "beta_loss='frobenius', or penalty=None."
        )
    return first


def _count_zeros(X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    counts = (np.count_nonzero((x == 0) & (True if w is None else w > 0)) for _, x, w in few_rows(X_b))
    return (), (np.asarray(sum(counts)),)


def _totals(X_b: Any, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    """Sums of rows and of columns, and the weights of columns, without densifying sparse rows."""
    if X_b.is_complete:
        return (X_b @ np.ones((X_b.shape[1], 1), X_b.dtype),), X_b.column_sums()
    values, _ = X_b.weighted()
    return (np.asarray(values.sum(axis=1), X_b.dtype).reshape(-1, 1),), X_b.column_sums()
