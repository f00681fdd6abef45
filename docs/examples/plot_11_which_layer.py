"""
Which layer knows most?
=======================

``output_layer`` is a parameter like any other, so a grid search can choose it.
"""

# %%
# The pipeline passes the codes of one layer to a linear classifier, and the grid
# search compares the two layers.

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from deepnmf import DeepNMF

X, y = load_digits(return_X_y=True)
pipeline = make_pipeline(
    DeepNMF(layer_sizes=(40, 10), tol=1e-3, random_state=0),
    LogisticRegression(max_iter=2000),
)
search = GridSearchCV(pipeline, {"deepnmf__output_layer": [0, 1]}, cv=3).fit(
    X / 16, y
)
scores = search.cv_results_["mean_test_score"]
for layer, score in enumerate(scores):
    print(f"layer {layer}: accuracy {score:.3f}")

# %%
# The codes of forty parts predict the digit better than the codes of ten wholes,
# which omit the variation within a digit. The bars show the accuracy in each of the
# three folds.

import matplotlib.pyplot as plt
import numpy as np

folds = np.array(
    [search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
)
figure, axes = plt.subplots(figsize=(5, 2.5), layout="constrained")
for fold, accuracies in enumerate(folds):
    axes.barh(np.arange(2) + 0.25 * (fold - 1), accuracies, height=0.22, color="C0")
axes.set_yticks(range(2), ["layer 0, 40 parts", "layer 1, 10 wholes"])
axes.set(xlim=(0, 1), xlabel="accuracy")
plt.show()
