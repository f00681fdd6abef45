from deepnmf.arrays import Array


def smooth(Z: Array, theta: float) -> Array:
    """S Z with S = (1-θ) I + (θ/r) 1 1ᵀ, without forming S; S is symmetric, so Z S is ``smooth(Z.T).T``.

    Examples
    --------
    >>> import numpy as np
    >>> smooth(np.array([[1.0], [0.0]]), theta=0.5)
    array([[0.75],
           [0.25]])
    """
    if theta == 0:
        return Z
    return (1 - theta) * Z + theta * Z.mean(axis=0)
