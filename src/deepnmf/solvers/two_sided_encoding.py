"""Codes of rows under a two-sided model, with all factors fixed and without labels."""

from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective.two_sided_model import CodesProblem, Rows, TwoSided
from deepnmf.solvers.encoding import solve_rows
from deepnmf.solvers.two_sided_descent import FIRST_RATE, descend_codes

STEPS_AT_ONCE = 20
MOST_ROUNDS = 15
TOLERANCE = 1e-6


def encode_two_sided(engine: Engine, model: TwoSided, typical: Array) -> Array:
    """Return the codes of each row independently, by scaled gradient steps in double precision.

    A row starts at its nonnegative least-squares codes under the reconstructions of unit codes, `typical`, and stops
    when its projected gradient is at most 1e-6 of the gradient at 0, or after 300 steps. Its codes do not depend on
    other rows.
    """
    problem = CodesProblem.of(model, 0.0, np.float64)
    (codes,), _ = engine.sweep((), _EncodePass(problem, typical.astype(engine.dtype), typical @ typical.T))
    return codes


@dataclass(frozen=True)
class _EncodePass:
    problem: CodesProblem
    typical: Array
    typical_gram: Array

    def __call__(self, X_b: Block, _: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        start = solve_rows(self.typical_gram, (X_b @ self.typical.T).astype(np.float64))
        target = (X_b @ self.problem.decoder.astype(X_b.dtype).T).astype(np.float64)
        return (relaxed(self.problem, start, target).astype(X_b.dtype, copy=False),), ()


def relaxed(problem: CodesProblem, codes: Array, target: Array) -> Array:
    """Descend from given codes of unlabeled rows until each row has converged."""
    codes, rates = codes.copy(), np.full((len(codes), 1), FIRST_RATE)
    awake = np.arange(len(codes))
    for _ in range(MOST_ROUNDS):
        rows = Rows(target[awake], np.zeros((len(awake), 1)))
        moved = descend_codes(problem, codes[awake], rates[awake], rows, STEPS_AT_ONCE)
        codes[awake], rates[awake] = moved.point.codes, moved.rates
        awake = awake[moved.violations > TOLERANCE**2 * moved.sizes]
        if not awake.size:
            break
    return codes
