"""The figure of the hierarchy: wholes above, parts below, lines as wide as their shares."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from deepnmf.arrays import Array
from deepnmf.models.factorization import Factorization
from deepnmf.plotting.components_plot import check_max_features, names_for, strongest
from deepnmf.plotting.image_shapes import ImageShape
from deepnmf.plotting.strengths import codes_of_layers, part_shares
from deepnmf.plotting.vector_drawings import VectorDrawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_WIDTH = 7.0  # inches, the width of the text on a page
LARGEST_CELL = 0.85  # height of a square cell
LINK_HEIGHT = 0.75  # between two layers
TITLE_WIDTH = 0.62  # at the left of each row
NUMBER_HEIGHT = 0.14
GAP = 0.08
MARGIN = 0.08
LEAST_SHARE = 0.05  # of a whole, for a part to be drawn
MOST_PARTS = 6  # of each whole
WIDEST_LINK = 7.0  # points


def plot_hierarchy(
    model: Factorization,
    image_shape: ImageShape | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 8,
) -> "Figure":
    """Plot the hierarchy: the strongest features of the top layer above, the features that they are made of below.

    The width of a line is proportional to the share of a part in its whole, ``abs(Z[j, i])`` times the norm of part i
    in input space; parts of less than 5 % are omitted. Each feature has its own scale, from zero to its largest
    magnitude. Features are numbered from 1.

    Parameters
    ----------
    model : fitted estimator
    image_shape : (int, int) or (int, int, 3), optional
        Height and width of a feature as a picture, stored row by row; with 3, each pixel has red, green and blue.
    feature_names : sequence of str, optional
        Names of the input features; those with the largest weights are shown. The default is the column names of the
        data frame of the fit. Without names and shape, features are drawn as curves over the input features.
    max_features : int, default=8
        Number of features of the top layer; lower layers show at most twice as many, or as many if they are words.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with ``figure.savefig``; it is not registered with pyplot.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from deepnmf import DeepNMF, plot_hierarchy
    >>> model = DeepNMF((40, 10), random_state=0, max_iter=20, tol=0).fit(load_digits().data / 16)
    >>> (panel,) = plot_hierarchy(model, image_shape=(8, 8)).axes
    >>> panel.texts[0].get_text().splitlines()
    ['layer 2', '8 of 10']
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - so that importing deepnmf is fast

    check_is_fitted(model)
    check_max_features(max_features)
    drawing = VectorDrawing.of(model.features_, image_shape, names_for(model, feature_names))
    rows = _arranged(model, max_features, drawing)
    height = max(row.bottom for row in rows) + MARGIN
    figure = Figure(figsize=(PAGE_WIDTH, height))
    panel = figure.add_axes((0, 0, 1, 1), frameon=False, xticks=[], yticks=[], autoscale_on=False)
    panel.set(xlim=(0, PAGE_WIDTH), ylim=(height, 0))
    for row in rows:
        _draw_row(panel, row, model.features_[row.layer], drawing)
    for above, below in pairwise(rows):
        _draw_links(panel, above, below, part_shares(model, above.layer), model.factors_[above.layer])
    return figure


class _Row(NamedTuple):
    """The features of a layer that are drawn, their centers, and the edges of their cells."""

    layer: int
    features: Array
    centers: Array
    width: float
    top: float
    bottom: float


def _arranged(model: Factorization, most: int, drawing: VectorDrawing) -> list[_Row]:
    """Arrange the layers from the top down; parts are placed below the wholes that they are in."""
    codes, aspect = codes_of_layers(model), drawing.aspect
    top, most_parts = len(model.features_) - 1, most if drawing.names is not None else 2 * most
    rows = [_row(top, strongest(model.features_[top], codes[top], most), MARGIN, aspect)]
    for layer in reversed(range(top)):
        above = rows[-1]
        shares = part_shares(model, layer + 1)[above.features]
        parts = _parts_of(shares, most_parts)
        weights = shares[:, parts]
        centers = (weights * above.centers[:, None]).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-300)
        rows.append(_row(layer, parts[np.argsort(centers, kind="stable")], above.bottom + LINK_HEIGHT, aspect))
    return rows


def _row(layer: int, features: Array, top: float, aspect: float) -> _Row:
    cell = (PAGE_WIDTH - TITLE_WIDTH - MARGIN) / max(len(features), 1)
    width = min(cell - GAP, LARGEST_CELL * np.sqrt(aspect))
    centers = TITLE_WIDTH + cell * (np.arange(len(features)) + 0.5)
    return _Row(layer, features, centers, width, top, top + width / aspect + NUMBER_HEIGHT)


def _parts_of(shares: Array, most: int) -> Array:
    """Return the parts to be drawn: the strongest of each whole, then the second of each, and so on."""
    order = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_PARTS]
    drawn = np.take_along_axis(shares, order, axis=1) >= LEAST_SHARE
    found = dict.fromkeys(int(part) for part in order.T[drawn.T])
    return np.array(list(found)[:most], dtype=int)


def _draw_row(panel: "Axes", row: _Row, features: Array, drawing: VectorDrawing) -> None:
    shown = f"{len(row.features)} of " if len(row.features) < len(features) else ""
    title = f"layer {row.layer + 1}\n{shown}{len(features)}"
    panel.text(MARGIN, row.top, title, fontsize=7.5, va="top", zorder=5)
    for feature, center in zip(row.features, row.centers, strict=True):
        left, bottom = center - row.width / 2, row.bottom - NUMBER_HEIGHT
        panel.fill_between([left, left + row.width], row.top, row.bottom, color="white", zorder=2, linewidth=0)
        drawing.draw(panel, (left, left + row.width, bottom, row.top), features[feature])
        panel.text(center, row.bottom, str(feature + 1), fontsize=6, color="0.4", ha="center", va="bottom", zorder=4)


def _draw_links(panel: "Axes", above: _Row, below: _Row, shares: Array, factor: Array) -> None:
    from matplotlib.patches import PathPatch  # noqa: PLC0415 - so that importing deepnmf is fast
    from matplotlib.path import Path  # noqa: PLC0415

    links = shares[np.ix_(above.features, below.features)]
    curve = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    for j, i in np.argwhere(links >= LEAST_SHARE):
        start, end, middle = above.bottom + 0.03, below.top - 0.03, (above.bottom + below.top) / 2
        x0, x1 = above.centers[j], below.centers[i]
        path = Path([(x0, start), (x0, middle), (x1, middle), (x1, end)], curve)
        color = "#2f6fae" if factor[above.features[j], below.features[i]] < 0 else "0.45"
        width = WIDEST_LINK * links[j, i] / links.max()
        panel.add_patch(PathPatch(path, facecolor="none", edgecolor=color, alpha=0.45, linewidth=width, zorder=1))
