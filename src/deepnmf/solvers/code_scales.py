"""The final scale of codes."""

from collections.abc import Sequence

import numpy as np

from deepnmf.arrays import Array
from deepnmf.objective import Activation, Chain
from deepnmf.objective.chain import inverse_norms
from deepnmf.row_weights import by_weights


def scaled_below(chain: Chain, activation: Activation) -> tuple[Chain, list[Array]]:
    """Return a chain with an activation f in its final scale, and the divisors of the codes of each layer.

    If layers can exchange scale through f, lower factors get unit rows, because otherwise the scale of the codes would
    be arbitrary. Only the rows of S_m Z_m exchange scale with the codes; the scale of lower layers is then determined.
    """
    if activation.degree is not None and not any(chain.theta):
        chain = chain.with_unit_rows_below(activation.degree)
    return chain, [*(np.ones(len(Z)) for Z in chain.factors[:-1]), inverse_norms(chain.smoothed(chain.depth - 1))]


def rms_scales(codes: Array, chain: Chain, scales: Sequence[Array], row_weights: Array | None = None) -> list[Array]:
    """Return the divisors with which codes of each layer have unit root mean square over the rows of the fit.

    Below the top layer these are the chain's own codes, H A_l, because separate codes have not been computed.
    """
    n_rows = len(codes) if row_weights is None else row_weights.sum()
    K = np.asarray(by_weights(codes, row_weights).T @ codes, dtype=np.float64) / n_rows
    above = [chain.above(layer) for layer in range(chain.depth)]
    squares = [np.diag(K) if A is None else np.einsum("ij,ij->j", A, K @ A) for A in above]
    return [roots(square, scale) for square, scale in zip(squares, scales, strict=True)]


def roots(squares: Array, scales: Array) -> Array:
    """Return root mean squares; codes of unused features keep the given scale."""
    return np.where(squares > 0, np.sqrt(squares), scales)
