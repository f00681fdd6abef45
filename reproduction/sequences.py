"""Rows that follow each other, frames of recordings or chunks of documents, and what of them is labeled or held out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import signal, sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold

from reproduction.experiment import Array, Matrix
from reproduction.protocols import known_rows

__all__ = ["FOLDS", "Reader", "Sequences", "Split", "bird_frames", "document_chunks", "split"]

FRAME, HOP = 512, 384  # samples: 46 ms frames, 57 of them a clip
CHUNKS = 6  # a document
FOLDS = 5
SHARE = 0.01  # of the rows are labeled, as in the paper


@dataclass(frozen=True)
class Sequences:
    """Rows with their classes, the sequence each belongs to, and the fold of every sequence."""

    X: Matrix
    y: Array
    groups: Array
    folds: Array

    @property
    def classes_of_groups(self) -> Array:
        """The class of each sequence."""
        return self.y[np.unique(self.groups, return_index=True)[1]]

    @property
    def summaries(self) -> Matrix:
        """What a sequence is without its order: mean, and for dense rows maximum and deviation."""
        starts = np.unique(self.groups, return_index=True)[1]
        counts = np.bincount(self.groups)
        if sparse.issparse(self.X):
            return sparse.csr_array((1 / counts[self.groups], (self.groups, np.arange(len(self.y))))) @ self.X
        mean, square = (np.add.reduceat(values, starts) / counts[:, None] for values in (self.X, self.X**2))
        deviation = np.sqrt(np.maximum(square - mean**2, 0))
        return np.hstack([np.maximum.reduceat(self.X, starts), mean, deviation])

    def labeled_groups(self, known: Array) -> Array:
        """Which sequences have a labeled row."""
        return np.bincount(self.groups, weights=known) > 0

    def of_groups(self, chosen: Array) -> "Sequences":
        """The rows of some sequences, which are numbered anew."""
        rows = chosen[self.groups]
        groups = (np.cumsum(chosen) - 1)[self.groups[rows]]
        return Sequences(self.X[rows], self.y[rows], groups, self.folds[chosen])


@dataclass(frozen=True)
class Split:
    """What is fitted, which of its rows are labeled, and what is held out to be predicted, if anything is."""

    fitted: Sequences
    known: Array
    held_out: Sequences | None = None


Reader = Callable[[Any], Sequences]


def split(rows: Sequences, protocol: str, draw: int) -> Split:
    """`paper`: all rows are fitted, labels go to 1 % of them; `blind`: one fold's sources are not even fitted."""
    if protocol == "paper":
        return Split(rows, known_rows(rows.y, SHARE, draw))
    out = rows.folds == np.unique(rows.folds)[draw % FOLDS]
    fitted = rows.of_groups(~out)
    return Split(fitted, known_rows(fitted.y, SHARE, draw), rows.of_groups(out))


def bird_frames(bunch: Any) -> Sequences:
    """Frames of √|spectrogram| of clips at equal power; the folds keep clips of one recording together."""
    power = np.mean(np.square(bunch.data, dtype=float), axis=1, keepdims=True)
    _, _, spectrum = signal.stft(
        bunch.data / np.sqrt(power), nperseg=FRAME, noverlap=FRAME - HOP, boundary=None, padded=False
    )
    frames = np.sqrt(np.abs(spectrum)).transpose(0, 2, 1)
    clips, length, width = frames.shape
    groups = np.repeat(np.arange(clips), length)
    return Sequences(frames.reshape(-1, width), bunch.target[groups], groups, bunch.fold)


def document_chunks(bunch: Any) -> Sequences:
    """The words of every document dealt at random into chunks, which stand for its paragraphs, as tf-idf."""
    counts = sparse.coo_array(bunch.data)
    words = np.repeat(np.arange(counts.nnz), counts.data.astype(int))
    dealt_to = np.random.default_rng(0).integers(0, CHUNKS, len(words))
    shape = (CHUNKS * counts.shape[0], counts.shape[1])
    places = (counts.row[words] * CHUNKS + dealt_to, counts.col[words])
    dealt = sparse.csr_array((np.ones(len(words)), places), shape=shape)
    groups = np.repeat(np.arange(counts.shape[0]), CHUNKS)
    X = TfidfTransformer().fit_transform(dealt)
    return Sequences(X, bunch.target[groups], groups, _folds(bunch.target))


def _folds(y: Array) -> Array:
    """A fold for every document, each with its part of every class."""
    folds = np.empty(len(y), dtype=int)
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y)
    for fold, (_, members) in enumerate(parts):
        folds[members] = fold
    return folds
