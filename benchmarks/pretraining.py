"""Measure when fine-tuning should begin: `python -m benchmarks.pretraining` (needs DEEPNMF_DATA).

The table is part of decision 11.
"""

import time
import warnings

from benchmarks.page import described, named, table
from benchmarks.speed.problems import pie
from benchmarks.speed.timing import in_seconds
from sklearn.exceptions import ConvergenceWarning

from deepnmf import DeepNSNMF, DeepSemiNMF, SparseDeepNMF

MODELS = (DeepSemiNMF((625, 40)), DeepNSNMF((300, 160)), SparseDeepNMF((600, 160, 40)))
SWEEPS = (5, 12, 20, 50)


def rows():
    """Yield rows: the seconds until fine-tuning begins and until it ends, and the losses at these times."""
    X = pie()
    for model in MODELS:
        for sweeps in SWEEPS:
            seconds, losses = curve(model.set_params(random_state=0, pretrain_max_iter=sweeps), X)
            first, last = (f"{losses[at]:.4g}" for at in (0, -1))
            yield [named(model), sweeps, in_seconds(seconds[0]), first, in_seconds(seconds[-1]), last, len(losses)]


def curve(model, X):
    """Return the seconds and the losses after each sweep of fine-tuning."""
    began, seconds, losses = time.perf_counter(), [], []

    def noted(_, loss):
        seconds.append(time.perf_counter() - began)
        losses.append(loss)

    model.fit(X, on_sweep=noted)
    return seconds, losses


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{described()}\n")
    head = ["model", "sweeps per layer, at most", "fine-tuning begins", "loss then", "ends", "loss then", "sweeps"]
    print(table(head, rows()))


if __name__ == "__main__":
    main()
