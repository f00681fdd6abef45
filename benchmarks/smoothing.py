"""Compare scales and values of theta for smoothed models: `python benchmarks/smoothing.py` (needs DEEPNMF_DATA).

The table shows, for several data sets and values of theta, the reconstruction error relative to theta = 0, the
sparseness of the features of both layers, and the k-means accuracy of the top codes in three scales. No parameter is
chosen by the labels. They are used only to compare the scales, and all smoothed models have the same scale.
"""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from deepnmf import DeepNSNMF
from deepnmf.datasets import load
from deepnmf.metrics import clustering_accuracy, sparseness

PROBLEMS = {
    "digits": (40, 10),
    "yale_32x32": (60, 15),
    "orl_32x32": (100, 40),
    "coil20_32x32": (100, 40),
    "pie_pose27": (300, 160),
}
THETAS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)


def problem(name):
    """Return the samples, scaled to unit norm, and their classes."""
    bunch = load_digits() if name == "digits" else load(name)
    return normalize(bunch.data.astype(float)), bunch.target


def scales(model):
    """Return the top codes as optimized, for features of unit norm, and for unit rows of the matrix S C."""
    H = model.codes_[-1] * model._learned.code_scales[-1]
    return {
        "as optimized": H,
        "unit C": H * np.linalg.norm(model._learned.chain.features()[-1], axis=1),
        "unit SC": model.codes_[-1],
    }


def accuracy(codes, y, n_seeds=3):
    """Return the mean accuracy of k-means."""
    k = len(np.unique(y))
    predictions = [KMeans(k, n_init=10, random_state=seed).fit_predict(codes) for seed in range(n_seeds)]
    return np.mean([clustering_accuracy(y, p) for p in predictions])


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| data | θ | error / error at θ = 0 | sparseness by layer | as optimized | unit C | unit SC |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, sizes in PROBLEMS.items():
        X, y = problem(name)
        base = None
        for theta in THETAS:
            model = DeepNSNMF(sizes, theta=theta, random_state=0, max_iter=100).fit(X)
            base = base or model.reconstruction_err_
            by_layer = ", ".join(f"{sparseness(C):.2f}" for C in model.features_)
            accuracies = " | ".join(f"{accuracy(codes, y):.3f}" for codes in scales(model).values())
            print(
                f"| {name} | {theta} | {model.reconstruction_err_ / base:.3f} | {by_layer} | {accuracies} |", flush=True
            )


if __name__ == "__main__":
    main()
