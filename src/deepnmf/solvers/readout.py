"""Readouts of labels from codes: linear scores, one per class."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from deepnmf.arrays import Array


@dataclass(frozen=True)
class Readout:
    """scores = H B + b; the class with the largest score is predicted."""

    weights: Array
    intercept: Array

    @classmethod
    def of_head(cls, head: Array) -> "Readout":
        """Return the readout with scores H B, least-squares estimates of the one-hot labels."""
        return cls(head, np.zeros(head.shape[1]))

    @classmethod
    def logistic(cls, H: Array, index: Array, n_classes: int) -> "Readout":
        """Return a readout by ridge-penalized logistic regression on codes in units of their root mean square."""
        if n_classes < 2:
            return cls.of_head(np.zeros((H.shape[1], n_classes)))
        scale = float(np.sqrt(np.mean(np.square(H, dtype=np.float64)))) or 1.0
        model = LogisticRegression(max_iter=10_000).fit(H.astype(np.float64) / scale, index)
        weights, intercept = model.coef_.T / scale, model.intercept_
        if n_classes == 2:  # scikit-learn has one column for two classes
            weights, intercept = np.hstack([-weights / 2, weights / 2]), np.r_[-intercept / 2, intercept / 2]
        return cls(weights, intercept)

    def scores(self, H: Array) -> Array:
        """The scores, one row per sample and one column per class."""
        return H @ self.weights + self.intercept

    def winners(self, H: Array) -> Array:
        """The index of the largest score."""
        return self.scores(H).argmax(axis=1)

    def probabilities(self, H: Array) -> Array:
        """Softmax of the scores."""
        return np.asarray(softmax(self.scores(H), axis=1))
