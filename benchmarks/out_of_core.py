"""Measure a fit of a matrix larger than memory: `python -m benchmarks.out_of_core > docs/benchmarks/out_of_core.md`.

It writes a file of 12 GB into the current folder (or into `--folder`), fits a model to it in a process that is limited
to 1.5 GB, and deletes the file.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from benchmarks.page import described, table

from deepnmf import NMF

LIMIT = 3 * 2**29  # bytes of data that the fitting process may use
N_FEATURES, RANK, SWEEPS = 3000, 40, 6
ROWS_AT_ONCE, IN_MEMORY = 20_000, 100_000


def write(path, n_samples):
    """Write a product of uniform factors with noise, in single precision, one piece at a time."""
    rng = np.random.default_rng(0)
    features = rng.random((RANK, N_FEATURES), dtype=np.float32)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n_samples, N_FEATURES))
    for start in range(0, n_samples, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, n_samples - start)
        piece = rng.random((rows, RANK), dtype=np.float32) @ features
        X[start : start + rows] = piece + rng.random(piece.shape, dtype=np.float32)
    X.flush()


def sequential_rate(path):
    """Return the bytes per second of reading the file from beginning to end.

    Before, as much of the file as possible is dropped from the cache.
    """
    block = bytearray(2**24)
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began = time.perf_counter()
        while file.readinto(block):
            pass
    return Path(path).stat().st_size / (time.perf_counter() - began)


def sweep_rate(X, size):
    """Return the bytes per second of a sweep, the median of a few, and the model.

    If X is a file, it is dropped from the cache before each sweep.
    """
    times = [time.perf_counter()]

    def noted(*_):
        if isinstance(X, str):
            with open(X, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        times.append(time.perf_counter())

    model = NMF(RANK, random_state=0, tol=0, max_iter=SWEEPS).fit(X, on_sweep=noted)
    return size / float(np.median(np.diff(times)[1:])), model


def limited(path):
    """Fit the file in the process with the limit, and print its speed and its memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    rate, model = sweep_rate(path, Path(path).stat().st_size)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) * 1024
    print(json.dumps({"rate": rate, "error": model.reconstruction_err_, "peak": peak}))


def too_much():
    """Return whether the limit works, so that a larger allocation fails."""
    code = f"import resource, numpy; resource.setrlimit(resource.RLIMIT_DATA, ({LIMIT}, {LIMIT})); numpy.ones({LIMIT // 8})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode != 0


def main():
    """Print the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--limited", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.limited:
        return limited(options.limited)
    size = options.samples * N_FEATURES * 4
    if shutil.disk_usage(options.folder).free < 1.5 * size:
        sys.exit(f"There is not enough space for {size / 1e9:.0f} GB in {options.folder.resolve()}.")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "X.npy")
        write(path, options.samples)
        disk = sequential_rate(path)
        in_memory = np.load(path, mmap_mode="r")[:IN_MEMORY].copy()
        memory, _ = sweep_rate(in_memory, in_memory.nbytes)
        del in_memory
        command = [sys.executable, "-m", "benchmarks.out_of_core", "--limited", path]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    bound = min(disk, memory)
    print("# A matrix larger than memory\n")
    print(f"Made by `python -m benchmarks.out_of_core`. {described()}\n")
    print(
        f"The file contains {options.samples} x {N_FEATURES} numbers in single precision ({size / 1e9:.0f} GB). `NMF({RANK})` is fitted to its "
        f"path, in a process whose data are limited to {LIMIT / 2**30:.1f} GB (RLIMIT_DATA; a larger allocation "
        f"{'fails' if too_much() else 'does NOT fail'}). Rates are bytes of X per second: for reading the file from beginning to "
        "end, for a sweep on a part of it in memory, and for a sweep on the file. The pages of the file are dropped from the "
        "cache of the system before each sweep.\n"
    )
    rows = [
        ["reading the file", f"{disk / 1e9:.2f} GB/s", ""],
        [f"a sweep in memory ({IN_MEMORY} rows)", f"{memory / 1e9:.2f} GB/s", ""],
        ["a sweep on the file", f"{found['rate'] / 1e9:.2f} GB/s", f"{found['rate'] / bound:.2f}"],
    ]
    print(table(["operation", "rate", "relative to the smaller rate above"], rows))
    print(f"\nThe peak resident memory of the process was {found['peak'] / 2**30:.2f} GB.")
    return None


if __name__ == "__main__":
    main()
