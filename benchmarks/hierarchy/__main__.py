"""Measure a part of the benchmark, and write the page from all results so far."""

from benchmarks.hierarchy import leplat, levels, planted, real, stability
from benchmarks.parts import Benchmark

BENCHMARK = Benchmark(
    name="hierarchy",
    title="Hierarchies",
    text=(
        "The tables show the mean and the standard deviation over seeds. The fits run on one thread, and seconds are processor seconds. Deviations that round to zero, and those of fewer than three runs, are omitted. "
        "There are fewer than five seeds if five would have taken too long (column `seeds`). The fits use no labels, and models get only the sizes of the "
        "layers unless their name contains other parameters. `DeepWSF` without labels is the same as `DeepSemiNMF`. Numbers of several layers are in the order of the layers, "
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
