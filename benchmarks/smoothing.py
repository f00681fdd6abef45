"""Which scale and which theta for smoothed models: `python benchmarks/smoothing.py` (needs DEEPNMF_DATA).

Prints, for several data sets and theta: reconstruction error relative to theta = 0, sparseness of the two
layers' features, and k-means accuracy of the top codes in three scales. Nothing here chooses by the labels:
they are shown for the scale, which is a convention of all smoothed models at once.
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
    """Samples at unit norm, and their classes."""
    bunch = load_digits() if name == "digits" else load(name)
    return normalize(bunch.data.astype(float)), bunch.target


def scales(model):
    """The top codes as optimized, with unit features, and with unit rows of what they are multiplied by."""
    H = model.codes_[-1] * model._learned.code_scales[-1]
    return {
        "as optimized": H,
        "unit C": H * np.linalg.norm(model._learned.chain.features()[-1], axis=1),
        "unit SC": model.codes_[-1],
    }


def accuracy(codes, y, n_seeds=3):
    """Mean k-means accuracy."""
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
