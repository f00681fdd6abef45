"""What factors need to know of X and the codes: HᵀX, HᵀH and Hᵀ1, which add up over blocks of rows."""

import numpy as np

from deepnmf.arrays import Array
from deepnmf.engines import Block, Engine, Sums
from deepnmf.objective import Graphs, Statistics


def statistics(engine: Engine, codes: Array) -> Statistics:
    """The statistics of given codes in one pass, HᵀH in double precision: factors may be solved for from it at once."""
    _, (M, K, code_sums) = engine.sweep((codes,), _in_double)
    return Statistics(M, K, code_sums, engine.sqnorm)


def coupled_statistics(engine: Engine, codes: Array, graphs: Graphs) -> Statistics:
    """The statistics of given codes in one pass, and HᵀLH of each graph from its product LH with them."""
    _, (M, K, code_sums, *joint) = engine.sweep((codes, *graphs.products(codes)), _with_couplings)
    return Statistics(M, K, code_sums, engine.sqnorm, graphs.joint(joint))


def block_statistics(X_b: Block, H: Array) -> Sums:
    """HᵀX, HᵀH and Hᵀ1 of one block of rows."""
    return H.T @ X_b, H.T @ H, H.sum(axis=0, dtype=np.float64)


def _in_double(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    H = rows[0].astype(np.float64, copy=False)
    return (), (np.ascontiguousarray(rows[0].T) @ X_b, H.T @ H, H.sum(axis=0))


def _with_couplings(X_b: Block, rows: tuple[Array, ...]) -> tuple[tuple[Array, ...], Sums]:
    H, *products = rows
    return (), (*block_statistics(X_b, H), *(H.T @ product for product in products))
