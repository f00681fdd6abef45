"""Measure one product with the label graph of many samples: `python benchmarks/label_graph.py`."""

import time
import tracemalloc

import numpy as np
from page import described

from deepnmf.objective.graphs import label_graph

N, RANK, CLASSES, RUNS = 200_000, 40, 100, 5


def seconds_of(function) -> float:
    """Return the shortest time of several runs."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def main():
    """Print the time and the memory."""
    rng = np.random.default_rng(0)
    H, places = rng.random((N, RANK)), rng.integers(-1, CLASSES, N)
    graph = label_graph("binary", H, places)
    tracemalloc.start()
    graph.product(H)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(described())
    print(
        f"L H, n = {N}, r = {RANK}, {CLASSES} classes: {seconds_of(lambda: graph.product(H)):.3f} s, {peak / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
