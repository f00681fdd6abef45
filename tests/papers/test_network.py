"""Flenner & Hunter's experiments with other sounds and texts: `python -m reproduction network-bbc` has the tables."""

import numpy as np
import pytest
from scipy import signal
from sklearn.feature_extraction.text import TfidfTransformer

from deepnmf import SSNMF, DeepNMFNetwork

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")]


def accuracy(model, X, y, share, seed, groups=None):
    """The accuracy on unlabeled rows if a share of each class is labeled."""
    rng, known = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        known[rng.choice(members, round(share * len(members)), replace=False)] = True
    model.fit(X, np.where(known, y, -1), groups=groups)
    return np.mean((model.transduction_ == y)[~known])


def mean_accuracy(model, X, y, share, draws, groups=None):
    return np.mean([accuracy(model, X, y, share, seed, groups) for seed in range(draws)])


def test_pooling_classifies_bird_sounds_better_than_one_layer(benchmark_data):
    bunch = benchmark_data("esc50_birds")
    sound = bunch.data / np.sqrt(np.mean(np.square(bunch.data, dtype=float), axis=1, keepdims=True))
    _, _, spectrum = signal.stft(sound, nperseg=512, noverlap=128, boundary=None, padded=False)
    frames = np.sqrt(np.abs(spectrum)).transpose(0, 2, 1)
    clips, length, width = frames.shape
    X, y, groups = frames.reshape(-1, width), np.repeat(bunch.target, length), np.repeat(np.arange(clips), length)
    shallow = mean_accuracy(SSNMF(30, random_state=0), X, y, 0.01, 3)
    pooled = mean_accuracy(DeepNMFNetwork((30, 30), pool_size=50, random_state=0), X, y, 0.01, 3, groups)
    assert pooled >= 0.70
    assert pooled >= shallow + 0.10


@pytest.mark.parametrize(("share", "least"), [(0.01, 0.83), (0.05, 0.93)])
@pytest.mark.parametrize("model", [SSNMF(20, random_state=0), DeepNMFNetwork((20, 20), random_state=0)], ids=repr)
def test_a_few_labels_classify_the_news(benchmark_data, model, share, least):
    bunch = benchmark_data("bbc_news")
    X = TfidfTransformer().fit_transform(bunch.data)
    assert mean_accuracy(model, X, bunch.target, share, 20) >= least
