"""Data with one layer of a known size."""

from typing import Any, NamedTuple

import numpy as np

RANKS = range(3, 13)
SCALINGS = 200
SHAPE_OF_GAMMA = {"dense": 2.0, "sparse": 0.5}  # of the entries of both factors


def rank_of(seed: int) -> int:
    """Return the planted rank; even a few seeds are spread over all ranks."""
    return RANKS[3 * seed % len(RANKS)]


def planted(shape, rank, noise, factors, delta, seed):
    """Return data of a rank with noise that keeps the mean, so that σ_k(signal) is δ times the norm of the noise."""
    rng = np.random.default_rng(seed)
    n, p = shape
    gamma = SHAPE_OF_GAMMA[factors]
    signal = rng.gamma(gamma, size=(n, rank)) @ rng.gamma(gamma, size=(rank, p))
    signal /= signal.mean()
    least = least_singular_value(signal, rank)
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
    """Return the largest singular value, computed from the Gram matrix."""
    return float(np.sqrt(np.linalg.eigvalsh(X.T @ X)[-1]))


class PlantedCounts(NamedTuple):
    """Poisson counts, and the codes and features whose product is their mean."""

    X: Any
    codes: Any
    features: Any

    @property
    def delta(self) -> float:
        """σ_k of the signal divided by the norm of the noise."""
        signal = self.codes @ self.features
        return least_singular_value(signal, len(self.features)) / spectral_norm(self.X - signal)

    @property
    def whitened_delta(self) -> float:
        """σ_k of the signal divided by the edge √n + √p of the noise, with rows and columns scaled to unit variance.

        The variance of a count is its mean, so that the scales are those of Sinkhorn and Knopp (Landa et al., 2022).
        """
        signal = self.codes @ self.features
        n, p = signal.shape
        by_row, by_column = np.ones(n), np.ones(p)
        for _ in range(SCALINGS):
            by_row = p / (signal @ by_column)
            by_column = n / (by_row @ signal)
        whitened = np.sqrt(by_row)[:, None] * signal * np.sqrt(by_column)
        return least_singular_value(whitened, len(self.features)) / (np.sqrt(n) + np.sqrt(p))


def planted_counts(shape, rank, rate, seed) -> PlantedCounts:
    """Return counts with a given mean number of events per entry."""
    rng = np.random.default_rng(seed)
    n, p = shape
    gamma = SHAPE_OF_GAMMA["sparse"]
    codes, features = rng.gamma(gamma, size=(n, rank)), rng.gamma(gamma, size=(rank, p))
    codes *= rate / (codes @ features).mean()
    return PlantedCounts(rng.poisson(codes @ features).astype(float), codes, features)


def least_singular_value(signal, rank) -> float:
    """Return the smallest nonzero singular value of a matrix of known rank."""
    return float(np.linalg.svd(signal, compute_uv=False)[rank - 1])
