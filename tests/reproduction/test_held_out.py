import numpy as np
import pytest
from sklearn.cluster import KMeans

from deepnmf.datasets import load
from reproduction.contenders import Layer
from reproduction.gdnmf_labels import decayed
from reproduction.network_pages import WORDING, _published_purity
from reproduction.protocols import clusterings, given_labels, known_rows, scores_beside_labels
from reproduction.sequences import FOLDS, bird_frames, document_chunks, split
from reproduction.unmixing import unmixed


@pytest.fixture
def birds(stand_ins):
    return bird_frames(load("esc50_birds", stand_ins))


@pytest.mark.parametrize("draw", range(FOLDS))
def test_the_blind_protocol_fits_no_row_of_what_it_predicts(birds, draw):
    parts = split(birds, "blind", draw)
    assert len(np.unique(parts.held_out.folds)) == 1
    assert not np.isin(parts.held_out.folds, parts.fitted.folds).any()
    assert len(parts.fitted.y) + len(parts.held_out.y) == len(birds.y)
    assert len(parts.known) == len(parts.fitted.y)


def test_sequences_that_are_chosen_keep_their_rows_in_order(birds):
    chosen = np.arange(20) % 3 == 0
    some = birds.of_groups(chosen)
    assert np.array_equal(np.unique(some.groups), np.arange(chosen.sum()))
    np.testing.assert_array_equal(some.X[some.groups == 1], birds.X[birds.groups == 3])
    np.testing.assert_array_equal(some.classes_of_groups, birds.classes_of_groups[chosen])


def test_summaries_are_maximum_mean_and_deviation_of_each_clip(birds):
    frames = birds.X.reshape(20, -1, birds.X.shape[1])
    expected = np.hstack([frames.max(axis=1), frames.mean(axis=1), frames.std(axis=1)])
    np.testing.assert_allclose(birds.summaries, expected, atol=1e-6)


def test_chunks_of_a_document_are_neighbors_and_share_its_fold(stand_ins):
    rows = document_chunks(load("bbc_news", stand_ins))
    assert (np.bincount(rows.groups) == 6).all()
    assert (np.diff(rows.groups) >= 0).all()
    assert np.array_equal(np.unique(rows.folds), np.arange(FOLDS))
    sums = np.add.reduceat(rows.X.toarray(), np.arange(0, len(rows.y), 6)) / 6
    np.testing.assert_allclose(rows.summaries.toarray(), sums)


def test_the_blind_score_leaves_out_samples_whose_label_was_given():
    codes = np.repeat([[0.0], [9.0]], 8, axis=0) + np.linspace(0, 0.1, 16)[:, None]
    y = np.repeat([0, 1], 8)
    known = np.tile([True, False], 8)
    y[[1, 3, 9, 11]] = 1 - y[[1, 3, 9, 11]]  # half of those that were not given are wrong
    found = scores_beside_labels(clusterings(codes, 2, seed=0, restarts=2), y, known)
    assert found["paper_accuracy"] == 0.75
    assert found["blind_accuracy"] == 0.5


def test_the_blind_score_takes_the_lowest_inertia_and_the_published_one_the_best_accuracy():
    rng = np.random.default_rng(0)
    codes, y = rng.random((60, 2)), rng.integers(0, 4, 60)
    unknown = np.zeros(60, dtype=bool)
    found = scores_beside_labels(clusterings(codes, 4, seed=0, restarts=8), y, unknown)
    fits = [KMeans(4, n_init=1, random_state=start).fit(codes) for start in range(8)]
    tightest = min(fits, key=lambda fit: fit.inertia_)
    alone = scores_beside_labels(clusterings(codes, 4, seed=0, restarts=1), y, unknown)
    assert found["paper_accuracy"] >= max(found["blind_accuracy"], alone["paper_accuracy"])
    assert found["blind_purity"] == sum(np.bincount(y[tightest.labels_ == c]).max() for c in range(4)) / 60


def test_labels_are_given_to_a_share_of_every_class_and_to_one_at_least():
    y = np.repeat([3, 5, 8], [100, 10, 2])
    known = known_rows(y, 0.1, seed=1)
    assert [int(known[y == label].sum()) for label in (3, 5, 8)] == [10, 1, 1]
    assert np.array_equal(np.unique(given_labels(y, known)), [-1, 3, 5, 8])


def test_published_purity_is_read_as_the_paper_prints_it():
    purity = _published_purity(WORDING["network-birds"].purity)
    assert (purity[2, 1, 0], purity[2, 3, 25], purity[3, 2, 0], purity[3, 3, 75]) == ("0.59", "0.92", "0.54", "0.99")
    assert (2, 1, 25) not in purity
    assert len(purity) == 17


def test_sizes_decay_as_those_of_the_model():
    from deepnmf import GDNMF

    model = GDNMF(depth=3, max_iter=1, pretrain_max_iter=1, tol=0)
    model.fit(np.random.default_rng(0).random((30, 64)))
    assert tuple(len(features) for features in model.features_) == decayed(64, 3)


def test_features_that_are_left_over_belong_to_the_nearest_material():
    truth = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    features = np.array([[0.1, 1.0, 0.1], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    codes = np.array([[1.0, 2.0, 1.0]])
    matched, angles, shares = unmixed(Layer(features, codes), truth)
    assert matched.tolist() == [1, 2]
    np.testing.assert_allclose(angles, 0, atol=1e-6)
    np.testing.assert_allclose(shares, [[0.5, 0.5]])
