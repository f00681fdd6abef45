"""Codes of rows under a beta divergence with the factors fixed, and measurements at given codes."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Chain, ElasticNet
from deepnmf.objective.divergences import FREE, Divergence
from deepnmf.solvers.divergence_steps import (
    CoordinateStep,
    InDouble,
    MultiplicativeStep,
    RowsProblem,
    ValueStep,
    constant,
    descend_block,
    relative,
)
from deepnmf.solvers.expected_counts import Counts, Ratios, multiplied, residual

TOLERANCE = 1e-7  # of the violation of the optimality conditions of a row, relative to the sums of the features
ROUNDS, PASSES = 500, 4


def encode_by_divergence(engine: Engine, decoder: Array, divergence: Divergence, penalty: ElasticNet = FREE) -> Array:
    """argmin_{H >= 0} Σ d(X | H D) + L1 + L2 of the codes, for each row independently.

    Rows are solved in double precision until the violation of the optimality conditions is at most 1e-7 of the positive
    part of the slope, which is the sums of the features for the Kullback-Leibler divergence. The codes of a row do not
    depend on other rows. Below β = 1 and above β = 2 a row may have several minima; the result is the one found by
    descent from equal codes of all features.
    """
    problem = RowsProblem.of(decoder, divergence, penalty.codes_l1, penalty.codes_l2, np.float64)
    (codes,), _ = engine.sweep((), _EncodeStep(problem, engine.dtype))
    return codes


@dataclass(frozen=True)
class _EncodeStep:
    problem: RowsProblem
    dtype: np.dtype[Any]

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        H = np.zeros((X_b.shape[0], len(self.problem.sums)))
        descend_block(X_b, self.problem, H, PASSES, rounds=ROUNDS, tol=TOLERANCE)
        return (H.astype(self.dtype, copy=False),), ()


def divergence_of(engine: Engine, codes: Array, decoder: Array, divergence: Divergence) -> float:
    """Σ w d(X | H D) over the observed entries, from the codes, block by block and in double precision.

    The Kullback-Leibler divergence needs stored entries and sums only; for others, X̂ is formed a few rows at a time.
    """
    problem = RowsProblem.of(decoder, divergence, 0.0, 0.0, np.float64)
    if divergence.is_kl:
        _, (_, (_, fit, _)) = engine.sweep((codes,), InDouble(CoordinateStep(problem, 0, measured=True)))
        return float(fit) + constant(engine, divergence)
    return float(engine.sweep((codes,), InDouble(ValueStep(problem)))[1][0])


def divergence_residual(
    engine: Engine, codes: Array, chain: Chain, divergence: Divergence, penalty: ElasticNet = FREE
) -> float:
    """The certificate: the largest relative violation of the optimality conditions, with one pass over X.

    The violation of an entry is the slope of the objective; a positive slope counts at most as its positive part times
    the share of the total that the entry explains. It is relative to the norm of the positive part, which for the
    Kullback-Leibler divergence is sums of features for codes, and sums of codes for a factor. The residual is 0 at a
    stationary point.
    """
    problem = RowsProblem.of(chain.decoder(), divergence, penalty.codes_l1, penalty.codes_l2, np.float64)
    if divergence.is_kl:
        step = InDouble(CoordinateStep(problem, 0, with_counts=True))
        _, (code_sums, (violation, *_), *M_and_T) = engine.sweep((codes,), step)
        factors = residual(chain, Counts.of(code_sums, *M_and_T), penalty)
        return max(relative(violation, engine, problem), factors)
    _, (P, Q, (violation, size, *_)) = engine.sweep((codes,), InDouble(MultiplicativeStep(problem, moves=False)))
    layers = [multiplied(chain, layer, Ratios(P, Q), divergence, penalty)[1] for layer in range(chain.depth)]
    return max(math.sqrt(violation / size) if size > 0 else 0.0, *layers)
