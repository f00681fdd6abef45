"""Sequences of rows, frames of recordings or chunks of documents, and their split into labeled and held-out rows."""

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

FRAME, HOP = 512, 384  # in audio samples: frames of 46 ms, 57 per clip
CHUNKS = 6  # per document
FOLDS = 5
SHARE = 0.01  # share of labeled rows, as in the paper


@dataclass(frozen=True)
class Sequences:
    """Rows with their classes, the sequence of each row, and the fold of each sequence."""

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
        """Summary of each sequence without its order: the mean, and for dense rows also the maximum and deviation."""
        starts = np.unique(self.groups, return_index=True)[1]
        counts = np.bincount(self.groups)
        if sparse.issparse(self.X):
            return sparse.csr_array((1 / counts[self.groups], (self.groups, np.arange(len(self.y))))) @ self.X
        mean, square = (np.add.reduceat(values, starts) / counts[:, None] for values in (self.X, self.X**2))
        deviation = np.sqrt(np.maximum(square - mean**2, 0))
        return np.hstack([np.maximum.reduceat(self.X, starts), mean, deviation])

    def labeled_groups(self, known: Array) -> Array:
        """Return a mask of the sequences that have a labeled row."""
        return np.bincount(self.groups, weights=known) > 0

    def of_groups(self, chosen: Array) -> "Sequences":
        """Return the rows of the chosen sequences, which are renumbered."""
        rows = chosen[self.groups]
        groups = (np.cumsum(chosen) - 1)[self.groups[rows]]
        return Sequences(self.X[rows], self.y[rows], groups, self.folds[chosen])


@dataclass(frozen=True)
class Split:
    """Sequences to fit, a mask of their labeled rows, and held-out sequences to predict, if there are any."""

    fitted: Sequences
    known: Array
    held_out: Sequences | None = None


Reader = Callable[[Any], Sequences]


def split(rows: Sequences, protocol: str, draw: int) -> Split:
    """Return the split of a protocol, with labels for 1 % of the rows to fit.

    All rows are fitted by `paper`; one fold is held out from the fit by `blind`.
    """
    if protocol == "paper":
        return Split(rows, known_rows(rows.y, SHARE, draw))
    out = rows.folds == np.unique(rows.folds)[draw % FOLDS]
    fitted = rows.of_groups(~out)
    return Split(fitted, known_rows(fitted.y, SHARE, draw), rows.of_groups(out))


def bird_frames(bunch: Any) -> Sequences:
    """Return frames of √|spectrogram| of clips at equal power; the folds keep clips of one recording together."""
    power = np.mean(np.square(bunch.data, dtype=float), axis=1, keepdims=True)
    _, _, spectrum = signal.stft(
        bunch.data / np.sqrt(power), nperseg=FRAME, noverlap=FRAME - HOP, boundary=None, padded=False
    )
    frames = np.sqrt(np.abs(spectrum)).transpose(0, 2, 1)
    clips, length, width = frames.shape
    groups = np.repeat(np.arange(clips), length)
    return Sequences(frames.reshape(-1, width), bunch.target[groups], groups, bunch.fold)


def document_chunks(bunch: Any) -> Sequences:
    """Return tf-idf rows of chunks, which replace paragraphs; the words of a document are assigned at random."""
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
    """Return the fold of every document; the folds are stratified by class."""
    folds = np.empty(len(y), dtype=int)
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y)
    for fold, (_, members) in enumerate(parts):
        folds[members] = fold
    return folds
