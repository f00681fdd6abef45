"""Measure readers of tables: `python -m benchmarks.reading > docs/benchmarks/reading.md`, the page of decision 14.

It writes a file of 24 MB and two files of 300 MB into a temporary folder, reads each of them in separate processes, and
deletes them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROWS_AT_ONCE = 1000
LETTERS = 70  # of an error message that are shown
ROOM = 10**9  # bytes of free space that are required, more than the size of all files


def by_deepnmf(path):
    """Read with pyarrow in blocks, on one thread, and count the progress reports."""
    from deepnmf.reading import read  # noqa: PLC0415 - only in the process that reads with it

    reports = []
    X = read(path, on_bytes=lambda *progress: reports.append(progress)).X
    return X, len(reports)


def by_pyarrow(path):
    """Read the whole table at once with pyarrow, on all threads."""
    from pyarrow import csv  # noqa: PLC0415

    return np.column_stack([column.to_numpy() for column in csv.read_csv(path).columns]), 0


def by_polars(path):
    """Read the whole table at once with polars, on all threads."""
    import polars  # noqa: PLC0415

    return polars.read_csv(path).to_numpy(), 0


def by_pandas(path):
    """Read with the parser of pandas, which is written in C."""
    import pandas  # noqa: PLC0415

    return pandas.read_csv(path).to_numpy(), 0


def by_numpy(path):
    """Read with the parser of numpy, which is written in C."""
    return np.loadtxt(path, delimiter=",", skiprows=1), 0


READERS = {
    "deepnmf": by_deepnmf,
    "pyarrow, the table at once": by_pyarrow,
    "polars": by_polars,
    "pandas": by_pandas,
    "`numpy.loadtxt`": by_numpy,
}


# ------------------------------------------------------------------------------------------ the files


def write(path, n_rows, n_columns, decimals):
    """Write uniform numbers with one digit and a given number of decimals as text, one piece at a time."""
    rng, width = np.random.default_rng(0), decimals + 3 if decimals else 2
    with path.open("wb") as file:
        file.write(",".join(f"p{j}" for j in range(n_columns)).encode() + b"\n")
        for _ in range(0, n_rows, ROWS_AT_ONCE):
            cells = rng.integers(ord("0"), ord("9"), (ROWS_AT_ONCE, n_columns, width), np.uint8, endpoint=True)
            cells[..., 1 : width - 1 : width] = ord(".")
            cells[..., -1] = ord(",")
            cells[:, -1, -1] = ord("\n")
            file.write(cells.tobytes())
    return path


def outcome(reader, text, folder):
    """Return the result of a reader for a small file: the last row, or an error message."""
    path = Path(folder) / "small.csv"
    path.write_text(text)
    try:
        last_row, last_column = np.asarray(READERS[reader](path)[0], dtype=float)[-1]
    except Exception as error:  # every library raises its own exceptions
        return f"refused: {' '.join(str(error).split()).replace(f'{path}, ', '')[:LETTERS]}"
    return f"{last_row:g}, {last_column:g}"


# ---------------------------------------------------------------------------------- what is measured


def measured(reader, path):
    """Read a file in the process of one reader, and print the time and the memory of the process."""
    READERS[reader](path.with_name("warm.csv"))
    began, worked = time.perf_counter(), time.process_time()
    X, reports = READERS[reader](path)
    took = {"seconds": time.perf_counter() - began, "processor": time.process_time() - worked}
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) * 1024
    print(json.dumps({**took, "peak": peak, "dtype": str(X.dtype), "reports": reports}))


def in_a_process(reader, path, repeats):
    """Measure a reader in separate processes; return the shortest times and the largest memory."""
    command = [sys.executable, "-m", "benchmarks.reading", "--reader", reader, "--path", str(path)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(repeats)
    ]
    best = {what: min(run[what] for run in runs) for what in ("seconds", "processor")}
    return {**runs[0], **best, "peak": max(run["peak"] for run in runs)}


def rows_of(path, repeats):
    """Yield one row for each reader."""
    from benchmarks.speed.timing import in_seconds  # noqa: PLC0415 - not in the processes that are measured

    size = path.stat().st_size
    for reader in READERS:
        found = in_a_process(reader, path, repeats)
        yield [
            reader,
            in_seconds(found["seconds"]),
            in_seconds(found["processor"]),
            f"{found['peak'] / 1e6:.0f} MB",
            f"{found['peak'] / size:.1f}",
            found["dtype"],
            found["reports"] or "",
        ]


FILES = {
    "Rows of 431 numbers with four decimals": ((8000, 431, 4), 5),
    "As many columns, 100 000 rows": ((100_000, 431, 4), 2),
    "One digit per number, the worst case: 100 000 rows of 1500": ((100_000, 1500, 0), 2),
}
HEAD = ["reader", "seconds", "processor seconds", "memory of the process", "memory / file", "dtype", "progress reports"]


def main():
    """Print the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--reader", choices=READERS, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        return measured(options.reader, options.path)
    if shutil.disk_usage(tempfile.gettempdir()).free < ROOM:
        sys.exit(f"There is not enough space for {ROOM / 1e9:.0f} GB in {tempfile.gettempdir()}.")
    from benchmarks.page import described, table, versions  # noqa: PLC0415 - for the same reason

    print("# Reading tables\n")
    print(f"Made by `python -m benchmarks.reading`. {described()}")
    print(f"{versions(['pyarrow', 'polars', 'pandas'])}.\n")
    print(
        "A `.csv` file is read into one array, each time in a separate process. Seconds are the best of several runs, with the file in the "
        "cache of the system and the libraries imported. Processor seconds are the sum over all threads, and depend less on other "
        f"programs. The load of the machine was {os.getloadavg()[0]:.1f} at the beginning. Memory is the peak resident memory of the "
        "whole process, including the libraries and the array. `deepnmf` is `deepnmf.reading.read`, which "
        "uses pyarrow in blocks on one thread; the last column is the number of its progress reports."
    )
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "warm.csv", ROWS_AT_ONCE, 2, 1)
        for title, (shape, repeats) in FILES.items():
            path = write(Path(folder) / "table.csv", *shape)
            print(
                f"\n## {title}\n\nThe file has {path.stat().st_size / 1e6:.0f} MB and is read {repeats} times.\n",
                flush=True,
            )
            print(table(HEAD, rows_of(path, repeats)), flush=True)
        print(
            "\n## Incomplete rows\n\nThe table shows the last row of a table with two columns, as each reader returns it.\n"
        )
        short, empty = "a,b\n1,2\n3\n", "a,b\n1,2\n3,\n"
        answers = [[reader, outcome(reader, short, folder), outcome(reader, empty, folder)] for reader in READERS]
        print(table(["reader", "one cell is missing: `3`", "one cell is empty: `3,`"], answers))
    return None


if __name__ == "__main__":
    main()
