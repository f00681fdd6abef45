"""Deep Semi-NMF, section 6.1: codes separate points whose class is the sign of a product."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from deepnmf import DeepSemiNMF, SemiNMF


def xor(distance, n, rng):
    signs = rng.choice([-1, 1], size=(n, 2))
    return distance * signs + rng.standard_normal((n, 2)), signs.prod(axis=1)


def held_out_accuracy(encode, distance, labeled, seed=0):
    """The accuracy on new points of a linear classifier of codes that is trained on the first points."""
    rng = np.random.default_rng(seed)
    X, y = xor(distance, 400, rng)
    X_new, y_new = xor(distance, 2000, rng)
    model = encode(X)
    probe = LogisticRegression(C=10, max_iter=5000).fit(model(X[:labeled]), y[:labeled])
    return probe.score(model(X_new), y_new)


def deep(X):
    model = DeepSemiNMF((4, 4), activation="square", init="kmeans", random_state=0)
    return model.fit(X).transform


@pytest.mark.parametrize(("distance", "labeled", "least"), [(3, 40, 0.98), (2.5, 400, 0.97)])
def test_the_codes_of_new_points_are_linearly_separable(distance, labeled, least):
    assert held_out_accuracy(deep, distance, labeled) >= least


def test_the_points_and_two_linear_components_are_not_linearly_separable():
    assert held_out_accuracy(lambda X: lambda rows: rows, 3, 400) < 0.7
    assert held_out_accuracy(lambda X: SemiNMF(2, random_state=0).fit(X).transform, 3, 400) < 0.8


def test_one_layer_of_four_components_is_enough():
    encode = held_out_accuracy(lambda X: SemiNMF(4, init="kmeans", random_state=0).fit(X).transform, 3, 400)
    assert encode >= 0.98
