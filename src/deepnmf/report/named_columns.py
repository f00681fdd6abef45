"""Displays of vectors whose entries have names: words of texts, genes, or columns of a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from deepnmf.arrays import Array
from deepnmf.report.display import packed_preview, with_vocabulary
from deepnmf.report.numbers import Pack, rounded

MOST_WORDS = 20
MOST_DISTINCTIVE = 12  # words that are added for each other position of the slider
MOST_PREVIEW_WORDS = 4
RELEVANCE = 0.4  # λ; Sievert and Shirley use 0.6 for texts, which puts housekeeping genes first in counts of cells
TITLE_WORDS = 3
NEGLIGIBLE = 1e-3  # of the largest weight of a feature: smaller weights would make a word specific by rounding


@dataclass(frozen=True)
class Words:
    """Vectors as lists of the inputs with the largest weights.

    Features are ranked by relevance, λ log φ + (1 - λ) log(φ / p), where φ is the feature divided by its sum and p is
    the share of the column in the data (Sievert and Shirley, 2014): λ = 1 gives the words with the largest weights,
    λ = 0 the most specific words.

    Parameters
    ----------
    names : sequence of str
    shares : array
        The share of each column in the sum of the data.
    """

    names: Sequence[str]
    shares: Array
    kind = "words"

    def n_values(self, n_vectors: int) -> int:
        """Return the number of characters, about ten for a name and its weight."""
        return 10 * n_vectors * min(MOST_WORDS, len(self.names))

    def within_budget(self, n_vectors: int, budget: int) -> "Words":
        """Return the same display: lists of words are short."""
        return self

    def pack_features(self, features: Array, signed: bool) -> Pack:
        """Pack the words that any relevance may put first, with their weights and their lifts φ / p."""
        if signed:
            return self.pack_samples(features, np.ones(len(features)), signed)
        chosen = [self._candidates(feature) for feature in features]
        vocabulary, places = with_vocabulary(self.names, np.concatenate([np.zeros(0, int), *chosen]))
        lifts = self._lifts(features)
        starts = np.cumsum([0, *map(len, chosen)])
        words = [
            [
                [int(place), rounded(features[j, column]), rounded(lifts[j, column], 3)]
                for place, column in zip(places[starts[j] :], columns, strict=False)
            ]
            for j, columns in enumerate(chosen)
        ]
        pack = {"kind": self.kind, "vocabulary": vocabulary, "words": words, "signed": signed}
        return pack | {"relevance": RELEVANCE, "sums": [rounded(total) for total in features.sum(axis=1)]}

    def pack_samples(self, samples: Array, scales: Array, signed: bool) -> Pack:
        """Pack the names with the largest weights of each vector."""
        samples = np.nan_to_num(samples)
        best = np.argsort(-np.abs(samples), axis=1, kind="stable")[:, :MOST_WORDS]
        vocabulary, places = with_vocabulary(self.names, best)
        words = [
            [[int(place), rounded(row[j])] for place, j in zip(found, columns, strict=True) if row[j]]
            for row, found, columns in zip(samples, places, best, strict=True)
        ]
        return {"kind": self.kind, "vocabulary": vocabulary, "words": words, "signed": signed}

    def pack_previews(self, blocks: Iterable[Array], n_samples: int, signed: bool) -> Pack:
        """Pack the words with the largest weights of each sample."""
        most = min(MOST_PREVIEW_WORDS, len(self.names))
        best, weights = zip(*(_heaviest(np.nan_to_num(block), most) for block in blocks), strict=True)
        return packed_preview(self.kind, self.names, np.concatenate(best), np.concatenate(weights))

    def titles(self, features: Array) -> list[str]:
        """Return the most relevant words of each feature."""
        if np.any(features < 0):
            best = np.argsort(-np.abs(features), axis=1, kind="stable")[:, :TITLE_WORDS]
            return [", ".join(self.names[j] for j in columns) for columns in best]
        orders = (self._ranked(feature, RELEVANCE)[:TITLE_WORDS] for feature in features)
        return [", ".join(self.names[j] for j in order) for order in orders]

    def _candidates(self, feature: Array) -> Array:
        """Return the columns that are among the first for some λ, by decreasing weight."""
        ends = [(1.0, MOST_WORDS), (RELEVANCE, MOST_WORDS), (0.7, MOST_DISTINCTIVE), (0.0, MOST_DISTINCTIVE)]
        found = np.concatenate([self._ranked(feature, weight)[:most] for weight, most in ends])
        columns = np.unique(found)
        return columns[np.argsort(-feature[columns], kind="stable")]

    def _ranked(self, feature: Array, relevance: float) -> Array:
        """Return the columns that are not negligible by decreasing relevance."""
        columns = np.flatnonzero(feature > NEGLIGIBLE * feature.max(initial=0))
        share = feature[columns] / (feature.sum() or 1.0)
        lift = share / np.maximum(self.shares[columns], np.finfo(float).tiny)
        return columns[np.argsort(-(relevance * np.log(share) + (1 - relevance) * np.log(lift)), kind="stable")]

    def _lifts(self, features: Array) -> Array:
        totals = features.sum(axis=1, keepdims=True)
        return features / np.where(totals > 0, totals, 1) / np.maximum(self.shares, np.finfo(float).tiny)


def _heaviest(block: Array, most: int) -> tuple[Array, Array]:
    best = np.argsort(-np.abs(block), axis=1, kind="stable")[:, :most]
    return best, np.take_along_axis(block, best, axis=1)


@dataclass(frozen=True)
class Columns:
    """Vectors as deviations of the columns of a table from their means.

    The deviation of a sample is z = (x - mean) / standard deviation. A nonnegative feature is a profile, in which only
    the ratios of entries matter: with r = (entry / column mean) divided by the mean of these quotients, its deviation
    is r - 1, which is -1 if the column is absent and 0 if it is average. The deviation of a signed feature is its
    entries in standard deviations, relative to the largest.

    Parameters
    ----------
    names : sequence of str
    means, deviations : arrays
        The mean and the standard deviation of each column.
    """

    names: Sequence[str]
    means: Array
    deviations: Array
    kind = "columns"

    def n_values(self, n_vectors: int) -> int:
        """Return the number of characters, about fifteen for a column, its deviation and its value."""
        return 15 * n_vectors * min(MOST_WORDS, len(self.names))

    def within_budget(self, n_vectors: int, budget: int) -> "Columns":
        """Return the same display: tables have few columns."""
        return self

    def pack_features(self, features: Array, signed: bool) -> Pack:
        """Pack the columns in which each feature deviates most."""
        return self._pack(self._profiles(features), features)

    def pack_samples(self, samples: Array, scales: Array, signed: bool) -> Pack:
        """Pack the columns in which each sample deviates most."""
        return self._pack(self._scores(samples), samples)

    def pack_previews(self, blocks: Iterable[Array], n_samples: int, signed: bool) -> Pack:
        """Pack the columns in which each sample deviates most."""
        most = min(MOST_PREVIEW_WORDS, len(self.names))
        best, weights = zip(*(_heaviest(self._scores(block), most) for block in blocks), strict=True)
        return packed_preview(self.kind, self.names, np.concatenate(best), np.concatenate(weights))

    def titles(self, features: Array) -> list[str]:
        """Return the columns in which each feature is high or low."""
        profiles = self._profiles(features)
        orders = np.argsort(-np.abs(profiles), axis=1, kind="stable")[:, :2]
        return [
            ", ".join(f"{'high' if row[j] > 0 else 'low'} {self.names[j]}" for j in order if row[j])
            for row, order in zip(profiles, orders, strict=True)
        ]

    def _scores(self, samples: Array) -> Array:
        spread = np.where(self.deviations > 0, self.deviations, 1)
        return np.nan_to_num((samples - self.means) / spread)

    def _profiles(self, features: Array) -> Array:
        if np.any(features < 0):
            scaled = features / np.where(self.deviations > 0, self.deviations, 1)
            return np.asarray(scaled / (np.abs(scaled).max(axis=1, keepdims=True) + np.finfo(float).tiny))
        quotients = features / np.where(self.means > 0, self.means, np.inf)
        mean = quotients.mean(axis=1, keepdims=True)
        return np.asarray(np.divide(quotients - mean, mean, out=np.zeros_like(quotients), where=mean > 0))

    def _pack(self, deviations: Array, values: Array) -> Pack:
        best = np.argsort(-np.abs(deviations), axis=1, kind="stable")[:, :MOST_WORDS]
        rows = [
            [[int(j), rounded(deviation[j], 3), rounded(value[j])] for j in order]
            for deviation, value, order in zip(deviations, values, best, strict=True)
        ]
        return {"kind": self.kind, "vocabulary": list(self.names), "words": rows, "signed": True}
