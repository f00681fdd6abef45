"""How often planted layer sizes are found: `python -m benchmarks.selection single-layers` and `... hierarchies`.

Each prints its section of docs/benchmarks/selection.md.
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
from benchmarks.page import described, machine, table
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.optimize import nnls
from scipy.spatial.distance import squareform
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from deepnmf import NMF, DeepNMF, HierarchyWarning, select_layers
from deepnmf.datasets import make_hierarchy

SHAPE = (100, 50)
RANKS = range(3, 13)
CANDIDATES = range(1, 17)
NOISES = ("gamma", "poisson")
FACTORS = {"dense": 2.0, "sparse": 0.5}  # shapes of the gamma distribution of their entries
DELTAS = (4.0, 2.0, 1.2)
STARTS = 5  # for the consensus
HIERARCHIES = {
    "(24, 6), variation 0.2": {"layer_sizes": (24, 6), "variation": 0.2},
    "(24, 6), variation 0.5": {"layer_sizes": (24, 6), "variation": 0.5},
    "(24, 6), variation 1": {"layer_sizes": (24, 6), "variation": 1.0},
    "(24, 8, 4), variation 0.2": {"layer_sizes": (24, 8, 4), "variation": 0.2},
    "(24, 8, 4), variation 0.5": {"layer_sizes": (24, 8, 4), "variation": 0.5},
    "(24,)": {"layer_sizes": (24,)},
}


# ------------------------------------------------------------------------------- planted single layers


def planted(shape, rank, noise, factors, delta, seed):
    """Data of a rank, with noise that keeps the mean, at the level where σ_k(signal) is δ times the noise's norm."""
    rng = np.random.default_rng(seed)
    n, p = shape
    signal = rng.gamma(FACTORS[factors], size=(n, rank)) @ rng.gamma(FACTORS[factors], size=(rank, p))
    signal /= signal.mean()
    least = np.linalg.svd(signal, compute_uv=False)[rank - 1]
    low, high = 1e-6, 1e3  # variance of an entry with mean 1
    for _ in range(30):
        level = np.sqrt(low * high)
        X = noisy(signal, noise, level, np.random.default_rng(seed + 1))
        too_noisy = np.linalg.norm(X - signal, 2) * delta > least
        low, high = (low, level) if too_noisy else (level, high)
    return X


def noisy(signal, noise, level, rng):
    """Return counts in units of `level`, or the signal times gamma variables of this variance."""
    if noise == "poisson":
        return rng.poisson(signal / level) * level
    return signal * rng.gamma(1 / level, level, signal.shape)


# -------------------------------------------------------------------------------------------- the rules


def by_hidden_entries(X, seed):
    """What the library does."""
    return select_layers(NMF(), X, random_state=seed).best_sizes_[0]


def by_bi_cross_validation(X, seed):
    """Owen & Perry, 2 x 2: each quarter is predicted from a fit to the opposite one."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(np.arange(size) % 2) == 0 for size in X.shape)
    errors = [
        sum(_quarter_error(X, held, out, k) for held, out in product((rows, ~rows), (columns, ~columns)))
        for k in CANDIDATES
    ]
    return CANDIDATES[int(np.argmin(errors))]


def _quarter_error(X, held, out, k):
    model = NMF(k, random_state=0).fit(X[~held][:, ~out])
    codes = model.transform(X[held][:, ~out])
    features = _nonnegative_least_squares(model.codes_[-1], X[~held][:, out])
    return np.sum((X[held][:, out] - codes @ features) ** 2)


def _nonnegative_least_squares(H, X):
    return np.column_stack([nnls(H, column)[0] for column in X.T])


def by_elbow(X, seed):  # noqa: ARG001 - rules share a signature
    """The size at which the error of the fit is farthest below the line from the first to the last one."""
    errors = np.array([NMF(k, random_state=0).fit(X).reconstruction_err_ for k in CANDIDATES])
    line = np.linspace(errors[0], errors[-1], len(errors))
    return CANDIDATES[int(np.argmax(line - errors))]


def by_cophenetic_correlation(X, seed):
    """Brunet et al.: the size, from 2 on, at which the clusters of random starts agree most."""
    return max(CANDIDATES[1:], key=lambda k: _agreement(X, k, seed))


def _agreement(X, k, seed):
    together = np.zeros((len(X), len(X)))
    for start in range(STARTS):
        found = NMF(k, init="random", random_state=seed + start).fit(X).codes_[-1].argmax(axis=1)
        together += found[:, None] == found
    distances = squareform(1 - together / STARTS, checks=False)
    return np.nan_to_num(cophenet(linkage(distances, "average"), distances)[0], nan=0.0) if distances.any() else 1.0


RULES = {
    "`select_layers`": by_hidden_entries,
    "bi-cross-validation 2 x 2": by_bi_cross_validation,
    "elbow": by_elbow,
    "cophenetic correlation": by_cophenetic_correlation,
}


def single_layers(seeds):
    """Yield rows of hit rates: exact and within one, and the mean seconds of a choice."""
    for noise, delta in product(NOISES, DELTAS):
        misses, seconds = {rule: [] for rule in RULES}, dict.fromkeys(RULES, 0.0)
        for factors, seed in product(FACTORS, range(seeds)):
            rank = RANKS[3 * seed % len(RANKS)]  # few seeds are spread over all ranks, too
            X = planted(SHAPE, rank, noise, factors, delta, seed)
            for rule, choose in RULES.items():
                began = time.perf_counter()
                misses[rule].append(abs(choose(X, seed) - rank))
                seconds[rule] += time.perf_counter() - began
        for rule, missed in misses.items():
            exact, near = np.mean(np.array(missed) == 0), np.mean(np.array(missed) <= 1)
            yield [
                noise,
                f"{delta:g}",
                rule,
                len(missed),
                f"{exact:.0%}",
                f"{near:.0%}",
                f"{seconds[rule] / len(missed):.1f}",
            ]


# ------------------------------------------------------------------------------------------ hierarchies


def hierarchies(seeds):
    """Yield rows of hit rates for planted hierarchies."""
    for name, case in HIERARCHIES.items():
        began = time.perf_counter()
        true = case["layer_sizes"]
        chosen = [
            select_layers(
                DeepNMF(), make_hierarchy(1000, **case, random_state=seed).data, random_state=seed
            ).best_sizes_
            for seed in range(seeds)
        ]
        rates = (
            np.mean([abs(sizes[0] - true[0]) <= 1 for sizes in chosen]),
            np.mean([abs(sizes[-1] - true[-1]) <= 1 for sizes in chosen]),
            np.mean([len(sizes) == len(true) for sizes in chosen]),
        )
        seconds = (time.perf_counter() - began) / seeds
        yield [name, seeds, *(f"{rate:.0%}" for rate in rates), ", ".join(map(str, chosen)), f"{seconds:.0f}"]


SECTIONS = {"single-layers": "Single layers", "hierarchies": "Hierarchies"}
TEXTS = {
    "single-layers": (
        f"Data of 100 x 50 with planted ranks from {RANKS[0]} to {RANKS[-1]}, gamma distributed factors, dense (shape 2) and sparse (shape "
        "0.5), and noise that keeps the mean. δ is the smallest singular value of the signal over the largest of the noise. "
        f"`select_layers` makes its own grid; the others choose among 1 to {CANDIDATES[-1]}. Bi-cross-validation (Owen & Perry), the "
        "elbow (the point farthest from the chord of the error of the fit) and the cophenetic correlation of "
        f"{STARTS} random starts (Brunet et al.) use `NMF` at default settings. Each seed is another problem, with dense and with sparse "
        "factors. Seconds are those of one choice, on one thread."
    ),
    "hierarchies": (
        "Data of `deepnmf.datasets.make_hierarchy`, 1000 samples of 20 x 20 pixels, noise of 5 %; `select_layers(DeepNMF(), X)` with its "
        "own grids. The columns are shares of the seeds; each seed is another problem. Seconds are those of one choice, on one thread."
    ),
}
HEADS = {
    "single-layers": ["noise", "δ", "rule", "problems", "exact", "within one", "seconds"],
    "hierarchies": [
        "planted",
        "seeds",
        "first layer within one",
        "top within one",
        "number of layers",
        "chosen",
        "seconds",
    ],
}
ROWS = {"single-layers": single_layers, "hierarchies": hierarchies}


def main() -> None:
    """Print a section of the page, row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument("section", choices=SECTIONS)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", HierarchyWarning)
    command = f"python -m benchmarks.selection {options.section} --seeds {options.seeds}"
    print(
        f"## {SECTIONS[options.section]}\n\n{TEXTS[options.section]}\n\nMade by `{command}`. {machine()} {described()}\n"
    )
    print(table(HEADS[options.section], []), flush=True)
    with threadpool_limits(1):
        for row in ROWS[options.section](options.seeds):
            print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
