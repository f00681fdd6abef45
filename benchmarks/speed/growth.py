"""How time grows with the number of samples and of layers."""

from typing import Any

import numpy as np
from benchmarks.page import named, table
from benchmarks.speed.options import Options
from benchmarks.speed.problems import low_rank, pie
from benchmarks.speed.sweep import SETTINGS, SHORT, watched
from benchmarks.speed.timing import in_seconds, interleaved

from deepnmf import NMF, DeepNSNMF

TITLE = "How time grows"
SAMPLES = (2000, 4000, 8000, 16_000)
DEPTHS = ((40,), (80, 40), (160, 80, 40), (320, 160, 80, 40), (640, 320, 160, 80, 40))
SWEEPS = 30


def with_samples(model: Any, repeats: int) -> list[list[Any]]:
    """Return rows for complete fits with a fixed number of sweeps, on increasing numbers of samples."""
    X = low_rank(max(SAMPLES), 512, 60)
    model.set_params(max_iter=SWEEPS).fit(X[:200])
    runs = {str(n): lambda n=n: model.fit(X[:n]) for n in SAMPLES}
    seconds = list(interleaved(runs, repeats).values())
    ratios = zip(SAMPLES, seconds, strict=True)
    return [[named(model), n, in_seconds(t), f"{n / SAMPLES[0]:.0f}", f"{t / seconds[0]:.2f}"] for n, t in ratios]


def with_depth(repeats: int) -> list[list[Any]]:
    """Return rows for a sweep of models with more and more layers below the same top layer."""
    X = pie()
    models = [DeepNSNMF(sizes, **SHORT) for sizes in DEPTHS]
    best = np.min([[watched(model, X).sweep for model in models] for _ in range(repeats)], axis=0)
    return [
        [len(sizes), f"`{sizes}`", in_seconds(sweep), f"{sweep / best[0]:.2f}"]
        for sizes, sweep in zip(DEPTHS, best, strict=True)
    ]


def page(options: Options) -> str:
    """Measure, and return the page."""
    models = (NMF(40, **SETTINGS), DeepNSNMF((100, 40), **SHORT))
    try:
        depth = table(["layers", "sizes", "sweep", "ratio to one layer"], with_depth(options.repeats))
    except FileNotFoundError:
        depth = "The data of CMU PIE are missing."
    return "\n\n".join(
        [
            "## With the number of samples",
            f"The data are synthetic, with 512 features in double precision, and the models make {SWEEPS} sweeps. The table shows the seconds of a complete `fit`, the best of "
            "several; fits of different numbers of samples alternate.",
            table(
                ["model", "samples", "fit", "ratio of samples", "ratio of seconds"],
                [row for model in models for row in with_samples(model, options.repeats)],
            ),
            "## With depth",
            "The data are CMU PIE, with samples of unit norm in double precision. The table shows the median time of a sweep of `DeepNSNMF`, the best of "
            "several fits.",
            depth,
        ]
    )
