"""The cost of a search relative to one fit of its largest candidate: processor seconds, and memory without the data."""

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.hierarchy.contenders import fitted
from benchmarks.hierarchy.problems import REAL
from benchmarks.page import table
from benchmarks.selection.search import Part, only_select_layers, searched
from scipy import sparse

from deepnmf import NMF

MISSING = 0.2


@dataclass(frozen=True)
class Case:
    """Data, and ten candidates."""

    read: Callable[[], Any]
    sizes: Sequence[int]


def faces_with_holes():
    """Return faces with a fifth of the entries missing."""
    X = REAL["cbcl"].read()
    return np.where(np.random.default_rng(0).random(X.shape) < MISSING, np.nan, X)


CASES = {
    "dense: PIE, 2856 x 1024": Case(REAL["pie"].read, range(4, 41, 4)),
    "sparse: BBC, tf-idf, 2225 x 9635": Case(REAL["bbc"].read, range(2, 21, 2)),
    "NaN: CBCL, 2429 x 361, a fifth missing": Case(faces_with_holes, range(4, 41, 4)),
}


def measure(case, _, seed, limits):
    """Measure the seconds of the search and of the fit, and then their memory.

    The memory of a search is that of its largest candidate, because the others need less.
    """
    X, largest = limits.of(case.read()), max(case.sizes)
    _, search_seconds = searched(NMF(), X, seed, limits, sizes=case.sizes, refit=False)
    _, fit_seconds = fitted(NMF(largest, random_state=seed), X)
    return {
        "seconds": search_seconds,
        "fit_seconds": fit_seconds,
        "memory": peak(lambda: searched(NMF(), X, seed, limits, sizes=[largest], refit=False)) / size_of(X),
        "fit_memory": peak(lambda: NMF(largest, random_state=seed).fit(X)) / size_of(X),
        "size": size_of(X),
    }


def peak(run: Callable[[], Any]) -> int:
    """Return the peak of the bytes that Python and NumPy allocate in addition to those allocated before."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def size_of(X) -> int:
    """Return the bytes of a matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sparse.issparse(X) else X.nbytes


def tables(records) -> str:
    """Return a table of the means over the seeds."""
    rows = []
    for case in dict.fromkeys(one["case"] for one in records):
        of_case = [one["values"] for one in records if one["case"] == case]
        search, fit, memory, fit_memory, size = (
            np.mean([values[name] for values in of_case])
            for name in ("seconds", "fit_seconds", "memory", "fit_memory", "size")
        )
        numbers = [f"{search:.1f}", f"{fit:.2f}", f"{search / fit:.1f}", f"{size / 2**20:.1f}", f"{memory:.1f}"]
        rows.append([case, len(of_case), *numbers, f"{fit_memory:.1f}"])
    head = ["seconds", "seconds of one fit", "fits", "X, MB", "memory / X", "memory of one fit / X"]
    return table(["data", "seeds", *head], rows)


PART = Part(
    title="Cost",
    text=(
        "A search among ten sizes with three splits is compared with one normal fit of the largest size; `fits` is the ratio of the processor seconds. For every size, a search makes one to three fits that predict "
        "hidden entries, and two fits of halves of the rows to measure the stability. Memory is the peak of the allocations of Python and NumPy in addition to X (tracemalloc), in units of the size of X, for one "
        "worker."
    ),
    cases=CASES,
    contenders=only_select_layers,
    measure=measure,
    tables=tables,
)
