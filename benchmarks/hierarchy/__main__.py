"""Measure a part of the benchmark, and write the page from all that has been measured."""

from benchmarks.hierarchy import leplat, levels, planted, real, stability
from benchmarks.parts import Benchmark

BENCHMARK = Benchmark(
    name="hierarchy",
    title="Hierarchies",
    text=(
        "Mean and deviation over seeds, on one thread, with processor seconds; deviations that round to zero, and those of fewer than three runs, are left out. Where five seeds would have taken too long there are fewer, as the column `seeds` says. No labels are used in the fits, and no parameter but the sizes of the "
        "layers is given to a model unless its name says so. `DeepWSF` without labels is `DeepSemiNMF`. Numbers of several layers stand in the order of the layers, "
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
