"""Workers of a cluster: `python -m benchmarks.cluster > docs/benchmarks/cluster.md`.

How much sooner two worker processes are than one, and what happens when one of two is killed in the middle of a fit.
"""

import logging
import os
import signal
import time

import dask
import dask.array as da
import numpy as np
from benchmarks.page import described, machine, table
from benchmarks.speed.problems import low_rank
from distributed import Client, LocalCluster

from deepnmf import NMF

SHAPE, CHUNKS, RANK = (24_000, 1000), 8, 160
SWEEPS, KILLED_AFTER = 12, 6
REPEATS = 3


def cluster(n_workers):
    """Worker processes of one thread each."""
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None)


def data():
    """Chunks that the workers make themselves, and keep."""
    parts = np.array_split(np.arange(SHAPE[0]), CHUNKS)
    blocks = [
        da.from_delayed(dask.delayed(low_rank)(len(rows), SHAPE[1], 60, seed), (len(rows), SHAPE[1]), dtype=np.float64)
        for seed, rows in enumerate(parts)
    ]
    return da.concatenate(blocks).persist()


def sweep_seconds(X):
    """The best sweep of a fit."""
    times = []
    NMF(RANK, init="random", random_state=0, tol=0, max_iter=SWEEPS).fit(
        X, on_sweep=lambda *_: times.append(time.perf_counter()) and None
    )
    return float(np.min(np.diff(times)))


def killed_fit(client, X, log):
    """A fit during which a worker is killed: the model, and the seconds of its sweeps."""
    times = []

    def kill_once(sweep, _):
        times.append(time.perf_counter())
        if sweep == KILLED_AFTER:
            victim = min(client.run(os.getpid).values())
            log.append(f"after sweep {sweep}: one of two workers gets signal 9")
            os.kill(victim, signal.SIGKILL)

    model = NMF(RANK, init="random", random_state=0, tol=0, max_iter=SWEEPS).fit(X, on_sweep=kill_once)
    return model, np.diff(times)


class Kept(logging.Handler):
    """Keeps what the scheduler says of workers."""

    def __init__(self, log):
        super().__init__()
        self._log = log

    def emit(self, record):
        """Keep a line about workers."""
        text = record.getMessage()
        if "worker" in text.lower():
            self._log.append(f"{record.name}: {text.splitlines()[0][:60]}")


def main():
    """Print the page."""
    seconds = {n_workers: [] for n_workers in (1, 2)}
    for _ in range(REPEATS):
        for n_workers, found in seconds.items():
            with cluster(n_workers) as local, Client(local):
                found.append(sweep_seconds(data()))
    log: list[str] = []
    logging.getLogger("distributed").addHandler(Kept(log))
    with cluster(2) as local, Client(local) as client:
        X = data()
        undisturbed = NMF(RANK, init="random", random_state=0, tol=0, max_iter=SWEEPS).fit(X)
        log.clear()
        found, sweeps = killed_fit(client, X, log)
    one, two = (min(found) for found in seconds.values())
    difference = np.abs(found.components_ - undisturbed.components_).max()
    print("# Workers of a cluster\n")
    print(f"Made by `python -m benchmarks.cluster`. {machine()} {described()}\n")
    print(
        f"X is {SHAPE[0]} x {SHAPE[1]} in {CHUNKS} chunks on the workers, `NMF({RANK})`, `LocalCluster` with one thread a "
        f"worker; the best sweep of {REPEATS} fits of {SWEEPS}, one and two workers in turn.\n"
    )
    print(
        table(
            ["workers", "a sweep", "times sooner"], [[1, f"{one:.2f} s", ""], [2, f"{two:.2f} s", f"{one / two:.2f}"]]
        )
    )
    print("\n## A worker is killed\n")
    print("\n".join(f"    {line}" for line in log))
    print(
        f"\nSweeps took {np.median(sweeps):.2f} s, the one with the loss {sweeps.max():.2f} s. The features differ from "
        f"those of an undisturbed fit by {difference:.1e} at most."
    )


if __name__ == "__main__":
    main()
