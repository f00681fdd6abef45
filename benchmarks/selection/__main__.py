"""Measure a part of the benchmark, and write the page from all results so far."""

from benchmarks.parts import Benchmark
from benchmarks.selection import cost, count_limits, counts, hierarchies, real, single_layers

BENCHMARK = Benchmark(
    name="selection",
    title="Choosing the layers",
    text=(
        "This page shows how often `select_layers` finds planted layer sizes ([how it works](../choosing_the_layers.md), [why](../decisions/0027-how-layer-sizes-are-chosen.md)), what it chooses for "
        "real data, and what a search costs. Searches run on one thread, and seconds are processor seconds of one choice. Each seed of planted data gives another problem, and a row contains all seeds that were measured. Planted "
        "hierarchies of this generator were used during the development of the method: (24, 6) with the seeds 0 and 1, (24, 8, 4) with the seeds 100 to 104, (24, 8, 4) and (40, 12, 4) with the seeds 0 and 1 when the search for "
        "intermediate layers was corrected, and all of them with the seeds 10 to 12 and 20 to 21 when the weights of the layers in the search were fixed. Everything else was fixed before it was measured, and nothing was tuned on it."
    ),
    parts={
        "single-layers-100": single_layers.part(100, 50),
        "single-layers-500": single_layers.part(500, 200),
        "single-layers-2000": single_layers.part(2000, 500),
        "counts": counts.PART,
        "count-limits": count_limits.PART,
        "hierarchies": hierarchies.PART,
        "real": real.PART,
        "cost": cost.PART,
    },
)

if __name__ == "__main__":
    BENCHMARK.main()
