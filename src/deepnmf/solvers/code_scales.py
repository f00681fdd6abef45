"""The scale in which codes are handed out."""

from collections.abc import Sequence

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective import Activation, Chain
from deepnmf.objective.chain import inverse_norms
from deepnmf.row_weights import by_weights


def scaled_below(chain: Chain, activation: Activation) -> tuple[Chain, list[Array]]:
    """The chain as it is handed out below an activation f, and what codes of each layer are divided by then.

    Where f lets scale through, lower layers come out with unit rows, or chance would decide the codes' scale. Only the
    rows of S_m Z_m trade scale with the codes; those of lower layers have theirs already.
    """
    if activation.degree is not None and not any(chain.theta):
        chain = chain.with_unit_rows_below(activation.degree)
    return chain, [*(np.ones(len(Z)) for Z in chain.factors[:-1]), inverse_norms(chain.smoothed(chain.depth - 1))]


def rms_scales(codes: Array, chain: Chain, scales: Sequence[Array], row_weights: Array | None = None) -> list[Array]:
    """What codes of each layer are divided by to have unit root mean square over the rows of the fit.

    Below the top these are the chain's own codes, H A_l: others are not at hand.
    """
    n_rows = len(codes) if row_weights is None else row_weights.sum()
    K = np.asarray(by_weights(codes, row_weights).T @ codes, dtype=np.float64) / n_rows
    above = [chain.above(layer) for layer in range(chain.depth)]
    squares = [np.diag(K) if A is None else np.einsum("ij,ij->j", A, K @ A) for A in above]
    return [roots(square, scale) for square, scale in zip(squares, scales, strict=True)]


def roots(squares: Array, scales: Array) -> Array:
    """Root mean squares; codes of a feature that no row has keep the scale that is given."""
    return np.where(squares > 0, np.sqrt(squares), scales)
