"""Figures of a fit: the loss, and a map of the codes."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array, Matrix
from deepnmf.labels import UNKNOWN
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.embedding import embedding
from deepnmf.plotting.sample_groups import ClassNames, Groups, label_or_cluster_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --------------------------------------------------------------------------------------------- style


ACCENT = "#0f6b8f"
FAINT = "0.8"
TITLE_SIZE, LABEL_SIZE = 9, 8
# Paul Tol's bright scheme, which color-blind readers can distinguish; markers change when the colors repeat.
CATEGORIES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377")
MARKERS = ("o", "s", "^", "D")


def figure_with_panel(width: float, height: float) -> tuple["Figure", "Axes"]:
    """Return a figure of a size in inches with one panel, without the upper and right axis lines."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - so that importing deepnmf is fast

    figure = Figure(figsize=(width, height), layout="constrained")
    panel = figure.add_subplot()
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=LABEL_SIZE)
    return figure, panel


# ------------------------------------------------------------------------------------------ the loss


WIDE_RANGE = 20  # a loss that decreases by a larger factor has a logarithmic axis


def plot_loss(model: Factorization) -> "Figure":
    """Plot the loss after each sweep (iteration) of the fine-tuning.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``; it is not registered with pyplot.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import NMF, plot_loss
    >>> model = NMF(10, random_state=0, tol=1e-2).fit(load_digits().data)
    >>> (panel,) = plot_loss(model).axes
    >>> len(panel.lines[0].get_xdata()) == model.n_iter_
    True
    """
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - so that importing deepnmf is fast

    check_is_fitted(model)
    losses = np.asarray(model.loss_curve_)
    figure, panel = figure_with_panel(6.0, 3.2)
    panel.plot(1 + np.arange(len(losses)), losses, color=ACCENT, linewidth=1.5, marker="." if len(losses) < 30 else "")
    if losses.size and losses.min() > 0 and losses.max() > WIDE_RANGE * losses.min():
        panel.set_yscale("log")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("sweep", fontsize=LABEL_SIZE)
    loss = model._learned.divergence
    panel.set_ylabel("loss" if loss.is_squared_error else f"loss ({loss.title})", fontsize=LABEL_SIZE)
    title = f"{type(model).__name__}: {model.n_iter_} sweeps, stopped by {model.stop_reason_}"
    panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
    return figure


# ------------------------------------------------------------------------------------------- the map


LARGEST_LEGEND = 24  # the number of distinct pairs of color and marker
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"


def plot_codes(
    model: Factorization,
    X: Matrix,
    y: Any = None,
    *,
    layer: int = -1,
    color: int | Sequence[float] | None = None,
    class_names: ClassNames = None,
) -> "Figure":
    """Plot the codes of a layer in two dimensions, colored by label, by a feature, or by given values.

    The map is computed by t-SNE with a fixed seed; by PCA for fewer than 100 samples or 3 features. Of more than 1000
    samples, t-SNE arranges a fixed random choice, and the others are placed by their nearest neighbors in it.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels; -1, None or NaN if unknown. Without labels, colors show clusters found by k-means on the codes.
    layer : int, default=-1
        Index into `features_`; -1 is the top layer.
    color : int or array-like of shape (n_samples,), optional
        The index of a feature of the layer, whose codes color the points, or one value for each sample.
    class_names : sequence or mapping, optional
        ``class_names[label]`` is shown instead of the label.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``; it is not registered with pyplot.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from deepnmf import NMF, plot_codes
    >>> iris = load_iris()
    >>> model = NMF(2, random_state=0).fit(iris.data)
    >>> (panel,) = plot_codes(model, iris.data, iris.target, class_names=iris.target_names).axes
    >>> [text.get_text() for text in panel.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    >>> panel, bar = plot_codes(model, iris.data, color=0).axes
    >>> bar.get_ylabel()
    'code of feature 1'
    """
    check_is_fitted(model)
    codes = model.encode(X, layer)
    values = None if color is None else _color_values(color, codes)
    method, points, _ = embedding(codes)
    figure, panel = figure_with_panel(6.0, 4.4)
    number = layer % len(model.features_) + 1
    title = f"{type(model).__name__}, codes of layer {number}: {method} of {len(codes)} samples"
    if values is None:
        groups = label_or_cluster_groups(y, codes, class_names)
        title += f" by {groups.kind}"
        _scatter(panel, points, groups, groups.places)
    else:
        _scatter_values(figure, panel, points, values, _color_label(color))
    panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
    return figure


def _color_values(color: Any, codes: Array) -> Array:
    """Return one value for each sample: the codes of a feature, or the given values."""
    if isinstance(color, Integral):
        if not -codes.shape[1] <= int(color) < codes.shape[1]:
            raise ValueError(
                f"color is {color}, but the layer has {codes.shape[1]} features: expected an index of one."
            )
        return np.asarray(codes[:, int(color)], dtype=np.float64)
    values = np.asarray(color, dtype=np.float64)
    if values.shape != (len(codes),):
        raise ValueError(f"color has shape {values.shape}: expected one value for each of the {len(codes)} samples.")
    return values


def _color_label(color: Any) -> str:
    return f"code of feature {int(color) + 1}" if isinstance(color, Integral) else "value"


def _scatter_values(figure: "Figure", panel: "Axes", points: Array, values: Array, label: str) -> None:
    """Draw the samples by value, the largest magnitudes on top."""
    order = np.argsort(np.abs(np.nan_to_num(values)), kind="stable")
    signed = bool(np.nanmin(values, initial=0.0) < 0)
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    colors, lowest = (DIVERGING, -largest) if signed else (SEQUENTIAL, 0.0)
    x, y = points[order].T
    drawn = panel.scatter(x, y, c=values[order], cmap=colors, vmin=lowest, vmax=largest, s=14, linewidth=0)
    bar = figure.colorbar(drawn, ax=panel, shrink=0.7)
    bar.set_label(label, fontsize=LABEL_SIZE)
    bar.ax.tick_params(labelsize=LABEL_SIZE)


def _scatter(panel: "Axes", points: Any, groups: Groups, places: Any) -> None:
    """Draw the samples, those with unknown labels below the others."""
    x, y = points.T
    unknown = places == UNKNOWN
    if unknown.any():
        panel.scatter(x[unknown], y[unknown], s=9, color=FAINT, label="unknown")
    for place, name in enumerate(groups.names):
        color = CATEGORIES[place % len(CATEGORIES)]
        marker = MARKERS[place // len(CATEGORIES) % len(MARKERS)]
        members = places == place
        panel.scatter(x[members], y[members], s=14, color=color, marker=marker, linewidth=0, label=name)
    if len(groups.names) <= LARGEST_LEGEND:
        panel.legend(fontsize=LABEL_SIZE, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
