"""Data with one layer of a known size."""

import numpy as np

RANKS = range(3, 13)
SHAPE_OF_GAMMA = {"dense": 2.0, "sparse": 0.5}  # of the entries of both factors


def rank_of(seed: int) -> int:
    """The planted rank; few seeds are spread over all ranks, too."""
    return RANKS[3 * seed % len(RANKS)]


def planted(shape, rank, noise, factors, delta, seed):
    """Data of a rank, with noise that keeps the mean, at the level where σ_k(signal) is δ times the noise's norm."""
    rng = np.random.default_rng(seed)
    n, p = shape
    gamma = SHAPE_OF_GAMMA[factors]
    signal = rng.gamma(gamma, size=(n, rank)) @ rng.gamma(gamma, size=(rank, p))
    signal /= signal.mean()
    least = np.linalg.svd(signal, compute_uv=False)[rank - 1]
    low, high = 1e-6, 1e3  # variance of an entry with mean 1
    for _ in range(30):
        level = np.sqrt(low * high)
        X = noisy(signal, noise, level, np.random.default_rng(seed + 1))
        too_noisy = spectral_norm(X - signal) * delta > least
        low, high = (low, level) if too_noisy else (level, high)
    return X


def noisy(signal, noise, level, rng):
    """Return counts in units of `level`, or the signal times gamma variables of this variance."""
    if noise == "poisson":
        return rng.poisson(signal / level) * level
    return signal * rng.gamma(1 / level, level, signal.shape)


def spectral_norm(X) -> float:
    """The largest singular value, by the Gram matrix."""
    return float(np.sqrt(np.linalg.eigvalsh(X.T @ X)[-1]))


def planted_counts(shape, rank, rate, seed):
    """Poisson counts with so many events an entry on average, and their δ."""
    rng = np.random.default_rng(seed)
    n, p = shape
    gamma = SHAPE_OF_GAMMA["sparse"]
    signal = rng.gamma(gamma, size=(n, rank)) @ rng.gamma(gamma, size=(rank, p))
    signal *= rate / signal.mean()
    X = rng.poisson(signal).astype(float)
    return X, float(np.linalg.svd(signal, compute_uv=False)[rank - 1] / spectral_norm(X - signal))
