"""How many steps on a block a sweep, and how many of them at first: `python benchmarks/inner_steps.py`.

Needs DEEPNMF_DATA.
"""

import time
from dataclasses import replace

import numpy as np
from sklearn.decomposition import NMF as ScikitNMF
from sklearn.decomposition._nmf import _initialize_nmf
from speed.problems import PROBLEMS, pie

from deepnmf import SparseDeepNMF
from deepnmf.engines import RowsInMemory, Workers
from deepnmf.objective import Chain, Objective
from deepnmf.solvers import SOLVERS, descent, linear_descent

RUN = {"random_state": 0, "tol": 0, "max_iter": 60}
MODELS = (
    SparseDeepNMF((300, 160), pretrain_max_iter=20, **RUN),
    SparseDeepNMF((625, 40), pretrain_max_iter=10, **RUN),
)
SHARES = (100.0, 0.5, 0.25, 0.1)
RAMPS = {"1": lambda _: 1, "4": lambda _: 4, "12": lambda _: 12, "the sweep's number, at most 12": lambda sweep: sweep}
MOST_SWEEPS = 150


def shares_of_deep_models():
    """Print what limiting the steps on factors by their cost gives."""
    X = pie()
    print("| model | share | ms a sweep | error after 20 sweeps | after 60 |\n| --- | --- | --- | --- | --- |")
    for model in MODELS:
        for share in SHARES:
            descent.FACTOR_SHARE = share
            times = []
            model.fit(X, on_sweep=lambda *_, times=times: times.append(time.perf_counter()))
            each = 1e3 * np.median(np.diff(times))
            after_20, after_60 = np.sqrt(2 * model.loss_curve_[[19, 59]])
            print(f"| SparseDeepNMF {model.layer_sizes} | {share:g} | {each:.0f} | {after_20:.3f} | {after_60:.3f} |")


def ramps_of_shallow_models():
    """Print how many sweeps lead to scikit-learn's objective after 200 iterations, and where they end."""
    print("\n| data | steps a sweep | sweeps to scikit-learn's objective | loss / scikit-learn's after 150 sweeps |")
    print("| --- | --- | --- | --- |")
    for name in ("dense", "pie40", "cbcl", "tdt2"):
        X, rank = PROBLEMS[name]()
        W, H = _initialize_nmf(X, rank, init="nndsvda", random_state=0)
        scikit = ScikitNMF(rank, init="custom", tol=0, max_iter=200).fit(X, W=W.copy(), H=H.copy())
        target = scikit.reconstruction_err_**2 / 2
        for words, steps in RAMPS.items():
            losses = np.array(curve(X, W, H, steps))
            reached = np.flatnonzero(losses <= target)
            first = reached[0] + 1 if reached.size else "-"
            print(f"| {name} | {words} | {first} | {losses[-1] / target:.4f} |", flush=True)


def curve(X, W, H, steps):
    """The losses of sweeps that make so many steps each."""
    with Workers() as workers:
        sweeps = linear_descent(RowsInMemory(X, workers), Objective(), SOLVERS["hals"])
        state, losses = sweeps.start(W, Chain.of([H])), []
        for sweep in range(1, MOST_SWEEPS + 1):
            state = sweeps.advance(replace(state, most_inner=steps(sweep)))
            losses.append(state.loss)
    return losses


if __name__ == "__main__":
    shares_of_deep_models()
    ramps_of_shallow_models()
