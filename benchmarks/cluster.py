"""Measure fits on the workers of a cluster: `python -m benchmarks.cluster > docs/benchmarks/cluster.md`.

The page shows the speedup by a second worker process, and what happens if one of two workers is killed during a fit.
"""

import io
import logging
import os
import re
import signal
import time
from contextlib import redirect_stdout
from itertools import cycle

import dask
import dask.array as da
import numpy as np
from benchmarks.page import described, table, versions
from benchmarks.speed.problems import low_rank
from distributed import Client, LocalCluster, wait

from deepnmf import NMF, DeepNSNMF

SHAPES, CHUNKS, RANK = ((60_000, 1000), (48_000, 8000)), 8, 160
SWEEPS, REPEATS = 5, 3  # every fifth sweep fetches the codes
DEEP_SIZES, DEEP_SWEEPS = (80, 20), 7
KILLED_AFTER = "layer 2: sweep 3,"
LINES_BEFORE, LINES_AFTER = 2, 12  # of the log


def cluster(n_workers):
    """Return a cluster of worker processes with one thread each."""
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None)


def data(client, n_samples, n_features):
    """Return data in chunks that the workers create and keep, the same number on each worker."""
    workers = list(client.scheduler_info()["workers"])
    lengths = [len(rows) for rows in np.array_split(np.arange(n_samples), CHUNKS)]
    blocks = [
        client.submit(low_rank, length, n_features, 60, seed, workers=[home], allow_other_workers=True, pure=False)
        for seed, (length, home) in enumerate(zip(lengths, cycle(workers)))
    ]
    shapes = [(length, n_features) for length in lengths]
    parts = [da.from_delayed(dask.delayed(block), shape, float) for block, shape in zip(blocks, shapes, strict=True)]
    X = da.concatenate(parts).persist()
    wait(X)
    return X


def sweep_seconds(X):
    """Return the mean seconds of all sweeps except the first one, during which the workers compile."""
    times = []
    NMF(RANK, init="random", random_state=0, tol=0, max_iter=SWEEPS + 1).fit(
        X, on_sweep=lambda *_: times.append(time.perf_counter()) and None
    )
    return float(np.mean(np.diff(times)))


class Log(io.TextIOBase):
    """A log of the messages of the fit and the cluster, with times; it kills a worker when it reads a certain line."""

    def __init__(self, client):
        self._victim = min(client.run(os.getpid).values())
        self._began = time.perf_counter()
        self.lines = []
        self.killed_at = None

    def write(self, text):
        """Add a line of the fit to the log."""
        if text.strip():
            self.add(text.split(", decrease")[0])
            if text.startswith(KILLED_AFTER) and self.killed_at is None:
                self.killed_at = len(self.lines)
                self.add(f"* process {self._victim}, one of two workers, gets signal 9 *")
                os.kill(self._victim, signal.SIGKILL)
        return len(text)

    def add(self, line):
        """Add a line with its time."""
        self.lines.append(f"{time.perf_counter() - self._began:6.2f} s  {line}")

    def around_the_kill(self):
        """Return the lines shortly before and after the kill."""
        return self.lines[max(self.killed_at - LINES_BEFORE, 0) : self.killed_at + LINES_AFTER]


class FromCluster(logging.Handler):
    """A handler that adds the messages of dask about workers to the log."""

    def __init__(self, log):
        super().__init__()
        self._log = log

    def emit(self, record):
        """Add a message without its list of tasks; messages about connections are ignored."""
        if record.name != "distributed.core":
            self._log.add(f"{record.name}: {re.split(r': {| [(]', record.getMessage())[0]}")


def deep_model():
    """Return a model with two layers and a fixed number of sweeps per layer."""
    return DeepNSNMF(
        DEEP_SIZES,
        random_state=0,
        tol=0,
        max_iter=DEEP_SWEEPS,
        pretrain_tol=0,
        pretrain_max_iter=DEEP_SWEEPS,
        verbose=2,
    )


def killed_fit(client, X):
    """Fit a deep model while a worker is killed, and return it with the log."""
    log = Log(client)
    handler = FromCluster(log)
    logging.getLogger("distributed").addHandler(handler)
    with redirect_stdout(log):
        model = deep_model().fit(X)
    logging.getLogger("distributed").removeHandler(handler)
    return model, log


def speed(shape):
    """Return a row of the table: the seconds per sweep with one and two workers, the best of a few fits in turn."""
    seconds = {1: [], 2: []}
    for _ in range(REPEATS):
        for n_workers, found in seconds.items():
            with cluster(n_workers) as local, Client(local) as client:
                found.append(sweep_seconds(data(client, *shape)))
    one, two = (min(found) for found in seconds.values())
    return ["{} x {}".format(*shape), f"{one:.2f} s", f"{two:.2f} s", f"{one / two:.2f}"]


def loss():
    """Return the log of a fit with a killed worker, and the difference of its factors from an undisturbed fit."""
    with cluster(2) as local, Client(local) as client:
        X = data(client, *SHAPES[0])
        with redirect_stdout(io.StringIO()):
            undisturbed = deep_model().fit(X)
        found, log = killed_fit(client, X)
    pairs = zip(found.factors_, undisturbed.factors_, strict=True)
    return log.around_the_kill(), max(float(np.abs(a - b).max()) for a, b in pairs)


def main():
    """Print the page."""
    rows = [speed(shape) for shape in SHAPES]
    lines, difference = loss()
    print("# Workers of a cluster\n")
    print(f"Made by `python -m benchmarks.cluster`. {described()} {versions(['dask', 'distributed'])}.\n")
    print(
        f"X is divided into {CHUNKS} chunks on the workers. The model is `NMF({RANK})`, on a `LocalCluster` with one thread per worker. The time of a sweep is the mean of {SWEEPS}\n"
        f"sweeps, including those that fetch the codes, and the best of {REPEATS} fits; fits with one and with two workers alternate. The caller and dask's\n"
        "scheduler share the cores with the workers. The work on a block is proportional to rows times features, and the amount of transferred data to rows plus features.\n"
    )
    print(table(["X", "sweep with one worker", "sweep with two workers", "speedup"], rows))
    print("\n## A worker is killed\n")
    print(
        f"`DeepNSNMF({DEEP_SIZES}, verbose=2)` is fitted on two workers, one of which is killed while the second layer is pre-trained:\n"
    )
    print("\n".join(f"    {line}" for line in lines))
    print(
        "\nThe factors have the same bits as those of an undisturbed fit."
        if difference == 0
        else f"\nThe factors differ from those of an undisturbed fit by at most {difference:.1e}."
    )


if __name__ == "__main__":
    main()
