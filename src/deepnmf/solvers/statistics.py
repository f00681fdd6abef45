"""The statistics of X and the codes for the factors: HᵀDX, HᵀDH and HᵀD1, which are sums over blocks of rows.

D contains the weights of rows, if there are any.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Graphs, Statistics
from deepnmf.objective.quadratic import inner
from deepnmf.solvers.steps import squared_violation


def statistics(engine: Engine, codes: Array) -> Statistics:
    """Return the statistics of given codes by one pass, with HᵀH in double precision for exact solutions of factors."""
    _, (M, K, code_sums) = engine.sweep((codes,), _in_double)
    return Statistics(M, K, code_sums, engine.sqnorm)


def coupled_statistics(engine: Engine, codes: Array, graphs: Graphs) -> Statistics:
    """Return the statistics of given codes by one pass, and HᵀLH of each graph from its product LH."""
    _, (M, K, code_sums, *joint) = engine.sweep((codes, *graphs.products(codes)), _with_couplings)
    return Statistics(M, K, code_sums, engine.sqnorm, graphs.joint(joint))


def block_statistics(X_b: Block, H: Array, gram_dtype: DTypeLike = np.float64) -> Sums:
    """Return HᵀDX, HᵀDH and HᵀD1 of one block of rows.

    HᵀDH has few entries, whose rounding errors do not cancel out in the loss. It is computed in double precision, or
    in another precision if the loss may have larger errors.
    """
    weighed, exact = X_b.weighed(H), H.astype(gram_dtype, copy=False)
    return weighed.T @ X_b, X_b.weighed(exact).T @ exact, weighed.sum(axis=0, dtype=np.float64)


@dataclass(frozen=True)
class GradientStep:
    """The statistics of one block of rows, and the gradient of its codes, to which graphs may add terms."""

    decoder: Array
    gram: Array
    l1: float

    def __call__(self, X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
        """Return the statistics, and the squared norms of the projected gradient and of its linear part."""
        H, *pulls = rows
        target = X_b @ self.decoder.T - self.l1
        gradient = X_b.by_roots(sum(pulls, start=H @ self.gram - target))
        target = X_b.by_roots(target)
        return (), (*block_statistics(X_b, H), np.array([squared_violation(H, gradient), inner(target, target)]))


def _in_double(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    H = rows[0].astype(np.float64, copy=False)
    weighed = X_b.weighed(H)
    return (), (np.ascontiguousarray(X_b.weighed(rows[0]).T) @ X_b, weighed.T @ H, weighed.sum(axis=0))


def _with_couplings(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    H, *products = rows
    return (), (*block_statistics(X_b, H), *(H.T @ product for product in products))
