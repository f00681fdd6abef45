"""What the hierarchy of a deep model is like: how much each layer explains, and whether its features are of any use."""

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

COPY = 0.9  # the cosine with one feature below above which a feature is a copy of it
MOST_ROWS, MOST_ACTIVATED_ROWS = 500, 100  # that are encoded; above an activation a row takes about ten times as long
MOST_ENTRIES, FEWEST_ROWS = 2**23, 50  # of rows that are not in memory, which are read into it
LARGE_SHARE = 0.2  # of the features of a layer, above which dead ones and copies are worth a warning


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
    """What one layer of a deep model is like; ``model.hierarchy_`` has one for each layer, the lowest first.

    Parameters
    ----------
    layer : int
        The number of the layer, from 1.
    size : int
        The number of its features.
    explained : float
        The share that the features of this layer alone explain with their best codes by the loss of the model, without
        penalties or smoothing, beyond the same baseline as `score`: beyond the column means for squared error, beyond
        row total times column share under Kullback-Leibler. It is computed from at most 500 training rows, evenly
        spaced, and is then accurate to about 0.01; for layers above an activation from 100. NaN after the second batch
        of `partial_fit`, and for models that were saved before there were such summaries.
    share_of_squares : float
        The same for squared error, beyond 0 instead of the column means: 1 - ‖X - X̂‖² / ‖X‖². NaN under other losses.
    dead : int
        The number of features that are zero or, on top, in no sample's codes.
    copies : int
        The number of features whose cosine with one feature of the layer below is more than 0.9, in input space; 0 for
        the lowest layer.
    parts : float
        The mean number of parts that a feature is made of: the exponential of the entropy of its contributions, which
        are the weights of its row of the factor times the norms of the features below. Dead features do not count. 1
        for the lowest layer.

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


class LayerSummaries:
    """Gives a model `hierarchy_`, and shows how the fit went below the diagram of scikit-learn."""

    features_: list[Array]
    codes_: list[Array]
    _learned: Any
    _explained: Sequence[float] | None = None  # by layer, where the fit has measured it
    _shares_of_squares: Sequence[float] | None = None
    _seconds: float | None = None  # that the fit took, where it was in this process

    @property
    def n_dead_(self) -> list[int]:
        """How many features of each layer add nothing: they are zero or, on top, in no sample's codes.

        Components that were fixed do not count.
        """
        alive = [np.any(C, axis=1) for C in self.features_]
        alive[-1] = alive[-1] & np.asarray(self.codes_[-1].any(axis=0))
        fixed = getattr(self, "fixed_components_", None)
        if fixed is not None:
            alive[0][: len(fixed)] |= ~np.isnan(fixed).any(axis=1)
        return [int(np.count_nonzero(~layer)) for layer in alive]

    @property
    def hierarchy_(self) -> list[LayerSummary]:
        """A `LayerSummary` for each layer, the lowest first; for models with two or more layers."""
        features = self.features_
        if len(features) == 1:
            raise AttributeError(f"This {type(self).__name__} has one layer: hierarchy_ is for two or more.")
        return [
            LayerSummary(
                layer=layer + 1,
                size=len(C),
                explained=math.nan if self._explained is None else self._explained[layer],
                share_of_squares=math.nan if self._shares_of_squares is None else self._shares_of_squares[layer],
                dead=dead,
                copies=0 if layer == 0 else n_copies(C, features[layer - 1]),
                parts=1.0 if layer == 0 else n_parts(contributions(self._learned, layer)),
            )
            for layer, (C, dead) in enumerate(zip(features, self.n_dead_, strict=True))
        ]

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + fit_html(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += fit_html(self)
        return bundle


# -------------------------------------------------------------------------------- the figures of a layer


def n_copies(features: Array, below: Array) -> int:
    """How many features point in the direction of one feature of the layer below.

    Examples
    --------
    >>> import numpy as np
    >>> n_copies(np.array([[1.0, 1.0], [0.1, 5.0]]), np.eye(2))
    1
    """
    cosines = normalize(features) @ normalize(below).T
    return int(np.count_nonzero(cosines.max(axis=1, initial=0) > COPY))


def contributions(learned: Any, layer: int) -> Array:
    """|Z_l[j, i]| times the norm of what feature i of the layer below adds to the data."""
    return np.abs(np.asarray(learned.factors[layer], dtype=np.float64)) * learned.part_norms(layer - 1)


def n_parts(contributed: Array) -> float:
    """The mean over rows that are not zero of the exponential of the entropy of their shares; 0 if all are zero.

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
    """What each layer explains, the lowest first: beyond the baseline, and of ‖X‖² if that is the loss."""

    explained: list[float]
    of_squares: list[float] | None


def layer_shares(problem: Problem, learned: Any, data: Observed, engine: Engine) -> LayerShares:
    """What each layer explains of some of the engine's rows, which are `data`, with its best codes."""
    first = above = sampled(data, engine, MOST_ROWS, nonnegative=problem.nonnegative)
    if not problem.is_linear:
        above = sampled(data, engine, MOST_ACTIVATED_ROWS, nonnegative=problem.nonnegative)
    passes = [above if layer else first for layer in range(len(learned.factors))]
    errors = [learned.best_error(engine, layer) for layer, engine in enumerate(passes)]
    explained = [learned.explained(engine, error) for engine, error in zip(passes, errors, strict=True)]
    if not learned.divergence.is_squared_error:
        return LayerShares(explained, None)
    return LayerShares(explained, [share_of_squares(one, error) for one, error in zip(passes, errors, strict=True)])


def sampled(data: Observed, engine: Engine, most: int, *, nonnegative: bool) -> Engine:
    """What passes over at most so many of the engine's rows, evenly spaced; over fewer if long ones are to be read."""
    if is_streamed(data.X):
        most = min(most, max(FEWEST_ROWS, MOST_ENTRIES // engine.n_features))
    step = math.ceil(engine.n_samples / most)
    if step == 1:
        return engine
    weight = None if data.weight is None else spaced(data.weight, step)
    X, workers = spaced(data.X, step), engine.workers
    return make_engine(X, weight, workers=workers, nonnegative=nonnegative, unit=engine.unit)


def share_of_squares(engine: Engine, error: float) -> float:
    """1 - ‖X - X̂‖² / ‖X‖²: the share explained where the baseline is 0."""
    return explained_share(error**2, engine.sqnorm, engine.sqnorm)


# ------------------------------------------------------------------------------------ what a user is shown

STOP_REASONS = {
    "decrease": "the loss no longer decreased",
    "optimality": "an optimum was reached",
    "max_iter": "max_iter was reached",
    "interrupted": "it was interrupted",
    "on_sweep": "on_sweep requested it",
}
HEADINGS = ("layer", "size", "explained", "dead", "copies", "parts")


def cells(summary: LayerSummary) -> tuple[str, ...]:
    """The figures of a layer as text, in the order of `HEADINGS`."""
    explained = "–" if math.isnan(summary.explained) else f"{100 * summary.explained:.1f} %"
    numbers = (summary.layer, summary.size, explained, summary.dead, summary.copies, f"{summary.parts:.1f}")
    return tuple(map(str, numbers))


def fit_html(model: Any) -> str:
    """How the fit went as HTML: how long it took, why it stopped, and what each layer is like; nothing before a fit."""
    if not hasattr(model, "factors_"):
        return ""
    n_iter, dead = model.n_iter_, sum(model.n_dead_)
    duration = "" if model._seconds is None else f" in {model._seconds:.1f} s"
    reason = STOP_REASONS.get(model.stop_reason_, model.stop_reason_)
    stop = f"{n_iter} sweep{'' if n_iter == 1 else 's'}{duration}; {reason}."
    unused = f" {dead} feature{' is' if dead == 1 else 's are'} dead." if dead else " No feature is dead."
    return f"<p>{html.escape(stop + unused)}</p>{html_table(getattr(model, 'hierarchy_', []))}"


def html_table(hierarchy: Sequence[LayerSummary]) -> str:
    """The summaries as an HTML table; nothing if there are none."""
    if not hierarchy:
        return ""
    head = "".join(f'<th scope="col">{heading}</th>' for heading in HEADINGS)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells(one))}</tr>" for one in hierarchy)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def warning_text(model: Any) -> str | None:
    """A sentence about layers with many dead features or copies, and what helps; None if there are no such layers."""
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
