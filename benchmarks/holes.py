"""Filling in what was hidden: `python -m benchmarks.holes > docs/benchmarks/holes.md` (needs DEEPNMF_DATA)."""

import resource
import time
import warnings
from functools import partial

import numpy as np
from benchmarks.page import described, fitted, machine, named, table
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
    IterativeImputer(max_iter=3, n_nearest_features=20, random_state=0),  # with all neighbors it takes hours
)
RUNS = 2
SAMPLES, PIXELS = 1000, 64
WEIGHTS = (0.0, 1e-4, 1e-3, 1e-2)


def hidden_error(filled, X, hidden):
    """Root mean square over what was hidden."""
    return float(np.sqrt(np.mean(np.square(filled - X)[hidden])))


def timed_fits(model, X):
    """The model, and the best of several times."""
    fits = [fitted(model(), X) for _ in range(RUNS)]
    return fits[0][0], min(seconds for _, seconds in fits)


def on_all_pixels(X):
    """Rows: imputers and models, with more and more hidden."""
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
    """An imputer as it is made, without its seed."""
    return f"`{str(filler).replace(', random_state=0', '')}`"


def on_few_pixels(X):
    """Rows: imputers and models on a part of X that has few features."""
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
    """Hide a tenth of what is seen, and take the penalty on codes that fills it best."""
    further = (np.random.default_rng(1).random(Y.shape) < 0.1) & ~np.isnan(Y)
    models = [NMF(16, alpha_W=weight, random_state=0) for weight in WEIGHTS]
    tried = np.where(further, np.nan, Y)
    return _filled(min(models, key=lambda model: hidden_error(_filled(model, tried), Y, further)), Y)


def ratings(n=100_000, p=2_000, rank=8, share=0.0125):
    """Ratings from 1 to 5 of people and things that have something in common, a fifth of them held out."""
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
    """Row: the held-out error of a fit to the stored entries, and the process's memory."""
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
    sparse_row = on_ratings()  # first, for the memory is that of the process so far
    X = load("pie_pose27").data / 255
    print("# Filling in what was hidden\n")
    print(f"Made by `python -m benchmarks.holes`. {machine()} {described()}\n")
    print(
        "CMU PIE, pixels from 0 to 1, a share of them hidden at random. The error is the root mean square over the hidden "
        "pixels, filled in by `inverse_transform(transform(X))`. The number of 100 components was chosen by such errors. Settings are the defaults, except for scikit-learn's "
        "`IterativeImputer`, which would take hours with its defaults on this number of features. Seconds are those of `fit`, for a model "
        f"the best of {RUNS} runs; the last column divides them by those of a fit to the complete data.\n"
    )
    print(table(["hidden", "by", "error", "seconds", "times a complete fit"], on_all_pixels(X)))
    print(
        f"\n## Few features\n\n{SAMPLES} faces and {PIXELS} pixels of each, drawn at random. If most pixels of a row are hidden, "
        "it has fewer observed entries than codes, which overfit these entries: a penalty `alpha_W` helps, here chosen "
        f"among {', '.join(f'{weight:g}' for weight in WEIGHTS)} by hiding a tenth of the observed entries. Seconds are those of filling in, "
        "including fit and choice.\n"
    )
    print(table(["hidden", "by", "error", "seconds"], on_few_pixels(X)))
    print(
        '\n## Ratings\n\nSynthetic ratings from 1 to 5, of which a fifth is held out; `entry_weight="stored"`. '
        "The error is that on the held-out ratings, compared with the error of their mean. Memory is the peak of the process, including its data.\n"
    )
    print(table(["ratings", "model", "error", "of the mean", "seconds", "memory"], [sparse_row]))


if __name__ == "__main__":
    main()
