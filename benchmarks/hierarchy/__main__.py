"""Measure a part of the benchmark, and write the page from all that has been measured."""

from benchmarks.hierarchy import leplat, levels, planted, real, stability
from benchmarks.parts import Benchmark

BENCHMARK = Benchmark(
    name="hierarchy",
    title="Hierarchies",
    text=(
        "Mean and deviation over seeds, on one thread, with processor seconds; deviations that round to zero, and those of fewer than three runs, are omitted. If five seeds would have taken too long, there are fewer (column `seeds`). The fits use no labels, and models get only the sizes of the "
        "layers unless their name contains other parameters. `DeepWSF` without labels is `DeepSemiNMF`. Numbers of several layers are in the order of the layers, "
        "the lowest first."
    ),
    parts={
        "planted": planted.PART,
        "real": real.PART,
        "leplat": leplat.PART,
        "levels": levels.PART,
        "stability": stability.PART,
    },
)

if __name__ == "__main__":
    BENCHMARK.main()
