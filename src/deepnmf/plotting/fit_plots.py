"""Figures of a fit: the loss, and a map of the codes."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Matrix
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


def plot_codes(
    model: Factorization, X: Matrix, y: Any = None, *, layer: int = -1, class_names: ClassNames = None
) -> "Figure":
    """Plot the codes of a layer in two dimensions, colored by label.

    The map is computed by t-SNE with a fixed seed, of at most 600 samples; by PCA for fewer than 100 samples or 3
    features.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Labels; -1, None or NaN if unknown. Without labels, colors show clusters found by k-means on the codes.
    layer : int, default=-1
        Index into `features_`; -1 is the top layer.
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
    """
    check_is_fitted(model)
    codes = model.encode(X, layer)
    groups = label_or_cluster_groups(y, codes, class_names)
    method, points, _ = embedding(codes)
    figure, panel = figure_with_panel(6.0, 4.4)
    _scatter(panel, points, groups, groups.places)
    number = layer % len(model.features_) + 1
    title = f"{type(model).__name__}, codes of layer {number}: {method} of {len(codes)} samples by {groups.kind}"
    panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
    return figure


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
