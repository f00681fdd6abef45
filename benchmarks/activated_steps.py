"""Compare steps on the codes below an activation: `python benchmarks/activated_steps.py` (needs DEEPNMF_DATA)."""

import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from deepnmf import DeepSemiNMF, SparseDeepNMF
from deepnmf.datasets import load
from deepnmf.solvers import activated_descent

SECONDS = 6
STEPS = (1, 3, 6, 12)


def problems():
    """Yield names, data and models."""
    digits = load_digits().data / 16
    faces = normalize(load("pie_pose27").data.astype(float))
    run = {"random_state": 0, "tol": 0, "max_iter": 100_000, "pretrain_max_iter": 20}
    yield "digits, `SparseDeepNMF((40, 10), square)`", digits, SparseDeepNMF((40, 10), activation="square", **run)
    yield "PIE, `SparseDeepNMF((200, 40), square)`", faces, SparseDeepNMF((200, 40), activation="square", **run)
    yield "PIE, `DeepSemiNMF((200, 40), stanh)`", faces, DeepSemiNMF((200, 40), activation="stanh", **run)


def error_after(model, X):
    """Return the error after some seconds of fine-tuning, and the number of sweeps."""
    began = []

    def stop(*_):
        began.append(time.perf_counter())
        return began[-1] - began[0] > SECONDS

    model.fit(X, on_sweep=stop)
    return model.reconstruction_err_, model.n_iter_


def main():
    """Print the table."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"| model | steps per sweep | sweeps in {SECONDS} s | error then |\n| --- | --- | --- | --- |")
    for name, X, model in problems():
        for steps in STEPS:
            activated_descent.STEPS_ON_CODES = steps
            error, sweeps = min(error_after(model, X) for _ in range(2))
            print(f"| {name} | {steps} | {sweeps} | {np.round(error, 3)} |", flush=True)


if __name__ == "__main__":
    main()
