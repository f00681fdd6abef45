from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnmf.metrics import clustering_accuracy, error_rate, matched_cosine, naive_precision, nmi, purity, sparseness

labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25)


@given(labels)
@settings(deadline=None)
def test_accuracy_is_that_of_the_best_assignment(pairs):
    y_true, y_pred = np.array(pairs).T
    best = max(np.mean(np.array(order)[y_pred] == y_true) for order in permutations(range(4)))
    assert clustering_accuracy(y_true, y_pred) == pytest.approx(best)


@given(labels)
@settings(deadline=None)
def test_error_rate_is_the_norm_of_the_difference_of_memberships(pairs):
    y_true, y_pred = np.array(pairs).T
    one_hot = [np.equal.outer(y, range(4)).astype(float) for y in (y_true, y_pred)]
    difference = one_hot[0] @ one_hot[0].T - one_hot[1] @ one_hot[1].T
    assert error_rate(y_true, y_pred) == pytest.approx(np.sqrt(np.linalg.norm(difference)), abs=1e-3)


@given(labels)
@settings(deadline=None)
def test_metrics_do_not_depend_on_the_names_of_clusters(pairs):
    y_true, y_pred = np.array(pairs).T
    renamed = np.array(["d", "a", "c", "b"])[y_pred]
    for metric in (clustering_accuracy, nmi, purity, naive_precision, error_rate):
        assert metric(y_true, renamed) == pytest.approx(metric(y_true, y_pred))


def test_naive_precision_averages_over_classes():
    assert naive_precision([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]) == pytest.approx((3 / 4 + 1 / 2) / 2)


def test_purity_counts_the_majority_of_each_cluster():
    assert purity([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]) == pytest.approx(5 / 6)


@pytest.mark.parametrize("metric", [clustering_accuracy, nmi, purity, naive_precision, error_rate])
def test_labels_of_different_lengths_are_refused(metric):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        metric([0, 1], [0, 1, 1])


def test_sparseness_is_the_measure_of_hoyer():
    v = np.array([[3.0, 4.0, 0.0, 0.0]])
    assert sparseness(v) == pytest.approx((2 - 7 / 5) / (2 - 1))
    assert sparseness(np.ones((3, 5))) == pytest.approx(0)
    assert sparseness(np.eye(4)) == pytest.approx(1)
    assert sparseness(np.eye(4), axis=None) == pytest.approx((4 - 4 / 2) / (4 - 1))


def test_sparseness_is_defined_at_its_limits():
    assert sparseness([[1.0], [2.0]]) == 0
    assert sparseness([[0.0, 0.0], [0.0, 1.0]]) == 1
    assert np.isnan(sparseness(np.zeros((2, 3))))
    assert sparseness([[-1.0, 0.0]]) == 1
    assert sparseness([[1.0, 0.0], [1.0, 0.0]], axis=0) == pytest.approx(0)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_matched_cosine_is_that_of_the_best_one_to_one_matching(n_found, n_true, seed):
    rng = np.random.default_rng(seed)
    found, true = rng.standard_normal((n_found, 5)), rng.standard_normal((n_true, 5))
    cosines = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in found] for a in true]
    few, many = (cosines, n_found) if n_true <= n_found else (np.transpose(cosines), n_true)
    best = max(sum(few[i][j] for i, j in enumerate(order)) for order in permutations(range(many), len(few)))
    assert matched_cosine(found, true) == pytest.approx(best / n_true)


def test_matched_cosine_ignores_order_and_scale_and_counts_what_is_missing_as_zero():
    truth = np.eye(4)[:3]
    assert matched_cosine(np.diag([1.0, 2, 3, 4])[::-1], truth) == pytest.approx(1)
    assert matched_cosine(truth[:2], truth) == pytest.approx(2 / 3)
    assert matched_cosine(np.vstack([truth[:2], np.zeros(4)]), truth) == pytest.approx(2 / 3)
    assert matched_cosine(truth[[0, 0, 0]], truth) == pytest.approx(1 / 3)


def test_features_of_another_length_than_the_truth_are_refused():
    with pytest.raises(ValueError, match="features has 3 columns, but truth has 2: expected the same number"):
        matched_cosine(np.eye(3), np.eye(2))
