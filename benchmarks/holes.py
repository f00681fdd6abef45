"""Measure how well hidden entries are filled in: `python -m benchmarks.holes > docs/benchmarks/holes.md`.

It needs DEEPNMF_DATA.
"""

import resource
import time
import warnings
from functools import partial

import numpy as np
from benchmarks.page import described, fitted, named, table
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from deepnmf import NMF, DeepNSNMF, DeepSemiNMF
from deepnmf.datasets import load

SHARES = (0.1, 0.3, 0.5, 0.7)
MODELS = (
    partial(NMF, 40, random_state=0),
    partial(NMF, 100, random_state=0),
    partial(DeepNSNMF, (300, 100), random_state=0),
    partial(DeepSemiNMF, (625, 100), random_state=0),
)
FILLERS = (
    SimpleImputer(),
    KNNImputer(),
    IterativeImputer(max_iter=3, n_nearest_features=20, random_state=0),  # with all features it takes hours
)
RUNS = 2
SAMPLES, PIXELS = 1000, 64
WEIGHTS = (0.0, 1e-4, 1e-3, 1e-2)


def hidden_error(filled, X, hidden):
    """Return the root mean square error over the hidden entries."""
    return float(np.sqrt(np.mean(np.square(filled - X)[hidden])))


def timed_fits(model, X):
    """Return a fitted model, and the shortest time of several fits."""
    fits = [fitted(model(), X) for _ in range(RUNS)]
    return fits[0][0], min(seconds for _, seconds in fits)


def on_all_pixels(X):
    """Yield rows for imputers and models, with increasing shares of hidden pixels."""
    whole = [timed_fits(model, X)[1] for model in MODELS]
    for share in SHARES:
        hidden = np.random.default_rng(0).random(X.shape) < share
        holed = np.where(hidden, np.nan, X)
        for filler in FILLERS:
            began = time.perf_counter()
            error = hidden_error(filler.fit_transform(holed), X, hidden)
            yield [f"{share:.0%}", shown(filler), f"{error:.4f}", f"{time.perf_counter() - began:.1f} s", ""]
        for kind, complete in zip(MODELS, whole, strict=True):
            model, seconds = timed_fits(kind, holed)
            error = hidden_error(model.inverse_transform(model.transform(holed)), X, hidden)
            yield [f"{share:.0%}", named(model), f"{error:.4f}", f"{seconds:.1f} s", f"{seconds / complete:.1f}"]


def shown(filler):
    """Return the constructor call of an imputer, without its seed."""
    return f"`{str(filler).replace(', random_state=0', '')}`"


def on_few_pixels(X):
    """Yield rows for imputers and models on a part of X with few features."""
    rng = np.random.default_rng(0)
    part = X[rng.permutation(len(X))[:SAMPLES]][:, rng.permutation(X.shape[1])[:PIXELS]]
    fillers = {
        "`SimpleImputer()`": SimpleImputer().fit_transform,
        "`KNNImputer()`": KNNImputer().fit_transform,
        "`IterativeImputer()`": IterativeImputer(random_state=0).fit_transform,
        "`NMF(16)`": lambda Y: _filled(NMF(16, random_state=0), Y),
        "`NMF(16)`, penalty chosen": _filled_with_chosen_penalty,
        "`DeepNSNMF((32, 16))`": lambda Y: _filled(DeepNSNMF((32, 16), random_state=0), Y),
        "`DeepSemiNMF((32, 16))`": lambda Y: _filled(DeepSemiNMF((32, 16), random_state=0), Y),
    }
    for share in SHARES:
        hidden = rng.random(part.shape) < share
        holed = np.where(hidden, np.nan, part)
        for name, fill in fillers.items():
            began = time.perf_counter()
            error = hidden_error(fill(holed), part, hidden)
            yield [f"{share:.0%}", name, f"{error:.4f}", f"{time.perf_counter() - began:.2f} s"]


def _filled(model, Y):
    return model.inverse_transform(model.fit(Y).transform(Y))


def _filled_with_chosen_penalty(Y):
    """Hide a tenth of the observed entries, and fill with the penalty on codes that predicts them best."""
    further = (np.random.default_rng(1).random(Y.shape) < 0.1) & ~np.isnan(Y)
    models = [NMF(16, alpha_W=weight, random_state=0) for weight in WEIGHTS]
    tried = np.where(further, np.nan, Y)
    return _filled(min(models, key=lambda model: hidden_error(_filled(model, tried), Y, further)), Y)


def ratings(n=100_000, p=2_000, rank=8, share=0.0125):
    """Return ratings from 1 to 5 that depend on a product of low rank, with a fifth of them held out."""
    rng = np.random.default_rng(0)
    people, things = rng.gamma(1, 1, (n, rank)), rng.gamma(1, 1, (rank, p))
    places = np.unique(rng.integers(n * p, size=int(share * n * p)))
    rows, columns = places // p, places % p
    liking = np.sqrt(np.einsum("kr,kr->k", people[rows], things.T[columns]))
    values = np.clip(np.round(1 + liking + 0.3 * rng.standard_normal(len(places))), 1, 5)
    held_out = rng.random(len(places)) < 0.2
    kept = ~held_out
    train = sparse.csr_array((values[kept], (rows[kept], columns[kept])), (n, p))
    return train, rows[held_out], columns[held_out], values[held_out]


def on_ratings():
    """Return a row: the held-out error of a fit to the stored entries, and the memory of the process."""
    train, rows, columns, values = ratings()
    model, seconds = fitted(NMF(8, random_state=0), train, entry_weight="stored")
    predicted = np.clip(np.einsum("kr,kr->k", model.codes_[-1][rows], model.components_.T[columns]), 1, 5)
    error = np.sqrt(np.mean((predicted - values) ** 2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    shape = f"{train.shape[0]} x {train.shape[1]}, {train.nnz / np.prod(train.shape):.1%} observed"
    return [shape, named(model), f"{error:.3f}", f"{values.std():.3f}", f"{seconds:.0f} s", f"{peak:.2f} GB"]


def main():
    """Print the page."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    sparse_row = on_ratings()  # first, because the memory is the peak of the process so far
    X = load("pie_pose27").data / 255
    print("# Filling in what was hidden\n")
    print(f"Made by `python -m benchmarks.holes`. {described()}\n")
    print(
        "The data are CMU PIE with pixels from 0 to 1, of which a share is hidden at random. The error is the root mean square error over the hidden "
        "pixels, which are filled in by `inverse_transform(transform(X))`. The number of 100 components was chosen by such errors. Settings are the defaults, except for scikit-learn's "
        "`IterativeImputer`, which would take hours with its defaults on this number of features. Seconds are those of `fit`; for models, they "
        f"are the best of {RUNS} runs, and the last column is their ratio to the seconds of a fit to the complete data.\n"
    )
    print(table(["hidden", "method", "error", "seconds", "ratio to a complete fit"], on_all_pixels(X)))
    print(
        f"\n## Few features\n\nThe data are {SAMPLES} faces and {PIXELS} pixels of each, drawn at random. If most pixels of a row are hidden, "
        "the row has fewer observed entries than codes, and the codes overfit these entries. A penalty `alpha_W` helps; here it is chosen "
        f"among {', '.join(f'{weight:g}' for weight in WEIGHTS)} by hiding a tenth of the observed entries. Seconds are those of filling in, "
        "including the fit and the choice of the penalty.\n"
    )
    print(table(["hidden", "method", "error", "seconds"], on_few_pixels(X)))
    print(
        '\n## Ratings\n\nThe ratings are synthetic, from 1 to 5, and a fifth of them is held out. The model is fitted with `entry_weight="stored"`. '
        "The error is that on the held-out ratings; it is compared with the error of their mean. Memory is the peak of the process, including its data.\n"
    )
    print(table(["ratings", "model", "error", "error of the mean", "seconds", "memory"], [sparse_row]))


if __name__ == "__main__":
    main()
