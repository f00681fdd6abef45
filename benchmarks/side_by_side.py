"""Compare complete fits of this working tree and of another one: `python -m benchmarks.side_by_side PATH`.

The tree at PATH only needs the same estimators. Each tree has a separate process, and their fits alternate, so that
other programs on the machine affect both.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from benchmarks.page import described, table
from benchmarks.speed.problems import PROBLEMS, Problem
from sklearn.datasets import load_digits

from deepnmf import NMF, DeepNSNMF, DeepSemiNMF, SparseDeepNMF

SWEEPS = 40
FITS = ("digits", "wide", "pie40", "pie160", "tdt2", "deep-digits", "deep-pie", "deep-tdt2", "semi-pie", "sparse-pie")
DEEP = {
    "deep-digits": ("digits", DeepNSNMF((40, 10), random_state=0)),
    "deep-pie": ("pie40", DeepNSNMF((160, 40), random_state=0)),
    "deep-tdt2": ("tdt2", DeepNSNMF((60, 30), random_state=0)),
    "semi-pie": ("pie40", DeepSemiNMF((160, 40), random_state=0)),
    "sparse-pie": ("pie40", SparseDeepNMF((160, 40), penalty="RL1", random_state=0)),
}


def problem(name, dtype):
    """Return a model, its data and its start.

    NMF starts from given factors, and deep models use their own start and pre-training.
    """
    data, model = DEEP.get(name, (name, None))
    X, rank = (load_digits().data, 10) if data == "digits" else PROBLEMS[data]()
    if model is not None:
        return model.set_params(max_iter=SWEEPS, tol=0, pretrain_tol=0), (X.astype(dtype),), {}
    given = Problem.of(name, X, rank, dtype)
    return NMF(given.rank, init="custom", max_iter=SWEEPS, tol=0), (given.X,), {"W": given.W, "H": given.H}


def serve():
    """Fit the problem that each line of the input names, in a child process.

    For each fit, the seconds, the processor seconds of all cores, and the error are printed.
    """
    problems = {}
    for line in sys.stdin:
        name, dtype = line.split()
        if line not in problems:
            problems[line] = problem(name, dtype)
        model, data, start = problems[line]
        began = time.perf_counter(), time.process_time()
        model.fit(*data, **start)
        times = time.perf_counter() - began[0], time.process_time() - began[1]
        print(*times, model.reconstruction_err_, flush=True)


class Child:
    """A process that fits with the package of one working tree."""

    def __init__(self, tree):
        path = os.pathsep.join([str(Path(tree).resolve() / "src"), str(Path.cwd())])
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.side_by_side", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def fit(self, name, dtype):
        """Return the seconds, the processor seconds of all cores, and the error of one fit."""
        self._process.stdin.write(f"{name} {dtype}\n")
        self._process.stdin.flush()
        return tuple(map(float, self._process.stdout.readline().split()))


def of_fits(tree, repeats, names):
    """Yield rows: the milliseconds of complete fits by the other tree and by this one, in turn."""
    children = Child(tree), Child(".")
    for name in names:
        for dtype in ("float64", "float32"):
            measured = np.array([[child.fit(name, dtype) for child in children] for _ in range(repeats + 1)][1:])
            ratios = [spread(measured[:, 1, clock] / measured[:, 0, clock]) for clock in (0, 1)]
            errors = measured[0, :, 2]
            row = [
                name,
                dtype,
                *(f"{1e3 * best:.1f}" for best in measured[:, :, 0].min(axis=0)),
                *ratios,
                f"{errors[1] / errors[0] - 1:.0e}",
            ]
            print(" ".join(row), file=sys.stderr, flush=True)
            yield row


def spread(values):
    """Return the median and the quartiles as text."""
    lower, median, upper = np.percentile(values, [25, 50, 75])
    return f"{median:.2f} ({lower:.2f} to {upper:.2f})"


def main():
    """Print the table, or run as a child process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", help="the working tree of another commit")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--fits", nargs="*", default=FITS, choices=FITS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    print(f"{described()}\n")
    heads = ["best ms, other", "this", "this / other, in turn", "the same, time of all cores", "error / other's - 1"]
    print(table(["data", "dtype", *heads], of_fits(options.path, options.repeats, options.fits)))


if __name__ == "__main__":
    main()
