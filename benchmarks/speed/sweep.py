"""The cost of a sweep, in units of the two products with X that every algorithm needs."""

from typing import Any

import numpy as np
from benchmarks.page import named, table
from benchmarks.speed.options import Options
from benchmarks.speed.problems import PROBLEMS, Array, low_rank, pie
from benchmarks.speed.timing import Watch, in_seconds, interleaved

from deepnmf import NMF, DeepNSNMF, DeepSemiNMF, SparseDeepNMF

TITLE = "What a sweep costs"
SWEEPS = 30
PRODUCTS = 20  # number of runs, of which the best counts
SETTINGS = {"tol": 0, "random_state": 0}
SHORT = {**SETTINGS, "pretrain_max_iter": 2}


def watched(model: Any, X: Array, sweeps: int = SWEEPS) -> Watch:
    """Fit a model for a number of sweeps, and return the watch with their times."""
    watch = Watch()
    model.set_params(max_iter=sweeps).fit(X, on_sweep=watch)
    return watch


def two_products(X: Array, width: int) -> float:
    """Return the seconds of XDᵀ and HᵀX with NumPy's BLAS on all cores."""
    rng = np.random.default_rng(0)
    D, H = (rng.random(shape).astype(X.dtype) for shape in ((width, X.shape[1]), (X.shape[0], width)))
    best = interleaved({"codes": lambda: X @ D.T, "features": lambda: H.T @ X}, PRODUCTS)
    return sum(best.values())


def against_products(name: str, X: Array, model: Any, width: int, repeats: int) -> list[str]:
    """Return a row with the best times of the products and of a sweep, which are measured in turn."""
    rounds = [(two_products(X, width), watched(model, X).sweep) for _ in range(repeats)]
    products, sweep = (min(times) for times in zip(*rounds, strict=True))
    return [name, named(model), in_seconds(products), in_seconds(sweep), f"{sweep / products:.2f}"]


def against_shallow(n_samples: int, repeats: int) -> list[list[str]]:
    """Return rows with a sweep of deep models relative to a sweep of one layer that is as wide as their top layer."""
    X = low_rank(n_samples, 1024, 60)
    sizes = (300, 40)
    models = [NMF(sizes[-1], **SETTINGS), *(kind(sizes, **SHORT) for kind in (DeepSemiNMF, DeepNSNMF, SparseDeepNMF))]
    shallow, *deep = np.min([[watched(model, X).sweep for model in models] for _ in range(repeats)], axis=0)
    return [
        [
            n_samples,
            named(model),
            in_seconds(shallow),
            in_seconds(sweep),
            f"{sweep / shallow:.2f}",
        ]
        for model, sweep in zip(models[1:], deep, strict=True)
    ]


def page(options: Options) -> str:
    """Measure, and return the page."""
    dense, _ = PROBLEMS["dense"]()
    rows = [against_products("`dense`", dense, NMF(40, **SETTINGS), 40, options.repeats)]
    try:
        faces = pie()
    except FileNotFoundError:
        absent = "The data of CMU PIE are missing."
    else:
        absent = ""
        for model in (
            DeepSemiNMF((625, 40), **SHORT),
            DeepNSNMF((300, 160), **SHORT),
            SparseDeepNMF((300, 160), **SHORT),
            SparseDeepNMF((600, 160, 40), **SHORT),
        ):
            rows.append(against_products("CMU PIE", faces, model, model.layer_sizes[-1], options.repeats))
    return "\n\n".join(
        [
            "A sweep updates every factor and the codes once, and needs at least the products XDᵀ and HᵀX, where D and H are as wide as the "
            "top layer. The products are timed separately with NumPy's BLAS on all cores, and the best of many runs counts. The time of a sweep is the "
            f"median time between two calls of `on_sweep` over {SWEEPS} sweeps in double precision, in the best of several fits.",
            table(["data", "model", "two products", "sweep", "sweep / products"], rows)
            + ("\n\n" + absent if absent else ""),
            "## Deep against shallow",
            "The table shows the time of a sweep of a deep model relative to a sweep of an `NMF` that is as wide as its top layer, for a synthetic X of 1024 features.",
            table(
                ["samples", "model", "sweep of `NMF(40)`", "sweep of the model", "ratio"],
                [row for n in (16_000, 32_000) for row in against_shallow(n, options.repeats)],
            ),
        ]
    )
