"""Workers of a cluster: `python -m benchmarks.cluster > docs/benchmarks/cluster.md`.

The speedup by two worker processes, and what happens when one of two workers is killed in the middle of a fit.
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
from benchmarks.page import described, machine, table, versions
from benchmarks.speed.problems import low_rank
from distributed import Client, LocalCluster, wait

from deepnmf import NMF, DeepNSNMF

SHAPES, CHUNKS, RANK = ((60_000, 1000), (48_000, 8000)), 8, 160
SWEEPS, REPEATS = 5, 3  # every fifth sweep fetches the codes
DEEP_SIZES, DEEP_SWEEPS = (80, 20), 7
KILLED_AFTER = "layer 2: sweep 3,"
LINES_BEFORE, LINES_AFTER = 2, 12  # of the log


def cluster(n_workers):
    """Worker processes of one thread each."""
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None)


def data(client, n_samples, n_features):
    """Chunks that the workers make themselves, as many on each, and keep."""
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
    """The mean of all sweeps but the first, by which the workers have compiled what they need."""
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
        """Take a line of the fit."""
        if text.strip():
            self.add(text.split(", decrease")[0])
            if text.startswith(KILLED_AFTER) and self.killed_at is None:
                self.killed_at = len(self.lines)
                self.add(f"* process {self._victim}, one of two workers, gets signal 9 *")
                os.kill(self._victim, signal.SIGKILL)
        return len(text)

    def add(self, line):
        """Note a line and when it came."""
        self.lines.append(f"{time.perf_counter() - self._began:6.2f} s  {line}")

    def around_the_kill(self):
        """The lines that tell the story."""
        return self.lines[max(self.killed_at - LINES_BEFORE, 0) : self.killed_at + LINES_AFTER]


class FromCluster(logging.Handler):
    """Hands on what dask says of workers."""

    def __init__(self, log):
        super().__init__()
        self._log = log

    def emit(self, record):
        """Note a message without its list of tasks, unless it is about connections."""
        if record.name != "distributed.core":
            self._log.add(f"{record.name}: {re.split(r': {| [(]', record.getMessage())[0]}")


def deep_model():
    """Two layers, and sweeps on each that do not hang on when a fit is near its end."""
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
    """A deep model fitted while a worker is killed, and the log of it."""
    log = Log(client)
    handler = FromCluster(log)
    logging.getLogger("distributed").addHandler(handler)
    with redirect_stdout(log):
        model = deep_model().fit(X)
    logging.getLogger("distributed").removeHandler(handler)
    return model, log


def speed(shape):
    """A row of the table: seconds a sweep, the best of a few fits, one and two workers in turn."""
    seconds = {1: [], 2: []}
    for _ in range(REPEATS):
        for n_workers, found in seconds.items():
            with cluster(n_workers) as local, Client(local) as client:
                found.append(sweep_seconds(data(client, *shape)))
    one, two = (min(found) for found in seconds.values())
    return ["{} x {}".format(*shape), f"{one:.2f} s", f"{two:.2f} s", f"{one / two:.2f}"]


def loss():
    """The log of a killed fit, and the difference of its features from those of an undisturbed fit."""
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
    print(f"Made by `python -m benchmarks.cluster`. {machine()} {described()} {versions(['dask', 'distributed'])}.\n")
    print(
        f"X is in {CHUNKS} chunks on the workers; `NMF({RANK})`, `LocalCluster` with one thread per worker. The time is the mean of {SWEEPS}\n"
        f"sweeps, including those that fetch the codes; the best of {REPEATS} fits, one and two workers in turn. The caller and dask's\n"
        "scheduler share the cores with the workers. The work on a block is proportional to rows times features, the transferred data to their sum.\n"
    )
    print(table(["X", "a sweep of one worker", "of two", "times sooner"], rows))
    print("\n## A worker is killed\n")
    print(f"`DeepNSNMF({DEEP_SIZES}, verbose=2)` on two workers, while its second layer is pre-trained:\n")
    print("\n".join(f"    {line}" for line in lines))
    print(
        "\nThe factors have the same bits as those of an undisturbed fit."
        if difference == 0
        else f"\nThe factors differ from those of an undisturbed fit by at most {difference:.1e}."
    )


if __name__ == "__main__":
    main()
