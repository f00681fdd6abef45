"""Compare numbers of steps on a block per sweep, and in the first sweeps: `python -m benchmarks.inner_steps`.

It needs DEEPNMF_DATA.
"""

import time
from dataclasses import replace

import numpy as np
from benchmarks.counts import tf_idf
from benchmarks.hierarchy.problems import count_file
from benchmarks.page import described, named, table
from benchmarks.speed.objective import loss
from benchmarks.speed.problems import PROBLEMS, pie
from scipy import sparse
from sklearn.decomposition import NMF as ScikitNMF
from sklearn.decomposition._nmf import _initialize_nmf

from deepnmf import DeepNSNMF, SparseDeepNMF
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.objective import Chain, Objective
from deepnmf.solvers import descent
from deepnmf.solvers.losses import FROBENIUS
from deepnmf.solvers.steps import SOLVERS

RUN = {"random_state": 0, "tol": 0, "max_iter": 10**6}
MODELS = (
    DeepNSNMF((300, 160), pretrain_max_iter=20, **RUN),
    DeepNSNMF((300, 40), pretrain_max_iter=20, **RUN),
    SparseDeepNMF((200, 100), pretrain_max_iter=20, **RUN),
    SparseDeepNMF((600, 160, 40), pretrain_max_iter=20, **RUN),
)
SHARES = (0.1, 0.25, 0.5, 1.0)
SECONDS = (1, 2, 4, 7)  # of fine-tuning
RAMPS = {"1": lambda _: 1, "4": lambda _: 4, "12": lambda _: 12, "the sweep's number, at most 12": lambda sweep: sweep}
MOST_SWEEPS = 150
TEXTS = {"bbc_news": (5, 10, 15, 20, 30, 40), "tdt2_30": (10, 20), "newsgroups": (10, 20)}
PLAIN_SWEEPS = (0, 5, 20)


def shares_of_deep_models():
    """Print the losses after some seconds of fine-tuning, by the share of the cost that steps on a factor may have."""
    X = pie()
    rows = []
    for model in MODELS:
        for share in SHARES:
            descent.SHARE_OF_A_LAYER = share
            times = fine_tuned(model, X)
            each = 1e3 * np.median(np.diff(times))
            losses = [model.loss_curve_[max(np.searchsorted(times, seconds) - 1, 0)] for seconds in SECONDS]
            rows.append([named(model), f"{share:g}", f"{each:.0f}", *(f"{loss:.2f}" for loss in losses)])
    print(table(["model", "share", "ms per sweep", *(f"loss after {seconds} s" for seconds in SECONDS)], rows))


def fine_tuned(model, X):
    """Return the seconds from the first sweep of fine-tuning to each sweep, until the time is over."""
    times = []

    def noted(*_):
        times.append(time.perf_counter())
        return times[-1] - times[0] > SECONDS[-1]

    model.fit(X, on_sweep=noted)
    return np.array(times) - times[0]


def ramps_of_shallow_models():
    """Print the number of sweeps to scikit-learn's objective after 200 iterations, and the final loss."""
    print("\n| data | steps per sweep | sweeps to scikit-learn's objective | loss / scikit-learn's after 150 sweeps |")
    print("| --- | --- | --- | --- |")
    for name in ("dense", "pie40", "cbcl", "tdt2"):
        X, rank = PROBLEMS[name]()
        W, H, target = start_and_target(X, rank)
        for words, steps in RAMPS.items():
            losses = curve(X, W, H, MOST_SWEEPS, lambda sweep, steps=steps: {"most_inner": steps(sweep), "n_plain": 0})
            print(f"| {name} | {words} | {first_at(target, losses)} | {losses[-1] / target:.4f} |", flush=True)


def start_and_target(X, rank):
    """Return a start, and scikit-learn's objective after 200 iterations from it."""
    W, H = _initialize_nmf(X, rank, init="nndsvda", random_state=0)
    scikit = ScikitNMF(rank, init="custom", tol=0, max_iter=200)
    return W, H, loss(X, scikit.fit_transform(X, W=W.copy(), H=H.copy()), scikit.components_)


def first_at(target, losses):
    """Return the number of the first sweep whose loss is at most the target."""
    reached = np.flatnonzero(np.array(losses) <= target)
    return reached[0] + 1 if reached.size else "-"


def plain_sweeps_of_texts():
    """Print whether fits of texts reach scikit-learn's objective, by the number of plain sweeps at the beginning."""
    rows = []
    for name, ranks in TEXTS.items():
        X = sparse.csr_array(count_file(name, tf_idf)())
        for rank in ranks:
            W, H, target = start_and_target(X, rank)
            row = [name, rank]
            for count in PLAIN_SWEEPS:
                first = {"n_plain": count}
                losses = curve(X, W, H, 200, lambda sweep, first=first: first if sweep == 1 else {})
                row += [first_at(target, losses), f"{losses[-1] / target - 1:+.1e}"]
            rows.append(row)
    counts = (f"{count} plain sweeps: sweeps to scikit-learn's objective" for count in PLAIN_SWEEPS)
    print(table(["data", "k", *(name for count in counts for name in (count, "excess after 200"))], rows))


def curve(X, W, H, n_sweeps, changes):
    """Return the losses of sweeps; before each sweep, some fields of the state are changed."""
    with Workers() as workers:
        sweeps = FROBENIUS.descent(RowsInMemory(X, workers), Objective(), SOLVERS["hals"])
        state, losses = sweeps.start(W, Chain.of([H])), []
        for sweep in range(1, n_sweeps + 1):
            state = sweeps.advance(replace(state, **changes(sweep)))
            losses.append(state.loss)
    return losses


if __name__ == "__main__":
    print(f"{described()}\n")
    shares_of_deep_models()
    ramps_of_shallow_models()
    plain_sweeps_of_texts()
