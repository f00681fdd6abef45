"""The losses of a layer that explains the codes below it, as in `DeepNMF`.

A hierarchy minimizes d(X | H_1 Z_1) + Σ_{l>1} λ_l d_l(H_{l-1} | H_l Z_l + ε), where d_l is the Kullback-Leibler
divergence or half the squared error. Codes have a root mean square of about one, and ε keeps the loss finite where the
prediction of a layer is zero.
"""

from typing import Any, NamedTuple

import numpy as np

from deepnmf.arrays import Array
from deepnmf.kernels.layered_loops import FLOOR
from deepnmf.row_weights import by_weights


def counted_fit(V: Array, H: Array, Z: Array, weights: Array | None = None) -> tuple[float, tuple[Array, ...]]:
    """KL(V | H Z + ε), and HᵀD(V/(H Z + ε)), which times Z gives the expected counts of each entry of Z.

    D contains the weights of rows, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> H, Z = np.array([[2.0]]), np.array([[1.0, 3.0]])
    >>> value, (pull,) = counted_fit(H @ Z, H, Z)
    >>> round(value, 6), pull.round(3)
    (0.0, array([[2., 2.]]))
    """
    model = H @ Z + H.dtype.type(FLOOR)
    ratio = V / model
    each = np.sum(V * np.log(ratio) - V + model, axis=1, dtype=np.float64)
    return _total(each, weights), (by_weights(H, weights).T @ ratio,)


def squared_fit(V: Array, H: Array, Z: Array, weights: Array | None = None) -> tuple[float, tuple[Array, ...]]:
    """½‖V - H Z - ε‖², and HᵀD(V - ε) and HᵀDH, from which the best Z follows.

    D contains the weights of rows, if there are any.

    Examples
    --------
    >>> import numpy as np
    >>> H, Z = np.array([[2.0]]), np.array([[1.0, 3.0]])
    >>> value, (M, K) = squared_fit(H @ Z + 1, H, Z)
    >>> round(value, 3), M.round(3), K
    (1.0, array([[ 6., 14.]]), array([[4.]]))
    """
    V = V - H.dtype.type(FLOOR)
    each, weighed = np.sum(np.square(V - H @ Z), axis=1, dtype=np.float64), by_weights(H, weights)
    return 0.5 * _total(each, weights), (weighed.T @ V, weighed.T @ H)


class Slopes(NamedTuple):
    """The gradient of the loss d(V | H Z + ε) of a layer in V (`below`) and in H (`own`), row by row.

    `scale` is the part of `own` that gradients are relative to: the positive part, or the linear part of a quadratic.
    """

    below: Array
    own: Array
    scale: Array


def counted_slopes(V: Array, H: Array, Z: Array) -> Slopes:
    """Return the slopes of KL(V | H Z + ε).

    Examples
    --------
    >>> import numpy as np
    >>> H, Z = np.array([[2.0]]), np.array([[1.0, 3.0]])
    >>> [part.round(3) for part in counted_slopes(np.array([[4.0, 3.0]]), H, Z)]
    [array([[ 0.693, -0.693]]), array([[0.5]]), array([[4.]])]
    """
    ratio, price = V / (H @ Z + H.dtype.type(FLOOR)), np.broadcast_to(Z.sum(axis=1), H.shape)
    return Slopes(np.log(ratio), price - ratio @ Z.T, price)


def squared_slopes(V: Array, H: Array, Z: Array) -> Slopes:
    """Return the slopes of ½‖V - H Z - ε‖².

    Examples
    --------
    >>> import numpy as np
    >>> H, Z = np.array([[2.0]]), np.array([[1.0, 3.0]])
    >>> [part.round(3) for part in squared_slopes(np.array([[4.0, 3.0]]), H, Z)]
    [array([[ 2., -3.]]), array([[7.]]), array([[13.]])]
    """
    V = V - H.dtype.type(FLOOR)
    missing = V - H @ Z
    return Slopes(missing, -missing @ Z.T, V @ Z.T)


def _total(each: Any, weights: Array | None) -> float:
    return float(each.sum() if weights is None else weights @ each)
