"""Compare fits to completed rows with fits row by row: `python -m benchmarks.observed` (needs DEEPNMF_DATA).

The table is part of decision 12.
"""

import time

import numpy as np
from benchmarks.page import described, table
from benchmarks.speed.timing import in_seconds
from scipy import sparse

from deepnmf import NMF
from deepnmf.datasets import load
from deepnmf.engines import sparse_holes

SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
SWEEPS = {"completed": 150, "row by row": 40}
NEAR = 1.1  # times the higher of the two final losses
REPEATS = 3


def curve(X, rank, way):
    """Return the seconds and the losses of a fit that must use one of the two methods."""
    sparse_holes.SPARSELY_OBSERVED = 0 if way == "completed" else 2
    began, seconds, losses = time.perf_counter(), [], []

    def noted(_, loss):
        seconds.append(time.perf_counter() - began)
        losses.append(loss)

    weight = "stored" if sparse.issparse(X) else None
    NMF(rank, random_state=0, tol=0, max_iter=SWEEPS[way]).fit(X, entry_weight=weight, on_sweep=noted)
    return np.array(seconds), np.array(losses)


def compared(X, rank, share):
    """Return a row: the seconds of both methods until their loss is near the final one."""
    seen = np.random.default_rng(0).random(X.shape) < share
    places = np.nonzero(seen)
    data = {"completed": np.where(seen, X, np.nan), "row by row": sparse.csr_array((X[places], places), X.shape)}
    runs = [{way: curve(data[way], rank, way) for way in SWEEPS} for _ in range(REPEATS)]
    target = NEAR * max(losses[-1] for _, losses in runs[0].values())
    best = [min(run[way][0][np.argmax(run[way][1] <= target)] for run in runs) for way in SWEEPS]
    return [f"{share:.0%}", rank, *map(in_seconds, best), f"{best[0] / best[1]:.1f}"]


def main():
    """Print the table."""
    X = load("pie_pose27").data / 255
    print(f"{described()}\n")
    rows = [compared(X, rank, share) for rank in (10, 40) for share in SHARES]
    print(table(["observed", "components", *SWEEPS, "speedup"], rows))


if __name__ == "__main__":
    main()
