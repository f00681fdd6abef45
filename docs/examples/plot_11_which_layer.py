"""
Which layer knows most?
=======================

``output_layer`` is a parameter like any other, so a grid search can choose it.
"""

# %%
# Codes of each layer, and a linear classifier behind them.

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
search = GridSearchCV(pipeline, {"deepnmf__output_layer": [0, 1]}, cv=3).fit(X / 16, y)
for layer, score in enumerate(search.cv_results_["mean_test_score"]):
    print(f"layer {layer}: accuracy {score:.3f}")
