"""Summaries of the layers of a deep model: how much each layer explains, and which features are dead or copies."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from deepnmf.arrays import Array
from deepnmf.engines import Engine, is_streamed, make_engine
from deepnmf.engines.sampling import spaced
from deepnmf.models.input_data import Observed
from deepnmf.objective.divergences import explained_share
from deepnmf.solvers.problem import Problem

COPY = 0.9  # a feature is a copy if its cosine with one feature of the layer below exceeds this
MOST_ROWS, MOST_ACTIVATED_ROWS = 500, 100  # to encode; a row of a model with an activation takes ten times as long
MOST_CODES = 50_000  # of the rows of a layer: 600 codes of a row take 50 times as long as 100
MOST_ENTRIES, FEWEST_ROWS = 2**23, 50  # to read into memory when the rows are not there
LARGE_SHARE = 0.2  # of dead features and copies in a layer; more of them cause a warning


class HierarchyWarning(UserWarning):
    """Many features of a deep model are dead, or copies of one feature of the layer below.

    Examples
    --------
    >>> import warnings
    >>> import deepnmf
    >>> warnings.simplefilter("ignore", deepnmf.HierarchyWarning)
    """


@dataclass(frozen=True)
class LayerSummary:
    """Summary of one layer of a deep model; ``model.hierarchy_`` has one for each layer, the lowest first.

    Parameters
    ----------
    layer : int
        The number of the layer, from 1.
    size : int
        The number of its features.
    explained : float
        The share that the features of this layer alone explain beyond the baseline of `score`, with the codes that
        minimize the loss of the model without penalties or smoothing. The baseline is the column means for squared
        error, and row total times column share for Kullback-Leibler. The share is computed from at most 500 evenly
        spaced training rows (100 for layers above an activation; 83 for a layer of 600 features), which makes it
        accurate to about 0.01. It is NaN after the second batch of `partial_fit`, and for models saved by versions
        without this summary.
    share_of_squares : float
        The same with 0 as the baseline: 1 - ‖X - X̂‖² / ‖X‖². NaN for losses other than squared error.
    dead : int
        The number of features that are zero or, in the top layer, that no sample uses.
    copies : int
        The number of features whose cosine with one feature of the layer below is more than 0.9, in input space; 0 for
        the lowest layer.
    parts : float
        The mean number of parts that a feature is made of, without dead features: the exponential of the entropy of
        its contributions, which are the weights in its row of the factor times the norms of the features below. It is
        1 for the lowest layer.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import MultilayerNMF
    >>> model = MultilayerNMF((20, 5), random_state=0).fit(load_digits().data)
    >>> parts, wholes = model.hierarchy_
    >>> wholes.size, wholes.dead, wholes.copies
    (5, 0, 0)
    >>> parts.explained > wholes.explained
    True
    """

    layer: int
    size: int
    explained: float
    share_of_squares: float
    dead: int
    copies: int
    parts: float

    @property
    def is_poor(self) -> bool:
        """Whether more than a fifth of the features are dead or copies."""
        return self.dead + self.copies > LARGE_SHARE * self.size


# -------------------------------------------------------------------------------- the figures of a layer


def layer_summaries(model: Any) -> list[LayerSummary]:
    """Return a summary of each layer of a fitted model with two or more layers."""
    features, explained, squares = model.features_, model._explained, model._shares_of_squares
    if len(features) == 1:
        raise AttributeError(f"This {type(model).__name__} has one layer: hierarchy_ is for two or more.")
    return [
        LayerSummary(
            layer=layer + 1,
            size=len(C),
            explained=math.nan if explained is None else explained[layer],
            share_of_squares=math.nan if squares is None else squares[layer],
            dead=dead,
            copies=0 if layer == 0 else n_copies(C, features[layer - 1]),
            parts=1.0 if layer == 0 else n_parts(contributions(model._learned, layer)),
        )
        for layer, (C, dead) in enumerate(zip(features, n_dead(model), strict=True))
    ]


def n_dead(model: Any) -> list[int]:
    """Return the number of features per layer that are zero or, in the top layer, that no sample uses."""
    alive = [np.any(C, axis=1) for C in model.features_]
    alive[-1] = alive[-1] & np.asarray(model.codes_[-1].any(axis=0))
    fixed = getattr(model, "fixed_components_", None)
    if fixed is not None:
        alive[0][: len(fixed)] |= ~np.isnan(fixed).any(axis=1)
    return [int(np.count_nonzero(~layer)) for layer in alive]


def n_copies(features: Array, below: Array) -> int:
    """Return the number of features that have nearly the direction of one feature of the layer below.

    Examples
    --------
    >>> import numpy as np
    >>> n_copies(np.array([[1.0, 1.0], [0.1, 5.0]]), np.eye(2))
    1
    """
    cosines = normalize(features) @ normalize(below).T
    return int(np.count_nonzero(cosines.max(axis=1, initial=0) > COPY))


def contributions(learned: Any, layer: int) -> Array:
    """Return |Z_l[j, i]| times the norm of feature i of the layer below in input space."""
    return np.abs(np.asarray(learned.factors[layer], dtype=np.float64)) * learned.part_norms(layer - 1)


def n_parts(contributed: Array) -> float:
    """Return the mean over nonzero rows of the exponential of the entropy of their shares; 0 if all rows are zero.

    Examples
    --------
    >>> import numpy as np
    >>> n_parts(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]]))
    1.5
    """
    totals = contributed.sum(axis=1, keepdims=True)
    alive = totals[:, 0] > 0
    if not alive.any():
        return 0.0
    shares = contributed[alive] / totals[alive]
    entropies = -np.sum(shares * np.log(shares, where=shares > 0, out=np.zeros_like(shares)), axis=1)
    return float(np.mean(np.exp(entropies)))


class LayerShares(NamedTuple):
    """The share that each layer explains, the lowest first: beyond the baseline, and of ‖X‖² for squared error."""

    explained: list[float]
    of_squares: list[float] | None


def layer_shares(problem: Problem, learned: Any, data: Observed, engine: Engine) -> LayerShares:
    """Return the share that each layer explains with its best codes, from a sample of the rows of `data`."""
    most = [min(MOST_ROWS, max(FEWEST_ROWS, MOST_CODES // len(Z))) for Z in learned.factors]
    if not problem.is_linear:
        most = [most[0], *(min(MOST_ACTIVATED_ROWS, own) for own in most[1:])]
    samples = {own: sampled(data, engine, own, nonnegative=problem.nonnegative) for own in set(most)}
    passes = [samples[own] for own in most]
    errors = [learned.best_error(engine, layer) for layer, engine in enumerate(passes)]
    explained = [learned.explained(engine, error) for engine, error in zip(passes, errors, strict=True)]
    if not learned.divergence.is_squared_error:
        return LayerShares(explained, None)
    return LayerShares(explained, [share_of_squares(one, error) for one, error in zip(passes, errors, strict=True)])


def sampled(data: Observed, engine: Engine, most: int, *, nonnegative: bool) -> Engine:
    """Return an engine over at most `most` evenly spaced rows; over fewer if the rows are long and not in memory."""
    if is_streamed(data.X):
        most = min(most, max(FEWEST_ROWS, MOST_ENTRIES // engine.n_features))
    step = math.ceil(engine.n_samples / most)
    if step == 1:
        return engine
    weight = None if data.weight is None else spaced(data.weight, step)
    row_weights = None if data.row_weights is None else data.row_weights[::step]
    X, workers = spaced(data.X, step), engine.workers
    return make_engine(X, weight, row_weights, workers=workers, nonnegative=nonnegative, unit=engine.unit)


def share_of_squares(engine: Engine, error: float) -> float:
    """Return 1 - ‖X - X̂‖² / ‖X‖², the share explained beyond the baseline 0."""
    return explained_share(error**2, engine.sqnorm, engine.sqnorm)


# --------------------------------------------------------------------------------------- output for users

STOP_REASONS = {
    "decrease": "the loss no longer decreased",
    "optimality": "an optimum was reached",
    "max_iter": "max_iter was reached",
    "interrupted": "the fit was interrupted",
    "on_sweep": "on_sweep requested the stop",
}
HEADINGS = ("layer", "size", "explained", "dead", "copies", "parts")


def cells(summary: LayerSummary) -> tuple[str, ...]:
    """Return the figures of a layer as text, in the order of `HEADINGS`."""
    explained = "–" if math.isnan(summary.explained) else f"{100 * summary.explained:.1f} %"
    numbers = (summary.layer, summary.size, explained, summary.dead, summary.copies, f"{summary.parts:.1f}")
    return tuple(map(str, numbers))


def fit_html(model: Any) -> str:
    """Return the duration, the stop reason and the layers of the fit as HTML; an empty text before a fit."""
    if not hasattr(model, "factors_"):
        return ""
    n_iter, dead = model.n_iter_, sum(model.n_dead_)
    duration = "" if model._seconds is None else f" in {model._seconds:.1f} s"
    reason = STOP_REASONS.get(model.stop_reason_, model.stop_reason_)
    stop = f"{n_iter} sweep{'' if n_iter == 1 else 's'}{duration}; {reason}."
    unused = f" {dead} feature{' is' if dead == 1 else 's are'} dead." if dead else " No feature is dead."
    return f"<p>{html.escape(stop + unused)}</p>{html_table(getattr(model, 'hierarchy_', []))}"


def html_table(hierarchy: Sequence[LayerSummary]) -> str:
    """Return the summaries as an HTML table; an empty text if there are none."""
    if not hierarchy:
        return ""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in HEADINGS)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells(one))}</tr>" for one in hierarchy)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def warning_text(model: Any) -> str | None:
    """Return a warning about layers with many dead features or copies; None if there are no such layers."""
    poor = [one for one in getattr(model, "hierarchy_", []) if one.is_poor]
    if not poor:
        return None
    found = "; ".join(f"layer {one.layer}: {one.dead} dead and {one.copies} copied of {one.size}" for one in poor)
    return (
        f"{type(model).__name__} has many features that are dead or copied from one feature below ({found}; see "
        f"hierarchy_). {_remedy(model)}"
    )


def _remedy(model: Any) -> str:
    if type(model).__name__ == "DeepNMF":
        return "Consider a smaller layer."
    weights = ", layer_weights" if "layer_weights" in model.get_params(deep=False) else ""
    return f"Consider DeepNMF{weights} or a smaller layer."
