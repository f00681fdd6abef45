"""The figure of the features of one layer."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array
from deepnmf.checks import layer_index
from deepnmf.metrics import sparseness
from deepnmf.models.factorization import Factorization
from deepnmf.models.saving import input_names
from deepnmf.plotting.image_shapes import ImageShape, is_positive_integer
from deepnmf.plotting.strengths import codes_of_layers, strengths
from deepnmf.plotting.vector_drawings import VectorDrawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches. Seven is the width of the text on a page, so that a figure is printed in its own size.
PAGE_WIDTH = 7.0
NARROWEST = 4.4  # leaves room for a title
LARGEST_CELL = 0.7  # side of a square cell
NUMBER_HEIGHT = 0.13
GAP = 0.05
MARGIN = 0.06
TITLE_HEIGHT = 0.26
GRID_ASPECT = 2.5  # width over height of the grid


def plot_components(
    model: Factorization,
    layer: int = -1,
    image_shape: ImageShape | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 40,
) -> "Figure":
    """Plot the features of one layer in input space.

    Each feature has its own scale, from zero to its largest magnitude. If no feature is negative, dark is large and
    white is zero; otherwise red is positive, blue is negative and pale is zero. Features are numbered from 1.

    Parameters
    ----------
    model : fitted estimator
    layer : int, default=-1
        Index into `features_`; -1 is the top layer.
    image_shape : (int, int) or (int, int, 3), optional
        Height and width of a feature as a picture, stored row by row; with 3, each pixel has red, green and blue.
    feature_names : sequence of str, optional
        Names of the input features; those with the largest weights are shown. The default is the column names of the
        data frame of the fit. Without names and shape, features are drawn as curves over the input features.
    max_features : int, default=40
        A larger layer shows only its strongest features, in the order of the model. The strength is the norm of the
        feature, times its mean weight in the codes if the model has them.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``; it is not registered with pyplot.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import NMF, plot_components
    >>> model = NMF(10, random_state=0, tol=1e-2).fit(load_digits().data)
    >>> (panel,) = plot_components(model, image_shape=(8, 8)).axes
    >>> panel.get_title(loc="left")
    'layer 1: 10 features, sparseness 0...'
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - so that importing deepnmf is fast

    check_is_fitted(model)
    check_max_features(max_features)
    layer = layer_index(layer, len(model.features_))
    drawing = VectorDrawing.of(model.features_, image_shape, names_for(model, feature_names))
    features = model.features_[layer]
    shown = strongest(features, codes_of_layers(model)[layer], max_features)
    columns, width, height = _grid(len(shown), drawing.aspect)
    rows = math.ceil(len(shown) / columns)
    size = max(columns * width, NARROWEST) + 2 * MARGIN, rows * height + TITLE_HEIGHT + MARGIN
    figure = Figure(figsize=size)
    box = (MARGIN / size[0], MARGIN / size[1], columns * width / size[0], rows * height / size[1])
    panel = figure.add_axes(box, frameon=False, xticks=[], yticks=[], autoscale_on=False)
    panel.set(xlim=(0, columns * width), ylim=(rows * height, 0))
    panel.set_title(_title(layer, features, len(shown)), loc="left", fontsize=9)
    for place, feature in enumerate(shown):
        row, column = divmod(place, columns)
        left, top = column * width, row * height
        drawing.draw(panel, (left, left + width - GAP, top + height - NUMBER_HEIGHT - GAP, top), features[feature])
        panel.text(left, top + height - GAP, str(feature + 1), fontsize=6, color="0.4", va="bottom")
    return figure


def _grid(count: int, aspect: float) -> tuple[int, float, float]:
    """Return the number of columns, and the width and height of a cell with its number."""
    largest = LARGEST_CELL * math.sqrt(aspect)
    pleasant = math.ceil(math.sqrt(GRID_ASPECT * count / aspect))
    columns = min(count, max(pleasant, int(PAGE_WIDTH / largest)))
    width = min(PAGE_WIDTH / columns, largest)
    return columns, width, (width - GAP) / aspect + GAP + NUMBER_HEIGHT


def check_max_features(max_features: object) -> None:
    """Raise an error unless it is a positive integer."""
    if not is_positive_integer(max_features):
        raise ValueError(f"max_features is {max_features!r}: expected a positive integer.")


def names_for(model: Factorization, feature_names: Sequence[str] | None) -> Sequence[str] | None:
    """Return the given names, or those of the columns of the fit."""
    return input_names(model) if feature_names is None else feature_names


def strongest(features: Array, codes: Array | None, limit: int) -> Array:
    """Return the indices of the strongest features, in their order."""
    return np.sort(np.argsort(-strengths(features, codes), kind="stable")[:limit])


def _title(layer: int, features: Array, n_shown: int) -> str:
    size = len(features)
    count = "1 feature" if size == 1 else f"{size} features"
    return f"layer {layer + 1}: {count}{_remark(features, n_shown)}, sparseness {sparseness(features):.2f}"


def _remark(features: Array, n_shown: int) -> str:
    """Return how many features are shown, and how many are zero."""
    n_zero = int(np.sum(~features.any(axis=1)))
    selection = [f"{n_shown} strongest shown"] if n_shown < len(features) else []
    zeros = [f"{n_zero} zero"] if n_zero else []
    remarks = ", ".join(selection + zeros)
    return f" ({remarks})" if remarks else ""
