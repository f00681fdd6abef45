"""Measure a part of the benchmark, and write the page from all that has been measured."""

from benchmarks.parts import Benchmark
from benchmarks.selection import cost, counts, hierarchies, real, single_layers

BENCHMARK = Benchmark(
    name="selection",
    title="Choosing the layers",
    text=(
        "How often planted layer sizes are found by `select_layers` ([how it works](../choosing_the_layers.md), [why so](../decisions/0027-how-layer-sizes-are-chosen.md)), what it chooses for "
        "real data, and what a search costs. On one thread, with processor seconds of one choice. Each seed of planted data is another problem. All settings were fixed before these runs; "
        "nothing was tuned on them. Planted hierarchies (24, 6) and (24, 8, 4) of the same generator were looked at when the method was made, with the seeds 0, 1 and 100 to 104."
    ),
    parts={
        "single-layers-100": single_layers.part(100, 50),
        "single-layers-500": single_layers.part(500, 200),
        "single-layers-2000": single_layers.part(2000, 500),
        "counts": counts.PART,
        "hierarchies": hierarchies.PART,
        "real": real.PART,
        "cost": cost.PART,
    },
)

if __name__ == "__main__":
    BENCHMARK.main()
