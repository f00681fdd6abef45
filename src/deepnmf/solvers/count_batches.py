"""Learning in batches of counts: factors are fitted to expected counts that fade gradually (online EM)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Engine
from deepnmf.layout import Arrays, Expected, Layout
from deepnmf.objective import Chain, ElasticNet
from deepnmf.objective.divergences import FREE, Divergence, expected_root, penalty_value
from deepnmf.solvers.batch_learning import FADING
from deepnmf.solvers.divergence_encoding import divergence_of, encode_by_divergence
from deepnmf.solvers.divergence_state import LIFT_OF_LEARNED, DivergenceState
from deepnmf.solvers.divergence_steps import CoordinateStep, InDouble, RowsProblem
from deepnmf.solvers.expected_counts import Counts

ROUNDS = 10  # alternations between the codes of the batch and the factors


@dataclass(frozen=True)
class CountMemory:
    """The faded expected counts of every factor and sums of codes of earlier batches, and the number of rows.

    Sums of codes are in the scale of the optimization.
    """

    expected: tuple[Array, ...]  # N_l, with the shapes of the factors
    code_sums: Array
    weighted_sums: Array | None  # HᵀW, after a batch with missing or weighted entries
    n_seen: int

    @classmethod
    def of_codes(cls, codes: Array, chain: Chain) -> Self:
        """Return the memory of data that equal the reconstruction of these codes."""
        sums = np.asarray(codes, dtype=np.float64).sum(axis=0)
        pushes = Counts(chain.decoder(), sums)
        expected = tuple(Z * pushes.push(chain, layer) for layer, Z in enumerate(chain.factors))
        return cls(expected, sums, None, len(codes))

    def joined(self, chain: Chain, new: Counts, n_new: int) -> "CountMemory":
        """Add a new batch; the larger it is relative to all earlier rows, the more these fade."""
        n_seen = self.n_seen + n_new
        kept = max(0.0, 1 - FADING * n_new / n_seen)
        found = [Z * new.pull(chain, layer) for layer, Z in enumerate(chain.factors)]
        weighted = None
        if new.T is not None or self.weighted_sums is not None:
            weighted = kept * _over_columns(self.weighted_sums, self.code_sums, new.M.shape[1])
            weighted = weighted + _over_columns(new.T, new.code_sums, new.M.shape[1])
        return CountMemory(
            tuple(kept * old + added for old, added in zip(self.expected, found, strict=True)),
            kept * self.code_sums + new.code_sums,
            weighted,
            n_seen,
        )

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: a description, and lists of arrays."""
        weighted = [] if self.weighted_sums is None else [self.weighted_sums]
        return {}, {"memory": [self.code_sums, *self.expected], "weighted_memory": weighted}

    @classmethod
    def layout(cls, description: dict[str, Any], arrays: Arrays, shapes: Sequence[tuple[int, ...]]) -> Layout:  # noqa: ARG003
        """Return the expected layout of the arrays in a file, for factors of these shapes."""
        top, n_features = shapes[-1][0], shapes[0][1]
        weighted = [Expected((top, n_features), low=0)] if "weighted_memory" in arrays else []
        return {
            "memory": [Expected((top,), low=0), *(Expected(shape, low=0) for shape in shapes)],
            "weighted_memory": weighted,
        }

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: Arrays, n_seen: int) -> "CountMemory":  # noqa: ARG003
        """Restore the memory from the output of `state`."""
        code_sums, *expected = arrays["memory"]
        weighted = arrays["weighted_memory"]
        return cls(tuple(expected), code_sums, weighted[0] if weighted else None, n_seen)

    def factors(self, chain: Chain, penalty: ElasticNet) -> Chain:
        """Return the chain with factors from the expected counts, layer by layer.

        Entries without counts stay a little above 0, because a step could never leave 0.
        """
        counts = Counts(np.empty((0, chain.factors[0].shape[1])), self.code_sums, self.weighted_sums)
        for layer, N in enumerate(self.expected):
            push = counts.push(chain, layer)
            Z = expected_root(N, push, penalty.factor_l1, penalty.factor_l2)
            chain = chain.with_factor(layer, np.maximum(Z, LIFT_OF_LEARNED * Z.mean()))
        return chain


def _over_columns(weighted: Array | None, sums: Array, n_features: int) -> Array:
    return np.outer(sums, np.ones(n_features)) if weighted is None else weighted


def learn_count_batch(
    engine: Engine, divergence: Divergence, chain: Chain, memory: CountMemory, penalty: ElasticNet = FREE
) -> tuple[DivergenceState, CountMemory]:
    """Alternate between the codes of the batch and the factors; the loss of the state is that of the batch only."""
    after = memory
    for _ in range(ROUNDS):
        decoder = chain.decoder()
        codes = encode_by_divergence(engine, decoder, divergence, penalty)
        problem = RowsProblem.of(decoder, divergence, 0.0, 0.0, np.float64)
        _, (code_sums, _, *M_and_T) = engine.sweep((codes,), InDouble(CoordinateStep(problem, 0, with_counts=True)))
        after = memory.joined(chain, Counts.of(code_sums, *M_and_T), engine.n_samples)
        chain = after.factors(chain, penalty)
    codes = encode_by_divergence(engine, chain.decoder(), divergence, penalty)
    H = np.asarray(codes, dtype=np.float64)
    loss = divergence_of(engine, codes, chain.decoder(), divergence)
    loss += penalty_value(penalty, chain, float(H.sum()), float(np.vdot(H, H)))
    return DivergenceState(codes, chain, loss=loss), after
