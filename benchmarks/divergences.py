"""Measure the time to the loss of scikit-learn's `mu` after 200 iterations: `python -m benchmarks.divergences`.

It needs DEEPNMF_DATA. All fits start from scikit-learn's NNDSVDA, and use all cores or the number of threads given by
`--threads`. The tables show processor seconds in addition to seconds, because other programs increase the time of a
run, but its processor time only a little. Results on `newsgroups` were never looked at while constants were chosen.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.divergence_peers import run_peers
from benchmarks.page import described, table
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

ITERATIONS = 200
PATIENCE = 300  # seconds for these iterations; there are fewer if they would take longer
SHORT = 20  # seconds; shorter runs of scikit-learn are repeated like ours, because other programs disturb them
MOST_SWEEPS, LAST_SWEEPS = 400, 100
FLOOR = 1e-6  # added to spectra with a mean of 1, because silence has no logarithm


def counted(name: str) -> sparse.csr_array:
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
    "pbmc_facs": Problem(lambda: counted("pbmc_facs"), 6),
    "tdt2": Problem(lambda: counted("tdt2_30"), 30),
    "newsgroups": Problem(lambda: counted("newsgroups"), 20),
    "bbc": Problem(lambda: counted("bbc_news"), 10),
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


def compared(name: str, repeats: int) -> tuple[list[str], float, float]:
    """Return a row of the table, our speedup, and our speedup with passes over rows only."""
    problem = PROBLEMS[name]
    X, beta = problem.data(), problem.beta
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
    return row, fast, by_passes


def deep_costs() -> list[list[str]]:
    """Return rows with the cost of depth on newsgroups.

    They show one sweep by passes over rows, and a complete fit with default settings.
    """
    X, sweeps = counted("newsgroups"), 10
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
        name = f"{type(model).__name__}, {model.n_iter_} sweeps"
        fits[name] = min(fits.get(name, np.inf), time.perf_counter() - began)
    rows = [[f"a sweep of {name}", in_seconds(value)] for name, value in seconds.items()]
    return [*rows, *([f"a fit of {name}", in_seconds(value)] for name, value in fits.items())]


def beside_peers(name: str, repeats: int) -> list[list[str]]:
    """Return rows with the loss of each peer after 200 iterations on dense data, and our time to this loss."""
    problem = PROBLEMS[name]
    X, beta = problem.data(), problem.beta
    if sparse.issparse(X):
        return []
    W, H = _initialize_nmf(X, problem.rank, init="nndsvda", random_state=0)
    ours(X, W, H, beta, -np.inf, 2)  # compile
    rows = []
    for peer, (seconds, loss) in run_peers(X, W, H, beta, ITERATIONS).items():
        own = min((ours(X, W, H, beta, loss, MOST_SWEEPS) for _ in range(repeats)), key=lambda run: run.seconds)
        times = f"{seconds / own.seconds:.0f}" if own.loss <= loss else "not reached"
        rows.append([name, peer, in_seconds(seconds), f"{loss:.7g}", in_seconds(own.seconds), times])
    return rows


PEERS_HEAD = ["problem", "package", f"{ITERATIONS} iterations", "its loss", "ours", "speedup"]
HEAD = [
    "problem",
    "scikit-learn `mu` (processor)",
    "its loss",
    "ours (processor)",
    "speedup (processor)",
    "by passes over rows only",
    "speedup (processor)",
    f"loss after {LAST_SWEEPS} sweeps",
]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROBLEMS), help=f"some of {', '.join(PROBLEMS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--threads", type=int, help="threads of both; with 1, processor seconds are meaningful on a busy machine"
    )
    parser.add_argument(
        "--peers", action="store_true", help="compare with torchnmf and nn-fac on dense problems instead"
    )
    parser.add_argument("--deep", action="store_true", help="measure the cost of depth instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{described()}\n", flush=True)
    if options.deep:
        print(table(["", "seconds"], deep_costs()))
        return
    if options.peers:
        print(table(PEERS_HEAD, [row for name in options.names for row in beside_peers(name, options.repeats)]))
        return
    rows, counts = [], []
    for name in options.names:
        with threadpool_limits(options.threads):
            row, fast, _ = compared(name, options.repeats)
        rows.append(row)
        print(table(HEAD, [row]).splitlines()[-1], flush=True)
        if PROBLEMS[name].beta == 1:
            counts.append(fast)
    print(f"\n{table(HEAD, rows)}")
    if counts:
        print(f"\nThe geometric mean of the speedups for Kullback-Leibler is {geometric_mean(counts):.0f}.")


if __name__ == "__main__":
    main()
