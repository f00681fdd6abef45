"""Figures of a fit: the loss, and a map of the codes."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from deepnmf.arrays import Array, Matrix
from deepnmf.labels import UNKNOWN
from deepnmf.models.factorization import Factorization
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


# ------------------------------------------------------------------------------------ two dimensions


MOST_MAPPED = 600  # samples; t-SNE of a thousand takes seconds
FEWEST_FOR_TSNE = 100
TSNE_ITERATIONS = 400  # enough for a few hundred rows


class Embedding(NamedTuple):
    """One point per row, and the method that computed them."""

    method: str
    points: Array


def sampled_rows(n_samples: int, limit: int = MOST_MAPPED) -> Array:
    """Return the indices of all rows, or of a fixed random choice, in their order."""
    if n_samples <= limit:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(0).choice(n_samples, limit, replace=False))


def embedding(codes: Array) -> Embedding:
    """Return t-SNE with a fixed seed, or PCA for few rows or fewer than three columns."""
    if len(codes) < FEWEST_FOR_TSNE or codes.shape[1] < 3:
        return Embedding("PCA", _principal(codes))
    from sklearn.manifold import TSNE  # noqa: PLC0415 - so that importing deepnmf is fast

    start = _principal(codes)
    start *= 1e-4 / (start[:, 0].std() or 1.0)
    # One thread, since several threads add in a different order each time, which changes the map.
    with threadpool_limits(1):
        tsne = TSNE(init=start, random_state=0, angle=0.7, max_iter=TSNE_ITERATIONS)
        return Embedding("t-SNE", tsne.fit_transform(np.ascontiguousarray(codes, dtype=np.float64)))


def _principal(codes: Array) -> Array:
    """Return the first two principal components; the second is zero if there is only one."""
    centered = np.asarray(codes, dtype=np.float64) - np.mean(codes, axis=0, dtype=np.float64)
    left, values, right = np.linalg.svd(centered, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(axis=1)])  # the signs of an SVD are arbitrary
    points = (left * values * signs)[:, :2]
    return np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])


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
    rows = sampled_rows(len(codes))
    method, points = embedding(codes[rows])
    figure, panel = figure_with_panel(6.0, 4.4)
    _scatter(panel, points, groups, groups.places[rows])
    number = layer % len(model.features_) + 1
    title = f"{type(model).__name__}, codes of layer {number}: {method} of {len(rows)} samples by {groups.kind}"
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
