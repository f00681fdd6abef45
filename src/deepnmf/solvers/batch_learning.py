"""Learning in batches of rows: factors are fitted to statistics that fade gradually."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.layout import Arrays, Expected, Layout, listed_numbers
from deepnmf.objective import Chain, Objective, Statistics
from deepnmf.solvers.descent import MOST_INNER, ChainDescent, State
from deepnmf.solvers.encoding import encode_rows
from deepnmf.solvers.statistics import statistics
from deepnmf.solvers.steps import Solver

ROUNDS, UPDATES = 10, 3  # alternations between codes and factors, and updates of the factors in each
FADING = 8  # about an eighth of the earlier rows count, because older codes belong to poorer factors


@dataclass(frozen=True)
class Memory:
    """The faded statistics of earlier batches, and the number of rows."""

    stats: Statistics
    n_seen: int

    @classmethod
    def of_codes(cls, codes: Array, chain: Chain) -> "Memory":
        """Return the memory of data that equal the reconstruction of these codes."""
        H, D = codes.astype(np.float64, copy=False), chain.decoder()
        K = H.T @ H
        return cls(Statistics(K @ D, K, H.sum(axis=0), float(np.sum(K * (D @ D.T)))), len(codes))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        stats = self.stats
        return {"sqnorm_seen": [stats.sqnorm]}, {"memory": [stats.M, stats.K, stats.code_sums]}

    @classmethod
    def layout(cls, description: dict[str, Any], arrays: Arrays, shapes: Sequence[tuple[int, ...]]) -> Layout:  # noqa: ARG003
        """Return the expected layout of the arrays in a file, for factors of these shapes."""
        top, n_features = shapes[-1][0], shapes[0][1]
        listed_numbers(description, "sqnorm_seen", 1, 0, np.inf)
        return {"memory": [Expected((top, n_features)), Expected((top, top)), Expected((top,))]}

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: Arrays, n_seen: int) -> "Memory":
        """Restore the memory from the output of `state`."""
        M, K, code_sums = arrays["memory"]
        (sqnorm,) = description["sqnorm_seen"]
        return cls(Statistics(M, K, code_sums, sqnorm), n_seen)

    def joined(self, new: Statistics, n_new: int) -> "Memory":
        """Add a new batch; the larger it is relative to all earlier rows, the more these fade."""
        n_seen = self.n_seen + n_new
        kept, old = max(0.0, 1 - FADING * n_new / n_seen), self.stats
        return Memory(
            Statistics(
                kept * old.M + new.M,
                kept * old.K + new.K,
                kept * old.code_sums + new.code_sums,
                kept * old.sqnorm + new.sqnorm,
            ),
            n_seen,
        )


def learn_batch(
    engine: Engine, objective: Objective, solver: Solver, chain: Chain, memory: Memory
) -> tuple[State, Memory]:
    """Alternate between the codes of the batch and the factors; the loss of the state is that of the batch only."""
    descent = ChainDescent(engine, objective, solver)
    for _ in range(ROUNDS):
        codes = encode_rows(engine, chain.decoder(), objective.code_penalty(chain))
        stats = statistics(engine.completed(codes, chain.decoder()), codes)
        after = memory.joined(stats, engine.n_samples)
        for _ in range(UPDATES):
            chain, _ = descent.update_factors(chain, after.stats, MOST_INNER)
    return State(codes, chain, loss=objective.value(chain, stats)), after
