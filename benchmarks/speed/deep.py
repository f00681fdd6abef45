"""Complete fits of deep models against the published algorithms."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.page import named, table
from benchmarks.speed.options import Options
from benchmarks.speed.problems import Array, pie
from benchmarks.speed.solvers import reference
from benchmarks.speed.timing import Watch, geometric_mean, in_seconds, timed
from sklearn.decomposition._nmf import _initialize_nmf
from sklearn.utils.extmath import randomized_svd

from deepnmf import DeepNSNMF, DeepSemiNMF, SparseDeepNMF

TITLE = "Deep models against the published algorithms"
STOP = 1e-6  # of the Deep Semi-NMF paper: E before - E now <= STOP * max(1, E before), where E is the error ‖X - X̂‖
INNER = 10  # gradient steps per block; the papers do not give this number
PATIENCE = 3  # times the published seconds, after which a target is not reached

Iterate = Callable[[Array, list[Array]], tuple[Array, list[Array], list[float]]]


@dataclass(frozen=True)
class Published:
    """A transcription from `tests/reference`, with its pre-training of layers and one iteration of its fine-tuning."""

    model: Any
    pretrain: Callable[[Array, int], tuple[Array, list[Array]]]
    fine_tune: Callable[[Array], Iterate]

    def run(self, X: Array, pretraining: int, fine_tuning: int) -> tuple[float, int]:
        """Return the last loss and the number of fine-tuning iterations."""
        H, factors = self.pretrain(X, pretraining)
        iterate, losses = self.fine_tune(X), [np.inf]
        while len(losses) <= fine_tuning and not _settled(losses):
            H, factors, (loss,) = iterate(H, factors)
            losses.append(loss)
        return losses[-1], len(losses) - 1


def _settled(losses: list[float]) -> bool:
    """Return whether the errors meet the stopping criterion of the Deep Semi-NMF paper."""
    before, now = np.sqrt(2 * np.array([np.inf, *losses][-2:]))
    return bool(np.isfinite(before) and before - now <= STOP * max(1, before))


def nndsvd(X: Array, rank: int) -> tuple[Array, Array]:
    """Return the start of both papers with nonnegative factors."""
    return _initialize_nmf(X, rank, init="nndsvd", random_state=0)


def svd_codes(X: Array, rank: int) -> Array:
    """Return the start of the Deep Semi-NMF paper (Gillis & Kumar).

    Singular vectors become nonnegative by adding multiples of the first one.
    """
    U = randomized_svd(X, rank, random_state=0)[0]
    first = np.abs(U[:, :1])  # of one sign, because X is nonnegative
    lift = np.max(-U / np.maximum(first, np.finfo(float).tiny), axis=0)
    return np.hstack([first, U[:, 1:] + np.maximum(lift[1:], 0) * first])


def deep_semi_nmf(sizes: tuple[int, ...]) -> Published:
    """Return Algorithm 1 of Trigeorgis et al."""
    published = reference("deep_semi_nmf")
    return Published(
        DeepSemiNMF(sizes, random_state=0),
        lambda X, n_iter: published.pretrain(X, sizes, n_iter, svd_codes),
        lambda X: lambda H, factors: published.fine_tune(X, H, factors, 1),
    )


def deep_nsnmf(sizes: tuple[int, ...]) -> Published:
    """Return Algorithm 2 of Yu et al., with the same smoothing as our default."""
    published, model = reference("deep_nsnmf"), DeepNSNMF(sizes, random_state=0)
    theta = (model.theta,) * len(sizes)
    return Published(
        model,
        lambda X, n_iter: published.pretrain(X, sizes, theta, n_iter, INNER, nndsvd),
        lambda X: lambda H, factors: published.fine_tune(X, H, factors, theta, 1, INNER),
    )


def sparse_deep_nmf(sizes: tuple[int, ...]) -> Published:
    """Return Algorithms 1 and 2 of Guo & Zhang without a penalty (DNMF), which is our default."""
    published, none = reference("sparse_deep_nmf"), (0.0,) * len(sizes)
    return Published(
        SparseDeepNMF(sizes, random_state=0),
        lambda X, n_iter: published.pretrain(X, sizes, None, none, none, n_iter, INNER, nndsvd),
        lambda X: lambda H, factors: published.fine_tune(X, H, factors, None, none, none, 1, INNER),
    )


def compared(published: Published, X: Array, fine_tuning: int, options: Options) -> tuple[float, list[Any]]:
    """Return the ratio of the times, and the row of the table."""
    model = published.model.set_params(tol=0, max_iter=10**6)
    model.fit(X[:700], on_sweep=Watch(limit=0))  # compile
    (target, iterations), theirs = timed(lambda: published.run(X, options.published_pretraining, fine_tuning))
    fits = []
    for _ in range(options.repeats):
        watch, seconds = timed(_until(target, model, X, limit=PATIENCE * theirs))
        fits.append((seconds, watch))
    ours, watch = min(fits, key=lambda fit: fit[0])
    ratio = theirs / ours
    shown = f"{ratio:.1f}" if watch.reached else f"not reached ({ratio:.2f})"
    counted = [iterations, len(watch.losses)]
    return ratio, [named(model), f"{target:.6g}", *counted, in_seconds(theirs), in_seconds(ours), shown]


def _until(target: float, model: Any, X: Array, limit: float) -> Callable[[], Watch]:
    def run() -> Watch:
        watch = Watch(target, limit)
        model.fit(X, on_sweep=watch)
        return watch

    return run


def _description(options: Options) -> str:
    limits = ", ".join(str(limit) for limit in options.published_fine_tuning)
    return f"""\
The data are CMU PIE (2856 x 1024), with samples of unit norm in double precision. The published algorithms are the transcriptions of
`tests/reference` in NumPy on all cores. They run once, including pre-training, with the initializations of their papers: the SVD (Deep Semi-NMF)
and NNDSVD. They pre-train each layer for {options.published_pretraining} iterations, a number that no paper gives, and fine-tune until the relative decrease of the
error is at most {STOP:g}, for at most {limits} iterations (one limit for each model). This criterion, with at most 1000 iterations, is that of the Deep
Semi-NMF paper; the other papers give none. Blocks that are updated by gradient steps make {INNER} steps.

Their final objective is the target. Our time is that of a complete fit with default settings, including pre-training,
that is stopped at the target; the best of several runs counts. If we do not reach a target within {PATIENCE} times the published time, the table says "not reached"."""


def page(options: Options) -> str:
    """Measure, and return the page."""
    try:
        X = pie()
    except FileNotFoundError:
        return "The data of CMU PIE are missing."
    contenders = (deep_semi_nmf((625, 40)), deep_nsnmf((300, 160)), sparse_deep_nmf((600, 160, 40)))
    limits = zip(contenders, options.published_fine_tuning, strict=True)
    found = [compared(published, X, fine_tuning, options) for published, fine_tuning in limits]
    ratios = [ratio for ratio, _ in found]
    head = ["model", "½‖X - X̂‖²", "published iterations", "our sweeps", "published time", "our time", "speedup"]
    return "\n\n".join(
        [
            _description(options),
            table(head, [row for _, row in found]),
            f"The geometric mean of the speedups is {geometric_mean(ratios):.1f}, and the smallest is {min(ratios):.1f}.",
        ]
    )
