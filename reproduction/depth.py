"""Does depth help? Deep models with one to four layers and the same top layer, compared without choices by labels."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from deepnmf import DeepNMF, DeepNSNMF, DeepSemiNMF, MultilayerNMF, SparseDeepNMF
from deepnmf.datasets import make_hierarchy
from deepnmf.metrics import matched_cosine
from reproduction.contenders import relative_error
from reproduction.depth_page import MEASURES, PARTS, page
from reproduction.experiment import Array, Data, Experiment, Matrix, Plan, Row, Trial
from reproduction.protocols import RESTARTS, scores

__all__ = ["EXPERIMENTS", "layer_sizes"]

SEEDS = 5
DEPTHS = (1, 2, 3, 4)
WIDER = 4  # ratio of the lowest layer to the top layer
HIDDEN = 0.1  # share of the entries
FOLDS = 5
FEWEST_DOCUMENTS = 10  # in which a word must occur
MODELS: dict[str, Any] = {cls.__name__: cls for cls in (MultilayerNMF, DeepNSNMF, SparseDeepNMF, DeepSemiNMF, DeepNMF)}
PLANTED = {"planted, two levels": 2, "planted, three levels": 3}
PLANTED_TOP, PLANTED_ROWS = 6, 500


class Problem(NamedTuple):
    """Rows, their labels, the size of the top layer, and the true features of each layer; unknown parts are None."""

    X: Matrix
    y: Array | None
    top: int
    truth: list[Array] | None


def layer_sizes(depth: int, top: int, shape: tuple[int, int]) -> tuple[int, ...]:
    """Return layer sizes in a geometric series down to the top layer.

    The lowest layer has four times the size of the top layer, but at most half of the number of rows or columns.

    Examples
    --------
    >>> [layer_sizes(depth, 6, (1000, 400)) for depth in (1, 2, 3, 4)]
    [(6,), (24, 6), (24, 12, 6), (24, 15, 10, 6)]
    >>> layer_sizes(2, 10, (1797, 64))
    (32, 10)
    """
    widest = max(top, min(WIDER * top, min(shape) // 2))
    return (*np.geomspace(widest, top, depth).round().astype(int).tolist()[: depth - 1], top)


# -------------------------------------------------------------------------------------------------------------- data


def _digits(step: int) -> Callable[[Data], Problem]:
    def read(data: Data) -> Problem:
        X, y = load_digits(return_X_y=True)
        return Problem(normalize(X[::step]), y[::step], 10, None)

    return read


def _faces(name: str, step: int) -> Callable[[Data], Problem]:
    """Return a reader of every `step`-th face, with means of 2 x 2 pixels, which makes fits four times faster."""

    def read(data: Data) -> Problem:
        bunch = data[name]
        height, width = (int(side) // 2 for side in bunch.image_shape)
        means = bunch.data[::step].reshape(-1, height, 2, width, 2).mean(axis=(2, 4))
        return Problem(
            normalize(means.reshape(len(means), -1)), bunch.target[::step], len(np.unique(bunch.target)), None
        )

    return read


def _words(name: str, step: int) -> Callable[[Data], Problem]:
    def read(data: Data) -> Problem:
        bunch = data[name]
        counts = sparse.csr_array(bunch.data)[::step]
        often = np.bincount(counts.indices, minlength=counts.shape[1]) >= FEWEST_DOCUMENTS
        X = TfidfTransformer().fit_transform(counts[:, often])
        return Problem(X, bunch.target[::step], len(np.unique(bunch.target)), None)

    return read


def _pixels(name: str, step: int) -> Callable[[Data], Problem]:
    """Return a reader of spectra; the class of a pixel is the material with the largest share."""

    def read(data: Data) -> Problem:
        bunch = data[name]
        shares = bunch.abundances[::step]
        return Problem(bunch.data[::step] / float(bunch.scale), shares.argmax(axis=1), shares.shape[1], None)

    return read


SMALL: dict[str, Callable[[Data], Problem]] = {
    "digits, every third": _digits(3),
    "BBC, every third document": _words("bbc_news", 3),
    "Samson, every 16th pixel": _pixels("samson_95x95", 16),
}
LARGE: dict[str, Callable[[Data], Problem]] = {
    "digits": _digits(1),
    "ORL": _faces("orl_32x32", 1),
    "PIE, every eighth face": _faces("pie_pose27", 8),
    "BBC": _words("bbc_news", 1),
    "TDT2, every sixth document": _words("tdt2_30", 6),
    "Samson, every fourth pixel": _pixels("samson_95x95", 4),
}


def _problem(name: str, seed: int, data: Data) -> Problem:
    if name not in PLANTED:
        return (SMALL | LARGE)[name](data)
    sizes = layer_sizes(PLANTED[name], PLANTED_TOP, (PLANTED_ROWS, 400))
    planted = make_hierarchy(PLANTED_ROWS, sizes, random_state=1000 + seed)
    return Problem(planted.data, None, PLANTED_TOP, planted.features)


# ---------------------------------------------------------------------------------------------------------- measures


def _trials(real: Iterable[str], plan: Plan) -> list[Trial]:
    names = [*real, *PLANTED]
    sets = [names[0], "planted, two levels"] if plan.quick else names
    models = ("MultilayerNMF", "DeepNMF") if plan.quick else MODELS
    return [
        {"data": name, "model": model, "depth": depth, "seed": seed}
        for name, model, depth, seed in product(sets, models, plan.some(DEPTHS), plan.repeats(SEEDS))
    ]


def _run(trial: Trial, data: Data, plan: Plan) -> Iterator[Row]:
    depth, seed = int(trial["depth"]), int(trial["seed"])
    X, y, top, truth = _problem(str(trial["data"]), seed, data)
    sizes = layer_sizes(depth, top, X.shape)
    few = {"max_iter": 3} if plan.quick else {}

    def fitted(rows: Matrix) -> Any:
        return MODELS[str(trial["model"])](sizes, random_state=seed, **few).fit(rows)

    model = fitted(X)
    row: Row = {"sizes": ", ".join(map(str, sizes)), "stability": _stability(fitted, X, seed)}
    row |= {"explained": _explained(model, X)[-1], "by_layer": " / ".join(f"{s:.3f}" for s in _explained(model, X))}
    if y is not None:
        row |= {"probe": _probe(model.codes_[-1], y, seed)}
        row |= {
            name: value
            for name, value in scores(model.codes_[-1], y, seed, plan.size(RESTARTS, 2)).items()
            if name in MEASURES
        }
    if truth is not None:
        row |= {"recovery": matched_cosine(model.features_[-1], truth[-1])}
        row |= {PARTS: matched_cosine(model.features_[0], truth[0])} if depth > 1 else {}
    if not sparse.issparse(X):
        row |= {"hidden": _hidden(fitted, X, seed)}
    yield row


def _explained(model: Any, X: Matrix) -> list[float]:
    """Return the share of ‖X‖² that each layer explains."""
    if len(model.factors_) == 1:
        return [1 - relative_error(model, X) ** 2]
    return [layer.share_of_squares for layer in model.hierarchy_]


def _probe(codes: Array, y: Array, seed: int) -> float:
    """Return the accuracy of a linear classifier on held-out rows; the codes were fitted to all rows without labels."""
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    return float(cross_val_score(probe, codes, y, cv=folds).mean())


def _hidden(fitted: Callable[[Matrix], Any], X: Array, seed: int) -> float:
    """Return the R² of the top layer on hidden entries, relative to the column means of the observed entries."""
    hidden = np.random.default_rng(seed).random(X.shape) < HIDDEN
    seen = np.where(hidden, np.nan, X)
    model = fitted(seen)
    means = np.broadcast_to(np.nanmean(seen, axis=0), X.shape)
    predicted = model.inverse_transform(model.codes_[-1])
    return float(1 - np.sum((X - predicted)[hidden] ** 2) / np.sum((X - means)[hidden] ** 2))


def _stability(fitted: Callable[[Matrix], Any], X: Matrix, seed: int) -> float:
    """Return the mean cosine between the matched top features of fits to two halves of the rows."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    features: Sequence[Array] = [fitted(X[np.sort(half)]).features_[-1] for half in halves]
    return matched_cosine(*features)


EXPERIMENTS = (
    Experiment(
        name="depth",
        title="Beyond the papers: does depth help?",
        data=("bbc_news", "samson_95x95"),
        trials=partial(_trials, SMALL),
        run=_run,
        page=page,
    ),
    Experiment(
        name="depth-large",
        title="Beyond the papers: does depth help, on larger data?",
        data=("orl_32x32", "pie_pose27", "bbc_news", "tdt2_30", "samson_95x95"),
        trials=partial(_trials, LARGE),
        run=_run,
        page=page,
    ),
)
