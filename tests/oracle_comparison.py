"""Shared by the comparisons with oracles: problems, initializations, and checks of the published algorithms."""

from collections.abc import Callable, Sequence

import numpy as np

Array = np.ndarray

RANK = 4


def problem(seed: int, signed: bool = False) -> Array:
    """Return a 40 x 30 matrix of rank 4 plus noise."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((RANK, 30)) if signed else rng.random((RANK, 30))
    X = rng.random((40, RANK)) @ factor + 0.1 * rng.standard_normal((40, 30))
    return X if signed else np.maximum(X, 0)


def balanced_pair(rng: np.random.Generator, X: Array, rank: int) -> tuple[Array, Array]:
    """Return random codes and a random factor of equal scale, whose product has the mean of |X|."""
    H, Z = rng.random((len(X), rank)), rng.random((rank, X.shape[1]))
    scale = np.sqrt(np.abs(X).sum() / (H @ Z).sum())
    return scale * H, scale * Z


def assert_never_rises(losses: Sequence[float]) -> None:
    """Check, up to rounding, that losses never rise; only for algorithms that guarantee it."""
    assert np.all(np.diff(losses) <= 1e-9 * np.array(losses[:-1]))


def finite_difference(function: Callable[[Array], float], at: Array) -> Array:
    """Return central differences, which are exact for a quadratic up to rounding."""
    gradient, step = np.zeros_like(at), 1e-3
    for index in np.ndindex(at.shape):
        move = np.zeros_like(at)
        move[index] = step
        gradient[index] = (function(at + move) - function(at - move)) / (2 * step)
    return gradient


def assert_gradient(gradient: Array, function: Callable[[Array], float], at: Array) -> None:
    np.testing.assert_allclose(gradient, finite_difference(function, at), rtol=1e-7, atol=1e-7)
