"""Measure the time to the loss that other packages reach with a divergence.

Run `python -m benchmarks.divergences > docs/benchmarks/divergences.md` with the packages of the extra `bench` (needs
DEEPNMF_DATA). The tables show processor seconds in addition to seconds, because other programs increase the time of a
run, but its processor time only a little.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.divergence_peers import run_peers
from benchmarks.page import described, named, table, versions
from benchmarks.speed.timing import geometric_mean, in_seconds
from scipy import sparse
from scipy.signal import stft
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.decomposition._nmf import _beta_divergence, _initialize_nmf
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import deepnmf
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.objective import Chain
from deepnmf.objective.divergences import Divergence
from deepnmf.solvers.divergence_descent import DivergenceDescent
from reproduction.pages import counted

ITERATIONS = 200
PATIENCE = 300  # seconds for these iterations; there are fewer if they would take longer
SHORT = 20  # seconds; shorter runs of scikit-learn are repeated like ours, because other programs disturb them
MOST_SWEEPS, LAST_SWEEPS = 400, 100
HELD_OUT = "newsgroups"  # its results were never looked at while constants were chosen
FLOOR = 1e-6  # added to spectra with a mean of 1, because silence has no logarithm


def counts(name: str) -> sparse.csr_array:
    """Return the counts of a file, without empty columns."""
    parts = np.load(Path(os.environ["DEEPNMF_DATA"]) / f"{name}.npz")
    X = sparse.csr_array((parts["data"].astype(float), parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    return sparse.csr_array(X[:, np.asarray(X.sum(axis=0)).ravel() > 0])


def birds() -> np.ndarray:
    """Return power spectra of bird sounds with a mean of 1, one row for each moment."""
    samples = np.load(Path(os.environ["DEEPNMF_DATA"]) / "esc50_birds.npz")["samples"]
    _, _, spectra = stft(samples.astype(float), nperseg=512, noverlap=256)
    power = np.square(np.abs(spectra)).transpose(0, 2, 1).reshape(-1, spectra.shape[1])
    return np.ascontiguousarray(power / power.mean() + FLOOR)


@dataclass(frozen=True)
class Problem:
    """Data, a rank and a divergence."""

    data: Callable[[], np.ndarray | sparse.csr_array]
    rank: int
    beta: float = 1.0


PROBLEMS = {
    "pbmc_facs": Problem(lambda: counts("pbmc_facs"), 6),
    "tdt2": Problem(lambda: counts("tdt2_30"), 30),
    "newsgroups": Problem(lambda: counts("newsgroups"), 20),
    "bbc": Problem(lambda: counts("bbc_news"), 10),
    "digits": Problem(lambda: load_digits().data, 16),
    "birds": Problem(birds, 30),
    "birds, β = 0": Problem(birds, 30, 0.0),
    "birds, β = 0.5": Problem(birds, 30, 0.5),
    "digits, β = 0.5": Problem(lambda: load_digits().data, 16, 0.5),
    "digits, β = 1.5": Problem(lambda: load_digits().data, 16, 1.5),
    "digits, β = 3": Problem(lambda: load_digits().data, 16, 3.0),
}


@dataclass(frozen=True)
class Run:
    """Seconds and processor seconds of a run, its number of iterations, and its final loss."""

    seconds: float
    processor: float
    iterations: int
    loss: float


def theirs(X, W, H, beta: float) -> Run:
    """Run scikit-learn's multiplicative updates."""
    model = NMF(len(H), init="custom", solver="mu", beta_loss=beta, max_iter=3, tol=0)
    began = time.perf_counter()
    model.fit_transform(X, W=W.copy(), H=H.copy())
    iterations = int(min(ITERATIONS, max(1, PATIENCE / (time.perf_counter() - began) * 3)))
    model.set_params(max_iter=iterations)
    began, processor = time.perf_counter(), time.process_time()
    codes = model.fit_transform(X, W=W.copy(), H=H.copy())
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    return Run(seconds, processor, iterations, _beta_divergence(X, codes, model.components_, beta))


def ours(X, W, H, beta: float, target: float, most: int) -> Run:
    """Fit our `NMF` until a loss is reached; the time includes its checks, its copies, and its final measurements."""
    model = deepnmf.NMF(len(H), init="custom", beta_loss=beta, max_iter=most, tol=0)
    began, processor = time.perf_counter(), time.process_time()
    model.fit(X, W=W, H=H, on_sweep=lambda _, loss: loss <= target)
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    return Run(seconds, processor, model.n_iter_, model.loss_curve_[-1])


def by_rows(X, W, H, beta: float, target: float, most: int) -> Run:
    """Sweep only by passes over the rows, as for rows in a file, until a loss is reached."""
    began, processor = time.perf_counter(), time.process_time()
    with Workers() as workers:
        descent = DivergenceDescent(RowsInMemory(X, workers), Divergence(beta), by_passes=True)
        state, sweeps = descent.start(W, Chain.of([H])), 0
        while state.loss > target and sweeps < most:
            state, sweeps = descent.advance(state), sweeps + 1
    return Run(time.perf_counter() - began, time.process_time() - processor, sweeps, state.loss)


def compared(name: str, X, repeats: int) -> tuple[list[str], float]:
    """Return a row of the table, and our speedup."""
    problem, beta = PROBLEMS[name], PROBLEMS[name].beta
    W, H = _initialize_nmf(X, problem.rank, init="nndsvda", random_state=0)
    others = [theirs(X, W, H, beta)]
    while len(others) < repeats and others[0].seconds < SHORT:
        others.append(theirs(X, W, H, beta))
    other = min(others, key=lambda run: run.seconds)
    best = []
    for fit in (ours, by_rows):
        fit(X, W, H, beta, -np.inf, 2)  # compile
        runs = [fit(X, W, H, beta, other.loss, MOST_SWEEPS) for _ in range(repeats)]
        best.append(min(runs, key=lambda run: run.seconds))
    last = ours(X, W, H, beta, -np.inf, LAST_SWEEPS)
    fast, by_passes = (other.seconds / run.seconds if run.loss <= other.loss else np.nan for run in best)
    row = [
        f"{name} ({X.shape[0]} x {X.shape[1]}, k = {problem.rank})",
        f"{in_seconds(other.seconds)} ({in_seconds(other.processor)})",
        f"{other.loss:.7g}" + ("" if other.iterations == ITERATIONS else f" after {other.iterations}"),
        f"{in_seconds(best[0].seconds)} ({in_seconds(best[0].processor)}), {best[0].iterations} sweeps",
        f"{fast:.0f} ({other.processor / best[0].processor:.0f})",
        f"{in_seconds(best[1].seconds)}, {best[1].iterations} sweeps",
        f"{by_passes:.0f} ({other.processor / best[1].processor:.0f})",
        f"{last.loss:.7g}",
    ]
    return row, fast


def depth_rows() -> list[list[str]]:
    """Return rows with the cost of depth on newsgroups: of a sweep by passes over rows, and of a complete fit."""
    X, sweeps = counts("newsgroups"), 10
    rng = np.random.default_rng(0)
    chains = {"(40, 10)": (40, 10), "(10,)": (10,)}
    seconds = {}
    with Workers() as workers:
        engine = RowsInMemory(X, workers)
        states = {}
        for name, sizes in chains.items():
            factors = [rng.random((r, below)) + 0.1 for r, below in zip(sizes, (X.shape[1], *sizes), strict=False)]
            descent = DivergenceDescent(engine, Divergence(1.0), by_passes=True)
            start = descent.start(rng.random((X.shape[0], sizes[-1])) + 0.1, Chain.of(factors))
            states[name] = descent, descent.advance(descent.advance(start))
        for name in [*chains] * 3:
            descent, state = states[name]
            began = time.perf_counter()
            for _ in range(sweeps):
                state = descent.advance(state)
            seconds[name] = min(seconds.get(name, np.inf), (time.perf_counter() - began) / sweeps)
    fits = {}
    models = (
        deepnmf.DeepNSNMF((40, 10), theta=0, beta_loss=1, random_state=0),
        deepnmf.NMF(40, beta_loss=1, random_state=0),
    )
    for model in [*models] * 2:
        began = time.perf_counter()
        model.fit(X)
        name = f"{named(model)}, {model.n_iter_} sweeps"
        fits[name] = min(fits.get(name, np.inf), time.perf_counter() - began)
    rows = [[f"a sweep of `{name}` by passes over rows", in_seconds(value)] for name, value in seconds.items()]
    return [*rows, *([f"a fit of {name}", in_seconds(value)] for name, value in fits.items())]


def peer_rows(name: str, X, repeats: int) -> list[list[str]]:
    """Return rows with the loss of each peer after 200 iterations, and our time to this loss."""
    problem, beta = PROBLEMS[name], PROBLEMS[name].beta
    W, H = _initialize_nmf(X, problem.rank, init="nndsvda", random_state=0)
    ours(X, W, H, beta, -np.inf, 2)  # compile
    rows = []
    for peer, (seconds, loss) in run_peers(X, W, H, beta, ITERATIONS).items():
        own = min((ours(X, W, H, beta, loss, MOST_SWEEPS) for _ in range(repeats)), key=lambda run: run.seconds)
        times = f"{seconds / own.seconds:.0f}" if own.loss <= loss else "not reached"
        rows.append([name, peer, in_seconds(seconds), f"{loss:.7g}", in_seconds(own.seconds), times])
    return rows


def verdict(speedups: Mapping[str, float], on_counts: Collection[str]) -> str:
    """Return sentences on the speedups; `on_counts` names the problems with sparse counts."""
    kl = [name for name in speedups if PROBLEMS[name].beta == 1]
    groups = {
        "sparse counts": [name for name in kl if name in on_counts],
        "dense data": [name for name in kl if name not in on_counts],
        "other β": [name for name in speedups if name not in kl],
    }
    ranges = [f"{_range([speedups[name] for name in names])} on {kind}" for kind, names in groups.items() if names]
    held_out = f" It is {speedups[HELD_OUT]:.0f} on the newsgroups alone." if HELD_OUT in speedups else ""
    mean = geometric_mean([speedups[name] for name in kl]) if kl else np.nan
    return (
        f"Under Kullback-Leibler, the geometric mean of the speedups is {mean:.0f} on {counted(kl, 'problem')}.{held_out} The speedup "
        f"is {', '.join(ranges)}. On dense data, scikit-learn's updates are products of matrices, and divisions limit the speed of coordinate steps."
    )


def _range(values: Sequence[float]) -> str:
    low, high = (f"{extreme(values):.0f}" for extreme in (min, max))
    return low if low == high else f"{low} to {high}"


INTRODUCTION = f"""# Divergences against other packages

Made by `python -m benchmarks.divergences`. {{described}} {{packages}}.

The table gives the time to the loss that scikit-learn's `NMF(solver="mu")` has after {ITERATIONS} iterations, from the same start (its NNDSVDA). Both may use two threads, and the best of several runs counts; a run of scikit-learn
that takes {SHORT} s is not repeated. Our time is that of a complete `NMF(beta_loss=...).fit`, including its checks and the measures that it computes at the end. β is 1 (Kullback-Leibler) unless the name says otherwise. The constants of the
method were chosen on all of these data sets except the newsgroups. "By passes over rows" is the method for rows in a file or on a cluster.
"""
PEERS = f"""
## Other packages

torchnmf and nn-fac also make multiplicative updates. They take dense data under Kullback-Leibler here. The table gives their time for {ITERATIONS} iterations from the same start, and our time to their loss.
"""
DEPTH = """
## The cost of depth

The data are the newsgroups: the best of three sweeps by passes over rows, and the best of two fits. Settings are the defaults, but θ is 0 in `DeepNSNMF`.
"""
ANCHOR = "\nNot run here: the stored fit of fastTopics on pbmc_facs (k = 6) has a loss of 5,423,942."
PEERS_HEAD = ["problem", "package", f"{ITERATIONS} iterations", "its loss", "ours", "speedup"]
HEAD = [
    "problem",
    "scikit-learn `mu` (processor)",
    "its loss",
    "ours (processor)",
    "speedup (processor)",
    "by passes over rows",
    "speedup (processor)",
    f"loss after {LAST_SWEEPS} sweeps",
]


def main() -> None:
    """Print the page, or the rows of some problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROBLEMS), help=f"some of {', '.join(PROBLEMS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--threads", type=int, help="threads of both; with 1, processor seconds are meaningful on a busy machine"
    )
    options = parser.parse_args()
    for category in (ConvergenceWarning, deepnmf.HierarchyWarning):
        warnings.simplefilter("ignore", category)
    print(INTRODUCTION.format(described=described(), packages=versions(["torchnmf", "nn-fac", "torch"])), flush=True)
    print(table(HEAD, []), flush=True)
    speedups, on_counts, dense = {}, set(), {}
    for name in options.names:
        X = PROBLEMS[name].data()
        with threadpool_limits(options.threads):
            row, speedups[name] = compared(name, X, options.repeats)
        print("|", " | ".join(row), "|", flush=True)
        if sparse.issparse(X):
            on_counts.add(name)
        elif PROBLEMS[name].beta == 1:
            dense[name] = X
    print(f"\n{verdict(speedups, on_counts)}\n{ANCHOR}", flush=True)
    if HELD_OUT in options.names:
        print(f"{DEPTH}\n{table(['', 'time'], depth_rows())}", flush=True)
    # Last, because importing torch changes the threads of the process.
    peers = [row for name, X in dense.items() for row in peer_rows(name, X, options.repeats)]
    if peers:
        print(f"{PEERS}\n{table(PEERS_HEAD, peers)}")


if __name__ == "__main__":
    main()
